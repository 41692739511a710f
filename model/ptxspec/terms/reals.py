"""Real numbers, known as closely as anyone asks: what correct rounding and bounds on errors are decided with.

A `Real` gives whole numbers lo ≤ x · 2^n ≤ hi for any n, the closer together the larger n is. A comparison asks for more
places until it is decided. Everything is computed with Python's integers and rounded outward at every step, so that an answer
never rests on an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, wraps
from typing import Any, TypeAlias, TypeVar, cast

from ptxspec.terms.core import HERE, Int

#: places after which a comparison is given up: two numbers so near to one another are equal, or the question is wrong
MOST_PLACES = 1 << 15
Enclosure: TypeAlias = tuple[int, int]
Decision = TypeVar("Decision", bound=Callable[..., Any])


class UndecidedComparison(ArithmeticError):
    """Two numbers could not be told apart."""


class Many:
    """Numbers side by side, of which a function of a page is asked as of one: it takes part in arithmetic with fractions and
    with a `Real`. Python branches on a comparison of many as long as it has one answer for all of them. `lanes` has them."""

    def each(self, name: str) -> Any:
        """A function of this module, by its name, of each."""
        raise NotImplementedError

    def powers_of(self, factor: Real) -> Any:
        """factor · 2^x for each x."""
        raise NotImplementedError


def _of_each(function: Decision) -> Decision:
    """Let a function of one number be one of many, too."""

    @wraps(function)
    def either(x: Any) -> Any:
        return x.each(function.__name__) if isinstance(x, Many) else function(x)

    return cast(Decision, either)


class Real:
    """A real number. `exact` is its value if it is a fraction that is known as one."""

    def __init__(self, enclose: Callable[[int], Enclosure], exact: Fraction | None = None):
        self.enclose, self.exact = enclose, exact

    def __repr__(self) -> str:
        if self.exact is not None:
            return f"Real({self.exact})"
        return f"Real(about {self.enclose(64)[0] / 2**64})"

    def __neg__(self) -> Real:
        if self.exact is not None:
            return real(-self.exact)

        def enclose(n: int) -> Enclosure:
            lo, hi = self.enclose(n)
            return -hi, -lo

        return Real(enclose)

    def __add__(self, other: Real | Fraction | int) -> Real:
        if isinstance(other, Many):
            return NotImplemented
        other = real(other)
        if self.exact is not None and other.exact is not None:
            return real(self.exact + other.exact)

        def enclose(n: int) -> Enclosure:
            (a, b), (c, d) = self.enclose(n), other.enclose(n)
            return a + c, b + d

        return Real(enclose)

    def __sub__(self, other: Real | Fraction | int) -> Real:
        if isinstance(other, Many):
            return NotImplemented
        return self + -real(other)

    def __mul__(self, other: Real | Fraction | int) -> Real:
        if isinstance(other, Many):
            return NotImplemented
        other = real(other)
        if self.exact is not None and other.exact is not None:
            return real(self.exact * other.exact)

        def enclose(n: int) -> Enclosure:
            w = max(n, 0) + 32
            corners = [x * y for x in self.enclose(w) for y in other.enclose(w)]
            return min(corners) >> (2 * w - n), -(-max(corners) >> (2 * w - n))

        return Real(enclose)

    def __abs__(self) -> Real:
        return -self if self < 0 else self

    def scaled(self, exponent: int) -> Real:
        """x · 2^exponent."""
        if isinstance(exponent, Many):
            product: Real = exponent.powers_of(self)
            return product
        if self.exact is not None:
            return real(self.exact * Fraction(2) ** exponent)

        def enclose(n: int) -> Enclosure:
            if n + exponent >= 0:
                return self.enclose(n + exponent)
            lo, hi = self.enclose(0)
            return lo >> -(n + exponent), -(-hi >> -(n + exponent))

        return Real(enclose)

    def _sign_of_difference(self, other: Real | Fraction | int) -> int:
        other = real(other)
        if self.exact is not None and other.exact is not None:
            return (self.exact > other.exact) - (self.exact < other.exact)
        n = 64
        while n <= MOST_PLACES:
            (a, b), (c, d) = self.enclose(n), other.enclose(n)
            if b < c or d < a:
                return -1 if b < c else 1
            n *= 2
        raise UndecidedComparison(f"{self!r} and {other!r} agree in {MOST_PLACES} places")

    def __lt__(self, other: Real | Fraction | int) -> bool:
        return NotImplemented if isinstance(other, Many) else self._sign_of_difference(other) < 0

    def __le__(self, other: Real | Fraction | int) -> bool:
        return NotImplemented if isinstance(other, Many) else self._sign_of_difference(other) <= 0

    def __gt__(self, other: Real | Fraction | int) -> bool:
        return NotImplemented if isinstance(other, Many) else self._sign_of_difference(other) > 0

    def __ge__(self, other: Real | Fraction | int) -> bool:
        return NotImplemented if isinstance(other, Many) else self._sign_of_difference(other) >= 0


def dyadic(size: Int, exponent: Int) -> Fraction:
    """size · 2^exponent, of terms that are known: one number, or many of them while many are asked about."""
    if HERE.known is not None:
        number: Fraction = HERE.known.number(size, exponent)
        return number
    return size.__index__() * Fraction(2) ** exponent.__index__()


@_of_each
def real(x: Real | Fraction | int) -> Real:
    """A fraction as a Real."""
    if isinstance(x, Real):
        return x
    value = Fraction(x)
    numerator, denominator = value.numerator, value.denominator

    def enclose(n: int) -> Enclosure:
        return (numerator << n) // denominator, -((-numerator << n) // denominator)

    return Real(enclose, value)


@_of_each
def floor_log2(x: Real) -> int:
    """The exponent of the greatest power of two that is not above x > 0."""
    if x.exact is not None:
        guess = x.exact.numerator.bit_length() - x.exact.denominator.bit_length()
        return guess if Fraction(2) ** guess <= x.exact else guess - 1
    n = 64
    while n <= MOST_PLACES:
        lo, hi = x.enclose(n)
        if lo > 0 and lo.bit_length() == hi.bit_length():
            return lo.bit_length() - 1 - n
        n *= 2
    raise UndecidedComparison(f"{x!r} and a power of two agree in {MOST_PLACES} places")


# Functions of fractions ------------------------------------------------------------------------------------------------
#
# Below, a pair (lo, hi) of integers stands for an interval in units of 2^-w.


def _times(x: Enclosure, y: Enclosure, w: int) -> Enclosure:
    corners = [a * b for a in x for b in y]
    return min(corners) >> w, -(-max(corners) >> w)


def _over(x: Enclosure, k: int) -> Enclosure:
    return x[0] // k, -(-x[1] // k)


def _divided(x: Enclosure, y: Enclosure, w: int) -> Enclosure:
    """x / y, for a y that is positive."""
    corners = [Fraction(a << w, b) for a in x for b in y]
    return math.floor(min(corners)), math.ceil(max(corners))


def _sum(x: Enclosure, y: Enclosure) -> Enclosure:
    return x[0] + y[0], x[1] + y[1]


def _difference(x: Enclosure, y: Enclosure) -> Enclosure:
    return x[0] - y[1], x[1] - y[0]


def _series(first: Enclosure, factor: Enclosure, divisors: Callable[[int], tuple[int, int]], w: int) -> Enclosure:
    """Σ term(k) / b(k), where term(0) = first, term(k) = term(k − 1) · factor / a(k), and divisors(k) = (a(k), b(k)). From the
    second on, each term is less than half of the one before, so that all which follow one are together less than it."""
    total, term, k = (0, 0), first, 0
    while True:
        a, b = divisors(k)
        if k:
            term = _over(_times(term, factor, w), a)
        total = _sum(total, _over(term, b))
        k += 1
        if max(abs(term[0]), abs(term[1])) <= 2:  # what follows is less than the same again
            return total[0] - 2, total[1] + 2


def _fixed(q: Fraction, w: int) -> Enclosure:
    return (q.numerator << w) // q.denominator, -((-q.numerator << w) // q.denominator)


def _exponential(y: Enclosure, w: int) -> Enclosure:
    """e^y for 0 ≤ y < 0.7."""
    return _series((1 << w, 1 << w), y, lambda k: (max(k, 1), 1), w)


def _sine(y: Enclosure, w: int) -> Enclosure:
    """For |y| < 0.8."""
    square = _times(y, y, w)
    return _series(y, (-square[1], -square[0]), lambda k: (2 * k * (2 * k + 1) if k else 1, 1), w)


def _cosine(y: Enclosure, w: int) -> Enclosure:
    square = _times(y, y, w)
    return _series((1 << w, 1 << w), (-square[1], -square[0]), lambda k: (2 * k * (2 * k - 1) if k else 1, 1), w)


def _area_tangent(z: Enclosure, w: int) -> Enclosure:
    """artanh z for |z| ≤ 0.4."""
    return _series(z, _times(z, z, w), lambda k: (1, 2 * k + 1), w)


def _arc_tangent_of_inverse(k: int, w: int) -> Enclosure:
    z = _fixed(Fraction(1, k), w)
    square = _times(z, z, w)
    return _series(z, (-square[1], -square[0]), lambda i: (1, 2 * i + 1), w)


@cache
def _ln2(w: int) -> Enclosure:
    lo, hi = _area_tangent(_fixed(Fraction(1, 3), w), w)
    return 2 * lo, 2 * hi


@cache
def _half_pi(w: int) -> Enclosure:
    """π/2 = 8 · arctan 1/5 − 2 · arctan 1/239."""
    (a, b), (c, d) = _arc_tangent_of_inverse(5, w), _arc_tangent_of_inverse(239, w)
    return 8 * a - 2 * d, 8 * b - 2 * c


def _computed(compute: Callable[[int], Enclosure], extra: int = 0) -> Real:
    """The number that compute(w) encloses in units of 2^-w; `extra` places are added to those asked for."""

    def enclose(n: int) -> Enclosure:
        w = n + 32 + extra
        lo, hi = compute(w)
        return lo >> (w - n), -(-hi >> (w - n))

    return Real(enclose)


#: π/2
QUARTER_TURN = _computed(_half_pi)


@_of_each
def square_root(q: Fraction | int) -> Real:
    """√q for q ≥ 0."""
    q = Fraction(q)
    top, bottom = math.isqrt(q.numerator), math.isqrt(q.denominator)
    if top * top == q.numerator and bottom * bottom == q.denominator:
        return real(Fraction(top, bottom))

    def enclose(n: int) -> Enclosure:
        root = math.isqrt((q.numerator << 2 * n) // q.denominator)
        return root, root + 1

    return Real(enclose)


@_of_each
def power_of_two(q: Fraction | int) -> Real:
    """2^q."""
    q = Fraction(q)
    whole = math.floor(q)
    if whole == q:
        return real(Fraction(2) ** whole)
    fraction = q - whole
    base = _computed(lambda w: _exponential(_times(_fixed(fraction, w), _ln2(w), w), w))
    return base.scaled(whole)


@_of_each
def logarithm(q: Fraction | int) -> Real:
    """log₂ q. Raises ValueError unless q > 0."""
    q = Fraction(q)
    if q <= 0:
        raise ValueError(f"{q} has no logarithm")
    whole = floor_log2(real(q))
    fraction = q / Fraction(2) ** whole
    if fraction == 1:
        return real(whole)
    ratio = (fraction - 1) / (fraction + 1)

    def compute(w: int) -> Enclosure:
        lo, hi = _area_tangent(_fixed(ratio, w), w)
        return _divided((2 * lo, 2 * hi), _ln2(w), w)

    return _computed(compute) + whole


def _turned(q: Fraction, quarter: int) -> Real:
    """sin(q + quarter · π/2)."""
    size = max(0, q.numerator.bit_length() - q.denominator.bit_length() + 1)

    def compute(w: int) -> Enclosure:
        half_pi = _half_pi(w)
        quarters = round(q * (1 << w) / half_pi[0])
        turned = (half_pi[0] * quarters, half_pi[1] * quarters)
        rest = _difference(_fixed(q, w), (min(turned), max(turned)))
        lo, hi = [_sine, _cosine][(quarters + quarter) % 2](rest, w)
        return (lo, hi) if (quarters + quarter) % 4 < 2 else (-hi, -lo)

    return _computed(compute, extra=2 * size)


@_of_each
def sine(q: Fraction | int) -> Real:
    """sin q, of radians."""
    return _turned(Fraction(q), 0) if q else real(0)


@_of_each
def cosine(q: Fraction | int) -> Real:
    """cos q, of radians."""
    return _turned(Fraction(q), 1) if q else real(1)


@_of_each
def hyperbolic_tangent(q: Fraction | int) -> Real:
    """tanh q, for |q| ≤ 1000."""
    q = Fraction(q)
    if not q:
        return real(0)
    if q < 0:
        return -hyperbolic_tangent(-q)

    def compute(w: int) -> Enclosure:
        # e^−2q = 2^−i · e^y, with y = i · ln 2 − 2q in [0, 0.7)
        ln2 = _ln2(w)
        whole = -(-2 * q * (1 << w) // ln2[0])
        y = _difference((whole * ln2[0], whole * ln2[1]), _fixed(2 * q, w))
        lo, hi = _exponential((max(y[0], 0), max(y[1], 0)), w)
        small = (lo >> whole, -(-hi >> whole))
        unit = (1 << w, 1 << w)
        return _divided(_difference(unit, small), _sum(unit, small), w)

    return _computed(compute, extra=16)


def nearest_by(x: Real, rounded: Callable[[int, int], Any]) -> Any:
    """rounded(size, exponent), asked with more and more places of x until what is left over cannot matter any more."""
    n = 64
    while n <= MOST_PLACES:
        lo, hi = x.enclose(n)
        result = rounded(lo, -n)
        if lo == hi or ((lo > 0) == (hi > 0) and result == rounded(hi, -n)):
            return result
        n *= 2
    raise UndecidedComparison(f"{x!r} lies too near to the middle of two numbers")
