"""Modules for targets before sm_20: they flush without being asked, and have a mad of their own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(8)

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


def test_mad_without_rounding_on_later_targets() -> None:
    """Up to PTX ISA 3.1 it rounds once, to nearest, and flushes only if it says so; then it is gone."""
    x = np.float32(1 + 2.0**-12)
    for profile in ("portable", "hopper"):
        got = run("sm_20", "mad.f32 d, x, y, z;", x, x, -1, "exact", profile)
        assert Fraction(float(got)) == Fraction(float(x)) ** 2 - 1
    assert run("sm_20", "mad.f32 d, x, y, z;", LEAST, 1, LEAST, "native") == 2 * LEAST
    assert run("sm_20", "mad.ftz.f32 d, x, y, z;", LEAST, 1, LEAST, "native") == 0
    text = ".version {}\n.target {}\n.entry k() {{ .reg .f32 x; mad.f32 x, x, x, x; }}"
    ptxspec.load(text.format("3.1", "sm_30"))
    ptxspec.load(text.format("9.0", "sm_13"))
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text.format("3.2", "sm_20"))
    assert "mad.f32 does not exist from PTX ISA 3.2 on for sm_20 and later" in str(caught.value)


def early(version: str, instruction: str, cells: np.ndarray, engine: str) -> None:
    """Run an instruction on registers f32 x, y, z and f64 u, v, w that are loaded from the cells of 64 bits and stored again."""
    types = {"x": "f32", "y": "f32", "z": "f32", "u": "f64", "v": "f64", "w": "f64"}
    loads = " ".join(f"ld.global.{t} {n}, [a+{8 * i}];" for i, (n, t) in enumerate(types.items()))
    stores = " ".join(f"st.global.{t} [a+{8 * i}], {n};" for i, (n, t) in enumerate(types.items()))
    parameters = ("(.param .u64 p) {", "") if version >= "1.4" else ("{", ".param .u64 p;")
    text = f""".version {version}
.target sm_13
.entry k {parameters[0]} {parameters[1]}
  .reg .u64 a; .reg .f32 x, y, z; .reg .f64 u, v, w; .reg .s32 s; .reg .s64 l;
  ld.param.u64 a, [p]; {loads} {instruction} {stores} exit;
}}"""
    ptxspec.load(text).launch("k", args=[cells], engine=engine, profile="hopper")


DEFAULTS = [
    ("div.f32 x, y, z;", "div.approx.ftz.f32 x, y, z;"), ("div.f64 u, v, w;", "div.rn.f64 u, v, w;"),
    ("rcp.f32 x, y;", "rcp.approx.ftz.f32 x, y;"), ("sqrt.f32 x, y;", "sqrt.approx.ftz.f32 x, y;"),
    ("sqrt.f64 u, v;", "sqrt.rn.f64 u, v;"), ("rsqrt.f32 x, y;", "rsqrt.approx.ftz.f32 x, y;"),
    ("sin.f32 x, y;", "sin.approx.ftz.f32 x, y;"), ("cos.f32 x, y;", "cos.approx.ftz.f32 x, y;"),
    ("lg2.f32 x, y;", "lg2.approx.ftz.f32 x, y;"), ("ex2.f32 x, y;", "ex2.approx.ftz.f32 x, y;"),
    ("mad.f64 u, v, w, w;", "mad.rn.f64 u, v, w, w;"),
]  # fmt: skip


def cells_of(*values: float) -> np.ndarray:
    """Three single-precision numbers in the lower halves of cells, then three of double precision."""
    single = np.array(values[:3], np.float32).view(np.uint32).astype(np.uint64)
    return np.concatenate([single, np.array(values[3:], np.float64).view(np.uint64)])


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize(("short", "long"), DEFAULTS)
def test_defaults_of_early_modules(short: str, long: str, engine: str) -> None:
    """What the notes of the manual's pages name as the meaning, in modules of 1.3 and 1.4."""
    for operands in (
        (7, 1.7, 0.3, 0, 3.7, 0.1),
        (7, 2.0**-130, 3.0, 0, 2.0, -5.5),
        (7, 2.0**126.5, 2.0**-127, 0, 2.0, 1e300),
    ):
        a, b = cells_of(*operands), cells_of(*operands)
        early("1.3", short, a, engine)
        early("1.4", long, b, engine)
        assert a.tolist() == b.tolist()
        assert a.tolist() != cells_of(*operands).tolist()
    with pytest.raises(ptxspec.PtxError, match=r"does not exist from PTX ISA 1\.4 on"):
        early("1.4", short, cells_of(*operands), engine)


def test_an_approximate_root_of_double_precision_keeps_subnormal_numbers() -> None:
    """No target before sm_20 has the form with .ftz, which keeps the upper word alone."""
    for version, form in (("1.3", "rsqrt.f64"), ("1.4", "rsqrt.approx.f64")):
        cells = cells_of(0, 0, 0, 0, 2.0**-1040, 0)
        early(version, f"{form} u, v;", cells, "exact")
        assert cells[3].view(np.float64) == 2.0**520


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize(
    ("instruction", "before", "after"),
    [
        ("cvt.rpi.s32.f32 s, y; cvt.rn.f64.s32 u, s;", 0.0, 0.0),
        ("cvt.rpi.s64.f32 l, y; cvt.rn.f64.s64 u, l;", 1.0, 0.0),
        ("cvt.f64.f32 u, y;", 2.0**-149, 0.0),
        ("cvt.rp.f32.f64 x, v; setp.ne.b32 q, x, 0; selp.f64 u, 0d3ff0000000000000, w, q;", 1.0, 0.0),
    ],
)
def test_conversions_flush_from_1_5_on(instruction: str, before: float, after: float, engine: str) -> None:
    """By rational arithmetic: a subnormal number rounded up to an integer is 1, a flushed one 0."""
    for version, want in (("1.3", before), ("1.4", before), ("1.5", after), ("3.0", after)):
        cells = cells_of(0, 2.0**-149, 0, 9, 2.0**-140, 0)
        early(version, ".reg .pred q; " + instruction, cells, engine)
        assert cells[3].view(np.float64) == want, version


def test_parameters_in_the_body() -> None:
    """In the order in which they are declared, each aligned to its size; an inner scope may declare them."""
    text = """.version 1.3
.target sm_13
.entry k { .param .u64 p; .param .u8 small; .param .align 8 .b8 few[9]; .reg .u64 a; .reg .u32 r, s;
  ld.param.u64 a, [p]; ld.param.u8 r, [small]; ld.param.u32 s, [few+4];
  st.global.u32 [a], r; st.global.u32 [a+4], s;
  { .param .u32 last; ld.param.u32 r, [last]; st.global.u32 [a+8], r; } exit; }"""
    module = ptxspec.load(text)
    for engine in ("exact", "native"):
        cells = np.zeros(3, np.uint32)
        few = np.arange(9, dtype=np.uint8)
        module.launch("k", args=[cells, np.uint8(200), few.tobytes(), np.uint32(77)], engine=engine)
        assert cells.tolist() == [200, 0x07060504, 77]


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("depth", [0, 3])
def test_registers_of_the_module(engine: str, depth: int) -> None:
    """All functions of a thread share them, whoever calls whom; names in functions hide them."""
    functions = ""
    for i in range(depth, -1, -1):
        further = f"call f{i + 1}, (n);" if i < depth else ""
        functions += f""".func f{i}(.reg .u32 n)
{{
  .reg .u32 hidden;
  mov.u32 hidden, 99;
  add.u32 count, count, 1;
  add.u32 pair.y, pair.y, n;
  sub.u32 n, n, 1; {further}
  add.f32 x2, x2, 1.0;
  ret;
}}
"""
    text = f""".version 2.3
.target sm_20
.address_size 64
.reg .u32 count, hidden;
.reg .v2 .u32 pair;
.reg .f32 x<3>;
{functions}
.entry k(.param .u64 out)
{{
  .reg .u64 a; .reg .u32 t, pair0; .reg .f32 y;
  ld.param.u64 a, [out]; mov.u32 t, %tid.x; mad.wide.u32 a, t, 16, a;
  mov.u32 count, t; mov.u32 hidden, 5; mov.u32 pair.y, 100; mov.f32 x2, 0.5; mov.u32 pair0, {depth};
  call f0, (pair0);
  st.global.u32 [a], count; st.global.u32 [a+4], hidden; st.global.u32 [a+8], pair.y; st.global.f32 [a+12], x2;
  exit;
}}"""
    out = np.zeros((40, 4), np.uint32)
    ptxspec.load(text).launch("k", block=40, args=[out], engine=engine)
    calls = depth + 1
    for i, row in enumerate(out):
        total = 100 + sum(range(calls))
        assert row.tolist() == [i + calls, 5, total, int(np.float32(0.5 + calls).view(np.uint32))]
    with pytest.raises(ptxspec.PtxError, match=r"a register of the module was removed in PTX ISA 3\.0"):
        ptxspec.load(text.replace(".version 2.3", ".version 3.0"))
