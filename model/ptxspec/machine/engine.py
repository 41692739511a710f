"""What an engine owes the host: programs made ready, launches that run, and faults that end them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptxspec.machine.batch import Extents
from ptxspec.machine.counting import Counters
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.program import KernelProgram


class ThreadFault(NamedTuple):
    """An access that failed: the thread, the instruction's index and the address; or a freedom that nothing chose. `registers`
    has what the instruction's registers held, where that is known."""

    thread: int
    op: int
    address: int | None
    error: Exception | None = None
    registers: Mapping[str, int] = {}


class EngineRun(Protocol):
    """A launch under an engine: the machine that the driver works on, and what the host does with it."""

    request: np.ndarray
    """what threads ask images and the system: a row a word, a column a thread"""
    answer: np.ndarray
    """what they are answered, likewise"""

    def restart(self, prepared: PreparedProgram, launch: int) -> bool:
        """Begin the launch of this number with the same memory, of the same shape and with the same options. False if that takes
        another run, or if the program is another one."""

    def run(self) -> int:
        """Run until the host is needed; why, as driver/codes.py has it."""

    def fault(self) -> ThreadFault:
        """What ended the launch, at an instruction."""

    def empty(self) -> None:
        """Take the memory of the CTAs, which the host has emptied."""

    def get(self, name: str) -> int:
        """A number of the machine."""

    def set(self, name: str, value: int) -> None:
        """Let a number of the machine have a value."""

    def counted(self) -> Counters:
        """What has been counted, in a launch that counts."""

    def observe(self, tell: Callable[[np.ndarray], None]) -> None:
        """Let events be told to `tell`, as rows of `events.WORDS`, in a launch that is observed."""

    def tell_events(self) -> None:
        """Tell of the events that have been noted since that was done last. Raises what an observer raises."""

    def column(self, name: str) -> Any:
        """An array of the machine, not to be changed."""

    def give(self, name: str, values: Sequence[int]) -> None:
        """Let the first elements of an array have these values."""


class Engine(Protocol):
    """Executes programs, some CTAs at a time."""

    def prepared(self, program: KernelProgram, spread: bool, watch: Callable[[], None]) -> PreparedProgram:
        """The program as the engine runs it; `spread` says whether several threads of the host do.
        `watch` is called now and then, and raises an exception when the launch is to end."""


class PreparedProgram(Protocol):
    """A program that an engine has made ready to run."""

    def start(
        self, memory: LaunchMemory, extents: Extents, slots: int, worker: int, watch: Callable[[], None]
    ) -> EngineRun:
        """Begin a launch, or what a worker does of it. `slots` CTAs are resident at once. `watch` is as for `prepared`."""
