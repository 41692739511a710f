"""Numbers of a text: the one place where digits become a number, whatever their count."""

from __future__ import annotations

import math
import struct

#: so many significant digits decide every integer that a text may hold, in any base; Python reads no more than 4,300
MOST_DIGITS = 100


class TooLarge(ValueError):
    """More digits than any number that a text may hold."""


def integer_of(digits: str, base: int = 10) -> int:
    """The integer that digits of a base stand for. Raises TooLarge where there are more than a hundred after the zeros that they
    begin with, and ValueError for what is no digit of the base.

    >>> integer_of("0" * 9000 + "7", 8)
    7
    """
    significant = digits.lstrip("0") or "0"
    if len(significant) > MOST_DIGITS:
        raise TooLarge("too many digits")
    return int(significant, base)


def double_of(text: str) -> int | None:
    """The bits of the double nearest to a decimal fraction, None where that is beyond the range of doubles: too great, or zero
    for what is none. The time is in proportion to the length."""
    number = float(text)
    digits = text.lower().partition("e")[0]
    if math.isinf(number) or (number == 0 and digits.strip("0.")):
        return None
    bits: int = struct.unpack("<Q", struct.pack("<d", number))[0]
    return bits
