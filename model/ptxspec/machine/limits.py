"""What ends a launch that takes too long or too much: spec/machine/limits.md states the rules."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxspec.machine.batch import Extents
from ptxspec.machine.engine import TURN, Program, resident, state_bytes
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.roles import Roles

#: seconds between two reports of progress
REPORT = 0.1

#: seconds that have passed, and seconds of processors that this process has had
clock, processor = time.monotonic, time.process_time

#: what is told of progress: thread-instructions executed, CTAs that have ended, CTAs in all
Progress = Callable[[int, int, int], object]


class Limits:
    """The limits of one launch, and how far it is. It begins when this is made.

    `step_limit` is a number of thread-instructions, or None for the work that `engine` does by default; `time_limit` is in
    seconds, or None; `memory_limit` in bytes, or None for the page's; `progress` is called now and then with (steps done, CTAs
    done, CTAs in all). Raises TypeError and ValueError for what is no limit.
    """

    def __init__(self, engine: str, step_limit: Any, time_limit: Any, memory_limit: Any, progress: Progress | None):
        self._began = self._reported = clock()
        self.steps = _whole("step_limit", step_limit)
        self.seconds = _seconds(time_limit)
        if progress is not None and not callable(progress):
            raise TypeError(f"progress is called with three numbers; {progress!r} cannot be")
        self._ends = math.inf if self.seconds is None else self._began + self.seconds
        self._progress = progress
        self._engine = engine
        page = importlib.import_module("ptxspec.spec.machine.limits")
        self._work, memory = page.WORK[engine], _whole("memory_limit", memory_limit)
        self.memory: int = page.MEMORY if memory is None else memory
        self._extra = self._from = 0
        self._most_seconds: float = page.SECONDS if self.steps is None else math.inf
        self._batch_ends, self._processor_ends = math.inf, math.inf

    def check(self) -> None:
        """Raise LaunchError if the time is over. Cheap: to be called wherever something may take long."""
        now = clock()
        if now > self._ends:
            raise LaunchError("time limit", f"the launch did not end within {self.seconds:g} seconds")
        if now > self._batch_ends and processor() > self._processor_ends:  # not if others had the processor meanwhile
            raise self._too_much(f"{self._most_seconds:g} seconds")

    def slots(self, program: Program, extents: Extents, shared: int) -> int:
        """How many CTAs are resident at once, in whole clusters, where each has so many bytes of shared memory. Raises
        LaunchError if there is no room for one cluster."""
        members, threads = extents.cluster_size, extents.threads
        each = members * (threads * state_bytes(program) + shared)
        if each > self.memory:
            what = "a CTA" if members == 1 else f"a cluster of {members} CTAs"
            note = f"{what} of {threads} threads needs {each:,} bytes; memory_limit is {self.memory:,}"
            raise LaunchError("memory limit", note)
        most = min(resident(program.kernel, members > 1) // threads // members, self.memory // each)
        return max(1, min(extents.ctas // members, most)) * members

    def begin_batch(self, steps: int) -> None:
        """Note that the next CTAs begin, when so many steps are done: their work is counted anew."""
        self._extra, self._from = 0, steps
        self._batch_ends, self._processor_ends = clock() + self._most_seconds, processor() + self._most_seconds

    def left(self, steps: int) -> int:
        """How many steps may be taken before the next look: one more than are allowed, so that all that are may be taken."""
        return max(1, min(TURN, self._most() - steps + 1))

    def _most(self) -> int:
        return self._work.most + self._from - self._extra if self.steps is None else self.steps

    def met(self, roles: Roles, waiting: np.ndarray) -> None:
        """Count a round, in which threads began to wait at these instructions."""
        price = self._work
        self._extra += price.round
        if len(waiting):
            asked = (
                int(roles.is_image[waiting].sum()) * price.image + int(roles.is_system[waiting].sum()) * price.system
            )
            self._extra += asked + len(waiting) * price.waiting

    def check_steps(self, steps: int) -> None:
        """Raise LaunchError if there were too many steps, or the time is over."""
        if steps > self._most():
            if self.steps is not None:
                raise LaunchError("step limit", f"the launch did not end within {self.steps:,} thread-instructions")
            raise self._too_much(f"{self._work.most:,} thread-instructions, or what takes as long")
        self.check()

    def _too_much(self, work: str) -> LaunchError:
        """The error for resident CTAs that had the work of a launch without step_limit, and did not end."""
        return LaunchError(
            "step limit",
            f"CTAs that are resident together did not end within {work}: all that the {self._engine} engine does for them unless "
            "step_limit says how many the launch may take",
        )

    def report(self, steps: int, done: int, total: int) -> None:
        """Tell how far the launch is, if that was asked for, and not told a moment ago; the end is always told."""
        if self._progress is None:
            return
        now = clock()
        if done == total or now - self._reported >= REPORT:
            self._reported = now
            self._progress(steps, done, total)


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
