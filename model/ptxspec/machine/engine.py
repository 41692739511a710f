"""What the two engines share: what a kernel becomes before it runs, and the outcome of letting a batch run."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptxspec.language import tree
from ptxspec.language.check import Kernel, Op, constant_bits
from ptxspec.language.parser import statement
from ptxspec.machine.batch import Batch, Waiting
from ptxspec.machine.flow import Flow
from ptxspec.machine.memory import Memory
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type

#: threads that are resident at once, and thread-instructions between two looks at the barriers: the same for both engines, so
#: that even threads that race for memory take the same turns under both
RESIDENT = 2048
TURN = 100_000


class Fault(NamedTuple):
    """An access that failed: the lane, the instruction's index and the address; or a freedom that nothing chose."""

    lane: int
    op: int
    address: int | None
    error: Exception | None = None


class Stopped(NamedTuple):
    """Why a batch stopped running: a fault, the step budget, or nothing left that can run; and the threads that have come
    to a barrier since."""

    fault: Fault | None
    out_of_steps: bool
    waiting: Waiting


class Running(Protocol):
    """A batch of CTAs under an engine."""

    def run(self, budget: int) -> Stopped:
        """Run until nothing can, or about `budget` thread-instructions are done."""

    def resume(self, threads: Waiting) -> None:
        """Let threads go on after their barrier."""

    def ended(self) -> np.ndarray:
        """How many threads of each resident CTA have ended."""

    def restart(self, batch: Batch) -> None:
        """Begin another batch of the same launch."""

    @property
    def steps(self) -> int:
        """Thread-instructions executed since the launch began."""


class Program(NamedTuple):
    """A kernel ready for an engine: its blocks, the addresses of its variables, and the profile that chooses."""

    kernel: Kernel
    flow: Flow
    profile: Profile
    bases: dict[str, int]

    def address_of(self, name: str) -> int:
        """A variable's address in its state space."""
        place = self.kernel.places[name]
        return place.offset + self.bases.get(place.space, 0) if place.offset >= 0 else self.bases["dynamic"]


def program(kernel: Kernel, profile: Profile) -> Program:
    layout = importlib.import_module("ptxspec.spec.state_spaces.generic_addressing")
    static = kernel.sizes["shared"]
    dynamic = [p for p in kernel.places.values() if p.offset < 0]
    align = max([p.align for p in dynamic], default=1)
    return Program(
        kernel, Flow(kernel), profile, {"global": layout.GLOBAL_BASE, "dynamic": -(-static // align) * align}
    )


class Engine(Protocol):
    """Executes programs, RESIDENT threads at once."""

    def start(self, program: Program, memory: Memory, batch: Batch) -> Running: ...


def constant_of(program: Program, type: Type | None, operand: Any) -> int | None:
    """The value of a source operand that is no register: a constant, or a variable's address."""
    if isinstance(operand, tree.Number | tree.Real):
        assert type is not None
        return constant_bits(operand, type)
    if isinstance(operand, tree.Sum):
        return program.address_of(operand.base.text) + operand.offset & (1 << 64) - 1
    if isinstance(operand, tree.Name) and operand.text not in program.kernel.registers:
        if operand.text in program.kernel.places:
            return program.address_of(operand.text)
    return None


def describe(op: Op, text: str) -> str:
    """The instruction as it was written."""
    return statement(text, op.position)
