"""Inputs to look at before, or in place of, what a solver finds: special ones, then random ones."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from typing import Any

from ptxspec.query.questions import Question
from ptxspec.query.trials import combinations
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import Type

#: inputs that are drawn; those that do not meet the assumption count
MOST_DRAWN = 400
#: inputs of simple values that are looked at before
MOST_SIMPLE = 60
#: seconds for looking at them
DRAWING = 2.0


def samples(asked: Question, deadline: float) -> Iterator[dict[str, Any]]:
    """Inputs of a question that meet its assumption, in the same order in every run, as many as there is time for."""
    deadline = min(deadline, time.monotonic() + DRAWING)
    chance = random.Random(0)
    taken = {n: t for side in asked.sides for n, t in side.taken.items()}
    types = {n: taken.get(n, t) if t.kind != "pred" else t for n, t in asked.inputs.types.items()}
    simple = itertools.islice(combinations(types), MOST_SIMPLE)
    drawn = ({n: _drawn(types[n], asked.inputs.types[n].width, chance) for n in types} for _ in range(MOST_DRAWN))
    for values in itertools.chain(simple, drawn):
        if time.monotonic() > deadline:
            return
        if evaluate_term(asked.given, values):
            yield values


def _drawn(type: Type, width: int, chance: random.Random) -> Any:
    """Bits for a register of this width, which an instruction takes as a value of the type."""
    if type.kind == "pred":
        return chance.random() < 0.5
    if chance.random() < 0.25:
        return chance.getrandbits(width)
    if type.kind in ("f", "bf"):
        return _number(type, chance) & ((1 << width) - 1)
    size = chance.randrange(width + 1)
    near = (1 << size) + chance.randrange(-2, 3)
    return (near if chance.random() < 0.5 else chance.getrandbits(size + 1)) & ((1 << width) - 1)


def _number(type: Type, chance: random.Random) -> int:
    """The pattern of a number of ordinary size, or of a special one."""
    exponent, fraction = {16: (5, 10), 32: (8, 23), 64: (11, 52)}.get(type.width, (type.width // 2, 0))
    if type.name == "bf16":
        exponent, fraction = 8, 7
    sign = chance.getrandbits(1) << (exponent + fraction)
    most = (1 << exponent) - 1
    field = chance.choice([0, 1, most, most - 1] + [most // 2 + chance.randrange(-4, 5) for _ in range(12)])
    return sign | field << fraction | (chance.getrandbits(fraction) if chance.random() < 0.7 else 0)
