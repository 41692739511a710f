"""What ends a launch that takes too long or too much: spec/machine/limits.md states the rules."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.machine.batch import Extents
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.program import KernelProgram, resident

#: seconds in which the seconds of processors are not asked for again
MOMENT = 0.001
#: seconds between two reports of progress
REPORT = 0.1
#: steps after which an engine comes back to look at the clock, about a fifth of a second
PAUSE = {"native": 10_000_000, "exact": 100_000}

#: seconds that have passed, and seconds of processors that this process has had
clock, processor = time.monotonic, time.process_time

#: what is told of progress: thread-instructions executed, CTAs that have ended, CTAs in all
Progress = Callable[[int, int, int], object]


class LaunchLimits:
    """The limits of launches that follow one another, and how far the last one is. The first begins when this is made.

    `step_limit` is a number of thread-instructions, or None for the work that `engine` does by default; `time_limit` is in
    seconds, or None; `memory_limit` in bytes, or None for the page's; `progress` is called now and then with (steps done, CTAs
    done, CTAs in all). Raises TypeError and ValueError for what is no limit.
    """

    def __init__(self, engine: str, step_limit: Any, time_limit: Any, memory_limit: Any, progress: Progress | None):
        self.steps = _whole("step_limit", step_limit)
        self.seconds = _seconds(time_limit)
        if progress is not None and not callable(progress):
            raise TypeError(f"progress is called with three numbers; {progress!r} cannot be")
        self._progress = progress
        self._engine = engine
        page = contracts.limits
        self._work, memory = page.WORK[engine], _whole("memory_limit", memory_limit)
        self.memory: int = page.MEMORY if memory is None else memory
        #: steps after which the driver comes back to look at the clock
        self.pause = PAUSE[engine]
        self._most_seconds: float = page.SECONDS if self.steps is None else math.inf
        self._processor_ends, self._counted = math.inf, -math.inf
        self.begin()

    def begin(self) -> None:
        """Begin another launch now: the last one has ended."""
        self._reported = now = clock()
        self._stopped = False
        #: for each thread of the host its steps, and its CTAs that have ended
        self._steps: dict[int, int] = {}
        self._done: dict[int, int] = {}
        #: those of the grid
        self.ctas = 0
        self._ends = math.inf if self.seconds is None else now + self.seconds
        self._firsts: dict[int, int] = {}
        self._is_prepared = False
        self._batch_ends = math.inf
        if self.seconds is None:
            self._count_anew()

    def repeat(self) -> None:
        """Begin a launch as the last one was, whose kernel is ready."""
        now = clock()
        if self.seconds is not None:
            self._ends = now + self.seconds
        self._batch_ends = now + self._most_seconds
        if now >= self._counted + MOMENT:
            self._count_anew()

    def stop(self) -> None:
        """Let all who check end: the launch has failed elsewhere."""
        self._stopped = True

    def check(self) -> None:
        """Raise LaunchError if the time is over. Cheap: to be called wherever something may take long."""
        if self._stopped:
            raise LaunchError("stopped", "the launch has ended elsewhere")
        now = clock()
        if now > self._ends:
            raise LaunchError("time limit", f"the launch did not end within {self.seconds:g} seconds")
        if now > self._batch_ends and processor() > self._processor_ends:  # not if others had the processor meanwhile
            if not self._is_prepared:
                within = f"the kernel was not ready within {self._most_seconds:g} seconds"
                raise LaunchError(
                    "time limit", f"{within}, preparing and compiling it: time_limit says how long a launch may take"
                )
            raise self._too_much(f"{self._most_seconds:g} seconds")

    def _count_anew(self) -> None:
        now = clock()
        self._batch_ends = now + self._most_seconds
        if now >= self._counted + MOMENT:  # to ask for the seconds of processors takes ten times as long
            self._counted, self._processor_ends = now, processor() + self._most_seconds

    def shares(self, program: KernelProgram, extents: Extents, requested: int) -> tuple[int, int]:
        """(how many CTAs of a worker are resident at once, in whole clusters; how many workers there are, of those wanted). If
        all CTAs of the grid are resident together, with whichever worker, each worker has as many. Raises LaunchError if there is
        no room for one cluster."""
        members, threads, ctas = extents.cluster_size, extents.threads, extents.ctas
        each = members * (threads * program.state_bytes + program.cta_bytes(extents.shared))
        most, room = resident(program), contracts.limits.resident_clusters
        clusters = room(ctas // members, members, threads, most, each, self.memory)
        if not clusters:
            what = "a CTA" if members == 1 else f"a cluster of {members} CTAs"
            note = f"{what} of {threads} threads needs {each:,} bytes; memory_limit is {self.memory:,}"
            raise LaunchError("memory limit", note)
        if requested == 1:
            return clusters * members, 1
        most_workers = max(1, min(requested, self.memory // (clusters * each)))
        equal = -(-ctas // (most_workers * members))
        clusters = min(clusters, equal)
        return clusters * members, min(most_workers, -(-ctas // (clusters * members)))

    def begin_batch(self, worker: int, first: int) -> None:
        """Note which CTAs are resident, from this one on: when others are, their seconds are counted anew."""
        if self._firsts.get(worker) != first:
            self._firsts[worker], self._is_prepared = first, True
            self._count_anew()

    def numbers(self) -> dict[str, int]:
        """What the driver counts with: the most steps, or -1, the work that CTAs may do which are resident together, and as how
        many steps a round counts."""
        return {
            "step_limit": -1 if self.steps is None else min(self.steps, 1 << 62),
            "work": self._work.most,
            "price_of_round": self._work.round,
        }

    def too_many_steps(self) -> LaunchError:
        """What is said of a launch that has taken more steps than it may."""
        if self.steps is not None:
            return LaunchError("step limit", f"the launch did not end within {self.steps:,} thread-instructions")
        return self._too_much(f"{self._work.most:,} thread-instructions, or what takes as long")

    def _too_much(self, work: str) -> LaunchError:
        """The error for resident CTAs that had the work of a launch without step_limit, and did not end."""
        return LaunchError(
            "step limit",
            f"CTAs that are resident together did not end within {work}: all that the {self._engine} engine does for them unless "
            "step_limit says how many the launch may take",
        )

    @property
    def tells(self) -> bool:
        """Whether somebody is told of progress."""
        return self._progress is not None

    def note_progress(self, worker: int, steps: int, done: int) -> None:
        """Note how far a thread of the host is: its steps, and its CTAs that have ended; and tell how far the launch is, if
        that was asked for, and not told a moment ago."""
        self._steps[worker], self._done[worker] = steps, done
        now = clock()
        if self._progress is not None and now - self._reported >= REPORT:
            self._reported = now
            self._progress(sum(self._steps.values()), sum(self._done.values()), self.ctas)

    def note_end(self) -> None:
        """Tell the end, if progress was asked for."""
        if self._progress is not None:
            self._progress(sum(self._steps.values()), self.ctas, self.ctas)


def _whole(what: str, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{what} is an integer, or None, not {value!r}")
    if value < 0:
        raise ValueError(f"{what} is at least 0, not {value}")
    return int(value)


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise TypeError(f"time_limit is a number of seconds, or None, not {value!r}")
    if not value > 0:
        raise ValueError(f"time_limit is more than 0 seconds, not {value!r}")
    return float(min(value, 1e12))
