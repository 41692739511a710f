"""The barriers of the CTAs of a batch, and the threads that wait there."""

from __future__ import annotations

import numpy as np

from ptxspec import contracts
from ptxspec.machine.batch import Waiting, nobody
from ptxspec.machine.folding import Folder, column, records, words
from ptxspec.machine.waiting.places import Places, WaitingFault


class CtaBarriers:
    """Takes the steps of spec/machine/barriers.md. `reductions` says of each instruction whether it is one."""

    def __init__(self, fold: Folder, places: Places, reductions: np.ndarray):
        self.fold, self.places, self.reductions = fold, places, reductions
        self.rules = contracts.barriers()
        count = places.ctas * self.rules.BARRIERS
        self.barriers = records(self.rules.Barrier, count)
        self.parts = records(self.rules.Part, count * places.warps_in_cta)
        self.waiting = nobody()
        #: for each thread that waits, the number of its barrier in the batch and the phase in which it arrived
        self.place, self.phase = np.zeros((2, 0), np.int64)
        #: of the phases that are over since threads were released last: barrier, phase, arrivals, predicates that hold
        self.over: list[np.ndarray] = []

    def arrive(self, threads: Waiting, waits: np.ndarray, gone: np.ndarray, alive: np.ndarray) -> None:
        """Threads arrive in this order; those that wait are kept. Raises WaitingFault where a rule is broken."""
        if not len(threads):
            return
        lanes, whole, reduction = threads.lane, threads.named < 0, self.reductions[threads.op]
        known = (threads.number >= 0) & (threads.number < self.rules.BARRIERS)
        place = self.places.cta(lanes) * self.rules.BARRIERS + np.where(known, threads.number, 0)
        columns = (
            threads.number, threads.named, whole, reduction, threads.value, self.places.lane_in_warp(lanes),
            gone[self.places.warp(lanes)], alive[self.places.cta(lanes)],
        )  # fmt: skip
        arrivals = np.stack([words(column, lanes) for column in columns], axis=1)
        rows = [(self.barriers, place), (self.parts, self._part(place, lanes)), (arrivals, np.arange(len(lanes)))]
        results, broken = self.fold(self.rules.arrive, rows, [])
        if broken is not None:
            raise self._fault(broken.rule, threads, broken.which, int(place[broken.which]))
        self._note(results, place)
        self.waiting = self.waiting.joined(threads.where(waits))
        self.place = np.concatenate([self.place, place[waits]])
        self.phase = np.concatenate([self.phase, results[1].view(np.int64)[waits]])

    def lose(self, lanes: np.ndarray, gone: np.ndarray, alive: np.ndarray) -> None:
        """Threads end, in this order; `gone` and `alive` are, for each, those of its warp and CTA right after it has."""
        used = np.flatnonzero(self._field("arrived") | self._field("missing"))
        if not len(used) or not len(lanes):
            return
        cta = self.places.cta(lanes)
        which, barrier = np.nonzero(cta[:, None] == used[None, :] // self.rules.BARRIERS)
        if not len(which):
            return
        lanes, place = lanes[which], used[barrier]
        operands = (self.places.lane_in_warp(lanes), gone[which], alive[which])
        rows = [(self.barriers, place), (self.parts, self._part(place, lanes))]
        results, _ = self.fold(self.rules.lose, rows, [words(o, lanes) for o in operands])
        self._note(results, place)

    def released(self) -> Waiting:
        """Those whose phase is over, with what they learn; they wait no longer."""
        if not len(self.waiting):
            return self.waiting
        goes = self.phase < self._field("phase")[self.place]
        if not goes.any():
            return nobody()
        over = np.concatenate(self.over, axis=1)
        keys = self._key(over[0], over[1])
        order = np.argsort(keys)
        found = order[np.searchsorted(keys, self._key(self.place[goes], self.phase[goes]), sorter=order)]
        go = self.waiting.where(goes).but(named=over[2, found], value=over[3, found])
        self.waiting, self.place, self.phase = self.waiting.where(~goes), self.place[~goes], self.phase[~goes]
        self.over = []  # whoever waited in a phase that is over has gone on
        return go

    def _field(self, name: str) -> np.ndarray:
        return column(self.rules.Barrier, self.barriers, name)

    def _part(self, place: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        return place * self.places.warps_in_cta + self.places.warp_in_cta(lanes)

    def _key(self, place: np.ndarray, phase: np.ndarray) -> np.ndarray:
        """A number for each phase of each barrier."""
        return phase * len(self.barriers) + place

    def _note(self, results: np.ndarray, place: np.ndarray) -> None:
        done = np.flatnonzero(results[0])
        if len(done):
            self.over.append(np.stack([place[done], *results[1:, done].view(np.int64)]))

    def _fault(self, rule: str, threads: Waiting, which: int, place: int) -> WaitingFault:
        number, named = int(threads.number[which]), int(threads.named[which])
        names = [int(self._field("named")[place]) or -1, named]
        notes = {
            "barrier number": f"barrier {number}",
            "barrier count": f"{named} threads",
            "barrier counts differ": f"barrier {number}: "
            + " and ".join("all" if n < 0 else str(n) for n in sorted(names)),
            "barrier kinds differ": f"barrier {number}: some come for a reduction, others not",
        }
        return WaitingFault(rule, notes[rule], threads, which)

    def stuck(self, ended: np.ndarray) -> WaitingFault:
        """Who waits where, if nothing can run any more."""
        waiting, first = self.waiting, 0
        cta = self.places.cta(waiting.lane)
        here = cta == cta[first]
        mates = here & (waiting.number == waiting.number[first])
        elsewhere = here & ~mates
        gone = int((self.places.cta(ended) == cta[first]).sum())
        wanted = self.places.threads - gone if waiting.named[first] < 0 else int(waiting.named[first])
        number = waiting.number[first]
        note = f"{mates.sum()} threads wait at barrier {number} for {wanted}, and nothing else can run"
        if elsewhere.any():
            note += f"; {elsewhere.sum()} threads of the CTA wait at barrier {waiting.number[elsewhere][0]}"
        if gone:
            note += f"; {gone} threads of the CTA have ended"
        return WaitingFault("stuck barrier", note, waiting, first)
