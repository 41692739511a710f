"""The orders between threads that come about by releases and acquires, fences, and barriers of some threads of a CTA.

What releases, what acquires, and which operations are morally strong, spec/memory-model/ says of two operations; here it is
applied to those of a launch in the order in which they happen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ptxspec.machine.driver.places import LANES
from ptxspec.machine.racing.classes import OperationClasses
from ptxspec.machine.racing.logs import CTA, LOG, THREAD, WARP, Known, Log, Logs, Unit, join
from ptxspec.machine.racing.shadow import SAME_CLUSTER, SAME_CTA, SAME_GRID, SAME_THREAD

#: observations that a thread keeps until it acquires them
MOST_OBSERVED = 64


class Releaser(NamedTuple):
    """An operation that releases: its class, and a thread of the CTA that executes it; -1 where all scopes include the grid."""

    kind: int
    thread: int


class StrongWrite(NamedTuple):
    """The last strong write of a location, its class and its thread, and what it publishes, by the operation that releases it."""

    kind: int
    thread: int
    published: dict[Releaser, Log]


class Observation(NamedTuple):
    """What a thread has read and not acquired: by an operation of this class, the logs up to entries, and who released them."""

    kind: int
    released: tuple[tuple[Releaser, Unit, int], ...]


class Knowledge:
    """What each thread knows of the others. Threads, warps and CTAs are those of the grid, by their numbers."""

    def __init__(self, classes: OperationClasses, threads: int, warps: int, cluster: int):
        """`threads` and `warps` are those of a CTA, `cluster` are the CTAs of a cluster."""
        self.classes, self.threads, self.warps, self.cluster = classes, threads, warps, cluster
        self.logs = Logs()
        self._known: dict[Unit, Known] = {}
        #: of each CTA, which of its threads and warps know something
        self._knowing: dict[int, set[Unit]] = defaultdict(set)
        #: of each thread, what it knew at its last releasing fence of each class
        self._fences: dict[int, dict[int, Known]] = defaultdict(dict)
        self._writes: dict[int, StrongWrite] = {}
        #: of a thread and a location, its last operation there that released, and what it knew
        self._released: dict[tuple[int, int], tuple[int, Known]] = {}
        self._observed: dict[int, dict[int, Observation]] = defaultdict(dict)
        #: by the scope of a fence, and the threads that it includes, what fences in Fence-SC order know
        self._sequential: dict[tuple[int, int], Log] = {}
        #: why a thread got nothing of what it read last: the releasing operation, and the acquiring one
        self.missed: dict[int, tuple[Releaser, int]] = {}

    # threads -------------------------------------------------------------------------------------------------------------

    def cta_of(self, thread: int) -> int:
        return thread // self.threads

    def warp_of(self, thread: int) -> int:
        cta = thread // self.threads
        return cta * self.warps + (thread - cta * self.threads) // LANES

    def level(self, a: int, b: int) -> int:
        """How near two threads are."""
        if a < 0 or b < 0:
            return SAME_GRID
        if a == b:
            return SAME_THREAD
        if self.cta_of(a) == self.cta_of(b):
            return SAME_CTA
        return SAME_CLUSTER if self.cta_of(a) // self.cluster == self.cta_of(b) // self.cluster else SAME_GRID

    def known_by(self, thread: int) -> Known:
        """What a thread knows."""
        known: Known = {}
        for unit in ((CTA, self.cta_of(thread)), (WARP, self.warp_of(thread)), (THREAD, thread)):
            join(known, self._known.get(unit, {}))
        return known

    def learn(self, unit: Unit, cta: int, known: Known) -> None:
        """A thread, a warp or a CTA comes to know this."""
        if known:
            join(self._known.setdefault(unit, {}), known)
            self._knowing[cta].add(unit)

    def is_before(self, other: int, time: int, thread: int) -> bool:
        """Whether a thread knows what another one did at a time."""
        units = (THREAD, other), (WARP, self.warp_of(other)), (CTA, self.cta_of(other))
        mine = (CTA, self.cta_of(thread)), (WARP, self.warp_of(thread)), (THREAD, thread)
        return any(self.logs.time(self._known[unit], units) >= time for unit in mine if unit in self._known)

    # barriers ------------------------------------------------------------------------------------------------------------

    def cta_meets(self, cta: int) -> None:
        """All threads of a CTA have come together: each knows what any of them knew."""
        units = self._knowing.pop(cta, set())
        everything: Known = {}
        for unit in units:
            join(everything, self._known.pop(unit))
        self.learn((CTA, cta), cta, everything)

    @property
    def knows(self) -> bool:
        """Whether anything is known."""
        return bool(self._known)

    def cluster_meets(self, thread: int) -> None:
        """A thread has passed the barrier of its cluster: it knows what the cluster's other threads know."""
        cta = self.cta_of(thread)
        first = cta - cta % self.cluster
        known: Known = {}
        for unit in {u for c in range(first, first + self.cluster) for u in self._knowing.get(c, ())}:
            join(known, self._known[unit])
        self.learn((THREAD, thread), cta, known)

    def threads_meet(self, arrived: Sequence[int], waiting: Sequence[int], extra: Known) -> None:
        """Some threads have come together: those that wait know what any of those that arrived knew, and this."""
        known = dict(extra)
        for unit in {u for t in arrived for u in ((CTA, self.cta_of(t)), (WARP, self.warp_of(t)), (THREAD, t))}:
            join(known, self._known.get(unit, {}))
        for thread in waiting:
            self.learn((THREAD, thread), self.cta_of(thread), known)

    # releases and acquires -----------------------------------------------------------------------------------------------

    def _snapshot(self, thread: int, done: Known) -> Known:
        known = self.known_by(thread)
        join(known, done)
        return known

    def _acquire(self, thread: int, kind: int, observation: Observation) -> None:
        """A thread acquires by an operation of a class what it has observed."""
        for release, log, length in observation.released:
            if self.classes.strong(release.kind, kind, self.level(release.thread, thread)):
                self.learn((THREAD, thread), self.cta_of(thread), {log: length})
                self.missed.pop(thread, None)
            else:
                self.missed[thread] = release, kind

    def read(self, thread: int, kind: int, location: int) -> None:
        """A thread reads a location by a strong operation."""
        last = self._writes.get(location)
        if last is None or not last.published or not self.classes.begins_acquire(kind):
            return
        if not self.classes.strong(last.kind, kind, self.level(last.thread, thread)):
            self.missed[thread] = Releaser(last.kind, last.thread), kind
            return
        released = tuple((release, (LOG, log.number), log.length) for release, log in last.published.items())
        observation = Observation(kind, released)
        if self.classes.acquires(kind, kind):
            self._acquire(thread, kind, observation)
        observed = self._observed[thread]
        if location in observed:  # what was read there before counts as well
            before = {(release, log): length for release, log, length in observed[location].released}
            before |= {(release, log): length for release, log, length in released}
            latest = list(before.items())[-MOST_OBSERVED:]
            observation = Observation(kind, tuple((release, log, length) for (release, log), length in latest))
        observed[location] = observation

    def write(self, thread: int, kind: int, location: int, done: Known) -> bool:
        """A thread writes a location by a strong operation; `done` is what it did itself. Whether that publishes something."""
        classes, last = self.classes, self._writes.get(location)
        published: dict[Releaser, Log] = {}
        if (
            last is not None
            and classes.is_atomic(kind)
            and classes.strong(last.kind, kind, self.level(last.thread, thread))
        ):
            published = last.published
        releases: list[tuple[int, Known]] = []
        if classes.releases(kind, kind):
            known = self._snapshot(thread, done)
            releases.append((kind, known))
            self._released[thread, location] = kind, known
        elif (thread, location) in self._released:
            earlier, known = self._released[thread, location]
            if classes.releases(earlier, kind):
                releases.append((earlier, known))
        releases += [(fence, known) for fence, known in self._fences[thread].items() if classes.releases(fence, kind)]
        representative = self.cta_of(thread) * self.threads if classes.has_narrow else -1
        for by, known in releases:
            release = Releaser(by, representative)
            if release not in published:
                published[release] = self.logs.new()
            published[release].append(known)
        self._writes[location] = StrongWrite(kind, thread, published)
        return bool(releases)

    def fence(self, thread: int, kind: int, done: Known) -> None:
        """A thread executes a memory fence."""
        classes = self.classes
        for observation in self._observed[thread].values():
            if classes.acquires(observation.kind, kind):
                self._acquire(thread, kind, observation)
        if classes.is_sequential(kind):
            for scope, instance in classes.scopes_within(kind, self.cta_of(thread), self.cluster):
                log = self._sequential.setdefault((scope, instance), self.logs.new())
                self.learn((THREAD, thread), self.cta_of(thread), {(LOG, log.number): log.length})
        if classes.is_release(kind):
            known = self._snapshot(thread, done)
            self._fences[thread][kind] = known
            if classes.is_sequential(kind):
                for key in classes.scopes_within(kind, self.cta_of(thread), self.cluster):
                    self._sequential[key].append(known)
