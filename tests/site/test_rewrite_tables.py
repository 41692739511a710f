"""The tables of rewrites on a page, with the programs that tell behind a line that opens them."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import build

from ptxspec.evidence import precomputed
from ptxspec.query.rewrites.table import tables
from ptxspec_workshop.site import rewrite_tables


@pytest.mark.parametrize("name", tables())
def test_each_cell_is_in_a_table_and_each_program_below_it(name: str) -> None:
    known = precomputed.rewrites()
    assert known is not None
    cells = known["tables"][name]
    wrong = [cell for cell in cells if cell["status"] == "wrong"]
    text, (summary, programs) = rewrite_tables.markdown(name), rewrite_tables.told(name)
    assert text.count("| yes") == sum(cell["status"] == "right" for cell in cells)
    assert text.count("| no (") == len(wrong) and text.count("| [open]") == len(cells) - len(wrong) - text.count(
        "| yes"
    )
    assert summary == f"{len(wrong)} programs that tell"
    assert programs.count("```text") == 2 * len(wrong) and f"({len(wrong)}) `{wrong[-1]['row']}`" in programs


def test_a_page_has_the_table(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Manual\n\nA page.\n\n```{rewrites} forward\n```\n")
    warnings = build(tmp_path)
    assert not warnings, warnings
    shown = (tmp_path / "build" / "site" / "index.html").read_text()
    assert "<summary>3 programs that tell</summary>" in shown and shown.count("PTX tells") == 6
    assert "open" in shown and "no (3)" in shown
