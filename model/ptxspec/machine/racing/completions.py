"""When the bytes of an asynchronous operation count as written: where it is complete, not where they landed.

Who hears that another operation of the thread is complete hears nothing of these bytes, though they may have landed by then. So
what an operation has accessed is looked at twice: where it happens, and where the operation is complete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Kernel
from ptxspec.machine.events import WORDS, EventKind
from ptxspec.terms.effects import Follow, Initiate
from ptxspec.terms.registries import ObjectCompletion

_KIND, _FIRST, _OP, _THREAD, _NUMBER = (
    WORDS.index(word) for word in ("kind", "first", "instruction", "thread", "operation")
)


class BegunOperation(NamedTuple):
    """An operation in flight: its thread, its instruction, and the rows of what it has accessed."""

    thread: tuple[int, int]
    op: int
    rows: list[np.ndarray]


class CompletedAccesses:
    """What the operations in flight of a kernel have accessed."""

    def __init__(self, kernel: Kernel):
        effects = {i: op.plan.meaning.effect for i, op in enumerate(kernel.code)}
        registers = contracts.state_spaces.OF_REGISTERS
        self._effects = {
            i: e for i, e in effects.items()
            if isinstance(e, Follow) or (isinstance(e, Initiate) and e.space != registers and not e.only_reads)
        }  # fmt: skip
        self._ops = list(self._effects)
        #: those whose reads count where they are complete: others may have read before
        self._reading = [
            i for i, e in self._effects.items()
            if isinstance(e, Initiate) and isinstance(e.completion, ObjectCompletion) and contracts.asynchrony.ends_with_cta(e.of)
        ]  # fmt: skip
        #: by their numbers, in the order in which they were initiated
        self._begun: dict[int, BegunOperation] = {}

    def repeated(self, rows: np.ndarray) -> np.ndarray:
        """Events, with what operations have accessed once more where these are complete."""
        if not self._ops:
            return rows
        kinds, numbers, ops = rows[:, _KIND], rows[:, _NUMBER], rows[:, _OP]
        ours = np.isin(ops, self._ops)
        accessed = ours & (numbers > 0)
        accessed &= (kinds == EventKind.WRITE) | ((kinds == EventKind.READ) & np.isin(ops, self._reading))
        completed = ours & (((kinds == EventKind.READ) & (numbers < 0)) | (kinds == EventKind.END))
        marks = np.flatnonzero(accessed | completed | (ours & (kinds == EventKind.INITIATE)))
        parts, told, at, ended = [], 0, 0, -1
        while at < len(marks):
            first = int(marks[at])
            number = abs(int(numbers[first]))
            if kinds[first] == EventKind.INITIATE:
                thread = int(rows[first, _FIRST]), int(rows[first, _THREAD])
                self._begun.pop(number, None)
                self._begun[number] = BegunOperation(thread, int(ops[first]), [])
                at += 1
            elif accessed[first]:
                end = at + 1
                while end < len(marks) and marks[end] == marks[end - 1] + 1 and accessed[marks[end]]:
                    if numbers[marks[end]] != number:
                        break
                    end += 1
                ended, at = int(marks[end - 1]) + 1, end
                self._begun[number].rows.append(rows[first:ended])
            else:
                before = self._completed(number, int(ops[first]))
                if before and ended != first:
                    parts += [rows[told:first], *before]
                    told = first
                at += 1
        for begun in self._begun.values():
            begun.rows[:] = [part.copy() for part in begun.rows if len(part)]
        return np.concatenate([*parts, rows[told:]]) if parts else rows

    def _completed(self, number: int, op: int) -> list[np.ndarray]:
        """An operation is complete, and those that it follows: what they have accessed."""
        begun = self._begun.get(number)
        if begun is None:
            return []
        effect, before = self._effects[op], [number]
        if isinstance(effect, Follow):
            earlier = list(self._begun)
            for other in earlier[: earlier.index(number)]:
                their = self._begun[other]
                if their.thread == begun.thread and self._effects[their.op].completion == effect.after:
                    before.append(other)
        return [part for each in before for part in self._begun.pop(each).rows]
