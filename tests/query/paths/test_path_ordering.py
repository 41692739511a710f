"""Sides that order memory for other threads: what they do alone proves nothing, unless they agree on what others may see."""

from __future__ import annotations

from typing import Any

import pytest

import ptxspec

BUFFERS = {"p": 16, "f": 16}
HEAD = ".version 8.0 .target sm_80 .address_size 64 "
WRITE = "st.global.u32 [p], a; "
RELEASE = "st.release.gpu.global.u32 [f], 1; "
ACQUIRE = "ld.acquire.gpu.global.u32 x, [f]; "
FENCE = "fence.sc.gpu; "
READ = "ld.global.u32 d, [p]; "
#: addresses of a lane's own
LANE = "mov.u32 l, %laneid; mad.wide.u32 q, l, 4, p; "
OWN = "mov.u32 k, %laneid; shl.b32 k, k, 2; cvt.u64.u32 r, k; add.u64 q, p, r; "


def asked(left: str, right: str, **how: Any) -> ptxspec.Verdict:
    return ptxspec.prove(left, right, **{"buffers": BUFFERS, **how})


#: pairs that leave the same alone, and with other threads the right side leaves what the left one does not
REFUTED = [
    (WRITE + RELEASE, RELEASE + WRITE),
    (WRITE + FENCE + "st.global.u32 [f], 1;", "st.global.u32 [f], 1;" + FENCE + WRITE),
    (ACQUIRE + READ, READ + ACQUIRE),
    (FENCE + "ld.global.u8 d, [p];", "ld.global.u8 d, [p];" + FENCE),
    (READ + FENCE, f"ld.global.u32 x, [p]; {FENCE} {READ}"),
    (WRITE + FENCE + "mov.u32 d, a;", WRITE + FENCE + READ),
    (FENCE, FENCE + "ld.global.u32 x, [p]; st.global.u32 [p], x;"),
    (WRITE + WRITE + FENCE, WRITE + FENCE + WRITE),
    (WRITE + FENCE + READ, WRITE + READ),
    (WRITE + RELEASE, WRITE + "st.global.u32 [f], 1;"),
    ("atom.global.add.u32 x, [p], 1;", "ld.global.u32 x, [p]; add.u32 y, x, 1; st.global.u32 [p], y;"),
    (FENCE, "fence.acq_rel.gpu;"),
    (FENCE, "fence.sc.cta;"),
    (FENCE, "membar.cta;"),
    (WRITE + RELEASE, WRITE + "st.release.cta.global.u32 [f], 1;"),
    ("atom.acquire.gpu.global.add.u32 x, [p], 1;", "atom.global.add.u32 x, [p], 1;"),
]  # fmt: skip
#: pairs of which the right side orders more than the left one, and leaves nothing else
STRONGER = [
    (WRITE, WRITE + "membar.gl;"),
    ("add.u32 d, a, b;", FENCE + "add.u32 d, a, b;"),
]  # fmt: skip


@pytest.mark.sample(16, lambda left, right, relation: [relation])
@pytest.mark.parametrize(("left", "right"), REFUTED)
@pytest.mark.parametrize("relation", ["equal", "refines"])
def test_a_program_of_several_threads_refutes(left: str, right: str, relation: Any) -> None:
    verdict = asked(left, right, relation=relation)
    assert verdict.status == "refuted" and verdict.witness is not None, verdict
    assert verdict.witness.allowed_by == "right" and (
        verdict.witness.axioms or "no execution does it" in verdict.reason
    )
    for text, status in ((verdict.witness.left, "forbidden"), (verdict.witness.right, "allowed")):
        assert ptxspec.litmus(text).status == ptxspec.litmus(text, by="solver").status == status, text


@pytest.mark.parametrize(("left", "right"), STRONGER)
def test_more_order_refines_and_is_not_equal(left: str, right: str) -> None:
    assert asked(left, right, relation="refines").status == "proved"
    verdict = asked(left, right)
    assert verdict.status == "refuted" and verdict.witness is not None and verdict.witness.allowed_by == "left"


#: pairs that leave the same alone, and of which more is not decided; part of the reason
APART = [
    # what is written, or read, on which side of an event
    # an event more, or fewer
    ("add.u32 d, a, b;", "griddepcontrol.wait; add.u32 d, a, b;", "right side has griddepcontrol.wait;"),
    ("ld.volatile.global.u32 x, [p]; ld.volatile.global.u32 d, [p];", "ld.volatile.global.u32 d, [p];", "has nothing"),
    ("ld.volatile.global.v2.u32 {x, y}, [p];", "ld.volatile.global.u32 x, [p]; ld.volatile.global.u32 y, [p+4];", "order"),
    ("st.volatile.global.u32 [p], a;", WRITE, "left side has st.volatile"),
    ("ld.mmio.relaxed.sys.global.u32 d, [p];", READ, "left side has ld.mmio"),
    # another order, or other threads for which it holds
    ("fence.proxy.async;", "fence.proxy.async.global;", "right side has fence.proxy.async.global;"),
    ("fence.proxy.alias;", "fence.proxy.async;", "right side has fence.proxy.async;"),
    ("griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "right side has griddepcontrol.launch_dependents;"),
    ("ld.relaxed.sys.global.u32 d, [p];", "ld.mmio.relaxed.sys.global.u32 d, [p];", "right side has ld.mmio"),
    ("ld.volatile.global.u32 d, [p];", "ld.relaxed.sys.global.u32 d, [p];", "right side has ld.relaxed.sys"),
    pytest.param("atom.global.add.u32 x, [p], 1;", "red.global.add.u32 [p], 1;", "right side has red.global", marks=pytest.mark.slow),
    # the same events, exchanged, or whose values are
    ("ld.volatile.global.u32 x, [p]; ld.volatile.global.u32 y, [f];", "ld.volatile.global.u32 y, [f]; ld.volatile.global.u32 x, [p];", ""),
    ("ld.volatile.global.u32 d, [p]; ld.volatile.global.u32 x, [p];", "ld.volatile.global.u32 y, [p]; ld.volatile.global.u32 d, [p];", "d depends on"),
    ("st.volatile.global.u32 [p], a; atom.global.add.u32 x, [p], 0;", "st.volatile.global.u32 [p], a; atom.global.exch.b32 x, [p], a;", "they differ at atom"),
    # on some paths
    ("@s bra E; fence.sc.gpu; E:", "@!s bra E; fence.sc.gpu; E:", ""),
    (f"{WRITE} @s {RELEASE}", f"@s {RELEASE} {WRITE}", "before st.release"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "why"), APART)
def test_what_other_threads_may_see_is_not_decided(left: str, right: str, why: str) -> None:
    for relation in ("equal", "refines"):
        verdict = asked(left, right, relation=relation)
        assert verdict.status == "unsupported" and why in verdict.reason, verdict


#: pairs that are the same to other threads, too
TOGETHER = [
    (WRITE + RELEASE, f"mov.u32 b, a; st.global.u32 [p], b; {RELEASE}"),
    ("st.global.u32 [p], a; st.global.u32 [p+4], b;" + RELEASE, "st.global.v2.u32 [p], {a, b};" + RELEASE),
    ("st.global.u32 [p], a; st.global.u32 [p+4], b;" + FENCE, "st.global.u32 [p+4], b; st.global.u32 [p], a;" + FENCE),
    (WRITE + "st.global.u32 [p], b;" + RELEASE, "st.global.u32 [p], b;" + RELEASE),
    ("ld.global.u32 x, [p];" + FENCE + "st.global.u32 [f], a;", FENCE + "st.global.u32 [f], a;"),
    (ACQUIRE + READ + "ld.global.u32 e, [p];", ACQUIRE + READ + "mov.u32 e, d;"),
    ("@s fence.sc.gpu;", "@!s bra E; fence.sc.gpu; E:"),
    ("@s bra L; st.release.gpu.global.u32 [f], 1; bra E; L: st.release.gpu.global.u32 [f], 2; E:",
     "selp.u32 x, 2, 1, s; st.release.gpu.global.u32 [f], x;"),
    ("st.release.gpu.u32 [f], a;", "st.release.gpu.global.b32 [f], a;"),
    ("atom.global.inc.u32 x, [p], -1;", "atom.global.gpu.relaxed.add.u32 x, [p], 1;".replace(".gpu.relaxed", "")),
    ("atom.add.u32 x, [p], 1;", "atom.relaxed.gpu.global.add.u32 x, [p], 1;"),
    ("mov.u32 i, 0; L: fence.sc.gpu; add.u32 i, i, 1; setp.lt.u32 s, i, 3; @s bra L;", FENCE * 3 + "mov.u32 i, 3;"),
    (FENCE + "add.u32 d, a, b;", "add.u32 d, b, a;" + FENCE),
    ("membar.gl;" + WRITE, FENCE + WRITE),  # by the manual they are synonyms
    ("membar.proxy.alias;" + WRITE, "fence.proxy.alias;" + WRITE),
    (".local .b32 v; st.local.u32 [v], a; fence.sc.gpu; ld.local.u32 d, [v];", "mov.u32 d, a; fence.sc.gpu;"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), TOGETHER)
@pytest.mark.parametrize("relation", ["equal", "refines"])
def test_sides_that_agree_on_it_are_proved(left: str, right: str, relation: Any) -> None:
    verdict = asked(left, right, relation=relation)
    assert verdict.status == "proved", verdict


@pytest.mark.slow
def test_memory_that_no_other_thread_accesses_is_the_threads_own() -> None:
    add = "ld.global.u32 x, [p]; add.u32 y, x, 1; st.global.u32 [p], y;"
    verdict = ptxspec.prove("atom.global.add.u32 x, [p], 1;", add, buffers={"p": "16 private"})
    assert verdict.status == "proved"
    assert verdict.statement is not None and "No other thread accesses p." in verdict.statement.notes
    both = {"p": "16 private", "f": 16}
    assert ptxspec.prove("atom.global.add.u32 x, [p], 1;" + RELEASE, add + RELEASE, buffers=both).status == "proved"
    verdict = ptxspec.prove("atom.global.add.u32 x, [p], 1;" + RELEASE, RELEASE + add, buffers={"p": 16, "f": 16})
    assert verdict.status == "refuted" and verdict.witness is not None
    # an address that may lie in either
    either = "selp.b64 q, p, f, s; "
    verdict = ptxspec.prove(either + "atom.global.add.u32 x, [q], 1;", either + add.replace("[p]", "[q]"), buffers=both)
    assert verdict.status == "unsupported"


def test_the_statement_says_that_the_thread_is_alone() -> None:
    for left, right, context in (
        (WRITE, WRITE + "", None),
        (READ, "ld.u32 d, [p];", None),
        (FENCE + WRITE, FENCE + WRITE, "alone"),
    ):
        statement = asked(left, right, context=context).statement
        assert statement is not None and statement.context == "alone"
        assert "One thread, alone: no other thread accesses the memory meanwhile." in statement.words()
    assert statement.notes[-1] == "What a side orders for other threads is not compared."
    statement = asked(FENCE + WRITE, FENCE + WRITE).statement
    assert statement is not None and statement.context == "any"
    assert "Beside any other threads that have no data race with it." in statement.words()
    statement = ptxspec.prove("add.u32 d, a, b;", "add.u32 d, b, a;").statement
    assert statement is not None and not any("alone" in word for word in statement.words())
    statement = ptxspec.prove("ld.global.u8 d, [p];", "ld.u8 d, [p];", warp=True, buffers={"p": 4}).statement
    assert statement is not None
    assert "One warp, alone: no other warp accesses the memory meanwhile." in statement.words()


@pytest.mark.parametrize(
    ("left", "right", "holds"),
    [
        (LANE + "st.global.u32 [q], a; st.release.gpu.global.u32 [q+128], 1;",
         OWN + "st.global.u32 [q], a; st.release.gpu.global.u32 [q+128], 1;", True),
        (LANE + "st.global.u32 [q], a; st.release.gpu.global.u32 [q+128], 1;",
         LANE + "st.release.gpu.global.u32 [q+128], 1; st.global.u32 [q], a;", False),
        (LANE + "st.global.u32 [q], a; fence.sc.gpu;", OWN + "fence.sc.gpu; st.global.u32 [q], a;", False),
        (LANE + "st.global.u32 [q], a; fence.sc.gpu;", OWN + "st.global.u32 [q], a;", False),
        (LANE + "@s fence.sc.gpu;", OWN + "@!s bra E; fence.sc.gpu; E:", True),
        # lanes meet at a barrier, and at one of their CTA: no thread elsewhere takes part
        (LANE + "bar.warp.sync -1; mov.u32 d, a;", OWN + "mov.u32 d, a;", True),
        (LANE + "bar.sync 0; mov.u32 d, a;", OWN + "mov.u32 d, a;", True),
        # the same value from another lane, which that lane does not release
        ("mov.u32 l, %laneid; setp.eq.u32 s, l, 0; setp.eq.u32 t, l, 1; @t st.global.u32 [p], 7; @s st.release.gpu.global.u32 [p+4], 1;",
         "mov.u32 l, %laneid; setp.eq.u32 s, l, 0; @s st.global.u32 [p], 7; @s st.release.gpu.global.u32 [p+4], 1;", False),
    ],
)  # fmt: skip
def test_a_warp_that_orders_memory(left: str, right: str, holds: bool) -> None:
    verdict = ptxspec.prove(left, right, warp=True, buffers={"p": 256})
    assert verdict.status == ("proved" if holds else "unsupported"), verdict


def entry(body: str) -> str:
    return (
        f"{HEAD} .visible .entry k(.param .u64 o, .param .u32 n) {{ .reg .b64 p; .reg .u32 a, d;"
        f" ld.param.u64 p, [o]; ld.param.u32 a, [n]; {body} }}"
    )


def test_a_barrier_of_a_cta_orders_what_its_threads_wrote() -> None:
    store, barrier = "st.global.u32 [p], a; ", "bar.sync 0; "
    with_barrier = entry(store + barrier)
    for other in (entry(store), entry(barrier + store), entry(store + "bar.sync 1; ")):
        assert ptxspec.prove(with_barrier, other, buffers={"o": 4}).status == "unsupported"
    same = entry("mov.u32 d, a; st.global.u32 [p], d; " + barrier)
    assert ptxspec.prove(with_barrier, same, buffers={"o": 4}).status == "proved"


def test_events_in_functions_and_variables() -> None:
    function = ".func g(.reg .u32 x) { st.global.u32 [v], x; fence.sc.gpu; ret; } "
    head = HEAD + ".global .u32 v; "
    calls = head + function + ".visible .entry k(.param .u32 n) { .reg .u32 a; ld.param.u32 a, [n]; call g, (a); }"
    plain = head + ".visible .entry k(.param .u32 n) {{ .reg .u32 a; ld.param.u32 a, [n]; {} }}"
    inline = plain.format("st.global.u32 [v], a; fence.sc.gpu;")
    assert ptxspec.prove(calls, inline).status == "proved"
    assert ptxspec.prove(calls, plain.format("st.global.u32 [v], a;")).status == "unsupported"
    assert ptxspec.prove(calls, plain.format("fence.sc.gpu; st.global.u32 [v], a;")).status == "unsupported"


def test_a_variable_that_is_first_read_behind_an_event_holds_what_others_left() -> None:
    head = (
        HEAD
        + ".global .u32 v; .visible .entry k(.param .u64 o) {{ .reg .b64 p; .reg .u32 d; ld.param.u64 p, [o]; {} }}"
    )
    behind = head.format("fence.sc.gpu; ld.global.u32 d, [v]; st.global.u32 [p], d;")
    before = head.format("ld.global.u32 d, [v]; fence.sc.gpu; st.global.u32 [p], d;")
    assert ptxspec.prove(behind, before, buffers={"o": 4}).status == "unsupported"


@pytest.mark.slow
def test_an_assumption_is_about_what_memory_holds_at_first() -> None:
    left, right = f"{FENCE} ld.global.u8 x, [p]; add.u16 d, x, 1;", f"{FENCE} mov.u16 d, 4;"
    assert asked(left, right, assume="p[0] == 3").status == "unsupported"
    left, right = f"ld.global.u8 x, [p]; {FENCE} add.u16 d, x, 1;", f"ld.global.u8 x, [p]; {FENCE} mov.u16 d, 4;"
    assert asked(left, right, assume="p[0] == 3").status == "proved"


def test_a_loop_that_others_may_keep_going_is_left_open() -> None:
    waits = "L: ld.acquire.gpu.global.u32 x, [f]; setp.eq.u32 q, x, 0; @q bra L; "
    verdict = asked(waits + READ, waits + READ + "add.u32 d, d, 0;", assume="f[0] != 0")
    assert verdict.status == "unknown" and "beyond 16 iterations" in verdict.reason, verdict


def test_an_invariant_says_nothing_of_the_order_of_memory() -> None:
    loop = "mov.u32 i, 0; L: {} add.u32 i, i, 1; setp.lt.u32 q, i, 4; @q bra L;"
    verdict = ptxspec.prove(loop.format(FENCE), loop.format("") + "mov.u32 z, 0;", invariant="i < 4")
    assert verdict.status == "unsupported" and "an invariant says nothing of the order of memory" in verdict.reason


def test_a_sequence_that_is_to_be_found_orders_nothing() -> None:
    with pytest.raises(ptxspec.Unsupported, match=r"fence\.sc\.gpu; orders memory"):
        ptxspec.synthesize("fence.sc.gpu; add.u32 d, a, a;", ["shl.b32"])
