"""Memory that the caller owns: pieces that are there from launch to launch, and pointers into them.

`spec/machine/memory.md` says where pieces lie and how long they live. A piece is a block of each launch that may reach it.
"""

from __future__ import annotations

import operator
import sys
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.base.escaping import printable
from ptxspec.machine.arrays import address_of, untouched
from ptxspec.machine.blocks import BlockTable, GlobalBlock, base_of, violation
from ptxspec.machine.errors import in_bytes
from ptxspec.machine.host_arrays import check_elements, host_array, host_bytes
from ptxspec.machine.locking import NonReentrantLock, locked
from ptxspec.machine.marshalling import bytes_of
from ptxspec.machine.memory import REMEMBERED
from ptxspec.machine.pointers import Pointer
from ptxspec.machine.tensor_maps import TensorMap

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: bytes that the first byte of a piece is aligned to in the host's memory
_LINE = 64


class Multicast(NamedTuple):
    """Memory of several devices: the multimem address that stands for all `copies`, and the address of each of these.

    >>> shared = ptxspec.Memory().multicast(64, devices=4)
    >>> len(shared.copies), hex(shared.copies[1] - shared.copies[0])
    (4, '0x1000000000000')
    """

    address: Pointer
    copies: tuple[Pointer, ...]


class MemoryLeak(NamedTuple):
    """A piece of a `Memory` that nobody has freed: what it is called, `size` bytes at `address`, and the file and the line of the
    program that allocated it. `kind` is "leak", as of a finding of a launch.

    >>> print(ptxspec.MemoryLeak("buffer", 0x100000000000, 64, "train.py", 12))
    leak: buffer is not freed
      at train.py:12
      address 0x100000000000 of .global, 64 bytes
    """

    name: str
    address: int
    size: int
    path: str
    line: int
    kind: str = "leak"
    space: str = contracts.state_spaces.OF_BUFFERS

    def __str__(self) -> str:
        lines = f"{self.kind}: {printable(self.name)} is not freed", f"  at {printable(self.path)}:{self.line}"
        return "\n".join([*lines, f"  address {self.address:#x} of .{self.space}, {in_bytes(self.size)}"])


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
        least, most = contracts.generic_addressing.GLOBAL_BASE, contracts.multicast.COPIES
        if not least <= self._base < most or self._base % page.BUFFER_ALIGNMENT:
            raise ValueError(
                f"a base is a multiple of {page.BUFFER_ALIGNMENT} from {least:#x} to {most - 1:#x}, not {self._base:#x}"
            )
        #: where the last piece ended: the first lies at the base
        self._end = self._base - page.BUFFER_ALIGNMENT
        #: where the last copies of devices ended: two memories whose addresses are far apart have other places for them, too
        self._multicast_end = self._base % (1 << contracts.multicast.PLACE_BITS)
        self._pieces: list[GlobalBlock] = []
        self._freed: deque[GlobalBlock] = deque(maxlen=REMEMBERED)
        self._count = 0
        #: by the address of a piece, the file and the line of the program that allocated it
        self._allocated_at: dict[int, tuple[str, int]] = {}
        #: by the address of a piece that was allocated and not yet initialized as a whole: a 1 for each bit that is initialized;
        #: None while no bit is
        self._unwritten: dict[int, np.ndarray | None] = {}
        #: the pieces as launches need them, until there are others
        self._known: BlockTable | None = None
        self._alone: tuple[list[BlockTable], list[deque[GlobalBlock]]] = [], []

    @locked
    def allocate(self, size: int, align: int | None = None, name: str = "") -> Pointer:
        """Allocate `size` bytes of zeros at an address that is a multiple of `align`, a power of two (default: 256). Launches
        with `check="uninitialized"` do not count on the zeros. Error messages call the piece `name`. Raises ValueError for a
        negative size, for an alignment that is no power of two, and if the piece would not end before the addresses of copies
        of devices; MemoryError if the host has too little memory.

        >>> int(ptxspec.Memory().allocate(100, align=4096)) % 4096
        0
        """
        pointer = self._allocate(size, align, name)
        self._unwritten[pointer.address] = None
        return pointer

    @locked
    def multicast(self, size: int, devices: int, align: int | None = None, name: str = "") -> Multicast:
        """Allocate `size` bytes of zeros for each of so many devices, and one multimem address that stands for all of these
        copies. `align` and `name` are as for `allocate`, and errors are the same; ValueError too for less than one device, or
        more than 64.

        >>> memory = ptxspec.Memory()
        >>> sums = memory.multicast(16, devices=2)
        >>> for copy, number in zip(sums.copies, (10, 32)):
        ...     memory.view(copy, np.uint32)[0] = number
        >>> module = ptxspec.load('''.version 8.1 .target sm_90 .address_size 64
        ... .visible .entry add(.param .u64 at) { .reg .b64 a; .reg .b32 n;
        ...     ld.param.u64 a, [at]; multimem.ld_reduce.add.u32 n, [a]; multimem.st.u32 [a+4], n; ret; }''')
        >>> outcome = module.launch("add", args=[sums.address])
        >>> [memory.view(copy, np.uint32)[1] for copy in sums.copies]
        [np.uint32(42), np.uint32(42)]
        """
        size, devices, page = operator.index(size), operator.index(devices), contracts.multicast
        if not 1 <= devices <= page.MOST_DEVICES:
            raise ValueError(f"memory is one of 1 to {page.MOST_DEVICES} devices, not {devices}")
        start, rooms = self._room(self._multicast_end, size, align, name, devices, 1 << page.PLACE_BITS)
        self._multicast_end = start + size
        copies = tuple(
            self._insert(page.copy_address(start, k), room, True, f"{name or 'a copy'} of device {k}")
            for k, room in enumerate(rooms)
        )
        self._unwritten.update((copy.address, None) for copy in copies)
        return Multicast(Pointer(self, page.multimem_address(start, devices)), copies)

    def _allocate(self, size: int, align: int | None, name: str) -> Pointer:
        start, (room,) = self._room(self._end, size, align, name, 1, contracts.multicast.COPIES)
        pointer = self._insert(start, room, True, name)
        self._end = start + operator.index(size)
        return pointer

    def _room(
        self, after: int, size: int, align: int | None, name: str, count: int, end: int
    ) -> tuple[int, list[np.ndarray]]:
        """Where so many bytes begin behind what ends there, if that is before an `end`, and room for them `count` times."""
        size, page = operator.index(size), contracts.memory_rules
        align = page.BUFFER_ALIGNMENT if align is None else operator.index(align)
        if size < 0:
            raise ValueError(f"a piece has no bytes or some, not {size}")
        if align < 1 or align & (align - 1):
            raise ValueError(f"an alignment is a power of two, not {align}")
        start = page.next_piece(after, align)
        if not page.has_addresses(start, size, end):
            raise ValueError(
                f"{size:,} bytes at a multiple of {align:,} would lie at {start:#x}: memory ends before {end:#x}"
            )
        try:
            rooms = [untouched(size + _LINE) for _ in range(count)]
        except (OSError, ValueError, OverflowError) as why:  # of mmap and of NumPy
            raise MemoryError(f"the host has no {size:,} bytes for {name or 'a piece'}: {why}") from None
        return start, [room[-address_of(room) % _LINE :][:size] for room in rooms]

    def _insert(self, base: int, data: np.ndarray, writable: bool, name: str) -> Pointer:
        """Have a piece there. Raises ValueError where it comes too close to another."""
        piece = GlobalBlock(base, name or f"piece {self._count}", data, writable)
        at = bisect_right(self._pieces, base, key=base_of)
        for other in self._pieces[max(0, at - 1) : at + 1]:
            if base < other.end and other.base < piece.end:
                raise ValueError(f"{piece} would lie in {other}")
        insort(self._pieces, piece, key=base_of)
        self._known, self._allocated_at[base] = None, _caller()
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
        return self._insert(address_of(data), data, bool(host.flags.writeable), name)

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
        del self._pieces[bisect_right(self._pieces, address, key=base_of) - 1]
        self._known = None
        self._unwritten.pop(address, None)
        del self._allocated_at[address]
        self._freed.append(piece._replace(data=np.broadcast_to(np.uint8(0), piece.size)))

    @locked
    def leaks(self) -> tuple[MemoryLeak, ...]:
        """The pieces that nobody has freed so far, in the order of their addresses, each with the line of the program that
        allocated it. Where all should be freed at the end of a program, these are leaked.

        >>> memory = ptxspec.Memory()
        >>> first, second = memory.allocate(16), memory.allocate(64, name="second")
        >>> memory.free(first)
        >>> [(leak.name, leak.size) for leak in memory.leaks()]
        [('second', 64)]
        """
        return tuple(MemoryLeak(p.name, p.base, p.size, *self._allocated_at[p.base]) for p in self._pieces)

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
        self._initialize(self._address(pointer), len(data))

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
        They count as initialized, as if all of them were written.
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
        array = self._within(pointer, count * type.itemsize).view(type).reshape(extents)
        self._initialize(self._address(pointer), count * type.itemsize)
        return array

    def _initialize(self, address: int, size: int) -> None:
        """Note that so many bytes from an address on are initialized."""
        piece = self._reached(address)
        if piece is None or piece.base not in self._unwritten:
            return
        if size == piece.size:
            del self._unwritten[piece.base]
        else:
            self._shadow(piece)[address - piece.base :][:size] = 0xFF

    def _shadow(self, piece: GlobalBlock) -> np.ndarray:
        """Which bits of a piece are initialized."""
        shadow = self._unwritten[piece.base]
        if shadow is None:
            shadow = self._unwritten[piece.base] = untouched(piece.size)
        return shadow

    def _address(self, pointer: Pointer | int) -> int:
        if isinstance(pointer, Pointer) and pointer.memory is not self:
            raise ValueError(f"{pointer} points into another memory")
        return operator.index(pointer)

    def _table(self) -> BlockTable:
        if self._known is None:
            self._known = BlockTable(self._pieces)
            self._alone = [self._known], [self._freed]
        return self._known

    def _reachable(self) -> tuple[list[BlockTable], list[deque[GlobalBlock]]]:
        """The blocks, and those that were freed, as a launch needs them that reaches no other memory."""
        self._table()
        return self._alone

    def _reached(self, address: int) -> GlobalBlock | None:
        """The piece that an address lies in, or right behind."""
        at = bisect_right(self._pieces, address, key=base_of)
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


def _caller() -> tuple[str, int]:
    """The file and the line of the program that has called the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("ptxspec."):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class ReachedMemory(NamedTuple):
    """What a launch may reach of memory that the caller owns: blocks, and blocks that were freed, by memory."""

    tables: Sequence[BlockTable]
    freed: Sequence[Iterable[GlobalBlock]]
    memories: Sequence[Memory] = ()

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> ReachedMemory:
        """What there is of these memories, whose locks the caller has."""
        if len(memories) == 1:
            return cls(*memories[0]._reachable(), memories)
        return cls([memory._table() for memory in memories], [memory._freed for memory in memories], memories)

    @property
    def unwritten(self) -> bool:
        """Whether there is memory that may not be initialized."""
        return any(memory._unwritten for memory in self.memories)

    def shadows(self) -> Iterator[tuple[GlobalBlock, np.ndarray]]:
        """The blocks that may not be initialized, and which of their bits are."""
        for memory in self.memories:
            for piece in memory._pieces:
                if piece.base in memory._unwritten:
                    yield piece, memory._shadow(piece)

    def written(self) -> None:
        """Any of it may be written from now on, and nobody looks."""
        for memory in self.memories:
            memory._unwritten.clear()


NO_MEMORY = ReachedMemory((), ())


def is_unchanged(memory: Memory, table: BlockTable | None) -> bool:
    """Whether the pieces of a memory, whose lock the caller has, are still those of a table, which may be gone. If so, any of it
    may be written from now on, and nobody looks."""
    if table is None or memory._known is not table:
        return False
    if memory._unwritten:
        memory._unwritten.clear()
    return True


def memories_of(memory: Memory | Sequence[Memory]) -> Sequence[Memory]:
    """The memories that a caller names."""
    return memory if isinstance(memory, (list, tuple)) else (memory,)


def reached_by(memories: Iterable[Memory], args: Iterable[Any]) -> list[Memory]:
    """The memories that a launch may reach: these, and those that arguments point into."""
    every = {id(memory): memory for memory in memories}
    for argument in args:
        pointer = argument.tensor if isinstance(argument, TensorMap) else argument
        if isinstance(pointer, Pointer):
            every[id(pointer.memory)] = pointer.memory
    return [every[key] for key in sorted(every)] if len(every) > 1 else [*every.values()]


@contextmanager
def locks_of(memories: Sequence[Memory]) -> Iterator[None]:
    """Nobody else uses these memories meanwhile."""
    with ExitStack() as locks:
        for memory in memories:
            locks.enter_context(memory.lock)
        yield
