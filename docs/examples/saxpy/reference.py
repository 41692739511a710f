"""Reference results for the SAXPY example."""

import ctypes
import runpy
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "saxpy"
PTX = HERE / "saxpy.ptx"
C_SOURCE = HERE / "saxpy.c"

BLOCK = 128
SIZES = {"small": 3_000, "medium": 1_000_000, "large": 10_000_000, "table": 1 << 20}

fma32 = runpy.run_path(str(HERE.parent / "fma.py"))["fma32"]


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    n = SIZES[size]
    rng = np.random.default_rng(1)
    a = np.float32(1.7)
    x = rng.standard_normal(n, dtype=np.float32)
    y = rng.standard_normal(n, dtype=np.float32)
    return {
        "grid": (-(-n // BLOCK), 1, 1),
        "block": (BLOCK, 1, 1),
        "args": [np.uint32(n), a, x, y],
        "dynamic_shared": 0,
        "outputs": [3],
    }


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays, from the arguments before the launch."""
    _, a, x, y = case["args"]
    return [fma32(x, a, y)]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    floats = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    library.saxpy.argtypes = [ctypes.c_uint32, ctypes.c_float, floats, floats]
    library.saxpy.restype = None
    n, a, x, y = case["args"]
    library.saxpy(int(n), float(a), x, y)
