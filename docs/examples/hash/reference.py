"""Reference results for the hash example."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KERNEL = "hash"
PTX = HERE / "hash.ptx"
C_SOURCE = HERE / "hash.c"

BLOCK = 128
# The number of words, and of rounds for each.
SIZES = {"small": (700, 3), "medium": (20_000, 50), "large": (100_000, 100), "table": (1 << 14, 1000)}

U32 = np.uint32
# The number of one bits, and the bits in reverse order, of each byte.
BYTE_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=U32)
BYTE_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], dtype=U32)


def case(size: str) -> dict[str, Any]:
    """Return one launch: the grid, and fresh arguments in the order of the kernel's parameters."""
    n, rounds = SIZES[size]
    rng = np.random.default_rng(5)
    words = rng.integers(0, 2**32, n, dtype=U32)
    words[:3] = 0, 1, 2**32 - 1
    hashes = np.zeros(n, dtype=U32)
    return {
        "grid": (-(-n // BLOCK), 1, 1),
        "block": (BLOCK, 1, 1),
        "args": [U32(n), U32(rounds), U32(0x243F6A88), words, hashes],
        "dynamic_shared": 0,
        "outputs": [4],
    }


def funnel_shift_left(low: np.ndarray, high: np.ndarray, bits: np.ndarray | int) -> np.ndarray:
    """Return the upper half of the 64-bit pair (high, low), shifted left by bits modulo 32."""
    pair = high.astype(np.uint64) << np.uint64(32) | low
    return (pair << (np.asarray(bits, dtype=np.uint64) % np.uint64(32)) >> np.uint64(32)).astype(U32)


def population_count(x: np.ndarray) -> np.ndarray:
    """Return the number of one bits."""
    return BYTE_ONES[x.view(np.uint8).reshape(-1, 4)].sum(axis=1, dtype=U32)


def reverse_bits(x: np.ndarray) -> np.ndarray:
    """Return the 32 bits in reverse order."""
    return BYTE_REVERSED[x.view(np.uint8)].astype(np.uint8).view(U32).byteswap()


def leading_zeros(x: np.ndarray) -> np.ndarray:
    """Return the number of zero bits above the highest one bit; 32 for zero."""
    return U32(32) - np.frexp(x.astype(np.float64))[1].astype(U32)


def expected(case: dict[str, Any]) -> list[np.ndarray]:
    """Return what the kernel must leave in its output arrays, from the arguments before the launch."""
    n, rounds, seed, words, _ = case["args"]
    word = words.copy()
    h = seed ^ np.arange(int(n), dtype=U32)
    for _ in range(int(rounds)):
        h = h ^ word
        h = h ^ (h >> U32(15))
        h = h * U32(0x9E3779B1)
        h = funnel_shift_left(h, h, population_count(word))
        field = (word >> (h & U32(31))) & U32(0x7FF)
        h = (h & U32(0xFFF001FF)) | (field << U32(9))
        word = reverse_bits(word) + funnel_shift_left(word, h, 7)
        word = word ^ (h << (leading_zeros(word) & U32(31)))
    return [h ^ (h >> U32(16))]


def run_c(library: ctypes.CDLL, case: dict[str, Any]) -> None:
    """Run the C function on the arguments, in place."""
    integers = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
    library.hash.argtypes = [ctypes.c_uint32] * 3 + [integers, integers]
    library.hash.restype = None
    n, rounds, seed, words, hashes = case["args"]
    library.hash(int(n), int(rounds), int(seed), words, hashes)
