"""Programs around a rewrite, small ones first, and the outcomes that one of them has only with the rewrite.

The thread of the rewrite has an access before it and one behind it, or none. Another thread has two accesses with the strongest
fence between, or one or two without; or two other threads have two accesses each, and a further location in common. What is
around is strong, in a scope that includes all, so that no race hides what the rewrite does. A program of which a part cannot
tell anything, because no other thread accesses the same, is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.litmus.executions import Enumeration
from ptxspec.query.litmus.programs import Combination, value_of
from ptxspec.query.litmus.threads import ThreadOperation, ThreadPath, Variable
from ptxspec.query.rewrites.simulation import ELSEWHERE, HERE
from ptxspec.query.rewrites.steps import Line, RewriteStep, heading
from ptxspec.terms.core import constant
from ptxspec.terms.operations import Operation, OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Scope
from ptxspec.terms.relations import MemoryModel
from ptxspec.terms.vocabulary import variables_in

#: what is looked at before a rewrite of which nothing is shown is left open
BOUND = (
    "an access before it and one behind it, and one other thread of two accesses with fence.sc between, "
    "or two of two accesses with fence.acq_rel between"
)
#: a name in a cell
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
#: what is around is strong, and of all threads
_OTHERS = Scope.SYS

#: an outcome: what registers and memory hold, by name
Outcome = frozenset[tuple[str, int]]


class Rewrite(NamedTuple):
    """What a thread does, and what replaces it. `stands` has for each step of the original the number of the one that stands for
    it; None where some have none. What registers hold in the end that both write is compared. Memory and registers hold
    `sizes` and `registers` at first. If it is of a `whole` thread, nothing is before and behind it."""

    before: Line
    after: Line
    stands: tuple[int, ...] | None = None
    sizes: Mapping[str, int] = {}
    registers: Mapping[str, int] = {}
    whole: bool = False

    @property
    def steps(self) -> tuple[RewriteStep, ...]:
        return (*self.before.steps, *self.after.steps)

    @property
    def compared(self) -> list[str]:
        """The registers that both write."""
        return sorted(self.before.registers.keys() & self.after.registers.keys())


class OtherThread(NamedTuple):
    """What another thread does, and where it runs."""

    steps: tuple[RewriteStep, ...]
    place: ThreadPlace


class Around(NamedTuple):
    """A program around a rewrite: steps of its thread before it and behind it, and other threads."""

    first: tuple[RewriteStep, ...]
    last: tuple[RewriteStep, ...]
    others: tuple[OtherThread, ...]

    @property
    def length(self) -> int:
        return len(self.first) + len(self.last) + sum(len(other.steps) for other in self.others)


class Witness(NamedTuple):
    """A rewrite, a program around it, and an outcome that it has with the rewrite alone."""

    rewrite: Rewrite
    around: Around
    outcome: Outcome

    def test(self, name: str, rewritten: bool) -> str:
        """The program as a litmus test that asks whether it may have the outcome: with the rewrite, or as it was."""
        around, line = self.around, self.rewrite.after if rewritten else self.rewrite.before
        thread = [*map(_cell, around.first), *line.cells, *map(_cell, around.last)]
        columns = [thread, *([_cell(s) for s in other.steps] for other in around.others)]
        places = [HERE, *(other.place for other in around.others)]
        heads = [f"P{k}@cta {p.cta},cluster {p.cluster},gpu {p.gpu}" for k, p in enumerate(places)]
        widths = [max(map(len, (head, *column))) for head, column in zip(heads, columns, strict=True)]

        def row(words: Sequence[str]) -> str:
            return " | ".join(word.ljust(width) for word, width in zip(words, widths, strict=True)).rstrip() + " ;"

        rows = [row([c[i] if i < len(c) else "" for c in columns]) for i in range(max(map(len, columns)))]
        around_it = [*self.around.first, *self.around.last, *(s for other in around.others for s in other.steps)]
        sizes = _sizes(self.rewrite, around_it)
        wanted = " /\\ ".join(f"{self._where(name)} == {value}" for name, value in sorted(self.outcome))
        first = heading(sizes, self.rewrite.registers)
        return f"PTX {name}\n{{ {first} }}\n" + "\n".join([row(heads), *rows]) + f"\nexists ({wanted})\n"

    def _where(self, name: str) -> str:
        """A register or a location, as a condition names it."""
        around = self.around
        lines = [(*around.first, *around.last), *(other.steps for other in around.others)]
        thread = next((k for k, line in enumerate(lines) if any(step.reads == name for step in line)), None)
        if thread is None and name in self.rewrite.compared:
            thread = 0
        return name if thread is None else f"P{thread}:{name}"


def _sizes(rewrite: Rewrite, others: Sequence[RewriteStep]) -> dict[str, int]:
    """The locations of a program, with their sizes."""
    return {**{step.location: step.size for step in (*rewrite.steps, *others) if step.location}, **rewrite.sizes}


def _cell(step: RewriteStep) -> str:
    """A step around, as the cell of a litmus test."""
    name = {OperationKind.READ: "ld", OperationKind.WRITE: "st", OperationKind.FENCE: "fence"}[step.kind]
    assert step.order is not None and step.scope is not None
    operands = [step.reads, step.location] if step.reads else [step.location]
    operands += [] if step.writes is None else [str(step.writes.lo)]
    return f"{name}.{step.order.value}.{step.scope.value} {', '.join(operands)}".rstrip()


#: how many other threads there are, in the order in which programs are looked at
OTHERS = (1, 2)


def witness(
    model: MemoryModel, rewrite: Rewrite, others: Sequence[int] = OTHERS, deadline: float = math.inf
) -> Witness | None:
    """The smallest program in which the rewrite makes another outcome possible, of so many other threads. After the `deadline`,
    in seconds of the monotonic clock, it raises OutOfTime."""
    search = _Search(model, rewrite)
    search.enumeration.deadline = deadline
    for around in _programs(rewrite, others):
        outcome = search.further(around)
        if outcome is not None:
            return Witness(rewrite, around, outcome)
    return None


class _Search:
    def __init__(self, model: MemoryModel, rewrite: Rewrite):
        self.enumeration, self.rewrite = Enumeration(model), rewrite

    def further(self, around: Around) -> Outcome | None:
        """An outcome that a program has with the rewrite alone, without what it does not need."""
        known = self.outcomes(around, self.rewrite.before)
        further = (outcome for outcome in self.outcomes(around, self.rewrite.after) if outcome not in known)
        outcome = next(further, None)
        if outcome is None:
            return None
        for part in sorted(outcome, key=lambda part: (part[0] in self.rewrite.compared, part)):
            fewer = outcome - {part}
            outcome = fewer if fewer and not any(fewer <= other for other in known) else outcome
        return outcome

    def outcomes(self, around: Around, line: Line) -> dict[Outcome, None]:
        """What a program may leave."""
        program = combination(around, line, self.rewrite)
        steps = (*around.first, *around.last, *(s for other in around.others for s in other.steps))
        reads = [step.reads for step in steps if step.reads]
        result: dict[Outcome, None] = {}
        for candidate in self.enumeration.candidates(program, lambda values: True):
            registers = [(name, candidate.values[name]) for name in reads]
            registers += [(n, value_of(line.registers[n], candidate.values)) for n in self.rewrite.compared]
            for final in self.enumeration.final_bytes(candidate):
                memory = [(piece.bytes.object, final[k]) for k, piece in enumerate(program.pieces)]
                result[frozenset([*registers, *memory])] = None
        return result


def combination(around: Around, line: Line, rewrite: Rewrite) -> Combination:
    """A program with a line in the place of the rewrite."""
    lines = [((*around.first, *line.steps, *around.last), HERE), *around.others]
    paths = [ThreadPath(_noted(steps, number, place), (), {}, True) for number, (steps, place) in enumerate(lines)]
    sizes = _sizes(rewrite, [step for steps, _ in lines for step in steps])
    return Combination({name: Variable(name, size) for name, size in sorted(sizes.items())}, paths)


def _noted(steps: Sequence[RewriteStep], thread: int, place: ThreadPlace) -> tuple[ThreadOperation, ...]:
    """The operations of a thread, each with those on whose values it depends."""
    noted: list[ThreadOperation] = []
    for at, step in enumerate(steps):
        reasons = frozenset() if step.writes is None else variables_in([step.writes]) - {step.reads}
        depends = tuple(before.operation for before in noted if before.reads in reasons)
        operation = _operation(step.shape, thread, place, at)
        operation = replace(operation, depends_on=depends) if depends else operation
        noted.append(ThreadOperation(operation, step.reads, step.writes))
    return tuple(noted)


@lru_cache(maxsize=100_000)
def _operation(step: RewriteStep, thread: int, place: ThreadPlace, at: int) -> Operation:
    """The same operation each time, so that what is known of two of them stays known."""
    return step.operation(thread, place, at)


# programs -----------------------------------------------------------------------------------------------------------------


def _programs(rewrite: Rewrite, others: Sequence[int]) -> Iterator[Around]:
    """The programs around a rewrite, small ones first."""
    steps = rewrite.steps
    sizes = {step.location: step.size for step in steps if step.location}
    taken = {*sizes, *_NAME.findall(" ".join((*rewrite.before.cells, *rewrite.after.cells)))}
    fresh = (name for name in (*"xyz", *(f"location{k}" for k in range(len(taken) + 3))) if name not in taken)
    marks = ("", *(f"other{k}" for k in range(len(taken) + 1)))
    mark = next(m for m in marks if not any(name[:-1] in (f"{m}s", f"{m}t", f"{m}u") for name in taken))
    while len(sizes) < 2:
        sizes[next(fresh)] = 4
    locations, further = tuple(sizes.items()), (next(fresh), 4)
    places = _places(steps)
    ends: list[tuple[RewriteStep, ...]] = [
        (),
        *([] if rewrite.whole else ((step,) for step in _accesses(locations, f"{mark}s1", 11))),
    ]
    lasts = [tuple(_named(step, f"{mark}s2", 12) for step in end) for end in ends]
    accessed = tuple(step for step in steps if step.location)
    if 1 in others:
        yield from _relevant(accessed, product(ends, lasts, _alone(locations, places, mark)))
    if 2 in others:
        yield from _relevant(accessed, product(ends, lasts, _two(locations, further, places, mark)))


def _relevant(accessed: tuple[RewriteStep, ...], parts: Any) -> list[Around]:
    """The programs of which each access may tell something, because another thread accesses the same and one of both writes."""
    result = []
    for around in (Around(*part) for part in parts):
        lines = [(*around.first, *accessed, *around.last), *(other.steps for other in around.others)]
        if all(
            any(_conflict(step, s) for k, other in enumerate(lines) if k != i for s in other)
            for i, line in enumerate(lines)
            for step in line
            if step.location and not any(step is s for s in accessed)
        ):
            result.append(around)
    return sorted(result, key=lambda around: around.length)


def _conflict(a: RewriteStep, b: RewriteStep) -> bool:
    return a.location == b.location and (a.writes is not None or b.writes is not None)


def _named(step: RewriteStep, register: str, number: int) -> RewriteStep:
    """A step around, with the register that it reads, or the number that it writes."""
    if step.kind is OperationKind.READ:
        return step._replace(reads=register)
    return step._replace(writes=constant(number))


def _accesses(locations: Sequence[tuple[str, int]], register: str, number: int) -> list[RewriteStep]:
    """A read and a write of each location, by all threads."""
    kinds = (OperationKind.READ, OperationKind.WRITE)
    return [
        _named(RewriteStep(kind, Order.RELAXED, _OTHERS, name, size), register, number)
        for (name, size), kind in product(locations, kinds)
    ]


_FENCE = RewriteStep(OperationKind.FENCE, Order.SC, _OTHERS)
#: two threads whose fences have an order of their own would tell less of a third one
_WEAKER = RewriteStep(OperationKind.FENCE, Order.ACQ_REL, _OTHERS)


@lru_cache(maxsize=32)
def _alone(
    locations: tuple[tuple[str, int], ...], places: tuple[ThreadPlace, ...], mark: str
) -> list[tuple[OtherThread, ...]]:
    """One other thread."""
    first, second = _accesses(locations, f"{mark}t1", 13), _accesses(locations, f"{mark}t2", 14)
    lines: list[tuple[RewriteStep, ...]] = [*((a,) for a in first), *product(first, second)]
    lines += [(a, _FENCE, b) for a, b in product(first, second) if a.location != b.location]
    return [(OtherThread(line, place),) for line, place in product(lines, places)]


@lru_cache(maxsize=32)
def _two(
    locations: tuple[tuple[str, int], ...], further: tuple[str, int], places: tuple[ThreadPlace, ...], mark: str
) -> list[tuple[OtherThread, ...]]:
    """Two other threads, with a location in common that the rewrite does not access."""

    def lines(register: str, number: int) -> list[tuple[RewriteStep, ...]]:
        shared = _accesses([further], f"{register}1", number)
        given = _accesses(locations, f"{register}2", number + 1)
        return [line for a, b in product(shared, given) for line in ((a, _WEAKER, b), (b, _WEAKER, a))]

    first, second = (list(enumerate(lines(f"{mark}{letter}", number))) for letter, number in (("t", 13), ("u", 15)))
    return [
        (OtherThread(a, place), OtherThread(b, place))
        for (i, a), (k, b), place in product(first, second, places)
        # the two threads the other way round are the same program
        if i < k and a[0].location != b[0].location and {s.location for s in a} != {s.location for s in b}
    ]


def _places(steps: Sequence[RewriteStep]) -> tuple[ThreadPlace, ...]:
    """Where other threads may run: for each set of the steps' scopes that include them, as far away as may be."""
    scoped = [step.operation(0, HERE, 0) for step in steps if step.scope is not None]
    by_scopes = {}
    for place in ELSEWHERE:
        there = _FENCE.operation(1, place, 0)
        by_scopes[tuple(bool(contracts.scopes.scope_includes(a, there)) for a in scoped)] = place
    inside = tuple(place for scopes, place in by_scopes.items() if any(scopes))
    return inside or ELSEWHERE[-1:]
