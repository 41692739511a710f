"""The model takes from pages what they have, with its types, as mypy sees both. `make lint` asks the same."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ptxspec.literate import lint

PLANTED = """
from ptxspec import contracts
contracts.access.not_there
contracts.limits.check_shared("many", 1)
page, rules = contracts.warps, contracts.memory_rules
lanes: str = page.LANES
end: int = rules.next_buffer(256)
rules.next_buffer("256")
contracts.no_such_page
class Holder:
    def __init__(self) -> None:
        self.page = contracts.functions
    def room(self) -> None:
        self.page.not_there(0, 0, 0)
def first(span: contracts.functions.Span[int]) -> str:
    return span.begin
def size(frame: int) -> str:
    return contracts.functions.frame_size(frame)
"""
#: the lines that are wrong, and why
WRONG = {
    3: "attr-defined", 4: "arg-type", 6: "assignment", 8: "type-var", 9: "attr-defined", 14: "attr-defined", 16: "return-value",
    18: "return-value",
}  # fmt: skip


@pytest.mark.slow
def test_mypy_sees_the_pages_that_the_model_takes_names_from(tmp_path: Path) -> None:
    """Nothing is wrong in the model and on the pages, and all that is planted is found."""
    pytest.importorskip("mypy", reason="NO MYPY: that pages have what the model takes, with its types, was NOT tested")
    written = lint.lay_out(tmp_path)
    (tmp_path / "ptxspec" / "planted.py").write_text(PLANTED)
    status, output = lint.mistyped(["ptxspec", "ptxspec_workshop"], tmp_path, written)
    errors = [line for line in output.splitlines() if ": error: " in line]
    found = [re.fullmatch(r".*/ptxspec/planted\.py:(\d+): error: .*\[([\w-]+)\]", line) for line in errors]
    assert status == 1 and all(found), output
    assert {int(match[1]): match[2] for match in found if match} == WRONG, output


def test_what_is_wrong_is_named_by_the_line_of_the_page_or_of_the_model(tmp_path: Path) -> None:
    written = lint.lay_out(tmp_path)
    of_both = "ptxspec/spec/machine/limits.py:7: this, ptxspec/machine/limits.py:8: that"
    found = lint.complaints([sys.executable, "-c", f"print({of_both!r})"], tmp_path, written)
    assert found == (0, "spec/machine/limits.md:7: this, model/ptxspec/machine/limits.py:8: that\n")
