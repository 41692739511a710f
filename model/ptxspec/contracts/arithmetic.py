"""What the pages about numbers owe the model: formats of floating point, rounding, approximations, the unit's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ptxspec.contracts.resolving import family, page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.reals import Real
    from ptxspec.terms.types import Type


class FloatingPoint(Protocol):
    """spec/arithmetic/floating-point.md: formats, and the classes of their patterns. A pattern is a term or an integer of the
    type's width."""

    @property
    def NANS(self) -> Mapping[str, Callable[[Int], Bool]]:
        """By the name of a format: the condition on the bits of a result that may be any NaN."""

    def exponent_bits(self, type: Type) -> int:
        """How many bits of a pattern are its exponent. Raises KeyError for a type that is no format."""

    def precision(self, type: Type) -> int:
        """The bits of a significand, the hidden one included."""

    def bias(self, type: Type) -> int:
        """What the exponent field of 1.0 is."""

    def sign_mask(self, type: Type) -> int:
        """The pattern whose sign bit alone is set."""

    def has_infinities(self, type: Type) -> bool:
        """Whether some patterns of the format are infinities."""

    def infinity(self, type: Type) -> int:
        """The pattern of positive infinity."""

    def greatest(self, type: Type) -> int:
        """The pattern of the greatest finite number."""

    def quiet_bit(self, type: Type) -> int:
        """The top bit of the fraction, which a quiet NaN has set."""

    def is_negative(self, x: Int, type: Type) -> Bool:
        """Whether the sign bit is set."""

    def is_nan(self, x: Int, type: Type) -> Bool:
        """Whether the pattern is no number."""

    def is_infinite(self, x: Int, type: Type) -> Bool:
        """Whether the pattern is one of the two infinities."""

    def is_zero(self, x: Int, type: Type) -> Bool:
        """Whether the pattern is one of the two zeros."""

    def is_subnormal(self, x: Int, type: Type) -> Bool:
        """Whether the pattern is a subnormal number."""

    def order(self, x: Int, type: Type) -> Int:
        """A whole number that is ordered as the numbers are that the patterns stand for; equal for the zeros."""

    def exponent_field(self, x: Int, type: Type) -> Int:
        """The exponent's bits of a pattern."""

    def carried_nan(self, to: Type, x: Int, type: Type) -> Int:
        """The NaN of one format that a NaN of another becomes."""


class Rounding(Protocol):
    """spec/arithmetic/rounding.md: results of one rounding."""

    def converted(self, to: Type, rounding: str, x: Int, type: Type) -> Int:
        """A number of one format, which is no NaN, in another. `rounding` is "rn", "rz", "rm" or "rp"."""


class Approximations(Protocol):
    """spec/arithmetic/approximation.md: exact numbers, and the patterns next to them."""

    def value(self, x: int, type: Type) -> Fraction:
        """The number that a finite pattern is."""

    def nearest(self, type: Type, x: Real) -> int:
        """The pattern nearest to a real number, ties to even."""


class UnitFunction(Protocol):
    """A page of spec/multifunction-unit/ that interpolates in a table."""

    @property
    def TABLE(self) -> tuple[tuple[int, ...], ...]:
        """The coefficients as a chip answers them: all of degree 0, then of degree 1, then of degree 2."""


floating_point = page("arithmetic.floating_point", FloatingPoint)
rounding = page("arithmetic.rounding", Rounding)
approximation = page("arithmetic.approximation", Approximations)
unit_function = family("multifunction_unit", UnitFunction)
