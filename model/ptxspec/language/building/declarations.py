"""Declarations, as spec/syntax/declarations.md writes them."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language import cited
from ptxspec.language.building.constants import Constants
from ptxspec.language.building.text import BuiltText
from ptxspec.language.tree import (
    Attribute,
    Fields,
    Float,
    Generic,
    Masked,
    Name,
    Number,
    Parameter,
    PointerAttribute,
    Sum,
    Variable,
)

#: the size of an array whose length is left open
OPEN = -1
_IDENTIFIERS = "spec/syntax/identifiers.md"


class Placed(NamedTuple):
    """An attribute, and the number of its first word."""

    at: int
    attribute: Attribute


class Declarations:
    """Builds variables and parameters."""

    def __init__(self, text: BuiltText, constants: Constants):
        self.text, self.constants = text, constants
        #: where sizes are zero, which some declarations allow
        self.zeros: list[int] = []
        #: the words at which the name of the parameter, what it points to and its vector were read last
        self.name_at = self.pointer_at = self.vector_at = 0
        #: the word that closes the empty brackets that were read last
        self.open_at = 0

    # variables -----------------------------------------------------------------------------------------------------------

    def variables(
        self, at: int, space: str, qualities: list[Any], vector: str | None, type: str, declarators: list[Variable]
    ) -> list[Variable]:
        aligned = [q for q in qualities if isinstance(q, int)]
        attributes = tuple(a for q in qualities if not isinstance(q, int) for a in self.attributes_of(space[1:], q))
        align = aligned[-1] if aligned else None
        where, length = space[1:], int(vector[2:]) if vector else 1
        return [
            d._replace(space=where, type=type[1:], vector=length, align=align, attributes=attributes)
            for d in declarators
        ]

    def align(self, at: int, value: int) -> int:
        return value

    def alignment(self, at: int, word: str) -> int:
        value, page = self.constants.integer(at), contracts.variables
        is_one = self.text.require(page.is_an_alignment, at, value) and self.text.require(
            page.alignments_have_32_bits, at, value
        )
        return value if is_one else 1

    def declarator(self, at: int, name: str, count: int | None, dimensions: list[int], value: Any) -> Variable:
        sizes = tuple(None if d == OPEN else d for d in dimensions)
        if sizes and not self.text.require(contracts.variables.sizes_are_said, self.open_at, sizes):
            sizes = tuple(1 if d is None else d for d in sizes)
        if count is not None and not self.text.require(contracts.variables.is_a_count, at, count):
            count = 1
        return Variable("", "", 1, name, None, count, sizes, value, None, self.text.starts[at])

    def variable_name(self, at: int, word: str) -> str:
        if "." in word:
            self.text.complain(at, f"{word} is no name that a variable can have", _IDENTIFIERS)
        return word

    def dimension(self, at: int, value: int | None) -> int:
        if value is None:
            self.open_at = at + 1
            return OPEN
        return value

    def size(self, at: int, value: Number | Float) -> int:
        size = self.constants.integral(at, value, "a size")
        if size == 0 and isinstance(value, Number):
            self.zeros.append(at)
        else:
            self.text.require(contracts.variables.is_a_size, at, int(size), True)
        return max(size, 0)

    def allow_zeros(self, allowed: bool) -> None:
        """Whether the sizes that were zero may be."""
        for at in self.zeros:
            self.text.require(contracts.variables.is_a_size, at, 0, allowed)
        self.zeros.clear()

    def attributes(self, at: int, items: list[Placed]) -> tuple[int, list[Placed]]:
        return at, items

    def attribute(self, at: int, name: str, numbers: list[int]) -> Placed:
        return Placed(at, Attribute(name[1:], tuple(numbers)))

    def attributes_of(self, owner: str, given: tuple[int, list[Placed]]) -> tuple[Attribute, ...]:
        """The attributes of a variable in a state space, or of a function ("func"), if it may have them."""
        at, items = given
        self.text.use(".attribute of a function" if owner == "func" else ".attribute", at)
        page, require = contracts.attributes, self.text.require
        for where, attribute in items:
            name = f".{attribute.name}"
            fitting = [other for other, (owners, _) in page.ATTRIBUTES.items() if owner in owners]
            whose = "a function" if owner == "func" else f"a variable in .{owner}"
            takes = " or ".join(fitting) or "no attribute"
            if require(page.may_have_attribute, where, name, owner, owner=whose, takes=takes) and require(
                page.attributes_take, where, name, len(attribute.numbers)
            ):
                require(page.is_supported, where, name)
        return tuple(attribute for _, attribute in items)

    # initial values ------------------------------------------------------------------------------------------------------

    def fields(self, at: int, items: list[tuple[str, Any]]) -> Fields:
        return Fields(tuple(items))

    def field(self, at: int, name: str, value: Any) -> tuple[str, Any]:
        return name, value

    def field_word(self, at: int, word: str) -> Name:
        return Name(word)

    def nested_values(self, at: int, values: list[Any]) -> Any:
        return values

    def generic(self, at: int, name: str, offset: int | None) -> Generic:
        self.text.use("generic()", at)
        return Generic(Name(name), offset or 0)

    def named_address(self, at: int, name: str, offset: int | None) -> Any:
        base = Name(name)
        return base if offset is None else Sum(base, offset)

    def mask_bits(self, at: int, word: str) -> int:
        return self.constants.integer(at)

    def mask(self, at: int, mask: int, value: Any) -> Masked:
        self.text.use("a mask", at)
        page = contracts.initializers
        if not self.text.require(page.is_a_mask, at, mask, written=self.text.words[at]):
            mask = 0xFF
        if not self.text.require(page.masks_take_whole_numbers, at + 2, isinstance(value, Float)):
            value = Number(0)
        if isinstance(value, Number):
            self.text.use("a mask of an integer", at + 2)
        return Masked(mask, value)

    # parameters ----------------------------------------------------------------------------------------------------------

    def parameter_name(self, at: int, word: str) -> str:
        self.name_at = at
        return word

    def parameter_vector(self, at: int, word: str) -> str:
        self.vector_at = at
        return word

    def parameter_rest(
        self, at: int, align: int | None, vector: str | None, type: str, pointer: Any, name: str
    ) -> Parameter:
        length = int(vector[2:]) if vector else 1
        return Parameter(type[1:], name, align, None, self.text.starts[self.name_at], "param", pointer, length)

    def _parameter(
        self, space: str, parameter: Parameter, size: int | None, points: bool, named: bool, may_be_open: bool = True
    ) -> Parameter:
        """A parameter; whether it may say what it points to, whether it needs a name, and whether it may have no size."""
        may_be_open &= space == ".param"
        self.allow_zeros(may_be_open)
        if size == 0 and may_be_open:
            size = OPEN
        rule = contracts.state_spaces.is_no_vector_in_param
        if not self.text.require(
            rule, self.vector_at, space[1:], parameter.vector, size is not None, what="a parameter in .param"
        ):
            parameter = parameter._replace(vector=1)
        if parameter.pointer is not None:
            self.text.require(contracts.attributes.parameters_may_point, self.pointer_at, not points, True)
        if named and parameter.name == "_":
            self.text.complain(self.name_at, "expected a parameter's name, not '_'", cited.FUNCTIONS)
        return parameter._replace(space=space[1:], size=size)

    def parameter(self, at: int, space: str, rest: Parameter, size: int | None) -> Parameter:
        return self._parameter(space, rest, size, False, True)

    def entry_parameter(self, at: int, space: str, rest: Parameter, size: int | None) -> Parameter:
        return self._parameter(space, rest, size, True, False, False)

    def prototype_parameter(self, at: int, space: str, rest: Parameter, size: int | None) -> Parameter:
        return self._parameter(space, rest, size, True, False)

    def pointer(self, at: int, word: str, space: str | None, align: int | None) -> PointerAttribute:
        self.text.use(".ptr", at)
        self.pointer_at = at
        return PointerAttribute(space[1:] if space else None, align)
