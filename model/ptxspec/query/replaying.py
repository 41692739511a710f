"""A solver's counterexample replayed on the exact interpretation, by a launch where it can be, and shown step by step.

The solver knows nothing of a bound: an approximate result is any number to it. Where a model chooses one that the bound does not
allow, the inputs are tried again with numbers that it does allow: the nearest one, and the farthest to either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ptxspec.query.evaluate import cut
from ptxspec.query.outcomes import SymbolicFragment
from ptxspec.query.questions import Goal
from ptxspec.query.solvers.answers import Choices, simple_choice
from ptxspec.query.verdicts import Counterexample, OpenChoice, TraceStep, Verdict
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in, is_allowed

#: combinations of allowed numbers that are tried for one input
MOST_TRIED = 64
#: makes a choice: (the freedom, the values of its operands) -> bits
Pick = Callable[[Any, tuple[int, ...]], int]


class ModelMachine:
    """The machine of a solver's model: what it chose, and in `met` what it was asked for since. What the claim does not depend
    on, such as a number that is shifted out altogether, the model need not choose: there the machine takes something that is
    allowed. `beyond` are the approximate results that it chose outside of their bounds, of which a solver knows nothing."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.met: dict[Any, OpenChoice] = {}
        self.beyond: dict[Any, Any] = {}

    def pick(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """What it chooses: if the model does not say, the nearest number, or simple bits. Raises NoChoice where that is not
        allowed."""
        key, allowed = (freedom.attrs, operands), freedom.attrs[4]
        bits = self.choices.get(key)
        if bits is None:
            near = isinstance(allowed, Approximation)
            bits = allowed.nearest(*operands) if near else simple_choice(freedom, operands)
        if bits is None:
            raise NoChoice(freedom)
        if not is_allowed(freedom, operands, bits):
            if not isinstance(allowed, Approximation):
                raise NoChoice(freedom)
            self.beyond[key] = freedom
        self.met[key] = OpenChoice(freedom.attrs[0], operands, bits, freedom.attrs[3], freedom.attrs[5])
        return bits

    def within_bounds(self) -> Iterator[ModelMachine]:
        """Machines that choose within the bounds where this one does not: itself, if it never left them."""
        if not self.beyond:
            yield self
            return
        for choices in allowed_choices(self.beyond):
            yield ModelMachine({**self.choices, **choices})


def refutation(
    goal: Goal,
    values: Mapping[str, Any],
    machine: ModelMachine,
    differing: tuple[str, ...],
    reason: str,
    left: Pick | None = None,
) -> Verdict:
    """The verdict by inputs and a machine, shown step by step. `left` makes the left side's choices, if not the machine does."""
    doubt = _doubt(goal, values, machine.pick)
    if doubt is not None:
        return Verdict("unknown", doubt)
    machine.met.clear()
    first, second = (
        _trace(side, values, pick, profile, machine)
        for side, pick, profile in zip(goal.sides, (left or machine.pick, machine.pick), goal.profiles, strict=True)
    )
    inputs = {n: values[n] for n in dict.fromkeys((*goal.sides[0].inputs, *goal.sides[1].inputs))}
    types = {n: t for side in goal.sides for n, t in side.left.items()}
    types |= {n: t for n, t in goal.taken.items() if n in inputs}
    choices = tuple(machine.met.values())
    shown = Counterexample(inputs, types, differing, first, second, choices, goal.compared, goal.put)
    return Verdict("refuted", reason, shown)


def _doubt(goal: Goal, values: Mapping[str, Any], pick: Pick) -> str | None:
    """Why a counterexample refutes nothing; None if it does. A launch of a side may show something else than its terms say, or
    these may be of a state that an invariant allows, and that no launch need reach. What no launch can begin with stands as the
    exact interpretation has it."""
    sides, how = goal.sides, goal.how
    if any(side.steps_over for side in sides):
        shown = ", ".join(dict.fromkeys(f"{n} = {values[n]}" for s in sides for n in s.inputs if n in values))
        return f"the invariant says too little: it allows {shown or 'other values'}, for which they differ"
    if all(side.side is None for side in sides) or how.interfered:
        return None
    from ptxspec.query.paths.replaying import laid_out, run

    for name, side, profile in zip(("left", "right"), sides, goal.profiles, strict=True):
        where = laid_out(how, values)
        contracted = any(f.attrs[0] == "contraction" for f in freedoms_in(*side.outputs.values(), side.faults))
        if side.side is None or where is None or contracted:  # no launch contracts as a machine likes
            continue
        here = {**values, **where.addresses}
        if not evaluate(goal.given, here, pick, {}) or any(evaluate(b.holds, here, pick, {}) for b in side.beyond):
            continue
        first = {n: evaluate(term, here, pick) for n, term in side.unwritten.items()}
        launch = run(side.side, how, {**values, **first}, where, profile, pick)
        if launch is None:
            continue
        faults = bool(evaluate(side.faults, here, pick, {}))
        if faults != (launch.faulted is not None):
            shown = f"a launch of the {name} side {'ends' if faults else 'says: ' + str(launch.faulted)}"
            return f"the counterexample does not stand up to a launch: {shown}"
        for output, term in side.outputs.items():
            left = launch.results.get(output)
            if not faults and output in launch.results and evaluate(term, here, pick, {}) != left:
                return f"the counterexample does not stand up to a launch: a launch of the {name} side leaves {left} in {output}"
    return None


def _trace(
    side: SymbolicFragment, values: Mapping[str, Any], pick: Pick, profile: str, machine: ModelMachine
) -> list[TraceStep]:
    """What a side does. Where it goes by a choice that nobody makes, it is shown as the machine would choose."""
    steps = []
    choices = Profile(profile)
    memo: dict[int, Any] = {}
    memo_of_paths: dict[int, Any] = {}

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
        if step.reached is not None:
            conditions = [c for c in (step.reached, step.holds) if c is not None]
            if not all(evaluate(c, values, decide, memo_of_paths) for c in conditions):
                continue
        writes: dict[str, Any] = {}
        for name, term in step.writes.items():
            try:
                writes[name] = cut(evaluate(term, values, choose, memo), step.types[name])
            except NoChoice as open_result:
                writes[name] = str(open_result)
        done = True
        if step.holds is not None:
            with suppress(NoChoice):  # whether it is executed is open: what it wrote says so
                done = bool(evaluate(step.holds, values, choose, memo))
        steps.append(TraceStep(step.text, f"{step.page}:{step.line}", writes, step.types, done, step.guard))
    return steps


# approximate results within their bounds ------------------------------------------------------------------------------


def allowed_choices(beyond: dict[Any, Any]) -> Iterator[Choices]:
    """Choices to make in place of those that are `beyond` their bounds: (attributes, operands' values) -> allowed bits."""
    keys = list(beyond)
    ranges = [allowed_patterns(freedom, operands) for (_, operands), freedom in beyond.items()]
    for bits in itertools.islice(itertools.product(*ranges), MOST_TRIED):
        yield dict(zip(keys, bits, strict=True))


def allowed_patterns(freedom: Any, operands: tuple[int, ...]) -> list[int]:
    """Some patterns that the bound allows: the nearest to the exact number, its neighbours, and the last before the bound is
    reached on either side."""
    bound = _Bound(freedom, operands)
    places = [bound.centre, bound.farthest(-1), bound.farthest(1), bound.centre - 1, bound.centre + 1]
    return [bound.pattern(n) or 0 for n in dict.fromkeys(places) if bound.fits(n)]


def farthest_pattern(freedom: Any, operands: tuple[int, ...], step: int) -> int:
    """The last pattern that the bound allows, going from the nearest downward (-1) or upward (1)."""
    bound = _Bound(freedom, operands)
    return bound.pattern(bound.farthest(step)) or 0


class _Bound:
    """What the bound of an approximate result allows for some operands: places in the order of the numbers that patterns are."""

    def __init__(self, freedom: Any, operands: tuple[int, ...]):
        self.freedom, self.operands = freedom, operands
        self.type: Type = freedom.attrs[3]
        self.top = 1 << (self.type.width - 1)
        nearest: int = freedom.attrs[4].nearest(*operands)
        self.centre: int = nearest if self.type.kind != "f" or nearest < self.top else self.top - 1 - nearest

    def pattern(self, place: int) -> int | None:
        """The pattern at a place; None for a place that no pattern has."""
        if self.type.kind != "f":
            return place if 0 <= place < 2 * self.top else None
        if not -self.top <= place < self.top:
            return None
        return place if place >= 0 else self.top - 1 - place

    def fits(self, place: int) -> bool:
        bits = self.pattern(place)
        return bits is not None and is_allowed(self.freedom, self.operands, bits)

    def farthest(self, step: int) -> int:
        """The last place, going by steps from the centre, up to which every place looked at fits."""
        reach = 1
        while self.fits(self.centre + step * reach):
            reach *= 2
        low, high = reach // 2, reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(self.centre + step * middle) else (low, middle)
        return self.centre + step * low
