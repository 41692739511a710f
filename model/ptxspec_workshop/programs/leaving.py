"""What the threads of a launch leave in their registers, under the exact engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language.checked import Kernel
from ptxspec.machine.module import Module

Coordinates = tuple[int, int, int]


class LeftRegisters(NamedTuple):
    """The registers with which a thread ended, by name: their bits, or truth values."""

    cta: Coordinates
    thread: Coordinates
    registers: dict[str, Any]


def shape(kernel: Kernel) -> tuple[Coordinates, Coordinates]:
    """(grid, block) of the smallest launch that an entry's directives allow: one cluster, or one CTA; of one thread if none is
    required."""
    block = contracts.limits.required_block(kernel.performance) or (1, 1, 1)
    grid = contracts.clusters.required(kernel.performance) or (1, 1, 1)
    return ((1, 1, 1) if ".blocksareclusters" in kernel.performance else grid), block


def left(
    module: Module, name: str, printed: Callable[[str], object], time_limit: float | None = None
) -> list[LeftRegisters]:
    """Run an entry without parameters in the smallest launch that it allows. The threads are in the order of their CTAs' and then
    their own coordinates, x first. Raises what a launch raises."""
    kernel = module.checked.kernels[name]
    ends: list[LeftRegisters] = []

    def ended(thread: Coordinates, cta: Coordinates, registers: Mapping[str, Any]) -> None:
        values = {name: registers[name] for name in kernel.registers if name in registers}
        ends.append(LeftRegisters(cta, thread, values))

    grid, block = shape(kernel)
    with module._launches.seen_by(left=ended):
        module.launch(name, grid, block, engine="exact", printed=printed, time_limit=time_limit)
    return sorted(ends, key=lambda end: (end.cta[::-1], end.thread[::-1]))
