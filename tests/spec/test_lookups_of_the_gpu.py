"""Sums, levels, gathers, cube maps and integer coordinates against lookups that an H200 made."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from looking_up import PORTABLE, agrees, both, exactly, number, pattern, signed, term_of
from ptxspec.spec.arithmetic.rounding import from_integer
from ptxspec.spec.textures import addressing, coordinates, cube, filtering, formats, levels, weighted_sums

from ptxspec.base.places import DOCUMENTS
from ptxspec.terms import TYPES, Int, integer, lookup, low_bits, select, sign_extend
from ptxspec.terms.exact import evaluate
from ptxspec.terms.vocabulary import freedoms_in, is_allowed

F32 = TYPES["f32"]
MODES = {0: "wrap", 1: "clamp_to_edge", 2: "mirror", 3: "clamp_to_border"}
GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d")
FOLDER = Path(DOCUMENTS, "tests/vectors/textures")


@cache
def answers() -> dict[str, np.ndarray]:
    with np.load(FOLDER / "lookups.npz") as kept:
        return {name: kept[name] for name in kept}


def named(prefix: str) -> list[str]:
    with np.load(FOLDER / "lookups.npz") as kept:
        found = sorted(n for n in kept if n.startswith(prefix))
    assert found, prefix
    return found


def test_the_answers_are_those_described() -> None:
    facts = json.loads((FOLDER / "lookups.json").read_text())
    assert facts["sha256"] == hashlib.sha256((FOLDER / "lookups.npz").read_bytes()).hexdigest()


#: sums that are compiled as well; to compile all would take minutes
COMPILED = ("sum1.s8", "sum2.s8", "sum3.f32.special", "sum3.u8", "levels.near.f32.special", "levels.1d.s8.any")


def agrees_exactly(function: Callable[..., Int], widths: tuple[int, ...], rows: np.ndarray) -> None:
    """Rows of operands, then what the GPU gave; by the exact interpretation alone."""
    assert exactly(function, widths, rows[:, :-1]) == rows[:, -1].tolist()


# Weighted sums -----------------------------------------------------------------------------------------------------------


@pytest.mark.sample(3, lambda name: [name[:4]])
@pytest.mark.parametrize("name", [*named("sum1."), *named("sum2."), *named("sum3.")])
def test_sums(name: str) -> None:
    n, channel = int(name[3]), formats.CHANNELS[name.split(".")[1]]

    def summed(*o: Int) -> Int:
        return filtering.linear(channel, [low_bits(a, 8) for a in o[:n]], list(o[n:]))

    widths, rows = (16,) * n + (channel.width,) * 2**n, answers()[name]
    (agrees if name in COMPILED else agrees_exactly)(summed, widths, rows)


@pytest.mark.parametrize("name", named("levels."))
def test_sums_of_levels(name: str) -> None:
    _, geometry, kind, _ = name.split(".")
    n, channel = 0 if geometry == "near" else int(geometry[0]), formats.CHANNELS[kind]
    half = 1 + n + 2**n

    def level(o: tuple[Int, ...]) -> filtering.Level:
        return filtering.Level([low_bits(a, 8) for a in o[:n]], list(o[n:]))

    def summed(share: Int, *o: Int) -> Int:
        return filtering.linear_levels(channel, low_bits(share, 8), level(o[: half - 1]), level(o[half - 1 :]))

    widths = (16, *((16,) * n + (channel.width,) * 2**n) * 2)
    rows = answers()[name]
    (agrees if name in COMPILED else agrees_exactly)(summed, widths, rows)
    # the bound of the freedom holds, and rejects what is far off
    names, term = term_of(summed, widths)
    for row in rows[:10]:

        def check(freedom: Int, operands: tuple[int, ...], gpu: int = int(row[-1])) -> int:
            if freedom.attrs[0] == "filtered-nan":
                return gpu
            nearest: int = freedom.attrs[4].nearest(*operands)
            assert is_allowed(freedom, operands, nearest)
            assert gpu >> 23 & 255 == 255 or is_allowed(freedom, operands, gpu)
            assert not is_allowed(freedom, operands, 0x7F000000)
            return gpu

        evaluate(term, dict(zip(names, map(int, row), strict=False)), check)


def test_weights_of_slices_add_up_to_their_share() -> None:
    for share in (0, 1, 77, 128, 255, 256):
        for alphas in ([], [5], [128, 3], [255, 128, 127], [1, 1, 1]):
            texels = [integer(0)] * (1 << len(alphas))
            found = weighted_sums.slices(integer(share), [integer(a) for a in alphas], texels)
            assert sum(w.attrs[0] for part in found for w in part.weights) == share
            assert all(w.attrs[0] >= 0 for part in found for w in part.weights)


# Lookups in three dimensions -----------------------------------------------------------------------------------------------


def test_boxes() -> None:
    """Linear lookups in a texture of 5 by 3 by 7 texels, within it and beyond."""
    texels = [int(t) for t in answers()["box.texels"].reshape(-1)]
    sizes = (5, 3, 7)
    rows = answers()["box"]
    for key in np.unique(rows[:, :4], axis=0):
        *modes, normalized = map(int, key)
        names = [MODES[1 if m in (0, 2) and not normalized else m] for m in modes]

        def looked_up(*x: Int, names: list[str] = names, normalized: int = normalized) -> Int:
            distances = []
            for c, mode, size in zip(x, names, sizes, strict=True):
                repeats = mode in addressing.REPEATING
                position = coordinates.normalized(c, size, repeats) if normalized else coordinates.unnormalized(c)
                distances.append(coordinates.held(mode, coordinates.between(position), integer(size)))

            def texel(*steps: int) -> Int:
                place, border = [], integer(0) == 1
                for d, step, mode, size in zip(distances, steps, names, sizes, strict=True):
                    index = coordinates.lower_texel(d) + step
                    place.append(low_bits(addressing.texel(mode, index, integer(size)), 8))
                    border = border | addressing.is_border(mode, index, integer(size))
                i, j, k = place
                flat = low_bits((k * 3 + j) * 5 + i, 7)
                return select(border, 0, lookup([*texels, *[0] * 23], flat))

            corners = [texel(i, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)]
            return filtering.linear(F32, [coordinates.weight(d) for d in distances], corners)

        own = rows[(rows[:, :4] == key).all(axis=1)][:, 4:]
        got = exactly(looked_up, (32, 32, 32), own[:, :3])
        assert got == [int(r[-1]) for r in own], key


# Levels of detail --------------------------------------------------------------------------------------------------------


def test_levels_of_detail() -> None:
    def level(lod: Int, bias: Int, least: Int, greatest: Int, blends: Int) -> Int:
        found = levels.within_range(
            levels.truncated_level(lod) + levels.bias_of(bias), levels.bound(least), levels.bound(greatest), integer(9)
        )
        lower, share = cube.blended_levels(found)
        return select(blends == 1, lower * 256 + share, cube.nearest_level(found) * 256)

    agrees(level, (32, 32, 32, 32, 32), answers()["lod"])


def test_levels_of_lookups_that_name_none() -> None:
    rows = [(least, greatest) for least in (0, 435, 640) for greatest in (0, 500, 2048)]

    def level(least: Int, greatest: Int) -> Int:
        return levels.without_level(least, greatest, integer(4))

    assert both(level, (16, 16), rows) == [min(max(0, least), 768) for least, _ in rows]
    assert set(exactly(level, (16, 16), rows, PORTABLE)) == {0}


def level_of(*sizes: int) -> Callable[..., Int]:
    def function(*components: Int) -> Int:
        half = len(sizes)
        found = levels.of_gradients(list(components[:half]), list(components[half:]), [integer(s) for s in sizes])
        return levels.within_range(found, integer(0), integer(20 << 8), integer(max(sizes).bit_length()))

    return function


#: those of which every answer is known to be the definition's
EXACT = ("x", "exps", "one1", "xy", "xynear", "xxyy", "special")


@pytest.mark.parametrize("name", EXACT)
def test_gradients(name: str) -> None:
    check = agrees if name == "xxyy" else agrees_exactly
    check(level_of(1024, 1024), (32,) * 4, answers()[f"gradient.{name}"])


@pytest.mark.parametrize("name", [n for n in named("gradient.") if n.count(".") == 3])
def test_gradients_and_sizes(name: str) -> None:
    width, height = map(int, name.split(".")[1:3])
    agrees_exactly(level_of(width, height), (32,) * 4, answers()[name])


@pytest.mark.parametrize("name", ["xyb", "abb", "xz"])
def test_gradients_in_three_dimensions(name: str) -> None:
    agrees_exactly(level_of(64, 64, 64), (32,) * 6, answers()[f"gradient3.{name}"])


@pytest.mark.parametrize(("name", "sizes"), [("gradient.all", (1024,) * 2), ("gradient3.all", (64,) * 3)])
def test_gradients_of_all_components(name: str, sizes: tuple[int, ...]) -> None:
    """Of these about one in 200 differs, by two units at most."""
    rows = answers()[name]
    got = exactly(level_of(*sizes), (32,) * (2 * len(sizes)), rows[:, :-1])
    off = [abs(g - int(r[-1])) for g, r in zip(got, rows, strict=True)]
    assert max(off) <= 2 and sum(o > 0 for o in off) <= 4


def test_gradients_portably() -> None:
    """The exact logarithm of the greater length, rounded down; the GPU's level is within the bound."""
    (freedom,) = freedoms_in(term_of(level_of(1024, 1024), (32,) * 4)[1])
    for row in [*answers()["gradient.all"][:25], *answers()["gradient.exps"][:10]]:
        components = [int(c) for c in row[:4]]
        x, y, u, v = (number(c) * 1024 for c in components)
        exact = math.floor(128 * math.log2(max(x * x + y * y, u * u + v * v)))
        (got,) = exactly(level_of(1024, 1024), (32,) * 4, [row[:4]], PORTABLE)
        assert got == min(max(exact, 0), 2560)
        operands = (0, *components, 1024, 1024)
        assert is_allowed(freedom, operands, exact % (1 << 32))
        assert not is_allowed(freedom, operands, (exact + 151) % (1 << 32))
        if 0 < int(row[-1]) < 2560:
            assert is_allowed(freedom, operands, int(row[-1]))


# Integer coordinates -------------------------------------------------------------------------------------------------------

SIZES = {"2d": (1, 4, 5), "3d": (3, 4, 5), "a1d": (4, 1, 5), "a2d": (4, 4, 5)}


@pytest.mark.parametrize("geometry", list(SIZES))
@pytest.mark.parametrize("names_level", [False, True])
def test_integer_coordinates(geometry: str, names_level: bool) -> None:
    depth, height, width = SIZES[geometry]

    def looked_up(lod: Int, *c: Int) -> Int:
        x, y, z = {
            "2d": (c[0], c[1], integer(0)),
            "3d": c,
            "a1d": (c[1], integer(0), c[0]),
            "a2d": (c[1], c[2], c[0]),
        }[geometry]
        x, y = sign_extend(x, 32), sign_extend(y, 32)
        z = z if geometry.startswith("a") else sign_extend(z, 32)
        places = [(x, width), (y, height), (z, depth)]
        inside = integer(0) == 0
        for index, size in places:
            inside = inside & coordinates.is_inside(index, size)
        i, j, k = (coordinates.nearest_inside(index, size) for index, size in places)
        zero = coordinates.returns_zero(inside, names_level)
        if names_level:
            zero = zero | (lod != 0)
        return select(zero, 0, from_integer(F32, "rn", (k * height + j) * width + i + 1))

    rows = answers()["integers"]
    rows = rows[(rows[:, 0] == GEOMETRIES.index(geometry)) & (rows[:, 1] == names_level)]
    assert len(rows) > 100
    agrees(looked_up, (32,) * 4, rows[:, 2:])


@pytest.mark.parametrize("name", ["line.int", "line.lev", "line.float", "line.array"])
def test_lines(name: str) -> None:
    """In linear memory of 100 texels and in a texture of five, with both kinds of coordinates."""
    size = 5 if name == "line.array" else 100

    def looked_up(x: Int) -> Int:
        reads = coordinates.reads_line(name != "line.float", name != "line.array")
        index = sign_extend(x, 32)
        zero = coordinates.returns_zero(coordinates.is_inside(index, size), name == "line.lev")
        found = from_integer(F32, "rn", coordinates.nearest_inside(index, size) + 1)
        return select(reads, select(zero, 0, found), 0)

    agrees(looked_up, (32,), answers()[name])


# Gathers and cube maps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(formats.CHANNELS))
def test_gathers_of_every_format(kind: str) -> None:
    channel, rows = formats.CHANNELS[kind], answers()[f"gather.{kind}"]
    for element, mode, component in np.unique(rows[:, :3], axis=0).tolist():
        as_element = bool(element)
        own = rows[(rows[:, :3] == (element, mode, component)).all(axis=1)][:, 3:]
        texels = [int(t) for t in answers()[f"gather.{kind}.texels"][..., component].reshape(-1)] + [0] * 12
        for place, (dx, dy) in enumerate(filtering.GATHERED):

            def gathered(
                x: Int,
                y: Int,
                dx: int = dx,
                dy: int = dy,
                texels: list[int] = texels,
                mode: str = MODES[mode],
                as_element: bool = as_element,
            ) -> Int:
                i = coordinates.lower_texel(coordinates.between(coordinates.unnormalized(x))) + dx
                j = coordinates.lower_texel(coordinates.between(coordinates.unnormalized(y))) + dy
                border = addressing.is_border(mode, i, integer(5)) | addressing.is_border(mode, j, integer(4))
                flat = addressing.texel(mode, j, integer(4)) * 5 + addressing.texel(mode, i, integer(5))
                bits = low_bits(lookup(texels, low_bits(flat, 5)), channel.width)
                return select(border, 0, filtering.gathered(channel, bits, as_element))

            assert exactly(gathered, (32, 32), own[:, :2]) == own[:, 2 + place].tolist()


def test_gathered_signed_bytes_are_near() -> None:
    found = exactly(lambda x: filtering.gathered(TYPES["s8"], x, False), (8,), [(c,) for c in range(256)])
    for c, bits in enumerate(found):
        assert abs(number(bits) - max(signed(c, 8), -127) / 127) < 2**-15


@pytest.mark.parametrize("mode", [0, 1, 3])
def test_gathers_in_cubes(mode: int) -> None:
    rows = answers()[f"cube.gather.{mode}"]
    for place, (dx, dy) in enumerate(filtering.GATHERED):

        def gathered(s: Int, t: Int, r: Int, dx: int = dx, dy: int = dy) -> Int:
            where = cube.direction(s, t, r)
            parts = [cube.on_face(p, where.by, integer(4)) for p in (where.first, where.second)]
            i, j = (coordinates.lower_texel(coordinates.between(p)) for p in parts)
            i, j, name = i + dx, j + dy, MODES[mode]
            border = addressing.is_border(name, i, integer(4)) | addressing.is_border(name, j, integer(4))
            i, j = (addressing.texel(name, c, integer(4)) for c in (i, j))
            return select(border, 0, from_integer(F32, "rn", (where.face * 4 + j) * 4 + i + 1))

        agrees(gathered, (32, 32, 32), rows[:, [0, 1, 2, 3 + place]])


def test_arrays_of_cubes() -> None:
    def texel(index: Int, *d: Int) -> Int:
        where = cube.direction(*d)
        i, j = (coordinates.nearest(cube.on_face(p, where.by, integer(4))) for p in (where.first, where.second))
        i, j = (addressing.texel("clamp_to_edge", c, integer(4)) for c in (i, j))
        layer = cube.layer_of(index, where.face, integer(3))
        return from_integer(F32, "rn", (layer * 4 + j) * 4 + i + 1)

    agrees(texel, (32,) * 4, answers()["cubes"])


def test_places_on_large_faces() -> None:
    """Faces of 2,048 by 2,048 texels; rows where the chip's quotient is not the exact one among them."""
    rows = answers()["cube.2048"]

    def place(*d: Int) -> Int:
        where = cube.direction(*d)
        i, j = (coordinates.nearest(cube.on_face(p, where.by, integer(2048))) for p in (where.first, where.second))
        i, j = (addressing.texel("clamp_to_edge", c, integer(2048)) for c in (i, j))
        return i + (j << 11) + (where.face << 22)

    agrees(place, (32, 32, 32), rows)
    portably = exactly(place, (32, 32, 32), rows[:, :3], PORTABLE)
    assert 1 <= sum(g != int(r[-1]) for g, r in zip(portably, rows, strict=True)) <= 6


def test_linear_filtering_stays_in_a_face() -> None:
    rows = answers()["cubes.linear"]

    def looked_up(index: Int, *d: Int) -> Int:
        where = cube.direction(*d)
        distances = [
            coordinates.held("clamp_to_edge", coordinates.between(cube.on_face(p, where.by, integer(4))), integer(4))
            for p in (where.first, where.second)
        ]
        layer = cube.layer_of(index, where.face, integer(3))

        def texel(dx: int, dy: int) -> Int:
            places = zip(distances, (dx, dy), strict=True)
            i, j = (
                addressing.texel("clamp_to_edge", coordinates.lower_texel(c) + step, integer(4)) for c, step in places
            )
            return low_bits(from_integer(F32, "rn", (layer * 4 + j) * 4 + i + 1), 32)

        corners = [texel(i, j) for j in (0, 1) for i in (0, 1)]
        return filtering.linear(F32, [coordinates.weight(c) for c in distances], corners)

    agrees_exactly(looked_up, (32,) * 4, rows)


def test_held_distances_end_at_the_centres() -> None:
    rows = [(d % (1 << 64), size) for d in range(-600, 1600, 7) for size in (1, 2, 5)]
    for mode in addressing.MODES:

        def distance(d: Int, size: Int, mode: str = mode) -> Int:
            return coordinates.held(mode, sign_extend(d, 64), size)

        for (bits, size), got in zip(rows, both(distance, (64, 8), rows), strict=True):
            d = signed(bits)
            ends = mode.startswith("clamp") and mode != "clamp_to_border"
            assert signed(got) == (min(max(d, 0), (size - 1) * 256) if ends else d)


def test_patterns_are_cut_toward_zero_and_bounds_downwards() -> None:
    values = [0.0, 0.999 / 256, -0.999 / 256, 1.5, -1.5, -1e-40, 1e30, -1e30, 3.0001, -3.0001]
    rows = [(pattern(v),) for v in values]
    cuts, bounds = (both(f, (32,), rows) for f in (levels.truncated_level, levels.bound))
    for v, c, b in zip(values, cuts, bounds, strict=True):
        limited = min(max(float(np.float32(v)) * 256, -levels.FAR), levels.FAR)
        assert signed(c) == int(limited)
        assert signed(b) == np.floor(limited if abs(v) > 1e-38 else 0)
