"""Claims that hold by the laws of integers alone, or already of all functions, of which the operations that both sides share are
some."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.query.classes import cases, have_classes
from ptxspec.query.functions import PRODUCT, given_that, with_any_functions, with_meanings
from ptxspec.query.means import FIRST, Means
from ptxspec.query.polynomials import Normal
from ptxspec.query.products import below, has_products, with_any_products, with_any_significands
from ptxspec.query.questions import Question
from ptxspec.query.solvers import Answer, journal, solve
from ptxspec.query.solvers.domains import domains
from ptxspec.query.solvers.formula import Formula
from ptxspec.terms.core import Bool, truth
from ptxspec.terms.exact import evaluate
from ptxspec.terms.vocabulary import FALSE

#: who is said to have answered where the laws did
LAWS = "laws of integers"
#: seconds for each class of inputs
EACH = 20.0


def by_laws(claim: Bool, asked: Question, what: str) -> bool:
    """Whether nothing makes a claim about products or quotients true of inputs that a question is about, by the laws of sums,
    products and carries alone. Then the claim is recorded, of which no solver was asked, and what the laws make of it."""
    if not has_products(claim):
        return False
    found = _normal(claim, asked)
    if found is not FALSE:
        return False
    purpose = f"{what}, by the laws of sums, products and carries"
    journal.asked(journal.Query(what, Formula(asked.given & claim, asked.taken).text()))
    journal.asked(journal.Query(purpose, Formula(found, asked.taken).text(), "unsat", LAWS))
    return True


def of_all_functions(claim: Bool, asked: Question, means: Means, what: str) -> bool:
    """Whether nothing makes a claim true of inputs that a question is about, whatever functions the operations of IEEE 754, or
    products and quotients, are. Only a query that says so is recorded; of the others nothing follows, since no operation need be
    as they have it."""
    for weaker in _weaker(claim, asked):
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


def of_classes(claim: Bool, asked: Question, means: Means, what: str) -> Answer | None:
    """What is found of a claim that multiplies numbers of half precision in two formats, by their significands, for each class of
    the inputs: "unsat" if nothing makes it true, or inputs to look at, of which nothing follows by itself; None if neither."""
    formats = {t.attrs for t in below(claim) if t.op == "call" and t.attrs[0] == PRODUCT}
    if len(formats) < 2 or not have_classes(asked.taken):
        return None
    claim = with_meanings(claim)
    solver = "z3" if means.solver == "portfolio" else means.solver  # each is decided before others were started
    with journal.journal() as queries:
        for case in cases(asked.taken):
            given = truth(case.put(asked.given) & case.holds)
            normal = Normal(given, domains(given, case.types)).term(case.put(claim))
            weaker = given & with_any_significands(normal)
            purpose, limit = f"{what}, of any products of significands: {case.name}", min(means.timeout, EACH)
            answer = solve(weaker, case.types, limit, solver=solver, purpose=purpose, simple=False)
            if answer.status == "sat":
                return Answer("sat", {name: evaluate(term, answer.values) for name, term in case.inputs.items()}, {})
            if answer.status != "unsat":
                return None
    for query in queries:
        journal.asked(query)
    return Answer("unsat", {}, {})


def _weaker(claim: Bool, asked: Question) -> Iterator[Bool]:
    """Claims that something makes true if something makes the claim true, and that solvers find easier."""
    if has_products(claim):
        yield with_any_products(_normal(claim, asked))
    claim = given_that(asked.given, claim)
    for of_others in (False, True):
        weaker = with_any_functions(claim, of_others)
        if weaker is not claim:
            yield weaker


def _normal(claim: Bool, asked: Question) -> Bool:
    found: Bool = Normal(asked.given, domains(asked.given, asked.inputs.types)).term(claim)
    return found
