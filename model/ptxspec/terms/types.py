"""The types a definition may name: PTX's fundamental types as values with a width and a range."""

from __future__ import annotations

from ptxspec.base.records import NamedTuple


class Type(NamedTuple):
    """A fundamental type, an alternate floating-point format, or a packed type, which has several values of one type. `kind` is
    "b", "u", "s", "f", "pred", or "x" for a packed type. `width` is in bits; a predicate has 1. Manual: 5.2.

    >>> type = ptxspec.evaluate("clz.b64 d, a;", a=1).types["a"]
    >>> type.name, type.kind, type.width, str(type)
    ('b64', 'b', 64, '.b64')
    """

    name: str
    kind: str
    width: int

    @property
    def signed(self) -> bool:
        return self.kind == "s"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or an unsigned integer type; untyped bits are neither."""
        return self.kind in "su"

    @property
    def is_fundamental(self) -> bool:
        """Whether registers and variables may be declared with it."""
        return self.name in FUNDAMENTAL

    @property
    def elements(self) -> int:
        """The number of elements of a value: 1 unless the type is packed."""
        return int(self.name.rpartition("x")[2]) if self.kind == "x" else 1

    @property
    def element(self) -> Type:
        """The type of each element."""
        return TYPES[self.name.rpartition("x")[0]] if self.kind == "x" else self

    @property
    def element_step(self) -> int:
        """The distance from one element to the next in bits, which may be greater than an element's width."""
        return self.width // self.elements

    @property
    def bytes(self) -> int:
        return self.width // 8

    @property
    def min(self) -> int:
        """The least value of an integer type; bits count as unsigned."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        """The greatest value of an integer type; bits count as unsigned."""
        return (1 << (self.width - self.signed)) - 1

    @property
    def doubled(self) -> Type:
        """The type of the same kind and twice the width."""
        return TYPES[f"{self.kind}{self.width * 2}"]

    @property
    def bits(self) -> Type:
        """The untyped type of the same width."""
        return TYPES[f"b{self.width}"]

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return "." + self.name


def _make(kind: str, widths: tuple[int, ...]) -> dict[str, Type]:
    return {f"{kind}{w}": Type(f"{kind}{w}", kind, w) for w in widths}


FUNDAMENTAL: dict[str, Type] = {
    **_make("b", (8, 16, 32, 64, 128)),
    **_make("u", (8, 16, 32, 64)),
    **_make("s", (8, 16, 32, 64)),
    **_make("f", (16, 32, 64)),
    "f16x2": Type("f16x2", "x", 32),
    "pred": Type("pred", "pred", 1),
}

#: formats and packed types that only instructions name, registers for them being declared as bits; and those that only
#: definitions name, for exact products, and for the fields of objects in memory
_OTHERS: dict[str, tuple[str, int]] = {
    "u128": ("u", 128),
    "s128": ("s", 128),
    "u3": ("u", 3),
    "u20": ("u", 20),
    "s21": ("s", 21),
    "b1": ("b", 1),
    "u2": ("u", 2),
    "s2": ("s", 2),
    "u4": ("u", 4),
    "s4": ("s", 4),
    "bf16": ("f", 16),
    "tf32": ("f", 32),
    "e4m3": ("f", 8),
    "e5m2": ("f", 8),
    "e2m3": ("f", 6),
    "e3m2": ("f", 6),
    "e2m1": ("f", 4),
    "ue4m3": ("f", 7),
    "ue8m0": ("f", 8),
    "s2f6": ("s", 8),
    **dict.fromkeys(("bf16x2", "u16x2", "s16x2", "u8x4", "s8x4", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"), ("x", 32)),
    **dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2", "s2f6x2", "e2m1x4"), ("x", 16)),
    "e2m1x2": ("x", 8),
    "f32x2": ("x", 64),
}

TYPES: dict[str, Type] = {**FUNDAMENTAL, **{name: Type(name, *shape) for name, shape in _OTHERS.items()}}
