"""The threads that are resident at once: their special registers, and the barriers of their CTAs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
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
    """CTAs `first` … `first + count − 1` of a grid, resident together. Thread i of the CTA in slot s is lane
    s · threads + i."""

    extents: Extents
    first: int
    count: int

    @property
    def lanes(self) -> int:
        return self.count * self.extents.threads

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
    """A thread at a barrier: its lane, the barrier, how many it says take part (None: all), the instruction's index, and the
    block at which it goes on (None: nowhere)."""

    lane: int
    barrier: int
    named: int | None
    op: int
    resume: int | None


class BarrierFault(Exception):
    """Threads wait in a way that breaks a rule."""

    def __init__(self, rule: str, note: str, waiting: Waiting):
        super().__init__(note)
        self.rule, self.note, self.waiting = rule, note, waiting


def released(waiting: list[Waiting], alive: Callable[[int], int], threads: int) -> tuple[list[Waiting], list[Waiting]]:
    """(those that may go on, those that wait on), when no thread can run. `alive(slot)` counts a CTA's threads that have not
    ended. Raises BarrierFault when a CTA's barriers can never complete."""
    page: Any = importlib.import_module("ptxspec.spec.machine.barriers")
    warp = importlib.import_module("ptxspec.spec.special_registers.thread_coordinates").WARP_SIZE
    groups: dict[tuple[int, int], list[Waiting]] = {}
    for one in waiting:
        if one.barrier >= page.BARRIERS:
            raise BarrierFault("barrier number", f"barrier {one.barrier}", one)
        if one.named is not None and (one.named == 0 or one.named % warp):
            raise BarrierFault("barrier count", f"{one.named} threads", one)
        groups.setdefault((one.lane // threads, one.barrier), []).append(one)
    go: list[Waiting] = []
    stay: list[Waiting] = []
    for (slot, barrier), members in groups.items():
        counts = {m.named for m in members}
        if len(counts) > 1:
            shown = ", ".join("all" if c is None else str(c) for c in sorted(counts, key=str))
            raise BarrierFault("barrier counts differ", f"barrier {barrier}: {shown}", members[0])
        (go if page.completes(len(members), counts.pop(), alive(slot)) else stay).extend(members)
    if stay and not go:
        one = stay[0]
        slot = one.lane // threads
        mates = [w for w in stay if w.lane // threads == slot and w.barrier == one.barrier]
        elsewhere = [w for w in stay if w.lane // threads == slot and w.barrier != one.barrier]
        wanted = alive(slot) if one.named is None else one.named
        note = f"{len(mates)} threads wait at barrier {one.barrier} for {wanted}, and nothing else can run"
        if elsewhere:
            note += f"; {len(elsewhere)} threads of the CTA wait at barrier {elsewhere[0].barrier}"
        ended = threads - alive(slot)
        if ended:
            note += f"; {ended} threads of the CTA have ended"
        raise BarrierFault("stuck barrier", note, one)
    return go, stay
