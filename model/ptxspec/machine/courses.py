"""The course of a launch under the exact engine: which thread executed which instructions, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ptxspec.machine.driver.codes import NOT_WAITING
from ptxspec.machine.flow import Block
from ptxspec.machine.module import Module
from ptxspec.terms.effects import ClusterWait, Collective, Wait


class ExecutedBlock(NamedTuple):
    """A thread executed the instructions from `start` up to `end`, exclusive, after `step` others of all threads. `finishes` is
    an instruction whose result it took before, at which it had waited, or None. `waiting` are the threads that waited meanwhile,
    or had just come to where they would learn whether they must."""

    thread: int
    step: int
    start: int
    end: int
    finishes: int | None
    waiting: frozenset[int]


class Course(NamedTuple):
    """What a launch executed, in order. Of each instruction the line of the module's text, from 1 on, and whether a thread may
    have to wait there for others."""

    executed: list[ExecutedBlock]
    lines: list[int]
    waits: list[bool]


def course(module: Module, name: str, text: str, block: int, args: Sequence[Any]) -> Course:
    """Run one CTA of an entry of a module, whose text is given too. Raises what a launch raises."""
    executed: list[ExecutedBlock] = []

    def seen(m: Any, thread: int, block: Block, step: int) -> None:
        came = (m.blocks + 1) * m.capacity
        waiting = {i for i in range(m.resident_threads) if m.wait_state[i] != NOT_WAITING}
        waiting |= set(m.lists[came : came + m.counts[m.blocks + 1]])
        executed.append(ExecutedBlock(thread, step, block.start, block.end, block.finishes, frozenset(waiting)))

    with module._launches.seen_by(seen):
        module.launch(name, 1, block, args, engine="exact")
    code = module.checked.kernels[name].code
    lines = [text.count("\n", 0, op.position) + 1 for op in code]
    return Course(executed, lines, [isinstance(op.plan.meaning.effect, Wait | Collective | ClusterWait) for op in code])
