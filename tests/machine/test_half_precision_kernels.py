"""Kernels that nvcc made of half-precision sources, run under both engines; and atomic sums of packed numbers."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from launching import HEADER, each

KEPT = Path(__file__).resolve().parents[1] / "corpus" / "compiled.json.xz"


def made_by_nvcc(name: str) -> str:
    return json.loads(lzma.decompress(KEPT.read_bytes()))[name]


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_halves(target: str) -> None:
    source = np.random.default_rng(5)
    for engine, module in each(made_by_nvcc(f"halves {target}")):
        x = source.uniform(-8, 8, 8).astype(np.float16)
        y = source.uniform(-8, 8, (8, 2)).astype(np.float16)
        z = source.uniform(-8, 8, 8).astype(np.float32)
        before = x.copy(), y.copy(), z.copy()
        module.launch("_Z1kP6__halfP7__half2Pf", args=[x, y, z], engine=engine)
        a, b, c = before
        assert x[0] == a[1] + a[2]
        # two roundings of a product that double precision holds exactly are one
        assert (y[0] == (b[1].astype(np.float64) * b[2] + b[3]).astype(np.float16)).all()
        assert z[0] == np.float32(a[3]) and x[4] == np.float16(c[1])
        assert z[2] == (1 if a[1] < a[2] else 2)


def as_bits(x: np.ndarray) -> np.ndarray:
    """Singles rounded to bf16, as bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def as_singles(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_bfloats(target: str) -> None:
    source = np.random.default_rng(6)
    for engine, module in each(made_by_nvcc(f"bfloats {target}")):
        x = as_bits(source.uniform(-8, 8, 8))
        y = as_bits(source.uniform(-8, 8, (4, 2)).reshape(-1)).reshape(4, 2)
        z = source.uniform(-8, 8, 8).astype(np.float32)
        before = x.copy(), y.copy(), z.copy()
        module.launch("_Z1kP13__nv_bfloat16P14__nv_bfloat162Pf", args=[x, y, z], engine=engine)
        a, b, c = before
        assert x[0] == as_bits(c[:1])[0]
        assert z[1] == as_singles(a[1:2])[0]
        assert (y[0] == as_bits(as_singles(b[1]) * as_singles(b[2]))).all()


@pytest.mark.parametrize(("type", "one"), [("f16x2", 0x3C003C00), ("bf16x2", 0x3F803F80)])
def test_threads_add_pairs_in_memory(type: str, one: int) -> None:
    """Each of 64 threads adds 1 to both numbers of a word in global memory, and to both of one in shared memory."""
    text = f"""{HEADER}
.visible .entry k(.param .u64 out)
{{
    .reg .b64 %a; .reg .b32 %x, %old, %t; .reg .pred %p;
    .shared .b32 cell;
    ld.param.u64 %a, [out];
    mov.b32 %x, {one:#x};
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 0;
    @%p st.shared.b32 [cell], 0;
    bar.sync 0;
    red.global.add.noftz.{type} [%a], %x;
    atom.shared.add.noftz.{type} %old, [cell], %x;
    bar.sync 0;
    ld.shared.b32 %old, [cell];
    @%p st.global.b32 [%a+4], %old;
    ret;
}}"""
    for engine, module in each(text):
        out = np.zeros(2, np.uint32)
        module.launch("k", block=(64, 1, 1), args=[out], engine=engine)
        sixty_four = {"f16x2": 0x54005400, "bf16x2": 0x42804280}[type]
        assert out.tolist() == [sixty_four, sixty_four]
