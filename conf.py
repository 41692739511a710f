"""The documentation site: `python -m sphinx -W --keep-going -b html . build/site`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if importlib.util.find_spec("ptxspec") is None:  # not installed: take the checkout's
    sys.path.insert(0, str(Path(__file__).resolve().parent / "model"))

import click

from ptxspec import __version__
from ptxspec.cli import main

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ptxspec"
author = "The ptxspec authors"
release = version = __version__
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx_click", "ptxspec_workshop.site"]
source_suffix = {".md": "markdown"}
root_doc = "index"
include_patterns = ["index.md", "spec/**", "proofs/**", "docs/**"]
exclude_patterns = ["build", "**/__pycache__", "**/node_modules"]

ptxspec_isa = "isa.json"
#: pages evaluate their instructions in the browser: Pyodide is downloaded from npm, once
ptxspec_try_it = True
ptxspec_minify = True

#: what stands between single backticks in a docstring is code
default_role = "code"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "ptxspec"
html_favicon = "model/ptxspec_workshop/site/static/favicon.svg"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False  # a page shows all of its document that is more than words, and where each line of it is
html_theme_options = {"top_of_page_buttons": []}

#: a copy of code has no line numbers, and no prompts
copybutton_exclude = ".linenos, .gp"


def setup(app: Sphinx) -> None:
    """Have the reference show the commands of all packages, and keep what Sphinx remembers between builds beside the site and not
    in it."""
    main.list_commands(click.Context(main))
    inside = Path(app.outdir) / ".doctrees"
    if Path(app.doctreedir) == inside:
        app.doctreedir = type(app.doctreedir)(inside.parent.parent / "doctrees")
