"""Elements of products of a warpgroup, against rational numbers that are cut and added as an H100 does; and of other chips."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache
from operator import ne
from typing import NamedTuple

import numpy as np
import pytest
from ptxspec.spec.matrices.products import (
    ADDERS,
    SumOperands,
    accumulated,
    chained_sum,
    counted_product,
    exact_product,
    negated,
    read,
    warpgroup_product,
)

from ptxspec.terms import FALSE, TRUE, TYPES, Int, integer
from ptxspec.terms.core import variable_of
from ptxspec.terms.exact import evaluate
from ptxspec.terms.loops import CompiledLoop, RowLoop, storage
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import freedoms_in, is_allowed


class Format(NamedTuple):
    """The bits of the exponent and of the fraction, and whether infinities are among the numbers with the largest exponent."""

    exponent: int
    fraction: int
    has_infinities: bool = True

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1


LAYOUTS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "tf32": Format(8, 10),
    "e4m3": Format(4, 3, False),
    "e5m2": Format(5, 2),
    "f32": Format(8, 23),
}
NAN, INFINITY = "nan", "infinity"


class Number(NamedTuple):
    """A number by its bits: what it is (a NaN, an infinity, or ""), its sign, its size, and the exponent that it is aligned by."""

    kind: str
    sign: int
    size: Fraction
    exponent: int


def number(bits: int, name: str) -> Number:
    if name == "tf32":
        bits >>= 13
    layout = LAYOUTS[name]
    sign = -1 if bits >> layout.width - 1 & 1 else 1
    field, rest = bits >> layout.fraction & (1 << layout.exponent) - 1, bits & (1 << layout.fraction) - 1
    if field == (1 << layout.exponent) - 1:
        if layout.has_infinities:
            return Number(NAN if rest else INFINITY, sign, Fraction(0), 0)
        if rest == (1 << layout.fraction) - 1:
            return Number(NAN, sign, Fraction(0), 0)
    exponent = max(field, 1) - layout.bias
    size = Fraction(rest + ((field > 0) << layout.fraction), 1 << layout.fraction) * Fraction(2) ** exponent
    return Number("", sign, size, exponent)


def own_exponent(size: Fraction) -> int:
    """The exponent of the first bit."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return exponent if size >= Fraction(2) ** exponent else exponent - 1


def bits_of(size: Fraction, sign: int, name: str, to_nearest: bool) -> int:
    """A number in a format, toward zero or to nearest even; beyond the largest an infinity; of a zero +0."""
    layout = LAYOUTS[name]
    exponent = max(own_exponent(size), 1 - layout.bias) if size else 0
    places = size / Fraction(2) ** (exponent - layout.fraction) if size else Fraction(0)
    whole = round(places) if to_nearest else math.floor(places)  # of two that are as near, the even one
    if not whole:
        return 0
    pattern = whole + (exponent - 1 + layout.bias << layout.fraction)
    return min(pattern, (1 << layout.exponent) - 1 << layout.fraction) | (sign < 0) << layout.width - 1


def summed(
    a: list[int], b: list[int], c: int, names: tuple[str, str, str], fraction: int, limit: int, kept: int
) -> int:
    """One sum of all products and C: each is cut to `fraction` places behind the largest exponent, and a result in single precision
    to `kept`."""
    sums, of_a, of_b = names
    nan = (1 << LAYOUTS[sums].width - 1) - 1
    terms, signs = [], set()
    for x, y in zip(a, b, strict=True):
        first, second = number(x, of_a), number(y, of_b)
        if NAN in (first.kind, second.kind):
            return nan
        sign = first.sign * second.sign
        if INFINITY in (first.kind, second.kind):
            if (not first.kind and not first.size) or (not second.kind and not second.size):
                return nan
            signs.add(sign)
        else:
            terms.append((sign, first.size * second.size, first.exponent + second.exponent))
    addend = number(c, sums)
    if addend.kind == NAN or len(signs | ({addend.sign} if addend.kind else set())) > 1:
        return nan
    if addend.kind:
        signs.add(addend.sign)
    if signs:
        return ((1 << LAYOUTS[sums].exponent) - 1 << LAYOUTS[sums].fraction) | (signs == {-1}) << LAYOUTS[
            sums
        ].width - 1
    terms.append((addend.sign, addend.size, addend.exponent))
    unit = Fraction(2) ** (max([limit, *(exponent for _, size, exponent in terms if size)]) - fraction)
    total = sum((sign * math.floor(size / unit) * unit for sign, size, _ in terms), start=Fraction(0))
    size = abs(total)
    if sums == "f32" and size:
        last = Fraction(2) ** (own_exponent(size) - kept)
        size = math.floor(size / last) * last
    return bits_of(size, -1 if total < 0 else 1, sums, sums == "f16")


# operands ------------------------------------------------------------------------------------------------------------------


def patterns(name: str, source: random.Random, count: int) -> list[int]:
    """Bits of numbers of a format: of all kinds, or near one another, or small."""
    layout, kind = LAYOUTS[name], source.randrange(4)
    found = []
    for _ in range(count):
        if kind == 0:
            bits = source.getrandbits(layout.width)
        else:
            middle = layout.bias if kind < 3 else 1
            field = max(0, middle + source.randint(-6, 6)) if layout.exponent > 4 else source.randint(0, 12)
            field = min(field, (1 << layout.exponent) - 2)
            bits = source.getrandbits(1) << layout.width - 1 | field << layout.fraction
            bits |= source.getrandbits(layout.fraction) & source.choice((-1, -1 << layout.fraction // 2, 0))
        if source.random() < 0.1:
            bits &= 1 << layout.width - 1
        found.append(bits << 13 | source.getrandbits(13) if name == "tf32" else bits)
    return found


def aimed(names: tuple[str, str, str], source: random.Random, count: int) -> tuple[list[int], list[int], int]:
    """Operands of a sum; C is often near the negative of a product, so that little remains."""
    sums, of_a, of_b = names
    a, b = patterns(of_a, source, count), patterns(of_b, source, count)
    c = patterns(sums, source, 1)[0]
    first, second = number(a[0], of_a), number(b[0], of_b)
    if source.random() < 0.5 and not first.kind and not second.kind:
        c = bits_of(first.size * second.size, -first.sign * second.sign, sums, True)
        c ^= source.getrandbits(3) << source.choice((0, LAYOUTS[sums].fraction // 2))
    return a, b, c & (1 << LAYOUTS[sums].width) - 1


FLOATS = [
    ("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
    *((sums, a, b) for sums in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
]  # fmt: skip
HOPPER = Profile("hopper")


def by_the_page(names: tuple[str, str, str], a: list[int], b: list[int], c: int) -> Int:
    """The term of an element."""
    dtype, atype, btype = (TYPES[name] for name in names)
    return warpgroup_product(dtype, atype, btype, [integer(x) for x in a], [integer(x) for x in b], integer(c))


def of_hopper(names: tuple[str, str, str], a: list[int], b: list[int], c: int) -> int:
    return int(evaluate(by_the_page(names, a, b, c), {}, HOPPER.chosen))


@cache
def compiled(names: tuple[str, str, str]) -> CompiledLoop:
    """The same as machine code: of many elements, whose operands are a column each."""
    dtype, atype, btype = (TYPES[name] for name in names)
    types = [atype.bits] * depth_of(names) + [btype.bits] * depth_of(names) + [dtype.bits]
    variables = [variable_of(f"x{i}", type) for i, type in enumerate(types)]
    a, b = variables[: depth_of(names)], variables[depth_of(names) : -1]
    term = warpgroup_product(dtype, atype, btype, a, b, variables[-1])
    inputs = tuple((f"x{i}", type, True) for i, type in enumerate(types))
    return CompiledLoop(RowLoop(inputs, ((dtype.bits, term),)), HOPPER.term)


def depth_of(names: tuple[str, str, str]) -> int:
    """How many products an element has."""
    return 256 // TYPES[names[1]].width


def of_compiled(names: tuple[str, str, str], rows: list[tuple[list[int], list[int], int]]) -> list[int]:
    loop = compiled(names)
    table = [[*a, *b, c] for a, b, c in rows]
    columns = [np.array([row[i] for row in table], storage(type)) for i, (_, type, _) in enumerate(loop.loop.inputs)]
    (found,) = loop(columns, len(rows))
    return [int(x) for x in found]


@pytest.mark.sample(8)
@pytest.mark.parametrize("names", FLOATS, ids=".".join)
def test_an_element_is_that_of_rational_numbers(names: tuple[str, str, str]) -> None:
    """In both interpretations; and the number of fraction bits tells."""
    source = random.Random(".".join(names))
    fraction, kept = (13, 13) if TYPES[names[1]].width == 8 else (25, 23)
    rows = [aimed(names, source, depth_of(names)) for _ in range(150)]
    wanted = [summed(*row, names, fraction, -133, kept) for row in rows]
    assert of_compiled(names, rows) == wanted
    assert [of_hopper(names, *row) for row in rows[:6]] == wanted[:6]
    others = (summed(*row, names, fraction + 1, -133, kept) for row in rows)
    assert any(map(ne, others, wanted)) or names == ("f16", "f16", "f16")


@pytest.mark.parametrize(
    ("c", "result"),
    [(0xBEEC38BA, 0xBEEC3800), (0x80000000, 0), (0x7F800000, 0x7F800000), (0x7FC12345, 0x7FFFFFFF), (0x00000007, 0)],
)
def test_products_of_bytes_shorten_the_accumulator(c: int, result: int) -> None:
    """All products are zero. The least unit is 2^-146."""
    assert of_hopper(("f32", "e4m3", "e5m2"), [0] * 32, [0x80] * 32, c) == result
    if result not in (0, 0x7FFFFFFF):
        assert of_hopper(("f32", "f16", "f16"), [0] * 16, [0x8000] * 16, c) == c


def test_products_beyond_single_precision_cancel() -> None:
    """2^254 twice, with opposite signs, and one."""
    great, one = 0x7F00, 0x3F80
    a, b = [great, great | 0x8000, one] + [0] * 13, [great, great, one] + [0] * 13
    assert of_hopper(("f32", "bf16", "bf16"), a, b, 0) == 0  # one is below the last place
    assert of_hopper(("f32", "bf16", "bf16"), a[:1] + [0] * 15, b, 0) == 0x7F800000
    assert of_hopper(("f32", "bf16", "bf16"), a[1:2] + [0] * 15, b, 0) == 0xFF800000


@pytest.mark.sample(4)
@pytest.mark.parametrize("names", FLOATS, ids=".".join)
def test_what_the_chip_gives_is_allowed(names: tuple[str, str, str]) -> None:
    """But where it deviates: there some results are too far from the exact sum."""
    source = random.Random(".".join(names))
    outside = 0
    for _ in range(12):
        a, b, c = aimed(names, source, depth_of(names))
        term = by_the_page(names, a, b, c)
        (bounded,) = (x for x in freedoms_in(term) if x.attrs[0] == "warpgroup-product")
        operands = tuple(integer(x).__index__() for x in bounded.args)
        outside += not is_allowed(bounded, operands, of_hopper(names, a, b, c))
    assert (outside > 0) == (names[0] == "f32" and TYPES[names[1]].width == 8)


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_a_scale_changes_the_sign_alone(name: str) -> None:
    source = random.Random(name)
    type = TYPES[name]
    for bits in (0, (1 << type.width) - 1, *(source.getrandbits(type.width) for _ in range(20))):
        scaled = [negated(integer(bits), type, integer(by)).__index__() for by in (1, -1)]
        assert scaled == [bits, bits ^ 1 << type.width - 1]


def test_c_that_is_left_out_is_zero() -> None:
    nan = integer(0x7FC00000)
    assert [accumulated(nan, scale).__index__() for scale in (TRUE, FALSE)] == [0x7FC00000, 0]


def test_low_bits_of_tf32_do_not_count() -> None:
    source = random.Random("tf32")
    for _ in range(40):
        a, b, c = aimed(("f32", "tf32", "tf32"), source, 8)
        cut = [[x & ~0x1FFF for x in numbers] for numbers in (a, b)]
        assert of_hopper(("f32", "tf32", "tf32"), a, b, c) == of_hopper(("f32", "tf32", "tf32"), *cut, c)


@pytest.mark.parametrize("satfinite", [False, True])
def test_whole_numbers_are_added_exactly(satfinite: bool) -> None:
    """And wrap around, or are clamped once."""
    source = random.Random(7)
    least, most = -(1 << 31), (1 << 31) - 1
    for low, high in ((-128, 127), (0, 255)):
        for _ in range(60):
            a, b = ([source.randint(low, high) for _ in range(32)] for _ in range(2))
            c = source.choice((least, most, source.randint(least, most), most - 5))
            exact = c + sum(x * y for x, y in zip(a, b, strict=True))
            wanted = max(least, min(most, exact)) if satfinite else (exact - least) % (1 << 32) + least
            term = exact_product([integer(x) for x in a], [integer(x) for x in b], integer(c), satfinite)
            assert (term.__index__() - least) % (1 << 32) + least == wanted


def test_ones_are_counted() -> None:
    source = random.Random(8)
    a, b = ([source.getrandbits(32) for _ in range(8)] for _ in range(2))
    ones = sum((x & y).bit_count() for x, y in zip(a, b, strict=True))
    assert counted_product("and", [integer(x) for x in a], [integer(x) for x in b], integer(5)).__index__() == 5 + ones


# other chips ---------------------------------------------------------------------------------------------------------------


def chained(a: list[int], b: list[int], c: int, names: tuple[str, str, str], row: tuple[int, int, int, int]) -> int:
    """Sums of so many products, one after the other."""
    fraction, limit, at_once, kept = row
    for first in range(0, len(a), at_once):
        block = slice(first, first + at_once)
        c = summed(a[block], b[block], c, names, fraction, limit, kept)
    return c


@pytest.mark.parametrize("chip", sorted({chip for chip, _ in ADDERS}))
def test_each_row_of_the_table_is_a_chain_of_sums(chip: str) -> None:
    """What the published models say, and what was measured of Hopper."""
    source = random.Random(chip)
    rows = {family: adder for (of, family), adder in ADDERS.items() if of == chip}
    for family, adder in rows.items():
        (name, depth) = {"16 bits": ("f16", 16), "tf32": ("tf32", 8), "8 bits": ("e5m2", 32)}[family]
        for sums in ("f32", "f16") if name != "tf32" else ("f32",):
            limit = adder.limit if sums == "f32" else adder.limit_of_half
            for _ in range(12):
                a, b, c = aimed((sums, name, name), source, depth)
                operands = ([read(integer(x), TYPES[name]) for x in numbers] for numbers in (a, b))
                found = chained_sum(TYPES[sums], adder, SumOperands(*operands, (integer(c), TYPES[sums])))
                row = (adder.fraction, limit, adder.at_once, adder.of_single)
                assert found.__index__() == chained(a, b, c, (sums, name, name), row), (a, b, c)


ONE, MINUS = 0x3C00, 0x8000


def power(exponent: int) -> int:
    """The half-precision pattern of a power of two."""
    return exponent + 15 << 10 if exponent >= -14 else 1 << exponent + 24


#: the exponents of the factors of products, negative ones of the second row, C, and what an H200 gave by mma.sync and by wgmma alike
#: (28 November 2026, driver 13.0): whether a product counts that decides a tie
TIES = (
    (((-12, -13), (-23, -24)), (), 0x0000, 0x0000),
    (((-12, -13), (-24, -24)), (), 0x0000, 0x0000),
    (((-12, -13), (-23, -23)), (), 0x0000, 0x0001),
    (((-12, -13), (-22, -23)), (), 0x0000, 0x0001),
    (((-12, -13), (-22, -22)), (), 0x0000, 0x0001),
    (((-12, -13), (-21, -21)), (), 0x0000, 0x0001),
    (((-12, -13), (-20, -20)), (), 0x0000, 0x0001),
    (((-12, -13),), (), 0x0000, 0x0000),
    (((-12, -13), (-11, -13)), ((-23, -24),), 0x0000, 0x0002),
    (((-12, -13),), ((-23, -24),), 0x0001, 0x0002),
    (((-12, -13), (-23, -24)), (), 0x0010, 0x0010),
)


@pytest.mark.parametrize(("added", "taken", "c", "answer"), TIES)
def test_a_sum_in_half_precision_loses_bits_below_a_limit(
    added: tuple[tuple[int, int], ...], taken: tuple[tuple[int, int], ...], c: int, answer: int
) -> None:
    factors = [(power(x), power(y)) for x, y in added] + [(power(x), power(y) | MINUS) for x, y in taken]
    a, b = ([integer(pair[i]) for pair in factors] for i in (0, 1))
    half = TYPES["f16"]
    operands = SumOperands([(x, half) for x in a], [(x, half) for x in b], (integer(c), half))
    assert chained_sum(half, ADDERS["hopper", "16 bits"], operands).__index__() == answer


def test_every_row_has_its_evidence() -> None:
    """Only Hopper was measured."""
    assert {chip for (chip, _), adder in ADDERS.items() if adder.evidence.startswith("measured")} == {"hopper"}
    assert all("not measured here" in adder.evidence for (chip, _), adder in ADDERS.items() if chip != "hopper")


@pytest.mark.parametrize(
    ("products", "exact_on"),
    [
        # 1 + 2^-24 + 2^-24: Volta loses the small ones
        ({0: (ONE, ONE), 1: (0x0C00, 0x0C00), 2: (0x0C00, 0x0C00)}, {"ampere", "ada", "hopper", "blackwell"}),
        # 1 + 4 * 2^-25: so do Ampere and Ada
        ({0: (ONE, ONE), **dict.fromkeys(range(1, 5), (0x0C00, 0x0800))}, {"hopper", "blackwell"}),
        # 1 - 1 + 2^-23, where the first and the ninth product cancel: a chain rounds after the eighth
        ({0: (ONE, ONE), 8: (ONE | MINUS, ONE), 1: (0x0C00, 0x0800)}, {"hopper", "blackwell"}),
    ],
)
def test_chips_differ(products: dict[int, tuple[int, int]], exact_on: set[str]) -> None:
    """Worked out by hand: powers of two, the sum of which is exact on some chips."""
    a, b = ([products.get(i, (0, 0))[side] for i in range(16)] for side in (0, 1))
    total = sum(
        number(x, "f16").size * number(y, "f16").size * (-1 if (x ^ y) & MINUS else 1)
        for x, y in zip(a, b, strict=True)
    )
    exact = bits_of(Fraction(total), 1, "f32", False)
    for chip in {chip for chip, _ in ADDERS}:
        operands = ([read(integer(x), TYPES["f16"]) for x in numbers] for numbers in (a, b))
        found = chained_sum(TYPES["f32"], ADDERS[chip, "16 bits"], SumOperands(*operands, (integer(0), TYPES["f32"])))
        assert (found.__index__() == exact) == (chip in exact_on), chip
