"""Accesses of warps that have rows of a block of two dimensions, where some lanes act, and some have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import both, text, text_of_turns

import ptxspec
from ptxspec.terms.native import has_masked_stores

pytestmark = pytest.mark.sample(8)

#: a thread (x, y) acts whose bit is set in the word y of `masks`; its element has the number `first + y * pitch + x`, or is the same
#: for all of a row
PLACE = """
    ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [masks]; ld.param.s32 %r9, [pitch]; ld.param.s32 %r10, [first];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r3, [%rd1];
    shr.u32 %r3, %r3, %r1; and.b32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0;
    mad.lo.s32 %r4, %r2, %r9, %r10; add.s32 %r5, %r4, %r1; mul.wide.s32 %rd3, %r5, SIZE; add.s64 %rd3, %rd3, %rd0;
    mul.wide.s32 %rd4, %r4, SIZE; add.s64 %rd4, %rd4, %rd0;
"""
PARAMETERS = ".param .u64 out, .param .u64 masks, .param .s32 pitch, .param .s32 first"
#: by the type of the elements, what adds the number of the row to an element, which a guard may precede
ADDS: dict[str, tuple[int, Callable[[str], str]]] = {
    "u8": (1, lambda g: f"{g} ld.global.u8 %r6, [%rd3]; add.u32 %r6, %r6, %r2; {g} st.global.u8 [%rd3], %r6;"),
    "u16": (2, lambda g: f"{g} ld.global.u16 %r6, [%rd3]; add.u32 %r6, %r6, %r2; {g} st.global.u16 [%rd3], %r6;"),
    "u32": (4, lambda g: f"{g} ld.global.u32 %r6, [%rd3]; add.u32 %r6, %r6, %r2; {g} st.global.u32 [%rd3], %r6;"),
    "u64": (
        8,
        lambda g: (
            f"cvt.u64.u32 %rd5, %r2; {g} ld.global.u64 %rd6, [%rd3]; add.u64 %rd6, %rd6, %rd5; {g} st.global.u64 [%rd3], %rd6;"
        ),
    ),
    "v2.u32": (
        8,
        lambda g: (
            f"{g} ld.global.v2.u32 {{%r6, %r7}}, [%rd3]; add.u32 %r6, %r6, %r2; {g} st.global.v2.u32 [%rd3], {{%r6, %r7}};"
        ),
    ),
    "alike": (
        4,
        lambda g: (
            f"{g} ld.global.u32 %r7, [%rd4]; {g} ld.global.u32 %r6, [%rd3]; bar.warp.sync -1; add.u32 %r6, %r6, %r7; {g} st.global.u32 [%rd3], %r6;"
        ),
    ),
}
MASKS = {
    "all": lambda: np.full(16, 0xFFFF, np.uint32),
    "none": lambda: np.zeros(16, np.uint32),
    "all but one of each row": lambda: np.full(16, 0xFFFF ^ 1 << 5, np.uint32),
    "all but one row": lambda: np.array([0xFFFF * (k != 4) for k in range(16)], np.uint32),
    "some": lambda: np.random.default_rng(3).integers(0, 1 << 16, 16, dtype=np.uint32),
}
#: how those that do not act are kept from that
WAYS = {
    "by a guard": lambda body: body("@%p1"),
    "by a branch": lambda body: f"@!%p1 bra E; {body('')} E:",
    "by a branch around": lambda body: f"@%p1 bra A; bra E; A: {body('')} E:",
    "by an exit": lambda body: f"@!%p1 exit; {body('')}",
}


def source(kind: str, way: str, behind: str = "") -> str:
    size, body = ADDS[kind]
    return text(PLACE.replace("SIZE", str(size)) + WAYS[way](body) + behind + " ret;", PARAMETERS)


def given(kind: str, masks: str, pitch: int, first: int, count: int) -> list[Any]:
    out = np.random.default_rng(1).integers(0, 256, ADDS[kind][0] * count, dtype=np.uint8)
    return [out, MASKS[masks](), np.int32(pitch), np.int32(first)]


@pytest.mark.sample(8, lambda kind, way: [way])
@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind in ADDS for way in WAYS if kind != "alike" or way == "by a guard"]
)
def test_lanes_that_act_do_what_they_do_alone(kind: str, way: str) -> None:
    """Whatever the distance of the rows, downwards too, and where others that do not act would be beyond the array."""
    for masks in MASKS:
        for pitch, first, count in ((16, 0, 256), (40, 3, 700), (-16, 240, 256), (2000, 0, 32_000)):
            both(source(kind, way), given(kind, masks, pitch, first, count), block=(16, 16), schedule="warps")
    short = given(kind, "none", 16, -64, 192)  # the rows 0 to 3 are not there
    short[1] = np.array([0xFFFF * (k > 3) for k in range(16)], np.uint32)
    both(source(kind, way), short, block=(16, 16), schedule="warps")


@pytest.mark.parametrize("kind", ADDS)
def test_a_row_beyond_the_array_is_found(kind: str) -> None:
    """And nothing of the launch stays."""
    for count in (255, 250, 100):
        arrays = given(kind, "all", 16, 0, count)
        before = arrays[0].copy()
        for engine in ("native", "exact"):
            with pytest.raises(ptxspec.LaunchError, match="past the end of argument 0"):
                ptxspec.load(source(kind, "by a guard")).launch(
                    "k", 1, (16, 16), arrays, engine=engine, schedule="warps"
                )
            assert (arrays[0] == before).all()


@pytest.mark.parametrize("way", ["by a branch", "by an exit"])
@pytest.mark.parametrize("block", [(16, 16), (8, 8), (5, 7), (48, 2)])
def test_lanes_that_end_before_others_wait(way: str, block: tuple[int, int]) -> None:
    """Those that go on meet at a barrier, and none waits for those that have ended; what is counted is the same under both engines."""
    _, body = ADDS["u32"]
    meets = lambda guard: body(guard) + " bar.sync 0; ld.global.u32 %r8, [%rd3]; st.global.u32 [%rd3], %r8;"  # noqa: E731
    program = text(PLACE.replace("SIZE", "4") + WAYS[way](meets) + " ret;", PARAMETERS)
    for masks in MASKS:
        out, words, *numbers = given("u32", masks, block[0], 0, 256)
        results = []
        for engine in ("native", "exact"):
            arrays = [out.copy(), np.resize(words | words << np.uint32(16), 16), *numbers]
            steps = ptxspec.load(program).launch("k", 2, block, arrays, engine=engine, schedule="warps").steps
            results.append((steps, arrays[0].tolist()))
        assert results[0] == results[1]


@pytest.mark.parametrize(
    "block", [(16, 3), (32, 2), (20, 4), (16, 1), (7, 9), (100, 1), (4, 4, 8), (16, 2, 3), (96, 2)]
)
def test_where_threads_stand(block: tuple[int, ...]) -> None:
    """What a warp takes for how its special registers go on is right in CTAs of any shape, one after the other."""
    body = """
        ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
        mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mov.u32 %r7, %laneid; mul.wide.u32 %rd1, %r6, 4;
        add.u64 %rd1, %rd1, %rd0; mad.lo.u32 %r8, %r7, 1000, %r6; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd0;
        ld.global.u32 %r9, [%rd2+4096]; add.u32 %r8, %r8, %r9; st.global.u32 [%rd1], %r8; ret;
    """
    threads = int(np.prod(block))
    module = ptxspec.load(text(body))
    for shape in (block, (threads,), block):
        array = np.zeros(2048, np.uint32)
        array[1024:] = 7 * np.arange(1024)
        module.launch("k", 1, shape, [array], schedule="warps")
        numbers = np.arange(threads)
        assert (array[:threads] == numbers % 32 * 1000 + numbers + 7 * (numbers % shape[0])).all()


def test_rows_are_accessed_together_by_the_lanes_that_have_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that go to the end of the kernel part from nobody; and no function of one lane or of scattered lanes comes first."""
    turns, _ = text_of_turns(source("u32", "by a branch"), monkeypatch)
    assert "apart." not in turns
    assert "apart." in text_of_turns(source("u32", "by a branch", "st.global.u32 [%rd1], 1;"), monkeypatch)[0]
    tried = [
        line.split("@")[1].split("_")[0]
        for line in turns[turns.index("@warp(") :].splitlines()
        if "_" in line and "call {i1" in line
    ]
    assert tried[:3] == ["eights", "near", "eights"]
    if has_masked_stores():
        assert "call void @llvm.masked.store.v8i32.p0" in turns
