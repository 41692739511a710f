"""What the pages about functions owe the model: calls and their stack, the functions of the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.registries import SystemFunction
    from ptxspec.terms.static_rules import StaticRule
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

    @property
    def is_one_parameter(self) -> StaticRule[int, int | None, bool, int]:
        """Of a parameter in an entry's body: its vector's length, N of name<N>, whether it has an initializer, its dimensions."""

    @property
    def headings_agree(self) -> StaticRule[Sequence[object], Sequence[object]]:
        """Of the parameters of two declarations."""

    @property
    def extern_is_elsewhere(self) -> StaticRule[str | None, bool]:
        """Of a linkage and whether there is a body."""

    @property
    def passes_as_many(self) -> StaticRule[int, int, bool]:
        """Of how many arguments or results a call and its function have, and whether the last needs none."""

    @property
    def variables_pass_in_param(self) -> StaticRule[str, bool]:
        """Of the state space of a variable that is passed, and whether that is one of a function."""

    @property
    def sizes_agree(self) -> StaticRule[int, int, bool]:
        """Of the bytes of a variable and its parameter, and whether the latter has no size."""

    @property
    def alignments_agree(self) -> StaticRule[int, int]:
        """Of a variable's and its parameter's."""

    @property
    def dimensions_agree(self) -> StaticRule[int, bool]:
        """Of a variable's dimensions, and whether the parameter is an array."""

    @property
    def elements_agree(self) -> StaticRule[Type, Type | None, bool]:
        """Of the parameter's type, the variable's, and whether they are arrays."""

    @property
    def parameters_are_aligned(self) -> StaticRule[int]:
        """Of an alignment."""

    @property
    def arrays_are_no_registers(self) -> StaticRule[bool]:
        """Of whether a parameter that gets a register is an array."""

    @property
    def registers_agree(self) -> StaticRule[Type, Type, bool]:
        """Of the parameter's type, the register's, and whether they are elements of vectors of registers."""

    @property
    def passes_a_constant(self) -> StaticRule[Type, bool, int]:
        """Of the parameter's type, whether it is an array, and the bits of a floating-point constant, 0 of an integer."""

    @property
    def results_have_names(self) -> StaticRule[bool, bool]:
        """Of whether an operand of a call takes a result, and whether it is a constant."""

    @property
    def formals_are_copied(self) -> StaticRule[bool]:
        """Of whether a variable that is passed is what the calling function takes or gives."""

    @property
    def parameters_are_read(self) -> StaticRule[bool, bool]:
        """Of whether an access reaches a parameter, and whether it is a load."""

    @property
    def results_are_written(self) -> StaticRule[bool, bool]:
        """Of whether an access reaches a result of the function, and whether it is a load."""

    @property
    def what_is_passed_has_no_address(self) -> StaticRule[bool]:
        """Of whether a variable whose address is taken passes an argument or takes a result."""

    @property
    def what_is_passed_is_not_guarded(self) -> StaticRule[bool, bool]:
        """Of whether an access reaches such a variable, and whether it has a guard."""

    @property
    def has_an_abi_for(self) -> StaticRule[str, bool]:
        """Of something that a module has, as the page calls it, and whether the module has an ABI."""

    @property
    def integers_fill_registers(self) -> StaticRule[Sequence[Type], bool]:
        """Of the types that a function takes and gives but for those of arrays and vectors, and whether there is an ABI."""

    @property
    def several_results_are_registers(self) -> StaticRule[int, bool]:
        """Of how many results a function has, and whether one is in .param."""

    @property
    def vectors_go_into_vectors(self) -> StaticRule[int, int]:
        """Of the elements of a vector that is passed, 0 of what is none, and of the parameter's, 1 of what is none."""

    @property
    def no_vectors_in_arrays(self) -> StaticRule[bool, int]:
        """Of whether a parameter is an array, and its vector's length."""

    @property
    def may_lack_a_size(self) -> StaticRule[bool]:
        """Of whether an array without a size is the last of a function's parameters."""

    @property
    def aliases_are_of_functions(self) -> StaticRule[bool]:
        """Of whether a name is an entry's."""

    @property
    def aliases_have_no_body(self) -> StaticRule[bool]:
        """Of whether the function of that name has a body."""

    @property
    def aliases_are_of_one_function(self) -> StaticRule[str | None]:
        """Of what the name is an alias of already."""

    @property
    def aliases_have_the_parameters(self) -> StaticRule[Sequence[object], Sequence[object]]:
        """Of the parameters of the two functions."""

    @property
    def may_have_an_alias(self) -> StaticRule[str | None]:
        """Of the linkage of the function that has another name."""

    @property
    def aliases_lead_elsewhere(self) -> StaticRule[bool]:
        """Of whether that name leads back to the alias."""

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


class Linking(Protocol):
    """spec/functions/linking.md."""

    @property
    def common_is_for_variables(self) -> StaticRule[str | None]:
        """Of the linkage of a function or an entry."""

    @property
    def common_is_global(self) -> StaticRule[str | None, str]:
        """Of a variable's linkage and its state space."""

    @property
    def extern_has_no_initializer(self) -> StaticRule[str | None, bool]:
        """Of a variable's linkage, and whether it has an initializer."""

    @property
    def nothing_follows_a_definition(self) -> StaticRule[bool]:
        """Of whether what is declared is defined before."""

    @property
    def linkages_agree(self) -> StaticRule[str | None, str | None]:
        """Of a first declaration's linkage and a later one's."""

    @property
    def all_return_or_none(self) -> StaticRule[bool, bool]:
        """Of whether two declarations are .noreturn."""

    @property
    def variables_are_defined_once(self) -> StaticRule[str | None, str | None]:
        """Of the linkages of two declarations of a variable."""

    @property
    def extern_becomes_visible(self) -> StaticRule[str | None, str | None]:
        """Of the same."""

    @property
    def variables_agree(
        self,
    ) -> StaticRule[Sequence[object], Sequence[object], Sequence[int | None], Sequence[int | None]]:
        """Of the state space, the type and the vector's length of two declarations, and of their sizes."""

    @property
    def is_defined(self) -> StaticRule[bool]:
        """Of whether something that is needed is defined in its module or by the system."""

    @property
    def sizes_are_known(self) -> StaticRule[bool, bool]:
        """Of an .extern array without a size: whether the launch sets it, and whether the module is linked."""

    @property
    def addresses_agree(self) -> StaticRule[int, int]:
        """Of the bits of addresses of two modules."""

    @property
    def one_module_defines(self) -> StaticRule[bool, bool]:
        """Of whether two declarations are .visible, and whether they are .common with values."""

    @property
    def a_module_defines(self) -> StaticRule[str]:
        """Of the linkage of the declaration that counts."""

    @property
    def spaces_agree(self) -> StaticRule[str, str]:
        """Of a variable's state spaces in two modules."""

    @property
    def bytes_agree(self) -> StaticRule[int, int, bool, bool]:
        """Of a variable's bytes here and where it is defined, whether it is .common here, and whether there without a value."""

    @property
    def modules_pass_alike(self) -> StaticRule[object, object]:
        """Of what functions take and give in two modules."""

    @property
    def names_are_of_one_kind(self) -> StaticRule[type, type]:
        """Of what a name stands for in two modules."""


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
linking = page("functions.linking", Linking)
system_functions = page("functions.system", SystemFunctions)
