"""The three interpretations of every form, side by side on the same operands.

Only forms whose meaning is a function of their operands are compared here; what touches memory or control is compared by
running programs under both engines.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.operands import rows
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.core import constant
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter, Library
from ptxspec.terms.types import Type


class Disagreement(NamedTuple):
    """One row on which an interpretation gives something else than the exact one."""

    form: str
    page: str
    interpretation: str
    operands: dict[str, int]
    exact: tuple[int, ...]
    other: tuple[int, ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{n}={v:#x}" for n, v in self.operands.items())
        want, got = (", ".join(f"{v:#x}" for v in values) for values in (self.exact, self.other))
        return f"{self.form} ({self.page}) at {shown}: exact {want}, {self.interpretation} {got}"


def pure(form: Form) -> bool:
    """Whether the form is a function of values: no effect, and no operand that is an address or a name."""
    meaning = form.meaning(form.absences[-1])
    return meaning.effect is None and bool(meaning.results) and all(i.type for i in meaning.inputs)


def ones(freedom: Any, *_: Any) -> Any:
    """A choice for the comparison: every result that PTX leaves open is all ones (which also is a NaN)."""
    return constant((1 << freedom.attrs[1]) - 1)


def inputs_of(meaning: Meaning) -> list[tuple[str, Type]]:
    """(variable, type) of every value that goes in."""
    return [(v.attrs[0], i.type) for i in meaning.inputs for v in i.variables if i.type is not None]


def results_of(meaning: Meaning) -> list[tuple[Type, Any]]:
    """(type, term) of every value that comes out."""
    return [(r.type, v) for r in meaning.results for v in r.values]


def compare(forms: Iterable[Form], *, count: int = 256, symbolic: int = 8, seed: object = 0) -> list[Disagreement]:
    """Every disagreement over `count` operand rows a form, `symbolic` of which z3 computes too."""
    cases = [(form, form.meaning(absent)) for form in forms for absent in form.absences]
    tables = [rows([t for _, t in inputs_of(m)], count, f"{seed}:{f.mnemonic}") for f, m in cases]
    found: list[Disagreement] = []
    native = run_native([m for _, m in cases], tables)
    for (form, meaning), table, computed in zip(cases, tables, native, strict=True):
        names = [n for n, _ in inputs_of(meaning)]
        step = max(1, len(table) // symbolic) if symbolic else len(table) + 1
        for i, row in enumerate(table):
            values = dict(zip(names, row, strict=True))
            want = _run_exact(meaning, values)
            got = {"native": tuple(int(c[i]) for c in computed)}
            if i % step == 0:
                got["symbolic"] = _run_symbolic(meaning, values)
            for name, other in got.items():
                if other != want:
                    found.append(Disagreement(str(form), form.page, name, values, want, other))
    return found


def _run_exact(meaning: Meaning, values: dict[str, int]) -> tuple[int, ...]:
    typed = {n: bool(values[n]) if t.kind == "pred" else values[n] for n, t in inputs_of(meaning)}
    memo: dict[int, Any] = {}
    return tuple(int(exact.evaluate(v, typed, lambda f, _: ones(f).attrs[0], memo)) for _, v in results_of(meaning))


def _storage(type: Type) -> int:
    """Bits of the array element that holds a value of the type."""
    return max(8, type.width)


def run_native(
    meanings: Sequence[Meaning], tables: Sequence[list[tuple[int, ...]]], choose: Callable[[Any], Any] = ones
) -> list[list[np.ndarray]]:
    """The results of each meaning over its rows, computed by one library of compiled loops; `choose` resolves freedoms."""
    needs: set[str] = set()
    text = "\n".join(_function(f"form{i}", meaning, needs, choose) for i, meaning in enumerate(meanings))
    library = Library(text, needs, level=1)
    answers = []
    for i, (meaning, table) in enumerate(zip(meanings, tables, strict=True)):
        inputs = [
            np.array([row[k] for row in table], dtype=f"u{_storage(t) // 8}")
            for k, (_, t) in enumerate(inputs_of(meaning))
        ]
        outputs = [np.zeros(len(table), dtype=f"u{_storage(t) // 8}") for t, _ in results_of(meaning)]
        pointers = (ctypes.c_void_p * (len(inputs) + len(outputs)))(*[a.ctypes.data for a in [*inputs, *outputs]])
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address(f"form{i}"))
        call(ctypes.cast(pointers, ctypes.c_void_p), len(table))
        answers.append(outputs)
    return answers


def _function(name: str, meaning: Meaning, needs: set[str], choose: Callable[[Any], Any]) -> str:
    """LLVM text of a loop over rows: void name(ptr arrays, i64 count)."""
    lines: list[str] = []
    emitter = Emitter(lines, needs, choose)
    inputs, results = inputs_of(meaning), results_of(meaning)
    head = []
    env: dict[str, str] = {}
    for k in range(len(inputs) + len(results)):
        head.append(f"  %q{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %q{k}")
    for k, (variable, type) in enumerate(inputs):
        n = _storage(type)
        where = emitter.emit(f"getelementptr i{n}, ptr %p{k}, i64 %i")
        value = emitter.emit(f"load i{n}, ptr {where}")
        env[variable] = emitter.emit(f"trunc i{n} {value} to i1") if type.kind == "pred" else value
    lowering = Lowering(emitter, env)
    for k, (type, value) in enumerate(results, len(inputs)):
        n = _storage(type)
        if type.kind == "pred":
            word = emitter.emit(f"zext i1 {lowering.truth(value)} to i8")
        else:
            word = lowering.low(value, type.width)
        where = emitter.emit(f"getelementptr i{n}, ptr %p{k}, i64 %i")
        lines.append(f"  store i{n} {word}, ptr {where}")
    return "\n".join(
        [
            f"define void @{name}(ptr %arrays, i64 %count) {{\nentry:",
            *head,
            "  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%next, %loop]",
            *lines,
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %count\n  br i1 %more, label %loop, label %done",
            "done:\n  ret void\n}",
        ]
    )


def _run_symbolic(meaning: Meaning, values: dict[str, int]) -> tuple[int, ...]:
    import z3

    from ptxspec.terms.symbolic import Solver

    env = {
        n: z3.BoolVal(bool(values[n])) if t.kind == "pred" else z3.BitVecVal(values[n], t.width)
        for n, t in inputs_of(meaning)
    }
    solver = Solver(lambda freedom, lowering: lowering.low(ones(freedom), freedom.attrs[1]))
    lowering = Lowering(solver, env)
    answers = []
    for type, value in results_of(meaning):
        if type.kind == "pred":
            answers.append(int(z3.is_true(z3.simplify(lowering.truth(value)))))
        else:
            answers.append(_number(z3.simplify(lowering.low(value, type.width)), type.width))
    return tuple(answers)


def _number(word: Any, width: int) -> int:
    """The value of a ground bit-vector. A NaN that z3 does not turn into bits is not a number here: it must not occur."""
    import z3

    if z3.is_bv_value(word):
        return word.as_long()
    solver = z3.Solver()
    x = z3.BitVec("x", width)
    solver.add(x == word)
    assert solver.check() == z3.sat
    return solver.model()[x].as_long()
