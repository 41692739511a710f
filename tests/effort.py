"""How much work something is: processor time beside that of a loop of Python's, measured in the same moment.

Seconds say more about the machine, and about what else it does, than about the code. A ratio says what they were meant to say:
a slower processor, or one that is shared, makes both sides longer. The limits leave room for a factor of several, so that only
another order of growth exceeds them, or work that should not be done at all.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: additions of the loop that is the unit: between half a millisecond and one of a usual core
_ADDITIONS = 25_000
#: a unit is no shorter on any machine, in seconds: what stays below it need not be compared with the loop
_SHORTEST = 0.0001


def unit() -> float:
    """The processor's seconds that the loop takes here and now: the middle one of five."""
    times = []
    for _ in range(5):
        began = time.process_time()
        total = 0
        for i in range(_ADDITIONS):
            total += i
        times.append(time.process_time() - began)
    return sorted(times)[2]


def check(seconds: float, units: float) -> None:
    """AssertionError if so many seconds of processor time are more than so many units."""
    if seconds > units * _SHORTEST:
        own = unit()
        assert seconds <= units * own, f"{seconds:.2f} s are {seconds / own:.0f} units, of {units:.0f} allowed"


@contextmanager
def at_most(units: float) -> Iterator[None]:
    """What is done takes no more than so many units of processor time of this process; AssertionError if it does."""
    began = time.process_time()
    yield
    check(time.process_time() - began, units)


def seconds(act: Callable[[], object]) -> float:
    """The processor's seconds that a call takes. Python looks for no cycles meanwhile: that takes as long as the process holds
    much, and may happen in the longer of two calls and not in the shorter."""
    gc.disable()
    try:
        began = time.process_time()
        act()
        return time.process_time() - began
    finally:
        gc.enable()


def grows_in_proportion(take: Callable[[int], float], few: int, most: float) -> None:
    """AssertionError if four times as much takes more than `most` times as long: quadratic work takes sixteen times. `take` does so
    much and says how many seconds that took. What took too long is tried again, both sides of it, twice."""
    found = []
    while len(found) < 3 and not any(large < most * max(small, 0.01) for small, large in found):
        found.append((min(take(few) for _ in range(2)), take(4 * few)))
    assert any(large < most * max(small, 0.01) for small, large in found), found
