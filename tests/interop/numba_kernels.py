"""Kernels in Numba's Python, each with what NumPy or Python makes of the same arrays.

A case is a function of a random generator: it gives the kernel, its signature, the shape of a launch, the arguments, and what the
arrays among them are to be afterwards (None: not looked at).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda


class Case(NamedTuple):
    function: Callable[..., Any]
    signature: str
    shape: tuple[Any, ...]
    args: list[Any]
    expected: list[Any]
    ulps: int = 0
    """by how many units in the last place a result may differ"""


CASES: dict[str, Callable[[np.random.Generator], Case]] = {}


def case(make: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    CASES[make.__name__] = make
    return make


@case
def axpy(rng):
    def kernel(a, x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] += a * x[i]

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    return Case(
        kernel, "void(float32, float32[:], float32[:])", (4, 256), [np.float32(2), x, y], [None, None, 1 + 2 * x]
    )


@case
def grid_stride(rng):
    def kernel(x, y):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            y[i] = x[i] * x[i] - 3

    x = rng.integers(-1000, 1000, 5000)
    return Case(kernel, "void(int64[::1], int64[::1])", (3, 64), [x, np.zeros_like(x)], [None, x * x - 3])


@case
def reversed_by_shared_memory(rng):
    def kernel(x, y):
        cell = cuda.shared.array(128, numba.int32)
        i = cuda.threadIdx.x
        cell[i] = x[cuda.blockIdx.x * 128 + i]
        cuda.syncthreads()
        y[cuda.blockIdx.x * 128 + i] = cell[127 - i]

    x = rng.integers(0, 1 << 30, 512, np.int32)
    return Case(kernel, "void(int32[:], int32[:])", (4, 128), [x, x * 0], [None, x.reshape(4, 128)[:, ::-1].ravel()])


@case
def tree_reduction(rng):
    def kernel(x, sums):
        part = cuda.shared.array(256, numba.float64)
        i = cuda.threadIdx.x
        part[i] = x[cuda.grid(1)]
        cuda.syncthreads()
        half = 128
        while half > 0:
            if i < half:
                part[i] += part[i + half]
            cuda.syncthreads()
            half //= 2
        if i == 0:
            sums[cuda.blockIdx.x] = part[0]

    x = rng.integers(-100, 100, 1024).astype(np.float64)
    return Case(kernel, "void(float64[:], float64[:])", (4, 256), [x, np.zeros(4)], [None, x.reshape(4, 256).sum(1)])


@case
def dynamic_shared_memory(rng):
    def kernel(x, y):
        cell = cuda.shared.array(0, numba.int64)
        i = cuda.threadIdx.x
        cell[i] = x[i]
        cuda.syncthreads()
        y[i] = cell[(i + 1) % cuda.blockDim.x]

    x = rng.integers(0, 1000, 64)
    return Case(kernel, "void(int64[:], int64[:])", (1, 64, None, 512), [x, x * 0], [None, np.roll(x, -1)])


@case
def shuffles(rng):
    def kernel(x, y):
        value = x[cuda.grid(1)]
        step = 16
        while step > 0:
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
            step //= 2
        y[cuda.grid(1)] = value

    x = rng.integers(0, 100, 64, np.int32)
    return Case(
        kernel,
        "void(int32[:], int32[:])",
        (1, 64),
        [x, x * 0],
        [None, x.reshape(2, 32).sum(1).repeat(32).astype(np.int32)],
    )


@case
def shuffles_of_doubles(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = (
            cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
            + cuda.shfl_up_sync(0xFFFFFFFF, x[i], 1)
            + cuda.shfl_sync(0xFFFFFFFF, x[i], 5)
        )

    x = rng.integers(0, 100, 32).astype(np.float64)
    want = np.append(x[1:], x[31]) + np.append(x[0], x[:31]) + x[5]
    return Case(kernel, "void(float64[:], float64[:])", (1, 32), [x, x * 0], [None, want])


@case
def votes(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i, 0] = cuda.ballot_sync(0xFFFFFFFF, x[i] > 50)
        y[i, 1] = cuda.any_sync(0xFFFFFFFF, x[i] == 7)
        y[i, 2] = cuda.all_sync(0xFFFFFFFF, x[i] < 100)

    x = rng.integers(0, 100, 32, np.int32)
    ballot = sum(1 << i for i in range(32) if x[i] > 50)
    row = np.array([ballot, (x == 7).any(), (x < 100).all()], np.int64)
    return Case(
        kernel, "void(int32[:], int64[:, :])", (1, 32), [x, np.zeros((32, 3), np.int64)], [None, np.tile(row, (32, 1))]
    )


@case
def matches(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = cuda.match_any_sync(0xFFFFFFFF, x[i])

    x = rng.integers(0, 5, 32, np.int32)
    want = np.array([sum(1 << j for j in range(32) if x[j] == v) for v in x], np.uint32)
    return Case(kernel, "void(int32[:], uint32[:])", (1, 32), [x, np.zeros(32, np.uint32)], [None, want])


@case
def counted_at_a_barrier(rng):
    def kernel(x, y):
        i = cuda.threadIdx.x
        y[i, 0] = cuda.syncthreads_count(numba.int32(x[i] > 3))
        y[i, 1] = cuda.syncthreads_and(numba.int32(x[i] >= 0))
        y[i, 2] = cuda.syncthreads_or(numba.int32(x[i] == 9))

    x = rng.integers(0, 8, 96, np.int32)
    row = np.array([(x > 3).sum(), 1, 0], np.int32)
    return Case(
        kernel, "void(int32[:], int32[:, :])", (1, 96), [x, np.zeros((96, 3), np.int32)], [None, np.tile(row, (96, 1))]
    )


@case
def atomic_sum(rng):
    def kernel(x, total):
        cuda.atomic.add(total, 0, x[cuda.grid(1)])

    x = rng.integers(-50, 50, 512).astype(np.float32)
    return Case(
        kernel, "void(float32[:], float32[:])", (2, 256), [x, np.zeros(1, np.float32)], [None, x.sum(keepdims=True)]
    )


@case
def atomic_extremes(rng):
    def kernel(x, found):
        cuda.atomic.max(found, 0, x[cuda.grid(1)])
        cuda.atomic.min(found, 1, x[cuda.grid(1)])

    x = rng.integers(-(1 << 30), 1 << 30, 512, np.int32)
    return Case(
        kernel,
        "void(int32[:], int32[:])",
        (2, 256),
        [x, np.zeros(2, np.int32)],
        [None, np.array([x.max(), x.min()], np.int32)],
    )


@case
def extremes_of_doubles(rng):
    def kernel(x, found):
        cuda.atomic.max(found, 0, x[cuda.grid(1)])

    x = rng.normal(size=128)
    return Case(kernel, "void(float64[:], float64[:])", (2, 64), [x, np.full(1, -9.0)], [None, x.max(keepdims=True)])


@case
def compared_and_swapped(rng):
    def kernel(taken, winners):
        i = cuda.grid(1)
        if cuda.atomic.cas(taken, i % 8, 0, i + 1) == 0:
            winners[i] = 1

    def check(arrays):
        taken, winners = arrays
        return winners.sum() == 8 and all(winners[t - 1] == 1 and (t - 1) % 8 == i for i, t in enumerate(taken))

    return Case(kernel, "void(int32[:], int32[:])", (2, 32), [np.zeros(8, np.int32), np.zeros(64, np.int32)], [check])


@case
def histogram(rng):
    def kernel(x, bins):
        own = cuda.shared.array(16, numba.int32)
        i = cuda.threadIdx.x
        if i < 16:
            own[i] = 0
        cuda.syncthreads()
        cuda.atomic.add(own, x[cuda.grid(1)], 1)
        cuda.syncthreads()
        if i < 16:
            cuda.atomic.add(bins, i, own[i])

    x = rng.integers(0, 16, 1024, np.uint8)
    return Case(
        kernel,
        "void(uint8[:], int32[:])",
        (8, 128),
        [x, np.zeros(16, np.int32)],
        [None, np.bincount(x, minlength=16).astype(np.int32)],
    )


@case
def doubles(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i, 0], y[i, 1], y[i, 2] = math.sin(x[i]), math.exp(-x[i]), math.log(x[i] + 1)
        y[i, 3], y[i, 4], y[i, 5] = math.sqrt(x[i]), math.atan2(x[i], 2.0), x[i] ** 1.5

    x = rng.uniform(0, 100, 64)
    want = np.stack([np.sin(x), np.exp(-x), np.log(x + 1), np.sqrt(x), np.arctan2(x, 2), x**1.5], 1)
    return Case(kernel, "void(float64[:], float64[:, :])", (2, 32), [x, np.zeros((64, 6))], [None, want], 4)


@case
def singles(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i, 0], y[i, 1], y[i, 2] = math.cos(x[i]), math.tanh(x[i]), math.sqrt(x[i])
        y[i, 3], y[i, 4] = math.exp(x[i] / numba.float32(50)), math.erf(x[i])

    x = rng.uniform(0.1, 100, 64).astype(np.float32)
    wide = x.astype(np.float64)
    erf = np.array([math.erf(v) for v in wide])
    want = np.stack(
        [np.cos(wide), np.tanh(wide), np.sqrt(wide), np.exp((x / np.float32(50)).astype(np.float64)), erf], 1
    )
    return Case(
        kernel,
        "void(float32[:], float32[:, :])",
        (2, 32),
        [x, np.zeros((64, 5), np.float32)],
        [None, want.astype(np.float32)],
        4,
    )


@case
def sorted_in_local_memory(rng):
    def kernel(x):
        own = cuda.local.array(16, numba.int32)
        t = cuda.grid(1)
        for i in range(16):
            own[i] = x[t, i]
        for i in range(1, 16):
            j = i
            while j > 0 and own[j - 1] > own[j]:
                own[j - 1], own[j] = own[j], own[j - 1]
                j -= 1
        for i in range(16):
            x[t, i] = own[i]

    x = rng.integers(-1000, 1000, (32, 16), np.int32)
    return Case(kernel, "void(int32[:, :])", (1, 32), [x], [np.sort(x, 1)])


@case
def matrix_product_by_tiles(rng):
    def kernel(a, b, c):
        left = cuda.shared.array((8, 8), numba.float32)
        right = cuda.shared.array((8, 8), numba.float32)
        row, column = cuda.grid(2)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        total = numba.float32(0)
        for k in range(0, a.shape[1], 8):
            left[i, j] = a[row, k + j]
            right[i, j] = b[k + i, column]
            cuda.syncthreads()
            for m in range(8):
                total += left[i, m] * right[m, j]
            cuda.syncthreads()
        c[row, column] = total

    a, b = (rng.integers(-9, 9, (32, 32)).astype(np.float32) for _ in "ab")
    return Case(
        kernel,
        "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
        ((4, 4), (8, 8)),
        [a, b, a * 0],
        [None, None, a @ b],
    )


@case
def transposed(rng):
    def kernel(x, y):
        tile = cuda.shared.array((16, 17), numba.uint16)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        tile[j, i] = x[cuda.blockIdx.y * 16 + j, cuda.blockIdx.x * 16 + i]
        cuda.syncthreads()
        y[cuda.blockIdx.x * 16 + j, cuda.blockIdx.y * 16 + i] = tile[i, j]

    x = rng.integers(0, 1 << 16, (32, 48), np.uint16)
    return Case(
        kernel, "void(uint16[:, :], uint16[:, :])", ((3, 2), (16, 16)), [x, np.zeros((48, 32), np.uint16)], [None, x.T]
    )


@case
def columns_first(rng):
    def kernel(x, y):
        i, j = cuda.grid(2)
        y[i, j] = 10 * x[i, j]

    x = np.asfortranarray(rng.integers(0, 99, (8, 4)))
    return Case(
        kernel, "void(int64[::1, :], int64[:, ::1])", ((2, 1), (4, 4)), [x, np.zeros((8, 4), np.int64)], [None, 10 * x]
    )


@case
def bits(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i, 0], y[i, 1], y[i, 2], y[i, 3] = cuda.popc(x[i]), cuda.clz(x[i]), cuda.brev(x[i]), cuda.ffs(x[i])

    x = rng.integers(1, 1 << 31, 64, np.int64).astype(np.uint32)
    rows = [
        [int(v).bit_count(), 32 - int(v).bit_length(), int(f"{v:032b}"[::-1], 2), (int(v) & -int(v)).bit_length()]
        for v in x
    ]
    return Case(
        kernel, "void(uint32[:], int64[:, :])", (2, 32), [x, np.zeros((64, 4), np.int64)], [None, np.array(rows)]
    )


@case
def divided(rng):
    def kernel(x, y, q):
        i = cuda.grid(1)
        q[i, 0], q[i, 1] = x[i] // y[i], x[i] % y[i]

    x, y = rng.integers(-(1 << 60), 1 << 60, 64), rng.integers(1, 1 << 20, 64) * rng.choice([-1, 1], 64)
    return Case(
        kernel,
        "void(int64[:], int64[:], int64[:, :])",
        (1, 64),
        [x, y, np.zeros((64, 2), np.int64)],
        [None, None, np.stack([x // y, x % y], 1)],
    )


@case
def complex_numbers(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * x[i].conjugate() + 1j * x[i]

    x = rng.integers(-9, 9, 32) + 1j * rng.integers(-9, 9, 32)
    return Case(kernel, "void(complex128[:], complex128[:])", (1, 32), [x, x * 0], [None, x * x.conj() + 1j * x])


TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)


@case
def constant_memory(rng):
    def kernel(x, y):
        table = cuda.const.array_like(TABLE)
        y[cuda.grid(1)] = table[x[cuda.grid(1)] % 8]

    x = rng.integers(0, 1000, 64, np.int32)
    return Case(kernel, "void(int32[:], int32[:])", (1, 64), [x, x * 0], [None, TABLE[x % 8]])


@case
def binary_search(rng):
    def kernel(sorted_, x, y):
        i = cuda.grid(1)
        low, high = 0, sorted_.size
        while low < high:
            middle = (low + high) // 2
            if sorted_[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        y[i] = low

    table, x = np.sort(rng.integers(0, 10**6, 1000)), rng.integers(0, 10**6, 128)
    return Case(
        kernel,
        "void(int64[:], int64[:], int64[:])",
        (2, 64),
        [table, x, x * 0],
        [None, None, np.searchsorted(table, x)],
    )


@case
def mandelbrot(rng):
    def kernel(out, most):
        i, j = cuda.grid(2)
        x, y = -2 + 3 * i / 32, -1.5 + 3 * j / 32
        a, b, n = 0.0, 0.0, 0
        while n < most and a * a + b * b < 4:
            a, b, n = a * a - b * b + x, 2 * a * b + y, n + 1
        out[i, j] = n

    def check(arrays):
        (out,) = (a for a in arrays if isinstance(a, np.ndarray))
        c = (-2 + 3 * np.arange(32) / 32)[:, None] + 1j * (-1.5 + 3 * np.arange(32) / 32)
        z, want = np.zeros_like(c), np.zeros(c.shape, int)
        for _ in range(60):
            inside = np.abs(z) < 2
            want += inside
            z = np.where(inside, z * z + c, z)
        return (out == want).mean() > 0.99  # sums are fused here, and not there

    return Case(
        kernel, "void(int32[:, :], int32)", ((4, 4), (8, 8)), [np.zeros((32, 32), np.int32), np.int32(60)], [check]
    )


@case
def collatz(rng):
    def kernel(x, y):
        value, steps = x[cuda.grid(1)], 0
        while value != 1:
            value = 3 * value + 1 if value & 1 else value >> 1
            steps += 1
        y[cuda.grid(1)] = steps

    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n & 1 else n >> 1), count + 1
        return count

    x = rng.integers(1, 10**5, 64)
    return Case(
        kernel,
        "void(int64[:], int64[:])",
        (1, 64),
        [x, np.zeros(64, np.int64)],
        [None, np.array([steps(int(v)) for v in x])],
    )


@case
def truth_values(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i] = x[i] and not x[(i + 1) % 64]

    x = rng.integers(0, 2, 64).astype(bool)
    return Case(kernel, "void(boolean[:], boolean[:])", (1, 64), [x, x & False], [None, x & ~np.roll(x, -1)])


@case
def tuples(rng):
    def kernel(pair, y):
        y[cuda.grid(1)] = pair[0] * cuda.grid(1) + pair[1]

    return Case(
        kernel,
        "void(UniTuple(int64, 2), int64[:])",
        (1, 32),
        [(7, 5), np.zeros(32, np.int64)],
        [None, 7 * np.arange(32) + 5],
    )


@case
def rounded(rng):
    def kernel(x, y):
        i = cuda.grid(1)
        y[i, 0], y[i, 1], y[i, 2], y[i, 3] = math.floor(x[i]), math.ceil(x[i]), math.trunc(x[i]), round(x[i])

    x = rng.uniform(-100, 100, 64)
    want = np.stack([np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)], 1)
    return Case(kernel, "void(float64[:], float64[:, :])", (1, 64), [x, np.zeros((64, 4))], [None, want])
