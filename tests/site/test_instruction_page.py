"""The page of an instruction: its badges, the summary of its syntax, its modifiers, and links at the names of its definition."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sphinx")

from building import build

from ptxspec.base.places import DOCUMENTS
from ptxspec.literate.documents import Fence
from ptxspec.literate.notation import parse
from ptxspec.pages import syntax_summary
from ptxspec.pages.register import anchor
from ptxspec_workshop.site import (
    availability_table,
    code_links,
    corner_cases,
    instruction_page,
    modifier_links,
    operand_table,
    pages,
)

INSTRUCTIONS = "ptxspec.spec.instructions"


def shown(text: str) -> list[str]:
    (lines,) = parse([Fence("syntax", 1, text)], "page")
    return [str(s) for s in syntax_summary.shapes(lines)]


def test_lines_that_differ_in_a_modifier_become_one() -> None:
    assert shown("ld.x.type d, [a];\nld.x.v2.type d, [a];\n.type = { .u32 };") == ["ld.x{.v2}.type  d, [a];"]
    assert shown("ld.type d, [a];\nld{{.h}}.type d, [a]{{, p}};\n.type = { .u32 };") == ["ld{{.h}}.type  d, [a];"]


def test_lines_of_other_operands_or_order_stay() -> None:
    assert len(shown("f.x d, a;\nf.x d, a, b;")) == 2
    assert len(shown("f.x.y d, a;\nf.y.x d, a;")) == 2


def test_lines_that_differ_in_types_become_one() -> None:
    assert shown("f.u32.u32 d, a;\nf.s32.u32 d, a;") == ["f{.u32,.s32}.u32  d, a;"]
    assert len(shown("f.u32.x d, a;\nf.x.u32 d, a;")) == 2


def test_a_summary_has_its_sets_and_says_what_its_marks_mean() -> None:
    text = syntax_summary.text(availability_table.lines(f"{INSTRUCTIONS}.movement.ld"))
    assert "{{.size}}" in text and ".size     = { .L2::64B, .L2::128B, .L2::256B };" in text
    (told,) = instruction_page.legend(text)
    assert told.astext() == "{{.x}} is a hint, which changes no result; {.x} may be omitted."
    assert [node.astext() for node in instruction_page.legend("f{.x}  d, a;")] == ["{.x} may be omitted."]
    assert instruction_page.legend("f.x  d, a;") == []
    assert ".type   = {" in syntax_summary.text(availability_table.lines(f"{INSTRUCTIONS}.comparison.setp"))


def test_a_summary_leaves_out_no_modifier_and_is_short() -> None:
    lines = availability_table.lines(f"{INSTRUCTIONS}.movement.ld")
    text = syntax_summary.text(lines)
    assert syntax_summary.helps(lines) and len(text.splitlines()) < 20 < len(lines)
    assert all(f".{option}" in text for line in lines for slot in line.slots for option in slot.options)
    assert not syntax_summary.helps(availability_table.lines(f"{INSTRUCTIONS}.integer.bfe"))


def pattern(shape: syntax_summary.Shape, sets: dict[str, list[str]]) -> re.Pattern[str]:
    """What the mnemonics of a line of a summary look like."""
    found = re.escape(shape.opcode)
    for place in shape.places:
        words = [w for name in place.name.split(",") for w in sets.get(name, [name])]
        found += f"(?:{'|'.join(map(re.escape, words))})" + ("?" if place.optional or place.hint else "")
    return re.compile(found)


def test_every_form_of_a_page_fits_its_summary() -> None:
    """A summary may allow more than there is, never less."""
    for name in ("movement.ld", "synchronization.atom", "comparison.setp", "matrix.mma", "movement.cvt"):
        lines = availability_table.lines(f"{INSTRUCTIONS}.{name}")
        allowed = [pattern(s, syntax_summary.sets(lines)) for s in syntax_summary.shapes(lines)]
        for form in pages.forms(f"{INSTRUCTIONS}.{name}"):
            assert any(p.fullmatch(form.mnemonic) for p in allowed), form.mnemonic


def test_badges_say_since_when() -> None:
    texts = lambda name: instruction_page.badges(f"{INSTRUCTIONS}.{name}").astext().split()  # noqa: E731
    assert " ".join(texts("integer.bfe")) == "PTX 2.0 sm_20 4 forms"
    assert " ".join(texts("floating.add")).startswith("PTX 1.0 sm_10 all forms: PTX 8.6, sm_100")


def test_modifiers_have_defaults_and_versions() -> None:
    known = {m.name: m for m in availability_table.modifiers(f"{INSTRUCTIONS}.floating.add")}
    assert known[".rnd"].without == ".rn" and not known[".rnd"].hint
    assert known[".ftz"].values == {".ftz": ((1, 4), 10)} and known[".ftz"].without == "implied before sm_20"
    assert known[".type"].values[".f64"] == ((1, 0), 13) and known[".type"].without == availability_table.REQUIRED
    html = availability_table.html_of(f"{INSTRUCTIONS}.floating.add", "spec/instructions/floating/add")
    assert "<code>.f32x2</code>: PTX 8.6, sm_100" in html
    assert '<a href="../../arithmetic/rounding.html"><code>.rz</code></a>' in html
    assert availability_table.html_of(f"{INSTRUCTIONS}.control.ret", "spec/instructions/control/ret").count("<tr>") == 2
    weak = {m.name: m for m in availability_table.modifiers(f"{INSTRUCTIONS}.movement.ld")}[".order"]
    assert weak.hint and weak.without == ".weak"


def test_orders_and_scopes_have_defaults() -> None:
    """Those that the manual states."""
    for name in ("atom", "red"):
        known = {m.name: m.without for m in availability_table.modifiers(f"{INSTRUCTIONS}.synchronization.{name}")}
        assert (known[".sem"], known[".scope"], known[".ss"]) == (".relaxed", ".gpu", "generic")
    fence = {m.name: m.without for m in availability_table.modifiers(f"{INSTRUCTIONS}.synchronization.fence")}
    assert fence[".sem"] == ".acq_rel"
    html = availability_table.html_of(f"{INSTRUCTIONS}.synchronization.barrier_cluster", "spec/x")
    assert "<code>.acquire</code> or <code>.release</code>" in html


@pytest.mark.parametrize("module", pages.with_forms())
def test_every_modifier_leads_to_a_place_that_there_is(module: str) -> None:
    for modifier in availability_table.modifiers(module):
        for value, where in modifier.places.items():
            assert where.target in targets(where.document), (modifier.name, value, where)


@cache
def targets(docname: str) -> set[str]:
    """The targets of a document: headings, places that it names, and definitions in its Python."""
    text = (DOCUMENTS / f"{docname}.md").read_text("utf-8")
    headings = re.findall(r"^#{2,3} (.+)$", text, re.M)
    definitions = [f"def-{name}" for name in re.findall(r"^def (\w+)", text, re.M)]
    return {"", *map(anchor, headings), *re.findall(r"\{#([\w-]+)\}", text), *definitions}


def test_shared_modifiers_are_those_that_some_instruction_has() -> None:
    used = {w for m in pages.with_forms() for own in availability_table.modifiers(m) for w in (own.name, *own.values)}
    assert set(modifier_links.shared()) - used <= {".full", ".ue8m0x2"}


def test_operands_have_types() -> None:
    (definitions, rows) = operand_table.groups(f"{INSTRUCTIONS}.integer.bfe")[0]
    assert [d.name for d in definitions] == ["bfe"]
    assert [(r.name, r.written) for r in rows] == [("d", True), ("a", False), ("b", False), ("c", False)]
    assert rows[2].type == "<code>.u32</code>" and rows[2].allowed == "constants 0 to 255"
    html = operand_table.html_of(f"{INSTRUCTIONS}.movement.mov")
    assert 'href="#def-pack_two"' in html and "half as wide as" in html
    assert operand_table.html_of(f"{INSTRUCTIONS}.miscellaneous.trap") == ""


def test_selectors_that_are_all_combinations_are_told_by_their_places() -> None:
    """`vset4` has 4,096 of them for an operand."""
    (_, rows) = operand_table.groups(f"{INSTRUCTIONS}.video.vset")[1]
    allowed = {row.name: row.allowed for row in rows}
    pairs, fours = "<code>.h[0-3][0-3]</code>, 16 of them", "<code>.b[0-7][0-7][0-7][0-7]</code>, 4,096 of them"
    assert allowed["a"].endswith(f"with one of {pairs} or {fours}")
    (_, rows) = operand_table.groups(f"{INSTRUCTIONS}.video.vadd")[0]
    allowed = {row.name: row.allowed for row in rows}
    assert "<code>.b3</code>" in allowed["a"] and "<code>.h1</code>" in allowed["a"]


@pytest.mark.parametrize("module", pages.with_forms())
def test_every_operand_of_a_syntax_line_is_in_the_table(module: str) -> None:
    for definitions, rows in operand_table.groups(module):
        for form in (f for f in pages.forms(module) if f.definition in definitions):
            names = {o.name for o in form.syntax.operands} | {o.second for o in form.syntax.operands if o.second}
            assert names <= {row.name for row in rows}, form


def test_the_definition_stands_before_the_operands(tmp_path: Path) -> None:
    page = tmp_path / "spec/instructions/integer/bfe.md"
    page.parent.mkdir(parents=True)
    page.write_text((DOCUMENTS / "spec/instructions/integer/bfe.md").read_text("utf-8"))
    (tmp_path / "index.md").write_text("# all\n\n```{toctree}\nspec/instructions/integer/bfe\n```\n")
    build(tmp_path)
    html = (tmp_path / "build/site/spec/instructions/integer/bfe.html").read_text()
    places = [html.index(f'id="{name}"') for name in ("syntax", "semantics", "operands", "corner-cases", "see-also")]
    assert places == sorted(places)
    assert 'class="badge reference internal" href="#availability"' in html
    assert html.index("constants 0 to 255") > html.index('id="L-43"')


def test_each_opcode_of_a_page_of_several_has_a_table_and_an_address(tmp_path: Path) -> None:
    module, docname = f"{INSTRUCTIONS}.video.vadd2", "spec/instructions/video/vadd2"
    opcodes = pages.opcodes(module)
    assert len(opcodes) == 12
    assert set(re.findall(r"\{table\} `(\w+)", corner_cases.markdown(module, [], {}))) == opcodes
    (tmp_path / docname).parent.mkdir(parents=True)
    known = SimpleNamespace(found_docs={docname, "spec/instructions/integer/bfe"})
    app: Any = SimpleNamespace(builder=SimpleNamespace(format="html"), env=known, outdir=tmp_path)
    instruction_page.redirect(app, None)
    written = {path.stem: path.read_text() for path in tmp_path.rglob("*.html")}
    assert {*written, "vadd2"} == opcodes
    assert all('location.replace("vadd2.html" + location.hash)' in text for text in written.values())


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
