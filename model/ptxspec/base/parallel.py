"""The same work for many items, on every core there is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ptxspec.base.campaigns import WorkerOptions, values

T = TypeVar("T")
R = TypeVar("R")


def on_all_cores(function: Callable[[T], R], items: Sequence[T], where: WorkerOptions = WorkerOptions()) -> Iterator[R]:
    """function(item) for each item, in the order in which they are done; here and now, if there is one item or one processor,
    unless `where` says who does it. The function must be importable by name. Raises what it raises, and ChildProcessError where
    a process ended under it."""
    jobs = where.jobs or os.cpu_count() or 1
    if where.scheduler is None and min(jobs, len(items)) <= 1:
        yield from map(function, items)
        return
    yield from values(function, ((f"{number}: {item!r:.200}", item) for number, item in enumerate(items)), where)
