"""Whether PTX allows more of C++'s atomic operations, as they are spelled, than C++ does: both models on programs of which it is
known, and the file of what was computed on samples."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest

from ptxspec import contracts
from ptxspec.evidence import precomputed
from ptxspec.query.litmus.verdicts import impossible, litmus
from ptxspec.query.mapping.check import MODELS, Refutation, SkeletonCheck
from ptxspec.query.mapping.skeletons import (
    BOUNDS,
    LIBRARY,
    MISTAKES,
    Bound,
    ProgramSlot,
    Skeleton,
    SkeletonExecution,
    Spelling,
    choices,
)
from ptxspec.query.mapping.table import checked, cpp_text, litmus_text
from ptxspec.terms.operations import OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Scope

APART = tuple(ThreadPlace(k, k, 0) for k in range(4))
RX, RY, WX, WY, UX = (
    ProgramSlot("R", 0),
    ProgramSlot("R", 1),
    ProgramSlot("W", 0),
    ProgramSlot("W", 1),
    ProgramSlot("U", 0),
)
FENCE = ProgramSlot("F")


def of_cpp(lines: list[list[ProgramSlot]], orders: list[Order], sources: dict[int, int], model: str = "C++20") -> bool:
    """Whether C++ allows an execution of a program in which no location is written twice; with the scope of the device."""
    skeleton = Skeleton(tuple(map(tuple, lines)), APART[: len(lines)], BOUNDS[0].variety)
    check = SkeletonCheck(skeleton, Spelling(), MODELS[model])
    index = [[c.order for c in choices].index(o) for choices, o in zip(check.choices, orders, strict=True)]
    (execution,) = (e for e in check.executions if e.sources == sources)
    return bool(check.cpp_allows(check._cpp(index), [execution])[0])


RLX, ACQ, REL, SC = Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.SC


def test_what_cpp_allows() -> None:
    passing = [[WX, WY], [RY, RX]], {2: 1, 3: -1}
    assert of_cpp(passing[0], [RLX, RLX, ACQ, RLX], passing[1])
    assert of_cpp(passing[0], [RLX, REL, RLX, RLX], passing[1])
    assert not of_cpp(passing[0], [RLX, REL, ACQ, RLX], passing[1])
    assert not of_cpp(passing[0], [RLX, SC, SC, RLX], passing[1])
    fenced = [[WX, FENCE, WY], [RY, FENCE, RX]], {3: 2, 5: -1}
    assert not of_cpp(fenced[0], [RLX, REL, RLX, RLX, ACQ, RLX], fenced[1])
    assert of_cpp(fenced[0], [RLX, ACQ, RLX, RLX, REL, RLX], fenced[1])
    buffering = [[WX, RY], [WY, RX]], {1: -2, 3: -1}
    assert of_cpp(buffering[0], [REL, ACQ, REL, ACQ], buffering[1])
    assert of_cpp(buffering[0], [SC, SC, SC, ACQ], buffering[1])
    assert not of_cpp(buffering[0], [SC] * 4, buffering[1])
    reads = [[WX], [WY], [RX, RY], [RY, RX]], {2: 0, 3: -2, 4: 1, 5: -1}
    assert of_cpp(reads[0], [REL, REL, ACQ, ACQ, ACQ, ACQ], reads[1])
    assert not of_cpp(reads[0], [SC] * 6, reads[1])
    loads = [[RX, WY], [RY, WX]], {0: 3, 2: 1}
    assert of_cpp(loads[0], [RLX] * 4, loads[1]) and not of_cpp(loads[0], [RLX] * 4, loads[1], "RC11")
    assert not of_cpp([[WX], [RX, RX]], [RLX] * 3, {1: 0, 2: -1})
    swaps = SkeletonCheck(Skeleton(((UX,), (UX,)), APART[:2], BOUNDS[0].variety), Spelling(), MODELS["C++20"])
    lost = next(e for e in swaps.executions if e.sources == {0: -1, 1: -1})
    assert not swaps.cpp_allows(swaps._cpp([0, 0]), [lost])[0]


def test_the_release_sequence_of_cpp11_has_later_writes_of_the_thread() -> None:
    skeleton = Skeleton(((WY, WX, WX), (RX, RY)), APART[:2], BOUNDS[0].variety)
    # the flag is released, and written again; the second value is read, and the old message
    stale = SkeletonExecution({3: 2, 4: -2}, ((1, 2), (0,)))
    allowed = []
    for model in ("C++11", "C++20"):
        check = SkeletonCheck(skeleton, Spelling(), MODELS[model])
        assert stale in check.executions
        allowed.append(bool(check.cpp_allows(check._cpp([0, 1, 0, 1, 0]), [stale])[0]))
    assert allowed == [False, True]


@pytest.mark.parametrize("seed", range(8))
def test_batches_are_what_enumeration_says(seed: int) -> None:
    """Of a program with random orders and scopes, PTX allows what litmus tests of it say."""
    source = random.Random(f"batch {seed}")
    bound: Bound = source.choice([BOUNDS[1], BOUNDS[7], BOUNDS[9]])
    skeleton = source.choice(list(bound.skeletons()))
    name = source.choice([LIBRARY, *contracts.cpp.ABI, *MISTAKES])
    check = SkeletonCheck(skeleton, Spelling(name), MODELS["C++20"])
    chosen = [source.randrange(n) for n in check.shape]
    picked = np.repeat(np.array(chosen)[:, None], len(check.executions), 1)
    allowed = check.ptx_allows(picked, check.executions)
    outcomes = [_outcome(execution) for execution in check.executions]
    orders = tuple(c[k] for c, k in zip(check.choices, chosen, strict=True))
    text = litmus_text(Refutation(skeleton, check.executions[0], orders), Spelling(name))
    left = {outcome for outcome, is_allowed in zip(outcomes, allowed, strict=True) if is_allowed}
    assert impossible(text, {*outcomes}) == {*outcomes} - left, text


def _outcome(execution: SkeletonExecution) -> tuple[int, ...]:
    """What an execution leaves, in the order of the condition."""
    reads = [max(0, source + 1) for _, source in sorted(execution.sources.items())]
    return (*reads, *(writes[-1] + 1 for writes in execution.writes if len(writes) > 1))


@pytest.mark.slow
def test_weaker_orders_are_steps_of_rewrites() -> None:
    loads, stores = (choices(letter, BOUNDS[0].variety) for letter in "RW")
    assert Spelling().weaker("R", loads) == [[], [0], [0, 1]] and Spelling().weaker("W", stores) == [[], [0], [0]]
    # a relaxed load behind a fence may not stand for an acquire
    assert Spelling("ABI, an edition between").weaker("R", loads) == [[], [0], [0]]


# the file -----------------------------------------------------------------------------------------------------------------


def known() -> list[dict[str, Any]]:
    contents = precomputed.mapping()
    assert contents is not None, "python -m ptxspec_workshop.ledger.mapping"
    rows: list[dict[str, Any]] = contents["rows"]
    return rows


def test_what_is_shown() -> None:
    rows = known()
    assert [row["bound"] for row in rows[: len(BOUNDS)]] == [bound.words for bound in BOUNDS]
    assert all("program" not in row for row in rows[: len(BOUNDS) - 1]) and "program" in rows[len(BOUNDS) - 1]
    status = {(row["spelling"], row["model"]): "program" in row for row in rows[len(BOUNDS) :]}
    assert not status[LIBRARY, "C++11"] and status[LIBRARY, "RC11"]
    assert [status[name, "C++20"] for name in contracts.cpp.ABI] == [False, True, False]
    assert all(status[mistake, "C++20"] for mistake in MISTAKES)
    for row in rows:
        if "spelled" in row:
            assert litmus(row["spelled"]).status == "allowed", row
        if row["spelling"] in MISTAKES:
            assert row["axioms"]


@pytest.mark.slow
def test_programs_are_counted() -> None:
    counts = [
        sum(prod(len(s.choices(slot)) for _, _, slot in s.slots) for s in bound.skeletons()) for bound in BOUNDS[:-1]
    ]
    assert counts == [row["programs"] for row in known()[: len(BOUNDS) - 1]]


@pytest.mark.parametrize("number", [0, 1, 5, 6, 8])
@pytest.mark.slow
def test_samples_are_computed_again(number: int) -> None:
    every = sum(1 for _ in BOUNDS[number].skeletons()) // 4
    assert checked(LIBRARY, "C++20", BOUNDS[number], every).refutation is None


@pytest.mark.slow
def test_mistakes_are_refuted_again() -> None:
    for name in ("ABI, an edition between", "relaxed for a release, of a store", "no fence before a seq_cst load"):
        row = next(row for row in known() if row["spelling"] == name)
        again = checked(name, "C++20", BOUNDS[1])
        assert again.refutation is not None and cpp_text(again.refutation) == row["program"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BOUNDS) - 1))
def test_more_is_computed_again(number: int) -> None:
    assert checked(LIBRARY, "C++20", BOUNDS[number], 7).refutation is None


def test_spellings() -> None:
    assert Spelling()("R", SC) == ((OperationKind.FENCE, SC), (OperationKind.READ, ACQ))
    assert Spelling()("U", SC)[1] == (OperationKind.ATOMIC, ACQ) and Spelling()("W", SC)[1] == (
        OperationKind.WRITE,
        RLX,
    )
    assert contracts.cpp.SCOPES["block"] is Scope.CTA
