"""A correctly rounded single-precision fused multiply-add for NumPy, which has none."""

import numpy as np
from numpy.typing import ArrayLike


def fma32(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Return a * b + c in float32, rounded once, to nearest even; the bits of a NaN are unspecified.

    The operands must hold float32 values; they broadcast as usual in NumPy.

    The product of two float32 numbers is exact in float64. Its sum with c is not: rounding it to float64
    and then to float32 would round twice. The sum is therefore rounded to odd in float64, that is, an
    inexact sum becomes the neighbour whose last bit is 1. As float64 has more than two bits more than
    float32, and a greater range of exponents, rounding the result to float32 then gives the right answer,
    subnormal numbers included (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        wide_a, wide_b, wide_c = (np.asarray(x, dtype=np.float32).astype(np.float64) for x in (a, b, c))
        product = np.asarray(wide_a * wide_b)
        total = np.asarray(product + wide_c)
        # TwoSum: total + error is the exact sum. No step can overflow or underflow in float64.
        virtual = total - product
        error = np.asarray((product - (total - virtual)) + (wide_c - virtual))
        bits = total.view(np.int64)
        inexact = np.isfinite(total) & (error != 0)
        to_odd = inexact & ((bits & 1) == 0)
        # The bit pattern grows with the magnitude: step away from zero if the error has the sign of the sum.
        step = np.where((error > 0) == (total > 0), 1, -1)
        odd = (bits + np.where(to_odd, step, 0)).view(np.float64)
        return odd.astype(np.float32)
