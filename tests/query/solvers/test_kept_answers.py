"""Answers that are kept: what is asked again and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxspec
from ptxspec.query.solvers import kept, portfolio, z3_solver
from ptxspec.query.solvers.answers import SolverReply
from ptxspec.terms.symbolic import Script

PROVED = ("neg.s32 d, a;", "not.b32 x, a; add.u32 d, x, 1;")
REFUTED = ("div.u32 d, a, b;", "div.u32 e, a, b; max.u32 d, e, 1;")


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The scripts that solvers are asked, with a file of answers that is empty at first."""
    asked: list[str] = []
    ask = portfolio.ask
    monkeypatch.setattr(portfolio, "ask", lambda text, *more: asked.append(text) or ask(text, *more))
    with kept.kept_at(tmp_path / "kept" / "answers.sqlite"):
        yield asked


@pytest.mark.parametrize("sides", [PROVED, REFUTED])
def test_a_question_is_put_once(sides: tuple[str, str], count: list[str]) -> None:
    first, second = ptxspec.prove(*sides), ptxspec.prove(*sides)
    assert len(count) == 1 and first._replace(seconds=0.0) == second._replace(seconds=0.0)
    ptxspec.prove(*sides, assume="a != 1")
    assert len(count) > 1


def test_what_only_looks_alike_is_asked(count: list[str]) -> None:
    """Questions that differ in as little as can be have keys of their own."""
    texts = [
        ("add.u32 d, a, 1;", "sub.u32 d, a, -1;"),
        ("add.u32 d, a, 2;", "sub.u32 d, a, -2;"),
        ("add.u32 d, a, 1;", "sub.u32 d, b, -1;"),
        ("add.u64 d, a, 1;", "sub.u64 d, a, -1;"),
        ("div.u32 d, a, 0;", "add.u32 d, a, 1;"),
        ("rem.u32 d, a, 0;", "add.u32 d, a, 1;"),
    ]
    for left, right in texts:
        ptxspec.prove(left, right)
    assert len(set(count)) == len(count) == len(texts)


def test_a_definition_that_changes_a_query_asks_again(count: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert ptxspec.prove(*PROVED).status == "proved"
    binary = Script.binary
    monkeypatch.setattr(Script, "binary", lambda self, op, x, y, n: binary(self, "or" if op == "add" else op, x, y, n))
    assert ptxspec.prove(*PROVED).status != "proved" and len(count) == 2


def test_another_version_of_the_solver_asks_again(count: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ptxspec.prove(*PROVED)
    monkeypatch.setattr(z3_solver, "version", lambda: "z3 of tomorrow")
    ptxspec.prove(*PROVED)
    assert len(count) == 2


def test_what_is_no_answer_is_not_kept(tmp_path: Path) -> None:
    with kept.kept_at(tmp_path / "a"):
        for status, is_kept in (("timeout", False), ("out of memory", False), ("unsat", True), ("sat", True)):
            key = kept.key("(assert true)", status)
            kept.keep(key, SolverReply(status, {"in.a": 3}, "z3"))
            assert (kept.find(key) == (status, {"in.a": 3}, "z3")) is is_kept
    with kept.kept_at(None):
        kept.keep(kept.key("x", "y"), SolverReply("unsat", {}, "z3"))
        assert kept.find(kept.key("x", "y")) is None


def test_a_model_that_is_wrong_is_not_believed(count: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = ptxspec.prove(*REFUTED)
    assert verdict.status == "refuted"
    find = kept.find

    def other(key: bytes) -> Any:
        said = find(key)
        return said._replace(model=dict.fromkeys(said.model, 77)) if said else None

    monkeypatch.setattr(kept, "find", other)
    assert ptxspec.prove(*REFUTED).status == "unknown" and len(count) == 1


@pytest.mark.parametrize("damage", [b"no database", b"", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_as_none(damage: bytes, tmp_path: Path) -> None:
    file = tmp_path / "answers.sqlite"
    file.write_bytes(damage)
    with kept.kept_at(file):
        assert ptxspec.prove(*PROVED).status == "proved"
        ptxspec.prove(*PROVED)  # the file that was damaged is gone by now
        key = kept.key("a", "b")
        kept.keep(key, SolverReply("unsat", {}, "z3"))
        assert kept.find(key) == ("unsat", {}, "z3")


def test_a_folder_that_is_only_read_keeps_nothing_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with kept.kept_at(tmp_path / "file" / "answers"):  # no folder can be made there
        assert ptxspec.prove(*PROVED).status == "proved"


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 50)
    monkeypatch.setattr(kept, "EVERY", 20)
    with kept.kept_at(tmp_path / "a"):
        keys = [kept.key(str(i), "z3") for i in range(100)]
        for key in keys:
            kept.keep(key, SolverReply("unsat", {}, "z3"))
        assert kept.find(keys[49]) is None and kept.find(keys[50]) is not None and kept.find(keys[-1]) is not None
