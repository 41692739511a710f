"""What Sphinx and the theme write that is not valid HTML, or that a keyboard does not reach, mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_WRAPPERS = ("table-wrapper", "math-wrapper")
_PARAMETERS = re.compile(r'(<span class="sig-paren">\(</span>\s*)<dl>(.*?)</dl>', re.S)
_HEADING = 'role="heading">'
#: a chapter's name in a list of pages is below the page's title, and beside its sections
_LEVELLED = 'role="heading" aria-level="2">'


class OneIdentifier(SphinxPostTransform):
    """Furo gives the box that it draws around a table the table's identifiers too: the table keeps them."""

    default_priority = 510  # after the theme, whose transform has 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for box in self.document.findall(nodes.container):
            if box["ids"] and any(name in box["classes"] for name in _WRAPPERS):
                box["ids"] = []


def level_headings(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the captions in a page's text their level."""
    if context.get("body"):
        context["body"] = levelled(context["body"])


def levelled(html: str) -> str:
    """Sphinx marks the captions of its lists of pages as headings without a level, which ARIA asks for."""
    return html.replace(_HEADING, _LEVELLED)


def parameters_without_a_list(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx writes the parameters of a long signature as a list of descriptions without terms, which HTML does not know."""
    if context.get("body"):
        context["body"] = _PARAMETERS.sub(
            lambda match: f'{match[1]}<span class="parameters">{_lines(match[2])}</span>', context["body"]
        )


def _lines(parameters: str) -> str:
    return parameters.replace("<dd>", "<span>").replace("</dd>", "</span>")


def register(app: Sphinx) -> None:
    """Mend every page."""
    app.add_post_transform(OneIdentifier)
    app.connect("html-page-context", level_headings, priority=850)  # after the theme has made its list of pages
    app.connect("html-page-context", parameters_without_a_list, priority=850)
    app.add_js_file("scrolling.js", loading_method="defer")
