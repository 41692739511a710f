"""The threads of the host that share a launch: each runs CTAs that no other has taken."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

#: the seconds after which an interruption is seen at the latest
INTERRUPTED_AFTER = 0.25


def together(works: Sequence[Callable[[], int]], stop: Callable[[], None]) -> int:
    """Do all works at the same time, the first in this thread and each other in one of its own, and give the sum of what they
    give. A work that no processor has begun when the first is done is left out: the works share what there is to do. If one
    raises an exception, or this is interrupted, `stop` is called, after which the others end soon. When all have ended, the
    exception that came first is raised."""
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
                other.finish()
        except BaseException as error:  # an interruption
            failed.append(error)
            stop()
        else:
            break
    if failed:
        raise failed[0]
    return sum(given)


class WorkerThread:
    """A thread that does a work, unless that is withdrawn before. `Thread.start` would wait until it runs: that is long where a
    processor sleeps that is to run it."""

    def __init__(self, work: Callable[[], None]):
        self._ended, self._end, self._begin = False, Lock(), Lock()
        self._end.acquire()
        _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], None]) -> None:
        if self._begin.acquire(blocking=False):
            try:
                work()
            finally:
                self._ended = True
                self._end.release()

    def finish(self) -> None:
        """Withdraw the work, if it has not begun, or wait until it is done; may be interrupted, and called again."""
        if not self._ended and self._begin.acquire(blocking=False):
            self._ended = True
        while not self._ended:  # a signal that comes just before the lock is waited for would be seen only after it
            self._end.acquire(timeout=INTERRUPTED_AFTER)
