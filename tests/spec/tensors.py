"""An independent model of boxes: NumPy's indices, and pixels walked one by one. It knows no page."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SIZES = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "s32": 4,
    "u64": 8,
    "s64": 8,
    "f16": 2,
    "f32": 4,
    "f32.ftz": 4,
    "f64": 8,
    "bf16": 2,
}
SIZES |= {"tf32": 4, "tf32.ftz": 4}
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


@dataclass
class Box:
    """A map, and what an instruction says of a box."""

    type: str
    address: int
    dims: list[int]
    strides: list[int]
    steps: list[int]
    slice: int = 0
    swizzle: str = "none"
    box: list[int] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    channels: int = 0
    pixels: int = 0
    at: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    to: int = 0
    mode: str = "tile"

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def unit(self) -> int:
        """The bytes from one element of dimension 0 to the next."""
        return self.slice or SIZES[self.type]


def coordinates(b: Box) -> np.ndarray:
    """The coordinates of each element, or slice, in the order in which a box is stored: an array (elements, rank)."""
    if b.mode.startswith("im2col"):
        return _pixels(b)
    if b.mode == "tile::gather4":
        return np.array([[b.at[0] + i, row] for row in b.at[1:5] for i in range(b.box[0])])
    counts = [-(-extent // step) for extent, step in zip(b.box, b.steps, strict=True)]
    steps = list(b.steps)
    if b.slice:
        counts[b.rank - 2] = 1
    else:
        counts[0], steps[0] = b.box[0], 1
    grid = np.indices(counts[::-1]).reshape(b.rank, -1)[::-1]
    return np.stack([b.at[d] + steps[d] * grid[d] for d in range(b.rank)], axis=1)


def _pixels(b: Box) -> np.ndarray:
    first = 0 if b.slice else 1
    spatial = range(first, first + b.rank - 2)
    here, rows = list(b.at), []
    halo = b.offsets[0] if "::w" in b.mode else 0
    offsets = {"im2col": b.offsets, "im2col_no_offs": [0, 0, 0]}.get(
        b.mode, [b.offsets[1] if "::w" in b.mode else 0, 0, 0]
    )
    walked = list(spatial)[:1] if "::w" in b.mode else list(spatial)
    count = 128 + halo if b.mode.endswith("128") else b.pixels + halo
    for _ in range(count):
        pixel = list(here)
        for i, d in enumerate(spatial):
            pixel[d] += offsets[i]
        rows.append([[c, *pixel[1:]] for c in range(b.at[0], b.at[0] + b.channels)] if not b.slice else [pixel])
        for d in walked:
            here[d] += b.steps[d]
            if here[d] <= b.dims[d] - 1 + b.upper[d - first]:
                break
            here[d] = b.lower[d - first]
        else:
            here[-1] += b.steps[-1]
    if b.mode.endswith("128"):
        rows = [rows[32 * group + k] for group in range(4) for k in range(32 + halo)]
    return np.array([element for row in rows for element in row])


def bytes_of(b: Box) -> dict[int, int | None]:
    """For each byte of shared memory that a box has, the address of its byte in global memory; None if it lies outside."""
    x = coordinates(b)
    inside = ((x >= 0) & (x < np.array(b.dims))).all(axis=1)
    strides = [b.unit, *b.strides]
    address = b.address + sum(x[:, d].astype(object) * strides[d] for d in range(b.rank))
    per_row = 1 if b.slice else b.channels if b.mode.startswith("im2col") else b.box[0]
    span = SPANS[b.swizzle]
    pitch = span if span and not b.slice else per_row * b.unit
    bits = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[b.swizzle]
    places: dict[int, int | None] = {}
    for e in range(len(x)):
        begin = b.to + e // per_row * pitch + e % per_row * b.unit
        for byte in range(b.unit):
            there = begin + byte
            there ^= (there >> 7 & bits) << 4
            assert there not in places
            places[there] = int(address[e]) + byte if inside[e] else None
    return places


def moved(b: Box) -> int:
    """The bytes that a copy moves."""
    return len(coordinates(b)) * b.unit


def some_box(seed: int, mode: str) -> Box:
    """A box of a few hundred bytes or more, at coordinates inside, outside and half outside."""
    rng = np.random.default_rng([seed, len(mode)])

    def one(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    im2col = mode.startswith("im2col")
    rank = 2 if mode == "tile::gather4" else one(3 if im2col else 1, 5)
    type = str(rng.choice(list(SIZES)))
    slice = int(rng.choice([0, 0, 16, 32])) if rank >= 3 and "::" not in mode else 0
    swizzle = "32B" if slice == 32 else str(rng.choice(list(SPANS)))
    span = SPANS[swizzle] if SPANS[swizzle] and not slice else 128
    size, least = SIZES[type], max(1, 16 // SIZES[type])
    row = least * one(1, max(1, span // (least * size)))
    dims = [one(1, 40), *(one(1, 9) for _ in range(rank - 1))]
    strides = [32 * one(0, 60) for _ in range(rank - 1)]
    b = Box(
        type, 32 * one(0, 1 << 40), dims, strides, [one(1, 3) if one(0, 1) else 1 for _ in range(rank)], slice, swizzle
    )
    b.mode, b.to = mode, 128 * one(0, 40)
    b.at = [one(-4, 10) for _ in range(5 if mode == "tile::gather4" else rank)]
    if not slice:
        b.at[0] = least * one(-2, 3)
    if not im2col:
        b.box = [row, *(one(1, 5) for _ in range(rank - 1))]
        return b
    first = 0 if slice else 1
    b.channels, b.pixels = row, one(1, 40)
    b.lower = [one(-3, 1) for _ in range(rank - 2)]
    b.upper = [max(one(-2, 2), low - b.dims[first + i] + 1) for i, low in enumerate(b.lower)]
    for i in range(rank - 2):
        b.at[first + i] = one(b.lower[i], b.dims[first + i] - 1 + b.upper[i])
    b.offsets = [one(0, 4), one(0, 4), one(0, 4)]
    return b
