"""Division, reciprocals and square roots against rational arithmetic and NumPy."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.compiled_loops import run_native
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.terms.types import TYPES

SIGN, INFINITY, LEAST_NORMAL, GREATEST = 1 << 31, 0x7F800000, 1 << 23, 0x7F7FFFFF
ROUNDINGS = ("rn", "rz", "rm", "rp")
SPECIAL = special(TYPES["f32"])


def value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def is_nan(bits: int) -> bool:
    return bits & ~SIGN > INFINITY


def rounded(q: Fraction, rounding: str, ftz: bool) -> int:
    """The f32 pattern of a fraction that is not zero."""
    sign = SIGN if q < 0 else 0
    size = abs(q)
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size < Fraction(2) ** top
    unit = top - 23 if ftz else max(top - 23, -149)
    scaled = q / Fraction(2) ** unit
    count = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[rounding](scaled)
    result = abs(count) * Fraction(2) ** unit
    if ftz and result < Fraction(2) ** -126:
        return sign
    if result >= Fraction(2) ** 128:
        away = rounding == "rn" or rounding == ("rm" if sign else "rp")
        return sign | (INFINITY if away else GREATEST)
    return sign | struct.unpack("<I", struct.pack("<f", float(result)))[0]


def quotient(x: int, y: int, rounding: str, ftz: bool) -> int | None:
    """x / y; None for a NaN."""
    if ftz:
        x, y = (v & SIGN if v & ~SIGN < LEAST_NORMAL else v for v in (x, y))
    if is_nan(x) or is_nan(y):
        return None
    p, q, sign = value(x), value(y), (x ^ y) & SIGN
    if (p == 0 and q == 0) or (math.isinf(p) and math.isinf(q)):
        return None
    if math.isinf(p) or q == 0:
        return sign | INFINITY
    if p == 0 or math.isinf(q):
        return sign
    return rounded(Fraction(p) / Fraction(q), rounding, ftz)


def root(x: int, rounding: str, ftz: bool) -> int | None:
    if ftz and x & ~SIGN < LEAST_NORMAL:
        x &= SIGN
    p = value(x)
    if is_nan(x) or p < 0:
        return None
    if p == 0 or math.isinf(p):
        return x
    exact = Fraction(p)
    unit = math.frexp(p)[1] // 2 - 40  # fine enough for the result's 24 bits, and even finer
    scaled = exact / Fraction(4) ** unit
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    left_over = floor * floor != scaled
    return rounded((Fraction(floor) + (Fraction(1, 2) if left_over else 0)) * Fraction(2) ** unit, rounding, False)


def bits_of(values: np.ndarray) -> list[int]:
    return values.astype(np.float32).view(np.uint32).tolist()


def pairs(seed: int, count: int) -> list[tuple[int, int]]:
    """Operands of every kind: special ones, random ones, and such that the quotient lies about the least normal number, about
    the greatest, or about the middle of two numbers."""
    rng = np.random.default_rng(seed)
    found = [*itertools.product(SPECIAL, SPECIAL)]
    found += [tuple(row) for row in rng.integers(0, 1 << 32, (count, 2)).tolist()]
    y = rng.integers(1 << 23, 1 << 24, count).astype(np.float64)
    for low, high, step in ((-126, -126, 2.0**-24), (-149, -126, 2.0**-24), (128, 128, 2.0**-24), (0, 1, 2.0**-25)):
        exponent = rng.integers(low, high + 1, count)
        near = 1 + rng.integers(-3, 4, count) * step
        shift = rng.integers(-20, 20, count)
        with np.errstate(over="ignore"):
            x = np.ldexp(y * near, exponent // 2 + shift)
            found += zip(bits_of(x), bits_of(np.ldexp(y, -(exponent - exponent // 2) + shift)), strict=True)
    signs = rng.integers(0, 4, len(found)).tolist()
    return [(x ^ (s & 1) << 31, y ^ (s >> 1) << 31) for (x, y), s in zip(found, signs, strict=True)]


def native(mnemonic: str, table: list[tuple[int, ...]]) -> list[int]:
    form = next(f for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)
    return run_native([form.meaning()], [table])[0][0].tolist()


def check(mnemonic: str, table: list[tuple[int, ...]], wanted: Iterable[int | None]) -> None:
    for row, got, want in zip(table, native(mnemonic, table), wanted, strict=True):
        shown = f"{mnemonic} of {', '.join(map(hex, row))}: {got:#x}"
        assert is_nan(got) if want is None else got == want, shown


@pytest.mark.sample(4)
@pytest.mark.parametrize("ftz", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_single_precision_quotients(rounding: str, ftz: bool) -> None:
    table: list[Any] = pairs(ROUNDINGS.index(rounding), 3_000)
    results = [quotient(x, y, rounding, ftz) for x, y in table]
    check(f"div.{rounding}{'.ftz' if ftz else ''}.f32", table, results)
    # the rows do reach the edge that .ftz is about
    assert sum(r is not None and r & ~SIGN == LEAST_NORMAL for r in results) > 40


@pytest.mark.sample(4)
@pytest.mark.parametrize("ftz", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_single_precision_reciprocals(rounding: str, ftz: bool) -> None:
    source = np.random.default_rng(7)
    table = [(v,) for v in [*SPECIAL, *source.integers(0, 1 << 32, 8_000).tolist()]]
    table += [(v | s,) for v in range(0x7E800000 - 500, 0x7E800000 + 500) for s in (0, SIGN)]
    table += [(v,) for v in range(0x00200000 - 500, 0x00200000 + 500)]
    one = 0x3F800000
    check(f"rcp.{rounding}{'.ftz' if ftz else ''}.f32", table, [quotient(one, x, rounding, ftz) for (x,) in table])


@pytest.mark.sample(4)
@pytest.mark.parametrize("ftz", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_single_precision_roots(rounding: str, ftz: bool) -> None:
    source = np.random.default_rng(8)
    table = [(v,) for v in [*SPECIAL, *source.integers(0, 1 << 32, 12_000).tolist()]]
    squares = source.integers(1, 1 << 12, 1_000).astype(np.float32) ** 2
    table += [(v + d,) for v in bits_of(squares) for d in (-1, 0, 1)]
    check(f"sqrt.{rounding}{'.ftz' if ftz else ''}.f32", table, [root(x, rounding, ftz) for (x,) in table])


def test_the_exact_interpretation_gives_the_same() -> None:
    """The definitions' own integers, on fewer rows."""
    table = pairs(5, 40)[::3]
    for rounding, ftz in itertools.product(ROUNDINGS, (False, True)):
        for x, y in table:
            text = (
                f"div.{rounding}{'.ftz' if ftz else ''}.f32 d, a, b; sqrt.{rounding}{'.ftz' if ftz else ''}.f32 e, a;"
            )
            results = ptxspec.evaluate(text, a=x, b=y)
            for got, want in ((results["d"], quotient(x, y, rounding, ftz)), (results["e"], root(x, rounding, ftz))):
                assert is_nan(got) if want is None else got == want, (hex(x), hex(y), rounding, ftz)


def doubles(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    near = rng.standard_normal(count).view(np.uint64)
    return np.concatenate(
        [np.array(special(TYPES["f64"]), np.uint64), rng.integers(0, 1 << 64, count, np.uint64), near]
    )


def test_double_precision_is_ieee_arithmetic() -> None:
    x = doubles(1, 60_000)
    y = np.random.default_rng(2).permutation(doubles(3, 60_000))
    table = list(zip(x.tolist(), y.tolist(), strict=True))
    p, q = x.view(np.float64), y.view(np.float64)
    with np.errstate(all="ignore"):
        for mnemonic, rows, want in (
            ("div.rn.f64", table, p / q),
            ("rcp.rn.f64", [(v,) for v in x.tolist()], 1 / p),
            ("sqrt.rn.f64", [(v,) for v in x.tolist()], np.sqrt(p)),
        ):
            got = np.array(native(mnemonic, rows), np.uint64)
            number = ~np.isnan(want)
            assert (got[number] == want.view(np.uint64)[number]).all(), mnemonic
            assert np.isnan(got[~number].view(np.float64)).all(), mnemonic


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
def test_double_precision_is_directed(rounding: str) -> None:
    """The result and its neighbour on the other side enclose the exact number, which rational arithmetic decides."""
    table = [(x, y) for x, y in zip(doubles(4, 1_500).tolist(), doubles(5, 1_500)[::-1].tolist(), strict=True)]
    numbers = [
        (*map(from_bits, row), from_bits(got))
        for row, got in zip(table, native(f"div.{rounding}.f64", table), strict=True)
    ]
    compared = 0
    for x, y, got in numbers:
        if not all(map(math.isfinite, (x, y))) or 0 in (x, y):
            continue
        enclosed(got, Fraction(x) / Fraction(y), rounding)
        compared += 1
    assert compared > 2_000
    for x, got in zip(table, native(f"sqrt.{rounding}.f64", [row[:1] for row in table]), strict=True):
        p, r = from_bits(x[0]), from_bits(got)
        if p > 0 and math.isfinite(p):
            up = rounding == "rp"
            inner, outer = (math.nextafter(r, 0), r) if up else (r, math.nextafter(r, math.inf))
            assert Fraction(inner) ** 2 <= Fraction(p) <= Fraction(outer) ** 2
            assert Fraction(inner if up else outer) ** 2 != Fraction(p)


def from_bits(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def enclosed(got: float, exact: Fraction, rounding: str) -> None:
    """`got` is `exact` rounded in a direction."""
    down = rounding == "rm" or (rounding == "rz" and exact > 0)
    if math.isinf(got):
        assert abs(exact) > Fraction(1.7976931348623157e308) and (got > 0) != down and rounding != "rz"
        return
    beyond = math.nextafter(got, math.inf if down else -math.inf)
    if down:
        assert Fraction(got) <= exact and (math.isinf(beyond) or exact < Fraction(beyond))
    else:
        assert Fraction(got) >= exact and (math.isinf(beyond) or exact > Fraction(beyond))
