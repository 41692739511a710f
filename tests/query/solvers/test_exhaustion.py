"""Every input run: what is found, what is counted, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

import ptxspec
from ptxspec.query.questions import ask
from ptxspec.query.solvers import exhaustion, portfolio
from ptxspec.query.solvers.answers import SolverReply
from ptxspec.query.solvers.domains import domains
from ptxspec.query.solvers.exhaustion import Exhausted, exhaust
from ptxspec.terms.core import constant


def run(left: str, right: str, assume: str | None = None, timeout: float = 60.0, **more: Any) -> Exhausted:
    asked = ask(left, right, assume, more.pop("profile", "portable"))
    differs: Any = constant(False)
    for name in asked.compared:
        differs = differs | asked.unequal(name)
    return exhaust(differs, asked.given, asked.inputs.types, timeout, **more)


def test_sides_that_agree_are_equal_once_all_was_run() -> None:
    found = run("mul.wide.u16 d, a, b;", "cvt.u32.u16 x, a; cvt.u32.u16 y, b; mul.lo.u32 d, x, y;", "b < 16")
    assert (found.status, found.run, found.total, found.met) == ("equal", 1 << 20, 1 << 20, 1 << 20)


@pytest.mark.parametrize("place", [0, 1, 77, 65535])
def test_one_input_that_differs_is_found_wherever_it_is(place: int) -> None:
    left = f"cvt.u32.u16 x, a; setp.eq.u32 p, x, {place}; selp.u32 d, 1, 0, p;"
    found = run(left, "cvt.u32.u16 x, a; mov.u32 d, 0;")
    assert (found.status, found.values) == ("found", {"a": place})
    evaluated = ptxspec.evaluate(left, a=place)
    assert evaluated["d"] == 1


def test_the_last_chunk_is_run_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustion, "CHUNK", 4)
    for last in (15, 16, 17, 99):
        left = f"setp.eq.u32 p, a, {last}; selp.u32 d, 1, 0, p;"
        assert run(left, "add.u32 e, a, 0; mov.u32 d, 0;", "a < 100").values == {"a": last}
        assert run(left, "add.u32 e, a, 0; mov.u32 d, 0;", f"a < 100 and a != {last}").met == 99


@pytest.mark.parametrize(
    ("assume", "met"),
    [
        ("a < 20 and b == 7", lambda a, b: a < 20 and b == 7),
        ("3 <= a < 20 and b <= 2", lambda a, b: 3 <= a < 20 and b <= 2),
        ("not (a > 30 or b > 5)", lambda a, b: a <= 30 and b <= 5),
        ("a < 40 and b < 40 and a * b == 36", lambda a, b: a < 40 and b < 40 and a * b == 36),
        ("a < 9 and b < 9 and (a == 1 or b == 1)", lambda a, b: a < 9 and b < 9 and (a == 1 or b == 1)),
        ("a == b and a < 50 and 7 < b < 60", lambda a, b: a == b and a < 50 and 7 < b < 60),
    ],
)
def test_as_many_inputs_meet_an_assumption_as_python_counts(assume: str, met: Any) -> None:
    found = run("add.u32 d, a, b;", "add.u32 d, b, a;", assume)
    assert found.status == "equal" and found.met == sum(met(a, b) for a, b in itertools.product(range(64), repeat=2))
    assert found.total < 1 << 13


def test_predicates_and_special_registers_are_inputs() -> None:
    found = run("selp.u32 d, 1, 2, p; mov.u32 e, %laneid;", "selp.u32 d, 2, 1, p; mov.u32 e, %laneid;")
    assert found.status == "found" and found.total == 64 and found.values.keys() == {"p", "%laneid"}
    assert run("mov.u32 d, %laneid;", "mov.u32 t, %laneid; and.b32 d, t, 31;").run == 32


@pytest.mark.parametrize("assume", ["a < 4 and a > 9", "a < 4 and a * a == 5"])
def test_no_input_at_all_is_vacuous(assume: str) -> None:
    assert run("add.u32 d, a, 1;", "add.u32 d, a, 2;", assume).status == "vacuous"


def test_what_cannot_be_run_is_refused_and_named() -> None:
    many = run("add.u32 d, a, b;", "sub.u32 d, a, b;", "b < 2")
    assert (many.status, many.run) == ("unsupported", 0) and "33.0 bits of input, in a, b" in many.reason
    free = run("div.u32 d, a, 0;", "mov.u32 d, 5;")
    assert free.status == "unsupported" and "division-by-zero" in free.reason
    assert run("div.u32 d, a, 0;", "mov.u32 d, 5;", "a < 9", profile="hopper").status == "found"


def test_the_time_is_kept_and_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    late = run("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", "a != 0", 1e-6,
               progress=lambda *told: seen.append(told))  # fmt: skip
    assert late.status == "timeout" and seen and seen[-1] == (late.run, 1 << 32)
    seen.clear()
    assert (
        run("add.u32 d, a, a;", "shl.b32 d, a, 1;", "a < 3000000", progress=lambda *told: seen.append(told)).run
        == 3_000_000
    )
    assert (
        [n for n, _ in seen] == sorted({n for n, _ in seen}) and seen[-1] == (3_000_000, 3_000_000) and len(seen) == 3
    )


def test_intervals_are_read_off_what_is_demanded_alone() -> None:
    asked = ask("add.u32 d, a, b;", "sub.u32 d, a, b;", "(a < 5 or b < 5) and not a > 70 and 8 < b", "portable")
    found = domains(asked.given, asked.inputs.types)
    assert (found["a"][:2], found["b"][:2]) == ((0, 70), (9, (1 << 32) - 1))


# in prove -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers that never answer."""

    def ask(text: str, constants: Mapping[str, int], *_: object) -> SolverReply:
        return SolverReply("timeout", {}, "nobody")

    monkeypatch.setattr(portfolio, "ask", ask)


@pytest.mark.usefixtures("silent")
def test_prove_runs_every_input_when_no_solver_answers() -> None:
    said: list[tuple[int, int]] = []
    text = "cvt.u32.u16 x, a; mul.lo.u32 y, x, 52429; shr.u32 d, y, 19;"
    by_ten = "cvt.u32.u16 x, a; div.u32 d, x, 10;"
    equal = ptxspec.prove(text, by_ten, profile="hopper", progress=lambda *told: said.append(told))
    assert (equal.status, equal.exit_status) == ("exhausted", 0) and "all 65,536 inputs were run" in equal.reason
    assert said == [(65536, 65536)]
    other = ptxspec.prove(text, by_ten + "add.u32 d, d, 1;", profile="hopper", assume="a > 9")
    assert other.status == "refuted" and other.counterexample is not None
    assert other.counterexample.inputs == {"a": 10} and other.counterexample.left[-1].writes == {"d": 1}
    assert ptxspec.prove(text, by_ten, profile="hopper", assume="a == 9 and a == 8").status == "vacuous"


@pytest.mark.usefixtures("silent")
def test_prove_tells_what_was_tried() -> None:
    counted = "popc.b32 x, a; popc.b32 y, b; and.b32 z, a, b; popc.b32 z, z; add.u32 x, x, y; sub.u32 x, x, z; sub.u32 d, x, z;"
    verdict = ptxspec.prove("xor.b32 x, a, b; popc.b32 d, x;", counted)
    assert (verdict.status, verdict.exit_status) == ("unknown", 2)
    assert verdict.reason.startswith("no answer from z3 ") and "64.0 bits of input, in a, b" in verdict.reason


def test_a_difference_that_the_replay_does_not_see_is_no_refutation(
    silent: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the native engine: what it finds is not believed."""
    monkeypatch.setattr(exhaustion._Claim, "run", lambda self, chunk: (self.total, self.total, 3))
    verdict = ptxspec.prove("add.u32 d, a, a;", "shl.b32 d, a, 1;", assume="a < 100")
    assert verdict.status == "unknown" and "does not stand up" in verdict.reason
