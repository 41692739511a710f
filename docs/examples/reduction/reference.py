"""Reference results for the reduction example."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "reduction"
PTX = HERE / "reduction.ptx"
C_SOURCE = HERE / "reduction.c"

# The number of elements, of blocks, and of threads in a block.
SIZES = {"small": (3_000, 8, 64), "medium": (1_500_001, 32, 256), "large": (15_000_001, 128, 256)}


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    n, blocks, threads = SIZES[size]
    rng = np.random.default_rng(3)
    u = rng.integers(0, 2**32, n, dtype=np.uint32)
    x = rng.standard_normal(n, dtype=np.float32)
    u_sums = np.zeros(blocks, dtype=np.uint32)
    x_sums = np.zeros(blocks, dtype=np.float32)
    return {
        "grid": (blocks, 1, 1),
        "block": (threads, 1, 1),
        "args": [np.uint32(n), u, x, u_sums, x_sums],
        "dynamic_shared": 0,
        "outputs": [3, 4],
    }


def block_sums(values: np.ndarray, blocks: int, threads: int) -> np.ndarray:
    """Return the partial sum of each block, with the additions in the order of the kernel."""
    stride = blocks * threads
    sums = np.zeros(stride, dtype=values.dtype)
    for start in range(0, len(values), stride):
        chunk = values[start : start + stride]
        sums[: len(chunk)] += chunk
    part = sums.reshape(blocks, threads)
    while part.shape[1] > 1:
        half = part.shape[1] // 2
        part = part[:, :half] + part[:, half:]
    return part[:, 0].copy()


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays, from the arguments before the launch."""
    _, u, x, _, _ = case["args"]
    blocks, threads = case["grid"][0], case["block"][0]
    return [block_sums(u, blocks, threads), block_sums(x, blocks, threads)]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    integers = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
    floats = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    library.reduction.argtypes = [ctypes.c_uint32] * 3 + [integers, floats, integers, floats]
    library.reduction.restype = None
    n, u, x, u_sums, x_sums = case["args"]
    library.reduction(case["grid"][0], case["block"][0], int(n), u, x, u_sums, x_sums)
