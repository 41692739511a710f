"""Floating-point instructions that do not round: against NumPy, math and struct."""

from __future__ import annotations

import itertools
import math
import struct

import pytest

import ptxspec
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.terms.types import TYPES

FORMAT = {"f32": ("<f", "<I", 32, 23), "f64": ("<d", "<Q", 64, 52)}


def value(bits: int, type: str) -> float:
    real, whole, _, _ = FORMAT[type]
    return struct.unpack(real, struct.pack(whole, bits))[0]


def operands(type: str) -> list[int]:
    return special(TYPES[type])


@pytest.mark.parametrize("type", FORMAT)
def test_properties(type: str) -> None:
    least = 2.0**-126 if type == "f32" else 2.0**-1022
    for a in operands(type):
        x = value(a, type)
        small = x != 0 and abs(x) < least
        wanted = {
            "finite": math.isfinite(x),
            "infinite": math.isinf(x),
            "number": not math.isnan(x),
            "notanumber": math.isnan(x),
            "normal": math.isfinite(x) and not small,
            "subnormal": small,
        }
        for op, want in wanted.items():
            assert ptxspec.evaluate(f"testp.{op}.{type} p, a;", a=a)["p"] is want, (op, hex(a))


@pytest.mark.parametrize("type", FORMAT)
def test_signs(type: str) -> None:
    _, _, width, _ = FORMAT[type]
    top = 1 << (width - 1)
    for a, b in itertools.product(operands(type), repeat=2):
        want = b & ~top | a & top
        assert ptxspec.evaluate(f"copysign.{type} d, a, b;", a=a, b=b)["d"] == want
        if not math.isnan(value(b, type)):
            assert value(want, type) == math.copysign(value(b, type), value(a, type))
    for a in operands(type):
        if not math.isnan(value(a, type)):
            assert ptxspec.evaluate(f"abs.{type} d, a;", a=a)["d"] == a & ~top
            assert ptxspec.evaluate(f"neg.{type} d, a;", a=a)["d"] == a ^ top
        else:
            for name in ("abs", "neg"):
                assert ptxspec.allowed(f"{name}.{type} d, a;", {"d": top - 3}, a=a)
                assert not ptxspec.allowed(f"{name}.{type} d, a;", {"d": 0}, a=a)


def test_flushing_keeps_the_sign() -> None:
    assert ptxspec.evaluate("neg.ftz.f32 d, a;", a=1)["d"] == 1 << 31
    assert ptxspec.evaluate("abs.ftz.f32 d, a;", a=0x807FFFFF)["d"] == 0
    assert ptxspec.evaluate("min.ftz.f32 d, a, b;", a=0x80000001, b=0x3F800000)["d"] == 1 << 31
    assert ptxspec.evaluate("max.ftz.f32 d, a, b;", a=1, b=0xFF800000)["d"] == 0
    assert ptxspec.evaluate("max.ftz.f32 d, a, b;", a=1, b=0x7FC00000)["d"] == 0


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("type", FORMAT)
def test_extremes(name: str, type: str) -> None:
    pick = {"min": min, "max": max}[name]
    _, _, width, _ = FORMAT[type]
    top = 1 << (width - 1)
    for a, b in itertools.product(operands(type), repeat=2):
        x, y = value(a, type), value(b, type)
        text = f"{name}.{type} d, a, b;"
        if math.isnan(x) and math.isnan(y):
            assert ptxspec.allowed(text, {"d": top - 1}, a=a, b=b) and not ptxspec.allowed(text, {"d": 0}, a=a, b=b)
            continue
        if x == y == 0 and a != b:
            result = {"min": top, "max": 0}[name]  # −0 is less than +0
            assert [z for z in (0, top, 1) if ptxspec.allowed(text, {"d": z}, a=a, b=b)] == [result]
            assert ptxspec.evaluate(text, a=a, b=b)["d"] == result
            continue
        want = b if math.isnan(x) else a if math.isnan(y) else {x: a, y: b}[pick(x, y)]
        assert ptxspec.evaluate(text, profile="portable", a=a, b=b)["d"] == want, (hex(a), hex(b))


@pytest.mark.parametrize("name", ["min", "max"])
def test_newer_extremes(name: str) -> None:
    pick = {"min": min, "max": max}[name]
    top = 1 << 31
    for a, b in itertools.product(operands("f32"), repeat=2):
        x, y = value(a, "f32"), value(b, "f32")
        if math.isnan(x) or math.isnan(y):
            assert ptxspec.evaluate(f"{name}.NaN.f32 d, a, b;", a=a, b=b)["d"] == 0x7FFFFFFF
        else:
            assert ptxspec.evaluate(f"{name}.NaN.f32 d, a, b; {name}.f32 e, a, b;", a=a, b=b)["d"] in (a, b)
        if math.isnan(x) and math.isnan(y):
            continue
        sizes = [v & (top - 1) for v, n in ((a, x), (b, y)) if not math.isnan(n)]
        want = (a ^ b) & top | pick(sizes)
        assert ptxspec.evaluate(f"{name}.xorsign.abs.f32 d, a, b;", profile="portable", a=a, b=b)["d"] == want
