"""The executions of a litmus test, one after the other: what reads return is chosen, then the orders of fences and of writes, and
the axioms are asked of each. Pairs of operations are bits of integers: a relation has one integer for each operation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.query.litmus.programs import Combination, Piece
from ptxspec.terms.operations import Operation
from ptxspec.terms.relations import Claim, Given, MemoryModel, Relation

#: a relation of an execution: for each operation the bits of those that it is related to
Rows = list[int]


def bits(word: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low


def composed(first: Rows, second: Rows) -> Rows:
    rows = []
    for row in first:
        union = 0
        for k in bits(row):
            union |= second[k]
        rows.append(union)
    return rows


def closed(rows: Rows) -> Rows:
    """The least transitive relation with these pairs."""
    rows = list(rows)
    for k in range(len(rows)):
        row = rows[k]
        if row:
            for i, other in enumerate(rows):
                if other >> k & 1:
                    rows[i] = other | row
    return rows


def transposed(rows: Rows) -> Rows:
    result = [0] * len(rows)
    for i, row in enumerate(rows):
        for k in bits(row):
            result[k] |= 1 << i
    return result


class Execution:
    """An execution, as far as it is chosen: what is given of it so far, and all relations that depend on no more. `before` is the
    execution before the last choice."""

    def __init__(
        self,
        operations: Sequence[Operation],
        pieces: Sequence[Piece],
        before: Execution | None = None,
        given: dict[Given, Rows] | None = None,
        read: Sequence[Rows] = (),
    ):
        """`read` has for each piece the writes from which it is read, if that is chosen."""
        self.operations, self.pieces, self.before = operations, pieces, before
        self.given: dict[Given, Rows] = {**(before.given if before else {}), **(given or {})}
        self.read: Sequence[Rows] = read or (before.read if before else ())
        self.known: frozenset[Given] = frozenset(self.given) | (frozenset(["reads from"]) if self.read else frozenset())
        self._rows: dict[tuple[Relation, int | None], Rows] = {}

    def rows(self, relation: Relation, piece: int | None = None) -> Rows:
        """A relation, if all is chosen that it depends on; inside `any_byte`, for the bytes of a piece."""
        if self.before is not None and relation.givens <= self.before.known:
            return self.before.rows(relation, piece)
        key = relation, piece if relation.of_byte else None
        if key not in self._rows:
            self._rows[key] = self._computed(relation, piece)
        return self._rows[key]

    def _computed(self, relation: Relation, piece: int | None) -> Rows:
        parts, n = relation.parts, len(self.operations)
        match relation.operator:
            case "given":
                given = next(iter(relation.givens))
                if given == "reads from":
                    assert piece is not None
                    return self.read[piece]
                return self.given[given]
            case "accesses byte":
                assert piece is not None
                return [1 << i if self.pieces[piece].accessed_by >> i & 1 else 0 for i in range(n)]
            case "pairs":
                assert relation.predicate is not None
                holds = relation.predicate
                return [sum(1 << k for k, b in enumerate(self.operations) if holds(a, b)) for a in self.operations]
            case "any byte":
                rows = [0] * n
                for number in range(len(self.pieces)):
                    rows = [x | y for x, y in zip(rows, self.rows(parts[0], number), strict=True)]
                return rows
            case "closure":
                return closed(self.rows(parts[0], piece))
            case "or same":
                return [row | 1 << i for i, row in enumerate(self.rows(parts[0], piece))]
            case "inverse":
                return transposed(self.rows(parts[0], piece))
        first, second = (self.rows(part, piece) for part in parts)
        match relation.operator:
            case "union":
                return [x | y for x, y in zip(first, second, strict=True)]
            case "intersection":
                return [x & y for x, y in zip(first, second, strict=True)]
            case "difference":
                return [x & ~y for x, y in zip(first, second, strict=True)]
            case "then":
                return composed(first, second)
        raise AssertionError(relation.operator)

    def holds(self, relation: Relation, a: int, b: int, piece: int | None = None) -> bool:
        """Whether a relation relates one operation to another one, both by their numbers."""
        return bool(self.rows(relation, piece)[a] >> b & 1)

    def keeps(self, claim: Claim) -> bool:
        """Whether a claim is true of the execution."""
        rows = self.rows(claim.relation)
        match claim.says:
            case "empty":
                return not any(rows)
            case "irreflexive":
                return not any(row >> i & 1 for i, row in enumerate(rows))
            case "acyclic":
                return not any(row >> i & 1 for i, row in enumerate(closed(rows)))


def has_difference(relation: Relation) -> bool:
    """Whether a relation may lose pairs when others get more."""
    return relation.operator == "difference" or any(map(has_difference, relation.parts))


class Candidate(NamedTuple):
    """A whole execution: its relations, and the values of all reads. `broken` is the name of the axiom that it breaks, the first
    one; None if it keeps all."""

    execution: Execution
    combination: Combination
    values: dict[str, int]
    broken: str | None


class OutOfTime(Exception):
    """The time is over in which executions are looked at."""


class Enumeration:
    """The executions of the combinations of a test's paths under a model. After the `deadline`, in seconds of the monotonic
    clock, it raises OutOfTime."""

    def __init__(self, model: MemoryModel):
        self.model = model
        self.deadline = math.inf
        claims = {name: axiom.claim(model) for name, axiom in contracts.axioms.ALL.items()}
        assert not any(has_difference(c.relation) for c in claims.values()), "more pairs could break fewer axioms"
        self._claims = claims
        #: what is chosen step by step, and the claims that can be asked then
        self._steps: list[dict[str, Claim]] = []
        known: frozenset[Given] = frozenset()
        for chosen in (("reads from", "same phase"), ("fenced before",), ("written before",)):
            before, known = known, known | frozenset(chosen)
            self._steps.append(
                {n: c for n, c in claims.items() if c.relation.givens <= known and not c.relation.givens <= before}
            )
        self._strong = contracts.scopes.morally_strong(model)
        self._order = contracts.causality.program_order(model)
        self._causality = contracts.causality.causality(model)
        self.coherence = contracts.coherence.coherence(model)

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def candidates(
        self,
        combination: Combination,
        wanted: Callable[[dict[str, int]], bool],
        broken: bool = False,
        deep: bool = False,
        only: list[Rows] | None = None,
    ) -> Iterator[Candidate]:
        """The executions of a combination in whose registers may be what is wanted. If those that break an axiom are asked for,
        one that breaks an axiom is given as soon as it does, unless it is wanted `deep`, with all of its choices. `only` are the
        writes that are read from, if these are known."""
        base = Execution(combination.operations, combination.pieces)
        n = len(combination.operations)
        nothing: dict[Given, Rows] = {g: [0] * n for g in ("same phase", "fenced before", "written before")}

        def may_go_on(read: list[Rows]) -> bool:
            """Whether a part of what is read breaks no axiom by itself: if it does, so does all that has it as a part."""
            self.check_time()
            if only is not None and any(
                x & ~y for a, b in zip(read, only, strict=True) for x, y in zip(a, b, strict=True)
            ):
                return False
            part = Execution(combination.operations, combination.pieces, base, nothing, read)
            return broken or all(part.keeps(claim) for claim in self._claims.values())

        for read, values in combination.readings(may_go_on):
            if values is not None and not wanted(values):
                continue
            for phases in combination.phases:
                first = Execution(combination.operations, combination.pieces, base, {"same phase": phases}, read)
                yield from self._chosen(0, first, combination, values, None, (broken, deep))

    def _chosen(
        self,
        step: int,
        execution: Execution,
        combination: Combination,
        values: dict[str, int] | None,
        broken: str | None,
        wanted: tuple[bool, bool],
    ) -> Iterator[Candidate]:
        """The candidates that an execution becomes by what is chosen after a step."""
        self.check_time()
        if broken is None:
            broken = next((name for name, claim in self._steps[step].items() if not execution.keeps(claim)), None)
        if values is None and broken is None:
            raise AssertionError("a value is its own reason, and no axiom says so")
        if broken is not None and not wanted[0]:
            return
        if step == len(self._steps) - 1 or (broken is not None and (not wanted[1] or values is None)):
            yield Candidate(execution, combination, values or {}, broken)
            return
        given: Given = "fenced before" if step == 0 else "written before"
        concerns = contracts.synchronization.ordered_fences if step == 0 else contracts.coherence.ordered_writes
        # which of two is first is known where an axiom is broken otherwise
        axiom, forced = ("Fence-SC", self._order) if step == 0 else ("Coherence", self._causality)
        for order in self._orders(execution, concerns, forced if axiom in self._claims else None):
            further = Execution(execution.operations, execution.pieces, execution, {given: order})
            yield from self._chosen(step + 1, further, combination, values, broken, wanted)

    def _orders(
        self, execution: Execution, concerns: Callable[[Operation, Operation], bool], forced: Relation | None
    ) -> Iterator[Rows]:
        """The choices of which operation of two is first, for all that are morally strong and that are concerned. Where a
        relation says which one has to be, else an axiom is broken, it is that one."""
        operations, strong = execution.operations, execution.rows(self._strong)
        known = [0] * len(operations) if forced is None else execution.rows(forced)
        rows, open_pairs = [0] * len(operations), []
        for i, a in enumerate(operations):
            for k in range(i):
                if strong[i] >> k & 1 and concerns(a, operations[k]):
                    if known[i] >> k & 1:
                        rows[i] |= 1 << k
                    elif known[k] >> i & 1:
                        rows[k] |= 1 << i
                    else:
                        open_pairs.append((i, k))
        for choice in product((False, True), repeat=len(open_pairs)):
            chosen = list(rows)
            for (i, k), is_later in zip(open_pairs, choice, strict=True):
                first, second = (k, i) if is_later else (i, k)
                chosen[first] |= 1 << second
            yield chosen

    def final_bytes(self, candidate: Candidate) -> Iterator[dict[int, int]]:
        """What the pieces of memory may hold in the end, by their numbers."""
        execution = candidate.execution
        order = execution.rows(self.coherence)
        choices: list[list[int]] = []
        for piece in execution.pieces:
            last = [i for i in bits(piece.written_by) if not order[i] & piece.written_by & ~(1 << i)]
            choices.append(sorted({candidate.combination.written(i, piece, candidate.values) for i in last}))
        for values in product(*choices):
            yield dict(enumerate(values))
