"""Values tried by the exact interpretation: what simple ones decide no solver has to look for, and random ones may refute what no
solver decides."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ptxspec import contracts
from ptxspec.query.minimal import rank
from ptxspec.query.solvers.answers import Choices, simple_choice
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, freedoms_in

if TYPE_CHECKING:
    from ptxspec.query.questions import Goal

#: combinations of simple values that are tried for a claim, and the seconds that this may take
MOST, SECONDS = 400, 0.3
#: combinations that are put in order
_LISTED = 4096
#: samples: combinations of simple values, those drawn after them (those that do not meet the assumption count), and seconds
MOST_SIMPLE, MOST_DRAWN, DRAWING = 60, 400, 2.0


def simple_values(type: Type) -> list[int]:
    """Values of a type that are often decisive, the simplest first: raw bits."""
    width = type.width
    if type.kind == "pred":
        return [False, True]
    everything = (1 << width) - 1
    if type.is_float:
        page = contracts.floating_point
        try:
            unit, sign, most = page.bias(type) << (page.precision(type) - 1), page.sign_mask(type), page.greatest(type)
        except KeyError:
            return [0, 1, everything]
        step = 1 << (page.precision(type) - 1)
        values = [
            0,
            unit,
            unit | sign,
            unit + step,
            unit - step,
            unit + step // 2,
            unit + step + step // 2,
            sign,
            most,
            1,
        ]
        if page.has_infinities(type):
            infinity = page.infinity(type)
            values += [infinity, infinity | sign, infinity | page.quiet_bit(type)]
    else:
        values = [0, 1, everything, 2, everything - 1, 3, width - 1, width, everything >> 1, 1 << (width - 1)]
        values += [1 << width // 2, (1 << width // 2) - 1]
    return sorted(dict.fromkeys(v & everything for v in values), key=lambda value: rank(value, type))


def combinations(types: Mapping[str, Type]) -> Iterator[dict[str, Any]]:
    """Combinations of simple values of inputs, beginning with the simplest."""
    lists = [simple_values(type) for type in types.values()]
    while lists and math.prod(map(len, lists)) > _LISTED:
        longest = max(lists, key=len)
        if len(longest) == 1:
            break
        longest.pop(len(longest) // 2)
    indices = itertools.islice(itertools.product(*(range(len(values)) for values in lists)), _LISTED)
    for chosen in sorted(indices, key=lambda tuple: (sum(tuple), tuple)):
        yield {name: values[i] for name, values, i in zip(types, lists, chosen, strict=True)}


def tried(claim: Bool, types: Mapping[str, Type], most: int = MOST) -> tuple[dict[str, Any], Choices] | None:
    """Simple values for which the claim holds on a simple machine, and what this chooses; None if none of those tried do. Whether
    a claim holds that depends on approximate results is not tried."""
    if any(isinstance(f.attrs[4], Approximation) for f in freedoms_in(claim)):
        return None
    choices: Choices = {}

    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        bits = simple_choice(freedom, operands)
        if bits is None:
            raise NoChoice(freedom)
        choices[freedom.attrs, operands] = bits
        return bits

    until = time.monotonic() + SECONDS
    for values in itertools.islice(combinations(types), most):
        choices.clear()
        try:
            if evaluate(claim, values, choose):
                return values, choices
        except NoChoice:
            continue
        if time.monotonic() > until:
            return None
    return None


def samples(goal: Goal, deadline: float) -> Iterator[dict[str, Any]]:
    """Inputs of a goal that meet its assumption, special ones, then random ones: in the same order in every run, as many as
    there is time for."""
    deadline = min(deadline, time.monotonic() + DRAWING)
    chance = random.Random(0)
    taken = {n: t for side in goal.sides for n, t in side.taken.items()}
    types = {n: taken.get(n, t) if t.kind != "pred" else t for n, t in goal.inputs.types.items()}
    simple = itertools.islice(combinations(types), MOST_SIMPLE)
    drawn = ({n: _drawn(types[n], goal.inputs.types[n].width, chance) for n in types} for _ in range(MOST_DRAWN))
    for values in itertools.chain(simple, drawn):
        if time.monotonic() > deadline:
            return
        if evaluate(goal.given, values):
            yield values


def _drawn(type: Type, width: int, chance: random.Random) -> Any:
    """Bits for a register of this width, which an instruction takes as a value of the type: of floating-point numbers one of
    ordinary size, or a special one."""
    if type.kind == "pred":
        return chance.random() < 0.5
    if chance.random() < 0.25:
        return chance.getrandbits(width)
    if type.kind in ("f", "bf"):
        exponent, fraction = {16: (5, 10), 32: (8, 23), 64: (11, 52)}.get(type.width, (type.width // 2, 0))
        if type.name == "bf16":
            exponent, fraction = 8, 7
        sign = chance.getrandbits(1) << (exponent + fraction)
        most = (1 << exponent) - 1
        field = chance.choice([0, 1, most, most - 1] + [most // 2 + chance.randrange(-4, 5) for _ in range(12)])
        bits = sign | field << fraction | (chance.getrandbits(fraction) if chance.random() < 0.7 else 0)
        return bits & ((1 << width) - 1)
    size = chance.randrange(width + 1)
    near = (1 << size) + chance.randrange(-2, 3)
    return (near if chance.random() < 0.5 else chance.getrandbits(size + 1)) & ((1 << width) - 1)
