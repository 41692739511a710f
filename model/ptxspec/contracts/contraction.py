"""What the page of contraction owes the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ptxspec.terms.core import Int
    from ptxspec.terms.definitions import Definition
    from ptxspec.terms.types import Type


class Pair(Protocol):
    """A product, and a sum or difference that may take it."""

    @property
    def product(self) -> Definition:
        """The definition of the product."""

    @property
    def addition(self) -> Definition:
        """The definition of the sum or difference."""


class Contraction(Protocol):
    """spec/arithmetic/contraction.md. Modifiers are by their names in the definitions, values of type `Type` among them."""

    @property
    def PAIRS(self) -> Sequence[Pair]:
        """All pairs that may be contracted."""

    def may_contract(self, product: Mapping[str, Any], addition: Mapping[str, Any]) -> bool:
        """Whether a product and a sum with these modifiers may be contracted."""

    def contracted(self, pair: Any, place: int, modifiers: Mapping[str, Any], x: Int, y: Int, other: Int) -> Int:
        """The bits of the sum with these modifiers that takes x · y as operand 0 or 1."""

    def as_the_assembler_likes(self, type: Type, separate: Int, fused: list[Int], *operands: Int) -> Int:
        """The bits of a sum as it is written, or of one of those that take a product, as a machine chooses; the operands are all
        that the choice may depend on."""

    def taken(self, first: int, second: int) -> int | None:
        """The operand that a sum takes as a product, of which so many instructions read each; 0 for one that it may not take."""


contraction = page("arithmetic.contraction", Contraction)
