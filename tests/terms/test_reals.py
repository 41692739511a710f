"""Real numbers by enclosures: against the decimal module, which rounds correctly, and the mathematical library."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from ptxspec.terms.reals import (
    QUARTER_TURN,
    Real,
    UndecidedComparison,
    cosine,
    floor_log2,
    hyperbolic_tangent,
    logarithm,
    nearest_by,
    power_of_two,
    real,
    sine,
    square_root,
)

PLACES = 120


def arguments(seed: int, least: int, most: int) -> list[Fraction]:
    source = random.Random(seed)
    found = [Fraction(source.uniform(-1, 1) * 10 ** source.randint(least, most)) for _ in range(300)]
    return [*found, Fraction(1, 3), Fraction(-7, 5), Fraction(1, 1 << 40)]


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def encloses(x: Real, want: Decimal) -> bool:
    """Whether the enclosure is narrow and holds the number, which itself may be off in its last places."""
    lo, hi = x.enclose(PLACES)
    slack = abs(want) * Decimal(10) ** -70
    return (
        hi - lo <= 4
        and decimal(Fraction(lo, 1 << PLACES)) - slack <= want <= decimal(Fraction(hi, 1 << PLACES)) + slack
    )


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda q: square_root(abs(q)), lambda d: abs(d).sqrt()),
        (lambda q: logarithm(abs(q)), lambda d: abs(d).ln() / Decimal(2).ln()),
        (power_of_two, lambda d: (d * Decimal(2).ln()).exp()),
        (hyperbolic_tangent, lambda d: 1 - 2 / ((2 * d).exp() + 1)),
    ],
    ids=["square root", "logarithm", "power of two", "hyperbolic tangent"],
)
def test_the_decimal_module_agrees(function: Callable[[Fraction], Real], wanted: Callable[[Decimal], Decimal]) -> None:
    with localcontext() as context:
        context.prec = 90
        for q in arguments(1, -3, 2):
            assert encloses(function(q), wanted(decimal(q))), q


@pytest.mark.parametrize(("function", "wanted"), [(sine, math.sin), (cosine, math.cos)])
def test_the_mathematical_library_agrees(
    function: Callable[[Fraction], Real], wanted: Callable[[float], float]
) -> None:
    for q in arguments(2, -6, 30):
        lo, hi = function(q).enclose(PLACES)
        middle = float(Fraction(lo + hi, 2 << PLACES))
        assert hi - lo <= 4 and abs(middle - wanted(float(q))) <= 3e-16, q


def test_sines_obey_their_equations() -> None:
    """sin² + cos² = 1 and sin 2x = 2 sin x cos x, to far more places than floating-point numbers have."""
    for q in arguments(3, -2, 8)[:100]:
        s, c, d = (Fraction(f.enclose(300)[0], 1 << 300) for f in (sine(q), cosine(q), sine(2 * q)))
        assert abs(s * s + c * c - 1) < Fraction(1, 1 << 290)
        assert abs(2 * s * c - d) < Fraction(1, 1 << 290)


def test_a_quarter_turn() -> None:
    published = 0x3_243F6A88_85A308D3_13198A2E_03707344  # π · 2^128
    assert [end >> 20 for end in QUARTER_TURN.enclose(127)] == [published >> 2 + 20] * 2
    assert QUARTER_TURN * 2 > Fraction("3.14159265358979323846") and QUARTER_TURN * -2 > Fraction(
        "-3.14159265358979323847"
    )


def test_what_is_exact_is_known_to_be() -> None:
    assert square_root(Fraction(9, 4)).exact == Fraction(3, 2) and square_root(2).exact is None
    assert power_of_two(-3).exact == Fraction(1, 8) and logarithm(Fraction(1, 8)).exact == -3
    assert sine(0).exact == 0 and cosine(0).exact == 1 and hyperbolic_tangent(0).exact == 0
    assert (real(Fraction(1, 3)) + real(Fraction(1, 6))).exact == Fraction(1, 2)
    assert real(Fraction(1, 3)) <= Fraction(1, 3) and not real(Fraction(1, 3)) < Fraction(1, 3)


def test_comparisons_and_arithmetic() -> None:
    two = square_root(2)
    assert two > Fraction(14142135623730950488, 10**19) and two < Fraction(14142135623730950489, 10**19)
    assert abs(-two) > 1 and (two - 2) < 0 and two.scaled(3) > 11 and two.scaled(-200) < Fraction(1, 1 << 199)
    assert two + two > two * 2 - Fraction(1, 1 << 500)
    with pytest.raises(UndecidedComparison):
        assert two < square_root(2)


def test_the_exponent_of_a_number() -> None:
    for q in (Fraction(1), Fraction(1, 3), Fraction(7, 2), Fraction(8), Fraction(1, 1 << 149)):
        k = floor_log2(real(q))
        assert Fraction(2) ** k <= q < Fraction(2) ** (k + 1)
    assert floor_log2(square_root(2)) == 0 and floor_log2(square_root(Fraction(1, 2))) == -1


def test_rounding_asks_until_it_is_decided() -> None:
    """A number that differs from a middle only after a hundred places."""
    asked: list[int] = []

    def integer(size: int, exponent: int) -> int:
        asked.append(-exponent)
        return (size + (1 << -exponent >> 1)) >> -exponent

    assert nearest_by(real(Fraction(5, 2)) + square_root(2).scaled(-100), integer) == 3
    assert nearest_by(real(Fraction(5, 2)) - square_root(2).scaled(-100), integer) == 2
    assert max(asked) >= 128
