"""%tid, %ntid, %ctaid, %nctaid, %laneid, %warpid and %nwarpid in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import both, text

pytestmark = pytest.mark.sample(8)

NAMES = [f"%{r}.{c}" for r in ("tid", "ntid", "ctaid", "nctaid") for c in "xyz"] + ["%laneid", "%warpid", "%nwarpid"]

READER = text(
    """
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;
    mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ctaid.y; mov.u32 %r13, %ctaid.z;
    mov.u32 %r14, %nctaid.x; mov.u32 %r15, %nctaid.y;
    mad.lo.u32 %r20, %r3, %r5, %r2;
    mad.lo.u32 %r20, %r20, %r4, %r1;
    mad.lo.u32 %r21, %r13, %r15, %r12;
    mad.lo.u32 %r21, %r21, %r14, %r11;
    mul.lo.u32 %r22, %r4, %r5;
    mul.lo.u32 %r22, %r22, %r6;
    mad.lo.u32 %r23, %r21, %r22, %r20;
    ld.param.u64 %rd0, [out];
    """
    + f"mad.wide.u32 %rd1, %r23, {4 * len(NAMES)}, %rd0;\n"
    + "".join(f"mov.u32 %r30, {n}; st.global.u32 [%rd1+{4 * i}], %r30;\n" for i, n in enumerate(NAMES))
)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (1, 1), (1, 33), (7, 1), ((2, 3), 5), (3, (4, 5)), ((2, 3, 4), (3, 2, 3)), ((1, 1, 3), (1, 1, 64)),
        ((3, 4, 2), (7, 3, 2)), (np.int64(3), np.array([2, 2])), (1, 1024), ((1, 3), (32, 24)), ([2], [3]),
    ],
)  # fmt: skip
def test_every_special_register(grid: Any, block: Any) -> None:
    """x counts fastest, then y, then z; a warp is 32 threads in that order."""
    gx, gy, gz = (*np.atleast_1d(grid).tolist(), 1, 1)[:3]
    bx, by, bz = (*np.atleast_1d(block).tolist(), 1, 1)[:3]
    threads, ctas = bx * by * bz, gx * gy * gz
    out = both(READER, [np.full((ctas * threads, len(NAMES)), 0xDEAD, np.uint32)], grid=grid, block=block)[0]
    expected = [
        [tx, ty, tz, bx, by, bz, cx, cy, cz, gx, gy, gz, t % 32, t // 32, -(-threads // 32)]
        for cz in range(gz) for cy in range(gy) for cx in range(gx)
        for t, (tz, ty, tx) in enumerate(np.ndindex(bz, by, bx))
    ]  # fmt: skip
    assert out.tolist() == expected


@pytest.mark.parametrize("type", ["b32", "s32", "u32"])
def test_types_that_may_read_one(type: str) -> None:
    source = text(f"""
        mov.{type} %r1, %tid.x;
        mov.u32 %r2, %ntid.x;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd1, %r1, 4, %rd0;
        st.global.u32 [%rd1], %r2;
    """)
    assert both(source, [np.zeros(3, np.uint32)], block=3)[0].tolist() == [3, 3, 3]


def test_a_guarded_read() -> None:
    source = text("""
        mov.u32 %r1, %laneid;
        setp.gt.u32 %p1, %r1, 1;
        mov.u32 %r2, 50;
        @%p1 mov.u32 %r2, %warpid;
        mov.u32 %r3, %tid.x;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd1, %r3, 4, %rd0;
        st.global.u32 [%rd1], %r2;
    """)
    out = both(source, [np.zeros(66, np.uint32)], block=66)[0]
    assert out.tolist() == [50 if t % 32 < 2 else t // 32 for t in range(66)]
