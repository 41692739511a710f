"""Which targets have what only some chips have, by the letters that their names end in: our verdict beside that of ptxas 13.5."""

from __future__ import annotations

from typing import Any

import pytest
from test_what_no_page_describes import module

import ptxspec
from ptxspec import contracts
from ptxspec.evidence.assembler import assemble
from ptxspec.language.check import check

#: the generations that another name is assembled for
NOW = {"sm_101": "sm_110", "sm_101a": "sm_110a", "sm_101f": "sm_110f"}
TARGETS = {t: since for t, since in contracts.directives.TARGETS.items() if int(t[3:].rstrip("af")) >= 90}
#: instructions, each with the first version that has it, unless its targets came later
INSTRUCTIONS = {
    "wgmma.fence.sync.aligned;": (8, 0),
    "tcgen05.wait::ld.sync.aligned;": (8, 6),
    "tcgen05.shift.cta_group::1.down [%r0];": (8, 6),
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd0], %rd1;": (8, 3),
    "setmaxnreg.inc.sync.aligned.u32 64;": (8, 0),
    "cvt.rn.satfinite.e2m1x2.f32 %c0, %f0, %f1;": (8, 6),
    "cvt.rn.satfinite.e4m3x2.bf16x2 %h0, %r0;": (9, 1),
    "cvt.rn.scaled::n2::ue8m0.bf16x2.e3m2x2 %r0, %h0, %h1;": (9, 2),
    "cvt.rn.satfinite.s2f6x2.f32 %h0, %f0, %f1;": (9, 1),
    "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f0,%f1,%f2,%f3}, %r1;": (8, 7),
    "cvt.rz.satfinite.e4m3x2.f32 %h0, %f0, %f1;": (9, 4),
    "cvt.rz.satfinite.relu.tf32.f32 %r0, %f0;": (8, 6),
    "redux.sync.min.abs.NaN.f32 %f0, %f1, %r0;": (8, 6),
    "add.sat.u32 %r0, %r1, %r2;": (9, 2),
    "add.sat.s16x2 %r0, %r1, %r2;": (9, 2),
    "min.u8x4 %r0, %r1, %r2;": (9, 2),
    "clmad.hi.u64 %rd0, %rd1, %rd2, %rd3;": (9, 3),
    "ld.global.L2::evict_first.v8.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, [%rd0];": (8, 8),
    "st.v4.f64 [%rd0], {%fd0,%fd1,%fd2,%fd3};": (8, 8),
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;": (9, 4),
    "fence.proxy.tensormap::generic.release.gpu;": (8, 3),
}


def ours(text: str) -> bool:
    try:
        check(text)
    except ptxspec.PtxError:
        return False
    return True


def third_of_targets() -> list[Any]:
    """Each instruction with each third target, another third from instruction to instruction; the others are long tests."""
    targets = list(TARGETS)
    return [
        pytest.param(
            instruction, targets[k::3], marks=() if k == number % 3 else pytest.mark.long, id=f"{instruction} {k}"
        )
        for number, instruction in enumerate(INSTRUCTIONS)
        for k in range(3)
    ]


@pytest.mark.sample(3)
@pytest.mark.one_in(3)
@pytest.mark.parametrize(("instruction", "targets"), third_of_targets())
def test_targets(instruction: str, targets: list[str], newest_assembler: str) -> None:
    for target in targets:
        first = TARGETS[target]
        since = max(first, INSTRUCTIONS[instruction])
        before = (since[0], since[1] - 1) if since[1] else (8, 8)
        for version in ((9, 5), since, *([before] if before >= first else [])):
            text = module(target, instruction, f"{version[0]}.{version[1]}")
            arch = NOW.get(target, target)
            assert ours(text) is (not assemble(text, arch, "-O0", by=newest_assembler)), (target, version)


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_some_targets_have_it(instruction: str) -> None:
    assert sum(ours(module(target, instruction, "9.5")) for target in TARGETS)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "sm_100",
            "tcgen05.shift.cta_group::1.down needs target sm_100a, sm_103a, sm_107a or sm_110a; the module says sm_100",
        ),
        (
            "sm_103f",
            "tcgen05.shift.cta_group::1.down needs target sm_100a, sm_103a, sm_107a or sm_110a; the module says sm_103f",
        ),
    ],
)
def test_the_message_names_the_targets(target: str, message: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        check(module(target, "tcgen05.shift.cta_group::1.down [%r0];"))
    assert caught.value.diagnostics[0].message == message


def test_what_a_target_has() -> None:
    features = contracts.directives.features
    assert features("sm_90") == () and features("sm_90a") == ("sm_90a",)
    assert features("sm_107f") == ("sm_107f", "sm_103f", "sm_100f")
    assert features("sm_107a") == ("sm_107a", *features("sm_107f"))
    assert features("sm_101a") == ("sm_101a", "sm_110a", "sm_110f")
