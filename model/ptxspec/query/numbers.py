"""Operands as they are written on a command line: numbers in decimal, and bits in the notation of PTX.

`1`, `-2.5`, `1e30`, `inf` and `nan` are numbers: of an operand that is an integer the integer, of one that is a floating-point
number the nearest of its format. `0x1f`, `0b101`, `0f3f800000` and `0d3ff0000000000000` are bits.
"""

from __future__ import annotations

import re
from fractions import Fraction

from ptxspec import contracts
from ptxspec.terms.reals import real
from ptxspec.terms.types import TYPES, Type

#: characters of a number, and the greatest power of ten that is worth computing
LONGEST, MOST_TENS = 1000, 10_000
_BITS = re.compile(r"(-?)0(?:[xX](?P<hex>[0-9a-fA-F]+)|[bB](?P<binary>[01]+))")
_REAL_BITS = re.compile(r"0[fF](?P<single>[0-9a-fA-F]{8})|0[dD](?P<double>[0-9a-fA-F]{16})")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_OCTAL = re.compile(r"[+-]?0[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<tens>[+-]?[0-9]+))?")
_NO_NUMBER = re.compile(r"[+-]?(?:(?P<infinity>inf|infinity)|nan)", re.I)


class InvalidValue(ValueError):
    """A text that is no value of a type; what is wrong with it, without saying of which operand."""


def bits_of_text(text: str, type: Type, width: int | None = None) -> int | bool:
    """What is written as the bits of a register of `width` (that of the type, if it is not given) in which an instruction sees
    the type. Raises Unfit."""
    width = type.width if width is None else width
    if len(text) > LONGEST:
        raise InvalidValue(f"a number of {len(text):,} characters is too long")
    if type.kind == "pred":
        if text.lower() in ("true", "false", "0", "1"):
            return text.lower() in ("true", "1")
        raise InvalidValue(f"{text!r} is neither true nor false")
    if match := _BITS.fullmatch(text):
        value = int(match["hex"], 16) if match["hex"] else int(match["binary"], 2)
        return _word(text, -value if match[1] else value, -(1 << (width - 1)) if type.kind in "bus" else 0, width)
    if match := _REAL_BITS.fullmatch(text):
        size = 32 if match["single"] else 64
        if size != width:
            raise InvalidValue(f"{text} has {size} bits, not {width}")
        return int(text[2:], 16)
    if _OCTAL.fullmatch(text):
        raise InvalidValue(f"{text} would be octal in PTX: write it in hexadecimal, or without the zero in front")
    if _INTEGER.fullmatch(text) and type.kind in "bus":
        return _integer(text, type, width)
    if _DECIMAL.fullmatch(text) or _NO_NUMBER.fullmatch(text):
        return _real(text, type)
    raise InvalidValue(
        f"{text!r} is no number: write it as 7, -2.5, 1e30, inf or nan, or its bits as 0x1f, 0b101 or 0f3f800000"
    )


def _word(text: str, value: int, least: int, width: int) -> int:
    if not least <= value < 1 << width:
        raise InvalidValue(f"{text} does not fit into {width} bits")
    return value & ((1 << width) - 1)


def _integer(text: str, type: Type, width: int) -> int:
    value = int(text)
    if type.kind == "b":
        return _word(text, value, -(1 << (width - 1)), width)
    if type.name != f"{type.kind}{type.width}":
        raise InvalidValue(f"{text}: pass its bits, as 0x1f")
    if not type.min <= value <= type.max:
        raise InvalidValue(f"{text} is out of range, which is {type.min} to {type.max}")
    return value & ((1 << width) - 1)


def _real(text: str, type: Type) -> int:
    if type.is_integer:
        raise InvalidValue(f"{text} is no integer")
    if type.kind == "b" and f"f{type.width}" in TYPES:
        type = TYPES[f"f{type.width}"]
    page = contracts.floating_point
    try:
        page.exponent_bits(type)
    except KeyError:
        many = f"it holds {type.elements} values side by side: " if type.elements > 1 else ""
        raise InvalidValue(f"{text}: {many}pass its bits, as 0x1f") from None
    sign = page.sign_mask(type) if text.startswith("-") else 0
    if match := _NO_NUMBER.fullmatch(text):
        if not page.has_infinities(type):
            raise InvalidValue(f"{text}: the format has no such value, or several; pass its bits, as 0x1f")
        return sign | page.infinity(type) | (0 if match["infinity"] else page.quiet_bit(type))
    return sign | nearest(_fraction(text.lstrip("+-"), text), type, text)


def _fraction(text: str, shown: str) -> Fraction:
    """The number, or one that rounds as it does."""
    match = _DECIMAL.fullmatch(text)
    assert match is not None
    digits, tens = Fraction(match["digits"]), int(match["tens"] or 0)
    if not digits or tens < -MOST_TENS:
        return Fraction(0)
    if tens > MOST_TENS:
        raise InvalidValue(f"{shown} is beyond the range")
    return digits * Fraction(10) ** tens


def nearest(value: Fraction, type: Type, shown: str = "") -> int:
    """The pattern of a format that is nearest to a number that is not negative, as spec/arithmetic/approximation.md rounds.
    Raises Unfit for what is rounded to infinity, or lies beyond a format that has none."""
    page = contracts.floating_point
    rounding = contracts.approximation
    pattern = rounding.nearest(type, real(value))
    most = page.greatest(type)
    if pattern > most or (not page.has_infinities(type) and value > rounding.value(most, type)):
        raise InvalidValue(f"{shown or value} is beyond the range")
    return pattern
