"""What threads know of one another by releases and acquires: times, of threads, warps and CTAs, and beginnings of logs.

A thread that knows `time` of a unit is ordered behind all that the unit did up to that time. One that knows a log up to an
entry knows all that the entries have up to there. So an atomic counter by which thousands of threads release and acquire
costs each of them one entry.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

#: what a unit is: a thread, a warp or a CTA, with its number; or a log
THREAD, WARP, CTA, LOG = range(4)
Unit = tuple[int, int]
#: by units the times that are known of them; of a log, how many of its entries
Known = dict[Unit, int]


def join(known: Known, other: Known) -> None:
    """Know what another one knows."""
    for unit, time in other.items():
        if known.get(unit, 0) < time:
            known[unit] = time


class Log:
    """What was published in one place, one entry after the other."""

    def __init__(self, number: int):
        self.number, self.length = number, 0
        self._times: dict[Unit, tuple[list[int], list[int]]] = {}

    def append(self, known: Known) -> None:
        """Publish what somebody knows."""
        self.length += 1
        for unit, time in known.items():
            places, times = self._times.setdefault(unit, ([], []))
            if not times or times[-1] < time:
                places.append(self.length)
                times.append(time)

    def known(self, unit: Unit, length: int) -> int:
        """What the first so many entries have of a unit."""
        places, times = self._times.get(unit, ((), ()))
        place = bisect_right(places, length)
        return times[place - 1] if place else 0

    def logs(self) -> Iterator[Unit]:
        """The logs that entries know."""
        return (unit for unit in self._times if unit[0] == LOG)


class Logs:
    """All logs of a launch."""

    def __init__(self) -> None:
        self._logs: list[Log] = []

    def new(self) -> Log:
        """A log without entries."""
        self._logs.append(Log(len(self._logs)))
        return self._logs[-1]

    def time(self, known: Known, units: tuple[Unit, ...]) -> int:
        """The latest time that is known of any of the units, by itself or by logs."""
        latest = max(known.get(unit, 0) for unit in units)
        lengths = {unit[1]: length for unit, length in known.items() if unit[0] == LOG}
        looked: dict[int, int] = {}
        while lengths:
            number, length = lengths.popitem()
            if looked.get(number, 0) >= length:
                continue
            looked[number] = length
            log = self._logs[number]
            latest = max(latest, *(log.known(unit, length) for unit in units))
            for unit in log.logs():
                inner = log.known(unit, length)
                if inner > max(looked.get(unit[1], 0), lengths.get(unit[1], 0)):
                    lengths[unit[1]] = inner
        return latest
