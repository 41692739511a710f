"""The threads of the host that share a launch: each runs batches of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait


def together(works: Sequence[Callable[[], int]], stop: Callable[[], None]) -> int:
    """Do all works at the same time, each in a thread of its own, and give the sum of what they give. If one raises an
    exception, or this is interrupted, `stop` is called, after which the others end soon; the first one's exception is raised
    when all have ended."""
    if len(works) == 1:
        return works[0]()
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(work) for work in works]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
            failed = next((f for f in running if f.done() and f.exception() is not None), None)
        except BaseException:
            stop()
            raise
        if failed is not None:
            stop()
            wait(running)
            raise failed.exception() or AssertionError
    return sum(future.result() for future in running)
