"""Chromium, and the site that it looks at: the machine's own browser, driven by Playwright over files."""

from __future__ import annotations

import fcntl
import io
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: pages of every kind, for the quick tests
SAMPLE = (
    "index",
    "spec/index",
    "spec/notation",
    "spec/types/index",
    "spec/directives/index",
    "spec/special-registers/thread-coordinates",
    "spec/syntax/modules",
    "spec/machine/barriers",
    "spec/textures/filtering",
    "spec/instructions/index",
    "spec/forms",
    "spec/instructions/integer/bfe",
    "spec/instructions/floating/fma",
    "spec/instructions/movement/ld",
    "spec/instructions/matrix/mma",
    "spec/instructions/textures/txq",
    "proofs/integers",
    "docs/disputes/integers",
    "docs/how-to/run-a-kernel",
)


def executable() -> str | None:
    """The machine's Chromium."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running Chromium of Playwright's. Without one the test says loudly that it did not run."""
    path = executable()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        reason = "NO CHROMIUM (or no Playwright): how the site looks in a browser was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to keep root in a sandbox
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def is_of_today(site: Path) -> bool:
    """Whether a whole site was built after everything that it is made of."""
    if not (site / "index.html").is_file():
        return False
    places = [ROOT / "spec", ROOT / "proofs", ROOT / "docs", ROOT / "model" / "ptxspec"]
    sources = [p for place in places for p in place.rglob("*") if p.suffix in (".md", ".py", ".css", ".js", ".html")]
    return (site / "index.html").stat().st_mtime > max(p.stat().st_mtime for p in (*sources, ROOT / "conf.py"))


#: the sample that this process has built, for all of its tests
_built: list[Path] = []


def build_of(pages: Iterable[str], folder: Path, **settings: object) -> Path:
    """The site of some pages alone, built below a folder, with settings that differ from those of conf.py."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    settings |= {
        "include_patterns": [f"{page}.md" for page in pages],
        "ptxspec_solver_seconds": 0.0,
    }  # verdicts are no matter here
    with patch_docutils(), docutils_namespace():
        told = io.StringIO()  # links to pages that are not in the sample
        app = Sphinx(str(ROOT), str(ROOT), str(folder / "site"), str(folder / "trees"), "html", settings, None, told)
        app.build()
    return folder / "site"


def sample_site(folder: Path) -> Path:
    """A site with the pages of SAMPLE: what `make site` has left if it is of today, else these alone, built below a folder, once."""
    if is_of_today(ROOT / "build" / "site"):
        return ROOT / "build" / "site"
    if _built:
        return _built[0]
    _built.append(build_of((*SAMPLE, "spec/ambiguities"), folder))
    return _built[0]


def whole_site() -> Path:
    """Build what has changed of the site in build/site, as `make site` does, one process after the other; the site."""
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(ROOT), str(ROOT / "build/site")]
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build/site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return ROOT / "build/site"


def sample_of(site: Path) -> list[Path]:
    """The pages of SAMPLE on a site."""
    return [site / f"{page}.html" for page in SAMPLE]


def pages_of(site: Path) -> list[Path]:
    """Every page of a site that was written for it."""
    own = {"search.html", "genindex.html"}
    skipped = re.compile(r"_(static|sources|modules)/")
    return [
        p for p in sorted(site.rglob("*.html")) if p.name not in own and not skipped.search(str(p.relative_to(site)))
    ]
