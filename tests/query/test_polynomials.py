"""Terms that are one number by the laws of sums, products and carries are made one term, which has the values of each."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ptxspec.query.polynomials import Normal
from ptxspec.query.solvers.domains import domains
from ptxspec.terms.core import truth, truth_variable, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import (
    TRUE,
    absolute,
    low_bits,
    maximum,
    minimum,
    number,
    quotient,
    remainder,
    select,
    sign_extend,
)

WIDTHS = {"a": 8, "b": 8, "c": 5}
KINDS = {"a": TYPES["u8"], "b": TYPES["u8"], "c": TYPES["u8"], "p": TYPES["pred"]}


class Terms:
    """Random terms of few bits, in which laws meet: parts of numbers, masks, signs, carries, quotients."""

    def __init__(self, seed: Any):
        self.chance = random.Random(seed)
        self.integers: list[Any] = [variable(n, w) for n, w in WIDTHS.items()]
        self.truths: list[Any] = [truth_variable("p")]

    def one(self) -> Any:
        return self.chance.choice(self.integers[-6:] if self.chance.random() < 0.7 else self.integers)

    def count(self) -> int:
        return self.chance.choice([1, 2, 4, 5, 7, 8, 8, 8])

    def grow(self) -> None:
        x, y, n, chance = self.one(), self.one(), self.count(), self.chance
        made = chance.choice([
            lambda: x + y, lambda: x - y, lambda: -x, lambda: x * y, lambda: x * chance.choice([3, -1, 8]), lambda: x << n,
            lambda: x >> n, lambda: low_bits(x, n), lambda: sign_extend(x, n), lambda: low_bits(x, 8) + low_bits(y, 8),
            lambda: x & y, lambda: x | y, lambda: x ^ y, lambda: x ^ -number(x < 0), lambda: x & chance.choice([15, 0xF0, -4, 6]),
            lambda: x ^ (number(self.chance.choice(self.truths)) * 255), lambda: (x << 8) | low_bits(y, 8),
            lambda: quotient(x, y), lambda: remainder(x, y), lambda: quotient(x, chance.choice([4, -4, 3])), lambda: absolute(x),
            lambda: minimum(x, y), lambda: maximum(x, n), lambda: select(chance.choice(self.truths), x, y),
            lambda: number(low_bits(x + y, 8) < low_bits(y, 8)), lambda: low_bits(x, 4) * low_bits(y, 4), lambda: x << low_bits(y, 2),
        ])()  # fmt: skip
        if made.op != "const" and max(abs(made.lo), abs(made.hi)) < 1 << 40:
            self.integers.append(made)
        self.truths.append(self.condition())

    def condition(self) -> Any:
        x, y, chance = self.one(), self.one(), self.chance
        p, q = chance.choice(self.truths), chance.choice(self.truths)
        return chance.choice([
            lambda: truth(x < y), lambda: truth(x == y), lambda: x == chance.choice([0, 1, 255]), lambda: x < chance.choice([0, 128]),
            lambda: ~p, lambda: p & q, lambda: p | q, lambda: p ^ q, lambda: low_bits(x, 8) == low_bits(y, 8),
        ])()  # fmt: skip


def values(chance: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {
        n: chance.choice([chance.getrandbits(w), 0, (1 << w) - 1, 1 << (w - 1)]) for n, w in WIDTHS.items()
    }
    return found | {"p": chance.random() < 0.5}


def held(seed: Any, size: int) -> int:
    """How many of a term's parts became others; AssertionError for one that has another value, where the condition holds."""
    terms = Terms(seed)
    for _ in range(size):
        terms.grow()
    given = truth(terms.condition() & terms.condition()) if terms.chance.random() < 0.5 else TRUE
    normal = Normal(given, domains(given, KINDS))
    pairs = [(t, normal.term(t)) for t in (*terms.integers, *terms.truths)]
    for _ in range(30):
        inputs = values(terms.chance)
        memo: dict[int, Any] = {}
        if evaluate(given, inputs, memo=memo):
            for before, after in pairs:
                assert evaluate(after, inputs, memo=memo) == evaluate(before, inputs, memo=memo), (
                    seed,
                    inputs,
                    before,
                    after,
                )
    return sum(before is not after for before, after in pairs)


@pytest.mark.slow
def test_the_term_that_stands_for_others_has_their_values() -> None:
    assert sum(held(seed, 12) for seed in range(150)) > 300


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_the_term_that_stands_for_others_has_their_values_in_many_terms(part: int) -> None:
    assert sum(held((part, seed).__repr__(), 25) for seed in range(1000)) > 3000
