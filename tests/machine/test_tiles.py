"""Tiles of matrices: loaded, multiplied and stored, against NumPy and between the engines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import ptxspec
from ptxspec.base.options import Engine
from ptxspec.language.forms import registry
from ptxspec_workshop.record.families import MATRICES

pytestmark = pytest.mark.sample(8)

ANSWERS = MATRICES.read()
ENGINES = ("exact", "native")
NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8", "tf32": "f4", "s8": "i1", "u8": "u1", "s32": "i4"}


class Tile(NamedTuple):
    """A matrix of a product as a kernel has it: its letter, type, layout and size, and the registers of a thread."""

    letter: str
    type: str
    layout: str
    rows: int
    columns: int
    registers: int

    @property
    def word(self) -> str:
        return self.type if self.type in ("f32", "f64") else "b32"

    @property
    def braces(self) -> str:
        return "{" + ", ".join(f"%{self.letter}{i}" for i in range(self.registers)) + "}"

    @property
    def least(self) -> int:
        """The stride of rows (or columns) that follow one another."""
        return self.columns if self.layout == "row" else self.rows

    def lines(self, instruction: str, stride: str) -> str:
        """The declaration, and the instruction that moves the tile."""
        return f".reg .{self.word} %{self.letter}<{self.registers}>;\nld.param.u64 %p, [{self.letter}];\n{instruction}{stride};\n"


def tiles(
    shape: str, factors: str, c: str, d: str, registers: tuple[int, ...], layouts: str = "row col row row"
) -> list[Tile]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    types = {"a": factors, "b": factors, "c": c, "d": d}
    words = layouts.split()
    return [
        Tile(x, types[x], words[i], *map(int, sizes[x]), registers[min(i, len(registers) - 1)])
        for i, x in enumerate("abcd")
    ]


def kernel(shape: str, own: list[Tile], gap: int | None = None) -> str:
    """A kernel that loads, multiplies and stores; with a gap between rows, or without a stride."""
    a, b, c, d = own
    types = f"{d.type}.{c.type}" if a.type == "f16" else f"{d.type}.{a.type}.{b.type}.{c.type}"
    body = ""
    for t in (a, b, c, d):
        stride = "" if gap is None else f", {t.least + gap}"
        of = f"{t.layout}.{shape}.{t.type}"
        if t is d:
            product = f"wmma.mma.sync.aligned.{a.layout}.{b.layout}.{shape}.{types} {', '.join(x.braces for x in (d, a, b, c))};"
            stored = t.lines(f"{product}\nwmma.store.d.sync.aligned.{of} [%p], {t.braces}", stride)
            body += stored
        else:
            body += t.lines(f"wmma.load.{t.letter}.sync.aligned.{of} {t.braces}, [%p]", stride)
    parameters = ", ".join(f".param .u64 {x}" for x in "abcd")
    return f".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n{{\n.reg .u64 %p;\n{body}ret;\n}}"


def in_memory(values: np.ndarray, tile: Tile, gap: int | None) -> np.ndarray:
    """A matrix as it lies in memory, by rows or by columns."""
    lines = values if tile.layout == "row" else values.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, gap or 0))))


PRODUCTS = [
    ("m16n16k16", "f16", "f32", "f32", (8, 8, 8, 8)), ("m8n32k16", "u8", "s32", "s32", (1, 4, 8, 8)),
    ("m8n8k4", "f64", "f64", "f64", (1, 1, 2, 2)),
]  # fmt: skip
OTHERS = [
    ("m8n32k16", "f16", "f16", "f32", (8, 8, 4, 8)), ("m32n8k16", "f16", "f32", "f16", (8, 8, 8, 4)),
    ("m16n16k16", "f16", "f16", "f16", (8, 8, 4, 4)), ("m16n16k8", "tf32", "f32", "f32", (4, 4, 8, 8)),
    ("m16n16k16", "s8", "s32", "s32", (2, 2, 8, 8)), ("m32n8k16", "s8", "s32", "s32", (4, 1, 8, 8)),
]  # fmt: skip
EVERY = [*PRODUCTS, *(pytest.param(*own, marks=pytest.mark.long) for own in OTHERS)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("shape", "factors", "c", "d", "registers"), EVERY)
def test_a_product_is_that_of_numpy(
    shape: str, factors: str, c: str, d: str, registers: tuple[int, ...], engine: Engine
) -> None:
    """Small whole numbers, whose sums are exact in any order; by rows, by columns, and with gaps."""
    source = np.random.default_rng(5)
    for layouts, gap in (("row col row row", None), ("col row col row", 32), ("row row row col", 16)):
        own = tiles(shape, factors, c, d, registers, layouts)
        given = [
            source.integers(0 if t.type == "u8" else -5, 6, (t.rows, t.columns)).astype(NUMPY[t.type]) for t in own
        ]
        wanted = (given[0].astype(float) @ given[1].astype(float) + given[2].astype(float)).astype(NUMPY[d])
        arrays = [in_memory(x, t, gap) for x, t in zip(given, own, strict=True)]
        untouched = arrays[3].copy()
        ptxspec.load(kernel(shape, own, gap)).launch("k", 1, 32, arrays, engine=engine)
        assert np.array_equal(arrays[3][:, : own[3].least], wanted if own[3].layout == "row" else wanted.T)
        assert np.array_equal(arrays[3][:, own[3].least :], untouched[:, own[3].least :])


@pytest.mark.parametrize("limit", ["", ".satfinite"])
def test_only_satfinite_makes_numbers_of_what_is_none(limit: str) -> None:
    """As PTX states it up to version 6.4: a NaN becomes +0 and an infinity the greatest number of its sign. An H200 leaves both as
    they are."""
    own = tiles("m16n16k16", "f16", "f16", "f16", (8, 8, 4, 4))
    text = kernel("m16n16k16", own).replace("m16n16k16.f16.f16 ", f"m16n16k16.f16.f16{limit} ")
    text = text.replace(".version 9.0", ".version 6.4").replace("sm_90", "sm_75")
    assert text.count(".satfinite") == bool(limit)
    a, b, c, d = (np.zeros((t.rows, t.columns), np.float16) for t in own)
    a[:3, 0], b[0] = (np.nan, np.inf, -np.inf), 1
    ptxspec.load(text).launch("k", 1, 32, [a, np.ascontiguousarray(b.T), c, d], profile="portable", engine="exact")
    first = d[:4, 0].tolist()
    if limit:
        assert first == [0, 65504, -65504, 0]
    else:
        assert np.isnan(first[0]) and first[1:] == [np.inf, -np.inf, 0]


MOVED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 from, .param .u64 to)
{
.reg .u64 %from, %to, %own;
.reg .u32 %t;
.reg .b32 %r<8>;
.reg .f32 %f<8>;
ld.param.u64 %from, [from];
ld.param.u64 %to, [to];
mov.u32 %t, %tid.x;
mul.wide.u32 %own, %t, 4;
add.u64 %own, %own, %to;
"""
RELIES = f"""{MOVED}wmma.load.c.sync.aligned.row.m16n16k16.f32 {{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}}, [%from];
st.global.f32 [%own], %f0;
ret;
}}"""
DOUBLED = "".join(f"add.s32 %r{i}, %r{i}, %r{i};\n" for i in range(8))
SOUND = f"""{MOVED}wmma.load.c.sync.aligned.row.m16n16k16.s32 {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}}, [%from];
{DOUBLED}wmma.store.d.sync.aligned.col.m16n16k16.s32 [%to], {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}};
ret;
}}"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_seed_finds_what_relies_on_a_layout(engine: Engine) -> None:
    values = np.arange(256, dtype=np.float32)
    loaded = ptxspec.load(RELIES)
    found = set()
    for seed in (None, *range(6)):
        out = np.zeros(32, np.float32)
        loaded.launch("k", 1, 32, [values, out], engine=engine, profile="portable", seed=seed)
        found.add(out.tobytes())
        if seed is None:
            usual = out
    assert len(found) == 2 and np.array_equal(usual, [16 * (i // 4) + 2 * (i % 4) for i in range(32)])
    chip = np.zeros(32, np.float32)
    loaded.launch("k", 1, 32, [values, chip], engine=engine, seed=1)
    assert np.array_equal(chip, usual)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_relies_on_none_is_the_same_under_all_seeds(engine: Engine) -> None:
    """Each thread may do the same with its elements, wherever they lie."""
    values, loaded = np.arange(256, dtype=np.int32), ptxspec.load(SOUND)
    for seed in (None, *range(4)):
        out = np.zeros(256, np.int32)
        loaded.launch("k", 1, 32, [values, out], engine=engine, profile="portable", seed=seed)
        assert np.array_equal(out.reshape(16, 16).T, 2 * values.reshape(16, 16))


@pytest.mark.slow
def test_a_product_is_the_same_under_all_seeds() -> None:
    own = tiles("m8n32k16", "u8", "s32", "s32", (1, 4, 8, 8))
    source, results = np.random.default_rng(9), set()
    arrays = [source.integers(0, 100, (t.rows, t.columns)).astype(NUMPY[t.type]) for t in own]
    loaded = ptxspec.load(kernel("m8n32k16", [t._replace(layout="row") for t in own]))
    for seed in range(3):
        loaded.launch("k", 1, 32, arrays, engine="native", profile="portable", seed=seed)
        results.add(arrays[3].tobytes())
    assert np.array_equal(arrays[3], arrays[0].astype(int) @ arrays[1].astype(int) + arrays[2])
    assert len(results) == 1


@pytest.mark.parametrize(
    ("mnemonic", "there"),
    [
        ("wmma.mma.sync.aligned.m16n16k16.row.col.f32.f16", True),
        ("wmma.mma.f32.f16.sync.aligned.row.col.m16n16k16", True),
        ("wmma.mma.f32.row.sync.f16.aligned.m16n16k16.col", True),
        ("wmma.load.a.f16.sync.aligned.global.row.m16n16k16", True),
        ("wmma.load.sync.a.aligned.row.m16n16k16.f16", False),
        ("wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32.xor.popc", True),
        ("wmma.mma.popc.xor.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", False),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.f16.f16", False),
        ("wmma.load.c.sync.aligned.row.m8n8k32.f32", False),
    ],
)
def test_the_order_of_modifiers(mnemonic: str, there: bool) -> None:
    """As ptxas has it, but for the last (AMB-304)."""
    assert bool(registry().opcodes["wmma"].find(mnemonic)) is there


# what must hold of address and stride -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("instruction", "holds"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from+32], 24;", True),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from+16], 24;", False),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from], 20;", False),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%own];", False),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from], %t;", False),
        ("wmma.load.a.sync.aligned.row.m8n32k16.s8 {%r0}, [%from+4], 20;", True),
        ("wmma.load.a.sync.aligned.row.m8n32k16.s8 {%r0}, [%from+2], 20;", False),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%to], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, 17;", False),
        # rows, or columns, that overlap
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from], 16;", True),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from], 8;", False),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%from], 0;", False),
        ("wmma.load.c.sync.aligned.col.m8n32k16.f16 {%r0,%r1,%r2,%r3}, [%from], 8;", True),
        ("wmma.load.c.sync.aligned.row.m8n32k16.f16 {%r0,%r1,%r2,%r3}, [%from], 24;", False),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%to], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, 16;", True),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%to], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, 12;", False),
        ("wmma.store.d.sync.aligned.col.m16n16k16.f32 [%to], {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, 0;", False),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f16 [%to+16], {%r0,%r1,%r2,%r3};", True),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f16 [%to+8], {%r0,%r1,%r2,%r3};", False),
    ],
)  # fmt: skip
def test_what_is_asked_of_a_tile_in_memory(instruction: str, holds: bool, engine: Engine) -> None:
    loaded = ptxspec.load(f"{MOVED}{instruction}\nret;\n}}", "k.ptx")
    arrays = [np.zeros(4096, np.uint8) for _ in range(2)]
    if holds:
        loaded.launch("k", 1, 32, arrays, engine=engine)
        return
    with pytest.raises(ptxspec.LaunchError) as caught:
        loaded.launch("k", 1, 32, arrays, engine=engine)
    assert caught.value.rule == "tile in memory" and caught.value.where is not None and caught.value.where.line == 15


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tile_leaves_no_buffer(engine: Engine) -> None:
    loaded = ptxspec.load(SOUND, "k.ptx")
    with pytest.raises(ptxspec.LaunchError) as caught:
        loaded.launch("k", 1, 32, [np.zeros(256, np.float32), np.zeros(255, np.float32)], engine=engine)
    assert caught.value.rule == "out of bounds"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_warp_that_is_not_whole_waits_in_vain(engine: Engine) -> None:
    loaded = ptxspec.load(SOUND)
    with pytest.raises(ptxspec.LaunchError) as caught:
        loaded.launch("k", 1, 31, [np.zeros(256, np.float32), np.zeros(256, np.float32)], engine=engine)
    assert caught.value.rule == "stuck warp"


# against the chip ---------------------------------------------------------------------------------


def compared(every: int) -> None:
    if ANSWERS is None:
        pytest.skip("NO ORACLE: no GPU has answered the products of tiles yet")
    own = [form for form in ptxspec.forms("wmma") if form.removal is None][::every]
    count, differences = MATRICES.compare(own, ANSWERS)
    assert count > 5000 // every
    assert not differences, "\n".join(map(str, differences[:5]))


def test_some_recorded_answers_are_ours() -> None:
    compared(61)


@pytest.mark.long
def test_all_recorded_answers_are_ours() -> None:
    compared(1)
