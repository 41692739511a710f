"""Evidence and verdicts that travel as data: they say what the pages say, and a definition that changed has none."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from ptxspec.evidence import ledger, precomputed
from ptxspec.literate import finder
from ptxspec.query import identities, laws
from ptxspec_workshop.disputes import known_before
from ptxspec_workshop.disputes.claims import load_all


@pytest.mark.slow
def test_what_is_stored_says_what_the_pages_say() -> None:
    """A claim whose definitions have changed since has no verdict, and an opcode no rows; of the others none fails."""
    verdicts = [(claim, precomputed.verdict(claim)) for claim in identities.load_all()]
    known = [(claim, verdict) for claim, verdict in verdicts if verdict is not None]
    assert all(claim.is_as_stated(verdict["status"]) for claim, verdict in known)
    settled = [(law, found) for law in laws.load_all() if (found := precomputed.verdict_on_law(law)) is not None]
    assert all(found["status"] == laws.expected(law) for law, found in settled)
    disputes = [
        (claim, found) for claim in load_all().disputes if (found := known_before.of_dispute(claim)) is not None
    ]
    assert all(found.status == claim.expected for claim, found in disputes)
    faults = [(fault, found) for fault in load_all().faults if (found := known_before.of_fault(fault)) is not None]
    assert all(found.ways == fault.ways for fault, found in faults)
    examples = [(fault, found.example) for fault, found in faults if found.example is not None]
    assert all(list(one[0]) == list(fault.inputs) for fault, one in examples)  # in the order in which they are shown
    assert all(list(side) == list(fault.results) for fault, one in examples for side in one[1:])
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


def test_a_law_whose_page_has_changed_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither has one whose page imports that page; what was said of others stands."""
    known = {law: precomputed.key_of_law(law) for law in laws.load_all()}
    kept = {"date": "2026-11-26", "verdicts": {key: {"status": laws.expected(law)} for law, key in known.items()}}
    monkeypatch.setattr(precomputed, "_read", lambda: kept)
    plain = precomputed._fences
    monkeypatch.setattr(precomputed, "_fences", lambda path: plain(path) + b"changed" * (path.name == "barriers.md"))
    lost = {Path(law.path) for law in known if precomputed.verdict_on_law(law) is None}
    assert {path for path in lost if path.name == "barriers.md"} and len(lost) < len({law.path for law in known})
    for law in known:
        imports = any(path.name == "barriers.md" for path in finder.sources([law.function.__module__]))
        assert (Path(law.path) in lost) == imports
    elsewhere = next(law for law in known if Path(law.path) not in lost)
    assert precomputed.verdict_on_law(elsewhere) == {"status": laws.expected(elsewhere), "computed": "2026-11-26"}
    assert precomputed.verdict_on_law(elsewhere._replace(holds=not elsewhere.holds)) is None
    assert len(set(known.values())) == len(known)


def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json.xz"
    monkeypatch.setattr(precomputed, "FILE", file)
    read = precomputed._read.__wrapped__
    assert read()["opcodes"] == {}
    for data in (b"no archive", lzma.compress(b"{"), lzma.compress(b"{}")[:-3]):
        file.write_bytes(data)
        with pytest.raises(ValueError, match=r"evidence.json.xz is damaged"):
            read()
