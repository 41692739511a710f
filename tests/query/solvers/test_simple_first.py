"""Where every input is run, those that a person would try are run first."""

from __future__ import annotations

import itertools
import time

import pytest

from ptxspec.query import refinement
from ptxspec.query.enumerated import CHUNK
from ptxspec.query.minimal import is_simple, rank
from ptxspec.query.questions import Means, ask
from ptxspec.query.solvers.domains import Numbered
from ptxspec.query.solvers.exhaustion import exhaust
from ptxspec.query.solvers.simple_first import chunks, measure, simple_numbers
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import TRUE, low_bits, remainder


def first_of_all(claim: Bool, types: dict[str, Type]) -> dict[str, int]:
    """The simplest inputs for which a claim holds, by looking at all of them."""
    ranges = [range(1 << t.width) for t in types.values()]
    held = [
        values
        for values in (dict(zip(types, found, strict=True)) for found in itertools.product(*ranges))
        if evaluate(claim, values)
    ]
    return min(held, key=lambda values: [rank(v, types[n]) for n, v in values.items()])


X = variable("x", 16)


CLAIMS = (X != 0, low_bits(X, 3) == 5, X > 0x3000, X >= 0x8000, (X > 0x4100) & (X < 0x4200), low_bits(X, 8) == 0xA7)


@pytest.mark.parametrize("type", ["s16", "f16", "bf16"])
def test_one_input_is_the_simplest(type: str) -> None:
    types = {"x": TYPES[type]}
    order = sorted(range(1 << 16), key=lambda x: rank(x, types["x"]))
    for claim in CLAIMS:
        found = exhaust(claim, TRUE, types, 30.0)
        assert found.status == "found"
        assert found.values["x"] == next(x for x in order if evaluate(claim, {"x": x})), claim


@pytest.mark.slow
def test_of_two_inputs_both_are_simple() -> None:
    types = {"x": TYPES["s8"], "y": TYPES["u8"]}
    x, y = variable("x", 8), variable("y", 8)
    assert exhaust(x != y, TRUE, types, 30.0).values == {"x": 0, "y": 1}
    for claim in (low_bits(x + y, 8) == 200, (x > 20) & (y > x)):
        values = exhaust(claim, TRUE, types, 30.0).values
        assert evaluate(claim, values) and all(is_simple(v, types[n]) for n, v in values.items())
    ordinary = (low_bits(x, 2) == 1) & (x > 4) & (x < 100) & (low_bits(x, 4) != 1) & (low_bits(y, 5) == 21) & (x != 13)
    assert exhaust(ordinary, TRUE, types, 30.0).values == first_of_all(ordinary, types)


def test_what_an_assumption_leaves_is_looked_at_where_it_begins() -> None:
    a = variable("a", 32)
    found = exhaust(low_bits(a, 1) == 1, (a >= 0x1234567) & (a < 0x1240000), {"a": TYPES["u32"]}, 30.0)
    assert found.values == {"a": 0x1234567}


def test_ordinary_numbers_come_before_those_that_are_not() -> None:
    """A difference in all that is not simple: of 2^32 patterns, one in [1, 2) is found, and no subnormal number."""
    a = variable("a", 32)
    begun = time.monotonic()
    found = exhaust(remainder(low_bits(a, 23), 1009) == 1000, TRUE, {"a": TYPES["f32"]}, 60.0)
    assert found.status == "found" and found.values["a"] == 0x3F800000 + 1000, found
    assert time.monotonic() - begun < 30


def test_every_chunk_is_run_once() -> None:
    for types in ({"a": TYPES["f32"]}, {"a": TYPES["s16"], "b": TYPES["f16"]}, {"a": TYPES["u8"]}):
        numbered = Numbered(TRUE, types)
        found = [*chunks(numbered, 1 << CHUNK)]
        assert sorted(found) == [*range(0, numbered.total, 1 << CHUNK)]
        numbers = simple_numbers(numbered)
        assert all(numbered.number(numbered.values(n)) == n for n in numbers)
        assert [measure(numbered, n) for n in numbers] == sorted(measure(numbered, n) for n in numbers)


@pytest.mark.parametrize(
    ("off", "assume", "found"),
    [
        (3, "a < 0x7f800000", 0),
        (9, "a > 0x40000000 and a < 0x7f000000", 0x40800000),
        (9, "a > 0x40800000 and a < 0x40810000", 0x40800001),
    ],
)
def test_a_refinement_is_refuted_by_simple_inputs(off: int, assume: str | None, found: int) -> None:
    asked = ask("sqrt.approx.f32 d, a;", f"sqrt.rn.f32 d, a; add.u32 d, d, {off};", assume)
    claim = refinement._Refinement(asked)
    wrong = claim.wrong(dict.fromkeys(claim.freedoms, refinement.SAME))
    verdict = claim.at_every_input(wrong, Means(time.monotonic() + 30, 30))
    assert verdict is not None and verdict.status == "refuted" and verdict.counterexample is not None
    assert verdict.counterexample.inputs == {"a": found}
