"""The table of all forms: its data for the browser, made of the export alone, and what stands on its page without them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ptxspec.language.forms import registry
from ptxspec.pages.prose import title_and_summary
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.finding.things import chapter, instruction_pages

#: the document of the table, and the file of its data below the folder of what is static, with the name of the value in it
PAGE, FILE, VALUE = "spec/forms", "forms-data.js", "PTXSPEC_FORMS"
COLUMNS = ("page", "operands", "anchor", "types", "since", "target", "exactness", "evidence")
EXACT = "exact"


def rows(isa: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Mnemonic and columns of every form of an export."""
    addresses = {page["page"]: page["address"] for page in isa["pages"]}
    for definition in (d for opcode in isa["opcodes"] for d in opcode["definitions"]):
        evidence = [gpu_text(row) for row in definition["evidence"]]
        types = [_type(operand) for operand in definition["operands"]]
        for mnemonic, signature, checked, _ in definition["forms"]:
            signature_row = definition["signatures"][signature]
            yield (
                mnemonic,
                addresses[definition["page"]],
                signature_row["written"],
                signature_row["anchor"],
                " ".join(types[number] for number in signature_row["operands"]),
                signature_row["since"],
                ", ".join(signature_row.get("only", ())) or signature_row["target"],
                exactness(signature_row.get("unspecified", [])),
                evidence[checked],
            )


def _type(operand: dict[str, Any]) -> str:
    """The type of an operand, without blanks."""
    type = operand.get("type") or operand["kind"]
    shown = "+".join(type) if isinstance(type, list) else str(type).replace(" ", "-")
    return f"{operand['count']}×{shown}" if operand.get("count", 1) > 1 else shown


def exactness(open_results: list[dict[str, str]]) -> str:
    """Whether a form's results are exact, else the kinds of what is left open."""
    return ", ".join(sorted({result["kind"] for result in open_results})) or EXACT


def gpu_text(evidence: dict[str, Any]) -> str:
    """What a form was checked against, in words."""
    gpu = evidence["gpu"]
    if gpu is None:
        text = "no GPU was asked" if evidence["not_asked"] is None else "no GPU can be asked"
    else:
        text = {True: "as a GPU", False: "differs from a GPU", None: "a GPU's answers, not compared"}[gpu["agrees"]]
    return text + ("; ptxas refuses it" if evidence["ptxas"] is False else "")


def text_of(isa: dict[str, Any]) -> str:
    """The file for the browser. Forms that differ in their mnemonics alone share a line: numbers of their columns' values, what
    the mnemonics begin with, and the rest of each."""
    known: dict[str, dict[str, int]] = {column: {} for column in COLUMNS}
    groups: dict[tuple[int, ...], list[str]] = {}
    for mnemonic, *cells in rows(isa):
        key = tuple(known[c].setdefault(cell, len(known[c])) for c, cell in zip(COLUMNS, cells, strict=True))
        groups.setdefault(key, []).append(mnemonic)
    value = {
        "columns": {column: list(values) for column, values in known.items()},
        "groups": [[*key, *_shared(members)] for key, members in groups.items()],
    }
    return f"{VALUE}={json.dumps(value, ensure_ascii=False, separators=(',', ':'))};\n"


def _shared(mnemonics: list[str]) -> tuple[str, str]:
    """What mnemonics begin with, and the rest of each, with blanks between."""
    first = os.path.commonprefix(mnemonics) if len(mnemonics) > 1 else ""  # noqa: RUF071  (they are no paths)
    return first, " ".join(mnemonic.removeprefix(first) for mnemonic in mnemonics)


def markdown() -> str:
    """The pages that list their forms, by chapter: what there is without a browser's help."""
    counts = Counter(pages.docname_of(form.definition.path) for form in registry().forms())
    order = list(dict.fromkeys(d for documents in instruction_pages().values() for d in documents))
    chapters: dict[str, list[str]] = {}
    for docname in order:
        chapters.setdefault(chapter(docname), []).append(docname)
    body = []
    for name, documents in chapters.items():
        links = [f"[{title_and_summary(f'{d}.md')[0]}](/{d}.md) {counts[d]:,}" for d in documents]
        title = title_and_summary(f"spec/instructions/{name}/index.md")[0]
        body.append(
            [
                f"[{title}](/spec/instructions/{name}/index.md)",
                f"{sum(counts[d] for d in documents):,}",
                ", ".join(links),
            ]
        )
    return pages.table(["Chapter", "Forms", "Pages, each with a list of its forms"], body, "Forms by chapter")


#: the box that static/forms.js fills
BOX = '<div id="forms-table" hidden></div>\n'
