"""Where computed answers are kept between runs: in a checkout its folder `build/`, else the user's folder for caches."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ptxspec.literate.finder import DOCUMENTS

#: begins a file of `remembered`; raise the number when its layout changes
_MARK = b"ptxspec 1\n"
_DIGEST = 32


def kept(name: str) -> Path:
    """The path of a file that holds computed answers. It does not depend on the working directory."""
    if (DOCUMENTS / "pyproject.toml").is_file():
        return DOCUMENTS / "build" / name
    import platformdirs

    return Path(platformdirs.user_cache_dir("ptxspec", appauthor=False)) / name


def check_writable(path: Path) -> None:
    """Raises OSError, with a message that names the path, if a file could not be written there: to be asked before the work."""
    import tempfile

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


@cache
def digest() -> bytes:
    """A digest of all pages and of what reads them: of the folders `literate`, `terms` and `language` of the model, and of
    Python's version. It is that of the files as they were when it was first asked for."""
    import hashlib

    from ptxspec import __version__

    model = Path(__file__).resolve().parent
    total = hashlib.sha256(repr((__version__, sys.version)).encode())
    for root in (DOCUMENTS / "spec", model / "literate", model / "terms", model / "language"):
        for path in sorted(_files(str(root), (".md", ".py"))):
            with open(path, "rb") as file:
                data = file.read()
            total.update(f"{path[len(str(root)) :]} {len(data)}\n".encode())
            total.update(data)
    return total.digest()


def _files(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """The files in a folder and in those below it."""
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name.endswith(endings))


def remembered(name: str, key: bytes, make: Callable[[], bytes]) -> bytes:
    """What `make` gives: as it was kept under this name and key (a digest), or made now and kept from then on. A file that is
    damaged, of another key or of another user is as none; where none can be written, nothing is kept."""
    import hashlib

    from ptxspec import __version__

    path = kept(f"{name}-{__version__}-{sys.implementation.cache_tag}")
    head = _MARK + key
    try:
        found = own_file(path)
    except OSError:
        found = b""
    if found.startswith(head):
        data = found[len(head) + _DIGEST :]
        if found[len(head) : len(head) + _DIGEST] == hashlib.sha256(data).digest():
            return data
    data = make()
    try_to_keep(path, head + hashlib.sha256(data).digest() + data)
    return data


def own_file(path: Path) -> bytes:
    """What a file holds that this user or the system's has written: nothing else is believed. Raises OSError."""
    with open(path, "rb") as file:
        if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid not in (os.geteuid(), 0):
            raise PermissionError(1, "another user's file", str(path))
        return file.read()


def try_to_keep(path: Path, data: bytes) -> None:
    """Write a file whole, if that can be done."""
    from ptxspec.files import write_whole

    if not path.is_absolute():  # the user has no folder, so that its name stands for itself
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError:
        pass  # a folder that is only read: it is made again the next time
