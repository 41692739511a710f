"""What annotations say about an operand of a definition, and the words for it that pages use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int, blame
from ptxspec.terms.types import TYPES, Type


class Slot(NamedTuple):
    """The type that a modifier names: `of.dtype` is whatever the form has for `.dtype`; `of.type.doubled`, `.half` and
    `.quarter` are the types of the same kind and that width."""

    name: str
    scale: int = 0

    @property
    def doubled(self) -> Slot:
        return Slot(self.name, 1)

    @property
    def half(self) -> Slot:
        return Slot(self.name, -1)

    @property
    def quarter(self) -> Slot:
        return Slot(self.name, -2)

    def type(self, modifiers: dict[str, Any]) -> Type:
        chosen = modifiers.get(self.name)
        if not isinstance(chosen, Type):
            raise blame(f"no type is bound to the modifier .{self.name}")
        width = chosen.width << self.scale if self.scale > 0 else chosen.width >> -self.scale
        return TYPES[f"{chosen.kind}{width}"] if self.scale else chosen


class _Of:
    def __getattr__(self, name: str) -> Slot:
        return Slot(name)


class VectorOf(NamedTuple):
    """As many registers of one type as the modifier `.vec` says: one without it, else two or four in braces."""

    element: Type | Slot


class _Vector:
    def __getitem__(self, element: Type | Slot) -> VectorOf:
        return VectorOf(element)


class TupleOf(NamedTuple):
    """Several values at once, as many and of such types as `has_elements` says of the form; or their types, once they are
    known."""

    types: tuple[Type, ...] = ()


class MatrixFragment(NamedTuple):
    """A thread's part of a matrix: registers in braces, as many and of such types as `has_elements` says of the form; or their
    types, once they are known."""

    types: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{len(self.types)} × {self.types[0]}"


class Immediate(NamedTuple):
    """An operand that must be a constant of a type."""

    type: Type


class Special(NamedTuple):
    """An operand that is no value of a register: an address, the name of a variable, a label, a texture."""

    name: str

    def __repr__(self) -> str:
        return self.name


if TYPE_CHECKING:  # what a type checker sees: operands are integers or truth values

    class of:
        type: TypeAlias = Int
        dtype: TypeAlias = Int
        stype: TypeAlias = Int
        ctype: TypeAlias = Int
        atype: TypeAlias = Int
        btype: TypeAlias = Int
        size: TypeAlias = Int

    vector: TypeAlias = list
    address: TypeAlias = Int
    variable_address: TypeAlias = Int
    map_address: TypeAlias = Int
    label: TypeAlias = Special
    function_name: TypeAlias = Special
    function_address: TypeAlias = Int
    list_of_operands: TypeAlias = Special
    target_list: TypeAlias = Special
    texture: TypeAlias = Int
    sampler: TypeAlias = Int
    sampler_state: TypeAlias = Int
    surface: TypeAlias = Int
    coordinates: TypeAlias = list[Int]
    fragment: TypeAlias = list[Int]
    cache_policy: TypeAlias = Special
    immediate_u8: TypeAlias = Int
    immediate_u16: TypeAlias = Int
    immediate_u32: TypeAlias = Int
    pred: TypeAlias = Bool
    b8: TypeAlias = Int
    b16: TypeAlias = Int
    b32: TypeAlias = Int
    b64: TypeAlias = Int
    b128: TypeAlias = Int
    u3: TypeAlias = Int
    u20: TypeAlias = Int
    s21: TypeAlias = Int
    u8: TypeAlias = Int
    u16: TypeAlias = Int
    u32: TypeAlias = Int
    u64: TypeAlias = Int
    s8: TypeAlias = Int
    s16: TypeAlias = Int
    s32: TypeAlias = Int
    s64: TypeAlias = Int
    f16: TypeAlias = Int
    f32: TypeAlias = Int
    f64: TypeAlias = Int
    u16x2: TypeAlias = Int
    ue8m0x2: TypeAlias = Int
else:
    of = _Of()
    vector = _Vector()
    address = Special("address")
    variable_address = Special("variable_address")
    map_address = Special("map_address")
    label = Special("label")
    function_name = Special("function_name")
    function_address = Special("function_address")
    list_of_operands = Special("list_of_operands")
    target_list = Special("target_list")
    texture = Special("texture")
    sampler = Special("sampler")
    sampler_state = Special("sampler_state")
    surface = Special("surface")
    cache_policy = Special("cache_policy")
    coordinates = TupleOf()
    fragment = MatrixFragment()
    immediate_u8 = Immediate(TYPES["u8"])
    immediate_u16 = Immediate(TYPES["u16"])
    immediate_u32 = Immediate(TYPES["u32"])
    pred = TYPES["pred"]
    globals().update({name: type for name, type in TYPES.items() if name != "pred"})


#: operands that are handles of opaque variables
HANDLES = ("texture", "sampler", "sampler_state", "surface")

#: the default of an operand that may be left out
absent: Any = None


def operand_type(annotation: Any, modifiers: dict[str, Any]) -> Type | Special | VectorOf | TupleOf | MatrixFragment:
    """The type that an annotation names, once the form's modifiers are known; what a tuple or a fragment holds, its definition
    says: `Definition.type_of`."""
    if isinstance(annotation, Slot):
        return annotation.type(modifiers)
    if isinstance(annotation, VectorOf):
        element = annotation.element
        return VectorOf(element.type(modifiers) if isinstance(element, Slot) else element)
    if isinstance(annotation, Immediate):
        return annotation.type
    assert isinstance(annotation, Type | Special | TupleOf | MatrixFragment)
    return annotation


def vector_length(modifiers: dict[str, Any]) -> int:
    """How many elements `.vec` asks for; 0 without it: a single register, no vector."""
    return int(modifiers["vec"].removeprefix("v")) if modifiers.get("vec") else 0
