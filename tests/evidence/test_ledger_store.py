"""Where the ledger is kept, and that no work is lost: neither to a place that cannot be written nor to an interruption."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ptxspec
from ptxspec.base import storage
from ptxspec.base.places import DOCUMENTS
from ptxspec.cli import main
from ptxspec.evidence import ledger, precomputed
from ptxspec.language.forms import registry
from ptxspec.query import identities
from ptxspec_workshop.ledger import computing


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The opcodes whose rows are computed, which takes no time here."""
    computed: list[str] = []

    def row(opcode: str) -> list[dict[str, Any]]:
        computed.append(opcode)
        kinds = {
            "ptxas": True,
            "interpretations": True,
            "gpu": None,
            "identities": 0,
            "approximate": False,
            "compared": None,
        }
        return [{"mnemonic": opcode, "form": f"{opcode};", "opcode": opcode, "page": "p", **kinds}]

    monkeypatch.setattr(computing, "opcode_rows", row)
    monkeypatch.setattr(computing, "on_all_cores", lambda function, items: map(function, items))
    monkeypatch.setattr(ledger, "digest", lambda: "the digest")
    return computed


def test_the_place_does_not_depend_on_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = storage.kept("ledger.json")
    monkeypatch.chdir(tmp_path)
    assert storage.kept("ledger.json") == here == DOCUMENTS / "build" / "ledger.json"
    installed = tmp_path / "site-packages" / "ptxspec" / "documents"
    monkeypatch.setattr(storage, "DOCUMENTS", installed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    away = storage.kept("ledger.json")
    assert away.is_absolute() and installed not in away.parents and tmp_path not in [away.parent]
    assert not list(tmp_path.iterdir())  # asking makes nothing


def test_what_is_there_is_not_computed_again(counted: list[str], tmp_path: Path) -> None:
    store = tmp_path / "new" / "ledger.json"
    assert ledger.rows(store) == []
    assert [r["opcode"] for r in computing.update(store, opcodes=["bfe", "add"])] == ["bfe", "add"]
    assert sorted(counted) == ["add", "bfe"]
    assert set(registry().opcodes) - {"add", "bfe"} == set(ledger.absent(ledger.rows(store)))
    seen: list[tuple[str, int, int]] = []
    computing.update(store, lambda *step: seen.append(step), opcodes=["bfe", "sub"])
    assert seen == [("sub", 2, 2)] and counted.count("bfe") == 1
    computing.update(store)
    assert sorted(counted) == sorted(registry().opcodes)
    assert not ledger.absent(ledger.rows(store)) and os.listdir(store.parent) == ["ledger.json"]


def test_an_interruption_keeps_what_was_computed(counted: list[str], tmp_path: Path) -> None:
    store = tmp_path / "ledger.json"

    def interrupt(opcode: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computing.update(store, interrupt)
    assert len(ledger.rows(store)) == 2
    computing.update(store)
    assert len(counted) == len(registry().opcodes)


def _places(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "ledger.json").mkdir(parents=True)
    return {"below a file": tmp_path / "file" / "ledger.json", "a folder": tmp_path / "folder" / "ledger.json"}


@pytest.mark.parametrize("which", ["below a file", "a folder"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    which: str, counted: list[str], tmp_path: Path
) -> None:
    store = _places(tmp_path)[which]
    with pytest.raises(OSError, match="cannot be written"):
        computing.update(store)
    assert counted == []


def test_the_command_says_so(counted: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = _places(tmp_path)["below a file"]
    monkeypatch.setattr(storage, "kept", lambda name: store)
    found = CliRunner().invoke(main, ["ledger", "--update"])
    assert (
        (found.exit_code, counted) == (2, [])
        and "cannot be written" in found.output
        and isinstance(found.exception, SystemExit)
    )
    found = CliRunner().invoke(main, ["ledger", "--update", "--json"])
    assert found.exit_code == 2 and "cannot be written" in json.loads(found.output)["error"]


def test_the_command_says_what_is_missing(counted: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(storage, "kept", lambda name: tmp_path / name)
    monkeypatch.setattr(precomputed, "rows", list)  # nothing was computed before
    computing.update(opcodes=["bfe"])
    found = CliRunner().invoke(main, ["ledger"])
    assert found.exit_code == 0 and f"not computed: {len(registry().opcodes) - 1} opcodes" in found.output
    assert "sub" in json.loads(CliRunner().invoke(main, ["ledger", "--json"]).output)["not_computed"]
    found = CliRunner().invoke(main, ["ledger", "--update"])
    assert found.exit_code == 0 and "not computed" not in found.output


def test_verdicts_are_kept_in_the_same_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(storage, "kept", lambda name: tmp_path / name)
    (claim, *_) = [c for c in identities.load_all() if c.opcodes == {"shl", "add"}] or identities.load_all()
    before = identities.verdict(claim)
    monkeypatch.setattr(identities, "prove", None)  # not asked again
    assert identities.verdict(claim) == before and (tmp_path / "verdicts.json").is_file()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    storage.write(path, {"a": 1})
    with pytest.raises(TypeError):
        storage.write(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1} and os.listdir(tmp_path) == ["kept.json"]


def test_some_forms_of_an_opcode_are_looked_up(tmp_path: Path) -> None:
    """What the store has of them, in the order of all."""
    store, every = tmp_path / "ledger.json", ptxspec.forms("bfe")
    rows = [{"ptxas": None, "interpretations": str(form), "gpu": None} for form in every]
    store.write_text(json.dumps({"digest": ledger.digest(), "opcodes": {"bfe": rows}}))
    for asked in (None, every[1:3]):
        standings = computing.standing_of("bfe", store, asked)
        assert [standing.form for standing in standings] == (every if asked is None else asked)
        assert all(standing.interpretations == str(standing.form) for standing in standings)
