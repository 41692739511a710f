"""What stands around a page's text, and HTML without what nobody sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def collapse_sidebar(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Have the sidebar show the chapters, and the pages of the page's own chapter. With all pages in it, it was more than a third
    of the site."""
    whole = context.get("toctree")
    if whole is not None:
        context["toctree"] = lambda **wanted: whole(**{**wanted, "collapse": True})


#: what HTML says that neither a style nor a reader asks for, and what is left of it
_UNSEEN = (
    (re.compile(r'<span class="pre">([^<]*)</span>'), r"\1"),
    (re.compile(r'<span class="xref ptx ptx-\w+">([^<]*)</span>'), r"\1"),
    (re.compile(r'<code class="docutils literal notranslate">'), '<code class="literal">'),
    (re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>'), r"\1"),
    (re.compile(r"<(td|th)([^>]*)><p>((?:(?!</?p>|</?td).)*)</p></\1>", re.S), r"<\1\2>\3</\1>"),
    (re.compile(r'<tr class="row-(?:odd|even)">'), "<tr>"),
    (re.compile(r' class="(?:std std-ref|xref std std-ref|doc std std-doc|std std-doc)"'), ""),
)


def slim(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Take out of a page's HTML what marks names without a colour, and words of code that stand together: a third of it."""
    body = context.get("body")
    if body:
        for pattern, rest in _UNSEEN:
            body = pattern.sub(rest, body)
        context["body"] = body
