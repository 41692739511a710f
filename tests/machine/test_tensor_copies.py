"""Copies of boxes by launches: beside an independent model, beside an H100, by both engines, and the mistakes that one can make."""

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
from tests.spec.tensors import Box, bytes_of, moved, some_box

import ptxspec
from ptxspec import contracts
from ptxspec.literate import finder
from ptxspec.terms import integer

pytestmark = pytest.mark.sample(8)

boxes, encoding = finder.load("ptxspec.spec.tensors.boxes"), finder.load("ptxspec.spec.tensors.encoding")
LOADED = Path(__file__).parents[1] / "spec" / "boxes_of_an_h100.json.xz"
#: bytes of shared memory, and of global memory
ROOM, MEMORY = 1 << 15, 1 << 20
WAYS = ("late", "early", "each", "random:5")
HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .align 4 .b8 at[20], .param .align 2 .b8 offsets[6], .param .u32 to,
    .param .u32 bytes, .param .u64 out) {
.shared .align 1024 .b8 room[32768];
.shared .align 8 .b64 bar;
.reg .b64 %map, %out; .reg .b32 %c<5>, %to, %bytes; .reg .b16 %o<3>; .reg .pred %over;
mov.b64 %map, map; cvta.param.u64 %map, %map; ld.param.u64 %out, [out]; ld.param.u32 %bytes, [bytes];
ld.param.u32 %to, [to]; mov.u32 %c0, room; add.u32 %to, %to, %c0;
"""
NUMBERS = "".join(f"ld.param.b32 %c{d}, [at+{4 * d}];\n" for d in range(5)) + "".join(
    f"ld.param.b16 %o{i}, [offsets+{2 * i}];\n" for i in range(3)
)
LOAD = "cp.async.bulk.tensor.{rank}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes [%to], [%map, {at}], [bar]{more};\n"
STORE = "cp.async.bulk.tensor.{rank}d.global.shared::cta.{mode}.bulk_group [%map, {at}], [%to];\n"
LOADING = """mbarrier.init.shared.b64 [bar], 1; fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], %bytes;
{copy}WAIT: mbarrier.try_wait.parity.shared.b64 %over, [bar], 0; @!%over bra WAIT;
cp.async.bulk.global.shared::cta.bulk_group [%out], [room], 32768; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
ret; }}"""
#: shared memory is first what `out` holds
STORING = """mbarrier.init.shared.b64 [bar], 1; fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32768;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [room], [%out], 32768, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %over, [bar], 0; @!%over bra WAIT;
{copy}cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }}"""


@cache
def kernel(rank: int, mode: str, stores: bool = False) -> ptxspec.Module:
    """A kernel that copies a box at these coordinates, and shows shared memory."""
    given = 5 if mode.startswith("tile::") else rank
    at = "{" + ", ".join(f"%c{d}" for d in range(given)) + "}"
    offsets = ", {" + ", ".join(f"%o{i}" for i in range(rank - 2)) + "}" if mode == "im2col" else ""
    copy = (STORE if stores else LOAD).format(rank=rank, mode=mode, at=at, more=offsets)
    return ptxspec.load(HEAD + NUMBERS + (STORING if stores else LOADING).format(copy=copy))


def map_of(b: Box, address: int) -> np.ndarray:
    """The 128 bytes of the map of a box, whose tensor lies at an address."""
    wanted = contracts.tensor_limits.WantedMap(
        b.type, address, b.dims, b.strides, b.steps, b.box, b.lower, b.upper, b.channels, b.pixels,
        b.mode.startswith("im2col"), b.slice, b.swizzle,
    )  # fmt: skip
    return np.array([int(word) for word in encoding.encoded(wanted.described())], np.uint64)


def copied(b: Box, data: bytes, stores: bool = False, shared: bytes = b"", **how: Any) -> bytes:
    """What shared memory holds after a box was loaded; or global memory, after one was stored."""
    memory = ptxspec.Memory()
    tensor = memory.put(np.frombuffer(data, np.uint8).copy(), align=256)
    out = np.frombuffer(shared, np.uint8).copy() if stores else np.zeros(ROOM, np.uint8)
    at, offsets = np.zeros(5, np.int32), np.zeros(3, np.uint16)
    at[: len(b.at)] = b.at
    offsets[: len(b.offsets)] = b.offsets
    args = [map_of(b, int(tensor) + b.address).tobytes(), at.tobytes(), offsets.tobytes(), b.to, moved(b), out]
    kernel(b.rank, b.mode, stores).launch("k", args=args, memory=memory, **how)
    return memory.read(tensor, len(data)) if stores else out.tobytes()


@cache
def random_bytes() -> bytes:
    random = Random(7)
    return bytes(random.randrange(1, 256) for _ in range(MEMORY))


def loaded() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(lzma.decompress(LOADED.read_bytes()))
    return cases


def of_case(case: dict[str, Any]) -> Box:
    return Box(**{k: v for k, v in case.items() if k not in ("digest", "moved")})


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_boxes_are_loaded_as_an_h100_loads_them(part: int) -> None:
    for number, case in enumerate(loaded()[part::6]):
        b = of_case(case)
        assert sha1(copied(b, random_bytes(), copies=WAYS[number % 4])).hexdigest() == case["digest"], b


@pytest.mark.parametrize("part", range(4))
def test_the_exact_engine_loads_the_same(part: int) -> None:
    for case in loaded()[part * 3 :: 60]:
        b = of_case(case)
        assert sha1(copied(b, random_bytes(), engine="exact", copies=WAYS[part])).hexdigest() == case["digest"], b


# beside an independent model ------------------------------------------------------------------------------------------------


def placed_in_memory(b: Box) -> Box:
    """The box with a tensor that lies in the memory of a test."""
    return Box(**(vars(b) | {"address": 4096, "strides": [stride % 1024 // 32 * 32 for stride in b.strides]}))


def begins_well(b: Box, stores: bool) -> bool:
    """Whether a box may begin there, by the rules of the page."""
    wanted = contracts.tensor_limits.WantedMap(
        b.type, b.address, b.dims, b.strides, b.steps, b.box, b.lower, b.upper, b.channels, b.pixels,
        b.mode.startswith("im2col"), b.slice, b.swizzle,
    )  # fmt: skip
    at, offsets = [*b.at, 0, 0, 0, 0][:5], [*b.offsets, 0, 0, 0][:3]
    place = boxes.BoxPlace(*at, *(offsets if b.mode == "im2col" else [0] * 3))
    rules = boxes.box_rules(boxes.BoxKind(b.rank, b.mode), wanted.described(), place, integer(b.to), stores)
    return all(bool(condition.attrs[0]) for _, condition in rules)


@pytest.mark.parametrize("mode", ["tile", "im2col"])
@pytest.mark.parametrize("engine", ["exact", "native"])
def test_random_boxes_are_loaded(mode: str, engine: str) -> None:
    data, tried = random_bytes()[: 1 << 17], 0
    for seed in range(400):
        b = placed_in_memory(some_box(seed, mode))
        if b.type.startswith("tf32") or moved(b) > 8192 or not begins_well(b, False):
            continue
        shared = bytearray(ROOM)
        for place, address in bytes_of(b).items():
            shared[place] = 0 if address is None else data[address]
        assert copied(b, data, engine=engine, copies=WAYS[seed % 4]) == bytes(shared), b
        tried += 1
        if tried == (12 if engine == "exact" else 60):
            return
    raise AssertionError(f"{tried} boxes")


@pytest.mark.parametrize("mode", ["tile", "im2col_no_offs"])
@pytest.mark.parametrize("engine", ["exact", "native"])
@pytest.mark.slow
def test_random_boxes_are_stored(mode: str, engine: str) -> None:
    """Where a row of a tensor ends within a chunk, an H100 writes the whole of it: such tensors are left out."""
    data, shared, tried = bytes(1 << 17), random_bytes()[:ROOM], 0
    for seed in range(2000):
        b = placed_in_memory(some_box(seed, mode))
        if b.dims[0] * b.unit % 16 or moved(b) > 8192 or not begins_well(b, True):
            continue
        if any(stride < b.dims[0] * b.unit for stride in b.strides):
            continue  # whose elements share bytes
        stored: dict[int, set[int]] = {}
        for place, address in bytes_of(b).items():
            if address is not None:
                stored.setdefault(address, set()).add(shared[place])
        left = copied(b, data, True, shared, engine=engine, copies=WAYS[seed % 4])
        assert all(left[address] in values for address, values in stored.items()), b
        assert {k for k, byte in enumerate(left) if byte} <= stored.keys(), b
        tried += 1
        if tried == (6 if engine == "exact" else 30):
            return
    raise AssertionError(f"{tried} boxes")


# what a box is filled with, how it is rounded, and reductions ---------------------------------------------------------------

SIMPLE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {{
.shared .align 1024 .b8 room[4096]; .shared .align 8 .b64 bar; .reg .b64 %map, %out; .reg .pred %over;
mov.b64 %map, map; cvta.param.u64 %map, %map; ld.param.u64 %out, [out];
mbarrier.init.shared.b64 [bar], 1; fence.proxy.async.shared::cta;
{body}
ret; }}"""
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %over, [bar], 0; @!%over bra WAIT;"
SHOW = """cp.async.bulk.global.shared::cta.bulk_group [%out], [room], 4096; cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;"""
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};"
TAKE = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [room], [%map, {{{}}}], [bar];"
FETCH = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [room], [%out], 4096, [bar];"
REDUCE = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.bulk_group [%map, {{0, 0}}], [room];"
ENGINES = ("exact", "native")


def launched(body: str, *args: Any, **how: Any) -> Any:
    return ptxspec.load(SIMPLE.format(body=body)).launch("k", args=args, **how)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("profile", ["hopper"])
def test_places_outside_are_filled(engine: Any, profile: Any) -> None:
    numbers = np.arange(1, 33, dtype=np.float32).reshape(4, 8)
    for fill, bits in (("zero", 0), ("nan", 0x7FF77FF7)):
        out = np.zeros(1024, np.uint32)
        tensor = ptxspec.TensorMap(numbers, box=(8, 4), fill=fill)
        body = EXPECT.format(128) + TAKE.format("-4, 2") + WAIT + SHOW
        launched(body, tensor, out, engine=engine, profile=profile)
        box = out[:32].reshape(4, 8)
        assert (box[:2, 4:].view(np.float32) == numbers[2:, :4]).all()
        assert (box[:2, :4] == bits).all() and (box[2:] == bits).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_rounded_as_they_are_loaded(engine: Any) -> None:
    """To ten bits of fraction, ties to even: beside a sum that rounds in the same place."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, 32, np.uint32) & np.uint32(0xBFFFFFFF) | np.uint32(0x20000000)
    tie = np.uint32(0x1000)
    bits[:2] = np.uint32(0x3F800000) + tie, np.uint32(0x3F802000) + tie
    out = np.zeros(1024, np.uint32)
    body = EXPECT.format(128) + TAKE.format("0, 0") + WAIT + SHOW
    launched(body, ptxspec.TensorMap(bits.view(np.float32).reshape(4, 8), box=(8, 4), type="tf32"), out, engine=engine)
    expected = [(int(b) + 0xFFF + (int(b) >> 13 & 1)) & ~0x1FFF for b in bits]
    assert out[:32].tolist() == expected


UNITS = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "f16": np.float16, "f32": np.float32}
INTEGERS = ("u32", "s32", "u64", "s64")
OPERATIONS = {
    "add": (np.add, ("u32", "s32", "u64", "f16", "f32")), "min": (np.minimum, (*INTEGERS, "f16")),
    "max": (np.maximum, (*INTEGERS, "f16")), "and": (np.bitwise_and, INTEGERS), "or": (np.bitwise_or, INTEGERS),
    "xor": (np.bitwise_xor, INTEGERS),
    "inc": (lambda a, b: np.where(a >= b, 0, a + 1), ("u32",)),
    "dec": (lambda a, b: np.where((a == 0) | (a > b), b, a - 1), ("u32",)),
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_boxes_are_reduced(op: str, engine: Any) -> None:
    function, types = OPERATIONS[op]
    rng = np.random.default_rng(len(op))
    body = EXPECT.format(4096) + FETCH + WAIT + REDUCE.format(op) + SHOW.partition(";")[2]
    for name in types:
        kind = np.dtype(UNITS[name])
        columns, rows = 64 // kind.itemsize, 4
        shape = rows - 1, columns - 16 // kind.itemsize
        if name.startswith("f"):
            old, box = (rng.normal(size=s).astype(kind) for s in (shape, (rows, columns)))
        else:
            old, box = (rng.integers(0, 1 << 31, s).astype(kind) << kind.type(1) for s in (shape, (rows, columns)))
        swizzled = np.zeros(1024, np.uint32)
        chunks = np.ascontiguousarray(box).view(np.uint8).reshape(rows, 4, 16)
        place = swizzled.view(np.uint8)
        for row in range(rows):
            for k in range(4):
                at = row * 64 + k * 16
                at ^= (at >> 7 & 3) << 4
                place[at : at + 16] = chunks[row, k]
        tensor = old.copy()
        launched(body, ptxspec.TensorMap(tensor, box=(columns, rows), swizzle="64B"), swizzled, engine=engine)
        expected = function(old, box[: shape[0], : shape[1]]).astype(kind)
        assert (tensor == expected).all(), name


def test_elements_that_are_not_reduced() -> None:
    body = EXPECT.format(4096) + FETCH + WAIT + REDUCE.format("inc") + SHOW.partition(";")[2]
    with pytest.raises(ptxspec.LaunchError) as broken:
        launched(body, ptxspec.TensorMap(np.zeros((4, 8), np.float32), box=(8, 4)), np.zeros(1024, np.uint32))
    assert broken.value.rule == "tensor reduction"


# several CTAs, and what one may not do --------------------------------------------------------------------------------------


MULTICAST = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) .reqnctapercluster 4 {
.shared .align 1024 .b8 room[512]; .shared .align 8 .b64 bar; .reg .b64 %map, %out; .reg .b32 %rank, %at; .reg .pred %over, %p;
mov.b64 %map, map; cvta.param.u64 %map, %map; ld.param.u64 %out, [out]; mov.u32 %rank, %cluster_ctarank;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait;
and.b32 %at, %rank, 1; setp.eq.u32 %p, %at, 1;
@%p mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
@!%p mbarrier.arrive.shared.b64 _, [bar];
setp.eq.u32 %p, %rank, 2;
@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
    [room], [%map, {0, 1}], [bar], 10;
WAIT: mbarrier.try_wait.parity.shared.b64 %over, [bar], 0; @!%over bra WAIT;
mad.wide.u32 %out, %rank, 512, %out;
cp.async.bulk.global.shared::cta.bulk_group [%out], [room], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
barrier.cluster.arrive; barrier.cluster.wait;
ret; }"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
def test_a_box_for_several_ctas(engine: Any, copies: Any) -> None:
    numbers = np.arange(64 * 6, dtype=np.float16).reshape(6, 64)
    out = np.zeros((4, 4, 64), np.float16)
    tensor = ptxspec.TensorMap(numbers, box=(64, 4), swizzle="128B")
    ptxspec.load(MULTICAST).launch("k", grid=4, args=[tensor, out], engine=engine, copies=copies)
    chunks = out.view(np.uint8).reshape(4, 4, 8, 16)
    for row in range(4):
        chunks[:, row] = chunks[:, row][:, [k ^ row for k in range(8)]]
    assert not out[0].any() and not out[2].any()
    assert (out[1] == numbers[1:5]).all() and (out[3] == numbers[1:5]).all()


MISTAKES = {
    "tensor map": ("2d", "3d", "{0, 0}", "{0, 0, 0}"),
    "box in shared memory": ("[room], [%map", "[room+64], [%map"),
    "tensor row": ("{0, 0}", "{3, 0}"),
    "misaligned description": ("ld.param.u64 %out", "add.u64 %map, %map, 8; ld.param.u64 %out"),
    "stuck object": (EXPECT.format(128), EXPECT.format(144)),
    "no object": ("mbarrier.init.shared.b64 [bar], 1;", "", EXPECT.format(128), ""),
    "copy not waited for": (WAIT, ""),
    "out of bounds": ("[room], [%map", "[room+4096], [%map"),
}


@pytest.mark.parametrize("rule", list(MISTAKES))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_mistake_is_told(rule: str, engine: Any) -> None:
    text = SIMPLE.format(body=EXPECT.format(128) + TAKE.format("0, 0") + WAIT + SHOW.replace("4096", "128"))
    changes = MISTAKES[rule]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    args = [ptxspec.TensorMap(np.zeros((4, 8), np.float32), box=(8, 4)), np.zeros(1024, np.uint32)]
    with pytest.raises(ptxspec.LaunchError) as broken:
        ptxspec.load(text).launch("k", args=args, engine=engine, copies="late")
    assert broken.value.rule == rule
    assert broken.value.where.instruction if rule != "stuck object" else True


@pytest.mark.parametrize("engine", ENGINES)
def test_boxes_are_without_races(engine: Any) -> None:
    body = EXPECT.format(128) + TAKE.format("0, 0") + WAIT + SHOW.replace("4096", "128")
    tensor = ptxspec.TensorMap(np.ones((4, 8), np.float32), box=(8, 4))
    launched(body, tensor, np.zeros(1024, np.uint32), engine=engine, check="all")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("type", ["f32", "tf32"])
def test_two_boxes_at_one_place(engine: Any, type: str) -> None:
    """Copies that round are copies: not as reductions, which may have targets in common."""
    twice = EXPECT.format(256) + 2 * TAKE.format("0, 0") + WAIT + SHOW
    tensor = ptxspec.TensorMap(np.ones((4, 8), np.float32), box=(8, 4), type=type)
    with pytest.raises(ptxspec.LaunchError) as broken:
        launched(twice, tensor, np.zeros(1024, np.uint32), engine=engine, copies="late")
    assert broken.value.rule == "copy not waited for"
