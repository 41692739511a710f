"""Names of bytes and lanes, told as ranges."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.+)\[(\d+)\]")


def grouped(names: Iterable[str]) -> list[str]:
    """Names with those of bytes, or lanes, that follow one another as one: `p[4..7]`."""
    found: list[tuple[str, int, int]] = []
    others: list[str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            others.append(name)
            continue
        of, number = match[1], int(match[2])
        if found and found[-1][0] == of and found[-1][2] == number - 1:
            found[-1] = of, found[-1][1], number
        else:
            found.append((of, number, number))
    return others + [f"{of}[{a}]" if a == b else f"{of}[{a}..{b}]" for of, a, b in found]
