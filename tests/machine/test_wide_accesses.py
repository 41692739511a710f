"""Loads and stores of 256 bits, which no GPU at hand has: what they move, and which addresses they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

HEAD = ".version 8.8\n.target sm_100\n.address_size 64\n"
KERNEL = (
    HEAD
    + """.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 at)
{{
  .reg .u64 %in, %out, %at; .reg .u32 %t; .reg {type} %x<8>;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %at, [at];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %in, %t, 32, %in;
  mad.wide.u32 %out, %t, 32, %out;
  add.u64 %in, %in, %at;
  {load} {{{whole}}}, [%in];
  {store} [%out], {{{turned}}};
  ret;
}}
"""
)
WAYS = [
    ("ld.global.v8{}", "st.global.v8{}", ".b32", 8, np.uint32),
    ("ld.L1::evict_last.L2::evict_first.L2::128B.v8{}", "st.v8{}", ".f32", 8, np.float32),
    ("ld.global.nc.L2::evict_last.v4{}", "st.global.cs.L2::evict_normal.v4{}", ".b64", 4, np.uint64),
    ("ld.acquire.gpu.global.v4{}", "st.release.gpu.global.v4{}", ".f64", 4, np.float64),
    ("ld.volatile.global.v8{}", "st.volatile.v8{}", ".s32", 8, np.int32),
]


def text(load: str, store: str, type: str, count: int) -> str:
    names = [f"%x{i}" for i in range(count)]
    how = {"whole": ", ".join(names), "turned": ", ".join(names[::-1])}
    return KERNEL.format(load=load.format(type), store=store.format(type), type=type, **how)


@pytest.mark.parametrize("engine", ["native", "exact"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_what_they_move(way: tuple[Any, ...], engine: Any) -> None:
    load, store, type, count, numpy_type = way
    values = np.arange(4 * count).astype(numpy_type)
    out = np.zeros_like(values)
    module = ptxspec.load(text(load, store, type, count))
    module.launch("k", args=[values, out, 0], block=4, engine=engine)
    assert np.array_equal(out, values.reshape(4, count)[:, ::-1].ravel())


@pytest.mark.parametrize("engine", ["native", "exact"])
def test_an_address_must_be_a_multiple_of_32(engine: Any) -> None:
    values = np.arange(16, dtype=np.uint32)
    module = ptxspec.load(text("ld.global.v8{}", "st.global.v8{}", ".b32", 8))
    with pytest.raises(ptxspec.LaunchError, match="not a multiple of 32"):
        module.launch("k", args=[values, np.zeros_like(values), 16], engine=engine)


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        ("ld.shared.v8.b32 {%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7}, [%in];", "there is no ld.shared.v8.b32"),
        ("ld.global.v8.b64 {%x0,%x1,%x2,%x3,%x4,%x5,%x6,%x7}, [%in];", "there is no ld.global.v8.b64"),
        ("ld.global.L2::evict_first.v4.b32 {%x0,%x1,%x2,%x3}, [%in];", "there is no ld.global.L2::evict_first.v4.b32"),
    ],
)
def test_what_there_is_not(instruction: str, said: str) -> None:
    with pytest.raises(ptxspec.PtxError, match=said):
        ptxspec.load(f"{HEAD}.entry k() {{ .reg .b64 %in; .reg .b32 %x<8>;\n{instruction}\nret; }}")
