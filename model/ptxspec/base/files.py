"""Files that are written whole or not at all. What a command is told to write takes the place of a link of that name; what it is
told to change in place is the file behind the link."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path


def place_for(path: Path, data: bytes, permissions: int | None = None) -> Path:
    """A new file beside `path` that holds `data`, with the permissions given, or those of `path` if that is there. Raises
    OSError."""
    number, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".new", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        made.chmod(_permissions(path) if permissions is None else permissions)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return made


def _permissions(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        state = path.lstat()
        if stat.S_ISREG(state.st_mode):
            return stat.S_IMODE(state.st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_writable(path: Path) -> None:
    """Raises OSError, with a message that names the path, if `write_whole` could not write it: to be asked before the work. Makes
    nothing."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if not path.is_symlink() and path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise OSError("it is there, and no file that may be changed")
    except OSError as why:
        raise OSError(f"{path} cannot be written: {why.strerror or why}") from None


def write_whole(path: Path, data: bytes, permissions: int | None = None) -> None:
    """Put `data` in the place of a file, or make it. Whoever reads meanwhile sees the old file or the new one. A link at `path`
    is replaced, and what it points to is left alone. Raises OSError; the file is then as it was."""
    made = place_for(path, data, permissions)
    try:
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def replace_all(changes: Sequence[tuple[Path, bytes]]) -> None:
    """Put new contents in the place of several files, of all or of none. A link stays a link: the file behind it gets the new
    contents. Raises OSError; the files are then as they were."""
    paths = [Path(os.path.realpath(path)) for path, _ in changes]
    made: list[Path] = []
    undone: list[tuple[Path, bytes]] = []
    try:
        for path, (shown, data) in zip(paths, changes, strict=True):
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied", str(shown))
            made.append(place_for(path, data))
        for path, new in zip(paths, made, strict=True):
            old = path.read_bytes()
            new.replace(path)
            undone.append((path, old))
    except BaseException:
        for path, old in reversed(undone):
            with contextlib.suppress(OSError):
                write_whole(path, old)
        raise
    finally:
        for new in made:
            new.unlink(missing_ok=True)
