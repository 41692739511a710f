"""Elements of arrays, and registers that are vectors: what is read and written, under both engines."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ptxspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "language"))
from verdicts import body

pytestmark = pytest.mark.sample(4)

ARRAY = ".global .u64 g[4] = {1, 2, 3, 4};"


@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.parametrize(
    ("text", "module", "value"),
    [
        # elements
        ("ld.global.u64 %rd1, g[2];", ARRAY, 3),
        ("ld.global.u64 %rd1, g[1+1*2];", ARRAY, 4),
        ("mov.u64 %rd2, g[3]; ld.global.u64 %rd1, [%rd2+-8];", ARRAY, 3),
        ("mov.u64 %rd2, g[4]; ld.global.u64 %rd1, [%rd2+-4*4];", ARRAY, 3),
        ("mov.u64 %rd2, g[-1]; ld.global.u64 %rd1, [%rd2+16];", ARRAY, 2),
        ("mov.u64 %rd2, g[0xffffffffffffffff]; ld.global.u64 %rd1, [%rd2+16];", ARRAY, 2),
        ("st.global.u64 g[WARP_SZ/16], 7; ld.global.u64 %rd1, [g+16];", ARRAY, 7),
        ("ld.global.u16 %rd1, h[5];", ".global .u16 h[2][3] = {{1, 2, 3}, {4, 5, 6}};", 6),
        ("ld.global.u32 %rd1, v[3];", ".global .v2 .u32 v[2] = {{1, 2}, {3, 4}};", 4),
        ("ld.global.v2.u32 {%r1, %r2}, v[2]; cvt.u64.u32 %rd1, %r2;", ".global .v2 .u32 v[2] = {{1, 2}, {3, 4}};", 4),
        ("st.shared.u32 [s+12], 9; ld.shared.u32 %rd1, s[3];", ".shared .u32 s[4];", 9),
        ("cvta.shared.u64 %rd2, s[1]; mov.u32 %r1, 6; st.u32 [%rd2], %r1; ld.shared.u32 %rd1, s[1];", ".shared .u32 s[4];", 6),
        ("ld.const.u8 %rd1, c[3];", ".const .b8 c[] = {9, 8, 7, 6};", 6),
        # with an index in a register
        ("mov.u32 %r1, 2; ld.global.u64 %rd1, g[%r1];", ARRAY, 3),
        ("mov.u32 %r1, 2; ld.global.u64 %rd1, g[%r1+1];", ARRAY, 4),
        ("mov.u32 %r1, 2; ld.global.u64 %rd1, g[%r1+-1];", ARRAY, 2),
        ("mov.u32 %r1, -1; ld.global.u64 %rd1, g[%r1+3];", ARRAY, 3),
        ("mov.u64 %rd2, 0xabcd00000001; ld.global.u64 %rd1, g[%rd2];", ARRAY, 2),
        ("mov.u16 %h1, 3; ld.global.u64 %rd1, g[%h1];", ARRAY, 4),
        ("mov.s32 %s1, 3; st.global.u64 g[%s1], 70; ld.global.u64 %rd1, [g+24];", ARRAY, 70),
        ("mov.u32 %r1, 3; mov.u64 %rd2, g[%r1]; ld.global.u64 %rd1, [%rd2+-8];", ARRAY, 3),
        ("mov.u32 %r1, -1; mov.u64 %rd2, g[%r1]; mov.u64 %rd1, g; sub.u64 %rd1, %rd2, %rd1;", ARRAY, 0xFFFFFFF8),
        ("mov.u32 %r1, -1; mov.u64 %rd2, t[%r1]; mov.u64 %rd1, s; sub.u64 %rd1, %rd2, %rd1;", ".shared .u32 s[4]; .shared .u32 t[4];", 12),
        ("mov.u32 %r1, -1; st.shared.u32 [s+12], 9; ld.shared.u32 %rd1, t[%r1];", ".shared .u32 s[4]; .shared .u32 t[4];", 9),
        ("mov.u32 %r1, 0x40000001; st.shared.u32 [s+4], 9; ld.shared.u32 %rd1, s[%r1];", ".shared .u32 s[4];", 9),
        ("mov.u16 %h1, -1; mov.u32 %r1, s[%h1]; mov.u32 %r2, s; sub.u32 %r1, %r1, %r2; cvt.u64.u32 %rd1, %r1;", ".shared .u32 s[4];", 0x3FFFC),
        ("mov.u32 %r1, 1; ld.const.u8 %rd1, c[%r1+1];", ".const .b8 c[] = {9, 8, 7, 6};", 7),
        ("mov.u32 %r1, 3; ld.global.u32 %rd1, v[%r1];", ".global .v2 .u32 v[2] = {{1, 2}, {3, 4}};", 4),
        ("mov.u32 %r1, 2; .local .u32 l[4]; st.local.u32 l[%r1], 5; ld.local.u32 %rd1, [l+8];", "", 5),
        ("mov.u32 %r1, 1; { .param .b32 q[2]; st.param.b32 q[%r1], 6; call (%r2), second, (q); } cvt.u64.u32 %rd1, %r2;",
         ".func (.reg .b32 r) second(.param .b32 a[2]) { .reg .u32 i; mov.u32 i, 1; ld.param.b32 r, a[i]; ret; }", 6),
        # addresses in data
        ("ld.global.u64 %rd2, [x]; ld.global.u64 %rd1, [%rd2];", ARRAY + ".global .u64 x = g+8*2;", 3),
        ("ld.global.u64 %rd2, x[1]; ld.global.u64 %rd1, [%rd2];", ARRAY + ".global .u64 x[] = {g, g+4*(1+1)};", 2),
        # vectors
        (".reg .v2 .u32 v; mov.u32 v.x, 5; mov.u32 v.g, 6; mov.b64 %rd1, v;", "", 6 << 32 | 5),
        (".reg .v2 .b32 v; mov.b64 v, 0x500000006; cvt.u64.u32 %rd1, v.y;", "", 5),
        (".reg .v2 .u32 v<3>; mov.b64 v2, 0x500000006; cvt.u64.u32 %rd1, v02.r;", "", 6),
        (".reg .v4 .u16 v; mov.b64 v, 0x0004000300020001; cvt.u64.u16 %rd1, v.a;", "", 4),
        (".reg .v2 .u32 v; { .reg .v2 .u32 v; mov.u32 v.x, 5; } mov.u32 v.x, 9; cvt.u64.u32 %rd1, v.x;", "", 9),
        (".reg .v2 .u64 v; ld.global.v2.u64 v, [w]; add.u64 %rd1, v.x, v.y;", ".global .align 16 .u64 w[2] = {3, 4};", 7),
        (".reg .v4 .u32 v; mov.u32 v.x, 1; mov.u32 v.y, 2; mov.u32 v.z, 3; mov.u32 v.w, 4; st.shared.v4.u32 [s], v; ld.shared.u32 %rd1, s[2];",
         ".shared .align 16 .u32 s[4];", 3),
        (".reg .v2 .u32 v, w; mov.b64 v, 0x500000006; mov.v2.u32 w, v; mov.v2.u32 {w.y, w.x}, w; mov.b64 %rd1, w;", "", 6 << 32 | 5),
        (".reg .v4 .f32 v; mov.v4.f32 v, {1.0, 2.0, 4.0, 8.0}; add.f32 v.r, v.g, v.a; mov.b32 %r1, v.x; cvt.u64.u32 %rd1, %r1;", "",
         0x41200000),
        # a register that has the name of a special one
        (".reg .u32 %laneid; mov.u32 %laneid, 77; cvt.u64.u32 %rd1, %laneid;", "", 77),
        (".reg .v4 .u32 %tid; mov.u32 %tid.x, 5; cvt.u64.u32 %rd1, %tid.x;", "", 5),
    ],
)  # fmt: skip
def test_values(text: str, module: str, value: int, engine: str) -> None:
    out = np.zeros(1, np.uint64)
    source = body(f"{text}\nld.param.u64 %rd8, [out]; st.global.u64 [%rd8], %rd1;", ".param .u64 out", module)
    ptxspec.load(source).launch("k", args=[out], engine=engine)
    assert int(out[0]) == value
