"""Warps that meet at barriers to count, to arrive, or to reduce; and what nvcc makes of reductions."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from launching import ENGINES, arguments, both, each, fault, kernel

from ptxspec_workshop.generate.fuzzing import layout, random_module

pytestmark = pytest.mark.sample(4)

#: %p0 = the bit of the thread's word of the second array
TWO = ".param .u64 out, .param .u64 in"
LOAD = """
    ld.param.u64 %rd2, [in];
    mad.wide.u32 %rd2, %r0, 4, %rd2;
    ld.global.u32 %r4, [%rd2];
    setp.ne.u32 %p0, %r4, 0;
"""


def bits(count: int, holding: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).permutation(count) < holding).astype(np.uint32)


# reductions at barriers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 50, 128])
@pytest.mark.parametrize("holding", [0, 1, 0.5, 1.0])
def test_reductions(block: int, holding: float) -> None:
    """Each operator, plain and negated, over CTAs of any size, several of them resident at once."""
    values = np.concatenate([bits(block, int(holding * block) if holding != 1 else 1, s) for s in range(3)])
    if holding == 1.0:
        values = np.ones(3 * block, np.uint32)
    body = """
        bar.red.popc.u32 %r5, 0, %p0;
        bar.red.popc.u32 %r6, 0, !%p0;
        barrier.red.and.pred %p1, 1, %p0;
        bar.red.or.pred %p2, 1, %p0;
        barrier.cta.red.and.aligned.pred %p3, 15, !%p0;
        mad.lo.u32 %r5, %r6, 1000, %r5;
        @%p1 add.u32 %r5, %r5, 1000000;
        @%p2 add.u32 %r5, %r5, 2000000;
        @%p3 add.u32 %r5, %r5, 4000000;
        st.global.u32 [%rd1], %r5;
    """
    out = both(kernel(LOAD + body, TWO), [np.zeros(3 * block, np.uint32), values], block=block, grid=3)[0]
    for cta, mine in zip(out.reshape(3, block), values.reshape(3, block).astype(bool), strict=True):
        count = int(mine.sum())
        flags = 1 * mine.all() + 2 * mine.any() + 4 * (not mine.any())
        assert cta.tolist() == [count + 1000 * (block - count) + 1000000 * int(flags)] * block


def test_a_reduction_in_a_loop_is_guarded_and_leaves_threads_behind() -> None:
    """Threads whose value has run out leave; those that stay count themselves each round."""
    values = np.random.default_rng(4).integers(0, 5, 96, dtype=np.uint32)
    body = """
        mov.u32 %r6, 0;
    ROUND:
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra DONE;
        bar.red.popc.u32 %r5, 3, 1;
        add.u32 %r6, %r6, %r5;
        sub.u32 %r4, %r4, 1;
        bra ROUND;
    DONE:
        st.global.u32 [%rd1], %r6;
        exit;
    """
    out = both(kernel(LOAD + body, TWO), [np.zeros(96, np.uint32), values], block=96)[0]
    assert out.tolist() == [sum(int((values > k).sum()) for k in range(v)) for v in values]


def test_reductions_of_parts_of_a_cta() -> None:
    """Pairs of warps, each pair at a barrier of its own; the number in a register."""
    values = bits(256, 77)
    body = """
        shr.u32 %r7, %r1, 6;
        mov.u32 %r8, 64;
        bar.red.popc.u32 %r5, %r7, %r8, %p0;
        barrier.red.or.pred %p1, %r7, 64, %p0;
        @%p1 add.u32 %r5, %r5, 1000;
        st.global.u32 [%rd1], %r5;
    """
    out = both(kernel(LOAD + body, TWO), [np.zeros(256, np.uint32), values], block=256)[0]
    sums = values.reshape(4, 64).sum(axis=1)
    assert out.tolist() == [int(s) + 1000 for s in sums for _ in range(64)]


# arriving --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [1, 40])
def test_a_ring_of_buffers(grid: int) -> None:
    """Warp 0 produces, warp 1 consumes: barriers 1 and 2 say that a buffer is full, 3 and 4 that it is empty."""
    body = """
        .shared .u32 cell[64];
        and.b32 %r5, %r1, 31;
        mov.u32 %r6, cell;
        mad.lo.u32 %r6, %r5, 4, %r6;
        mov.u32 %r7, 0;
        mov.u32 %r12, 0;
        setp.ge.u32 %p0, %r1, 32;
        @%p0 bra CONSUMER;
    PRODUCE:
        and.b32 %r8, %r7, 1;
        add.u32 %r9, %r8, 3;
        setp.ge.u32 %p1, %r7, 2;
        @%p1 bar.sync %r9, 64;
        mad.lo.u32 %r10, %r8, 128, %r6;
        mad.lo.u32 %r11, %r7, 100, %r5;
        add.u32 %r11, %r11, %r2;
        st.shared.u32 [%r10], %r11;
        add.u32 %r9, %r8, 1;
        bar.arrive %r9, 64;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, 6;
        @%p1 bra PRODUCE;
        ret;
    CONSUMER:
        and.b32 %r8, %r7, 1;
        add.u32 %r9, %r8, 1;
        bar.sync %r9, 64;
        mad.lo.u32 %r10, %r8, 128, %r6;
        ld.shared.u32 %r11, [%r10];
        mad.lo.u32 %r12, %r12, 3, %r11;
        add.u32 %r9, %r8, 3;
        barrier.arrive %r9, 64;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, 6;
        @%p1 bra CONSUMER;
        st.global.u32 [%rd1], %r12;
    """
    out = both(kernel(body), [np.zeros(64 * grid, np.uint32)], block=64, grid=grid)[0].reshape(grid, 64)
    wanted = np.zeros((grid, 32), np.uint64)
    for i in range(6):
        wanted = wanted * 3 + i * 100 + np.arange(32) + np.arange(grid)[:, None]
    assert np.array_equal(out[:, 32:], wanted.astype(np.uint32)) and not out[:, :32].any()


def test_a_mark_outlives_its_thread() -> None:
    """Two warps arrive and end before the third comes; one that has ended is not counted twice."""
    body = """
        setp.ge.u32 %p0, %r1, 64;
        @%p0 bra LATE;
        setp.lt.u32 %p1, %r1, 7;
        @%p1 exit;
        bar.arrive 1, 96;
        ret;
    LATE:
        mov.u32 %r5, 0;
    COUNT:
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 50;
        @%p1 bra COUNT;
        bar.sync 1, 96;
        st.global.u32 [%rd1], %r5;
    """
    assert both(kernel(body), [np.zeros(96, np.uint32)], block=96)[0].tolist() == [0] * 64 + [50] * 32


def test_only_marks_are_left() -> None:
    """A launch ends though nobody came to the barrier at which others left their marks."""
    assert (
        both(kernel("st.global.u32 [%rd1], 1; bar.arrive 5, 64;"), [np.zeros(40, np.uint32)], block=40)[0].sum() == 40
    )


def test_arrivals_are_counted_in_their_order() -> None:
    """Of three warps at a barrier for two, the third begins it anew, for a warp that comes later."""
    body = """
        shr.u32 %r5, %r1, 5;
        setp.lt.u32 %p0, %r5, 3;
        @%p0 bra COME;
        mov.u32 %r6, 0;
    COUNT:
        add.u32 %r6, %r6, 1;
        setp.lt.u32 %p1, %r6, 50;
        @%p1 bra COUNT;
    COME:
        and.b32 %r7, %r1, 1;
        setp.ne.u32 %p2, %r7, 0;
        setp.eq.or.u32 %p2, %r5, 0, %p2;
        bar.red.popc.u32 %r8, 1, 64, %p2;
        st.global.u32 [%rd1], %r8;
    """
    assert both(kernel(body), [np.zeros(128, np.uint32)], block=128)[0].tolist() == [48] * 64 + [32] * 64


@pytest.mark.parametrize(("block", "count"), [(20, 32), (50, 64), (33, 64), (1, 32)])
def test_a_number_of_threads_where_the_last_warp_is_not_full(block: int, count: int) -> None:
    """The threads that a warp lacks come with it, also if they have ended."""
    body = f"""
        .shared .u32 cell;
        setp.eq.u32 %p0, %r1, 0;
        @%p0 st.shared.u32 [cell], 9;
        bar.sync 1, {count};
        ld.shared.u32 %r5, [cell];
        st.global.u32 [%rd1], %r5;
        @!%p0 exit;
        bar.red.popc.u32 %r5, 2, 32, 1;
        st.global.u32 [%rd1], %r5;
    """
    assert both(kernel(body), [np.zeros(block, np.uint32)], block=block)[0].tolist() == [1] + [9] * (block - 1)


# what goes wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "threads", "rule", "thread", "instruction"),
    [
        ("bar.sync 1, 64;", 96, "stuck barrier", 64, "bar.sync 1, 64;"),
        ("setp.lt.u32 %p0, %r1, 32; @%p0 bar.arrive 1, 64; @%p0 bar.arrive 1, 64;"
         + "@!%p0 bar.warp.sync -1;" * 3 + "@!%p0 bar.sync 1, 64;", 64,
         "stuck barrier", 32, "bar.sync 1, 64;"),
        ("mov.u32 %r5, 33; bar.arrive 1, %r5;", 64, "barrier count", 0, "bar.arrive 1, %r5;"),
        ("mov.u32 %r5, 16; bar.arrive %r5, 64;", 64, "barrier number", 0, "bar.arrive %r5, 64;"),
        ("setp.lt.u32 %p0, %r1, 32; @%p0 bar.arrive 1, 64; @!%p0 bar.red.and.pred %p1, 1, 64, %p0;", 64,
         "barrier kinds differ", None, None),
        ("setp.lt.u32 %p0, %r1, 32; @%p0 bar.arrive 1, 64; @!%p0 bar.sync 1, 96;", 64, "barrier counts differ", None, None),
        ("setp.lt.u32 %p0, %r1, 32; @%p0 bar.red.popc.u32 %r5, 2, 1; @!%p0 bar.sync 2;", 64, "barrier kinds differ", None,
         None),
        ("mov.u32 %r5, -1; bar.red.popc.u32 %r5, %r5, 1;", 5, "barrier number", 0, "bar.red.popc.u32 %r5, %r5, 1;"),
    ],
)  # fmt: skip
def test_broken_rules(body: str, threads: int, rule: str, thread: int | None, instruction: str | None) -> None:
    """Both engines name one thread, the instruction at which it waits, and the page; the arrays are as they were."""
    error = fault(kernel("st.global.u32 [%rd1], 99;" + body), [np.arange(threads, dtype=np.uint32)], block=threads)
    assert error.rule == rule
    assert error.where is not None and error.page is not None
    assert error.page.startswith("spec/machine/barriers.md:")
    if thread is not None:
        assert error.where.thread == (thread, 0, 0)
        assert error.where.instruction == instruction


# programs of CUDA --------------------------------------------------------------------------------------------------------

PROGRAMS = (Path(__file__).parent / "programs" / "warps.ptx").read_text()


@pytest.mark.parametrize(("grid", "block", "count"), [(3, 96, 1000), (1, 1024, 5000), (9, 256, 300)])
def test_sums_of_blocks(grid: int, block: int, count: int) -> None:
    """The sum of integers in single precision, in any order exact."""
    values = np.random.default_rng(count).integers(-1000, 1000, count).astype(np.float32)
    out = both(PROGRAMS, [values, np.zeros(grid, np.float32), np.int32(count)], "block_sums", grid=grid, block=block)[1]
    padded = np.zeros(-(-count // (grid * block)) * grid * block, np.float32)
    padded[:count] = values
    assert np.array_equal(out, padded.reshape(-1, grid, block).sum(axis=(0, 2)))


@pytest.mark.parametrize(("grid", "block", "count"), [(2, 64, 128), (3, 80, 205)])
def test_ranks(grid: int, block: int, count: int) -> None:
    keys = np.random.default_rng(block).integers(0, 12, count, dtype=np.uint32)
    out = both(PROGRAMS, [keys, np.zeros(count, np.uint32), np.int32(count)], "ranks", grid=grid, block=block)[1]
    for first in range(0, count, block):
        cta = keys[first : first + block]
        many = int((cta < 3).sum())
        for start in range(0, len(cta), 32):
            warp = cta[start : start + 32]
            for lane, own in enumerate(warp):
                same = warp == own
                rank = int(same[:lane].sum()) | int(same.sum()) << 8 | int((warp == 0).any()) << 16 | many << 20
                assert out[first + start + lane] == rank


@pytest.mark.parametrize("engine", ENGINES)
def test_the_next_launch_begins_without_marks(engine: str) -> None:
    """What waits and what was marked belongs to one batch of one launch."""
    source = kernel("""
        setp.ge.u32 %p0, %r2, 70;
        @%p0 bra LATE;
        bar.arrive 1, 64;
        ret;
    LATE:
        bar.sync 1, 32;
        st.global.u32 [%rd1], 1;
    """)
    module = dict(each(source))[engine]
    for _ in range(2):
        (out,) = arguments([np.zeros(32 * 80, np.uint32)])
        module.launch("k", 80, 32, [out], engine=engine)
        assert out.tolist() == [0] * 32 * 70 + [1] * 320


# functions and random modules -------------------------------------------------------------------------------------------


def test_threads_meet_in_functions() -> None:
    """A function that two branches call: lanes meet in it, each under the mask of its branch, and warps at a barrier."""
    module = """
    .func (.reg .u32 sum) together(.reg .u32 value, .reg .u32 mask)
    {
        .reg .u32 %t;
        redux.sync.add.u32 sum, value, mask;
        bar.warp.sync mask;
        shfl.sync.idx.b32 %t, sum, 3, 31, mask;
        add.u32 sum, sum, %t;
        ret;
    }
    """
    body = """
        setp.lt.u32 %p0, %r1, 40;
        vote.sync.ballot.b32 %r5, %p0, -1;
        @!%p0 bra HIGH;
        call (%r6), together, (%r1, %r5);
        bra JOIN;
    HIGH:
        not.b32 %r5, %r5;
        mov.u32 %r7, 1;
        call (%r6), together, (%r7, %r5);
    JOIN:
        bar.red.popc.u32 %r8, 0, %p0;
        mad.lo.u32 %r6, %r8, 10000, %r6;
        st.global.u32 [%rd1], %r6;
    """
    out = both(kernel(body, module=module), [np.zeros(64, np.uint32)], block=64)[0].tolist()
    first, low = 2 * sum(range(32)), 2 * sum(range(32, 40))
    # lane 3 takes no part in the second group of the second warp; both groups come to the instruction at the same time, so that
    # the 24 lanes take what it gives the first one (AMB-090)
    assert out == [400000 + v for v in [first] * 32 + [low] * 8 + [24 + low // 2] * 24]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.slow
def test_random_meetings(seed: int) -> None:
    """Both engines agree; no program gets stuck."""
    block, grid = random.Random(seed).choice([(32, 2), (50, 2), (7, 3), (96, 1)])
    kinds = ("meetings_of_ballots", "plain", "barriers", "exchange")
    text = random_module.RandomModule(seed, kinds[:1], kinds).text()
    rows = np.zeros((block * grid, layout.CELLS), np.uint64)
    out = both(text, [layout.inputs(seed), rows, bytes(64)], block=block, grid=grid)[1]
    assert len(np.unique(out, axis=0)) > 1
