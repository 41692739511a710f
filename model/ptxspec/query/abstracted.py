"""Claims that hold already of all functions, of which the operations that both sides share are some."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.query.functions import given_that, with_any_functions
from ptxspec.query.means import FIRST, Means
from ptxspec.query.products import with_any_products
from ptxspec.query.questions import Question
from ptxspec.query.solvers import journal, solve
from ptxspec.terms.core import Bool


def of_all_functions(claim: Bool, asked: Question, means: Means, what: str) -> bool:
    """Whether nothing makes a claim true of inputs that a question is about, whatever functions the operations of IEEE 754, or
    products and quotients, are. Only a query that says so is recorded; of the others nothing follows, since no operation need be
    as they have it."""
    claim = given_that(asked.given, claim)
    for weaker in _weaker(claim):
        if weaker is claim:
            continue
        weaker = asked.given & weaker
        with journal.journal() as queries:
            limit = min(means.timeout, FIRST)
            purpose = f"{what}, of any functions"
            answer = solve(weaker, asked.taken, limit, solver=means.solver, purpose=purpose, simple=False)
        if answer.status == "unsat":
            for query in queries:
                journal.asked(query)
            return True
    return False


def _weaker(claim: Bool) -> Iterator[Bool]:
    """Claims that something makes true if something makes the claim true, and that solvers find easier."""
    yield with_any_products(claim)
    for of_others in (False, True):
        yield with_any_functions(claim, of_others)
