"""Finding: what the site has a name for, told once, and the search, the index, the roles and the table of forms made of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TEMPLATES = Path(__file__).parent.parent / "templates"


def setup(app: Sphinx) -> None:
    """Connect the parts with Sphinx."""
    from ptxspec_workshop.site.finding import domain, marks

    app.add_domain(domain.PtxDomain)
    app.connect("builder-inited", _without_sphinx_search)
    app.connect("doctree-read", marks.mark_words)
    app.connect("html-page-context", marks.mark_lines, priority=850)  # after names in code became links
    app.connect("html-collect-pages", _search_page)
    app.connect("html-page-context", _index_page, priority=100)
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _write_search_data)
    app.add_js_file("anchors.js", loading_method="defer")
    app.config.templates_path.insert(0, str(TEMPLATES))


def _without_sphinx_search(app: Sphinx) -> None:
    """Sphinx makes no index of its own: it takes time at each build, and a search with it fetches the pages that it finds."""
    if app.builder.format == "html":
        setattr(app.builder, "search", False)  # noqa: B010  (only builders of HTML have it)


def _search_page(app: Sphinx) -> list[tuple[str, dict[str, Any], str]]:
    from ptxspec_workshop.site.finding import search_data

    return [("search", {"search_data": search_data.FILE}, "search.html")]


def _scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    from ptxspec_workshop.site.finding import forms_data

    if page == forms_data.PAGE:
        app.add_js_file("forms.js", loading_method="defer")


def _index_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    from ptxspec_workshop.site.finding import general_index

    if page == "genindex":
        context["groups"] = general_index.groups(app.env.found_docs, context["pathto"])


def _write_search_data(app: Sphinx, error: Exception | None) -> None:
    from ptxspec.base.files import write_whole
    from ptxspec_workshop.site.finding import search_data

    if error is None and app.builder.format == "html":
        records = search_data.records(Path(app.srcdir), app.env.found_docs)
        write_whole(Path(app.outdir) / "_static" / search_data.FILE, search_data.text_of(records).encode())
