"""Instructions of a warp: shuffles, votes, matches, reductions; with lanes that part, end, or were never there."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES, HEADER, both, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)

ALL = 0xFFFFFFFF
#: %r4 = the thread's word of the second array
LOAD = "ld.param.u64 %rd2, [in]; mad.wide.u32 %rd2, %r0, 4, %rd2; ld.global.u32 %r4, [%rd2];\n"
TWO = ".param .u64 out, .param .u64 in"


def run(body: str, values: np.ndarray, *, block: int, grid: int = 1, words: int = 1) -> np.ndarray:
    """Run `body` over a value a thread, in %r4; what the threads wrote to their words of out."""
    out = np.zeros(len(values) * words, np.uint32)
    return both(kernel(LOAD + body, TWO), [out, values.astype(np.uint32)], block=block, grid=grid)[0]


def draw(count: int, seed: int = 0, below: int = 1 << 32) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, below, count, dtype=np.uint32)


def by_warp(values: np.ndarray, block: int) -> list[np.ndarray]:
    """The values of each warp; the last one of a CTA may be short."""
    return [w for cta in values.reshape(-1, block) for w in np.split(cta, range(32, block, 32))]


# shuffles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 8, 32])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles_within_segments(mode: str, width: int) -> None:
    """Each distance in turn; beyond the segment a lane keeps its own value, and the predicate is false. A butterfly's distance
    stays within the segment: only the upper end is a bound to it."""
    values = draw(64, width)
    distances = width if mode == "bfly" else 32
    bound = (0 if mode == "up" else 31) | (32 - width) << 8
    body = f"""
        mov.u32 %r5, 0;
    NEXT:
        shfl.sync.{mode}.b32 %r6|%p0, %r4, %r5, {bound}, -1;
        selp.u32 %r7, 1, 0, %p0;
        mad.lo.u32 %r8, %r5, 64, %r0;
        mad.wide.u32 %rd3, %r8, 8, %rd0;
        st.global.v2.u32 [%rd3], {{%r6, %r7}};
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, {distances};
        @%p1 bra NEXT;
    """
    out = run(body, values, block=64, words=64).reshape(32, 64, 2)
    segments = values.reshape(-1, width)
    lane = np.arange(width)
    for distance in range(distances):
        source = {"up": lane - distance, "down": lane + distance, "bfly": lane ^ distance}.get(mode)
        if source is None:
            source = np.full(width, distance % width)
        within = (source >= 0) & (source < width)
        wanted = np.where(within, segments[:, np.where(within, source, 0)], segments)
        assert np.array_equal(out[distance, :, 0], wanted.reshape(-1)), distance
        assert np.array_equal(out[distance, :, 1], np.tile(within, 64 // width)), distance


def test_the_bound() -> None:
    """Lanes 0 to 9 alone are shifted down; an out-of-range b still may find a lane."""
    out = run("shfl.sync.down.b32 %r5, %r4, 33, 9, -1; st.global.u32 [%rd1], %r5;", np.arange(32), block=32)
    assert out.tolist() == [*range(1, 10), 9, *range(10, 32)]


def test_every_lane_names_its_own_source() -> None:
    order = np.random.default_rng(1).permutation(32)
    values = np.concatenate([order, order])
    out = run("shfl.sync.idx.b32 %r5, %r1, %r4, 31, -1; st.global.u32 [%rd1], %r5;", values, block=64)
    assert out.tolist() == [*order, *(order + 32)]


def test_what_is_shuffled_may_be_overwritten() -> None:
    """The destination is the source, and the lane that was asked for."""
    out = run("shfl.sync.up.b32 %r4, %r4, %r4, 0, -1; st.global.u32 [%rd1], %r4;", np.ones(32), block=32)
    assert out.tolist() == [1] * 32
    out = run(
        "mov.u32 %r4, %r1; shfl.sync.idx.b32 %r4|%p1, %r4, %r4, 31, -1; st.global.u32 [%rd1], %r4;", draw(32), block=32
    )
    assert out.tolist() == list(range(32))


@pytest.mark.parametrize(("block", "grid"), [(32, 1), (96, 22), (1024, 1)])
def test_sum_and_scan(block: int, grid: int) -> None:
    """More threads than are resident at once among them."""
    values = draw(block * grid, block)
    scan = "".join(
        f"shfl.sync.up.b32 %r6|%p0, %r5, {d}, 0, -1; @%p0 add.u32 %r5, %r5, %r6;\n" for d in (1, 2, 4, 8, 16)
    )
    butterfly = "".join(f"shfl.sync.bfly.b32 %r6, %r7, {d}, 31, -1; add.u32 %r7, %r7, %r6;\n" for d in (16, 8, 4, 2, 1))
    body = f"mov.u32 %r5, %r4; mov.u32 %r7, %r4; {scan} {butterfly} xor.b32 %r5, %r5, %r7; st.global.u32 [%rd1], %r5;"
    wanted = [np.cumsum(w, dtype=np.uint32) ^ w.sum(dtype=np.uint32) for w in by_warp(values, block)]
    assert np.array_equal(run(body, values, block=block, grid=grid), np.concatenate(wanted))


def test_a_lane_that_takes_no_part_gives_what_the_profile_says() -> None:
    source = kernel("""
        setp.ge.u32 %p0, %r1, 16;
        @%p0 exit;
        shfl.sync.bfly.b32 %r5|%p1, %r3, 16, 31, -1;
        selp.u32 %r6, 100, 0, %p1;
        add.u32 %r5, %r5, %r6;
        st.global.u32 [%rd1], %r5;
    """)
    assert both(source, [np.zeros(32, np.uint32)], block=32)[0].tolist() == [100] * 16 + [0] * 16
    for block in (32, 16):  # lanes that have ended, and lanes of which there is no thread
        with pytest.raises(ptxspec.LaunchError, match="inactive-lane") as caught:
            ptxspec.load(source).launch("k", 1, block, [np.zeros(32, np.uint32)], engine="exact", profile="portable")
        assert caught.value.rule == "no choice"


def test_a_lane_beside_gives_its_value_where_it_executes_the_same_instruction() -> None:
    """Two halves of a warp under masks of their own take from each other: their values at one place of the program, zeros where
    each half has a place of its own."""
    masks = "setp.lt.u32 %p0, %r1, 16; selp.b32 %r5, 0xffff, 0xffff0000, %p0;"
    shuffle, store = "shfl.sync.bfly.b32 %r6, %r4, 16, 31, %r5;", "st.global.u32 [%rd1], %r6;"
    values = draw(64, 3) | 1
    together = run(masks + shuffle + store, values, block=32, grid=2)
    assert np.array_equal(together, np.concatenate([np.roll(w, 16) for w in by_warp(values, 32)]))
    apart = run(f"{masks} @%p0 bra LOW; {shuffle} bra END; LOW: {shuffle} END: {store}", values, block=32, grid=2)
    assert not apart.any()


# votes, matches, reductions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 20, 32, 100])
def test_compaction(block: int) -> None:
    """Values below a bound are moved to the front of each warp: ballot and population count. Masks are all ones, though the
    last warp is not full."""
    values = draw(block * 3, block, 100)
    body = """
        setp.lt.u32 %p0, %r4, 40;
        vote.sync.ballot.b32 %r5, %p0, 0xffffffff;
        and.b32 %r6, %r1, 31;
        shl.b32 %r7, 1, %r6;
        sub.u32 %r7, %r7, 1;
        and.b32 %r7, %r7, %r5;
        popc.b32 %r7, %r7;
        sub.u32 %r8, %r0, %r6;
        add.u32 %r8, %r8, %r7;
        mad.wide.u32 %rd3, %r8, 4, %rd0;
        @%p0 st.global.u32 [%rd3], %r4;
    """
    wanted = []
    for warp in by_warp(values, block):
        few = warp[warp < 40]
        wanted += [*few, *[0] * (len(warp) - len(few))]
    assert run(body, values, block=block, grid=3).tolist() == wanted


@pytest.mark.parametrize("density", [0, 1, 16, 31, 32])
@pytest.mark.parametrize("block", [32, 20])
def test_all_any_uni(block: int, density: int) -> None:
    values = (np.random.default_rng(density).permutation(block) < density).astype(np.uint32)
    body = """
        setp.ne.u32 %p0, %r4, 0;
        vote.sync.all.pred %p1, %p0, -1;
        vote.sync.any.pred %p2, %p0, -1;
        vote.sync.uni.pred %p3, %p0, -1;
        vote.sync.all.pred %p4, !%p0, -1;
        vote.sync.any.pred %p5, !%p0, -1;
        selp.u32 %r5, 1, 0, %p1;
        @%p2 or.b32 %r5, %r5, 2;
        @%p3 or.b32 %r5, %r5, 4;
        @%p4 or.b32 %r5, %r5, 8;
        @%p5 or.b32 %r5, %r5, 16;
        st.global.u32 [%rd1], %r5;
    """
    holds = values.astype(bool)
    answers = [holds.all(), holds.any(), holds.all() or not holds.any(), not holds.any(), not holds.all()]
    wanted = sum(bool(a) << i for i, a in enumerate(answers))
    assert run(body, values, block=block).tolist() == [wanted] * block


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("block", [64, 50])
def test_match_any(block: int, width: int) -> None:
    values = draw(block, width, 6)
    wide = "mov.b64 %rd4, {7, %r4};" if width == 64 else ""  # the difference lies in the high half
    operand = "%rd4" if width == 64 else "%r4"
    out = run(f"{wide} match.any.sync.b{width} %r5, {operand}, -1; st.global.u32 [%rd1], %r5;", values, block=block)
    wanted = [sum(1 << i for i in np.flatnonzero(w == v)) for w in by_warp(values, block) for v in w]
    assert out.tolist() == wanted


@pytest.mark.parametrize("type", ["b32", "b64"])
def test_match_all(type: str) -> None:
    """Warp 0 agrees, warp 1 but for one lane, warp 2 has 10 threads and agrees."""
    values = np.full(74, 5)
    values[50] = 4
    body = f"""
        mov.b64 %rd4, {{%r4, %r4}};
        match.all.sync.{type} %r5|%p0, {"%rd4" if type == "b64" else "%r4"}, -1;
        @%p0 not.b32 %r5, %r5;
        st.global.u32 [%rd1], %r5;
        match.all.sync.{type} _|%p1, {"%rd4" if type == "b64" else "%r4"}, -1;
        @%p1 add.u32 %r5, %r5, 1;
        st.global.u32 [%rd1], %r5;
    """
    out = run(body, values, block=74).tolist()
    assert out == [1] * 32 + [0] * 32 + [(ALL & ~0x3FF) + 1] * 10


NUMPY = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
         "xor": np.bitwise_xor}  # fmt: skip


@pytest.mark.parametrize(
    ("op", "type"),
    [*[(o, t) for o in ("add", "min", "max") for t in ("u32", "s32")], *[(o, "b32") for o in ("and", "or", "xor")]],
)
@pytest.mark.parametrize("block", [32, 45])
def test_redux(op: str, type: str, block: int) -> None:
    """By parity of the lanes: two groups in a warp, each under its own mask."""
    values = draw(block, block)
    body = f"""
        and.b32 %r5, %r1, 1;
        shl.b32 %r5, 0x55555555, %r5;
        redux.sync.{op}.{type} %r6, %r4, %r5;
        st.global.u32 [%rd1], %r6;
    """
    wanted = np.zeros(block, np.uint32)
    typed = values.view(np.int32) if type == "s32" else values
    for start in range(0, block, 32):
        for parity in (0, 1):
            part = slice(start + parity, min(start + 32, block), 2)
            result = NUMPY[op].reduce(typed[part])
            wanted[part] = np.asarray(result).astype(np.int64) & ALL
    assert np.array_equal(run(body, values, block=block), wanted)


def test_elect() -> None:
    """One lane of each warp that is in the mask; every lane hears of the same one."""
    body = """
        and.b32 %r5, %r1, 31;
        setp.lt.u32 %p0, %r5, 3;
        @%p0 exit;
        elect.sync %r6|%p1, 0xfffffff8;
        selp.u32 %r7, 100, 0, %p1;
        add.u32 %r6, %r6, %r7;
        st.global.u32 [%rd1], %r6;
    """
    assert run(body, np.zeros(64), block=64).tolist() == ([0] * 3 + [103] + [3] * 28) * 2


# lanes that part -----------------------------------------------------------------------------------------------------


def test_branches_with_masks_of_their_own() -> None:
    """Halves of a warp in two branches, each meeting only its own; then all together."""
    body = """
        and.b32 %r5, %r1, 16;
        setp.ne.u32 %p0, %r5, 0;
        @%p0 bra HIGH;
        redux.sync.add.u32 %r6, %r4, 0x0000ffff;
        redux.sync.add.u32 %r6, %r6, 0x0000ffff;
        bra JOIN;
    HIGH:
        redux.sync.max.u32 %r6, %r4, 0xffff0000;
    JOIN:
        redux.sync.add.u32 %r7, %r6, 0xffffffff;
        bar.warp.sync -1;
        add.u32 %r7, %r7, %r6;
        st.global.u32 [%rd1], %r7;
    """
    values = draw(96, 5, 1000)
    wanted = []
    for warp in by_warp(values, 96):
        low, high = int(warp[:16].sum()) * 16, int(warp[16:].max())
        wanted += [16 * (low + high) + low] * 16 + [16 * (low + high) + high] * 16
    assert run(body, values, block=96).tolist() == wanted


def test_one_instruction_at_two_places() -> None:
    """Lanes in different branches meet at instructions that are spelled alike, under one mask."""
    body = """
        and.b32 %r5, %r1, 1;
        setp.ne.u32 %p0, %r5, 0;
        @%p0 bra ODD;
        shfl.sync.bfly.b32 %r6, %r1, 1, 31, -1;
        bra JOIN;
    ODD:
        add.u32 %r7, %r1, 1000;
        shfl.sync.bfly.b32 %r6|%p1, %r7, 1, 31, -1;
    JOIN:
        st.global.u32 [%rd1], %r6;
    """
    assert run(body, np.zeros(64), block=64).tolist() == [i + 1001 if i % 2 == 0 else i - 1 for i in range(64)]


def test_a_loop_that_lanes_leave() -> None:
    """Each lane goes round as often as its value says; those that stay know one another by a vote."""
    values = draw(64, 9, 8)
    body = """
        mov.u32 %r5, 0xffffffff;
        mov.u32 %r6, 0;
        mov.u32 %r8, %r4;
    ROUND:
        setp.ne.u32 %p0, %r8, 0;
        vote.sync.ballot.b32 %r7, %p0, %r5;
        @!%p0 bra DONE;
        mov.u32 %r5, %r7;
        redux.sync.add.u32 %r9, 1, %r5;
        add.u32 %r6, %r6, %r9;
        sub.u32 %r8, %r8, 1;
        bra ROUND;
    DONE:
        st.global.u32 [%rd1], %r6;
    """
    wanted = [sum(int((w > k).sum()) for k in range(v)) for w in by_warp(values, 64) for v in w]
    assert run(body, values, block=64).tolist() == wanted


def test_lanes_that_have_ended_are_not_waited_for() -> None:
    body = """
        setp.ne.u32 %p0, %r4, 0;
        @%p0 exit;
        redux.sync.add.u32 %r5, 1, 0xffffffff;
        activemask.b32 %r6;
        popc.b32 %r6, %r6;
        mad.lo.u32 %r5, %r5, 100, %r6;
        st.global.u32 [%rd1], %r5;
    """
    values = draw(80, 3, 2)
    wanted = [0 if v else 101 * int((w == 0).sum()) for w in by_warp(values, 80) for v in w]
    assert run(body, values, block=80).tolist() == wanted


def test_lanes_that_end_while_others_wait() -> None:
    """One lane waits for the flag of another warp, then ends; its warp waits for it until then."""
    body = """
        .shared .u32 flag;
        setp.eq.u32 %p0, %r1, 3;
        @%p0 bra SPIN;
        setp.eq.u32 %p1, %r1, 40;
        @%p1 st.volatile.shared.u32 [flag], 1;
        vote.sync.ballot.b32 %r5, %p1, 0xffffffff;
        activemask.b32 %r6;
        xor.b32 %r5, %r5, %r6;
        st.global.u32 [%rd1], %r5;
        ret;
    SPIN:
        ld.volatile.shared.u32 %r6, [flag];
        setp.eq.u32 %p2, %r6, 0;
        @%p2 bra SPIN;
    """
    out = run(body, np.zeros(64), block=64).tolist()
    assert out == [ALL & ~8 if i != 3 else 0 for i in range(32)] + [ALL & ~(1 << 8)] * 32


def test_guarded_collectives() -> None:
    """Lanes whose guard is false pass by, and keep what they had."""
    body = """
        mov.u32 %r6, 77;
        setp.lt.u32 %p0, %r1, 10;
        @%p0 redux.sync.add.u32 %r6, %r4, 0x3ff;
        @!%p0 vote.sync.ballot.b32 %r6, %p0, 0xfffffc00;
        @%p0 bar.warp.sync 0x3ff;
        setp.eq.u32 %p1, %r1, 31;
        @%p1 activemask.b32 %r6;
        st.global.u32 [%rd1], %r6;
    """
    out = run(body, np.arange(32), block=32).tolist()
    assert out == [45] * 10 + [0] * 21 + [1 << 31]


def test_masks_of_single_lanes() -> None:
    body = "and.b32 %r5, %r1, 31; shl.b32 %r5, 1, %r5; match.any.sync.b32 %r6, 5, %r5; st.global.u32 [%rd1], %r6;"
    assert run(body, np.zeros(40), block=40).tolist() == [1 << i % 32 for i in range(40)]


def test_activemask_after_branches() -> None:
    """Within a branch those that took it; behind it all."""
    body = """
        activemask.b32 %r8;
        setp.lt.u32 %p0, %r1, 5;
        @%p0 bra FEW;
        activemask.b32 %r5;
        bra JOIN;
    FEW:
        activemask.b32 %r5;
    JOIN:
        activemask.b32 %r6;
        xor.b32 %r5, %r5, %r6;
        xor.b32 %r5, %r5, %r8;
        st.global.u32 [%rd1], %r5;
    """
    assert run(body, np.zeros(32), block=32).tolist() == [31] * 5 + [ALL & ~31] * 27


def test_values_of_64_bits_keep_their_top_bit() -> None:
    source = kernel("""
        mov.u64 %rd4, 0x8000000000000000;
        setp.lt.u32 %p0, %r1, 4;
        @%p0 mov.u64 %rd4, 0xffffffffffffffff;
        match.any.sync.b64 %r5, %rd4, -1;
        st.global.u32 [%rd1], %r5;
    """)
    assert both(source, [np.zeros(32, np.uint32)], block=32)[0].tolist() == [15] * 4 + [ALL & ~15] * 28


# without a mask ------------------------------------------------------------------------------------------------------


def former(source: str, target: str = "sm_30") -> str:
    return source.replace(".version 9.0", ".version 6.3").replace("sm_90", target)


@pytest.mark.parametrize("target", ["sm_30", "sm_60", "sm_70"])
def test_a_scan_of_old(target: str) -> None:
    values = draw(70, 70)
    scan = "".join(f"shfl.up.b32 %r6|%p0, %r4, {d}, 0; @%p0 add.u32 %r4, %r4, %r6;\n" for d in (1, 2, 4, 8, 16))
    source = former(kernel(LOAD + scan + "st.global.u32 [%rd1], %r4;", TWO), target)
    out = both(source, [np.zeros(70, np.uint32), values], block=70)[0]
    assert np.array_equal(out, np.concatenate([np.cumsum(w, dtype=np.uint32) for w in by_warp(values, 70)]))


def test_lanes_meet_again_behind_a_branch_and_a_loop() -> None:
    """Those that need not go round wait behind the loop, while those in it vote among themselves."""
    values = draw(64, 2, 6)
    body = """
        mov.u32 %r6, 0;
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra JOIN;
    ROUND:
        vote.ballot.b32 %r7, 1;
        popc.b32 %r7, %r7;
        add.u32 %r6, %r6, %r7;
        sub.u32 %r4, %r4, 1;
        setp.ne.u32 %p1, %r4, 0;
        @%p1 bra ROUND;
    JOIN:
        vote.ballot.b32 %r7, %p0;
        popc.b32 %r7, %r7;
        mad.lo.u32 %r6, %r6, 100, %r7;
        vote.all.pred %p2, %p0;
        @%p2 add.u32 %r6, %r6, 100000;
        st.global.u32 [%rd1], %r6;
    """
    out = both(former(kernel(LOAD + body, TWO)), [np.zeros(64, np.uint32), values], block=64)[0]
    wanted = [
        100 * sum(int((w > k).sum()) for k in range(v)) + int((w == 0).sum()) for w in by_warp(values, 64) for v in w
    ]
    assert out.tolist() == wanted


def test_a_guarded_vote_of_old() -> None:
    body = "setp.lt.u32 %p0, %r1, 7; mov.u32 %r5, 1; @%p0 vote.ballot.b32 %r5, %p0; st.global.u32 [%rd1], %r5;"
    assert both(former(kernel(body)), [np.zeros(32, np.uint32)], block=32)[0].tolist() == [127] * 7 + [1] * 25


SPIN_BESIDE = """
    .shared .u32 flag;
    setp.eq.u32 %p0, %r1, 31;
    @%p0 bra SPIN;
    {meet}
    st.volatile.shared.u32 [flag], 1;
    st.global.u32 [%rd1], %r5;
    ret;
SPIN:
    {busy}
    ld.volatile.shared.u32 %r6, [flag];
    setp.eq.u32 %p2, %r6, 0;
    @%p2 bra SPIN;
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("busy", ["", "bar.warp.sync 0x80000000;"], ids=["", "meeting itself"])
@pytest.mark.parametrize("meet", ["activemask.b32 %r5;", "redux.sync.or.b32 %r5, 0x7fffffff, 0x7fffffff;"])
def test_a_lane_that_spins_is_not_waited_for_forever(meet: str, busy: str, engine: str) -> None:
    """The others go on without it, and set the flag for which it waits."""
    out = np.zeros(32, np.uint32)
    source = kernel(SPIN_BESIDE.format(meet=meet, busy=busy))
    ptxspec.load(source).launch("k", 1, 32, [out], engine=engine, step_limit=3_000_000)
    assert out.tolist() == [0x7FFFFFFF] * 31 + [0]


def test_votes_of_old_are_patient() -> None:
    """A lane on a long way is waited for, as on the chips of that time; one that spins for the others, forever."""
    body = """
        mov.u32 %r5, 0;
        setp.ne.u32 %p0, %r1, 9;
        @%p0 bra JOIN;
    LONG:
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 500000;
        @%p1 bra LONG;
    JOIN:
        vote.ballot.b32 %r6, 1;
        st.global.u32 [%rd1], %r6;
    """
    out = np.zeros(32, np.uint32)
    ptxspec.load(former(kernel(body))).launch("k", 1, 32, [out], engine="native")
    assert out.tolist() == [ALL] * 32
    source = former(kernel(SPIN_BESIDE.format(meet="vote.ballot.b32 %r5, 1;", busy="")))
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(source).launch("k", 1, 32, [np.zeros(32, np.uint32)], engine="native", step_limit=3_000_000)
    assert caught.value.rule == "step limit"


def test_an_endless_loop_of_meetings_meets_the_limit() -> None:
    error = fault(kernel("L: bar.warp.sync -1; bra L;"), [np.zeros(1, np.uint32)], block=32, step_limit=5000)
    assert error.rule == "step limit"


# what goes wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "threads", "rule", "thread", "instruction"),
    [
        ("mov.u32 %r5, 0; bar.warp.sync %r5;", 32, "own lane", 0, "bar.warp.sync %r5;"),
        ("vote.sync.all.pred %p1, %p0, 0xfffffffe;", 32, "own lane", 0, "vote.sync.all.pred %p1, %p0, 0xfffffffe;"),
        ("redux.sync.add.u32 %r5, 1, 0xffff;", 40, "own lane", 16, "redux.sync.add.u32 %r5, 1, 0xffff;"),
        ("match.any.sync.b32 %r5, %r1, 0xfffffffd;", 32, "own lane", 1, "match.any.sync.b32 %r5, %r1, 0xfffffffd;"),
        ("elect.sync %r5|%p1, 0xfffffffd;", 32, "own lane", 1, "elect.sync %r5|%p1, 0xfffffffd;"),
        ("shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xfffffffd;", 32, "own lane", 1,
         "shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xfffffffd;"),
        ("setp.eq.u32 %p0, %r1, 37; @!%p0 bar.warp.sync -1; @%p0 bar.sync 1, 64;", 64, "stuck warp", 32,
         "bar.warp.sync -1;"),
        ("setp.eq.u32 %p0, %r1, 0; selp.u32 %r5, 3, 7, %p0; bar.warp.sync %r5;", 2, "stuck warp", 0, "bar.warp.sync %r5;"),
        ("setp.eq.u32 %p0, %r1, 5; @%p0 match.any.sync.b32 %r5, %r1, -1; @!%p0 redux.sync.add.u32 %r5, %r1, -1;", 32,
         "stuck warp", 0, "redux.sync.add.u32 %r5, %r1, -1;"),
    ],
)  # fmt: skip
def test_broken_rules(body: str, threads: int, rule: str, thread: int, instruction: str) -> None:
    """Both engines name one thread, the instruction at which it waits, and the page; the arrays are as they were."""
    error = fault(kernel("st.global.u32 [%rd1], 99;" + body), [np.arange(threads, dtype=np.uint32)], block=threads)
    assert error.rule == rule
    assert error.where is not None and error.where.thread == (thread, 0, 0)
    assert error.where.instruction == instruction and error.where.line > 0
    assert error.page is not None and error.page.startswith("spec/machine/warps.md:")


@pytest.mark.parametrize(
    "before",
    [
        "setp.eq.u32 %p0, %r1, 3; @%p0 exit;",  # the source has ended
        "setp.ge.u32 %p0, %r1, 3; @%p0 bra REST;",  # it takes another way
    ],
)
def test_a_shuffle_from_a_lane_that_takes_no_part(before: str) -> None:
    """The value is undefined: no error where a profile chooses it, and the exact engine says where none does."""
    mask = "0x7" if "bra" in before else "-1"
    body = f"{before} shfl.sync.idx.b32 %r5, %r1, 3, 31, {mask}; REST: st.global.u32 [%rd1], %r5;"
    assert both(kernel(body), [np.zeros(32, np.uint32)], block=32)[0].tolist() == [0] * 32
    with pytest.raises(ptxspec.LaunchError, match="'inactive-lane'") as caught:
        ptxspec.load(kernel(body)).launch("k", 1, 32, [np.zeros(32, np.uint32)], engine="exact", profile="portable")
    assert caught.value.rule == "no choice"


def test_what_is_said_of_a_stuck_warp() -> None:
    source = kernel("setp.lt.u32 %p0, %r1, 4; @%p0 bra L; bar.warp.sync 0xff; ret; L: bar.sync 0;")
    error = fault(source, [np.zeros(8, np.uint32)], block=8)
    assert error.rule == "stuck warp"
    assert "0x000000f0" in error.note and "0x000000ff" in error.note


def test_the_former_forms_are_refused_where_they_do_not_exist() -> None:
    body = text("vote.all.pred %p1, %p2;")
    assert HEADER in body
    with pytest.raises(
        ptxspec.PtxError, match=r"vote.all.pred does not exist from PTX ISA 6\.4 on for sm_70 and later"
    ):
        ptxspec.load(body)
    ptxspec.load(body.replace("sm_90", "sm_60"))
    ptxspec.load(former(body, "sm_70"))
    with pytest.raises(ptxspec.PtxError, match=r"needs PTX ISA 6\.0"):
        ptxspec.load(former(text("vote.sync.all.pred %p1, %p2, -1;")).replace("6.3", "5.0"))
