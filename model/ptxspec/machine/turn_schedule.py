"""Launches that choose whose turn it is: what is asked for, and what the host notes and gives. See spec/machine/schedule.md."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from copy import copy
from typing import Any

from ptxspec import contracts
from ptxspec.machine.driver.codes import CHOICES, DRAWN, IN_TURNS, LISTED
from ptxspec.machine.engine import EngineRun

#: what a schedule may be, for messages
_MAY_BE = "'auto', 'round-robin', 'warps', 'random:SEED', 'weakest:SEED', or a list of numbers of threads"
#: schedules that choose nobody
_WITHOUT_CHOICES = ("auto", "round-robin", "warps")


class TurnSchedule:
    """The schedule of one launch."""

    def __init__(self, schedule: Any):
        """`schedule` is as `Module.launch` takes it. Raises ValueError and TypeError for anything else."""
        self.chooses, self.seed = IN_TURNS, 0
        #: what turns are wanted, if the launch says so
        self._turns = schedule if isinstance(schedule, str) and schedule in _WITHOUT_CHOICES else "round-robin"
        #: whether reads may return older values than the newest, as the seed says
        self.weakest = False
        self.listed: list[int] = []
        #: the numbers of the threads that were chosen, of those that were resident then
        self.made: list[int] = []
        if isinstance(schedule, str):
            kind, _, seed = ("weakest:0" if schedule == "weakest" else schedule).partition(":")
            if kind in ("random", "weakest") and seed.isascii() and seed.isdecimal() and len(seed) < 20:
                self.chooses, self.seed, self.weakest = DRAWN, int(seed) & (1 << 63) - 1, kind == "weakest"
            elif schedule not in _WITHOUT_CHOICES:
                raise ValueError(f"schedule is {_MAY_BE}, not {schedule!r}")
        elif isinstance(schedule, Sequence):
            self.chooses, self.listed = LISTED, [_thread(number) for number in schedule]
        else:
            raise TypeError(f"schedule is {_MAY_BE}, not {schedule!r}")

    def alone(self, threads: int) -> bool:
        """Whether turns are those of threads, whatever the kernel, in a launch of so many threads."""
        if self._turns == "auto":
            return threads < contracts.schedule.MANY_THREADS
        return self._turns != "warps"

    def again(self) -> TurnSchedule:
        """The same for another launch."""
        if not self.chooses:
            return self
        other = copy(self)
        other.made = []
        return other

    def begin(self, running: EngineRun) -> None:
        """Tell the machine who chooses."""
        running.set("chooses", self.chooses)
        running.set("seed", self.seed)

    def note(self, running: EngineRun) -> None:
        """Note what was chosen since the last time."""
        if not self.chooses:
            return
        self.made += running.column("choices")[: running.get("noted")].tolist()
        running.set("noted", 0)

    def serve(self, running: EngineRun) -> None:
        """Note what was chosen since the last time, and give the next choices of a list."""
        self.note(running)
        if self.chooses == LISTED:
            following = self.listed[len(self.made) :][:CHOICES]
            running.give("choices", following)
            running.set("given", len(following))
            running.set("exhausted", int(not following))

    @property
    def reported(self) -> tuple[int, ...] | None:
        """The choices that the launch made; None if it made none."""
        return tuple(self.made) if self.chooses else None


def _thread(number: Any) -> int:
    try:
        thread = operator.index(number)
    except TypeError:
        raise TypeError(f"a schedule lists numbers of threads, not {number!r}") from None
    if isinstance(number, bool) or not 0 <= thread < 1 << 31:
        raise ValueError(f"a schedule lists numbers of threads, from 0 on, not {number!r}")
    return thread
