"""Evidence and verdicts that travel as data: they say what the pages say, and a definition that changed has none."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from ptxspec.evidence import ledger, precomputed
from ptxspec.query import identities


def test_what_is_stored_says_what_the_pages_say() -> None:
    """A claim whose definitions have changed since has no verdict, and an opcode no rows; of the others none fails."""
    verdicts = [(claim, precomputed.verdict(claim)) for claim in identities.load_all()]
    known = [(claim, verdict) for claim, verdict in verdicts if verdict is not None]
    assert all(claim.is_as_stated(verdict["status"]) for claim, verdict in known)
    counts = ledger.summary(precomputed.rows([]))
    assert counts["ptxas no"] == counts["interpretations no"] == counts["gpu no"] == 0


def test_a_digest_follows_the_pages_that_a_definition_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    changed: list[str] = []
    plain = precomputed._fences.__wrapped__

    def fences(path: Path) -> bytes:
        return plain(path) + (b"changed" if path.name in changed else b"")

    monkeypatch.setattr(precomputed, "_fences", fences)
    digest = precomputed.digest.__wrapped__
    before = {name: digest(frozenset([name])) for name in ("bfe", "sqrt", "ld")}
    for page, concerned in (("bfe.md", {"bfe"}), ("rounding.md", {"sqrt"}), ("access.md", {"ld"})):
        changed[:] = [page]
        assert {name for name in before if digest(frozenset([name])) != before[name]} == concerned, page


def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json.xz"
    monkeypatch.setattr(precomputed, "FILE", file)
    read = precomputed._read.__wrapped__
    assert read()["opcodes"] == {}
    for data in (b"no archive", lzma.compress(b"{"), lzma.compress(b"{}")[:-3]):
        file.write_bytes(data)
        with pytest.raises(ValueError, match=r"evidence.json.xz is damaged"):
            read()
