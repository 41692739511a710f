"""What the pages about functions owe the model: calls and their stack, the functions of the system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Int
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
