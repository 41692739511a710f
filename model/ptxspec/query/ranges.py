"""Names of bytes and lanes, told as ranges, and long lists of names in short."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: the names of a list that are told in short
MOST = 8
#: a note with a list of names: what comes before them, they, and what follows
_LIST = re.compile(r"(.*?: )(.*?)(\.(?: [A-Z].*)?)")

_NUMBERED = re.compile(r"(.+)\[(\d+)\]")


def grouped(names: Iterable[str]) -> list[str]:
    """Names with those of bytes, or lanes, whose numbers follow one another as one: `p[4..7]`."""
    numbers: dict[str, list[int]] = {}
    others: list[str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            others.append(name)
        else:
            numbers.setdefault(match[1], []).append(int(match[2]))
    return others + [f"{of}[{run}]" for of, those in numbers.items() for run in _runs(sorted(those))]


def _runs(numbers: list[int]) -> list[str]:
    """Numbers in order, those that follow one another as one: `4..7`."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return [str(a) if a == b else f"{a}..{b}" for a, b in found]


def shortened(names: list[str], most: int | None) -> list[str]:
    """The first `most` names, and how many there are besides; all of them, if one more is not worth a word."""
    if most is None or len(names) <= most + 1:
        return names
    return [*names[:most], f"{len(names) - most} more"]


def short(note: str) -> str:
    """A note whose list of names is not longer than is read at a glance."""
    match = _LIST.fullmatch(note)
    if match is None:
        return note
    before, names, behind = match.groups()
    listed = names.split(", ")
    kept = shortened(listed, MOST)
    return note if kept is listed else f"{before}{', '.join(kept[:-1])} and {kept[-1]}{behind}"
