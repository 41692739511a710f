"""What the kernels for textures and surfaces are given: the texels of images, rows of coordinates and data, room for what they
write, and threads."""

from __future__ import annotations

import zlib

import numpy as np

from ptxspec_workshop.generate.image_cases import (
    DIRECTIONS,
    DTYPES,
    FLOATS,
    LAYERS,
    LEVELS,
    ImageCase,
    QueryCase,
    SurfaceCase,
    TextureCase,
    image_of,
    layers_of,
    row_count,
    size_of,
)

#: threads of a CTA
THREADS = 250


def blank(case: ImageCase, rows: int) -> np.ndarray:
    """What the kernel of a case writes to: the words of a lookup, of a load or of an answer to a query, a row each."""
    return np.zeros((rows, {TextureCase: 4, SurfaceCase: 8}.get(type(case), 1)), np.uint32)


def leaves_texels(case: ImageCase) -> bool:
    """Whether the answer is what a surface holds in the end, and not what the kernel writes."""
    return isinstance(case, SurfaceCase) and case.access != "suld.b"


def shape_of(case: ImageCase, rows: int) -> tuple[int, int]:
    """(CTAs, threads of each) of a launch."""
    return (1, 1) if isinstance(case, SurfaceCase) else (-(-rows // THREADS), min(rows, THREADS))


def rng_of(case: ImageCase) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(case.name.encode()))


def texels(case: ImageCase) -> list[np.ndarray]:
    """The levels' arrays, the channels last."""
    case = image_of(case)
    rng, dtype, layers = rng_of(case), DTYPES[case.channel], layers_of(case)
    width, height, depth = size_of(case)
    levels = []
    for level in range(case.levels if isinstance(case, TextureCase) else 1):
        size = [max(n >> level, 1) for n in (depth, height, width)][3 - DIRECTIONS[case.geometry] :]
        if layers is not None:
            size = [layers, *size]
        shape = (*size, case.channels)
        if np.issubdtype(dtype, np.integer):
            bits = int(case.channel[1:])
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if case.channel[0] == "s" else (0, (1 << bits) - 1)
            levels.append(rng.integers(low, high, shape, dtype, endpoint=True))
        else:
            numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
            levels.append(numbers.astype(dtype))
    return levels


def _positions(case: TextureCase, rng: np.random.Generator, size: int, rows: int) -> np.ndarray:
    """Coordinates of one direction as patterns: mostly within, some at texels' edges and centres, some far away, some special."""
    if case.whole:
        positions = rng.integers(-3, size + 3, rows)
        positions[:: rows // 10] = rng.integers(-(1 << 31), 1 << 31, len(positions[:: rows // 10]))
        return positions.astype(np.int32).view(np.uint32)
    x = rng.uniform(-0.3, 1.3, rows) * size
    x[: rows // 4] = np.round(x[: rows // 4] * 2) / 2
    x[rows // 4 : rows // 3] = np.round(x[rows // 4 : rows // 3] * 512) / 512
    x[-rows // 10 :] *= 37.0
    bits = (x / size if case.normalized else x).astype(np.float32).view(np.uint32).copy()
    special = [
        0x00000000,
        0x80000000,
        0x00000001,
        0x807FFFFF,
        0x00800000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x3F800000,
    ]
    places = rng.choice(rows, min(2 * len(special), rows // 2), replace=False)
    bits[places] = (special * 2)[: len(places)]
    near = rng.choice(rows, rows // 20, replace=False)
    bits[near] = bits[near] + rng.integers(-1, 2, len(near)).astype(np.uint32)
    return bits


def rows_of(case: ImageCase) -> np.ndarray:
    """What each thread, or each step, is given: 32-bit words, a row each."""
    if isinstance(case, QueryCase):
        return np.array(LEVELS if case.names_level else [0], np.uint32).reshape(-1, 1)
    rng = np.random.default_rng(zlib.crc32(case.name.encode()) ^ 0x5EED)
    rows = row_count(case)
    sizes = size_of(case)[: DIRECTIONS[case.geometry]]
    if isinstance(case, SurfaceCase):
        return _surface_rows(case, rng, sizes)
    columns: list[np.ndarray] = []
    if case.geometry in ("a1d", "a2d", "acube"):
        layers = LAYERS[case.geometry] // (6 if case.geometry == "acube" else 1)
        index = rng.integers(0, layers, rows)
        index[::17] = rng.integers(0, layers + 3, len(index[::17]))
        index[::101] = -1
        columns.append(index.astype(np.int64).astype(np.uint32))
    if "cube" in case.geometry:
        way = rng.standard_normal((rows, 3))
        way[: rows // 4] = rng.integers(-2, 3, (rows // 4, 3))
        way[~way.any(axis=1)] = (0, 1, 0)
        columns += list(way.astype(np.float32).view(np.uint32).T)
    else:
        columns += [_positions(case, rng, size, rows) for size in sizes]
    if case.mode == "level" and case.whole:
        columns.append(rng.integers(0, case.levels, rows).astype(np.uint32))
    elif case.mode == "level":
        lod = rng.uniform(-1, case.levels + 0.5, rows)
        lod[: rows // 3] = np.round(lod[: rows // 3] * 4) / 4
        bits = lod.astype(np.float32).view(np.uint32).copy()
        bits[[3, 5, 7, 11]] = [0x7FC00000, 0x7F800000, 0xFF800000, 0x00000001]
        columns.append(bits)
    elif case.mode == "grad":
        for _ in range(2):
            for size in sizes:
                step = rng.standard_normal(rows) * 2.0 ** rng.uniform(-3, 4, rows) / size
                step[: rows // 10] = 2.0 ** np.round(rng.uniform(-3, 4, rows // 10)) / size
                columns.append(step.astype(np.float32).view(np.uint32))
    if case.offset:
        for _ in sizes:
            moves = rng.integers(-8, 8, rows)
            moves[::13] = rng.integers(-(1 << 31), 1 << 31, len(moves[::13]))
            columns.append(moves.astype(np.int64).astype(np.uint32))
    if case.reference:
        columns.append(rng.standard_normal(rows).astype(np.float32).view(np.uint32))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _surface_rows(case: SurfaceCase, rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    rows, size = row_count(case), int(case.type[1:]) * case.vector // 8
    texel = np.dtype(DTYPES[case.channel]).itemsize * case.channels
    columns: list[np.ndarray] = []
    if case.geometry in LAYERS:
        columns.append(rng.integers(0, LAYERS[case.geometry] + 2, rows))
    by_bytes = ".b" in case.access
    step, most = (size, sizes[0] * texel) if by_bytes else (1, sizes[0])
    if case.spelling and case.outside == "trap":
        layers = [LAYERS[case.geometry]] if case.geometry in LAYERS else []
        inside = [*layers, most // step, *sizes[1:]]
        words = np.stack([rng.integers(0, n, rows) for n in inside], axis=1).astype(np.uint32)
        words[:, len(layers)] *= step
        return _with_data(case, rng, words)
    first = rng.integers(-2, most // step + 2, rows) * step
    first[::29] = rng.integers(-(1 << 20), 1 << 20, len(first[::29])) * step
    columns.append(first)
    for n in sizes[1:]:
        index = rng.integers(0, n, rows)
        index[::7] = rng.integers(-2, n + 2, len(index[::7]))
        columns.append(index)
    return _with_data(case, rng, np.stack([c.astype(np.int64).astype(np.uint32) for c in columns], axis=1))


def _with_data(case: SurfaceCase, rng: np.random.Generator, words: np.ndarray) -> np.ndarray:
    """Rows of coordinates with what is stored, where something is."""
    if case.access == "suld.b":
        return words
    rows, bits = len(words), int(case.type[1:])
    count = max(1, bits // 32) * case.vector
    data = rng.integers(0, 1 << 32, (rows, count), dtype=np.uint32)
    if case.access == "sust.p" and case.channel in FLOATS:
        numbers = rng.standard_normal((rows, count)) * 2.0 ** rng.integers(-20, 17, (rows, count))
        data = numbers.astype(np.float32).view(np.uint32)
    elif case.access == "sust.p":
        half = rows // 2
        data[:half] = rng.integers(-300, 70000, (half, count)).astype(np.int64).astype(np.uint32)
    return np.concatenate([words, data], axis=1)
