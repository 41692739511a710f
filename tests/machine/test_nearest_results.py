"""Launches that take the nearest of the results that PTX allows: the same bits under both engines, and those of correct rounding."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from launching import both, text

import ptxspec
from ptxspec.terms import outside

#: instructions of single precision, with their operands and the function of double precision that the host's library has
FUNCTIONS: dict[str, tuple[int, Callable[..., float] | None]] = {
    "sin.approx.f32": (1, math.sin),
    "cos.approx.f32": (1, math.cos),
    "ex2.approx.f32": (1, lambda x: 2.0**x),
    "lg2.approx.f32": (1, math.log2),
    "tanh.approx.f32": (1, math.tanh),
    "sqrt.approx.f32": (1, math.sqrt),
    "rsqrt.approx.f32": (1, lambda x: 1 / math.sqrt(x)),
    "rcp.approx.f32": (1, lambda x: 1 / x),
    "div.full.f32": (2, lambda x, y: x / y),
    "div.approx.f32": (2, lambda x, y: x / y),
    "ex2.approx.ftz.f32": (1, None),
    "lg2.approx.ftz.f32": (1, None),
    "rcp.approx.ftz.f32": (1, None),
    "div.approx.ftz.f32": (2, None),
}
#: zeros, infinities, a NaN, subnormal numbers, those at the ends of the normal ones, and where functions are exact
CORNERS = np.array(
    [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC12345, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000,
     0x3F800001, 0x3F7FFFFF, 0x40000000, 0xC2FC0000, 0xC3150000, 0x42FFFFFF, 0x43000000, 0x47C35000, 0x7E800000, 0x7E800001],
    np.uint32,
)  # fmt: skip


def operands(seed: int, count: int) -> np.ndarray:
    """Patterns of all kinds, and numbers such as programs have."""
    rng = np.random.default_rng(seed)
    usual = [rng.normal(size=count) * 10, 10.0 ** rng.uniform(-6, 6, count)]
    patterns = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([CORNERS, *(x.astype(np.float32).view(np.uint32) for x in usual), patterns])


def source(mnemonic: str, count: int) -> str:
    second = ", %f1" if count == 2 else ""
    return text(
        f"""mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [out];
        mad.wide.u32 %rd0, %r0, 4, %rd0; mad.wide.u32 %rd1, %r0, 4, %rd1; mad.wide.u32 %rd2, %r0, 4, %rd2;
        ld.global.f32 %f0, [%rd0]; ld.global.f32 %f1, [%rd1]; {mnemonic} %f2, %f0{second}; st.global.f32 [%rd2], %f2; ret;""",
        ".param .u64 x, .param .u64 y, .param .u64 out",
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize("mnemonic", FUNCTIONS)
def test_engines_agree_and_round_rightly(mnemonic: str) -> None:
    count, function = FUNCTIONS[mnemonic]
    x, y = operands(1, 60), operands(2, 60)
    *_, out = both(source(mnemonic, count), [x, y, np.zeros(len(x), np.uint32)], block=len(x), profile="nearest")
    if function is None:
        return
    compared = 0
    for a, b, d in zip(x.view(np.float32), y.view(np.float32), out.view(np.float32), strict=True):
        try:
            exact = function(*map(float, (a, b)[:count]))
        except (ValueError, ArithmeticError):
            continue
        huge = mnemonic == "div.approx.f32" and abs(b) > 2.0**126  # that a quotient is a zero then, PTX states
        if math.isfinite(exact) and 2.0**-126 < abs(exact) < 2.0**127 and not huge:
            compared += 1
            assert d == np.float32(exact), (mnemonic, float(a), float(b))
    assert compared > 40


def test_where_the_quick_way_cannot_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin so wide that nothing is decided, the page decides all: the bits are the same."""
    x = operands(3, 30)
    quick = [launch(name, x) for name in ("sin.approx.f32", "lg2.approx.f32", "rsqrt.approx.f32")]
    monkeypatch.setattr(outside, "MARGIN", 0.5)
    outside._quick.cache_clear()
    try:
        assert [launch(name, x) for name in ("sin.approx.f32", "lg2.approx.f32", "rsqrt.approx.f32")] == quick
    finally:
        outside._quick.cache_clear()


def launch(mnemonic: str, x: np.ndarray) -> list[int]:
    out = np.zeros(len(x), np.uint32)
    module = ptxspec.load(source(mnemonic, FUNCTIONS[mnemonic][0]))
    module.launch("k", block=len(x), args=[x, x[::-1].copy(), out], profile="nearest", workers=2)
    return list(out.tolist())


def test_other_precisions() -> None:
    body = """mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [x]; mad.wide.u32 %rd0, %r0, 8, %rd0; ld.global.u64 %rd1, [%rd0];
    cvt.u16.u64 %h0, %rd1; cvt.u32.u64 %r1, %rd1; mov.b64 %fd0, %rd1;
    ex2.approx.f16 %h1, %h0; tanh.approx.bf16 %h2, %h0; tanh.approx.f16x2 %r2, %r1; ex2.approx.ftz.bf16x2 %r3, %r1;
    rcp.approx.ftz.f64 %fd1, %fd0; rsqrt.approx.f64 %fd2, %fd0; rsqrt.approx.ftz.f64 %fd3, %fd0;
    ld.param.u64 %rd2, [out]; mad.wide.u32 %rd2, %r0, 40, %rd2; st.global.u16 [%rd2], %h1; st.global.u16 [%rd2+2], %h2;
    st.global.u32 [%rd2+4], %r2; st.global.u32 [%rd2+8], %r3; st.global.f64 [%rd2+16], %fd1; st.global.f64 [%rd2+24], %fd2;
    st.global.f64 [%rd2+32], %fd3; ret;"""
    rng = np.random.default_rng(4)
    x = np.concatenate(
        [rng.integers(0, 1 << 64, 40, np.uint64), rng.normal(size=20).view(np.uint64), [0, 0x7FF0 << 48]]
    )
    x = x.astype(np.uint64)
    _, out = both(
        text(body, ".param .u64 x, .param .u64 out"),
        [x, np.zeros((len(x), 5), np.uint64)],
        block=len(x),
        profile="nearest",
    )
    assert len(np.unique(out[:, 3])) > 20


def test_the_sine_of_a_large_angle() -> None:
    """What an H200 gives is allowed, and not what a mathematical library gives."""
    x, found = np.full(1, 1e5, np.float32), {}
    for profile in ("hopper", "nearest"):
        out = np.zeros(1, np.float32)
        ptxspec.load(source("sin.approx.f32", 1)).launch("k", args=[x, x, out], profile=profile)
        found[profile] = float(out[0])
    assert found["nearest"] == np.float32(math.sin(1e5)) and abs(found["hopper"] - 0.0429) < 1e-4
