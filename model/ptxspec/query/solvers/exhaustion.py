"""Questions with few inputs, settled by running every one of them: both sides as one compiled loop.

It is for what solvers do not settle, and its answer is of another kind than theirs: each input was run by the native
interpretation, and none was argued about. An input that is found is replayed by whoever asks, as a solver's model is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ptxspec.query.solvers.domains import BITS, InputRows, Numbered, in_order
from ptxspec.query.solvers.simple_first import chunks, simple_numbers, simple_ones_first
from ptxspec.terms.core import Bool
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import freedoms_in

#: inputs that are run between two looks at the clock, at most, as a power of two
CHUNK = 20
#: chunks of fewer inputs, as a power of two, and how small they may be
PARTS, LEAST = 11, 32


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
        why = f"the profile leaves a result open ({entry}), and a machine is no number to run"
        return Exhausted("unsupported", why, {})
    numbered = Numbered(given, types)
    total = numbered.total
    if total == 0:
        return Exhausted("vacuous", "no input meets the condition", {})
    if total > 1 << BITS:
        why = f"{math.log2(total):.1f} bits of input, in {', '.join(types)}: {BITS} are the most"
        return Exhausted("unsupported", why, {}, 0, total)
    rows = _Claim(claim, given, numbered)
    begun = time.monotonic()
    first = rows.simplest_of_all()
    if first is not None:
        return Exhausted("found", "found among inputs of simple values", numbered.values(first), 0, total)
    run = met = shown = 0
    for count, passed, first in in_order(rows.run, chunks(numbered, rows.chunk)):
        run, met = run + count, met + passed
        if progress is not None and (run - shown >= 1 << CHUNK or run == total):
            shown = run
            progress(run, total)
        if first is not None:
            return Exhausted("found", f"found after {run:,} inputs", numbered.values(first), run, total, met)
        seconds = time.monotonic() - begun
        if seconds > timeout and run < total:
            reason = f"{run:,} of {total:,} inputs run in {seconds:.1f} s, without a difference"
            return Exhausted("timeout", reason, {}, run, total, met)
    if not met:
        return Exhausted("vacuous", f"none of {total:,} inputs meets the condition", {}, run, total)
    reason = f"all {run:,} inputs were run" + (f", of which {met:,} meet the assumption" if met < run else "")
    return Exhausted("equal", reason, {}, run, total, met)


class _Claim(InputRows):
    """A claim and its condition, compiled."""

    def __init__(self, claim: Bool, given: Bool, numbered: Numbered):
        predicate = TYPES["pred"]
        super().__init__(numbered, [(predicate, given), (predicate, given & claim)], CHUNK, PARTS, LEAST)

    def run(self, start: int) -> tuple[int, int, int | None]:
        """(inputs of a chunk, how many meet the condition, the number of a simple one for which the claim holds)"""
        import numpy as np

        numbers = self.numbers(start)
        met, holds = self.columns(numbers)
        wrong = numbers[np.flatnonzero(holds)].tolist()
        return numbers.size, int(np.count_nonzero(met)), simple_ones_first(self.numbered, wrong)[0] if wrong else None

    def simplest_of_all(self) -> int | None:
        """The number of the simplest input among those of simple values for which the claim holds."""
        import numpy as np

        numbers = simple_numbers(self.numbered)
        if not numbers:
            return None
        _, holds = self.columns(np.array(numbers, np.uint32))
        return numbers[int(np.argmax(holds))] if holds.any() else None
