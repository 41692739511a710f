"""The threads that are resident at once: their special registers, and the barriers of their CTAs."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ptxspec.terms.machine import SPECIAL_REGISTERS


class Extents(NamedTuple):
    """The shape of a launch; (x, y, z) each."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def threads(self) -> int:
        """Threads a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


class Threads:
    """What a special register's definition may ask of threads; arrays, one element a resident thread."""

    def __init__(self, extents: Extents, index: np.ndarray, cta: np.ndarray):
        self.block, self.grid, self.index, self._cta = extents.block, extents.grid, index, cta
        self.asked_for_cta = False

    @property
    def cta(self) -> np.ndarray:
        self.asked_for_cta = True
        return self._cta


class Batch(NamedTuple):
    """CTAs `first` … `first + ctas − 1` of a grid, resident together. Thread i of the CTA in slot s is lane
    s · threads + i."""

    extents: Extents
    first: int
    ctas: int

    @property
    def lanes(self) -> int:
        return self.ctas * self.extents.threads

    def threads(self) -> Threads:
        lanes = np.arange(self.lanes, dtype=np.int64)
        return Threads(self.extents, lanes % self.extents.threads, lanes // self.extents.threads + self.first)

    def where(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(thread's, CTA's) coordinates."""
        position = importlib.import_module("ptxspec.spec.special_registers.thread_coordinates").position
        thread = position(lane % self.extents.threads, self.extents.block)
        cta = position(lane // self.extents.threads + self.first, self.extents.grid)
        return tuple(map(int, thread)), tuple(map(int, cta))  # type: ignore[return-value]


def special_values(names: Iterable[str], threads: Threads) -> dict[str, tuple[np.ndarray, bool]]:
    """For each special register (with its component) its value in every lane, and whether it depends on the CTA."""
    wanted = list(names)
    found = {}
    for register in SPECIAL_REGISTERS.values():
        mine = [n for n in register.names if n in wanted]
        if not mine:
            continue
        threads.asked_for_cta = False
        values = register.read(threads)
        values = values if register.components else (values,)
        for name, value in zip(register.names, values, strict=False):
            if name in mine:
                array = np.broadcast_to(np.asarray(value), threads.index.shape)
                found[name] = (array.astype(f"u{register.type.bytes}"), threads.asked_for_cta)
    return found


class Waiting(NamedTuple):
    """Threads at barriers; arrays with an element a thread: its lane, the barrier, how many it says take part (−1: all), the
    instruction's index, and the block at which it goes on."""

    lane: np.ndarray
    barrier: np.ndarray
    named: np.ndarray
    op: np.ndarray
    resume: np.ndarray

    def __len__(self) -> int:
        return len(self.lane)

    def where(self, chosen: np.ndarray) -> Waiting:
        """The threads for which `chosen` is true."""
        return Waiting(*(column[chosen] for column in self))

    def joined(self, other: Waiting) -> Waiting:
        return Waiting(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def nobody() -> Waiting:
    return Waiting(*(np.zeros(0, np.int64) for _ in Waiting._fields))


class BarrierFault(Exception):
    """Threads wait in a way that breaks a rule. `lane` and `op` say which thread is reported, and where it waits."""

    def __init__(self, rule: str, note: str, waiting: Waiting, which: int):
        super().__init__(note)
        self.rule, self.note = rule, note
        self.lane, self.op = int(waiting.lane[which]), int(waiting.op[which])


def released(waiting: Waiting, ended: np.ndarray, threads: int, others_run: bool) -> tuple[Waiting, Waiting]:
    """(those that may go on, those that wait on). `ended[slot]` counts a CTA's threads that have ended, of `threads`. Raises
    BarrierFault for a barrier that cannot be, and if no others run, for one that can never complete."""
    page: Any = importlib.import_module("ptxspec.spec.machine.barriers")
    warp = importlib.import_module("ptxspec.spec.special_registers.thread_coordinates").WARP_SIZE
    for i in np.flatnonzero((waiting.barrier < 0) | (waiting.barrier >= page.BARRIERS))[:1]:
        raise BarrierFault("barrier number", f"barrier {waiting.barrier[i]}", waiting, i)
    for i in np.flatnonzero((waiting.named == 0) | ((waiting.named > 0) & (waiting.named % warp != 0)))[:1]:
        raise BarrierFault("barrier count", f"{waiting.named[i]} threads", waiting, i)
    slot = waiting.lane // threads
    groups, group, counts = np.unique(slot * page.BARRIERS + waiting.barrier, return_inverse=True, return_counts=True)
    named = waiting.named[np.unique(group, return_index=True)[1]]
    for i in np.flatnonzero(waiting.named != named[group])[:1]:
        both = sorted({int(waiting.named[i]), int(named[group[i]])})
        shown = " and ".join("all" if n < 0 else str(n) for n in both)
        raise BarrierFault("barrier counts differ", f"barrier {waiting.barrier[i]}: {shown}", waiting, i)
    alive = threads - ended
    complete = np.array(
        [
            page.completes(int(count), None if n < 0 else int(n), int(alive[g // page.BARRIERS]))
            for g, count, n in zip(groups, counts, named, strict=True)
        ],
        dtype=bool,
    )
    goes = complete[group]
    if others_run or goes.any():
        return waiting.where(goes), waiting.where(~goes)
    mates = group == group[0]
    elsewhere = (slot == slot[0]) & ~mates
    wanted = int(alive[slot[0]]) if named[group[0]] < 0 else int(named[group[0]])
    note = f"{mates.sum()} threads wait at barrier {waiting.barrier[0]} for {wanted}, and nothing else can run"
    if elsewhere.any():
        note += f"; {elsewhere.sum()} threads of the CTA wait at barrier {waiting.barrier[elsewhere][0]}"
    if ended[slot[0]]:
        note += f"; {ended[slot[0]]} threads of the CTA have ended"
    raise BarrierFault("stuck barrier", note, waiting, 0)
