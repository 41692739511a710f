"""Modules for targets before sm_20: they flush without being asked, and have a mad of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import ptxspec

LEAST_NORMAL, LEAST = np.float32(2.0**-126), np.float32(2.0**-149)


def run(
    target: str, instruction: str, x: float, y: float, z: float, engine: str, profile: str = "hopper"
) -> np.float32:
    text = f""".version 3.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 cells) {{
  .reg .u64 p; .reg .f32 x, y, z, d; .reg .pred q;
  ld.param.u64 p, [cells]; ld.global.f32 x, [p]; ld.global.f32 y, [p+4]; ld.global.f32 z, [p+8];
  mov.f32 d, 0f00000000; {instruction} st.global.f32 [p], d; exit;
}}"""
    cells = np.array([x, y, z], np.float32)
    ptxspec.load(text).launch("k", args=[cells], engine=engine, profile=profile)
    return cells[0]


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize(
    ("instruction", "flushed", "kept"),
    [
        ("add.f32 d, x, x;", 0.0, 2 * LEAST),
        ("mul.f32 d, x, y;", 0.0, LEAST),
        ("setp.eq.f32 q, x, z; selp.f32 d, 1.0, 2.0, q;", 1.0, 2.0),
        ("cvt.rp.f32.f64 d, 0d3690000000000000;", 0.0, LEAST),
        ("neg.f32 d, x;", -0.0, -LEAST),
        ("selp.f32 d, x, y, q;", 1.0, 1.0),  # has no .ftz: moves bits
    ],
)
def test_single_precision_is_flushed(instruction: str, flushed: float, kept: float, engine: str) -> None:
    for target, want in (("sm_13", flushed), ("sm_20", kept)):
        got = run(target, instruction, LEAST, 1.0, 0.0, engine)
        assert got == np.float32(want) and np.signbit(got) == np.signbit(np.float32(want)), target


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_double_precision_is_not(engine: str) -> None:
    instruction = "{ .reg .f64 a, b; cvt.f64.f32 a, y; mul.rn.f64 b, a, 0d0000000000000001; cvt.rp.f32.f64 d, b; }"
    assert run("sm_13", instruction, 0, 1.0, 0, engine) == 0
    tiny = "{ .reg .f64 b; .reg .pred q; mov.f64 b, 0d0000000000000001; setp.gt.f64 q, b, 0d0000000000000000; "
    assert run("sm_13", tiny + "selp.f32 d, 1.0, 2.0, q; }", 0, 0, 0, engine) == 1


def test_mad_of_early_targets() -> None:
    """The two readings by rational arithmetic; the chip of the profile fuses, and portable programs cannot know."""
    x = np.float32(1 + 2.0**-12)
    z = np.float32(-1)
    exact = Fraction(float(x)) ** 2
    cut = Fraction(int(exact * 2**23), 2**23)  # 24 bits of a product from 1 to 2
    assert cut != exact
    fused = run("sm_13", "mad.f32 d, x, y, z;", x, x, z, "native")
    assert Fraction(float(fused)) == exact - 1
    with pytest.raises(ptxspec.LaunchError) as caught:
        run("sm_13", "mad.f32 d, x, y, z;", x, x, z, "exact", "portable")
    assert "early-mad" in str(caught.value)
    assert run("sm_13", "mad.f32 d, x, y, z;", 1.5, 1.5, 0.25, "exact", "portable") == 2.5
    found = ptxspec.evaluate("mad.f32 d, a, b, c;", a=float(x), b=float(x), c=-1.0)
    assert found.chosen[0].entry == "early-mad"


def test_mad_of_early_targets_is_gone() -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        run("sm_20", "mad.f32 d, x, y, z;", 1, 1, 1, "exact")
    assert "mad.f32 does not exist for sm_20 and later" in str(caught.value)
