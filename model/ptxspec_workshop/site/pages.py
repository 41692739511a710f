"""What the site needs to know of the pages: their modules, forms and opcodes, and the entries of the register."""

from __future__ import annotations

import posixpath
from functools import cache
from pathlib import Path

from ptxspec.base import places
from ptxspec.language.forms import Form, registry
from ptxspec.literate import finder
from ptxspec.literate.documents import Heading, headings
from ptxspec.pages.register import anchor
from ptxspec.terms.definitions import DEFINITIONS, Definition
from ptxspec.terms.profiles import names

#: line 12 of a document's Python is the target `L-12` of its page
LINE = "L"


def module_of(docname: str) -> str:
    """The module that a document of the site is, e.g. "ptxspec.spec.operands.comparisons"."""
    return ".".join(["ptxspec", *map(finder.module_name, docname.split("/"))])


@cache
def docname_of(path: str | Path) -> str:
    """The document that a file below the folder of the documents is on the site."""
    return str(Path(path).resolve().relative_to(places.DOCUMENTS.resolve()).with_suffix(""))


def definitions(module: str) -> list[Definition]:
    """A page's definitions in the order in which they stand."""
    _ = registry().pages  # all are loaded then
    return sorted(DEFINITIONS.get(module, []), key=lambda d: d.line)


@cache
def _forms_of_pages() -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for form in registry().forms():
        found.setdefault(form.definition.module, []).append(form)
    return found


def forms(module: str) -> list[Form]:
    """Every form that a page defines."""
    return _forms_of_pages().get(module, [])


def with_forms() -> list[str]:
    """The pages that define forms."""
    return sorted(_forms_of_pages())


def fences(module: str, language: str) -> list[str]:
    """The texts of a page's fences in a language, such as "ptx" for its examples, in order."""
    return [fence.text for fence in finder.document_of(finder.load(module)).of(language)]


@cache
def opcodes(module: str) -> frozenset[str]:
    """The opcodes that a page defines forms of."""
    return frozenset(form.syntax.opcode for form in forms(module))


def profiles() -> dict[str, Path]:
    """The pages of the profiles, by name."""
    found = {path.stem: path for _, path in finder.pages("ptxspec.spec", "profiles")}
    return {name: found[name] for name in names() if name != "index"}


def section(path: Path, line: int) -> tuple[str, str]:
    """(title, target) of the section of a document in which a line stands; of the page's title: no target."""
    before = [h for h in _headings(path, path.stat().st_mtime_ns) if h.line <= line and h.level <= 3]
    if not before:
        return "", ""
    return before[-1].text, anchor(before[-1].text) if before[-1].level > 1 else ""


@cache
def _headings(path: Path, changed: int) -> list[Heading]:
    return headings(path.read_text("utf-8"))


def address(docname: str, target: str, seen_from: str) -> str:
    """The address of a document's target, seen from another document: `../types/index.html#target`, `#target` on itself."""
    if docname == seen_from:
        return f"#{target}"
    place = f"{posixpath.relpath(docname, posixpath.dirname(seen_from) or '.')}.html"
    return f"{place}#{target}" if target else place


def line_link(path: str | Path, line: int, seen_from: str) -> str:
    """Markdown for a link to a numbered line of Python on a document's page, as the document `seen_from` has it."""
    return f'<small><a href="{address(docname_of(path), f"{LINE}-{line}", seen_from)}">line {line}</a></small>'


def code(text: str) -> str:
    """Markdown for code inside a table's cell."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"


def gap(text: str) -> str:
    """Markdown for something that is missing: it stands out."""
    return f"[{text}]{{.gap}}"


def table(head: list[str], rows: list[list[str]], caption: str = "") -> str:
    """A Markdown table; the caption is Markdown too."""
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"~~~~{{table}} {caption}\n{body}\n~~~~\n" if caption else body + "\n"
