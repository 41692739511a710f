"""The threads of the host that share a launch: each runs batches of its own."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Lock

#: a worker takes this part of the batches that are left, divided by how many workers there are: much at first, since going back
#: for more takes time, and little in the end, so that all end together
PART = 2
#: the seconds after which an interruption is seen at the latest
INTERRUPTED_AFTER = 0.25


class CtaShare:
    """The CTAs of a grid, of which each worker takes some batches whenever it has none left."""

    def __init__(self, ctas: int, slots: int, workers: int):
        """`slots` CTAs are a batch."""
        self._next, self._ctas, self._slots = 0, ctas, slots
        self._workers = workers
        self._lock = Lock()

    def parts(self) -> Iterable[range]:
        """What one worker runs, one range of CTAs after the other."""
        return iter(self.take, None)

    def take(self) -> range | None:
        """The CTAs that a worker runs next, whole batches but for the grid's last; None if all have been taken."""
        with self._lock:
            start = self._next
            if start >= self._ctas:
                return None
            batches = -(-(self._ctas - start) // (self._slots * PART * self._workers))
            self._next = min(self._ctas, start + batches * self._slots)
            return range(start, self._next)


def together(works: Sequence[Callable[[], int]], stop: Callable[[], None]) -> int:
    """Do all works at the same time, the first in this thread and each other in one of its own, and give the sum of what they
    give. If one raises an exception, or this is interrupted, `stop` is called, after which the others end soon. When all have
    ended, the exception that came first is raised."""
    given: list[int] = []
    failed: list[BaseException] = []

    def do(work: Callable[[], int]) -> None:
        try:
            given.append(work())
        except BaseException as error:
            failed.append(error)
            stop()

    others = [WorkerThread(partial(do, work)) for work in works[1:]]
    first = iter(works[:1])
    while True:
        try:
            for work in first:
                do(work)
            for other in others:
                other.wait()
        except BaseException as error:  # an interruption
            failed.append(error)
            stop()
        else:
            break
    if failed:
        raise failed[0]
    return sum(given)


class WorkerThread:
    """A thread that does a work. `Thread.start` would wait until it runs: that is long where a processor sleeps that is to run
    it."""

    def __init__(self, work: Callable[[], None]):
        self._ended, self._lock = False, Lock()
        self._lock.acquire()
        _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self._ended = True
            self._lock.release()

    def wait(self) -> None:
        """Wait until the work is done; may be interrupted, and called again."""
        while not self._ended:  # a signal that comes just before the lock is waited for would be seen only after it
            self._lock.acquire(timeout=INTERRUPTED_AFTER)
