"""Forms that no GPU at hand has: pairs of singles, sums from narrower formats, three operands, four bytes, limits, and reductions of
singles. Their oracle is NumPy's arithmetic."""

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


def words(rng: np.random.Generator) -> Any:
    """Words whose parts are near the ends of what they hold, or anywhere."""
    anywhere = rng.integers(0, 1 << 32, COUNT).astype(np.uint32)
    ends = rng.choice(np.array([0, 1, 0x7F, 0x80, 0x81, 0xFF], np.uint8), (COUNT, 4)).view(np.uint32).ravel()
    return np.where(rng.random(COUNT) < 0.5, ends, anywhere).astype(np.uint32)


#: by an opcode, what it does with numbers that have more room than they need
OPERATIONS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "neg": lambda x, _: -x,
    "min.relu": lambda x, y: np.maximum(np.minimum(x, y), 0),
    "max.relu": lambda x, y: np.maximum(np.maximum(x, y), 0),
}
PACKED = [
    *(f"{opcode}.{type}" for opcode in ("add", "sub", "add.sat", "sub.sat", "min", "max") for type in ("u8x4", "s8x4")),
    *("neg.s8x4", "min.relu.s8x4", "max.relu.s8x4", "add.sat.u16x2", "add.sat.s16x2", "add.sat.u32"),
]


def of_parts(form: str, a: Any, b: Any) -> Any:
    """What a form gives, part by part."""
    opcode, _, name = form.rpartition(".")
    own = np.dtype({"u8x4": "u1", "s8x4": "i1", "u16x2": "u2", "s16x2": "i2", "u32": "u4"}[name])
    x, y = (v.view(own).astype(np.int64) for v in (a, b))
    found = OPERATIONS[opcode.removesuffix(".sat")](x, y)
    if opcode.endswith(".sat"):
        found = np.clip(found, np.iinfo(own).min, np.iinfo(own).max)
    return found.astype(own).view(np.uint32)


@pytest.mark.parametrize("form", PACKED)
def test_parts(form: str) -> None:
    rng = np.random.default_rng(8)
    a, b = words(rng), words(rng)
    operands = {"a": a} if form.startswith("neg") else {"a": a, "b": b}
    got = result(f"{form} d, {', '.join(operands)};", **operands).astype(np.uint32)
    assert np.array_equal(got, of_parts(form, a, b))
    wrong = {"add": "sub", "sub": "add", "min": "max", "max": "min", "neg": "add"}
    other = wrong[form[:3]] + form[3:]
    assert not np.array_equal(got, of_parts(other, a, b)), "the operands tell the two apart"


REDUCTION = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 mask)
{{
  .reg .u64 %in, %out; .reg .u32 %t, %mask, %bit; .reg .f32 %x; .reg .pred %takes_part;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %mask, [mask];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %in, %t, 4, %in;
  mad.wide.u32 %out, %t, 4, %out;
  ld.global.f32 %x, [%in];
  shr.u32 %bit, %mask, %t;
  and.b32 %bit, %bit, 1;
  setp.ne.u32 %takes_part, %bit, 0;
  @%takes_part redux.sync.{how}.f32 %x, %x, %mask;
  st.global.f32 [%out], %x;
  ret;
}}
"""


@pytest.mark.parametrize("engine", ["native", "exact"])
@pytest.mark.parametrize("how", ["min", "max", "min.abs", "max.NaN", "min.abs.NaN", "max.abs"])
def test_reductions(how: str, engine: Any) -> None:
    rng = np.random.default_rng(9)
    module = ptxspec.load(REDUCTION.format(how=how))
    operation = np.fmin if how.startswith("min") else np.fmax
    for mask in (0xFFFFFFFF, 0x1, 0x80000001, 0x0F0F00F0, *rng.integers(1, 1 << 32, 8).tolist()):
        values = singles(rng)[:32]
        values[values == 0] = 1  # which of two zeros it is, is left open
        values[rng.random(32) < rng.choice([0, 0.1, 0.5, 1])] = np.nan
        out = np.zeros_like(values)
        module.launch("k", args=[values, out, mask], block=32, engine=engine)
        members = np.array([bool(mask >> lane & 1) for lane in range(32)])
        given = abs(values[members]) if "abs" in how else values[members]
        is_nan = np.isnan(given).any() if "NaN" in how else np.isnan(given).all()
        want = np.float32(np.nan) if is_nan else operation.reduce(given)
        assert np.array_equal(out, np.where(members, want, values), equal_nan=True), hex(mask)


def without_carries(a: int, b: int) -> int:
    """The oracle: long multiplication of polynomials, one coefficient after another."""
    product = 0
    while b:
        low = b & -b
        product ^= a * low
        b ^= low
    return product


@pytest.mark.parametrize("half", ["lo", "hi"])
def test_products_without_carries(half: str) -> None:
    rng = np.random.default_rng(10)
    a, b, c = (rng.integers(0, 1 << 64, COUNT, dtype=np.uint64) for _ in "abc")
    a[:4], b[:4], c[:4] = [0, 1, 1 << 63, (1 << 64) - 1], [(1 << 64) - 1, 1 << 63, 1 << 63, (1 << 64) - 1], 0
    got = result(f"clmad.{half}.u64 d, a, b, c;", a=a, b=b, c=c)
    products = [
        without_carries(x, y) >> (64 if half == "hi" else 0) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    want = [p & (1 << 64) - 1 ^ z for p, z in zip(products, c.tolist(), strict=True)]
    assert got.tolist() == want
    carried = (x * y >> (64 if half == "hi" else 0) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert got.tolist() != [p & (1 << 64) - 1 ^ z for p, z in zip(carried, c.tolist(), strict=True)]


LOOP = """.version 9.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 values)
{
  .reg .u64 %at, %x, %y; .reg .u32 %t, %i; .reg .pred %p;
  ld.param.u64 %at, [values];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %at, %t, 8, %at;
  ld.global.u64 %x, [%at];
  mov.u64 %y, 0x9e3779b97f4a7c15;
  mov.u32 %i, 0;
again:
  clmad.hi.u64 %y, %x, %y, %x;
  clmad.lo.u64 %x, %x, %x, %y;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 20;
  @%p bra again;
  st.global.u64 [%at], %x;
  ret;
}
"""


@pytest.mark.parametrize("engine", ["native", "exact"])
def test_products_without_carries_in_a_loop(engine: Any) -> None:
    """A loop that the native engine goes through with many threads side by side."""
    values = np.random.default_rng(11).integers(0, 1 << 64, 64, dtype=np.uint64)
    want = []
    for x in values.tolist():
        y = 0x9E3779B97F4A7C15
        for _ in range(20):
            y = without_carries(x, y) >> 64 ^ x
            x = without_carries(x, x) & (1 << 64) - 1 ^ y
        want.append(x)
    ptxspec.load(LOOP).launch("k", args=[values], block=64, engine=engine)
    assert values.tolist() == want
