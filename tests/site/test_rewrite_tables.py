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
    tables = "```{rewrites} forward\n```\n\n```{rewrites} single\n```\n"
    (tmp_path / "index.md").write_text(f"# Manual\n\nA page.\n\n{tables}")
    warnings = build(tmp_path)
    assert not warnings, warnings
    shown = (tmp_path / "build" / "site" / "index.html").read_text()
    forward, single = shown.split("programs that tell</summary>")[1:]
    assert "<summary>4 programs that tell</summary>" in shown and forward.count("PTX tells") == 8
    assert "no (4)" in shown and ">open<" not in shown and "PTX tells" in single
