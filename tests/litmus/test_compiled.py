"""Axioms as functions say of executions what relations say that are computed one by one."""

from __future__ import annotations

import random
from itertools import islice, product

import pytest

from ptxspec import contracts
from ptxspec.query.litmus import executions
from ptxspec.query.litmus.compiled import Question
from ptxspec.query.litmus.executions import Enumeration, Execution, PredicateTable
from ptxspec.query.litmus.programs import Combination
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.shapes import shapes
from ptxspec.query.litmus.verdicts import LitmusQuestion, litmus, model_of


def combinations(name: str) -> list[Combination]:
    text = shapes()[name].cases[0].text
    return list(LitmusQuestion(read(text), model_of("9.1"), "9.1", 1).combinations())


@pytest.mark.parametrize("name", ["MP", "SB", "IRIW", "increments", "MP+rmw", "torn", "buffer used again"])
def test_functions_say_what_relations_say(name: str) -> None:
    model, source = model_of("9.1"), random.Random(name)
    claims = {n: axiom.claim(model) for n, axiom in contracts.axioms.ALL.items()}
    wanted = contracts.causality.causality(model), contracts.coherence.coherence(model)
    question, leaves = Question(claims, wanted), PredicateTable([c.relation for c in claims.values()])
    verdicts = set()
    for combination in combinations(name):
        n, base = len(combination.operations), Execution(combination.operations, combination.pieces)
        leaves.tell(base)
        read = (rows for order in combination.object_orders for rows in combination.readings(lambda part: True, order))
        for (rows, _), fraction in product(list(islice(read, 40)), (0.0, 0.2)):
            given = [[sum((source.random() < fraction) << k for k in range(n)) for _ in range(n)] for _ in range(3)]
            names = ("same phase", "fenced before", "written before")
            execution = Execution(
                combination.operations, combination.pieces, base, dict(zip(names, given, strict=True)), rows
            )
            expected = next((name for name, claim in claims.items() if not execution.keeps(claim)), None)
            accessed = [[p.accessed_by & 1 << i for i in range(n)] for p in combination.pieces]
            constant = list(map(base.rows, question.constant))
            answer = question.function(constant, len(accessed), tuple(map(any, given)))
            broken, answers = answer(constant, accessed, rows, *given)
            assert broken == expected
            assert expected is not None or answers == [execution.rows(relation) for relation in wanted]
            verdicts.add(expected is None)
    assert verdicts == {True, False}


@pytest.mark.parametrize("slowly", [0, 10**9])
def test_verdicts_are_the_same(slowly: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executions, "SLOWLY", slowly)
    for name in ("MP", "SB", "SB+rmw", "RWC", "increments", "a write between", "compare and swap"):
        for case in shapes()[name].cases[::5]:
            assert litmus(case.text, case.model).status == case.outcome, case.text


def test_predicates_are_asked_once() -> None:
    asked = []

    def noted(a: object, b: object) -> bool:
        asked.append((a, b))
        return a is b

    from ptxspec.terms.relations import pairs

    relation = pairs(noted)
    leaves = PredicateTable([relation | relation])
    (combination,) = combinations("MP")
    for _ in range(2):
        execution = Execution(combination.operations, combination.pieces)
        leaves.tell(execution)
        assert execution.rows(relation) == [1 << i for i in range(len(combination.operations))]
    assert len(asked) == len(combination.operations) ** 2


def test_an_enumeration_makes_functions_when_it_is_worth_it() -> None:
    enumeration = Enumeration(model_of("9.1"))
    (combination,) = combinations("IRIW")
    assert sum(1 for _ in enumeration.candidates(combination, lambda values: True)) > 10
    assert any(question._made for question in enumeration._questions) == (enumeration._asked > executions.SLOWLY)
