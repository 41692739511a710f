"""Where the box stands on a page, and its files in the built site."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes

from ptxspec.base.files import write_whole
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.trying import answers, archive, programs
from ptxspec_workshop.site.trying.npm import Unavailable

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: below the folder of static files
FOLDER = "trying"


def setup(app: Sphinx) -> None:
    """Make the files while Sphinx reads the pages, and write them into the site that was built."""
    app.add_config_value("ptxspec_try_it", False, "env", (bool,))
    app.connect("builder-inited", _begin)
    app.connect("doctree-read", _place)
    app.connect("html-page-context", _add_scripts)
    app.connect("build-finished", _write)


def _place(app: Sphinx, doctree: nodes.document) -> None:
    name = app.env.docname
    if app.config.ptxspec_try_it and name.startswith("spec/instructions/"):
        module = pages.module_of(name)
        evaluates = bool(answers.mnemonics(module))
        for section in doctree.findall(nodes.section):
            if evaluates and "corner-cases" in section["ids"]:
                add_to(section, module)
            elif not evaluates and "examples" in section["ids"]:
                add_program(section, module)


def add_program(section: nodes.section, module: str) -> None:
    """Put the box of a page whose forms have effects behind the program among its examples; where there is none, nothing."""
    if programs.program_of(module) is not None:
        html = f'<div class="trying" data-page="{module}" data-forms="{{}}"></div>'
        section.append(nodes.raw("", html, format="html"))


def add_to(section: nodes.section, module: str) -> None:
    """Put the box of a page that evaluates its forms before the tables in its section of corner cases."""
    captions = {caption.astext() for table in section.findall(nodes.table) for caption in table.findall(nodes.title)}
    shown = {str(f): answers.template(f) for f in pages.forms(module) if str(f) in captions and answers.offered(f)}
    data = escape(json.dumps(shown, ensure_ascii=False), quote=True)
    html = f'<div class="trying" data-page="{module}" data-forms="{data}"></div>'
    first = next((i for i, child in enumerate(section) if isinstance(child, nodes.container)), len(section))
    section.insert(first, nodes.raw("", html, format="html"))


class _Making(threading.Thread):
    """The files in the making; then their `folder`, or the reason why there are none."""

    def __init__(self, cache: Path):
        super().__init__(daemon=True)
        self.cache = cache
        self.folder: Path | None = None
        self.reason: str | None = None
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            self.folder = archive.prepared(self.cache)
        except Unavailable as why:
            self.reason = str(why)
        except BaseException as fault:  # told by the thread that waits
            self.fault = fault


_making: dict[int, _Making] = {}


def _begin(app: Sphinx) -> None:
    if app.config.ptxspec_try_it and app.builder.format == "html":
        made = _making[id(app)] = _Making(Path(app.srcdir) / str(app.config.ptxspec_build) / "trying")
        made.start()


def _add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if id(app) in _making and '<div class="trying"' in (context.get("body") or ""):
        app.add_css_file("trying.css")
        app.add_js_file(f"{FOLDER}/files.js", loading_method="defer")
        app.add_js_file("trying.js", loading_method="defer")


def _write(app: Sphinx, error: Exception | None) -> None:
    made = _making.pop(id(app), None)
    if made is None or error is not None:
        return
    made.join()
    if made.fault is not None:
        raise made.fault
    out = Path(app.outdir) / "_static" / FOLDER
    shutil.rmtree(out, ignore_errors=True)
    if made.folder is not None:
        shutil.copytree(made.folder, out)
        return
    assert made.reason is not None
    print(f"NO PYODIDE: pages cannot evaluate their instructions. {made.reason}", file=sys.stderr)
    out.mkdir(parents=True)
    write_whole(out / "files.js", archive.missing(made.reason).encode())
