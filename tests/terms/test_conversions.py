"""Conversions from and to floating-point formats by the processor's own, held against the definitions, and against NumPy's."""

from __future__ import annotations

import gc
import importlib
import itertools
from typing import Any

import numpy as np
import pytest
from columns import LANES, WORDS, AsDefined, Compiled, first_difference

from ptxspec.literate.finder import install
from ptxspec.terms import TYPES, Type, as_type, low_bits
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter
from ptxspec.terms.vocabulary import known_result, number

pytestmark = pytest.mark.sample(4)

install()
PAGE: Any = importlib.import_module("ptxspec.spec.arithmetic.rounding")
FORMATS: Any = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
NAMES = ("f16", "bf16", "f32", "f64")
ROUNDINGS = ("rn", "rz", "rm", "rp")
#: to which format, in which direction, from which, and whether small results are flushed
CASES = [
    *((TYPES[to], how, TYPES[of], False) for to, how, of in itertools.product(NAMES, ROUNDINGS, NAMES) if to != of),
    *((TYPES["f32"], how, TYPES[of], True) for how, of in itertools.product(ROUNDINGS, NAMES) if of != "f32"),
]
FEW = 1 << 17


def converted(to: Type, rounding: str, type: Type, ftz: bool) -> Any:
    return low_bits(PAGE.converted(to, rounding, variable("a0", type.width), type, ftz), to.width)


def numbers(type: Type, patterns: np.ndarray) -> np.ndarray:
    """Which patterns are no NaNs."""
    term = number(~FORMATS.is_nan(variable("a0", type.width), type))
    return Compiled(term, type.width, type.width, as_defined=True)(patterns) == 1


def aimed(type: Type, to: Type, seed: int, count: int = FEW) -> np.ndarray:
    """Patterns of a format: all of 16 bits; of others a third at random, a third that are numbers of the format `to`, or lie in the
    middle of two, or next to either, in any binade of that format and beyond, and the rest likewise where that has few."""
    if type.width == 16:
        return np.arange(1 << 16).astype(np.uint16)
    rng = np.random.default_rng(seed)
    word, fraction = WORDS[type.width], FORMATS.precision(type) - 1
    kept = min(FORMATS.precision(to) - 1, fraction)
    rows = rng.integers(0, 1 << type.width, count, np.uint64)
    third = count // 3
    lowest, highest = FORMATS.least_scale(to) - 3, FORMATS.bias(to) + 2
    for start, low, high in ((third, lowest, highest), (2 * third, lowest, lowest + FORMATS.precision(to) + 5)):
        some = slice(start, start + third)
        field = np.clip(rng.integers(low, high, third) + FORMATS.bias(type), 0, (1 << type.width - 1 - fraction) - 1)
        cut = rng.integers(fraction - kept, fraction + 1, third)  # a subnormal number has fewer bits
        upper = rng.integers(0, 1 << fraction, third) >> cut << cut
        near = rng.choice([0, 1, 2, -1, -2], third)
        middle = rng.integers(0, 2, third) << np.maximum(cut - 1, 0)
        size = (field << fraction) + upper + middle + near
        sign = rng.integers(0, 2, third).astype(np.uint64) << np.uint64(type.width - 1)
        rows[some] = np.maximum(size, 0).astype(np.uint64) | sign
    special = [0, 1, FORMATS.infinity(type), FORMATS.greatest(type), FORMATS.infinity(type) + 1, (1 << fraction) - 1]
    rows[: 2 * len(special)] = [bits | sign << type.width - 1 for bits in special for sign in (0, 1)]
    return rows.astype(word)


@pytest.mark.parametrize(("to", "rounding", "type", "ftz"), CASES, ids=str)
def test_the_processor_converts_as_defined(to: Type, rounding: str, type: Type, ftz: bool) -> None:
    operands = aimed(type, to, 1)
    term, holds = converted(to, rounding, type, ftz), numbers(type, operands)
    expected = Compiled(term, type.width, to.width, as_defined=True)(operands)
    assert holds.mean() > 0.8 and len(np.unique(expected[holds])) > 2000
    for lanes in (1, LANES):
        compiled = Compiled(term, type.width, to.width, lanes=lanes)
        assert len(compiled.lines) < 40 and not any(" select" in line and "i128" in line for line in compiled.lines)
        assert not first_difference(compiled(operands), expected, holds, [operands])


@pytest.mark.parametrize(("to", "rounding", "type", "ftz"), CASES, ids=str)
def test_what_is_compared_with_is_the_exact_interpretation(to: Type, rounding: str, type: Type, ftz: bool) -> None:
    operands = aimed(type, to, 2)[:: FEW // 400].copy()
    operands = operands[: len(operands) // LANES * LANES]
    term = converted(to, rounding, type, ftz)
    found = Compiled(term, type.width, to.width, as_defined=True)(operands)
    assert found.tolist() == [evaluate(term, {"a0": int(x)}) for x in operands]


#: formats that NumPy has
FLOATS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def of_numpy(to: str, rounding: str, values: np.ndarray) -> np.ndarray:
    """The nearest numbers by NumPy, and from these the ones in a direction."""
    near = values.astype(FLOATS[to])
    if rounding == "rn" or near.dtype.itemsize >= values.dtype.itemsize:
        return near
    back = near.astype(values.dtype)
    toward = {"rz": np.where(np.signbit(values), np.inf, -np.inf), "rm": -np.inf, "rp": np.inf}[rounding]
    goes_up = np.broadcast_to(toward, values.shape) > 0
    is_beyond = np.where(goes_up, back < values, back > values)  # it was rounded the other way
    other = np.nextafter(near, np.where(goes_up, np.inf, -np.inf).astype(FLOATS[to]))
    return np.where(is_beyond, np.where(other == 0, np.copysign(other, near), other), near)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("to", "type"), [(a, b) for a, b in itertools.permutations(FLOATS, 2)])
def test_numpy_converts_so(to: str, rounding: str, type: str) -> None:
    operands = aimed(TYPES[type], TYPES[to], 3)
    values = operands.view(FLOATS[type])
    holds = ~np.isnan(values)
    term = converted(TYPES[to], rounding, TYPES[type], False)
    found = Compiled(term, TYPES[type].width, TYPES[to].width, lanes=LANES)(operands)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = of_numpy(to, rounding, values).view(WORDS[TYPES[to].width])
    assert not first_difference(found, expected, holds, [operands])


@pytest.mark.long
@pytest.mark.parametrize(
    ("to", "rounding"), [("f64", "rn"), *((to, how) for to in ("f16", "bf16") for how in ROUNDINGS)]
)
def test_every_number_of_single_precision_is_converted_as_defined(to: str, rounding: str) -> None:
    term = converted(TYPES[to], rounding, TYPES["f32"], False)
    defined = Compiled(term, 32, TYPES[to].width, as_defined=True)
    compiled = Compiled(term, 32, TYPES[to].width, lanes=LANES)
    for sign in (0, 1 << 31):
        for first in range(0, 0x7F800001, 1 << 22):
            last = min(first + (1 << 22), 0x7F800000 + LANES)  # a few NaNs fill the last vector
            operands = np.arange(first | sign, last | sign).astype(np.uint32)
            numbers_alone = operands & 0x7FFFFFFF <= 0x7F800000
            assert not first_difference(compiled(operands), defined(operands), numbers_alone, [operands])


# integers --------------------------------------------------------------------------------------------------------------

INTEGERS = [TYPES[f"{sign}{width}"] for sign in "us" for width in (8, 16, 32, 64)]
DIRECTIONS = ("rni", "rzi", "rmi", "rpi")


def whole_numbers(type: Type, seed: int) -> np.ndarray:
    """Words with the low bits of integers: all of 16 bits and fewer; of others those of any length, and powers of two, with what a
    format of any precision rounds, or the middle of two, and next to it."""
    if type.width <= 16:
        return np.arange(1 << 16).astype(np.uint16)
    rng = np.random.default_rng(seed)
    count = FEW // 4
    any_length = rng.integers(0, 1 << 64, count, np.uint64) >> rng.integers(0, 64, count).astype(np.uint64)
    top, below = rng.integers(0, 64, (2, count)).astype(np.uint64)
    one = np.uint64(1)
    kept = any_length | one << top
    kept = (kept >> below | rng.integers(0, 2, count).astype(np.uint64)) << below
    middle = kept + rng.choice([0, 1, 1 << 64 - 1], count).astype(np.uint64) + ((one << below) >> one)
    rows = np.concatenate([any_length, kept, middle, -any_length.view(np.int64).astype(np.uint64)])
    return rows.astype(WORDS[type.width])


def integer_in(type: Type) -> Any:
    """An integer of a type, whose low bits a word of 16 bits or more has."""
    return as_type(variable("a0", max(type.width, 16)), type)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("to", "type", "rounding"), [*itertools.product(NAMES, INTEGERS, ROUNDINGS)], ids=str)
def test_integers_become_numbers_as_defined(to: str, type: Type, rounding: str) -> None:
    operands, width = whole_numbers(type, 4), max(type.width, 16)
    term = low_bits(PAGE.from_integer(TYPES[to], rounding, integer_in(type)), TYPES[to].width)
    expected = Compiled(term, width, TYPES[to].width, as_defined=True)(operands)
    every = np.ones(len(operands), bool)
    for lanes in (1, LANES):
        compiled = Compiled(term, width, TYPES[to].width, lanes=lanes)
        assert any("tofp" in line for line in compiled.lines)
        assert not first_difference(compiled(operands), expected, every, [operands])
    few = operands[:: len(operands) // 300]
    assert [evaluate(term, {"a0": int(x)}) for x in few] == expected[:: len(operands) // 300].tolist()
    if rounding == "rn" and to in FLOATS:
        with np.errstate(over="ignore"):
            exact = operands.astype(WORDS[width]).astype(f"{'i' if type.signed else 'u'}{type.width // 8}")
            numpy = exact.astype(FLOATS[to]) if to != "f16" else exact.astype(np.float64).astype(np.float16)
        bits = numpy.view(WORDS[TYPES[to].width])
        is_once = np.abs(exact.astype(np.float64)) < 2.0**53 if to == "f16" else every
        assert not first_difference(expected, bits, is_once, [operands])


def near_integers(type: Type, to: Type) -> np.ndarray:
    """Patterns of numbers about 0, about the bounds of an integer type, whole numbers and halves, and next to these."""
    if type.width == 16:
        return np.arange(1 << 16).astype(np.uint16)
    rng = np.random.default_rng(5)
    real, word, count = FLOATS[type.name], WORDS[type.width], FEW // 4
    halves = rng.integers(-(1 << 12), 1 << 12, count) / 2
    bounds = rng.choice([float(to.min), float(to.max), 2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**66, 2.0**70], count)
    sizes = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-5, 70, count)
    values = np.concatenate([halves, bounds * rng.choice([1, -1], count), sizes, np.rint(sizes)]).astype(real)
    rows = values.view(word) + rng.integers(-2, 3, len(values)).astype(word)
    return np.concatenate([rows, aimed(type, TYPES["f16"], 6, FEW // 4)])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("to", "type", "rounding"), [*itertools.product(INTEGERS, NAMES, DIRECTIONS)], ids=str)
def test_numbers_become_integers_as_defined(to: Type, type: str, rounding: str) -> None:
    of = TYPES[type]
    operands = near_integers(of, to)
    holds, width = numbers(of, operands), max(to.width, 16)
    result = PAGE.to_integer(to, rounding, variable("a0", of.width), of)
    term = low_bits(result, width)
    expected = Compiled(term, of.width, width, as_defined=True)(operands)
    for lanes in (1, LANES):
        compiled = Compiled(term, of.width, width, lanes=lanes)
        assert any("fpto" in line for line in compiled.lines)
        assert not first_difference(compiled(operands), expected, holds, [operands])
    few = operands[:: len(operands) // 300]
    assert [evaluate(term, {"a0": int(x)}) for x in few] == expected[:: len(operands) // 300].tolist()
    if type in FLOATS:
        whole = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
        values = few.view(FLOATS[type]).astype(np.float64)
        for value, bits in zip(values.tolist(), expected[:: len(operands) // 300].tolist(), strict=True):
            if value == value:
                exact = (to.max if value > 0 else to.min) if abs(value) == float("inf") else int(whole(value))
                assert bits == min(max(exact, to.min), to.max) & (1 << width) - 1


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("type", NAMES)
def test_numbers_become_whole_as_defined(type: str, rounding: str) -> None:
    of = TYPES[type]
    operands = near_integers(of, TYPES["s32"])
    term, holds = PAGE.to_integral(of, rounding, variable("a0", of.width)), numbers(of, operands)
    expected = Compiled(term, of.width, of.width, as_defined=True)(operands)
    for lanes in (1, LANES):
        compiled = Compiled(term, of.width, of.width, lanes=lanes)
        assert any("@llvm." in line for line in compiled.lines)
        assert not first_difference(compiled(operands), expected, holds, [operands])
    few = operands[:: len(operands) // 300]
    assert [evaluate(term, {"a0": int(x)}) for x in few] == expected[:: len(operands) // 300].tolist()
    if type in FLOATS:
        whole = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
        with np.errstate(invalid="ignore"):
            found = whole(operands.view(FLOATS[type])).view(WORDS[of.width])
        assert not first_difference(found, expected, holds, [operands])


def lines_of(term: Any, emitter: type[Emitter] = Emitter) -> list[str]:
    lines: list[str] = []
    Lowering(emitter(lines, set()), {"a0": "%a0"}).low(term, 32)
    return lines


def test_the_term_is_known_however_it_was_made() -> None:
    """By identity: the body makes the same one, and without the mark a result is lowered as it stands."""
    x = variable("a0", 64)
    marked = PAGE.converted(TYPES["f32"], "rz", x, TYPES["f64"])
    again = PAGE.converted.__wrapped__(TYPES["f32"], "rz", x, TYPES["f64"])
    assert again is marked and known_result(marked).arguments == (TYPES["f32"], "rz", x, TYPES["f64"], False)
    assert any("fptrunc" in line for line in lines_of(again))
    assert not any("fptrunc" in line for line in lines_of(again, AsDefined))


@pytest.mark.slow
def test_a_term_that_is_gone_is_forgotten() -> None:
    result = PAGE.converted(TYPES["f32"], "rm", variable("forgotten", 64), TYPES["f64"])
    key = id(result)
    assert known_result(result) is not None
    del result
    gc.collect()
    from ptxspec.terms import vocabulary

    assert key not in vocabulary._results


def test_an_operand_is_no_result() -> None:
    """Between equal formats the result is the operand, and of constants it is one: neither is kept."""
    x = variable("a0", 32)
    assert PAGE.converted(TYPES["f32"], "rn", x, TYPES["f32"]) is x and known_result(x) is None


def test_formats_that_the_processor_has_not_are_as_defined() -> None:
    short = PAGE.converted(TYPES["e4m3"], "rn", variable("a0", 32), TYPES["f32"])
    assert known_result(short) is not None and lines_of(short) == lines_of(short, AsDefined)
