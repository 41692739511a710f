"""Whether two fragments compute the same, for every input.

A *machine* makes each choice that PTX leaves open as a function of the freedom (its name, its type, what it allows, and the
operation where several share the name) and of its operands' values: equal operands, equal choice, wherever the two meet, on
either side. Two fragments are *equal* if for every input and every such machine they leave the same in all registers that both
write, all of them together. So an open result equals itself, on the same operands; it does not equal another open result, and
two operands in another order are other operands. An approximate result counts as any number, the same one for the same
operands: a proof for all numbers is one for those within the bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ptxspec.language.diagnostics import PtxError
from ptxspec.options import Status
from ptxspec.query.assumptions import assumption
from ptxspec.query.evaluate import cut, readings
from ptxspec.query.fragments import Fragment, Unsupported, read_fragment
from ptxspec.query.inputs import Inputs, inputs_of
from ptxspec.query.solving import Answer, Choices, solve
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, is_allowed, low_bits, resolve


class TraceStep(NamedTuple):
    """An instruction of one side, the document line that defines it, what it wrote (bits, or a sentence where the result is
    open), and the types that the instruction's form gives to that.

    >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5")
    >>> step = verdict.counterexample.left[0]
    >>> step.instruction, step.page.partition(":")[0], step.writes
    ('neg.s32 d, a;', 'spec/instructions/integer/neg.md', {'d': 4294967291})
    """

    instruction: str
    page: str
    writes: dict[str, Any]
    types: dict[str, Type]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5")
        >>> verdict.counterexample.right[0].as_dict()["instruction"]
        'not.b32 d, a;'
        """
        return {**self._asdict(), "types": {n: str(t) for n, t in self.types.items()}}


class OpenChoice(NamedTuple):
    """A choice that the machine of a counterexample makes: the entry in the register of ambiguities, the operands' values,
    the bits, of the type, and the operation whose choice it is, or "" if the entry is of one alone.

    >>> (choice,) = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;", assume="a == 3").counterexample.choices
    >>> choice.entry, choice.operands, choice.bits != 5
    ('division-by-zero', (3, 0), True)
    >>> [c.operation for c in ptxspec.prove("abs.f32 d, a;", "neg.f32 d, a;", assume="nan(a)").counterexample.choices]
    ['abs', 'neg']
    """

    entry: str
    operands: tuple[int, ...]
    bits: int
    type: Type
    operation: str

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> found = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;").counterexample
        >>> found.choices[0].as_dict()["entry"]
        'division-by-zero'
        """
        return {**self._asdict(), "operands": list(self.operands), "type": str(self.type)}


class Counterexample(NamedTuple):
    """Inputs on which the sides differ, and the choices of a machine for which they do, replayed through the exact
    interpretation. `types` has the types of the inputs, and of the other registers that the sides leave; `compared`
    those in which results are compared.

    >>> found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5").counterexample
    >>> found.inputs, found.types["a"].width, found.differing
    ({'a': 5}, 32, ('d',))
    """

    inputs: dict[str, Any]
    types: dict[str, Type]
    differing: tuple[str, ...]
    left: list[TraceStep]
    right: list[TraceStep]
    choices: tuple[OpenChoice, ...]
    compared: dict[str, Type]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON; inputs with all their readings.

        >>> found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5").counterexample
        >>> found.as_dict()["inputs"]["a"]["hex"]
        '0x00000005'
        """
        return {
            "inputs": {n: {**readings(v, self.types[n]), "type": str(self.types[n])} for n, v in self.inputs.items()},
            "differing": list(self.differing),
            "compared": {n: str(t) for n, t in self.compared.items()},
            "choices": [c.as_dict() for c in self.choices],
            "left": [s.as_dict() for s in self.left],
            "right": [s.as_dict() for s in self.right],
        }


class Verdict(NamedTuple):
    """`status` is "proved", "refuted", "vacuous" (no input meets the assumption, so that nothing was said), "approximated"
    (they would differ if approximate results could be any number, and bounds are not looked at), "exhausted" (the time ran out),
    "unknown" (the solver gave up) or "unsupported" (the question cannot be asked); `reason` says why; `seconds` is what the
    solver took.

    >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").status
    'proved'
    """

    status: Status
    reason: str = ""
    counterexample: Counterexample | None = None
    seconds: float = 0.0

    @property
    def exit_status(self) -> int:
        """The status with which the command ends.

        >>> ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;").exit_status
        1
        """
        return {"proved": 0, "refuted": 1, "vacuous": 3}.get(self.status, 2)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").as_dict()["status"]
        'proved'
        """
        found: dict[str, Any] = {"status": self.status, "reason": self.reason, "seconds": round(self.seconds, 3)}
        if self.counterexample is not None:
            found["counterexample"] = self.counterexample.as_dict()
        return found


class Question(NamedTuple):
    """Both sides, their inputs, the names that are compared and the type in which each is, the condition on the inputs, and the
    results with the profile's choices made: a term for each name and side."""

    sides: tuple[Fragment, Fragment]
    inputs: Inputs
    compared: dict[str, Type]
    given: Bool
    finals: tuple[dict[str, Any], dict[str, Any]]


def prove(
    left: str, right: str, *, assume: str | None = None, profile: str = "portable", timeout: float = 60.0
) -> Verdict:
    """Whether two fragments are equal: whether for every input, and for every machine, they leave the same in all registers that
    both write, taken together. Registers that both read before writing are shared inputs. A machine is free in what PTX leaves
    open, but for equal operands it makes equal choices. Special registers have only values that a thread may meet.

    `assume` restricts the inputs, `profile` fixes results that PTX leaves open, `timeout` is what the solver may take, in
    seconds. A result is compared in the type of the form that writes it, in the wider one where the sides' differ. Raises
    PtxError, AssumptionError or ValueError for a question that is put wrongly.

    >>> ptxspec.prove("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", assume="a != 0").status
    'proved'
    >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;")
    >>> verdict.status, verdict.counterexample.differing
    ('refuted', ('d',))
    """
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"a timeout of {timeout} seconds: a positive number is needed")
    try:
        asked = _ask(left, right, assume, profile)
    except Unsupported as why:
        return Verdict("unsupported", str(why))
    began = time.monotonic()
    differs: Any = constant(False)
    for name in asked.compared:
        differs = differs | _unequal(asked, name)
    verdict = _decided(asked, differs, profile, timeout)
    if verdict.status == "proved" and assume:
        verdict = _unless_vacuous(verdict, asked, max(1.0, timeout - (time.monotonic() - began)))
    return verdict._replace(seconds=time.monotonic() - began)


def _decided(asked: Question, differs: Bool, profile: str, timeout: float) -> Verdict:
    """The verdict, whatever the assumption is worth."""
    if differs.op == "const" and not differs.attrs[0]:
        return Verdict("proved", "both sides are the same term")
    answer = solve(asked.given & differs, asked.inputs.types, timeout)
    if answer.status == "unsat":
        return Verdict("proved", "no input on which they differ")
    if answer.status != "sat":
        return _no_answer(answer)
    try:
        return _replayed(asked, answer, profile)
    except NoChoice as missing:
        return Verdict("unknown", f"the solver's machine does not say what it chooses: {missing}")


def _no_answer(answer: Answer) -> Verdict:
    return Verdict("exhausted" if answer.status == "timeout" else "unknown", f"the solver says: {answer.status}")


def _unless_vacuous(verdict: Verdict, asked: Question, timeout: float) -> Verdict:
    """The verdict, if some input meets the assumption."""
    answer = solve(asked.given, asked.inputs.types, timeout)
    if answer.status == "sat":
        return verdict
    if answer.status == "unsat":
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    why = f"whether any input meets the assumption is open: {_no_answer(answer).reason}"
    return _no_answer(answer)._replace(reason=f"{verdict.reason}, but {why}")


def _ask(left: str, right: str, assume: str | None, profile: str) -> Question:
    sides, types, compared = question(left, right)
    inputs = inputs_of((*sides[0].inputs, *sides[1].inputs), types)
    read = inputs.read(dict.fromkeys((*sides[0].inputs, *sides[1].inputs)))
    given = assumption(assume, read, inputs.types) & inputs.guaranteed
    choices = Profile(profile)
    memo: dict[int, Any] = {}

    def choose(freedom: Any) -> Any:
        return choices.term(freedom) if choices.chooses(freedom) else freedom

    first, second = ({n: resolve(side.outputs[n], choose, memo) for n in compared} for side in sides)
    return Question(sides, inputs, compared, given, (first, second))


def question(left: str, right: str) -> tuple[tuple[Fragment, Fragment], dict[str, Type], dict[str, Type]]:
    """(both sides, the types of all registers, the names compared with the type in which they are). Raises ValueError if no
    name is written by both."""
    first = read_fragment(left, "<left>")
    second = read_fragment(right, "<right>")
    shared = {n for n in (*first.inputs, *first.outputs) if n in second.inputs or n in second.outputs}
    fixed = {n: first.registers[n] for n in shared if n in first.registers}
    if any(second.registers.get(n, t) != t for n, t in fixed.items()):
        try:
            second = read_fragment(right, "<right>", fixed)
        except PtxError:
            first = read_fragment(left, "<left>", {n: second.registers[n] for n in fixed if n in second.registers})
    compared = {n: _wider(first.left[n], second.left[n]) for n in first.outputs if n in second.outputs}
    if not compared:
        raise ValueError("no register is written by both sides, so there is nothing to compare")
    return (first, second), {**second.registers, **first.registers}, compared


def _wider(x: Type, y: Type) -> Type:
    return x if x.width >= y.width else y


def _unequal(asked: Question, name: str) -> Bool:
    """That a register's final values differ, in the bits that are compared."""
    x, y = (final[name] for final in asked.finals)
    type = asked.compared[name]
    if type.kind == "pred":
        return truth(x) != truth(y)
    return low_bits(x, type.width) != low_bits(y, type.width)


def _replayed(asked: Question, answer: Answer, profile: str) -> Verdict:
    """The solver's answer, held against the exact interpretation."""
    met: dict[Any, OpenChoice] = {}
    pick = _machine(answer.choices, met)
    memo: dict[int, Any] = {}
    approximate: set[str] = set()
    differing = []
    for name in asked.compared:
        met.clear()
        x, y = (cut(evaluate_term(f[name], answer.values, pick, {}), asked.compared[name]) for f in asked.finals)
        if x != y:
            near = {attrs[0] for attrs, _ in met if isinstance(attrs[4], Approximation)}
            approximate |= near
            differing.append((name, bool(near)))
    if differing and all(near for _, near in differing):
        what = " and ".join(sorted(approximate))
        reason = f"no proof that holds whatever number {what} may be; bounds are not looked at"
        return Verdict("approximated", reason)
    if not differing or not evaluate_term(asked.given, answer.values, pick, memo):
        return Verdict("unknown", "the solver's counterexample does not stand up to the exact interpretation")
    return _refuted(asked, answer, profile, tuple(name for name, _ in differing))


def _refuted(asked: Question, answer: Answer, profile: str, differing: tuple[str, ...]) -> Verdict:
    met: dict[Any, OpenChoice] = {}
    pick = _machine(answer.choices, met)
    left, right = (_trace(side, answer.values, pick, profile) for side in asked.sides)
    read = (*asked.sides[0].inputs, *asked.sides[1].inputs)
    inputs = {n: answer.values[n] for n in dict.fromkeys(read)}
    types = {n: t for side in asked.sides for n, t in side.left.items()}
    types |= {n: asked.inputs.types[n] for n in inputs}
    shown = Counterexample(inputs, types, differing, left, right, tuple(met.values()), asked.compared)
    return Verdict("refuted", f"they differ in {', '.join(differing)}", shown)


def _machine(choices: Choices, met: dict[Any, OpenChoice]) -> Callable[[Any, tuple[int, ...]], int]:
    """The machine of a model, which notes in `met` what it was asked for. What the claim does not depend on, such as a number
    that is shifted out altogether, the model need not choose: there the machine takes something that is allowed."""

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        key = freedom.attrs, operands
        bits = choices.get(key)
        bits = _something(freedom, operands) if bits is None else bits
        near = isinstance(freedom.attrs[4], Approximation)
        if not (near or is_allowed(freedom, operands, bits)):
            raise NoChoice(freedom)
        met[key] = OpenChoice(freedom.attrs[0], operands, bits, freedom.attrs[3], freedom.attrs[5])
        return bits

    return pick


def _something(freedom: Any, operands: tuple[int, ...]) -> int:
    """Bits that the freedom allows: zero, or all ones, or else the nearest number. Raises NoChoice if these are not."""
    allowed = freedom.attrs[4]
    if isinstance(allowed, Approximation):
        return allowed.nearest(*operands)
    for bits in (0, (1 << freedom.attrs[1]) - 1):
        if is_allowed(freedom, operands, bits):
            return bits
    raise NoChoice(freedom)


def _trace(side: Fragment, values: Mapping[str, Any], pick: Any, profile: str) -> list[TraceStep]:
    steps = []
    choices = Profile(profile)
    memo: dict[int, Any] = {}

    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        try:
            return choices.chosen(freedom, operands)
        except NoChoice:
            return int(pick(freedom, operands))

    for step in side.steps:
        writes: dict[str, Any] = {}
        for name, term in step.writes.items():
            try:
                writes[name] = cut(evaluate_term(term, values, choose, memo), step.types[name])
            except NoChoice as open_result:
                writes[name] = str(open_result)
        steps.append(TraceStep(step.text, f"{step.page}:{step.line}", writes, step.types))
    return steps
