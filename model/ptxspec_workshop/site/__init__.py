"""The documentation site: a Sphinx extension whose directives compute what the pages do not say themselves.

Corner cases, freedoms, identities, evidence, lists of pages and the vocabulary are taken from the definitions when the site
is built. Whatever cannot be computed is shown as a gap and reported as a warning.
"""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: pages that are read in one build, from which on it pays to prepare what all of them ask for
MANY = 40


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the lexers and the transforms with Sphinx."""
    from ptxspec import __version__
    from ptxspec_workshop.site import (
        code_links,
        dependencies,
        directives,
        finding,
        instruction_page,
        layout,
        lexers,
        machine_readable,
        navigation,
        nodes,
        theme_faults,
        transforms,
    )
    from ptxspec_workshop.site.trying import box

    app.add_config_value("ptxspec_build", "build", "env", (str,))
    app.add_config_value("ptxspec_isa", "", "", (str,))
    app.add_config_value("ptxspec_minify", False, "html", (bool,))
    app.add_config_value("ptxspec_solver_seconds", 40, "env", (int, float))
    app.add_lexer("ptx", lexers.PtxLexer)
    app.add_lexer("syntax", lexers.SyntaxLexer)
    app.add_lexer("grammar", lexers.GrammarLexer)
    app.add_lexer("words", lexers.WordsLexer)
    nodes.register(app)
    dependencies.setup(app)
    finding.setup(app)
    theme_faults.register(app)
    for name, directive in directives.DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("source-read", instruction_page.complete)
    app.connect("doctree-read", instruction_page.arrange, priority=400)
    app.connect("doctree-read", transforms.number_lines)
    app.connect("doctree-read", transforms.point_at_entries)
    app.connect("doctree-read", transforms.raise_exponents)
    navigation.setup(app)
    app.connect("html-page-context", code_links.link, priority=800)
    app.connect("html-page-context", layout.slim, priority=900)
    box.setup(app)
    app.connect("builder-inited", _add_static_folder)
    app.connect("env-get-outdated", layout.from_code)
    app.connect("env-before-read-docs", _prepare)
    app.connect("env-updated", machine_readable.begin)
    app.connect("build-finished", machine_readable.write)
    app.connect("build-finished", layout.share_icons)
    app.connect("build-finished", layout.drop_source_maps)
    app.connect("build-finished", instruction_page.redirect)
    app.connect("build-finished", layout.minify)
    app.add_css_file("ptxspec.css")
    app.add_js_file("tabs.js", loading_method="defer")
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _prepare(app: Sphinx, env: Any, docnames: list[str]) -> None:
    """Work out what many pages ask for, before Sphinx distributes them over processes that would each do so anew: all forms with
    their meanings, and which identities have verdicts."""
    from ptxspec.evidence import precomputed
    from ptxspec_workshop.site import evidence_section, identity_tables

    if app.parallel > 1 and len(docnames) >= MANY:
        with contextlib.suppress(Exception):  # the page that asks for it says what is wrong
            evidence_section.read(Path(app.srcdir) / str(app.config.ptxspec_build) / "ledger.json")
            for identity in identity_tables.identities():
                precomputed.verdict(identity)
        gc.freeze()  # what has been made stays, and is not to be looked through again in each process


def _add_static_folder(app: Sphinx) -> None:
    app.config.html_static_path.append(str(Path(__file__).with_name("static")))
