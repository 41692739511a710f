"""What the sum of products of matrices may be, for single elements: worked out by hand from the bound that the page states."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from ptxspec.spec.arithmetic.approximation import nearest
from ptxspec.spec.matrices.products import (
    ADDERS,
    Sum,
    SumOperands,
    family,
    known_scale,
    nearest_sum,
    read,
    tensor_core_sum,
)

from ptxspec.terms import TYPES, Type, integer
from ptxspec.terms.reals import real

F16, F32 = TYPES["f16"], TYPES["f32"]
ONE, TWO, GREATEST, NAN = 0x3C00, 0x4000, 0x7BFF, 0x7E01


def nearest_to(dtype: Type, ctype: Type, x: int, y: int, c: int) -> int:
    """The pattern nearest to x · y + c, of factors of half precision."""
    product = [(integer(x), F16)], [(integer(y), F16)]
    return nearest_sum(dtype, SumOperands(*product, (integer(c), ctype))).__index__()


@pytest.mark.parametrize(("type", "nan", "c"), [(F16, 0x7FFF, 0), (F32, 0x7FFFFFFF, 0)])
def test_the_nearest_result_of_a_nan_is_the_canonical_nan(type: Type, nan: int, c: int) -> None:
    assert nearest_to(type, type, NAN, ONE, c) == nan


def test_sums_of_half_precision_are_bounded_by_its_unit() -> None:
    """1 · 1 + 0: four units of 2^−10 for two steps, and one for the result; less than 2^−12 where the sum is kept in single."""
    half = Sum(F16, F16, F16, F16, [ONE, ONE, 0])
    assert [half.allows(ONE + n) for n in (0, 1, 4, 6)] == [True, True, True, False]
    single = Sum(F16, F32, F16, F16, [ONE, ONE, 0])
    assert [single.allows(ONE + n) for n in (0, 1, 2)] == [True, True, False]


def test_a_sum_overflows_only_where_the_bound_reaches_the_greatest_number() -> None:
    """The greatest number is 65504. A sum of half that many cannot be infinite; one of that many may be."""
    for x, may in ((GREATEST, True), (GREATEST - 0x400, False)):
        found = Sum(F16, F32, F16, F16, [x, ONE, 0])
        assert [found.allows(bits) for bits in (x, 0x7C00)] == [True, may]


def test_c_counts_in_its_own_type() -> None:
    assert nearest_to(F32, F32, TWO, TWO, 0x40400000) == 0x40E00000  # 2 · 2 + 3 = 7


def test_the_pattern_nearest_to_zero_has_no_sign_and_that_of_a_tiny_number_has_its_own() -> None:
    tiny = Fraction(1, 1 << 200)
    assert [nearest(F32, real(x)) for x in (Fraction(0), tiny, -tiny)] == [0, 0, 1 << 31]


def test_a_scale_without_a_sign_has_seven_bits() -> None:
    """Under .ue4m3 0x38 is one and 0x30 a half; 0x7f is a NaN. The eighth bit is no sign."""
    scales = [known_scale(bits | top, TYPES["ue4m3"]) for bits in (0x38, 0x30, 0x7F) for top in (0, 0x80)]
    assert scales == [1, 1, Fraction(1, 2), Fraction(1, 2), None, None]


@pytest.mark.parametrize("operands", [[0x7C00, 0, ONE], [0, 0xFC00, ONE], [0x7C00, 0x8000, 0x7C00]])
def test_infinity_times_zero_is_a_nan(operands: list[int]) -> None:
    found = Sum(F16, F16, F16, F16, operands)
    assert nearest_to(F16, F16, *operands) == 0x7FFF
    assert not found.allows(0x7C00) and not found.allows(ONE)


# what a tensor core of Hopper adds -----------------------------------------------------------------------------------

BF16, TF32 = TYPES["bf16"], TYPES["tf32"]
#: bits of the fraction, and of the exponent
FIELDS = {"f16": (10, 5), "bf16": (7, 8), "tf32": (10, 8), "f32": (23, 8)}


def number(bits: int, type: Type) -> tuple[Fraction, int]:
    """(a number, the exponent that it is aligned by): of a subnormal one, and of zero, that of the smallest normal number."""
    fraction, exponent = FIELDS[type.name]
    bits >>= 13 if type is TF32 else 0
    field = bits >> fraction & (1 << exponent) - 1
    power = max(field, 1) - ((1 << exponent - 1) - 1)
    size = Fraction((bits & (1 << fraction) - 1) + ((field > 0) << fraction), 1 << fraction)
    return size * Fraction(2) ** power * (-1 if bits >> fraction + exponent & 1 else 1), power


def toward_zero(x: Fraction) -> int:
    """A sum in single precision, cut toward zero, if it is finite; zero is +0."""
    if not x:
        return 0
    sign, size = int(x < 0) << 31, abs(x)
    power = max(math.floor(math.log2(size.numerator) - math.log2(size.denominator)) - 1, -126)
    while size >= Fraction(2) ** (power + 1):
        power += 1
    places = math.floor(size / Fraction(2) ** (power - 23))
    return sign | (places + ((power + 126) << 23)) if places else 0


def cut_and_added(a: list[int], b: list[int], c: int, type: Type) -> int:
    """Rationals instead of the page's integers: each number is cut to 25 places behind the largest exponent, which is -133 at
    least."""
    numbers = [number(c, F32)]
    for x, y in zip(a, b, strict=True):
        (first, one), (second, other) = number(x, type), number(y, type)
        numbers.append((first * second, one + other))
    unit = Fraction(2) ** (max([-133, *(power for size, power in numbers if size)]) - 25)
    return toward_zero(sum((math.trunc(size / unit) * unit for size, _ in numbers), start=Fraction(0)))


def of_tensor_core(a: list[int], b: list[int], c: int, type: Type) -> int:
    """The same by the page."""
    first, second = ([read(integer(x), type) for x in numbers] for numbers in (a, b))
    adder = ADDERS["hopper", family(type)]
    return tensor_core_sum(F32, adder, SumOperands(first, second, (integer(c), F32))).__index__()


def power(exponent: int) -> int:
    """The pattern of a power of two in .bf16."""
    assert -133 <= exponent <= 127
    return exponent + 127 << 7 if exponent >= -126 else 1 << exponent + 133


MINUS = 0x8000


@pytest.mark.parametrize(
    ("factors", "c", "result"),
    [
        # 2^-149 - 2^-160: the second lies below 2^-158, and is lost beside nothing larger
        ([(-75, -74, 0), (-80, -80, MINUS)], 0, 0x00000001),
        # 2^-149 - 2^-158 is less than the smallest number
        ([(-75, -74, 0), (-79, -79, MINUS)], 0, 0),
        # 2^-148 - 2^-159 twice: each is lost, though not their sum
        ([(-74, -74, 0), (-80, -79, MINUS), (-80, -79, MINUS)], 0, 0x00000002),
        # beside the smallest normal C all below 2^-151 is lost
        ([(-75, -77, MINUS)], 0x00800000, 0x00800000),
        ([(-75, -76, MINUS)], 0x00800000, 0x007FFFFF),
        # a subnormal factor, 2^-133, counts as one with the exponent -126: what lies below 2^-151 is lost
        ([(-133, 0, 0), (-76, -76, MINUS)], 0, 0x00010000),
        ([(-133, 0, 0), (-76, -75, MINUS)], 0, 0x0000FFFF),
        # with a normal factor of the same product it is not
        ([(-66, -67, 0), (-76, -76, MINUS)], 0, 0x0000FFFF),
        # 2^254 - 2^254: nothing remains, and zero is not too large
        ([(127, 127, 0), (127, 127, MINUS)], 0, 0),
    ],
)
def test_the_smallest_and_the_largest_products(factors: list[tuple[int, int, int]], c: int, result: int) -> None:
    """Worked out by hand: powers of two, and the sign of their product."""
    a = [power(x) for x, _, _ in factors]
    b = [power(y) | sign for _, y, sign in factors]
    assert of_tensor_core(a, b, c, BF16) == result == cut_and_added(a, b, c, BF16)


@pytest.mark.slow
@pytest.mark.parametrize("type", [BF16, TF32, F16], ids=lambda t: t.name)
def test_sums_of_small_products_are_those_of_rationals(type: Type) -> None:
    """Products around the limit, with subnormal factors among them, and C zero, subnormal or small."""
    fraction, exponent = FIELDS[type.name]
    source = random.Random(f"{type.name}: sums")
    middle = (1 << exponent - 1) - 1
    below = 0
    for _ in range(400):
        k = source.choice((4, 8, 16))
        a, b = [], []
        for _ in range(k):
            goal = source.randint(-162, -128) if exponent == 8 else source.randint(-28, -20)
            lower = (
                max(goal - 1, 1 - middle) if source.random() < 0.3 else source.randint(1 - middle, goal + middle - 1)
            )
            fields = [max(0, x + middle) for x in (lower, goal - lower)]
            fields = [0 if field == 1 and source.random() < 0.5 else field for field in fields]
            patterns = [
                (source.getrandbits(1) << exponent | field) << fraction
                | (source.getrandbits(fraction) if source.random() < 0.2 else source.choice((0, 1 << fraction - 1)))
                for field in source.sample(fields, 2)
            ]
            for numbers, pattern in zip((a, b), patterns, strict=True):
                numbers.append(pattern << 13 if type is TF32 else pattern)
        c = source.choice((0, 0, 1 << 31, source.getrandbits(31) & 0x80000007, source.getrandbits(31) & 0x81FFFFFF))
        found = of_tensor_core(a, b, c, type)
        assert found == cut_and_added(a, b, c, type), (a, b, c)
        exact = [number(x, type)[0] * number(y, type)[0] for x, y in zip(a, b, strict=True)]
        below += found != toward_zero(sum(exact, start=number(c, F32)[0]))
    assert below > 20 or type is F16  # of half precision no bit is lost here
