"""Simple values tried by the exact interpretation: what they decide no solver has to look for."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ptxspec import contracts
from ptxspec.query.minimal import rank
from ptxspec.query.solvers.choices import Choices, simple_choice
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

#: combinations of values that are tried, and the seconds that this may take
MOST, SECONDS = 400, 0.3
#: combinations that are put in order
_LISTED = 4096


def simple_values(type: Type) -> list[int]:
    """Values of a type that are often decisive, the simplest first: raw bits."""
    width = type.width
    if type.kind == "pred":
        return [False, True]
    everything = (1 << width) - 1
    if type.is_float:
        page = contracts.floating_point
        try:
            one, sign, most = page.bias(type) << (page.precision(type) - 1), page.sign_mask(type), page.greatest(type)
        except KeyError:
            return [0, 1, everything]
        unit = 1 << (page.precision(type) - 1)
        found = [0, one, one | sign, one + unit, one - unit, one + unit // 2, one + unit + unit // 2, sign, most, 1]
        if page.has_infinities(type):
            infinity = page.infinity(type)
            found += [infinity, infinity | sign, infinity | page.quiet_bit(type)]
    else:
        found = [0, 1, everything, 2, everything - 1, 3, width - 1, width, everything >> 1, 1 << (width - 1)]
        found += [1 << width // 2, (1 << width // 2) - 1]
    kept = dict.fromkeys(value & everything for value in found)
    return sorted(kept, key=lambda value: rank(value, type))


def combinations(types: Mapping[str, Type]) -> Iterator[dict[str, Any]]:
    """Combinations of simple values of inputs, beginning with the simplest."""
    lists = [simple_values(type) for type in types.values()]
    while lists and _product(lists) > _LISTED:
        longest = max(lists, key=len)
        if len(longest) == 1:
            break
        longest.pop(len(longest) // 2)
    places = itertools.islice(itertools.product(*(range(len(one)) for one in lists)), _LISTED)
    for chosen in sorted(places, key=lambda tuple: (sum(tuple), tuple)):
        yield {name: one[i] for name, one, i in zip(types, lists, chosen, strict=True)}


def _product(lists: list[list[int]]) -> int:
    product = 1
    for one in lists:
        product *= len(one)
    return product


def tried(claim: Bool, types: Mapping[str, Type], most: int = MOST) -> tuple[dict[str, Any], Choices] | None:
    """Simple values for which the claim holds on a simple machine, and what this chooses; None if none of those tried do. Whether
    a claim holds that depends on approximate results is not tried."""
    if any(isinstance(f.attrs[4], Approximation) for f in freedoms_in(claim)):
        return None
    until = time.monotonic() + SECONDS
    for values in itertools.islice(combinations(types), most):
        choices: Choices = {}
        try:
            if evaluate(claim, values, _Machine(choices)):
                return values, choices
        except NoChoice:
            continue
        if time.monotonic() > until:
            return None
    return None


class _Machine:
    """Makes simple choices of what is open, and notes them."""

    def __init__(self, choices: Choices):
        self.choices = choices

    def __call__(self, freedom: Any, operands: tuple[int, ...]) -> int:
        bits = simple_choice(freedom, operands)
        if bits is None:
            raise NoChoice(freedom)
        self.choices[freedom.attrs, operands] = bits
        return bits
