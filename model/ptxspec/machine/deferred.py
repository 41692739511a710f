"""When copies happen that finish later, under the exact engine: early, late, or at places that a seed chooses."""

from __future__ import annotations

import random
from collections.abc import Callable

from ptxspec.base.options import Copies

#: a copy that a seed lets happen before its thread waits happens within so many instructions that have an effect
SOON = 200


class Deferred:
    """Copies that have been begun and have not happened yet, each known by a number. `happens` lets one happen."""

    def __init__(self, when: Copies, happens: Callable[[int], None]):
        self._when, self._happens = when, happens
        self._random = random.Random(when) if isinstance(when, int) else None
        #: of each copy that has not happened the thread, and the moment at which it happens at the latest, if there is one
        self._waiting: dict[int, tuple[int, int | None]] = {}
        self._now = 0

    def begun(self, copy: int, thread: int) -> None:
        """A thread has begun a copy."""
        choice = 0 if self._when == "early" else 2 if self._random is None else self._random.randrange(3)
        if choice == 0:
            self._happens(copy)
        elif choice == 1 and self._random is not None:
            self._waiting[copy] = thread, self._now + self._random.randrange(1, SOON)
        else:
            self._waiting[copy] = thread, None

    def goes_on(self) -> None:
        """A thread comes to an instruction that has an effect."""
        if self._waiting:
            self._now += 1
            self._let([c for c, (_, moment) in self._waiting.items() if moment is not None and moment <= self._now])

    def finished(self, thread: int, under_way: Callable[[int], bool]) -> None:
        """A thread has waited: those of its copies happen now that are under way no longer."""
        self._let([c for c, (own, _) in self._waiting.items() if own == thread and not under_way(c)])

    def ended(self, thread: int) -> None:
        """A thread has ended: its copies happen now."""
        self._let([c for c, (own, _) in self._waiting.items() if own == thread])

    def forget(self) -> None:
        """Others are resident now."""
        self._waiting.clear()

    def _let(self, copies: list[int]) -> None:
        for copy in copies:
            del self._waiting[copy]
            self._happens(copy)
