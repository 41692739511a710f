"""Builds of small source trees, for the tests of the site."""

from __future__ import annotations

import io
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils


def build(root: Path) -> str:
    """Build a source tree; the warnings."""
    warnings = io.StringIO()
    settings = {
        "extensions": ["myst_parser", "ptxspec_workshop.site"],
        "html_theme": "basic",
        "myst_enable_extensions": ["attrs_inline"],
        "myst_heading_anchors": 3,
        "exclude_patterns": ["build"],
        "ptxspec_solver_seconds": 1.0,  # the verdicts are no matter here
    }
    out = root / "build"
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            str(root), None, str(out / "site"), str(out / "trees"), "html", settings, status=None, warning=warnings
        )
        app.build()
    return re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue())
