"""The kernel of the term language: every operator's exact meaning on Python integers, and the range of its result.

This table is the exact interpretation. All else (folding, the evaluator, the tests of the other two interpretations)
reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from ptxspec.base.records import NamedTuple

#: of the arguments of an operator, which are terms, and its attributes: the least and the greatest value of its result
Bounds: TypeAlias = Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[int, int]]


class Operator(NamedTuple):
    """`meaning(*values, *attributes)` computes; `range(terms, attributes)` bounds; `truth`: the result is a Bool."""

    meaning: Callable[..., Any] | None
    range: Bounds
    truth: bool = False


def bits_for(lo: int, hi: int) -> tuple[int, bool]:
    """(width, signed): the narrowest two's complement (signed) or binary (unsigned) numeral that holds lo … hi."""
    if lo >= 0:
        return max(hi.bit_length(), 1), False
    return max((~lo).bit_length(), max(hi, 0).bit_length()) + 1, True


def quotient(a: int, b: int) -> int:
    """a / b rounded toward zero; 0 when b is 0, so that the operator is total."""
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(a: int, b: int) -> int:
    """a − b · quotient(a, b): it has the sign of a, and is a when b is 0."""
    return a - b * quotient(a, b)


def low(x: int, n: int) -> int:
    """x modulo 2^n."""
    return x & ((1 << n) - 1)


def signed(x: int, n: int) -> int:
    """The low n bits of x as a two's complement number."""
    x = low(x, n)
    return x - (1 << n) if x >> (n - 1) else x


def _corners(f: Callable[[int, int], int]) -> Bounds:
    def bounds(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
        a, b = args
        values = [f(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return min(values), max(values)

    return bounds


def _bitwise(name: str) -> Bounds:
    def bounds(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
        a, b = args
        if name == "and" and (a.lo >= 0 or b.lo >= 0):
            return 0, min(x.hi for x in (a, b) if x.lo >= 0)
        width = max(bits_for(a.lo, a.hi)[0], bits_for(b.lo, b.hi)[0])
        if a.lo >= 0 and b.lo >= 0:
            return 0, (1 << width) - 1
        width = max(w + (not s) for w, s in (bits_for(a.lo, a.hi), bits_for(b.lo, b.hi)))
        return -(1 << (width - 1)), (1 << (width - 1)) - 1

    return bounds


def _quotient_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    a, b = args
    most = max(abs(a.lo), abs(a.hi))
    if a.lo >= 0 and b.lo >= 0:
        return 0, most
    return -most, most


def _remainder_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    a, b = args
    most = max(abs(a.lo), abs(a.hi))
    if b.lo > 0 or b.hi < 0:
        most = min(most, max(abs(b.lo), abs(b.hi)) - 1)
    return (0 if a.lo >= 0 else -most), (most if a.hi > 0 else 0)


def _low_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    (a,), (n,) = args, attrs
    if a.lo >= 0 and a.hi < (1 << n):
        return a.lo, a.hi
    return 0, (1 << n) - 1


def _signed_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    (a,), (n,) = args, attrs
    limit = 1 << (n - 1)
    if -limit <= a.lo and a.hi < limit:
        return a.lo, a.hi
    return -limit, limit - 1


def _lookup_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    (index,), (table,) = args, attrs
    reached = table[index.lo : index.hi + 1]
    return min(reached), max(reached)


def _truth_range(args: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[int, int]:
    return 0, 1


OPERATIONS: dict[str, Operator] = {
    # integers
    "add": Operator(lambda a, b: a + b, lambda t, _: (t[0].lo + t[1].lo, t[0].hi + t[1].hi)),
    "sub": Operator(lambda a, b: a - b, lambda t, _: (t[0].lo - t[1].hi, t[0].hi - t[1].lo)),
    "mul": Operator(lambda a, b: a * b, _corners(lambda x, y: x * y)),
    "and": Operator(lambda a, b: a & b, _bitwise("and")),
    "or": Operator(lambda a, b: a | b, _bitwise("or")),
    "xor": Operator(lambda a, b: a ^ b, _bitwise("xor")),
    "shl": Operator(lambda a, n: a << n, _corners(lambda x, n: x << n)),
    "shr": Operator(lambda a, n: a >> n, _corners(lambda x, n: x >> n)),
    "quotient": Operator(quotient, _quotient_range),
    "remainder": Operator(remainder, _remainder_range),
    "low": Operator(low, _low_range),
    "signed": Operator(signed, _signed_range),
    "bit_length": Operator(
        lambda a: a.bit_length(), lambda t, _: (max(t[0].lo, 0).bit_length(), max(t[0].hi, 0).bit_length())
    ),
    "root": Operator(math.isqrt, lambda t, _: (math.isqrt(max(t[0].lo, 0)), math.isqrt(max(t[0].hi, 0)))),
    "popcount": Operator(lambda a: a.bit_count(), lambda t, _: (0, max(t[0].hi, 1).bit_length())),
    "lookup": Operator(lambda i, table: table[i], _lookup_range),
    "select": Operator(lambda c, a, b: a if c else b, lambda t, _: (min(t[1].lo, t[2].lo), max(t[1].hi, t[2].hi))),
    # the same number, whose range is known better than its expression tells
    "bounded": Operator(lambda a, lo, hi: a, lambda t, attrs: attrs),
    # truth values
    "eq": Operator(lambda a, b: a == b, _truth_range, truth=True),
    "lt": Operator(lambda a, b: a < b, _truth_range, truth=True),
    "not": Operator(lambda a: not a, _truth_range, truth=True),
    "all": Operator(lambda a, b: a and b, _truth_range, truth=True),
    "any": Operator(lambda a, b: a or b, _truth_range, truth=True),
    "differ": Operator(lambda a, b: a != b, _truth_range, truth=True),
    # a named function whose meaning is another term, and a result that PTX leaves open: see vocabulary.py
    "call": Operator(None, lambda t, attrs: (0, (1 << attrs[1]) - 1)),
    "freedom": Operator(None, lambda t, attrs: (0, (1 << attrs[1]) - 1)),
}
