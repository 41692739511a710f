"""A folder to which each step is a folder that nobody else can write, as what is executed asks for: /tmp is none."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ptxspec.base import storage
from ptxspec.base.places import DOCUMENTS


def folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder, which goes at the end: of temporary files, in `build/` of the checkout or in the home folder. Raises OSError
    if others can write to each of these."""
    refused: list[OSError] = []
    for place in (Path(tempfile.gettempdir()), DOCUMENTS / "build", Path.home()):
        try:
            return tempfile.TemporaryDirectory(
                prefix=".ptxspec-test-", dir=storage.folder(place, is_code=True, make=True)
            )
        except OSError as why:
            refused.append(why)
    raise refused[-1]
