"""What is done to a page after it was read: line numbers, imports that step back, links that name an entry of the register."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from ptxspec.pages.register import REGISTER, entries
from ptxspec_workshop.site.nodes import Details
from ptxspec_workshop.site.pages import LINE

if TYPE_CHECKING:
    from sphinx.application import Sphinx

log = logging.getLogger(__name__)

#: so many lines of imports step back
FEWEST = 1
#: a power in prose, such as 2^−126, 2^(e − 127) or 10^n
_POWER = re.compile(r"(?<=\d)\^([−-]?\d+(?:[.,/]\d+)*|[a-z]+\b|\([^()]*\))")


def number_lines(app: Sphinx, doctree: nodes.document) -> None:
    """The Python of a page of the specification shows the document's line numbers: those that a traceback names. Imports at the
    beginning of a block step back behind a line that opens them."""
    if not app.env.docname.startswith(("spec/", "proofs/")):
        return
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") != "python" or not block.line:
            continue
        first, lines = block.line + 1, block.astext().splitlines()
        imported = imports(block.astext())
        if imported < FEWEST:
            _number(block, first)
            continue
        above = _number(_copy(block, lines[:imported]), first)
        replaced: list[nodes.Node] = [Details("", above, summary="imports", kind="imports")]
        rest = next((i for i in range(imported, len(lines)) if lines[i].strip()), None)
        if rest is not None:
            replaced.append(_number(_copy(block, lines[rest:]), first + rest))
        block.replace_self(replaced)


def imports(text: str) -> int:
    """How many lines at the beginning of a block import what it uses."""
    last = 0
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        last = statement.end_lineno or 0
    return last


def _copy(block: nodes.literal_block, lines: list[str]) -> nodes.literal_block:
    text = "\n".join(lines)
    made = nodes.literal_block(text, text, **block.attributes)
    made.source, made.line = block.source, block.line
    return made


def _number(block: nodes.literal_block, first: int) -> nodes.literal_block:
    block["linenos"] = True
    block["highlight_args"] = {**block.get("highlight_args", {}), "linenostart": first, "linespans": LINE}
    return block


def point_at_entries(app: Sphinx, doctree: nodes.document) -> None:
    """A link to the register whose text names an entry leads to that entry, which must exist."""
    by_number = {entry.number: entry for entry in entries(Path(app.srcdir)).values()}
    for link in doctree.findall(addnodes.pending_xref):
        named = re.match(r"AMB-\d+", link.astext())
        if named is None or link.get("reftarget") != REGISTER or link.get("reftargetid"):
            continue
        entry = by_number.get(named[0])
        if entry is None:
            log.warning("the register has no entry %s", named[0], location=link, type="ptxspec", subtype="register")
        else:
            link["reftargetid"] = entry.anchor


def raise_exponents(app: Sphinx, doctree: nodes.document) -> None:
    """Powers in prose, such as 2^−126, get their exponents raised. In code `^` stays."""
    for text in list(doctree.findall(nodes.Text)):
        if "^" not in text or isinstance(
            text.parent, nodes.literal | nodes.literal_block | nodes.FixedTextElement | nodes.raw
        ):
            continue
        parts: list[nodes.Node] = []
        at = 0
        for power in _POWER.finditer(text):
            exponent = power[1].removeprefix("(").removesuffix(")").replace("-", "−")
            parts += [nodes.Text(text[at : power.start()]), nodes.superscript("", exponent)]
            at = power.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[at:])])
