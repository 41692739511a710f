"""The symbolic interpretation: terms become z3 bit-vectors of the exact widths.

Registers are bits throughout. z3's floating-point theory, which has one NaN, is entered only inside the operations it
supplies, and a definition never looks at what those give for a NaN: NaN results are chosen outside, by rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from ptxspec.terms.exact import unchosen
from ptxspec.terms.lowering import Lowering

_SORTS = {"f16": z3.Float16, "bf16": lambda: z3.FPSort(8, 8), "f32": z3.Float32, "f64": z3.Float64}
_ROUNDING = {"rn": z3.RNE, "rz": z3.RTZ, "rm": z3.RTN, "rp": z3.RTP}
#: what this interpretation supplies
SUPPLIED = {"sum": z3.fpAdd, "product": z3.fpMul, "fused": z3.fpFMA, "ratio": z3.fpDiv, "square_root": z3.fpSqrt}
_BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "lshr": z3.LShR,
    "ashr": lambda x, y: x >> y,
    "udiv": z3.UDiv,
    "sdiv": lambda x, y: x / y,
    "urem": z3.URem,
    "srem": z3.SRem,
}
_COMPARE = {"eq": lambda x, y: x == y, "ult": z3.ULT, "slt": lambda x, y: x < y}
_LOGIC = {"and": z3.And, "or": z3.Or, "xor": z3.Xor}


class Solver:
    """A backend whose values are z3 expressions. `free(term, lowering)` gives the expression for a freedom."""

    def __init__(self, free: Callable[[Any, Lowering], Any] | None = None):
        self.free = free
        #: whether the solver's floating-point arithmetic was used
        self.has_floats = False

    def room(self, n: int) -> int:
        return n

    def const(self, value: int, n: int) -> Any:
        return z3.BitVecVal(value, n)

    def truth_const(self, value: bool) -> Any:
        return z3.BoolVal(value)

    def truncate(self, v: Any, n: int, to: int) -> Any:
        return z3.Extract(to - 1, 0, v)

    def extend(self, v: Any, n: int, to: int, signed: bool) -> Any:
        return (z3.SignExt if signed else z3.ZeroExt)(to - n, v)

    def binary(self, op: str, x: Any, y: Any, n: int) -> Any:
        return _BINARY[op](x, y)

    def select(self, c: Any, x: Any, y: Any, n: int) -> Any:
        return z3.If(c, x, y)

    def compare(self, op: str, x: Any, y: Any, n: int) -> Any:
        return _COMPARE[op](x, y)

    def logic(self, op: str, x: Any, y: Any) -> Any:
        return _LOGIC[op](x, y)

    def bit_length(self, v: Any, n: int) -> Any:
        """By halves, from the top: the half that holds the highest 1 goes on, and which one it is, is a bit of that one's place.
        What is left in the end says whether there is a 1 at all. So its text is as long as n has bits, not as n is wide."""
        if n == 1:
            return v
        places = (n - 1).bit_length()
        left, place = z3.ZeroExt((1 << places) - n, v), []
        for half in (1 << i for i in reversed(range(places))):
            upper = z3.Extract(2 * half - 1, half, left)
            is_above = upper != 0
            left = z3.If(is_above, upper, z3.Extract(half - 1, 0, left))
            place.append(z3.If(is_above, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)))
        highest = z3.Concat(*place) if places > 1 else place[0]
        return z3.ZeroExt(n - places, highest) + z3.ZeroExt(n - 1, left)

    def popcount(self, v: Any, n: int) -> Any:
        """The sum of the bits, added as a balanced tree."""
        parts = [z3.ZeroExt(n - 1, z3.Extract(i, i, v)) if n > 1 else v for i in range(n)]
        while len(parts) > 1:
            parts = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]
        return parts[0]

    def lookup(self, table: tuple[int, ...], v: Any, n: int, to: int) -> Any:
        """By halves, from the index's top bit down."""
        if n == 0 or len(table) == 1:
            return z3.BitVecVal(table[0], to)
        half = 1 << (n - 1)
        below = self.lookup(table[:half], v, n - 1, to)
        if len(table) <= half:
            return below
        return z3.If(z3.Extract(n - 1, n - 1, v) == 1, self.lookup(table[half:], v, n - 1, to), below)

    def invalid(self, name: str, type: Any, operands: Callable[[], list[Any]]) -> Any:
        return None

    def supplies(self, name: str, static: tuple[Any, ...]) -> bool:
        return name in SUPPLIED and static[0].name in _SORTS

    def call(self, name: str, static: tuple[Any, ...], args: list[Any]) -> Any:
        self.has_floats = True
        type, rounding, ftz = static
        sort, mode = _SORTS[type.name](), _ROUNDING[rounding]()
        numbers = [z3.fpBVToFP(a, sort) for a in args]
        result = z3.fpToIEEEBV(SUPPLIED[name](mode, *numbers))
        if not ftz:
            return result
        # the same operation with room below: what is then smaller than the least normal number is flushed
        wide = z3.FPSort(sort.ebits() + 2, sort.sbits())
        unbounded = SUPPLIED[name](mode, *[z3.fpFPToFP(z3.RNE(), n, wide) for n in numbers])
        least = z3.fpFPToFP(z3.RNE(), z3.fpBVToFP(z3.BitVecVal(1 << (sort.sbits() - 1), type.width), sort), wide)
        sign = z3.BitVecVal(1 << (type.width - 1), type.width)
        return z3.If(z3.fpLT(z3.fpAbs(unbounded), least), result & sign, result)

    def freedom(self, term: Any, lowering: Lowering) -> Any:
        if self.free is None:
            return lowering.low(unchosen(term), term.attrs[1])
        return self.free(term, lowering)
