"""The documentation site: `python -m sphinx -W --keep-going -b html . build/site`."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("ptxspec") is None:  # not installed: take the checkout's
    sys.path.insert(0, str(Path(__file__).resolve().parent / "model"))

from ptxspec import __version__

project = "ptxspec"
author = "The ptxspec authors"
release = version = __version__
language = "en"

extensions = ["myst_parser", "ptxspec.site"]
source_suffix = {".md": "markdown"}
root_doc = "index"
include_patterns = ["index.md", "spec/**", "proofs/**", "docs/**"]
exclude_patterns = ["build", "**/__pycache__"]

ptxspec_isa = "isa.json"

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "ptxspec"
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": ["view"]}
