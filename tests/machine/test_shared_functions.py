"""Large kernels, whose blocks call functions for what they repeat, do what small ones do, under both engines."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, each, fault, kernel

from ptxspec.machine.native import LARGE

pytestmark = pytest.mark.sample(4)

#: so many of one instruction that the kernel is large and the instruction has a function
TIMES = 70
PREPARE = """
    .shared .align 16 .b8 s[4096]; .local .align 16 .b8 l[64]; .reg .b64 %g<4>;
    mov.u64 %g0, s; cvta.shared.u64 %g0, %g0; mov.u64 %g1, l; cvta.local.u64 %g1, %g1;
    and.b32 %r9, %r1, 31; mul.wide.u32 %rd3, %r9, 16; add.u64 %g0, %g0, %rd3; cvt.u32.u64 %r8, %rd3;
    mad.lo.u32 %r5, %r0, 2654435761, 12345; setp.gt.s32 %p1, %r5, 0; mov.b32 %f1, %r5; mov.b32 %f2, 0f3F99999A;
    cvt.rn.f64.u32 %fd1, %r5;
"""
MIXED = """
    st.u32 [%g0], %r5; @%p1 ld.u32 %r6, [%g0]; st.u64 [%g1+8], %rd1; ld.v2.u32 {%r7, %r10}, [%g1+8];
    ld.u32 %r11, [%rd1]; xor.b32 %r11, %r11, %r6; st.u32 [%rd1], %r11; @!%p1 st.v4.u32 [%g0], {%r5, %r6, %r7, %r11};
    ld.shared.u16 %h1, [s+2]; st.local.u16 [l], %h1; atom.add.u32 %r12, [%rd1], 3;
    fma.rm.ftz.f32 %f1, %f1, %f2, %f1; @%p1 div.rn.f32 %f3, %f1, %f2; sqrt.rp.f32 %f4, %f3; sub.cc.u32 %r13, %r5, %r6; subc.u32 %r14, %r7, 0;
    fma.rz.f64 %fd1, %fd1, 0d3FF0000000000001, %fd1; setp.lt.ftz.f32 %p1|%p2, %f1, %f4; @%p2 cvt.rni.s32.f32 %r5, %f3;
    mov.b32 %r15, %f1; add.u32 %r5, %r5, %r15; shf.l.wrap.b32 %r5, %r5, %r14, %r13; prmt.b32 %r6, %r5, %r6, %r15; mov.b64 {%r16, %r17}, %fd1;
    xor.b32 %r5, %r5, %r16;
"""


@pytest.mark.slow
def test_mixed_instructions() -> None:
    source = kernel(PREPARE + MIXED * TIMES + "st.global.u32 [%rd1], %r5;")
    both(source, [np.arange(96, dtype=np.uint32)], grid=2, block=48)


def test_the_functions_are_used() -> None:
    source = kernel(PREPARE + MIXED * TIMES)
    (_, _), (_, module) = each(source)
    module.launch("k", block=32, args=[np.zeros(32, np.uint32)])
    (compiled,) = module._launches._native._compiled.values()  # type: ignore[union-attr]
    texts = [library.text for library in compiled.code.libraries]
    assert sum("@outlined_" in text for text in texts) > 10
    assert all(text.count("\n") < 3 * LARGE for text in texts)
    assert not any(
        "call" in text and "@outlined_" in text and "define ptr @outlined_" not in text and "define {" not in text
        for text in texts
    )


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "access",
    [
        "ld.u32 %r6, [%rd1+2];",
        "st.u64 [%g0+4], %rd1;",
        "ld.u32 %r6, [%rd0+4000];",
        "st.u32 [%g1+64], %r6;",
        "@%p3 ld.u32 %r6, [%rd0+-8];",
        "ld.global.u32 %r6, [%rd1+2];",
        "ld.global.v2.u32 {%r6, %r7}, [%rd0+4000];",
        "st.shared.u32 [s+4096], %r6;",
        "ld.local.u32 %r6, [l+62];",
        "atom.add.u32 %r6, [%rd0+4000], 1;",
        "mov.u64 %rd9, 4; st.u32 [%rd9], %r6;",
    ],
)
def test_an_access_that_is_not_allowed(access: str) -> None:
    """The thread, the instruction and the address are those that the exact engine names."""
    good = "ld.u32 %r5, [%rd1]; st.u32 [%rd1], %r5; ld.global.u32 %r5, [%rd1]; st.shared.u32 [s], %r5; ld.local.u32 %r5, [l];\n"
    source = kernel(
        PREPARE
        + "setp.eq.u32 %p3, %r1, 7;\n"
        + good * 90
        + f"setp.ne.u32 %p4, %r1, 5;\n@!%p4 bra ON;\n{access}\nON:\n"
        + good * 90
    )
    found = fault(source, [np.arange(32, dtype=np.uint32)], block=32)
    assert found.where is not None and found.where.instruction.rstrip(";") in access


def test_clusters_and_stacks() -> None:
    """Where a thread's stack moves, and where shared memory is that of a cluster."""
    body = (
        """
    .reg .b64 %q; alloca.u64 %q, 32; cvta.local.u64 %q, %q;
    """
        + "st.u32 [%q], %r5; ld.u32 %r6, [%q]; st.shared.u32 [s], %r6; ld.shared::cluster.u32 %r7, [s]; st.u32 [%g0], %r7; add.u32 %r5, %r7, %r6;\n"
        * 100
    )
    source = kernel(PREPARE + body + "st.global.u32 [%rd1], %r5;")
    both(source, [np.zeros(4, np.uint32)], grid=4, block=1, cluster=2)
