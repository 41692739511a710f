"""Registers that all lanes of a warp have alike, and addresses that go from lane to lane in steps: in CTAs of any shape, of any steps,
results are those of NumPy and of the exact engine."""

from __future__ import annotations

import re

import numpy as np
import pytest
from launching import ENGINES, arguments, both, fault, kernel, text_of_turns
from test_warp_turns import STORE, WORDS, data

import ptxspec
from ptxspec.machine.native.uniform import constants, uniform

pytestmark = pytest.mark.sample(8)

#: a number for each thread of its CTA, at which it stores
NUMBER = """
    mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; mov.u32 %r12, %tid.z; mov.u32 %r13, %ntid.x; mov.u32 %r14, %ntid.y;
    mad.lo.u32 %r15, %r12, %r14, %r11; mad.lo.u32 %r15, %r15, %r13, %r10;
    mov.u32 %r16, %ntid.z; mul.lo.u32 %r16, %r16, %r14; mul.lo.u32 %r16, %r16, %r13; mov.u32 %r17, %ctaid.x;
    mad.lo.u32 %r18, %r17, %r16, %r15; mad.wide.u32 %rd1, %r18, 4, %rd0;
"""
BLOCKS = [
    (8, 8, 2),
    (4, 8, 4),
    (2, 16, 3),
    (16, 3, 2),
    (16, 1, 1),
    (8, 1, 1),
    (32, 2, 1),
    (5, 7, 1),
    (1, 4, 16),
    (64, 1, 1),
    (2, 2, 8),
]
#: what a thread's index is made of: steps along x, y and z
STEPS = [
    (1, 8, 64),
    (0, 1, 8),
    (7, 0, 3),
    (0, 0, 5),
    (40, 0, 0),
    (1, 50, 13),
    (-3, 24, 0),
    (2, 4, 8),
    (1, 1, 1),
    (0, 0, 0),
]


def grid_of(block: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The coordinates of the threads of a CTA, in their order."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in block[::-1]), indexing="ij")
    return x.reshape(-1), y.reshape(-1), z.reshape(-1)


@pytest.mark.parametrize("type", ["u32", "u8", "u64", "v2.u32", "v4.u32"])
@pytest.mark.parametrize("block", BLOCKS)
def test_loads_in_steps(block: tuple[int, int, int], type: str) -> None:
    """With a guard, too, that lets some lanes through."""
    size = {"u8": 1, "u32": 4, "u64": 8, "v2.u32": 8, "v4.u32": 16}[type]
    into = {"u64": "%rd5", "v2.u32": "{%r6, %r7}", "v4.u32": "{%r6, %r7, %r8, %r9}"}.get(type, "%r6")
    add = {"u64": "cvt.u32.u64 %r6, %rd5;", "v2.u32": "xor.b32 %r6, %r6, %r7;", "v4.u32": "sub.u32 %r6, %r6, %r9;"}.get(
        type, ""
    )
    memory = np.random.default_rng(3).integers(0, 256, 4096 * size, dtype=np.uint8)
    elements = memory.reshape(4096, size)
    x, y, z = grid_of(block)
    body, expected = NUMBER + "ld.param.u64 %rd4, [in]; mov.u32 %r4, 0;", np.zeros(len(x), np.uint64)
    for k, (i, j, m) in enumerate(STEPS):
        guard = "" if k % 3 else f"and.b32 %r5, %r15, {1 << k % 5}; setp.eq.u32 %p1, %r5, 0; @%p1 "
        body += f"""
            mul.lo.s32 %r5, %r10, {i}; mad.lo.s32 %r5, %r11, {j}, %r5; mad.lo.s32 %r5, %r12, {m}, %r5; add.s32 %r5, %r5, 200;
            mul.wide.s32 %rd2, %r5, {size}; add.u64 %rd2, %rd4, %rd2; mov.u32 %r6, 1; mov.u32 %r7, 2; mov.u32 %r9, 3; mov.u64 %rd5, 1;
            {guard}ld.global.{type} {into}, [%rd2]; {add} mad.lo.u32 %r4, %r4, 3, %r6;
        """
        held = elements[200 + i * x + j * y + m * z]
        words = held.copy().view(np.uint32).astype(np.uint64) if size > 1 else held.astype(np.uint64)
        if guard:
            through = (np.arange(len(x)) & 1 << k % 5) == 0
            other = {"v2.u32": [1, 2], "v4.u32": [1, 2, 2, 3]}.get(type, [1, 0][: words.shape[1]])
            words = np.where(through[:, None], words, np.array(other, np.uint64))
        value = {"v2.u32": lambda w: w[:, 0] ^ w[:, 1], "v4.u32": lambda w: w[:, 0] - w[:, 3]}.get(
            type, lambda w: w[:, 0]
        )(words)
        expected = (expected * np.uint64(3) + value) & np.uint64(0xFFFFFFFF)
    source = kernel(body + STORE, ".param .u64 out, .param .u64 in")
    out = both(source, [np.zeros(2 * len(x), np.uint32), memory], grid=2, block=block, schedule="warps")[0]
    assert (out.reshape(2, -1) == expected.astype(np.uint32)).all()


@pytest.mark.parametrize("type", ["u32", "u16", "v2.u32"])
@pytest.mark.parametrize("columns", [8, 16, 40, 3000, 1 << 16])
@pytest.mark.parametrize("block", [(8, 8, 2), (8, 4, 1), (16, 4, 1), (4, 8, 2)])
def test_stores_in_rows(block: tuple[int, int, int], columns: int, type: str) -> None:
    """Rows of a matrix, near one another or far; a launch that fails leaves what was there."""
    size = {"u32": 4, "u16": 2, "v2.u32": 8}[type]
    value = {"u16": "cvt.u16.u32 %h1, %r15;"}.get(type, "")
    stored = {"u16": "%h1", "v2.u32": "{%r15, %r5}"}.get(type, "%r15")
    x, y, z = grid_of(block)
    body = (
        NUMBER
        + f"""
        mad.lo.u32 %r5, %r12, {block[1]}, %r11; mad.lo.u32 %r5, %r5, {columns}, %r10; mul.wide.u32 %rd2, %r5, {size};
        add.u64 %rd2, %rd2, %rd0; {value} st.global.{type} [%rd2], {stored}; bar.sync 0;
    """
    )
    where = ((z * block[1] + y) * columns + x).astype(np.int64)
    before = np.random.default_rng(5).integers(0, 256, (int(where.max()) + 40) * size, dtype=np.uint8)
    expected = before.copy().view({4: np.uint32, 2: np.uint16, 8: np.uint64}[size])
    numbers = np.arange(len(x), dtype=np.uint64)
    expected[where] = numbers | where.astype(np.uint64) << np.uint64(32) if size == 8 else numbers
    out = both(kernel(body), [before.copy()], block=block, schedule="warps")[0]
    assert (out == expected.view(np.uint8)).all()
    for engine in ENGINES:
        given = arguments([before.copy()])
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            module = ptxspec.load(kernel(body + "st.global.u32 [%rd0+0x7fffff0], 7;"))
            module.launch("k", block=block, args=given, engine=engine, schedule="warps")
        assert (given[0] == before).all()


def test_lanes_beyond_the_last_thread_reach_nothing() -> None:
    """Sixteen threads, the last of which loads the last word: where a whole warp would go on, nothing is loaded."""
    body = (
        NUMBER
        + "ld.param.u64 %rd4, [in]; mul.wide.u32 %rd2, %r10, 400; add.u64 %rd4, %rd4, %rd2; ld.global.u32 %r4, [%rd4];"
        + STORE
    )
    values = np.arange(1501, dtype=np.uint32)
    source = kernel(body, ".param .u64 out, .param .u64 in")
    out = both(source, [np.zeros(16, np.uint32), values], block=16, schedule="warps")[0]
    assert (out == values[::100]).all()


# registers that all lanes have alike ------------------------------------------------------------------------------------

LOOP = (
    WORDS
    + "mov.u32 %r6, 0; L: mad.lo.u32 %r4, %r4, 5, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 9; @%p1 bra L;"
    + STORE
)
#: some lanes go back to the loop's beginning before the others have come to its end
GOES_BACK = (
    WORDS
    + "mov.u32 %r6, 0; L: add.u32 %r6, %r6, 1; mad.lo.u32 %r4, %r4, 3, %r6; and.b32 %r7, %r4, 3; setp.ge.u32 %p1, %r6, 9;"
    "@%p1 bra E; setp.lt.u32 %p2, %r7, 2; @%p2 bra L; add.u32 %r4, %r4, %r6; bra L; E: add.u32 %r4, %r4, %r6;" + STORE
)
AFTER_A_BARRIER = (
    WORDS
    + "mov.u32 %r6, 0; L: bar.sync 0; mad.lo.u32 %r4, %r4, 5, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 9; @%p1 bra L;"
    + STORE
)
GUARDED = (
    WORDS + "mov.u32 %r6, 3; mov.u32 %r7, %ctaid.x; setp.eq.u32 %p1, %r7, 1; @%p1 add.u32 %r6, %r6, 4; mov.u32 %r8, 5;"
    "setp.lt.u32 %p2, %r1, 9; @%p2 mov.u32 %r8, 6; mad.lo.u32 %r4, %r4, %r6, %r8;" + STORE
)
PARTS_OF_A_WARP = (
    WORDS
    + "mov.u32 %r6, 0; and.b32 %r7, %r1, 16; mov.u32 %r8, 0xffff; shl.b32 %r8, %r8, %r7; L: bar.warp.sync %r8; add.u32 %r6, %r6, 1;"
    "mad.lo.u32 %r4, %r4, 5, %r6; setp.lt.u32 %p1, %r6, 9; @%p1 bra L;" + STORE
)
ALIKE = {
    "a loop": (LOOP, {"%r6", "%p1"}),
    "a loop to whose beginning some lanes go back": (GOES_BACK, set()),
    "a loop with a barrier": (AFTER_A_BARRIER, {"%r6", "%p1"}),
    "instructions with guards": (GUARDED, {"%r6", "%r7", "%p1"}),
    "parts of a warp that meet": (PARTS_OF_A_WARP, set()),
}


@pytest.mark.parametrize("name", ALIKE)
def test_which_registers_lanes_have_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, alike = ALIKE[name]
    _, layout = text_of_turns(kernel(body), monkeypatch)
    named = {r for r in uniform(layout) if re.search(rf"{r}\b", body)} - {"%rd0", "%rd1", "%r0", "%r1"}
    assert alike <= named and not {"%r4"} & named
    assert {"%r6", "%r8"} & named == {"%r6", "%r8"} & alike
    assert constants(layout) <= uniform(layout)
    for block in (32, 48, 17):
        both(kernel(body), [data(3 * block)], block=block, grid=3, schedule="warps")


def test_a_loop_of_all_lanes_has_no_code_for_lanes_that_part(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = text_of_turns(kernel(LOOP), monkeypatch)
    assert "\napart." not in text
    text, _ = text_of_turns(kernel(GOES_BACK), monkeypatch)
    assert "\napart." in text


@pytest.mark.parametrize("access", ["ld.global.u32 %r4, [%rd2];", "st.global.u32 [%rd2], %r4;"])
def test_steps_whose_sum_goes_round(access: str) -> None:
    """Lanes are up to 2^64 - 2^61 bytes apart, and the sum of their steps is none: each lane is checked."""
    body = f"""{NUMBER} {WORDS} shl.b32 %r5, %r12, 1; add.u32 %r5, %r5, %r10; add.u32 %r5, %r5, %r11; cvt.u64.u32 %rd3, %r5;
        shl.b64 %rd3, %rd3, 61; add.u64 %rd2, %rd0, %rd3; {access} {STORE}"""
    for engine in ENGINES:
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            ptxspec.load(kernel(body)).launch("k", block=(4, 4, 2), args=[data(64)], engine=engine, schedule="warps")


#: indices of 32 bits that go round at their twelfth thread: the type, the first, and whether they go down
GO_ROUND = {
    "up, above the greatest": ("s32", (1 << 31) - 12, ""),
    "down, below the least": ("s32", 11 - (1 << 31), "neg.s32 %r5, %r5;"),
    "up, without a sign": ("u32", (1 << 32) - 12, ""),
    "down, without a sign": ("u32", 11, "neg.s32 %r5, %r5;"),
}


@pytest.mark.parametrize("access", ["ld.global.u32 %r4, [%rd2];", "st.global.u32 [%rd2], %r4;"])
@pytest.mark.parametrize("block", [(32, 1), (8, 4), (16, 3)])
@pytest.mark.parametrize("way", GO_ROUND)
def test_an_index_that_goes_round(way: str, block: tuple[int, int], access: str) -> None:
    """It becomes 64 bits wide, and leads out of the array; those of threads before do not."""
    type, first, down = GO_ROUND[way]
    body = f"""{NUMBER} mov.u32 %r4, %r15; mov.u32 %r5, %r15; {down} add.u32 %r5, %r5, {first & 0xFFFFFFFF};
        cvt.{type[0]}64.{type} %rd2, %r5; shl.b64 %rd2, %rd2, 2; add.u64 %rd2, %rd2, {4 * (64 - first) & (1 << 64) - 1}; add.u64 %rd2, %rd2, %rd0;
        setp.lt.u32 %p1, %r15, %r20; """
    rest = f"@%p1 {access} st.global.u32 [%rd1+1024], %r4;"
    for threads in (12, 13):
        source = kernel(body.replace("%r20", str(threads)) + rest)
        (both if threads == 12 else fault)(source, [data(512)], block=block, schedule="warps")
    source = kernel(body.replace("%r20", "64") + f"{access} st.global.u32 [%rd1+1024], %r4;")
    fault(source, [data(512)], block=block, schedule="warps")


MASKED = """.version 8.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 mask) {
    .reg .b32 %r<3>; .reg .b64 %rd<7>;
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [mask];
    mov.u32 %r0, %tid.y; cvt.u64.u32 %rd3, %r0; and.b64 %rd4, MASKED; shl.b64 %rd4, %rd4, 2; add.u64 %rd4, %rd1, %rd4;
    ld.global.u32 %r1, [%rd4];
    mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r0, 32, %r2; mad.wide.u32 %rd5, %r2, 4, %rd0; st.global.u32 [%rd5], %r1;
}"""


@pytest.mark.parametrize("masked", ["%rd3, %rd2", "%rd2, %rd3"])
@pytest.mark.parametrize("mask", [0, 1, 2, 5, 6, 7, 1 << 40])
def test_a_row_and_a_mask(masked: str, mask: int) -> None:
    """All lanes of a warp have the same row, and a mask that is no constant: what both have in common is another number than the
    row, though the row is smaller than the mask."""
    table, out = np.arange(100, 108, dtype=np.uint32), np.zeros((8, 32), np.uint32)
    for engine in ENGINES:
        out[...] = 0
        ptxspec.load(MASKED.replace("MASKED", masked)).launch(
            "k", block=(32, 8), args=[out, table, np.uint64(mask)], engine=engine, schedule="warps"
        )
        assert np.array_equal(out, np.repeat(table[np.arange(8) & mask], 32).reshape(8, 32))


@pytest.mark.parametrize("block", [(16, 16), (8, 8, 4), (32, 3), (12, 8), (100,)])
def test_how_a_warp_goes_on_is_noted_where_a_launch_begins(
    block: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn reads it, for CTAs of any shape."""
    source = kernel(f"{NUMBER} {WORDS} {STORE}")
    turns, layout = text_of_turns(source, monkeypatch)
    assert layout.steps_noted.keys() == {"%tid.x", "%tid.y", "%tid.z"}
    assert all(f"load <8 x i32>, ptr %special_{at}," in turns for at in layout.steps_noted.values())
    both(source, [data(512)], grid=2, block=block, schedule="warps")
