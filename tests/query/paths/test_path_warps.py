"""Lanes side by side: shuffles, votes, matches, reductions, and accesses that race."""

from __future__ import annotations

import pytest

import ptxspec


def butterflies(register: str, scratch: str, op: str = "add.u32") -> str:
    return "".join(
        f"shfl.sync.bfly.b32 {scratch}, {register}, {k}, 31, -1; {op} {register}, {register}, {scratch}; "
        for k in (16, 8, 4, 2, 1)
    )


#: the sum of all lanes, one after the other
SUM = "mov.u32 s, 0; " + "".join(f"shfl.sync.idx.b32 y, a, {k}, 31, -1; add.u32 s, s, y; " for k in range(32))
OWN = "mov.u32 l, %tid.x; mad.wide.u32 at, l, 4, p; st.global.u32 [at], a; "
NEIGHBOUR = "xor.b32 m, l, 1; mad.wide.u32 to, m, 4, p; ld.global.u32 d, [to];"


#: lanes from 2 on read lane 0, which does not participate
FROM_INACTIVE = "mov.u32 l, %laneid; setp.ge.u32 p, l, 2; mov.b32 d, 0; @p shfl.sync.idx.b32 d, a, 0, 31, 0xfffffffc;"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("shfl.sync.bfly.b32 x, a, 5, 31, -1; shfl.sync.bfly.b32 d, x, 5, 31, -1;", "mov.b32 d, a;"),
        ("mov.b32 s, a; " + butterflies("s", "x"), SUM),
        ("redux.sync.add.u32 s, a, -1;", "mov.b32 s, a; " + butterflies("s", "x")),
        ("vote.sync.ballot.b32 d, p, -1; not.b32 d, d;", "not.pred q, p; vote.sync.ballot.b32 d, q, -1;"),
        ("vote.sync.any.pred r, p, -1;", "vote.sync.ballot.b32 d, p, -1; setp.ne.u32 r, d, 0;"),
        ("activemask.b32 d;", "mov.b32 d, -1;"),
        (FROM_INACTIVE, FROM_INACTIVE),
        ("mov.u32 d, %laneid;", "mov.u32 d, %tid.x;"),
        ("match.any.sync.b32 d, a, -1; and.b32 d, d, 1;", "shfl.sync.idx.b32 x, a, 0, 31, -1; set.eq.u32.u32 d, a, x; and.b32 d, d, 1;"),
        # where branches part, those are together that take one
        (
            "mov.u32 l, %laneid; and.b32 l, l, 1; setp.eq.u32 p, l, 0; @p bra E; activemask.b32 d; bra X; E: activemask.b32 d; X:",
            "mov.u32 k, %laneid; and.b32 k, k, 1; shl.b32 d, 0x55555555, k;",
        ),
    ],
)  # fmt: skip
def test_the_same_in_every_lane(left: str, right: str) -> None:
    verdict = ptxspec.prove(left, right, warp=True)
    assert verdict.status == "proved", verdict


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("shfl.sync.bfly.b32 x, a, 5, 31, -1; shfl.sync.bfly.b32 d, x, 6, 31, -1;", "mov.b32 d, a;"),
        pytest.param("mov.b32 s, a; " + butterflies("s", "x").replace(", 8, 31", ", 4, 31"), SUM, marks=pytest.mark.long),
        ("vote.sync.any.pred r, p, -1;", "vote.sync.all.pred r, p, -1;"),
        # two lanes that read an inactive one, with equal values
        (f"{FROM_INACTIVE} shfl.sync.idx.b32 x, d, 2, 31, -1; shfl.sync.idx.b32 y, d, 3, 31, -1;", f"{FROM_INACTIVE} shfl.sync.idx.b32 x, d, 2, 31, -1; mov.b32 y, x;"),
        # one lane that reads it twice
        (f"{FROM_INACTIVE} {FROM_INACTIVE.replace(' d,', ' e,')}", f"{FROM_INACTIVE} mov.b32 e, d;"),
        ("activemask.b32 d;", "mov.b32 d, 1;"),
    ],
)  # fmt: skip
def test_a_lane_in_which_they_differ(left: str, right: str) -> None:
    verdict = ptxspec.prove(left, right, warp=True)
    assert verdict.status == "refuted" and verdict.counterexample is not None, verdict
    assert all("[" in name for name in verdict.counterexample.differing)


def test_a_lane_that_is_not_in_its_own_mask_breaks_a_rule() -> None:
    verdict = ptxspec.prove("shfl.sync.bfly.b32 d, a, 1, 31, 1;", "mov.b32 d, a;", warp=True)
    assert verdict.status == "refuted" and "the left side is undefined" in verdict.reason


def test_lanes_that_wait_for_others_are_left_open() -> None:
    text = "@p bra E; shfl.sync.bfly.b32 d, a, 1, 31, -1; bra X; E: shfl.sync.bfly.b32 d, a, 1, 31, -1; X:"
    verdict = ptxspec.prove(text, "shfl.sync.bfly.b32 d, a, 1, 31, -1;", warp=True)
    assert verdict.status == "unknown"
    assert verdict.reason == "unknown where lanes wait at line 1 for lanes which are elsewhere, on the left side"


@pytest.mark.parametrize(
    "instruction",
    ["bar.sync 0;", "barrier.sync.aligned 0;", "movmatrix.sync.aligned.m8n8.trans.b16 e, a;",
     "bar.red.popc.u32 e, 0, q;"],
)  # fmt: skip
def test_a_warp_that_does_not_come_together_is_left_open(instruction: str) -> None:
    """Half of the lanes are at one instruction with `.aligned`, the others at another one that is spelled alike."""
    way = "mov.u32 l, %laneid; setp.lt.u32 p, l, 16; setp.eq.u32 q, a, 0; @p bra LOW; "
    parted = f"{way}{instruction} bra ON; LOW: {instruction} ON: mov.b32 d, a;"
    together = f"{way}add.u32 l, l, 1; LOW: {instruction} mov.b32 d, a;"
    assert ptxspec.prove(together, "mov.b32 d, a;", warp=True).status == "proved"
    assert ptxspec.prove(parted, "mov.b32 d, a;", warp=True).status == "unknown"


def test_lanes_meet_between_a_store_and_a_load() -> None:
    exchange = "mov.u32 l, %tid.x; mad.wide.u32 at, l, 4, p; st.global.u32 [at], a; shfl.sync.bfly.b32 d, a, 1, 31, -1;"
    ask = {"warp": True, "buffers": {"p": 128}}
    assert ptxspec.prove(OWN + "bar.warp.sync -1; " + NEIGHBOUR, exchange, **ask).status == "proved"
    verdict = ptxspec.prove(OWN + NEIGHBOUR, exchange, **ask)
    assert verdict.status == "unknown" and "accesses of two lanes race" in verdict.reason
    verdict = ptxspec.prove(OWN + "bar.warp.sync -1; " + NEIGHBOUR.replace("l, 1", "l, 2"), exchange, **ask)
    assert verdict.status == "refuted"


def test_all_lanes_may_read_one_byte() -> None:
    text = "ld.global.u8 d, [p];"
    assert (
        ptxspec.prove(text, "ld.global.s8 x, [p]; and.b16 d, x, 255;", warp=True, buffers={"p": 4}).status == "proved"
    )


ELECT = "elect.sync d|p, -1;"
OWN_LANE = "mov.u32 l, %laneid; "
#: lanes 1 and 2 alone come to it
SOME = OWN_LANE + "sub.u32 l, l, 1; setp.ge.u32 g, l, 2; mov.u32 d, 1; @g bra X; {} X:"


def third(lane: int) -> str:
    return f"mov.u32 d, {lane}; {OWN_LANE}setp.eq.u32 p, l, {lane};"


@pytest.mark.parametrize(
    ("left", "right", "options", "holds"),
    [
        (ELECT, ELECT, {}, True),
        (ELECT, third(0), {}, False),
        (ELECT, third(0), {"profile": "hopper"}, True),
        (ELECT, third(3), {"profile": "hopper"}, False),
        # whoever it is, it is one lane
        (ELECT + "vote.sync.ballot.b32 m, p, -1; popc.b32 n, m;", "mov.u32 n, 1;", {}, True),
        (ELECT + "vote.sync.ballot.b32 m, p, -1; shl.b32 n, 1, d; xor.b32 n, n, m;", "mov.u32 n, 0;", {}, True),
        (ELECT + "setp.lt.u32 q, d, 32;", "setp.eq.u32 q, a, a;", {}, True),
        (ELECT + "setp.lt.u32 q, d, 31;", "setp.eq.u32 q, a, a;", {}, False),
        # the same every time, for the same lanes
        (ELECT + "elect.sync e|q, -1; sub.u32 n, d, e;", "mov.u32 n, 0;", {}, True),
        (SOME.format("elect.sync d|p, 6;"), SOME.format("elect.sync d|p, 6; sub.u32 d, 3, d; sub.u32 d, 3, d;"), {}, True),
        (SOME.format("elect.sync d|p, 6;"), SOME.format("elect.sync d|p, 6; sub.u32 d, 3, d;"), {}, False),
        (SOME.format("elect.sync d|p, 6; shr.u32 d, d, 2; add.u32 d, d, 1;"), "mov.u32 d, 1;", {}, True),
    ],
)  # fmt: skip
def test_whichever_lane_is_elected(left: str, right: str, options: dict[str, str], holds: bool) -> None:
    verdict = ptxspec.prove(left, right, warp=True, **options)  # type: ignore[arg-type]
    assert verdict.status == ("proved" if holds else "refuted"), verdict
    if not holds and not options:
        assert verdict.counterexample is not None
        assert {c.entry for c in verdict.counterexample.choices} == {"elected-lane"}


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        (ELECT, third(3), True),
        (third(3), ELECT, False),
        (ELECT, third(32), False),
        (ELECT, f"mov.u32 d, 3; {OWN_LANE}setp.eq.u32 p, l, 4;", False),  # one lane for both results
        (SOME.format("elect.sync d|p, 6;"), SOME.format("mov.u32 d, 2;"), True),
        (SOME.format("elect.sync d|p, 6;"), SOME.format("mov.u32 d, 4;"), False),
        (ELECT + "elect.sync e|q, -1;", "mov.u32 d, 1; mov.u32 e, 2;", False),
        (ELECT + "elect.sync e|q, -1;", "mov.u32 d, 2; mov.u32 e, 2;", True),
    ],
)
def test_the_side_that_is_refined_may_elect_any_lane(left: str, right: str, holds: bool) -> None:
    verdict = ptxspec.prove(left, right, warp=True, relation="refines")
    assert verdict.status == ("proved" if holds else "refuted"), verdict


def test_a_lane_that_elects_nobody_proves_nothing() -> None:
    """Lanes that do not come to the instruction bind no choice: what is not so of the others is refuted."""
    guarded = "setp.ne.u32 g, a, a; @g elect.sync d|p, -1; mov.u32 e, {};"
    assert ptxspec.prove(guarded.format(1), guarded.format(2), warp=True).status == "refuted"
    guarded = guarded.replace("setp.ne.u32 g, a, a;", "setp.eq.u32 g, a, 0;")
    assert ptxspec.prove(guarded.format(1), guarded.format(2), warp=True).status == "refuted"
