"""What the pages about variables owe the model: elements, attributes, initializers, opaque variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from ptxspec.contracts.resolving import page
from ptxspec.contracts.syntax import Version

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.effects import Effect
    from ptxspec.terms.static_rules import StaticRule
    from ptxspec.terms.types import Type


class Variables(Protocol):
    """spec/variables/index.md."""

    @overload
    def element_address(self, array: int, index: int, size: int, offset: int, bits: int) -> int: ...
    @overload
    def element_address(self, array: Int, index: Int, size: int, offset: int, bits: int) -> Int: ...
    def element_address(self, array: Int | int, index: Int | int, size: int, offset: int, bits: int) -> Int | int:
        """The address, of so many bits, of an array's element of `size` bytes; `offset` counts bytes."""

    def sum_bits(self, register: int, address: int) -> int:
        """How many bits the sum of a register with so many and a number has, where the module's addresses have so many."""

    @overload
    def behind(self, address: int, offset: int, bits: int = 64) -> int: ...
    @overload
    def behind(self, address: Int, offset: int, bits: int = 64) -> Int: ...
    def behind(self, address: Int | int, offset: int, bits: int = 64) -> Int | int:
        """The address so many bytes behind another, where their sum has so many bits."""

    @property
    def is_a_size(self) -> StaticRule[int, bool]:
        """Of an array's size, and whether it may be zero."""

    @property
    def sizes_are_said(self) -> StaticRule[Sequence[int | None]]:
        """Of an array's sizes, None for one that is left out."""

    @property
    def is_a_vector_of(self) -> StaticRule[Type, int]:
        """Of the type of a vector's elements and their number, 1 of what is no vector."""

    @property
    def is_a_count(self) -> StaticRule[int]:
        """Of N in name<N>."""

    @property
    def registers_are_no_arrays(self) -> StaticRule[bool]:
        """Of whether a register is declared as an array."""

    @property
    def is_an_alignment(self) -> StaticRule[int]:
        """Of what .align says."""

    @property
    def alignments_have_32_bits(self) -> StaticRule[int]:
        """Of what .align says."""


class Attributes(Protocol):
    """spec/variables/attributes.md."""

    @property
    def ATTRIBUTES(self) -> Mapping[str, tuple[tuple[str, ...], int]]:
        """What each attribute may be given to, a state space or "func", and how many integers it takes."""

    @property
    def may_have_attribute(self) -> StaticRule[str, str]:
        """Of an attribute and a state space or "func"."""

    @property
    def attributes_take(self) -> StaticRule[str, int]:
        """Of an attribute and how many integers it is given."""

    @property
    def is_supported(self) -> StaticRule[str]:
        """Of an attribute."""

    @property
    def takes_unified(self) -> StaticRule[Effect | None, bool]:
        """Of the effect of an instruction with a .unified address, and whether it gives a register a value."""

    @property
    def unified_variables_are_named(self) -> StaticRule[bool]:
        """Of whether such an address names a variable without the attribute."""

    @property
    def parameters_may_point(self) -> StaticRule[bool, bool]:
        """Of whether a parameter is a function's, and whether it has .ptr."""


class Initializers(Protocol):
    """spec/variables/initializers.md."""

    @property
    def type_is_initialized(self) -> StaticRule[Type]:
        """Of a variable's type."""

    @property
    def open_arrays_are_initialized(self) -> StaticRule[bool]:
        """Of whether an array without a size has an initializer."""

    @property
    def begins_as(self) -> StaticRule[Type, bool]:
        """Of a variable's type, and whether a number that it begins as is an integer."""

    @property
    def takes_an_address(self) -> StaticRule[str]:
        """Of the type's name of a variable that begins as an address."""

    @property
    def addresses_are_known(self) -> StaticRule[bool]:
        """Of whether the variable or function of an address is declared before."""

    @property
    def points_into(self) -> StaticRule[str]:
        """Of the state space of the variable whose address is meant."""

    @property
    def functions_stand_alone(self) -> StaticRule[bool]:
        """Of whether a function's name stands alone, without an offset and without generic()."""

    @property
    def takes_a_byte_of_an_address(self) -> StaticRule[str]:
        """Of the type's name of a variable that begins as one."""

    @property
    def is_a_mask(self) -> StaticRule[int]: ...

    @property
    def masks_take_whole_numbers(self) -> StaticRule[bool]:
        """Of whether a mask is given a floating-point number."""

    def leaves(self, values: Any, dimensions: list[int], vector: int) -> list[Any]:
        """The values of an initializer, lists in lists, in the order of memory. Raises BrokenRule."""

    def first_dimension(self, values: Any) -> int:
        """The size that an initializer gives an array without one. Raises BrokenRule."""

    def pointer(self, address: int, addend: int, window: int) -> int:
        """The number for so many bytes behind an address in a state space; `window` is what makes it generic, or zero."""

    def placed(self, value: int, size: int) -> int:
        """What a variable of so many bytes begins as that gets an address."""

    def masked(self, mask: int, value: int) -> int:
        """The byte of a value that a mask takes."""


class OpaqueTypes(Protocol):
    """spec/variables/opaque-types.md: variables for textures, samplers and surfaces, and their handles."""

    @property
    def FIELDS(self) -> Mapping[str, tuple[str, ...]]:
        """The fields of each opaque type, by the type's name without a dot."""

    @property
    def WORDS(self) -> Mapping[str, Collection[str]]:
        """The words that a field takes, where it takes any."""

    @property
    def STANDS_FOR(self) -> Mapping[str, Collection[str]]:
        """The types of variables that stand for each kind of operand; "texref without sampler" is of a module that keeps the two
        apart."""

    @property
    def MODULE_HANDLES(self) -> int:
        """Where the handles of a module's variables begin."""

    @property
    def PARAMETER_HANDLES(self) -> int:
        """Where the handles of parameters begin."""

    @property
    def HOST_HANDLES(self) -> int:
        """Where the handles begin of what the host passes by value."""

    @property
    def END_OF_HANDLES(self) -> int:
        """The first number after all handles."""

    @property
    def APART(self) -> int:
        """How far apart two handles lie."""

    @property
    def IN_A_MODULE(self) -> int:
        """How many handles there are for one module."""

    @property
    def MOST(self) -> Mapping[str, int]:
        """How many variables of each opaque type an entry may name."""

    @property
    def MOST_LEVEL(self) -> int:
        """The greatest magnitude of a level of detail or a bias that the host says."""

    @property
    def opaque_variables_are_global(self) -> StaticRule[str, bool]:
        """Where one is declared: of the state space, and whether that is in a function."""

    @property
    def opaque_variables_are_not_common(self) -> StaticRule[str | None]:
        """Of its linkage, without a dot."""

    @property
    def functions_take_handles(self) -> StaticRule[str]:
        """Of the type of a function's parameter."""

    @property
    def opaque_variables_are_no_arrays(self) -> StaticRule[bool]:
        """Of whether it is declared as an array."""

    @property
    def opaque_variables_are_no_vectors(self) -> StaticRule[int]:
        """Of the number of elements, 1 of what is no vector."""

    @property
    def samplers_are_apart_in_independent_mode(self) -> StaticRule[str, bool]:
        """Of a type, and whether the module is in independent mode."""

    @property
    def independent_mode_names_samplers(self) -> StaticRule[bool, bool]:
        """Of that, and whether an instruction leaves a sampler out."""

    @property
    def unified_mode_names_no_samplers(self) -> StaticRule[bool, bool]:
        """Of that, and whether an instruction names a sampler."""

    @property
    def opaque_variables_begin_with_fields(self) -> StaticRule[bool]:
        """Of whether an initializer has names of fields."""

    @property
    def is_a_field(self) -> StaticRule[str, str]:
        """Of a type and a field."""

    @property
    def takes_a_word(self) -> StaticRule[str]:
        """Of a field that is given a word."""

    @property
    def is_a_word_of(self) -> StaticRule[str, str]:
        """Of such a field, which takes words, and the word."""

    @property
    def fields_are_whole(self) -> StaticRule[bool]:
        """Of whether a field is given a floating-point number."""

    @property
    def has_handles_for(self) -> StaticRule[int]:
        """Of the number of a module's opaque variables and parameters."""

    @property
    def has_tex(self) -> StaticRule[Version]: ...

    @property
    def is_a_type_in_tex(self) -> StaticRule[str]: ...

    @property
    def tex_is_not_initialized(self) -> StaticRule[bool]:
        """Of whether a variable in .tex has an initializer."""

    @property
    def may_name_so_many(self) -> StaticRule[str, int]:
        """Of an opaque type and how many variables of it an entry names."""

    @property
    def has_opaque_types(self) -> StaticRule[Version]: ...

    @property
    def has_handles_in_registers(self) -> StaticRule[Version, int]:
        """Of the version and the target's number."""

    @property
    def has_handles_of_samplers_in_registers(self) -> StaticRule[Version, int]:
        """The same where the handle is that of a sampler, or stands beside one."""

    @property
    def gives_handles_of_textures(self) -> StaticRule[bool, Version]:
        """Of whether the module is in independent mode, and its version."""

    @overload
    def may_be_read(self, marks: int, writes: bool) -> bool: ...
    @overload
    def may_be_read(self, marks: Int, writes: bool) -> Bool: ...
    def may_be_read(self, marks: Int | int, writes: bool) -> Bool | bool:
        """Whether an access may read bytes of a surface with these marks, 1 for each that the launch has written."""

    def handle(self, base: int, number: int, type: str) -> int:
        """The number-th handle of an opaque type after one of the bases."""


variables = page("variables.index", Variables)
attributes = page("variables.attributes", Attributes)
initializers = page("variables.initializers", Initializers)
opaque_types = page("variables.opaque_types", OpaqueTypes)
