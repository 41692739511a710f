"""Several solvers: the same answers, one budget, processes that end, and a solver that is not installed."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

import ptxspec
from ptxspec.query.paths.options import options
from ptxspec.query.questions import ask
from ptxspec.query.solvers import Solver, bitwuzla_solver, kept, portfolio, z3_solver
from ptxspec.query.solvers.formula import SolverFormula

#: no more than this beyond a budget, on a machine that does other things as well
LATE = 20.0
HARD = "div.u64 q, a, b; div.u64 d, q, c;"
SAME = "mul.lo.u64 m, b, c; div.u64 d, a, m;"
SMALL = "b != 0 and c != 0 and b < 65536 and c < 65536"

needs_bitwuzla = pytest.mark.skipif(
    not bitwuzla_solver.is_installed(), reason="NO BITWUZLA: that a second solver gives the same answers was NOT tested"
)
QUESTIONS = [
    ("add.f32 d, a, b;", "add.f32 d, b, a;", None, "hopper", "unsat"),
    ("add.f32 d, a, b;", "add.f32 d, b, a;", None, "portable", "sat"),
    ("addc.u32 d, %r1, 0;", "mov.u32 d, %r1;", "CC.CF and %r1 > 7", "portable", "sat"),
    ("popc.b32 d, a;", "not.b32 b, a; popc.b32 e, b; sub.u32 d, 32, e;", "a < 0x10000", "portable", "unsat"),
    ("div.u32 d, a, 0;", "div.u32 e, b, 0; mov.u32 d, e;", "a == b", "portable", "unsat"),
    ("div.u32 d, a, 0;", "div.u32 d, b, 0;", None, "portable", "sat"),
]


@pytest.mark.parametrize(
    "solver", ["z3", pytest.param("bitwuzla", marks=needs_bitwuzla), pytest.param("portfolio", marks=needs_bitwuzla)]
)
@pytest.mark.slow
def test_all_solvers_give_the_same_answers_and_models_that_are_exact(solver: Solver) -> None:
    with kept.kept_at(None):
        for question in QUESTIONS:
            left, right, assume, profile, status = question
            how: dict[str, Any] = {"assume": assume, "profile": profile, "solver": solver, "nan": "payloads"}
            verdict = ptxspec.prove(left, right, **how)  # replays what is found
            assert verdict.status == ("proved" if status == "unsat" else "refuted"), (question, verdict)


@pytest.mark.slow
@needs_bitwuzla
@pytest.mark.parametrize("solver", ["bitwuzla", "portfolio"])
def test_a_budget_is_kept_and_no_process_stays(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = []
    start = portfolio.started
    monkeypatch.setattr(portfolio, "started", lambda *a: processes.append(start(*a)) or processes[-1])
    begun = time.monotonic()
    verdict = ptxspec.prove(HARD, SAME, assume=SMALL, timeout=1.5, solver=solver)
    assert verdict.status == "unknown" and time.monotonic() - begun < 1.5 + LATE
    assert len(processes) == (1 if solver == "bitwuzla" else 2) and all(p.poll() is not None for p in processes)
    assert "bitwuzla" in verdict.reason


@pytest.mark.slow
@needs_bitwuzla
def test_a_format_that_bitwuzla_refuses_is_said_and_left_to_z3() -> None:
    sides = "mul.ftz.f32 t, a, 0f40000000; add.ftz.f32 d, t, b;", "add.ftz.f32 t, a, a; add.ftz.f32 d, t, b;"
    finite = "a < 0x7f000000 and b < 0x7f000000"
    with kept.kept_at(None):
        verdict = ptxspec.prove(*sides, assume=finite, solver="bitwuzla", timeout=10.0)
        assert verdict.status == "unknown" and "floating-point format" in verdict.reason
        assert ptxspec.prove(*sides, solver="portfolio", nan="payloads").status == "refuted"


def _process(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def hard() -> SolverFormula:
    found = ask(HARD, SAME, SMALL)
    return SolverFormula(found.given & found.unequal("d"), found.inputs.types)


def test_the_first_answer_counts_and_the_others_are_ended(hard: SolverFormula, monkeypatch: pytest.MonkeyPatch) -> None:
    code = {
        "z3": "import time; time.sleep(600)",
        "bitwuzla": 'print(\'{"status": "unsat", "model": {}, "by": "quick"}\')',
    }
    processes = {}
    monkeypatch.setattr(portfolio, "members", lambda solver: ("z3", "bitwuzla"))
    monkeypatch.setattr(portfolio, "HEAD_START", 0.01)
    monkeypatch.setattr(portfolio, "started", lambda name, *_: processes.setdefault(name, _process(code[name])))
    begun = time.monotonic()
    said = portfolio.ask(hard.text(), hard.constants, 300.0, False, "portfolio")
    assert said == ("unsat", {}, "quick") and time.monotonic() - begun < LATE
    assert all(process.poll() is not None for process in processes.values())


def test_a_process_that_dies_is_no_answer(hard: SolverFormula, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "members", lambda solver: ("z3", "bitwuzla"))
    monkeypatch.setattr(portfolio, "HEAD_START", 0.01)
    monkeypatch.setattr(portfolio, "started", lambda *_: _process("import os; os.abort()"))
    said = portfolio.ask(hard.text(), hard.constants, 60.0, False, "portfolio")
    assert not said.is_settled and "without an answer" in said.status


def test_an_interrupted_race_leaves_no_process(hard: SolverFormula, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def __enter__(self) -> Interrupting:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def register(self, *_: object) -> None:
            pass

        def get_map(self) -> bool:
            raise KeyboardInterrupt

    processes = []
    monkeypatch.setattr(portfolio, "members", lambda solver: ("bitwuzla",))
    monkeypatch.setattr(
        portfolio, "started", lambda *_: processes.append(_process("import time; time.sleep(600)")) or processes[-1]
    )
    monkeypatch.setattr(portfolio.selectors, "DefaultSelector", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        portfolio.ask(hard.text(), hard.constants, 60.0, False, "bitwuzla")
    assert len(processes) == 1 and processes[0].poll() is not None


def test_a_worker_answers_as_the_solver_does_here(hard: SolverFormula) -> None:
    found = ask(*QUESTIONS[1][:4], options(nan="payloads"))
    formula = SolverFormula(found.given & found.unequal("d"), found.inputs.types)
    process = portfolio.started("z3", formula.text(), formula.constants, 60.0, True)
    assert process.stdout is not None
    said = portfolio.read(process.stdout, "z3")
    portfolio.ended(process)
    assert said.status == "sat" and said.by == z3_solver.version() and said.model.keys() == formula.constants.keys()


# what is not there ----------------------------------------------------------------------------------------------------


def test_a_solver_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no solver is called 'yices'; there are z3, bitwuzla, portfolio"):
        ptxspec.prove("mov.u32 d, a;", "mov.u32 d, a;", solver="yices")  # type: ignore[arg-type]


def test_without_bitwuzla_its_name_is_an_error_and_a_portfolio_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bitwuzla_solver, "is_installed", lambda: False)
    sides = "neg.s32 d, a;", "not.b32 x, a; add.u32 d, x, 1;"
    with pytest.raises(ValueError, match=r"pip install 'ptxspec\[solvers\]'"):
        ptxspec.prove(*sides, solver="bitwuzla")
    verdict = ptxspec.prove(*sides, solver="portfolio")
    assert verdict.status == "proved" and "ptxspec[solvers]" in verdict.reason
    assert "ptxspec[solvers]" not in ptxspec.prove(*sides).reason
