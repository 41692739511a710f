"""Reference results for the matrix multiplication example."""

import ctypes
import runpy
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "matmul"
PTX = HERE / "matmul.ptx"
C_SOURCE = HERE / "matmul.c"

TILE = 16
# m, n and k: A is m x k, B is k x n, C is m x n.
SIZES = {"small": (13, 20, 17), "medium": (150, 140, 170), "large": (340, 330, 350), "table": (128, 128, 128)}

fma32 = runpy.run_path(str(HERE.parent / "fma.py"))["fma32"]


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    m, n, k = SIZES[size]
    rng = np.random.default_rng(2)
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((k, n), dtype=np.float32)
    c = np.zeros((m, n), dtype=np.float32)
    return {
        "grid": (-(-n // TILE), -(-m // TILE), 1),
        "block": (TILE, TILE, 1),
        "args": [np.uint32(m), np.uint32(n), np.uint32(k), a, b, c],
        "dynamic_shared": 0,
        "outputs": [5],
    }


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays, from the arguments before the launch."""
    _, _, k, a, b, c = case["args"]
    sums = np.zeros_like(c)
    for j in range(int(k)):
        sums = fma32(a[:, j, np.newaxis], b[j], sums)
    if k % TILE != 0:
        sums = sums + np.float32(0)  # the zeros that pad the last tile turn a sum of -0 into +0
    return [sums]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    floats = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    library.matmul.argtypes = [ctypes.c_uint32] * 3 + [floats] * 3
    library.matmul.restype = None
    m, n, k, a, b, c = case["args"]
    library.matmul(int(m), int(n), int(k), a, b, c)
