"""A solver's counterexample replayed on the exact interpretation, and told step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ptxspec.query.evaluate import cut
from ptxspec.query.fragments import Fragment
from ptxspec.query.paths.asking import executed
from ptxspec.query.questions import Question
from ptxspec.query.solvers import Choices
from ptxspec.query.solvers.choices import simple_choice
from ptxspec.query.verdicts import Counterexample, OpenChoice, TraceStep
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import Approximation, is_allowed

#: makes a choice: (the freedom, the values of its operands) -> bits
Pick = Callable[[Any, tuple[int, ...]], int]


class Machine:
    """The machine of a solver's model: what it chose, and in `met` what it was asked for since. What the claim does not depend
    on, such as a number that is shifted out altogether, the model need not choose: there the machine takes something that is
    allowed. `beyond` are the approximate results that it chose outside of their bounds, of which a solver knows nothing."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.met: dict[Any, OpenChoice] = {}
        self.beyond: dict[Any, Any] = {}

    def pick(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """What it chooses. Raises NoChoice where that is not allowed."""
        key = freedom.attrs, operands
        bits = self.choices.get(key)
        bits = something(freedom, operands) if bits is None else bits
        if not is_allowed(freedom, operands, bits):
            if not isinstance(freedom.attrs[4], Approximation):
                raise NoChoice(freedom)
            self.beyond[key] = freedom
        self.met[key] = OpenChoice(freedom.attrs[0], operands, bits, freedom.attrs[3], freedom.attrs[5])
        return bits


def something(freedom: Any, operands: tuple[int, ...]) -> int:
    """Bits that the freedom allows: the nearest number, or simple ones. Raises NoChoice if none of these are."""
    allowed = freedom.attrs[4]
    if isinstance(allowed, Approximation):
        return allowed.nearest(*operands)
    bits = simple_choice(freedom, operands)
    if bits is None:
        raise NoChoice(freedom)
    return bits


def results_of(asked: Question, side: int, values: Mapping[str, Any], pick: Pick) -> dict[str, Any]:
    """What a side leaves in the compared registers."""
    memo: dict[int, Any] = {}
    finals = asked.finals[side]
    return {n: cut(evaluate_term(finals[n], values, pick, memo), t) for n, t in asked.compared.items()}


def counterexample(
    asked: Question, values: Mapping[str, Any], machine: Machine, differing: tuple[str, ...], left: Pick | None = None
) -> Counterexample:
    """Inputs and a machine, shown step by step. `left` makes the left side's choices, if not the machine does."""
    machine.met.clear()
    picks = (left or machine.pick, machine.pick)
    first, second = (
        _trace(side, values, pick, profile, machine)
        for side, pick, profile in zip(asked.sides, picks, asked.profiles, strict=True)
    )
    read = dict.fromkeys((*asked.sides[0].inputs, *asked.sides[1].inputs))
    inputs = {n: values[n] for n in read}
    types = {n: t for side in asked.sides for n, t in side.left.items()}
    types |= {n: t for n, t in asked.taken.items() if n in inputs}
    choices = tuple(machine.met.values())
    return Counterexample(inputs, types, differing, first, second, choices, asked.compared, asked.put)


def _trace(side: Fragment, values: Mapping[str, Any], pick: Pick, profile: str, machine: Machine) -> list[TraceStep]:
    """What a side does. Where it goes by a choice that nobody makes, it is shown as the machine would choose."""
    steps = []
    choices = Profile(profile)
    memo: dict[int, Any] = {}
    ways: dict[int, Any] = {}

    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        try:
            return choices.chosen(freedom, operands)
        except NoChoice:
            return int(pick(freedom, operands))

    def decide(freedom: Any, operands: tuple[int, ...]) -> int:
        try:
            return choose(freedom, operands)
        except NoChoice:
            return machine.pick(freedom, operands)

    for step in side.steps:
        if step.reached is not None and not executed(step, values, decide, ways):
            continue
        writes: dict[str, Any] = {}
        for name, term in step.writes.items():
            try:
                writes[name] = cut(evaluate_term(term, values, choose, memo), step.types[name])
            except NoChoice as open_result:
                writes[name] = str(open_result)
        done = True
        if step.holds is not None:
            with suppress(NoChoice):  # whether it is executed is open: what it wrote says so
                done = bool(evaluate_term(step.holds, values, choose, memo))
        steps.append(TraceStep(step.text, f"{step.page}:{step.line}", writes, step.types, done, step.guard))
    return steps
