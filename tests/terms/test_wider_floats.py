"""Arithmetic of narrow formats by wider arithmetic, held against the definitions.

Sums and products were compared once for all pairs of operands, 2^32 each, in half precision and in bfloat16, by columns like
these; in half precision also with small results flushed.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from columns import LANES, WORDS, Compiled, first_difference

from ptxspec.literate.finder import install
from ptxspec.terms import TYPES, Type, integer, low_bits, number
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.native import SUPPLIED, is_wider

pytestmark = pytest.mark.sample(4)

install()
PAGE: Any = importlib.import_module("ptxspec.spec.arithmetic.rounding")
FORMATS: Any = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
COUNT = 1 << 18
OPERATIONS = ("sum", "product", "fused")
#: the formats, the roundings and whether small results are flushed
HOW = [
    ("f16", "rn", False), ("f16", "rn", True), ("bf16", "rn", False), ("f32", "rn", True),
    *(("f32", rounding, ftz) for rounding in ("rz", "rm", "rp") for ftz in (False, True)),
]  # fmt: skip
#: what is computed so
CASES = [(name, TYPES[type], rounding, ftz) for name in OPERATIONS for type, rounding, ftz in HOW]


def result(name: str, type: Type, rounding: str, ftz: bool) -> Any:
    """A result as a term over its operands a0, a1, …"""
    operands = [variable(f"a{i}", type.width) for i in range(SUPPLIED[name][1])]
    return low_bits(getattr(PAGE, name)(type, rounding, ftz, *operands), type.width)


def is_defined(name: str, type: Type) -> Any:
    """Whether it has a definition, as a number."""
    operands = [variable(f"a{i}", type.width) for i in range(SUPPLIED[name][1])]
    nan = getattr(PAGE, f"{name}_is_invalid")(type, *operands)
    for operand in operands:
        nan = nan | FORMATS.is_nan(operand, type)
    return number(~nan)


def operands_of(name: str, type: Type, seed: int, ftz: bool) -> list[np.ndarray]:
    """Columns of operands: a third at random; a third of powers of two and their neighbours, whose sums are often ties, or next to
    ties; in a third, the last operand lies near the result of the others with the other sign, or a few powers of two off. Of
    those that are flushed every other result lies near the smallest normal number."""
    count, rng, width = SUPPLIED[name][1], np.random.default_rng(seed), type.width
    fraction = FORMATS.precision(type) - 1
    one, some = 1 << fraction, COUNT // 3
    near = np.array([0, 1, 2, one // 2 - 1, one // 2, one // 2 + 1, one - 2, one - 1])
    sign = rng.integers(0, 2, (COUNT, count)) << width - 1
    rows = rng.integers(0, 1 << width, (COUNT, count))
    exponents = rng.integers(0, 1 << width - 1 - fraction, (COUNT - some, count))
    rows[some:] = exponents * one + rng.choice(near, (COUNT - some, count)) | sign[some:]
    third, greatest = rows[2 * some :], (1 << width - 1) - 1
    sizes = third & greatest
    exact = sizes[:, 0] + sizes[:, 1] - FORMATS.one(type) if count == 3 else sizes[:, 0]
    shift = rng.integers(-fraction - 4, fraction + 5, len(third)) * one + rng.integers(-2, 3, len(third))
    third[:, -1] = np.clip(exact + shift, 0, greatest) | third[:, -1] & greatest + 1
    small = rows[::2]
    if ftz and name == "sum":
        small[:] = rng.integers(0, 3 * one, small.shape) | small & greatest + 1
    elif ftz:
        size = FORMATS.one(type) + one - (small[:, 0] & greatest) + rng.integers(-4, 5, len(small))
        small[:, 1] = np.clip(size, 0, greatest) | small[:, 1] & greatest + 1
        if count == 3:
            small[:, 2] = rng.choice([0, 1, one // 2, one - 1, one], len(small)) | small[:, 2] & greatest + 1
            small[::2] = np.array(near_bounds(type, len(small[::2]), rng)).T
    return [np.ascontiguousarray(column) for column in rows.astype(WORDS[width]).T]


def near_bounds(type: Type, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Factors, and ± the smallest normal number, of which the product takes what such numbers would lie apart if they were smaller,
    or half of it; a little more, or a little less."""
    real = np.float16 if type.width == 16 else np.float32
    exponent = FORMATS.least_scale(type) - 1 - rng.integers(0, 2, count)
    half = exponent // 2
    x = (rng.uniform(1, 2, count) * 2.0**half).astype(real)
    y = (2.0**exponent / x.astype(float)).astype(real)
    minus = rng.integers(0, 2, count) << type.width - 1
    least = 1 << FORMATS.precision(type) - 1
    word = WORDS[type.width]
    return [x.view(word).astype(np.int64), y.view(word) ^ minus ^ 1 << type.width - 1, minus | least]


@pytest.mark.parametrize(("name", "type", "rounding", "ftz"), CASES, ids=str)
def test_wider_arithmetic_gives_what_is_defined(name: str, type: Type, rounding: str, ftz: bool) -> None:
    if not is_wider(name, (type, rounding, ftz)):
        pytest.skip(f"this processor has no conversions of {type}")
    operands = operands_of(name, type, 1, ftz)
    term = result(name, type, rounding, ftz)
    expected = Compiled(term, type.width, type.width, as_defined=True)(*operands)
    holds = Compiled(is_defined(name, type), type.width, type.width, as_defined=True)(*operands) == 1
    assert holds.mean() > 0.8 and len(np.unique(expected[holds])) > 20000
    if ftz:
        plain = Compiled(result(name, type, rounding, False), type.width, type.width, as_defined=True)(*operands)
        least = 1 << FORMATS.precision(type) - 1
        sizes = plain & ((1 << type.width - 1) - 1)
        flushed = holds & (expected != plain)
        assert (flushed & (sizes < least)).sum() > 1000 and (holds & ~flushed & (sizes == least)).sum() > 5
        is_exact = name == "sum" or rounding == "rz"  # or else some are rounded up to the least normal number
        assert is_exact or (flushed & (sizes == least)).sum() > 50
    for lanes in (1, LANES):
        compiled = Compiled(term, type.width, type.width, lanes=lanes)
        assert not any("call" in line and "ptxspec" in line for line in compiled.lines), "the definition is compiled"
        assert not first_difference(compiled(*operands), expected, holds, operands)


@pytest.mark.parametrize(("name", "type", "rounding", "ftz"), CASES, ids=str)
def test_what_is_compared_with_is_the_exact_interpretation(name: str, type: Type, rounding: str, ftz: bool) -> None:
    operands = [column[:: COUNT // 300].copy() for column in operands_of(name, type, 2, ftz)]
    value, condition = result(name, type, rounding, ftz), is_defined(name, type)
    found = Compiled(value, type.width, type.width, as_defined=True)(*operands)
    defined = Compiled(condition, type.width, type.width, as_defined=True)(*operands)
    for bits, holds, *row in zip(found, defined, *operands, strict=True):
        given = {f"a{i}": int(operand) for i, operand in enumerate(row)}
        assert holds == evaluate(condition, given)
        assert not holds or bits == evaluate(value, given)


@pytest.mark.parametrize("name", ["sum", "product", "fused"])
@pytest.mark.parametrize("lanes", [1, LANES])
def test_constants_are_operands_like_others(name: str, lanes: int) -> None:
    """Of a few operands only one varies."""
    type, count = TYPES["f32"], SUPPLIED[name][1]
    column = np.arange(0x00700000, 0x00900000, 0x1357, np.uint32)[: LANES * 16]
    constants = [0x80000003] if name == "sum" else [0x3F7FFFFF, 0x00000001][: count - 1]
    for rounding in ("rn", "rm"):
        operands = [variable("a0", 32), *constants]
        term = getattr(PAGE, name)(type, rounding, True, *map(integer, operands))
        expected = Compiled(term, 32, 32, as_defined=True)(column)
        assert (Compiled(term, 32, 32, lanes=lanes)(column) == expected).all() and 0 < (expected == 0).sum() < len(
            column
        )


@pytest.mark.parametrize(
    ("type", "rounding", "ftz"), [("f16", "rz", False), ("bf16", "rn", True), ("f64", "rz", False), ("f64", "rn", True)]
)
def test_all_else_is_as_defined(type: str, rounding: str, ftz: bool) -> None:
    assert not any(is_wider(name, (TYPES[type], rounding, ftz)) for name in OPERATIONS)
