"""Two ways to decide a litmus test: execution by execution, and by a solver asked about all of them. They say the same of random
programs."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from random_programs import litmus_text

import ptxspec

MODELS = ["9.1", "9.1", "9.1", "8.6"]


def compare(seed: int) -> str:
    text = litmus_text(seed)
    model = MODELS[seed % len(MODELS)]
    enumerated = ptxspec.litmus(text, model)
    solved = ptxspec.litmus(text, model, by="solver")
    assert (enumerated.status, enumerated.holds) == (solved.status, solved.holds), (
        f"{seed}\n{text}\n{enumerated}\n{solved}"
    )
    assert (solved.witness is None) == (enumerated.witness is None)
    assert enumerated.witness is not None or enumerated.reasons or enumerated.notes, f"{seed}: no reason\n{text}"
    return enumerated.status


def worth(counts: Counter[str]) -> None:
    total = counts.total()
    assert counts["unknown"] == 0 and counts["allowed"] > total / 5 and counts["forbidden"] > total / 5, counts


@pytest.mark.slow
def test_random_programs() -> None:
    worth(Counter(map(compare, range(60))))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 2100, 250))
def test_many_random_programs(first: int) -> None:
    worth(Counter(map(compare, range(first, first + 250))))
