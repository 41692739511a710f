"""What products of warpgroups have read, and which threads have waited for them: a later write comes behind one of the waits.

A product is one operation of its warpgroup: whoever of the warpgroup has waited for it knows that all of it is complete. So it
is not its threads that read, each at a time of its own, but all of them together, until any of them has waited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Kernel
from ptxspec.machine.events import WORDS, EventKind
from ptxspec.terms import effects

#: bytes of a piece that a thread of a warpgroup reads, as a power of two
_PIECE = 4
_KIND, _FIRST, _OP, _THREAD, _PLACE = (WORDS.index(w) for w in ("kind", "first", "instruction", "thread", "location"))
_NUMBER = WORDS.index("operation")
#: the thread of the grid, its CTA, and its warpgroup there
Warpgroup = tuple[int, int]


class FinishedProducts(NamedTuple):
    """What one wait of a warpgroup has finished: when each of its threads had waited, by the clock of the CTA."""

    times: dict[int, int]


class ProductRead(NamedTuple):
    """A piece that a product has read: by which instruction of which thread, and the wait that finished it."""

    op: int
    thread: int
    finished: FinishedProducts


class ProductEvents(NamedTuple):
    """Rows of events, one after the other, that are of interest here: the last ones of a thread's writes, or one other event."""

    first: int
    rows: np.ndarray


class ProductReads:
    """What products of a kernel have read. Threads are those of the grid, by their numbers."""

    def __init__(self, kernel: Kernel, threads: int):
        self.threads, self.size = threads, contracts.warpgroups.WARPS * contracts.warps.LANES
        code = [(i, op, op.plan.meaning.effect) for i, op in enumerate(kernel.code)]
        self._initiating = [i for i, _, e in code if isinstance(e, effects.Initiate) and e.only_reads]
        self._waiting = [
            i for i, op, e in code if isinstance(e, effects.Collective) and op.plan.form.definition.product is not None
        ]
        self.begin()

    def begin(self) -> None:
        """Other CTAs begin, whose memory is anew."""
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        self._finishing: dict[Warpgroup, FinishedProducts] = {}
        self._read: dict[int, dict[Warpgroup, ProductRead]] = {}

    def stops(self, rows: np.ndarray) -> Iterator[ProductEvents]:
        """The events of interest, in their order."""
        if not self._initiating:
            return
        kinds, ops, places = rows[:, _KIND], rows[:, _OP], rows[:, _PLACE] >> _PIECE
        of_product = np.isin(ops, self._initiating)
        marked = of_product & ((kinds == EventKind.INITIATE) | (kinds == EventKind.END))
        marked |= (kinds == EventKind.ARRIVE) & np.isin(ops, self._waiting)
        begun = places[of_product & (kinds == EventKind.INITIATE)]
        known = [*self._read, *(place >> _PIECE for place, _ in self._open.values()), *begun.tolist()]
        writes = (kinds == EventKind.WRITE) & np.isin(places, known)
        numbers = np.flatnonzero(marked | writes)
        at = 0
        while at < len(numbers):
            first, end = int(numbers[at]), at + 1
            while writes[first] and end < len(numbers) and _continues(rows, numbers, end, writes):
                end += 1
            yield ProductEvents(first, rows[first : int(numbers[end - 1]) + 1])
            at = end

    def warpgroup(self, thread: int) -> Warpgroup:
        return thread // self.threads, thread % self.threads // self.size

    def see(self, row: np.ndarray, clock: int) -> None:
        """An operation of a product begins or ends, or a thread comes to an instruction at which its warpgroup meets."""
        kind, op, thread = int(row[_KIND]), int(row[_OP]), int(row[_THREAD] + row[_FIRST] * self.threads)
        warpgroup, number = self.warpgroup(thread), (thread, int(row[_NUMBER]))
        if kind == EventKind.INITIATE:
            self._open[number] = int(row[_PLACE]), op
            return
        finished = self._finishing.setdefault(warpgroup, FinishedProducts({}))
        if kind == EventKind.END:
            place, op = self._open.pop(number)
            for piece in {place >> _PIECE, place + (1 << _PIECE) - 1 >> _PIECE}:
                self._read.setdefault(piece, {})[warpgroup] = ProductRead(op, thread, finished)
            return
        finished.times[thread] = clock
        if len(finished.times) == self.size:  # whoever comes now comes to another instruction
            del self._finishing[warpgroup]

    def overwritten(self, places: np.ndarray) -> dict[int, ProductRead]:
        """What products had read where something is written, by one place of each wait; it is forgotten."""
        reads: dict[int, tuple[int, ProductRead]] = {}
        for place in places.tolist():
            for read in self._read.pop(place >> _PIECE, {}).values():
                reads.setdefault(id(read.finished), (place, read))
        return dict(reads.values())


def _continues(rows: np.ndarray, numbers: np.ndarray, at: int, writes: np.ndarray) -> bool:
    """Whether an event follows the one before it among those of interest, and is a write of the same instruction and thread."""
    last, now = int(numbers[at - 1]), int(numbers[at])
    alike = all(rows[last, word] == rows[now, word] for word in (_FIRST, _OP, _THREAD))
    return bool(writes[now]) and now == last + 1 and alike
