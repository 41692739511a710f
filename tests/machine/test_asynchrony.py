"""Asynchronous operations: what they bring, who may touch what, when their pieces land, and when they end."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, both, each, fault, kernel

import ptxspec
from ptxspec import contracts
from ptxspec.literate import finder
from ptxspec.machine import asynchrony, operations
from ptxspec.machine.driver.scripted_steps import scripted
from ptxspec.machine.events import UNOBSERVED
from ptxspec.machine.in_flight import ExactOperations
from ptxspec.machine.native import asynchrony as native
from ptxspec.machine.registers_in_flight import RegisterRow
from ptxspec.terms import effects
from ptxspec.terms.profiles import Profile
from ptxspec.terms.steps import Step

pytestmark = pytest.mark.sample(8)

BOTH = ".param .u64 out, .param .u64 source"
#: %rd2 = the source; %r4 = the thread's 16 bytes of `cells`; %rd3 = its 16 bytes of the source
PLACES = """
    .shared .align 16 .b8 cells[1024];
    ld.param.u64 %rd2, [source]; mov.u32 %r4, cells; mad.lo.u32 %r4, %r1, 16, %r4; mad.wide.u32 %rd3, %r1, 16, %rd2;
"""
TAKE = "ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;"
COPY = "cp.async.ca.shared.global [%r4], [%rd3], 16;"


def copying(body: str, module: str = "") -> str:
    return kernel(PLACES + body, BOTH, module)


def numbers(count: int = 256) -> np.ndarray:
    return np.arange(1, count + 1, dtype=np.uint32)


def blank(count: int = 64) -> np.ndarray:
    return np.zeros(count, np.uint32)


def line_of(source: str, instruction: str, nth: int = 0) -> int:
    """The line of the text in which an instruction stands."""
    return [i for i, line in enumerate(source.splitlines(), 1) if instruction in line][nth]


def raced(source: str, rule: str, first: str, then: str, **how: Any) -> ptxspec.LaunchError:
    """Launch under both engines; the error, which names the rule and both instructions."""
    error = fault(source, [blank(), numbers()], **how)
    assert error.rule == rule and error.where is not None and error.other is not None
    assert error.where.instruction.startswith(then) and error.where.line == line_of(source, then)
    assert error.other.instruction.startswith(first) and error.other.line == line_of(source, first)
    assert error.page is not None and error.page.startswith("spec/machine/asynchrony.md:")
    assert all(f":{where.line}: {where.instruction}" in str(error) for where in (error.where, error.other))
    return error


# right programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("wait", ["cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"])
def test_a_copy_that_is_waited_for_is_there(size: int, wait: str) -> None:
    take = (
        "ld.shared.v2.u64 {%rd4, %rd5}, [%r4]; mad.wide.u32 %rd1, %r1, 16, %rd0; st.global.v2.u64 [%rd1], {%rd4, %rd5};"
    )
    source = copying(f"cp.async.ca.shared.global [%r4], [%rd3], {size};\n{wait}\n{take}")
    (out, data) = both(source, [blank(128), numbers()], block=32)
    rows, given = out.view(np.uint8).reshape(32, 16), data.view(np.uint8).reshape(64, 16)
    assert np.array_equal(rows[:, :size], given[:32, :size]) and not rows[:, size:].any()


@pytest.mark.parametrize("size", [4, 8, 16])
def test_what_is_not_read_is_zero(size: int) -> None:
    """Each thread reads another number of bytes, up to all."""
    source = copying(f"""
        mov.b64 %rd4, -1; st.shared.v2.u64 [%r4], {{%rd4, %rd4}}; min.u32 %r6, %r1, {size};
        cp.async.ca.shared.global [%r4], [%rd3], {size}, %r6;
        cp.async.wait_all;
        ld.shared.v2.u64 {{%rd4, %rd5}}, [%r4]; mad.wide.u32 %rd1, %r1, 16, %rd0; st.global.v2.u64 [%rd1], {{%rd4, %rd5}};
    """)
    (out, data) = both(source, [blank(128), numbers()], block=20)
    for thread, (row, given) in enumerate(
        zip(out.view(np.uint8).reshape(-1, 16)[:20], data.view(np.uint8).reshape(-1, 16), strict=False)
    ):
        read = min(thread, size)
        assert row.tobytes() == given[:read].tobytes() + bytes(size - read) + b"\xff" * (16 - size)


def test_a_source_may_be_ignored_and_then_lies_anywhere() -> None:
    source = copying(f"""
        setp.ne.u32 %p0, %r1, 3; setp.gt.u32 %p1, %r1, 5; @%p1 mov.u64 %rd3, 16; mov.u32 %r6, 16; @%p1 mov.u32 %r6, 0;
        mov.b32 %r7, 77; st.shared.u32 [%r4], %r7;
        cp.async.cg.shared.global [%r4], [%rd3], 16, %r6;
        cp.async.wait_all;
        {TAKE}
        @%p0 bra END;
        cp.async.cg.shared::cta.global [%r4], [%rd3], 16, !%p0;
        cp.async.wait_all;
        st.global.u32 [%rd1], 8;
        ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1+32], %r5;
    END:
    """)
    (out, _) = both(source, [blank(32), numbers()], block=8)
    assert out[:16].tolist() == [1, 5, 9, 8, 17, 21, 0, 0] + [0] * 8


def test_hints_change_nothing() -> None:
    source = copying("""
        createpolicy.fractional.L2::evict_first.b64 %rd7, 1.0; setp.eq.u32 %p0, %r1, 1;
        cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r4], [%rd3], 16, 8, %rd7;
        cp.async.ca.L2::64B.shared.global [%r4+512], [%rd3], 4;
        cp.async.ca.shared::cta.global.L2::cache_hint [%r4+516], [%rd3+4], 4, %p0, %rd7;
        cp.async.wait_all;
        ld.shared.u32 %r5, [%r4+4]; ld.shared.u32 %r6, [%r4+8]; ld.shared.v2.u32 {%r7, %r8}, [%r4+512];
        mad.lo.u32 %r5, %r5, 10, %r6; mad.lo.u32 %r5, %r7, 1000, %r5; mad.lo.u32 %r5, %r8, 100000, %r5;
        st.global.u32 [%rd1], %r5;
    """)
    assert both(source, [blank(2), numbers()], block=2)[0].tolist() == [201020, 5060]


#: each CTA sums rows of 32 numbers, of which a few are on their way at a time
PIPELINE = kernel(
    """
    .shared .align 16 .b8 stages[512];
    .reg .b32 at, next, row, sum, value, stage; .reg .b64 from;
    ld.param.u64 %rd2, [source]; ld.param.u32 %r9, [rows];
    mul.lo.u32 %r8, %r2, %r9; mad.lo.u32 %r8, %r8, 32, %r1; mad.wide.u32 from, %r8, 4, %rd2;
    mov.u32 next, 0; mov.u32 sum, 0; mov.u32 row, 0;
FILL:
    setp.ge.u32 %p1, next, %r9; @%p1 bra EMPTY;
    and.b32 stage, next, 3; mov.u32 at, stages; mad.lo.u32 at, stage, 128, at; mad.lo.u32 at, %r1, 4, at;
    cp.async.ca.shared.global [at], [from], 4;
    add.u64 from, from, 128;
EMPTY:
    cp.async.commit_group;
    add.u32 next, next, 1; setp.lt.u32 %p2, next, 3; @%p2 bra FILL;
    cp.async.wait_group 2;
    bar.sync 0;
    and.b32 stage, row, 3; mov.u32 at, stages; mad.lo.u32 at, stage, 128, at;
    xor.b32 %r6, %r1, 31; mad.lo.u32 at, %r6, 4, at; ld.shared.u32 value, [at]; add.u32 sum, sum, value;
    add.u32 row, row, 1; setp.lt.u32 %p3, row, %r9; @%p3 bra FILL;
    st.global.u32 [%rd1], sum;
    """,
    ".param .u64 out, .param .u64 source, .param .u32 rows",
)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 9])
def test_a_pipeline_of_stages(rows: int) -> None:
    data = np.random.default_rng(rows).integers(0, 1 << 20, (5, rows, 32), dtype=np.uint32)
    (out, *_) = both(PIPELINE, [blank(160), data.ravel(), rows], grid=5, block=32)
    assert np.array_equal(out.reshape(5, 32), data.sum(axis=1, dtype=np.uint32)[:, ::-1])


#: ways in which pieces land
LANDING = ["early", "late", "each", "random:0", "random:1", "random:20261122"]


@pytest.mark.parametrize("copies", LANDING)
@pytest.mark.parametrize("engine", ENGINES)
def test_when_pieces_land_does_not_show(engine: Any, copies: str) -> None:
    data = np.random.default_rng(1).integers(0, 1 << 20, (2, 6, 32), dtype=np.uint32)
    out = blank()
    ptxspec.load(PIPELINE).launch("k", 2, 32, [out, data.ravel(), 6], engine=engine, copies=copies)
    assert np.array_equal(out.reshape(2, 32), data.sum(axis=1, dtype=np.uint32)[:, ::-1])


@pytest.mark.slow
def test_a_product_of_matrices() -> None:
    """Tiles of 16 × 16, two at a time on their way, against NumPy."""
    n = 48
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 1 << 10, (n, n), dtype=np.uint32) for _ in range(2))
    source = kernel(
        f"""
        .shared .align 16 .b8 tiles[4096]; .reg .b32 x, y, t, i, own, sum, u, v, c, off, k; .reg .b64 fa, fb;
        ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; and.b32 x, %r1, 15; shr.u32 y, %r1, 4; mov.u32 %r7, %ctaid.y;
        mad.lo.u32 i, %r7, 16, y; mul.lo.u32 i, i, {n}; add.u32 i, i, x; mad.wide.u32 fa, i, 4, %rd2;
        mad.lo.u32 i, %r2, 16, x; mad.lo.u32 i, y, {n}, i; mad.wide.u32 fb, i, 4, %rd3;
        mov.u32 own, tiles; mad.lo.u32 own, %r1, 4, own; mov.u32 sum, 0; mov.u32 t, 0; mov.u32 k, 0;
    NEXT:
        setp.ge.u32 %p0, k, {n // 16}; and.b32 off, k, 1; mad.lo.u32 off, off, 2048, own;
        @%p0 bra NONE;
        cp.async.ca.shared.global [off], [fa], 4; cp.async.ca.shared.global [off+1024], [fb], 4;
        add.u64 fa, fa, 64; add.u64 fb, fb, {16 * n * 4};
    NONE:
        cp.async.commit_group; add.u32 k, k, 1; setp.eq.u32 %p1, k, 1; @%p1 bra NEXT;
        cp.async.wait_group 1;
        bar.sync 0;
        and.b32 off, t, 1; mov.u32 c, tiles; mad.lo.u32 off, off, 2048, c; mad.lo.u32 u, y, 64, off; mad.lo.u32 v, x, 4, off;
        mov.u32 c, 0;
    INNER:
        ld.shared.u32 %r8, [u]; ld.shared.u32 %r9, [v+1024]; mad.lo.u32 sum, %r8, %r9, sum;
        add.u32 u, u, 4; add.u32 v, v, 64; add.u32 c, c, 1; setp.lt.u32 %p2, c, 16; @%p2 bra INNER;
        bar.sync 0;
        add.u32 t, t, 1; setp.lt.u32 %p3, t, {n // 16}; @%p3 bra NEXT;
        mad.lo.u32 i, %r7, 16, y; mul.lo.u32 i, i, {n}; mad.lo.u32 c, %r2, 16, x; add.u32 i, i, c;
        mad.wide.u32 %rd4, i, 4, %rd0; st.global.u32 [%rd4], sum;
        """,
        ".param .u64 out, .param .u64 a, .param .u64 b",
    )
    (out, *_) = both(source, [blank(n * n), a.ravel(), b.ravel()], grid=(n // 16, n // 16), block=256)
    assert np.array_equal(out.reshape(n, n), a @ b)


def test_several_may_read_one_source_and_all_may_read_it_meanwhile() -> None:
    source = copying(f"""
        cp.async.ca.shared.global [%r4], [%rd2], 8;
        ld.global.u32 %r6, [%rd2]; cp.async.wait_all; {TAKE}
    """)
    assert both(source, [blank(32), numbers()], block=32)[0].tolist() == [1] * 32


def test_others_see_a_copy_after_a_barrier() -> None:
    source = copying(f"{COPY} cp.async.wait_all; bar.sync 0; xor.b32 %r4, %r4, 16; {TAKE}")
    assert both(source, [blank(4), numbers()], block=4)[0].tolist() == [5, 1, 13, 9]


def test_copies_in_functions_belong_to_the_thread() -> None:
    module = """
.func begin(.reg .b32 to, .reg .b64 source) { cp.async.ca.shared.global [to], [source], 4; cp.async.commit_group; ret; }
.func finish() { cp.async.wait_group 0; ret; }
"""
    right = copying(f"call begin, (%r4, %rd3); call finish; {TAKE}", module)
    assert both(right, [blank(2), numbers()], block=2)[0].tolist() == [1, 5]
    raced(right.replace("call finish;", ""), "copy not waited for", "cp.async.ca", "ld.shared", block=2)


def test_a_thread_in_a_cluster_copies_into_its_own_part() -> None:
    source = copying(f"{COPY} cp.async.wait_all; add.u32 %r6, %r2, 0; {TAKE}")
    assert both(source, [blank(4), numbers()], grid=2, block=2, cluster=2)[0].tolist() == [1, 5, 1, 5]


def test_copies_under_a_guard() -> None:
    source = copying(f"""
        setp.eq.u32 %p0, %r1, 1;
        @%p0 cp.async.ca.shared.global [%r4], [%rd3], 16;
        @%p0 cp.async.commit_group;
        @!%p0 cp.async.wait_all;
        @%p0 cp.async.wait_group 0;
        {TAKE}
    """)
    assert both(source, [blank(2), numbers()], block=2)[0].tolist() == [0, 5]


# races ------------------------------------------------------------------------------------------------------------------

FORGOTTEN = copying(f"{COPY}\ncp.async.commit_group;\n{TAKE}")


def test_a_forgotten_wait() -> None:
    error = raced(FORGOTTEN, "copy not waited for", "cp.async.ca", "ld.shared", block=4)
    assert error.where is not None and error.other is not None and error.where.thread == error.other.thread == (0, 0, 0)
    assert "in flight" in error.note and "waited for" in str(error)


@pytest.mark.parametrize("copies", LANDING)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_forgotten_wait_is_reported_whenever_pieces_land(engine: Any, copies: str) -> None:
    with pytest.raises(ptxspec.LaunchError, match="copy not waited for"):
        ptxspec.load(FORGOTTEN).launch("k", block=4, args=[blank(), numbers()], engine=engine, copies=copies)


@pytest.mark.slow
def test_a_wait_for_one_group_too_few() -> None:
    two = COPY + "\ncp.async.commit_group;\n" + COPY.replace("[%r4]", "[%r4+512]") + "\ncp.async.commit_group;\n"
    right = copying(f"{two} cp.async.wait_group 1; {TAKE}")
    assert both(right, [blank(2), numbers()], block=2)[0].tolist() == [1, 5]
    wrong = copying(f"{two} cp.async.wait_group 1;\n{TAKE.replace('[%r4]', '[%r4+512]')}")
    raced(wrong, "copy not waited for", "cp.async.ca.shared.global [%r4+512]", "ld.shared", block=2)
    with pytest.raises(ptxspec.LaunchError, match="copy not waited for"):
        text = PIPELINE.replace("cp.async.wait_group 2", "cp.async.wait_group 3")
        ptxspec.load(text).launch("k", 1, 32, [blank(), numbers(128), 4])


def test_copies_that_were_not_committed_are_no_group() -> None:
    raced(copying(f"{COPY}\ncp.async.wait_group 0;\n{TAKE}"), "copy not waited for", "cp.async.ca", "ld.shared")


@pytest.mark.parametrize(
    "then",
    [
        "st.shared.u8 [%r4+15], 1;",
        "atom.shared.add.u32 %r5, [%r4+8], 1;",
        "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];",
        "ld.shared::cta.u64 %rd4, [%r4+8];",
        "cp.async.ca.shared.global [%r4+4], [%rd2], 4;",
    ],
)
def test_nobody_touches_what_a_copy_fills(then: str) -> None:
    raced(
        copying(f"{COPY.replace('%rd3', '%rd3+64')}\n{then}\ncp.async.wait_all;"),
        "copy not waited for",
        "cp.async.ca.shared.global [%r4], ",
        then,
    )


@pytest.mark.slow
def test_matrices_are_taken_from_copies_that_are_there() -> None:
    """As kernels of today do: a warp copies rows and takes small matrices of them."""
    then = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r4];"
    add = "add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; add.u32 %r5, %r5, %r8; st.global.u32 [%rd1], %r5;"
    right = copying(f"{COPY}\ncp.async.wait_all;\nbar.warp.sync -1;\n{then} {add}")
    (out, data) = both(right, [blank(32), numbers()], block=32)
    assert np.array_equal(out, data[:128].reshape(4, 32).sum(axis=0))
    raced(right.replace("cp.async.wait_all;\n", "\n"), "copy not waited for", "cp.async.ca", "ldmatrix", block=32)


def test_a_generic_address_is_seen_too() -> None:
    then = "ld.u16 %h0, [%rd5+14];"
    source = copying(f"{COPY}\ncvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd5, %rd4;\n{then}\n")
    raced(source, "copy not waited for", "cp.async.ca", then)


def test_what_lies_beside_may_be_touched() -> None:
    source = copying("""
        cp.async.ca.shared.global [%r4+4], [%rd3+4], 4;
        st.shared.u32 [%r4], 5; st.shared.u16 [%r4+8], 6; ld.shared.u32 %r5, [%r4];
        st.global.u32 [%rd3], 9; st.global.u8 [%rd3+8], 9;
        st.global.u32 [%rd1], %r5;
        cp.async.wait_all;
    """)
    assert both(source, [blank(4), numbers()], block=4)[0].tolist() == [5] * 4


@pytest.mark.parametrize(
    "then", ["st.global.u32 [%rd3+12], 1;", "red.global.add.u32 [%rd3], 1;", "st.v2.u32 [%rd3+8], {%r1, %r1};"]
)
@pytest.mark.slow
def test_nobody_writes_what_a_copy_reads(then: str) -> None:
    raced(copying(f"{COPY}\n{then}\ncp.async.wait_all;"), "source of a copy", "cp.async.ca", then)
    both(copying(f"{COPY}\ncp.async.wait_all;\n{then}"), [blank(), numbers()], block=4)


def test_bytes_that_a_copy_does_not_read_may_be_written() -> None:
    some = "cp.async.ca.shared.global [%r4], [%rd3], 16, 5;"
    both(copying(f"{some}\nst.global.u8 [%rd3+5], 1; cp.async.wait_all;"), [blank(), numbers()], block=4)
    then = "st.global.u8 [%rd3+4], 1;"
    raced(copying(f"{some}\n{then}\ncp.async.wait_all;"), "source of a copy", "cp.async.ca", then)


def test_the_last_of_several_readers_counts() -> None:
    source = copying("""
        cp.async.ca.shared.global [%r4], [%rd2], 4;
        setp.eq.u32 %p0, %r1, 0;
        @%p0 cp.async.wait_all;
        bar.sync 0;
        @%p0 st.global.u32 [%rd2], 7;
        cp.async.wait_all;
    """)
    error = raced(source, "source of a copy", "cp.async.ca", "st.global.u32 [%rd2], 7", block=2)
    assert error.other is not None and error.other.thread == (1, 0, 0)


HEAP = ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n.global .u64 kept;"
PIECE = "call (%rd3), malloc, (64); st.global.u32 [%rd3+16], 7;"
OF_PIECE = "cp.async.ca.shared.global [%r4], [%rd3+16], 16, 4;"


@pytest.mark.slow
def test_nobody_frees_what_a_copy_reads() -> None:
    """Neither the thread that copies nor another; another piece may be freed, and this one after the wait."""
    free = "call free, (%rd3);"
    raced(copying(f"{PIECE}\n{OF_PIECE}\n{free}\ncp.async.wait_all;", HEAP), "source of a copy", "cp.async.ca", free)
    other = f"{PIECE}\n{OF_PIECE}\nst.global.u64 [kept], %rd3;\nbar.sync 0;\nld.global.u64 %rd4, [kept];\ncall free, (%rd4);"
    raced(copying(other, HEAP), "source of a copy", "cp.async.ca", "call free, (%rd4);", block=2)
    some = "cp.async.ca.shared.global [%r4], [%rd3+16], 16, 0;"  # which reads nothing
    nothing = copying(f"{PIECE} {some} {free} cp.async.wait_all; {TAKE}", HEAP)
    assert both(nothing, [blank(2), numbers()], block=2)[0].tolist() == [0, 0]
    right = f"{PIECE} {OF_PIECE} call (%rd5), malloc, (64); call free, (%rd5); cp.async.wait_all; {free} {TAKE}"
    assert both(copying(right, HEAP), [blank(2), numbers()], block=2)[0].tolist() == [7, 7]


def test_another_thread_may_not_touch_it_either() -> None:
    source = copying(f"{COPY}\ncp.async.commit_group;\nbar.sync 0; xor.b32 %r4, %r4, 16;\n{TAKE}\ncp.async.wait_all;")
    error = raced(source, "copy not waited for", "cp.async.ca", "ld.shared", block=2)
    assert error.where is not None and error.other is not None
    assert (error.where.thread, error.other.thread) == ((0, 0, 0), (1, 0, 0))


def test_a_thread_of_another_cta_of_the_cluster_may_not_either() -> None:
    then = "ld.shared::cluster.u32 %r5, [%r6];"
    source = copying(f"""
        {COPY}
        barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r7, %r2, 1; mapa.shared::cluster.u32 %r6, %r4, %r7;
        {then}
        cp.async.wait_all;
        barrier.cluster.arrive; barrier.cluster.wait;
    """)
    error = raced(source, "copy not waited for", "cp.async.ca", then, grid=2, cluster=2)
    assert error.where is not None and error.other is not None
    assert (error.where.cta, error.other.cta) == ((0, 0, 0), (1, 0, 0))


def test_copies_of_a_thread_that_has_ended_stay_under_way() -> None:
    source = copying(f"""
        setp.eq.u32 %p0, %r1, 1;
        @%p0 cp.async.ca.shared.global [%r4], [%rd3], 16;
        @%p0 exit;
        bar.sync 0; add.u32 %r4, %r4, 16;
        {TAKE}
    """)
    error = raced(source, "copy not waited for", "cp.async.ca", "ld.shared", block=2)
    assert error.other is not None and error.other.thread == (1, 0, 0)


@pytest.mark.slow
def test_copies_end_with_their_cta() -> None:
    """Those that begin after it may write to what it read, and find nothing in their memory."""
    source = copying(f"""
        setp.ge.u32 %p0, %r2, 2;
        @%p0 bra LATER;
        {COPY}
        ret;
    LATER:
        {TAKE} st.global.u32 [%rd3], 100;
    """)
    resident = contracts.limits.resident_threads(False, False) // 64
    source = source.replace("setp.ge.u32 %p0, %r2, 2", f"setp.ge.u32 %p0, %r2, {resident}")
    (out, after) = both(source, [blank(64 * 2 * resident), numbers()], grid=2 * resident, block=64)
    assert not out.any() and (after[::4] == 100).all()


def test_printing_reads_memory_too() -> None:
    then = "call (%r9), vprintf, (f, n);"
    source = copying(
        f"""{{ .param .b32 f32; .param .b64 f; .param .b64 n; cvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd4, %rd4;
        {COPY}
        st.param.b64 [f], %rd4; st.param.b64 [n], 0;
        {then}
        cp.async.wait_all; }}""",
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);",
    )
    raced(source, "copy not waited for", "cp.async.ca", then)


# other faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copy", "rule", "address"),
    [
        ("cp.async.ca.shared.global [%r4+4], [%rd3], 8;", "misaligned", 4),
        ("cp.async.ca.shared.global [%r4], [%rd3+8], 16;", "misaligned", None),
        ("cp.async.ca.shared.global [%r4], [%rd3+8], 16, 0;", "misaligned", None),
        ("cp.async.ca.shared.global [%r4+1024], [%rd3], 4;", "out of bounds", 1024),
        ("cp.async.ca.shared.global [%r4], [%rd3+1024], 4;", "out of bounds", None),
        ("cp.async.ca.shared.global [%r4], [%rd3+1020], 4;", None, None),
        ("cp.async.ca.shared.global [%r4], [%rd3+1024], 4, 0;", None, None),
        ("cp.async.ca.shared.global [%r4], [%rd3+1016], 8, %r9;", "out of bounds", None),
        ("cp.async.cg.shared.global [%r4], [16], 16;", "out of bounds", 16),
        ("mov.u32 %r6, 5; cp.async.ca.shared.global [%r4], [%rd3], 4, %r6;", "copy size", None),
        ("mov.u32 %r6, -1; cp.async.ca.shared.global [%r4], [%rd3], 4, %r6;", "copy size", None),
    ],
)
def test_what_a_copy_reaches_is_checked_where_it_begins(copy: str, rule: str | None, address: int | None) -> None:
    if "[16]" in copy:
        copy = "mov.u64 %rd9, 16; " + copy.replace("[16]", "[%rd9]")
    source = copying(f"mov.u32 %r9, 8;\n{copy}\ncp.async.wait_all;")
    data = numbers(256 if "%r9;" not in copy else 255)
    if rule is None:
        both(source, [blank(), data])
        return
    error = fault(source, [blank(), data])
    assert (
        error.rule == rule and error.where is not None and "cp.async" in error.where.instruction and error.other is None
    )
    if rule == "copy size":
        assert error.address is None
    elif address is not None:
        assert error.address == address


def test_the_end_of_a_source_may_be_missing() -> None:
    """The bytes that are not read need not be there."""
    source = copying(
        "mov.u32 %r9, 12;\ncp.async.ca.shared.global [%r4], [%rd3+1008], 16, %r9; cp.async.wait_all; " + TAKE
    )
    assert both(source, [blank(1), numbers(255)])[0].tolist() == [253]


def test_what_is_read_only_may_be_copied_from() -> None:
    data = numbers()
    data.flags.writeable = False
    assert both(copying(f"{COPY} cp.async.wait_all; {TAKE}"), [blank(2), data], block=2)[0].tolist() == [1, 5]


@pytest.mark.parametrize(
    ("copy", "overruns"),
    [
        ("cp.async.ca.shared.global [small+8], [%rd2], 8;", True),
        ("cp.async.ca.shared.global [small], [%rd2], 8;", False),
        ("cp.async.ca.shared.global [cells], [apart+8], 8;", True),
        ("cp.async.ca.shared.global [cells], [apart+8], 8, 4;", False),
        ("cp.async.ca.shared.global [cells], [apart+16], 8, 0;", False),
        ("cp.async.ca.shared.global [cells], [apart+16], 8, 1;", True),
    ],
)
def test_copies_stay_within_the_variables_that_they_name(copy: str, overruns: bool) -> None:
    module = ".global .align 8 .b8 apart[12]; .global .align 8 .b8 behind[16];"
    source = copying(f".shared .align 8 .b8 small[8];\n{copy}\ncp.async.wait_all;", module)
    if not overruns:
        both(source, [blank(), numbers()])
        return
    error = fault(source, [blank(), numbers()])
    assert error.rule == "out of bounds" and "lie outside of that variable" in error.note


# how to ask -------------------------------------------------------------------------------------------------------------


def test_there_is_no_other_way_to_land() -> None:
    module = ptxspec.load(PIPELINE)
    args = [blank(), numbers(64), 1]
    for engine in ENGINES:
        for word in ("never", "", "random", "random:", "random:x", "random:-1", "random:" + "9" * 20, "early:1"):
            with pytest.raises(ValueError, match="'each' or 'random:SEED'"):
                module.launch("k", block=32, args=args, engine=engine, copies=word)  # type: ignore[arg-type]
        for value in (None, 1, 1.5, True):
            with pytest.raises(TypeError, match="'each' or 'random:SEED'"):
                module.launch("k", block=32, args=args, engine=engine, copies=value)  # type: ignore[arg-type]


# pieces -----------------------------------------------------------------------------------------------------------------


class Watched:
    """Operations of four threads, at whose memory one looks from outside: 200 bytes each, of which 150 are read."""

    SIZE, READ = 200, 150

    def __init__(self, copies: str):
        from types import SimpleNamespace

        module = ptxspec.load(copying(COPY + "cp.async.commit_group; cp.async.wait_all;"))
        (used,) = {operations.asynchronous_use(kernel, Profile("hopper")) for kernel in module.checked.kernels.values()}
        assert used is not None
        self.effect = next(
            e for op in module.checked.kernels["k"].code
            if isinstance(e := op.plan.meaning.effect, effects.Initiate)
        )  # fmt: skip
        self.all = next(e for e in (op.plan.meaning.effect for op in module.checked.kernels["k"].code)
                        if isinstance(e, effects.Advance) and e.step.__name__ == "wait_for_all")  # fmt: skip
        self.operations = ExactOperations(
            SimpleNamespace(slots=1, threads=4), used, copies, print, UNOBSERVED, RegisterRow({})
        )
        self.source = np.random.default_rng(5).integers(1, 256, 4 * self.SIZE, dtype=np.uint8)
        self.target = np.full(4 * self.SIZE, 0xA5, np.uint8)
        for thread in range(4):
            place = thread * self.SIZE
            at, begin = (self.target, place), (self.source, place)
            self.operations.initiate(self.effect, thread, 7, at, self.SIZE, begin, self.READ, None)

    @property
    def right(self) -> np.ndarray:
        right = self.source.copy().reshape(4, -1)
        right[:, self.READ :] = 0
        return right.ravel()

    def landed(self) -> np.ndarray:
        """Which words of four bytes, in which pieces land, are as they are at the end. None is 0xa5a5a5a5 then."""
        written, right = (array.view(np.uint32) for array in (self.target, self.right))
        assert np.all((written == right) | (written == 0xA5A5A5A5))
        landed: np.ndarray = written == right
        return landed


def test_early_pieces_land_at_once_and_late_ones_at_the_end() -> None:
    assert Watched("early").landed().all()
    late = Watched("late")
    for _ in range(100):
        late.operations.turn_begins()
    assert not late.landed().any()
    late.operations.advance(late.all, 2, ())
    assert late.landed().reshape(4, -1).all(axis=1).tolist() == [False, False, True, False]
    assert not late.landed().reshape(4, -1)[[0, 1, 3]].any()
    late.operations.batch_ends()
    assert late.landed().all() and not any(late.operations.machine.line_list)


def test_each_turn_lands_one_piece() -> None:
    each_piece = Watched("each")
    for count in range(1, 4 * 50 + 1):
        each_piece.operations.turn_begins()
        assert each_piece.landed().sum() == count
    each_piece.operations.turn_begins()
    each_piece.operations.batch_ends()
    assert each_piece.landed().all()


def test_a_seed_lands_pieces_in_an_order_of_its_own() -> None:
    orders = set()
    for seed in range(8):
        drawn = Watched(f"random:{seed}")
        at_once = drawn.landed().copy()
        assert all(whole in (0, 50) for whole in at_once.reshape(4, -1).sum(axis=1))
        order, before = [], at_once
        while not before.all():
            drawn.operations.turn_begins()
            after = drawn.landed().copy()
            assert (after | ~before).all() and (after ^ before).sum() < 8
            order.append(tuple(np.flatnonzero(after ^ before).tolist()))
            before = after
            assert len(order) < 5000
        orders.add(tuple(order))
        drawn.operations.batch_ends()
    assert len(orders) == 8


def test_an_operation_has_at_most_64_pieces() -> None:
    large = Watched("late")
    at, begin = np.zeros(100_000, np.uint8), np.ones(100_000, np.uint8)
    large.operations.batch_ends()
    large.operations.machine.landing_way = asynchrony.EACH
    large.operations.initiate(large.effect, 0, 7, (at, 0), 100_000, (begin, 0), 99_999, None)
    counts = []
    for _ in range(64):
        large.operations.turn_begins()
        counts.append(int(at.sum()))
    piece = counts[0]
    assert piece % 4 == 0 and 63 * piece < 100_000 <= 64 * piece
    assert counts == [min(99_999, (i + 1) * piece) for i in range(64)]


SPIN = f"""
    {PLACES}
    setp.eq.u32 %p1, %r1, 31;
    @%p1 cp.async.cg.shared.global [cells], [%rd2], 16;
    @%p1 cp.async.cg.shared.global [cells+16], [%rd2+16], 16;
    bar.sync 0;
    @%p1 bra DONE;
    mov.u32 %r6, 0;
LOOK:
    ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [cells];
    ld.shared.v4.u32 {{%r14, %r15, %r16, %r17}}, [cells+16];
    mul.lo.u32 %r7, %r6, 32;
    add.u32 %r7, %r7, %r1;
    mul.lo.u32 %r7, %r7, 32;
    cvt.u64.u32 %rd5, %r7;
    add.u64 %rd5, %rd0, %rd5;
    st.global.v4.u32 [%rd5], {{%r10, %r11, %r12, %r13}};
    st.global.v4.u32 [%rd5+16], {{%r14, %r15, %r16, %r17}};
    bar.warp.sync 0x7fffffff;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 8;
    @%p2 bra LOOK;
DONE:
    bar.sync 0;
    @%p1 cp.async.wait_all;
"""


@pytest.mark.parametrize("copies", ["each", *(f"random:{seed}" for seed in range(6))])
def test_both_engines_land_the_same_pieces_at_the_same_turns(copies: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may look before the wait; where a page allows it, other threads see the pieces land one by one."""
    source, seen = kernel(SPIN, BOTH), []
    with (
        planted("spares_target", lambda right: lambda operation, begin, size: size == size, monkeypatch),
        planted("spares_source", lambda right: lambda operation, begin, size: size == size, monkeypatch),
    ):
        for engine in ENGINES:
            out = blank(8 * 32 * 8)
            ptxspec.load(source).launch("k", block=32, args=[out, numbers()], engine=engine, copies=copies)
            seen.append(out.reshape(8 * 32, 8))
    assert np.array_equal(seen[0], seen[-1])
    looks = {tuple((row != 0).tolist()) for row in seen[0] if row.any()}
    assert all(value in (0, i + 1) for row in seen[0] for i, value in enumerate(row))
    assert any(0 < sum(look) < 8 for look in looks) or copies != "each"


def test_there_is_a_limit_on_operations_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    source = copying(f"{COPY} cp.async.ca.shared.global [%r4+512], [%rd3], 16; cp.async.wait_all;")
    for name, most in (("OPERATIONS", 1), ("LINES", 3)):
        monkeypatch.setattr(asynchrony, name, most)
        native.functions_of.cache_clear()
        error = fault(source, [blank(), numbers()], block=2)
        assert error.rule == "operations in flight"
        monkeypatch.undo()
        native.functions_of.cache_clear()
    both(source, [blank(), numbers()], block=2)


def test_places_of_operations_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long pipeline has few operations in flight, and takes few places for them."""
    source = copying(
        "mov.u32 %r6, 0; AGAIN: "
        + COPY
        + """ cp.async.commit_group; cp.async.wait_group 1;
        add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 120; cp.async.wait_all; @%p1 bra AGAIN;"""
    )
    machines = []
    ends = asynchrony.batch_ends
    monkeypatch.setattr(asynchrony, "batch_ends", lambda machine: (machines.append(machine), ends(machine)))
    for copies in LANDING:
        ptxspec.load(source).launch("k", block=4, args=[blank(), numbers()], engine="exact", copies=copies)
        machine = machines.pop()
        assert machine.operations <= 8 and machine.nodes <= 32 and machine.lines == machine.unlanded == 0
        assert not any(machine.line_list) and not any(machine.completion)


def test_several_workers_are_one() -> None:
    """Copies of all CTAs are noted in one place."""
    data = np.random.default_rng(2).integers(0, 1 << 20, (70, 3, 32), dtype=np.uint32)
    out = blank(70 * 32)
    ptxspec.load(PIPELINE).launch("k", 70, 32, [out, data.ravel(), 3], workers=4)
    assert np.array_equal(out.reshape(70, 32), data.sum(axis=1, dtype=np.uint32)[:, ::-1])


def test_nothing_is_kept_from_launch_to_launch() -> None:
    """Neither by a launch that failed, nor by one whose threads did not wait."""
    unawaited = copying(COPY)
    for engine, module in each(unawaited):
        for _ in range(3):
            module.launch("k", block=4, args=[blank(), numbers()], engine=engine)
    for engine, module in each(
        FORGOTTEN + kernel("st.global.u32 [%rd1], 1;").split("\n", 3)[3].replace("entry k(", "entry other(")
    ):
        for _ in range(2):
            with pytest.raises(ptxspec.LaunchError):
                module.launch("k", block=4, args=[blank(), numbers()], engine=engine)
            out = blank(4)
            module.launch("other", block=4, args=[out], engine=engine)
            assert out.tolist() == [1] * 4


@pytest.mark.slow
def test_a_large_kernel_copies() -> None:
    """One that is compiled in pieces, with accesses set apart."""
    more = "\n".join(
        f"ld.shared.u32 %r{10 + i % 8}, [%r4+{4 * (i % 4)}]; add.u32 %r5, %r5, %r{10 + i % 8};" for i in range(600)
    )
    right = copying(f"mov.u32 %r5, 0; {COPY}\ncp.async.wait_all;\n{more}\nst.global.u32 [%rd1], %r5;")
    out = blank(2)
    ptxspec.load(right).launch("k", block=2, args=[out, numbers()])
    assert out.tolist() == [150 * (1 + 2 + 3 + 4), 150 * (5 + 6 + 7 + 8)]
    with pytest.raises(ptxspec.LaunchError, match="copy not waited for"):
        ptxspec.load(right.replace("cp.async.wait_all;", "")).launch("k", block=2, args=[out, numbers()])


# random programs --------------------------------------------------------------------------------------------------------


#: the line of a random program's first instruction, each of which has two
FIRST = 17


class Plain:
    """What copies mean, once more: bytes, and a list of copies under way for each thread. It knows nothing of the page."""

    def __init__(self, source: bytes):
        self.shared, self.source = bytearray(64), bytearray(source)
        self.begun: list[dict[str, Any]] = []
        self.committed, self.read = [0, 0], 0

    def race(self, filled: range | None, written: range | None) -> int | None:
        """The line of a copy that an access races with: of what it touches in shared memory, or writes in the source."""
        for copy in sorted(self.begun, key=lambda c: c["to"].start):
            if filled is not None and set(copy["to"]) & set(filled):
                return int(copy["line"])
            if written is not None and set(copy["from"]) & set(written):
                return int(copy["line"])
        return None

    def begin(self, thread: int, line: int, to: int, source: int, size: int, read: int) -> None:
        own = {"thread": thread, "line": line, "to": range(to, to + size), "from": range(source, source + read)}
        self.shared[to : to + size] = self.source[source : source + read] + bytes(size - read)
        self.begun.append(own | {"group": self.committed[thread]})

    def wait(self, thread: int, most: int | None) -> None:
        last = 1 << 30 if most is None else self.committed[thread] - most
        self.begun = [c for c in self.begun if c["thread"] != thread or c["group"] >= last]
        if most is None:
            self.committed[thread] += 1


def random_program(rng: random.Random, length: int) -> tuple[str, Any]:
    """(a program of two threads that take turns, what it leaves: the rule, the lines, or both memories)"""
    plain, lines = Plain(bytes(range(1, 65))), []
    outcome: Any = None
    for number in range(length):
        thread, line, race, rule = rng.randrange(2), FIRST + 2 * number, None, "copy not waited for"
        match rng.choice(["copy", "copy", "copy", "commit", "wait", "wait", "all", "load", "store", "write"]):
            case "copy":
                size = rng.choice([4, 8, 16])
                to, source = (rng.randrange(64 // size) * size for _ in range(2))
                read = rng.choice([size, size, rng.randrange(size + 1)])
                text = f"cp.async.ca.shared.global [%r4+{to}], [%rd2+{source}], {size}, {read};"
                race = plain.race(range(to, to + size), None)
                plain.begin(thread, line, to, source, size, read)
            case "commit":
                text = "cp.async.commit_group;"
                plain.committed[thread] += 1
            case "wait":
                most = rng.randrange(3)
                text = f"cp.async.wait_group {most};"
                plain.wait(thread, most)
            case "all":
                text = "cp.async.wait_all;"
                plain.wait(thread, None)
            case "load":
                size = rng.choice([1, 2, 4, 8])
                at = rng.randrange(64 // size) * size
                text = f"ld.shared.b{8 * size} %x{size}, [%r4+{at}];"
                race = plain.race(range(at, at + size), None)
            case "store":
                size = rng.choice([1, 2, 4])
                at = rng.randrange(64 // size) * size
                text = f"st.shared.b{8 * size} [%r4+{at}], 7;"
                race = plain.race(range(at, at + size), None)
                plain.shared[at : at + size] = (7).to_bytes(size, "little")
            case _:
                at, rule = rng.randrange(64), "source of a copy"
                text = f"st.global.u8 [%rd2+{at}], 9;"
                race = plain.race(None, range(at, at + 1))
                plain.source[at] = 9
        lines.append(f"@%p{thread} {text}\nbar.sync 0;")
        if race is not None and outcome is None:
            outcome = rule, line, race
    take = "".join(f"ld.shared.u32 %r5, [%r4+{at}]; st.global.u32 [%rd0+{at}], %r5; " for at in range(0, 64, 4))
    head = """
.reg .b16 %x1, %x2; .reg .b32 %x4; .reg .b64 %x8; .shared .align 16 .b8 cells[64]; mov.u32 %r4, cells;
ld.param.u64 %rd2, [source]; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1;
"""
    source = kernel(head + "\n".join(lines) + "\ncp.async.wait_all; bar.sync 0; " + take, BOTH)
    return source, outcome or (bytes(plain.shared), bytes(plain.source))


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.slow
def test_random_programs(seed: int) -> None:
    rng = random.Random(f"copies:{seed}")
    source, outcome = random_program(rng, 40)
    while (len(outcome) == 3) != (seed % 3 == 0):  # a third of them race
        source, outcome = random_program(rng, 40 if seed % 3 == 0 else 12)
    args = [blank(16), np.frombuffer(bytes(range(1, 65)), np.uint8).copy()]
    if len(outcome) == 2:
        out, data = both(source, args, block=2)
        assert (out.tobytes(), data.tobytes()) == outcome
        for engine in ENGINES:
            for copies in ("late", "each", f"random:{seed}"):
                mine = [a.copy() for a in args]
                ptxspec.load(source).launch("k", block=2, args=mine, engine=engine, copies=copies)
                assert tuple(a.tobytes() for a in mine) == outcome
        return
    error = fault(source, args, block=2)
    assert error.where is not None and error.other is not None
    assert (error.rule, error.where.line, error.other.line) == outcome


# rules of pages ----------------------------------------------------------------------------------------------------------


@contextmanager
def planted(name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another function, or another step, in the place of one of the page."""
    page = finder.load("ptxspec.spec.machine.asynchrony")
    right = getattr(page, name)
    if isinstance(right, Step):  # instructions have it already: it becomes another one in its place
        plain = right.function
        other = wrong(plain)
        other.__annotations__ = inspect.get_annotations(plain, eval_str=True)
        monkeypatch.setattr(right, "function", other)
    else:
        monkeypatch.setattr(page, name, wrong(right))

    def forget() -> None:
        of_mechanisms = (
            operations.mark_by_number,
            operations.step_by_number,
            operations.completed_by_number,
            operations.step_in_record,
        )
        for cache in (scripted, native.functions_of, *of_mechanisms):
            cache.cache_clear()
        vars(right).pop("meaning", None)

    forget()
    try:
        yield
    finally:
        monkeypatch.undo()
        forget()


TWO = copying(f"""
    {COPY} cp.async.commit_group; cp.async.ca.shared.global [%r4+512], [%rd3+4], 4; cp.async.commit_group;
    cp.async.wait_group 1; {TAKE} cp.async.wait_group 0; ld.shared.u32 %r5, [%r4+512]; st.global.u32 [%rd1+64], %r5;
""")
#: what lies before the target, and behind what is read
SPARED = copying(
    "st.shared.u32 [%r4+512], 5; cp.async.ca.shared.global [%r4+516], [%rd3], 4; ld.shared.u32 %r5, [%r4+512]; "
    "st.global.u32 [%rd1], %r5; cp.async.wait_all;"
)
BESIDE = copying(
    "mov.u32 %r6, 3; cp.async.ca.shared.global [%r4], [%rd2], 4, %r6; st.global.u8 [%rd2+3], 7; cp.async.wait_all; "
    + TAKE
)
PARTLY = copying(f"mov.u32 %r6, 3; cp.async.ca.shared.global [%r4], [%rd3], 4, %r6; cp.async.wait_all; {TAKE}")


@pytest.mark.sample(4, lambda name, **_: [name])
@pytest.mark.parametrize(
    ("name", "wrong", "source"),
    [
        ("wait", lambda right: lambda copies, most: copies, TWO),
        ("wait", lambda right: lambda copies, most: right(copies, most + 1), TWO),
        ("commit", lambda right: lambda copies: copies, TWO),
        ("wait_for_all", lambda right: lambda copies: copies, PARTLY),
        ("begin", lambda right: lambda copies: copies.committed + 1, TWO),
        ("is_finished", lambda right: lambda copies, group: group + 1 < copies.finished, TWO),
        ("spares_target", lambda right: lambda operation, begin, size: size == size, FORGOTTEN),
        ("spares_target", lambda right: lambda operation, begin, size: operation.size == size - size, SPARED),
        ("spares_source", lambda right: lambda operation, begin, size: size != size, BESIDE),
        ("land_all", lambda right: lambda o: (*right(o)[:3], o.size, right(o)[4], o.size - o.size), PARTLY),
        ("initiate", lambda right: lambda o, t, s, f, r, *more: right(o, t, s, f, r + 1, *more), PARTLY),
        ("fits", lambda right: lambda read, size: read < size, TWO),
    ],
)  # fmt: skip
def test_a_rule_that_says_something_else(name: str, wrong: Any, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[Any]:
        results: list[Any] = []
        data = numbers() * 0x01010101
        for engine in ENGINES:
            out = blank()
            try:
                ptxspec.load(source).launch("k", block=4, args=[out, data.copy()], engine=engine)
                results.append(out.tolist())
            except ptxspec.LaunchError as error:
                results.append(error.rule)
        return results

    before = found()
    with planted(name, wrong, monkeypatch):
        after = found()
    assert before[0] == before[-1] != after[0] == after[-1]
    assert found() == before


def test_pieces_that_land_elsewhere_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in how single pieces land changes what both engines do, where pieces land one by one."""
    shorter = (
        "land",
        lambda right: lambda operation, number: (*right(operation, number)[:3], *right(operation, number)[:2:-1]),
    )
    never = "has_landed", lambda right: lambda operation, number: number == number
    apart = "is_whole", lambda right: lambda operation: operation.size != operation.size
    for name, wrong in (shorter, never):
        results = []
        with planted(*apart, monkeypatch), planted(name, wrong, monkeypatch):
            for engine in ENGINES:
                out = blank()
                args = [out, numbers() * 0x01010101]
                ptxspec.load(PARTLY).launch("k", block=4, args=args, engine=engine, copies="late")
                results.append(out.tolist())
        right = blank()
        ptxspec.load(PARTLY).launch("k", block=4, args=[right, numbers() * 0x01010101])
        assert results[0] == results[-1] != right.tolist()


def test_the_arrays_and_steps_are_those_that_are_declared() -> None:
    kernel_of_copies = ptxspec.load(TWO).checked.kernels["k"]
    used = operations.asynchronous_use(kernel_of_copies, Profile("hopper"))
    assert used is not None
    declared = operations.OperationsMachine.__annotations__
    assert {name for name, kind in declared.items() if kind == "Column"} == set(used.lengths(1))
    assert set(used.numbers("early")) == set(operations.NUMBERS)
    steps = {
        name for name, own in vars(operations.OperationsMachine).items() if inspect.isfunction(own) and name[0] != "_"
    }
    advances = {f"advance{i}" for i in range(len(used.advances))}
    supplied = {
        "copy_bytes", "fill_bytes", "read_object", "write_object", "read_element", "write_element", "write_carried",
        "tell_operation", "tell_bytes",
    }  # fmt: skip
    assert steps - supplied == set(used.steps()) - advances
    for name in steps & set(used.steps()):
        step, _ = used.steps()[name]
        given = inspect.signature(getattr(operations.OperationsMachine, name)).parameters
        assert len(given) == 1 + len(step.states) + len(
            step.operands
        )  # the machine comes first, then the record's number


def test_the_page_says_how_large_copies_are() -> None:
    page = finder.load("ptxspec.spec.instructions.movement.cp_async")
    assert all(size % page.TOGETHER == 0 for size in page.SIZES)
    for form in ptxspec.forms("cp"):
        if "cop" in form.modifiers:
            sizes = form.definition.constants("size", form.modifiers)
            assert sizes == (page.SIZES if form.modifiers["cop"] == "ca" else (16,))


# memory of the caller ---------------------------------------------------------------------------------------------------


FROM_MEMORY = """.version 9.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 a) { .shared .align 16 .b8 s[64]; .reg .b64 %a, %x, %y; .reg .b32 %r, %s, %t;
ld.param.u64 %a, [a]; mov.u32 %t, %tid.x; mov.u32 %s, s; mad.lo.u32 %s, %t, 16, %s; mul.wide.u32 %x, %t, 16; add.u64 %a, %a, %x;
cp.async.ca.shared.global [%s], [%a], 16, READ;
BETWEEN
cp.async.wait_all; ld.shared.v2.b64 {%x, %y}, [%s]; st.global.v2.b64 [%a], {%y, %x}; ret; }"""


def from_memory(read: str = "16", between: str = "") -> ptxspec.Module:
    return ptxspec.load(FROM_MEMORY.replace("READ", read).replace("BETWEEN", between), "k.ptx")


@pytest.mark.parametrize("copies", LANDING)
@pytest.mark.parametrize("engine", ENGINES)
def test_memory_of_the_caller_is_copied_from(engine: Any, copies: str) -> None:
    memory = ptxspec.Memory()
    data = np.arange(1, 17, dtype=np.uint32)
    pointer = memory.put(data)
    from_memory("12").launch("k", block=4, args=[pointer], engine=engine, copies=copies)
    right = data.copy().reshape(4, 4)
    right[:, 3] = 0
    assert np.array_equal(memory.view(pointer, np.uint32, 16).reshape(4, 4), np.roll(right, 2, axis=1))


def test_races_in_memory_of_the_caller_are_reported_and_change_nothing() -> None:
    for engine in ENGINES:
        memory = ptxspec.Memory()
        pointer = memory.put(np.arange(1, 17, dtype=np.uint32))
        with pytest.raises(ptxspec.LaunchError) as raised:
            from_memory("12", "st.global.u8 [%a+11], 9;").launch("k", block=4, args=[pointer], engine=engine)
        assert raised.value.rule == "source of a copy" and raised.value.other is not None
        assert memory.view(pointer, np.uint32, 16).tolist() == list(range(1, 17))
        from_memory("8", "st.global.u32 [%a+8], 9;").launch("k", block=4, args=[pointer], engine=engine)
        assert memory.view(pointer, np.uint32, 16).tolist() == [0, 0, 1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0, 0, 13, 14]


def test_a_source_in_memory_of_the_caller_is_checked() -> None:
    for engine in ENGINES:
        memory = ptxspec.Memory()
        pointer = memory.put(np.arange(15, dtype=np.uint32))
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            from_memory("16").launch("k", block=4, args=[pointer], engine=engine)
        with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
            from_memory("13").launch("k", block=4, args=[pointer], engine=engine)
