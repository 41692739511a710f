"""The general index of the site, by kinds of things: what stands on `genindex.html`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ptxspec.language.forms import registry
from ptxspec.pages.anchors import word_anchor
from ptxspec.pages.prose import title_and_summary
from ptxspec_workshop.site.finding.things import KINDS, Thing, instruction_pages, modifiers, shown_title, things

#: kinds that have a group of their own; definitions, words and identities have pages that list them
GROUPS = ("insn", "mod", "gap", "type", "space", "dir", "sreg", "cuda", "concept", "amb", "rule")
#: the page with the table of all forms
FORMS = "spec/forms"


def groups(documents: Iterable[str], address: Callable[[str], str]) -> list[dict[str, Any]]:
    """The groups of the index: title, id and rows, each with a name and its links. `address` says how a document is reached."""
    there = set(documents)
    rows = {
        "insn": _opcodes(there, address),
        "mod": [
            _row(name, [_link(d, _shown(d), address) for d in documents_of if d in there], word_anchor("mod", name))
            for name, documents_of in modifiers().items()
        ],
    }
    for kind in GROUPS[2:]:
        rows[kind] = _things(kind, there, address)
    result = []
    for kind in GROUPS:
        members = [row for row in rows[kind] if row["links"]]
        if members:
            result.append({"kind": kind, "id": f"index-{kind}", "title": KINDS[kind], "rows": members})
    return result


def _row(name: str, links: list[dict[str, str]], id: str = "") -> dict[str, Any]:
    return {"name": name, "links": links, "id": id}


def _link(docname: str, text: str, address: Callable[[str], str], anchor: str = "") -> dict[str, str]:
    return {"text": text, "address": address(docname) + (f"#{anchor}" if anchor else "")}


def _shown(docname: str) -> str:
    return shown_title(docname) if docname.startswith("spec/instructions/") else title_and_summary(f"{docname}.md")[0]


def _opcodes(there: set[str], address: Callable[[str], str]) -> list[dict[str, Any]]:
    """The pages of each opcode, and its forms in the table of all."""
    rows = []
    for opcode, documents_of in instruction_pages().items():
        links = [_link(d, _shown(d), address) for d in documents_of if d in there]
        if links and FORMS in there:
            count = len(registry().opcodes[opcode].forms)
            links.append({"text": f"{count:,} form{'s' * (count > 1)}", "address": f"{address(FORMS)}?q={opcode}"})
        rows.append(_row(opcode, links))
    return rows


def _things(kind: str, there: set[str], address: Callable[[str], str]) -> list[dict[str, Any]]:
    by_name: dict[str, list[Thing]] = {}
    for thing in things():
        if thing.kind == kind and thing.docname in there:
            by_name.setdefault(thing.name, []).append(thing)
    return [
        _row(name, [_link(t.docname, _shown(t.docname), address, t.anchor) for t in members])
        for name, members in sorted(by_name.items(), key=lambda item: item[0].lower())
    ]
