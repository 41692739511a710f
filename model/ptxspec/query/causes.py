"""Why a claim fails: the causes of a counterexample by name, each checked.

A suspect is a cause if the claim is proved once the condition that keeps it out is assumed, and some input meets that. Where one
does not suffice, several are taken together: those of further counterexamples, until there are no more, and then without those
that the proof does not need.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.fragments import InstructionStep, SymbolicFragment
from ptxspec.query.questions import Goal, ask
from ptxspec.query.solvers import solve
from ptxspec.query.verdicts import Cause, Counterexample, Why
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, is_allowed, substitute, variables_in

#: seconds for each question, and rounds in which a further counterexample is looked at
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
    return _CauseSearch(goal, time.monotonic() + timeout).run(values, chosen)


class _CauseSearch:
    def __init__(self, goal: Goal, deadline: float):
        self.goal, self.deadline = goal, deadline
        self.differs = goal.differs
        self.profile = Profile(goal.profiles[0])
        #: suspects of which the solver did not say in time whether they are the cause
        self.open: list[Suspect] = []

    def run(self, values: dict[str, Any], chosen: dict[Any, int]) -> Why:
        suspects = self.suspects(values, chosen)
        for suspect in suspects:
            if self.proved([suspect])[0] and self.possible([suspect]):
                return self.explained([suspect], suspects)
        together = self.gathered(suspects)
        if together:
            return self.explained(together, suspects)
        return Why(tuple(self.facts(values, chosen)))

    def gathered(self, suspects: list[Suspect]) -> list[Suspect]:
        """Suspects without which the claim is proved, none of which could be left out; none if there are no such."""
        kept = _general(suspects)
        for _ in range(ROUNDS):
            holds, other = self.proved(kept)
            if holds:
                return self.needed(kept) if self.possible(kept) else []
            if other is None:
                return []
            known = {suspect.words for suspect in kept}
            further = [s for s in _general(self.suspects(*other)) if s.words not in known]
            if not further:
                return []
            kept += [suspect._replace(detail=f"in another counterexample, {suspect.detail}") for suspect in further]
        return []

    def needed(self, kept: list[Suspect]) -> list[Suspect]:
        for suspect in list(kept):
            rest = [s for s in kept if s is not suspect]
            if rest and self.proved(rest)[0]:
                kept = rest
        return kept

    def proved(self, suspects: list[Suspect]) -> tuple[bool, tuple[dict[str, Any], dict[Any, int]] | None]:
        """Whether the claim is proved without the suspects; if not, another counterexample, if there is one."""
        answer = self.solved(self.without(suspects) & self.differs)
        if len(suspects) == 1 and (answer is None or answer.status not in ("sat", "unsat")):
            self.open += [suspect for suspect in _general(suspects) if suspect not in self.open]
        if answer is None or answer.status != "sat":
            return answer is not None and answer.status == "unsat", None
        chosen = {(attrs[0], attrs[5], operands): bits for (attrs, operands), bits in answer.choices.items()}
        return False, (answer.values, chosen)

    def possible(self, suspects: list[Suspect]) -> bool:
        """Whether some input is left."""
        answer = self.solved(self.without(suspects))
        return answer is not None and answer.status == "sat"

    def without(self, suspects: list[Suspect]) -> Bool:
        condition: Bool = TRUE
        for suspect in suspects:
            condition = condition & suspect.without
        return condition

    def solved(self, condition: Bool) -> Any:
        left = min(EACH, self.deadline - time.monotonic())
        if left <= 0:
            return None
        return solve(self.goal.given & condition, self.goal.taken, left)

    def case(self, values: dict[str, Any], chosen: dict[Any, int]) -> FailingRun:
        def settle(term: Any) -> Any:
            return self.goal.settled(term)

        def choose(freedom: Any, operands: tuple[int, ...]) -> int:
            if self.profile.chooses(freedom):
                return self.profile.chosen(freedom, operands)
            bits = chosen.get((freedom.attrs[0], freedom.attrs[5], operands))
            if bits is None or not is_allowed(freedom, operands, bits):
                raise NoChoice(freedom)
            return bits

        read = {n: t for n, t in self.goal.taken.items() if any(n in side.inputs for side in self.goal.sides)}
        return FailingRun(self.goal.sides, self.goal.inputs.terms, read, values, settle, choose)

    def suspects(self, values: dict[str, Any], chosen: dict[Any, int]) -> list[Suspect]:
        case = self.case(values, chosen)
        suspects: dict[str, Suspect] = {}
        for kind in KINDS:
            for suspect in kind(case):
                suspects.setdefault(suspect.words, suspect)
        return list(suspects.values())

    def explained(self, causes: list[Suspect], suspects: list[Suspect]) -> Why:
        """The causes, with the plainest condition that is proved to suffice."""
        shown = tuple(Cause(suspect.name, suspect.detail, suspect.words) for suspect in causes)
        if len(causes) > 1 or causes[0].assume is None:
            for suspect in suspects:
                if (
                    suspect.assume is not None
                    and suspect not in causes
                    and self.proved([suspect])[0]
                    and self.possible([suspect])
                ):
                    return Why(shown, suspect.assume, suspect.assume)
        words = " and ".join(suspect.words for suspect in causes)
        assumptions = [suspect.assume for suspect in causes if suspect.assume is not None]
        return Why(shown, words, " and ".join(assumptions) if len(assumptions) == len(causes) else None)

    def facts(self, values: dict[str, Any], chosen: dict[Any, int]) -> list[Cause]:
        """What is so in this counterexample, and named although no condition keeps it out."""
        case, page = self.case(values, chosen), contracts.floating_point()
        causes = [
            Cause(suspect.name, f"{suspect.detail} (whether that is all is open)", suspect.words)
            for suspect in self.open
        ]
        for name, type in self.goal.compared.items():
            x, y = (case.value(final[name]) for final in self.goal.finals)
            if not type.is_float or x is None or y is None or x == y:
                continue
            apart = abs(_place(x, type) - _place(y, type))
            finite = not any(
                case.value(f(v, type)) for v in map(_constant, (x, y)) for f in (page.is_nan, page.is_infinite)
            )
            if finite and 0 < apart <= NEAR:
                units = "a unit" if apart == 1 else f"{apart} units"
                causes.append(
                    Cause("rounding differs", f"{name} differs by {units} in the last place", "both sides round alike")
                )
        for entry, operation, operands in chosen:
            shown = ", ".join(f"{x:#x}" for x in operands)
            of = f" of {operation}" if operation else ""
            causes.append(Cause("open result", f"{entry}{of}({shown}) is left open", "a profile chooses it"))
        return causes


def _constant(value: int) -> Any:
    from ptxspec.terms.core import constant

    return constant(value)


def _place(bits: int, type: Any) -> int:
    """The number of a pattern in the order of its format."""
    return int(contracts.floating_point().order(_constant(bits), type).attrs[0])


def _general(suspects: list[Suspect]) -> list[Suspect]:
    """Suspects of a kind that says why, and not of single values; those that can be assumed, if there are such."""
    kept = [suspect for suspect in suspects if suspect.name not in PLAIN and not suspect.words.partition(" != 0x")[1]]
    return [suspect for suspect in kept if suspect.assume is not None] or kept


class Suspect(NamedTuple):
    """A fact: its name, where and what it is in words, the condition that keeps it out, the same in words, and as an assumption
    if it can be one."""

    name: str
    detail: str
    without: Bool
    words: str
    assume: str | None


class FailingRun(NamedTuple):
    """A counterexample: both sides, the types as which inputs are taken, their values, what makes choices in terms, and what
    makes them for values."""

    sides: tuple[SymbolicFragment, ...]
    inputs: Mapping[str, Any]
    types: Mapping[str, Type]
    values: Mapping[str, Any]
    settle: Callable[[Any], Any]
    choose: Callable[[Any, tuple[int, ...]], int]

    def value(self, term: Any) -> Any:
        """The value of a term; None if it is left open."""
        try:
            return evaluate_term(term, self.values, self.choose)
        except NoChoice:
            return None

    def executed(self) -> Iterator[InstructionStep]:
        """The instructions of both sides that are executed."""
        for side in self.sides:
            for step in side.steps:
                if step.plan is not None and (step.holds is None or self.value(step.holds)):
                    yield step

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
        if term.op == "var" and term.attrs[0] in self.inputs:
            return str(term.attrs[0])
        return None


def overflows(case: FailingRun) -> Iterator[Suspect]:
    """Exact results that the destination does not hold, so that bits were dropped."""
    for step in case.executed():
        assert step.plan is not None
        for result in step.plan.meaning.results:
            for term in result.values:
                if not result.type.is_integer:
                    continue
                dropped = term.op == "low" and term.attrs[0] == result.type.width
                if not dropped and not result.type.signed:
                    continue
                exact = case.settle(substitute(term.args[0] if dropped else term, dict(step.sources)))
                value, type = case.value(exact), result.type
                if value is None or type.min <= value <= type.max:
                    continue
                name = "signed overflow" if type.signed else "unsigned wrap-around"
                if value >= 1 << (type.width + 1) or value < -(1 << type.width):
                    name = "truncation of the high part"
                detail = f"{step.text} is exactly {value}, which {type} does not hold"
                words = f"the exact result of {step.text} is one that {type} holds"
                yield Suspect(name, detail, (exact >= type.min) & (exact <= type.max), words, None)


def shift_distances(case: FailingRun) -> Iterator[Suspect]:
    """Distances of shifts that are not below the width of what is shifted."""
    for step in case.executed():
        assert step.plan is not None
        for result in step.plan.meaning.results:
            distances = _distances(result.values)
            for name, type, term in case.sources(step):
                value = case.value(case.settle(term)) if name in distances and not type.is_float else None
                width = result.type.width
                if value is None or value < width:
                    continue
                detail = f"{step.text} shifts by {value}, and the result has {width} bits"
                known = case.input_of(term)
                words = f"{known} < {width}" if known else f"the distance of {step.text} is below {width}"
                yield Suspect(
                    "shift distance of the width or more",
                    detail,
                    case.settle(term) < width,
                    words,
                    words if known else None,
                )


def _distances(values: tuple[Any, ...]) -> set[str]:
    """The variables that alone decide by how much something is shifted."""
    distances: set[str] = set()
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        term = waiting.pop()
        if id(term) in seen:
            continue
        seen[id(term)] = term
        waiting += term.args
        if term.op in ("shl", "shr") and term.args[0].op != "const":
            names = variables_in([term.args[1]])
            if len(names) == 1 and names.isdisjoint(variables_in([term.args[0]])):
                distances |= names
    return distances


class _Class(NamedTuple):
    """A class of floating-point patterns: what an operand of it is called, whether a pattern is of it, and the words for an input
    that is not of it."""

    name: str
    holds: Callable[[Any, Type], Bool]
    words: str


def float_classes(case: FailingRun) -> Iterator[Suspect]:
    """Operands that are NaNs, zeros with a sign, infinite or subnormal."""
    page = contracts.floating_point()
    classes = (
        _Class("NaN operand", page.is_nan, "not nan({})"),
        _Class(
            "signed zero", lambda x, t: page.is_zero(x, t) & page.is_negative(x, t), "not (zero({0}) and negative({0}))"
        ),
        _Class("subnormal operand", page.is_subnormal, "not subnormal({})"),
        _Class("infinite operand", page.is_infinite, "not infinite({})"),
    )
    operands = _float_operands(case)
    for float_class in classes:
        of_it = [(s, type, term) for s, type, term in operands if _is(case, float_class.holds(case.settle(term), type))]
        if not of_it:
            continue
        step, _, first = of_it[0]
        known = case.input_of(first)
        detail = f"{known or 'an operand'} of {step.text} is one: {case.value(case.settle(first)):#x}"
        inputs = {name: type for _, type, term in operands if (name := case.input_of(term)) is not None}
        if any(case.input_of(term) for _, _, term in of_it):
            conditions = [~float_class.holds(case.inputs[name], type) for name, type in inputs.items()]
            words = " and ".join(float_class.words.format(name) for name in inputs)
            yield Suspect(float_class.name, detail, _all(conditions), words, words)
        conditions = [~float_class.holds(case.settle(term), type) for _, type, term in operands]
        yield Suspect(
            float_class.name,
            detail,
            _all(conditions),
            f"no floating-point operand is a {_noun(float_class.name)}",
            None,
        )


def _noun(name: str) -> str:
    return {"NaN operand": "NaN", "signed zero": "negative zero"}.get(name, name.replace(" operand", " number"))


def _float_operands(case: FailingRun) -> list[tuple[InstructionStep, Type, Any]]:
    """The operands of floating-point formats, of both sides."""
    operands = []
    for step in case.executed():
        for _, type, term in case.sources(step):
            if type.is_float and type.elements == 1:
                operands.append((step, type, term))
    return operands


def zero_operands(case: FailingRun) -> Iterator[Suspect]:
    """Inputs that are zero."""
    for name, type in case.types.items():
        if type.kind in "bus" and case.values[name] == 0:
            yield Suspect("zero operand", f"{name} is zero", case.inputs[name] != 0, f"{name} != 0", f"{name} != 0")


def single_values(case: FailingRun) -> Iterator[Suspect]:
    """The values themselves: a claim may fail for one value only."""
    for name, type in case.types.items():
        value = case.values[name]
        if type.kind == "pred" or value == 0:
            continue
        shown = f"{value:#0{type.width // 4 + 2}x}"
        most = value == 1 << (type.width - 1) and type.kind in "bs"
        called = "the most negative number" if most else f"the value {shown}"
        words = f"{name} != {shown}"
        yield Suspect(called, f"{name} is {shown}", case.inputs[name] != value, words, words)


def negative_operands(case: FailingRun) -> Iterator[Suspect]:
    """Integer inputs whose sign bit is set."""
    for name, type in case.types.items():
        if type.kind in "bus" and case.values[name] >> (type.width - 1):
            below = 1 << (type.width - 1)
            words = f"signed({name}) >= 0"
            yield Suspect("negative operand", f"the sign bit of {name} is set", case.inputs[name] < below, words, words)


def _is(case: FailingRun, condition: Bool) -> bool:
    return bool(case.value(condition))


def _all(conditions: list[Bool]) -> Bool:
    found: Bool = TRUE
    for one in conditions:
        found = found & one
    return found


#: all kinds, those first that say the most
KINDS = (shift_distances, overflows, float_classes, zero_operands, single_values, negative_operands)
