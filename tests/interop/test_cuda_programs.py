"""CUDA programs for Hopper as people write them, right and with one mistake each: a mistake ends in a report, or in a result that is not
right; none hangs. What nvcc printed is kept; a long test makes it again."""

from __future__ import annotations

import shutil
import warnings

import pytest
from cuda_compile import RIGHT, kept, made_of, sources
from cuda_outcomes import WAYS, outcome, outcomes
from cuda_programs import PROGRAMS

#: also under the exact engine in each run
EXACT = ("distributed", "ring")
ALL = [(name, what) for name, program in PROGRAMS.items() for what in program.mistakes]


@pytest.mark.sample(8)
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("copies", ["early", "late", "each", "random:4"])
def test_a_program_is_right(name: str, copies: str) -> None:
    assert outcome(name, copies=copies) == ""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EXACT else pytest.mark.long) for name in PROGRAMS]
)
def test_a_program_is_right_under_the_exact_engine(name: str) -> None:
    assert outcome(name, engine="exact", short=True) == ""


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_no_races(name: str) -> None:
    assert outcome(name, **WAYS["race"]) == ""


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_reads_nothing_uninitialized(name: str) -> None:
    assert outcome(name, **WAYS["uninitialized"]) == ""


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("name", "what"), ALL)
@pytest.mark.slow
def test_a_mistake_is_told_or_seen(name: str, what: str) -> None:
    comes, way = outcomes()[name][what]
    assert outcome(name, what, **WAYS[way]) == comes


def test_there_are_twenty_mistakes_in_each() -> None:
    told = outcomes()
    assert {name: list(told[name]) for name in PROGRAMS} == {name: list(p.mistakes) for name, p in PROGRAMS.items()}
    for name, program in PROGRAMS.items():
        assert len(program.mistakes) >= 20
        assert not {comes for comes, _ in told[name].values()} & {"", "step limit", "time limit"}


def test_what_is_kept_is_of_these_sources() -> None:
    assert {(name, what) for name, texts in kept().items() for what in texts} == set(sources())
    for texts in kept().values():
        assert len(set(texts.values())) == len(texts)


@pytest.mark.long
def test_nvcc_prints_what_is_kept() -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        warnings.warn("NO NVCC: that it prints what is kept was NOT tested", stacklevel=1)
        pytest.skip("NO NVCC")
    few = {key: source for i, (key, source) in enumerate(sources().items()) if i % 12 == 0 or key[1] == RIGHT}
    made = made_of(few)
    if made["ring"][RIGHT].split("\n")[0] != kept()["ring"][RIGHT].split("\n")[0]:
        pytest.skip("another version of nvcc prints another version of PTX")
    assert [key for key in few if made[key[0]][key[1]] != kept()[key[0]][key[1]]] == []
