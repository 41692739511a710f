"""Boxes of tensors: the function of the pages against an independent model, what CUDA's driver makes of maps, and each fact that an
H100 has shown."""

from __future__ import annotations

import json
import lzma
from functools import cache
from hashlib import sha1
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tensors import Box, bytes_of, moved, some_box

from ptxspec import contracts
from ptxspec.evidence.compiled_loops import compile_loops, inputs_of
from ptxspec.literate import finder
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.terms.core import integer, variable_of
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES

boxes, maps, encoding = (finder.load(f"ptxspec.spec.tensors.{name}") for name in ("boxes", "maps", "encoding"))
limits, swizzles = contracts.tensor_limits, contracts.swizzles
MODES = ("tile", "tile::gather4", "im2col", "im2col_no_offs", "im2col::w", "im2col::w::128")
HOPPER = Profile("hopper")


def described(b: Box) -> Any:
    """The map of a box."""
    wanted = limits.WantedMap(
        b.type, b.address, b.dims, b.strides, b.steps, b.box, b.lower, b.upper, b.channels, b.pixels,
        b.mode.startswith("im2col"), b.slice, b.swizzle,
    )  # fmt: skip
    return wanted.described()


def placed(b: Box) -> Any:
    at, offsets = [*b.at, 0, 0, 0, 0][:5], [*b.offsets, 0, 0, 0][:3]
    return boxes.BoxPlace(*at, *(offsets if b.mode != "im2col_no_offs" else [0] * 3))


def kind_of(b: Box) -> Any:
    return boxes.BoxKind(b.rank, b.mode)


def words(record: Any) -> list[int]:
    return [int(value) for value in record]


def bytes_by_place(chunks: list[tuple[int, int, int]]) -> dict[int, int | None]:
    """What chunks say of the bytes of shared memory."""
    return {place + k: address + k if k < inside else None for address, inside, place in chunks for k in range(16)}


@cache
def exact_chunk(kind: Any) -> Any:
    return scripted(boxes.chunks(kind))


def exactly(b: Box) -> list[tuple[int, int, int]]:
    """All chunks of a box, by the step as the exact engine runs it."""
    run = exact_chunk(kind_of(b))
    given = (*words(described(b)), *words(placed(b)))
    return [tuple(run(*given, b.to, index)[1:]) for index in range(moved(b) // 16)]


@pytest.mark.parametrize("mode", MODES)
def test_boxes_lie_where_numpy_says(mode: str) -> None:
    outside = 0
    for seed in range(20 if mode in boxes.ALONG_W else 60):
        b = some_box(seed, mode)
        expected = bytes_of(b)
        chunks = exactly(b)
        assert bytes_by_place(chunks) == {
            place: None if at is None else at & (1 << 64) - 1 for place, at in expected.items()
        }, b
        assert len(expected) == moved(b) == int(boxes.box_bytes(kind_of(b), described(b), placed(b)))
        outside += None in expected.values() and any(at is not None for at in expected.values())
    assert outside > 3, "boxes that are half outside are the point"


def meaning(kind: Any) -> Meaning:
    """The step, over columns of fields."""
    step = boxes.chunks(kind)
    types = {name: type for port in step.inputs for name, type in port.words.items()}
    inputs = tuple(Input(name, type, (variable_of(name, type),)) for name, type in types.items())
    results = tuple(Result(port.type, (value,)) for port, value in zip(step.outputs, step.meaning.values, strict=True))
    return Meaning(inputs, results, None)


def test_compiled_code_finds_the_same_chunks() -> None:
    of_kinds: dict[Any, list[tuple[list[int], tuple[int, int, int]]]] = {}
    for mode in MODES:
        for seed in range(24):
            b = some_box(1000 + seed, mode)
            given = [*words(described(b)), *words(placed(b)), b.to]
            rows = of_kinds.setdefault(kind_of(b), [])
            rows += [([*given, index], chunk) for index, chunk in enumerate(exactly(b)[:40])]
    meanings = [meaning(kind) for kind in of_kinds]
    loops = compile_loops(meanings, lambda freedom: integer(0))
    for one, rows, run in zip(meanings, of_kinds.values(), loops, strict=True):
        names = [name for name, _ in inputs_of(one)]
        used = [i for i, given in enumerate(one.inputs) if given.name in names]
        types = [type for _, type in inputs_of(one)]
        columns = [
            np.array([given[i] for given, _ in rows], dtype=f"u{max(8, type.width) // 8}")
            for i, type in zip(used, types, strict=True)
        ]
        results = run([np.ascontiguousarray(column) for column in columns])
        for k, (_, chunk) in enumerate(rows):
            assert tuple(int(column[k]) for column in results) == chunk


def test_elements_are_parts_of_chunks() -> None:
    for seed in range(12):
        b = some_box(seed, "tile")
        if b.slice:
            continue
        expected = bytes_of(b)
        for index in range(0, moved(b) // b.unit, 7):
            one = boxes.element(kind_of(b), described(b), placed(b), integer(b.to), integer(index))
            at = expected[int(one.place)]
            assert bool(one.is_inside.attrs[0]) == (at is not None)
            assert at is None or int(one.address) == at


def test_claims_are_about_boxes_that_there_are() -> None:
    for which, (kind, map) in enumerate(boxes.TYPICAL):
        place = boxes.BoxPlace(*[0] * 8)
        _, _, _, allowed = boxes.some_box(which, place, integer(0), integer(1))
        assert allowed.attrs == (True,) and int(boxes.chunk(kind, map, place, integer(0), integer(1)).inside) == 16


# what the driver makes ------------------------------------------------------------------------------------------------

#: 631 maps that CUDA's driver (580.159.04, on an H100, 28 November 2026) was asked for, with its answers
DRIVER = Path(__file__).with_name("maps_of_the_driver.json.xz")
OTHER = ("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B", "seven", "eight")


def wanted(m: dict[str, Any]) -> Any:
    """What the driver was asked for."""
    return limits.WantedMap(
        m["type"], m["address"], m["dims"], m["strides"], m["steps"], m.get("box", ()), m.get("lower", ()),
        m.get("upper", ()), m.get("channels", 0), m.get("pixels", 0), "box" not in m, {0: 0, 1: 16, 2: 32}.get(m["interleave"], 7),
        ("none", "32B", "64B", "128B", *OTHER)[m["swizzle"]], bool(m["nan"]), ("none", "64B", "128B", "256B", "4", "5")[m["promotion"]],
    )  # fmt: skip


def test_maps_are_those_of_the_driver() -> None:
    """Refused where the driver refuses; else 128 bytes alike, which are understood again. Only of extents of 2^32 along pixels the
    driver computes the corners modulo 2^32."""
    made = refused = 0
    for m in json.loads(lzma.decompress(DRIVER.read_bytes())):
        try:
            description = wanted(m).described()
        except limits.NoTensorMap:
            assert m["result"] == 1, m
            refused += 1
            continue
        spatial = m["dims"][:-2] if m["interleave"] else m["dims"][1:-1]
        if m["result"] == 1 and (m["nan"] == 2 or ("box" not in m and 1 << 32 in spatial)):
            continue
        assert m["result"] == 0, m
        assert b"".join(int(w).to_bytes(8, "little") for w in encoding.encoded(description)).hex() == m["bytes"], m
        data = bytes.fromhex(m["bytes"])
        again = encoding.decoded([integer(int.from_bytes(data[i : i + 8], "little")) for i in range(0, 128, 8)])
        assert words(again) == words(description)
        assert limits.wanted(again).described().same_as(description).attrs == (True,)
        made += 1
    assert made > 400 and refused > 80


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"address": 8}, "the address 0x8 is no multiple of 16 below 2^57"),
        ({"address": 16, "slice": 32, "swizzle": "32B"}, "the address 0x10 is no multiple of 32 below 2^57"),
        ({"dims": [64, 0, 4]}, "dimension 1 has 0 elements, not 1 to 2^32"),
        ({"dims": [64]}, "1 dimensions have 0 strides, not 2"),
        ({"dims": [1] * 6}, "a tensor has 1 to 5 dimensions, not 6"),
        ({"strides": [24, 256]}, "the stride of dimension 1 is 24 bytes, no multiple of 16 below 2^40"),
        ({"strides": [128, 1 << 40]}, "the stride of dimension 2 is 1099511627776 bytes, no multiple of 16 below 2^40"),
        ({"steps": [1, 9, 1]}, "the element stride of dimension 1 is 9, not 1 to 8"),
        ({"steps": [1]}, "3 dimensions have 3 element strides, not 1"),
        ({"box": [64, 257, 1]}, "dimension 1 of the box is 257, not 1 to 256"),
        ({"box": [64, 8]}, "a box has 3 dimensions as the tensor, not 2"),
        ({"box": [12, 8, 1]}, "12 elements of type f16 side by side are 24 bytes, no multiple of 16"),
        ({"box": [72, 8, 1]}, "72 elements of type f16 side by side are 144 bytes, more than the swizzle's 128"),
        ({"box": [64, 232, 8]}, "a box of 237568 bytes, more than 233472"),
        ({"swizzle": "128B_atom_32B"}, "a swizzle of sm_90 is none, 32B, 64B, 128B, not '128B_atom_32B'"),
        ({"promotion": "512B"}, "a promotion is none, 64B, 128B, 256B, not '512B'"),
        ({"slice": 8}, "slices have 0, 16, 32 bytes, not 8"),
        ({"type": "u16", "nan_fill": True}, "elements of type u16 are filled with zeros, not with NaN"),
        ({"type": "e4m3"}, "elements are of type u8, u16, "),
        ({"is_im2col": True, "lower": [-32769], "upper": [0], "channels": 8, "pixels": 1}, "a corner along 1 dimensions lies from -32768 to"),
        ({"is_im2col": True, "lower": [0], "upper": [-64], "channels": 8, "pixels": 1}, "there is no pixel from 0 to -1"),
        ({"is_im2col": True, "lower": [0], "upper": [0], "channels": 8, "pixels": 1025}, "1025 pixels, not 1 to 1024"),
        ({"is_im2col": True, "lower": [0], "upper": [0], "channels": 257, "pixels": 1}, "257 channels, not 1 to 256"),
        ({"is_im2col": True, "lower": [0, 0], "upper": [0], "channels": 8, "pixels": 1}, "1 lower and upper corners are needed, not 2 and 1"),
    ],
)  # fmt: skip
def test_what_no_map_is(change: dict[str, Any], message: str) -> None:
    plain = limits.WantedMap("f16", 0, [64, 64, 8], [128, 8192], [1, 1, 1], [64, 8, 1], swizzle="128B")
    plain.described()
    with pytest.raises(limits.NoTensorMap) as refused:
        plain._replace(**change).described()
    assert message in str(refused.value)


# what an H100 has shown ---------------------------------------------------------------------------------------------------


#: 599 boxes that an H100 has loaded (driver 580.159.04, 28 November 2026) from a megabyte of random bytes to zeroed shared memory: each
#: with the bytes that an mbarrier was to expect, and the SHA-1 of the first 32 KiB of shared memory after the phase was complete
LOADED = Path(__file__).with_name("boxes_of_an_h100.json.xz")


@pytest.mark.slow
def test_boxes_that_an_h100_has_loaded() -> None:
    random = Random(7)
    memory = bytes(random.randrange(1, 256) for _ in range(1 << 20))
    kinds = set()
    for case in json.loads(lzma.decompress(LOADED.read_bytes())):
        digest, bytes_moved = case.pop("digest"), case.pop("moved")
        b = Box(**case)
        assert not broken(b)
        shared = bytearray(1 << 15)
        for address, inside, place in exactly(b):
            shared[place : place + inside] = memory[address : address + inside]
        assert sha1(shared).hexdigest() == digest, b
        assert int(boxes.box_bytes(kind_of(b), described(b), placed(b))) == bytes_moved
        kinds.add((kind_of(b), b.slice, b.swizzle))
    assert len(kinds) > 40


def rules(b: Box, stores: bool = False) -> dict[str, bool]:
    given = boxes.box_rules(kind_of(b), described(b), placed(b), integer(b.to), stores)
    return {rule: bool(condition.attrs[0]) for rule, condition in given}


def broken(b: Box, stores: bool = False) -> list[str]:
    return [rule for rule, holds in rules(b, stores).items() if not holds]


TILE = Box("f16", 1 << 20, [100, 50], [208], [1, 1], box=[64, 8], swizzle="128B", at=[0, 0])
PIXELS = Box("f16", 1 << 20, [64, 9, 7, 4], [128, 1152, 8064], [1] * 4, swizzle="128B", lower=[-1, -1], upper=[-1, -1],
             channels=64, pixels=32, at=[0, 4, 4, 0], offsets=[0, 0], mode="im2col")  # fmt: skip


def but(b: Box, **changes: Any) -> Box:
    return Box(**(vars(b) | changes))


def test_where_a_box_may_begin() -> None:
    assert broken(TILE) == broken(PIXELS) == []
    assert broken(but(TILE, at=[4, 0])) == ["tensor row"] == broken(but(TILE, at=[-4, 0]))
    assert broken(but(TILE, at=[-8, -5])) == [] and broken(but(TILE, at=[-8, 0]), True) == ["tensor bounds"]
    assert broken(but(TILE, at=[0, -1]), True) == ["tensor bounds"]
    assert broken(but(TILE, at=[(1 << 31) - 8, (1 << 31) - 1])) == []
    assert broken(but(TILE, to=64)) == ["box in shared memory"]
    sliced = but(TILE, dims=[10, 3, 2], strides=[160, 480], steps=[1] * 3, box=[8, 1, 1], slice=16, at=[3, 0, 0])
    assert broken(sliced) == []
    assert broken(but(PIXELS, at=[0, 8, 4, 0])) == ["tensor pixels"] == broken(but(PIXELS, at=[0, -2, 0, 0]))
    assert broken(but(PIXELS, at=[0, 7, 5, 99])) == []


def test_a_map_must_agree_with_the_instruction() -> None:
    for kind in (boxes.BoxKind(1), boxes.BoxKind(3), boxes.BoxKind(2, "im2col")):
        assert not boxes.agrees(kind, described(TILE)).attrs[0]
    for kind in (boxes.BoxKind(4), boxes.BoxKind(3, "im2col")):
        assert not boxes.agrees(kind, described(PIXELS)).attrs[0]
    zeros = encoding.decoded([integer(0)] * 16)
    assert not any(boxes.agrees(boxes.BoxKind(rank), zeros).attrs[0] for rank in (2, 3, 4, 5))


def test_a_row_is_cut_at_the_very_element() -> None:
    b = but(TILE, dims=[67, 50], strides=[144])
    values = bytes_of(but(b, at=[64, 0]))
    assert sum(at is not None for at in values.values()) == 8 * 3 * 2
    assert bytes_by_place(exactly(but(b, at=[64, 0]))) == values


@pytest.mark.parametrize("inside", range(17))
def test_stores_end_with_whole_chunks(inside: int) -> None:
    term = boxes.stored_bytes(integer(inside))
    assert evaluate(term, {}) == inside
    assert evaluate(term, {}, HOPPER.value) == (16 if inside else 0)


def test_gaps_of_narrow_rows_are_no_part_of_the_box() -> None:
    b = but(TILE, box=[16, 8])
    assert moved(b) == 8 * 32 == int(boxes.box_bytes(kind_of(b), described(b), placed(b)))
    assert int(boxes.box_room(kind_of(b), described(b), placed(b))) == 8 * 128
    assert {place >> 7 for place in bytes_by_place(exactly(b))} == set(range(8))


def test_a_pattern_goes_on_where_a_box_begins() -> None:
    b = but(TILE, to=384)
    first, *_ = exactly(b)
    assert first[2] == 384 ^ 3 << 4


def test_what_fills_places_outside() -> None:
    plain = described(TILE)
    assert evaluate(maps.fill(plain), {}) == 0
    assert evaluate(maps.fill(plain.but(nan_fill=True)), {}, HOPPER.value) == 0x7FF7


@pytest.mark.parametrize(
    ("bits", "rounded"),
    [
        (0x3F801000, 0x3F800000),  # a tie, to even
        (0x3F803000, 0x3F804000),
        (0x3F801001, 0x3F802000),
        (0x00001000, 0x00000000),
        (0x00003000, 0x00004000),  # a subnormal number
        (0x7F7FFFFF, 0x7F800000),
        (0xFF800000, 0xFF800000),
        (0x7FC00001, 0x7FFFE000),
        (0x80000000, 0x80000000),
    ],
)
def test_loads_round_to_tf32(bits: int, rounded: int) -> None:
    assert evaluate(maps.rounded_to_tf32(integer(bits)), {}, HOPPER.value) == rounded


def test_which_types_are_rounded() -> None:
    of = {name: described(but(TILE, type=name, box=[16, 8])) for name in maps.ELEMENTS if name not in ("u8",)}
    assert [name for name, map in of.items() if maps.is_rounded(map).attrs[0]] == ["tf32", "tf32.ftz"]


def test_a_type_that_is_rounded_though_it_cannot() -> None:
    """The bit that asks for rounding, over the type u32: no copy takes the map."""
    data = encoding.encoded(described(but(TILE, type="tf32", box=[16, 8])))
    other = [word & ~(15 << 7) | 2 << 7 if i == 1 else word for i, word in enumerate(data)]
    assert not boxes.agrees(boxes.BoxKind(2), encoding.decoded(other)).attrs[0]
    of_singles = [word & ~(15 << 7) | 7 << 7 if i == 1 else word for i, word in enumerate(data)]
    assert maps.is_rounded(encoding.decoded(of_singles)).attrs[0]


def test_the_swizzles_of_the_manual() -> None:
    """The tables of 5.5.7: the numbers of chunks of 16 bytes, line by line."""
    tables = {
        "32B": ["01234567", "10325476"],
        "64B": ["01234567", "10325476", "23016745", "32107654"],
        "128B": ["01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"],
        "128B_atom_32B": ["01234567", "23016745", "45670123", "67452301"],
        "128B_atom_64B": ["01234567", "45670123"],
    }
    for number, pattern in enumerate(swizzles.SWIZZLES):
        for line, chunks in enumerate(tables.get(pattern.name, ())):
            placed = {int(swizzles.swizzled(integer(number), integer(128 * line + 16 * k))): k for k in range(8)}
            assert "".join(str(placed[128 * line + 16 * k]) for k in range(8)) == chunks, pattern.name
    flip = [int(swizzles.swizzled(integer(5), integer(128 + 8 * k))) for k in range(4)]
    assert flip == [128 + 32 + 8, 128 + 32, 128 + 32 + 24, 128 + 32 + 16]


@pytest.mark.parametrize("name", ["f16", "u8"])
def test_the_types_of_fields(name: str) -> None:
    assert TYPES[name].bytes == maps.ELEMENTS[name]
