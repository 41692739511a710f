"""Two copies that complete on one mbarrier, of which too few bytes are announced: the phase completes before both are there."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


def findings(announced: int, engine: str, schedule: str) -> list[str]:
    """What is said of a launch in which a warp waits for 640 bytes and reads some of the last ones."""
    text = f"""
.version 8.4 .target sm_90 .address_size 64
.visible .entry k(.param .u64 from, .param .u64 to) {{
.shared .align 128 .b8 m[640]; .shared .align 8 .b64 full;
.reg .b32 t, v; .reg .b64 in, q; .reg .pred p, over;
ld.param.u64 in, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; mad.wide.u32 q, t, 4, q; setp.eq.u32 p, t, 0;
@p mbarrier.init.shared.b64 [full], 1; barrier.sync 0;
setp.lt.u32 p, t, 32; @p bra CONSUME;
setp.ne.u32 p, t, 32; @p ret;
mbarrier.arrive.expect_tx.shared.b64 _, [full], {announced};
{COPY} [m+512], [in], 128, [full];
{COPY} [m], [in], 512, [full];
ret;
CONSUME: mbarrier.try_wait.parity.shared.b64 over, [full], 0; @!over bra CONSUME;
ld.shared.b32 v, [m+512]; st.global.b32 [q], v; ret; }}"""
    given, out = np.arange(256, dtype=np.uint32), np.zeros(64, np.uint32)
    try:
        outcome = ptxspec.load(text).launch(
            "k", block=64, args=[given, out], engine=engine, check="race", findings="collect", schedule=schedule, copies="late"
        )  # fmt: skip
    except ptxspec.LaunchError as error:
        return [str(error)]
    return [str(finding) for finding in outcome.findings]


@pytest.mark.parametrize("schedule", ["auto", "round-robin", "random:1", "random:2"])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_a_phase_that_completes_early_does_not_tell_of_the_other_copy(engine: str, schedule: str) -> None:
    assert not findings(640, engine, schedule)
    (found,) = findings(512, engine, schedule)
    assert found.startswith("race: a write and a later read") and "[m+512], [in], 128" in found
