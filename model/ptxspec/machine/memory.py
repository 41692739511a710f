"""The memory of a launch: what each state space holds, and what the step of an access (spec/machine/access.md) asks of it.

Buffers are NumPy byte arrays that both engines work on.
"""

from __future__ import annotations

import contextlib
import mmap
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np

from ptxspec import contracts
from ptxspec.machine.errors import Violation, beside, in_bytes
from ptxspec.machine.fresh import LOCAL, Fresh
from ptxspec.machine.heap import Heap
from ptxspec.terms.storage import Broke, Broken, Way

if TYPE_CHECKING:
    from ptxspec.machine.in_flight import InFlight

#: buffers of earlier launches that are known by name
REMEMBERED = 10_000
#: bytes after every array, so that a check may look at all bytes of an access that begins at its end: discard has 128
PADDING = 128
_ROOM_BEHIND = np.zeros(PADDING, np.uint8)
_ROOM_BEHIND.flags.writeable = False

#: an array, and the index of a byte in it
Place: TypeAlias = tuple[np.ndarray, int]
#: where no bytes are
_NOTHING: Place = (np.zeros(0, np.uint8), 0)


def _states(bytes_of: np.ndarray, index: int, size: int) -> int:
    """The states of so many bytes, as the number that they make."""
    return int.from_bytes(bytes_of[index : index + size].tobytes(), "little")


class Allocation(NamedTuple):
    """A piece of global memory: what it is called in messages, its first address, its size, and whether it may be written."""

    name: str
    base: int
    size: int
    writable: bool


class OwnedStorage(Protocol):
    """Pieces of global memory that the caller owns."""

    rows: np.ndarray

    def in_block(self, address: int, write: bool) -> tuple[int, int]:
        """How far an address is behind the beginning of the last piece that does not begin behind it, and how many bytes of that
        may be read, or written."""

    def at_block(self, address: int, size: int, write: bool) -> Place:
        """The array and index of bytes of that piece, which are saved if they are to be written."""

    def violation(self, address: int, size: int, write: bool) -> Violation:
        """What such an access has broken."""


class AddressSpace:
    """Global addresses of one module: what lived where, and what still lives. Those of 64 bits are handed out once."""

    def __init__(self, module_size: int, bits: int = 64):
        """`bits` is how many an address has."""
        self.bits = bits
        layout = contracts.generic_addressing
        self.alignment = contracts.memory_rules.BUFFER_ALIGNMENT
        self.module_base = layout.GLOBAL_BASE
        self._next = self._after(self.module_base + module_size)
        self._first = self._next
        self._past: deque[Allocation] = deque(maxlen=REMEMBERED)

    def _after(self, address: int) -> int:
        return contracts.memory_rules.next_buffer(address)

    def begin(self) -> None:
        """Begin a launch: where addresses are few, those of earlier launches are handed out again."""
        if self.bits < 64:
            self._next = self._first
            self._past.clear()

    def allocate(self, name: str, size: int, writable: bool) -> Allocation:
        """A buffer. Raises ValueError if there are no addresses left."""
        end = min(1 << self.bits, contracts.opaque_types.MODULE_HANDLES)
        if not contracts.memory_rules.has_addresses(self._next, size, end):
            raise ValueError(f"{name}: addresses of {self.bits} bits end before its {size:,} bytes do")
        allocation = Allocation(name, self._next, size, writable)
        self._next = self._after(self._next + size)
        return allocation

    def forget(self, ended: Iterable[Allocation]) -> None:
        """Note buffers whose launch has ended."""
        self._past.extend(ended)

    def was(self, address: int) -> str | None:
        """What lived at an address before the buffers of this launch, as far as that is known."""
        for old in self._past:
            if old.base <= address < old.base + max(old.size, 1):
                return f"{old.name} of an earlier launch lived there"
        if self._past and self._first <= address < self._past[0].base and len(self._past) == REMEMBERED:
            return "buffers of launches long ago lived there"
        return None


class LaunchMemory:
    """Every state space of one launch. `slots` CTAs and `threads` are resident at once, and each `cluster` CTAs in succession
    are a cluster."""

    def __init__(
        self,
        space: AddressSpace,
        module: dict[str, np.ndarray],
        buffers: list[tuple[Allocation, np.ndarray]],
        parameters: bytes,
        sizes: Mapping[str, int],
        slots: int,
        threads: int,
        alive: int | None = None,
        cluster: int = 1,
        owned: OwnedStorage | None = None,
        fresh: Fresh | None = None,
        ignores_upper_halves: bool = False,
    ):
        """`sizes` has the bytes of each thread's or CTA's part of the state spaces in parts. `alive` is how many bytes of a stack
        are there from the beginning, if pieces of it come and go; else all are. `owned` is what the caller owns of global memory,
        if the launch may reach any. `fresh` decides what registers and the memory of threads and CTAs begin with; without it they
        begin with zeros. `ignores_upper_halves` says whether the upper half of a register does not count that holds an address of
        32 bits."""
        self.ignores_upper_halves = ignores_upper_halves
        self.space, self.buffers, self.owned, self.fresh = space, buffers, owned, fresh
        module_global = module[contracts.state_spaces.OF_BUFFERS]
        self.module_size = len(module_global)
        self.buffer_base = buffers[0][0].base if buffers else space._next
        last = buffers[-1][0] if buffers else None
        self.buffer_size = last.base + last.size - self.buffer_base if last else 0
        # a gap that nothing holds parts the module's variables from the buffers, here as among the addresses
        self.buffer_start = self.module_size + PADDING
        self.total = self.buffer_start + self.buffer_size
        self.arena = np.zeros(self.total + PADDING, np.uint8)
        self.shadow = np.zeros(self.total + PADDING, np.uint8)
        self.arena[: self.module_size] = module_global
        self.shadow[: self.module_size] = contracts.access.READABLE | contracts.access.WRITABLE
        for allocation, data in buffers:
            at = self.place(allocation)
            self.arena[at : at + allocation.size] = data
            self.shadow[at : at + allocation.size] = contracts.access.READABLE | (
                contracts.access.WRITABLE if allocation.writable else 0
            )
        constants = {name: data for name, data in module.items() if name != contracts.state_spaces.OF_BUFFERS}
        self.sizes = {name: len(data) for name, data in constants.items()}
        self.parts = {name: threads if is_of_threads(name) else slots for name in contracts.state_spaces.in_parts()}
        self.sizes |= {contracts.state_spaces.OF_PARAMETERS: len(parameters)} | {
            name: sizes[name] for name in self.parts
        }
        self.strides = {name: -(-sizes[name] // 16) * 16 for name in self.parts}
        #: what each space but global memory holds; of a space in parts, one after the other
        self.buffers_of = {name: _padded(data) for name, data in constants.items()}
        self.buffers_of[contracts.state_spaces.OF_PARAMETERS] = _padded(np.frombuffer(parameters, np.uint8))
        self.cluster, self.threads = cluster, threads // slots
        #: of the CTA in each slot, how many threads have ended; counted where there are clusters
        self.gone = np.zeros(slots, np.int64)
        self.heap: Heap | None = None
        #: the asynchronous operations in flight, where a kernel initiates such
        self.in_flight: InFlight | None = None
        self.first = alive
        self._take_parts()
        self.alive = untouched(0 if alive is None else len(self.frames))
        self.begin()

    def beside(self) -> LaunchMemory:
        """The same memory for other CTAs: what is global or constant is shared, the rest is their own."""
        other = copy(self)
        other.buffers_of = dict(self.buffers_of)
        other._take_parts()
        other.gone, other.alive = np.zeros_like(self.gone), untouched(len(self.alive))
        other.begin()
        return other

    def _take_parts(self) -> None:
        """Memory of zeros for each part that there may be."""
        for name, count in self.parts.items():
            self.buffers_of[name] = untouched(self.strides[name] * count + PADDING)

    @property
    def frames(self) -> np.ndarray:
        """The local memory of all resident threads."""
        return self.buffers_of[contracts.state_spaces.OF_FRAMES]

    def hold(self, heap: Heap) -> None:
        """Let the part of the module's memory from the heap's beginning on hold the pieces of the heap alone."""
        self.heap = heap
        start = heap.base - self.space.module_base
        self.shadow[start : start + heap.size] = contracts.access.NOTHING
        for address, size in heap.live.items():
            at = address - self.space.module_base
            self.shadow[at : at + size] = contracts.access.READABLE | contracts.access.WRITABLE

    def offset(self, address: int) -> int | None:
        """Where a global address lies in the arena; None if it lies in neither part of it."""
        if 0 <= address - self.buffer_base < self.buffer_size:
            return address - self.buffer_base + self.buffer_start
        if 0 <= address - self.space.module_base < self.module_size:
            return address - self.space.module_base
        return None

    def place(self, allocation: Allocation) -> int:
        """Where a buffer of this launch begins in the arena."""
        return allocation.base - self.buffer_base + self.buffer_start

    # an address or a count is Any here: the page of accesses takes terms, or all numbers as this storage has them

    def access(
        self, space: str, address: Any, size: int, write: bool, slot: int, thread: int, into: Collection[str] = ()
    ) -> Place:
        """The array and index at which `size` bytes are to be read or written. Raises Violation if a rule is broken.
        `slot` is that of the thread's CTA, `thread` its own number among the resident threads. A generic address must lie in one
        of the state spaces `into`, if there are any."""
        return contracts.access.access(space, address, size, write, into, ThreadStorage(self, slot, thread))

    def space_of(self, array: np.ndarray) -> str:
        """The state space of the bytes of an array that an access gave."""
        return next(
            (name for name, held in self.buffers_of.items() if held is array), contracts.state_spaces.OF_BUFFERS
        )

    def ranged(self, space: str, address: Any, align: int, count: Any, write: bool, slot: int, thread: int) -> Place:
        """The array and index of so many bytes at a multiple of `align`, which an asynchronous operation accesses. Raises
        Violation if a rule is broken. The others are as for an access."""
        return contracts.access.ranged(space, address, align, count, write, ThreadStorage(self, slot, thread))

    def global_violation(self, address: int, size: int, write: bool) -> Violation:
        """What an access broke that global memory does not permit."""
        handles = contracts.opaque_types
        if handles.MODULE_HANDLES <= address < handles.END_OF_HANDLES:
            return Violation("opaque", "an access at a handle")
        for allocation, _ in self.buffers:
            if allocation.base <= address and address + size <= allocation.base + allocation.size:
                if write and not allocation.writable:
                    return Violation("read only", f"a store to {allocation.name}, which is read-only")
        gone = self.heap.was(address) if self.heap is not None else None
        if gone is not None:
            return Violation("use after end", f"the piece at {gone:#x} of the heap was given back")
        earlier = self.space.was(address)
        if earlier is not None:
            return Violation("use after end", earlier)
        near = None
        for allocation, _ in self.buffers:
            distance = address - (allocation.base + allocation.size)
            if address + size > allocation.base - self.space.alignment and distance < self.space.alignment:
                place = beside(allocation.base - address, distance)
                near = f"{in_bytes(size)} {place} of {allocation.name} ({allocation.size} bytes)"
        if near is None and self.owned is not None:
            return self.owned.violation(address, size, write)
        return Violation("out of bounds", near or f"{in_bytes(size)} where nothing is")

    @property
    def is_large(self) -> bool:
        """Whether emptying it is best done by taking other arrays, or more than zeroes is to be written."""
        return max(len(self.buffers_of[name]) for name in self.parts) > LARGE or self.first is not None

    def clear(self, first: int) -> None:
        """The memory of threads and CTAs as it is when CTAs begin, from this one on. The arrays may be others then."""
        for name in self.parts:
            self.buffers_of[name] = _emptied(self.buffers_of[name])
        self.alive = _emptied(self.alive)
        self.gone[:] = 0
        if self.fresh is not None:
            for space, count in self.parts.items():
                array, apart = self.buffers_of[space], self.strides[space]
                each = min(apart, LOCAL) if is_of_threads(space) else apart
                array[: count * apart].reshape(count, apart)[:, :each] = self.fresh.bytes_of(
                    f".{space}", first * (count // len(self.gone)), count, each
                )
        self.begin()

    def begin(self) -> None:
        """Let each thread's stack, where nothing was yet, hold what it begins with."""
        if self.first is not None:
            rows = self.alive[: len(self.alive) - PADDING].reshape(
                -1, max(1, self.strides[contracts.state_spaces.OF_FRAMES])
            )
            rows[:, : self.first] = contracts.functions.ALIVE

    def extend(self, thread: int, end: int, begin: int, size: int) -> None:
        """Let a thread's stack, which ended at `end`, hold so many bytes from `begin` on; nothing is in between."""
        self._mark(thread, contracts.functions.extended(end, begin, size))

    def cut(self, thread: int, to: int, end: int) -> None:
        """Let a thread's stack, which ended at `end`, end earlier."""
        self._mark(thread, contracts.functions.released(to, end))

    def _mark(self, thread: int, spans: Iterable[contracts.functions.Span[int]]) -> None:
        start = thread * self.strides[contracts.state_spaces.OF_FRAMES]
        for span in spans:
            self.alive[start + span.begin : start + span.end] = span.state


def is_of_threads(space: str) -> bool:
    """Whether each thread has a part of a state space, not each CTA."""
    return contracts.state_spaces.SPACES[space].shared_by == contracts.state_spaces.THREAD


def check_alignment(address: Any, size: int) -> None:
    """Raise Violation if an access of so many bytes is not aligned."""
    if not contracts.access.aligned(address, size):
        raise Violation(*contracts.access.not_aligned(size))


class ThreadStorage:
    """The memory of a launch as one thread accesses it: what the step of an access asks, in integers."""

    def __init__(self, memory: LaunchMemory, slot: int, thread: int):
        """`slot` is that of the thread's CTA, `thread` its own number among the resident threads."""
        self.memory, self.slot, self.thread = memory, slot, thread
        self.ignores_upper_halves = memory.ignores_upper_halves
        self.clustered, self.owned = memory.cluster > 1, memory.owned is not None
        self.rank: Any = slot % memory.cluster
        self.members: Any = memory.cluster
        self.threads: Any = memory.threads

    def nowhere(self) -> Place:
        return _NOTHING

    def require(self, holds: Any, broken: Broke) -> None:
        if not holds:
            self.refuse(broken)

    def refuse(self, broken: Broke) -> NoReturn:
        raise Violation(*broken())

    def first(self, ways: Sequence[Way[Place]], otherwise: Callable[[], Place]) -> Place:
        return next((way for holds, way in ways if holds), otherwise)()

    def own(self, shared_by: str, address: Any) -> tuple[Any, Any]:
        return self.thread if shared_by == contracts.state_spaces.THREAD else self.slot, address

    def held(self, space: str) -> Any:
        return self.memory.sizes[space]

    def apart(self, space: str) -> Any:
        return self.memory.strides[space]

    def ended(self, cta: Any) -> Any:
        return int(self.memory.gone[cta])

    def stack_states(self, space: str, start: Any, size: int) -> Any:
        if space != contracts.state_spaces.OF_FRAMES or self.memory.first is None:
            return None
        return _states(self.memory.alive, start, size)

    def among_arrays(self, address: Any) -> tuple[Any, Any]:
        index = self.memory.offset(address)
        return index is not None, index

    def states(self, start: Any, size: int) -> Any:
        return _states(self.memory.shadow, start, size)

    def each_state(self, space: str, start: Any, count: Any, holds: Callable[[Any], Any]) -> Any:
        states = self.memory.alive if space == contracts.state_spaces.OF_FRAMES else self.memory.shadow
        selected = states[start : start + count]
        return len(selected) == count and all(holds(int(state)) for state in np.unique(selected))

    def in_block(self, address: Any, write: bool) -> tuple[Any, Any]:
        assert self.memory.owned is not None
        return self.memory.owned.in_block(address, write)

    def broken_in_global(self, address: Any, size: Any, write: bool) -> Broken:
        violation = self.memory.global_violation(address, size, write)
        return Broken(violation.rule, violation.note)

    def at(self, space: str, start: Any, size: Any, write: bool) -> Place:
        memory = self.memory
        return self._spared(
            memory.arena if space == contracts.state_spaces.OF_BUFFERS else memory.buffers_of[space], start, size, write
        )

    def at_block(self, address: Any, offset: Any, size: Any, write: bool) -> Place:
        assert self.memory.owned is not None
        return self._spared(*self.memory.owned.at_block(address, size, write), size, write)

    def _spared(self, array: np.ndarray, index: Any, size: Any, write: bool) -> Place:
        """Where bytes are that no asynchronous operation in flight may be disturbed at."""
        if self.memory.in_flight is not None:
            self.memory.in_flight.check(array, index, size, write)
        return array, index


#: an array of more bytes is replaced instead of cleared: memory that nobody touches costs nothing
LARGE = 1 << 20


def _emptied(array: np.ndarray) -> np.ndarray:
    """An array of zeros, as long as the one given; it may be that one."""
    if len(array) > LARGE:
        return untouched(len(array))
    array[:] = 0
    return array


def untouched(size: int) -> np.ndarray:
    """So many bytes that are zero, and take no memory of the machine before they are touched. NumPy's own zeros may take two
    megabytes at the first touch (huge pages), which is much where each thread touches a little."""
    if size <= LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(size, np.uint8)
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(AttributeError, OSError):
        area.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(area, np.uint8)


def _padded(data: np.ndarray) -> np.ndarray:
    """The bytes, with room behind them for a check that looks at all of an access."""
    return np.concatenate([data, _ROOM_BEHIND]) if len(data) else _ROOM_BEHIND
