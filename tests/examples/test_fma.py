"""Tests of the fused multiply-add of the examples against exact rational arithmetic."""

import itertools
import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
fma32 = runpy.run_path(str(ROOT / "docs" / "examples" / "fma.py"))["fma32"]

SIGN = 0x80000000
INFINITY = 0x7F800000
SMALLEST_EXPONENT = -149  # the unit in the last place of subnormal numbers is 2 ** -149

SPECIAL = [
    0x00000000,  # zero
    0x00000001,  # the smallest subnormal number
    0x00000002,
    0x00400000,
    0x007FFFFF,  # the largest subnormal number
    0x00800000,  # the smallest normal number
    0x00800001,
    0x00FFFFFF,
    0x1A800000,  # 2 ** -74, and its neighbours: squares near half the smallest subnormal number
    0x1A7FFFFF,
    0x1A800001,
    0x33800000,  # 2 ** -24
    0x33800001,
    0x3F7FFFFF,  # the largest number below one
    0x3F800000,  # one
    0x3F800001,
    0x3FC00000,
    0x4B7FFFFF,
    0x4B800000,  # 2 ** 24
    0x4B800001,
    0x5F7FFFFF,
    0x5F800000,  # 2 ** 64
    0x7F000000,
    0x7F7FFFFF,  # the largest finite number
    0x7F800000,  # infinity
    0x7FC00000,  # not a number
]


def from_bits(bits: int) -> float:
    """Return the value of a float32 bit pattern, as a Python float, which holds it exactly."""
    return float(np.uint32(bits).view(np.float32))


def round_to_bits(value: Fraction) -> int:
    """Return the bits of the float32 number nearest to a nonzero value, ties to even."""
    sign = SIGN if value < 0 else 0
    magnitude = abs(value)
    # The exponent of the leading bit: 2 ** exponent <= magnitude < 2 ** (exponent + 1).
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - 23, SMALLEST_EXPONENT)
    significand = round(magnitude / Fraction(2) ** unit)  # round() of a Fraction takes ties to even
    # A carry out of the significand runs into the exponent field, as it should.
    bits = (unit - SMALLEST_EXPONENT) * 2**23 + significand
    return sign | min(bits, INFINITY)


def exact_fma_bits(a_bits: int, b_bits: int, c_bits: int) -> int | None:
    """Return the bits of the correctly rounded a * b + c, or None for a NaN."""
    a, b, c = from_bits(a_bits), from_bits(b_bits), from_bits(c_bits)
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isfinite(a) and math.isfinite(b):
            total = c  # an infinity or a NaN decides, however large the finite product is
        else:
            total = a * b + c
        return None if math.isnan(total) else INFINITY | (SIGN if total < 0 else 0)
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        product_sign = (a_bits ^ b_bits) & SIGN
        both_zero = a * b == 0 and c == 0
        return SIGN if both_zero and product_sign and c_bits & SIGN else 0
    return round_to_bits(value)


def check(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """Compare fma32 with the exact result for arrays of bit patterns."""
    result = fma32(a.view(np.float32), b.view(np.float32), c.view(np.float32))
    assert result.dtype == np.float32
    for a_bits, b_bits, c_bits, bits in zip(
        a.tolist(), b.tolist(), c.tolist(), result.view(np.uint32).tolist(), strict=True
    ):
        wanted = exact_fma_bits(a_bits, b_bits, c_bits)
        operands = f"{a_bits:#010x} * {b_bits:#010x} + {c_bits:#010x}"
        if wanted is None:
            assert math.isnan(from_bits(bits)), operands
        else:
            assert bits == wanted, operands


def random_bits(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return random bit patterns."""
    return rng.integers(0, 2**32, count, dtype=np.uint32)


def test_special_operands() -> None:
    """All triples of special operands of both signs."""
    values = SPECIAL + [bits | SIGN for bits in SPECIAL]
    # Negating a and b together changes nothing, so a positive a covers the signs.
    triples = np.array(list(itertools.product(SPECIAL, values, values)), dtype=np.uint32)
    check(*(column.copy() for column in triples.T))


def test_random_bits() -> None:
    """Operands of all exponents."""
    rng = np.random.default_rng(1)
    check(*(random_bits(rng, 20_000) for _ in range(3)))


def test_nearby_magnitudes() -> None:
    """Addends of about the size of the product, where the roundings and cancellations are."""
    rng = np.random.default_rng(2)
    count = 20_000
    a, b = (rng.standard_normal(count, dtype=np.float32) for _ in range(2))
    shift = rng.integers(-60, 60, count)
    c = np.ldexp(rng.standard_normal(count), shift).astype(np.float32)
    check(*(x.view(np.uint32) for x in (a, b, c)))


def test_cancellation() -> None:
    """Addends that cancel the rounded product, or miss it by a few units in the last place."""
    rng = np.random.default_rng(3)
    count = 20_000
    a, b = (rng.standard_normal(count, dtype=np.float32) for _ in range(2))
    c = (-(a * b)).view(np.uint32) + rng.integers(-2, 3, count).astype(np.uint32)
    check(a.view(np.uint32), b.view(np.uint32), c)


def test_subnormal_results() -> None:
    """Products and sums around the smallest normal number and below."""
    rng = np.random.default_rng(4)
    count = 20_000
    a, b, c = (rng.uniform(-2, 2, count) for _ in range(3))
    exponent = rng.integers(-90, -40, count)
    total = rng.integers(-155, -120, count)
    operands = (np.ldexp(a, exponent), np.ldexp(b, total - exponent), np.ldexp(c, total - 2))
    check(*(x.astype(np.float32).view(np.uint32) for x in operands))


def test_overflow_threshold() -> None:
    """Products around the largest finite number."""
    rng = np.random.default_rng(5)
    count = 10_000
    a, b, c = (rng.uniform(1, 2, count) for _ in range(3))
    sign = rng.choice([-1.0, 1.0], count)
    operands = (np.ldexp(a, 63) * sign, np.ldexp(b, 63), np.ldexp(c, rng.integers(90, 127, count)))
    check(*(x.astype(np.float32).view(np.uint32) for x in operands))


@pytest.mark.parametrize("factor", [4097, 4099])
def test_double_rounding(factor: int) -> None:
    """Tiny addends must break the tie of a product halfway between two float32 numbers.

    4097 * 4097 and 4097 * 4099 are odd numbers of 25 bits, that is, such midpoints, and adding a tiny
    number in float64 leaves them unchanged.
    """
    tiny = [0x00000000, 0x00000001, 0x00800000, 0x2F800000, 0x33800000]
    addends = np.array([bits | sign for bits in tiny for sign in (0, SIGN)], dtype=np.uint32)
    for sign in (1, -1):
        a = np.full(len(addends), sign * 4097, dtype=np.float32)
        b = np.full(len(addends), factor, dtype=np.float32)
        check(a.view(np.uint32), b.view(np.uint32), addends)


def test_broadcasting() -> None:
    """Scalars and arrays broadcast."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(fma32(np.float32(2), x, x[0]), 2 * x + x[0])
    assert fma32(2.0, 3.0, 4.0) == 10
