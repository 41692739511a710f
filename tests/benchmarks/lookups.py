"""Filtered lookups of a texture in two dimensions, a second on one core, with all that the kernel does besides."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ptxspec

#: lookups a second that each format must reach
GOAL = 5e6
LOOKUPS = 1 << 20
SIZE = 512
BLOCK = 256
FORMATS = (("f32", 1), ("f32", 4), ("u8", 1), ("u8", 4))
PTX = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 places, .param .u64 out)
{
  .reg .b64 %image, %places, %out;
  .reg .b32 %i, %n, %t;
  .reg .f32 %u, %v, %c<4>;
  ld.param.u64 %image, [image];
  ld.param.u64 %places, [places];
  ld.param.u64 %out, [out];
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, %n, %t;
  mad.wide.u32 %places, %i, 8, %places;
  mad.wide.u32 %out, %i, 16, %out;
  ld.global.v2.f32 {%u, %v}, [%places];
  tex.2d.v4.f32.f32 {%c0, %c1, %c2, %c3}, [%image, {%u, %v}];
  st.global.v4.f32 [%out], {%c0, %c1, %c2, %c3};
  ret;
}
"""


def texture(channel: str, channels: int, rng: np.random.Generator) -> ptxspec.Texture:
    shape = (SIZE, SIZE, channels)
    texels = rng.random(shape, np.float32) if channel == "f32" else rng.integers(0, 256, shape, np.uint8)
    read = "element" if channel == "f32" else "normalized_float"
    return ptxspec.Texture(texels, "2d", address="wrap", filter="linear", normalized_coords=True, read=read)


def best(action: Any, repeats: int) -> float:
    """The least time of several runs, in seconds of the processor."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


def bilinear(texels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The first channel in double precision, to see that what is timed is a lookup."""
    x = places.astype(float) * SIZE - 0.5
    low = np.floor(x).astype(int)
    (a, b), (i, j) = (x - low).T, low.T
    at = [[texels[(j + down) % SIZE, (i + right) % SIZE, 0] for right in (0, 1)] for down in (0, 1)]
    return (at[0][0] * (1 - a) + at[0][1] * a) * (1 - b) + (at[1][0] * (1 - a) + at[1][1] * a) * b


def main(repeats: int = 5) -> int:
    table = Table(title=f"{LOOKUPS:,} linear lookups, {SIZE} x {SIZE} texels, wrap, one core, best of {repeats}")
    for column in ("texels", "first launch", "launch", "M lookups/s", "greatest difference"):
        table.add_column(column, justify="left" if column == "texels" else "right")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = np.random.default_rng(1)
    places = rng.uniform(-1, 2, (LOOKUPS, 2)).astype(np.float32)
    out = np.zeros((LOOKUPS, 4), np.float32)
    grid = LOOKUPS // BLOCK
    module = ptxspec.load(PTX)
    slow = []
    for channel, channels in FORMATS:
        image = texture(channel, channels, rng)
        arguments = [image, places, out]
        began = time.process_time()
        module.launch("k", grid, BLOCK, arguments)
        first = time.process_time() - began
        seconds = best(lambda own=arguments: module.launch("k", grid, BLOCK, own), repeats)
        texels = image.storage.texels() / (255 if channel == "u8" else 1)
        difference = float(np.abs(out[:, 0] - bilinear(texels, places)).max())
        rate = LOOKUPS / seconds
        name = f"{channel} x {channels}"
        if rate < GOAL or difference > 0.02:
            slow.append(name)
        table.add_row(name, f"{first:.2f} s", f"{seconds:.3f} s", f"{rate / 1e6:.2f}", f"{difference:.4f}")
    console = Console(width=110)
    console.print(table)
    console.print(
        f"the goal is {GOAL / 1e6:.0f} M/s: " + ("reached by all" if not slow else f"MISSED by {', '.join(slow)}")
    )
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
