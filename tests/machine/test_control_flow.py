"""Threads that part and meet: branches, loops, exits, flow graphs without structure; and the order of the blocks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from launching import both, kernel, text

pytestmark = pytest.mark.sample(4)

DIVERGENCE = importlib.import_module("ptxspec.spec.machine.divergence")
SCHEDULE = importlib.import_module("ptxspec.spec.machine.schedule")


def words(source: str, threads: int, **how: Any) -> list[int]:
    """What each thread of one CTA, or of `grid` CTAs, left in its word of `out`; 0xdead where it wrote nothing."""
    grid = how.get("grid", 1)
    out = np.full(threads * grid, 0xDEAD, np.uint32)
    return both(source, [out], block=threads, **how)[0].tolist()


def test_if_and_else() -> None:
    source = kernel("""
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra EVEN;
        mul.lo.u32 %r5, %r1, 100;
        bra JOIN;
    EVEN:
        add.u32 %r5, %r1, 7;
    JOIN:
        add.u32 %r5, %r5, 1;
        st.global.u32 [%rd1], %r5;
    """)
    assert words(source, 70) == [t * 100 + 1 if t % 2 else t + 8 for t in range(70)]


def test_if_in_if_in_if() -> None:
    source = kernel("""
        mov.u32 %r9, 0;
        and.b32 %r4, %r1, 1;  setp.ne.u32 %p0, %r4, 0;
        and.b32 %r4, %r1, 2;  setp.ne.u32 %p1, %r4, 0;
        and.b32 %r4, %r1, 4;  setp.ne.u32 %p2, %r4, 0;
        @!%p0 bra A;
            add.u32 %r9, %r9, 1;
            @!%p1 bra B;
                add.u32 %r9, %r9, 10;
                @!%p2 bra C;
                    add.u32 %r9, %r9, 100;
                C:
                add.u32 %r9, %r9, 1000;
            B:
            add.u32 %r9, %r9, 10000;
        A:
        st.global.u32 [%rd1], %r9;
    """)

    def expected(t: int) -> int:
        if not t & 1:
            return 0
        if not t & 2:
            return 10001
        return 11111 if t & 4 else 11011

    assert words(source, 33) == [expected(t) for t in range(33)]


@pytest.mark.parametrize("leave", ["ret", "exit", "ret.uni"])
@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100])
def test_threads_that_leave_early(leave: str, threads: int) -> None:
    source = kernel(f"""
        setp.ge.u32 %p0, %r1, 20;
        @%p0 {leave};
        st.global.u32 [%rd1], %r1;
        setp.lt.u32 %p1, %r1, 5;
        @!%p1 {leave};
        st.global.u32 [%rd1], 77;
    """)
    assert words(source, threads) == [77 if t < 5 else t if t < 20 else 0xDEAD for t in range(threads)]


def test_an_exit_amid_a_line_of_instructions() -> None:
    """What stands after a guarded exit belongs to those that stayed."""
    source = kernel("""
        st.global.u32 [%rd1], 1;
        setp.eq.u32 %p0, %r1, 3;
        @%p0 exit;
        st.global.u32 [%rd1], 2;
        setp.eq.u32 %p0, %r1, 4;
        @%p0 exit;
        st.global.u32 [%rd1], 3;
    """)
    assert words(source, 6) == [3, 3, 3, 1, 2, 3]


def test_loops_whose_trip_counts_differ() -> None:
    source = kernel("""
        mov.u32 %r4, 0;
        mov.u32 %r5, 0;
    HEAD:
        setp.ge.u32 %p0, %r4, %r1;
        @%p0 bra DONE;
        add.u32 %r4, %r4, 1;
        add.u32 %r5, %r5, %r4;
        bra HEAD;
    DONE:
        st.global.u32 [%rd1], %r5;
    """)
    assert words(source, 40) == [t * (t + 1) // 2 for t in range(40)]


def test_a_loop_that_begins_the_kernel() -> None:
    """The entry block is itself the head of the loop."""
    source = text("""
    TOP:
        add.u32 %r5, %r5, 3;
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p0, %r5, %r1;
        @%p0 bra TOP;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd1, %r1, 4, %rd0;
        st.global.u32 [%rd1], %r5;
    """)
    assert words(source, 35) == [max(3, -(-t // 3) * 3) for t in range(35)]


def collatz(n: int) -> tuple[int, int]:
    """(steps to reach 1, which exit was taken) with at most 20 steps."""
    for step in range(20):
        if n == 1:
            return step, 1
        n = 3 * n + 1 if n & 1 else n // 2
        if n > 100:
            return step, 2
    return 20, 3


def test_a_loop_with_three_ways_out() -> None:
    source = kernel("""
        add.u32 %r4, %r1, 1;
        mov.u32 %r5, 0;
    HEAD:
        setp.ge.u32 %p0, %r5, 20;
        @%p0 bra LONG;
        setp.eq.u32 %p1, %r4, 1;
        @%p1 bra ONE;
        and.b32 %r6, %r4, 1;
        setp.eq.u32 %p2, %r6, 0;
        @%p2 bra EVEN;
        mad.lo.u32 %r4, %r4, 3, 1;
        bra NEXT;
    EVEN:
        shr.u32 %r4, %r4, 1;
    NEXT:
        setp.gt.u32 %p3, %r4, 100;
        @%p3 bra BIG;
        add.u32 %r5, %r5, 1;
        bra HEAD;
    ONE:
        mov.u32 %r7, 1;
        bra DONE;
    BIG:
        mov.u32 %r7, 2;
        bra DONE;
    LONG:
        mov.u32 %r7, 3;
    DONE:
        mad.lo.u32 %r8, %r5, 10, %r7;
        st.global.u32 [%rd1], %r8;
    """)
    expected = [collatz(t + 1) for t in range(96)]
    assert {way for _, way in expected} == {1, 2, 3}
    assert words(source, 96) == [steps * 10 + way for steps, way in expected]


def test_loops_in_loops() -> None:
    source = kernel("""
        and.b32 %r10, %r1, 3;
        mov.u32 %r9, 0;
        mov.u32 %r4, 0;
    OUTER:
        mov.u32 %r5, 0;
    INNER:
        mad.lo.u32 %r9, %r9, 3, %r5;
        xor.b32 %r9, %r9, %r4;
        add.u32 %r5, %r5, 1;
        add.u32 %r6, %r4, %r10;
        setp.lt.u32 %p0, %r5, %r6;
        @%p0 bra INNER;
        add.u32 %r4, %r4, 1;
        setp.le.u32 %p1, %r4, %r1;
        @%p1 bra.uni OUTER;
        st.global.u32 [%rd1], %r9;
    """)

    def expected(t: int) -> int:
        total = 0
        for i in range(t + 1):
            j = 0
            while True:
                total = (total * 3 + j) % 2**32 ^ i
                j += 1
                if j >= i + (t & 3):
                    break
        return total

    assert words(source, 21) == [expected(t) for t in range(21)]


def irreducible(t: int) -> int:
    """Two blocks of one loop, each of which is entered from outside."""
    at = "B" if t & 1 else "A"
    value, left = t, t % 5 + 3
    while left:
        value = value * 3 + 1 if at == "A" else value ^ 0x55
        value %= 2**32
        at = "B" if at == "A" else "A"
        left -= 1
    return value


def test_a_loop_with_two_entries() -> None:
    source = kernel("""
        mov.u32 %r4, %r1;
        rem.u32 %r5, %r1, 5;
        add.u32 %r5, %r5, 3;
        and.b32 %r6, %r1, 1;
        setp.ne.u32 %p0, %r6, 0;
        @%p0 bra B;
    A:
        mad.lo.u32 %r4, %r4, 3, 1;
        sub.u32 %r5, %r5, 1;
        setp.eq.u32 %p1, %r5, 0;
        @%p1 bra DONE;
    B:
        xor.b32 %r4, %r4, 0x55;
        sub.u32 %r5, %r5, 1;
        setp.ne.u32 %p1, %r5, 0;
        @%p1 bra A;
    DONE:
        st.global.u32 [%rd1], %r4;
    """)
    assert words(source, 64) == [irreducible(t) for t in range(64)]


def test_a_jump_from_one_loop_into_the_middle_of_another() -> None:
    source = kernel("""
        mov.u32 %r4, %r1;
        mov.u32 %r5, 0;
    FIRST:
        add.u32 %r5, %r5, 1;
        setp.gt.u32 %p0, %r5, 6;
        @%p0 bra TOP;
        and.b32 %r6, %r4, 3;
        setp.eq.u32 %p1, %r6, 2;
        @%p1 bra MIDDLE;
        add.u32 %r4, %r4, 5;
        bra FIRST;
    TOP:
        mad.lo.u32 %r4, %r4, 7, 1;
    MIDDLE:
        add.u32 %r4, %r4, %r5;
        add.u32 %r5, %r5, 2;
        setp.lt.u32 %p2, %r5, 11;
        @%p2 bra TOP;
        st.global.u32 [%rd1], %r4;
    """)

    def expected(t: int) -> int:
        value, n = t, 0
        while True:
            n += 1
            if n > 6:
                value = value * 7 + 1
                break
            if value & 3 == 2:
                break
            value += 5
        while True:
            value, n = value + n, n + 2
            if n >= 11:
                return value % 2**32
            value = value * 7 + 1

    assert words(source, 32) == [expected(t) for t in range(32)]


@pytest.mark.parametrize("threads", [1, 37])
def test_as_many_ways_as_threads(threads: int) -> None:
    """A chain of branches, each taken by one thread, which meet again at one place."""
    chain = "".join(f"setp.eq.u32 %p0, %r1, {i};\n@%p0 bra CASE{i};\n" for i in range(threads))
    cases = "".join(f"CASE{i}: mov.u32 %r5, {(i * 2654435761) % 2**32};\nbra JOIN;\n" for i in range(threads))
    source = kernel(f"{chain}{cases}JOIN: st.global.u32 [%rd1], %r5;")
    assert words(source, threads) == [(i * 2654435761) % 2**32 for i in range(threads)]


def test_a_branch_to_the_end() -> None:
    """A label with nothing behind it ends the thread, as falling off the end does."""
    source = text("""
        ld.param.u64 %rd0, [out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd1, %r1, 4, %rd0;
        setp.lt.u32 %p0, %r1, 2;
        @%p0 bra END;
        st.global.u32 [%rd1], 5;
        setp.lt.u32 %p0, %r1, 4;
        @!%p0 bra END;
        st.global.u32 [%rd1], 6;
    END:
    """)
    assert words(source, 6) == [0xDEAD, 0xDEAD, 6, 6, 5, 5]


def test_blocks_that_nobody_reaches() -> None:
    source = kernel("""
        bra OVER;
    NEVER:
        st.global.u32 [%rd1], 1;
        bra NEVER;
    OVER:
        st.global.u32 [%rd1], 2;
        ret;
        st.global.u32 [%rd1], 3;
    """)
    assert words(source, 3) == [2, 2, 2]


def test_a_kernel_without_instructions() -> None:
    assert both(text(""), [np.arange(4)], block=4)[0].tolist() == [0, 1, 2, 3]
    assert both(text("L:"), [np.arange(4)], block=4)[0].tolist() == [0, 1, 2, 3]


def test_a_branch_to_the_next_instruction() -> None:
    source = kernel("""
        setp.eq.u32 %p0, %r1, 1;
        @%p0 bra NEXT;
    NEXT:
        st.global.u32 [%rd1], %r1;
    """)
    assert words(source, 3) == [0, 1, 2]


def test_a_guard_that_its_own_instruction_overwrites() -> None:
    source = kernel("""
        setp.lt.u32 %p0, %r1, 3;
        @%p0 setp.eq.u32 %p0|%p1, %r1, 1;
        selp.u32 %r4, 1, 0, %p0;
        selp.u32 %r5, 2, 0, %p1;
        add.u32 %r4, %r4, %r5;
        st.global.u32 [%rd1], %r4;
    """)
    assert words(source, 5) == [2, 1, 2, 0, 0]


def test_guarded_arithmetic_keeps_the_old_value() -> None:
    """Where the guard is false nothing happens: not even a division by zero matters."""
    source = kernel("""
        setp.ne.u32 %p0, %r1, 0;
        mov.u32 %r4, 1000;
        mov.u64 %rd5, 0x123456789;
        mov.u16 %h1, 0xffff;
        @%p0 div.u32 %r4, %r4, %r1;
        @!%p0 add.u64 %rd5, %rd5, 1;
        @%p0 cvt.u16.u32 %h1, %r1;
        cvt.u32.u64 %r5, %rd5;
        cvt.u32.u16 %r6, %h1;
        xor.b32 %r4, %r4, %r5;
        mad.lo.u32 %r4, %r6, 65536, %r4;
        st.global.u32 [%rd1], %r4;
    """)

    def expected(t: int) -> int:
        low = 1000 // t ^ 0x23456789 if t else 1000 ^ 0x2345678A
        return (low + (t if t else 0xFFFF) * 65536) % 2**32

    assert words(source, 9) == [expected(t) for t in range(9)]


def test_guarded_loads_and_stores_touch_nothing_otherwise() -> None:
    """The addresses are far out of bounds, and misaligned, wherever the guard is false."""
    source = kernel("""
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p0, %r4, 0;
        mov.u64 %rd5, 0xdeadbeefdeadbee1;
        selp.b64 %rd6, %rd1, %rd5, %p0;
        mov.u32 %r5, 99;
        @%p0 ld.global.u32 %r5, [%rd6];
        @%p0 st.global.u32 [%rd6], 5;
        add.u32 %r5, %r5, 1;
        @!%p0 st.global.u32 [%rd1], %r5;
    """)
    assert words(source, 6) == [5, 100, 5, 100, 5, 100]


@pytest.mark.parametrize(("threads", "grid"), [(1, 1), (1, 500), (33, 97), (1000, 5), (1024, 3), (64, 65)])
def test_divergence_in_grids_of_all_sizes(threads: int, grid: int) -> None:
    """More CTAs than are resident at once, and CTAs whose last warp is not full."""
    source = kernel("""
        mov.u32 %r9, %r0;
    HEAD:
        and.b32 %r4, %r9, 3;
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra DONE;
        mad.lo.u32 %r9, %r9, 5, 3;
        bra HEAD;
    DONE:
        st.global.u32 [%rd1], %r9;
    """)

    def expected(n: int) -> int:
        while n & 3:
            n = (n * 5 + 3) % 2**32
        return n

    assert words(source, threads, grid=grid) == [expected(n) for n in range(threads * grid)]


def racing(loop: str) -> str:
    """Threads that add to one counter without any order between them."""
    return kernel(f"""
        .shared .u32 counter;
        and.b32 %r4, %r1, 3;
        setp.lt.u32 %p0, %r4, 2;
        {loop}
        st.global.u32 [%rd1], %r5;
    """)


@pytest.mark.parametrize(
    "loop",
    [
        "ld.shared.u32 %r5, [counter]; add.u32 %r6, %r5, 1; st.shared.u32 [counter], %r6;",
        "@%p0 bra A; ld.shared.u32 %r5, [counter]; add.u32 %r5, %r5, 1; st.shared.u32 [counter], %r5; bra B;"
        "A: ld.shared.u32 %r5, [counter]; add.u32 %r5, %r5, 100; st.shared.u32 [counter], %r5; B:",
        "mov.u32 %r7, 0; A: ld.shared.u32 %r5, [counter]; add.u32 %r5, %r5, 1; st.shared.u32 [counter], %r5;"
        "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %r4; @%p1 bra A;",
    ],
    ids=["line", "branch", "loop"],
)
def test_races_come_out_the_same(loop: str) -> None:
    """PTX leaves races open; the machine has one order of turns, whichever engine runs it."""
    got = words(racing(loop), 50, grid=3)
    assert len(set(got)) > 10
    assert got[:50] == got[50:100] == got[100:]


def test_a_turn_is_a_threads_own() -> None:
    """A thread runs alone through branches, until its turn is over: each sees what those before it have left, whichever way they
    went."""
    source = kernel("""
        .shared .u32 counter;
        and.b32 %r4, %r1, 1;
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra A;
        ld.shared.u32 %r6, [counter];
    A:
        ld.shared.u32 %r5, [counter];
        add.u32 %r7, %r5, 1;
        st.shared.u32 [counter], %r7;
        st.global.u32 [%rd1], %r6;
    """)
    assert words(source, 32) == [t if t % 2 else 0 for t in range(32)]


def test_a_turn_ends_where_a_thread_goes_back_and_has_had_enough() -> None:
    """The first thread spins until the last has had its turn, in a loop that reads memory."""
    source = kernel("""
        .shared .u32 flag;
        mov.u32 %r5, 0;
        setp.eq.u32 %p0, %r1, 39;
        @%p0 bra LAST;
    SPIN:
        add.u32 %r5, %r5, 1;
        ld.volatile.shared.u32 %r6, [flag];
        setp.eq.u32 %p0, %r6, 0;
        @%p0 bra SPIN;
        bra DONE;
    LAST:
        st.volatile.shared.u32 [flag], 1;
    DONE:
        st.global.u32 [%rd1], %r5;
    """)
    turns = -(
        -(SCHEDULE.TURN - 10) // 4
    )  # before the loop stand six instructions of the prologue, and three of its own; and one is over
    found = words(source, 40)
    assert found[39] == 0 and len(set(found[:39])) == 1 and abs(found[0] - turns) <= 2


# the order of the blocks ---------------------------------------------------------------------------------------------

graphs = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n)
)


def reaches(successors: dict[int, list[int]]) -> dict[int, set[int]]:
    """For each block those that one or more steps lead to."""
    found = {b: set(s) for b, s in successors.items()}
    for middle in successors:
        for b in successors:
            if middle in found[b]:
                found[b] |= found[middle]
    return found


def check_order(edges: list[list[int]]) -> None:
    """Each reachable block once, the entry first; a block before those that follow it, and a loop in one piece."""
    successors = dict(enumerate(edges))
    order = DIVERGENCE.order(successors, 0)
    after = reaches(successors)
    assert order[0] == 0
    assert sorted(order) == sorted({0} | after[0])
    place = {block: i for i, block in enumerate(order)}
    for a in order:
        for b in after[a]:
            if a not in after[b]:
                assert place[a] < place[b], f"{b} follows {a}, which does not follow it"
    for a in order:
        loop = {b for b in order if b in after[a] and a in after[b]}
        if loop:
            places = [place[b] for b in loop]
            assert max(places) - min(places) == len(loop) - 1, f"the loop of {a} is not in one piece"


@settings(max_examples=300, deadline=None)
@given(graphs)
def test_the_order_of_blocks(edges: list[list[int]]) -> None:
    """Of any graph whose entry no block leads back to."""
    check_order([[b + 1 for b in row] for row in [[0], *edges]])


@example([[2, 1], [], [0]])
@settings(max_examples=100, deadline=None)
@given(graphs)
def test_the_order_of_blocks_where_the_entry_may_be_in_a_loop(edges: list[list[int]]) -> None:
    check_order(edges)


def test_a_loop_that_begins_the_kernel_and_reads_what_others_wrote() -> None:
    """A thread runs through the loop and beyond before the next begins."""
    source = text("""
    .shared .u32 passed;
    TOP:
        mov.u32 %r1, %tid.x;
        setp.lt.u32 %p0, %r5, %r1;
        @%p0 bra BODY;
        st.shared.u32 [passed], 1;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd1, %r1, 4, %rd0;
        st.global.u32 [%rd1], %r6;
        ret;
    BODY:
        add.u32 %r5, %r5, 1;
        ld.shared.u32 %r6, [passed];
        bra TOP;
    """)
    assert words(source, 8) == [0] + [1] * 7


def chain(count: int, jump: Callable[[int], str]) -> str:
    """`count` blocks of one instruction, each ended by what `jump` says."""
    return "".join(f"L{i}: add.u32 %r5, %r5, {i};\n{jump(i)}\n" for i in range(count))


def test_hundreds_of_blocks() -> None:
    body = chain(200, lambda i: f"setp.eq.u32 %p0, %r1, {i};\n@%p0 bra END;")
    source = kernel(f"{body}END: st.global.u32 [%rd1], %r5;")
    assert words(source, 3) == [t * (t + 1) // 2 for t in range(3)]


def test_loops_nested_twenty_deep() -> None:
    body = "".join(f"L{i}: add.u32 %r5, %r5, 1;\n" for i in range(20))
    body += "".join(f"add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, %r1; @%p0 bra L{i};\n" for i in reversed(range(20)))
    source = kernel(f"{body}st.global.u32 [%rd1], %r5;")

    def expected(t: int) -> int:
        total, count, i = 20, 0, 19
        while i >= 0:
            count += 1
            if count < t:
                total += 20 - i
                i = 19
            else:
                i -= 1
        return total

    assert words(source, 20) == [expected(t) for t in range(20)]
