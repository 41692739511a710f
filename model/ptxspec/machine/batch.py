"""The shape of a launch, and where each of its threads stands."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec import contracts


class Extents(NamedTuple):
    """The shape of a launch; (x, y, z) each. Beside it what else special registers tell of the launch: its number, the bytes of
    shared memory that a CTA has, how many of them the launch asked for, the CTAs of a cluster, and whether it was said that there
    are clusters."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launch: int = 0
    shared: int = 0
    dynamic_shared: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    explicit_cluster: bool = False

    @property
    def threads(self) -> int:
        """Threads a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> int:
        """CTAs a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    def numbered(self, launch: int) -> Extents:
        """The same for the launch of this number."""
        _, shared, dynamic_shared, cluster, explicit = self[2:]
        return Extents(self.grid, self.block, launch, shared, dynamic_shared, cluster, explicit)

    def facts(self) -> tuple[int, ...]:
        """What special registers tell of the launch, in the order in which the native engine's context has it."""
        return (
            *self.grid,
            *self.block,
            *self.cluster,
            self.launch,
            self.shared,
            self.dynamic_shared,
            int(self.explicit_cluster),
        )

    def where(self, thread: int, first: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """(thread's, CTA's) coordinates of a resident thread, where the CTA of thread 0 is at the place `first` among those
        of the grid, counted cluster by cluster and in each by rank."""
        clusters = contracts.clusters
        position = contracts.thread_coordinates.position
        shape = clusters.NO_CLUSTERS if self.cluster_size == 1 else self.cluster
        tid = position(thread % self.threads, self.block)
        cta = position(clusters.cta_at(first + thread // self.threads, self.grid, shape), self.grid)
        return (int(tid[0]), int(tid[1]), int(tid[2])), (int(cta[0]), int(cta[1]), int(cta[2]))
