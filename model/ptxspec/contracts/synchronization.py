"""What the pages owe the model on which the machine's states and steps stand: warps, threads, barriers, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ptxspec.contracts.machine import Triple
from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Int
    from ptxspec.terms.steps import State, Step


class Warps(Protocol):
    """spec/machine/warps.md: instructions that a warp executes together. A mask of lanes has a bit a lane."""

    @property
    def LANES(self) -> int:
        """How many lanes a warp has."""

    @property
    def EVERYONE(self) -> int:
        """The mask of all lanes of a warp."""

    def warps_of(self, threads: int) -> int:
        """How many warps a CTA of so many threads has."""

    @property
    def Group(self) -> type[State]:
        """Lanes that wait for one another; its field `arrived_lanes` is a mask."""

    @property
    def group_of(self) -> Step:
        """(spelling, place, whether lanes must be at the same place) to what tells groups with one mask apart."""

    @property
    def join_group(self) -> Step:
        """A lane joins a group: (group, mask, lane)."""

    @property
    def may_go(self) -> Step:
        """Whether a group goes on: (group, mask, gone)."""

    @property
    def all_there(self) -> Step:
        """Whether lanes are all of their warp that have not ended: (lanes, gone)."""

    @property
    def Meeting(self) -> type[State]:
        """Lanes that wait for all of their warp; its field `arrived_lanes` is a mask."""

    @property
    def meet(self) -> Step:
        """A lane comes to an instruction that its warp executes together: (meeting, place, lane, gone, whole) to whether all
        have come, and which lanes."""

    @property
    def leave(self) -> Step:
        """A thread ends: (meeting, gone, whole) to the same."""

    @property
    def meet_warps(self) -> Step:
        """A warp comes to an instruction of several: (meeting, place, warp, warps) to whether all have come."""

    @property
    def members(self) -> Step:
        """Whose values a lane learns: (who arrived under its mask, who goes on with it, whether it named a mask)."""

    @property
    def look(self) -> Step:
        """A look at those that wait for whoever comes: (patience, impatient, some go, others run) to whether all of
        them go on, and whether the impatient do."""


class Threads(Protocol):
    """spec/machine/threads.md: the beginning and the end of threads."""

    @property
    def begin(self) -> Step:
        """A CTA begins: (CTA, threads)."""

    @property
    def begin_warp(self) -> Step:
        """A warp begins: (warp, lanes without a thread)."""

    @property
    def is_stuck(self) -> Step:
        """Whether nothing can release those that wait: (some go, others run, some wait)."""

    @property
    def end(self) -> Step:
        """A thread ends: (warp, CTA, lane) to what their fields are then."""

    def lanes_without_thread(self, threads: int) -> int:
        """The mask of the lanes that the last warp of a CTA of so many threads lacks."""


class Barriers(Protocol):
    """spec/machine/barriers.md: the barriers of a CTA."""

    @property
    def BARRIERS(self) -> int:
        """How many barriers a CTA has; they are numbered from 0."""

    @property
    def Part(self) -> type[State]:
        """The part of a warp in the phase of a barrier."""

    @property
    def arrive(self) -> Step:
        """A thread arrives: (barrier, part, arrival) to whether the phase is over, its number, its arrivals, and how many
        predicates held."""

    @property
    def arrive_together(self) -> Step:
        """So many threads arrive at a barrier of the whole CTA: (barrier, count, alive) to whether they may be counted at once,
        and whether the phase is over."""

    @property
    def lose(self) -> Step:
        """A thread ends: (barrier, part, lane, gone, alive) to the same as one that arrives."""


class Clusters(Protocol):
    """spec/machine/clusters.md: the shape of clusters, and their barriers."""

    def required(self, directives: Mapping[str, tuple[int, ...]]) -> Triple | None:
        """The extents of a cluster that an entry's directives ask for; None if they leave them to the host."""

    def of_launch(self, name: str, directives: Mapping[str, tuple[int, ...]], asked: Triple | None) -> Triple | None:
        """The shape of the clusters, in CTAs, in which an entry is launched where the host asks for one or for none; None if
        nobody says any. Raises ValueError."""

    def check_clusters(
        self, name: str, directives: Mapping[str, tuple[int, ...]], grid: Triple, cluster: Triple, nonportable: bool
    ) -> None:
        """Raise ValueError unless a grid, counted in CTAs, may be divided into such clusters."""

    def counted_in_ctas(
        self, directives: Mapping[str, tuple[int, ...]], grid: Triple, block: Triple, cluster: Triple
    ) -> tuple[Triple, Triple]:
        """(grid in CTAs, CTA in threads) of a launch, whose grid may be counted in clusters."""

    @property
    def NO_CLUSTERS(self) -> Triple:
        """The shape of a cluster where there are none."""

    def cta_at(self, place: Any, grid: Any, cluster: Any) -> Int:
        """The number in the grid of the CTA at a place in the order of clusters, and of the ranks in each; numbers or terms."""

    @property
    def begin(self) -> Step:
        """A cluster begins: (barrier, threads)."""

    @property
    def arrive(self) -> Step:
        """A thread arrives: (barrier, visits) to whether that completes the barrier."""

    @property
    def wait(self) -> Step:
        """A thread begins to wait: (visits)."""

    @property
    def passes(self) -> Step:
        """Whether a thread that waits goes on: (barrier, visits)."""

    @property
    def lose(self) -> Step:
        """A thread ends: (barrier, visits) to whether that completes the barrier."""


warps = page("machine.warps", Warps)
threads = page("machine.threads", Threads)
barriers = page("machine.barriers", Barriers)
clusters = page("machine.clusters", Clusters)
