"""The order in which inputs are run: those that a person would try come first, by the measure of `query.minimal`.

Inputs of simple values are run before all others. Then come the chunks of neighbouring inputs, each in the place of an ordinary
one of its inputs, so that a number near 1 is met before a subnormal number or a NaN. So the first input that is found is the
simplest, or near to it, though not all are run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ptxspec import contracts
from ptxspec.query.minimal import FEW, SMALL, is_format, is_simple, rank
from ptxspec.query.solvers.domains import Domain, Numbered
from ptxspec.query.trials import simple_values
from ptxspec.terms.types import Type

#: inputs of simple values, at most
MOST = 1 << 12
#: inputs of one chunk that are compared, at either end
COMPARED = 64
#: groups of chunks that are put in order, at most
ORDERED = 1 << 11


def simple_numbers(numbered: Numbered) -> list[int]:
    """The numbers of inputs of simple values, the simplest first."""
    lists = [_simple(domain, numbered.types[name]) for name, domain in numbered.domains.items()]
    if not lists or not all(lists):
        return []
    each = max(2, int(MOST ** (1 / len(lists))))
    combinations = itertools.islice(itertools.product(*(candidates[:each] for candidates in lists)), MOST)
    names = list(numbered.domains)
    return [numbered.number(dict(zip(names, values, strict=True))) for values in combinations]


def chunks(numbered: Numbered, size: int) -> Iterator[int]:
    """The first numbers of all chunks of `size` inputs, those first in which ordinary inputs are simple."""
    together = size * -(-numbered.total // (size * ORDERED))  # chunks that keep their order
    last = numbered.total - 1

    def place(first: int) -> tuple[tuple[int, int], ...]:
        ends = min(first + 1, last), max(0, min(first + together, last) - 2)
        return min(measure(numbered, end) for end in ends)

    firsts = range(0, numbered.total, together)
    for first in sorted(firsts, key=place) if len(firsts) > 1 else firsts:
        yield from range(first, min(first + together, numbered.total), size)


def measure(numbered: Numbered, number: int) -> tuple[tuple[int, int], ...]:
    """What inputs are ordered by."""
    return tuple(rank(value, numbered.types[name]) for name, value in numbered.values(number).items())


def simple_ones_first(numbered: Numbered, numbers: list[int]) -> list[int]:
    """Neighbouring inputs, of which those at both ends come first, the simplest of them before the others."""
    ends = numbers if len(numbers) <= 2 * COMPARED else numbers[:COMPARED] + numbers[-COMPARED:]
    rest = [] if len(numbers) <= 2 * COMPARED else numbers[COMPARED:-COMPARED]
    return sorted(ends, key=lambda number: measure(numbered, number)) + rest


def _simple(domain: Domain, type: Type) -> list[int]:
    """The simple values of an input, the simplest first: raw bits."""
    if type.kind == "pred":
        return [v for v in (0, 1) if domain.low <= v <= domain.high]
    everything = (1 << type.width) - 1
    candidates = {value & everything for value in simple_values(type)}
    candidates |= {value & everything for value in range(-SMALL, SMALL + 1)}
    candidates |= {(sign << n) & everything for n in range(type.width) for sign in (1, -1)}
    candidates |= {(1 << n) - 1 for n in range(type.width)}
    candidates = {value for value in candidates if domain.low <= value <= domain.high}
    if is_format(type):
        candidates |= {value for value in _few_bits(type) if domain.low <= value <= domain.high}
    return sorted((value for value in candidates if is_simple(value, type)), key=lambda value: rank(value, type))


def _few_bits(type: Type) -> set[int]:
    """Powers of two, and numbers near 1 with a fraction of few bits."""
    page = contracts.floating_point
    places, bias = page.precision(type) - 1, page.bias(type)
    few = min(FEW, places)
    patterns = {field << places for field in range(2 * bias + 1)}
    patterns |= {
        ((bias + exponent) << places) | fraction << (places - few)
        for exponent in range(-FEW, FEW + 1)
        for fraction in range(1 << few)
        if 0 < bias + exponent <= 2 * bias
    }
    return patterns | {value | page.sign_mask(type) for value in patterns}
