"""The memory of a launch: what each state space holds, and what the step of an access (spec/machine/access.md) asks of it.

Buffers are NumPy byte arrays that both engines work on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from ptxspec import contracts
from ptxspec.machine.arrays import LARGE, emptied, untouched
from ptxspec.machine.blocks import SHADOW, Blocks, UndoLog
from ptxspec.machine.errors import Violation
from ptxspec.machine.fresh import LOCAL, Fresh
from ptxspec.machine.heap import Heap
from ptxspec.terms.effects import Life
from ptxspec.terms.storage import Broke, Broken, Way

if TYPE_CHECKING:
    from ptxspec.machine.in_flight import InFlight

#: buffers of earlier launches that are known by name
REMEMBERED = 10_000
#: bytes after every array, so that a check may look at all bytes of an access that begins at its end: discard has 128
PADDING = 128

#: an array, and the index of a byte in it
Place: TypeAlias = tuple[np.ndarray, int]
_NO_BLOCKS = Blocks((), (), UndoLog())
#: where no bytes are
_NOTHING: Place = (np.zeros(0, np.uint8), 0)
#: what lies behind a page of constants: all of their bits are initialized
_EVERYTHING: Place = (np.frombuffer(b"\xff" * PADDING, np.uint8), 0)


def shadow_of_parameters(size: Any) -> Any:
    """Where the shadow of so many bytes of parameters lies behind these."""
    return (size + 15) & -16


def _states(bytes_of: np.ndarray, index: int, size: int) -> int:
    """The states of so many bytes, as the number that they make."""
    return int.from_bytes(bytes_of[index : index + size].tobytes(), "little")


class AddressSpace:
    """Global addresses of one module: what lived where, and what still lives. Those of 64 bits are handed out once."""

    def __init__(self, module_size: int, bits: int = 64):
        """`bits` is how many an address has."""
        self.bits = bits
        layout = contracts.generic_addressing
        self.module_base = layout.GLOBAL_BASE
        self._next = self._after(self.module_base + module_size)
        self._first = self._next
        #: (first address, the one behind the last, what it was)
        self._past: deque[tuple[int, int, str]] = deque(maxlen=REMEMBERED)

    def _after(self, address: int) -> int:
        return contracts.memory_rules.next_buffer(address)

    def begin(self) -> None:
        """Begin a launch: where addresses are few, those of earlier launches are handed out again."""
        if self.bits < 64:
            self._next = self._first
            self._past.clear()

    def place(self, name: str, size: int) -> int:
        """The address of an array of so many bytes. Raises ValueError if there are no addresses left."""
        base, end = self._next, min(1 << self.bits, contracts.opaque_types.MODULE_HANDLES)
        if not contracts.memory_rules.has_addresses(base, size, end):
            raise ValueError(f"{name}: addresses of {self.bits} bits end before its {size:,} bytes do")
        self._next = self._after(base + size)
        return base

    def forget(self, ended: Iterable[tuple[int, int, str]]) -> None:
        """Note arrays whose launch has ended: of each the first address, the one behind the last, and what it is called."""
        self._past.extend(ended)

    def was(self, address: int) -> str | None:
        """What lived at an address before the buffers of this launch, as far as that is known."""
        for begin, end, name in self._past:
            if begin <= address < end:
                return f"{name} of an earlier launch lived there"
        if self._past and self._first <= address < self._past[0][0] and len(self._past) == REMEMBERED:
            return "buffers of launches long ago lived there"
        return None


class LaunchMemory:
    """Every state space of one launch. `slots` CTAs and `threads` are resident at once, and each `cluster` CTAs in succession
    are a cluster."""

    def __init__(
        self,
        space: AddressSpace,
        constants: Mapping[str, np.ndarray],
        parameters: int,
        sizes: Mapping[str, int],
        slots: int,
        threads: int,
        alive: int | None = None,
        cluster: int = 1,
        fresh: Fresh | None = None,
        ignores_upper_halves: bool = False,
        shadowed: bool = False,
    ):
        """`constants` are what the spaces hold that the module fills, with room behind; there are so many bytes of `parameters`.
        `sizes` has the bytes of each thread's or CTA's part of the state spaces in parts. `alive` is how many bytes of a stack
        are there from the beginning, if pieces of it come and go; else all are. `fresh` decides what registers and the memory of
        threads and CTAs begin with; without it they begin with zeros. `ignores_upper_halves` says whether the upper half of a
        register does not count that holds an address of 32 bits. If the memory is `shadowed`, behind each part lies which bits of
        it are initialized, as many bytes."""
        self.ignores_upper_halves = ignores_upper_halves
        self.space, self.fresh = space, fresh
        self.sizes = {name: len(data) - PADDING for name, data in constants.items()}
        self.parts = {name: threads if is_of_threads(name) else slots for name in parts_of(sizes)}
        self.sizes |= {contracts.state_spaces.OF_PARAMETERS: parameters} | {name: sizes[name] for name in self.parts}
        self.shadowed = shadowed
        self.strides = {name: -(-sizes[name] // 16) * 16 * (1 + shadowed) for name in self.parts}
        #: what each space but global memory holds; of a space in parts, one after the other
        self.buffers_of = dict(constants)
        room = shadow_of_parameters(parameters) + parameters if shadowed else parameters
        self.buffers_of[contracts.state_spaces.OF_PARAMETERS] = np.zeros(room + PADDING, np.uint8)
        self.parameters = self.buffers_of[contracts.state_spaces.OF_PARAMETERS].data[:parameters]
        self.cluster, self.threads = cluster, threads // slots
        #: the first CTA of the grid that no worker has taken
        self.next_cta = np.zeros(1, np.int64)
        #: of the CTA in each slot, how many threads have ended; counted where there are clusters
        self.gone = np.zeros(slots, np.int64)
        #: the asynchronous operations in flight, where a kernel initiates such
        self.in_flight: InFlight | None = None
        self.first = alive
        self._take_parts()
        self.alive = untouched(0 if alive is None else len(self.frames))
        #: the bytes of the memory of threads and CTAs
        self.own_bytes = sum(len(self.buffers_of[name]) for name in self.parts) + len(self.alive)
        self._is_empty = True
        self.blocks = _NO_BLOCKS
        self.heap: Heap | None = None
        #: of each byte of the heap whether it is there; behind it come bytes for accesses beyond the heap
        self.heap_states = _heap_states(None)

    def begin(self, blocks: Blocks, parameters: bytes, heap: Heap | None) -> None:
        """Begin a launch: `blocks` are global memory, and `heap` is there if a thread may allocate memory."""
        self.blocks, self.heap, self.heap_states = blocks, heap, _heap_states(heap)
        self.parameters[:] = parameters
        self.next_cta[0] = 0
        self.in_flight = None
        self._begin_parts()

    def shadow_parameters(self, shadow: bytes) -> None:
        """Say which bits of the parameters are initialized."""
        begin = shadow_of_parameters(len(shadow))
        self.buffers_of[contracts.state_spaces.OF_PARAMETERS].data[begin : begin + len(shadow)] = shadow

    def end(self) -> None:
        """A launch has ended: what was passed to it is the caller's alone."""
        self.blocks, self.heap, self.heap_states, self.in_flight = _NO_BLOCKS, None, _heap_states(None), None

    def begin_beside(self, other: LaunchMemory) -> None:
        """Begin a launch for other CTAs of it."""
        self.blocks, self.heap, self.heap_states = other.blocks, other.heap, other.heap_states
        self.in_flight = None
        self._begin_parts()

    def _begin_parts(self) -> None:
        """Let the memory of threads and CTAs be empty."""
        if not self._is_empty:
            self._empty()
        self._is_empty = False
        self._begin_stacks()

    def beside(self) -> LaunchMemory:
        """The same memory for other CTAs: what is global or constant is shared, the rest is their own."""
        other = copy(self)
        other.buffers_of = dict(self.buffers_of)
        other._take_parts()
        other.gone, other.alive = np.zeros_like(self.gone), untouched(len(self.alive))
        other._is_empty = True
        return other

    def _take_parts(self) -> None:
        """Memory of zeros for each part that there may be."""
        for name, count in self.parts.items():
            self.buffers_of[name] = untouched(self.strides[name] * count + PADDING)

    @property
    def frames(self) -> np.ndarray:
        """The local memory of all resident threads."""
        return self.buffers_of[contracts.state_spaces.OF_FRAMES]

    # an address or a count is Any here: the page of accesses takes terms, or all numbers as this storage has them

    def access(
        self,
        space: str,
        address: Any,
        size: int,
        write: bool,
        slot: int,
        thread: int,
        into: Collection[str] = (),
        shadow: bool = False,
        life: Life | None = None,
        spared: int = 0,
    ) -> Place:
        """The array and index at which `size` bytes are to be read or written. Raises Violation if a rule is broken.
        `slot` is that of the thread's CTA, `thread` its own number among the resident threads. A generic address must lie in one
        of the state spaces `into`, if there are any. With `shadow`, that is where it says which of their bits are
        initialized. With a `life`, the access is a step on an object. It may touch those changes by asynchronous operations that
        are `spared` (operations.AsynchronousUse.spared_by)."""
        storage = ThreadStorage(self, slot, thread, shadow, life, spared)
        return contracts.access.access(space, address, size, write, into, storage)

    def space_of(self, array: np.ndarray) -> str:
        """The state space of the bytes of an array that an access gave."""
        return next(
            (name for name, held in self.buffers_of.items() if held is array), contracts.state_spaces.OF_BUFFERS
        )

    def ranged(
        self,
        space: str,
        address: Any,
        align: int,
        count: Any,
        write: bool,
        slot: int,
        thread: int,
        shadow: bool = False,
        spared: int = 0,
    ) -> Place:
        """The array and index of so many bytes at a multiple of `align`, which an asynchronous operation accesses. Raises
        Violation if a rule is broken. The others are as for an access."""
        storage = ThreadStorage(self, slot, thread, shadow, spared=spared)
        return contracts.access.ranged(space, address, align, count, write, storage)

    def global_violation(self, address: int, size: int, write: bool) -> Violation:
        """What an access broke that global memory does not permit."""
        handles = contracts.opaque_types
        if handles.MODULE_HANDLES <= address < handles.END_OF_HANDLES:
            return Violation("opaque", "an access at a handle")
        gone = self.heap.was(address) if self.heap is not None else None
        if gone is not None:
            return Violation("use after end", f"the piece at {gone:#x} of the heap was given back")
        earlier = self.space.was(address)
        if earlier is not None:
            return Violation("use after end", earlier)
        return self.blocks.violation(address, size, write)

    @property
    def is_large(self) -> bool:
        """Whether emptying it is best done by taking other arrays, or more than zeroes is to be written."""
        return max(len(self.buffers_of[name]) for name in self.parts) > LARGE or self.first is not None

    def _empty(self) -> None:
        for name in self.parts:
            if self.strides[name]:
                self.buffers_of[name] = emptied(self.buffers_of[name])
        if self.first is not None:
            self.alive = emptied(self.alive)

    def clear(self, first: int) -> None:
        """The memory of threads and CTAs as it is when CTAs begin, from this one on. The arrays may be others then."""
        self._empty()
        if self.fresh is not None:
            for space, count in self.parts.items():
                array, apart = self.buffers_of[space], self.strides[space]
                each = apart // (1 + self.shadowed)
                each = min(each, LOCAL) if is_of_threads(space) else each
                array[: count * apart].reshape(count, apart)[:, :each] = self.fresh.bytes_of(
                    f".{space}", first * (count // len(self.gone)), count, each
                )
        self._begin_stacks()

    def _begin_stacks(self) -> None:
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
        """Let a thread's stack, which ended at `end`, end where it did before."""
        self._mark(thread, contracts.functions.released(to, end))

    def save_end(self, thread: int, end: int) -> None:
        """Note that the program has saved where a thread's stack ends."""
        self._mark(thread, contracts.functions.saved(end))

    def states_of_stack(self, thread: int) -> np.ndarray:
        """Of each byte of a thread's local memory its state."""
        apart = self.strides[contracts.state_spaces.OF_FRAMES]
        return self.alive[thread * apart :][:apart]

    def _mark(self, thread: int, spans: Iterable[contracts.functions.Span[int]]) -> None:
        start = thread * self.strides[contracts.state_spaces.OF_FRAMES]
        for span in spans:
            self.alive[start + span.begin : start + span.end] = span.state


def is_of_threads(space: str) -> bool:
    """Whether each thread has a part of a state space, not each CTA."""
    return contracts.state_spaces.SPACES[space].shared_by == contracts.state_spaces.THREAD


def parts_of(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The state spaces that have a part for each thread or CTA, in a kernel with these sizes: registers only if some may be in
    flight."""
    page = contracts.state_spaces
    return (*page.in_parts(), *(name for name in sizes if name == page.OF_REGISTERS))


def check_alignment(address: Any, size: int) -> None:
    """Raise Violation if an access of so many bytes is not aligned."""
    if not contracts.access.aligned(address, size):
        raise Violation(*contracts.access.not_aligned(size))


class ThreadStorage:
    """The memory of a launch as one thread accesses it: what the step of an access asks, in integers."""

    def __init__(
        self,
        memory: LaunchMemory,
        slot: int,
        thread: int,
        shadow: bool = False,
        life: Life | None = None,
        spared: int = 0,
    ):
        """`slot` is that of the thread's CTA, `thread` its own number among the resident threads. With `shadow`, what is there is
        which bits of the bytes are initialized. With a `life`, the access is a step on an object. `spared` is as above."""
        self.memory, self.slot, self.thread, self.shadow = memory, slot, thread, shadow
        self.life, self.spared = life, spared
        self.ignores_upper_halves = memory.ignores_upper_halves
        self.clustered = memory.cluster > 1
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
        if space != contracts.state_spaces.OF_FRAMES or self.memory.first is None or self.shadow:
            return None
        return _states(self.memory.alive, start, size)

    def heap_states(self, address: Any, size: int) -> Any:
        heap = self.memory.heap
        return (
            None
            if heap is None or self.shadow
            else _states(self.memory.heap_states, self._in_heap(heap, address), size)
        )

    def _in_heap(self, heap: Heap, address: int) -> int:
        """Which state is that of a byte of global memory."""
        at = address - heap.base
        return at if 0 <= at < len(heap.data) else len(heap.data)

    def each_state(self, space: str, start: Any, count: Any, holds: Callable[[Any], Any]) -> Any:
        states, heap = self.memory.alive, self.memory.heap
        if space != contracts.state_spaces.OF_FRAMES:
            assert heap is not None
            states, start = self.memory.heap_states, self._in_heap(heap, start)
            count = count if start < len(heap.data) else 0
        selected = states[start : start + count]
        return len(selected) == count and all(holds(int(state)) for state in np.unique(selected))

    def in_block(self, address: Any, write: bool) -> tuple[Any, Any]:
        return self.memory.blocks.in_block(address + SHADOW * self.shadow, write)

    def broken_in_global(self, address: Any, size: Any, write: bool) -> Broken:
        violation = self.memory.global_violation(address, size, write)
        return Broken(violation.rule, violation.note)

    def at(self, space: str, start: Any, size: Any, write: bool) -> Place:
        row = None
        if self.shadow:
            array = self.memory.buffers_of[space]
            if space in self.memory.parts:
                return array, start + self.memory.strides[space] // 2
            if space == contracts.state_spaces.OF_PARAMETERS:
                return array, start + shadow_of_parameters(self.memory.sizes[space])
            return _EVERYTHING
        if space == contracts.state_spaces.OF_REGISTERS:
            row = start % self.memory.strides[space]
        return self._spared(self.memory.buffers_of[space], start, size, write, row)

    def at_block(self, address: Any, offset: Any, size: Any, write: bool) -> Place:
        if self.shadow:
            return self.memory.blocks.at_block(address + SHADOW, size, write)
        return self._spared(*self.memory.blocks.at_block(address, size, write), size, write)

    def _spared(self, array: np.ndarray, index: Any, size: Any, write: bool, row: int | None = None) -> Place:
        """Where bytes are that no asynchronous operation in flight may be disturbed at. If they are those of registers, `row` is
        how far they are behind the beginning of a thread's row."""
        if self.memory.in_flight is not None and self.life is not None:
            self.memory.in_flight.check_object(array, index, self.life)
        elif self.memory.in_flight is not None:
            self.memory.in_flight.check(array, index, size, write, row, self._is_spared)
        return array, index

    def _is_spared(self, change: int, initiator: int) -> bool:
        """Whether it may touch what an operation changes, by the step of this number, that a thread has initiated."""
        if not self.spared:
            return False
        from ptxspec.machine.asynchrony import nearness  # with a page that few kernels need

        assert self.memory.in_flight is not None
        return self.memory.in_flight.used.is_spared(self.spared, change, nearness(self.memory, self.thread, initiator))


def _heap_states(heap: Heap | None) -> np.ndarray:
    """The states of the bytes of a heap, and behind them those of bytes that are there."""
    if heap is None:
        return _NOTHING[0]
    states = untouched(len(heap.data) + PADDING)
    states[len(heap.data) :] = contracts.functions.ALIVE
    for address, piece in heap.live.items():
        states[address - heap.base :][: piece.size] = contracts.functions.ALIVE
    return states


def padded(data: np.ndarray) -> np.ndarray:
    """A copy of the bytes, with room behind them for a check that looks at all of an access."""
    return np.concatenate([data, np.zeros(PADDING, np.uint8)])
