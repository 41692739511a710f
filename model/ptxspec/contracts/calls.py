"""What the pages about functions owe the model: calls and their stack, the functions of the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.types import Type


class Functions(Protocol):
    """spec/functions/index.md."""

    @property
    def LEAST_BITS(self) -> int:
        """The least width, in bits, of an integer that functions take or give under an ABI."""

    @property
    def STACK(self) -> int:
        """The bytes of a thread's stack for calls that recur, and for what is reserved."""

    @property
    def AT_THE_END(self) -> str:
        """The opcode of the instruction that the end of every body stands for."""

    def arrays_agree(self, wanted: Type, given: Type) -> bool:
        """Whether an array of one type of elements may be passed for one of another."""

    def frame_size(self, variables: int) -> int:
        """The bytes of a frame whose variables take so many."""

    def kept(self, registers: Iterable[int]) -> int:
        """The bytes of a stack that a call puts by, where the caller still reads registers of so many bytes each."""

    def recursive(self, calls: Mapping[str, list[str]]) -> set[str]:
        """The functions that may be active more than once at a time, where each may call those beside its name."""

    def local_size(self, frames: Mapping[str, int], calls: Mapping[str, list[str]], entry: str, moves: bool) -> int:
        """The bytes of a thread's local memory, where each function has a frame of so many bytes; `moves` says whether pieces of
        the stack come and go."""

    @overload
    def has_room(self, end: int, used: int, local: int) -> bool: ...
    @overload
    def has_room(self, end: Int, used: Int, local: Int) -> Bool: ...
    def has_room(self, end: Int | int, used: Int | int, local: Int | int) -> Bool | bool:
        """Whether there is room for a stack that ends at an address, and for so many bytes that calls have put by."""

    @overload
    def may_end(self, end: int, least: int, most: int) -> bool: ...
    @overload
    def may_end(self, end: Int, least: Int, most: Int) -> Bool: ...
    def may_end(self, end: Int | int, least: Int | int, most: Int | int) -> Bool | bool:
        """Whether a stack may be cut back to an end."""

    @overload
    def next_frame(self, end: int) -> int: ...
    @overload
    def next_frame(self, end: Int) -> Int: ...
    def next_frame(self, end: Int | int) -> Int | int:
        """Where the frame of a call begins on a stack that ends at an address."""

    def address_of(self, number: int) -> int:
        """The address of the number-th function of a module, from 0 on."""


class SystemFunctions(Protocol):
    """spec/functions/system.md. What the functions do, they have said to `ptxspec.terms.machine` when the page is loaded."""

    @property
    def HEAP(self) -> int:
        """The bytes of a module's heap."""

    @property
    def HEAP_GAP(self) -> int:
        """The bytes between two pieces of the heap, of which each piece's address is a multiple."""

    @property
    def LONGEST_TEXT(self) -> int:
        """The most characters of a text before the zero that ends it."""


functions = page("functions.index", Functions)
system_functions = page("functions.system", SystemFunctions)
