"""Sums of many numbers that compiled code rounds once, held against rational numbers."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from columns import LANES, Compiled

from ptxspec.literate.finder import install
from ptxspec.terms import TYPES, Int, Type, is_set, low_bits
from ptxspec.terms.core import constant, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.vocabulary import INTRINSICS

pytestmark = pytest.mark.sample(4)

install()
PAGE: Any = importlib.import_module("ptxspec.spec.arithmetic.rounding")
FORMATS: Any = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
#: a number in a word: 22 bits of its size, ten of its exponent, and its sign
SIZE, EXPONENT, LEAST = 22, 10, -512
COUNT = 5


def number_of(word: Int) -> Any:
    exponent = low_bits(word >> SIZE, EXPONENT) + LEAST
    return PAGE.Signed(is_set(word, SIZE + EXPONENT), low_bits(word, SIZE), exponent)


def term(type: Type, rounding: str = "rn", count: int = COUNT) -> Int:
    numbers = [number_of(variable(f"a{i}", 64)) for i in range(count)]
    return low_bits(PAGE.rounded_sum(type, rounding, numbers), type.width)


def word(size: int, exponent: int) -> int:
    """± size · 2^exponent, with a size of as many bits as there are."""
    assert abs(size) < 1 << SIZE and 0 <= exponent - LEAST < 1 << EXPONENT
    return abs(size) | exponent - LEAST << SIZE | (size < 0) << SIZE + EXPONENT


def exactly(word: int) -> Fraction:
    size = (word & (1 << SIZE) - 1) * (-1 if word >> SIZE + EXPONENT else 1)
    return size * Fraction(2) ** ((word >> SIZE & (1 << EXPONENT) - 1) + LEAST)


def nearest(type: Type, exact: Fraction) -> int:
    """The pattern of the number nearest to an exact one, of two that are as near the even one; +0 for zero. By search: patterns are
    ordered as the numbers are, and infinity counts as the next power of two."""
    if not exact:
        return 0
    fraction, least = FORMATS.precision(type) - 1, Fraction(2) ** FORMATS.least_scale(type)

    def value(pattern: int) -> Fraction:
        field, rest = pattern >> fraction, pattern & (1 << fraction) - 1
        return least * rest if field == 0 else least * (rest + (1 << fraction)) * (1 << field - 1)

    size, below, above = abs(exact), 0, FORMATS.infinity(type)
    if size >= value(above):
        below = above
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if value(middle) <= size else (below, middle)
    twice = 2 * size - value(below) - value(above)
    pattern = above if twice > 0 or (twice == 0 and below & 1) else below
    return pattern | (exact < 0) << type.width - 1


Kind = Callable[[np.random.Generator, Type], list[int]]


def alike(rng: np.random.Generator, type: Type) -> list[int]:
    """Sums that double precision holds."""
    return [
        word(int(s), int(e))
        for s, e in zip(rng.integers(-1 << 11, 1 << 11, COUNT), rng.integers(-20, 1, COUNT), strict=True)
    ]


def anywhere(rng: np.random.Generator, type: Type) -> list[int]:
    """Of all sizes: most of what is added is lost."""
    sizes, exponents = rng.integers(-1 << 21, 1 << 21, COUNT), rng.integers(-180, 120, COUNT)
    return [word(int(s), int(e)) for s, e in zip(sizes, exponents, strict=True)]


def cancelling(rng: np.random.Generator, type: Type) -> list[int]:
    """Great numbers that cancel, and small ones, whose order is any."""
    great = [int(s) for s in rng.integers(1, 1 << 21, 2)]
    words = [word(great[0], 90), word(-great[0], 90), word(great[1], int(rng.integers(-170, 80)))]
    words += [word(int(s), int(rng.integers(-170, 20))) for s in rng.integers(-1 << 9, 1 << 9, 2)]
    return [int(w) for w in rng.permutation(words)]


def cancelling_twice(rng: np.random.Generator, type: Type) -> list[int]:
    """Great numbers that cancel, smaller ones that do, and a small one, whose order is any: what is lost cancels, too."""
    great, smaller = (int(s) for s in rng.integers(1, 1 << 21, 2))
    words = [word(great, 300), word(-great, 300), word(smaller, 100), word(-smaller, 100)]
    words.append(word(int(rng.integers(-1 << 9, 1 << 9)), int(rng.integers(-20, 5))))
    return [int(w) for w in rng.permutation(words)]


def at_ties(rng: np.random.Generator, type: Type) -> list[int]:
    """The middle of two numbers, or a number; and what is next to it, near or far below."""
    p = FORMATS.precision(type)
    exponent = int(rng.integers(FORMATS.least_scale(type) - 2, FORMATS.bias(type) - p + 2))
    size = int(rng.integers(0, 1 << p))
    middle = int(rng.integers(0, 3))
    number = [word(size >> 12, exponent + 12), word(size & 0xFFF, exponent), word(middle, exponent - 1)]
    far = int(rng.choice([10, 20, 26, 27, 28, 29, 30, 40, 60, 120]))
    below = word(int(rng.integers(-2, 3)), exponent - far)
    return [*number, below, word(int(rng.integers(-1, 2)), exponent - far - int(rng.choice([1, 30, 60])))]


def zeros_and_overflows(rng: np.random.Generator, type: Type) -> list[int]:
    """Zeros with signs, the greatest number and half a unit of its last place, more or less."""
    p, unit = FORMATS.precision(type), FORMATS.bias(type) + 1 - FORMATS.precision(type)
    sign = int(rng.choice([-1, 1]))
    zero = int(rng.integers(0, 2)) << SIZE + EXPONENT
    if rng.integers(0, 3) == 0:
        other = int(rng.integers(0, 2)) << SIZE + EXPONENT
        return [zero, zero, other, zero, word(int(rng.choice([-1, 1])), -200) if rng.integers(0, 2) else other]
    half = (p + 1) // 2
    greatest = [word(sign * ((1 << half) - 1), unit + p - half), word(sign * ((1 << p - half) - 1), unit)]
    return [*greatest, word(sign, unit - 1), word(int(rng.integers(-1, 2)), unit - int(rng.choice([2, 60, 100]))), zero]


KINDS: list[Kind] = [alike, anywhere, cancelling, cancelling_twice, at_ties, zeros_and_overflows]
#: how often the page is asked of these, at least and at most, of twice as many sums as there are
OFTEN = {
    **{alike: (0, 0), anywhere: (0, 30), cancelling: (0, 200)},
    **{cancelling_twice: (100, 2400), at_ties: (20, 900), zeros_and_overflows: (5, 900)},
}
TO = [TYPES["f16"], TYPES["bf16"], TYPES["f32"]]


def rows(kind: Kind, type: Type, count: int) -> list[list[int]]:
    rng = np.random.default_rng([ord(c) for c in f"{kind.__name__} {type.name}"])
    return [kind(rng, type) for _ in range(count)]


def columns(given: list[list[int]]) -> list[np.ndarray]:
    return list(np.array(given, np.uint64).T.copy())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sums of which the page was asked."""
    questions: list[Any] = []
    page = INTRINSICS["rounded_sum"]
    monkeypatch.setitem(INTRINSICS, "rounded_sum", lambda *of: questions.append(of) or page(*of))
    return questions


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("type", TO, ids=str)
def test_sums_are_those_of_rational_numbers(type: Type, kind: Kind, asked: list[Any]) -> None:
    given = rows(kind, type, 1200)
    expected = [nearest(type, sum(map(exactly, row), start=Fraction(0))) for row in given]
    assert len(set(expected)) > (3 if kind is zeros_and_overflows else 50)
    for lanes in (1, LANES):
        compiled = Compiled(term(type), 64, type.width, lanes=lanes)
        found = compiled(*columns(given)).tolist()
        wrong = [row for row, x, y in zip(given, found, expected, strict=True) if x != y]
        assert not wrong, (len(wrong), [hex(x) for x in wrong[0]])
    least, most = OFTEN[kind]
    assert least <= len(asked) <= most, "the page is asked where double precision does not decide"


@pytest.mark.parametrize("type", TO, ids=str)
def test_the_definition_gives_the_same(type: Type) -> None:
    for kind, rounding in itertools.product(KINDS, ("rn",)):
        for row in rows(kind, type, 40):
            exact = sum(map(exactly, row), start=Fraction(0))
            found = evaluate(term(type, rounding), {f"a{i}": x for i, x in enumerate(row)})
            assert found == nearest(type, exact) == evaluate(constant_sum(type, row), {}), [hex(x) for x in row]


def constant_sum(type: Type, row: list[int]) -> Int:
    """What the page gives of numbers that are known."""
    return PAGE.rounded_sum(type, "rn", [number_of(constant(x)) for x in row])


@pytest.mark.parametrize("rounding", ["rz", "rm", "rp"])
def test_sums_are_rounded_in_other_directions(rounding: str) -> None:
    """As they are by the definition, which is not compiled here."""
    type = TYPES["f32"]
    for kind in KINDS:
        given = rows(kind, type, 64)
        expected = [evaluate(term(type, rounding), {f"a{i}": x for i, x in enumerate(row)}) for row in given]
        for lanes in (1, LANES):
            assert Compiled(term(type, rounding), 64, 32, lanes=lanes)(*columns(given)).tolist() == expected


@pytest.mark.parametrize("size", [31, 32, 53])
def test_sizes_may_have_as_many_bits_as_double_precision(size: int) -> None:
    rng = np.random.default_rng(size)
    a = [variable(f"a{i}", 64) for i in range(2)]
    numbers = [PAGE.Signed(is_set(x, 63), low_bits(x, size), low_bits(x >> 53, 7) - 60) for x in a]
    result = low_bits(PAGE.rounded_sum(TYPES["f32"], "rn", numbers), 32)
    given = rng.integers(0, 1 << 64, (64, 2), np.uint64) | np.uint64(1 << size - 1)
    expected = [evaluate(result, {f"a{i}": int(x) for i, x in enumerate(row)}) for row in given]
    for lanes in (1, LANES):
        compiled = Compiled(result, 64, 32, lanes=lanes)
        assert any("fadd" in line for line in compiled.lines) and compiled(*given.T).tolist() == expected


def test_wider_numbers_are_added_as_defined() -> None:
    """Double precision does not hold every number of these sizes, or of these exponents."""
    for size, exponent in ((54, 1), (10, 10)):
        a = variable("a0", 64)
        great = PAGE.Signed(is_set(a, 63), low_bits(a, size), low_bits(a >> 52, exponent))
        result = low_bits(PAGE.rounded_sum(TYPES["f32"], "rn", [great, number_of(variable("a1", 64))]), 32)
        emitted = Compiled(result, 64, 32).lines
        assert not any("double" in line for line in emitted) and len(emitted) > 20
