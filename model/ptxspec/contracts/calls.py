"""What the pages about functions owe the model: calls and their stack, the functions of the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.registries import SystemFunction
    from ptxspec.terms.types import Type


class Span(Protocol):
    """Bytes of a stack, from one address to before another, and the state that they are in from now on."""

    @property
    def begin(self) -> Any: ...
    @property
    def end(self) -> Any: ...
    @property
    def state(self) -> int: ...


class Functions(Protocol):
    """spec/functions/index.md."""

    @property
    def LEAST_BITS(self) -> int:
        """The least width, in bits, of an integer that functions take or give under an ABI."""

    @property
    def STACK(self) -> int:
        """The bytes of a thread's stack for calls that recur, and for what is reserved."""

    @property
    def ALIVE(self) -> int:
        """The state of a byte of a stack that is there."""

    @property
    def GONE(self) -> int:
        """The state of a byte of a stack that was given back."""

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

    def local_size(
        self, frames: Mapping[str, int], calls: Mapping[str, list[str]], entry: str, moves: bool, grows: bool
    ) -> int:
        """The bytes of a thread's local memory, where each function has a frame of so many bytes; `moves` says whether pieces of
        the stack come and go, `grows` whether there are others than frames of a known size."""

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
    def frame_of_call(self, frame: int, size: int, end: int, moves: bool) -> int: ...
    @overload
    def frame_of_call(self, frame: Int, size: Int | int, end: Int, moves: bool) -> Int: ...
    def frame_of_call(self, frame: Int | int, size: Int | int, end: Int | int, moves: bool) -> Int | int:
        """Where the frame of a call begins, of a caller with a frame at an address, of so many bytes, whose stack ends there;
        `moves` says whether pieces of the stack come and go."""

    @overload
    def end_of_frame(self, frame: int, size: int, beyond: int) -> int: ...
    @overload
    def end_of_frame(self, frame: Int, size: Int | int, beyond: int) -> Int: ...
    def end_of_frame(self, frame: Int | int, size: Int | int, beyond: int) -> Int | int:
        """Where a frame ends whose function has so many bytes of its own, and is passed so many beyond."""

    def put_by(
        self, live: Iterable[str], results: Iterable[str], shared: Iterable[str], again: bool
    ) -> AbstractSet[str]:
        """The registers that a call puts by, of those that are read after it, that get its results, and that all functions share;
        `again` says whether the caller may begin again before the call returns."""

    @overload
    def extended(self, end: int, begin: int, size: int) -> tuple[Span, ...]: ...
    @overload
    def extended(self, end: Int, begin: Int, size: Int) -> tuple[Span, ...]: ...
    def extended(self, end: Int | int, begin: Int | int, size: Int | int) -> tuple[Span, ...]:
        """What becomes of a stack that ended at an address and gets a piece."""

    @overload
    def released(self, to: int, end: int) -> tuple[Span, ...]: ...
    @overload
    def released(self, to: Int, end: Int) -> tuple[Span, ...]: ...
    def released(self, to: Int | int, end: Int | int) -> tuple[Span, ...]:
        """What becomes of a stack that ended at an address and is cut back."""

    def address_of(self, number: int) -> int:
        """The address of the number-th function of a module, from 0 on."""


class SystemFunctions(Protocol):
    """spec/functions/system.md. What the functions do, they have said to `ptxspec.terms.registries` when the page is loaded."""

    @property
    def HEAP(self) -> int:
        """The bytes of a module's heap."""

    @overload
    def next_piece(self, at: int, size: int) -> int: ...
    @overload
    def next_piece(self, at: Int, size: Int) -> Int: ...
    def next_piece(self, at: Int | int, size: Int | int) -> Int | int:
        """Where a piece of the heap begins behind one of so many bytes."""

    @overload
    def has_room(self, at: int, size: int, end: int) -> bool: ...
    @overload
    def has_room(self, at: Int, size: Int, end: Int) -> Bool: ...
    def has_room(self, at: Int | int, size: Int | int, end: Int | int) -> Bool | bool:
        """Whether a piece fits into a heap that ends there."""

    @overload
    def fits_into(self, size: int, before: int) -> bool: ...
    @overload
    def fits_into(self, size: Int, before: Int) -> Bool: ...
    def fits_into(self, size: Int | int, before: Int | int) -> Bool | bool:
        """Whether a piece may lie where one of so many bytes has been given back."""

    def is_declared(
        self, function: SystemFunction, takes: tuple[int, ...], gives: tuple[int, ...], of_integers: bool
    ) -> bool:
        """Whether a declaration with parameters and results of so many bytes is that of a function of the system."""

    @property
    def LONGEST_TEXT(self) -> int:
        """The most characters of a text before the zero that ends it."""


class ControlFlow(Protocol):
    """spec/instructions/control/index.md."""

    @overload
    def in_list(self, index: int, labels: int) -> bool: ...
    @overload
    def in_list(self, index: Int, labels: int) -> Bool: ...
    def in_list(self, index: Int | int, labels: int) -> Bool | bool:
        """Whether an index is that of one of so many labels."""


control_flow = page("instructions.control.index", ControlFlow)
functions = page("functions.index", Functions)
system_functions = page("functions.system", SystemFunctions)
