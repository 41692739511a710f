"""What a launch counts if it is asked to: how often each instruction was executed, and the bytes that it moved, by state space.

An engine counts for blocks and instructions of the kernel as it runs it; here that becomes what is told of the instructions as
they are written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from threading import Lock
from typing import NamedTuple, assert_never
from weakref import WeakKeyDictionary

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked, Op, unbanked
from ptxspec.language.diagnostics import Source
from ptxspec.machine.events import OF_IMAGES
from ptxspec.machine.flow import FlowGraph
from ptxspec.machine.program import KernelProgram, describe
from ptxspec.terms.effects import (
    Advance,
    Arrive,
    Await,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Examine,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Load,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)


class Count(NamedTuple):
    """What one instruction did in a launch. `line` counts from 1. `reached` is how often a thread came to it, and `active` how
    often its guard held then; `read` and `written` are bytes, by state space, and those of textures and surfaces as "image".

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 p) { .reg .b64 a; .reg .b32 t; .reg .pred q;
    ...     ld.param.u64 a, [p]; mov.u32 t, %tid.x; setp.lt.u32 q, t, 2;
    ... @q  st.global.u32 [a], t; ret; }'''
    >>> outcome = ptxspec.load(text).launch("k", block=32, args=[np.zeros(1, np.uint32)], counts=True)
    >>> outcome.counts.instructions[3]
    Count(line=4, instruction='st.global.u32 [a], t;', reached=32, active=2, read={}, written={'global': 8})
    >>> outcome.counts.read
    {'param': 256}
    """

    line: int
    instruction: str
    reached: int
    active: int
    read: dict[str, int]
    written: dict[str, int]


class Counts(NamedTuple):
    """What the instructions of a launch did, in the order of the text.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
    >>> ptxspec.load(text).launch("nothing", block=32, counts=True).counts.instructions[0].reached
    32
    """

    instructions: tuple[Count, ...]

    @property
    def read(self) -> dict[str, int]:
        """The bytes that all instructions read, by state space.

        >>> text = '''.version 8.0 .target sm_80 .address_size 64
        ... .visible .entry k(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p]; ret; }'''
        >>> ptxspec.load(text).launch("k", block=4, args=[0], counts=True).counts.read
        {'param': 32}
        """
        return _sum(count.read for count in self.instructions)

    @property
    def written(self) -> dict[str, int]:
        """The bytes that all instructions wrote, by state space.

        >>> text = '''.version 8.0 .target sm_80 .address_size 64
        ... .visible .entry k() { .shared .b32 s; st.shared.u32 [s], 1; ret; }'''
        >>> ptxspec.load(text).launch("k", block=4, counts=True).counts.written
        {'shared': 16}
        """
        return _sum(count.written for count in self.instructions)


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for space, count in part.items():
            total[space] = total.get(space, 0) + count
    return total


def _of_images(count: int) -> dict[str, int]:
    return {OF_IMAGES: count} if count else {}


class Counters(NamedTuple):
    """What is counted: threads that entered each block, threads for which the guard of each instruction held, and the bytes that
    each instruction moved in each state space that it accessed. All that an engine counts; the unit that holds the images counts,
    a row for each instruction, the bytes of these that were read and that were written."""

    entries: np.ndarray
    active: np.ndarray
    moved: np.ndarray
    images: np.ndarray


def counters(program: KernelProgram) -> Counters:
    """Counters of a kernel, all zero."""
    instructions = len(program.kernel.code)
    sizes = (
        len(program.flow.blocks),
        instructions,
        instructions * len(contracts.state_spaces.addressable()),
        (instructions, 2),
    )
    return Counters(*(np.zeros(size, np.int64) for size in sizes))


def is_counted(space: str) -> bool:
    """Whether the bytes are counted that move in a state space: those of registers are not."""
    return space != contracts.state_spaces.OF_REGISTERS


def counter_of(op: int, space: str) -> int:
    """Where the bytes are counted that an instruction moved in a state space; those of all banks of constants in one place."""
    names = contracts.state_spaces.addressable()
    return op * len(names) + names.index(unbanked(space))


def _of_operation(effect: Initiate, moved: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """The bytes that operations read and wrote, which have been counted together; those that change memory read what they
    write."""
    into, source = (contracts.access.stored(name) for name in (effect.space, effect.of))
    if not is_counted(effect.space):
        return dict(moved), {}
    if into == source:
        read = written = {space: count // 2 for space, count in moved.items()}
    else:  # the one or the other is named
        is_read = {s: is_counted(effect.of) and (s == source or (source == "generic" and s != into)) for s in moved}
        read, written = ({s: n for s, n in moved.items() if is_read[s] is given} for given in (True, False))
    if effect.change is not None:
        read = {s: read.get(s, 0) + written.get(s, 0) for s in read.keys() | written.keys()}
    return read, written


def moves_always(program: KernelProgram, op: Op) -> bool:
    """Whether an instruction of a kernel with turns of warps moves its bytes in one state space whenever a thread comes to it:
    engines need not count them."""
    effect = op.plan.meaning.effect
    if not program.flow.by_warps or op.guard is not None or not isinstance(effect, Load | Store):
        return False
    return (
        effect.holds is None and contracts.access.unnumbered(op.space or effect.space) in contracts.state_spaces.SPACES
    )


#: of a kernel, the lines of its instructions
_LINES: WeakKeyDictionary[FlowGraph, dict[int, tuple[int, str]]] = WeakKeyDictionary()


class CountCollector:
    """The counts of one launch, of which each worker counts a part."""

    def __init__(self, program: KernelProgram):
        self.program, self.total = program, counters(program)
        self._lock = Lock()

    def gather(self, part: Counters) -> None:
        """Add what a worker has counted."""
        with self._lock:
            for total, counted in zip(self.total, part, strict=True):
                total += counted

    def counts(self, checked: Checked) -> Counts:
        """What the instructions of the text did. Parts of one, which the engines execute one after the other, are one."""
        code, blocks, added = self.program.kernel.code, self.program.flow.blocks, self.program.kernel.added
        reached = [0] * len(code)
        for block, entries in zip(blocks, self.total.entries.tolist(), strict=True):
            if block.finishes is None:
                reached[block.start : block.end] = [entries] * (block.end - block.start)
        by_position: dict[int, Count] = {}
        bodies = {function.position for function in checked.tree.functions}
        lines = self._lines(checked.source, bodies)
        names = contracts.state_spaces.addressable()
        moved = self.total.moved.reshape(len(code), len(names)).tolist()
        for index, op in enumerate(code):
            if op.position in bodies or index in added:  # the end of a body stands nowhere, nor what checks add
                continue
            active = reached[index] if op.guard is None else int(self.total.active[index])
            counted = {space: count for space, count in zip(names, moved[index], strict=True) if count}
            read, written = self._moved(index, reached[index], counted)
            if op.position in by_position:
                before = by_position[op.position]
                read, written = _sum((before.read, read)), _sum((before.written, written))
                by_position[op.position] = before._replace(read=read, written=written)
                continue
            line, text = lines[op.position]
            by_position[op.position] = Count(line, text, reached[index], active, read, written)
        return Counts(tuple(by_position[position] for position in sorted(by_position)))

    def _lines(self, source: Source, bodies: Container[int]) -> dict[int, tuple[int, str]]:
        """For each position of an instruction its line, and how it is written; found once for a kernel."""
        kept = _LINES.get(self.program.flow)
        if kept is None:
            ops = {op.position: op for op in self.program.kernel.code if op.position not in bodies}
            kept = {at: (source.place(at)[1], describe(op, source.text)) for at, op in ops.items()}
            _LINES[self.program.flow] = kept
        return kept

    def _moved(self, index: int, reached: int, moved: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """The bytes that an instruction of the kernel read and wrote, to which threads came so often. `moved` are those that
        engines have counted."""
        op = self.program.kernel.code[index]
        effect = op.plan.meaning.effect
        if moves_always(self.program, op):
            assert isinstance(effect, Load | Store)
            bytes = reached * effect.bytes
            moved = {contracts.access.unnumbered(op.space or effect.space): bytes} if bytes else {}
        match effect:
            case Load():
                return moved, {}
            case Store():
                return {}, moved
            case Update():
                return moved, dict(moved)
            case Initiate():
                return ({}, {}) if effect.only_reads else _of_operation(effect, moved)
            case None | Check() | Report() | Examine() | Initialize() | Fence() | GridDependency() | Advance():
                return {}, {}
            case Await() | Follow():
                return {}, {}
            case StackEnd() | Reserve() | Release():
                return {}, {}
            case ImageAccess():
                read, written = self.total.images[index].tolist()
                return _of_images(read), _of_images(written)
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait():
                return {}, {}
            case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
                return {}, {}
            case _:
                assert_never(effect)
