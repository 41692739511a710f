"""What may stand for the operands of the scalar instructions that came after PTX 4, as ptxas 13.5 has it."""

from __future__ import annotations

import pytest
from test_what_no_page_describes import REGISTERS

import ptxspec
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

#: what is tried for every operand of each of these, one after the other
OPERANDS = (
    "%h1", "%r1", "%rd1", "%f1", "%fd1", "%u1", "%p1", "%c1", "%q1", "1", "-1", "1.0", "0f3f800000", "0d3ff0000000000000", "{%r1,%r2}",
    "_", "%tid.x", "WARP_SZ",
)  # fmt: skip
INSTRUCTIONS = (
    "add.f32.f16 %f0, %h0, %f1;", "add.rn.f32x2 %rd0, %rd1, %rd2;", "sub.rz.sat.f32.bf16 %f0, %h0, %f1;", "mul.f32x2 %rd0, %rd1, %rd2;",
    "fma.rn.f32x2 %rd0, %rd1, %rd2, %rd3;", "fma.rn.f32.bf16 %f0, %h1, %h2, %f2;", "min.f32 %f0, %f1, %f2, %f3;",
    "max.abs.f32 %f0, %f1, %f2, %f3;", "dp4a.u32.s32 %r0, %r1, %r2, %r3;", "dp2a.lo.u32.s32 %r0, %r1, %r2, %r3;",
    "bmsk.clamp.b32 %r0, %r1, %r2;", "szext.wrap.s32 %r0, %r1, %r2;", "fns.b32 %r0, %r1, %r2, %r3;",
    "cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", "cvt.pack.sat.s16.s32 %r0, %r1, %r2;",
    "lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0x96, %p1;",
)  # fmt: skip
#: those that only targets with `a` have
OF_SOME_CHIPS = (
    "add.u8x4 %r0, %r1, %r2;", "sub.sat.s8x4 %r0, %r1, %r2;", "neg.s8x4 %r0, %r1;", "max.relu.s8x4 %r0, %r1, %r2;",
    "add.sat.u16x2 %r0, %r1, %r2;", "add.sat.u32 %r0, %r1, %r2;", "clmad.lo.u64 %rd0, %rd1, %rd2, %rd3;",
    "redux.sync.min.abs.f32 %f0, %f1, %r0;", "setmaxnreg.inc.sync.aligned.u32 64;",
    "cvt.rn.satfinite.e2m1x2.f32 %c0, %f0, %f1;", "cvt.rn.f16x2.e3m2x2 %r0, %h0;", "cvt.rn.satfinite.e5m2x2.bf16x2 %h0, %r0;",
    "cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %r0, %h0, %h1;", "cvt.rp.ue8m0x2.f32 %h0, %f0, %f1;",
    "cvt.rn.satfinite.s2f6x2.f32 %h0, %f0, %f1;", "cvt.rs.bf16x2.f32 %r0, %f0, %f1, %r1;",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;",
)  # fmt: skip
#: ptxas stops at many errors
TOGETHER = 12
HEAD = f".version 9.5\n.target sm_100\n.address_size 64\n.visible .entry k()\n{{\n{REGISTERS} .reg .u32 %u<4>;\n"


def changed(instruction: str) -> list[str]:
    """The instruction as it stands, and with each of its operands replaced by everything that is tried."""
    mnemonic, rest = instruction.rstrip(";").split(" ", 1)
    written = rest.split(", ")
    found = [instruction]
    for i in range(len(written)):
        found += [f"{mnemonic} {', '.join([*written[:i], other, *written[i + 1 :]])};" for other in OPERANDS]
    return found


def ours(instruction: str, target: str) -> str | None:
    try:
        check(f"{HEAD.replace('sm_100', target)}{instruction}\nret;\n}}\n")
    except ptxspec.PtxError as error:
        return error.diagnostics[0].message
    return None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_operands(instruction: str, newest_assembler: str) -> None:
    agree(instruction, "sm_100", newest_assembler)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("instruction", OF_SOME_CHIPS)
def test_operands_of_some_chips(instruction: str, newest_assembler: str) -> None:
    agree(instruction, "sm_107a", newest_assembler)


def agree(instruction: str, target: str, newest_assembler: str) -> None:
    """Compare the verdicts on an instruction and its changes."""
    found = changed(instruction)
    refused: set[str] = set()
    first = HEAD.count("\n") + 1
    for i in range(0, len(found), TOGETHER):
        lines = found[i : i + TOGETHER]
        while lines:  # some errors are looked for only where there are none of others
            text = HEAD.replace("sm_100", target) + "\n".join(lines) + "\nret;\n}\n"
            wrong = {lines[line - first] for line, _ in assemble(text, target, "-O0", by=newest_assembler)}
            if not wrong:
                break
            refused |= wrong
            lines = [line for line in lines if line not in wrong]
    assert instruction not in refused and len(refused) > 10
    assert {one for one in found if ours(one, target) is not None} == refused
