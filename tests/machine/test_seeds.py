"""A seed decides what PTX leaves open: what is read before it is written, and results that the profile does not choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import ENGINES, both, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)

#: reads registers of each width, shared and local memory before they are written
UNWRITTEN = kernel(
    """.shared .u32 s[64]; .local .u64 own[4];
    mad.wide.u32 %rd1, %r0, 48, %rd0; add.u32 %r30, %r31, 0; st.global.u32 [%rd1], %r30; st.global.u16 [%rd1+4], %h5;
    selp.u32 %r6, 1, 0, %p7; st.global.u16 [%rd1+6], %r6; st.global.u64 [%rd1+8], %rd20; st.global.f64 [%rd1+16], %fd3;
    mov.u64 %rd3, s; mad.wide.u32 %rd3, %r1, 4, %rd3; ld.shared.u32 %r7, [%rd3]; st.global.u32 [%rd1+24], %r7;
    mov.u64 %rd4, own; ld.local.u64 %rd5, [%rd4+8]; st.global.u64 [%rd1+32], %rd5;
    ld.local.u64 %rd5, [%rd4+24]; st.global.u64 [%rd1+40], %rd5; bar.sync 0; st.shared.u32 [%rd3], 5; st.local.u64 [%rd4], 5;"""
)
OPEN = kernel(
    """ld.global.u32 %r5, [%rd1]; mov.b32 %f0, %r5; div.u32 %r6, 100, %r5; rem.s32 %r7, %r5, 0; add.f32 %f1, %f0, %f0;
    min.f32 %f2, 0f80000000, 0f00000000; cvt.rni.s32.f32 %r8, %f0; shf.l.clamp.b32 %r9, %r5, %r6, 3; rcp.approx.f32 %f3, %f0;
    sin.approx.f32 %f4, %f0; mov.u64 %rd3, %rd0; mov.b32 %r10, %f1; mov.b32 %r11, %f3; mov.b32 %r12, %f4; mov.b32 %r13, %f2;
    xor.b32 %r6, %r6, %r7; xor.b32 %r6, %r6, %r8; xor.b32 %r6, %r6, %r9; xor.b32 %r6, %r6, %r10; xor.b32 %r6, %r6, %r11;
    xor.b32 %r6, %r6, %r12; xor.b32 %r6, %r6, %r13; st.global.u32 [%rd1], %r6;"""
)


def unwritten(seed: int | None, **how: Any) -> np.ndarray:
    return both(UNWRITTEN, [np.zeros((6 * 40, 6), np.uint64)], grid=6, block=40, seed=seed, **how)[0]


def test_what_was_not_written_is_decided_by_a_seed() -> None:
    plain, one, other = unwritten(None), unwritten(1), unwritten(2)
    assert not plain.any()
    for column in (1, 2, 4, 5):
        assert len(np.unique(one[:, column])) == len(one) and not (one[:, column] == other[:, column]).any()
    words = one.view(np.uint16)
    assert set(words[:, 3].tolist()) == {0, 1} and len(np.unique(words[:, 2])) > 200
    assert len(np.unique(one.view(np.uint32)[:, 6])) == len(one)


def test_it_is_the_same_in_every_launch_and_for_every_number_of_resident_ctas() -> None:
    module, found = ptxspec.load(UNWRITTEN), []
    for how in ({}, {"memory_limit": 1 << 20}, {"workers": 3}, {"engine": "exact"}):
        out = np.zeros((6 * 40, 6), np.uint64)
        module.launch("k", 6, 40, [out], seed=5, **how)  # type: ignore[arg-type]
        found.append(out.tobytes())
    assert len(set(found)) == 1 and any(found[0])
    out = np.zeros((6 * 40, 6), np.uint64)
    module.launch("k", 6, 40, [out])
    assert not out.any()


def operands() -> np.ndarray:
    return np.array([0, 7, 0x7FC00000, 0x7FA00001, 0x3F800000, 0x80000000, 0xC0490FDB, 1 << 31 | 1], np.uint32)


def test_open_results_are_decided_by_a_seed() -> None:
    """Under portable the native engine refuses without one."""
    with pytest.raises(ptxspec.LaunchError, match="no choice"):
        ptxspec.load(OPEN).launch("k", block=8, args=[operands()], profile="portable")
    found = [both(OPEN, [operands()], block=8, profile="portable", seed=seed)[0].tolist() for seed in (1, 2, 3)]
    assert len({tuple(values) for values in found}) == 3


def test_a_seed_chooses_among_what_is_allowed() -> None:
    """NaNs stay NaNs, of any pattern; the canonical NaN is one NaN, whatever the operands and the operation are."""
    source = kernel(
        "mov.b32 %f0, %r0; ld.global.u32 %r5, [%rd1]; mov.b32 %f1, %r5; add.f32 %f2, %f1, 0f7F800000;"
        "add.f32 %f2, %f2, 0fFF800000; min.NaN.f32 %f3, %f2, %f1; max.NaN.f32 %f4, 0f3F800000, 0f7FA00001;"
        "mad.wide.u32 %rd2, %r0, 12, %rd0;"
        "st.global.f32 [%rd2], %f2; st.global.f32 [%rd2+4], %f3; st.global.f32 [%rd2+8], %f4;"
    )
    patterns, canonical = set(), set()
    for seed in range(8):
        (out,) = both(source, [np.zeros(8, np.uint32)], block=1, profile="portable", seed=seed)
        assert np.isnan(out.view(np.float32)[:3]).all() and out[1] == out[2]
        patterns.add(int(out[0]))
        canonical.add(int(out[1]))
    assert len(patterns) > 3 and len(canonical) > 3


def test_a_profile_that_chooses_all_chooses_as_before() -> None:
    plain, seeded = (both(OPEN, [operands()], block=8, **how)[0].tolist() for how in ({}, {"seed": 3}))
    assert plain == seeded


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_seed(engine: str) -> None:
    with pytest.raises(TypeError):
        ptxspec.load(text("ret;")).launch("k", args=[np.zeros(1)], seed="one", engine=engine)  # type: ignore[arg-type]


def test_stacks_and_functions() -> None:
    source = text(
        """ld.param.u64 %rd0, [out]; call (%r1), f, (%r20); call (%r2), f, (%r21); add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1;
        alloca.u64 %rd2, 16; ld.local.u64 %rd3, [%rd2]; st.global.u64 [%rd0+8], %rd3; ret;""",
        module=".func (.reg .b32 r) f(.reg .b32 x) { .reg .b32 y; .local .b32 own[2]; ld.local.b32 y, [own+4]; add.u32 r, x, y; ret; }",
    )
    first, second = (both(source, [np.zeros(2, np.uint64)], block=1, seed=seed)[0].tolist() for seed in (1, 2))
    assert first[0] != second[0]
