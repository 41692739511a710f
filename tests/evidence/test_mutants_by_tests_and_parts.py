"""Mistakes that the project's tests notice, or do not, and terms that are proved equal by their parts, or are not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptxspec.terms import integer, select, undefined, unspecified
from ptxspec.terms.core import variable
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import Approximation, is_allowed, low_bits, maximum, minimum
from ptxspec_workshop.generate.image_cases import QueryCase, SurfaceCase, TextureCase
from ptxspec_workshop.mutation import by_oracles, by_tests, judging, sameness
from ptxspec_workshop.mutation.by_parts import Parts
from ptxspec_workshop.mutation.judging import KILLED, UNDECIDED, Judgement, PriorEvidence, judge
from ptxspec_workshop.mutation.meanings import cases, leaves, like, machine
from ptxspec_workshop.mutation.mutants import Mutant, of_page
from ptxspec_workshop.mutation.planting import planted
from ptxspec_workshop.mutation.reach import graph

CODES = "tests/spec/test_surfaces_of_the_gpu.py::test_codes_of_opencl"
WRONG = """
from ptxspec.spec.textures import queries

def code():
    return queries.channel_order(3)

def test_something_else():
    assert 1 + 1 == 2

def test_codes():
    assert code() == {code}
"""


def of(module: str, original: str, new: str) -> Mutant:
    return next(m for m in of_page(f"ptxspec.spec.{module}") if (m.original, m.mutated) == (original, new))


def code() -> Mutant:
    """A mistake in a table of codes, of which no identity tells."""
    return of("textures.queries", "4276", "4277")


# Tests of the project --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_test_is_asked_about_what_it_names() -> None:
    names = [test.name for test in by_tests.about(code())]
    assert CODES in names and len(names) <= by_tests.MOST
    ranks = [by_tests._names(t.text, by_tests._named(code())[0]) for t in by_tests.about(code())]
    assert ranks == sorted(ranks, reverse=True)
    moved = [test.name for test in by_tests.about(of("instructions.matrix.stmatrix", "column + row", "column - row"))]
    assert "tests/machine/test_matrices_of_bytes.py::test_stores" in moved and CODES not in moved


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Replaces the project's tests by one file, in which a code is expected."""

    def write(expected: str) -> None:
        path = tmp_path / "tests" / "spec" / "test_one.py"
        path.parent.mkdir(parents=True)
        path.write_text(WRONG.replace("{code}", expected))
        (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["long: "]\n')
        monkeypatch.setattr(by_tests, "DOCUMENTS", tmp_path)
        by_tests.tests.cache_clear()

    yield write
    by_tests.tests.cache_clear()


@pytest.mark.slow
def test_a_test_that_fails_with_the_mistake_alone_kills(only: Any) -> None:
    only("0x10B4")
    found = by_tests.noticed(code())
    assert found is not None and found.name.endswith("test_one.py::test_codes") and "4277" in found.shown


@pytest.mark.slow
@pytest.mark.parametrize("expected", ["code()", "0"])
def test_a_test_that_never_fails_or_always_does_tells_nothing(only: Any, expected: str) -> None:
    only(expected)
    assert [t.name for t in by_tests.about(code())] == ["tests/spec/test_one.py::test_codes"]
    assert by_tests.noticed(code()) is None


@pytest.mark.slow
def test_what_needs_too_much_is_not_said_of_a_definition(only: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    only("[0 for _ in iter(int, 1)]")
    monkeypatch.setattr(by_tests, "TOGETHER", 2)
    assert by_tests.noticed(code()) is None


@pytest.mark.parametrize("told", [True, False])
def test_tests_are_asked_last(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Judgement(UNDECIDED, "", "", "nothing known")
    asked: list[str] = []

    def noticed(mutant: Mutant, first: str = "") -> by_tests.FailedTest | None:
        asked.append(first)
        return by_tests.FailedTest(CODES, "AssertionError") if told else None

    monkeypatch.setattr(judging, "_before_tests", lambda *_: left)
    monkeypatch.setattr(judging, "judge_by_claims", lambda *_: None)
    monkeypatch.setattr(by_tests, "noticed", noticed)
    found = judge(code())
    assert found == (Judgement(KILLED, "test", CODES, "AssertionError") if told else left) and asked == [""]
    asked.clear()
    judge(code(), PriorEvidence("test", CODES))
    assert asked == ([CODES] if told else [CODES, ""])
    monkeypatch.setattr(judging, "_before_tests", lambda *_: Judgement(KILLED, "identity", "x"))
    asked.clear()
    assert judge(code()).by == "identity" and asked == []


# Equal parts -----------------------------------------------------------------------------------------------------------

A, B = variable("a", 2000), variable("b", 2000)


def equal(one: Any, other: Any) -> bool:
    return Parts(time.process_time() + 30).equal(one, other)


@pytest.mark.slow
def test_what_differs_only_where_it_does_not_matter_is_equal() -> None:
    """A product of two thousand bits is too much for a solver; that a zero is no less than it says is not."""
    product = (A * B + 1) * A
    one = select(product == 0, 5, select(product < 0, 6, 7)) * B
    other = select(product == 0, 5, select(product < 1, 6, 7)) * B
    assert one is not other and equal(one, other)
    own, word = low_bits(product, 32), low_bits(B, 32)
    assert equal(maximum(own, word) + 1, 1 + maximum(word, own))


@pytest.mark.slow
def test_what_differs_is_not_equal() -> None:
    product = A * B
    assert not equal(select(product < 0, 6, 7), select(product < 1, 6, 7))
    assert not equal(minimum(product, B), maximum(product, B))
    assert not equal(low_bits(product, 8), low_bits(product, 9))
    assert not Parts(0.0).equal(product + B + 1, B + product + 1), "no seconds, no proof"


def test_the_range_of_what_is_shared_is_kept() -> None:
    byte = low_bits(A * B, 8)
    assert equal(select(byte < 256, byte, 3), select(byte < 300, byte, 4))
    assert not equal(select(byte < 255, byte, 3), select(byte < 254, byte, 4))


def test_an_open_result_is_no_other_open_result() -> None:
    one, other = (undefined("no-shared-address", TYPES["u32"], x, A, operation="mapa") for x in (A, B))
    assert equal(one + 1, one + 1) and not equal(one + integer(1), other + integer(1))


# What a machine is handed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "new", "same"),
    [("low_bits(lane, 5)", "low_bits(lane, 6)", True), ("members == 0", "members != 0", False)],
)
def test_what_an_open_result_may_be_is_compared_as_a_term(original: str, new: str, same: bool) -> None:
    mutant = of("instructions.synchronization.elect", original, new)
    every = cases(graph().forms(mutant), True)
    was = [leaves(case.meaning) for case in every]
    assert any(side.allowing for side in was)
    with planted(mutant):
        pairs = sameness.pairs_of(mutant, zip(every, was, [leaves(c.meaning) for c in every], strict=True))
        assert pairs
        assert (sameness.by_operands(pairs) is None) is same
        assert not same or sameness.by_solver(pairs) is True


def test_kinds_of_lookups_take_turns() -> None:
    own = [SurfaceCase("sust.p", "2d", "u8", 1, "b32"), SurfaceCase("sust.b", "1d", "u8", 4, "b8"),
           SurfaceCase("sust.b", "1d", "u8", 4, "b16"), SurfaceCase("sust.b", "1d", "u8", 4, "b8", spelling="x"),
           TextureCase("1d", "f32", 1)]  # fmt: skip
    found = list(by_oracles.in_turns(own))
    assert found == [own[0], own[1], own[4], own[3], own[2]] and list(by_oracles.in_turns([])) == []
    queries = [QueryCase(s, own[i]) for s in ("suq.width.b32", "suq.depth.b32") for i in (0, 1, 2)]
    assert list(by_oracles.in_turns(queries)) == [queries[i] for i in (0, 1, 3, 4, 2, 5)]


def test_lookups_that_differ_without_a_mistake_are_not_asked() -> None:
    by_opcode, answered = by_oracles._images()
    names = {case.name for own in by_opcode.values() for case in own}
    assert len(names) > 2000 and names < answered.keys()
    assert all("grad" in name or " offset" in name for name in answered.keys() - names)


@pytest.mark.parametrize("kind", [undefined, unspecified])
def test_some_machine_chooses_what_is_allowed(kind: Callable[..., Any]) -> None:
    """The same bits for equal operands, for every freedom that a definition may have."""
    freedom = kind("somewhere", TYPES["u8"], variable("x", 8))
    chosen = [machine(freedom, (operand,)) for operand in (3, 3, 4)]
    assert chosen[0] == chosen[1] != chosen[2] and all(is_allowed(freedom, (3,), bits) for bits in chosen)


@pytest.mark.parametrize("part", ["nearest", "allowed", "rounded", "term"])
def test_approximations_that_differ_in_a_function_are_not_alike(part: str) -> None:
    """Of each the mistake may be one that only it shows."""
    plain = Approximation(lambda x: x, lambda bits, x: True, None, lambda x: x, lambda x: x)
    assert like(plain) == like(plain._replace(quick=None)) != like(plain._replace(**{part: lambda x: x + 1}))
