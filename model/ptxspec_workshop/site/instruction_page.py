"""What is done to the page of an instruction: a line of badges, its syntax in short, the definition before the operands, tables
of operands and modifiers, the rules of availability behind a line that opens them, and sections that hold what is computed."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes

from ptxspec.pages import syntax_summary
from ptxspec_workshop.site import availability_table, operand_table, pages
from ptxspec_workshop.site.finding.things import instruction_pages
from ptxspec_workshop.site.nodes import Details

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: where the badges lead that say since when the forms of a page exist
AVAILABILITY = "availability"


class Section(NamedTuple):
    """A section that holds nothing but what a directive of its name computes: its title, and the sections before which it
    stands."""

    title: str
    before: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.title.lower()


#: in the order of a page
COMPUTED = (
    Section("Freedoms", ("availability", "examples", "see-also")),
    Section("Identities", ("see-also",)),
    Section("Evidence", ("see-also",)),
)


def complete(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the sections that a page of an instruction leaves to this tool: at its end, so that lines keep their numbers."""
    if not docname.startswith("spec/instructions/") or not pages.forms(pages.module_of(docname)):
        return
    text = source[0].rstrip()
    for section in COMPUTED:
        if f"\n## {section.title}\n" not in text:
            text += f"\n\n## {section.title}\n\n```{{{section.name}}}\n```"
    source[0] = f"{text}\n"


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
    sections = {section["ids"][0]: section for section in title.findall(nodes.section) if section["ids"]}
    if "syntax" in sections:
        _shorten(sections["syntax"], module)
    if AVAILABILITY in sections:
        _fold_rules(sections[AVAILABILITY])
    operands = sections.get("operands") or _operands(doctree)
    for table in (operand_table.html_of(module), availability_table.html_of(module, name)):
        if table:
            operands += nodes.raw("", table, format="html")
    if "semantics" in sections and len(operands) > 1:
        _after(operands, sections["semantics"])
    for computed in COMPUTED:
        section = sections.get(computed.name)
        following = next((sections[name] for name in computed.before if name in sections), None)
        if section is not None and _is_empty(section):
            section.parent.remove(section)
        elif section is not None and following is not None:
            _before(section, following)


def _operands(doctree: nodes.document) -> nodes.section:
    """A section of operands for a page that says nothing of them."""
    section = nodes.section("", nodes.title("", "Operands"), ids=["operands"], names=["operands"])
    doctree.note_explicit_target(section)
    return section


def _after(section: nodes.section, other: nodes.section) -> None:
    """Move a section behind another one: the definition is what a reader comes for."""
    if section.parent is not None:
        section.parent.remove(section)
    other.parent.insert(other.parent.index(other) + 1, section)


def _is_empty(section: nodes.section) -> bool:
    """Whether a section has a title, and nothing was computed for it."""
    return all(isinstance(part, nodes.title) or not part.children for part in section.children)


def _before(section: nodes.section, other: nodes.section) -> None:
    """Move a section to before another one, if it stands behind that."""
    assert section.parent is not None
    if section.parent is other.parent and other.parent.index(section) > other.parent.index(other):
        section.parent.remove(section)
        other.parent.insert(other.parent.index(other), section)


def redirect(app: Sphinx, error: Exception | None) -> None:
    """Give each opcode of a page of several an address of its own, which leads to that page: `video/vadd4.html`."""
    if error is not None or app.builder.format != "html":
        return
    known = set(app.env.found_docs)
    for opcode, documents in instruction_pages().items():
        for document in documents:
            folder, _, name = document.rpartition("/")
            if (
                document in known
                and f"{folder}/{opcode}" not in known
                and len(pages.opcodes(pages.module_of(document))) > 1
            ):
                path = Path(app.outdir, folder, f"{opcode}.html")
                path.write_text(_REDIRECTION.format(opcode=opcode, page=f"{name}.html"), "utf-8")


#: a page that leads to another one, to the same place on it
_REDIRECTION = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{opcode}</title>
<script>location.replace("{page}" + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={page}"></noscript>
</head><body><p><a href="{page}">The page of {opcode}</a></p></body></html>
"""


def badges(module: str) -> nodes.paragraph:
    """Since when the first form of a page exists, and since when all do: links to what says it of each form."""
    first, last = availability_table.earliest(module), availability_table.latest(module)
    said = [f"PTX {availability_table.version(first)}", f"sm_{first[1]}"]
    if last != first:
        said.append(f"all forms: PTX {availability_table.version(last)}, sm_{last[1]}")
    line = nodes.paragraph(classes=["badges"])
    for text in said:
        line += [_badge(text, AVAILABILITY), nodes.Text(" ")]
    count = len(pages.forms(module))
    line += _badge(f"{count:,} form{'' if count == 1 else 's'}", "evidence")
    return line


def _badge(text: str, target: str) -> nodes.reference:
    return nodes.reference("", text, refid=target, internal=True, classes=["badge"])


def _shorten(section: nodes.section, module: str) -> None:
    """A summary in place of many lines, which go behind a line that opens them."""
    lines = availability_table.lines(module)
    rest = [child for child in section.children if not isinstance(child, nodes.title)]
    own = sum(n.get("language") == "syntax" for child in rest for n in child.findall(nodes.literal_block))
    scattered = own < len(pages.fences(module, "syntax")) and len(lines) >= syntax_summary.FEWEST_LINES
    if not scattered and not syntax_summary.helps(lines):
        return
    shown = syntax_summary.text(lines)
    block = nodes.literal_block(shown, shown, language="syntax")
    told = "The exact lines: the summary allows combinations that do not exist"
    if scattered:
        told += "; more stand with their definitions"
    hidden = Details("", *rest, summary=told, kind="lines")
    for child in rest:
        section.remove(child)
    section += [block, *legend(shown), hidden]


#: what the marks of a syntax line mean, as the page of the notation says it
_MARKS = {"{{": "{{.x}} is a hint, which changes no result", "{.": "{.x} may be omitted"}


def legend(shown: str) -> list[nodes.Node]:
    """A line that tells the marks of a summary; nothing for one without any."""
    told = [words for mark, words in _MARKS.items() if mark in (shown if mark == "{{" else shown.replace("{{", ""))]
    if not told:
        return []
    small = nodes.inline("", f"{'; '.join(told)}.", classes=["legend"])
    return [nodes.paragraph("", "", small)]


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
