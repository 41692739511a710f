"""A kernel that waits in every way that PTX has: groups of copies, of bulk copies and of products, and an mbarrier that learns of
copies and of bytes."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.machine.errors import LaunchError

pytestmark = pytest.mark.sample(4)

SHAPE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
PRODUCT = (
    f"wgmma.fence.sync.aligned; {SHAPE} {{d0, d1, d2, d3}}, da, db, 0, 1, 1, 0, 0; wgmma.commit_group.sync.aligned;"
)
PIECES = {
    "copy": "cp.async.cg.shared.global [at], [own], 16; cp.async.commit_group;",
    "told": "cp.async.ca.shared.global [then], [own], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
    "bytes": "@first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [far], [in], 64, [bar];",
    "product": PRODUCT,
    "store": "@first cp.async.bulk.global.shared::cta.bulk_group [out], [m], 64; @first cp.async.bulk.commit_group;",
}
WAITS = {
    "copy": "cp.async.wait_group 0;",
    "told": "WAIT: mbarrier.try_wait.parity.shared.b64 over, [bar], 0; @!over bra WAIT;",
    "product": "wgmma.wait_group.sync.aligned 0;",
    "store": "@first cp.async.bulk.wait_group 0;",
}


def kernel(without: str = "") -> str:
    """A kernel that multiplies a matrix of ones, and copies what it is given to shared memory in three ways; and ones out."""
    waits = [text for name, text in WAITS.items() if name != without]
    return "\n".join(
        [
            ".version 8.4 .target sm_90a .address_size 64",
            ".visible .entry k(.param .u64 from, .param .u64 to, .param .u64 sums) {",
            ".shared .align 16 .b32 m[4096], copied[512], told[128], far[16]; .shared .align 8 .b64 bar;",
            ".reg .b32 d<4>, w, t, at, then, x, y, z; .reg .b64 in, out, q, own, da, db; .reg .pred first, over;",
            "ld.param.u64 in, [from]; ld.param.u64 out, [to]; ld.param.u64 q, [sums]; mov.u32 t, %tid.x; setp.eq.u32 first, t, 0;",
            "mad.wide.u32 own, t, 16, in; mad.wide.u32 q, t, 16, q; mov.b32 w, 0x3c003c00;",
            "mov.u32 at, m; mad.lo.u32 at, t, 16, at; st.shared.v4.b32 [at], {w, w, w, w};",
            "mov.u32 at, copied; mad.lo.u32 at, t, 16, at; mov.u32 then, told; mad.lo.u32 then, t, 4, then;",
            "@first mbarrier.init.shared.b64 [bar], 129; fence.proxy.async; barrier.sync 0;",
            "@first mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;",
            "mov.b64 da, m; shr.b64 da, da, 4; or.b64 da, da, 0x0000001000080000; mov.b64 db, da;",
            *PIECES.values(),
            *waits,
            "ld.shared.b32 x, [at+8]; ld.shared.b32 y, [then]; ld.shared.b32 z, [far+60];",
            "st.global.v4.b32 [q], {d0, x, y, z};",
            "ret; }",
        ]
    )


def launched(text: str, engine: str, copies: str) -> tuple[np.ndarray, np.ndarray]:
    given, out, sums = np.arange(512, dtype=np.uint32), np.zeros(16, np.uint32), np.zeros((128, 4), np.uint32)
    ptxspec.load(text).launch("k", block=128, args=[given, out, sums], engine=engine, copies=copies)
    return out, sums


@pytest.mark.parametrize("copies", ["early", "late", "random:3"])
@pytest.mark.parametrize("engine", ["native", "exact"])
def test_all_of_them_in_one_kernel(engine: str, copies: str) -> None:
    out, sums = launched(kernel(), engine, copies)
    threads = np.arange(128)
    assert (out == 0x3C003C00).all() and (sums[:, 0].view(np.float32) == 16).all()
    assert (sums[:, 1] == 4 * threads + 2).all() and (sums[:, 2] == 4 * threads).all() and (sums[:, 3] == 15).all()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "exact"])
def test_waiting_for_the_others_is_not_waiting_for_a_product(engine: str) -> None:
    with pytest.raises(LaunchError) as caught:
        launched(kernel("product"), engine, "late")
    assert caught.value.rule == "product not waited for"
