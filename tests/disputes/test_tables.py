"""The tables of the pages: what is computed is shown, and what is not as stated stands out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence import precomputed
from ptxspec.pages.register import entries
from ptxspec_workshop.disputes import known_before, readings, recorded
from ptxspec_workshop.disputes.claims import load_all
from ptxspec_workshop.site import dispute_tables

REGISTER = entries(DOCUMENTS)
OPEN = "docs/disputes/open-results"


def test_a_table_of_cases_has_the_versions_that_differ_and_the_first_row() -> None:
    text = dispute_tables.markdown("open", OPEN, REGISTER)
    (row,) = (line for line in text.splitlines() if line.startswith("| a copied NaN |"))
    assert "[AMB-011](/spec/ambiguities.md#amb-011-copied-nan)" in row
    assert "13.0 <small>-O0</small><br>13.5 <small>-O0</small>" in row
    assert "`a` = `0xfffffffe` | `d` = `0xfffffffe` | `d` = `0x7fffffff`" in row
    assert "gap" not in text


def test_a_case_that_is_not_as_stated_stands_out() -> None:
    case = next(fault for fault in load_all().faults if fault.title == "a copied NaN")
    text = dispute_tables._of_faults([case._replace(failing={}, entry="AMB-999")], {})
    assert "[stated as none]{.gap}" in text and "[no entry AMB-999]{.gap}" in text


def test_the_extent_names_readers_and_writers() -> None:
    text = dispute_tables.markdown("extent", "docs/disputes/float-amounts", REGISTER)
    assert "| `shl.b64 d, a, r;` | 48 | 48 | 48 | 48 |" in text
    assert "| `st.global.b8 [%o+8], r;` | 48 | 48 | 0 | 0 |" in text
    assert "`shl.b32" not in text.partition("By the answers")[0]  # right after all writers
    wrong, sound = (line for line in text.splitlines() if line.startswith("| make "))
    assert "`mov.f32`" in wrong and "`mov.b32`" in sound and "`mov.f32`," not in sound


def test_a_dispute_is_shown_with_the_verdict_and_the_machines_answers() -> None:
    dispute = next(d for d in load_all().disputes if d.title == "a shift to the left counts modulo 32")
    text = dispute_tables._of_dispute(dispute, 60.0)
    assert "refuted <small>at" in text and "| `d` = `0x0` |" in text and "| `d` = `0x2` |" in text
    assert "as the definition says, and 0 as the reading says" in text
    assert "[stated as proved]{.gap}" in dispute_tables._of_dispute(dispute._replace(expected="proved"), 60.0)
    # a build that asks no solver, such as the tour's
    assert "refuted <small>at" in dispute_tables._of_dispute(dispute, 0)


@pytest.mark.slow
def test_a_build_that_asks_no_solver_shows_what_was_computed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    dispute = next(d for d in load_all().disputes if d.title == "a shift to the left counts modulo 32")
    fault = next(fault for fault in load_all().faults if fault.title == "a copied NaN")
    told = dispute_tables._of_dispute(dispute, 60.0), dispute_tables._of_faults([fault], {})
    kept = {
        known_before._key_of_dispute(dispute): list(readings.judged(dispute)),
        known_before._key_of_fault(fault): [list((found := recorded.judged(fault)).differing.values()), *found[1:]],
    }
    read = json.loads(json.dumps({"date": "2026-11-26", "verdicts": kept}))
    monkeypatch.setattr(precomputed, "_read", lambda: read)
    computed: list[str] = []
    for module in (readings, recorded):
        plain = module.judged
        counted = lambda claim, *more, plain=plain: computed.append(claim.title) or plain(claim, *more)  # noqa: E731
        monkeypatch.setattr(module, "judged", counted)
    known = dispute_tables._Known(stored=True)
    tables = lambda: (dispute_tables._of_dispute(dispute, 0, known), dispute_tables._of_faults([fault], {}, known))  # noqa: E731
    assert tables() == told and computed == [] and known.days == {"2026-11-26"}
    page = "docs/disputes/" + Path(dispute.place.path).stem
    assert "Computed on 2026-11-26" in dispute_tables.markdown("disputes", page, REGISTER, 0)
    assert dispute.title not in computed
    assert "Computed on" not in dispute_tables.markdown("open", OPEN, REGISTER, 1.0) and fault.title in computed
    # what a definition, a page of the machine or a recorded answer changed is computed
    for changed in ("shl.md", "access.md"):
        computed.clear()
        plain = precomputed._fences
        monkeypatch.setattr(
            precomputed,
            "_fences",
            lambda path, plain=plain, changed=changed: plain(path) + b"!" * (path.name == changed),
        )
        tables()
        assert dispute.title in computed
    computed.clear()
    monkeypatch.setattr(precomputed, "answers", lambda: "others")
    tables()
    assert computed == [dispute.title, fault.title]


def test_what_cannot_be_shown_is_an_error() -> None:
    with pytest.raises(ValueError, match="no kind of table"):
        dispute_tables.markdown("everything", OPEN, REGISTER)
    with pytest.raises(ValueError, match="states nothing"):
        dispute_tables.markdown("faults", OPEN, REGISTER)
