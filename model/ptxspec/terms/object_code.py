"""Machine code that was made before, kept on disk: a file a module of LLVM text, named after all that it depends on.

It is executed, so it is read and written only where no other user can change it (`storage.folder`). A file that is not whole is
made anew. What took little time to make is not kept, and the oldest files go when there are too many. With PTXSPEC_KEEP_CODE=0
nothing is read or written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from pathlib import Path

from ptxspec.base import storage

#: seconds of compilation from which on the code is kept
WORTH = 0.05
#: bytes that all files together may have
ROOM = 256 << 20
#: of so many files one makes room for others: to look at them all takes longer than to make many a one
SELDOM = 16
#: the environment variable that forbids it
VARIABLE = "PTXSPEC_KEEP_CODE"


def name_of(*parts: str) -> str:
    """A name for the code that all this becomes."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _path(name: str) -> Path | None:
    return storage.kept(f"code/{name}.o")


def _is_allowed() -> bool:
    return os.environ.get(VARIABLE, "1") != "0"


def load(name: str) -> bytes | None:
    """The code of that name, if it is there and whole."""
    if not _is_allowed():
        return None
    try:
        return storage.own_code(_path(name)) or None
    except OSError:
        return None


def is_kept(name: str) -> bool:
    """Whether there is code of that name."""
    path = _path(name) if _is_allowed() else None
    return path is not None and path.is_file()


def keep(name: str, code: bytes, seconds: float) -> None:
    """Keep code that took so long to make. Where that cannot be, it is made anew the next time."""
    if seconds < WORTH or not _is_allowed():
        return
    path = _path(name)
    if path is not None and makes_room(name):
        with contextlib.suppress(OSError):  # there is no folder yet
            _make_room(storage.folder(path.parent, is_code=True), len(code))
    storage.keep_code(path, code)


def makes_room(name: str) -> bool:
    """Whether code of that name makes room for others."""
    return zlib.crc32(name.encode()) % SELDOM == 0


def _make_room(folder: Path, size: int) -> None:
    """Remove the oldest files until there is room for so many bytes."""
    files = sorted(
        (entry.stat(follow_symlinks=False).st_mtime, entry.stat(follow_symlinks=False).st_size, entry.path)
        for entry in os.scandir(folder)
    )
    too_much = sum(length for _, length, _ in files) + size - ROOM
    for _, length, path in files:
        if too_much <= 0:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        too_much -= length
