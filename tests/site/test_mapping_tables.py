"""The tables of how C++'s atomic operations are spelled, with the programs that tell behind a line that opens them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from building import build

from ptxspec.evidence import precomputed
from ptxspec.query.mapping.skeletons import BOUNDS, MISTAKES
from ptxspec_workshop.site import mapping_tables


def test_each_row_is_in_a_table() -> None:
    known = precomputed.mapping()
    assert known is not None
    parts = {name: mapping_tables.part(name) for name in get_args(mapping_tables.MappingPart)}
    assert sum(map(len, parts.values())) == len(known["rows"])
    assert len(parts["libcu++"]) == len(BOUNDS) and len(parts["mistakes"]) == len(MISTAKES)
    for name, rows in parts.items():
        wrong = [row for row in rows if "program" in row]
        text, (summary, programs) = mapping_tables.markdown(name), mapping_tables.told(name)
        assert text.count("yes (") == len(wrong) and text.count("| no |") == len(rows) - len(wrong)
        assert summary.startswith(f"{len(wrong)} program") and programs.count("```text") == 2 * len(wrong)
    with pytest.raises(ValueError, match="none of"):
        mapping_tables.part("all")


def test_a_page_has_the_table(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Manual\n\nA page.\n\n```{mapping} libcu++\n```\n")
    warnings = build(tmp_path)
    assert not warnings, warnings
    shown = (tmp_path / "build" / "site" / "index.html").read_text()
    assert "<summary>1 program that tells</summary>" in shown and "fence.sc.cta" in shown
