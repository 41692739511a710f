"""Which registers and constants instructions of half precision take: our verdict beside that of NVIDIA's assembler."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.evidence.assembler import assemble

REGISTERS = (
    ".reg .b8 %q<3>; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f16 %k<4>; .reg .f16x2 %w<4>; .reg .f32 %f<4>;"
    " .reg .f64 %g<4>; .reg .u16 %v<4>; .reg .u32 %u<4>; .reg .s32 %s<4>; .reg .pred %p<4>;"
)
GOOD = """\
add.f16 %h0, %h1, %h2;
add.f16 %k0, %h1, %k2;
add.f16x2 %r0, %r1, %r2;
add.f16x2 %w0, %w1, %r2;
add.bf16 %h0, %h1, %h2;
add.bf16x2 %r0, %r1, %r2;
add.u16x2 %w0, %r1, %w2;
max.relu.s32 %s0, %s1, 5;
mov.b16 %k0, %k1;
mov.b32 %w0, {%k0, %k1};
mov.b32 {%k0, %k1}, %w0;
ld.global.b32 %w0, [%d0];
st.global.b16 [%d0], %k1;
setp.eq.f16x2 %p0|%p1, %w0, %r1;
setp.eq.f16x2 %p0, %r0, %r1;
set.eq.f16.s32 %h0, %s0, 5;
set.eq.f16.f32 %h0, %f0, 0f3f800000;
set.eq.u32.f16x2 %u0, %w1, %r1;
cvt.rn.bf16.f32 %h0, 0f3f800000;
cvt.rn.bf16.u32 %h0, 5;
cvt.rn.f16x2.f32 %d0, %f0, 0f3f800000;
cvt.rn.relu.f16.f32 %r0, %f0;
cvt.rzi.u8.bf16 %q0, %h1;
cvt.rn.f16x2.e4m3x2 %w0, %h0;
cvt.rna.tf32.f32 %r0, %f0;
atom.global.add.noftz.bf16x2 %r0, [%d0], %r1;
""".splitlines()
BAD = """\
add.f16 %v0, %v1, %v2;
add.f16 %h0, %h1, 0f3f800000;
add.f16 %h0, %h1, 1;
add.f16x2 %u0, %u1, %u2;
add.f16x2 %f0, %f1, %f2;
add.f16x2 %r0, %r1, 1;
add.bf16 %k0, %k1, %k2;
add.bf16 %h0, %h1, 0f3f800000;
add.bf16x2 %w0, %w1, %w2;
add.bf16x2 %u0, %u1, %u2;
add.u16x2 %u0, %u1, %u2;
add.u16x2 %r0, %r1, 5;
sub.u16x2 %r0, %r1, %r2;
mov.f16 %k0, %k1;
ld.global.f16 %k0, [%d0];
setp.eq.f16 %p0|%p1, %h0, %h1;
setp.eq.f16 %p0, %h0, 0f3f800000;
set.eq.f16.f16 %r0, %h1, %h2;
fma.rz.f16 %h0, %h1, %h2, %h3;
cvt.rn.bf16.f32 %r0, %f0;
cvt.rzi.u8.bf16 %h0, %h1;
cvt.rzi.u16.bf16 %r0, %h1;
cvt.rn.bf16x2.f32 %d0, %f0, %f1;
cvt.rn.satfinite.e4m3x2.f32 %r0, %f0, %f1;
cvt.rna.tf32.f32 %f0, %f0;
cvt.f32.f16 %f0, 0f3f800000;
atom.global.add.f16x2 %r0, [%d0], %r1;
.reg .bf16 %z1;
.reg .bf16x2 %z1;
.reg .u16x2 %z1;
.reg .e4m3x2 %z1;
.reg .tf32 %z1;
""".splitlines()


def module(line: str, version: str = "9.0", target: str = "sm_90", registers: str = REGISTERS) -> str:
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    return head + f".visible .entry k()\n{{\n{registers}\n{line}\nret;\n}}\n"


def accepts(text: str) -> bool:
    try:
        ptxspec.load(text)
    except ptxspec.PtxError:
        return False
    return True


@pytest.mark.parametrize("line", GOOD)
def test_accepted(assembler: str, line: str) -> None:
    assert not assemble(module(line)) and accepts(module(line))


@pytest.mark.parametrize("line", BAD)
def test_refused(assembler: str, line: str) -> None:
    assert assemble(module(line)) and not accepts(module(line))


def test_pairs_need_a_target(assembler: str) -> None:
    declared = ".reg .f16x2 %w;"
    for target, good in (("sm_52", False), ("sm_53", True)):
        text = module("", "8.0", target, declared)
        assert accepts(text) is good and bool(assemble(text)) is not good


@pytest.mark.parametrize("line", ["cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1;", "cvt.rn.f16x2.e5m2x2 %r0, %h0;"])
def test_small_formats_came_to_sm_90_first(assembler: str, line: str) -> None:
    for version, target, good in (
        ("7.8", "sm_90", True), ("7.8", "sm_89", False), ("8.0", "sm_89", False), ("8.1", "sm_89", True), ("8.1", "sm_87", False),
    ):  # fmt: skip
        text = module(line, version, target)
        assert bool(assemble(text)) is not good
        assert accepts(text) is good
