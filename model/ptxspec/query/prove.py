"""Whether two fragments compute the same, for every input.

Results that PTX leaves open are sets: two results are the same when, for every input, the same results are allowed. A freedom
whose value goes on into further instructions is any of its values, the same one wherever the same freedom meets the same
operands: what is proved holds on every machine whose choices depend on the operands alone. An approximate result counts as any
number, the same one for the same operands: a proof for all numbers is one for those within the bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ptxspec.language.errors import PtxError
from ptxspec.query.assumptions import assumption
from ptxspec.query.evaluate import readings
from ptxspec.query.fragments import Fragment, Unsupported, read_fragment
from ptxspec.terms.core import Bool, constant, integer, truth, truth_variable, variable
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in, resolve, select


class TraceStep(NamedTuple):
    """An instruction of one side, the document line that defines it, and what it wrote (bits, or a sentence where the result is
    open)."""

    instruction: str
    page: str
    writes: dict[str, Any]


class Counterexample(NamedTuple):
    """Inputs on which the sides differ, replayed through the exact interpretation."""

    inputs: dict[str, Any]
    types: dict[str, Type]
    differing: tuple[str, ...]
    left: list[TraceStep]
    right: list[TraceStep]

    def as_dict(self) -> dict[str, Any]:
        return {
            "inputs": {n: readings(v, self.types[n]) for n, v in self.inputs.items()},
            "differing": list(self.differing),
            "left": [s._asdict() for s in self.left],
            "right": [s._asdict() for s in self.right],
        }


class Verdict(NamedTuple):
    """`status` is "proved", "refuted", "approximated" (they would differ if approximate results could be any number,
    and bounds are not looked at), "exhausted" (the time ran out), "unknown" (the solver gave up) or "unsupported" (the question
    cannot be asked); `reason` says why; `seconds` is what the solver took."""

    status: str
    reason: str = ""
    counterexample: Counterexample | None = None
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        found = {"status": self.status, "reason": self.reason, "seconds": round(self.seconds, 3)}
        if self.counterexample is not None:
            found["counterexample"] = self.counterexample.as_dict()
        return found


def prove(
    left: str, right: str, *, assume: str | None = None, profile: str = "portable", timeout: float = 60.0
) -> Verdict:
    """Compare two fragments. Registers that both read before writing are shared inputs; those that both write are compared by
    their final values. `assume` restricts the inputs, `profile` fixes results that PTX leaves open, `timeout` is in seconds.
    Raises PtxError, AssumptionError or ValueError for a question that is put wrongly."""
    try:
        sides, types, outputs = question(left, right)
    except Unsupported as why:
        return Verdict("unsupported", str(why))
    inputs = {
        n: truth_variable(n) if types[n].kind == "pred" else variable(n, types[n].width)
        for n in dict.fromkeys((*sides[0].inputs, *sides[1].inputs))
    }
    given = assumption(assume, inputs, types)
    choices = Profile(profile)
    memo: dict[int, Any] = {}

    def choose(freedom: Any) -> Any:
        return choices.term(freedom) if choices.chooses(freedom) else freedom

    finals = [{n: resolve(side.outputs[n], choose, memo) for n in outputs} for side in sides]
    differs, unequal = constant(False), {}
    kinds: dict[Any, int] = {}
    for name in outputs:
        unequal[name] = different(finals[0][name], finals[1][name], kinds)
        differs = differs | unequal[name]
    began = time.monotonic()
    if differs.op == "const" and not differs.attrs[0]:
        return Verdict("proved", "both sides are the same term", None, time.monotonic() - began)
    status, values, chosen = solve(given & differs, inputs, types, timeout)
    seconds = time.monotonic() - began
    if status == "unsat":
        return Verdict("proved", "no input on which they differ", None, seconds)
    if status != "sat":
        return Verdict("exhausted" if status == "timeout" else "unknown", f"the solver says: {status}", None, seconds)
    pick = _picker(chosen)
    met: list[str] = []

    def noting(freedom: Any, operands: tuple[int, ...]) -> int:
        if isinstance(freedom.attrs[4], Approximation):
            met.append(freedom.attrs[0])
        return pick(freedom, operands)

    replay: dict[int, Any] = {}
    differing = tuple(n for n in outputs if evaluate_term(unequal[n], values, noting, replay))
    if met:
        reason = (
            f"no proof that holds whatever number {' and '.join(dict.fromkeys(met))} may be; bounds are not looked at"
        )
        return Verdict("approximated", reason, None, seconds)
    if not differing or not evaluate_term(given, values, pick, replay):
        return Verdict(
            "unknown", "the solver's counterexample does not stand up to the exact interpretation", None, seconds
        )
    shown = Counterexample(values, types, differing, *(_trace(s, values, pick, profile) for s in sides))
    return Verdict("refuted", f"they differ in {', '.join(differing)}", shown, seconds)


def question(left: str, right: str) -> tuple[tuple[Fragment, Fragment], dict[str, Type], list[str]]:
    """(both sides, the types of all registers, the names compared). Raises ValueError if no name is written by both."""
    first = read_fragment(left, "<left>")
    second = read_fragment(right, "<right>")
    shared = {n for n in (*first.inputs, *first.outputs) if n in second.inputs or n in second.outputs}
    fixed = {n: first.registers[n] for n in shared if n in first.registers}
    if any(second.registers.get(n, t) != t for n, t in fixed.items()):
        try:
            second = read_fragment(right, "<right>", fixed)
        except PtxError:
            first = read_fragment(left, "<left>", {n: second.registers[n] for n in fixed if n in second.registers})
    outputs = [n for n in first.outputs if n in second.outputs]
    if not outputs:
        raise ValueError("no register is written by both sides, so there is nothing to compare")
    types = {**second.registers, **first.registers}
    for name in (*first.inputs, *second.inputs):  # special registers read by a side are inputs too
        types.setdefault(name, TYPES["b32"])
    return (first, second), types, outputs


def different(x: Any, y: Any, kinds: dict[Any, int]) -> Bool:
    """Whether the sets of allowed results differ. A result is a number, or one of the kinds of freedom."""
    if isinstance(x, Bool):
        return truth(x) != truth(y)
    if not (freedoms_in(x) or freedoms_in(y)):
        return x != y
    (kind_x, value_x), (kind_y, value_y) = split(x, kinds), split(y, kinds)
    return (kind_x != kind_y) | ((kind_x == 0) & (value_x != value_y))


def split(x: Any, kinds: dict[Any, int]) -> tuple[Any, Any]:
    """(0, value), or (number of the kind, 0) where the result itself is a freedom."""
    if x.op == "freedom":
        _, width, _, _, allowed = x.attrs
        if isinstance(
            allowed, Approximation
        ):  # a set that depends on the operands: known to be the same for the same ones
            return constant(0), x
        return integer(kinds.setdefault((width, allowed), len(kinds) + 1)), constant(0)
    if x.op == "select" and freedoms_in(x.args[1], x.args[2]):
        c, a, b = x.args
        (kind_a, value_a), (kind_b, value_b) = split(a, kinds), split(b, kinds)
        return select(c, kind_a, kind_b), select(c, value_a, value_b)
    return constant(0), x


#: seconds that a solver is given before another, seeded differently, begins afresh; each is patient for twice as long
PATIENCE = 15.0


def ask(formula: list[Any], timeout: float) -> tuple[Any, Any]:
    """(the answer, the solver that gave it). Each solver has a context of its own, so that what was asked before has no bearing
    on how long it takes; and search that has gone astray is given up for one that begins elsewhere."""
    import z3

    begun, patience, seed = time.monotonic(), PATIENCE, 0
    is_float = "fp." in formula[0].sexpr()[:2_000_000]
    while True:
        left = timeout - (time.monotonic() - begun)
        context = z3.Context()
        solver = z3.Solver(ctx=context) if is_float else z3.SolverFor("QF_BV", ctx=context)
        solver.set("timeout", max(1, int(min(left, patience) * 1000)))
        solver.set("random_seed", seed)
        solver.add(*[f.translate(context) for f in formula])
        answer = solver.check()
        if answer == z3.unknown and "interrupted" in solver.reason_unknown():  # z3 keeps the signal to itself
            raise KeyboardInterrupt
        if answer != z3.unknown or left <= patience:
            return answer, solver
        patience, seed = patience * 2, seed + 1


def solve(
    claim: Bool, inputs: dict[str, Any], types: dict[str, Type], timeout: float
) -> tuple[str, dict[str, Any], dict[Any, int]]:
    """("sat" | "unsat" | "timeout" | other, input values, values of freedoms by their terms' ids)."""
    import z3

    words = {n: z3.Bool(n) if types[n].kind == "pred" else z3.BitVec(n, types[n].width) for n in inputs}
    formula, free = to_solver(claim, words)
    answer, solver = ask(formula, timeout)
    if answer == z3.unsat:
        return "unsat", {}, {}
    if answer == z3.unknown:
        reason = solver.reason_unknown()
        return ("timeout" if reason in ("timeout", "canceled") or "resource" in reason else reason), {}, {}
    there = {n: word.translate(solver.ctx) for n, word in words.items()}
    model = smaller(solver, there, solver.model(), deadline=time.monotonic() + min(timeout, 3.0))

    def number(word: Any) -> Any:
        value = model.eval(word.translate(solver.ctx), model_completion=True)
        return z3.is_true(value) if z3.is_bool(word) else value.as_long()

    return "sat", {n: number(w) for n, w in words.items()}, {key: number(word) for key, word in free.items()}


def to_solver(claim: Bool, words: dict[str, Any]) -> tuple[list[Any], dict[int, Any]]:
    """z3's formulas for a claim, and the variable of each freedom in it by its term's id."""
    import z3

    from ptxspec.terms.symbolic import Solver

    free: dict[int, Any] = {}
    conditions: list[Any] = []

    def open_result(term: Any, lowering: Lowering) -> Any:
        if id(term) not in free:
            slug, width, _, _, allowed = term.attrs
            name = f"{slug}#{len(free)}"
            free[id(term)] = z3.BitVec(name, width)
            if allowed is not None and not isinstance(allowed, Approximation):
                conditions.append(Lowering(backend, {name: free[id(term)]}).truth(allowed(variable(name, width))))
        return free[id(term)]

    backend = Solver(open_result)
    formula = Lowering(backend, words).truth(claim)
    return [formula, *conditions], free


def smaller(solver: Any, words: dict[str, Any], model: Any, deadline: float) -> Any:
    """A model whose inputs have fewer bits, as far as it can be found before the deadline."""
    import z3

    for word in words.values():
        if z3.is_bool(word):
            continue
        low, high = 0, model.eval(word, model_completion=True).as_long().bit_length()
        while low < high and time.monotonic() < deadline:
            middle = (low + high) // 2
            solver.push()
            solver.add(z3.ULT(word, 1 << middle) if middle < word.size() else True)
            solver.set("timeout", 500)
            if solver.check() == z3.sat:
                model = solver.model()
                high = model.eval(word, model_completion=True).as_long().bit_length()
            else:
                low = middle + 1
            solver.pop()
        solver.add(z3.ULE(word, model.eval(word, model_completion=True)))
    return model


def _picker(chosen: dict[Any, int]) -> Callable[[Any, tuple[int, ...]], int]:
    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        if id(freedom) in chosen:
            return chosen[id(freedom)]
        raise NoChoice(freedom)

    return pick


def _trace(side: Fragment, values: dict[str, Any], pick: Any, profile: str) -> list[TraceStep]:
    steps = []
    choices = Profile(profile)

    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        try:
            return choices.value(freedom, operands)
        except NoChoice:
            return pick(freedom, operands)

    for step in side.steps:
        writes: dict[str, Any] = {}
        for name, term in step.writes.items():
            try:
                writes[name] = evaluate_term(term, values, choose)
            except NoChoice as open_result:
                writes[name] = str(open_result)
        steps.append(TraceStep(step.text, f"{step.page}:{step.line}", writes))
    return steps
