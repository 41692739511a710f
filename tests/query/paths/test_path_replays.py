"""Counterexamples are run by a launch that knows nothing of the walk: what the walk gets wrong is found out."""

from __future__ import annotations

from typing import Any

import pytest

import ptxspec
from ptxspec.language.diagnostics import Source
from ptxspec.query.paths import replaying
from ptxspec.query.paths.arrivals import PathState
from ptxspec.query.paths.memory import SymbolicMemory
from ptxspec.query.paths.options import options
from ptxspec.query.paths.walking import read_paths

SMALLER = "setp.lt.s32 p, a, b; @p bra L; mov.u32 d, b; bra E; L: mov.u32 d, a; E:"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What launches have shown."""
    found: list[Any] = []
    launch = replaying.run

    def noting(*asked: Any) -> Any:
        found.append(launch(*asked))
        return found[-1]

    monkeypatch.setattr(replaying, "run", noting)
    return found


def test_a_counterexample_is_launched(ran: list[Any]) -> None:
    assert ptxspec.prove(SMALLER, "max.s32 d, a, b;", assume="a == 1 and b == 2").status == "refuted"
    (left,) = ran  # the other side is a straight line
    assert left.faulted is None and left.results["d"] == 1


def test_memory_and_faults_are_launched(ran: list[Any]) -> None:
    store = "st.global.u32 [p+4], a;"
    verdict = ptxspec.prove(store, "st.global.u32 [p+64], a;", buffers={"p": 64}, assume="a == 0x01020304")
    assert verdict.status == "refuted"
    left, right = ran
    assert [left.results[f"p[{i}]"] for i in range(4, 8)] == [4, 3, 2, 1]
    assert right.faulted is not None and "out of bounds" in right.faulted


def test_a_register_that_a_path_does_not_write_is_as_it_was(ran: list[Any]) -> None:
    """A launch begins with it, too, although no instruction reads it."""
    verdict = ptxspec.prove("mov.u32 d, b;", "@!p bra L; mov.u32 d, b; L:", assume="b == 0 and d == 1")
    assert verdict.status == "refuted" and [r.results["d"] for r in ran] == [1]


@pytest.mark.parametrize(
    ("contract", "right", "launched"),
    [
        ("all", "bra L; L: mul.f32 x, a, b; add.f32 d, x, c; add.f32 e, c, c;", True),
        ("any", "bra L; L: mov.u32 d, a; mov.u32 d, b; mov.u32 d, c;", True),
        ("any", "bra L; L: mul.f32 x, a, b; add.f32 d, x, c;", False),  # no launch contracts as a machine likes
    ],
)
def test_products_and_sums_are_contracted_in_a_launch_too(
    ran: list[Any], contract: Any, right: str, launched: bool
) -> None:
    left = "mov.u32 d, 0x3f800000;"
    verdict = ptxspec.prove(left, right, contract=contract, assume="a == 0 and b == 0 and c == 0")
    assert verdict.status == "refuted" and [r.results["d"] for r in ran] == [0] * launched


def test_a_warp_is_launched(ran: list[Any]) -> None:
    verdict = ptxspec.prove("shfl.sync.bfly.b32 d, a, 1, 31, -1;", "mov.b32 d, a;", warp=True, assume="a[0] == 7")
    assert verdict.status == "refuted"
    assert ran[0].results["d[1]"] == 7


def test_an_entry_is_launched_with_its_parameters(ran: list[Any]) -> None:
    text = """.version 8.0 .target sm_80 .address_size 64
    .visible .entry k(.param .align 4 .b8 s[8], .param .u64 o)
    { .reg .u32 a, b; .reg .b64 p; ld.param.u32 a, [s]; ld.param.u32 b, [s+4]; ld.param.u64 p, [o];
      sub.u32 a, a, b; st.global.u32 [p], a; }"""
    verdict = ptxspec.prove(text, text.replace("a, a, b", "a, b, a"), buffers={"o": 4})
    assert verdict.status == "refuted" and len(ran) == 2
    assert ran[0].results != ran[1].results


def test_a_store_that_the_walk_forgets_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    store = "st.global.u32 [p], a; ld.global.u32 d, [p];"
    assert ptxspec.prove(store, "mov.u32 d, a; st.global.u32 [p], a;", buffers={"p": 4}).status == "proved"
    monkeypatch.setattr(SymbolicMemory, "store", lambda *_: None)
    verdict = ptxspec.prove(store, "mov.u32 d, a; st.global.u32 [p], a;", buffers={"p": 4})
    assert verdict.status == "unknown" and "does not stand up to a launch" in verdict.reason


def test_a_path_that_the_walk_confuses_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(arrivals: list[PathState], read: Any) -> PathState:
        return arrivals[0]

    monkeypatch.setattr("ptxspec.query.paths.walking.together", first)
    verdict = ptxspec.prove(SMALLER, "min.s32 d, a, b;")
    assert verdict.status == "unknown" and "a launch of the left side leaves" in verdict.reason


def test_what_no_launch_begins_with_is_not_launched(ran: list[Any]) -> None:
    text = "mov.u32 x, %tid.x; setp.eq.u32 p, x, 3; @p bra L; mov.u32 d, 1; bra E; L: mov.u32 d, 2; E:"
    assert ptxspec.prove(text, "mov.u32 d, 1;").status == "refuted"
    assert ran == [None]


def test_terms_of_one_path_are_those_of_a_straight_line() -> None:
    found = read_paths("mul.lo.u32 x, a, b; add.u32 d, x, 1;", "<text>", None, options())
    same = ptxspec.prove("mul.lo.u32 x, a, b; add.u32 d, x, 1;", "bra L; L: mul.lo.u32 x, a, b; add.u32 d, x, 1;")
    assert same.reason == "both sides are the same term"
    assert found.inputs == ("a", "b") and not found.beyond


def test_lines_are_those_of_the_text() -> None:
    verdict = ptxspec.prove("mov.u32 d, 0;\n\nL: add.u32 d, d, 1;\nsetp.ne.u32 q, d, a;\n@q bra L;", "mov.u32 d, a;")
    assert "loop at line 3" in verdict.reason
    assert Source("a\nb").line(2) == 2


def test_a_side_may_do_anything_where_the_one_that_it_refines_faults() -> None:
    first, second = "ld.global.u32 d, [p+4];", "mov.u32 d, 0;"
    for left, right, relation, status in (
        (first, second, "refines", "proved"),
        (first, second, "equal", "refuted"),
        (second, first, "refines", "refuted"),
    ):
        assert ptxspec.prove(left, right, relation=relation, buffers={"p": 4}).status == status
