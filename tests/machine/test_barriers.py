"""Barriers: numbered, counted, with threads that leave before them; and the ways in which they go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES, both, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)


def test_a_reduction() -> None:
    source = kernel("""
        .shared .u32 part[256];
        mov.u32 %r4, part;
        mad.lo.u32 %r4, %r1, 4, %r4;
        mul.lo.u32 %r5, %r0, %r0;
        st.shared.u32 [%r4], %r5;
        shr.u32 %r6, %r3, 1;
    HALVE:
        bar.sync 0;
        setp.ge.u32 %p0, %r1, %r6;
        @%p0 bra SKIP;
        mad.lo.u32 %r7, %r6, 4, %r4;
        ld.shared.u32 %r8, [%r7];
        ld.shared.u32 %r9, [%r4];
        add.u32 %r9, %r8, %r9;
        st.shared.u32 [%r4], %r9;
    SKIP:
        shr.u32 %r6, %r6, 1;
        setp.ne.u32 %p1, %r6, 0;
        @%p1 bra HALVE;
        setp.ne.u32 %p0, %r1, 0;
        @%p0 ret;
        mad.wide.u32 %rd1, %r2, 4, %rd0;
        st.global.u32 [%rd1], %r9;
    """)
    out = both(source, [np.zeros(7, np.uint32)], block=128, grid=7)[0]
    squares = np.arange(7 * 128, dtype=np.uint64) ** 2
    assert np.array_equal(out, squares.reshape(7, 128).sum(axis=1).astype(np.uint32))


@pytest.mark.parametrize("threads", [1, 31, 33, 100, 1024])
def test_neighbours_exchange(threads: int) -> None:
    """The last warp need not be full."""
    source = kernel("""
        .shared .u32 cell[1024];
        mov.u32 %r4, cell;
        mad.lo.u32 %r5, %r1, 4, %r4;
        mov.u32 %r6, %r0;
        mov.u32 %r7, 0;
    ROUND:
        st.shared.u32 [%r5], %r6;
        bar.sync 0;
        add.u32 %r8, %r1, 1;
        rem.u32 %r8, %r8, %r3;
        mad.lo.u32 %r8, %r8, 4, %r4;
        ld.shared.u32 %r6, [%r8];
        bar.sync 0;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p0, %r7, 3;
        @%p0 bra ROUND;
        st.global.u32 [%rd1], %r6;
    """)
    out = both(source, [np.zeros(threads * 2, np.uint32)], block=threads, grid=2)[0].reshape(2, threads)
    expected = np.roll(np.arange(threads * 2).reshape(2, threads), -3, axis=1)
    assert np.array_equal(out, expected)


def test_threads_that_have_ended_are_not_waited_for() -> None:
    source = kernel("""
        .shared .u32 cell;
        setp.ge.u32 %p0, %r1, 40;
        @%p0 exit;
        setp.eq.u32 %p1, %r1, 39;
        @%p1 st.shared.u32 [cell], 5;
        bar.sync 0;
        ld.shared.u32 %r4, [cell];
        st.global.u32 [%rd1], %r4;
        setp.lt.u32 %p0, %r1, 20;
        @%p0 exit;
        @%p1 st.shared.u32 [cell], 6;
        bar.sync 0;
        ld.shared.u32 %r4, [cell];
        st.global.u32 [%rd1], %r4;
    """)
    out = both(source, [np.zeros(70, np.uint32)], block=70)[0]
    assert out.tolist() == [5] * 20 + [6] * 20 + [0] * 30


def test_everybody_leaves_but_one() -> None:
    source = kernel("""
        setp.ne.u32 %p0, %r1, 63;
        @%p0 ret;
        bar.sync 0;
        bar.sync 15;
        st.global.u32 [%rd0], 1;
    """)
    assert both(source, [np.zeros(1, np.uint32)], block=64)[0].tolist() == [1]


def test_one_barrier_reached_at_different_places() -> None:
    """Threads at two instructions that name one barrier meet there."""
    source = kernel("""
        .shared .u32 cell[2];
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra EVEN;
        st.shared.u32 [cell], 7;
        barrier.sync 3;
        ld.shared.u32 %r5, [cell+4];
        bra JOIN;
    EVEN:
        st.shared.u32 [cell+4], 8;
        mov.u32 %r6, 3;
        barrier.sync %r6;
        ld.shared.u32 %r5, [cell];
    JOIN:
        st.global.u32 [%rd1], %r5;
    """)
    assert both(source, [np.zeros(64, np.uint32)], block=64)[0].tolist() == [7, 8] * 32


@pytest.mark.parametrize("count", ["", ", 64", ", %r9"])
def test_producers_and_consumers(count: str) -> None:
    """Two warps, two barriers; the number of threads absent, a constant, or in a register."""
    source = kernel(f"""
        .shared .u32 cell[32];
        mov.u32 %r9, 64;
        mov.u32 %r4, cell;
        and.b32 %r5, %r1, 31;
        mad.lo.u32 %r4, %r5, 4, %r4;
        mov.u32 %r7, 0;
        setp.ge.u32 %p0, %r1, 32;
        @%p0 bra CONSUME;
    PRODUCE:
        mad.lo.u32 %r6, %r7, 100, %r5;
        st.shared.u32 [%r4], %r6;
        bar.sync 1{count};
        bar.sync 2{count};
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, 4;
        @%p1 bra PRODUCE;
        ret;
    CONSUME:
        bar.sync 1{count};
        ld.shared.u32 %r6, [%r4];
        add.u32 %r8, %r8, %r6;
        bar.sync 2{count};
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, 4;
        @%p1 bra CONSUME;
        mad.wide.u32 %rd1, %r5, 4, %rd0;
        st.global.u32 [%rd1], %r8;
    """)
    out = both(source, [np.zeros(32, np.uint32)], block=64)[0]
    assert out.tolist() == [600 + 4 * i for i in range(32)]


def test_part_of_a_cta() -> None:
    """A barrier that counts 64 threads lets two of three warps go on while the third waits elsewhere."""
    source = kernel("""
        .shared .u32 cell;
        setp.ge.u32 %p0, %r1, 64;
        @%p0 bra LAST;
        setp.eq.u32 %p1, %r1, 5;
        @%p1 st.shared.u32 [cell], 11;
        bar.sync 4, 64;
        ld.shared.u32 %r4, [cell];
    LAST:
        bar.sync 0;
        ld.shared.u32 %r5, [cell];
        mad.lo.u32 %r4, %r4, 100, %r5;
        st.global.u32 [%rd1], %r4;
    """)
    out = both(source, [np.zeros(96, np.uint32)], block=96, grid=1)[0]
    assert out.tolist() == [1111] * 64 + [11] * 32


def test_all_sixteen() -> None:
    body = "".join(f"mov.u32 %r5, {i}; bar.sync %r5; add.u32 %r6, %r6, %r5;\n" for i in range(16))
    out = both(kernel(body + "st.global.u32 [%rd1], %r6;"), [np.zeros(40, np.uint32)], block=40)[0]
    assert out.tolist() == [120] * 40


def test_a_guarded_barrier() -> None:
    """Whole warps whose guard is false pass it by."""
    source = kernel(
        """
        setp.lt.u32 %p0, %r1, 32;
        @%p0 bar.sync 1, 32;
        @!%p0 bar.sync 2, %r3;
        st.global.u32 [%rd1], 1;
        @%p0 ret;
        st.global.u32 [%rd1], 2;
    """.replace("%r3", "32")
    )
    assert both(source, [np.zeros(64, np.uint32)], block=64)[0].tolist() == [1] * 32 + [2] * 32


def test_a_barrier_ends_the_kernel() -> None:
    assert both(text("bar.sync 0;"), [np.zeros(1, np.uint32)], block=65)[0].tolist() == [0]


# what goes wrong -----------------------------------------------------------------------------------------------------


WAIT = "\n    st.global.u32 [%rd1], 99;\n"


@pytest.mark.parametrize(
    ("body", "threads", "rule", "thread", "instruction"),
    [
        ("mov.u32 %r9, 16; bar.sync %r9;", 3, "barrier number", 0, "bar.sync %r9;"),
        ("mov.u32 %r9, -1; bar.sync %r9;", 3, "barrier number", 0, "bar.sync %r9;"),
        ("add.u32 %r9, %r1, 13; bar.sync %r9;", 5, "barrier number", 3, "bar.sync %r9;"),
        ("bar.sync 0, 0;", 3, "barrier count", 0, "bar.sync 0, 0;"),
        ("mov.u32 %r9, 33; bar.sync 0, %r9;", 64, "barrier count", 0, "bar.sync 0, %r9;"),
        ("mov.u32 %r9, -32; bar.sync 0, %r9;", 64, "stuck barrier", 0, "bar.sync 0, %r9;"),
        ("setp.lt.u32 %p0, %r1, 32; selp.u32 %r9, 64, 32, %p0; bar.sync 0, %r9;", 64, "barrier counts differ", 32,
         "bar.sync 0, %r9;"),
        ("setp.lt.u32 %p0, %r1, 32; selp.u32 %r9, 32, 64, %p0; bar.sync 0, %r9;", 64, "stuck barrier", 32,
         "bar.sync 0, %r9;"),  # the first 32 complete it
        ("setp.lt.u32 %p0, %r1, 32; @%p0 bar.sync 0; @!%p0 bar.sync 0, 64;", 64, "barrier counts differ", None, None),
        ("setp.lt.u32 %p0, %r1, 2; @%p0 barrier.sync 1; @!%p0 barrier.sync 2;", 4, "stuck barrier", None, None),
        ("bar.sync 5, 64;", 32, "stuck barrier", 0, "bar.sync 5, 64;"),
        ("setp.ge.u32 %p0, %r1, 32; @%p0 exit; bar.sync 5, 64;", 64, "stuck barrier", 0, "bar.sync 5, 64;"),
    ],
)  # fmt: skip
def test_broken_rules(body: str, threads: int, rule: str, thread: int | None, instruction: str | None) -> None:
    """Both engines name one thread, the instruction at which it waits, and the page; the arrays are as they were."""
    error = fault(kernel(WAIT + body), [np.arange(threads, dtype=np.uint32)], block=threads)
    assert error.rule == rule
    assert error.where is not None and error.where.cta == (0, 0, 0)
    assert error.page is not None and error.page.startswith("spec/machine/barriers.md:")
    assert error.address is None
    if thread is not None:
        assert error.where.thread == (thread, 0, 0)
        assert error.where.instruction == instruction


def test_what_is_said_of_a_stuck_barrier() -> None:
    """How many wait where, how many have ended."""
    source = kernel("""
        setp.eq.u32 %p0, %r1, 9;
        @%p0 exit;
        setp.lt.u32 %p1, %r1, 4;
        @%p1 bra FEW;
        barrier.sync 2;
        ret;
    FEW:
        barrier.sync 1;
    """)
    error = fault(source, [np.zeros(20, np.uint32)], block=10, grid=2)
    assert error.rule == "stuck barrier"
    assert "4 threads" in error.note and "5 threads" in error.note and "1 threads" in error.note
    assert "for 9" in error.note and "have ended" in error.note


def test_a_stuck_barrier_in_a_later_cta() -> None:
    """After many CTAs that went well; their writes are undone too."""
    source = kernel("""
        st.global.u32 [%rd1], 5;
        setp.eq.u32 %p0, %r2, 77;
        @!%p0 bra FINE;
        setp.eq.u32 %p1, %r1, 1;
        @%p1 bra FINE;
        barrier.sync 1, 64;
    FINE:
        barrier.sync 0;
    """)
    error = fault(source, [np.zeros(33 * 80, np.uint32)], block=33, grid=80)
    assert error.rule == "stuck barrier"
    assert error.where is not None and error.where.cta == (77, 0, 0)


# progress while others wait ------------------------------------------------------------------------------------------


SPIN_IN_CTA = kernel("""
    .shared .u32 flag;
    setp.ge.u32 %p0, %r1, 64;
    @%p0 bra SPIN;
    bar.sync 1, 64;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.volatile.shared.u32 [flag], 1;
    ret;
SPIN:
    ld.volatile.shared.u32 %r4, [flag];
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra SPIN;
    st.global.u32 [%rd0], 5;
""")

SPIN_IN_GRID = kernel("""
    setp.ne.u32 %p0, %r2, 0;
    @%p0 bra SPIN;
    bar.sync 0;
    st.volatile.global.u32 [%rd0], 5;
    ret;
SPIN:
    ld.volatile.global.u32 %r4, [%rd0];
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra SPIN;
""")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("source", "grid", "block"), [(SPIN_IN_CTA, 1, 65), (SPIN_IN_GRID, 2, 1)], ids=["CTA", "grid"])
def test_a_complete_barrier_lets_go_while_another_thread_spins(source: str, grid: int, block: int, engine: str) -> None:
    """A thread may wait for a flag that another sets behind a barrier at which all that take part have arrived."""
    out = np.zeros(1, np.uint32)
    ptxspec.load(source).launch("k", grid, block, [out], engine=engine, step_limit=300_000)
    assert out.tolist() == [5]
