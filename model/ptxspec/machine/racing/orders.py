"""What orders the operations of a launch, thread by thread: clocks, barriers, releases and acquires.

The check for races has the same of warps and CTAs at once (shadow.py, checker.py), which takes less time and can be compiled.
"""

from __future__ import annotations

from collections import defaultdict

from ptxspec.machine.batch import Extents
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.events import NO_INSTRUCTION, EventKind
from ptxspec.machine.racing import shadow
from ptxspec.machine.racing.classes import NO_CLASS, OperationClasses
from ptxspec.machine.racing.knowledge import Knowledge
from ptxspec.machine.racing.logs import CTA, THREAD, Known, join

#: more observations than a thread has
_ALL_OBSERVED = 1 << 30


class ThreadOrders:
    """Which operation is ordered before another one by synchronization and program order, as far as a launch has got. Threads are
    those of the grid."""

    def __init__(self, classes: OperationClasses, extents: Extents, warps: int):
        """`warps` are those of a CTA."""
        self.classes, self.extents = classes, extents
        self.knowledge = Knowledge(classes, extents.threads, warps, extents.cluster_size, _ALL_OBSERVED)
        #: of each CTA the time, which advances when something is made known or is complete
        self._clocks: dict[int, int] = defaultdict(lambda: 1)
        #: of each barrier of a CTA who has arrived: threads, when, and whether they wait
        self._arrived: dict[tuple[int, int], dict[int, tuple[int, bool]]] = defaultdict(dict)
        #: of each thread how often it has arrived at the barrier of its cluster, and passed it
        self._arrivals: dict[int, int] = defaultdict(int)
        self._passed: dict[int, int] = defaultdict(int)
        #: by cluster and phase of its barrier, what those who arrive tell
        self._told: dict[tuple[int, int], Known] = defaultdict(dict)
        #: whether some thread has executed a fence between proxies
        self.proxies_fenced = False

    def time(self, thread: int) -> int:
        """The time of an operation that a thread executes now."""
        return self._clocks[self.knowledge.cta_of(thread)]

    def is_before(self, other: int, time: int, thread: int) -> bool:
        """Whether what a thread did at a time is ordered before what another one does now."""
        return other == thread or self.knowledge.is_before(other, time, self.knowledge.knowing(thread))

    def done(self, thread: int) -> Known:
        """What a thread did up to now."""
        return {(THREAD, thread): self.time(thread)}

    def advance(self, thread: int) -> None:
        """What the thread's CTA does from now on is not what was made known before."""
        self._clocks[self.knowledge.cta_of(thread)] += 1

    def take(self, kind: EventKind, op: int, thread: int, value: int) -> None:
        """An event that orders operations, or none of those."""
        role = self.classes.roles[op] if op < len(self.classes.roles) else shadow.WHOLE_CTA
        match kind:
            case EventKind.FENCE:
                self._fence(thread, op)
            case EventKind.ARRIVE if role in (shadow.WHOLE_CTA, shadow.COUNTED, shadow.COUNTED_ARRIVAL):
                waits = role != shadow.COUNTED_ARRIVAL
                self._arrived[self.knowledge.cta_of(thread), value][thread] = self.time(thread), waits
                self.advance(thread)
            case EventKind.ARRIVE if role in (shadow.CLUSTER_ARRIVAL, shadow.RELAXED_ARRIVAL):
                self._arrive_at_cluster(thread, role == shadow.CLUSTER_ARRIVAL)
            case EventKind.COMPLETE if role in (shadow.WHOLE_CTA, shadow.COUNTED, shadow.COUNTED_ARRIVAL):
                self._complete(thread, op, value)
            case EventKind.RELEASE if role == shadow.WARP:
                self._warp_meets(thread, value)
            case EventKind.RELEASE if role == shadow.CLUSTER_WAIT:
                self._pass_cluster(thread)

    def _fence(self, thread: int, op: int) -> None:
        number = self.classes.fences[op]
        if number == NO_CLASS:
            return
        if self.classes.all[number].proxies:
            self.proxies_fenced = True
        else:
            self.knowledge.fence(thread, number, self.done(thread))
        self.advance(thread)

    def _complete(self, thread: int, op: int, number: int) -> None:
        """A barrier is complete: those who wait there know what those did that have arrived. A thread that ends completes one of
        the whole CTA."""
        cta = self.knowledge.cta_of(thread)
        arrived = self._arrived.pop((cta, number), {})
        times: Known = {(THREAD, t): time for t, (time, _) in arrived.items()}
        waiting = [t for t, (_, waits) in arrived.items() if waits]
        if op == NO_INSTRUCTION or len(waiting) == self.extents.threads:
            self.knowledge.cta_meets(cta)
            self.knowledge.learn((CTA, cta), cta, {(CTA, cta): self._clocks[cta]})
        else:
            self.knowledge.threads_meet([*arrived], waiting, times)
        self.advance(thread)

    def _warp_meets(self, thread: int, mask: int) -> None:
        """A lane goes on with the others of a mask."""
        in_cta = thread % self.extents.threads
        first = thread - in_cta % LANES
        there = min(LANES, self.extents.threads - in_cta // LANES * LANES)
        lanes = [first + k for k in range(there) if mask >> k & 1]
        self.knowledge.threads_meet(lanes, [thread], {(THREAD, t): self.time(t) for t in lanes if t != thread})
        self.advance(thread)

    def _cluster_of(self, thread: int) -> int:
        return self.knowledge.cta_of(thread) // self.extents.cluster_size

    def _arrive_at_cluster(self, thread: int, tells: bool) -> None:
        if tells:
            told = self._told[self._cluster_of(thread), self._arrivals[thread]]
            join(told, self.knowledge.known_by(thread))
            join(told, self.done(thread))
        self._arrivals[thread] += 1
        self.advance(thread)

    def _pass_cluster(self, thread: int) -> None:
        told = self._told[self._cluster_of(thread), self._passed[thread]]
        self.knowledge.learn((THREAD, thread), self.knowledge.cta_of(thread), told)
        self._passed[thread] += 1
