"""The goal that two texts pose: their inputs, the registers compared, and their results as terms; and what may be spent on it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

from ptxspec.language.diagnostics import PtxError
from ptxspec.language.specials import special_registers
from ptxspec.query.assumptions import assumption
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import SymbolicFragment, Unsupported
from ptxspec.query.paths.options import PLAIN, Options
from ptxspec.query.paths.ordering import MARK
from ptxspec.query.results import results, unequal, unequal_with_any_nan, wanted
from ptxspec.query.solvers import Solver, SolverAnswer, solve
from ptxspec.query.solvers.domains import SOON, is_quick
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, constant, truth, variable, variable_of
from ptxspec.terms.profiles import Profile
from ptxspec.terms.registries import GUARANTEES
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, resolve

#: seconds that a solver has before inputs are drawn at random
FIRST = 3.0
#: seconds for a goal whose time is over already, and for one on which a verdict waits that is reached
LEAST, LAST = 0.05, 1.0
_MODULE = re.compile(r"\.(?:entry|func)\b")


class Inputs(NamedTuple):
    """`terms` has the variable of every input, `types` its type. Among them are special registers that no side reads, but that
    those which are read are guaranteed to be related to. `guaranteed` is what the pages guarantee of all of them."""

    terms: dict[str, Any]
    types: dict[str, Type]
    guaranteed: Bool

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """The variables of some names only."""
        return {n: self.terms[n] for n in names}


def inputs_of(names: Iterable[str], types: Mapping[str, Type]) -> Inputs:
    """The inputs of a goal that reads these names; those without a type of their own are special registers."""
    specials = special_registers()
    pending = list(dict.fromkeys(names))
    terms: dict[str, Any] = {}
    known: dict[str, Type] = {}
    relevant = []
    while pending:
        name = pending.pop(0)
        if name in terms:
            continue
        type = known[name] = types.get(name) or specials[name]
        terms[name] = variable_of(name, type)
        if name in types and types[name] is not specials.get(name):
            continue
        for guarantee in GUARANTEES:
            if guarantee.names[0] == name:
                relevant.append(guarantee)
                pending += guarantee.names
    guaranteed = reduce(and_, (g.holds(*[terms[n] for n in g.names]) for g in relevant), TRUE)
    return Inputs(terms, known, guaranteed)


def taken_types(inputs: Inputs, *fragments: SymbolicFragment) -> dict[str, Type]:
    """The inputs with the types as which an instruction first takes them, where that has the register's width."""
    types = dict(inputs.types)
    for fragment in reversed(fragments):
        for name, type in fragment.taken.items():
            if name in types and type.width == types[name].width and type.kind != "pred":
                types[name] = type
    return types


class Goal(NamedTuple):
    """Both sides, their inputs, the names that are compared and the type in which each is, the condition on the inputs, and the
    results with the profiles' choices made: a term for each name and side. `assume` is the condition as it was written,
    `profiles` has each side's profile, `how` what a goal about paths says beside."""

    sides: tuple[SymbolicFragment, SymbolicFragment]
    inputs: Inputs
    compared: dict[str, Type]
    given: Bool
    finals: tuple[dict[str, Any], dict[str, Any]]
    assume: str | None
    profiles: tuple[str, str]
    how: Options

    def unequal(self, name: str) -> Bool:
        """That a register's final values differ, in the bits that are compared."""
        left, right = self.finals
        differ = unequal_with_any_nan if self.how.nan == "any" else unequal
        return differ(left[name], right[name], self.compared[name])

    @property
    def differs(self) -> Bool:
        """That the sides leave something else in one of the registers compared."""
        return reduce(or_, map(self.unequal, self.compared), FALSE)

    @property
    def beyond(self) -> Bool:
        """That one of the sides was not followed to its end."""
        return reduce(or_, (end.holds for side in self.sides for end in side.beyond), FALSE)

    @property
    def followed(self) -> Bool:
        """That both sides were followed to their ends, and no loop was stepped over in a state that its invariant excludes."""
        return ~self.beyond & self.sides[0].stepped & self.sides[1].stepped

    @property
    def taken(self) -> dict[str, Type]:
        """The inputs with the types as which instructions take them."""
        return taken_types(self.inputs, *self.sides)

    @property
    def put(self) -> tuple[str, str, str | None, tuple[str, str], Options]:
        """What `ask` takes to pose it."""
        return self.sides[0].text, self.sides[1].text, self.assume, self.profiles, self.how

    def settled(self, term: Any, side: int = 0) -> Any:
        """A term with the choices made of a side's profile."""
        return resolve(term, Profile(self.profiles[side]).settled)

    def inputs_are(self, values: Mapping[str, Any]) -> Bool:
        """That the inputs have these values."""
        return reduce(and_, (truth(t == constant(values[n])) for n, t in self.inputs.terms.items()), TRUE)


def ask(
    left: str,
    right: str,
    assume: str | None = None,
    profile: str | tuple[str, str] = "portable",
    how: Options = PLAIN,
    more: Mapping[str, Type] = {},
) -> Goal:
    """The goal that two texts pose. `profile` makes the choices of both sides, or one profile those of each. `more` are inputs
    of which the assumption may tell, beside those that a side reads. Raises PtxError, AssumptionError or ValueError for a goal
    that is posed wrongly, Unsupported for one that cannot be posed."""
    sides, types, compared = question(left, right, how)
    read = dict.fromkeys(n for side in sides for n in side.inputs)
    if not how.open_at_first:  # what no path reads stands in terms all the same
        read |= dict.fromkeys(n for side in sides for n in side.idle)
    read |= dict.fromkeys(more)
    inputs = inputs_of(read, {**types, **more})
    given = assumed(assume, inputs.read(read), inputs.types, how) & inputs.guaranteed & sides[0].given & sides[1].given
    profiles = (profile, profile) if isinstance(profile, str) else (profile[0], profile[1])
    finals, resolved = [], []
    for side, name in zip(sides, profiles, strict=True):
        choose, memo = Profile(name).settled, dict[int, Any]()
        finals.append({n: resolve(side.outputs[n], choose, memo) for n in compared})
        ends = tuple(end._replace(holds=resolve(end.holds, choose, memo)) for end in side.beyond)
        resolved.append(side._replace(faults=resolve(side.faults, choose, memo), beyond=ends))
    return Goal((resolved[0], resolved[1]), inputs, compared, given, (finals[0], finals[1]), assume, profiles, how)


def assumed(text: str | None, read: Mapping[str, Any], types: Mapping[str, Type], how: Options) -> Bool:
    """An assumption on the inputs; of a warp, on those of each lane, which are called as if there were no others."""
    if text is None or how.lanes == 1:
        return assumption(text, read, types)
    condition: Bool = TRUE
    for lane in range(how.lanes):
        terms, kinds = dict(read), dict(types)
        for name in read:
            short = name.removesuffix(f"[{lane}]")
            if short not in read:
                terms[short], kinds[short] = read[name], types[name]
        condition = condition & assumption(text, terms, kinds)
    return condition


def question(
    left: str, right: str, how: Options = PLAIN
) -> tuple[tuple[SymbolicFragment, SymbolicFragment], dict[str, Type], dict[str, Type]]:
    """(both sides, the types of all registers, the names compared with the type in which they are). What is compared are the
    names that the goal asks for, or else the results: the names that both sides write, but for those whose last value a later
    instruction of each side reads. Raises ValueError if no name is written by both, or not one that is asked for."""
    first = _side(left, "<left>", None, how)
    second = _side(right, "<right>", None, how._replace(is_right=True))
    fixed = {n: t for n, t in first.named.items() if n in second.named}
    if any(second.named[n] != t for n, t in fixed.items()):
        try:
            second = _side(right, "<right>", fixed, how._replace(is_right=True))
        except PtxError:
            known = {n: second.named[n] for n in fixed if n in second.named}
            first = _side(left, "<left>", known, how)
    first, second = _completed(first, second), _completed(second, first)
    read = {n: t for n, t in first.registers.items() if n in first.inputs and n in second.inputs}
    for types, others, in_one_width in ((read, second.registers, True), (first.left, second.left, False)):
        for name, type in types.items():
            other = others.get(name, type)
            if (type.kind == "pred") != (other.kind == "pred") or (in_one_width and type.width != other.width):
                raise ValueError(f"{name} is {type} on the left side and {other} on the right")
    both = [n for n in first.outputs if n in second.outputs]
    if not both and not (first.memory or second.memory):
        raise ValueError("no register is written by both sides, so there is nothing to compare")
    events: list[str] = []
    names, compare = both, how.compare
    if how.interfered:  # beside the events, whatever is asked for of the registers
        events = [n for n in both if n.startswith(MARK)]
        names = [n for n in both if n not in events]
        compare = compare and tuple(n for n in compare if n not in (*first.memory, *second.memory))
    scratch = first.scratch & second.scratch
    names = events + (results(names, scratch) if compare is None else wanted(names, compare))
    compared = {n: max(first.left[n], second.left[n], key=lambda type: type.width) for n in names}
    return (first, second), {**second.registers, **first.registers}, compared


def _side(text: str, path: str, types: Mapping[str, Type] | None, how: Options) -> SymbolicFragment:
    """One side: a straight line as it always is, and what is none by its paths."""
    if how.are_plain and not _MODULE.search(text):
        try:
            return read_fragment(text, path, dict(types or {}), how.contract)
        except Unsupported:
            pass
    from ptxspec.query.paths.walking import read_paths

    return read_paths(text, path, types, how)


def _completed(side: SymbolicFragment, other: SymbolicFragment) -> SymbolicFragment:
    """A side with the bytes of memory that it shares and only the other one may have written, which are as they were, and with
    nothing in the place of the events that the other one has beyond its own."""
    missing = [n for n in other.outputs if n not in side.outputs]
    untouched = [n for n in missing if n.rpartition("[")[0] in side.memory and n in other.bytes]
    events = {n: other.left[n] for n in missing if n.startswith(MARK)}
    if not untouched and not events:
        return side
    types = dict.fromkeys(untouched, TYPES["b8"]) | events
    outputs: dict[str, Any] = {n: variable(n, 8) for n in untouched}
    outputs |= {n: FALSE if t.kind == "pred" else constant(0) for n, t in events.items()}
    return side._replace(
        outputs=side.outputs | outputs,
        left=side.left | types,
        registers=side.registers | types,
        inputs=(*side.inputs, *(n for n in untouched if n not in side.inputs)),
    )


class Means(NamedTuple):
    """The time.monotonic() at which solvers are given up, and the seconds until then as they were at first; the solver that is
    asked, and what is called with the number of inputs that were run."""

    deadline: float
    seconds: float
    solver: Solver = "z3"
    progress: Callable[[int, int], None] | None = None

    @property
    def timeout(self) -> float:
        """The seconds that are left for solvers. Running every input may take as long again as all of these."""
        return max(LEAST, self.deadline - time.monotonic())

    @property
    def at_least(self) -> Means:
        """The same, with time for one more query."""
        return self._replace(deadline=max(self.deadline, time.monotonic() + LAST))

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.deadline

    def solve(self, claim: Bool, goal: Goal, purpose: str, soon: bool = False) -> SolverAnswer:
        """What a solver answers to a claim about the inputs; an answer is wanted `soon`, if there is another way."""
        limit = min(self.timeout, FIRST) if soon else self.timeout
        if not soon and is_quick(claim, goal.given, goal.inputs.types):
            limit = min(limit, SOON)
        return solve(claim, goal.taken, limit, solver=self.solver, purpose=purpose)

    def no_answer(self, answer: SolverAnswer) -> Verdict:
        """The verdict where a solver neither found inputs nor showed that there are none."""
        status = "" if answer.status == "timeout" else f", which said: {answer.status}"
        return Verdict("unknown", f"no answer from {answer.tried}{status}")
