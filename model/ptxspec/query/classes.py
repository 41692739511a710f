"""Inputs of half precision by their classes: within one, exponents and shifts are known, or nearly so.

A number that is zero, subnormal or normal is read in three ways, and a solver that has all of them before it at once loses itself
among shifts. So a question is put for each class by itself, where an input is a sign and a magnitude of known range.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.terms.core import Bool, constant, truth_variable, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import TRUE, select, substitute

#: the most inputs that are looked at by their classes
MOST = 2


class Class(NamedTuple):
    """The magnitudes from `low` to `high`, as patterns, and what they are called."""

    name: str
    low: int
    high: int


class Case(NamedTuple):
    """A class for each input: its name, what the inputs are, in which types the parts of them are that are variables, and what
    holds of these."""

    name: str
    inputs: dict[str, Any]
    types: dict[str, Type]
    holds: Bool

    def put(self, term: Bool) -> Bool:
        """A condition on the inputs, for those of the case."""
        found: Bool = substitute(term, self.inputs)
        return found


def have_classes(types: Mapping[str, Type]) -> bool:
    """Whether inputs are few, and all of half precision."""
    return 0 < len(types) <= MOST and all(
        t.kind in ("f", "bf") and t.width == 16 and t.elements == 1 for t in types.values()
    )


def cases(types: Mapping[str, Type]) -> Iterator[Case]:
    """Cases that have all inputs of these types among them. Small numbers are taken apart by their highest bit, where all others
    are normal."""
    for chosen in itertools.product(*map(_classes, types.values())):
        if any(one.name == BEYOND for one in chosen):
            first = [one.name for one in chosen].index(BEYOND)
            if any(one.name != SMALL for one in chosen[first + 1 :]):
                continue  # one case has them all, whatever the inputs after it are
            yield _case(types, [*chosen[: first + 1], *(_all(t) for t in [*types.values()][first + 1 :])])
        elif [one.name for one in chosen].count(SMALL) == 1:
            place = [one.name for one in chosen].index(SMALL)
            for binade in _binades(chosen[place]):
                yield _case(types, [*chosen[:place], binade, *chosen[place + 1 :]])
        else:
            yield _case(types, chosen)


#: what is below the normal numbers, and above them
SMALL, BEYOND = "zero or subnormal", "infinite or a NaN"


def _classes(type: Type) -> list[Class]:
    page = contracts.floating_point
    least, infinity = 1 << (page.precision(type) - 1), page.infinity(type)
    return [
        Class("normal", least, infinity - 1),
        Class(SMALL, 0, least - 1),
        Class(BEYOND, infinity, (1 << (type.width - 1)) - 1),
    ]


def _binades(small: Class) -> Iterator[Class]:
    """Zero, and the numbers of each highest bit."""
    yield Class("zero", 0, 0)
    for place in range(small.high.bit_length()):
        yield Class(f"subnormal from {1 << place:#x}", 1 << place, (2 << place) - 1)


def _all(type: Type) -> Class:
    return Class("anything", 0, (1 << (type.width - 1)) - 1)


def _case(types: Mapping[str, Type], classes: Any) -> Case:
    inputs: dict[str, Any] = {}
    parts: dict[str, Type] = {}
    holds: Any = TRUE
    for (name, type), one in zip(types.items(), classes, strict=True):
        sign, size = f"{name}.sign", f"{name}.magnitude"
        magnitude = variable(size, type.width)
        parts |= {sign: TYPES["pred"], size: TYPES[f"u{type.width}"]}
        holds = holds & ~(magnitude < one.low) & ~(constant(one.high) < magnitude)
        inputs[name] = select(truth_variable(sign), 1 << (type.width - 1), 0) + magnitude
    said = ", ".join(f"{name} is {one.name}" for name, one in zip(types, classes, strict=True))
    return Case(said, inputs, parts, holds)
