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
from ptxspec.query.solvers.formula import EAGER, SolverFormula
from ptxspec.query.solvers.z3_solver import loaded, model_of
from ptxspec.query.trials import tried
from ptxspec.terms.core import Bool
from ptxspec.terms.types import Type

#: the name for answers that values give which were tried
TRIALS = "trials of simple values"
#: seconds for all the queries after simpler inputs, and milliseconds for each
SIMPLER, EACH = 3.0, 500


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
        return _answer(claim, types, begun + timeout, solver, purpose, simple, surely)
    except MemoryError:  # no answer, and no fault of the claim's
        return _unanswered(SolverReply("out of memory", {}, portfolio.versions(solver)), begun, solver)
    except Exception as failure:
        if type(failure).__name__ not in ("Z3Exception", "BitwuzlaException"):
            raise
        value = getattr(failure, "value", None)  # z3's exceptions keep what they say here
        text = (value.decode(errors="replace") if isinstance(value, bytes) else str(value or failure)).strip()
        reply = SolverReply(f"{type(failure).__name__}: {text}", {}, portfolio.versions(solver))
        return _unanswered(reply, begun, solver)


def _unanswered(reply: SolverReply, begun: float, solver: Solver) -> SolverAnswer:
    spent = time.monotonic() - begun
    more = portfolio.note(solver)
    tried = f"{portfolio.versions(solver)} for {spent:.1f} s" + (f" ({more})" if more else "")
    return SolverAnswer(reply.status, {}, {}, reply.by, tried)


def _answer(
    claim: Bool, types: Mapping[str, Type], deadline: float, solver: Solver, purpose: str, simple: bool, surely: bool
) -> SolverAnswer:
    begun, formula = time.monotonic(), SolverFormula(claim, types)
    eager = formula.pair_count() <= EAGER
    if eager:
        formula.tie(formula.pairs())
    # simple values, as solvers find floating-point arithmetic hard, and refutations are often simple
    quick = tried(claim, types) if formula.is_float and simple else None
    if quick is not None:
        journal.note(journal.Query(purpose, formula.text(), "sat", TRIALS))
        return SolverAnswer("sat", *quick, by=TRIALS)
    # the answer that is kept, or else that of a solver; pairs that a model tears are tied, and it is asked again
    while True:
        text = formula.text()
        query, key = journal.Query(purpose, text), kept.key(text, portfolio.versions(solver))
        journal.note(query)
        stored = kept.find(key)
        is_known = stored is not None and (stored.status != "sat" or stored.model.keys() == formula.constants.keys())
        if stored is not None and is_known:
            reply = stored
        else:
            left = max(0.001, deadline - time.monotonic())
            reply = portfolio.ask(text, formula.constants, left, formula.is_float, solver)
        journal.answered(query, reply.status, reply.by)
        if reply.status == "unsat":
            if not is_known:
                kept.keep(key, reply)
            return SolverAnswer("unsat", {}, {}, reply.by)
        if reply.status != "sat":
            return _unanswered(reply, begun, solver)
        torn = [] if eager else formula.torn(reply.model)
        if not torn:
            break
        formula.tie(torn)
    # a model is kept once it is simple; what is not tied could come apart on the way to simpler inputs
    model, simplest = _SolverModel(formula, reply.model), False
    if eager and simple and (surely or not is_known):
        model, simplest = smallest(model, types, _Simpler(formula), min(deadline, time.monotonic() + SIMPLER))
    if not is_known:
        kept.keep(key, reply._replace(model=dict(model.model)))
    return SolverAnswer("sat", model.values, formula.choices(model.model), reply.by, simplest=simplest)


class _SolverModel(NamedTuple):
    """A model of a formula."""

    formula: SolverFormula
    model: Mapping[str, Any]

    @property
    def values(self) -> dict[str, Any]:
        """The values of the inputs."""
        return self.formula.values(self.model)


class _Simpler:
    """Asks z3 for models of a formula that meet a further condition on the inputs, which has no freedom in it."""

    def __init__(self, formula: SolverFormula):
        self.formula = formula

    @cached_property
    def solver(self) -> Any:
        return loaded(self.formula.text(), self.formula.is_float)

    def __call__(self, condition: Bool) -> tuple[str, _SolverModel | None]:
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
            return "sat", _SolverModel(self.formula, model_of(solver, self.formula.constants))
        finally:
            solver.pop()
