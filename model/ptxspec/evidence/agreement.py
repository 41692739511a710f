"""The three interpretations of every form, side by side on the same operands.

Only forms whose meaning is a function of values are compared here. An instruction that updates one cell of memory is one: what
stood in the cell goes in, and what stands there afterwards comes out. What touches memory in other ways, or control, is compared
by running programs under both engines.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.operands import rows
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import constant, integer
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Update
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter, Library
from ptxspec.terms.profiles import Profile
from ptxspec.terms.scripts import Script
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import DEVIATION, Approximation, freedoms_in, low_bits, substitute

#: whose choices stand for approximate results in the comparison
PROFILE = "hopper"
#: of so many rows one is put to the exact interpretation itself, the others to what its terms are written out to
EXACT_STEP = 8


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


def updates(meaning: Meaning) -> bool:
    """Whether the instruction's effect is to change one cell of memory."""
    return isinstance(meaning.effect, Update)


def pure(form: Form) -> bool:
    """Whether the form is a function of values: no effect but the update of a cell, and no operand, but for the cell's address,
    that is an address or a name."""
    meaning = form.meaning(form.absences[-1])
    if updates(meaning):
        return True
    return meaning.effect is None and bool(meaning.results and meaning.inputs) and all(i.type for i in meaning.inputs)


def undefined(meaning: Meaning) -> bool:
    """Whether all that comes out is undefined."""
    results = results_of(meaning)
    return bool(results) and all(t.op == "freedom" and t.attrs[2] == "undefined" for _, t in results)


def ones(freedom: Any, *_: Any) -> Any:
    """A choice for the comparison: every result that PTX leaves open is all ones (which also is a NaN)."""
    return constant((1 << freedom.attrs[1]) - 1)


@cache
def _choices() -> Profile:
    return Profile(PROFILE)


def settled(freedom: Any) -> Any:
    """What takes the place of a result that PTX leaves open: the profile's choice of an approximate one, which is a computation
    that the three must agree on like any other, and all ones for the rest. Where machines deviate, the documented result and
    twice the profile's are added, so that all three must agree on both, and on which is which."""
    if freedom.attrs[2] == DEVIATION:
        return freedom.args[0] + 2 * _choices().term(freedom)
    if isinstance(freedom.attrs[4], Approximation) and _choices().chooses(freedom):
        return _choices().term(freedom)
    return ones(freedom)


def settled_value(freedom: Any, operands: tuple[int, ...]) -> int:
    """The same for the operands' values."""
    if freedom.attrs[2] == DEVIATION:
        return low_bits(integer(operands[0]) + 2 * _choices().chosen(freedom, operands), freedom.attrs[1]).attrs[0]
    if isinstance(freedom.attrs[4], Approximation) and _choices().chooses(freedom):
        return _choices().chosen(freedom, operands)
    return ones(freedom).attrs[0]


def awaited(form: Form, profile: Profile | None = None) -> list[str]:
    """The approximate results of a form for which a profile has no choice: of these the comparison tells nothing."""
    profile = _choices() if profile is None else profile
    meaning = form.meaning(form.absences[-1])
    found = freedoms_in(*[v for r in meaning.results for v in r.values])
    return sorted({f.attrs[0] for f in found if isinstance(f.attrs[4], Approximation) and not profile.chooses(f)})


def approximate(form: Form) -> bool:
    """Whether the form has a result for which PTX bounds the error alone."""
    meaning = form.meaning(form.absences[-1])
    found = freedoms_in(*[v for r in meaning.results for v in r.values])
    return any(isinstance(f.attrs[4], Approximation) for f in found)


def inputs_of(meaning: Meaning) -> list[tuple[str, Type]]:
    """(variable, type) of every value that goes in; what stands in memory comes after the operands, the condition code last."""
    values = [(v.attrs[0], i.type) for i in meaning.inputs for v in i.variables if i.type is not None]
    cell = meaning.effect
    if isinstance(cell, Update):
        values += [(f"%loaded{i}", cell.type) for i in range(cell.count)]
    else:
        values += [(name, TYPES["u32"]) for name in meaning.specials]
    return [*values, (CONDITION_CODE, TYPES["pred"])] if meaning.carry_read else values


#: by the numbers of meanings, which are kept so that these stay theirs: what comes out of each; for as many as an opcode has
_results: dict[int, tuple[Meaning, list[tuple[Type, Any]]]] = {}
_MOST_RESULTS = 20_000


def results_of(meaning: Meaning) -> list[tuple[Type, Any]]:
    """(type, term) of every value that comes out; what is left in memory comes after the destinations, the condition code last.
    The cell of an instruction that updates one lies in global memory, if it does not say where, and special registers are zero
    to it."""
    known = _results.get(id(meaning))
    if known is None:
        if len(_results) >= _MOST_RESULTS:
            _results.clear()
        known = _results[id(meaning)] = meaning, _results_of(meaning)
    return list(known[1])


def _results_of(meaning: Meaning) -> list[tuple[Type, Any]]:
    values = [(r.type, v) for r in meaning.results for v in r.values]
    cell = meaning.effect
    if isinstance(cell, Update):
        base = constant(importlib.import_module("ptxspec.spec.state_spaces.generic_addressing").GLOBAL_BASE)
        place = {v.attrs[0]: base for i in meaning.inputs if i.type is None for v in i.variables}
        place |= {name: constant(0) for name in meaning.specials}
        values = [(t, substitute(v, place)) for t, v in [*values, *((cell.type, v) for v in cell.values)]]
    return [*values, (TYPES["pred"], meaning.carry)] if meaning.carry is not None else values


def compare(forms: Iterable[Form], *, count: int = 256, symbolic: int = 8, seed: object = 0) -> list[Disagreement]:
    """Every disagreement over `count` operand rows a form, `symbolic` of which z3 computes too; a variant with selectors or signs
    has an eighth of the rows. Forms whose meaning is the very same terms are computed once, and are reported together."""
    same: dict[Any, list[Form]] = {}
    meanings: dict[Any, Meaning] = {}
    for form in forms:
        for variant in form.variants:
            for absent in variant.absences:
                meaning = variant.meaning(absent)
                key = (tuple(inputs_of(meaning)), tuple(results_of(meaning)))
                same.setdefault(key, []).append(variant)
                meanings.setdefault(key, meaning)
    cases = list(meanings.items())
    tables = []
    for key, meaning in cases:
        first = same[key][0]
        many = count if first.plain else max(1, count // 8)
        seeded = f"{seed}:{first.mnemonic if first.plain else first}"
        tables.append(rows([t for _, t in inputs_of(meaning)], many, seeded))
    found: list[Disagreement] = []
    native = run_native([m for _, m in cases], tables)
    for (key, meaning), table, computed in zip(cases, tables, native, strict=True):
        names = [n for n, _ in inputs_of(meaning)]
        step = max(1, count // symbolic) if symbolic else count + 1
        scripted, solver = _scripted(meaning), _symbolic(meaning) if symbolic else None
        for i, row in enumerate(table):
            values = dict(zip(names, row, strict=True))
            want = scripted(settled_value, *row)
            got = {"native": tuple(number_at(c, i) for c in computed)}
            if i % EXACT_STEP == 0:
                want, got["scripts"] = _run_exact(meaning, values), want
            if solver is not None and i % step == 0:
                got["symbolic"] = solver(values)
            for name, other in got.items():
                if other != want:
                    found += [Disagreement(str(f), f.page, name, values, want, other) for f in same[key]]
    return found


def number_at(column: np.ndarray, i: int) -> int:
    """The value in a place of a column."""
    return int(column[i]) if column.ndim == 1 else int(column[i, 0]) | int(column[i, 1]) << 64


def _run_exact(meaning: Meaning, values: dict[str, int]) -> tuple[int, ...]:
    typed = {n: bool(values[n]) if t.kind == "pred" else values[n] for n, t in inputs_of(meaning)}
    memo: dict[int, Any] = {}
    return tuple(int(exact.evaluate(v, typed, settled_value, memo)) for _, v in results_of(meaning))


def _scripted(meaning: Meaning) -> Callable[..., tuple[int, ...]]:
    """The exact interpretation written out: a function of what chooses, and a number for each input."""
    names = {name: (f"w{k}", type) for k, (name, type) in enumerate(inputs_of(meaning))}

    def bind(name: str) -> str:
        word, type = names[name]
        return f"bool({word})" if type.kind == "pred" else word

    script = Script(bind)
    found = "".join(f"int({script.value(term)}), " for _, term in results_of(meaning))
    return script.function(["choose", *(word for word, _ in names.values())], f"({found})")


def _storage(type: Type) -> int:
    """Bits of the array element that holds a value of the type."""
    return max(8, type.width)


def column(values: Sequence[int], type: Type) -> np.ndarray:
    """Values of a type as machine code has them: an element each, of its size; of 128 bits, two of 64, the low one first."""
    if type.width == 128:
        words = b"".join(v.to_bytes(16, "little") for v in values)
        return np.frombuffer(words, np.uint64).reshape(-1, 2).copy()
    return np.array(values, dtype=f"u{_storage(type) // 8}")


def run_native(
    meanings: Sequence[Meaning], tables: Sequence[list[tuple[int, ...]]], choose: Callable[[Any], Any] = settled
) -> list[list[np.ndarray]]:
    """The results of each meaning over its rows, computed by one library of compiled loops; `choose` resolves freedoms."""
    compiled = compile_loops(meanings, choose)
    answers = []
    for meaning, table, run in zip(meanings, tables, compiled, strict=True):
        inputs = [column([row[k] for row in table], t) for k, (_, t) in enumerate(inputs_of(meaning))]
        answers.append(run(inputs))
    return answers


def compile_loops(
    meanings: Sequence[Meaning], choose: Callable[[Any], Any], level: int = 0
) -> list[Callable[[list[np.ndarray]], list[np.ndarray]]]:
    """For each meaning a function from columns of operands, contiguous arrays of raw bits, to columns of results."""
    needs: set[str] = set()
    text = "\n".join(_function(f"form{i}", meaning, needs, choose) for i, meaning in enumerate(meanings))
    library = Library(text, needs, level=level, vectorize=level > 0)

    def bind(i: int, meaning: Meaning) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address(f"form{i}"))

        def run(inputs: list[np.ndarray]) -> list[np.ndarray]:
            assert library  # its code lives as long as this function
            count = len(inputs[0])
            outputs = [column([0] * count, t) for t, _ in results_of(meaning)]
            pointers = (ctypes.c_void_p * (len(inputs) + len(outputs)))(*[a.ctypes.data for a in [*inputs, *outputs]])
            call(ctypes.cast(pointers, ctypes.c_void_p), count)
            return outputs

        return run

    return [bind(i, meaning) for i, meaning in enumerate(meanings)]


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
        value = emitter.emit(f"load i{n}, ptr {where}, align {min(n, 64) // 8}")
        env[variable] = emitter.emit(f"trunc i{n} {value} to i1") if type.kind == "pred" else value
    lowering = Lowering(emitter, env)
    for k, (type, value) in enumerate(results, len(inputs)):
        n = _storage(type)
        if type.kind == "pred":
            word = emitter.emit(f"zext i1 {lowering.truth(value)} to i8")
        else:
            word = lowering.low(value, type.width)
        where = emitter.emit(f"getelementptr i{n}, ptr %p{k}, i64 %i")
        lines.append(f"  store i{n} {word}, ptr {where}, align {min(n, 64) // 8}")
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


def _symbolic(meaning: Meaning) -> Callable[[dict[str, int]], tuple[int, ...]]:
    """A function from the operands' values to the results: the solver's formula is made once, and simplified for each row."""
    import z3

    from ptxspec.terms.symbolic import Solver

    types = inputs_of(meaning)
    words = {n: z3.Bool(n) if t.kind == "pred" else z3.BitVec(n, t.width) for n, t in types}
    lowering = Lowering(Solver(lambda freedom, within: within.low(settled(freedom), freedom.attrs[1])), words)
    formulas = [
        (t, lowering.truth(v) if t.kind == "pred" else lowering.low(v, t.width)) for t, v in results_of(meaning)
    ]

    def run(values: dict[str, int]) -> tuple[int, ...]:
        given = [
            (words[n], z3.BoolVal(bool(values[n])) if t.kind == "pred" else z3.BitVecVal(values[n], t.width))
            for n, t in types
        ]
        ground = [(t, z3.simplify(z3.substitute(formula, *given))) for t, formula in formulas]
        return tuple(int(z3.is_true(v)) if t.kind == "pred" else _number(v, t.width) for t, v in ground)

    return run


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
