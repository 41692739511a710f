"""What the pages about variables owe the model: elements, attributes, initializers, opaque variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol, overload

from ptxspec.contracts.resolving import page
from ptxspec.contracts.syntax import Version

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.effects import Effect


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


class Attributes(Protocol):
    """spec/variables/attributes.md."""

    @property
    def ATTRIBUTES(self) -> Mapping[str, tuple[tuple[str, ...], int]]:
        """What each attribute may be given to, a state space or "func", and how many integers it takes."""

    @property
    def REFUSED(self) -> tuple[str, ...]:
        """The attributes that are read and refused."""

    def takes_unified(self, effect: Effect | None, gives: bool) -> bool:
        """Whether an instruction with this effect, which gives a register a value or not, may mark its address `.unified`."""


class Initializers(Protocol):
    """spec/variables/initializers.md."""

    @property
    def Refused(self) -> type[ValueError]:
        """What says that an initializer does not fit its variable."""

    @property
    def ADDRESS_TYPES(self) -> tuple[str, ...]:
        """The types of variables that an address goes into."""

    @property
    def MASKED_ADDRESS_TYPES(self) -> tuple[str, ...]:
        """The types of variables that a byte of an address goes into."""

    @property
    def ADDRESS_SPACES(self) -> tuple[str, ...]:
        """The state spaces into which initializers point."""

    @property
    def MASKS(self) -> Collection[int]:
        """The masks that there are: 64 bits of which one byte is ones."""

    def leaves(self, values: Any, dimensions: list[int], vector: int) -> list[Any]:
        """The values of an initializer, lists in lists, in the order of memory. Raises Refused."""

    def first_dimension(self, values: Any) -> int:
        """The size that an initializer gives an array without one. Raises Refused."""

    def takes_integer(self, kind: str, width: int) -> bool:
        """Whether a variable of this kind and width may begin as an integer."""

    def takes_real(self, kind: str, width: int) -> bool:
        """Whether a variable of this kind and width may begin as a floating-point number."""

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
    def INDIRECT(self) -> tuple[Version, int]:
        """The first version and target with handles in registers."""

    @property
    def INDIRECT_SAMPLERS(self) -> Version:
        """The first version with those of samplers, and of textures beside samplers."""

    @property
    def OPAQUE_SINCE(self) -> Version:
        """The version that brought opaque types, and ended .tex."""

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
