"""Claims put to solvers: inputs and a machine for which a claim holds, or that there are none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import ptxspec.query.solvers.journal as journal
import ptxspec.query.solvers.kept as kept
import ptxspec.query.solvers.portfolio as portfolio
from ptxspec.base.options import Solver
from ptxspec.query.minimal import smallest
from ptxspec.query.solvers.answers import SolverAnswer, SolverReply
from ptxspec.query.solvers.formula import EAGER, Formula
from ptxspec.query.solvers.z3_solver import loaded, model_of
from ptxspec.query.trials import tried
from ptxspec.terms.core import Bool
from ptxspec.terms.types import Type


def solve(
    claim: Bool,
    types: Mapping[str, Type],
    timeout: float,
    *,
    solver: Solver = "z3",
    purpose: str = "",
    simple: bool = True,
    surely: bool = False,
) -> SolverAnswer:
    """Inputs of these types, and a machine, for which the claim holds; "unsat" if there are none.

    `types` are those as which instructions take the inputs: the inputs found are the simplest of their types that are found
    soon, unless any will do. `timeout` is in seconds, for all that is asked; `solver` says who is asked; `purpose` says in words
    what is asked, for who records it. An answer that was given before to the very same script is not asked for again, unless it
    has to be known `surely` whether there are simpler inputs. Raises ValueError for a solver that is not known or not
    installed."""
    begun = time.monotonic()
    portfolio.members(solver)
    try:
        return _Question(claim, types, begun + timeout, solver, purpose).answer(simple, surely)
    except MemoryError:  # no answer, and no fault of the question's
        return _unanswered(SolverReply("out of memory", {}, portfolio.versions(solver)), begun, solver)
    except Exception as failure:
        if type(failure).__name__ not in ("Z3Exception", "BitwuzlaException"):
            raise
        reply = SolverReply(f"{type(failure).__name__}: {_text(failure)}", {}, portfolio.versions(solver))
        return _unanswered(reply, begun, solver)


#: who is said to have answered where values were tried
TRIALS = "trials of simple values"
#: seconds for all the questions after simpler inputs
SIMPLER = 3.0


def _text(failure: Exception) -> str:
    value = getattr(failure, "value", None)  # z3's exceptions keep what they say here
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value or failure)).strip()


def _unanswered(reply: SolverReply, begun: float, solver: Solver) -> SolverAnswer:
    spent = time.monotonic() - begun
    more = portfolio.note(solver)
    tried = f"{portfolio.versions(solver)} for {spent:.1f} s" + (f" ({more})" if more else "")
    return SolverAnswer(reply.status, {}, {}, reply.by, tried)


class _Question:
    """A claim on its way to a solver."""

    def __init__(self, claim: Bool, types: Mapping[str, Type], deadline: float, solver: Solver, purpose: str):
        self.claim, self.types, self.deadline = claim, types, deadline
        self.solver, self.purpose = solver, purpose
        self.formula = Formula(claim, types)

    def answer(self, simple: bool, surely: bool) -> SolverAnswer:
        """What is said of the claim."""
        begun, formula = time.monotonic(), self.formula
        eager = formula.pair_count() <= EAGER
        if eager:
            formula.tie(formula.pairs())
        if formula.is_float and simple:
            quick = tried(
                self.claim, self.types
            )  # solvers find floating-point arithmetic hard, and refutations are often simple
            if quick is not None:
                journal.note(journal.Query(self.purpose, formula.text(), "sat", TRIALS))
                return SolverAnswer("sat", *quick, by=TRIALS)
        while True:
            reply, is_new = self.reply()
            if reply.status == "unsat":
                return SolverAnswer("unsat", {}, {}, reply.by)
            if reply.status != "sat":
                return _unanswered(reply, begun, self.solver)
            torn = [] if eager else formula.torn(reply.model)
            if not torn:
                break
            formula.tie(torn)
        key = kept.key(formula.text(), portfolio.versions(self.solver))
        model = SolverModel(formula, reply.model, reply.by)
        simplest = False
        if (
            eager and simple and (is_new or surely)
        ):  # else what is not tied could come apart on the way to simpler inputs
            until = min(self.deadline, time.monotonic() + SIMPLER)
            model, simplest = smallest(model, self.types, Simpler(formula, reply.by), until)
        if is_new:
            kept.keep(key, reply._replace(model=dict(model.model)))
        return SolverAnswer("sat", model.values, formula.choices(model.model), reply.by, simplest=simplest)

    def reply(self) -> tuple[SolverReply, bool]:
        """What is said of the formula, and whether it was not known before. Models are kept once they are simple."""
        formula, text = self.formula, self.formula.text()
        query = journal.Query(self.purpose, text)
        journal.note(query)
        key = kept.key(text, portfolio.versions(self.solver))
        stored = kept.find(key)
        reply = stored
        if reply is None or (reply.status == "sat" and reply.model.keys() != formula.constants.keys()):
            reply, stored = self.ask(text), None
            if reply.status == "unsat":
                kept.keep(key, reply)
        journal.answered(query, reply.status, reply.by)
        return reply, stored is None

    def ask(self, text: str) -> SolverReply:
        left = max(0.001, self.deadline - time.monotonic())
        return portfolio.ask(text, self.formula.constants, left, self.formula.is_float, self.solver)


#: milliseconds for one question
EACH = 500


class SolverModel(NamedTuple):
    """A model of a formula, and who found it."""

    formula: Formula
    model: Mapping[str, Any]
    by: str

    @property
    def values(self) -> dict[str, Any]:
        """The values of the inputs."""
        return self.formula.values(self.model)


class Simpler:
    """Asks z3 for models of a formula that meet a further condition on the inputs, which has no freedom in it."""

    def __init__(self, formula: Formula, by: str):
        self.formula, self.by = formula, by

    @cached_property
    def solver(self) -> Any:
        return loaded(self.formula.text(), self.formula.is_float)

    def __call__(self, condition: Bool) -> tuple[str, SolverModel | None]:
        """("sat", a model) or ("unsat", None), or another word for no answer."""
        import z3

        solver, holds = self.solver, self.formula.also(condition)
        solver.push()
        try:
            solver.add(z3.parse_smt2_string(holds, ctx=solver.ctx))
            solver.set("timeout", EACH)
            status = solver.check()
            if status != z3.sat:
                return str(status), None
            return "sat", SolverModel(self.formula, model_of(solver, self.formula.constants), self.by)
        finally:
            solver.pop()
