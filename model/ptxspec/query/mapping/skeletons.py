"""Programs of C++ but for their orders and scopes, the ways in which these vary, and the executions of such a program.

A program has threads of a few operations, each a read ("R"), a write ("W"), a read-modify-write ("U") or a fence ("F"). Each
execution says which write a read returns, and in which order the writes of a location are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain, permutations, product
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.mapping.batches import Alternatives
from ptxspec.query.rewrites.steps import RewriteStep
from ptxspec.query.rewrites.table import lacking
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Scope

KINDS = {
    "R": OperationKind.READ,
    "W": OperationKind.WRITE,
    "U": OperationKind.ATOMIC,
    "F": OperationKind.FENCE,
}
#: the orders that an atomic operation, or a fence, may have, weak ones first
ORDERS = {
    "R": (Order.RELAXED, Order.ACQUIRE, Order.SC),
    "W": (Order.RELAXED, Order.RELEASE, Order.SC),
    "U": (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SC),
    "F": (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SC),
}
LOCATIONS = "xy"
#: the name of the spelling of libcu++
LIBRARY = "libcu++"
_NOWHERE = ThreadPlace(-1, -1, -1)


class ProgramSlot(NamedTuple):
    """An operation of a program: its letter, and the number of its location; -1 for a fence."""

    letter: str
    place: int = -1

    @property
    def reads(self) -> bool:
        return self.letter in "RU"

    @property
    def writes(self) -> bool:
        return self.letter in "WU"


class OrderChoice(NamedTuple):
    """The order and the scope of an operation; weak, and no scope, for an access that is not atomic."""

    order: Order
    scope: Scope | None


class Variety(NamedTuple):
    """Which scopes operations may have, narrow ones first, and which ones those that are `seq_cst`; and whether accesses may be
    such that are not atomic."""

    scopes: tuple[Scope, ...]
    sequential: tuple[Scope, ...]
    weak: bool


#: what a thread does
SlotLine = tuple[ProgramSlot, ...]


class SkeletonExecution(NamedTuple):
    """By the numbers of slots: what each read returns, where `-1 - p` is what location p held at first; and the writes of each
    location in their order."""

    sources: dict[int, int]
    writes: tuple[tuple[int, ...], ...]


class Skeleton(NamedTuple):
    """Threads with the places where they run, and the ways in which operations may vary."""

    lines: tuple[SlotLine, ...]
    places: tuple[ThreadPlace, ...]
    variety: Variety

    @property
    def slots(self) -> list[tuple[int, int, ProgramSlot]]:
        """Thread, position and slot of each operation."""
        return [(t, i, slot) for t, line in enumerate(self.lines) for i, slot in enumerate(line)]

    @property
    def never_races(self) -> bool:
        """Whether all accesses are atomic, and of scopes that include all threads."""
        return not self.variety.weak and (len({*self.places}) == 1 or Scope.CTA not in self.variety.scopes)

    def choices(self, slot: ProgramSlot) -> tuple[OrderChoice, ...]:
        return choices(slot.letter, self.variety)

    def executions(self) -> Iterator[SkeletonExecution]:
        slots = [slot for _, _, slot in self.slots]
        used = range(1 + max(slot.place for slot in slots))
        writers = [[i for i, slot in enumerate(slots) if slot.writes and slot.place == p] for p in used]
        readers = [i for i, slot in enumerate(slots) if slot.reads]
        options = [[-1 - slots[r].place, *(w for w in writers[slots[r].place] if w != r)] for r in readers]
        for sources in product(*options):
            for orders in product(*map(permutations, writers)):
                yield SkeletonExecution(dict(zip(readers, sources, strict=True)), orders)


@lru_cache(maxsize=64)
def choices(letter: str, variety: Variety) -> tuple[OrderChoice, ...]:
    """The orders and scopes that an operation may have, weak ones first."""
    plain = [OrderChoice(Order.WEAK, None)] if variety.weak and letter in "RW" else []
    every = (OrderChoice(order, scope) for order in ORDERS[letter] for scope in variety.scopes)
    return (*plain, *(c for c in every if c.order is not Order.SC or c.scope in variety.sequential))


# operations ---------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def operation(
    kind: OperationKind, thread: int | None, place: ThreadPlace, position: int, location: int, choice: OrderChoice
) -> Operation:
    """An operation: the same object each time."""
    here = ByteRange(LOCATIONS[location], 0, 4) if location >= 0 else None
    return Operation(kind, thread, place, position, "", choice.order, choice.scope, address=here, location=here)


@lru_cache(maxsize=64)
def initial(location: int) -> Alternatives:
    """The write that initializes a location."""
    here = ByteRange(LOCATIONS[location], 0, 4)
    return (Operation(OperationKind.WRITE, None, _NOWHERE, 0, "", address=here, location=here),)


#: the operations of PTX that one of C++ becomes: at most one, and a fence before and behind it
Spelled = tuple[tuple[OperationKind, Order], ...]


class Spelling:
    """How operations of C++ are spelled: as libcu++ does, or by another name, that of an ABI on the page or of one of
    `MISTAKES`."""

    def __init__(self, name: str = LIBRARY):
        self.name = name
        abi: Any = contracts.cpp.ABI
        self._changes: dict[tuple[OperationKind, Order], Spelled] = {LIBRARY: {}, **abi, **MISTAKES}[name]
        self._weaker: dict[tuple[str, tuple[OrderChoice, ...]], list[list[int]]] = {}

    def __call__(self, letter: str, order: Order) -> Spelled:
        result = self._changes.get((KINDS[letter], order))
        return contracts.cpp.spelled(KINDS[letter], order) if result is None else result

    def parts(self, letter: str, order: Order) -> tuple[Spelled, Spelled, Spelled]:
        """The fence before the operation, the operation, and the fence behind it, each alone; nothing where there is none."""
        every = self(letter, order)
        if letter == "F":
            return (), every, ()
        (at,) = (k for k, (kind, _) in enumerate(every) if kind is not OperationKind.FENCE)
        return every[:at], every[at : at + 1], every[at + 1 :]

    def weaker(self, letter: str, every: tuple[OrderChoice, ...]) -> list[list[int]]:
        """For each choice the numbers of weaker ones: what it is spelled as may stand for what these are, beside any other
        threads; so PTX allows no execution that it does not allow with these."""
        key = letter, every
        if key not in self._weaker:
            self._weaker[key] = [
                [k for k, low in enumerate(every[:at]) if self._may_become(letter, low, high)]
                for at, high in enumerate(every)
            ]
        return self._weaker[key]

    def _may_become(self, letter: str, low: OrderChoice, high: OrderChoice) -> bool:
        """Whether a rewrite leads from one spelling to the other that is right."""
        before, after = (
            [[self._step(choice, part) for part in parts] for parts in self.parts(letter, choice.order)]
            for choice in (low, high)
        )
        at = 0
        stands: list[int] = []
        for old, new in zip(before, after, strict=True):
            if len(old) > len(new):
                return False
            stands += range(at, at + len(old))
            at += len(new)
        return not lacking(tuple(chain(*before)), tuple(chain(*after)), tuple(stands))

    def _step(self, choice: OrderChoice, part: tuple[OperationKind, Order]) -> RewriteStep:
        kind, order = part
        return RewriteStep(kind, order, choice.scope, "" if kind is OperationKind.FENCE else "location 0")


_FENCE, _READ, _WRITE, _ATOMIC = OperationKind.FENCE, OperationKind.READ, OperationKind.WRITE, OperationKind.ATOMIC
#: mistakes in a spelling, by their names: what operations become instead
MISTAKES: dict[str, dict[tuple[OperationKind, Order], Spelled]] = {
    "no fence before a seq_cst load": {(_READ, Order.SC): ((_READ, Order.ACQUIRE),)},
    "no fence before a seq_cst store": {(_WRITE, Order.SC): ((_WRITE, Order.RELEASE),)},
    "no fence before a seq_cst read-modify-write": {(_ATOMIC, Order.SC): ((_ATOMIC, Order.ACQ_REL),)},
    "fence.acq_rel before a seq_cst load": {(_READ, Order.SC): ((_FENCE, Order.ACQ_REL), (_READ, Order.ACQUIRE))},
    "fence.acq_rel for a seq_cst fence": {(_FENCE, Order.SC): ((_FENCE, Order.ACQ_REL),)},
    "relaxed for an acquire, of a load": {(_READ, Order.ACQUIRE): ((_READ, Order.RELAXED),)},
    "relaxed for a release, of a store": {(_WRITE, Order.RELEASE): ((_WRITE, Order.RELAXED),)},
    "weak for relaxed, of a store": {(_WRITE, Order.RELAXED): ((_WRITE, Order.WEAK),)},
    "weak for relaxed, of a load": {(_READ, Order.RELAXED): ((_READ, Order.WEAK),)},
    "acquire for acq_rel, of a read-modify-write": {(_ATOMIC, Order.ACQ_REL): ((_ATOMIC, Order.ACQUIRE),)},
    "release for acq_rel, of a read-modify-write": {(_ATOMIC, Order.ACQ_REL): ((_ATOMIC, Order.RELEASE),)},
    "no fence for acq_rel": {(_FENCE, Order.ACQ_REL): ()},
}


# programs up to a bound ----------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """A set of programs: what it is in words, the places of their threads, the letters of accesses, how many of them a thread has
    at most, and whether two may have a fence between; how many read-modify-writes and operations there are at most; whether a
    thread may access a location twice; and how orders and scopes vary."""

    words: str
    places: tuple[ThreadPlace, ...]
    letters: str
    accesses: int
    fences: bool
    most_updates: int = 16
    total: int = 16
    twice: bool = True
    variety: Variety = Variety((Scope.GPU,), (Scope.GPU,), False)

    def skeletons(self) -> Iterator[Skeleton]:
        """The programs but for orders and scopes, one for all that differ by the names of threads or locations. Each access is of
        a location that another thread accesses, one of them writing: any other tells nobody anything."""
        renamings = list(self._renamings())
        for chosen in product(self._lines(), repeat=len(self.places)):
            if self._is_relevant(chosen) and all(chosen <= rename(chosen) for rename in renamings):
                yield Skeleton(chosen, self.places, self.variety)

    def _lines(self) -> list[SlotLine]:
        """What a thread may do."""
        every = [ProgramSlot(letter, place) for letter, place in product(self.letters, range(len(LOCATIONS)))]
        plain = [line for count in range(1, self.accesses + 1) for line in product(every, repeat=count)]
        fenced = [(a, ProgramSlot("F"), b) for a, b in product(every, repeat=2) if self.fences]
        return [line for line in (*plain, *fenced) if self.twice or len({s.place for s in line}) == len(line)]

    def _renamings(self) -> Iterator[Callable[[tuple[SlotLine, ...]], tuple[SlotLine, ...]]]:
        """Other names for threads that run where they ran, as far as they can tell, and for locations."""
        together = [[a == b for b in self.places] for a in self.places]
        threads = range(len(self.places))
        for order in permutations(threads):
            if all(together[order[i]][order[k]] == together[i][k] for i in threads for k in threads):
                yield partial(_renamed, order)
                yield partial(_renamed, order, swapped=True)

    def _is_relevant(self, chosen: tuple[SlotLine, ...]) -> bool:
        if sum(map(len, chosen)) > self.total:
            return False
        if sum(slot.letter == "U" for line in chosen for slot in line) > self.most_updates:
            return False
        writes = [{s.place for s in line if s.writes} for line in chosen]
        touches = [{s.place for s in line if s.place >= 0} for line in chosen]
        return all(
            any(slot.place in (touches if slot.writes else writes)[k] for k in range(len(chosen)) if k != i)
            for i, line in enumerate(chosen)
            for slot in line
            if slot.place >= 0
        )


def _renamed(order: tuple[int, ...], chosen: tuple[SlotLine, ...], swapped: bool = False) -> tuple[SlotLine, ...]:
    """Threads in another order, with the names of the locations `swapped` or not."""
    return tuple(_swapped(chosen[k]) if swapped else chosen[k] for k in order)


def _swapped(line: SlotLine) -> SlotLine:
    return tuple(slot if slot.place < 0 else slot._replace(place=1 - slot.place) for slot in line)


_APART = tuple(ThreadPlace(k, k, 0) for k in range(4))
_BLOCKS = (_APART[0], _APART[0], _APART[1])
#: both scopes, and accesses that are not atomic; where `seq_cst` has either scope, or that of the device alone
_MIXED = Variety((Scope.CTA, Scope.GPU), (Scope.CTA, Scope.GPU), True)
_DEVICE = _MIXED._replace(sequential=(Scope.GPU,))
#: the programs that are looked at
BOUNDS = (
    Bound("2 threads of up to 3 loads and stores, or of 2 with a fence between", _APART[:2], "RW", 3, True),
    Bound(
        "2 threads of up to 2 loads, stores and read-modify-writes, also with a fence between",
        _APART[:2], "RWU", 2, True,
    ),
    Bound(
        "2 threads of up to 3 loads and stores, one of them a read-modify-write", _APART[:2], "RWU", 3, False, 1
    ),
    Bound(
        "3 threads of up to 2 loads and stores, one of them a read-modify-write", _APART[:3], "RWU", 2, False, 1
    ),
    Bound(
        "3 threads with at most a load or store of each location, also with a fence between",
        _APART[:3], "RW", 2, True, twice=False,
    ),
    Bound(
        "4 threads with at most a load or store of each location, 6 in all",
        _APART, "RW", 2, False, total=6, twice=False,
    ),
    Bound(
        "2 threads of 2 blocks, of up to 2 loads, stores and read-modify-writes; of either scope, or not atomic",
        _APART[:2], "RWU", 2, False, variety=_MIXED,
    ),
    Bound(
        "2 threads of 2 blocks, of up to 2 loads and stores, also with a fence between; of either scope, or not atomic",
        _APART[:2], "RW", 2, True, variety=_MIXED,
    ),
    Bound(
        "3 threads of 2 blocks with at most a load or store of each location, 5 in all; of either scope, or not atomic, "
        "but `seq_cst` for the device",
        _BLOCKS, "RW", 2, False, total=5, twice=False, variety=_DEVICE,
    ),
    Bound(
        "3 threads of 2 blocks with at most a load or store of each location, 5 in all; of either scope, or not atomic",
        _BLOCKS, "RW", 2, False, total=5, twice=False, variety=_MIXED,
    ),
)  # fmt: skip
