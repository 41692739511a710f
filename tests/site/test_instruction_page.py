"""The page of an instruction: its badges, the summary of its syntax, its modifiers, and links at the names of its definition."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from ptxspec.literate.documents import Fence
from ptxspec.literate.finder import DOCUMENTS
from ptxspec.literate.notation import parse
from ptxspec.site import availability_table, code_links, instruction_page, pages, syntax_summary

INSTRUCTIONS = "ptxspec.spec.instructions"


def shown(text: str) -> list[str]:
    return [str(s) for s in syntax_summary.shapes(parse(Fence("syntax", 1, text), "page"))]


def test_lines_that_differ_in_a_modifier_become_one() -> None:
    assert shown("ld.x.type d, [a];\nld.x.v2.type d, [a];\n.type = { .u32 };") == ["ld.x{.v2}.type  d, [a];"]
    assert shown("ld.type d, [a];\nld{{.h}}.type d, [a]{{, p}};\n.type = { .u32 };") == ["ld{{.h}}.type  d, [a];"]


def test_lines_of_other_operands_or_order_stay() -> None:
    assert len(shown("f.x d, a;\nf.x d, a, b;")) == 2
    assert len(shown("f.x.y d, a;\nf.y.x d, a;")) == 2


def test_a_summary_leaves_out_no_modifier_and_is_short() -> None:
    lines = availability_table.lines(f"{INSTRUCTIONS}.movement.ld")
    text = syntax_summary.text(lines)
    assert syntax_summary.helps(lines) and len(text.splitlines()) < 20 < len(lines)
    assert all(f".{option}" in text for line in lines for slot in line.slots for option in slot.options)
    assert not syntax_summary.helps(availability_table.lines(f"{INSTRUCTIONS}.integer.bfe"))


def test_every_form_of_a_page_fits_its_summary() -> None:
    """A summary may allow more than there is, never less."""
    for name in ("movement.ld", "movement.st", "synchronization.atom", "comparison.setp"):
        lines = availability_table.lines(f"{INSTRUCTIONS}.{name}")
        summary = parse(Fence("syntax", 1, syntax_summary.text(lines)), name)
        for form in pages.forms(f"{INSTRUCTIONS}.{name}"):
            modifiers = tuple(form.mnemonic.split(".")[1:])
            assert any(line.bindings(modifiers) is not None for line in summary), form.mnemonic


def test_badges_say_since_when() -> None:
    texts = lambda name: instruction_page.badges(f"{INSTRUCTIONS}.{name}").astext().split()  # noqa: E731
    assert " ".join(texts("integer.bfe")) == "PTX 2.0 sm_20 4 forms"
    assert " ".join(texts("floating.add")).startswith("PTX 1.0 sm_10 all forms: PTX 8.6, sm_100")


def test_modifiers_have_defaults_and_versions() -> None:
    known = {m.name: m for m in availability_table.modifiers(f"{INSTRUCTIONS}.floating.add")}
    assert known[".rnd"].without == ".rn" and not known[".rnd"].hint
    assert known[".ftz"].values == {".ftz": ((1, 4), 10)}
    assert known[".type"].values[".f64"] == ((1, 0), 13)
    html = availability_table.html_of(f"{INSTRUCTIONS}.floating.add")
    assert '<code class="literal">.f32x2</code>: PTX 8.6, sm_100' in html
    assert availability_table.html_of(f"{INSTRUCTIONS}.integer.bfe") == ""


def test_names_lead_to_their_definitions(tmp_path: Path) -> None:
    page = tmp_path / "spec/instructions/integer/new.md"
    page.parent.mkdir(parents=True)
    page.write_text(
        "# new\n\n```python\nfrom ptxspec.terms import select\n"
        "from ptxspec.spec.arithmetic.rounding import rounded as near\n\n"
        "def f(x, select):\n    return select(near(x))\n\ng = select(f)\n```\n"
    )
    name = "spec/instructions/integer/new"
    found = code_links.names(tmp_path, name)
    assert found.targets["near"] == ("spec/arithmetic/rounding", "def-rounded")
    assert found.used == {8: {"near"}, 10: {"select", "f"}} and found.defined[7] == {"f"}
    body = (
        '<span id="L-7">def <span class="nf">f</span>\n</span><span id="L-8"><span class="n">select</span>(<span class="n">near</span>\n</span>'
        '<span id="L-10"><span class="n">g</span> = <span class="n">select</span>(<span class="n">f</span>\n</span>'
    )
    linked = code_links.linked(body, name, found)
    assert '<span class="nf" id="def-f">f</span>' in linked and 'href="#def-f">f</a>' in linked
    assert 'href="../../arithmetic/rounding.html#def-rounded">near</a>' in linked
    assert linked.count("#word-select") == 1 and 'href="../../notation.html#word-select"' in linked


def test_every_page_can_be_linked() -> None:
    for path in sorted((DOCUMENTS / "spec").rglob("*.md")):
        code_links.names(DOCUMENTS, pages.docname_of(path))
