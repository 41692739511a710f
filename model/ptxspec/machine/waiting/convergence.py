"""The threads of a batch that wait for others, wherever they do."""

from __future__ import annotations

import numpy as np

from ptxspec import contracts
from ptxspec.machine.batch import Waiting
from ptxspec.machine.folding import Folder, column, records
from ptxspec.machine.roles import Roles
from ptxspec.machine.waiting.cluster_barriers import ClusterBarriers
from ptxspec.machine.waiting.cta_barriers import CtaBarriers
from ptxspec.machine.waiting.places import Places
from ptxspec.machine.waiting.warp_collectives import WarpCollectives


class Convergence:
    """Lets threads wait, and go on, as the pages say. `fold` takes the pages' steps."""

    def __init__(self, fold: Folder, roles: Roles, threads: int, cluster: int, lanes: int):
        self.fold = fold
        self.places = places = Places(threads, cluster, lanes, contracts.warps().LANES)
        self.waits = roles.waits
        self.of_warp, self.of_cta, self.of_cluster = roles.of_warp, roles.of_cta, roles.of_cluster
        self.ctas = CtaBarriers(fold, places, roles.counts)
        self.clusters = ClusterBarriers(fold, places) if self.of_cluster.any() else None
        self.warps = WarpCollectives(fold, places, roles.kind, roles.patient)
        self._begin()

    def _begin(self) -> None:
        rules = self.threads = contracts.threads()
        self.warp_states, self.cta_states = (
            records(rules.Warp, self.places.warps),
            records(rules.Cta, self.places.ctas),
        )
        #: of each warp, and of each CTA, now
        self.gone, self.alive = (
            column(rules.Warp, self.warp_states, "gone"),
            column(rules.Cta, self.cta_states, "alive"),
        )
        last = self.places.warps_in_cta - 1
        self.gone[last :: self.places.warps_in_cta] = rules.lanes_without_thread(self.places.threads)
        self.alive[:] = self.places.threads
        self.known_to_have_ended = 0

    def arrive(self, threads: Waiting) -> Waiting:
        """Note threads that have come; those of them that do not wait go on at once. Raises WaitingFault where a rule is
        broken."""
        if not len(threads):
            return threads
        waits = self.waits[threads.op]
        for chosen, come in (
            (self.of_cta[threads.op], self._come_to_barriers),
            (self.of_cluster[threads.op], self._come_to_clusters),
            (self.of_warp[threads.op], lambda some, _: self.warps.arrive(some)),
        ):
            if chosen.any():
                come(threads.where(chosen), waits[chosen])
        return threads.where(~waits)

    def _come_to_barriers(self, threads: Waiting, waits: np.ndarray) -> None:
        self.ctas.arrive(threads, waits, self.gone, self.alive)

    def _come_to_clusters(self, threads: Waiting, waits: np.ndarray) -> None:
        assert self.clusters is not None
        self.clusters.arrive(threads, waits)

    @property
    def anybody(self) -> bool:
        """Whether a thread waits."""
        return bool(self._count())

    def _count(self) -> int:
        of_cluster = 0 if self.clusters is None else len(self.clusters.waiting)
        return len(self.ctas.waiting) + len(self.warps.waiting) + of_cluster

    def released(self, ended: np.ndarray, others_run: bool) -> Waiting:
        """Those that may go on now, with what they learn; `ended` are the lanes that have ended, in that order. Raises
        WaitingFault where a rule is broken and, if no others run, where threads wait that nothing can release."""
        self._end(ended[self.known_to_have_ended :])
        self.known_to_have_ended = len(ended)
        go = self.warps.complete(self.gone).joined(self.ctas.released())
        if self.clusters is not None:
            go = go.joined(self.clusters.released())
        go = go.joined(self.warps.look(len(go) > 0, others_run))
        if not len(go) and not others_run and self.anybody:
            self._stuck(ended)
        return go

    def _end(self, lanes: np.ndarray) -> None:
        if not len(lanes):
            return
        rows = [(self.warp_states, self.places.warp(lanes)), (self.cta_states, self.places.cta(lanes))]
        own = self.places.lane_in_warp(lanes).view(np.uint64)
        gone, alive = self.fold(self.threads.end, rows, [own]).results.view(np.int64)
        self.ctas.lose(lanes, gone, alive)
        if self.clusters is not None:
            self.clusters.lose(lanes)

    def _stuck(self, ended: np.ndarray) -> None:
        """Say who waits for whom, where nothing can run any more."""
        if len(self.warps.waiting):
            raise self.warps.stuck()
        if len(self.ctas.waiting):
            raise self.ctas.stuck(ended)
        assert self.clusters is not None
        raise self.clusters.stuck(ended)
