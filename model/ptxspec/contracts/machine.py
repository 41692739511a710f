"""What the pages about the machine owe the model, but for its steps: limits, the order of blocks, access checks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from ptxspec.contracts.resolving import page
from ptxspec.contracts.syntax import Version

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.static_rules import StaticRule
    from ptxspec.terms.steps import Step
    from ptxspec.terms.storage import Broken, Storage

#: three numbers: x, y and z
Triple = tuple[int, int, int]
Node = TypeVar("Node", bound=Hashable)
Location = TypeVar("Location")


class Work(Protocol):
    """How much an engine does by default, and the price of each thing, in units of one instruction of one thread."""

    @property
    def most(self) -> int:
        """All that a launch may cost."""

    @property
    def round(self) -> int:
        """The price of a look at who goes on."""

    @property
    def waiting(self) -> int:
        """The price of a thread that waits, for each look."""

    @property
    def image(self) -> int:
        """The price of a lookup in a texture or surface."""

    @property
    def system(self) -> int:
        """The price of a call of the system."""


class Limits(Protocol):
    """spec/machine/limits.md."""

    @property
    def WORK(self) -> Mapping[str, Work]:
        """The work of each engine, by its name."""

    @property
    def MEMORY(self) -> int:
        """The bytes that a launch may take for its threads."""

    @property
    def SECONDS(self) -> float:
        """The seconds that CTAs which are resident together may run by default."""

    @property
    def OPERATIONS(self) -> int:
        """The asynchronous operations that may be in flight."""

    @property
    def LINES(self) -> int:
        """The lines that they may touch together."""

    @property
    def LINE_LOG2(self) -> int:
        """The power of two that the bytes of a line are."""

    @property
    def LONGEST_BLOCK(self) -> int:
        """The most instructions of a basic block."""

    @property
    def MOST_GRID(self) -> tuple[int, int, int]:
        """The largest extents of a grid, in CTAs."""

    @property
    def MOST_BLOCK(self) -> tuple[int, int, int]:
        """The largest extents of a CTA, in threads."""

    def check_extents(self, what: str, extents: Triple, most: Triple) -> None:
        """Raise ValueError for extents beyond the greatest ones, or below 1."""

    def required_block(self, directives: Mapping[str, tuple[int, ...]]) -> Triple | None:
        """The extents of a CTA that an entry's directives ask for; None if they leave them to the host."""

    def check_cta(self, name: str, directives: Mapping[str, tuple[int, ...]], block: Triple) -> None:
        """Raise ValueError unless an entry with these directives may have CTAs of these extents."""

    def check_shared(self, dynamic: int, whole: int) -> None:
        """Raise ValueError unless a launch may ask for so many bytes of shared memory, where a CTA then has so many in all."""

    def resident_threads(self, asks_images: bool, clustered: bool) -> int:
        """How many threads of a kernel are resident together; `clustered` says whether in clusters of several CTAs."""

    def resident_clusters(self, clusters: int, size: int, threads: int, most: int, bytes_each: int, memory: int) -> int:
        """How many clusters, of `size` CTAs, are resident together; 0 if there is no room for one."""


class Divergence(Protocol):
    """spec/machine/divergence.md. A graph is a mapping from each node to those that it leads to."""

    def order(self, successors: dict[int, list[int]], entry: int) -> list[int]:
        """The blocks reachable from an entry, in the order in which the machine prefers them."""

    def components(self, successors: dict[Node, list[Node]], roots: Iterable[Node]) -> list[list[Node]]:
        """The strongly connected components that the roots lead to, each before those that it leads to."""


class Schedule(Protocol):
    """spec/machine/schedule.md."""

    def is_narrow(self, block: int, ways: tuple[int | None, int | None], computes: bool) -> bool:
        """Whether a block that ends in a branch with a guard, and has these ways out, is a narrow loop."""

    @overload
    def ends_turn(self, at: int, to: int, narrow: bool, taken: int, most: int) -> bool: ...
    @overload
    def ends_turn(self, at: Int, to: Int, narrow: Bool | bool, taken: Int, most: Int) -> Bool: ...
    def ends_turn(
        self, at: Int | int, to: Int | int, narrow: Bool | bool, taken: Int | int, most: Int | int
    ) -> Bool | bool:
        """Whether a turn ends where its thread goes from one block to another, which is a narrow loop or is not, after so many
        instructions; `most` is TURN."""

    def rounds(self, most: Int, length: int) -> Int:
        """How often a thread goes through a narrow loop of so many instructions in one turn."""

    @property
    def TURN(self) -> int:
        """The instructions after which a thread's turn ends where it goes back."""

    @property
    def ROUND(self) -> int:
        """The instructions of all threads between two looks at those that wait."""

    @property
    def draw(self) -> Step:
        """Choose one of the threads that can run."""


class MemoryRules(Protocol):
    """spec/machine/memory.md. Sizes are in bytes."""

    @property
    def BUFFER_ALIGNMENT(self) -> int:
        """What the addresses of the host's arrays are multiples of, and the least gap between two of them."""

    @overload
    def next_buffer(self, end: int) -> int: ...
    @overload
    def next_buffer(self, end: Int) -> Int: ...
    def next_buffer(self, end: Int | int) -> Int | int:
        """Where the next buffer begins, behind what ends at an address."""

    @property
    def CALLERS_BASE(self) -> int:
        """Where the memory that a caller owns begins, unless the caller says where."""

    @overload
    def next_piece(self, end: int, alignment: int) -> int: ...
    @overload
    def next_piece(self, end: Int, alignment: int) -> Int: ...
    def next_piece(self, end: Int | int, alignment: int) -> Int | int:
        """Where the next piece of it begins, behind what ends at an address."""

    @overload
    def has_addresses(self, begin: int, size: int, end: int) -> bool: ...
    @overload
    def has_addresses(self, begin: Int, size: Int, end: Int) -> Bool: ...
    def has_addresses(self, begin: Int | int, size: Int | int, end: Int | int) -> Bool | bool:
        """Whether a piece of so many bytes that begins at an address ends before another."""

    @overload
    def heap_begins(self, variables: int) -> int: ...
    @overload
    def heap_begins(self, variables: Int) -> Int: ...
    def heap_begins(self, variables: Int | int) -> Int | int:
        """How far from the beginning of global memory the heap begins, behind so many bytes of variables."""

    def dynamic_part(self, static: int, alignments: Iterable[int]) -> int:
        """Where the dynamic part of shared memory begins behind so many bytes of variables, where its arrays are aligned so."""

    def shared_size(self, static: int, begins: int, dynamic: int) -> int:
        """The bytes of shared memory of a CTA, whose dynamic part begins there and has so many."""

    @property
    def FOLLOWED(self) -> Collection[int]:
        """The bits of the registers in which addresses are followed."""

    def reach(self, space: str, in_window: bool) -> int:
        """How far from its variable an address is still one of the state space; `in_window` says whether it lies in a window."""

    def most_parameters(self, version: Version, target: int) -> int:
        """The most bytes of an entry's parameters."""

    @property
    def parameters_have_room(self) -> StaticRule[int, int]:
        """Of the bytes of an entry's parameters, and the most that there may be."""

    def leaves(self, offset: int, size: int, held: int | None) -> bool:
        """Whether an access at an offset from a variable's beginning leaves what the variable holds; None: that is not known."""


class Access(Protocol):
    """spec/machine/access.md: how an access finds its bytes, of numbers and of terms alike. Addresses and sizes count bytes."""

    @property
    def NOTHING(self) -> int:
        """The state of a global byte where nothing is."""

    @property
    def READABLE(self) -> int:
        """The bit of a global byte's state that lets it be read."""

    @property
    def WRITABLE(self) -> int:
        """The bit of a global byte's state that lets it be written."""

    def access(
        self, space: str, address: Any, size: int, write: bool, into: Collection[str], launch: Storage[Location]
    ) -> Location:
        """The location of an access; a generic one must lie in one of the state spaces `into`, if there are any."""

    def ranged(
        self, space: str, address: Any, align: int, count: Any, write: bool, launch: Storage[Location]
    ) -> Location:
        """The location of so many bytes at a multiple of `align`."""

    def located(self, space: str, address: Any, size: int, write: bool, launch: Storage[Location]) -> Location:
        """The same at an address of a state space, of which all bits count."""

    def stored(self, space: str) -> str:
        """The space whose storage an access to a space uses: shared of `shared::cta`."""

    def may_lie(self, space: str, into: Collection[str]) -> bool:
        """Whether a generic address may lie in a state space, if the instruction accesses only these; none: all."""

    def is_narrow(self, space: str) -> bool:
        """Whether addresses in a state space have 32 bits."""

    def ignores_upper_halves(self) -> Int:
        """1 if the machine ignores the upper half of the register of such an address, else 0."""

    @overload
    def counted(self, space: str, address: int, ignores: bool) -> int: ...
    @overload
    def counted(self, space: str, address: Int, ignores: bool) -> Int: ...
    def counted(self, space: str, address: Int | int, ignores: bool) -> Int | int:
        """What counts of an address in a state space, where upper halves are ignored or not."""

    @overload
    def aligned(self, address: int, size: int) -> bool: ...
    @overload
    def aligned(self, address: Int, size: int) -> Bool: ...
    def aligned(self, address: Int | int, size: int) -> Bool | bool:
        """Whether an access of so many bytes is aligned."""

    def not_aligned(self, size: int) -> Broken:
        """What is reported if it is not."""

    def inside(self, address: Int, size: Int | int, held: Int) -> Bool:
        """Whether an access lies within what its space holds."""


class MemoryOrder(Protocol):
    """spec/machine/order.md."""

    @property
    def MODIFIERS(self) -> tuple[str, ...]:
        """The sets of modifiers that say how an access takes part in the order in which other threads see memory."""


class ThreadCoordinates(Protocol):
    """spec/special-registers/thread-coordinates.md."""

    def position(self, number: Any, extent: Any) -> tuple[Int, Int, Int]:
        """The coordinates of what has this number in a box; numbers or terms."""


limits = page("machine.limits", Limits)
divergence = page("machine.divergence", Divergence)
schedule = page("machine.schedule", Schedule)
memory_rules = page("machine.memory", MemoryRules)
access = page("machine.access", Access)
memory_order = page("machine.order", MemoryOrder)
thread_coordinates = page("special_registers.thread_coordinates", ThreadCoordinates)
