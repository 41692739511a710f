"""What a launch reports that nothing has initialized: findings are made of what its threads have noted."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked, Op
from ptxspec.machine.batch import Extents
from ptxspec.machine.blocks import SHADOW, BlockKind
from ptxspec.machine.errors import Where, page_of
from ptxspec.machine.events import UNINITIALIZED, WORDS, EventKind
from ptxspec.machine.findings import FindingCollector, LaunchFinding
from ptxspec.machine.flow import registers_written, successors, values_of
from ptxspec.machine.initialization import READ_FIRST, Reported, register_of
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.program import KernelProgram, where_is
from ptxspec.terms.effects import Access, Examine, Report, Return

_KIND, _FIRST, _INSTRUCTION, _THREAD, _LOCATION, _SIZE, _OPERATION = (
    WORDS.index(word) for word in ("kind", "first", "instruction", "thread", "location", "size", "operation")
)


class UndefinedRead(NamedTuple):
    """Where a thread read undefined bits: the instruction, and so many bytes at an address of a state space, or none; the
    register that it read, if it is one."""

    instruction: int
    first: int
    thread: int
    space: str
    address: int
    size: int
    register: str = ""


class UninitializedChecker:
    """Is told of reports, and lets a collector have the findings."""

    def __init__(
        self,
        checked: Checked,
        program: KernelProgram,
        extents: Extents,
        memory: LaunchMemory,
        collector: FindingCollector,
    ):
        assert program.shadows is not None
        self.checked, self.program, self.extents, self.memory = checked, program, extents, memory
        self.collector, self.reported = collector, program.shadows.reported
        #: by instruction, the last undefined reads, by thread
        self._reads: dict[int, dict[tuple[int, int], UndefinedRead]] = {}
        self._sources: dict[int, UndefinedSources] = {}

    def tell(self, rows: np.ndarray) -> None:
        for row in rows[(rows[:, _KIND] == EventKind.REPORT) & (rows[:, _OPERATION] == 0)].tolist():
            index, effect = row[_INSTRUCTION], self.program.kernel.code[row[_INSTRUCTION]].plan.meaning.effect
            assert isinstance(effect, Report | Examine)
            if effect.what == READ_FIRST:
                space, address = self._resolved(self.reported[index].space, row[_LOCATION])
                read = UndefinedRead(index, row[_FIRST], row[_THREAD], space, address, row[_SIZE])
                reads = self._reads.setdefault(self.program.kernel.code[index].position, {})
                reads.pop((read.first, read.thread), None)
                reads[read.first, read.thread] = read
            else:
                self._find(index, effect, row)

    def _find(self, index: int, effect: Report | Examine, row: list[int]) -> None:
        page, about = contracts.initialization, self.reported[index]
        if effect.what == page.STORED and not self._is_seen(row[_LOCATION]):
            return
        read = self._source(index, about, row)
        position = self.program.kernel.code[index].position
        key = (UNINITIALIZED, effect.what, position, None if read is None else (read.instruction, read.register))
        self.collector.report(key, lambda: self._finding(index, effect.what, row, read))

    def _finding(self, index: int, what: str, row: list[int], read: UndefinedRead | None) -> LaunchFinding:
        where, other, value = self._where(index, row[_FIRST], row[_THREAD]), None, "a value"
        space, address, size = "", 0, 0
        if read is not None:
            space, address, size = read.space, read.address, read.size
            if read.register:
                value = f"{read.register.partition('@')[0] or read.register}"
            if read.instruction != index:
                other = self._where(read.instruction, read.first, read.thread)
        note = f"{value} was not initialized, and {what}"
        return LaunchFinding(UNINITIALIZED, note, where, other, space, address, size, page_of(UNINITIALIZED))

    def _where(self, index: int, first: int, thread: int) -> Where:
        """The thread and the instruction, as the text has them."""
        return where_is(self.checked, self.program.kernel.code[index], self.extents.where(thread, first))

    # memory --------------------------------------------------------------------------------------------------------------

    def _resolved(self, space: str, address: int) -> tuple[str, int]:
        """The state space of an address, and the address in it, where a generic one lies in one."""
        address &= (1 << 64) - 1
        if space != "generic":
            return space, address
        page = contracts.generic_addressing
        for name, begins in page.WINDOWS.items():
            if begins <= address < begins + page.WINDOW_SIZE:
                return name, address - begins
        return contracts.state_spaces.OF_BUFFERS, address

    def _is_seen(self, address: int) -> bool:
        """Whether the host sees what is stored at a generic address: memory of threads and CTAs, and what is allocated, it does
        not."""
        space, address = self._resolved("generic", address)
        if space != contracts.state_spaces.OF_BUFFERS:
            return False
        return address not in self._tracked

    @cached_property
    def _tracked(self) -> _Ranges:
        """The addresses of memory that threads or the host have allocated."""
        shadows = (block for block in self.memory.blocks.blocks if block.kind is BlockKind.SHADOW)
        return _Ranges([(block.base - SHADOW, block.end - SHADOW) for block in shadows])

    # where undefined bits come from --------------------------------------------------------------------------------------

    def _source(self, index: int, about: Reported, row: list[int]) -> UndefinedRead | None:
        """Where the undefined bits of a report were read first, as far as the ways through the kernel and the last reads of the
        thread tell: of reads of memory the last, else a register that may not have been written."""
        first, thread = row[_FIRST], row[_THREAD]
        if not about.registers:
            space, address = self._resolved(about.space, row[_LOCATION])
            return UndefinedRead(index, first, thread, space, address, row[_SIZE])
        if index not in self._sources:
            self._sources[index] = sources_of(self.program, index, about.registers)
        loads, unwritten = self._sources[index]
        reads = [known for position in loads for known in self._reads.get(position, {}).values()]
        of_thread = [read for read in reads if (read.first, read.thread) == (first, thread)]
        if of_thread:
            return of_thread[-1]
        if unwritten:
            at, register = unwritten[0]
            return UndefinedRead(at, first, thread, "", 0, 0, register)
        return reads[-1] if reads else None


class _Ranges:
    """Ranges of addresses."""

    def __init__(self, ranges: list[tuple[int, int]]):
        self._ranges = ranges

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and any(begin <= address < end for begin, end in self._ranges)


class UndefinedSources(NamedTuple):
    """Where undefined bits may come from: the positions of instructions that load, and registers that are read by an instruction
    although they may not have been written, the nearest first."""

    loads: list[int]
    unwritten: list[tuple[int, str]]


def sources_of(program: KernelProgram, index: int, registers: frozenset[str]) -> UndefinedSources:
    """Where what registers hold at an instruction may come from, on all ways that lead there."""
    assert program.shadows is not None
    kernel, shadowed = program.kernel, program.shadows.shadowed
    before = _preceding(program)
    reader = next(i for i in range(index, len(kernel.code)) if i not in kernel.added)
    todo = deque((index, name, reader) for name in sorted(registers))
    seen: set[tuple[int, str]] = set()
    loads: dict[int, None] = {}
    unwritten: dict[tuple[int, str], None] = {}
    passed = _Passed(program)
    while todo:
        at, name, reader = todo.popleft()
        ways = before.get(at, [])
        if at in passed.starts:
            given = passed.given(at, name)
            todo.extend((call, register, call) for call, register in given if (call, register) not in seen)
            seen.update(given)
            if not given:
                unwritten[reader, name] = None
        for previous in ways:
            if (previous, name) in seen:
                continue
            seen.add((previous, name))
            op = kernel.code[previous]
            left = [] if op.call is None or previous in kernel.added else passed.left(op, name)
            todo.extend((end, register, end) for end, register in left)
            writes = bool(left) or (previous not in kernel.added and name in registers_written(op))
            if writes and not left:
                if isinstance(op.plan.meaning.effect, Access):
                    loads[op.position] = None
                else:
                    todo.extend((previous, read, previous) for read in _shadowed_of(op, shadowed))
            if not writes or op.guard is not None:
                todo.append((previous, name, reader))
    return UndefinedSources([*loads], [*unwritten])


class _Passed:
    """What calls of a kernel pass in registers."""

    def __init__(self, program: KernelProgram):
        self.kernel, self.flow = program.kernel, program.flow
        starts = self.kernel.starts or {self.kernel.name: 0}
        #: the first instructions of the entry and its functions
        self.starts = {start: name for name, start in starts.items()}

    def given(self, start: int, register: str) -> list[tuple[int, str]]:
        """The calls that pass a register as a parameter of the function that begins at an instruction."""
        function = self.kernel.functions.get(self.starts[start])
        if function is None or function.signature is None:
            return []
        names = [formal.register for formal in function.signature.parameters]
        if register not in names:
            return []
        k, given = names.index(register), []
        for index, op in enumerate(self.kernel.code):
            if op.call is not None and op.call.function in (None, function.name) and k < len(op.call.arguments):
                argument = register_of(op.call.arguments[k])
                if argument in self.kernel.registers:
                    given.append((index, argument))
        return given

    def left(self, op: Op, register: str) -> list[tuple[int, str]]:
        """The ends of functions at which a register is left that a call has as a result."""
        assert op.call is not None
        names = [register_of(result) for result in op.call.results]
        function = self.kernel.functions.get(op.call.function or "")
        if register not in names or function is None or function.signature is None:
            return []
        left = function.signature.returns[names.index(register)].register
        ends = (i for i, each in enumerate(self.kernel.code) if isinstance(each.plan.meaning.effect, Return))
        return [(i, left) for i in ends if left is not None and self.flow.function_of(i) == function.name]


def _shadowed_of(op: Op, shadowed: frozenset[str]) -> list[str]:
    """The registers with shadows that an instruction computes with."""
    names = [register_of(operand) for _, _, operand in values_of(op)] + ([op.guard[0]] if op.guard else [])
    return [name for name in dict.fromkeys(names) if name in shadowed]


def _preceding(program: KernelProgram) -> dict[int, list[int]]:
    """For each instruction those that may be executed right before it."""
    blocks, preceding = program.flow.blocks, dict[int, list[int]]()
    ends = {i: b.end - 1 if b.finishes is None else b.finishes for i, b in enumerate(blocks)}
    for number, block in enumerate(blocks):
        if block.finishes is None:
            for at in range(block.start + 1, block.end):
                preceding.setdefault(at, []).append(at - 1)
        for following in successors(block):
            if blocks[following].finishes is None:
                preceding.setdefault(blocks[following].start, []).append(ends[number])
    return preceding
