"""What the sum of products of matrices may be, for single elements: worked out by hand from the bound that the page states."""

from __future__ import annotations

from fractions import Fraction

import pytest
from ptxspec.spec.arithmetic.approximation import nearest
from ptxspec.spec.matrices.products import Sum, known_scale

from ptxspec.terms import TYPES, Type
from ptxspec.terms.reals import real

F16, F32 = TYPES["f16"], TYPES["f32"]
ONE, TWO, GREATEST, NAN = 0x3C00, 0x4000, 0x7BFF, 0x7E01


@pytest.mark.parametrize(("type", "nan", "c"), [(F16, 0x7FFF, 0), (F32, 0x7FFFFFFF, 0)])
def test_the_nearest_result_of_a_nan_is_the_canonical_nan(type: Type, nan: int, c: int) -> None:
    assert Sum(type, type, F16, F16, [NAN, ONE, c]).nearest() == nan


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
    assert Sum(F32, F32, F16, F16, [TWO, TWO, 0x40400000]).nearest() == 0x40E00000  # 2 · 2 + 3 = 7


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
    assert found.nearest() == 0x7FFF
    assert not found.allows(0x7C00) and not found.allows(ONE)
