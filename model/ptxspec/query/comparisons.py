"""Floating-point registers compared as numbers, with one another and with decimals, in the conditions of questions.

The comparison is of exact numbers: nothing is rounded. A NaN is unequal to everything, and neither below nor above anything;
the zeros are equal.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.query.numbers import Unfit, nearest
from ptxspec.terms.core import Bool, Int, constant, truth
from ptxspec.terms.types import Type


class Unequal(ValueError):
    """Two things that cannot be compared as numbers."""


class Number(NamedTuple):
    """A pattern that is read as a number of its format."""

    bits: Int
    type: Type


class Decimal(NamedTuple):
    """A number of the condition itself, and how it is written there."""

    value: Fraction
    written: str


#: the comparison with its sides exchanged
_TURNED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


def compare(op: type[ast.cmpop], x: Any, y: Any) -> Bool:
    """Whether the comparison holds. Raises Unequal where one side is no number, and for equality with a decimal that is no number
    of the format."""
    if op not in _TURNED:
        raise Unequal("these cannot be compared")
    if isinstance(x, Decimal) and isinstance(y, Decimal):
        raise Unequal("two decimal numbers: nothing depends on a register")
    if isinstance(x, Decimal) and isinstance(y, Number):
        return compare(_TURNED[op], y, x)
    if not isinstance(x, Number) or not isinstance(y, Number | Decimal):
        raise Unequal(
            "a number with a point is compared with real(…), and real(…) with such a number or another real(…)"
        )
    page = contracts.floating_point
    if isinstance(y, Decimal):
        holds, known = _with_decimal(op, x, y), ~page.is_nan(x.bits, x.type)
    else:
        if x.type != y.type:
            raise Unequal(f"real(…) of {x.type} and of {y.type}: the formats differ")
        holds = _ordered(op, page.order(x.bits, x.type), page.order(y.bits, y.type))
        known = ~page.is_nan(x.bits, x.type) & ~page.is_nan(y.bits, y.type)
    return (holds | ~known) if op is ast.NotEq else (holds & known)


def _ordered(op: type[ast.cmpop], x: Int, y: Int) -> Bool:
    if op is ast.Lt:
        return x < y
    if op is ast.LtE:
        return x <= y
    if op is ast.Gt:
        return x > y
    if op is ast.GtE:
        return x >= y
    return x == y if op is ast.Eq else x != y


def _with_decimal(op: type[ast.cmpop], x: Number, y: Decimal) -> Bool:
    """The comparison of a pattern, which is no NaN, with an exact number."""
    page = contracts.floating_point
    try:
        pattern = nearest(abs(y.value), x.type)
    except Unfit:  # beyond every finite number, and below infinity
        if op in (ast.Eq, ast.NotEq):
            raise Unequal(f"{y.written} is beyond the numbers of {x.type}") from None
        pattern = page.greatest(x.type)
    found = contracts.approximation.value(pattern, x.type)
    sign, order = (-1, -pattern) if y.value < 0 else (1, pattern)
    near = sign * found
    if near == y.value:
        return _ordered(op, page.order(x.bits, x.type), constant(order))
    if op in (ast.Eq, ast.NotEq):
        raise Unequal(f"no number of {x.type} is {y.written}: compare with < or >, or with the bits of one")
    below = near < y.value  # the decimal lies between this pattern and the next above it, or that below it
    if op in (ast.Lt, ast.LtE):
        return _ordered(ast.LtE if below else ast.Lt, page.order(x.bits, x.type), constant(order))
    if op in (ast.Gt, ast.GtE):
        return _ordered(ast.Gt if below else ast.GtE, page.order(x.bits, x.type), constant(order))
    return truth(False)
