"""The cases of all workloads: what is computed, of which sizes, with which arguments."""

from __future__ import annotations

import numpy as np

from workloads.device import WORKLOADS, Case, Device, workload

__all__ = ["WORKLOADS"]

u32, i32, f32 = np.uint32, np.int32, np.float32


def generator() -> np.random.Generator:
    return np.random.default_rng(20)


def floats(*shape: int) -> np.ndarray:
    return generator().uniform(-1, 1, shape).astype(f32)


def words(*shape: int) -> np.ndarray:
    return generator().integers(0, 1 << 32, shape, u32)


def over(count: int, block: int) -> int:
    """CTAs of so many threads for so many elements."""
    return -(-count // block)


def one_launch(kernel: str, grid: object, block: object, arguments: str) -> object:
    """The host's part where it is a single launch; the arguments are names of values."""
    return lambda device: device.launch(kernel, grid, block, *arguments.split())


# Streams, dense algebra, integers


@workload("stream", table=1 << 20, small=1000)
def saxpy(n: int) -> Case:
    values = {"n": u32(n), "a": f32(1.7), "x": floats(n), "y": floats(n)[::-1].copy()}
    return Case(values, one_launch("saxpy", over(n, 256), 256, "n a x y"), ["y"])


@workload("dense algebra", table=128, small=20)
def matmul(n: int) -> Case:
    values = {"n": u32(n), "a": floats(n, n), "b": floats(n, n).T.copy(), "c": np.zeros((n, n), f32)}
    return Case(values, one_launch("matmul", (over(n, 16), over(n, 16)), (16, 16), "n a b c"), ["c"])


@workload("reduction", table=1 << 20, small=512)
def tree(n: int) -> Case:
    values = {"blocks": u32(n // 256), "in": floats(n), "out": np.zeros(n // 256, f32)}
    return Case(values, one_launch("tree", n // 256, 256, "blocks in out"), ["out"])


@workload("divergent loop", table=256, small=20)
def mandelbrot(n: int) -> Case:
    values = {"n": u32(n), "limit": u32(200), "out": np.zeros((n, n), u32)}
    return Case(values, one_launch("mandelbrot", (over(n, 16), over(n, 16)), (16, 16), "n limit out"), ["out"])


@workload("integers", table=1 << 16, small=300)
def hash(n: int) -> Case:
    values = {"n": u32(n), "rounds": u32(32), "in": words(n), "out": np.zeros(n, u32)}
    return Case(values, one_launch("hash", over(n, 256), 256, "n rounds in out"), ["out"])


# Reductions and scans


@workload("warp reduction", table=1 << 20, small=512)
def shfl_reduce(n: int) -> Case:
    values = {"blocks": u32(n // 256), "in": floats(n), "out": np.zeros(n // 256, f32)}
    return Case(values, one_launch("shfl_reduce", n // 256, 256, "blocks in out"), ["out"])


@workload("scan", table=1 << 18, small=1024)
def scan(n: int) -> Case:
    blocks = n // 512

    def host(device: Device) -> None:
        device.launch("scan", blocks, 256, "in", "out", "totals")
        device.launch("scan", 1, 256, "totals", "before", "rest")
        device.launch("add_totals", blocks, 256, "out", "before")

    values = {"blocks": u32(blocks), "in": words(n), "out": np.zeros(n, u32), "totals": np.zeros(512, u32)}
    return Case(values | {"before": np.zeros(512, u32), "rest": np.zeros(1, u32)}, host, ["out", "rest"])


@workload("warp scan", table=1 << 19, small=1024)
def warp_scan(n: int) -> Case:
    values = {"blocks": u32(n // 1024), "in": words(n), "out": np.zeros(n, u32)}
    return Case(values, one_launch("warp_scan", n // 1024, 1024, "blocks in out"), ["out"])


# Sparse algebra


def sparse(rows: int, mean: int) -> dict[str, object]:
    """A matrix in compressed rows, whose rows are of different lengths, and a vector."""
    rng = generator()
    lengths = rng.integers(0, 2 * mean + 1, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(u32)
    count = int(starts[-1])
    columns = rng.integers(0, rows, count).astype(u32)
    return {
        "rows": u32(rows), "starts": starts, "columns": columns, "values": floats(count), "x": floats(rows), "y": np.zeros(rows, f32),
    }  # fmt: skip


@workload("sparse algebra", table=1 << 15, small=300)
def spmv_scalar(rows: int) -> Case:
    arguments = "rows starts columns values x y"
    return Case(sparse(rows, 16), one_launch("spmv_scalar", over(rows, 128), 128, arguments), ["y"])


@workload("sparse algebra by warps", table=1 << 13, small=40)
def spmv_warp(rows: int) -> Case:
    arguments = "rows starts columns values x y"
    return Case(sparse(rows, 40), one_launch("spmv_warp", over(rows, 4), 128, arguments), ["y"])


# Dynamic programming, dense factors, sorting


@workload("dynamic programming", table=512, small=48)
def nw(n: int) -> Case:
    penalty, blocks = 3, n // 16
    score = np.zeros((n + 1, n + 1), i32)
    score[0] = score[:, 0] = -penalty * np.arange(n + 1)

    def host(device: Device) -> None:
        for diagonal in range(2 * blocks - 1):
            first = max(0, diagonal - blocks + 1)
            count = min(diagonal, blocks - 1) - first + 1
            device.launch("nw", count, 16, "n", "penalty", i32(diagonal), i32(first), "similar", "score")

    similar = generator().integers(-4, 7, (n, n)).astype(i32)
    return Case({"n": u32(n), "penalty": i32(penalty), "similar": similar, "score": score}, host, ["score"])


@workload("dense factors", table=160, small=48)
def lud(n: int) -> Case:
    blocks = n // 16

    def host(device: Device) -> None:
        for k in range(blocks):
            rest = blocks - k - 1
            device.launch("lud_diagonal", 1, 16, "n", u32(k), "a")
            if rest:
                device.launch("lud_perimeter", rest, 32, "n", u32(k), "a")
                device.launch("lud_internal", (rest, rest), (16, 16), "n", u32(k), "a")

    return Case({"n": u32(n), "a": floats(n, n) + n * np.eye(n, dtype=f32)}, host, ["a"])


@workload("sort by ballots", table=1 << 15, small=512)
def radix_sort(n: int) -> Case:
    blocks = n // 256

    def host(device: Device) -> None:
        keys, other = "keys", "other"
        for shift in range(0, 32, 4):
            device.launch("radix_count", blocks, 256, u32(shift), keys, "counts")
            device.launch("radix_offsets", 1, 256, u32(blocks), "counts")
            device.launch("radix_scatter", blocks, 256, u32(shift), keys, "counts", other)
            keys, other = other, keys

    values = {"n": u32(n), "keys": words(n), "other": np.zeros(n, u32), "counts": np.zeros(16 * blocks, u32)}
    return Case(values, host, ["keys"])


# Calls


@workload("recursion", table=1024, small=32)
def recursion(n: int) -> Case:
    depths = (generator().integers(0, 15, n) if n > 100 else np.arange(n) % 8).astype(u32)
    return Case({"n": u32(n), "depths": depths, "out": np.zeros(n, u32)}, one_launch("recursion", over(n, 128), 128, "n depths out"), ["out"])


@workload("recursion", table=1024, small=8)
def quicksort(parts: int) -> Case:
    values = {"parts": u32(parts), "length": u32(64), "v": words(parts, 64).view(i32)}
    return Case(values, one_launch("quicksort", over(parts, 64), 64, "parts length v"), ["v"])
