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


@workload("warp reduction", table=1 << 18, small=512)
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


@workload("warp scan", table=1 << 17, small=1024)
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


@workload("dense factors", table=160, small=32)
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


@workload("sort by ballots", table=1 << 14, small=256)
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
    return Case(
        {"n": u32(n), "depths": depths, "out": np.zeros(n, u32)},
        one_launch("recursion", over(n, 128), 128, "n depths out"),
        ["out"],
    )


@workload("recursion", table=1024, small=8)
def quicksort(parts: int) -> Case:
    values = {"parts": u32(parts), "length": u32(64), "v": words(parts, 64).view(i32)}
    return Case(values, one_launch("quicksort", over(parts, 64), 64, "parts length v"), ["v"])


@workload("calls", table=1 << 14, small=100)
def calls(n: int) -> Case:
    values = {"n": u32(n), "rounds": u32(24), "in": words(n), "out": np.zeros(n, u32)}
    return Case(values, one_launch("calls", over(n, 128), 128, "n rounds in out"), ["out"])


# Clusters, grids, bodies, graphs


@workload("clusters", table=1 << 13, small=256)
def kmeans(n: int) -> Case:
    (k, rounds), rng = (12, 3) if n > 1000 else (3, 1), generator()
    centres = rng.uniform(-4, 4, (k, 8)).astype(f32)
    points = (centres[rng.integers(0, k, n)] + rng.normal(0, 1, (n, 8))).astype(f32)

    def host(device: Device) -> None:
        for _ in range(rounds):
            device.launch("kmeans_assign", over(n, 128), 128, "n", "k", "points", "centres", "nearest")
            device.launch("kmeans_average", k, 128, "n", "points", "nearest", "centres")

    values = {"n": u32(n), "k": u32(k), "rounds": u32(rounds), "points": points.T.copy(), "centres": points[:k].copy()}
    return Case(values | {"nearest": np.zeros(n, u32)}, host, ["centres", "nearest"])


@workload("stencil in shared memory", table=256, small=16)
def hotspot(n: int) -> Case:
    steps, blocks = 6, n // 16

    def host(device: Device) -> None:
        for step in range(steps):
            pair = ("to", "from") if step % 2 else ("from", "to")
            device.launch("hotspot", (blocks, blocks), (16, 16), "n", "power", *pair)

    heat = 320 + 10 * floats(n, n)
    values = {"n": u32(n), "steps": u32(steps), "power": floats(n, n) ** 2, "from": heat, "to": np.zeros((n, n), f32)}
    return Case(values, host, ["from", "to"])


@workload("stencil with sums", table=128, small=16)
def srad(n: int) -> Case:
    steps, blocks, tiles = 3, n * n // 256, n // 16

    def host(device: Device) -> None:
        for step in range(steps):
            first, second = ("other", "image") if step % 2 else ("image", "other")
            device.launch("srad_sums", blocks, 256, "n", first, "sums")
            device.launch("srad_scale", 1, 1, u32(blocks), "sums", "scale")
            device.launch("srad_coefficients", (tiles, tiles), (16, 16), "n", first, "scale", "c")
            device.launch("srad_step", (tiles, tiles), (16, 16), "n", "rate", "c", first, second)

    values = {
        "n": u32(n),
        "steps": u32(steps),
        "rate": f32(0.125),
        "image": np.exp(floats(n, n)),
        "other": np.zeros((n, n), f32),
    }
    values |= {"c": np.zeros((n, n), f32), "sums": np.zeros(2 * blocks, f32), "scale": np.zeros(1, f32)}
    return Case(values, host, ["image", "other", "scale"])


@workload("all pairs", table=2048, small=128)
def nbody(n: int) -> Case:
    bodies = floats(n, 4)
    bodies[:, 3] = np.abs(bodies[:, 3])
    values = {"n": u32(n), "bodies": bodies, "accelerations": np.zeros((n, 4), f32)}
    return Case(values, one_launch("nbody", n // 128, 128, "n bodies accelerations"), ["accelerations"])


@workload("graph", table=1 << 15, small=300)
def bfs(n: int) -> Case:
    matrix = sparse(n, 4)
    distances = np.full(n, -1, i32)
    distances[0] = 0

    def host(device: Device) -> None:
        distance, changed = 0, True
        while changed:
            device["changed"][0] = 0
            device.launch("bfs", over(n, 256), 256, "n", i32(distance), "starts", "neighbours", "distances", "changed")
            distance, changed = distance + 1, bool(device["changed"][0])

    values = {"n": u32(n), "starts": matrix["starts"], "neighbours": matrix["columns"], "distances": distances}
    return Case(values | {"changed": np.zeros(1, u32)}, host, ["distances"])


@workload("atomics in shared memory", table=1 << 19, small=600)
def histogram(n: int) -> Case:
    values = {"n": u32(n), "in": words(n), "counts": np.zeros(256, u32)}
    return Case(values, one_launch("histogram", over(n, 2048), 256, "n in counts"), ["counts"])


# Matrices and images through shared memory


@workload("attention", table=256, small=64, tolerance=1e-6)
def attention(n: int) -> Case:
    values = {
        "n": u32(n),
        "q": floats(n, 32),
        "k": 3 * floats(n, 32)[::-1],
        "v": floats(32, n).T.copy(),
        "out": np.zeros((n, 32), f32),
    }
    return Case(values, one_launch("attention", n // 64, 64, "n q k v out"), ["out"])


@workload("transpose in shared memory", table=1024, small=64)
def transpose(n: int) -> Case:
    values = {"n": u32(n), "in": floats(n, n), "out": np.zeros((n, n), f32)}
    return Case(values, one_launch("transpose", (n // 32, n // 32), (32, 8), "n in out"), ["out"])


@workload("dense algebra by tiles", table=256, small=64)
def sgemm(n: int) -> Case:
    values = {"n": u32(n), "a": floats(n, n), "b": floats(n, n).T.copy(), "c": np.zeros((n, n), f32)}
    return Case(values, one_launch("sgemm", (n // 64, n // 64), 256, "n a b c"), ["c"])


@workload("filter", table=256, small=16)
def conv2d(n: int) -> Case:
    values = {"n": u32(n), "in": floats(n, n), "out": np.zeros((n, n), f32)}
    return Case(values, one_launch("conv2d", (n // 16, n // 16), (16, 16), "n in out"), ["out"])


@workload("cells", table=256, small=16)
def life(n: int) -> Case:
    generations = 8

    def host(device: Device) -> None:
        for g in range(generations):
            device.launch("life", (n // 16, n // 16), (16, 16), "n", *(("to", "from") if g % 2 else ("from", "to")))

    alive = (words(n, n) % 3 == 0).astype(np.uint8)
    values = {"n": u32(n), "generations": u32(generations), "from": alive, "to": np.zeros((n, n), np.uint8)}
    return Case(values, host, ["from", "to"])


@workload("transform", table=192, small=1)
def fft(count: int) -> Case:
    angles = -2 * np.pi * np.arange(256) / 512
    roots = np.stack([np.cos(angles), np.sin(angles)], 1).astype(f32)
    values = {"count": u32(count), "roots": roots, "in": floats(count, 512, 2), "out": np.zeros((count, 512, 2), f32)}
    return Case(values, one_launch("fft", count, 256, "count roots in out"), ["out"])


@workload("sort in shared memory", table=32, small=1)
def bitonic(count: int) -> Case:
    values = {"count": u32(count), "keys": words(count, 1024)}
    return Case(values, one_launch("bitonic", count, 512, "count keys"), ["keys"])


@workload("sort in local memory", table=4096, small=40)
def local_sort(n: int) -> Case:
    values = {"n": u32(n), "in": words(n, 32).view(i32), "out": np.zeros((n, 32), i32)}
    return Case(values, one_launch("local_sort", over(n, 128), 128, "n in out"), ["out"])


# Ciphers, random numbers, prices


@workload("digests", table=2048, small=3)
def sha256(n: int) -> Case:
    values = {"n": u32(n), "in": words(n, 16), "out": np.zeros((n, 8), u32)}
    return Case(values, one_launch("sha256", over(n, 64), 64, "n in out"), ["out"])


def aes_tables() -> tuple[np.ndarray, np.ndarray]:
    """The substitution of AES, and the same with a column of its matrix: from inverses in the field of 256 elements."""

    def doubled(x: int) -> int:
        return (x << 1) ^ (0x11B if x & 0x80 else 0)

    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ doubled(powers[-1]))  # times 3
    box = []
    for x in range(256):
        inverse = powers[-powers.index(x) % 255] if x else 0
        wide = inverse * 0x101  # a rotation is a shift of two copies
        turns = [wide >> by & 255 for by in (4, 5, 6, 7)]
        box.append(inverse ^ turns[0] ^ turns[1] ^ turns[2] ^ turns[3] ^ 0x63)
    mixed = [doubled(s) << 24 | s << 16 | s << 8 | (doubled(s) ^ s) for s in box]
    return np.array(box, np.uint8), np.array(mixed, u32)


def aes_keys(key: bytes, box: np.ndarray) -> np.ndarray:
    """The words of all rounds."""
    words_of_rounds = [int.from_bytes(key[i : i + 4], "big") for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        last = words_of_rounds[-1]
        if i % 4 == 0:
            last = sum(int(box[last >> shift & 255]) << (shift + 8) % 32 for shift in (0, 8, 16, 24)) ^ constant << 24
            constant = (constant << 1) ^ (0x11B if constant & 0x80 else 0)
        words_of_rounds.append(words_of_rounds[-4] ^ last)
    return np.array(words_of_rounds, u32)


@workload("cipher", table=1 << 14, small=40)
def aes(n: int) -> Case:
    box, mixed = aes_tables()
    blocks = words(n, 4)
    blocks[0] = 0x00112233, 0x44556677, 0x8899AABB, 0xCCDDEEFF
    values = {"n": u32(n), "keys": aes_keys(bytes(range(16)), box), "table": mixed, "box": box, "in": blocks}
    return Case(
        values | {"out": np.zeros((n, 4), u32)},
        one_launch("aes", over(n, 128), 128, "n keys table box in out"),
        ["out"],
    )


@workload("random numbers", table=1 << 16, small=100)
def philox(n: int) -> Case:
    values = {"n": u32(n), "each": u32(4), "key0": u32(0xCAFEF00D), "key1": u32(7), "out": np.zeros((4, n, 4), u32)}
    return Case(values, one_launch("philox", over(n, 128), 128, "n each key0 key1 out"), ["out"])


@workload("approximate functions", table=1 << 16, small=500, tolerance=2e-6)
def black_scholes(n: int) -> Case:
    rng = generator()
    prices, strikes, years = (rng.uniform(*bounds, n).astype(f32) for bounds in ((5, 30), (1, 100), (0.25, 10)))
    values = {
        "n": u32(n),
        "rate": f32(0.02),
        "volatility": f32(0.3),
        "prices": prices,
        "strikes": strikes,
        "years": years,
    }
    values |= {"call": np.zeros(n, f32), "put": np.zeros(n, f32)}
    host = one_launch("black_scholes", over(n, 128), 128, "n rate volatility prices strikes years call put")
    return Case(values, host, ["call", "put"])


# Atomics, generic addresses, tensor cores, short formats, votes, asynchronous copies


@workload("compare-and-swap", table=1 << 16, small=300)
def hash_table(n: int) -> Case:
    rng, size = generator(), 1 << (2 * n - 1).bit_length()

    def host(device: Device) -> None:
        device.launch("hash_table_insert", over(n, 128), 128, "n", "mask", "keys", "slots", "sums")
        device.launch("hash_table_find", over(n, 128), 128, "n", "mask", "queries", "slots", "sums", "results")

    keys, queries = (rng.integers(0, n, n).astype(u32) * u32(2654435761) for _ in range(2))
    values = {"n": u32(n), "mask": u32(size - 1), "keys": keys, "queries": queries, "slots": np.full(size, ~u32(0))}
    return Case(values | {"sums": np.zeros(size, u32), "results": np.zeros(n, u32)}, host, ["results"])


@workload("generic addresses", table=1 << 13, small=128)
def generic(n: int) -> Case:
    values = {"n": u32(n), "rounds": u32(64), "in": words(n), "rows": np.zeros((8, n), u32), "out": np.zeros(n, u32)}
    return Case(values, one_launch("generic", n // 128, 128, "n rounds in rows out"), ["out", "rows"])


@workload("tensor cores", table=128, small=32)
def mma(n: int) -> Case:
    a, b = (floats(n, n) * 2).astype(np.float16), (floats(n, n).T * 2).astype(np.float16)
    values = {
        "n": u32(n),
        "a": a.view(np.uint16),
        "b": np.ascontiguousarray(b).view(np.uint16),
        "c": np.zeros((n, n), f32),
    }
    return Case(values, one_launch("mma", (n // 32, n // 16), 128, "n a b c"), ["c"])


@workload("pairs of bfloat16", table=1 << 12, small=128)
def bf16_fma(n: int) -> Case:
    rng = generator()
    a, b, x = (rng.uniform(0.25, 0.875, 2 * n).astype(f32).view(u32) >> 16 for _ in range(3))
    values = {
        "n": u32(n),
        "rounds": u32(32),
        "a": a.astype(np.uint16),
        "b": b.astype(np.uint16),
        "x": x.astype(np.uint16),
    }
    return Case(values, one_launch("bf16_fma", over(n, 128), 128, "n rounds a b x"), ["x"])


@workload("half precision", table=1 << 13, small=128)
def half(n: int) -> Case:
    x = generator().uniform(0.125, 0.875, (n, 2)).astype(np.float16)
    values = {
        "n": u32(n),
        "rounds": u32(32),
        "x": x.view(np.uint16),
        "sums": np.zeros((n, 2), np.uint16),
        "counts": np.zeros(n, u32),
    }
    return Case(values, one_launch("half_map", over(n, 128), 128, "n rounds x sums counts"), ["sums", "counts"])


@workload("votes and matches", table=1 << 13, small=64)
def votes(n: int) -> Case:
    values = {"n": u32(n), "rounds": u32(16), "in": words(n), "out": np.zeros(n, u32)}
    return Case(values, one_launch("votes", n // 64, 64, "n rounds in out"), ["out"])


@workload("asynchronous copies", table=32, small=1)
def pipeline(blocks: int) -> Case:
    tiles = 16
    values = {
        "blocks": u32(blocks),
        "tiles": u32(tiles),
        "in": floats(blocks, tiles, 512),
        "out": np.zeros((blocks, 512), f32),
    }
    return Case(values, one_launch("pipeline", blocks, 128, "tiles in out"), ["out"])


# Many launches, double precision, a rim that is computed twice


@workload("many launches", table=64, small=16)
def floyd_warshall(n: int) -> Case:
    def host(device: Device) -> None:
        launch = device.repeated("floyd_warshall", (n // 16, n // 16), (16, 16))
        size, distances = device.arguments["n"], device.arguments["distances"]
        device.steps += sum([launch([size, u32(k), distances]).steps for k in range(n)])

    return Case({"n": u32(n), "distances": words(n, n) % u32(1000)}, host, ["distances"])


@workload("double precision", table=768, small=40)
def atax(n: int) -> Case:
    def host(device: Device) -> None:
        device.launch("atax_rows", over(n, 128), 128, "n", "a", "x", "t")
        device.launch("atax_columns", over(n, 128), 128, "n", "a", "t", "y")

    rng = generator()
    values = {
        "n": u32(n),
        "a": rng.uniform(-1, 1, (n, n)),
        "x": rng.uniform(-1, 1, n),
        "t": np.zeros(n),
        "y": np.zeros(n),
    }
    return Case(values, host, ["t", "y"])


@workload("grid by rows", table=1 << 14, small=200)
def pathfinder(n: int) -> Case:
    parts, each = 2, 16
    rng = generator()

    def host(device: Device) -> None:
        for part in range(parts):
            rows = device.arguments["costs"] + 4 * n * each * part
            device.launch(
                "pathfinder", over(n, 256 - 2 * each), 256, "n", rows, *(("to", "from") if part % 2 else ("from", "to"))
            )

    costs = rng.integers(0, 10, (parts * each, n)).astype(i32)
    values = {
        "n": i32(n),
        "rows": i32(parts * each),
        "costs": costs,
        "from": rng.integers(0, 10, n).astype(i32),
        "to": np.zeros(n, i32),
    }
    return Case(values, host, ["from"])
