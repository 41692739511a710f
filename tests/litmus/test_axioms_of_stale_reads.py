"""The rule of which writes a read may return, beside the axioms: where operations take effect one after the other, the rule is
enough for all axioms, and no axiom needs it to be stricter."""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from random_programs import litmus_text

from ptxspec import contracts
from ptxspec.query.litmus.executions import Candidate, bits
from ptxspec.query.litmus.path_questions import model_of
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.verdicts import LitmusQuestion

FEW, MORE = 60, 600


def take_turns(candidate: Candidate) -> bool:
    """Whether the operations may take effect one after the other: each read behind what it reads, writes and fences as the execution
    has chosen which is first, and no write between what an atomic operation reads and what it writes."""
    execution, operations = candidate.execution, candidate.execution.operations
    precedes = contracts.operations.precedes
    before: dict[int, set[int]] = {
        second: {first for first, a in enumerate(operations) if precedes(a, b) or (a.thread is None is not b.thread)}
        for second, b in enumerate(operations)
    }
    for rows in (execution.given["written before"], execution.given["fenced before"], *execution.read):
        for first, row in enumerate(rows):
            for second in bits(row):
                before[second].add(first)
    for first, row in enumerate(execution.given["same phase"]):
        for second in bits(row):
            for later, c in enumerate(operations):
                if precedes(operations[second], c):
                    before[later].add(first)
    for piece, rows in zip(execution.pieces, execution.read, strict=True):
        for writer, reader in ((w, r) for w, row in enumerate(rows) for r in bits(row)):
            if contracts.operations.is_atomic(operations[reader]):
                for other in bits(piece.written_by & ~(1 << writer) & ~(1 << reader)):
                    if other not in before[writer]:
                        before[other].add(reader)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True


def compared(seed: int) -> tuple[int, int]:
    """How many candidates take effect one after the other, and how many of these keep the rule; they are those that keep all
    axioms."""
    question = LitmusQuestion(read(litmus_text(seed), "test"), model_of("9.1"), "9.1", 1)
    looked = kept = 0
    for combination in question.combinations():
        for candidate in question.enumeration.candidates(combination, lambda values: True, broken=True, deep=True):
            execution = candidate.execution
            if "written before" not in execution.known or not take_turns(candidate):
                continue
            rule = execution.keeps(contracts.stale_reads.returns_nothing_hidden(question.model))
            assert rule == (candidate.broken is None), f"{seed}: {candidate.broken}\n{litmus_text(seed)}"
            looked, kept = looked + 1, kept + rule
    return looked, kept


def summed(seeds: range) -> None:
    counts = [compared(seed) for seed in seeds]
    looked, kept = sum(c[0] for c in counts), sum(c[1] for c in counts)
    assert looked > 3 * len(seeds) and looked / 5 < kept < looked * 0.95


@pytest.mark.slow
def test_the_rule_is_the_axioms() -> None:
    summed(range(FEW))


@pytest.mark.slow
def test_the_rule_is_the_axioms_for_more_programs() -> None:
    summed(range(FEW, FEW + MORE))
