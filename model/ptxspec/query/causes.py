"""Why a claim fails: the causes of a counterexample by name, each checked.

A suspect is a fact about the values that an instruction meets there. It is a cause if the claim is proved once the condition that
keeps it out is assumed, and some input meets that. Where one does not suffice, several are taken together: those of further
counterexamples, until there are no more, and then without those that the proof does not need.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.abstractions import below
from ptxspec.query.outcomes import InstructionStep
from ptxspec.query.questions import Goal, ask
from ptxspec.query.solvers import solve
from ptxspec.query.verdicts import Cause, Counterexample, Why
from ptxspec.terms.core import Bool, constant
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, is_allowed, substitute, variables_in

#: seconds for each query, and rounds in which a further counterexample is looked at
EACH, ROUNDS = 1.0, 4
#: units in the last place by which results differ that were rounded differently
NEAR = 4
#: what says little of why
PLAIN = ("zero operand", "negative operand")


def causes_of(counterexample: Counterexample, timeout: float) -> Why:
    """The causes of a counterexample, in `timeout` seconds."""
    goal = ask(*counterexample.question)
    if goal.profiles[0] != goal.profiles[1] or any(side.side is not None for side in goal.sides):
        return Why(())  # suspects are of straight lines under one profile
    values = {**dict.fromkeys(goal.inputs.types, 0), **counterexample.inputs}
    chosen = {(c.entry, c.operation, c.operands): c.bits for c in counterexample.choices}
    return _CauseSearch(goal, time.monotonic() + timeout).run(FailingRun(goal, values, chosen))


class Suspect(NamedTuple):
    """A fact: its name, where and what it is in words, the condition that keeps it out, the same in words, and as an assumption
    if it can be one."""

    name: str
    detail: str
    without: Bool
    words: str
    assume: str | None


class FailingRun:
    """A counterexample: the values of the inputs, and what was chosen for open results."""

    def __init__(self, goal: Goal, values: dict[str, Any], chosen: dict[Any, int]):
        self.goal, self.values, self.chosen = goal, values, chosen
        self.inputs, self.settle = goal.inputs.terms, goal.settled
        #: the types as which inputs are taken
        self.types = {n: t for n, t in goal.taken.items() if any(n in side.inputs for side in goal.sides)}
        self.profile = Profile(goal.profiles[0])

    def choose(self, freedom: Any, operands: tuple[int, ...]) -> int:
        if self.profile.chooses(freedom):
            return self.profile.chosen(freedom, operands)
        bits = self.chosen.get((freedom.attrs[0], freedom.attrs[5], operands))
        if bits is None or not is_allowed(freedom, operands, bits):
            raise NoChoice(freedom)
        return bits

    def value(self, term: Any) -> Any:
        """The value of a term; None if it is left open."""
        try:
            return evaluate(term, self.values, self.choose)
        except NoChoice:
            return None

    def executed(self) -> Iterator[tuple[InstructionStep, Any]]:
        """The instructions of both sides that are executed, with their meanings."""
        for side in self.goal.sides:
            for step in side.steps:
                if step.plan is not None and (step.holds is None or self.value(step.holds)):
                    yield step, step.plan.meaning

    def sources(self, step: InstructionStep) -> Iterator[tuple[str, Type, Any]]:
        """(the name of the variable, its type, the term of what it holds) for each source of an instruction that has a type."""
        assert step.plan is not None
        for taken in step.plan.meaning.inputs:
            types = taken.types or (taken.type,) * len(taken.variables)
            for type, variable in zip(types, taken.variables, strict=False):
                name = variable.attrs[0]
                if type is not None and name in step.sources:
                    yield name, type, step.sources[name]

    def input_of(self, term: Any) -> str | None:
        """The input that a term is, if it is one."""
        return str(term.attrs[0]) if term.op == "var" and term.attrs[0] in self.inputs else None

    def suspects(self) -> list[Suspect]:
        """All that may be a cause, each condition once."""
        suspects: dict[str, Suspect] = {}
        for kind in KINDS:
            for suspect in kind(self):
                suspects.setdefault(suspect.words, suspect)
        return list(suspects.values())


class _CauseSearch:
    def __init__(self, goal: Goal, deadline: float):
        self.goal, self.deadline = goal, deadline
        self.differs = goal.differs
        #: suspects of which the solver did not say in time whether they are the cause
        self.open: list[Suspect] = []

    def run(self, failing: FailingRun) -> Why:
        suspects = failing.suspects()
        for suspect in suspects:
            if self.is_cause([suspect]):
                return self.explained([suspect], suspects)
        together = self.gathered(suspects)
        return self.explained(together, suspects) if together else Why(tuple(self.facts(failing)))

    def gathered(self, suspects: list[Suspect]) -> list[Suspect]:
        """Suspects without which the claim is proved, none of which could be left out; none if there are no such."""
        kept = _general(suspects)
        for _ in range(ROUNDS):
            holds, other = self.proved(kept)
            if holds:
                if not self.possible(kept):
                    return []
                for suspect in list(kept):
                    rest = [s for s in kept if s is not suspect]
                    if rest and self.proved(rest)[0]:
                        kept = rest
                return kept
            known = {suspect.words for suspect in kept}
            further = [s for s in _general(other.suspects()) if s.words not in known] if other is not None else []
            if not further:
                return []
            kept += [suspect._replace(detail=f"in another counterexample, {suspect.detail}") for suspect in further]
        return []

    def is_cause(self, suspects: list[Suspect]) -> bool:
        return self.proved(suspects)[0] and self.possible(suspects)

    def proved(self, suspects: list[Suspect]) -> tuple[bool, FailingRun | None]:
        """Whether the claim is proved without the suspects; if not, another counterexample, if there is one."""
        answer = self.solved(suspects, self.differs)
        if len(suspects) == 1 and (answer is None or answer.status not in ("sat", "unsat")):
            self.open += [suspect for suspect in _general(suspects) if suspect not in self.open]
        if answer is None or answer.status != "sat":
            return answer is not None and answer.status == "unsat", None
        chosen = {(attrs[0], attrs[5], operands): bits for (attrs, operands), bits in answer.choices.items()}
        return False, FailingRun(self.goal, answer.values, chosen)

    def possible(self, suspects: list[Suspect]) -> bool:
        """Whether some input is left."""
        answer = self.solved(suspects, TRUE)
        return answer is not None and answer.status == "sat"

    def solved(self, suspects: list[Suspect], claim: Bool) -> Any:
        left = min(EACH, self.deadline - time.monotonic())
        without = reduce(and_, (suspect.without for suspect in suspects), TRUE)
        return solve(self.goal.given & (without & claim), self.goal.taken, left) if left > 0 else None

    def explained(self, causes: list[Suspect], suspects: list[Suspect]) -> Why:
        """The causes, with the plainest condition that is proved to suffice."""
        shown = tuple(Cause(cause.name, cause.detail, cause.words) for cause in causes)
        if len(causes) > 1 or causes[0].assume is None:
            for suspect in suspects:
                if suspect.assume is not None and suspect not in causes and self.is_cause([suspect]):
                    return Why(shown, suspect.assume, suspect.assume)
        words = " and ".join(cause.words for cause in causes)
        assumptions = [cause.assume for cause in causes if cause.assume is not None]
        return Why(shown, words, " and ".join(assumptions) if len(assumptions) == len(causes) else None)

    def facts(self, failing: FailingRun) -> Iterator[Cause]:
        """What is so in this counterexample, and named although no condition keeps it out."""
        page = contracts.floating_point
        for suspect in self.open:
            yield Cause(suspect.name, f"{suspect.detail} (whether that is all is open)", suspect.words)
        for name, type in self.goal.compared.items():
            x, y = (failing.value(final[name]) for final in self.goal.finals)
            if not type.is_float or x is None or y is None or x == y:
                continue
            patterns = constant(x), constant(y)
            places = [int(page.order(pattern, type).attrs[0]) for pattern in patterns]
            special = any(failing.value(f(v, type)) for v in patterns for f in (page.is_nan, page.is_infinite))
            apart = abs(places[0] - places[1])
            if not special and 0 < apart <= NEAR:
                units = "a unit" if apart == 1 else f"{apart} units"
                detail = f"{name} differs by {units} in the last place"
                yield Cause("rounding differs", detail, "both sides round alike")
        for entry, operation, operands in failing.chosen:
            shown = ", ".join(f"{x:#x}" for x in operands)
            of = f" of {operation}" if operation else ""
            yield Cause("open result", f"{entry}{of}({shown}) is left open", "a profile chooses it")


def _general(suspects: list[Suspect]) -> list[Suspect]:
    """Suspects of a kind that says why, and not of single values; those that can be assumed, if there are such."""
    kept = [suspect for suspect in suspects if suspect.name not in PLAIN and not suspect.words.partition(" != 0x")[1]]
    return [suspect for suspect in kept if suspect.assume is not None] or kept


# suspects -------------------------------------------------------------------------------------------------------------


def shift_distances(failing: FailingRun) -> Iterator[Suspect]:
    """Distances of shifts that are not below the width of what is shifted."""
    for step, meaning in failing.executed():
        for result in meaning.results:
            distances: set[str] = set()  # the variables that alone decide by how much something is shifted
            for shift in below(*result.values):
                if shift.op in ("shl", "shr") and shift.args[0].op != "const":
                    names = variables_in([shift.args[1]])
                    if len(names) == 1 and names.isdisjoint(variables_in([shift.args[0]])):
                        distances |= names
            for name, type, term in failing.sources(step):
                value = failing.value(failing.settle(term)) if name in distances and not type.is_float else None
                width = result.type.width
                if value is None or value < width:
                    continue
                detail = f"{step.text} shifts by {value}, and the result has {width} bits"
                known = failing.input_of(term)
                words = f"{known} < {width}" if known else f"the distance of {step.text} is below {width}"
                without, assume = failing.settle(term) < width, words if known else None
                yield Suspect("shift distance of the width or more", detail, without, words, assume)


def overflows(failing: FailingRun) -> Iterator[Suspect]:
    """Exact results that the destination does not hold, so that bits were dropped."""
    for step, meaning in failing.executed():
        for type, term in ((r.type, term) for r in meaning.results for term in r.values if r.type.is_integer):
            dropped = term.op == "low" and term.attrs[0] == type.width
            if not dropped and not type.signed:
                continue
            exact = failing.settle(substitute(term.args[0] if dropped else term, dict(step.sources)))
            value = failing.value(exact)
            if value is None or type.min <= value <= type.max:
                continue
            name = "signed overflow" if type.signed else "unsigned wrap-around"
            if value >= 1 << (type.width + 1) or value < -(1 << type.width):
                name = "truncation of the high part"
            detail = f"{step.text} is exactly {value}, which {type} does not hold"
            words = f"the exact result of {step.text} is one that {type} holds"
            yield Suspect(name, detail, (exact >= type.min) & (exact <= type.max), words, None)


def float_classes(failing: FailingRun) -> Iterator[Suspect]:
    """Operands that are NaNs, zeros with a sign, infinite or subnormal."""
    page = contracts.floating_point
    #: what an operand of the class is called, and a number; whether a pattern is of it; the words for an input that is not of it
    classes: tuple[tuple[str, str, Callable[[Any, Type], Bool], str], ...] = (
        ("NaN operand", "NaN", page.is_nan, "not nan({})"),
        (
            "signed zero",
            "negative zero",
            lambda x, t: page.is_zero(x, t) & page.is_negative(x, t),
            "not (zero({0}) and negative({0}))",
        ),
        ("subnormal operand", "subnormal number", page.is_subnormal, "not subnormal({})"),
        ("infinite operand", "infinite number", page.is_infinite, "not infinite({})"),
    )
    sources = ((step, *source) for step, _ in failing.executed() for source in failing.sources(step))
    operands = [(step, type, term) for step, _, type, term in sources if type.is_float and type.elements == 1]
    inputs = {name: type for _, type, term in operands if (name := failing.input_of(term)) is not None}
    for name, noun, holds, format in classes:
        of_it = [(s, term) for s, type, term in operands if failing.value(holds(failing.settle(term), type))]
        if not of_it:
            continue
        step, first = of_it[0]
        detail = f"{failing.input_of(first) or 'an operand'} of {step.text} is one: {failing.value(failing.settle(first)):#x}"
        if any(failing.input_of(term) for _, term in of_it):
            without = reduce(and_, (~holds(failing.inputs[n], type) for n, type in inputs.items()), TRUE)
            words = " and ".join(format.format(n) for n in inputs)
            yield Suspect(name, detail, without, words, words)
        without = reduce(and_, (~holds(failing.settle(term), type) for _, type, term in operands), TRUE)
        yield Suspect(name, detail, without, f"no floating-point operand is a {noun}", None)


def zero_operands(failing: FailingRun) -> Iterator[Suspect]:
    """Inputs that are zero."""
    for name, type in failing.types.items():
        if type.kind in "bus" and failing.values[name] == 0:
            words = f"{name} != 0"
            yield Suspect("zero operand", f"{name} is zero", failing.inputs[name] != 0, words, words)


def single_values(failing: FailingRun) -> Iterator[Suspect]:
    """The values themselves: a claim may fail for one value only."""
    for name, type in failing.types.items():
        value = failing.values[name]
        if type.kind != "pred" and value != 0:
            shown = f"{value:#0{type.width // 4 + 2}x}"
            most = value == 1 << (type.width - 1) and type.kind in "bs"
            called, words = "the most negative number" if most else f"the value {shown}", f"{name} != {shown}"
            yield Suspect(called, f"{name} is {shown}", failing.inputs[name] != value, words, words)


def negative_operands(failing: FailingRun) -> Iterator[Suspect]:
    """Integer inputs whose sign bit is set."""
    for name, type in failing.types.items():
        if type.kind in "bus" and failing.values[name] >> (type.width - 1):
            without, words = failing.inputs[name] < 1 << (type.width - 1), f"signed({name}) >= 0"
            yield Suspect("negative operand", f"the sign bit of {name} is set", without, words, words)


#: all kinds, those first that say the most
KINDS = (shift_distances, overflows, float_classes, zero_operands, single_values, negative_operands)
