"""The site: what its directives compute, and that a fault in a page fails the build."""

from __future__ import annotations

import json
import os
import random
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")

from building import build
from pygments.token import Error
from site_links import of_pattern

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence import precomputed
from ptxspec.language.forms import registry
from ptxspec.literate.documents import parse
from ptxspec.pages.anchors import form_anchor
from ptxspec.pages.register import Entry, UnknownFreedom, entries
from ptxspec.query import identities, laws
from ptxspec.query.laws import ClaimVerdict, load_all
from ptxspec.terms import TYPES
from ptxspec.terms.steps import StepClaim
from ptxspec_workshop import site
from ptxspec_workshop.site import (
    contents,
    corner_cases,
    evidence_section,
    forms_list,
    freedoms,
    identity_tables,
    invariant_tables,
    lexers,
    machine_readable,
    numerals,
    pages,
    store,
    transforms,
    vocabulary_tables,
)

BFE = "ptxspec.spec.instructions.integer.bfe"
DIV = "ptxspec.spec.instructions.integer.div"
KNOWN = entries(DOCUMENTS)
REGISTER = {"division-by-zero": Entry("AMB-001", "division-by-zero", "amb-001-division-by-zero")}


def rows(markdown: str, form: str) -> list[list[str]]:
    """The cells of one form's table."""
    table = markdown.split(f"`{form}`\n")[1].split("~~~~")[0]
    return [[c.strip() for c in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def first_number(cell: str) -> int:
    match = re.search(r"`(0x[0-9a-f]+)`", cell)
    assert match, cell
    return int(match[1], 16)


# Corner cases ----------------------------------------------------------------------------------------------------------


def test_a_row_that_the_page_asks_for() -> None:
    text = corner_cases.markdown(BFE, ["bfe.s32: a=0xf80 b=4 c=8", "bfe.s32: a=-1 b=40 c=1"], KNOWN)
    assert rows(text, "bfe.s32 d, a, b, c;")[:2] == [
        ["`0xf80` <small>3968</small>", "`0x4`", "`0x8`", "`0xfffffff8` <small>−8</small>"],
        ["`0xffffffff` <small>−1</small>", "`0x28` <small>40</small>", "`0x1`", "`0xffffffff` <small>−1</small>"],
    ]


def test_chosen_rows_hold_what_the_instruction_computes() -> None:
    found = rows(corner_cases.markdown(BFE, [], KNOWN), "bfe.u32 d, a, b, c;")
    assert len(found) >= 5
    for a, b, c, d in (map(first_number, row) for row in found):
        if max(b, c) < 256:
            assert d == (a >> b) & ((1 << min(c, 32)) - 1)
    assert len({row[-1] for row in found}) >= 4


def test_chosen_rows_bring_about_overflow_and_freedoms() -> None:
    found = rows(corner_cases.markdown(DIV, ["div.s32"], REGISTER), "div.s32 d, a, b;")
    assert ["`0x80000000`", "`0xffffffff`", "`0x80000000`"] in [[c.split(" <")[0] for c in row] for row in found]
    (by_zero,) = (row for row in found if row[1] == "`0x0`")
    assert "[division-by-zero](/spec/ambiguities.md#amb-001-division-by-zero)" in by_zero[2]
    assert first_number(by_zero[2]) == 0xFFFFFFFF  # hopper's choice


def test_a_row_that_does_not_fit() -> None:
    for line, complaint in [
        ("bfe.f32: a=1 b=2 c=3", "no form of this page"),
        ("bfe.u32: a=1 b=2", "has the operands a, b, c"),
        ("bfe.u32: a=0x100000000 b=0 c=0", "does not fit .u32"),
    ]:
        with pytest.raises(corner_cases.RowError, match=complaint) as error:
            corner_cases.markdown(BFE, ["bfe.u32: a=1 b=2 c=3", line], {})
        assert error.value.line == 1


def tables_of(names: Iterable[str]) -> None:
    """Make the tables of some pages."""
    known = entries(DOCUMENTS)
    for name in names:
        if pages.forms(name):
            corner_cases.markdown(name, [], known)
            freedoms.markdown(name, known, "spec/page")


def test_pages_have_their_tables() -> None:
    """A page in twelve; `make site` makes all."""
    tables_of(list(registry().pages)[::12])


@pytest.mark.long
def test_every_page_has_its_tables() -> None:
    tables_of(registry().pages)


def test_instructions_with_effects_have_a_sentence_instead() -> None:
    assert "no table" in corner_cases.markdown("ptxspec.spec.instructions.movement.st", [], {})


# Numerals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, form, raw", [("f16", "<e", "<H"), ("f32", "<f", "<I"), ("f64", "<d", "<Q")])
def test_floats_are_shown_by_a_decimal_that_means_them(name: str, form: str, raw: str) -> None:
    type = TYPES[name]
    source = random.Random(1)
    for bits in [0, 1, 1 << (type.width - 1), *(source.getrandbits(type.width) for _ in range(300))]:
        text = numerals.reading(bits, type)
        if text[-1] in "N∞":
            continue
        plain = re.sub(r"·10<sup>(.*)</sup>", r"e\1", text).replace("−", "-")
        assert struct.unpack(raw, struct.pack(form, float(plain)))[0] == bits


def test_integers_are_shown_as_their_type_reads_them() -> None:
    assert numerals.reading(0xFFFFFF80, TYPES["s32"]) == "−128"
    assert numerals.reading(0x80000001, TYPES["s32"]) == "−2<sup>31</sup> + 1"
    assert numerals.reading((1 << 64) - 2, TYPES["u64"]) == "2<sup>64</sup> − 2"
    assert numerals.reading(0xFFFFFF80, TYPES["b32"]) == ""
    assert numerals.reading(0x3FC0, TYPES["bf16"]) == "1.5" and numerals.reading(0x3E02, TYPES["bf16"]) == "0.127"
    assert (
        numerals.reading(0xBFC03F80, TYPES["bf16x2"]) == "−1.5, 1"
        and numerals.reading(0xFFFF0003, TYPES["s16x2"]) == "−1, 3"
    )
    assert numerals.written(0x3C00, TYPES["f16x2"]) == "0x00003c00" and numerals.reading(0x3AFE, TYPES["e4m3x2"]) == ""
    assert [numerals.parsed(t, TYPES["bf16"]) for t in ("1.5", "0.1", "-2.0")] == [0x3FC0, 0x3DCD, 0xC000]
    assert [numerals.parsed(t, TYPES["f32"]) for t in ("1.5", "0x7f800001")] == [0x3FC00000, 0x7F800001]


# Freedoms, evidence, vocabulary ----------------------------------------------------------------------------------------


def test_freedoms_name_entry_and_choices() -> None:
    text = freedoms.markdown(DIV, REGISTER, "spec/page")
    assert "/spec/ambiguities.md#amb-001-division-by-zero" in text
    assert "{ptx:def}`quotient by zero <spec.profiles.hopper.quotient_by_zero>`" in text
    assert "left open" in text
    assert freedoms.markdown("ptxspec.spec.instructions.integer.clz", {}, "spec/page") == ""


def test_a_deviation_is_documented_where_no_profile_knows_of_it() -> None:
    known = {"video-machine-code": Entry("AMB-045", "video-machine-code", "amb-045-video-machine-code")}
    text = freedoms.markdown("ptxspec.spec.instructions.video.vset", known, "spec/page")
    (row,) = [line for line in text.splitlines() if "amb-045-video-machine-code" in line]
    assert "deviation" in row and "as documented" in row and "<spec.profiles.hopper." in row and "left open" not in row


def test_a_freedom_without_an_entry_is_refused() -> None:
    with pytest.raises(UnknownFreedom, match="division-by-zero"):
        freedoms.markdown(DIV, {}, "spec/page")
    with pytest.raises(UnknownFreedom, match="division-by-zero"):
        corner_cases.markdown(DIV, [], {})


def test_evidence_tells_gaps_and_failures() -> None:
    forms = pages.forms(BFE)
    page = "spec/instructions/integer/bfe"
    assert evidence_section.markdown(BFE, page, None).count("not run in this build") == 3
    found = [{"mnemonic": f.mnemonic, "page": f.page, "ptxas": True, "interpretations": True} for f in forms]
    found[0]["gpu"] = {"agrees": True, "vectors": 12, "date": "2026-11-20"}
    found[1]["interpretations"] = False
    text = evidence_section.markdown(BFE, page, found)
    assert "4 of 4 forms" in text
    assert f"[no]{{.gap}} for 1: `{forms[1].mnemonic}`" in text
    assert "1 of 4 forms; not run for 3; 12 vectors, 2026-11-20" in text
    assert evidence_section.lacking(BFE, page, found) == (3, 0)  # one fails, and two a GPU was not asked about
    assert evidence_section.lacking(BFE, page, found[:1]) == (0, 3)  # no gap: three were not run
    elsewhere = [{**row, "page": "spec/instructions/other/bfe.md:1"} for row in found]
    assert evidence_section.lacking(BFE, page, elsewhere) == (0, 4)


def test_what_was_computed_before_is_shown_with_its_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = "spec/instructions/integer/bfe"
    row = {"gpu": {"agrees": True, "vectors": 12}, "ptxas": True, "interpretations": True, "unasked": None}
    columns = [{**row, "approximate": False, "compared": None}[name] for name in precomputed.COLUMNS]
    claim = next(i for i in identity_tables.identities() if i.opcodes == {"bfe"})
    kept = {
        "date": "2026-11-26",
        "opcodes": {
            name: {"digest": known, "forms": {str(f): columns for f in pages.forms(BFE)}}
            for name, known in (
                ("bfe", precomputed.digest(frozenset(["bfe"]), precomputed.answers())),
                ("bfi", "of another definition"),
            )
        },
        "verdicts": {precomputed.key(claim): {"status": claim.expected}},
    }
    monkeypatch.setattr(precomputed, "_read", lambda: kept)
    rows = precomputed.rows([])
    assert {r["opcode"] for r in rows} == {"bfe"} and len(rows) == len(pages.forms(BFE))
    assert evidence_section.lacking(BFE, page, rows) == (0, 0)
    assert "Computed on 2026-11-26" in evidence_section.markdown(BFE, page, rows)
    here = {"opcode": "bfe", "mnemonic": "computed here"}
    assert precomputed.rows([here]) == [here]
    late = identity_tables.VerdictSource(tmp_path / "verdicts.json", 0.0)
    assert late.status(claim) == claim.expected and late.dates == {"2026-11-26"}
    assert late.status(claim._replace(assume="a != 7")) == identity_tables.UNCHECKED


def test_the_solver_is_asked_about_a_claim_without_a_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module, path = "ptxspec.spec.machine.warps", tmp_path / "laws.json"
    own = [claim for claim in load_all() if claim.function.__module__ == module]
    false, true = (next(claim for claim in own if claim.holds is holds) for holds in (False, True))
    values = {"full": True, "lanes": 1024, "none": 0}
    kept = {"date": "2026-11-26", "verdicts": {precomputed.key_of_law(false): {"status": "refuted", "values": values}}}
    monkeypatch.setattr(precomputed, "_read", lambda: kept)
    asked: list[StepClaim] = []
    monkeypatch.setattr(
        invariant_tables, "check", lambda claim: asked.append(claim) or ClaimVerdict("unknown", {}, 0.0)
    )
    text = invariant_tables.markdown(module, path)
    assert set(asked) == set(own) - {false}
    assert "Computed on 2026-11-26" in text and "at `full` = `true`, `lanes` = `0x400`; all else zero" in text
    assert text.count("[unknown]{.gap}; stated as") == len(own) - 1
    path.write_text(json.dumps({laws.key(true, identities.definitions()): {"status": "proved", "values": {}}}), "utf-8")
    asked.clear()
    assert invariant_tables.markdown(module, path).count("| proved ") == 1 and true not in asked


def built(parallel: int, folder: Path) -> SimpleNamespace:
    """What the extension asks Sphinx of a build."""
    config = SimpleNamespace(ptxspec_isa="isa.json", ptxspec_build="build")
    html = SimpleNamespace(format="html")
    return SimpleNamespace(parallel=parallel, srcdir=folder, outdir=folder, config=config, builder=html)


def test_many_pages_are_prepared_before_they_are_distributed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []
    monkeypatch.setattr(site.gc, "freeze", lambda: asked.append("frozen"))
    monkeypatch.setattr(evidence_section, "read", asked.append)
    monkeypatch.setattr(precomputed, "verdict", asked.append)
    names = [str(i) for i in range(site.MANY)]
    for parallel, read in ((2, names[1:]), (1, names)):
        site._prepare(built(parallel, tmp_path), None, read)
    assert asked == []
    site._prepare(built(2, tmp_path), None, names)
    assert asked == [tmp_path / "build" / "ledger.json", *identity_tables.identities(), "frozen"]
    asked.clear()
    monkeypatch.setattr(
        evidence_section, "read", lambda path: 1 // 0
    )  # a page is broken, which its own directives tell
    site._prepare(built(2, tmp_path), None, names)
    assert asked == ["frozen"]


def test_opcodes_are_described_while_pages_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "processes"

    def exported(opcode: object) -> dict[str, object]:
        with told.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return {}

    monkeypatch.setattr(machine_readable.isa, "exported", exported)
    monkeypatch.setattr(machine_readable.forms_data, "text_of", lambda isa: "")
    (tmp_path / "_static").mkdir()
    for parallel in (1, 2):
        app = built(parallel, tmp_path)
        machine_readable.begin(app, None)
        machine_readable.write(app, None)
    first, other, last = map(int, told.read_text().split())
    assert first == last == os.getpid() != other and (tmp_path / "isa.json").is_file()

    monkeypatch.setattr(machine_readable.isa, "exported", lambda opcode: 1 // 0)
    machine_readable.begin(app, None)
    with pytest.raises(ZeroDivisionError):  # what went wrong there is told here
        machine_readable.write(app, None)


def test_every_word_says_what_it_means() -> None:
    assert not list(vocabulary_tables.undocumented())
    assert (
        "| [`select(c, x, y)`]{#word-select} | x where c holds, else y. Of records, field by field. |"
        in vocabulary_tables.markdown()
    )


def test_a_build_asks_the_solver_for_no_longer_than_it_may(tmp_path: Path) -> None:
    claim = identity_tables.Identity("t", "not.b32 d, a;", "xor.b32 d, a, -1;", None, "portable", "proved", __file__, 1)
    late = identity_tables.VerdictSource(tmp_path / "verdicts.json", 0.0)
    assert late.status(claim) == identity_tables.UNCHECKED
    assert identity_tables.verdict_text(late.verdict(claim), "proved").startswith(
        "not run in this build; stated as proved"
    )
    assert identity_tables.VerdictSource(tmp_path / "verdicts.json", 30.0).status(claim) == "proved"
    assert identity_tables.VerdictSource(tmp_path / "verdicts.json", 0.0).status(claim) == "proved"  # from the store


def test_an_instruction_shows_the_identities_that_are_about_it_and_links_to_the_others(tmp_path: Path) -> None:
    judge = identity_tables.VerdictSource(tmp_path / "verdicts.json", 0.0)
    module = "ptxspec.spec.instructions.integer.add"
    found = identity_tables.of_page(module)
    table, links = identity_tables.markdown(module, judge, "spec/instructions/integer/add").split(" more:")
    assert table.count("{ptx:identity}") == identity_tables.ROWS
    assert f"And {len(found) - identity_tables.ROWS}" in table and len(found) == (table + links).count("{ptx:identity}")
    alone = [i.title for i in found if len(i.opcodes) == 1]
    assert alone and all(f"`{title}`" in table for title in alone)
    proofs = "ptxspec.proofs.bit_tricks"
    stated = identity_tables.of_page(proofs)
    text = identity_tables.markdown(proofs, judge, "proofs/bit-tricks")
    assert len(stated) > identity_tables.ROWS and " more:" not in text
    assert text.count("{ptx:identity}") == len(stated)


def test_an_identity_shows_its_verdict_first_and_leads_to_where_it_is_stated(tmp_path: Path) -> None:
    judge = identity_tables.VerdictSource(tmp_path / "verdicts.json", 0.0)
    stated = [i for i in identity_tables.identities() if i.path.endswith("bits-and-shifts.md")]
    head, _, first = identity_tables.rows(stated[:1], judge, "spec/instructions/integer/bfe").splitlines()[1:4]
    verdict = identity_tables.verdict_text(judge.verdict(stated[0]), "proved")
    assert head.startswith("| Verdict | Identity |") and first.startswith(f"| {verdict} |")
    assert f"{{ptx:identity}}`{stated[0].title}`" in first
    for identity in stated:
        fences = parse(Path(identity.path).read_text("utf-8"), identity.path).of("python")
        assert any(f.line <= identity.line < f.line + f.text.count("\n") + 1 for f in fences), identity


def test_an_identity_belongs_to_the_page_of_its_forms() -> None:
    claim = identity_tables.Identity(
        "t", "add.f32 d, a, b;", "add.f32 d, b, a;", None, "portable", "proved", __file__, 1
    )
    assert identity_tables.mentions(claim, "ptxspec.spec.instructions.floating.add")
    assert not identity_tables.mentions(claim, "ptxspec.spec.instructions.integer.add")
    assert not identity_tables.mentions(claim, BFE)


def test_computed_text_is_kept_under_what_it_depends_on(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("one")
    asked = []
    for text in ("one", "one", "two"):
        page.write_text(text)
        store.stored(tmp_path / "kept", "page", store.digest([page]), lambda: asked.append(1) or "text")
    assert len(asked) == 2
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_lexers_read_every_fence() -> None:
    for path in sorted((DOCUMENTS / "spec").rglob("*.md")):
        document = parse(path.read_text("utf-8"), path)
        for language, lexer in (
            ("ptx", lexers.PtxLexer()),
            ("syntax", lexers.SyntaxLexer()),
            ("grammar", lexers.GrammarLexer()),
            ("words", lexers.WordsLexer()),
        ):
            for fence in document.of(language):
                wrong = [text for kind, text in lexer.get_tokens(fence.text) if kind is Error]
                assert not wrong, f"{path}:{fence.line}: {wrong}"


def test_reading_order() -> None:
    first = [entry.docname for entry in contents.children(DOCUMENTS, "spec")]
    assert first[:2] == ["spec/index", "spec/notation"]
    assert first.index("spec/types/index") < first.index("spec/instructions/index") < first.index("spec/ambiguities")


# Whole builds ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small site: a register with one entry, the profiles without their links, and the page of one instruction."""
    for page in (
        "spec/instructions/integer/div.md",
        "spec/profiles/hopper.md",
        "spec/profiles/portable.md",
        "spec/profiles/nearest.md",
    ):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        text = (DOCUMENTS / page).read_text("utf-8")
        (tmp_path / page).write_text(re.sub(r"\]\([^)]*\)", "]", text))
    (tmp_path / "index.md").write_text("# Front\n\nA site.\n\n```{pages} spec\n```\n\n```{ledger}\n```\n")
    (tmp_path / "spec/ambiguities.md").write_text("# Register\n\nEntries.\n\n## AMB-001 division-by-zero\n\nOpen.\n")
    return tmp_path


def test_a_small_tree_builds(tree: Path) -> None:
    page = tree / "spec/instructions/integer/div.md"
    # the small tree has no proofs to link to
    text = page.read_text().replace("\n## See also\n", "\n## Identities\n\nElsewhere.\n\n## See also\n")
    page.write_text(text + "\nSee [AMB-001](../../ambiguities.md).\n\n```{forms}\n```\n")
    assert build(tree) == ""
    html = (tree / "build/site/spec/instructions/integer/div.html").read_text()
    line = page.read_text().splitlines().index("@instruction") + 1
    assert f'<span id="L-{line}">' in html
    blocks = re.findall(r'<pre style="counter-reset:line (\d+)"><span id="L-(\d+)">', html)
    assert blocks and all(int(number) + 1 == int(first) for number, first in blocks)
    assert 'ambiguities.html#amb-001-division-by-zero">AMB-001' in re.sub(r"</?span[^>]*>", "", html)
    known = any(row["opcode"] == "bfe" for row in precomputed.rows([]))  # computed before, from the same definitions
    assert ("Computed on " if known else "not run in this build") in html
    # sections that the page does not have, each in its place
    order = [
        html.index(f'<section id="{name}">')
        for name in ("freedoms", "availability", "identities", "evidence", "see-also")
    ]
    assert order == sorted(order) and "```" not in html
    row = '<code><i id="div.s64-d-a-b">div.s64</i> d, a, b;</code></td><td>.s64, .s64, .s64</td><td>1.0</td><td>sm_10</td>'
    assert row in html
    assert "Lacking evidence" in (tree / "build/site/index.html").read_text()


def test_imports_step_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "FEWEST", 1)
    build(tree)
    html = (tree / "build/site/spec/instructions/integer/div.html").read_text()
    folded = re.search(r'<details class="imports"><summary>imports</summary>(.*?)</details>', html, re.S)
    lines = (tree / "spec/instructions/integer/div.md").read_text().splitlines()
    assert folded is not None
    shown = [int(n) for n in re.findall(r'<span id="L-(\d+)">', folded[1])]
    assert shown and all(lines[n - 1].startswith("from ") for n in shown)
    after = re.search(r'<span id="L-(\d+)">', html[folded.end() :])
    assert after is not None and lines[int(after[1]) - 1] == "@instruction"


@pytest.mark.parametrize(
    ("text", "count"),
    [("import a\nx = 1", 1), ("from a import (\n    b,\n)\n\nimport c\nb()", 5), ("x = 1\nimport a", 0)],
)
def test_how_many_lines_import(text: str, count: int) -> None:
    assert transforms.imports(text) == count


def test_an_unknown_freedom_fails_the_build(tree: Path) -> None:
    (tree / "spec/ambiguities.md").write_text("# Register\n\nEntries.\n\n## AMB-001 something-else\n\nOpen.\n")
    warnings = build(tree)
    assert "div.md" in warnings and "'division-by-zero', which has no entry" in warnings


def test_a_link_to_a_missing_entry_fails_the_build(tree: Path) -> None:
    page = tree / "spec/profiles/portable.md"
    page.write_text(page.read_text() + "\nSee [AMB-999](../ambiguities.md).\n")
    assert "portable.md" in (warnings := build(tree)) and "no entry AMB-999" in warnings


def test_a_wrong_row_is_reported_at_its_line(tree: Path) -> None:
    page = tree / "spec/instructions/integer/div.md"
    page.write_text(page.read_text().replace("```{corner-cases}\n", "```{corner-cases}\ndiv.u32: a=1 b=x\n"))
    line = page.read_text().splitlines().index("div.u32: a=1 b=x") + 1
    assert f"div.md:{line}: WARNING: {{corner-cases}}: 'x' is no number" in build(tree)


@pytest.mark.parametrize("module", ["movement.ld", "synchronization.atom", "video.vadd", "control.call", "integer.bfe"])
def test_a_list_of_forms_is_complete_and_short(module: str) -> None:
    """Forms that differ in their modifiers alone share a row, and many of them have patterns, so that thousands do not make a page of
    megabytes. Every form has an anchor, once."""
    name = f"ptxspec.spec.instructions.{module}"
    html = forms_list.rows_html(name)
    assert len(html) < 120_000
    found = re.findall(r'id="([^"]+)"', html)
    for operands, pattern in re.findall(r'<i data-operands="([^"]*)">([^<]*)</i>', html):
        found += of_pattern(pattern, operands)
    assert len(found) == len(set(found)) and set(found) == {form_anchor(f) for f in pages.forms(name)}


def test_a_refutation_says_what_machine_it_is_about() -> None:
    found = ptxspec.prove("div.u32 d, a, 0;", "rem.u32 d, a, 0;").as_dict()
    shown = identity_tables.verdict_text(found, "refuted")
    assert (
        shown.startswith("refuted, as stated") and "if `division-by-zero(" in shown and "`remainder-by-zero(" in shown
    )
    predicate = ptxspec.prove("mov.pred p, q;", "not.pred p, q;").as_dict()
    assert "`q` = `false`" in identity_tables.verdict_text(predicate, "refuted")


def test_every_word_has_an_anchor_of_its_own() -> None:
    """As Sphinx tells anchors apart, which is without regard to capitals."""
    anchors = [vocabulary_tables.target(name).lower() for name in ptxspec.terms.__all__]
    assert len(set(anchors)) == len(anchors)
