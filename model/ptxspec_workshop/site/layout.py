"""What stands around a page's text, and HTML without what nobody sees."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def share_icons(app: Sphinx, error: Exception | None) -> None:
    """Put the theme's icons into one file, which puts them into each page that loads it."""
    if error is not None or app.builder.format != "html":
        return
    icons = files("furo") / "theme" / "furo" / "partials" / "icons.html"
    text = re.sub(r"\{#.*?#\}|\n\s*", "", icons.read_text("utf-8"))
    target = Path(app.outdir) / "_static" / "icons.js"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"document.currentScript.insertAdjacentHTML('afterend', {json.dumps(text)});\n", "utf-8")


def from_code(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """The pages made of docstrings and `--help`: they are read at each build, since Sphinx looks at their files alone."""
    return sorted({"docs/reference/api", "docs/reference/command-line"} & env.found_docs)


#: what HTML says that neither a style nor a reader asks for, and what is left of it
_UNSEEN = (
    (re.compile(r'<span class="pre">([^<]*)</span>'), r"\1"),
    (re.compile(r'<span class="xref ptx ptx-\w+">([^<]*)</span>'), r"\1"),
    (re.compile(r'<code class="docutils literal notranslate"'), "<code"),
    (re.compile(r'<span class="(?:n|p|w|o)">([^<]*)</span>'), r"\1"),
    (re.compile(r"<(td|th)([^>]*)><p>((?:(?!</?p>|</?td).)*)</p></\1>", re.S), r"<\1\2>\3</\1>"),
    (re.compile(r'<tr class="row-(?:odd|even)">'), "<tr>"),
    (re.compile(r"</code><br ?/?><code>"), "<br>"),  # instructions of one cell, a line each
    (re.compile(r'<a class="reference internal" '), "<a "),
    (
        re.compile(r'<span class="(?:(?:xref )?std std-ref|(?:doc )?std std-doc)">((?:(?!</?span).)*)</span>', re.S),
        r"\1",
    ),
    (re.compile(r'(<a class="headerlink" href="[^"]*") title="[^"]*"'), r"\1"),  # static/anchors.js writes it
    (re.compile(r'(<div class="table-wrapper) colwidths-auto'), r"\1"),
)

#: a block of numbered lines begins, and the number of a line: the style counts them from the first on
_FIRST = re.compile(r'<pre>(<span></span>)?(?=<span id="L-(\d+)">)')
_NUMBER = re.compile(r'(<span id="L-\d+">(?:<a id="[^"]*"></a>)*)<span class="linenos">[ \d]*</span>')


def slim(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Take out of a page's HTML what marks names without a colour, and words of code that stand together: a third of it."""
    if context.get("toc"):  # in which the theme asks for a class of links
        links = context["toc"].replace('"reference internal"', '"reference"')
        context["toc"] = _without_what_is_unseen(links)
    body = context.get("body")
    if body:
        body = _without_what_is_unseen(body)
        body = _FIRST.sub(lambda block: f'<pre style="counter-reset:line {int(block[2]) - 1}">', body)
        body = _NUMBER.sub(r"\1", body)
        context["body"] = body


def _without_what_is_unseen(html: str) -> str:
    for pattern, rest in _UNSEEN:
        html = pattern.sub(rest, html)
    return html


def drop_source_maps(app: Sphinx, error: Exception | None) -> None:
    """Leave out the maps from the theme's styles and scripts to its sources, which only a developer's tools read."""
    if error is None and app.builder.format == "html":
        for path in sorted((Path(app.outdir) / "_static").rglob("*.map")):
            path.unlink()


#: how a file begins that is minified, in which Sphinx's templates have a line break
_MINIFIED = "<!doctype html><html"


def minify(app: Sphinx, error: Exception | None) -> None:
    """Leave out of the files what HTML lets one leave out, such as quotes and closing tags, where `ptxspec_minify` of conf.py
    says so: a tenth of them. Files of an earlier build are minified already, and would lose more than that."""
    if error is not None or not app.config.ptxspec_minify or app.builder.format != "html":
        return
    import minify_html

    for path in sorted(Path(app.outdir).rglob("*.html")):
        before = path.read_text("utf-8")
        if not before.startswith(_MINIFIED):
            path.write_text(minify_html.minify(before, keep_html_and_head_opening_tags=True), "utf-8")
