"""What pages hold as data beside instructions: versions, targets, types, state spaces, directives, special registers,
functions of the system, rules, and the register of ambiguities."""

from __future__ import annotations

import functools
import re
from typing import Any

from ptxspec import contracts
from ptxspec.base import places
from ptxspec.language.forms import page_name, registry
from ptxspec.language.syntax import syntax
from ptxspec.literate import finder
from ptxspec.pages.anchors import entry_anchor, page_address, register_anchor, rule_anchor
from ptxspec.pages.prose import row_about, sentence_about, title_and_summary, without_links
from ptxspec.pages.register import REGISTER, Entry, entries
from ptxspec.pages.values import target, version
from ptxspec.terms.registries import RULES, SPECIAL_REGISTERS, STATIC_RULES, SYSTEM_FUNCTIONS, Rule
from ptxspec.terms.static_rules import StaticRule
from ptxspec.terms.types import TYPES

#: how an entry of the register says which edition of the manual raises its question, and which settles it or leaves it open
_EDITION = re.compile(
    r"(?:Raised by (?P<raised>\d+\.\d+), )?(?:[sS]ettled by (?P<settled>\d+\.\d+)|open in (?P<open>\d+\.\d+))(?:\.\s|: )"
)
_EXAMPLE = "Raised by 4.1, settled by 9.1."
DIRECTIVES, TYPES_PAGE, SPACES = "spec/directives/index.md", "spec/types/index.md", "spec/state-spaces/index.md"
#: what the letters of a type's kind stand for
KINDS = {"b": "bits", "u": "unsigned", "s": "signed", "f": "float", "x": "packed", "pred": "predicate"}


def versions() -> list[str]:
    """Every version of PTX ISA that a module may name."""
    return [f"{major}.{minor}" for major, most in contracts.directives.VERSIONS.items() for minor in range(most + 1)]


def targets() -> list[dict[str, Any]]:
    page = contracts.directives
    return [
        {"target": name, "since": version(since), "features": list(page.features(name))}
        for name, since in page.TARGETS.items()
    ]


def types() -> list[dict[str, Any]]:
    """The types that modifiers and declarations name."""
    needs, rows = contracts.types.NEEDS, []
    for type in TYPES.values():
        since, number = needs.get(type.name, ((1, 0), 10))
        row = {
            "type": type.name,
            "kind": KINDS[type.kind],
            "width": type.width,
            "elements": type.elements,
            "declarable": type.is_fundamental,
        }
        summary = row_about(TYPES_PAGE, f".{type.name}")
        rows.append({**row, "since": version(since), "target": target(number), "summary": summary})
    return rows


def spaces() -> list[dict[str, Any]]:
    page = contracts.state_spaces
    return [
        {
            "space": name,
            "shared_by": space.shared_by,
            "addressable": name.partition("::")[0] in page.addressable(),
            "initialized": space.initialized,
            "written": space.written,
            "address_bits": space.address_bits,
            "page": SPACES,
        }
        for name, space in page.SPACES.items()
    ]


def directives() -> list[dict[str, Any]]:
    """The words with a point that the grammar names, but types and state spaces."""
    known = {f".{name}" for name in (*TYPES, *contracts.state_spaces.SPACES)}
    return [_use(word) for word in syntax().literals if word not in known]


def uses() -> list[dict[str, Any]]:
    """Ways to use a directive that not all modules have."""
    page = contracts.directives
    words = {*page.SINCE, *page.NEEDS, *page.GONE} - set(syntax().literals)
    return [_use(word) for word in sorted(words)]


def _use(word: str) -> dict[str, Any]:
    page = contracts.directives
    gone = page.GONE.get(word)
    return {
        "name": word,
        "since": version(page.SINCE.get(word, (1, 0))),
        "target": target(page.NEEDS.get(word, 10)),
        "removed": None if gone is None else version(gone),
        "summary": row_about(DIRECTIVES, word),
        "page": DIRECTIVES,
    }


def special_registers() -> list[dict[str, Any]]:
    registry()  # which loads their pages
    rows = []
    for register in sorted(SPECIAL_REGISTERS.values()):
        page = page_name(register.path)
        rows.append(
            {
                "name": register.name,
                "type": register.type.name,
                "components": list(register.components),
                "also": [type.name for type in register.also],
                "changes": register.changes,
                "since": version(register.since),
                "target": target(register.target),
                "summary": sentence_about(page, register.name),
                "page": page,
                "line": register.line,
                "anchor": register_anchor(register.name),
            }
        )
    return rows


def system_functions() -> list[dict[str, Any]]:
    """Functions that a module may declare and the system provides; sizes in bytes."""
    registry()
    return [
        {"name": f.name, "takes": list(f.takes), "gives": f.gives, "page": page_name(f.act.__code__.co_filename)}
        for f in sorted(SYSTEM_FUNCTIONS.values())
    ]


def rules() -> list[dict[str, Any]]:
    """The rules that a running program must keep."""
    _ = registry().pages  # all are loaded then
    return [_rule(rule) for rule in sorted(RULES.values())]


def static_rules() -> list[dict[str, Any]]:
    """The rules that a text must keep before it runs."""
    _ = registry().pages
    return [_rule(STATIC_RULES[name]) for name in sorted(STATIC_RULES)]


def _rule(rule: Rule | StaticRule[*tuple[Any, ...]]) -> dict[str, Any]:
    return {
        "name": rule.name,
        "sentence": rule.sentence,
        "page": page_name(rule.path),
        "line": rule.line,
        "anchor": rule_anchor(rule.name),
    }


def ambiguities() -> list[dict[str, Any]]:
    """The entries of the register of ambiguities."""
    rows: dict[str, dict[str, Any]] = {}
    for slug, entry in known_entries().items():
        row = {
            "number": entry.number,
            "names": [],
            "page": f"{REGISTER}.md",
            "anchor": entry_anchor(entry.number),
        }
        rows.setdefault(entry.number, row | _said(entry.number))["names"].append(slug)
    return [rows[number] for number in sorted(rows)]


@functools.cache
def known_entries() -> dict[str, Entry]:
    """The register's entries by name."""
    return entries(places.DOCUMENTS)


@functools.cache
def _bodies() -> dict[str, str]:
    """What stands under each entry's heading."""
    text = (places.DOCUMENTS / f"{REGISTER}.md").read_text("utf-8")
    return dict(re.findall(r"^## (AMB-\d+) [^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S))


def _said(number: str) -> dict[str, str | None]:
    """The question of an entry, our reading, and the editions of the manual that raise the question and settle it, or leave it
    open. Raises ValueError for an entry without an edition."""
    parts = dict(re.findall(r"^\*\*(\w+)\.\*\* *(.*?)(?=^\*\*\w+\.\*\*|\Z)", _bodies()[number], re.M | re.S))
    edition = _EDITION.match(parts.get("Edition", ""))
    if edition is None:
        raise ValueError(f"{REGISTER}.md: {number} has no edition such as {_EXAMPLE!r}")
    texts: dict[str, str | None] = {key.lower(): without_links(parts.get(key, "")) for key in ("Question", "Reading")}
    return texts | edition.groupdict()


def documents() -> list[dict[str, str]]:
    """Every page of the specification."""
    rows = []
    for _, path in finder.pages("ptxspec.spec"):
        page = page_name(str(path))
        title, summary = title_and_summary(page)
        rows.append({"page": page, "address": page_address(page), "title": title, "summary": summary})
    return sorted(rows, key=lambda row: row["page"])
