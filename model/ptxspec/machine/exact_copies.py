"""Copies that finish later, under the exact engine."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.base.options import Copies
from ptxspec.machine import copies as driver
from ptxspec.machine.deferred import Deferred
from ptxspec.machine.driver import inventory
from ptxspec.machine.memory import Memory
from ptxspec.machine.outstanding import Outstanding, Sparse


class Begun(NamedTuple):
    """Where a copy fills shared memory and where it reads in the arena, in bytes."""

    to: int
    size: int
    source: int
    read: int


class ExactCopies:
    """The copies of a launch. `machine` is that of the driver."""

    def __init__(self, machine: Any, memory: Memory, when: Copies):
        self.machine, self.memory = machine, memory
        memory.copies = Outstanding(memory.extent_of_copies(), _sparse)
        for name, array in memory.copies.arrays.items():
            setattr(machine, name, array)
        for name, taken in driver.steps().items():
            setattr(machine, name, inventory.scripted_step(*taken, machine))
        self._begun: dict[int, Begun] = {}
        self.deferred = Deferred(when, self._happens)

    def begin(self, thread: int, op: int, to: int, size: int, source: int, read: int) -> None:
        """A thread begins a copy that it may begin. `to` and `source` are indices in shared memory and in the arena."""
        place = to // driver.GRANULE
        driver.copy_begins(self.machine, thread, op, place, source, size, read)
        self._begun[place] = Begun(to, size, source, read)
        self.deferred.begun(place, thread)

    def commit(self, thread: int) -> None:
        """A thread commits a group."""
        driver.copies_are_committed(self.machine, thread)

    def wait(self, thread: int, most: int | None) -> None:
        """A thread waits for all groups but the last so many, or for all copies."""
        if most is None:
            driver.copies_are_awaited(self.machine, thread)
        else:
            driver.groups_are_awaited(self.machine, thread, most)
        self.deferred.finished(thread, lambda place: self.machine.copy_size[place] != 0)

    def forget(self) -> None:
        """Others are resident now."""
        driver.copies_are_forgotten(self.machine)
        self.deferred.forget()

    def _happens(self, place: int) -> None:
        """Fill what a copy fills."""
        to, size, source, read = self._begun.pop(place)
        data = int.from_bytes(self.memory.arena[source : source + size].tobytes(), "little") if read else 0
        word = int(contracts.copies().arriving(data, read))
        self.memory.buffers_of[contracts.copies().INTO].data[to : to + size] = word.to_bytes(size, "little")


def _sparse(name: str, length: int) -> Any:
    """An array of copies under way; of those that steps take, which are short, a list."""
    return [0] * length if name == "copies" else Sparse()
