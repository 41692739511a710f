"""The barriers of the clusters of a batch, and the threads that wait there."""

from __future__ import annotations

import numpy as np

from ptxspec import contracts
from ptxspec.machine.batch import Waiting, nobody
from ptxspec.machine.folding import Folder, column, records
from ptxspec.machine.waiting.places import Places, WaitingFault

_NOTES = {
    "second arrival": "the thread has arrived before, and not waited since",
    "wait without arrival": "the thread has not arrived since it waited last, if it did",
}


class ClusterBarriers:
    """Takes the steps of spec/machine/clusters.md."""

    def __init__(self, fold: Folder, places: Places):
        self.fold, self.places = fold, places
        self.rules = contracts.clusters()
        self.barriers = records(self.rules.ClusterBarrier, -(-places.lanes // (places.threads * places.cluster)))
        alive = column(self.rules.ClusterBarrier, self.barriers, "alive")
        alive[:] = np.bincount(places.cluster_of(np.arange(places.lanes)))
        self.visits = records(self.rules.Visits, places.lanes)
        self.waiting = nobody()

    def arrive(self, threads: Waiting, waits: np.ndarray) -> None:
        """Threads arrive, or begin to wait. Raises WaitingFault where one does either twice in succession."""
        if not len(threads):
            return
        for chosen in (~waits, waits):
            some = threads.where(chosen)
            if not len(some):
                continue
            visits = (self.visits, some.lane)
            if chosen is waits:
                broken = self.fold(self.rules.wait, [visits], []).broken
            else:
                barriers = (self.barriers, self.places.cluster_of(some.lane))
                broken = self.fold(self.rules.arrive, [barriers, visits], []).broken
            if broken is not None:
                raise WaitingFault(broken.rule, _NOTES[broken.rule], some, broken.which)
        self.waiting = self.waiting.joined(threads.where(waits))

    def lose(self, lanes: np.ndarray) -> None:
        """Threads end."""
        if len(lanes):
            self.fold(self.rules.lose, [(self.barriers, self.places.cluster_of(lanes)), (self.visits, lanes)], [])

    def released(self) -> Waiting:
        """Those that may pass; they wait no longer."""
        if not len(self.waiting):
            return self.waiting
        lanes = self.waiting.lane
        rows = [(self.barriers, self.places.cluster_of(lanes)), (self.visits, lanes)]
        goes = self.fold(self.rules.passes, rows, []).results[0] != 0
        go, self.waiting = self.waiting.where(goes), self.waiting.where(~goes)
        return go

    def stuck(self, ended: np.ndarray) -> WaitingFault:
        """Who does not arrive, if nothing can run any more."""
        first = int(self.waiting.lane[0])
        arrivals = column(self.rules.Visits, self.visits, "arrivals")
        here = self.places.cluster_of(np.arange(self.places.lanes)) == self.places.cluster_of(np.array(first))
        here[ended] = False
        late = np.flatnonzero(here & (arrivals < arrivals[first]))
        own = int(late[0]) // self.places.threads % self.places.cluster
        note = (
            f"{len(late)} threads of the cluster, the first of them in the CTA of rank {own}, do not arrive at its "
            "barrier, and nothing else can run"
        )
        return WaitingFault("stuck barrier", note, self.waiting, 0)
