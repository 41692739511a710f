"""Variables in memory by their names. Those that `name<N>` declares are kept as what they have in common, however many they
are, and one of them is made when it is named."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar, overload

from ptxspec.language.checked import Place

_T = TypeVar("_T")
_DIGITS = "0123456789"
#: more digits than these make no number of a variable
_MOST_DIGITS = 12


def numbered(name: str) -> tuple[str, int | None]:
    """(what stands before the digits at a name's end, the number that they are), None where there is none or too great a one. All
    digits at the end belong to the number, which may begin with zeros: spec/variables/index.md."""
    prefix = name.rstrip(_DIGITS)
    digits = name[len(prefix) :]
    significant = digits.lstrip("0") or "0"
    return prefix, int(significant) if digits and len(significant) <= _MOST_DIGITS else None


@lru_cache(1 << 16)
def one_of_several(name: str) -> tuple[str, int, str] | None:
    """What a name is if a declaration `prefix<N>` makes it: the prefix, the number, and the name without zeros before that."""
    prefix, number = numbered(name)
    return None if number is None or "." in name else (prefix, number, f"{prefix}{number}")


class Range:
    """What `name<N>` declares: `first` is the variable 0, but for its name, which is that before the numbers; each of the others
    lies `stride` bytes after the one before. `ending` ends the names by which modules are linked."""

    def __init__(self, count: int, first: Place, stride: int, position: int, ending: str = ""):
        self.count, self.first, self.stride, self.position, self.ending = count, first, stride, position, ending
        self.made: dict[int, Place] = {}

    def __getitem__(self, number: int) -> Place:
        place = self.made.get(number)
        if place is None:
            name = f"{self.first.name}{number}{self.ending}"
            place = self.first._replace(name=name, offset=self.first.offset + number * self.stride)
            self.made[number] = place
        return place

    @property
    def size(self) -> int:
        """The bytes from the beginning of the first to the end of the last."""
        return (self.count - 1) * self.stride + self.first.size if self.count else 0

    def like(self, first: Place, ending: str = "") -> Range:
        """As many variables, of which the first is another."""
        return Range(self.count, first, self.stride, self.position, ending)


class Places(dict[str, Place]):
    """Variables by their names. It may be asked for any; those that it goes through and counts are the ones declared alone, and
    of the others those that have been asked for."""

    def __init__(self) -> None:
        super().__init__()
        #: by what stands before the number and what after it
        self.ranges: dict[tuple[str, str], Range] = {}

    def add(self, series: Range, ending: str = "") -> None:
        """Add what a declaration `name<N>` makes, by names that end so here. No name reaches any of it where `name` itself
        ends in a digit."""
        if series.first.name[-1] not in _DIGITS:
            self.ranges[series.first.name, ending] = series

    def in_a_range(self, name: str) -> tuple[Range, int] | None:
        """The declaration `name<N>` to which a name belongs, and the number."""
        if not self.ranges:
            return None
        base = name.partition("#")[0].partition("@")[0]
        prefix, number = numbered(base)
        series = self.ranges.get((prefix, name[len(base) :]))
        return None if series is None or number is None or number >= series.count else (series, number)

    def __missing__(self, name: str) -> Place:
        element = self.in_a_range(name)
        if element is None:
            raise KeyError(name)
        place = self[name] = element[0][element[1]]
        return place

    @overload
    def get(self, name: str, default: None = None, /) -> Place | None: ...
    @overload
    def get(self, name: str, default: Place, /) -> Place: ...
    @overload
    def get(self, name: str, default: _T, /) -> Place | _T: ...
    def get(self, name: str, default: Place | _T | None = None, /) -> Place | _T | None:
        place = super().get(name)
        if place is None and self.in_a_range(name) is not None:
            return self[name]
        return default if place is None else place

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name) or not self.ranges:
            return super().__contains__(name)
        return isinstance(name, str) and self.in_a_range(name) is not None
