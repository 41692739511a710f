"""Whether each execution that PTX allows of a program of C++, as it is spelled, is one that C++ allows: for all orders and scopes
of the program's operations at once.

An execution of PTX is taken with any order of all writes of a location that agrees with its coherence order; so each outcome that
it may leave is that of an execution of C++ with the same reads and the same last writes. Where C++ does not allow that
execution, and the program has no race, PTX should not, either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.query.mapping.batches import BITS, Batch, BatchNode, Leaves, Row, common, no_pairs, transposed
from ptxspec.query.mapping.skeletons import (
    KINDS,
    OrderChoice,
    ProgramSlot,
    Skeleton,
    SkeletonExecution,
    Spelling,
    initial,
    operation,
)
from ptxspec.terms.operations import Operation, OperationKind
from ptxspec.terms.orders import Order
from ptxspec.terms.relations import Claim, MemoryModel

PTX = MemoryModel((9, 1))
#: executions that are looked at together
MOST_AT_ONCE = 4096


class Refutation(NamedTuple):
    """A program, an execution that PTX allows and C++ does not, and the orders and scopes of the program's operations."""

    skeleton: Skeleton
    execution: SkeletonExecution
    chosen: tuple[OrderChoice, ...]


class CppModel(NamedTuple):
    """A model of C++: of an edition, with what RC11 demands of reasons or without."""

    edition: MemoryModel
    with_reasons: bool

    @property
    def claims(self) -> tuple[Claim, ...]:
        return _of_cpp(self)


#: the models of C++, by their names
MODELS = {
    "C++20": CppModel(MemoryModel((20, 0)), False),
    "C++11": CppModel(MemoryModel((11, 0)), False),
    "RC11": CppModel(MemoryModel((20, 0)), True),
}


@lru_cache(maxsize=8)
def _of_cpp(model: CppModel) -> tuple[Claim, ...]:
    claims = [axiom.claim(model.edition) for axiom in contracts.cpp.CPP_AXIOMS.values()]
    return (*claims, *([contracts.cpp.keeps_rc11_reasons(model.edition)] if model.with_reasons else []))


@lru_cache(maxsize=1)
def _of_ptx() -> tuple[Claim, ...]:
    return tuple(axiom.claim(PTX) for axiom in contracts.axioms.ALL.values())


class SkeletonCheck:
    """A program but for its orders and scopes, and the ways in which both models see it."""

    def __init__(self, skeleton: Skeleton, spelling: Spelling, model: CppModel):
        self.skeleton, self.spelling, self.model = skeleton, spelling, model
        self.slots = skeleton.slots
        self.choices = [skeleton.choices(slot) for _, _, slot in self.slots]
        self.shape = tuple(map(len, self.choices))
        self.places = 1 + max(slot.place for _, _, slot in self.slots)
        self.grid = tuple(np.ogrid[tuple(slice(n) for n in self.shape)])
        self.executions = list(skeleton.executions())
        self._leaves: tuple[Leaves, Leaves] = {}, {}

    # nodes --------------------------------------------------------------------------------------------------------------

    def _cpp(self, chosen: Sequence[Any]) -> Batch:
        """What C++ sees, with so chosen orders and scopes."""
        nodes = [BatchNode(initial(p), 0, p) for p in range(self.places)]
        for (thread, at, slot), index, choices in zip(self.slots, chosen, self.choices, strict=True):
            place = self.skeleton.places[thread]
            alternatives = _as_written(KINDS[slot.letter], thread, place, at, slot.place, choices)
            nodes.append(BatchNode(alternatives, index, slot.place))
        return Batch(nodes, leaves=self._leaves[0])

    def _ptx(self, chosen: Sequence[Any]) -> tuple[Batch, list[int], list[tuple[int, int]]]:
        """What PTX sees: the operations, the number of each slot's, and thread and number of each fence that may be `.sc`."""
        nodes = [BatchNode(initial(p), 0, p) for p in range(self.places)]
        numbers, fences = [], []
        for (thread, at, slot), index, choices in zip(self.slots, chosen, self.choices, strict=True):
            place, picked = self.skeleton.places[thread], np.unique(index)
            parts = _as_spelled(self.spelling, slot, thread, place, at, choices)
            for k, part in enumerate(parts):
                if not any(part) and k != 1:
                    continue
                used = [part[int(i)] for i in picked]
                if any(o is not None and o.kind is OperationKind.FENCE and o.order is Order.SC for o in used):
                    fences.append((thread, len(nodes)))
                if k == 1:
                    numbers.append(len(nodes))
                nodes.append(BatchNode(part, index, slot.place if k == 1 else -1))
        return Batch(nodes, leaves=self._leaves[1]), numbers, fences

    # executions ---------------------------------------------------------------------------------------------------------

    def _given(
        self, executions: Sequence[SkeletonExecution], numbers: Sequence[int], count: int
    ) -> tuple[list[list[Row]], list[Row]]:
        """What is read from where, for each location, and the order of writes, in each of some executions; `numbers` are those of
        the slots' operations."""
        read = np.zeros((self.places, count, len(executions)), BITS)
        order = np.zeros((count, len(executions)), BITS)
        for e, execution in enumerate(executions):
            for reader, source in execution.sources.items():
                place = self.slots[reader][2].place
                read[place, place if source < 0 else numbers[source], e] |= BITS(1 << numbers[reader])
            for place, writes in enumerate(execution.writes):
                later = 0
                for a in (*(numbers[w] for w in reversed(writes)), place):
                    order[a, e], later = later, later | 1 << a
        if len(executions) == 1:
            return read[:, :, 0].tolist(), order[:, 0].tolist()
        return [list(map(_row, rows)) for rows in read], list(map(_row, order))

    def cpp_allows(self, batch: Batch, executions: Sequence[SkeletonExecution]) -> tuple[Any, Any]:
        """Where C++ allows an execution, and where it does and the execution has a race. Of several executions the batch has one
        choice of orders and scopes."""
        numbers = [self.places + k for k in range(len(self.slots))]
        read, order = self._given(executions, numbers, len(batch.nodes))
        whole = Batch(batch.nodes, batch, {"written before": order}, read)
        allowed = whole.keeps_all(self.model.claims)
        if self.skeleton.never_races or not np.any(allowed):
            return allowed, False
        return allowed, allowed & ~np.asarray(no_pairs(whole.rows(contracts.cpp.unordered(self.model.edition))))

    def ptx_allows(self, chosen: Any, executions: Sequence[SkeletonExecution]) -> Any:
        """Which of some executions PTX allows; `chosen` are the numbers of their orders and scopes: a row for each slot, and a
        column for each execution."""
        result = np.zeros(len(executions), bool)
        left = np.arange(len(executions))
        for stage in (_without_fences, _by_pairs):
            possible = stage(self._ptx_executions(chosen, executions, left))
            left = left[possible]
            if not len(left):
                return result
        result[left] = _by_orders(self._ptx_executions(chosen, executions, left))
        return result

    def _ptx_executions(self, chosen: Any, executions: Sequence[SkeletonExecution], left: Any) -> PtxExecutions:
        batch, numbers, fences = self._ptx(chosen[:, left])
        read, order = self._given([executions[k] for k in left], numbers, len(batch.nodes))
        return PtxExecutions(batch, fences, read, order, len(left))

    # the check ----------------------------------------------------------------------------------------------------------

    def refutations(self) -> Iterator[Refutation]:
        """Executions that PTX allows and C++ does not, of programs without a race; those alone whose orders and scopes cannot be
        weaker by a step."""
        left, forbidden = self._by_weakest()
        grid, racy = self._cpp(self.grid), np.zeros(self.shape, bool)
        wrong = [(execution, np.ones(self.shape, bool)) for execution in forbidden]
        for execution in left:
            allowed, race = self.cpp_allows(grid, [execution])
            racy |= np.asarray(race)
            if not np.all(allowed):
                wrong.append((execution, np.broadcast_to(~np.asarray(allowed), self.shape)))
        executions, chosen = [], []
        for execution, where in wrong:
            least = np.stack(np.nonzero(self._least(where & ~racy)))
            executions += [execution] * least.shape[1]
            chosen.append(least)
        for first in range(0, len(executions), MOST_AT_ONCE):
            some, picked = (
                executions[first : first + MOST_AT_ONCE],
                np.concatenate(chosen, 1)[:, first : first + MOST_AT_ONCE],
            )
            for at in np.nonzero(self.ptx_allows(picked, some))[0]:
                orders = tuple(c[int(k)] for c, k in zip(self.choices, picked[:, at], strict=True))
                yield Refutation(self.skeleton, some[at], orders)

    def _by_weakest(self) -> tuple[list[SkeletonExecution], list[SkeletonExecution]]:
        """The executions of which it depends on orders and scopes whether C++ allows them, all if there may be a race; and
        those that C++ forbids with any, and PTX does not."""
        low, high = (self._cpp(chosen) for chosen in ([0] * len(self.slots), [n - 1 for n in self.shape]))
        least = list(zip(*np.nonzero(self._least(np.ones(self.shape, bool))), strict=True))
        left, forbidden = [], []
        for first in range(0, len(self.executions), MOST_AT_ONCE):
            some = self.executions[first : first + MOST_AT_ONCE]
            # the weakest orders have the fewest pairs, and the strongest ones the most
            by_low, by_high = (_each(self.cpp_allows(batch, some)[0], some) for batch in (low, high))
            undecided = by_low & ~by_high if self.skeleton.never_races else by_low
            left += [some[k] for k in np.nonzero(undecided)[0]]
            never = [some[k] for k in np.nonzero(~by_low)[0]]
            allowed = np.zeros(len(never), bool)
            for chosen in least if never else ():
                picked = np.repeat(np.array(chosen)[:, None], len(never), 1)
                allowed |= self.ptx_allows(picked, never)
            forbidden += [never[k] for k in np.nonzero(allowed)[0]]
        return left, forbidden

    def _least(self, forbidden: Any) -> Any:
        """Those of a set of orders and scopes that have none in it that is weaker by one step."""
        result = forbidden.copy()
        for axis, (_, _, slot) in enumerate(self.slots):
            for high, lows in enumerate(self.spelling.weaker(slot.letter, self.choices[axis])):
                for low in lows:
                    at: list[Any] = [slice(None)] * len(self.shape)
                    below = list(at)
                    at[axis], below[axis] = high, low
                    result[tuple(at)] &= ~forbidden[tuple(below)]
        return result


def _row(row: Any) -> Row:
    """A row: an integer if it is the same in all executions."""
    return int(row[0]) if (row == row[0]).all() else row


def _each(truth: Any, executions: Sequence[SkeletonExecution]) -> Any:
    """What is so of each execution."""
    return np.broadcast_to(np.asarray(truth, bool), (len(executions),))


@lru_cache(maxsize=4096)
def _as_written(kind: OperationKind, thread: int, place: Any, at: int, location: int, choices: Any) -> Any:
    return tuple(operation(kind, thread, place, 3 * at + 1, location, choice) for choice in choices)


@lru_cache(maxsize=4096)
def _as_spelled(spelling: Spelling, slot: ProgramSlot, thread: int, place: Any, at: int, choices: Any) -> Any:
    """The alternatives of the fence before an operation, of the operation, and of the fence behind it."""
    columns: list[list[Operation | None]] = [[], [], []]
    for choice in choices:
        for k, part in enumerate(spelling.parts(slot.letter, choice.order)):
            made = [
                operation(
                    kind, thread, place, 3 * at + k, slot.place if k == 1 else -1, OrderChoice(order, choice.scope)
                )
                for kind, order in part
            ]
            columns[k].append(made[0] if made else None)
    return tuple(map(tuple, columns))


class PtxExecutions:
    """Executions of PTX but for the order of `.sc` fences. `fences` are thread and number of each; `read` and `order` say what is
    read from where, and in which order writes are."""

    def __init__(
        self,
        batch: Batch,
        fences: Sequence[tuple[int, int]],
        read: Sequence[list[Row]],
        order: Sequence[Row],
        count: int,
    ):
        n = len(batch.nodes)
        self.fences, self.count = fences, count
        self.before = Batch(batch.nodes, batch, {"same phase": [0] * n}, read)
        self.strong = batch.rows(contracts.scopes.morally_strong(PTX))
        both = batch.pairs(contracts.synchronization.ordered_fences)
        self.ordered = [common(a, b) for a, b in zip(self.strong, both, strict=True)]
        self.written = [common(a, b) for a, b in zip(order, self.strong, strict=True)]
        self.backwards = transposed(order)

    def allowed(self, first: Sequence[tuple[int, int]]) -> Any:
        """Which executions are allowed, if of these pairs of fences the first precedes the second; other orders of fences could
        only forbid more."""
        fenced: list[Row] = [0] * len(self.before.nodes)
        for a, b in first:
            fenced[a] |= 1 << b
        fenced = [common(a, b) for a, b in zip(fenced, self.ordered, strict=True)]
        whole = Batch(self.before.nodes, self.before, {"fenced before": fenced, "written before": self.written})
        order = whole.rows(contracts.coherence.coherence(PTX))
        agrees = no_pairs([common(a, b) for a, b in zip(order, self.backwards, strict=True)])
        result = agrees & whole.keeps_all(_of_ptx()) if np.any(agrees) else agrees
        return np.broadcast_to(np.asarray(result, bool), (self.count,))


def _without_fences(executions: PtxExecutions) -> Any:
    return executions.allowed([])


def _by_pairs(executions: PtxExecutions) -> Any:
    """Which executions may be allowed, by what is so of each two fences alone."""
    possible = np.ones(executions.count, bool)
    for i, (s, a) in enumerate(executions.fences):
        for t, b in executions.fences[:i]:
            if s != t and possible.any():
                possible &= executions.allowed([(a, b)]) | executions.allowed([(b, a)])
    return possible


def _by_orders(executions: PtxExecutions) -> Any:
    """Which executions are allowed with some order of the fences."""
    pairs = [(a, b) for s, a in executions.fences for t, b in executions.fences if s != t]
    never = {pair for pair in pairs if not executions.allowed([pair]).any()}
    result = np.zeros(executions.count, bool)
    for line in _interleavings(executions.fences, never):
        result |= executions.allowed([(a, b) for i, a in enumerate(line) for b in line[i + 1 :]])
        if result.all():
            break
    return result


def _interleavings(fences: Sequence[tuple[int, int]], never: Collection[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """The orders of fences that keep the order of each thread, and in which no pair is that never is."""
    threads: dict[int, list[int]] = {}
    for thread, number in fences:
        threads.setdefault(thread, []).append(number)
    yield from _merged(tuple(map(tuple, threads.values())), never)


def _merged(queues: tuple[tuple[int, ...], ...], never: Collection[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    if not any(queues):
        yield ()
    for k, queue in enumerate(queues):
        others = (b for i, other in enumerate(queues) if i != k for b in other)
        if queue and not any((queue[0], b) in never for b in others):
            for rest in _merged((*queues[:k], queue[1:], *queues[k + 1 :]), never):
                yield (queue[0], *rest)
