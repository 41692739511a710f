"""The threads of the host that share a launch: each runs batches of its own."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence

#: a worker takes this part of the batches that are left, divided by how many workers there are: much at first, since going back
#: for more takes time, and little in the end, so that all end together
PART = 2


class Share:
    """The CTAs of a grid, of which each worker takes some batches whenever it has none left."""

    def __init__(self, ctas: int, slots: int, workers: int):
        """`slots` CTAs are a batch."""
        self._next, self._ctas, self._slots = 0, ctas, slots
        self._workers = workers
        self._lock = threading.Lock()

    def take(self) -> range | None:
        """The CTAs that a worker runs next, whole batches but for the grid's last; None if all have been taken."""
        with self._lock:
            start = self._next
            if start >= self._ctas:
                return None
            batches = -(-(self._ctas - start) // self._slots)
            if self._workers > 1:
                batches = -(-batches // (PART * self._workers))
            self._next = min(self._ctas, start + batches * self._slots)
            return range(start, self._next)


def together(works: Sequence[Callable[[], int]], stop: Callable[[], None]) -> int:
    """Do all works at the same time, the first in this thread and each other in one of its own, and give the sum of what they
    give. If one raises an exception, or this is interrupted, `stop` is called, after which the others end soon. When all have
    ended, the exception that came first is raised."""
    if len(works) == 1:
        return works[0]()
    given: list[int] = []
    failed: list[BaseException] = []

    def do(work: Callable[[], int]) -> None:
        try:
            given.append(work())
        except BaseException as error:
            failed.append(error)
            stop()

    others = [_started(do, work) for work in works[1:]]
    do(works[0])
    for other in others:
        _wait(other, failed, stop)
    if failed:
        raise failed[0]
    return sum(given)


def _started(do: Callable[[Callable[[], int]], None], work: Callable[[], int]) -> _thread.LockType:
    """Let a thread of its own do a work; the lock is released when it has. `Thread.start` would wait until the other one runs:
    that is long where a processor sleeps that is to run it."""
    lock = threading.Lock()
    lock.acquire()

    def run() -> None:
        try:
            do(work)
        finally:
            lock.release()

    _thread.start_new_thread(run, ())
    return lock


def _wait(lock: _thread.LockType, failed: list[BaseException], stop: Callable[[], None]) -> None:
    """Wait until a lock is released. What interrupts that is noted, and stops the others."""
    while True:
        try:
            lock.acquire()
            return
        except BaseException as error:
            failed.append(error)
            stop()
