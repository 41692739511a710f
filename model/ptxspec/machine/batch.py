"""The threads that are resident at once: their special registers, and the barriers of their CTAs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.terms.machine import SPECIAL_REGISTERS, SpecialRegister


class Extents(NamedTuple):
    """The shape of a launch; (x, y, z) each. Beside it what else special registers tell of the launch: its number, the bytes of
    shared memory that a CTA has, how many of them the launch asked for, the CTAs of a cluster, and whether it was said that there
    are clusters."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launch: int = 0
    shared: int = 0
    dynamic_shared: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    explicit_cluster: bool = False

    @property
    def threads(self) -> int:
        """Threads a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> int:
        """CTAs a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]


class Threads:
    """What a special register's definition may ask of threads: arrays that go together as NumPy's rules of broadcasting say. A
    row is a CTA, a column a thread of each."""

    def __init__(self, extents: Extents, index: np.ndarray, cta: np.ndarray):
        self.block, self.grid, self.index, self._cta = extents.block, extents.grid, index, cta
        self.launch, self.shared, self.dynamic_shared = extents.launch, extents.shared, extents.dynamic_shared
        self.cluster, self.explicit_cluster = extents.cluster, extents.explicit_cluster
        self.asked_for_cta = False

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.index.shape, self._cta.shape)

    @property
    def cta(self) -> np.ndarray:
        self.asked_for_cta = True
        return self._cta


class Batch(NamedTuple):
    """`ctas` CTAs of a grid, resident together: those from `first` on, counted cluster by cluster and in each by rank. Thread i
    of the CTA in slot s is lane s · threads + i."""

    extents: Extents
    first: int
    ctas: int

    @property
    def lanes(self) -> int:
        return self.ctas * self.extents.threads

    def threads(self) -> Threads:
        index = np.arange(self.extents.threads, dtype=np.int64)
        slots = np.arange(self.ctas, dtype=np.int64)[:, None]
        return Threads(self.extents, index, self._cta_in(slots))

    def _cta(self, lanes: Any) -> Any:
        """The number in the grid of a lane's CTA, or of each lane's."""
        return self._cta_in(lanes // self.extents.threads)

    def _cta_in(self, slots: Any) -> Any:
        """The number in the grid of the CTA in a slot, or in each slot."""
        place, size = slots + self.first, self.extents.cluster_size
        if size == 1:
            return place
        page = contracts.clusters()
        return page.member(place // size, place % size, self.extents.grid, self.extents.cluster)

    def rank(self, lane: int) -> int:
        """The rank of a lane's CTA in its cluster: batches are of whole clusters."""
        return lane // self.extents.threads % self.extents.cluster_size

    def where(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(thread's, CTA's) coordinates."""
        position = contracts.thread_coordinates().position
        thread = position(lane % self.extents.threads, self.extents.block)
        cta = position(self._cta(lane), self.extents.grid)
        return tuple(map(int, thread)), tuple(map(int, cta))  # type: ignore[return-value]


def special_values(names: Iterable[str], threads: Threads) -> dict[str, tuple[np.ndarray, bool]]:
    """For each special register (with its component) its value in every lane, and whether it depends on the CTA. Those that
    change while the program runs are left out."""
    found = {}
    for register, mine in _read_for(tuple(names)):
        threads.asked_for_cta = False
        values = register.read(threads)
        values = (*values, *values) if register.components else (values,)
        for place, name in mine:
            array = np.broadcast_to(np.asarray(values[place]).astype(f"u{max(1, register.type.bytes)}"), threads.shape)
            found[name] = (np.ascontiguousarray(array.reshape(-1)), threads.asked_for_cta)
    return found


@cache
def _read_for(names: tuple[str, ...]) -> tuple[tuple[SpecialRegister, tuple[tuple[int, str], ...]], ...]:
    """The special registers to read for these names, each with the places of its values that they stand for."""
    found = []
    for register in SPECIAL_REGISTERS.values():
        mine = tuple((place, name) for place, name in enumerate(register.names) if name in names)
        if mine and not register.changes:
            found.append((register, mine))
    return tuple(found)


class Waiting(NamedTuple):
    """Threads that wait for others; arrays with an element a thread: its lane, the instruction's index, and the block at which
    it goes on. At a barrier `number` says which, `named` how many take part (−1: all) and `value` is 1 if the thread's
    predicate holds; at an instruction of a warp `named` is the mask of those that take part (−1: those that come together)
    and `value` what the thread gives. Once it may go on, `named` and `value` are what it learns."""

    lane: np.ndarray
    number: np.ndarray
    named: np.ndarray
    value: np.ndarray
    op: np.ndarray
    resume: np.ndarray

    def __len__(self) -> int:
        return len(self.lane)

    def where(self, chosen: np.ndarray) -> Waiting:
        """The threads for which `chosen` is true."""
        return self if chosen.all() else Waiting(*(column[chosen] for column in self))

    def but(self, **columns: np.ndarray) -> Waiting:
        """The same threads, with some columns replaced."""
        return Waiting(*(columns.get(name, own) for name, own in zip(self._fields, self, strict=True)))

    def joined(self, other: Waiting) -> Waiting:
        if not len(self) or not len(other):
            return self if len(self) else other
        return Waiting(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def nobody() -> Waiting:
    return Waiting(*(np.zeros(0, np.int64) for _ in Waiting._fields))
