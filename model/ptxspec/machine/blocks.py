"""The blocks of global memory of a launch, and the log by which a launch that fails is undone.

`spec/machine/access.md` says what a block is. Threads work on the very bytes of a block: nothing is copied for a launch but the
parts that it stores to, before it does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple
from weakref import ref

import numpy as np

from ptxspec import contracts
from ptxspec.machine.arrays import address_of, release, untouched
from ptxspec.machine.errors import Violation, beside, in_bytes

#: what the machine code looks at of a block: where it begins, how many bytes may be read, how many written, and where they lie;
#: where the marks of its pages are, and where its bytes are saved
COLUMNS = 6
#: before the first store to a page, an aligned part of 2^PAGE bytes of the address space, what the page has of a block is saved
PAGE = 12
#: marks are bytes: a launch has an even one, for what is saved, and the next one, for what is being saved
_LAST_MARK = 254
#: the shadow of a block, which says which of its bits are initialized, is another block, so many bytes behind it: beyond all
#: addresses that the host hands out
SHADOW = 1 << 62
#: bytes of room for saved bytes that are kept from launch to launch, at most
_KEPT = 1 << 28


class BlockKind(StrEnum):
    """What a block of global memory holds."""

    VARIABLES = "the module's variables"
    HEAP = "the heap"
    ARRAY = "arrays of the launch"
    OWNED = "memory of the caller"
    SHADOW = "what is initialized of allocated memory"
    INITIALIZED = "what is initialized of other memory"


class GlobalBlock(NamedTuple):
    """Some bytes of global memory: their first address, what they are called in messages, where they are, and whether a kernel
    may write them."""

    base: int
    name: str
    data: np.ndarray
    writable: bool
    kind: BlockKind = BlockKind.OWNED

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        """The address behind the last byte; an empty block has its first address."""
        return self.base + max(self.size, 1)

    @property
    def span(self) -> tuple[int, int, str]:
        """The first address, the one behind the last, and what the block is called."""
        return self.base, self.end, self.name

    def __str__(self) -> str:
        at = f" at {self.base:#x}" if self.kind is BlockKind.OWNED else ""
        return f"{self.name} ({self.size} bytes{at})"


def shadow_block(block: GlobalBlock, shadow: np.ndarray | None) -> GlobalBlock:
    """The shadow of a block: these bits are initialized; None: all are."""
    kind = BlockKind.INITIALIZED if shadow is None else BlockKind.SHADOW
    bits = np.full(block.size, 0xFF, np.uint8) if shadow is None else shadow
    return GlobalBlock(block.base + SHADOW, kind.value, bits, True, kind)


def base_of(block: GlobalBlock) -> int:
    return block.base


def violation(
    blocks: Iterable[GlobalBlock], freed: Iterable[GlobalBlock], address: int, size: int, write: bool
) -> Violation:
    """What an access to no block, or to one that forbids it, has broken."""
    if contracts.multicast.is_multimem(address):
        return Violation("multimem", contracts.multicast.elsewhere(size))
    near, nearest = None, contracts.memory_rules.BUFFER_ALIGNMENT
    for block in blocks:
        end = block.base + block.size
        if block.base <= address and address + size <= end and write and not block.writable:
            return Violation("read only", f"a store to {block}, which is read-only")
        before, behind = block.base - address, address - end
        if block.kind in (BlockKind.ARRAY, BlockKind.OWNED) and max(before, behind) < nearest:
            nearest = max(before, behind)
            near = f"{in_bytes(size)} {beside(before, behind)} of {block}"
    for old in freed:
        if old.base <= address < old.end:
            return Violation("use after end", f"{old} was freed")
    return Violation("out of bounds", near or f"{in_bytes(size)} where nothing is")


class UndoLog:
    """Room for what pages of blocks held before a launch stored to them. One launch at a time uses it."""

    def __init__(self) -> None:
        self._mark = 0
        self._take(0, 0)

    def _take(self, marks: int, saved: int) -> None:
        self.marks, self.saved = untouched(marks), untouched(saved)
        self._addresses: tuple[int, int] | None = None
        #: the rows that the last launch had, and of which tables; they have addresses of these arrays
        self.known_rows: tuple[list[ref[BlockTable]], np.ndarray] = [], np.zeros((1, COLUMNS), np.uint64)

    @property
    def addresses(self) -> tuple[int, int]:
        """Where the marks lie, and the saved bytes."""
        if self._addresses is None:
            self._addresses = address_of(self.marks), address_of(self.saved)
        return self._addresses

    def begin(self, marks: int, saved: int) -> int:
        """Begin a launch whose blocks have so many pages, and so many bytes that may be written. The mark of a page that is
        saved; no page has it yet."""
        if len(self.marks) < marks or len(self.saved) < saved:
            self._take(max(marks, len(self.marks)), max(saved, len(self.saved)))
            self._mark = 0
        return self.again()

    def again(self) -> int:
        """The same for a launch with the blocks of the last one."""
        if self._mark == _LAST_MARK:
            self.marks.fill(0)
            self._mark = 0
        self._mark += 2
        return self._mark

    @property
    def is_kept(self) -> bool:
        """Whether the room is so small that it is kept from launch to launch."""
        return len(self.saved) <= _KEPT

    def end(self) -> None:
        """Give back room that is too large to be kept."""
        if not self.is_kept:
            release(self.saved)


class BlockTable:
    """Blocks in the order of their addresses, and what machine code looks at of them. Raises ValueError if two have the same
    addresses."""

    def __init__(self, blocks: Iterable[GlobalBlock]):
        self.blocks = sorted(blocks, key=base_of)
        for block, following in pairwise(self.blocks):
            if block.end > following.base:
                raise _overlap(block, following)
        reachable = contracts.access.reachable
        sizes = [reachable(b.size, b.writable, True) for b in self.blocks]
        #: for each block, where its marks and its saved bytes begin; and behind the last
        self.first_marks = [0, *accumulate(map(_pages, self.blocks))]
        self.first_saved = [0, *accumulate(sizes)]

    @cached_property
    def rows(self) -> np.ndarray:
        """See COLUMNS: the last two are relative to the beginning of all marks, and of all saved bytes."""
        reachable = contracts.access.reachable
        rows = [
            (
                b.base,
                *(reachable(b.size, b.writable, write) for write in (False, True)),
                address_of(b.data),
                mark,
                saved,
            )
            for b, mark, saved in zip(self.blocks, self.first_marks, self.first_saved, strict=False)
        ]
        return np.array(rows, np.uint64).reshape(-1, COLUMNS)

    def check_array(self, what: str, first: int, end: int) -> None:
        """Raise ValueError if an array that is passed, at these addresses of the host's memory, has bytes of a block."""
        places, sizes = self.rows[:, 3], self.rows[:, 1]
        overlapping = np.flatnonzero((places < np.uint64(end)) & (places + sizes > np.uint64(first)))
        if len(overlapping):
            raise ValueError(f"{what} shares memory with {self.blocks[overlapping[0]]}: pass a pointer to that")


class Blocks:
    """The blocks of one launch, in the order of their addresses."""

    def __init__(
        self,
        tables: Iterable[BlockTable],
        freed: Sequence[Iterable[GlobalBlock]],
        log: UndoLog,
        mark: int | None = None,
    ):
        """`freed` are those that the caller freed, of each of its memories. `mark` is that of the launch, if it has begun. Raises
        ValueError if two blocks have the same addresses."""
        filled = [table for table in tables if table.blocks]
        if len(filled) > 1:
            filled.sort(key=_first_base)
            if any(table.blocks[-1].end > following.blocks[0].base for table, following in pairwise(filled)):
                filled = [BlockTable(block for table in filled for block in table.blocks)]
        self._tables, self._freed, self._log = filled, freed, log
        self._marks = saved = 0
        for table in filled:
            self._marks += table.first_marks[-1]
            saved += table.first_saved[-1]
        #: the mark of a page that has been saved
        self.saved_mark = log.begin(self._marks, saved) if mark is None else mark

    @property
    def rows(self) -> np.ndarray:
        """What machine code looks at: see COLUMNS. The first row is for what lies before all blocks. Launches that follow one
        another with the same tables have the same array."""
        known, rows = self._log.known_rows
        if [table() for table in known] != self._tables:
            rows = self._made_rows()
            self._log.known_rows = [ref(table) for table in self._tables], rows
        return rows

    def _made_rows(self) -> np.ndarray:
        rows = np.zeros((1 + sum(len(table.blocks) for table in self._tables), COLUMNS), np.uint64)
        begin, (marks, saved) = 1, self._log.addresses
        for table in self._tables:
            end = begin + len(table.blocks)
            np.add(table.rows, np.array((0, 0, 0, 0, marks, saved), np.uint64), out=rows[begin:end])
            begin, marks, saved = end, marks + table.first_marks[-1], saved + table.first_saved[-1]
        return rows

    @cached_property
    def blocks(self) -> list[GlobalBlock]:
        return [block for table in self._tables for block in table.blocks]

    @cached_property
    def _bases(self) -> list[int]:
        return [block.base for block in self.blocks]

    @cached_property
    def _firsts(self) -> tuple[list[int], list[int]]:
        """For each block, where its marks and its saved bytes begin."""
        all_marks, all_saved, marks, saved = [], [], 0, 0
        for table in self._tables:
            all_marks += [marks + first for first in table.first_marks[:-1]]
            all_saved += [saved + first for first in table.first_saved[:-1]]
            marks, saved = marks + table.first_marks[-1], saved + table.first_saved[-1]
        return all_marks, all_saved

    def in_block(self, address: int, write: bool) -> tuple[int, int]:
        """How far an address is behind the beginning of the last block that does not begin behind it, and how many bytes of that
        may be read, or written."""
        at = bisect_right(self._bases, address)
        if not at:
            return address, 0
        block = self.blocks[at - 1]
        return address - block.base, contracts.access.reachable(block.size, block.writable, write)

    def at_block(self, address: int, size: int, write: bool) -> tuple[np.ndarray, int]:
        """The array and index of bytes of that block, which are saved if they are to be written."""
        at = bisect_right(self._bases, address) - 1
        if write:
            for page in range(address >> PAGE, (address + size - 1 >> PAGE) + 1):
                self._save(at, page)
        block = self.blocks[at]
        return block.data, address - block.base

    def _save(self, number: int, page: int) -> None:
        """Save what a page has of a block, unless that was done before."""
        mark = self._firsts[0][number] + page - (self.blocks[number].base >> PAGE)
        if self._log.marks[mark] != self.saved_mark:
            data, saved = self._page(number, page)
            saved[:] = data
            self._log.marks[mark] = self.saved_mark

    def _page(self, number: int, page: int) -> tuple[np.ndarray, np.ndarray]:
        """The bytes that a page has of a block, and those in which they are saved."""
        block, saved = self.blocks[number], self._firsts[1][number]
        begin, end = max(0, (page << PAGE) - block.base), min(block.size, (page + 1 << PAGE) - block.base)
        return block.data[begin:end], self._log.saved[saved + begin : saved + end]

    def violation(self, address: int, size: int, write: bool) -> Violation:
        """What an access to no block, or to one that forbids it, has broken."""
        return violation(self.blocks, (piece for freed in self._freed for piece in freed), address, size, write)

    def undo(self) -> None:
        """Put all bytes back that threads have stored to."""
        first_marks, _ = self._firsts
        for mark in np.flatnonzero(self._log.marks[: self._marks] == self.saved_mark).tolist():
            number = bisect_right(first_marks, mark) - 1
            data, saved = self._page(number, mark - first_marks[number] + (self.blocks[number].base >> PAGE))
            data[:] = saved

    def end(self) -> None:
        """The launch has ended, or has been undone."""
        self._log.end()


def _first_base(table: BlockTable) -> int:
    return table.blocks[0].base


def _overlap(block: GlobalBlock, following: GlobalBlock) -> ValueError:
    """What is said of two blocks that have the same addresses."""
    owned, other = (block, following) if block.kind is BlockKind.OWNED else (following, block)
    if other.kind is BlockKind.OWNED:
        return ValueError(
            f"two memories of one launch have the same addresses: {block}, {following}; give one of them another base"
        )
    return ValueError(f"{owned} lies where {other.kind} are; give its memory another base")


def _pages(block: GlobalBlock) -> int:
    """How many pages a block has bytes of at most, wherever it begins."""
    return (max(block.size, 1) + (1 << PAGE) - 2 >> PAGE) + 1
