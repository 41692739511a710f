"""The arithmetic of textures: against fractions and NumPy, and against lookups that an H200 made."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from looking_up import PORTABLE, agrees, both, exactly, number, pattern, signed, term_of
from ptxspec.spec.arithmetic.rounding import from_integer
from ptxspec.spec.textures import addressing, coordinates, cube, filtering, formats, levels, surfaces, weighted_sums

from ptxspec.base.places import DOCUMENTS
from ptxspec.terms import TYPES, Int, integer, low_bits, select, sign_extend
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import CHOICES
from ptxspec.terms.vocabulary import freedoms_in, is_allowed

F32 = TYPES["f32"]
SMALL = ("u8", "s8", "u16", "s16")
MOST = {"u8": 255, "u16": 65535, "s8": 127, "s16": 32767}
#: the names that the pages' addressing modes have in CUDA, by its numbers
MODES = {0: "wrap", 1: "clamp_to_edge", 2: "mirror", 3: "clamp_to_border"}
_FILE = Path(DOCUMENTS, "tests/vectors/textures/answers.npz")


@cache
def answers() -> dict[str, np.ndarray]:
    with np.load(_FILE) as kept:
        return {name: kept[name] for name in kept}


def named(prefix: str) -> list[str]:
    with np.load(_FILE) as kept:
        found = sorted(n for n in kept if n.startswith(prefix))
    assert found, prefix
    return found


def nearest_pattern(x: Fraction) -> int:
    """The nearest single-precision pattern, by looking at the neighbours of what NumPy makes of it."""
    around = pattern(float(x))
    size = abs(x)
    found = min(
        (c for c in (around - 1, around, around + 1) if 0 <= c & 0x7FFFFFFF <= 0x7F7FFFFF),
        key=lambda c: (abs(Fraction(abs(number(c & 0x7FFFFFFF))) - size), c & 1),
    )
    return found


# Formats ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_normalized_channels_are_correctly_rounded_quotients(name: str) -> None:
    channel = formats.CHANNELS[name]
    step = 1 if channel.width == 8 else 61
    rows = [(c,) for c in range(0, 1 << channel.width, step)] + [(1 << (channel.width - 1),)]
    got = both(lambda x: formats.normalized(x, channel), (channel.width,), rows)
    for (c,), bits in zip(rows, got, strict=True):
        stored = signed(c, channel.width) if channel.signed else c
        assert bits == nearest_pattern(max(Fraction(stored, MOST[name]), Fraction(-1))), c


def test_half_precision_channels_are_widened() -> None:
    rows = [(c,) for c in range(0, 1 << 16, 37)] + [(c,) for c in (0x7C00, 0xFC00, 0x7C01, 0xFE01, 0x8000, 1, 0x8001)]
    got = both(lambda x: formats.element(x, formats.F16), (16,), rows)
    for (c,), bits in zip(rows, got, strict=True):
        half = np.uint16(c).view(np.float16)
        if np.isnan(half):
            assert bits == (c & 0x8000) << 16 | 0x7F800000 | (c & 0x3FF) << 13
        else:
            assert bits == pattern(float(half))


@pytest.mark.parametrize("name", ["u8", "s8", "u16", "s16", "u32", "s32"])
def test_elements_are_extended(name: str) -> None:
    channel = formats.CHANNELS[name]
    rows = [(c,) for c in (0, 1, 5, channel.bits.max >> 1, (channel.bits.max >> 1) + 1, channel.bits.max)]
    for (c,), bits in zip(rows, both(lambda x: formats.element(x, channel), (channel.width,), rows), strict=True):
        value = signed(c, channel.width) if channel.signed else c
        assert bits == value % (1 << 32)


def test_channels_of_32_bits_are_never_normalized() -> None:
    for name in ("u32", "s32"):
        with pytest.raises(ValueError, match=name):
            formats.normalized(integer(0), formats.CHANNELS[name])
        with pytest.raises(ValueError, match=name):
            filtering.linear(formats.CHANNELS[name], [integer(0)], [integer(0), integer(1)])


def test_missing_channels_are_zero() -> None:
    assert [c.attrs[0] for c in formats.four([integer(7), integer(8)])] == [7, 8, 0, 0]


@pytest.mark.parametrize("name", named("every."))
def test_channels_read_as_on_the_gpu(name: str) -> None:
    channel = formats.CHANNELS[name.split(".")[1]]
    agrees(lambda x: formats.normalized(x, channel), (channel.width,), answers()[name])


# Coordinates -----------------------------------------------------------------------------------------------------------

SPECIAL = (0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x7F7FFFFF, 0xFF7FFFFF)


def some_coordinates() -> list[int]:
    rng = random.Random(5)
    found = [*SPECIAL, *(pattern(math.ldexp(rng.uniform(-1, 1), rng.randrange(-30, 30))) for _ in range(200))]
    return found + [pattern(i / 8) + d for i in range(1, 40) for d in (-1, 0, 1)]


def usual(bits: int) -> Fraction | None:
    """A coordinate's number, None for an infinity."""
    x = number(bits)
    if math.isinf(x):
        return None
    return Fraction(0) if math.isnan(x) or abs(x) < 2.0**-126 else Fraction(x)


def test_unnormalized_positions() -> None:
    rows = [(x,) for x in some_coordinates()]
    for (x,), got in zip(rows, both(coordinates.unnormalized, (32,), rows), strict=True):
        exact = usual(x)
        far = 1 << 39
        want = (far if x < 1 << 31 else -far) if exact is None else math.floor(exact * 512)
        assert signed(got) == max(-far, min(want, far)), hex(x)


@pytest.mark.parametrize("repeats", [False, True])
def test_normalized_positions(repeats: bool) -> None:
    rows = [(x, n) for x in some_coordinates() for n in (1, 3, 8, 1000, 16384)]
    far = 1 << 39

    def scaled(x: Int, n: Int) -> Int:
        return coordinates.normalized(x, n, repeats)

    nearest = exactly(scaled, (32, 16), rows, PORTABLE)
    chosen = both(scaled, (32, 16), rows)
    (freedom,) = freedoms_in(term_of(scaled, (32, 16))[1])
    for (x, n), ours, gpu in zip(rows, nearest, chosen, strict=True):
        exact = usual(x)
        if exact is None:
            want = 0 if repeats else far if x < 1 << 31 else -far
            assert signed(ours) == signed(gpu) == want
            continue
        if repeats:
            assert (signed(ours) - math.floor(exact * 512 * n)) % (512 * 2 * n) == 0
        else:
            assert signed(ours) == max(-far, min(math.floor(exact * 512 * n), far))
        places = max(21, math.ceil(math.log2(n)) + 8)
        cut = Fraction(math.floor(exact * 2**places), 2**places)
        want = math.floor(cut * 512 * n)
        assert (signed(gpu) - want) % (512 * 2 * n) == 0 if repeats else signed(gpu) == max(-far, min(want, far))
        operands = (signed(ours), n, x, int(repeats))
        assert is_allowed(freedom, operands, ours) and is_allowed(freedom, operands, gpu)
        assert not is_allowed(freedom, operands, (ours + 1) % (1 << 64))


def test_weights_are_rounded_to_nearest_or_cut() -> None:
    rows = [(p % (1 << 64),) for p in range(-3000, 3000)]

    def distance(position: Int) -> Int:
        return coordinates.between(sign_extend(position, 64))

    (freedom,) = freedoms_in(term_of(distance, (64,))[1])
    for (p,), got in zip(rows, both(distance, (64,), rows), strict=True):
        exact = (Fraction(signed(p), 512) - Fraction(1, 2)) * 256
        assert signed(got) == math.floor(exact + Fraction(1, 2))
        lower = math.floor(exact)
        allowed = {v for v in range(lower - 1, lower + 3) if is_allowed(freedom, (lower, signed(got)), v % (1 << 64))}
        assert allowed == {lower, signed(got)}


def looked_up(n: int, normalized: bool, mode: str, linear: bool, first: int = 1) -> Callable[[Int], Int]:
    """A lookup in a texture of one dimension whose texel i is i + `first`."""

    def texel(i: Int) -> Int:
        border = integer(0)
        found = as_single(addressing.texel(mode, i, integer(n)) + first)
        return select(addressing.is_border(mode, i, integer(n)), border, found)

    def lookup(x: Int) -> Int:
        repeats = mode in addressing.REPEATING
        position = coordinates.normalized(x, n, repeats) if normalized else coordinates.unnormalized(x)
        if not linear:
            return texel(coordinates.nearest(position))
        distance = coordinates.between(position)
        lower = coordinates.lower_texel(distance)
        return filtering.linear(F32, [coordinates.weight(distance)], [texel(lower), texel(lower + 1)])

    return lookup


def as_single(i: Int) -> Int:
    return from_integer(F32, "rn", i)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", named("ramp"))
def test_lookups_are_those_of_the_gpu(name: str) -> None:
    ramp, n, normalized, mode, linear = name.split(".")
    first = 0 if ramp.endswith("0") else 1
    agrees(looked_up(int(n), normalized == "1", MODES[int(mode)], linear == "1", first), (32,), answers()[name])


# Addressing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", addressing.MODES)
def test_addressing(mode: str) -> None:
    rows = [(i % (1 << 32), n) for i in range(-50, 50) for n in (1, 2, 3, 7, 8)]

    def index(i: Int, n: Int) -> Int:
        return addressing.texel(mode, sign_extend(i, 32), n)

    def border(i: Int, n: Int) -> Int:
        return select(addressing.is_border(mode, sign_extend(i, 32), n), 1, 0)

    found = zip(rows, both(index, (32, 16), rows), both(border, (32, 16), rows), strict=True)
    for (bits, n), got, outside in found:
        i = signed(bits, 32)
        want = {"wrap": i % n, "mirror": (list(range(n)) + list(range(n))[::-1])[i % (2 * n)]}
        assert signed(got) == want.get(mode, sorted((0, i, n - 1))[1])
        assert outside == (mode == "clamp_to_border" and i not in range(n))


@pytest.mark.parametrize("name", named("layer.f"))
def test_layers_of_the_gpu(name: str) -> None:
    rows = [(int(r[0]), int(number(int(r[-1])) - 1) // 5) for r in answers()[name] if number(int(r[-1]))]
    agrees(lambda i: addressing.layer(i, integer(4)), (32,), np.array(rows))


@pytest.mark.parametrize("name", named("layer.s"))
def test_integer_coordinates_of_the_gpu(name: str) -> None:
    def lookup(layer: Int, i: Int) -> Int:
        i = sign_extend(i, 32)
        inside = coordinates.is_inside(i, 5) & coordinates.is_inside(layer, 4)
        return select(inside, as_single(layer * 5 + i + 1), 0)

    agrees(lookup, (32, 32), answers()[name])


# Filtering -------------------------------------------------------------------------------------------------------------


def channel_of(name: str) -> Any:
    return formats.CHANNELS[name.split(".")[1]]


@pytest.mark.parametrize("name", [*named("line."), *named("square.")])
def test_weighted_sums_of_the_gpu(name: str) -> None:
    channel, n = channel_of(name), 1 if name.startswith("line") else 2
    widths = (16,) * n + (channel.width,) * 2**n

    def summed(*operands: Int) -> Int:
        return filtering.linear(channel, [low_bits(a, 8) for a in operands[:n]], list(operands[n:]))

    agrees(summed, widths, answers()[name])


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [*named("line."), *named("square.")])
def test_weighted_sums_of_the_gpu_are_allowed(name: str) -> None:
    """The bound holds for what the chip gives, and the nearest number to the exact sum is right by fractions."""
    channel, n = channel_of(name), 1 if name.startswith("line") else 2
    names, term = term_of(
        lambda *o: filtering.linear(channel, [low_bits(a, 8) for a in o[:n]], list(o[n:])),
        (16,) * n + (channel.width,) * 2**n,
    )
    seen = 0

    def check(freedom: Any, operands: tuple[int, ...]) -> int:
        nonlocal seen
        if freedom.attrs[0] == "filtered-nan":
            return 0x7FFFFFFF
        assert is_allowed(freedom, operands, gpu), (name, list(map(hex, operands)), hex(gpu))
        nearest = freedom.attrs[4].nearest(*operands)
        shares = [Fraction(1)]
        for alpha in operands[:n]:
            shares = [s * p for p in (Fraction(256 - alpha, 256), Fraction(alpha, 256)) for s in shares]
        exact = sum((s * in_fractions(channel, t) for s, t in zip(shares, operands[n:], strict=True)), Fraction(0))
        exact = max(exact, Fraction(-1)) if channel.kind != "f" else exact
        assert nearest & 0x7FFFFFFF == nearest_pattern(abs(exact))
        assert is_allowed(freedom, operands, nearest)
        far = exact + sum(abs(in_fractions(channel, t)) for t in operands[n:]) + 1
        if abs(far) < 2**127:
            assert not is_allowed(freedom, operands, nearest_pattern(far))
        seen += 1
        return nearest

    for row in answers()[name][::5]:
        gpu = int(row[-1])
        evaluate(term, dict(zip(names, map(int, row), strict=False)), check)
    assert seen > 10


def test_a_texel_that_counts_as_zero_keeps_its_sign_only_alone() -> None:
    """The first row is a lookup of the GPU's in which the upper texel has no weight."""
    rows = [(0, 0x8012BA2E, 0xBCCB9B9B), (1, 0x8012BA2E, 0), (0, 0x12BA2E, 0xBF800000)]

    def summed(alpha: Int, lower: Int, upper: Int) -> Int:
        return filtering.linear(F32, [low_bits(alpha, 8)], [lower, upper])

    assert both(summed, (16, 32, 32), rows) == [0x80000000, 0, 0]


def in_fractions(channel: Any, t: int) -> Fraction:
    if channel == F32:
        return Fraction(number(t))
    if channel.kind == "f":
        return Fraction(float(np.uint16(t).view(np.float16)))
    return Fraction(t, MOST[channel.name] if channel.signed else 65535)


def test_weights_add_up_to_one() -> None:
    rng = random.Random(2)
    for n in (1, 2, 3):
        for _ in range(300):
            alphas = [rng.randrange(256) for _ in range(n)]
            found = [w.attrs[0] for w in weighted_sums.weights([integer(a) for a in alphas])]
            assert sum(found) == 256 and len(found) == 2**n and min(found) >= 0
            for w, exact in zip(found, filtering.shares(tuple(alphas)), strict=True):
                assert abs(w - 256 * exact) < 1


@pytest.mark.parametrize("which", range(8))
def test_weights_in_three_dimensions_are_those_of_the_gpu(which: int) -> None:
    rows = answers()[f"volume.{which}"].astype(np.int64)
    rows[:, 3] = [round(number(int(r)) * 256) for r in rows[:, 3]]
    rows = rows[(rows[:, :3] < 256).all(axis=1)]
    agrees(lambda a, b, c: weighted_sums.weights([a, b, c])[which], (16, 16, 16), rows)


@pytest.mark.parametrize("name", named("gather."))
def test_gathers_of_the_gpu(name: str) -> None:
    rows = answers()[name]
    for place, (dx, dy) in enumerate(filtering.GATHERED):

        def gathered(x: Int, y: Int, dx: int = dx, dy: int = dy) -> Int:
            i, j = (coordinates.lower_texel(coordinates.between(coordinates.unnormalized(c))) for c in (x, y))
            i, j = (addressing.texel("clamp_to_edge", c, integer(8)) for c in (i + dx, j + dy))
            return as_single(j * 8 + i + 1)

        agrees(gathered, (32, 32), rows[:, [0, 1, 2 + place]])


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("filtered-single", 126),
        ("filtered-half", 24),
        ("filtered-unsigned", 17),
        ("filtered-signed", 16),
        ("filtered-signed-byte", 14),
    ],
)
def test_a_sum_may_be_off_by_so_much_whatever_its_weights(name: str, bits: int) -> None:
    """As the page's prose states the bounds: of one texel that is zero, nothing else may be off."""
    allowed = filtering.RULES[name].approximation(filtering.one_level, 8).allowed
    last = pattern(2.0**-bits)
    assert allowed(0, 0) and allowed(last, 0) and allowed(1 << 31 | last, 0)
    assert not allowed(last + 1, 0) and not allowed(1 << 31 | last + 1, 0)


# Cubes and levels ------------------------------------------------------------------------------------------------------


def test_faces_and_texels_of_the_gpu() -> None:
    def texel(s: Int, t: Int, r: Int) -> Int:
        where = cube.direction(s, t, r)
        i, j = (coordinates.nearest(cube.on_face(p, where.by, integer(8))) for p in (where.first, where.second))
        i, j = (addressing.texel("clamp_to_edge", c, integer(8)) for c in (i, j))
        return as_single(where.face * 64 + j * 8 + i + 1)

    rows = answers()["cube"]
    regular = [any(number(int(x)) for x in row[:3]) for row in rows]
    assert sum(regular) > 1500
    agrees(texel, (32, 32, 32), rows[regular])


def test_faces_by_fractions() -> None:
    sizes = (-3.0, -1.5, -1.0, -0.0, 0.0, 0.25, 1.0, 2.0**-60, -(2.0**-60), 3.0)
    rows = [tuple(map(pattern, d)) for d in itertools.product(sizes, repeat=3) if any(d)]
    faces = both(lambda *d: cube.direction(*d).face, (32,) * 3, rows)
    firsts = both(
        lambda *d: cube.on_face(cube.direction(*d).first, cube.direction(*d).by, integer(10)), (32,) * 3, rows
    )
    for row, face, first in zip(rows, faces, firsts, strict=True):
        s, t, r = (Fraction(number(x)) for x in row)
        axis = max((2, 1, 0), key=lambda k: abs((s, t, r)[k]))
        below = (s, t, r)[axis] < 0
        assert face == 2 * axis + below
        part = ((r if below else -r), s, (-s if below else s))[axis]
        assert first == math.floor((part / abs((s, t, r)[axis]) + 1) / 2 * 10 * 512)


def test_directions_that_are_not_modelled_are_told() -> None:
    def regular(*d: float) -> bool:
        return bool(cube.is_regular([integer(pattern(x)) for x in d]).attrs[0])

    assert regular(1.0, -2.0, 0.0) and regular(2.0**126, 0.0, 0.0) and regular(0.0, 2.0**-126, 0.0)
    assert not any(
        regular(*d) for d in ((0.0, 0.0, 0.0), (2.0**127, 0, 0), (math.inf, 1, 1), (1, 1, math.nan), (1e-45, 0, 0))
    )


@pytest.mark.parametrize("name", named("levels."))
def test_levels_of_the_gpu(name: str) -> None:
    between = name.split(".")[1] == "1"

    def level(x: Int) -> Int:
        lod = levels.within_range(levels.truncated_level(x), integer(0), integer(4 << 8), integer(5))
        lower, share = cube.blended_levels(lod)
        return lower * 256 + share if between else cube.nearest_level(lod) * 256

    rows = answers()[name].astype(np.int64)
    rows[:, 1] = [round(number(int(r)) * 256) for r in rows[:, 1]]
    agrees(level, (32,), rows)


def test_sizes_of_levels() -> None:
    rows = [(base, level) for base in (1, 2, 3, 100, 256, 1023) for level in range(12)]
    for (base, level), got in zip(rows, both(cube.level_size, (16, 8), rows), strict=True):
        assert got == max(1, base // 2**level)


# Surfaces --------------------------------------------------------------------------------------------------------------


def test_places_in_surfaces() -> None:
    rows = [(x % (1 << 32), row) for x in range(-40, 60) for row in (16, 24, 32)]
    for access in (1, 2, 4, 8, 16):

        def within(x: Int, row: Int, access: int = access) -> Int:
            return select(surfaces.is_within(sign_extend(x, 32), row, access), 1, 0)

        def nearest(x: Int, row: Int, access: int = access) -> Int:
            return surfaces.nearest_offset(sign_extend(x, 32), row, access)

        def aligned(x: Int, row: Int, access: int = access) -> Int:
            return select(surfaces.is_aligned(x, access), 1, 0)

        found = zip(rows, *(both(f, (32, 16), rows) for f in (within, nearest, aligned)), strict=True)
        for (bits, row), inside, place, straight in found:
            x = signed(bits, 32)
            assert inside == (x in range(row - access + 1))
            if straight:
                assert place == min(range(0, row - access + 1, access), key=lambda p: abs(p - x))
            assert straight == (x % access == 0)


def test_what_happens_outside_of_surfaces() -> None:
    yes, no = integer(1) == 1, integer(1) == 0
    assert {o: bool(surfaces.is_done(o, no).attrs[0]) for o in surfaces.OUTSIDE} == {
        "trap": False,
        "clamp": True,
        "zero": False,
    }
    assert {o: bool(surfaces.traps(o, no).attrs[0]) for o in surfaces.OUTSIDE} == {
        "trap": True,
        "clamp": False,
        "zero": False,
    }
    assert all(surfaces.is_done(o, yes).attrs[0] and not surfaces.traps(o, yes).attrs[0] for o in surfaces.OUTSIDE)
    assert [surfaces.nearest_index(integer(i), integer(4)).attrs[0] for i in (-1, 0, 3, 4)] == [0, 0, 3, 3]
    assert [bool(surfaces.is_in_range(integer(i), integer(4)).attrs[0]) for i in (-1, 0, 3, 4)] == [
        False,
        True,
        True,
        False,
    ]
    assert surfaces.byte_offset(integer(-3), 4, True).attrs[0] == -12
    assert surfaces.byte_offset(integer(-3), 4, False).attrs[0] == -3


# Freedoms --------------------------------------------------------------------------------------------------------------


def test_every_freedom_stands_in_the_register() -> None:
    register = Path(DOCUMENTS, "spec/ambiguities.md").read_text()
    entries = {name for line in register.splitlines() if line.startswith("## AMB-") for name in line.split()[2:]}
    met = set()
    for channel, n in itertools.product(("f32", "f16", *SMALL), (1, 2, 3)):
        width = formats.CHANNELS[channel].width

        def summed(*o: Int, channel: str = channel, n: int = n) -> Int:
            return filtering.linear(formats.CHANNELS[channel], list(o[:n]), list(o[n:]))

        met |= {f.attrs[0] for f in freedoms_in(term_of(summed, (8,) * n + (width,) * 2**n)[1])}
    positions = term_of(lambda x, n: coordinates.between(coordinates.normalized(x, n, True)), (32, 16))[1]
    met |= {f.attrs[0] for f in freedoms_in(positions)}
    assert met <= entries
    assert met <= set(CHOICES["hopper"])
