"""The threads of the host that share a launch: each runs batches of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

#: a worker takes this part of the batches that are left, divided by how many workers there are: much at first, since going back
#: for more takes time, and little in the end, so that all end together
PART = 2


class Share:
    """The CTAs of a grid, of which each worker takes some batches whenever it has none left."""

    def __init__(self, ctas: int, slots: int, workers: int):
        """`slots` CTAs are a batch."""
        self._next, self._ctas, self._slots = 0, ctas, slots
        self._workers = workers
        self._lock = threading.Lock()

    def take(self) -> range | None:
        """The CTAs that a worker runs next, whole batches but for the grid's last; None if all have been taken."""
        with self._lock:
            start = self._next
            if start >= self._ctas:
                return None
            batches = -(-(self._ctas - start) // self._slots)
            if self._workers > 1:
                batches = -(-batches // (PART * self._workers))
            self._next = min(self._ctas, start + batches * self._slots)
            return range(start, self._next)


def together(works: Sequence[Callable[[], int]], stop: Callable[[], None]) -> int:
    """Do all works at the same time, the first in this thread and each other in one of its own, and give the sum of what they
    give. If one raises an exception, or this is interrupted, `stop` is called, after which the others end soon. When all have
    ended, the exception that came first is raised."""
    if len(works) == 1:
        return works[0]()
    given: list[int] = []
    failed: list[BaseException] = []

    def do(work: Callable[[], int]) -> None:
        try:
            given.append(work())
        except BaseException as error:
            failed.append(error)
            stop()

    others = [threading.Thread(target=do, args=(work,)) for work in works[1:]]
    for other in others:
        other.start()
    do(works[0])
    for other in others:
        other.join()
    if failed:
        raise failed[0]
    return sum(given)
