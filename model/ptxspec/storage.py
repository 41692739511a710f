"""Where computed answers are kept between runs: in a checkout its folder `build/`, else the user's folder for caches."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ptxspec.literate.finder import DOCUMENTS


def kept(name: str) -> Path:
    """The path of a file that holds computed answers. It does not depend on the working directory."""
    if (DOCUMENTS / "pyproject.toml").is_file():
        return DOCUMENTS / "build" / name
    import platformdirs

    return Path(platformdirs.user_cache_dir("ptxspec", appauthor=False)) / name


def check_writable(path: Path) -> None:
    """Raises OSError, with a message that names the path, if a file could not be written there: to be asked before the work."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise OSError("it is there, and no file that may be changed")
    except OSError as why:
        raise OSError(f"{path} cannot be written: {why.strerror or why}") from None


def write(path: Path, what: Any) -> None:
    """Write JSON, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        scratch.write_text(json.dumps(what))
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
