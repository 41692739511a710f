"""Answers that are kept between runs, under a digest of the very script that was asked and of the solvers' versions.

Nothing else decides an answer: neither the pages nor the machinery that wrote the script. So a change of a definition
that changes a script asks again, and one that does not leaves all answers as they are. A model is believed no more than
a solver's: who asks replays it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from ptxspec.base import storage
from ptxspec.query.solvers.answers import SolverReply

#: the file of answers
NAME = "answers.sqlite"
#: raise it when what is kept, or what is asked of a solver beside the script, changes
FORMAT = 2
#: answers that are kept; the oldest go first
MOST = 50_000
#: how many are written between two looks at how many there are
EVERY = 1000

_path: ContextVar[Path | None] = ContextVar("answers", default=None)
_is_used: ContextVar[bool] = ContextVar("answers are kept", default=True)


@contextmanager
def kept_at(path: Path | None) -> Iterator[None]:
    """Within, answers are kept in another file; with None, none are kept or looked up."""
    tokens = _path.set(path), _is_used.set(path is not None)
    try:
        yield
    finally:
        _path.reset(tokens[0])
        _is_used.reset(tokens[1])


def key(text: str, solvers: str) -> bytes:
    """The digest under which an answer is kept."""
    return hashlib.sha256(json.dumps([FORMAT, solvers, text]).encode()).digest()


def find(digest: bytes) -> SolverReply | None:
    """The answer that is kept under a digest."""
    row = None
    with _opened() as file:
        if file is None:
            return None
        row = file.execute("SELECT said FROM answers WHERE key = ?", (digest,)).fetchone()
    try:
        reply = None if row is None else SolverReply(**json.loads(row[0]))
    except (ValueError, TypeError, RecursionError):
        return None
    if reply is None or not isinstance(reply.model, dict) or not isinstance(reply.by, str):
        return None
    return reply if reply.is_settled else None


def keep(digest: bytes, reply: SolverReply) -> None:
    """Keep an answer. What is no answer, such as that the time ran out, is not kept."""
    if not reply.is_settled:
        return
    with _opened() as file:
        if file is None:
            return
        row = (digest, json.dumps(reply._asdict()))
        number = file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row).lastrowid or 0
        if number % EVERY == 0:  # rows are numbered in the order in which they were written
            file.execute("DELETE FROM answers WHERE rowid <= ?", (number - MOST,))
        file.commit()


@contextmanager
def _opened() -> Iterator[sqlite3.Connection | None]:
    """The file of answers; None where there is none that may be used. A file that is damaged is removed, and one that is
    locked is as none."""
    path = (_path.get() or storage.kept(NAME)) if _is_used.get() else None
    path = storage.own_place(path)
    if path is None:
        yield None
        return
    file: sqlite3.Connection | None = None
    try:
        file = sqlite3.connect(path, timeout=10.0)
        file.execute("PRAGMA synchronous = OFF")  # what is lost is asked again
        file.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, said TEXT NOT NULL)")
    except (sqlite3.Error, OSError) as why:
        if file is not None:
            file.close()
        if isinstance(why, sqlite3.DatabaseError) and not isinstance(why, sqlite3.OperationalError):
            path.unlink(missing_ok=True)  # it is damaged: the next answer begins another
        yield None
        return
    with contextlib.closing(file), contextlib.suppress(sqlite3.Error):
        yield file
