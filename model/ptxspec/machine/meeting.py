"""Where threads wait for one another: barriers of a CTA or a cluster, and instructions that a warp executes together."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ptxspec.machine.batch import Waiting, nobody
from ptxspec.machine.roles import Roles

#: the block at which a thread goes on that only left its mark at a barrier: it went on before
MARK = -1


class MeetingFault(Exception):
    """Threads wait in a way that breaks a rule. `lane` and `op` say which thread is reported, and where it waits."""

    def __init__(self, rule: str, note: str, waiting: Waiting, which: int):
        super().__init__(note)
        self.rule, self.note = rule, note
        self.lane, self.op = int(waiting.lane[which]), int(waiting.op[which])


def _first(waiting: Waiting, chosen: np.ndarray) -> int:
    """Of the chosen threads that wait, the one with the lowest lane."""
    places = np.flatnonzero(chosen)
    return int(places[np.argmin(waiting.lane[places])])


class Meetings:
    """The threads of one batch that wait: `threads` of them are a CTA, `cluster` CTAs a cluster, `lanes` in all."""

    def __init__(self, roles: Roles, threads: int, cluster: int, lanes: int):
        self.threads, self.cluster = threads, cluster
        self.clusters: Any = importlib.import_module("ptxspec.spec.machine.clusters")
        #: how often each thread has arrived at the barrier of its cluster, and how often it has waited there
        self.arrivals, self.departures = np.zeros((2, lanes), np.int64)
        self.barriers: Any = importlib.import_module("ptxspec.spec.machine.barriers")
        self.warps: Any = importlib.import_module("ptxspec.spec.machine.warps")
        self.size: int = self.warps.LANES
        self.warps_in_cta = -(-threads // self.size)
        self.is_gather, self.is_barrier, self.of_cluster = roles.is_gather, roles.is_barrier, roles.of_cluster
        self.patient, self.waits, self.counts, self.kind = roles.patient, roles.waits, roles.counts, roles.kind
        self.waiting = nobody()
        self.looks = self.idle_looks = 0

    def arrive(self, threads: Waiting) -> Waiting:
        """Note threads that have come; those of them that do not wait, and leave their mark, go on at once."""
        leave = ~self.waits[threads.op]
        marks = threads.but(resume=np.where(leave, MARK, threads.resume))
        if self.of_cluster.any():
            of_cluster = self.of_cluster[threads.op]
            self._come_to_cluster(threads.where(of_cluster))
            marks = marks.where(~(leave & of_cluster))
        self.waiting = self.waiting.joined(marks)
        return threads.where(leave)

    def _come_to_cluster(self, threads: Waiting) -> None:
        """Count arrivals at the barrier of a cluster. Raises MeetingFault where a thread arrives, or waits, twice in
        succession."""
        arrives = ~self.waits[threads.op]
        between = self.arrivals[threads.lane] > self.departures[threads.lane]
        wrong = arrives == between
        if wrong.any():
            i = _first(threads, wrong)
            rule, note = (
                ("second arrival", "the thread has arrived before, and not waited since")
                if arrives[i]
                else ("wait without arrival", "the thread has not arrived since it waited last, if it did")
            )
            raise MeetingFault(rule, note, threads, i)
        self.arrivals[threads.lane[arrives]] += 1
        self.departures[threads.lane[~arrives]] += 1

    @property
    def anybody(self) -> bool:
        """Whether a thread waits: marks are no threads."""
        return bool((self.waiting.resume != MARK).any())

    def released(self, ended: np.ndarray, others_run: bool) -> Waiting:
        """Those that may go on now, with what they learn; `ended` are the lanes that have ended. Raises MeetingFault where a
        rule is broken and, if no others run, where threads wait that nothing can release."""
        waiting = self.waiting
        warps, barriers = waiting.where(self.is_gather[waiting.op]), waiting.where(self.is_barrier[waiting.op])
        through, clusters = self._clusters(waiting.where(self.of_cluster[waiting.op]), ended)
        missing = self._missing(ended, waiting)
        together, warps = self._warps(warps, missing)
        go_on, barriers = self._barriers(barriers, missing, ended)
        go = together.joined(go_on).joined(through)
        together, warps = self._those_present(warps, self._let_go(warps, len(go) > 0, others_run))
        go = go.joined(together)
        self.waiting = warps.joined(barriers).joined(clusters)
        if not len(go) and not others_run and self.anybody:
            self._stuck(warps, barriers, clusters, ended)
        return go.where(go.resume != MARK)

    def _let_go(self, waiting: Waiting, some_go: bool, others_run: bool) -> np.ndarray:
        """Of the lanes that wait, those that wait for whoever comes and have waited long enough."""
        free = waiting.named < 0
        if not some_go and not others_run:
            self.looks = self.idle_looks = 0
            return free
        impatient = free & ~self.patient[waiting.op]
        if not impatient.any():
            self.looks = self.idle_looks = 0
            return impatient
        self.looks += 1
        self.idle_looks = 0 if some_go else self.idle_looks + 1
        if self.idle_looks <= self.warps.PATIENCE and self.looks <= self.warps.PATIENCE_IN_ALL:
            return impatient & False
        self.looks = self.idle_looks = 0
        return impatient

    # warps ---------------------------------------------------------------------------------------------------------------

    def _lane_in_warp(self, lanes: np.ndarray) -> np.ndarray:
        return lanes % self.threads % self.size

    def _bit(self, lanes: np.ndarray) -> np.ndarray:
        return np.int64(1) << self._lane_in_warp(lanes)

    def _warp(self, lanes: np.ndarray) -> np.ndarray:
        """The number of a lane's warp among all that are resident."""
        return lanes // self.threads * self.warps_in_cta + lanes % self.threads // self.size

    def _missing(self, ended: np.ndarray, waiting: Waiting) -> np.ndarray:
        """For each warp of the batch, as far as one waits, the lanes that never come: ended, or without a thread."""
        slots = 1 + int(max(ended.max(initial=0), waiting.lane.max(initial=0))) // self.threads
        missing = np.zeros(slots * self.warps_in_cta, np.int64)
        last = self.threads % self.size
        if last:
            missing[self.warps_in_cta - 1 :: self.warps_in_cta] = (1 << self.size) - (1 << last)
        np.bitwise_or.at(missing, self._warp(ended), self._bit(ended))
        return missing

    def _groups(self, waiting: Waiting, *keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(for each thread the number of its group, for each group the lanes in it): those of one warp whose keys agree"""
        group = self._warp(waiting.lane)
        for key in keys:
            if (key == key[:1]).all():
                continue
            _, column = np.unique(key, return_inverse=True)
            _, group = np.unique(group * len(waiting) + column, return_inverse=True)
        present = np.zeros(group.max(initial=0) + 1, np.int64)
        np.bitwise_or.at(present, group, self._bit(waiting.lane))
        return group, present

    def _warps(self, waiting: Waiting, missing: np.ndarray) -> tuple[Waiting, Waiting]:
        """(those whose partners have all come, the others)"""
        if not len(waiting):
            return waiting, waiting
        named = waiting.named >= 0
        outside = named & (waiting.named & self._bit(waiting.lane) == 0)
        if outside.any():
            i = _first(waiting, outside)
            note = f"lane {self._lane_in_warp(waiting.lane)[i]} is not in the mask {waiting.named[i]:#010x}"
            raise MeetingFault("own lane", note, waiting, i)
        place = np.where(named, self.kind[waiting.op], waiting.op + len(self.kind))
        group, present = self._groups(waiting, place, waiting.named)
        wanted = np.where(named, waiting.named, (1 << self.size) - 1) & ~missing[self._warp(waiting.lane)]
        goes = wanted & ~present[group] == 0
        learned = waiting.but(named=present[group])
        return self._at_once(learned.where(goes)), waiting.where(~goes)

    def _at_once(self, going: Waiting) -> Waiting:
        """Those that go on together, who learn in the upper half of what was named which lanes go on at the same place."""
        if not len(going):
            return going
        group, present = self._groups(going, going.op)
        return going.but(named=going.named | present[group] << 32)

    def _those_present(self, waiting: Waiting, may_go: np.ndarray) -> tuple[Waiting, Waiting]:
        """(of those that may go without others, in each warp the ones at the first place in the order of the blocks; the
        others)"""
        if not may_go.any():
            return waiting.where(may_go), waiting
        warp = self._warp(waiting.lane)
        earliest = np.full(warp.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(earliest, warp[may_go], waiting.resume[may_go])
        goes = may_go & (waiting.resume == earliest[warp])
        together = waiting.where(goes)
        group, present = self._groups(together, together.op)
        return self._at_once(together.but(named=present[group])), waiting.where(~goes)

    # clusters ------------------------------------------------------------------------------------------------------------

    def _clusters(self, waiting: Waiting, ended: np.ndarray) -> tuple[Waiting, Waiting]:
        """(those that may pass the barrier of their cluster, the others)"""
        if not len(waiting):
            return waiting, waiting
        goes = self.clusters.passes(self.arrivals[waiting.lane], self._fewest(ended)[self._in_cluster(waiting.lane)])
        return waiting.where(goes), waiting.where(~goes)

    def _in_cluster(self, lanes: np.ndarray) -> np.ndarray:
        return lanes // (self.threads * self.cluster)

    def _fewest(self, ended: np.ndarray) -> np.ndarray:
        """For each cluster, how often each of its threads that have not ended has arrived at the least."""
        arrivals = self.arrivals.copy()
        arrivals[ended] = np.iinfo(np.int64).max
        return arrivals.reshape(-1, self.threads * self.cluster).min(axis=1)

    # barriers ------------------------------------------------------------------------------------------------------------

    def _barriers(self, waiting: Waiting, missing: np.ndarray, ended: np.ndarray) -> tuple[Waiting, Waiting]:
        """(those whose barrier is complete, the others)"""
        if not len(waiting):
            return waiting, waiting
        page = self.barriers
        beyond = (waiting.number < 0) | (waiting.number >= page.BARRIERS)
        if beyond.any():
            i = _first(waiting, beyond)
            raise MeetingFault("barrier number", f"barrier {waiting.number[i]}", waiting, i)
        wrong = (waiting.named == 0) | ((waiting.named > 0) & (waiting.named % self.size != 0))
        if wrong.any():
            i = _first(waiting, wrong)
            raise MeetingFault("barrier count", f"{waiting.named[i]} threads", waiting, i)
        slot = waiting.lane // self.threads
        groups, leader, group, counts = np.unique(
            slot * page.BARRIERS + waiting.number, return_index=True, return_inverse=True, return_counts=True
        )
        others = waiting.named != waiting.named[leader][group]
        if others.any():
            i = _first(waiting, others)
            both = sorted({int(waiting.named[i]), int(waiting.named[leader][group[i]])})
            shown = " and ".join("all" if n < 0 else str(n) for n in both)
            raise MeetingFault("barrier counts differ", f"barrier {waiting.number[i]}: {shown}", waiting, i)
        counting = self.counts[waiting.op]
        mixed = counting != counting[leader][group]
        if mixed.any():
            i = _first(waiting, mixed)
            note = f"barrier {waiting.number[i]}: some come for a reduction, others not"
            raise MeetingFault("barrier kinds differ", note, waiting, i)
        alive = self.threads - np.bincount(ended // self.threads, minlength=len(missing) // self.warps_in_cta)
        phase = np.full(len(waiting), -1)
        for g in range(len(groups)):
            named = int(waiting.named[leader[g]])
            if named < 0:
                if page.completes(int(counts[g]), None, int(alive[groups[g] // page.BARRIERS])):
                    phase[group == g] = 0
            elif counts[g] + self.warps_in_cta * self.size - alive[groups[g] // page.BARRIERS] >= named:
                members = np.flatnonzero(group == g)
                phase[members] = self._phases(waiting.lane[members], missing, named)
        goes = phase >= 0
        if not goes.any():
            return waiting.where(goes), waiting
        _, round_of, came = np.unique(group[goes] * len(waiting) + phase[goes], return_inverse=True, return_counts=True)
        holding = np.zeros(len(came), np.int64)
        np.add.at(holding, round_of, waiting.value[goes])
        learned = waiting.where(goes).but(named=came[round_of], value=holding[round_of])
        return learned, waiting.where(~goes)

    def _phases(self, lanes: np.ndarray, missing: np.ndarray, named: int) -> np.ndarray:
        """For each arrival at a barrier, in the order in which they came, how many times the barrier has completed before; −1
        for those after its last completion. The lanes that a warp lacks come with the last one that it has."""
        phases = np.full(len(lanes), -1)
        warps, bits = self._warp(lanes).tolist(), self._bit(lanes).tolist()
        comes_later: list[int] = []  # the lanes of the warp of which there is an arrival after this one
        later: dict[int, int] = {}
        for warp, own in zip(reversed(warps), reversed(bits), strict=True):
            comes_later.append(later.get(warp, 0))
            later[warp] = later.get(warp, 0) | own
        comes_later.reverse()
        begin = phase = 0
        came: dict[int, int] = {}
        total = 0
        for i, (warp, own) in enumerate(zip(warps, bits, strict=True)):
            before = came.get(warp, 0)
            came[warp] = now = before | own
            total += 1
            lacks = int(missing[warp]) & ~now & ~comes_later[i]
            if now | lacks == (1 << self.size) - 1 and before != now:
                total += lacks.bit_count()
            if self.barriers.completes(total, named, 0):
                phases[begin : i + 1] = phase
                begin, phase, total, came = i + 1, phase + 1, 0, {}
        return phases

    def _stuck(self, warps: Waiting, barriers: Waiting, clusters: Waiting, ended: np.ndarray) -> None:
        """Say who waits for whom, where nothing can run any more."""
        real = np.flatnonzero(barriers.resume != MARK)
        if len(warps):
            first = _first(warps, warps.named >= 0)
            warp = self._warp(warps.lane)
            mates = (warp == warp[first]) & (self.kind[warps.op] == self.kind[warps.op[first]])
            came = mates & (warps.named == warps.named[first])
            bits = int(np.bitwise_or.reduce(self._bit(warps.lane[came])))
            note = f"lanes {bits:#010x} wait for lanes {int(warps.named[first]):#010x}, and nothing else can run"
            if mates.sum() > came.sum():
                note += "; other lanes came under another mask"
            raise MeetingFault("stuck warp", note, warps, first)
        if not len(real):
            raise self._stuck_in_cluster(clusters, ended)
        first = int(real[0])
        slot = barriers.lane // self.threads
        here = slot == slot[first]
        mates = here & (barriers.number == barriers.number[first])
        elsewhere = here & ~mates
        gone = int((ended // self.threads == slot[first]).sum())
        wanted = self.threads - gone if barriers.named[first] < 0 else int(barriers.named[first])
        note = f"{mates.sum()} threads wait at barrier {barriers.number[first]} for {wanted}, and nothing else can run"
        if elsewhere.any():
            note += f"; {elsewhere.sum()} threads of the CTA wait at barrier {barriers.number[elsewhere][0]}"
        if gone:
            note += f"; {gone} threads of the CTA have ended"
        raise MeetingFault("stuck barrier", note, barriers, first)

    def _stuck_in_cluster(self, waiting: Waiting, ended: np.ndarray) -> MeetingFault:
        here = self._in_cluster(np.arange(len(self.arrivals))) == self._in_cluster(waiting.lane)[0]
        here[ended] = False
        late = np.flatnonzero(here & (self.arrivals < self.arrivals[waiting.lane[0]]))
        own = int(late[0]) // self.threads % self.cluster
        note = (
            f"{len(late)} threads of the cluster, the first of them in the CTA of rank {own}, do not arrive at its barrier, "
            "and nothing else can run"
        )
        return MeetingFault("stuck barrier", note, waiting, 0)
