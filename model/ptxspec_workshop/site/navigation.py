"""The sidebar: one file with the tree of all pages, which puts it into each page that loads it.

As HTML of every page even a part of the tree was a sixth of the site, and took a third of the time in which pages are written.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxspec_workshop.site.theme_faults import levelled

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: below the folder of static files; the other half, beside this package's static files, marks the page and opens its chapter
FILE, PLACING = "navigation.js", "navigation-placing.js"


def setup(app: Sphinx) -> None:
    """Have pages written without the tree, and the tree at the end."""
    app.connect("html-page-context", _without_tree, priority=100)  # before the theme asks for it
    app.connect("build-finished", _write)


def _without_tree(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "toctree" in context:
        context["toctree"] = lambda **wanted: ""


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text_of(_listed(app)), "utf-8")


def text_of(listed: str) -> str:
    """The file for the browser, of a list of pages in Sphinx's HTML with links from the site's root."""
    from furo.navigation import get_navigation_tree  # type: ignore[import-untyped]

    placing = (files("ptxspec_workshop.site") / "static" / PLACING).read_text("utf-8")
    tree = levelled(get_navigation_tree(listed)).replace('class="reference internal"', 'class="reference"')
    return f"{placing.strip()}({json.dumps(tree, ensure_ascii=False)});\n"


def _listed(app: Sphinx) -> str:
    """The list of all pages; "" where no page lists others."""
    from sphinx.environment.adapters.toctree import global_toctree_for_doc

    builder: Any = app.builder
    wanted = {"collapse": False, "titles_only": True, "includehidden": True}
    toctree = global_toctree_for_doc(app.env, app.config.root_doc, builder, tags=app.tags, **wanted)
    return "" if toctree is None else str(builder.render_partial(toctree)["fragment"])
