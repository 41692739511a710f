"""The export: it is what its schema says and no more, it is whole, and the index of instructions can be made of it alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from ptxspec.base.places import DOCUMENTS
from ptxspec.language.forms import opcodes, registry
from ptxspec.pages import anchors, prose
from ptxspec_workshop.site import opcode_table, pages
from ptxspec_workshop.site.export import isa

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemas"
#: with open results, removals, editions, operands of every kind, gaps, and no page at all
SOME = ("add", "bfe", "call", "cvt", "mma", "shfl", "tex", "tcgen05", "vmad", "cp")


@cache
def exported(*names: str) -> dict[str, Any]:
    """The export as others read it."""
    found: dict[str, Any] = json.loads(isa.text_of(isa.exported(names or None)))
    return found


def strict(schema: Any) -> Any:
    """The schema, which then lets no field pass that it does not know."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(value) for key, value in schema.items()}
    return found | {"additionalProperties": False} if found.get("additionalProperties") is True else found


def validate(value: Any) -> None:
    contents = {path.name: strict(json.loads(path.read_text())) for path in SCHEMAS.glob("*.json")}
    known: Registry = Registry().with_resources((n, Resource.from_contents(s)) for n, s in contents.items())
    Draft202012Validator.check_schema(contents["export.json"])
    Draft202012Validator({"$ref": "export.json#/$defs/isa"}, registry=known).validate(value)


def forms_of(isa: dict[str, Any]) -> dict[str, tuple[str, str, str, str]]:
    """Address, operand types, version and target of every form, from the export alone."""
    addresses = {page["page"]: page["address"] for page in isa["pages"]}
    found = {}
    for definition in (d for opcode in isa["opcodes"] for d in opcode["definitions"]):
        for mnemonic, signature, _, _ in definition["forms"]:
            own = definition["signatures"][signature]
            operands = (definition["operands"][number] for number in own["operands"])
            types = " ".join(str(o.get("type") or o["kind"]) for o in operands)
            address = f"{addresses[definition['page']]}#{mnemonic}{own['anchor']}"
            found[address] = (f"{mnemonic} {own['written']}".strip() + ";", types, own["since"], own["target"])
    return found


def index_of(isa: dict[str, Any]) -> list[list[str]]:
    """The rows of the site's table of opcodes, from the export alone."""
    rows = []
    for opcode in isa["opcodes"]:
        places = [page.removesuffix(".md") for page in opcode["pages"]]
        links = ", ".join(f"[{place.split('/')[-2]}](/{place}.md)" for place in places)
        missing = [
            pages.gap(m["what"] if m["name"] == opcode["opcode"] and opcode["pages"] else f"`{m['name']}`: {m['what']}")
            for m in opcode["missing"]
        ]
        rows.append([f"`{opcode['opcode']}`", links, "<br>".join(dict.fromkeys(missing))])
    return rows


def shown(names: set[str]) -> list[list[str]]:
    """The rows of the site's table."""
    lines = [line for line in opcode_table.markdown().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    rows = [row + [""] * (3 - len(row)) for row in ([c.strip(" |") for c in row] for row in cells)]
    return [row for row in rows if row[0].strip("`") in names]


def agrees(found: dict[str, Any], names: set[str]) -> None:
    assert [o["opcode"] for o in found["opcodes"]] == sorted(names)
    described = [f for n in names if opcodes()[n] for f in registry().opcodes[n].forms]
    listed = forms_of(found)
    assert set(listed) == {anchors.form_address(f) for f in described} and len(listed) == len(described)
    for form in described:
        text, types, since, target = listed[anchors.form_address(form)]
        (major, minor), number = form.availability
        assert (text, since, target) == (str(form), f"{major}.{minor}", f"sm_{number}")
        assert len(types.split()) >= len(form.syntax.operands)


@pytest.mark.slow
def test_an_export_is_what_its_schema_says() -> None:
    validate(exported(*SOME))
    agrees(exported(*SOME), set(SOME))


def test_a_schema_finds_what_is_wrong() -> None:
    for wrong in (
        {"surprise": 1},
        {"opcodes": []},
        {"whole": None},
        {"format": {"name": "ptxspec-isa", "version": "2.0"}},
    ):
        with pytest.raises(ValidationError):
            validate(exported("bfe") | wrong)


@pytest.mark.slow
def test_the_index_of_instructions_is_made_of_it() -> None:
    found, wanted = index_of(exported(*SOME)), shown(set(SOME))
    assert [row[:2] for row in found] == [row[:2] for row in wanted]
    assert [row[0] for row in found if not row[1]] == ["`tcgen05`"]


def test_what_a_form_leaves_open_and_when_it_is_there() -> None:
    (bfe,) = exported("bfe")["opcodes"]
    (definition,) = bfe["definitions"]
    mnemonic, signature, checked, values = definition["forms"][2]
    (modifier,) = definition["modifiers"]
    assert (mnemonic, modifier["name"]) == ("bfe.s32", "type")
    assert [modifier["values"][number] for number in values] == ["s32"]
    own = definition["signatures"][signature]
    assert own["anchor"] == "-d-a-b-c"
    assert own["unspecified"] == [
        {"name": "field-beyond-255", "entry": "AMB-021", "kind": "unspecified", "type": ".s32"}
    ]
    assert (own["since"], own["target"], own["written"]) == ("2.0", "sm_20", "d, a, b, c")
    assert "@instruction" in (DOCUMENTS / definition["page"]).read_text().splitlines()[definition["line"] - 1]
    assert [definition["operands"][number]["name"] for number in own["operands"]] == ["d", "a", "b", "c"]
    line = definition["syntax"][own["syntax"]]
    assert [definition["slots"][number]["name"] for number in line["slots"]] == ["type"]
    assert [definition["places"][number]["name"] for number in line["places"]] == ["d", "a", "b", "c"]
    evidence = definition["evidence"][checked]
    assert evidence["not_asked"] is None and evidence["gpu"]["vectors"] > 100


def test_things_have_anchors_of_their_own() -> None:
    """That the site has them is tested where a site is built."""
    found = exported("bfe")
    assert len(found["special_registers"]) > 80 and len(found["ambiguities"]) > 190
    assert {r["name"]: r["anchor"] for r in found["special_registers"]}["%tid"] == "sreg-tid"
    for key in ("special_registers", "rules", "static_rules", "ambiguities"):
        own = [(thing["page"], thing["anchor"]) for thing in found[key]]
        assert len(set(own)) == len(own) and all(anchor for _, anchor in own)


def test_rules_have_their_sentences_and_lines() -> None:
    """Those of programs that run and those of texts, with what a diagnostic fills in."""
    found = exported("bfe")
    assert len(found["rules"]) > 40 and len(found["static_rules"]) > 140
    for key, marked in (("rules", "rule("), ("static_rules", "@static_rule(")):
        for rule in found[key]:
            lines = _text(rule["page"]).splitlines()[rule["line"] - 1 :]
            assert marked in lines[0] and rule["name"] in "\n".join(lines[:6]), rule
    sentences = {rule["name"]: rule["sentence"] for rule in found["static_rules"]}
    assert sentences["is_an_alignment"] == "an alignment is a power of two, not {value}"
    assert not {rule["name"] for rule in found["rules"]} & sentences.keys()


@pytest.mark.parametrize("names", [("add", "bfe", "shfl"), pytest.param(SOME, marks=pytest.mark.slow)], ids=len)
def test_a_form_has_its_modifiers(names: tuple[str, ...]) -> None:
    """By number, what is not there being null or beyond the end."""
    for definition in (d for o in exported(*names)["opcodes"] for d in o["definitions"]):
        modifiers = definition["modifiers"]
        assert all(modifier["values"][0] is None for modifier in modifiers)
        for mnemonic, _, _, numbers in definition["forms"]:
            values = [modifier["values"][n] for modifier, n in zip(modifiers, numbers, strict=False)]
            words = {str(v) for v in values if v not in (None, True)}
            assert len(numbers) <= len(modifiers) and words <= set(mnemonic.split(".")), mnemonic


def test_selectors_are_told_as_the_notation_has_them() -> None:
    (opcode,) = exported("vadd4")["opcodes"]
    places = {place["name"]: place.get("selectors") for place in opcode["definitions"][0]["places"]}
    assert places["a"] == ["b[0-7][0-7][0-7][0-7]"] and len(places["d"]) == 15 and places["c"] is None


def test_the_register_has_question_and_reading() -> None:
    assert all(e["question"] and e["reading"] for e in exported("bfe")["ambiguities"])


@cache
def _text(page: str) -> str:
    return (DOCUMENTS / page).read_text("utf-8")


def test_an_opcode_that_is_none_is_refused() -> None:
    with pytest.raises(KeyError, match="frob"):
        isa.exported(["frob"])


def test_a_sentence_about_a_word() -> None:
    assert prose.row_about("spec/directives/index.md", ".maxntid") == "limits the threads of a CTA"
    assert prose.row_about("spec/directives/index.md", ".frob") == ""
    assert "`%nwarpid`" in prose.sentence_about("spec/special-registers/thread-coordinates.md", "%nwarpid")
    title, summary = prose.title_and_summary("spec/special-registers/thread-coordinates.md")
    assert title == "Thread coordinates" and summary == prose.sentence_about(
        "spec/special-registers/thread-coordinates.md", "%frob"
    )


@pytest.mark.long
def test_the_whole_isa() -> None:
    """Every opcode; the index, row by row; and the same bytes from a process with another order of sets."""
    text = isa.text_of(isa.exported())
    found = json.loads(text)
    validate(found)
    agrees(found, set(opcodes()))
    assert index_of(found) == shown(set(opcodes())) and found["whole"]
    command = [sys.executable, "-m", "ptxspec", "export"]
    again = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "7"}).stdout
    assert hashlib.sha256(again).digest() == hashlib.sha256(text.encode()).digest()
