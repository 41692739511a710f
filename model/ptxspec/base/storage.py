"""Where computed answers are kept between runs: in a checkout its folder `build/`, else the user's folder for caches.

What is kept is data, or machine code and byte code that will be executed. Who can change such a file decides what is answered,
or what is run. So a file counts only if this user or root alone can have written it: it is a regular file of one of them, and
each step to it is a folder or a link of theirs (`folder`). Where there is no such place, nothing is kept."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ptxspec.base.places import DOCUMENTS

try:  # hashlib, which has the same function, loads OpenSSL too: a tenth of the time of a short command
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

#: begins a file of `remembered` and of `keep_code`; raise the number when its layout changes
_MARK = b"ptxspec 3\n"
_DIGEST = 32
#: bytes of the largest file that is read
_LARGEST = 1 << 28
#: links that a path may lead through
_MOST_LINKS = 40
#: whether files have owners: in a browser all are one user's
_HAS_OWNERS = hasattr(os, "geteuid") and sys.platform not in ("emscripten", "wasi")
#: a link is not followed, a FIFO or a device not waited for
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

T = TypeVar("T")


class NotKept(RuntimeWarning):
    """There is no place where computed answers could be kept."""


class Untrusted(PermissionError):
    """Somebody else could have written what is at a path, or could exchange it."""

    def __init__(self, path: str | Path, why: str):
        super().__init__(1, why, str(path))


def kept(name: str) -> Path | None:
    """The path of a file that holds computed answers; None if there is no place for it. It does not depend on the working
    directory."""
    if (DOCUMENTS / "pyproject.toml").is_file():
        return DOCUMENTS / "build" / name
    import platformdirs

    try:
        place = Path(platformdirs.user_cache_dir("ptxspec", appauthor=False))
    except RuntimeError:  # neither HOME nor an entry among the users
        _tell("there is no home folder: HOME is not set, and the user has no entry in the list of users")
        return None
    if not place.is_absolute():  # it would be another one in each working directory
        _tell(f"{place}, the folder for caches, is no absolute path")
        return None
    return place / name


def _tell(why: str) -> None:
    """Warn, the first time, that answers are not kept."""
    global _told
    if not _told:
        _told = True
        warnings.warn(f"what is computed is not kept between runs: {why}", NotKept, stacklevel=3)


_told = False


def folder(path: Path, is_code: bool = False, make: bool = False) -> Path:
    """The folder itself, without links, after each step to it was looked at: raises Untrusted if somebody else could lead it
    elsewhere. A folder that everybody may write is no step, but one with the sticky bit, as /tmp has it, is for data: what this
    user has made there stays. `make` makes what is missing; else raises FileNotFoundError. Raises OSError."""
    if not path.is_absolute():
        raise Untrusted(path, "no absolute path")
    place, links = path.anchor, 0
    left = list(reversed(path.parts[1:]))
    _check(place, os.lstat(place), is_code)
    while left:
        step = left.pop()
        if step == os.pardir:  # the steps to it were looked at
            place = os.path.dirname(place)
            continue
        at = os.path.join(place, step)
        try:
            state = os.lstat(at)
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(at, 0o755)
            state = os.lstat(at)
        if stat.S_ISLNK(state.st_mode):
            _check_owner(at, state)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(40, "too many links", str(path))
            target = Path(os.readlink(at))
            place = target.anchor or place
            left += reversed(target.parts[1:] if target.anchor else target.parts)
            continue
        if not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(20, "no folder", at)
        _check(at, state, is_code)
        place = at
    return Path(place)


def _check_owner(path: str | Path, state: os.stat_result) -> None:
    if _HAS_OWNERS and state.st_uid not in (os.geteuid(), 0):
        raise Untrusted(path, "it belongs to another user")


def _check(path: str | Path, state: os.stat_result, is_code: bool = True) -> None:
    """Raises Untrusted for a file or folder that somebody else can change."""
    if not _HAS_OWNERS:
        return
    _check_owner(path, state)
    if state.st_mode & stat.S_ISVTX and not is_code:
        return
    if state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid)):
        raise Untrusted(path, "other users can write to it")


def _is_private(group: int) -> bool:
    """Whether a group is this user's own, as many systems give one to each."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and members.gr_name == user.pw_name and not set(members.gr_mem) - {user.pw_name}


def check_writable(path: Path | None) -> None:
    """Raises OSError, with a message that names the path, if a file of answers could not be written there: to be asked before the
    work. Makes its folder."""
    if path is None:
        return
    try:
        at = folder(path.absolute().parent, make=True)
    except OSError as why:
        raise OSError(f"{path} cannot be written: {why.strerror or why}") from None
    from ptxspec.base.files import check_writable

    check_writable(at / path.name)


def write(path: Path | None, what: Any) -> None:
    """Write JSON, all of it or nothing; without a place, nothing. Raises OSError."""
    if path is not None:
        _keep(path.absolute(), json.dumps(what).encode())


@cache
def digest() -> bytes:
    """A digest of all pages and of what reads them: of the folders `literate`, `terms` and `language` of the model, and of
    Python's version. It is that of the files as they were when it was first asked for. It is kept too, for files that nobody has
    changed since: of each, inode, size, and the times of modification and change are what they were. The latter changes with
    whatever is done to a file."""
    state = blake2b(repr((str(DOCUMENTS), sys.version)).encode(), digest_size=_DIGEST)
    files = sorted((entry.path, len(folder), entry.stat()) for folder in _folders() for entry in _files(folder))
    for path, _, of in files:
        state.update(f"{path} {of.st_ino} {of.st_size} {of.st_mtime_ns} {of.st_ctime_ns}\n".encode())

    def contents() -> str:
        from ptxspec import __version__

        total = blake2b(repr((__version__, sys.version)).encode(), digest_size=_DIGEST)
        for path, root, _ in files:
            data = Path(path).read_bytes()
            total.update(f"{path[root:]} {len(data)}\n".encode())
            total.update(data)
        return total.hexdigest()

    return remembered("digest", state.digest(), contents, bytes.fromhex)


def _folders() -> list[str]:
    """Those with the pages, and with what reads them."""
    model = Path(__file__).resolve().parents[1]
    return [str(DOCUMENTS / "spec"), *(str(model / name) for name in ("literate", "terms", "language"))]


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """The pages and modules in a folder and in those below it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".md", ".py")):
                yield entry
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _files(entry.path)


def remembered(name: str, key: bytes, make: Callable[[], Any], read: Callable[[Any], T]) -> T:
    """What `read` takes out of the value for JSON that `make` gives: as it was kept under this name and key (a digest), or made
    now and kept from then on. A file that is damaged, of another key or not trusted is as none, and so is one whose value `read`
    refuses with ValueError or TypeError; where none can be written, nothing is kept."""
    from ptxspec import __version__

    path = kept(f"{name}-{__version__}-{sys.implementation.cache_tag}")
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
        return read(json.loads(_unsealed(own_file(path), key)))
    data = json.dumps(make()).encode()
    try_to_keep(path, _sealed(data, key))
    return read(json.loads(data))


def own_code(path: Path | None) -> bytes:
    """What `keep_code` has kept: what will be executed. Raises OSError if it is not there, is damaged or cannot be trusted."""
    try:
        return _unsealed(own_file(path, is_code=True), b"")
    except ValueError as why:
        raise OSError(22, str(why), str(path)) from None


def keep_code(path: Path | None, code: bytes) -> None:
    """Write what will be executed, if that can be done where nobody else can change it."""
    try_to_keep(path, _sealed(code, b""), is_code=True)


def _sealed(data: bytes, key: bytes) -> bytes:
    return _MARK + key + blake2b(data, digest_size=_DIGEST).digest() + data


def _unsealed(sealed: bytes, key: bytes) -> bytes:
    """Raises ValueError for what is not whole, or of another key."""
    head = _MARK + key
    data = sealed[len(head) + _DIGEST :]
    if (
        not sealed.startswith(head)
        or sealed[len(head) : len(head) + _DIGEST] != blake2b(data, digest_size=_DIGEST).digest()
    ):
        raise ValueError("the file is damaged, or out of date")
    return data


def own_file(path: Path | None, is_code: bool = False) -> bytes:
    """What a file holds that this user or root alone can have written: nothing else is believed. Raises OSError."""
    if path is None:
        raise FileNotFoundError(2, "there is no place for it")
    with _opened(folder(path.parent, is_code) / path.name) as file:
        return file.read(_LARGEST)


def own_place(path: Path | None) -> Path | None:
    """The path, without links, of a file of data that may be opened by its name to be read and written: it is this user's own, or
    not there yet. None if there is no such place."""
    if path is None:
        return None
    try:
        at = folder(path.parent, make=True) / path.name
        with contextlib.suppress(FileNotFoundError), _opened(at):
            pass
    except Untrusted as why:
        _tell(f"{why.filename}: {why.strerror}")
        return None
    except OSError:
        return None
    return at


def _opened(path: Path) -> BinaryIO:
    """A file in a folder that was looked at. Raises Untrusted for what is no regular file, or can be changed by somebody else."""
    number = os.open(path, _READ)
    try:
        state = os.fstat(number)
        if not stat.S_ISREG(state.st_mode):
            raise Untrusted(path, "no regular file")
        _check(path, state)
        if state.st_size > _LARGEST:
            raise OSError(27, "too large", str(path))
    except BaseException:
        os.close(number)
        raise
    return open(number, "rb")


def try_to_keep(path: Path | None, data: bytes, is_code: bool = False) -> None:
    """Write a file whole, if that can be done."""
    if path is None:
        return
    try:
        _keep(path, data, is_code)
    except Untrusted as why:
        _tell(f"{why.filename}: {why.strerror}")
    except OSError:
        pass  # a folder that is only read, or a full disk: it is made again the next time


def _keep(path: Path, data: bytes, is_code: bool = False) -> None:
    from ptxspec.base.files import write_whole  # which imports more than a start should take

    write_whole(folder(path.parent, is_code, make=True) / path.name, data, 0o644)
