"""What may be the cause of a counterexample: facts about the values that an instruction meets there, by name.

Each function looks for facts of one kind and says, of each, the condition that keeps it out. Whether it is the cause, `causes`
finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.fragments import Fragment, Step
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, substitute, variables_in


class Suspect(NamedTuple):
    """A fact: its name, where and what it is in words, the condition that keeps it out, the same in words, and as an assumption
    if it can be one."""

    name: str
    detail: str
    without: Bool
    words: str
    assume: str | None


class Case(NamedTuple):
    """A counterexample: both sides, the types as which inputs are taken, their values, what makes choices in terms, and what
    makes them for values."""

    sides: tuple[Fragment, ...]
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

    def executed(self) -> Iterator[Step]:
        """The instructions of both sides that are executed."""
        for side in self.sides:
            for step in side.steps:
                if step.plan is not None and (step.holds is None or self.value(step.holds)):
                    yield step

    def sources(self, step: Step) -> Iterator[tuple[str, Type, Any]]:
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


def overflows(case: Case) -> Iterator[Suspect]:
    """Exact results that the destination does not hold, so that bits were dropped."""
    for step in case.executed():
        assert step.plan is not None
        for result in step.plan.meaning.results:
            for value in result.values:
                if not result.type.is_integer:
                    continue
                dropped = value.op == "low" and value.attrs[0] == result.type.width
                if not dropped and not result.type.signed:
                    continue
                exact = case.settle(substitute(value.args[0] if dropped else value, dict(step.sources)))
                found, type = case.value(exact), result.type
                if found is None or type.min <= found <= type.max:
                    continue
                name = "signed overflow" if type.signed else "unsigned wrap-around"
                if found >= 1 << (type.width + 1) or found < -(1 << type.width):
                    name = "truncation of the high part"
                detail = f"{step.text} is exactly {found}, which {type} does not hold"
                words = f"the exact result of {step.text} is one that {type} holds"
                yield Suspect(name, detail, (exact >= type.min) & (exact <= type.max), words, None)


def shift_distances(case: Case) -> Iterator[Suspect]:
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
    found: set[str] = set()
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
                found |= names
    return found


class _Class(NamedTuple):
    """A class of floating-point patterns: what an operand of it is called, whether a pattern is of it, and the words for an input
    that is not of it."""

    name: str
    holds: Callable[[Any, Type], Bool]
    words: str


def float_classes(case: Case) -> Iterator[Suspect]:
    """Operands that are NaNs, zeros with a sign, infinite or subnormal."""
    page = contracts.floating_point
    classes = (
        _Class("NaN operand", page.is_nan, "not nan({})"),
        _Class(
            "signed zero", lambda x, t: page.is_zero(x, t) & page.is_negative(x, t), "not (zero({0}) and negative({0}))"
        ),
        _Class("subnormal operand", page.is_subnormal, "not subnormal({})"),
        _Class("infinite operand", page.is_infinite, "not infinite({})"),
    )
    operands = _float_operands(case)
    for one in classes:
        of_it = [(s, type, term) for s, type, term in operands if _is(case, one.holds(case.settle(term), type))]
        if not of_it:
            continue
        step, _, first = of_it[0]
        known = case.input_of(first)
        detail = f"{known or 'an operand'} of {step.text} is one: {case.value(case.settle(first)):#x}"
        inputs = {name: type for _, type, term in operands if (name := case.input_of(term)) is not None}
        if any(case.input_of(term) for _, _, term in of_it):
            conditions = [~one.holds(case.inputs[name], type) for name, type in inputs.items()]
            words = " and ".join(one.words.format(name) for name in inputs)
            yield Suspect(one.name, detail, _all(conditions), words, words)
        conditions = [~one.holds(case.settle(term), type) for _, type, term in operands]
        yield Suspect(one.name, detail, _all(conditions), f"no floating-point operand is a {_noun(one.name)}", None)


def _noun(name: str) -> str:
    return {"NaN operand": "NaN", "signed zero": "negative zero"}.get(name, name.replace(" operand", " number"))


def _float_operands(case: Case) -> list[tuple[Step, Type, Any]]:
    """The operands of floating-point formats, of both sides."""
    found = []
    for step in case.executed():
        for _, type, term in case.sources(step):
            if type.is_float and type.elements == 1:
                found.append((step, type, term))
    return found


def zero_operands(case: Case) -> Iterator[Suspect]:
    """Inputs that are zero."""
    for name, type in case.types.items():
        if type.kind in "bus" and case.values[name] == 0:
            yield Suspect("zero operand", f"{name} is zero", case.inputs[name] != 0, f"{name} != 0", f"{name} != 0")


def single_values(case: Case) -> Iterator[Suspect]:
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


def negative_operands(case: Case) -> Iterator[Suspect]:
    """Integer inputs whose sign bit is set."""
    for name, type in case.types.items():
        if type.kind in "bus" and case.values[name] >> (type.width - 1):
            below = 1 << (type.width - 1)
            words = f"signed({name}) >= 0"
            yield Suspect("negative operand", f"the sign bit of {name} is set", case.inputs[name] < below, words, words)


def _is(case: Case, condition: Bool) -> bool:
    return bool(case.value(condition))


def _all(conditions: list[Bool]) -> Bool:
    found: Bool = TRUE
    for one in conditions:
        found = found & one
    return found


#: all kinds, those first that say the most
KINDS = (shift_distances, overflows, float_classes, zero_operands, single_values, negative_operands)
