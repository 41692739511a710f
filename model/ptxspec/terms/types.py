"""The types a definition may name: PTX's fundamental types as values with a width and a range."""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """A fundamental type. `kind` is one of b, u, s, f, pred; `width` counts bits (1 for a predicate)."""

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
        """Signed or unsigned, not bits."""
        return self.kind in "su"

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


TYPES: dict[str, Type] = {
    **_make("b", (8, 16, 32, 64, 128)),
    **_make("u", (8, 16, 32, 64, 128)),
    **_make("s", (8, 16, 32, 64, 128)),
    **_make("f", (16, 32, 64)),
    "pred": Type("pred", "pred", 1),
}
