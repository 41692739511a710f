"""Where a thread of a batch stands among the others: its CTA, its warp, its lane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxspec.machine.batch import Waiting


class WaitingFault(Exception):
    """Threads wait in a way that breaks a rule. `lane` and `op` say which thread is reported, and where it waits."""

    def __init__(self, rule: str, note: str, waiting: Waiting, which: int):
        super().__init__(note)
        self.rule, self.note = rule, note
        self.lane, self.op = int(waiting.lane[which]), int(waiting.op[which])


class Places(NamedTuple):
    """The shape of a batch: `threads` of them are a CTA, `cluster` CTAs a cluster, `lanes` threads in all."""

    threads: int
    cluster: int
    lanes: int
    warp_size: int

    @property
    def warps_in_cta(self) -> int:
        return -(-self.threads // self.warp_size)

    @property
    def ctas(self) -> int:
        return -(-self.lanes // self.threads)

    @property
    def warps(self) -> int:
        return self.ctas * self.warps_in_cta

    def cta(self, lanes: np.ndarray) -> np.ndarray:
        return lanes // self.threads

    def cluster_of(self, lanes: np.ndarray) -> np.ndarray:
        return lanes // (self.threads * self.cluster)

    def warp(self, lanes: np.ndarray) -> np.ndarray:
        """The number of a thread's warp among all that are resident."""
        return lanes // self.threads * self.warps_in_cta + self.warp_in_cta(lanes)

    def warp_in_cta(self, lanes: np.ndarray) -> np.ndarray:
        return lanes % self.threads // self.warp_size

    def lane_in_warp(self, lanes: np.ndarray) -> np.ndarray:
        return lanes % self.threads % self.warp_size

    def bit(self, lanes: np.ndarray) -> np.ndarray:
        """The mask that names each thread's lane."""
        return np.int64(1) << self.lane_in_warp(lanes)
