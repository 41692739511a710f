"""What is done to a page after it was read: line numbers, and links that name an entry of the register."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from ptxspec.site.pages import REGISTER, entries

if TYPE_CHECKING:
    from sphinx.application import Sphinx

log = logging.getLogger(__name__)


def number_lines(app: Sphinx, doctree: nodes.document) -> None:
    """The Python of a page of the specification shows the document's line numbers: those that a traceback names."""
    if not app.env.docname.startswith(("spec/", "proofs/")):
        return
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "python" and block.line:
            block["linenos"] = True
            block["highlight_args"] = {**block.get("highlight_args", {}), "linenostart": block.line + 1}


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
