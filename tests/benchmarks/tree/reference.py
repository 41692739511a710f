"""Reference results for the tree reduction."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "tree"
PTX = HERE / "tree.ptx"
C_SOURCE = HERE / "tree.c"

BLOCK = 256
SIZES = {"small": 2 * BLOCK, "table": 1 << 20}


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    n = SIZES[size]
    rng = np.random.default_rng(7)
    return {
        "grid": (n // BLOCK, 1, 1),
        "block": (BLOCK, 1, 1),
        "args": [rng.integers(-(2**31), 2**31, n, dtype=np.int32), np.zeros(n // BLOCK, np.int32)],
        "dynamic_shared": 0,
        "outputs": [1],
    }


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays."""
    return [case["args"][0].reshape(-1, BLOCK).sum(1, dtype=np.int64).astype(np.int32)]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    integers = np.ctypeslib.ndpointer(np.int32, flags="C_CONTIGUOUS")
    library.tree.argtypes = [ctypes.c_uint32, integers, integers]
    library.tree.restype = None
    library.tree(case["grid"][0], *case["args"])
