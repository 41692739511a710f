"""Surfaces: where accesses go, what formatted stores and reductions leave, against an H200; and what queries answer."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from looking_up import HOPPER, PORTABLE, agrees, both, exactly
from ptxspec.spec.textures import formats, queries, surfaces

from ptxspec.base.places import DOCUMENTS
from ptxspec.terms import Int, integer, low_bits, select, sign_extend
from ptxspec.terms.profiles import Profile

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d")
#: depth or layers, height, and samples in a row
SHAPES = {"1d": (1, 1, 5), "2d": (1, 3, 5), "3d": (2, 3, 5), "a1d": (3, 1, 5), "a2d": (2, 3, 5)}


@cache
def answers() -> dict[str, np.ndarray]:
    with np.load(Path(DOCUMENTS, "tests/vectors/textures/lookups.npz")) as kept:
        return {name: kept[name] for name in kept}


def contents(geometry: str, sample: int) -> np.ndarray:
    """The bytes that the surface had before."""
    size = int(np.prod(SHAPES[geometry])) * sample
    return ((np.arange(size) * 37 + 11) % 251 + 1).astype(np.uint8)


@cache
def place(geometry: str, sample: int, access: int, outside: str, counts: int) -> Callable[..., Int]:
    """A function from three coordinates to the first byte of an access, or −1; `counts` is what the first one is multiplied by."""
    depth, height, width = SHAPES[geometry]

    def function(*c: Int) -> Int:
        x, y, z = {
            "1d": (c[0], integer(0), integer(0)),
            "2d": (c[0], c[1], integer(0)),
            "3d": c,
            "a1d": (c[1], integer(0), c[0]),
            "a2d": (c[1], c[2], c[0]),
        }[geometry]
        x, y = sign_extend(x, 32), sign_extend(y, 32)
        z = surfaces.layer(z) if geometry.startswith("a") else sign_extend(z, 32)
        offset, row = surfaces.byte_offset(x, counts, True), integer(width * sample)
        within = surfaces.is_within(offset, row, access)
        within = within & surfaces.is_in_range(y, integer(height)) & surfaces.is_in_range(z, integer(depth))
        done = surfaces.is_done(outside, within, surfaces.has_room(row, access))
        j, k = surfaces.nearest_index(y, integer(height)), surfaces.nearest_index(z, integer(depth))
        found = (k * height + j) * row + surfaces.nearest_offset(offset, row, access)
        return low_bits(select(done, found, -1), 32)

    return function


def places(rows: np.ndarray, key: tuple[str, int, int, str, int]) -> list[int]:
    return [p - (p >> 31 << 32) for p in exactly(place(*key), (32, 32, 32), rows)]


def test_loads() -> None:
    rows = answers()["surface.loads"]
    seen = 0
    for geometry, sample, bits, count, clamps in np.unique(rows[:, :5], axis=0).tolist():
        own = rows[(rows[:, :5] == (geometry, sample, bits, count, clamps)).all(axis=1)]
        access, name = bits * count // 8, GEOMETRIES[geometry]
        before = contents(name, sample)
        found = places(own[:, 5:8], (name, sample, access, "clamp" if clamps else "zero", 1))
        for row, at in zip(own, found, strict=True):
            loaded = before[at : at + access] if at >= 0 else np.zeros(access, np.uint8)
            want = [int(w) for w in loaded.view(f"<u{min(bits, 32) // 8}")]
            assert want == row[8 : 8 + len(want)].tolist(), row.tolist()
            seen += 1
    assert seen > 3000


def test_stores() -> None:
    """Each row: the kind of store, what it was, its coordinates, and the CRC of the whole surface afterwards."""
    rows = answers()["surface.stores"]
    stored = np.array([0xA1A2A3A4, 0xB1B2B3B4, 0xC1C2C3C4, 0xD1D2D3D4], np.uint32)
    seen = 0
    for key in np.unique(rows[:, :6], axis=0).tolist():
        kind, geometry, sample, bits, count, clamps = key
        own, name = rows[(rows[:, :6] == key).all(axis=1)], GEOMETRIES[geometry]
        access = sample if kind == 1 else bits * count // 8
        if kind == 3:
            counts = access
        else:
            counts = sample if kind == 1 else 1
        found = places(own[:, 6:9], (name, sample, access, "clamp" if clamps else "zero", counts))
        for row, at in zip(own, found, strict=True):
            after = contents(name, sample)
            if at >= 0:
                piece = after[at : at + access]
                if kind == 0:
                    words = stored[: count * max(bits // 32, 1)]
                    piece[:] = words.astype(f"<u{min(bits, 32) // 8}").view(np.uint8)
                elif kind == 1:
                    size = min(sample, 4)
                    piece[:] = np.array([253, 254], f"<u{size}")[: sample // size].view(np.uint8)
                else:
                    sum_ = int.from_bytes(piece.tobytes(), "little") + int("01" * access, 16)
                    piece[:] = np.frombuffer((sum_ % (1 << 8 * access)).to_bytes(access, "little"), np.uint8)
            assert zlib.crc32(after.tobytes()) == int(row[9]), row.tolist()
            seen += 1
    assert seen > 1000


def test_layers_have_32_bits_in_ptx() -> None:
    for profile, want in ((HOPPER, [5, 0, 0xFFFF]), (PORTABLE, [5, 0x80000, 0xFFFFFFFF])):
        assert exactly(surfaces.layer, (32,), [(5,), (0x80000,), (0xFFFFFFFF,)], profile) == want


@pytest.mark.parametrize("name", ["u8", "u16", "u32", "s8", "s16", "s32", "f16", "f32"])
def test_formatted_stores(name: str) -> None:
    """Two values were stored into samples of four channels."""
    channel, rows = formats.CHANNELS[name], answers()[f"formatted.{name}"]
    for c in (0, 1):
        agrees(lambda x: surfaces.formatted(x, channel), (32,), rows[:, [c, 2 + c]])
    assert (rows[:, 4:] == exactly(lambda: surfaces.missing(channel), (), [()])[0]).all()


def test_stored_halves() -> None:
    """NaNs, infinities and subnormal numbers among them."""
    agrees(surfaces.halved, (32,), answers()["halves"])


def test_half_precision_is_a_neighbour() -> None:
    rows = [(0x3F800000 + i * 777,) for i in range(200)] + [(0xBF800000 + i * 777,) for i in range(200)]
    down, near = (exactly(surfaces.halved, (32,), rows, p) for p in (HOPPER, Profile("portable")))
    for (bits,), d, n in zip(rows, down, near, strict=True):
        x = np.uint32(bits).view(np.float32)
        assert n == int(x.astype(np.float16).view(np.uint16))
        assert abs(np.uint16(d).view(np.float16)) <= abs(x) and n - d in (0, 1)


@pytest.mark.parametrize("name", sorted(n for n in answers() if n.startswith("reduced.")))
def test_reductions_with_sample_addresses(name: str) -> None:
    _, operation, kind, channel = name.split(".")
    words = int(kind[1:]) // 32
    type = surfaces.reduced_type(formats.CHANNELS[channel], words * 4)
    columns = (
        answers()[name].astype("<u4").reshape(-1, 3, words).copy().view(f"<{type.name[0].replace('s', 'i')}{words * 4}")
    )
    old, new, after = columns[:, 0, 0], columns[:, 1, 0], columns[:, 2, 0]
    operations = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    assert (operations[operation](old, new) == after).all()


# Queries -----------------------------------------------------------------------------------------------------------------

#: height and depth of a texture, then of a surface, as an H200 gave them; 5 by 4 texels, 3 slices or 4 layers, 2 cube maps
SIZES = {
    "1d": (1, 0, 0, 0),
    "2d": (4, 0, 4, 0),
    "3d": (4, 3, 4, 3),
    "a1d": (4, 0, 4, 0),
    "a2d": (4, 4, 4, 4),
    "cube": (4, 0, 4, 6),
    "acube": (4, 2, 4, 12),
}


@pytest.mark.parametrize("geometry", list(SIZES))
def test_sizes(geometry: str) -> None:
    layers = {"cube": 6, "acube": 12}.get(geometry, 4)

    def size(rows: Int, slices: Int, layers: Int, which: int) -> Int:
        surface = which > 1
        if which % 2 == 0:
            return queries.height(geometry, rows, layers, of_surface=surface)
        return queries.depth(geometry, slices, layers, of_surface=surface)

    for which, want in enumerate(SIZES[geometry]):
        assert both(lambda *o, w=which: size(*o, w), (16, 16, 16), [(4, 3, layers)]) == [want]  # type: ignore[misc]


def test_rows_of_linear_memory() -> None:
    assert exactly(lambda n: queries.height("1d", n, n, linear=True), (16,), [(1,)]) == [0]


def test_codes_of_opencl() -> None:
    assert queries.channel_data_type("s8", True) == 0x10D0 and queries.channel_data_type("s8") == 0x10D7
    assert queries.channel_data_type("f32") == 0x10DE and queries.channel_data_type("f16", True) == 0x10DD
    assert [queries.channel_order(n) for n in (1, 2, 3, 4)] == [0x10B0, 0x10B2, 0x10B4, 0x10B5]
    with pytest.raises(KeyError):
        queries.channel_data_type("u32", True)
    assert queries.filter_mode("linear") == 1 and queries.addr_mode("clamp_to_border") == 4
