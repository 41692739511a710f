"""Causes of counterexamples: named, and each a condition under which the claim is proved."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.query import causes
from ptxspec.query.solvers import SolverAnswer


@pytest.mark.parametrize(
    ("left", "right", "name", "holds_if"),
    [
        ("add.s32 x, a, 1; setp.gt.s32 p, x, a;", "setp.eq.s32 p, a, a;", "signed overflow", "a != 0x7fffffff"),
        ("abs.s32 d, a; setp.ge.s32 p, d, 0;", "setp.eq.s32 p, a, a;", "signed overflow", "a != 0x80000000"),
        ("shl.b32 d, a, b;", "and.b32 x, b, 31; shl.b32 d, a, x;", "shift distance of the width or more", "b < 32"),
        ("div.s32 d, a, 4;", "shr.s32 d, a, 2;", "negative operand", "signed(a) >= 0"),
        ("neg.f32 d, a; neg.f32 d, d;", "mov.b32 d, a;", "NaN operand", "not nan(a)"),
    ],
)
def test_a_cause_and_the_condition_that_keeps_it_out(left: str, right: str, name: str, holds_if: str) -> None:
    verdict = ptxspec.prove(left, right)
    assert verdict.status == "refuted" and verdict.counterexample is not None
    why = verdict.counterexample.why()
    assert [c.name for c in why.causes] == [name] and why.holds_if == holds_if == why.assume
    assert ptxspec.prove(left, right, assume=holds_if).status == "proved"


def test_several_causes_together() -> None:
    left, right = "add.ftz.f32 d, a, 0f00000000;", "mov.b32 d, a;"
    found = ptxspec.prove(left, right).counterexample
    assert found is not None
    why = found.why(timeout=20)
    assert {c.name for c in why.causes} == {"signed zero", "subnormal operand", "NaN operand"}
    assert why.assume is not None and ptxspec.prove(left, right, assume=why.assume).status == "proved"


def test_exact_results_beyond_the_destination() -> None:
    left, right = "mul.lo.u32 d, a, 3; shr.u32 d, d, 1;", "mul.wide.u32 x, a, 3; shr.u64 x, x, 1; cvt.u32.u64 d, x;"
    found = ptxspec.prove(left, right).counterexample
    assert found is not None
    (cause,) = found.why(timeout=20).causes
    assert cause.name == "unsigned wrap-around" and f"exactly {3 * found.inputs['a']}" in cause.detail
    assert found.why(timeout=20).assume is None  # no condition on the inputs says so


def test_a_claim_that_fails_everywhere_has_no_cause() -> None:
    found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;").counterexample
    assert found is not None and found.why().causes == () and found.why().holds_if == ""


def test_nothing_is_claimed_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ptxspec.prove("shl.b32 d, a, b;", "and.b32 x, b, 31; shl.b32 d, a, x;").counterexample
    assert found is not None
    monkeypatch.setattr(causes, "solve", lambda *_: SolverAnswer("timeout", {}, {}))
    why = found.why()
    assert why.holds_if == "" and why.assume is None
    assert all("open" in c.detail for c in why.causes)
    monkeypatch.setattr(
        causes, "solve", lambda *_: SolverAnswer("unsat", {}, {})
    )  # also of the condition: no input is left
    assert found.why().holds_if == ""


def test_open_results_are_named() -> None:
    found = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;").counterexample
    assert found is not None
    assert [c.name for c in found.why().causes] == ["open result"]
    assert "division-by-zero" in found.why().causes[0].detail


def test_steps_that_are_not_executed_are_marked() -> None:
    found = ptxspec.prove("setp.eq.u32 p, a, a; mov.u32 d, 1; @!p mov.u32 d, 2;", "mov.u32 d, 2;").counterexample
    assert found is not None
    assert [(s.guard, s.executed) for s in found.left] == [(None, True), (None, True), ("!p", False)]
