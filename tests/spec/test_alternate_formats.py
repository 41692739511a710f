"""Every pattern of every alternate format, and the numbers around them: against fractions, and NumPy where it has the type."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from ptxspec.spec.types.alternate_formats import signed_again

from ptxspec.language.forms import registry
from ptxspec.terms import FALSE, TRUE, TYPES, Type, integer
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate

PAGES = registry().pages
NUMBERS = PAGES["ptxspec.spec.arithmetic.floating_point"]
ROUNDING = PAGES["ptxspec.spec.arithmetic.rounding"]
FORMATS = PAGES["ptxspec.spec.types.alternate_formats"]


class Layout(NamedTuple):
    """A format as its table has it: bits of exponent and fraction, the bias, and the patterns without sign that are no finite
    numbers."""

    exponent: int
    fraction: int
    bias: int
    infinity: int | None
    nans: range


LAYOUTS = {
    "f16": Layout(5, 10, 15, 0x7C00, range(0x7C01, 0x8000)),
    "bf16": Layout(8, 7, 127, 0x7F80, range(0x7F81, 0x8000)),
    "tf32": Layout(8, 10, 127, 0x3FC00, range(0x3FC01, 0x40000)),
    "e5m2": Layout(5, 2, 15, 0x7C, range(0x7D, 0x80)),
    "e4m3": Layout(4, 3, 7, None, range(0x7F, 0x80)),
    "e3m2": Layout(3, 2, 3, None, range(0)),
    "e2m3": Layout(2, 3, 1, None, range(0)),
    "e2m1": Layout(2, 1, 1, None, range(0)),
}


def type_of(name: str) -> Type:
    return FORMATS.SHORT_SINGLE if name == "tf32" else TYPES[name]


def decoded(name: str, pattern: int) -> Fraction | str:
    """The oracle: what a pattern stands for."""
    own = LAYOUTS[name]
    size = pattern & ((1 << own.exponent + own.fraction) - 1)
    if size in own.nans:
        return "nan"
    sign = -1 if pattern != size else 1
    if size == own.infinity:
        return "inf" if sign > 0 else "-inf"
    field, fraction = size >> own.fraction, size & ((1 << own.fraction) - 1)
    if field == 0:
        return sign * Fraction(fraction) * Fraction(2) ** (1 - own.bias - own.fraction)
    return sign * (1 + Fraction(fraction, 1 << own.fraction)) * Fraction(2) ** (field - own.bias)


def known(term: Any) -> int:
    """The value of a term over constants."""
    return int(term.attrs[0])


@cache
def reading(name: str) -> tuple[Any, ...]:
    """The terms that the pages make of a pattern x: sign, NaN, infinity, significand, scale."""
    type = type_of(name)
    x = variable("x", type.width)
    of = (NUMBERS.is_negative, NUMBERS.is_nan, NUMBERS.is_infinite, NUMBERS.significand, NUMBERS.scale)
    return tuple(f(x, type) for f in of)


def here(name: str, pattern: int) -> Fraction | str:
    """What the pages make of a pattern."""
    memo: dict[int, Any] = {}
    negative, nan, infinite, size, scale = (evaluate(t, {"x": pattern}, memo=memo) for t in reading(name))
    if nan:
        return "nan"
    if infinite:
        return "-inf" if negative else "inf"
    number = size * Fraction(2) ** scale
    return -number if negative else number


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [n for n in LAYOUTS if n != "tf32"])
@pytest.mark.slow
def test_every_pattern_is_the_number_it_stands_for(name: str) -> None:
    for pattern in range(1 << type_of(name).width):
        assert here(name, pattern) == decoded(name, pattern), hex(pattern)


def test_the_oracle_reads_half_precision_as_numpy_does() -> None:
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for pattern, value in enumerate(values.tolist()):
        wanted = decoded("f16", pattern)
        assert (
            math.isnan(value)
            if wanted == "nan"
            else value == (wanted if isinstance(wanted, Fraction) else float(wanted))
        )


def test_the_oracle_reads_bf16_as_the_upper_half_of_a_single() -> None:
    values = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    for pattern, value in enumerate(values.tolist()):
        wanted = decoded("bf16", pattern)
        assert (
            math.isnan(value)
            if wanted == "nan"
            else value == (wanted if isinstance(wanted, Fraction) else float(wanted))
        )


def test_tf32_is_a_single_without_its_last_bits() -> None:
    for pattern in range(0, 1 << 19, 37):
        value = np.array(pattern << 13, np.uint32).view(np.float32).item()
        wanted = decoded("tf32", pattern)
        assert wanted == here("tf32", pattern)
        assert (
            math.isnan(value)
            if wanted == "nan"
            else value == (wanted if isinstance(wanted, Fraction) else float(wanted))
        )


def rounded(name: str, rounding: str, number: Fraction) -> int:
    """A number, whose denominator is a power of two, rounded by the pages."""
    exponent = -(number.denominator.bit_length() - 1)
    negative = TRUE if number < 0 else FALSE
    return known(ROUNDING.rounded(type_of(name), rounding, negative, integer(abs(number.numerator)), exponent))


def steps(name: str) -> list[int]:
    """The finite patterns without sign whose neighbours are tried: all, or those of a wide format at which something ends."""
    own = LAYOUTS[name]
    greatest = (own.infinity if own.infinity is not None else (1 << own.exponent + own.fraction) - len(own.nans)) - 1
    if greatest < 1 << 10:
        return list(range(greatest))
    edges = [k << own.fraction for k in range(1 << own.exponent)]
    near = {greatest - 1} | {e + d for e in edges for d in (-1, 0)} | set(range(0, greatest, greatest // 60))
    return sorted(p for p in near if 0 <= p < greatest)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LAYOUTS)
def test_what_lies_between_two_numbers_is_rounded_to_one_of_them(name: str) -> None:
    sign = 1 << type_of(name).width - 1
    for below in steps(name):
        low, high = decoded(name, below), decoded(name, below + 1)
        assert isinstance(low, Fraction) and isinstance(high, Fraction)
        middle, hair = (low + high) / 2, (high - low) / 1024
        even = below + (below & 1)
        for number, near, away in (
            (low, below, below),
            (low + hair, below, below),
            (middle - hair, below, below),
            (middle, even, below + 1),
            (middle + hair, below + 1, below + 1),
            (high - hair, below + 1, below + 1),
        ):
            cut, up = below, below if number == low else below + 1
            for rounding, positive, negative in (
                ("rn", near, near),
                ("rna", away, away),
                ("rz", cut, cut),
                ("rm", cut, up),
                ("rp", up, cut),
            ):
                assert rounded(name, rounding, number) == positive, (rounding, number)
                if number:
                    assert rounded(name, rounding, -number) == negative | sign, (rounding, -number)


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_too_large(name: str) -> None:
    own = LAYOUTS[name]
    greatest = steps(name)[-1] + 1
    last, before = decoded(name, greatest), decoded(name, greatest - 1)
    assert isinstance(last, Fraction) and isinstance(before, Fraction)
    beyond = own.infinity if own.infinity is not None else greatest
    for number, nearest in (
        (last + (last - before) / 4, greatest),
        (last + (last - before) / 2, beyond),
        (last * 8, beyond),
    ):
        sign = 1 << type_of(name).width - 1
        assert rounded(name, "rn", number) == nearest
        assert rounded(name, "rz", number) == greatest
        assert rounded(name, "rm", -number) == sign | beyond
        assert rounded(name, "rp", -number) == sign | greatest


def test_every_pattern_of_ue4m3() -> None:
    for pattern in range(1 << 7):
        again = known(signed_again(integer(pattern)))
        wanted = decoded("e4m3", pattern)
        assert here("e4m3", again) == wanted
        assert known(signed_again(integer(1 << 7 | pattern))) == again  # there are seven bits
        if isinstance(wanted, Fraction):
            exponent = -(wanted.denominator.bit_length() - 1)
            assert known(FORMATS.to_ue4m3("rn", integer(wanted.numerator), exponent)) == pattern
    assert known(FORMATS.to_ue4m3("rn", integer(1000), 0)) == 0x7E


def test_every_pattern_of_ue8m0() -> None:
    for pattern in range(1 << 8):
        assert known(FORMATS.is_nan_of_powers(integer(pattern))) == (pattern == 255)
        if pattern < 255:
            exponent = pattern - 127
            assert known(FORMATS.power(integer(pattern))) == exponent
            for rounding in ("rz", "rp"):
                assert known(FORMATS.to_power(rounding, integer(1), exponent)) == pattern
            # one and a half times the power
            assert known(FORMATS.to_power("rz", integer(3), exponent - 1)) == pattern
            assert known(FORMATS.to_power("rp", integer(3), exponent - 1)) == min(pattern + 1, 254)
    assert known(FORMATS.to_power("rz", integer(0), 0)) == known(FORMATS.to_power("rp", integer(0), 0)) == 0
    assert known(FORMATS.to_power("rz", integer(1), -200)) == 0
    assert known(FORMATS.to_power("rz", integer(1), 200)) == 254


def test_every_pattern_of_s2f6() -> None:
    for pattern in range(1 << 8):
        number = Fraction(pattern - 256 if pattern > 127 else pattern, 64)
        assert known(FORMATS.units(integer(pattern))) == number * 64
        assert -2 <= number <= Fraction(127, 64)
        for rest, near, cut in (
            (0, 0, 0),
            (1, 0, 0),
            (2, number.numerator * 64 // number.denominator % 2, 0),
            (3, 1, 0),
        ):
            size = abs(number) + Fraction(rest, 256)  # a quarter of a unit and more, away from zero
            negative = number < 0
            for rounding, more in (("rn", near), ("rz", cut)):
                count = abs(number) * 64 + more
                count = min(count, 127) if not negative else min(count, 128)
                wanted = -count if negative else count
                exponent = -(size.denominator.bit_length() - 1)
                got = known(FORMATS.to_fixed(rounding, TRUE if negative else FALSE, integer(size.numerator), exponent))
                assert got == int(wanted) % 256, (pattern, rest, rounding)
    assert known(FORMATS.to_fixed("rn", FALSE, integer(1), 100)) == 0x7F
    assert known(FORMATS.to_fixed("rn", TRUE, integer(1), 100)) == 0x80
