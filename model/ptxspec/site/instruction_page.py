"""What is done to the page of an instruction: a line of badges, a summary of a long syntax, a table of its modifiers, and the
rules of availability behind a line that opens them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from docutils import nodes

from ptxspec.site import availability_table, pages, syntax_summary
from ptxspec.site.nodes import Details

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Arrange a page that defines forms; leave any other as it is."""
    name = app.env.docname
    if not name.startswith("spec/instructions/"):
        return
    module = pages.module_of(name)
    title = next(iter(doctree.findall(nodes.section)), None)
    if title is None or not pages.forms(module):
        return
    summary = next((i for i, child in enumerate(title) if isinstance(child, nodes.paragraph)), 0)
    title.insert(summary + 1, badges(module))
    for section in title.findall(nodes.section):
        if section["ids"] and section["ids"][0] == "syntax":
            _shorten(section, module)
        if section["ids"] and section["ids"][0] == "availability":
            _fold_rules(section)


def badges(module: str) -> nodes.paragraph:
    """Since when the first form of a page exists, and since when all do."""
    first, last = availability_table.earliest(module), availability_table.latest(module)
    said = [f"PTX {availability_table.version(first)}", f"sm_{first[1]}", f"{len(pages.forms(module)):,} forms"]
    if last != first:
        said.insert(2, f"all forms: PTX {availability_table.version(last)}, sm_{last[1]}")
    line = nodes.paragraph(classes=["badges"])
    for text in said:
        line += [nodes.inline(text, text, classes=["badge"]), nodes.Text(" ")]
    return line


def _shorten(section: nodes.section, module: str) -> None:
    """A summary in place of many lines, which go behind a line that opens them; then the table of modifiers."""
    lines = availability_table.lines(module)
    modifiers = nodes.raw("", availability_table.html_of(module), format="html")
    if not syntax_summary.helps(lines):
        section += modifiers
        return
    shown = syntax_summary.text(lines)
    block = nodes.literal_block(shown, shown, language="syntax")
    note = nodes.paragraph()
    note += nodes.Text(
        "A summary: not all of its combinations exist, and it lacks operands that come with a hint. The lines below are exact."
    )
    rest = [child for child in section.children if not isinstance(child, nodes.title)]
    hidden = Details("", *rest, summary=f"All {len(lines)} lines of the syntax", kind="lines")
    for child in rest:
        section.remove(child)
    section += [block, note, hidden, modifiers]


def _fold_rules(section: nodes.section) -> None:
    """The Python that states availability goes behind a line that opens it: badges and the table of modifiers say it too."""
    for block in list(section.findall(nodes.literal_block)):
        if block.get("language") != "python" or isinstance(block.parent, Details):
            continue
        kinds = {type(statement) for statement in ast.parse(block.astext()).body}
        if not kinds & {ast.FunctionDef, ast.ClassDef}:
            block.replace_self(
                Details("", block.deepcopy(), summary="The rules, as the checker reads them", kind="imports")
            )
