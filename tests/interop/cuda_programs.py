"""What the programs in cuda/ are launched with, what NumPy makes of the same arrays, and mistakes that one can make in them. Nothing of
CUDA is needed.

A mistake is a text of the source, which stands there once, and what stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ptxspec


class Launch(NamedTuple):
    grid: tuple[int, ...]
    block: int
    args: list[Any]
    out: tuple[np.ndarray, ...]
    """those of the arguments, or of the arrays that they describe, that the program writes"""
    expected: tuple[np.ndarray, ...]
    shared: int = 0


class Program(NamedTuple):
    launch: Callable[[bool], Launch]
    """given whether it is to be short"""
    mistakes: dict[str, tuple[str, str]]


def halves(seed: int, *shape: int) -> np.ndarray:
    """Small whole numbers, whose sums of products are exact."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float16)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of matrices that have the numbers of a sum side by side."""
    return (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)


def rows_of(matrix: np.ndarray, rows: int) -> ptxspec.TensorMap:
    """Boxes of so many rows and 64 numbers."""
    return ptxspec.TensorMap(matrix, box=(64, rows), swizzle="128B")


def pipeline(short: bool = False) -> Launch:
    tiles, down = (5, 1) if short else (7, 2)
    a, b, c = halves(1, 128 * down, 64 * tiles), halves(2, 64, 64 * tiles), np.zeros((128 * down, 64), np.float32)
    args = [rows_of(a, 128), rows_of(b, 64), c, np.int32(64), np.int32(tiles)]
    return Launch((1, down), 160, args, (c,), (product(a, b),), 4 * 24576)


def persistent(short: bool = False) -> Launch:
    steps, across, down = (3, 2, 1) if short else (3, 3, 2)
    a, b = halves(3, 128 * down, 64 * steps), halves(4, 32 * across, 64 * steps)
    c = np.zeros((128 * down, 32 * across), np.float32)
    maps = [rows_of(a, 128), rows_of(b, 32), ptxspec.TensorMap(c, box=(32, 64))]
    args = [*maps, *map(np.int32, (across, across * down, steps))]
    return Launch((1 if short else 2,), 384, args, (c,), (product(a, b),), 4 * 20480 + 2 * 64 * 32 * 4)


def multicast(short: bool = False) -> Launch:
    tiles, across = (4, 1) if short else (5, 2)
    a, b, c = halves(5, 128, 64 * tiles), halves(6, 32 * across, 64 * tiles), np.zeros((128, 32 * across), np.float32)
    args = [rows_of(a, 64), rows_of(b, 16), c, np.int32(32 * across), np.int32(tiles)]
    return Launch((2, across), 160, args, (c,), (product(a, b),), 3 * 12288)


def distributed(short: bool = False) -> Launch:
    x = np.random.default_rng(7).integers(0, 1 << 32, (1 if short else 2, 600), np.uint32)
    sums, counts = np.zeros(len(x), np.uint32), np.zeros((len(x), 64), np.uint32)
    expected = x.sum(1, dtype=np.uint32), np.array([np.bincount(row % 64, minlength=64) for row in x], np.uint32)
    return Launch((4 * len(x),), 64, [x, sums, counts, np.int32(600)], (sums, counts), expected)


def convolution(short: bool = False) -> Launch:
    """Of images of 8 x 8 pixels."""
    many = 1 if short else 2
    images, filters = halves(8, many, 8, 8, 64), halves(9, 9, 32, 64)
    out = np.zeros((64 * many, 32), np.float32)
    around = np.pad(images.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    want = np.zeros((many, 8, 8, 32))
    for tap in range(9):
        down, right = divmod(tap, 3)
        want += around[:, down : down + 8, right : right + 8] @ filters[tap].astype(np.float64).T
    pixels = ptxspec.TensorMap(
        images, mode="im2col", lower=(-1, -1), upper=(-1, -1), channels=64, pixels=64, swizzle="128B"
    )
    args = [pixels, rows_of(filters.reshape(288, 64), 32), out, np.int32(8), np.int32(8)]
    return Launch((many,), 160, args, (out,), (want.reshape(-1, 32).astype(np.float32),), 2 * 12288)


def ring(short: bool = False) -> Launch:
    x = np.random.default_rng(10).integers(0, 1 << 32, (1 if short else 2, 4, 64), np.uint32)
    out = np.zeros_like(x)
    want, value = x.copy(), x
    for _ in range(3):
        value = np.roll(value, 1, axis=1)[..., ::-1]
        want = want * np.uint32(3) + value
    return Launch((4 * len(x),), 64, [x, out], (out,), (want,))


#: of the three products that a warp fetches for and a warpgroup makes
OF_BARRIERS = {
    "full barriers wait for two": ("begin(&full[i], 1);", "begin(&full[i], 2);"),
    "full barriers never begin": ("begin(&full[i], 1);", ""),
    "too few bytes are announced": ("&full[stage], sizeof(Stage));", "&full[stage], sizeof(Stage) - 4096);"),
    "too many bytes are announced": ("&full[stage], sizeof(Stage));", "&full[stage], sizeof(Stage) + 128);"),
    "no bytes are announced": ("arrive_and_expect(&full[stage], sizeof(Stage));", "arrive(&full[stage]);"),
    "the workers wait for the other parity": ("await(&full[stage], phase);", "await(&full[stage], phase ^ 1);"),
    "the workers do not wait": ("await(&full[stage], phase);", ""),
    "the copy of A names an empty barrier": ("a, &full[stage], ", "a, &empty[stage], "),
    "no fence before products": ("begin_products();", ""),
    "the products are not closed": ("close_products();", ""),
    "rows of A are thought to be packed": ("| u64(stride >> 4) << 32", "| u64(8) << 32"),
    "no swizzle is thought of": ("| u64(1) << 62;", "| u64(0) << 62;"),
    "half of the swizzle is thought of": ("| u64(1) << 62;", "| u64(2) << 62;"),
    "the address is not divided": ("(in_shared(p) & 0x3FFFF) >> 4", "(in_shared(p) & 0x3FFF)"),
    "a step of k is twice as long": ("+= 2)", "+= 4)"),
}


def in_cluster(mistakes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Of a program that has what orders threads of a cluster where others have what orders threads of a CTA."""

    def there(text: str) -> str:
        return text.replace("await(", "await_in_cluster(").replace("expect(", "expect_in_cluster(")

    return {name: (there(old), there(new)) for name, (old, new) in mistakes.items()}


PHASES = {
    "the fetcher's phase is not toggled": (
        """                    stage = 0;
                    phase ^= 1;""",
        """                    stage = 0;""",
    ),
}
PROGRAMS: dict[str, Program] = {}
PROGRAMS["pipeline"] = Program(
    pipeline,
    OF_BARRIERS
    | PHASES
    | {
        "empty barriers wait for half of the warps": ("WORKERS / 32);\n        }", "WORKERS / 64);\n        }"),
        "empty barriers wait for one more": ("WORKERS / 32);\n        }", "WORKERS / 32 + 1);\n        }"),
        "barriers begin unseen": ("    __syncthreads();\n    int", "    int"),
        "the fetcher waits for the other parity": ("await(&empty[stage], phase ^ 1);", "await(&empty[stage], phase);"),
        "the fetcher does not wait": ("await(&empty[stage], phase ^ 1);", ""),
        "the workers' phase is not toggled": (
            "            stage = 0;\n            phase ^= 1;",
            "            stage = 0;",
        ),
        "all workers arrive": ("        if (threadIdx.x % 32 == 0)\n            arrive", "        arrive"),
        "the workers do not arrive": ("arrive(&empty[stage]);", ";"),
        "one group of products may be unfinished": ("await_products<0>();", "await_products<1>();"),
        "nobody waits for the products": ("await_products<0>();", ""),
        "the second product reads the first rows": ("at_a + 64 * DEPTH * 2 / 16 + k", "at_a + k"),
        "a tile is left out": ("tile < tiles; tile++) {\n        await", "tile < tiles - 1; tile++) {\n        await"),
        "the workers take one tile more": (
            "tile < tiles; tile++) {\n        await",
            "tile < tiles + 1; tile++) {\n        await",
        ),
        "the fetcher has a stage fewer": (
            "if (++stage == STAGES) {\n                    stage",
            "if (++stage == STAGES - 1) {\n                    stage",
        ),
        "coordinates are exchanged": ("tile * DEPTH, row);", "row, tile * DEPTH);"),
    },
)
PROGRAMS["persistent"] = Program(
    persistent,
    OF_BARRIERS
    | PHASES
    | {
        "empty barriers wait for one group": ("begin(&empty[i], 2 * GROUP / 32);", "begin(&empty[i], GROUP / 32);"),
        "empty barriers wait for a third group": (
            "begin(&empty[i], 2 * GROUP / 32);",
            "begin(&empty[i], 3 * GROUP / 32);",
        ),
        "the workers' phase is not toggled": (
            "                stage = 0;\n                phase ^= 1;\n            }\n        }\n        await",
            "                stage = 0;\n            }\n        }\n        await",
        ),
        "stages begin anew with each tile": (
            "        float sums[COLUMNS / 2];",
            "        stage = phase = 0; float sums[COLUMNS / 2];",
        ),
        "the stage of this step is given back": (
            "arrive(&empty[before]);\n            before",
            "arrive(&empty[stage]);\n            before",
        ),
        "the last stage of a tile is not given back": (
            "arrive(&empty[before]);\n        if",
            ";\n        if",
        ),
        "sums go on from tile to tile": ("at_b + k, step + k > 0);", "at_b + k, 1);"),
        "each step begins anew": ("at_b + k, step + k > 0);", "at_b + k, k > 0);"),
        "the products of a tile are not waited for": ("        await_products<0>();\n", ""),
        "two groups of products may be unfinished": ("await_products<1>();", "await_products<2>();"),
        "both groups multiply the first rows": ("+ half * HALF * DEPTH)", ")"),
        "both groups store the first part": ("store_box(c, part,", "store_box(c, shared.c[0],"),
        "the part is stored before it is complete": (
            "        writes_before_copies();\n        meet(1 + half, GROUP);",
            "        writes_before_copies();",
        ),
        "the part is stored without a fence": ("        writes_before_copies();", ""),
        "the next part is written while this one is read": ("            stores_have_read();", "            ;"),
        "the groups wait for one warp fewer": (
            "        meet(1 + half, GROUP);\n        for",
            "        meet(1 + half, GROUP - 32);\n        for",
        ),
        "stores are not closed": ("            close_stores();", ""),
        "tiles are as many as CTAs": ("tile < tiles; tile += gridDim.x) {", "tile < gridDim.x; tile += gridDim.x) {"),
    },
)
PROGRAMS["multicast"] = Program(
    multicast,
    in_cluster(OF_BARRIERS)
    | PHASES
    | {
        "empty barriers wait for one CTA": ("begin(&empty[i], PAIR);", "begin(&empty[i], 1);"),
        "empty barriers wait for three CTAs": ("begin(&empty[i], PAIR);", "begin(&empty[i], PAIR + 1);"),
        "the CTAs do not meet at the end": ("    __syncwarp();\n    meet_in_cluster();", ""),
        "B is copied to the first CTA alone": ("copy_box_to(3,", "copy_box_to(1,"),
        "B is copied to three CTAs": ("copy_box_to(3,", "copy_box_to(7,"),
        "both copy the first half of B": ("column + rank * PART);", "column);"),
        "both halves of B go to the first place": ("stages[stage].b + rank * PART * DEPTH", "stages[stage].b"),
        "the workers tell their CTA alone": (
            "            if (threadIdx.x < PAIR)\n                arrive_there(&empty[stage], threadIdx.x);",
            "            if (threadIdx.x < PAIR)\n                arrive(&empty[stage]);",
        ),
        "the workers tell the other CTA alone": (
            "arrive_there(&empty[stage], threadIdx.x);",
            "arrive_there(&empty[stage], rank ^ 1);",
        ),
        "the workers tell once": ("if (threadIdx.x < PAIR)", "if (threadIdx.x < 1)"),
        "the fetcher does not wait": ("await_in_cluster(&empty[stage], phase ^ 1);", ""),
        "the fetcher waits for the other parity": (
            "await_in_cluster(&empty[stage], phase ^ 1);",
            "await_in_cluster(&empty[stage], phase);",
        ),
        "only the CTA's half is announced": (
            "&full[stage], sizeof(Stage));",
            "&full[stage], sizeof(Stage) - PART * DEPTH * 2);",
        ),
        "nobody waits for the products": ("await_products<0>();", ""),
    },
)
PROGRAMS["distributed"] = Program(
    distributed,
    {
        "bins are zeroed unseen": (
            "        bins[threadIdx.x] = 0;\n    cluster.sync();",
            "        bins[threadIdx.x] = 0;",
        ),
        "bins are zeroed before the CTA's threads alone": (
            "bins[threadIdx.x] = 0;\n    cluster.sync();",
            "bins[threadIdx.x] = 0;\n    __syncthreads();",
        ),
        "bins are not zeroed": ("bins[threadIdx.x] = 0;", ";"),
        "some bins are not zeroed": ("threadIdx.x < PART)", "threadIdx.x < PART - 1)"),
        "the CTAs do not meet before the sums are added up": (
            "[rank] = total;\n    }\n    cluster.sync();",
            "[rank] = total;\n    }\n    __syncthreads();",
        ),
        "the CTAs do not meet at the end": (
            "threadIdx.x % PART];\n    }\n    cluster.sync();",
            "threadIdx.x % PART];\n    }",
        ),
        "counts are not atomic": ("atomicAdd(&far[bin % PART], 1u);", "far[bin % PART] += 1u;"),
        "counts go to the CTA's bins": ("cluster.map_shared_rank(bins, bin / PART);", "bins;"),
        "counts go to the next CTA": (
            "cluster.map_shared_rank(bins, bin / PART);",
            "cluster.map_shared_rank(bins, (bin / PART + 1) % CTAS);",
        ),
        "counts go beyond the last CTA": (
            "cluster.map_shared_rank(bins, bin / PART);",
            "cluster.map_shared_rank(bins, bin / PART + 1);",
        ),
        "bins are beyond the CTA's": ("far[bin % PART], 1u", "far[bin], 1u"),
        "each CTA begins at the beginning": ("int i = rank * THREADS + threadIdx.x;", "int i = threadIdx.x;"),
        "steps are those of a CTA": ("i += CTAS * THREADS", "i += THREADS"),
        "a row is too long": ("i < width;", "i < 2 * width;"),
        "lanes begin with eight": ("int offset = 16;", "int offset = 8;"),
        "lanes of half a warp exchange": ("__shfl_down_sync(~0u,", "__shfl_down_sync(0xFFFFu,"),
        "the warps do not meet": (
            "of_warps[threadIdx.x / 32] = sum;\n    __syncthreads();",
            "of_warps[threadIdx.x / 32] = sum;",
        ),
        "one warp is left out": ("int warp = 0;", "int warp = 1;"),
        "a warp too many": ("warp < WARPS;", "warp < WARPS + 1;"),
        "sums stay in their CTA": ("cluster.map_shared_rank(of_ctas, 0)[rank]", "of_ctas[rank]"),
        "sums go to one place": ("of_ctas, 0)[rank]", "of_ctas, 0)[0]"),
        "sums go to the last CTA": ("map_shared_rank(of_ctas, 0)", "map_shared_rank(of_ctas, CTAS - 1)"),
        "rows are those of a CTA": ("row = blockIdx.x / CTAS;", "row = blockIdx.x;"),
    },
)
PROGRAMS["convolution"] = Program(
    convolution,
    {
        name: (old.replace("phase", "tap / STAGES % 2"), new.replace("phase", "tap / STAGES % 2"))
        for name, (old, new) in OF_BARRIERS.items()
        if "copy of A" not in name
    }
    | {
        "empty barriers wait for one warp fewer": ("begin(&empty[i], WORKERS);", "begin(&empty[i], WORKERS - 32);"),
        "empty barriers wait for one more": ("begin(&empty[i], WORKERS);", "begin(&empty[i], WORKERS + 1);"),
        "the fetcher waits for the other parity": ("tap / STAGES % 2 ^ 1);", "tap / STAGES % 2);"),
        "the fetcher's phase is not toggled": ("tap / STAGES % 2 ^ 1);", "1);"),
        "the workers' phase is not toggled": ("await(&full[stage], tap / STAGES % 2);", "await(&full[stage], 0);"),
        "taps are transposed": ("tap % 3, tap / 3);", "tap / 3, tap % 3);"),
        "the filter does not begin around the pixel": ("w = first % width - 1", "w = first % width"),
        "offsets are one too large": ("tap % 3, tap / 3);", "tap % 3 + 1, tap / 3);"),
        "the image is always the first": ("n = first / width / height;", "n = 0;"),
        "the filters do not move on": ("0, tap * FILTERS);", "0, 0);"),
        "eight taps": (
            "tap < TAPS; tap++) {\n            const int stage = tap % STAGES;\n            await(&full",
            "tap < TAPS - 1; tap++) {\n            const int stage = tap % STAGES;\n            await(&full",
        ),
        "one stage for two": (
            "const int stage = tap % STAGES;\n            await(&empty",
            "const int stage = 0;\n            await(&empty",
        ),
        "nobody waits for the products": ("await_products<0>();", ""),
        "the copy of pixels names another barrier": ("images, &full[stage]", "images, &full[0]"),
        "channels begin at the second": ("&full[stage], 0, w", "&full[stage], 8, w"),
    },
)
PROGRAMS["ring"] = Program(
    ring,
    {
        "full barriers wait for two": ("begin(&full[i], 1);", "begin(&full[i], 2);"),
        "full barriers never begin": ("begin(&full[i], 1);", ""),
        "empty barriers wait for one warp": ("begin(&empty[i], THREADS);", "begin(&empty[i], THREADS / 2);"),
        "empty barriers wait for one more": ("begin(&empty[i], THREADS);", "begin(&empty[i], THREADS + 1);"),
        "the CTAs do not meet first": ("    meet_in_cluster();\n    u32", "    u32"),
        "only the CTA's threads meet first": ("    meet_in_cluster();\n    u32", "    __syncthreads();\n    u32"),
        "the CTAs do not meet at the end": ("    out[at] = sum;\n    meet_in_cluster();", "    out[at] = sum;"),
        "too few bytes are announced": ("sizeof place[i]);", "sizeof place[i] - 4);"),
        "too many bytes are announced": ("sizeof place[i]);", "sizeof place[i] + 4);"),
        "bytes of both places are announced": ("sizeof place[i]);", "sizeof place);"),
        "all threads announce": ("if (threadIdx.x == 0)\n            arrive_and", "arrive_and"),
        "no bytes are announced": ("arrive_and_expect_in_cluster(&full[i], sizeof place[i]);", "arrive(&full[i]);"),
        "the sender waits for the other parity": (
            "await_in_cluster(&empty[i], phase ^ 1);",
            "await_in_cluster(&empty[i], phase);",
        ),
        "the sender does not wait": ("await_in_cluster(&empty[i], phase ^ 1);", ""),
        "the receiver waits for the other parity": (
            "await_in_cluster(&full[i], phase);",
            "await_in_cluster(&full[i], phase ^ 1);",
        ),
        "the receiver does not wait": ("await_in_cluster(&full[i], phase);", ""),
        "the phase is not toggled": ("phase = step / PLACES % 2;", "phase = 0;"),
        "all goes to one place": ("const int i = step % PLACES;", "const int i = 0;"),
        "the barrier is the sender's": ("address_there(&full[i], next));", "in_shared(&full[i]));"),
        "the stores name an empty barrier": ("address_there(&full[i], next));", "address_there(&empty[i], next));"),
        "the stores go to the sender's memory": (
            "send(address_there(&place[i][threadIdx.x], next),",
            "send(in_shared(&place[i][threadIdx.x]),",
        ),
        "the stores go round the other way": ("next = (rank + 1) % CTAS,", "next = (rank + CTAS - 1) % CTAS,"),
        "the next CTA is told": ("arrive_there(&empty[i], last);", "arrive_there(&empty[i], next);"),
        "nobody is told": ("arrive_there(&empty[i], last);", ""),
        "the place is free before it is read": (
            "        value = place[i][THREADS - 1 - threadIdx.x];\n        sum = 3 * sum + value;\n        arrive_there(&empty[i], last);",
            "        arrive_there(&empty[i], last);\n        value = *(volatile u32*)&place[i][THREADS - 1 - threadIdx.x];\n        sum = 3 * sum + value;",
        ),
        "a step is left out": ("step < CTAS - 1;", "step < CTAS - 2;"),
        "a step too many": ("step < CTAS - 1;", "step < CTAS;"),
        "a word is misaligned": (
            "&place[i][threadIdx.x], next)",
            "reinterpret_cast<char*>(&place[i][threadIdx.x]) + 2, next)",
        ),
        "a word is beyond the place": ("&place[i][threadIdx.x], next)", "&place[i][threadIdx.x] + 64 * 512, next)"),
    },
)
