"""The orders between threads that come about by releases and acquires, fences, and barriers of some threads of a CTA.

What releases, what acquires, and which operations are morally strong, spec/memory-model/ says of two operations; here it is
applied to those of a launch in the order in which they happen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ptxspec import contracts
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.racing.classes import OperationClasses
from ptxspec.machine.racing.logs import CTA, LOG, THREAD, WARP, Known, Log, Logs, Unit, join
from ptxspec.machine.racing.shadow import SAME_CLUSTER, SAME_CTA, SAME_GRID, SAME_THREAD
from ptxspec.terms.core import integer
from ptxspec.terms.registries import OBJECT_BITS

#: observations that a thread keeps until it acquires them
MOST_OBSERVED = 64


class Releaser(NamedTuple):
    """An operation that releases: its class, and a thread of the CTA that executes it; -1 where all scopes include the grid."""

    kind: int
    thread: int


#: the number of a thread, or of each of several
Threads = TypeVar("Threads", int, np.ndarray)
#: what is released: by whom, and the entries of a log, up to one
Released = tuple[Releaser, Unit, int]


class StrongWrite(NamedTuple):
    """A strong write of a location, its class and its thread, and what it publishes, by the operation that releases it. Atomic
    operations that read from it publish more in the same logs. Of an object it has the phase that the write leaves, and what was
    published when the phase before was complete: a wait hears of nothing else."""

    kind: int
    thread: int
    published: dict[Releaser, Log]
    phase: int | None = None
    by_then: tuple[Released, ...] = ()

    def released(self) -> tuple[Released, ...]:
        """What who reads the location hears of now."""
        return self.lengths() if self.phase is None else self.by_then

    def lengths(self) -> tuple[Released, ...]:
        """What is published up to now."""
        return tuple((release, (LOG, log.number), log.length) for release, log in self.published.items())


class Observation(NamedTuple):
    """What a thread has read and not acquired, by an operation of this class."""

    kind: int
    released: tuple[Released, ...]

    def joined(self, later: Observation, most: int) -> Observation:
        """This and what was read later, of which most things are kept."""
        lengths = {(release, log): length for release, log, length in self.released}
        for release, log, length in later.released:
            lengths[release, log] = max(length, lengths.pop((release, log), 0))
        return Observation(
            later.kind, tuple((release, log, length) for (release, log), length in list(lengths.items())[-most:])
        )


def _phase(word: int) -> int:
    """The number of the phase in which an object is that has these bits."""
    return int(contracts.objects.phase_of(integer(word)).attrs[0])


class Knowledge:
    """What each thread knows of the others. Threads, warps and CTAs are those of the grid, by their numbers."""

    def __init__(
        self, classes: OperationClasses, threads: int, warps: int, cluster: int, most_observed: int = MOST_OBSERVED
    ):
        """`threads` and `warps` are those of a CTA, `cluster` are the CTAs of a cluster."""
        self.classes, self.threads, self.warps, self.cluster = classes, threads, warps, cluster
        self.most_observed = most_observed
        self.logs = Logs()
        self._known: dict[Unit, Known] = {}
        #: of each CTA, which of its threads and warps know something
        self._knowing: dict[int, set[Unit]] = defaultdict(set)
        #: of each thread, what it knew at its last releasing fence of each class
        self._fences: dict[int, dict[int, Known]] = defaultdict(dict)
        self._writes: dict[int, StrongWrite] = {}
        #: of a thread and a location, what it knew at its last operation there of each class that releases
        self._released: dict[tuple[int, int], dict[int, Known]] = {}
        self._observed: dict[int, dict[int, Observation]] = defaultdict(dict)
        #: by the scope of a fence, and the threads that it includes, what fences in Fence-SC order know
        self._sequential: dict[tuple[int, int], Log] = {}
        #: why a thread got nothing of what it read last: the releasing operation, and the acquiring one
        self.missed: dict[int, tuple[Releaser, int]] = {}

    # threads -------------------------------------------------------------------------------------------------------------

    def cta_of(self, thread: Threads) -> Threads:
        """The CTA of a thread, or of each of an array."""
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

    def knowing(self, thread: int) -> tuple[Unit, ...]:
        """The units whose knowledge a thread has: itself, its warp, its CTA, without those that know nothing."""
        mine = (CTA, self.cta_of(thread)), (WARP, self.warp_of(thread)), (THREAD, thread)
        return tuple(unit for unit in mine if unit in self._known)

    def is_before(self, other: int, time: int, knowing: tuple[Unit, ...]) -> bool:
        """Whether one of these units knows what another thread did at a time."""
        units = (THREAD, other), (WARP, self.warp_of(other)), (CTA, self.cta_of(other))
        return any(self.logs.time(self._known[unit], units) >= time for unit in knowing)

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
        self.observe(thread, kind, location, last, () if last is None else last.released())

    def observe(
        self, thread: int, kind: int, location: int, write: StrongWrite | None, released: tuple[Released, ...]
    ) -> None:
        """A thread reads a location by a strong operation, from this write, which publishes so much; None if that is weak."""
        classes, observed = self.classes, self._observed[thread]
        acquires, earlier = classes.acquires(kind, kind), observed.get(location)
        if released and write is not None and classes.begins_acquire(kind):
            if self._hears(write, thread, kind):
                now = Observation(kind, released)
                if acquires:
                    self._acquire(thread, kind, now)
                observed[location] = now if earlier is None else earlier.joined(now, self.most_observed)
            else:
                self.missed[thread] = Releaser(write.kind, write.thread), kind
        if acquires and earlier is not None and classes.acquires(earlier.kind, kind):
            left = tuple(r for r in earlier.released if r not in released)
            self._acquire(thread, kind, Observation(earlier.kind, left))

    def _hears(self, write: StrongWrite, thread: int, kind: int) -> bool:
        """Whether an operation of a class observes what a write publishes that it reads from: if they are morally strong. A step
        on an object observes all that have taken part before, each by itself."""
        strong = self.classes.strong(write.kind, kind, self.level(write.thread, thread))
        return strong or self.classes.are_on_objects(write.kind, kind)

    def write(self, thread: int, kind: int, location: int, done: Known, word: int) -> bool:
        """A thread writes a word to a location by a strong operation; `done` is what it did itself. Whether that publishes
        something."""
        last = self._writes.get(location)
        write, publishes = self.publish(thread, kind, location, done, last)
        if self.classes.are_on_objects(kind, kind):
            before = 0 if last is None or last.phase is None else last.phase
            phase = _phase(word & (1 << OBJECT_BITS) - 1)
            kept = () if last is None or last.phase is None else last.by_then
            write = write._replace(phase=phase, by_then=kept if phase == before else write.lengths())
        self._writes[location] = write
        return publishes

    def object_begins(self, location: int) -> None:
        """An object begins, of which nobody has heard."""
        self._writes.pop(location, None)

    def publish(
        self, thread: int, kind: int, location: int, done: Known, last: StrongWrite | None
    ) -> tuple[StrongWrite, bool]:
        """What a strong write publishes, and whether it releases something itself; an atomic one reads from the `last` one."""
        classes = self.classes
        published: dict[Releaser, Log] = {}
        if last is not None and classes.is_atomic(kind) and self._hears(last, thread, kind):
            published = last.published
        at_location = self._released.get((thread, location), {})
        if classes.releases(kind, kind):
            at_location = self._released.setdefault((thread, location), at_location)
            at_location[kind] = self._snapshot(thread, done)
        behind = (*at_location.items(), *self._fences[thread].items())
        releases = [(earlier, known) for earlier, known in behind if classes.releases(earlier, kind)]
        representative = self.cta_of(thread) * self.threads if classes.has_narrow else -1
        for by, known in releases:
            release = Releaser(by, representative)
            if release not in published:
                published[release] = self.logs.new()
            published[release].append(known)
        return StrongWrite(kind, thread, published), bool(releases)

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
