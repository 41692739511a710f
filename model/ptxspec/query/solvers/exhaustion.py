"""Questions with few inputs, settled by running every one of them: both sides as one compiled loop.

It is for what solvers do not settle, and its answer is of another kind than theirs: each input was run by the native
interpretation, and none was argued about. An input that is found is replayed by whoever asks, as a solver's model is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ptxspec.query.solvers.numbered import BITS, Numbered, in_order
from ptxspec.query.solvers.simple_first import chunks, simple_numbers, simplest
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import freedoms_in, substitute

#: inputs that are run between two looks at the clock, at most, as a power of two
CHUNK = 20
#: chunks of fewer inputs, as a power of two, and how small they may be
PARTS, LEAST = 11, 32
#: the name of the variable that counts within a chunk, and of the one that says where it begins
_ROW, _START = "%row", "%start"


class Exhausted(NamedTuple):
    """`status` is "equal" (every input was run and the claim holds for none), "found" (`values` has inputs for which it holds),
    "vacuous" (no input meets the condition), "timeout" or "unsupported". `run` inputs of `total` were run, of which `met` met the
    condition; `reason` says in words what was done, or why nothing was."""

    status: Literal["equal", "found", "vacuous", "timeout", "unsupported"]
    reason: str
    values: dict[str, Any]
    run: int = 0
    total: int = 0
    met: int = 0


def exhaust(
    claim: Bool,
    given: Bool,
    types: Mapping[str, Type],
    timeout: float,
    progress: Callable[[int, int], None] | None = None,
) -> Exhausted:
    """Whether a claim holds for some inputs of these types that meet the condition `given`, by running all that it
    leaves, of which there may be 2^32. An interval in which the condition alone keeps an input counts, such as `a < 256`;
    every other condition is asked of each input. Inputs of simple values are run first. `timeout` is in seconds; `progress` is
    called with the number of inputs that were run, and of all."""
    if freedoms_in(claim, given):
        entry = freedoms_in(claim, given)[0].attrs[0]
        return Exhausted(
            "unsupported", f"the profile leaves a result open ({entry}), and a machine is no number to run", {}
        )
    numbered = Numbered(given, types)
    total = numbered.total
    if total == 0:
        return Exhausted("vacuous", "no input meets the condition", {})
    if total > 1 << BITS:
        bits = math.log2(total)
        return Exhausted(
            "unsupported", f"{bits:.1f} bits of input, in {', '.join(types)}: {BITS} are the most", {}, 0, total
        )
    return _Run(claim, given, numbered).all(time.monotonic() + timeout, progress)


class _Run:
    """A claim and its condition, compiled as functions of the number of an input."""

    def __init__(self, claim: Bool, given: Bool, numbered: Numbered):
        from ptxspec.terms.loops import CompiledLoop, RowLoop

        self.numbered, self.total = numbered, numbered.total
        self.chunk = min(1 << CHUNK, max(LEAST, self.total >> PARTS))
        env = numbered.inputs(variable(_START, 32) + variable(_ROW, 32))
        met, holds = substitute(given, env), substitute(given & claim, env)
        predicate = TYPES["pred"]
        loop = RowLoop(
            ((_ROW, TYPES["u32"], True), (_START, TYPES["u32"], False)), ((predicate, met), (predicate, holds))
        )
        self._compiled = CompiledLoop(loop, _none)

    def all(self, deadline: float, progress: Callable[[int, int], None] | None) -> Exhausted:
        """Run every input, chunk by chunk, on all the processor's cores."""
        begun = time.monotonic()
        run = met = told = 0
        first = self._simple()
        if first is not None:
            values = self.numbered.values(first)
            return Exhausted("found", "found among inputs of simple values", values, 0, self.total)
        for counted, passed, first in in_order(self._one, chunks(self.numbered, self.chunk)):
            run, met = run + counted, met + passed
            if progress is not None and (run - told >= 1 << CHUNK or run == self.total):
                told = run
                progress(run, self.total)
            if first is not None:
                values = self.numbered.values(first)
                return Exhausted("found", f"found after {run:,} inputs", values, run, self.total, met)
            if time.monotonic() > deadline and run < self.total:
                spent = time.monotonic() - begun
                reason = f"{run:,} of {self.total:,} inputs run in {spent:.1f} s, without a difference"
                return Exhausted("timeout", reason, {}, run, self.total, met)
        if not met:
            return Exhausted("vacuous", f"none of {self.total:,} inputs meets the condition", {}, run, self.total)
        said = f"all {run:,} inputs were run" + (f", of which {met:,} meet the assumption" if met < run else "")
        return Exhausted("equal", said, {}, run, self.total, met)

    def _one(self, start: int) -> tuple[int, int, int | None]:
        """(inputs of a chunk, how many meet the condition, the number of a simple one for which the claim holds)"""
        import numpy as np

        count = min(self.chunk, self.total - start)
        rows = np.arange(count, dtype=np.uint32)
        met, holds = self._compiled([rows, np.array([start], np.uint32)], count)
        found = simplest(self.numbered, [start + int(i) for i in np.flatnonzero(holds)]) if holds.any() else None
        return count, int(np.count_nonzero(met)), found

    def _simple(self) -> int | None:
        """The number of the simplest input among those of simple values for which the claim holds."""
        import numpy as np

        numbers = simple_numbers(self.numbered)
        if not numbers:
            return None
        _, holds = self._compiled([np.array(numbers, np.uint32), np.zeros(1, np.uint32)], len(numbers))
        return numbers[int(np.argmax(holds))] if holds.any() else None


def _none(freedom: Any) -> Any:
    raise AssertionError(f"{freedom.attrs[0]} is open, and was to be refused")
