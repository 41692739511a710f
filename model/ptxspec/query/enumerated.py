"""Refinements settled by every input, where the left side has approximate results.

The right side and what is demanded of the left one are one compiled loop. Whether a result is within its bound is asked of
many inputs side by side (`terms.lanes`); those so near to a bound that this does not tell are judged by the page, one by one
and with fractions. What does not meet a demand is looked at again, by the exact interpretation, by whoever asks.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.query.demands import Demands, Near
from ptxspec.query.solvers.numbered import BITS, Numbered, in_order
from ptxspec.query.solvers.simple_first import chunks, simple_numbers, simple_ones_first
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import is_allowed, substitute

if TYPE_CHECKING:
    import numpy as np

#: inputs of a chunk, at most, as a power of two: columns of so many numbers stay near to the processor
CHUNK = 16
#: chunks of fewer inputs, as a power of two, and how small they may be
PARTS, LEAST = 6, 256
#: bits of an operand of an approximate result
WORD = 64
_ROW, _START = "%row", "%start"


class Ran(NamedTuple):
    """A chunk that was run: its inputs, how many of them count, the numbers of those that need another look, those that the page
    was asked about one by one, and whether all was done before the time was over."""

    inputs: int
    met: int
    suspects: list[int]
    judged: int
    done: bool


def enumerated(
    given: Bool,
    demanded: Demands,
    types: Mapping[str, Type],
    seconds: float,
    progress: Callable[[int, int], None] | None,
    look: Callable[[dict[str, Any]], Verdict | None],
) -> Verdict | None:
    """The verdict by every input that meets `given`: None if there are more than 2^32, or an operand has more
    than 64 bits. Neither it nor the demands have open
    results. look(inputs) gives the verdict where inputs show that the claim does not hold, or that this cannot be told."""
    numbered = Numbered(given, types)
    total = numbered.total
    wide = any(max(a.hi, ~a.lo).bit_length() > WORD for one in demanded.near for a in one.freedom.args)
    if total > 1 << BITS or wide:
        return None
    begun = time.monotonic()
    run = met = judged = 0
    work = _Run(given, demanded, numbered, begun + seconds) if total else None
    for ran in itertools.chain([work.simple()], in_order(work, chunks(numbered, work.chunk))) if work else ():
        for number in ran.suspects:
            found = look(numbered.values(number))
            if found is not None:
                return found
            if time.monotonic() > begun + seconds:
                return Verdict("approximated", _unfinished(run, total, time.monotonic() - begun, False))
        run, met, judged = run + ran.inputs, met + ran.met, judged + ran.judged
        if progress is not None:
            progress(run, total)
        spent = time.monotonic() - begun
        if not ran.done or (spent > seconds and run < total):
            return Verdict("approximated", _unfinished(run, total, spent, ran.done))
    if not met:
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    said = f"every input was run, {total:,}: the left side allows what the right one leaves"
    return Verdict("exhausted", said + (f"; {judged:,} near to a bound were decided by fractions" if judged else ""))


def _unfinished(run: int, total: int, spent: float, done: bool) -> str:
    looked = f"{run:,} of {total:,} inputs were run in {spent:.0f} s, and the bound allows what was looked at"
    if not run:
        return looked
    return f"{looked}; all of them would take about {spent * total / run:,.0f} s" + ("" if done else " or more")


class _Run:
    """Demands compiled as functions of the number of an input."""

    def __init__(self, given: Bool, demanded: Demands, numbered: Numbered, deadline: float):
        from ptxspec.terms.loops import CompiledLoop, RowLoop

        self.numbered, self.total, self.deadline = numbered, numbered.total, deadline
        self.chunk = min(1 << CHUNK, max(LEAST, self.total >> PARTS))
        env = numbered.inputs(variable(_START, 32) + variable(_ROW, 32))
        memo: dict[int, Any] = {}
        predicate = TYPES["pred"]
        outputs: list[tuple[Type, Any]] = [(predicate, given), (predicate, demanded.plain)]
        self.near = []
        for one in demanded.near:
            self.near.append(_Bounded(one, len(outputs)))
            outputs += self.near[-1].outputs
        terms = tuple((type, substitute(term, env, memo)) for type, term in outputs)
        loop = RowLoop(((_ROW, TYPES["u32"], True), (_START, TYPES["u32"], False)), terms)
        self._compiled = CompiledLoop(loop, _none)

    def __call__(self, start: int) -> Ran:
        import numpy as np

        count = min(self.chunk, self.total - start)
        ran = self._ran(np.arange(count, dtype=np.uint32), start)
        return ran._replace(suspects=simple_ones_first(self.numbered, [start + i for i in ran.suspects]))

    def simple(self) -> Ran:
        """The inputs of simple values, which count for nothing: they are run once more in their chunks."""
        import numpy as np

        numbers = simple_numbers(self.numbered)
        if not numbers:
            return Ran(0, 0, [], 0, True)
        ran = self._ran(np.array(numbers, np.uint32), 0)
        return Ran(0, 0, [numbers[i] for i in ran.suspects], 0, True)

    def _ran(self, rows: np.ndarray, start: int) -> Ran:
        """Some inputs, counted from a number on. Suspects are told by their places."""
        import numpy as np

        count = rows.size
        columns = self._compiled([rows, np.array([start], np.uint32)], count)
        met, good = columns[:2]
        good = good | ~met
        judged, done = 0, True
        for one in self.near:
            allowed, own, its = one.ask(columns, met, self.deadline)
            good, judged, done = good & allowed, judged + own, done and its
        suspects = [int(i) for i in np.flatnonzero(~good)] if not good.all() else []
        return Ran(count, int(np.count_nonzero(met)), suspects, judged, done)


class _Bounded:
    """An approximate result, and the places of its columns among those of a loop."""

    def __init__(self, near: Near, first: int):
        from ptxspec.terms.lanes import Judge, UnfitLanes

        self.freedom = near.freedom
        self.places = [i for i, a in enumerate(near.freedom.args) if a.op != "const"]
        operands = [near.freedom.args[i] for i in self.places]
        self.outputs = [(TYPES["pred"], near.reached), *((_holding(t), t) for t in (near.bits, *operands))]
        self.columns = slice(first, first + len(self.outputs))
        try:
            self.judge: Judge | None = Judge(self.freedom)
        except UnfitLanes:
            self.judge = None

    def ask(self, columns: list[np.ndarray], met: np.ndarray, deadline: float) -> tuple[np.ndarray, int, bool]:
        """(whether the result is within its bound, wherever it is reached and the input counts; how many were asked about one by
        one; whether there was time for all)"""
        import numpy as np

        reached, bits, *operands = columns[self.columns]
        lanes = np.flatnonzero(reached & met)
        if lanes.size < met.size:
            bits, operands = bits[lanes], [o[lanes] for o in operands]
        if self.judge is None:
            allowed, known = np.zeros((2, lanes.size), bool)
        else:
            allowed, known = self.judge(bits, operands)
        open_ones = np.flatnonzero(~known)
        for i in open_ones:
            if time.monotonic() > deadline:
                return np.ones(met.size, bool), 0, False
            allowed[i] = is_allowed(self.freedom, self._operands([int(o[i]) for o in operands]), int(bits[i]))
        found = np.ones(met.size, bool)
        found[lanes] = allowed
        return found, open_ones.size, True

    def _operands(self, given: list[int]) -> tuple[int, ...]:
        """All operands of the freedom, of which those that are no constants are given."""
        rest = iter(given)
        return tuple(a.attrs[0] if a.op == "const" else _signed(next(rest), a) for a in self.freedom.args)


def _signed(value: int, term: Any) -> int:
    """The number that the low 64 bits of a term's value stand for."""
    return value - (1 << 64) if term.lo < 0 and value >> 63 else value


def _holding(term: Any) -> Type:
    """A type whose bits hold a term's values."""
    return TYPES["u32"] if term.lo >= 0 and term.hi < 1 << 32 else TYPES["u64"]


def _none(freedom: Any) -> Any:
    raise AssertionError(f"{freedom.attrs[0]} is open, and was to be chosen")
