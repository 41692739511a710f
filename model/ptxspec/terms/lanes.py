"""Bounds of approximate results, asked of many operands side by side.

A page says in Python which bits are near enough to an exact number, of one operand and with fractions. Here the same function
is asked of a column of operands. Patterns are variables, whose terms compiled code evaluates; numbers are intervals of double
precision that enclose the exact ones. Python takes a branch if the condition has one answer in all lanes. Where it has several
the lanes are parted, and the function is asked again of each part. Lanes of which an interval does not tell, because the exact
number lies too near to the bound, are left to whoever asks: one by one the page's function decides them with fractions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ptxspec.terms.core import HERE, Bool, Int, TermError, integer, variable
from ptxspec.terms.loops import CompiledLoop, RowLoop
from ptxspec.terms.reals import Many, Real, UndecidedComparison
from ptxspec.terms.reals import floor_log2 as exponent_of
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import low_bits

Column: TypeAlias = "np.ndarray[Any, Any]"
#: one end of the intervals: of each lane, or of all
End: TypeAlias = "np.ndarray[Any, Any] | float"

#: how far a library's function may be from the exact number, relative to it: thousands of times what libraries are off by
MARGIN = 2.0**-40
#: the same of one operation of IEEE 754, which is off by half a unit
UNIT = 2.0**-52
#: numbers below this are told from zero by nobody
LEAST = 2.0**-1000
#: the least normal number of double precision: below it, a product or a quotient is off by more than half a unit
NORMAL = 2.0**-1022
#: exponents from this to its negative are those of powers of two that are told apart from zero and from infinity
LEAST_EXPONENT = -1000
#: whole numbers up to this have sums that are exact
WHOLE = 2.0**40
#: whole numbers up to this are numbers of double precision
EXACT = 1 << 53
#: bits of an operand, whose lanes a column of double precision holds exactly
WIDEST = 32
#: lanes that are asked about one by one
FEW = 4
_FUNCTIONS: dict[str, Any] = {
    "power_of_two": np.exp2, "logarithm": np.log2, "sine": np.sin, "cosine": np.cos, "hyperbolic_tangent": np.tanh,
}  # fmt: skip


class Parted(Exception):
    """A condition has several answers: where it is true, and where false; elsewhere it is not known."""

    def __init__(self, true: Column, false: Column):
        super().__init__()
        self.true, self.false = true, false


class UnfitLanes(Exception):
    """The lanes cannot be asked about side by side."""


def _branch(true: Any, false: Any, count: int) -> bool:
    """The one answer that a condition has in all lanes. Raises Parted."""
    if np.all(true):
        return True
    if np.all(false):
        return False
    raise Parted(np.broadcast_to(true, count), np.broadcast_to(false, count))


def _below(x: End) -> End:
    return x - np.abs(x) * UNIT


def _above(x: End) -> End:
    return x + np.abs(x) * UNIT


class Lanes(Many):
    """Intervals from `low` to `high`, each of which encloses an exact number; both are the same array if the numbers are known.
    `is_power` says that all are powers of two, and `is_whole` that they are small integers: then the ends are, or
    infinities."""

    __slots__ = ("count", "high", "is_power", "is_whole", "low")

    def __init__(self, low: End, high: End, count: int, is_power: bool = False, is_whole: bool = False):
        self.low, self.high, self.count = low, high, count
        self.is_power, self.is_whole = is_power, is_whole

    @property
    def is_known(self) -> bool:
        """Whether the numbers are the ends themselves."""
        return self.low is self.high

    @property
    def exact(self) -> Lanes:
        """As a Real says it: to be compared with a number."""
        return self

    def _made(self, low: End, high: End, is_power: bool = False, is_whole: bool = False) -> Lanes:
        return Lanes(low, high, self.count, is_power, is_whole)

    def _taken(self, x: Any) -> Lanes:
        """Another number of a computation. Raises TypeError for what is none."""
        if isinstance(x, Lanes):
            return x
        low, high = _ends(x)
        is_whole = low == high and abs(low) <= WHOLE and low == int(low)
        return self._made(low, low if low == high else high, is_whole=is_whole)

    # Arithmetic ---------------------------------------------------------------------------------------------------------

    def __neg__(self) -> Lanes:
        low = -self.high
        return self._made(low, low if self.is_known else -self.low, is_whole=self.is_whole)

    def __abs__(self) -> Lanes:
        return -self if self < 0 else self

    def __add__(self, other: Any) -> Lanes:
        right = self._taken(other)
        low = self.low + right.low
        high = low if self.is_known and right.is_known else self.high + right.high
        if self.is_whole and right.is_whole:
            return self._made(low, high, is_whole=True)
        return self._made(_below(low), _above(high))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Lanes:
        return self + -self._taken(other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._taken(other) + -self

    def __mul__(self, other: Any) -> Lanes:
        right = self._taken(other)
        if (self.is_power or right.is_power) and self.is_known and right.is_known:
            product = self.low * right.low
            size = np.abs(product)
            if np.all((size > LEAST) & (size < 1 / LEAST)):  # far from both ends of double precision: exact
                return self._made(product, product)
        return self._corners(right, np.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Lanes:
        divisor = self._taken(other)
        if divisor == 0:
            raise ZeroDivisionError("a quotient by zero")
        return self._corners(divisor, np.divide)

    def __rtruediv__(self, other: Any) -> Lanes:
        return self._taken(other) / self

    def _corners(self, other: Lanes, operation: Any) -> Lanes:
        """A product or a quotient by its values at the ends."""
        if self.is_known and other.is_known:
            exact = operation(self.low, other.low)
            return self._made(_below(exact) - NORMAL, _above(exact) + NORMAL)
        corners = [operation(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return self._made(_below(np.minimum.reduce(corners)) - NORMAL, _above(np.maximum.reduce(corners)) + NORMAL)

    def __floordiv__(self, divisor: int) -> Lanes:
        if not (self.is_whole and self.is_known):
            raise UnfitLanes("a whole quotient of what is not whole, or not known")
        low = np.floor_divide(self.low, divisor)
        return self._made(low, low, is_whole=True)

    def __rpow__(self, base: Any) -> Lanes:
        if base != 2:
            raise UnfitLanes("powers of another number than 2")
        return self._power()

    def _power(self) -> Lanes:
        """2^x of whole numbers, or of intervals. Raises Unfit for a whole number whose power is not one of double precision."""
        if self.is_known:
            if not self.is_whole or np.any(np.abs(self.low) > -LEAST_EXPONENT):
                raise UnfitLanes("a power of two that double precision does not have")
            value = _powers(self.low)
            return self._made(value, value, is_power=True)
        low = np.where(np.less(self.low, LEAST_EXPONENT), 0.0, _powers(np.floor(self.low)))
        return self._made(np.minimum(low, 1 / LEAST), _powers(np.ceil(self.high)))

    def scaled(self, exponent: Any) -> Lanes:
        """x · 2^exponent."""
        power = self._taken(exponent)._power() if isinstance(exponent, Lanes) else self._taken(Fraction(2) ** exponent)
        return self * self._made(power.low, power.high, is_power=True)

    def powers_of(self, factor: Real) -> Lanes:
        return self._power() * factor

    # Functions ----------------------------------------------------------------------------------------------------------

    def each(self, name: str) -> Lanes:
        if name == "real":
            return self
        if name == "floor_log2":
            return self._exponents()
        if not self.is_known and name != "square_root":
            raise UnfitLanes(f"{name} of a number that is not known")
        if name == "square_root":
            low = np.sqrt(self.low)
            high = low if self.is_known else np.sqrt(self.high)
            return self._made(low * (1 - UNIT), high * (1 + UNIT))
        value = _FUNCTIONS[name](self.low)
        error = np.abs(value) * MARGIN + (MARGIN if name in ("sine", "cosine") else LEAST)
        low, high = value - error, value + error
        if name == "power_of_two":  # what is beyond double precision lies between its greatest number and infinity
            low = np.maximum(np.where(value == np.inf, 1 / LEAST, low), 0.0)
        return self._made(low, high)

    def _exponents(self) -> Lanes:
        """The exponents of the greatest powers of two that are not above numbers that are greater than 0; of intervals, those of
        their ends."""
        if np.any(np.less_equal(self.high, 0)):
            raise UnfitLanes("no exponent")
        low = _exponent(self.low)
        if self.is_known:
            return self._made(low, low, is_whole=True)
        high = _exponent(self.high)
        same = np.array_equal(low, high) and bool(np.all(np.isfinite(low)))  # a NaN is equal to nothing
        return self._made(low, low if same else high, is_whole=True)

    # Comparisons --------------------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> bool:
        right = self._taken(other)
        return _branch(self.high < right.low, self.low >= right.high, self.count)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        return self._taken(other) < self

    def __le__(self, other: Any) -> bool:
        return not self._taken(other) < self

    def __eq__(self, other: object) -> bool:
        right = self._taken(other)
        apart = (self.high < right.low) | (self.low > right.high)
        same = (self.low == right.low) & (self.high == right.high) & (self.low == self.high)
        return _branch(same, apart, self.count)

    __hash__ = None  # type: ignore[assignment]


#: powers of two, from the one that is least in double precision to one that is infinite there
_POWERS = np.ldexp(1.0, np.arange(-1074, 1025).clip(max=1023))
_POWERS[-1] = np.inf


def _powers(exponents: End) -> End:
    """2^x of whole numbers; of those that are too small or too large for double precision its least number, and infinity. Raises
    Unfit if one is not known at all."""
    if np.any(np.isnan(exponents)):
        raise UnfitLanes("a power of an exponent that is not known")
    powers: End = _POWERS.take(np.clip(exponents, -1074, 1024).astype(np.intp) + 1074)
    return powers


def _exponent(x: End) -> End:
    """The exponents of numbers that are greater than 0; −∞ for the others, and NaN for what is not known at all."""
    exponent = np.where(np.greater(x, 0), np.frexp(x)[1] - 1.0, -np.inf)
    return np.where(np.isnan(x), np.nan, np.where(np.isposinf(x), np.inf, exponent))


def _ends(x: Any) -> tuple[float, float]:
    """The interval of one number. Raises TypeError for what is none."""
    if isinstance(x, Real):
        if x.exact is not None:
            return _around(x.exact)
        places = 80 - exponent_of(abs(x))
        low, high = x.enclose(places)
        unit = Fraction(1, 2) ** places
        return _around(low * unit)[0], _around(high * unit)[1]
    return _around(Fraction(x))


@lru_cache(1 << 10)
def _around(x: Fraction) -> tuple[float, float]:
    try:
        near = float(x)
    except OverflowError:
        near = math.inf if x > 0 else -math.inf
    if math.isinf(near):
        return (1 / LEAST, math.inf) if x > 0 else (-math.inf, -1 / LEAST)
    below, exact = Fraction(near), Fraction(near) == x
    if exact:
        return near, near
    return (near, math.nextafter(near, math.inf)) if below < x else (math.nextafter(near, -math.inf), near)


class Conditions:
    """Terms over some variables as compiled functions, each compiled once. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, CompiledLoop, tuple[str, ...]]] = {}
        self._lock = threading.Lock()

    def evaluated(self, term: Any, columns: dict[str, Column], count: int) -> Column:
        """A term's values: of truth values, of integers of 32 bits, or else of 64."""
        if term.op == "const":
            return np.full(count, term.attrs[0])
        with self._lock:
            entry = self._known.get(id(term))
            if entry is None:
                entry = self._known[id(term)] = self._compiled(term)
        _, compiled, names = entry
        (values,) = compiled([columns[name] for name in names], count)
        if isinstance(term, Bool):
            return values
        return values.view(f"i{values.itemsize}") if term.lo < 0 else values

    def _compiled(self, term: Any) -> tuple[Any, CompiledLoop, tuple[str, ...]]:
        names = tuple(sorted(_variables(term)))
        known, HERE.known = HERE.known, None  # what makes code branches on no term
        try:
            return term, CompiledLoop(_loop(term, names), _none), names
        finally:
            HERE.known = known


def _loop(term: Any, names: tuple[str, ...]) -> RowLoop:
    """A term over variables of 32 bits as a loop. Raises Unfit for a term that is too wide."""
    if isinstance(term, Bool):
        type = TYPES["pred"]
    elif term.hi - min(term.lo, 0) >= 1 << 62:
        raise UnfitLanes("a number of more than 62 bits")
    else:
        narrow = -(1 << 31) <= term.lo and term.hi < 1 << (31 if term.lo < 0 else 32)
        type = TYPES["u32" if narrow else "u64"]
    return RowLoop(tuple((name, TYPES["u32"], True) for name in names), ((type, term),))


def _none(freedom: Any) -> Any:
    raise UnfitLanes("an open result within a bound")


def _variables(term: Any) -> set[str]:
    seen, stack, variables = set(), [term], set()
    while stack:
        reached = stack.pop()
        if id(reached) not in seen:
            seen.add(id(reached))
            stack.extend(reached.args)
            if reached.op == "var":
                variables.add(reached.attrs[0])
    return variables


class _Group:
    """Lanes of which a function is asked: what is known of the terms over their patterns."""

    def __init__(self, columns: dict[str, Column], count: int, conditions: Conditions):
        self.columns, self.count, self.conditions = columns, count, conditions

    def value(self, term: Any) -> int:
        """The value that a term has in all lanes. Raises Parted."""
        if term.op == "const":
            return int(term.attrs[0])
        values = self.conditions.evaluated(term, self.columns, self.count)
        if isinstance(term, Bool):
            return _branch(values, ~values, self.count)
        same = values == values[0]
        _branch(same, ~same, self.count)
        return int(values[0])

    def number(self, size: Int, exponent: Int) -> Lanes:
        """size · 2^exponent in each lane."""
        size, exponent = integer(size), integer(exponent)
        if size.lo < -EXACT or size.hi > EXACT or exponent.lo < LEAST_EXPONENT or exponent.hi > -LEAST_EXPONENT:
            raise UnfitLanes("numbers that double precision does not have")
        whole, power = (self.conditions.evaluated(t, self.columns, self.count) for t in (size, exponent))
        value = whole * _powers(power)
        return Lanes(value, value, self.count)


class Judge:
    """Which bits an approximate result may have, asked of many operands. Raises Unfit for operands that are too wide."""

    def __init__(self, freedom: Any):
        self._width, self._allowed = freedom.attrs[1], freedom.attrs[4].allowed
        widths = [a.hi.bit_length() for a in freedom.args]
        if self._width > WIDEST or any(w > WIDEST or a.lo < 0 for w, a in zip(widths, freedom.args, strict=True)):
            raise UnfitLanes(f"operands of more than {WIDEST} bits")
        #: the freedom's operands whose values have to be given, by their places
        self.places = tuple(i for i, a in enumerate(freedom.args) if a.op != "const")
        self._operands = [
            a.attrs[0] if a.op == "const" else low_bits(variable(f"%{i}", WIDEST), w)
            for i, (a, w) in enumerate(zip(freedom.args, widths, strict=True))
        ]
        self._conditions = Conditions()

    def __call__(self, bits: Column, operands: Sequence[Column]) -> tuple[Column, Column]:
        """(whether bits are allowed, whether that is known) in each lane: columns of 32 bits each, of the operands at the
        judge's `places`."""
        columns = {f"%{i}": c for i, c in zip(self.places, operands, strict=True)} | {"%bits": bits}
        allowed, known = np.zeros(bits.size, bool), np.zeros(bits.size, bool)
        waiting: list[Any] = [slice(None)] if bits.size else []
        while waiting:
            lanes = waiting.pop()
            given = columns if isinstance(lanes, slice) else {n: c[lanes] for n, c in columns.items()}
            count = given["%bits"].size
            if count <= FEW:
                continue
            try:
                allowed[lanes] = self._is_allowed(_Group(given, count, self._conditions))
                known[lanes] = True
            except Parted as parts:
                every = np.arange(bits.size) if isinstance(lanes, slice) else lanes
                waiting += [every[part] for part in (parts.true, parts.false) if part.any()]
            except (UnfitLanes, TermError, UndecidedComparison, ArithmeticError, ValueError, TypeError):
                continue  # the page's function is to be asked of one operand at a time
        return allowed, known

    def _is_allowed(self, group: _Group) -> bool:
        HERE.known = group
        try:
            with np.errstate(all="ignore"):
                return bool(self._allowed(low_bits(variable("%bits", WIDEST), self._width), *self._operands))
        finally:
            HERE.known = None
