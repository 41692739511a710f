"""What products of warpgroups read is not overwritten before somebody has waited for them: under `check="race"`, whatever the
order is in which a launch executes."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

WAIT = "wgmma.wait_group.sync.aligned 0;"
#: one thread arrives for its warpgroup
ARRIVE = "@one mbarrier.arrive.shared.b64 _, [empty];"
EACH = "mbarrier.arrive.shared.b64 _, [empty];"
RIGHT = {
    "behind the wait": (WAIT, ARRIVE),
    "behind the wait and a barrier": (WAIT, "barrier.sync 1, 128;", ARRIVE),
    "behind the wait and one of the warp": (WAIT, "bar.warp.sync 0xffffffff;", ARRIVE),
}


def kernel(behind: tuple[str, ...], arrivals: int = 1) -> str:
    """Four warps multiply what a thread of a fifth one has copied, which then copies something else to the same place."""
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [in], 2048, [full];"
    filled = "mbarrier.arrive.expect_tx.shared.b64 _, [full], 2048;"
    return "\n".join(
        [
            ".version 8.4 .target sm_90a .address_size 64",
            ".visible .entry k(.param .u64 from, .param .u64 to) {",
            ".shared .align 128 .b8 m[2048]; .shared .align 8 .b64 full, empty;",
            ".reg .b32 d<4>, t, w; .reg .b64 in, q, da, db; .reg .pred p, one, over;",
            "ld.param.u64 in, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.wide.u32 q, t, 4, q;",
            "setp.eq.u32 p, t, 0;",
            f"@p mbarrier.init.shared.b64 [full], 1; @p mbarrier.init.shared.b64 [empty], {arrivals};",
            "barrier.sync 0; setp.ge.u32 p, t, 128; @p bra PRODUCE;",
            "mov.b64 da, m; shr.b64 da, da, 4; or.b64 da, da, 0x0000001000080000; mov.b64 db, da;",
            "setp.eq.u32 one, t, 37;",
            "FILLED: mbarrier.try_wait.parity.shared.b64 over, [full], 0; @!over bra FILLED;",
            "wgmma.fence.sync.aligned;",
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, 0, 1, 1, 0, 0;",
            "wgmma.commit_group.sync.aligned;",
            *behind,
            "st.global.b32 [q], d0; ret;",
            "PRODUCE: setp.ne.u32 p, t, 128; @p ret;",
            f"{filled} {copy}",
            "FREE: mbarrier.try_wait.parity.shared.b64 over, [empty], 0; @!over bra FREE;",
            f"add.u64 in, in, 2048; {filled} {copy}",
            "AGAIN: mbarrier.try_wait.parity.shared.b64 over, [full], 1; @!over bra AGAIN;",
            "ret; }",
        ]
    )


def findings(text: str, engine: str, schedule: str = "auto") -> list[str]:
    given, out = np.full(4096, 0x3C003C00, np.uint32), np.zeros(128, np.uint32)
    try:
        outcome = ptxspec.load(text).launch(
            "k", block=160, args=[given, out], engine=engine, check="race", findings="collect", schedule=schedule
        )
    except ptxspec.LaunchError as error:
        return [str(error)]
    return [str(finding) for finding in outcome.findings]


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("name", RIGHT)
def test_one_thread_that_has_waited_arrives_for_all(name: str, engine: str) -> None:
    assert not findings(kernel(RIGHT[name]), engine)


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_each_thread_that_has_waited_arrives(engine: str) -> None:
    assert not findings(kernel((WAIT, EACH), 128), engine)


@pytest.mark.parametrize("schedule", ["auto", "round-robin", "random:1", "random:2"])
@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize("arrival", [(ARRIVE, 1), (EACH, 128)])
def test_an_arrival_before_the_wait_is_told(arrival: tuple[str, int], engine: str, schedule: str) -> None:
    text, count = arrival
    found = findings(kernel((text, WAIT), count), engine, schedule)
    assert found and ("race: " in found[0] or "source of a copy" in found[0])


@pytest.mark.parametrize("engine", ["exact", "native"])
def test_what_the_report_says(engine: str) -> None:
    (found,) = findings(kernel((ARRIVE, WAIT)), engine, "round-robin")
    assert found.startswith("race: ") and "cp.async.bulk" in found and "wgmma.mma_async" in found
