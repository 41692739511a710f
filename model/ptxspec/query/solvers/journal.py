"""A record of what was asked of solvers: for who writes queries to files, and for certificates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Query(NamedTuple):
    """A script that was put to solvers: what for, in words, the script, what its constants stand for, and what was said of it, by
    whom. `status` is empty while nobody has answered."""

    purpose: str
    text: str
    status: str = ""
    by: str = ""


_open: ContextVar[list[Query] | None] = ContextVar("journal", default=None)


@contextmanager
def journal() -> Iterator[list[Query]]:
    """Within, every query is added to the list that is returned, in the order in which they are asked."""
    queries: list[Query] = []
    token = _open.set(queries)
    try:
        yield queries
    finally:
        _open.reset(token)


def note(query: Query) -> None:
    """Note that a query is asked."""
    queries = _open.get()
    if queries is not None:
        queries.append(query)


def answered(query: Query, status: str, by: str) -> None:
    """Note what was said of the query that was asked last."""
    queries = _open.get()
    if queries is not None:
        queries[-1] = query._replace(status=status, by=by)
