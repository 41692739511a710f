"""Threads that wait at instructions that a warp executes together."""

from __future__ import annotations

import numpy as np

from ptxspec import contracts
from ptxspec.machine.batch import Waiting, nobody
from ptxspec.machine.folding import Folder, records, words
from ptxspec.machine.waiting.places import Places, WaitingFault


class WarpCollectives:
    """Takes the steps of spec/machine/warps.md. `spelling` numbers the instructions' spellings, `patient` says which wait for
    whoever comes however long that takes."""

    def __init__(self, fold: Folder, places: Places, spelling: np.ndarray, patient: np.ndarray):
        self.fold, self.places, self.spelling, self.patient = fold, places, spelling, patient
        self.rules = contracts.warps()
        self.patience = records(self.rules.Patience, 1)
        self.waiting = nobody()

    def arrive(self, threads: Waiting) -> None:
        self.waiting = self.waiting.joined(threads)

    def complete(self, gone: np.ndarray) -> Waiting:
        """Those whose group is complete, with what they learn; they wait no longer. `gone` has the lanes of each warp that lack
        their thread. Raises WaitingFault for a thread that does not name its own lane."""
        waiting = self.waiting
        if not len(waiting):
            return waiting
        masked = waiting.named >= 0
        group, came = self._groups(waiting, masked)
        lanes = waiting.lane
        operands = [words(waiting.named, lanes), words(gone[self.places.warp(lanes)], lanes)]
        goes = (self.fold(self.rules.may_go, [(came, group)], operands).results[0] != 0) & masked
        learned = waiting.but(named=came[:, 0].view(np.int64)[group])
        self.waiting = waiting.where(~goes)
        return self._at_once(learned.where(goes))

    def look(self, some_go: bool, others_run: bool) -> Waiting:
        """Of those that wait for whoever comes, the ones that go on now, with what they learn; they wait no longer."""
        if not len(self.waiting) and not self.patience.any():
            return nobody()  # as a look would find
        free = self.waiting.named < 0
        impatient = free & ~self.patient[self.waiting.op]
        one = np.zeros(1, np.int64)
        given = [words(np.array([value]), one) for value in (bool(impatient.any()), some_go, others_run)]
        all_go, these_go = self.fold(self.rules.look, [(self.patience, one)], given).results[:, 0].tolist()
        may_go = free if all_go else impatient & bool(these_go)
        if not may_go.any():
            return nobody()
        waiting, warp = self.waiting, self.places.warp(self.waiting.lane)
        earliest = np.full(self.places.warps, np.iinfo(np.int64).max)
        np.minimum.at(earliest, warp[may_go], waiting.resume[may_go])
        goes = may_go & (waiting.resume == earliest[warp])
        together = waiting.where(goes)
        self.waiting = waiting.where(~goes)
        group, present = self._present(together, together.op)
        return self._at_once(together.but(named=present[group]))

    def _groups(self, waiting: Waiting, masked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the number of each thread's group, the records of all groups)"""
        lanes = waiting.lane
        places = [words(value, lanes) for value in (self.spelling[waiting.op], waiting.op, waiting.named, masked)]
        keys = self.fold(self.rules.group_of, [], places).results.view(np.int64)
        group = self._number(waiting, *keys)
        came = records(self.rules.Group, int(group.max(initial=0)) + 1)
        every = np.where(masked, waiting.named, self.rules.EVERYONE)
        operands = [words(every, lanes), words(self.places.lane_in_warp(lanes), lanes)]
        broken = self.fold(self.rules.join_group, [(came, group)], operands).broken
        if broken is not None:
            i = broken.which
            own = self.places.lane_in_warp(lanes)[i]
            raise WaitingFault(broken.rule, f"lane {own} is not in the mask {waiting.named[i]:#010x}", waiting, i)
        return group, came

    def _number(self, waiting: Waiting, *keys: np.ndarray) -> np.ndarray:
        """Numbers for threads, the same for those of one warp whose keys agree."""
        group = self.places.warp(waiting.lane)
        for key in keys:
            if (key == key[:1]).all():
                continue
            _, column = np.unique(key, return_inverse=True)
            _, group = np.unique(group * len(waiting) + column, return_inverse=True)
        return group

    def _present(self, threads: Waiting, *keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the number of each thread's group, for each group the lanes in it)"""
        group = self._number(threads, *keys)
        present = np.zeros(group.max(initial=0) + 1, np.int64)
        np.bitwise_or.at(present, group, self.places.bit(threads.lane))
        return group, present

    def _at_once(self, going: Waiting) -> Waiting:
        """Those that go on together, who learn in the upper half of what was named which lanes go on at the same place."""
        if not len(going):
            return going
        group, present = self._present(going, going.op)
        return going.but(named=going.named | present[group] << 32)

    def stuck(self) -> WaitingFault:
        """Who waits for whom, if nothing can run any more."""
        waiting = self.waiting
        named = np.flatnonzero(waiting.named >= 0)
        first = int(named[np.argmin(waiting.lane[named])])
        warp = self.places.warp(waiting.lane)
        mates = (warp == warp[first]) & (self.spelling[waiting.op] == self.spelling[waiting.op[first]])
        came = mates & (waiting.named == waiting.named[first])
        bits = int(np.bitwise_or.reduce(self.places.bit(waiting.lane[came])))
        note = f"lanes {bits:#010x} wait for lanes {int(waiting.named[first]):#010x}, and nothing else can run"
        if mates.sum() > came.sum():
            note += "; other lanes came under another mask"
        return WaitingFault("stuck warp", note, waiting, first)
