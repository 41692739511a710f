"""The course of a launch under the exact engine: which thread executed which instructions, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.machine.flow import Block
from ptxspec.machine.module import Module


class Ran(NamedTuple):
    """A thread executed the instructions from `start` up to `end`, exclusive, after `step` others of all threads. `finishes` is an
    instruction whose result it took before, at which it had waited, or None."""

    thread: int
    step: int
    start: int
    end: int
    finishes: int | None


class Course(NamedTuple):
    """What a launch executed, in order, and the line of the module's text, from 1 on, in which each instruction stands."""

    ran: list[Ran]
    lines: list[int]


def course(module: Module, name: str, text: str, block: int, args: Sequence[Any]) -> Course:
    """Run one CTA of an entry of a module, whose text is given too. Raises what a launch raises."""
    found: list[Ran] = []

    def seen(thread: int, block: Block, step: int) -> None:
        found.append(Ran(thread, step, block.start, block.end, block.finishes))

    with module._launches.seen_by(seen):
        module.launch(name, 1, block, args, engine="exact")
    code = module.checked.kernels[name].code
    return Course(found, [text.count("\n", 0, op.position) + 1 for op in code])
