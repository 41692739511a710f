"""The threads of the host that share a launch: each runs CTAs that no other has taken."""

from __future__ import annotations

import _thread
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Lock

#: the seconds after which an interruption is seen at the latest
INTERRUPTED_AFTER = 0.25
#: a launch that takes workers longer, in seconds, is always shared; the second if they update the same memory, where one may be
#: faster
LONG, LONG_WITH_UPDATES = 2e-3, 5e-2
#: a launch that takes a worker less, in seconds, is never shared: to wake another one takes half of it
BRIEF = 5e-5
#: so many launches are shared and run alone in turns, before it is decided which is better
TRIALS = 8
#: of a plan whose launches are not expected to be long, so many are run alone before any is shared: the first one that is shared
#: prepares the memory of the other workers
UNSHARED = 6
#: a launch that takes so many times as long as another one of its kind is another one
OUTGROWN = 4


class SharingChoice:
    """Whether several workers share the launches of a plan, or one runs them alone: to wake another one takes longer than it
    saves where a launch is short. Both ways are tried in turns, and the one that has taken less time is kept."""

    def __init__(self, may_share: bool, expected: float | None = None, updates_in_common: bool = False):
        """`expected` is how many seconds one worker takes for a launch, as others of the kernel say, if any was run.
        `updates_in_common` says whether workers update the same memory."""
        #: whether the next launch is run alone, and whether it is decided
        self.is_alone, self.is_settled = False, not may_share
        self._may_share, self._unshared = may_share, 0
        self._long = LONG_WITH_UPDATES if updates_in_common else LONG
        self._begin()
        if may_share and expected is not None and expected < self._long:
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
        is_long = shared > self._long and not self.is_alone
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

    others = [POOL.assign(partial(do, work)) for work in works[1:]]
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


class Assignment:
    """A work that a thread of a pool is to do, unless it is withdrawn before."""

    def __init__(self, work: Callable[[], None]):
        self._work, self._ended, self._end, self._begin = work, False, Lock(), Lock()
        self._end.acquire()

    def execute(self) -> None:
        """Do the work, in the thread that calls this."""
        if self._begin.acquire(blocking=False):
            try:
                self._work()
            finally:
                self._ended = True
                self._end.release()

    def finish(self) -> None:
        """Withdraw the work, if it has not begun, or wait until it is done; may be interrupted, and called again."""
        if not self._ended and self._begin.acquire(blocking=False):
            self._ended = True
        while not self._ended:  # a signal that comes just before the lock is waited for would be seen only after it
            self._end.acquire(timeout=INTERRUPTED_AFTER)


class WorkerPool:
    """Threads that do one work after the other, and wait for the next in between: to start a thread takes longer than to wake
    one, and where other threads run it has to wait until it is their turn to stop."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin without threads: a process that is a copy of another has none of that one's."""
        self._works: SimpleQueue[Assignment] = SimpleQueue()
        #: threads that wait for a work and have none to come; and what guards their number
        self._idle, self._guard = 0, Lock()

    def assign(self, work: Callable[[], None]) -> Assignment:
        """Let a thread do a work that raises nothing."""
        assignment = Assignment(work)
        with self._guard:
            is_there = self._idle > 0
            self._idle -= is_there
        self._works.put(assignment)
        if not is_there:
            _thread.start_new_thread(self._serve, ())
        return assignment

    def _serve(self) -> None:
        while True:
            self._works.get().execute()
            with self._guard:
                self._idle += 1


#: the threads of this process that share launches
POOL = WorkerPool()
if hasattr(os, "register_at_fork"):  # where a process may become two
    os.register_at_fork(after_in_child=POOL.renew)
