"""Constants as values of a type."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.terms.types import TYPES, Type


def constant_fits(value: tree.Number | tree.Real, type: Type) -> bool:
    """Whether a constant may stand for a value of the type as an operand."""
    return contracts.type_checking.takes_constant(type, real_bits(value))


def real_bits(value: tree.Number | tree.Real) -> int:
    """The bits of a floating-point constant, 0 of an integer."""
    return value.width if isinstance(value, tree.Real) else 0


def constant_bits(value: tree.Number | tree.Real, type: Type) -> int:
    """A constant's bits as a value of a type: integers keep their low bits, floating-point numbers are rounded to nearest.
    A single written as 0f… keeps its exact bits, also where a double is wanted."""
    if isinstance(value, tree.Number):
        if type.kind == "pred":
            return int(value.value != 0)
        return contracts.type_checking.constant_value(value.value, type.width)
    if value.width == type.width or (value.width, type.width) == (32, 64):
        return value.bits
    if type.kind == "b":  # what a variable begins as
        type = TYPES[f"f{type.width}"]
    from ptxspec.terms.core import constant
    from ptxspec.terms.exact import evaluate
    from ptxspec.terms.vocabulary import select

    formats = contracts.floating_point
    rounding = contracts.rounding
    source, bits = TYPES[f"f{value.width}"], constant(value.bits)
    number = rounding.converted(type, "rn", bits, source)
    return int(evaluate(select(formats.is_nan(bits, source), formats.carried_nan(type, bits, source), number), {}))
