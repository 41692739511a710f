"""The same work for many items, on every core there is."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def on_all_cores(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """function(item) for each item, in the order in which they are done. The function must be importable by name."""
    processes = min(len(items), os.cpu_count() or 1)
    if processes <= 1:
        yield from map(function, items)
        return
    with multiprocessing.get_context("spawn").Pool(processes, _leave_interrupts_to_the_parent) as pool:
        yield from pool.imap_unordered(function, items)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
