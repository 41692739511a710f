"""The interpretations of every form, side by side on the same operands: exact, written out, native, symbolic.

Only forms whose meaning is a function of values are compared here. What touches memory in other ways, or control, is compared by
running kernels under both engines (engines.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ptxspec.evidence.choices import settled, settled_value
from ptxspec.evidence.compiled_loops import number_at, run_native
from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.python_code import PythonScript

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


def compare(forms: Iterable[Form], *, count: int = 256, symbolic: int = 8, seed: object = 0) -> list[Disagreement]:
    """Every disagreement over `count` operand rows a form, `symbolic` of which z3 computes too; a variant with selectors or signs
    has an eighth of the rows. Forms whose meaning is the very same terms are computed once, and are reported together."""
    same: dict[Any, list[Form]] = {}
    meanings: dict[Any, Meaning] = {}
    for form in forms:
        for variant in (edition for v in form.variants for edition in (v, *v.editions)):
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
    disagreements: list[Disagreement] = []
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
                    disagreements += [Disagreement(str(f), f.page, name, values, want, other) for f in same[key]]
    return disagreements


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

    script = PythonScript(bind)
    outputs = "".join(f"int({script.value(term)}), " for _, term in results_of(meaning))
    return script.function(["choose", *(word for word, _ in names.values())], f"({outputs})")


def _symbolic(meaning: Meaning) -> Callable[[dict[str, int]], tuple[int, ...]]:
    """A function from the operands' values to the results: the solver's formula is made once, and simplified for each row."""
    import z3

    from ptxspec.terms.symbolic import Script, parsed

    types = inputs_of(meaning)
    words = {n: z3.Bool(f"in.{n}") if t.kind == "pred" else z3.BitVec(f"in.{n}", t.width) for n, t in types}
    script = Script(lambda freedom, within: within.low(settled(freedom), freedom.attrs[1]), functional=True)
    lowering = Lowering(script, {n: script.declare(f"in.{n}", 0 if t.kind == "pred" else t.width) for n, t in types})
    results = results_of(meaning)
    wanted = [(lowering.truth(v), 0) if t.kind == "pred" else (lowering.low(v, t.width), t.width) for t, v in results]
    formulas = [(t, formula) for (t, _), formula in zip(results, parsed(script, wanted), strict=True)]

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
        return int(word.as_long())
    solver = z3.Solver()
    x = z3.BitVec("x", width)
    solver.add(x == word)
    assert solver.check() == z3.sat
    return int(solver.model()[x].as_long())
