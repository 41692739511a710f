"""Approximate results within their bounds.

The solver knows nothing of a bound: an approximate result is any number to it. Where a model chooses one that the bound does not
allow, the inputs are tried again with numbers that it does allow: the nearest one, and the farthest to either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import is_allowed

#: combinations of allowed numbers that are tried for one input
MOST_TRIED = 64


def allowed_patterns(freedom: Any, operands: tuple[int, ...]) -> list[int]:
    """Some patterns that the bound allows: the nearest to the exact number, its neighbours, and the last before the bound is
    reached on either side."""
    place, pattern = _order(freedom.attrs[3])
    fits = _fitting(freedom, operands, pattern)
    centre = place(freedom.attrs[4].nearest(*operands))
    places = [centre, *(_farthest(fits, centre, step) for step in (-1, 1)), centre - 1, centre + 1]
    return [pattern(n) or 0 for n in dict.fromkeys(places) if fits(n)]


def farthest_pattern(freedom: Any, operands: tuple[int, ...], step: int) -> int:
    """The last pattern that the bound allows, going from the nearest downward (-1) or upward (1)."""
    place, pattern = _order(freedom.attrs[3])
    fits = _fitting(freedom, operands, pattern)
    return pattern(_farthest(fits, place(freedom.attrs[4].nearest(*operands)), step)) or 0


def _fitting(freedom: Any, operands: tuple[int, ...], pattern: Callable[[int], int | None]) -> Callable[[int], bool]:
    """Whether the pattern at a place is allowed."""

    def fits(n: int) -> bool:
        bits = pattern(n)
        return bits is not None and is_allowed(freedom, operands, bits)

    return fits


def _order(type: Type) -> tuple[Callable[[int], int], Callable[[int], int | None]]:
    """From patterns of a type to their places in the order of the numbers that they are, and back; None for a place that no
    pattern has."""
    top = 1 << (type.width - 1)
    if type.kind != "f":
        return lambda bits: bits, lambda n: n if 0 <= n < 2 * top else None

    def place(bits: int) -> int:
        return bits if bits < top else top - 1 - bits

    def pattern(n: int) -> int | None:
        if not -top <= n < top:
            return None
        return n if n >= 0 else top - 1 - n

    return place, pattern


def _farthest(fits: Callable[[int], bool], start: int, step: int) -> int:
    """The last place, going by steps, up to which every place looked at fits."""
    reach = 1
    while fits(start + step * reach):
        reach *= 2
    low, high = reach // 2, reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(start + step * middle) else (low, middle)
    return start + step * low


def allowed_choices(beyond: dict[Any, Any]) -> Iterator[dict[Any, int]]:
    """Choices to make in place of those that are `beyond` their bounds: (attributes, operands' values) -> allowed bits."""
    keys = list(beyond)
    ranges = [allowed_patterns(freedom, operands) for (_, operands), freedom in beyond.items()]
    for bits in itertools.islice(itertools.product(*ranges), MOST_TRIED):
        yield dict(zip(keys, bits, strict=True))
