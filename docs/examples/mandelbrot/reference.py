"""Reference results for the Mandelbrot example."""

import ctypes
import runpy
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "mandelbrot"
PTX = HERE / "mandelbrot.ptx"
C_SOURCE = HERE / "mandelbrot.c"

BLOCK = (16, 8)
# The width and height in pixels, and the limit of iterations.
SIZES = {"small": (33, 20, 12), "medium": (200, 130, 250), "large": (500, 330, 400), "table": (256, 256, 256)}

fma32 = runpy.run_path(str(HERE.parent / "fma.py"))["fma32"]


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    width, height, limit = SIZES[size]
    left, top = np.float32(-2.1), np.float32(-1.05)
    step = np.float32(3.0 / width)
    counts = np.zeros((height, width), dtype=np.uint32)
    return {
        "grid": (-(-width // BLOCK[0]), -(-height // BLOCK[1]), 1),
        "block": (*BLOCK, 1),
        "args": [np.uint32(width), np.uint32(height), left, top, step, np.uint32(limit), counts],
        "dynamic_shared": 0,
        "outputs": [6],
    }


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays, from the arguments before the launch."""
    width, height, left, top, step, limit, _ = case["args"]
    row, column = np.divmod(np.arange(int(width) * int(height), dtype=np.uint32), width)
    cx = fma32(column.astype(np.float32), step, left)
    cy = fma32(row.astype(np.float32), step, top)
    counts = np.zeros(cx.shape, dtype=np.uint32)
    # The pixels still in the loop, and their points c and z.
    pixel = np.arange(cx.size)
    zx, zy = np.zeros_like(cx), np.zeros_like(cy)
    for _ in range(int(limit)):
        xx, yy = zx * zx, zy * zy
        inside = ~(xx + yy > np.float32(4))
        pixel, cx, cy = pixel[inside], cx[inside], cy[inside]
        zx, zy, xx, yy = zx[inside], zy[inside], xx[inside], yy[inside]
        zx, zy = cx + (xx - yy), fma32(zx + zx, zy, cy)
        counts[pixel] += 1
    return [counts.reshape(int(height), int(width))]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    integers = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
    library.mandelbrot.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_float] * 3 + [ctypes.c_uint32, integers]
    library.mandelbrot.restype = None
    width, height, left, top, step, limit, counts = case["args"]
    library.mandelbrot(int(width), int(height), float(left), float(top), float(step), int(limit), counts)
