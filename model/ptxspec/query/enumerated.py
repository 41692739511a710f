"""Refinements settled by every input, where the left side has approximate results.

The left side of a refinement may choose what it leaves open. Where an open result is the whole of what a register holds in the
end, it is chosen as the right side has it, and the demand is that this is allowed. An open result that goes into a further
computation is chosen as a profile does; whether that was a good choice shows where the results are compared. A demand that is
met by such choices is a behaviour of the left side; one that is not met by them may be met by others.

The right side and what is demanded of the left one are one compiled loop. Whether a result is within its bound is asked of
many inputs side by side (`terms.lanes`); those so near to a bound that this does not tell are judged by the page, one by one
and with fractions. What does not meet a demand is looked at again, by the exact interpretation, by whoever asks.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.query.solvers.domains import BITS, InputRows, Numbered, in_order
from ptxspec.query.solvers.simple_first import chunks, simple_numbers, simple_ones_first
from ptxspec.query.undefined import needed
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, make, truth
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import DEVIATION, TRUE, Approximation, condition, is_allowed, low_bits, rebuilt

if TYPE_CHECKING:
    import numpy as np

#: inputs of a chunk, at most, as a power of two: columns of so many numbers stay near to the processor
CHUNK = 16
#: chunks of fewer inputs, as a power of two, and how small they may be
PARTS, LEAST = 6, 256
#: bits of an operand of an approximate result
WORD = 64
#: parts of one register, after which it is not looked into any more: selections of one another double them each time
MOST_PARTS = 256


class NotChosen(Exception):
    """An open result goes into a further computation, and nothing says how it is to be chosen; or a register has too many
    parts."""


class Near(NamedTuple):
    """That some bits must be within the bound of an approximate result, where this is `reached`: the freedom and the bits are
    terms without open results below them."""

    reached: Bool
    freedom: Any
    bits: Any


class Demands(NamedTuple):
    """That whatever is not approximate is as it must be, and the approximate results."""

    plain: Bool
    near: tuple[Near, ...]


class _Part(NamedTuple):
    """What a register holds under a condition: an open result as it is, or a term."""

    condition: Bool
    term: Any
    is_open: bool


def demands(
    left: Mapping[str, Any], right: Mapping[str, Any], compared: Mapping[str, Type], profile: Profile
) -> Demands:
    """The demands that the left side allows what the right one, which has no open results, leaves in the registers compared.
    `profile` chooses what goes into further computations of the left side. Raises NotChosen."""
    settled = _Settled(profile)
    plain: Bool = TRUE
    near, open_ones = [], []
    for name, term in left.items():
        type, wanted = compared[name], right[name]
        if type.kind == "pred":
            plain = plain & (settled(truth(term)) == truth(wanted))
            continue
        wanted = low_bits(wanted, type.width)
        for number, part in enumerate(_parts(low_bits(term, type.width))):
            if number == MOST_PARTS:
                raise NotChosen(name)
            here = settled(part.condition)
            if not part.is_open:
                plain = plain & (~here | (settled(part.term) == wanted))
                continue
            freedom = make("freedom", tuple(map(settled, part.term.args)), part.term.attrs)
            bits = low_bits(wanted, freedom.attrs[1])
            plain = plain & (~here | (bits == wanted))
            open_ones.append((here, freedom, bits))
    needs = needed(left.values())
    inner = [(settled(needs[id(f)]), *made) for f, made in settled.made.items()]
    for here, freedom, bits in (*open_ones, *inner):
        allowed = freedom.attrs[4]
        if freedom.attrs[2] == DEVIATION:  # what is documented
            plain = plain & (~here | (bits == freedom.args[0]))
        elif isinstance(allowed, Approximation):
            near.append(Near(here, freedom, bits))
        elif allowed is not None:
            plain = plain & (~here | condition(allowed, bits, freedom.args))
    return Demands(plain & one_machine(itertools.combinations([*open_ones, *inner], 2)), tuple(near))


#: a choice that is made: where it is, the freedom with its operands, and the bits
Made = tuple[Bool, Any, Any]


def one_machine(pairs: Iterable[tuple[Made, Made]], holds: Bool = TRUE) -> Bool:
    """That one freedom has one choice for equal operands, in each pair of choices."""
    for (here, first, x), (there, second, y) in pairs:
        if first.attrs == second.attrs:
            operands = zip(first.args, second.args, strict=True)
            holds = holds & reduce(or_, (a != b for a, b in operands), ~(here & there) | (x == y))
    return holds


def _parts(term: Any) -> Iterator[_Part]:
    """What a register holds, by the conditions under which it does: what is selected, cut and known to be within bounds is looked
    through, as `terms.exact.allows` does."""
    stack = [(term, TRUE, None)]
    while stack:
        part, here, kept = stack.pop()
        if part.op == "select":
            stack += [(part.args[1], here & part.args[0], kept), (part.args[2], here & ~part.args[0], kept)]
        elif part.op in ("low", "bounded"):
            cut = part.attrs[0] if part.op == "low" else kept
            stack.append((part.args[0], here, cut if kept is None else min(kept, cut)))
        elif part.op == "freedom" and (kept is None or kept >= part.attrs[1]):
            yield _Part(here, part, True)
        else:
            yield _Part(here, part if kept is None else low_bits(part, kept), False)


class _Settled:
    """Terms with all open results chosen; `made` has what was chosen, by the freedom as it stood: the freedom with its operands
    settled, and the bits."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self.made: dict[Any, tuple[Any, Any]] = {}
        self._memo: dict[int, Any] = {}
        self._kept: list[Any] = []

    def __call__(self, term: Any) -> Any:
        self._kept.append(term)  # the memo goes by id
        return rebuilt(term, self._chosen, self._memo)

    def _chosen(self, term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "freedom":
            return None
        freedom = make("freedom", args, term.attrs)
        allowed, width = freedom.attrs[4], freedom.attrs[1]
        if self.profile.chooses(freedom):
            bits = self.profile.term(freedom)
        elif isinstance(allowed, Approximation) and allowed.rounded is not None:
            bits = low_bits(allowed.rounded(*args), width)
        else:
            raise NotChosen(freedom.attrs[0])
        self.made[term] = freedom, bits
        return bits


# every input --------------------------------------------------------------------------------------------------------


class _Chunk(NamedTuple):
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
    """The verdict by every input that meets `given`: None if there are more than 2^32, or an operand has more than 64 bits.
    Neither it nor the demands have open results. look(inputs) gives the verdict where inputs show that the claim does not hold,
    or that this cannot be told."""
    numbered = Numbered(given, types)
    total = numbered.total
    wide = any(max(a.hi, ~a.lo).bit_length() > WORD for near in demanded.near for a in near.freedom.args)
    if total > 1 << BITS or wide:
        return None
    begun = time.monotonic()
    run = met = judged = 0

    def unfinished(seconds: float, done: bool) -> Verdict:
        reason = f"{run:,} of {total:,} inputs were run in {seconds:.0f} s, and the bound allows what was looked at"
        if run:
            more = "" if done else " or more"
            reason += f"; all of them would take about {seconds * total / run:,.0f} s{more}"
        return Verdict("approximated", reason)

    rows = _Rows(given, demanded, numbered, begun + seconds) if total else None
    for chunk in itertools.chain([rows.simple()], in_order(rows, chunks(numbered, rows.chunk))) if rows else ():
        for number in chunk.suspects:
            verdict = look(numbered.values(number))
            if verdict is not None:
                return verdict
            if time.monotonic() > begun + seconds:
                return unfinished(time.monotonic() - begun, False)
        run, met, judged = run + chunk.inputs, met + chunk.met, judged + chunk.judged
        if progress is not None:
            progress(run, total)
        spent = time.monotonic() - begun
        if not chunk.done or (spent > seconds and run < total):
            return unfinished(spent, chunk.done)
    if not met:
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    reason = f"every input was run, {total:,}: the left side allows what the right one leaves"
    return Verdict("exhausted", reason + (f"; {judged:,} near to a bound were decided by fractions" if judged else ""))


class _Rows(InputRows):
    """Demands compiled as functions of the number of an input."""

    def __init__(self, given: Bool, demanded: Demands, numbered: Numbered, deadline: float):
        self.deadline = deadline
        predicate = TYPES["pred"]
        outputs: list[tuple[Type, Any]] = [(predicate, given), (predicate, demanded.plain)]
        self.near = []
        for near in demanded.near:
            self.near.append(_Bounded(near, len(outputs)))
            outputs += self.near[-1].outputs
        super().__init__(numbered, outputs, CHUNK, PARTS, LEAST)

    def __call__(self, start: int) -> _Chunk:
        chunk = self._run(self.numbers(start))
        return chunk._replace(suspects=simple_ones_first(self.numbered, chunk.suspects))

    def simple(self) -> _Chunk:
        """The inputs of simple values, which count for nothing: they are run once more in their chunks."""
        import numpy as np

        numbers = simple_numbers(self.numbered)
        suspects = self._run(np.array(numbers, np.uint32)).suspects if numbers else []
        return _Chunk(0, 0, suspects, 0, True)

    def _run(self, numbers: np.ndarray) -> _Chunk:
        import numpy as np

        columns = self.columns(numbers)
        met, good = columns[:2]
        good = good | ~met
        judged, done = 0, True
        for near in self.near:
            allowed, count, in_time = near.ask(columns, met, self.deadline)
            good, judged, done = good & allowed, judged + count, done and in_time
        return _Chunk(numbers.size, int(np.count_nonzero(met)), numbers[np.flatnonzero(~good)].tolist(), judged, done)


class _Bounded:
    """An approximate result, and the places of its columns among those of a loop."""

    def __init__(self, near: Near, first: int):
        from ptxspec.terms.lanes import Judge, Unfit

        self.freedom = near.freedom
        self.places = [i for i, a in enumerate(near.freedom.args) if a.op != "const"]
        terms = [near.bits, *(near.freedom.args[i] for i in self.places)]
        words = (TYPES["u32" if t.lo >= 0 and t.hi < 1 << 32 else "u64"] for t in terms)  # which hold the terms' values
        self.outputs = [(TYPES["pred"], near.reached), *zip(words, terms, strict=True)]
        self.columns = slice(first, first + len(self.outputs))
        try:
            self.judge: Judge | None = Judge(self.freedom)
        except Unfit:
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
            values = [a.attrs[0] if a.op == "const" else 0 for a in self.freedom.args]
            for place, column in zip(self.places, operands, strict=True):
                value, is_signed = int(column[i]), self.freedom.args[place].lo < 0
                values[place] = value - (1 << WORD) if is_signed and value >> (WORD - 1) else value
            allowed[i] = is_allowed(self.freedom, tuple(values), int(bits[i]))
        within = np.ones(met.size, bool)
        within[lanes] = allowed
        return within, open_ones.size, True
