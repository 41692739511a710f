"""Programs that run with pages of a test's own beside those of the specification: in a process of their own, for what pages declare is
there for good."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from ptxspec.base import places

PAGES = Path(__file__).with_name("pages")
HEAD = """
import sys
from pathlib import Path
from ptxspec.base import places
from ptxspec.literate import finder
places.DOCUMENTS = Path(sys.argv[1])
finder.ROOTS["ptxspec.spec"] = places.DOCUMENTS / "spec"
import numpy as np
import ptxspec
"""


def documents_with(folder: Path, **chapters: str) -> Path:
    """A copy of the pages in a folder, with those of the test's own: each by its name, and the chapter that it belongs to."""
    shutil.copytree(places.DOCUMENTS / "spec", folder / "spec")
    for page, chapter in chapters.items():
        shutil.copy(PAGES / f"{page}.md", folder / "spec" / chapter)
    return folder


def run(documents: Path, program: str) -> str:
    """What a program prints that has these pages."""
    program = HEAD + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", program, documents], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout
