"""Forms that no GPU at hand has: pairs of singles, sums from narrower formats, three operands. Their oracle is NumPy's arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec

COUNT = 4000


def singles(rng: np.random.Generator) -> Any:
    """Finite numbers of magnitudes that meet, with both zeros among them."""
    found = (rng.normal(size=COUNT) * 2.0 ** rng.integers(-12, 12, COUNT)).astype(np.float32)
    found[:40] = rng.choice(np.array([0.0, -0.0, 1.0, -1.0], np.float32), 40)
    return found


def pairs(low: Any, high: Any) -> Any:
    return low.view(np.uint32).astype(np.uint64) | high.view(np.uint32).astype(np.uint64) << np.uint64(32)


def result(text: str, **operands: Any) -> Any:
    return ptxspec.evaluate(text, **operands)["d"]


@pytest.mark.parametrize(("opcode", "operation"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)])
def test_pairs(opcode: str, operation: Any) -> None:
    rng = np.random.default_rng(1)
    a, b, c, d = (singles(rng) for _ in range(4))
    got = result(f"{opcode}.rn.f32x2 d, a, b;", a=pairs(a, b), b=pairs(c, d))
    assert np.array_equal(got, pairs(operation(a, c), operation(b, d)))


def test_fused_pairs() -> None:
    """Small integers, whose products and sums are exact."""
    rng = np.random.default_rng(2)
    a, b, c, d, e, f = (rng.integers(-500, 500, COUNT).astype(np.float32) for _ in range(6))
    got = result("fma.rz.f32x2 d, a, b, c;", a=pairs(a, b), b=pairs(c, d), c=pairs(e, f))
    assert np.array_equal(got, pairs(a * c + e + np.float32(0), b * d + f + np.float32(0)))


@pytest.mark.parametrize(("opcode", "sign"), [("add", 1), ("sub", -1)])
def test_sums_from_half_precision(opcode: str, sign: int) -> None:
    rng = np.random.default_rng(3)
    a, b = singles(rng).astype(np.float16), singles(rng)
    got = result(f"{opcode}.rn.f32.f16 d, a, b;", a=a.view(np.uint16), b=b)
    assert np.array_equal(got, (a.astype(np.float32) + np.float32(sign) * b).view(np.uint32))


def test_sums_from_bfloat16() -> None:
    rng = np.random.default_rng(4)
    a, b = singles(rng).view(np.uint32) >> np.uint32(16), singles(rng)
    got = result("add.rn.f32.bf16 d, a, b;", a=a.astype(np.uint16), b=b)
    assert np.array_equal(got, ((a << np.uint32(16)).view(np.float32) + b).view(np.uint32))


def test_fused_from_half_precision() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-500, 500, COUNT).astype(np.float16) for _ in "ab")
    c = rng.integers(-500, 500, COUNT).astype(np.float32)
    got = result("fma.rm.f32.f16 d, a, b, c;", a=a.view(np.uint16), b=b.view(np.uint16), c=c)
    want = a.astype(np.float32) * b.astype(np.float32) + c
    assert np.array_equal(got.view(np.uint32).astype(np.uint32).view(np.float32), want)


@pytest.mark.parametrize(("opcode", "operation"), [("min", np.fmin), ("max", np.fmax)])
def test_three_operands(opcode: str, operation: Any) -> None:
    rng = np.random.default_rng(6)
    a, b, c = (singles(rng) for _ in "abc")
    for one in (a, b, c):
        one[one == 0] = 1  # which of two zeros it is, is left open
        one[rng.integers(0, COUNT, 300)] = np.nan
    some = ~(np.isnan(a) & np.isnan(b) & np.isnan(c))
    plain = result(f"{opcode}.f32 d, a, b, c;", a=a, b=b, c=c).view(np.uint32).astype(np.uint32).view(np.float32)
    assert np.array_equal(plain[some], operation(operation(a, b), c)[some]) and np.isnan(plain[~some]).all()
    strict = (
        result(f"{opcode}.NaN.abs.f32 d, a, b, c;", a=a, b=b, c=c).view(np.uint32).astype(np.uint32).view(np.float32)
    )
    clean = ~(np.isnan(a) | np.isnan(b) | np.isnan(c))
    assert np.isnan(strict[~clean]).all()
    assert np.array_equal(strict[clean], operation(operation(abs(a), abs(b)), abs(c))[clean])
