"""The threads of the host that share a launch: each runs CTAs that no other has taken."""

from __future__ import annotations

import _thread
import math
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

#: the seconds after which an interruption is seen at the latest
INTERRUPTED_AFTER = 0.25
#: a launch that takes workers longer, in seconds, is always shared
LONG = 2e-3
#: a launch that takes a worker less, in seconds, is never shared: to wake another one takes half of it
BRIEF = 8e-5
#: so many launches are shared and run alone in turns, before it is decided which is better
TRIALS = 4
#: of a plan whose launches are not expected to be long, so many are run alone before any is shared: the first one that is shared
#: prepares the memory of the other workers
UNSHARED = 6
#: a launch that takes so many times as long as another one of its kind is another one
OUTGROWN = 4


class SharingChoice:
    """Whether several workers share the launches of a plan, or one runs them alone: to wake another one takes longer than it
    saves where a launch is short. Both ways are tried in turns, and the one that has taken less time is kept."""

    def __init__(self, may_share: bool, expected: float | None = None):
        """`expected` is how many seconds one worker takes for a launch, as others of the kernel say, if any was run."""
        #: whether the next launch is run alone, and whether it is decided
        self.is_alone, self.is_settled = False, not may_share
        self._may_share, self._unshared = may_share, 0
        self._begin()
        if may_share and expected is not None and expected < LONG:
            self.is_alone, self.is_settled, self._unshared = True, expected < BRIEF, UNSHARED
            self._least[True] = max(expected, BRIEF)

    def _begin(self) -> None:
        self._tried = self._unshared = 0
        #: the least seconds of a launch that is shared, and of one that is not
        self._least = [math.inf, math.inf]

    def note(self, seconds: float) -> None:
        """Note what the last launch took, and choose for the next one."""
        if not self._may_share:
            return
        if seconds > OUTGROWN * self._least[self.is_alone]:
            self._begin()
        self._least[self.is_alone] = min(seconds, self._least[self.is_alone])
        if self._unshared:
            self._unshared -= not self.is_settled
            self.is_alone = self._unshared > 0
            return
        self._tried += 1
        shared, alone = self._least
        is_long = shared > LONG and not self.is_alone
        self.is_settled = is_long or self._tried >= TRIALS
        if not is_long:
            self.is_alone = alone < shared if self.is_settled else not self.is_alone


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
