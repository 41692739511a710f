"""Memory that the caller owns: pieces that are there from launch to launch, and pointers into them.

`spec/machine/memory.md` says where pieces lie and how long they live. Threads work on the very bytes of a piece, which is not
copied for a launch; what a launch wrote that failed is undone.
"""

from __future__ import annotations

import operator
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.machine.errors import Violation, beside, in_bytes
from ptxspec.machine.locking import NonReentrantLock, locked
from ptxspec.machine.marshalling import bytes_of, check_elements, host_array, host_bytes
from ptxspec.machine.memory import REMEMBERED, untouched
from ptxspec.machine.pointers import Pointer

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: bytes that the first byte of a piece is aligned to in the host's memory
_LINE = 64
#: what the machine code looks at of a piece: where it begins, how many bytes may be read, how many written, and where they lie;
#: where the marks of its blocks are, and where its bytes are saved
COLUMNS = 6
#: before the first store to a block, an aligned part of 2^BLOCK bytes of the address space, what the block has of a piece is
#: saved. Its mark is then KEPT, and BUSY meanwhile
BLOCK = 12
BUSY, KEPT = 1, 2


class OwnedPiece(NamedTuple):
    """Some bytes that the caller owns: their first address, what they are called in messages, and where they are."""

    base: int
    name: str
    data: np.ndarray
    writable: bool

    @property
    def size(self) -> int:
        return len(self.data)

    def __str__(self) -> str:
        return f"{self.name} ({self.size} bytes at {self.base:#x})"


class Memory:
    """Global memory that the caller owns. Launches of any modules may share it. The caller allocates and frees pieces of it; they
    keep their bytes between launches, and may contain the addresses of other pieces.

    No address is allocated twice, and there is a gap between pieces. So an access beyond a piece, or to a piece that was freed,
    ends a launch with an error. `base` is the address of the first piece. It has a fixed default, and addresses are the same in
    every run. Two memories of one launch need bases that are far apart; 32-bit pointers need a base below 2³². Raises ValueError
    for a base that is not aligned or lies outside global memory.

    >>> memory = ptxspec.Memory()
    >>> numbers = memory.put(np.arange(8, dtype=np.uint32))
    >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry double(.param .u64 at) { .reg .b64 a; .reg .b32 n;
    ...     ld.param.u64 a, [at]; ld.global.u32 n, [a]; add.u32 n, n, n; st.global.u32 [a], n; ret; }''')
    >>> for i in range(3):
    ...     outcome = module.launch("double", args=[numbers + 4])
    >>> memory.view(numbers, np.uint32, 4)
    array([0, 8, 2, 3], dtype=uint32)
    """

    def __init__(self, base: int | None = None):
        page = contracts.memory_rules
        self.lock = NonReentrantLock(
            "a launch that uses this memory has not ended: what it calls cannot use the memory"
        )
        self._base = page.CALLERS_BASE if base is None else operator.index(base)
        least, most = contracts.generic_addressing.GLOBAL_BASE, contracts.opaque_types.MODULE_HANDLES
        if not least <= self._base < most or self._base % page.BUFFER_ALIGNMENT:
            raise ValueError(
                f"a base is a multiple of {page.BUFFER_ALIGNMENT} from {least:#x} to {most - 1:#x}, not {self._base:#x}"
            )
        #: where the last piece ended: the first lies at the base
        self._end = self._base - page.BUFFER_ALIGNMENT
        self._pieces: list[OwnedPiece] = []
        self._freed: deque[OwnedPiece] = deque(maxlen=REMEMBERED)
        self._count = 0

    @locked
    def allocate(self, size: int, align: int | None = None, name: str = "") -> Pointer:
        """Allocate `size` bytes of zeros at an address that is a multiple of `align`, a power of two (default: 256). Error
        messages call the piece `name`. Raises ValueError for a negative size, for an alignment that is no power of two, and if
        the piece would not end before the addresses of textures and surfaces; MemoryError if the host has too little memory.

        >>> int(ptxspec.Memory().allocate(100, align=4096)) % 4096
        0
        """
        return self._allocate(size, align, name)

    def _allocate(self, size: int, align: int | None, name: str) -> Pointer:
        size, page = operator.index(size), contracts.memory_rules
        align = page.BUFFER_ALIGNMENT if align is None else operator.index(align)
        if size < 0:
            raise ValueError(f"a piece has no bytes or some, not {size}")
        if align < 1 or align & (align - 1):
            raise ValueError(f"an alignment is a power of two, not {align}")
        start, end = page.next_piece(self._end, align), contracts.opaque_types.MODULE_HANDLES
        if not page.has_addresses(start, size, end):
            raise ValueError(
                f"{size:,} bytes at a multiple of {align:,} would lie at {start:#x}: memory ends before {end:#x}"
            )
        try:
            room = untouched(size + _LINE)
        except (OSError, ValueError, OverflowError) as why:  # of mmap and of NumPy
            raise MemoryError(f"the host has no {size:,} bytes for {name or 'a piece'}: {why}") from None
        first = -int(room.__array_interface__["data"][0]) % _LINE
        pointer = self._insert(start, room[first : first + size], True, name)
        self._end = start + size
        return pointer

    def _insert(self, base: int, data: np.ndarray, writable: bool, name: str) -> Pointer:
        """Have a piece there. Raises ValueError where it comes too close to another."""
        piece = OwnedPiece(base, name or f"piece {self._count}", data, writable)
        at = bisect_right(self._pieces, base, key=_base)
        for other in self._pieces[max(0, at - 1) : at + 1]:
            if base < other.base + max(other.size, 1) and other.base < base + max(len(data), 1):
                raise ValueError(f"{piece} would lie in {other}")
        insort(self._pieces, piece, key=_base)
        self._count += 1
        return Pointer(self, base)

    @locked
    def put(self, values: Any, align: int | None = None, name: str = "") -> Pointer:
        """Allocate a piece and copy `values` into it: bytes, an array or a NumPy scalar. Raises TypeError for values whose size
        is not defined, such as an int or a list, and ValueError as `allocate` does.

        >>> memory = ptxspec.Memory()
        >>> memory.read(memory.put(np.arange(3, dtype=np.uint16)), 6).hex()
        '000001000200'
        """
        data = bytes_of("values", values)
        pointer = self._allocate(len(data), align, name)
        self._within(pointer, len(data))[:] = np.frombuffer(data, np.uint8)
        return pointer

    @locked
    def register(self, array: Any, name: str = "") -> Pointer:
        """Let kernels access the bytes of a host array without a copy, at their address in host memory. A read-only array can
        only be read. The memory keeps the array alive until it is freed here. Raises TypeError for a value that is no host array
        or is not contiguous, and ValueError if its bytes are registered already.

        >>> memory, words = ptxspec.Memory(), np.arange(4, dtype=np.uint32)
        >>> int(memory.register(words)) == words.ctypes.data
        True
        """
        host = host_array("array", array)
        if host is None:
            raise TypeError(f"an array is registered, not a value of type {array.__class__.__name__}")
        if not (host.flags.c_contiguous or host.flags.f_contiguous):
            raise TypeError("the elements of an array that is registered follow one another in memory")
        data = host_bytes(host if host.flags.c_contiguous else host.T)
        return self._insert(int(data.__array_interface__["data"][0]), data, bool(host.flags.writeable), name)

    @locked
    def free(self, pointer: Pointer | int) -> None:
        """Free the piece whose first byte `pointer` points to. Views of the piece remain valid, and keep its bytes. Raises
        ValueError if the piece was freed already, and for any other pointer.

        >>> memory = ptxspec.Memory()
        >>> p = memory.allocate(64, name="buffer")
        >>> memory.free(p)
        >>> try:
        ...     memory.free(p)
        ... except ValueError as error:
        ...     print(error)
        buffer (64 bytes at 0x100000000000) was freed already
        """
        address = self._address(pointer)
        piece = self._reached(address)
        if piece is None or piece.base != address:
            gone = next((old for old in reversed(self._freed) if old.base == address), None)
            if gone is not None:
                raise ValueError(f"{gone} was freed already")
            inside = f"; it points into {piece}" if piece is not None else ""
            raise ValueError(f"{address:#x} is not where a piece begins{inside}")
        del self._pieces[bisect_right(self._pieces, address, key=_base) - 1]
        self._freed.append(piece._replace(data=np.broadcast_to(np.uint8(0), piece.size)))

    @locked
    def write(self, pointer: Pointer | int, values: Any) -> None:
        """Copy bytes, an array, whose elements are written in order, or a NumPy scalar to an address. Raises ValueError if the
        destination is not within one writable piece, and TypeError for values whose size is not defined, such as an int or a
        list.

        >>> memory = ptxspec.Memory()
        >>> node, following = memory.allocate(16), memory.allocate(16)
        >>> memory.write(node + 8, np.uint64(following))
        >>> int.from_bytes(memory.read(node + 8, 8), "little") == int(following)
        True
        """
        data = bytes_of("values", values)
        self._within(pointer, len(data), True)[:] = np.frombuffer(data, np.uint8)

    @locked
    def read(self, pointer: Pointer | int, size: int) -> bytes:
        """A copy of `size` bytes from an address on. Raises ValueError if they are not within one piece.

        >>> memory = ptxspec.Memory()
        >>> memory.read(memory.allocate(4), 4)
        b'\\x00\\x00\\x00\\x00'
        """
        return self._within(pointer, operator.index(size)).tobytes()

    @locked
    def view(
        self, pointer: Pointer | int, dtype: DTypeLike = np.uint8, shape: int | Sequence[int] | None = None
    ) -> np.ndarray:
        """An array that shares the bytes from an address on: it shows what kernels write, and kernels read what is written to it.
        Without a shape it extends to the last whole element of the piece. Raises ValueError if the array is not within one piece,
        and TypeError for a dtype that memory cannot hold, such as object or one in another byte order.

        >>> memory = ptxspec.Memory()
        >>> p = memory.allocate(16)
        >>> memory.view(p, np.float32, (2, 2))[:] = [[1, 2], [3, 4]]
        >>> memory.view(p + 8, np.float32)
        array([3., 4.], dtype=float32)
        """
        type = np.dtype(dtype)
        check_elements("dtype", type)
        if not type.itemsize:
            raise TypeError(f"elements of {type} have no bytes")
        if shape is None:
            piece = self._reached(self._address(pointer))
            left = 0 if piece is None else piece.base + piece.size - self._address(pointer)
            shape = left // type.itemsize
        extents = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        if any(n < 0 for n in extents):
            raise ValueError(f"extents are not negative: {shape}")
        count = int(np.prod(extents, dtype=object))
        return self._within(pointer, count * type.itemsize).view(type).reshape(extents)

    def _address(self, pointer: Pointer | int) -> int:
        if isinstance(pointer, Pointer) and pointer.memory is not self:
            raise ValueError(f"{pointer} points into another memory")
        return operator.index(pointer)

    def _reached(self, address: int) -> OwnedPiece | None:
        """The piece that an address lies in, or right behind."""
        at = bisect_right(self._pieces, address, key=_base)
        piece = self._pieces[at - 1] if at else None
        return piece if piece is not None and address <= piece.base + piece.size else None

    def _within(self, pointer: Pointer | int, size: int, write: bool = False) -> np.ndarray:
        """So many bytes from an address on, not a copy. Raises ValueError if they do not lie within one piece."""
        address = self._address(pointer)
        piece = self._reached(address)
        if size < 0:
            raise ValueError(f"{size} bytes are none")
        if piece is None or address + size > piece.base + piece.size:
            raise ValueError(violation(self._pieces, self._freed, address, size, write).note)
        if write and not piece.writable:
            raise ValueError(f"{piece} is read-only")
        return piece.data[address - piece.base :][:size]


def _base(piece: OwnedPiece) -> int:
    return piece.base


def violation(
    pieces: Iterable[OwnedPiece], freed: Iterable[OwnedPiece], address: int, size: int, write: bool
) -> Violation:
    """What an access to no piece, or to one that forbids it, has broken."""
    near, nearest = None, contracts.memory_rules.BUFFER_ALIGNMENT
    for piece in pieces:
        end = piece.base + piece.size
        if piece.base <= address and address + size <= end:
            assert write and not piece.writable
            return Violation("read only", f"a store to {piece}, which is read-only")
        before, behind = piece.base - address, address - end
        if max(before, behind) < nearest:
            nearest = max(before, behind)
            near = f"{in_bytes(size)} {beside(before, behind)} of {piece}"
    for old in freed:
        if old.base <= address < old.base + max(old.size, 1):
            return Violation("use after end", f"{old} was freed")
    return Violation("out of bounds", near or f"{in_bytes(size)} where nothing is")


def _blocks(piece: OwnedPiece) -> int:
    """How many blocks a piece has bytes of."""
    return (piece.base + max(piece.size, 1) - 1 >> BLOCK) - (piece.base >> BLOCK) + 1


def _address_of(data: np.ndarray) -> int:
    return int(data.__array_interface__["data"][0])


class Owned:
    """The pieces of all memories of one launch, in the order of their addresses; and what they held where the launch has stored
    something."""

    def __init__(self, memories: Sequence[Memory]):
        self.memories = memories
        self.pieces = sorted((p for memory in memories for p in memory._pieces), key=_base)
        for piece, following in zip(self.pieces, self.pieces[1:], strict=False):
            if piece.base + max(piece.size, 1) > following.base:
                raise ValueError(
                    f"two memories of one launch have the same addresses: {piece}, {following}; give one of them another base"
                )
        self._bases = [p.base for p in self.pieces]
        #: what machine code looks at: see COLUMNS. The first row is for what lies before all pieces
        self.rows = np.zeros((len(self.pieces) + 1, COLUMNS), np.uint64)
        marks, sizes = [_blocks(p) for p in self.pieces], [p.size * p.writable for p in self.pieces]
        self._marks, self._saved = untouched(sum(marks)), np.empty(sum(sizes), np.uint8)
        #: for each piece, where its marks and its saved bytes begin
        self._first_marks, self._first_saved = ([0, *accumulate(counts)][:-1] for counts in (marks, sizes))
        if self.pieces:
            at_marks, at_saved = _address_of(self._marks), _address_of(self._saved)
            self.rows[1:] = [
                (p.base, p.size, size, _address_of(p.data), at_marks + mark, at_saved + saved)
                for p, size, mark, saved in zip(self.pieces, sizes, self._first_marks, self._first_saved, strict=True)
            ]

    def in_block(self, address: int, write: bool) -> tuple[int, int]:
        """How far an address is behind the beginning of the last piece that does not begin behind it, and how many bytes of that
        may be read, or written."""
        at = bisect_right(self._bases, address)
        if not at:
            return address, 0
        piece = self.pieces[at - 1]
        return address - piece.base, piece.size if piece.writable or not write else 0

    def at_block(self, address: int, size: int, write: bool) -> tuple[np.ndarray, int]:
        """The array and index of bytes of that piece, which are saved if they are to be written."""
        at = bisect_right(self._bases, address)
        if write:
            for block in range(address >> BLOCK, (address + size - 1 >> BLOCK) + 1):
                self._keep(at - 1, block)
        piece = self.pieces[at - 1]
        return piece.data, address - piece.base

    def _keep(self, number: int, block: int) -> None:
        """Save what a block has of a piece, unless that was done before."""
        mark = self._first_marks[number] + block - (self.pieces[number].base >> BLOCK)
        if self._marks[mark] != KEPT:
            data, saved = self._block(number, block)
            saved[:] = data
            self._marks[mark] = KEPT

    def _block(self, number: int, block: int) -> tuple[np.ndarray, np.ndarray]:
        """The bytes that a block has of a piece, and those in which they are saved."""
        piece, saved = self.pieces[number], self._first_saved[number]
        begin, end = max(0, (block << BLOCK) - piece.base), min(piece.size, (block + 1 << BLOCK) - piece.base)
        return piece.data[begin:end], self._saved[saved + begin : saved + end]

    def violation(self, address: int, size: int, write: bool) -> Violation:
        """What such an access has broken."""
        freed = (piece for memory in self.memories for piece in memory._freed)
        return violation(self.pieces, freed, address, size, write)

    def check_apart(self, begin: int, end: int, what: str) -> None:
        """Raise ValueError if a piece lies where something else of the launch does."""
        at = bisect_right(self._bases, begin)
        for piece in self.pieces[max(0, at - 1) : at + 1]:
            if piece.base < end and begin < piece.base + max(piece.size, 1):
                raise ValueError(f"{piece} lies where {what} are; give its memory another base")

    def check_array(self, what: str, first: int, end: int) -> None:
        """Raise ValueError if an array that is passed, at these addresses of the host's memory, has bytes of a piece."""
        places, sizes = self.rows[1:, 3], self.rows[1:, 1]
        overlapping = np.flatnonzero((places < np.uint64(end)) & (places + sizes > np.uint64(first)))
        if len(overlapping):
            raise ValueError(f"{what} shares memory with {self.pieces[overlapping[0]]}: pass a pointer to that")

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Put all bytes back that threads have stored to, if what is done meanwhile fails."""
        try:
            yield
        except BaseException:
            for mark in np.flatnonzero(self._marks).tolist():
                number = bisect_right(self._first_marks, mark) - 1
                block = mark - self._first_marks[number] + (self.pieces[number].base >> BLOCK)
                data, saved = self._block(number, block)
                data[:] = saved
            raise


@contextmanager
def held(memories: Iterable[Memory], args: Iterable[Any]) -> Iterator[Owned | None]:
    """The pieces that a launch may reach: of these memories, and of those that arguments point into. None if there is no
    memory. Nobody else uses the memories meanwhile. Raises ValueError if two have the same addresses."""
    every = {id(m): m for m in (*memories, *(a.memory for a in args if isinstance(a, Pointer)))}
    if not every:
        yield None
        return
    with ExitStack() as locks:
        for _, memory in sorted(every.items()):
            locks.enter_context(memory.lock)
        yield Owned(list(every.values()))
