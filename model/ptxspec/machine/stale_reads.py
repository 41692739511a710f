"""Launches whose reads may return older values than the newest: what is remembered of writes, and what a read is given.

Which writes a read may return, spec/memory-model/stale-reads.md says; what orders operations is known as the check for races
knows it. Memory itself holds the newest values all the time, but for the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import unbanked
from ptxspec.machine.arrays import address_of
from ptxspec.machine.batch import Extents
from ptxspec.machine.driver import inventory
from ptxspec.machine.events import EventKind
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.racing.classes import OperationClasses
from ptxspec.machine.racing.knowledge import Released, StrongWrite
from ptxspec.machine.racing.orders import ThreadOrders

#: writes that are remembered of a byte
MOST_WRITES = 8
#: the class of the write that initializes memory, and its thread
_INITIAL, _NOBODY = -1, -1


class RememberedWrite:
    """A write: who wrote when, an operation of which class, and what. `before` are the numbers of those that precede it in
    coherence order, of the writes that were remembered then. `observers` are the threads that have read it by morally strong
    operations, or what atomic operations made of it, with the time at which each did so first. The `source` of an atomic
    operation is the write that it has read, if the two are morally strong."""

    __slots__ = ("at", "before", "class_of", "data", "number", "observers", "place", "released", "source", "strong",
                 "thread", "time")  # fmt: skip

    def __init__(self, number: int, thread: int, time: int, class_of: int, place: int, data: bytes, at: Any):
        """`place` is the address of the host; `at` is the array with the index there."""
        self.number, self.thread, self.time, self.class_of = number, thread, time, class_of
        self.place, self.data, self.at = place, data, at
        self.before: set[int] = set()
        self.observers: dict[int, int] = {}
        self.source: RememberedWrite | None = None
        self.strong: StrongWrite | None = None
        self.released: tuple[Released, ...] = ()


#: of a byte, the writes that are remembered, the newest last; never changed, since bytes share it
History = list[RememberedWrite]


class StaleReads:
    """The writes of a launch, and what its reads return."""

    def __init__(self, classes: OperationClasses, extents: Extents, memory: LaunchMemory, seed: int):
        self.classes, self.extents, self.memory, self.seed = classes, extents, memory, seed
        self.orders = ThreadOrders(classes, extents, contracts.warps.warps_of(extents.threads))
        self.knowledge = self.orders.knowledge
        self.choosing = [0]
        self._draw = inventory.scripted_step(contracts.schedule.draw_write, ("choosing",), self)
        self._spaces = {*contracts.state_spaces.of_several()}
        #: of each byte that was written, by its address on the host
        self._histories: dict[int, History] = {}
        #: the first CTA of the batch
        self._first = -1
        self._made = 0

    def covers(self, array: np.ndarray) -> bool:
        """Whether several threads may write an array, and nobody else does. On the heap, what is freed becomes another thing."""
        if unbanked(self.memory.space_of(array)) not in self._spaces:
            return False
        return self.memory.heap is None or array is not self.memory.heap.data

    def thread_of(self, thread: int, first: int) -> int:
        """The number in the grid of a resident thread, where `first` is the first CTA of the batch."""
        if first != self._first:
            self._begin_batch(first)
        return thread + first * self.extents.threads

    def _begin_batch(self, first: int) -> None:
        """The CTAs from this one on begin: the memory of CTAs is anew."""
        self._first = first
        strides, ranges = self.memory.strides, []
        for name, array in self.memory.buffers_of.items():
            if strides.get(name):
                ranges.append(range(address_of(array), address_of(array) + len(array)))
        for place in [place for place in self._histories if any(place in r for r in ranges)]:
            del self._histories[place]

    def take(self, kind: EventKind, op: int, thread: int, value: int) -> None:
        """An event that orders operations."""
        self.orders.take(kind, op, thread, value)

    def forget(self, place: int, size: int) -> None:
        """An asynchronous operation has written bytes: none of them is stale any more."""
        for byte in range(place, place + size):
            self._histories.pop(byte, None)

    # reads ---------------------------------------------------------------------------------------------------------------

    def _class(self, op: int) -> int:
        return max(self.classes.reads[op], self.classes.writes[op])

    def _is_strong(self, kind: int) -> bool:
        return contracts.operations.is_strong(self.classes.all[kind].operation())

    def read(self, op: int, thread: int, array: np.ndarray, at: int, size: int, atomic: bool) -> bytes:
        """What a thread reads: an element of a vector, or of a packed value each part as an operation of its own."""
        kind = self._class(op)
        part = min(size, self.classes.all[kind].size)
        return b"".join(self._read(kind, thread, array, k, part, atomic) for k in range(at, at + size, part))

    def _read(self, kind: int, thread: int, array: np.ndarray, at: int, size: int, atomic: bool) -> bytes:
        begin, strong = address_of(array) + at, self._is_strong(kind)
        newest = array[at : at + size].tobytes()
        histories = [self._histories.get(place) for place in range(begin, begin + size)]
        whole = histories[0] is not None and all(h == histories[0] for h in histories)
        if not any(histories):
            return newest
        if not strong and not atomic:
            return self._read_apart(histories, kind, thread, begin, newest)
        if not whole:
            return newest
        assert histories[0] is not None
        source = histories[0][-1] if atomic else self._chosen(self._returnable(histories[0], thread, kind))
        if source.place == begin and len(source.data) == size:
            self._observe(source, kind, thread)
        return source.data[begin - source.place :][:size]

    def _read_apart(
        self, histories: Sequence[History | None], kind: int, thread: int, begin: int, newest: bytes
    ) -> bytes:
        """What a weak read returns: bytes that are always written together are read together."""
        data, at = bytearray(newest), 0
        for history, group in groupby(histories):
            count = len(list(group))
            if history:
                source = self._chosen(self._returnable(history, thread, kind))
                offset = begin + at - source.place
                data[at : at + count] = source.data[offset : offset + count]
            at += count
        return bytes(data)

    def _returnable(self, history: History, thread: int, kind: int) -> History:
        """The writes that a read by an operation of a class may return."""
        if len(history) == 1:
            return history
        precedes = [self._precedes(write, thread, kind) for write in history]
        return [
            write
            for k, write in enumerate(history)
            if contracts.stale_reads.may_return(
                (write.number in later.before, known)
                for later, known in zip(history[k + 1 :], precedes[k + 1 :], strict=True)
            )
        ]

    def _precedes(self, write: RememberedWrite, thread: int, kind: int) -> bool:
        """Whether a write precedes an operation of a class that a thread executes now in causality order."""
        if write.thread == _NOBODY:
            return True
        level = self.knowledge.level(write.thread, thread)
        if not self.classes.connected(write.class_of, kind, level) and not self.orders.proxies_fenced:
            return False
        is_before = self.orders.is_before
        if is_before(write.thread, write.time, thread):
            return True
        return any(is_before(other, time, thread) for other, time in write.observers.items())

    def _chosen(self, writes: History) -> RememberedWrite:
        """One of some writes, as the seed says."""
        if len(writes) == 1:
            return writes[0]
        place: int = self._draw(0, self.seed, len(writes))
        return writes[-1 - place]

    def _observe(self, source: RememberedWrite, kind: int, thread: int) -> None:
        """A thread reads a write by a strong operation, all of its bytes."""
        if self._are_strong(source, kind, thread):
            time = self.orders.time(thread)
            observed: RememberedWrite | None = source
            while observed is not None:
                observed.observers.setdefault(thread, time)
                observed = observed.source
        self.knowledge.observe(thread, kind, source.place, source.strong, source.released)

    def _are_strong(self, write: RememberedWrite, kind: int, thread: int) -> bool:
        """Whether a write is morally strong with an operation of a class on the same bytes that a thread executes now."""
        if write.thread == _NOBODY:
            return False
        return self.classes.strong(write.class_of, kind, self.knowledge.level(write.thread, thread))

    # writes --------------------------------------------------------------------------------------------------------------

    def write(self, op: int, thread: int, array: np.ndarray, at: int, data: bytes) -> None:
        """A thread is about to write an element."""
        kind = self._class(op)
        part = min(len(data), self.classes.all[kind].size)
        for k in range(0, len(data), part):
            self._write(kind, thread, array, at + k, data[k : k + part])

    def _write(self, kind: int, thread: int, array: np.ndarray, at: int, data: bytes) -> None:
        begin = address_of(array) + at
        places = range(begin, begin + len(data))
        self._initialize(places, array, at)
        write = self._remembered(thread, self.orders.time(thread), kind, begin, data, (array, at))
        earlier = {e.number: e for place in places for e in self._histories[place]}
        for number, other in earlier.items():
            together = other.place == begin and len(other.data) == len(data)
            if (together and self._are_strong(other, kind, thread)) or self._precedes(other, thread, kind):
                write.before |= {number} | (other.before & earlier.keys())
        if self._is_strong(kind):
            self._publish(write, self._histories[begin][-1])
        for history, group in groupby(places, lambda place: self._histories[place]):
            longer = [*history, write]
            if len(longer) > MOST_WRITES:
                longer.pop(0).source = None
            self._histories |= dict.fromkeys(group, longer)

    def _publish(self, write: RememberedWrite, newest: RememberedWrite) -> None:
        """A strong write makes known what it releases; `newest` is what an atomic one has read."""
        kind, thread = write.class_of, write.thread
        together = newest.place == write.place and len(newest.data) == len(write.data)
        if together and self.classes.is_atomic(kind) and self._are_strong(newest, kind, thread):
            write.source = newest
        last = None if write.source is None else write.source.strong
        write.strong, releases = self.knowledge.publish(thread, kind, write.place, self.orders.done(thread), last)
        write.released = write.strong.released()
        if releases:
            self.orders.advance(thread)

    def _initialize(self, places: range, array: np.ndarray, at: int) -> None:
        """Remember what bytes held that nothing has been remembered of."""
        for is_new, group in groupby(places, lambda place: place not in self._histories):
            if is_new:
                fresh = list(group)
                start = at + fresh[0] - places[0]
                held = array[start : start + len(fresh)].tobytes()
                write = self._remembered(_NOBODY, 0, _INITIAL, fresh[0], held, (array, start))
                history = [write]
                self._histories |= dict.fromkeys(fresh, history)

    def _remembered(self, thread: int, time: int, kind: int, place: int, data: bytes, at: Any) -> RememberedWrite:
        self._made += 1
        return RememberedWrite(self._made, thread, time, kind, place, data, at)

    # the end -------------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let each byte of memory hold one of its last writes."""
        for history, group in groupby(sorted(self._histories.items()), lambda item: item[1]):
            last = [w for w in history if not any(w.number in later.before for later in history)]
            chosen = self._chosen(last)
            if chosen is not history[-1]:
                array, at = chosen.at
                for place, _ in group:
                    offset = place - chosen.place
                    array.data[at + offset] = chosen.data[offset]
