"""What each page was made of, so that a build reads a page again where that has changed, and no other page.

Sphinx compares the times of files, by which a page that imports a definition would be read again after each better sentence
beside that definition, and every page after a run of the proofs. Here the contents are compared, of pages what programs read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptxspec.literate.documents import read_by_programs
from ptxspec.pages.register import entries

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: the environment's attribute: what each document depends on, with the digest that this had
_KEPT = "ptxspec_dependencies"
#: begins the name of a dependency that is a part of a file
_REGISTER = "register:"


def setup(app: Sphinx) -> None:
    """Have Sphinx ask which documents to read again, and forget those that are gone."""
    app.connect("env-get-outdated", _outdated)
    app.connect("env-purge-doc", lambda app, env, docname: _all(env).pop(docname, None))
    app.connect("env-merge-info", _merge)


def note(env: Any, paths: Iterable[Path]) -> None:
    """The document being read depends on what programs read of some files."""
    _note(env, (str(path.resolve()) for path in paths))


def note_register(env: Any, root: Path) -> None:
    """The document being read depends on the numbers and the names of the register's entries, below a folder of documents."""
    _note(env, [f"{_REGISTER}{root.resolve()}"])


def _note(env: Any, names: Iterable[str]) -> None:
    digests = _all(env).setdefault(env.docname, {})
    digests.update((name, digest(name)) for name in names)


def digest(name: str) -> str:
    """A digest of a dependency; "" for a file that is not there."""
    if name.startswith(_REGISTER):
        return _short(repr(sorted(entries(Path(name.removeprefix(_REGISTER))).items())).encode())
    try:
        state = os.stat(name)
    except OSError:
        return ""
    return _of_file(name, state.st_mtime_ns, state.st_size)


@lru_cache(1 << 12)
def _of_file(name: str, *state: int) -> str:
    return _short(read_by_programs(Path(name)))


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


def _all(env: Any) -> dict[str, dict[str, str]]:
    if not hasattr(env, _KEPT):
        setattr(env, _KEPT, {})
    digests: dict[str, dict[str, str]] = getattr(env, _KEPT)
    return digests


def _outdated(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    known: dict[str, str] = {}

    def is_as_it_was(name: str, before: str) -> bool:
        if name not in known:
            known[name] = digest(name)
        return known[name] == before

    return [
        docname
        for docname, digests in _all(env).items()
        if docname in env.found_docs and not all(is_as_it_was(*noted) for noted in digests.items())
    ]


def _merge(app: Sphinx, env: Any, docnames: Iterable[str], other: Any) -> None:
    for docname in docnames:
        if docname in _all(other):
            _all(env)[docname] = _all(other)[docname]
