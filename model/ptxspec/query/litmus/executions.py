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
from ptxspec.query.litmus.compiled import Answer, Question, Rows, closed, composed, is_reflexive, transposed
from ptxspec.query.litmus.programs import Combination, ObjectOrder, Piece, bits
from ptxspec.terms.operations import Operation
from ptxspec.terms.relations import Claim, Given, MemoryModel, Relation

#: executions that are looked at relation by relation before a function is made of the axioms, which takes time
SLOWLY = 200


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
        stepped: Sequence[int] = (),
    ):
        """`read` has for each piece the writes from which it is read, if that is chosen, and `stepped` the order of the steps on
        objects that write."""
        self.operations, self.pieces, self.before = operations, pieces, before
        self.given: dict[Given, Rows] = {**(before.given if before else {}), **(given or {})}
        self.read: Sequence[Rows] = read or (before.read if before else ())
        self.stepped: Sequence[int] = stepped or (before.stepped if before else ())
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

    def know(self, relation: Relation, rows: Rows) -> None:
        """Take rows of a relation that were computed elsewhere."""
        self._rows[relation, None] = rows

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
                return not is_reflexive(rows)
            case "acyclic":
                return not is_reflexive(closed(rows))


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


#: what an execution chooses beside what is read, in the order of the parameters of a question
_ORDERS: tuple[Given, ...] = ("same phase", "fenced before", "written before")


class PredicateTable:
    """What the predicates of some relations say of two operations: computed once for each two."""

    def __init__(self, relations: Sequence[Relation]):
        leaves: dict[Relation, None] = {}
        for relation in relations:
            _collect(relation, leaves)
        self._leaves = list(leaves)
        self._bits: dict[Operation, dict[Operation, tuple[int, ...]]] = {}

    def tell(self, execution: Execution) -> None:
        """Let an execution know the rows of all predicates."""
        operations, bits_of = execution.operations, self._bits
        rows = [[0] * len(operations) for _ in self._leaves]
        for i, a in enumerate(operations):
            known = bits_of.setdefault(a, {})
            for k, b in enumerate(operations):
                true = known.get(b)
                if true is None:
                    true = known[b] = self._true_of(a, b)
                for number in true:
                    rows[number][i] |= 1 << k
        for leaf, row in zip(self._leaves, rows, strict=True):
            execution.know(leaf, row)

    def _true_of(self, a: Operation, b: Operation) -> tuple[int, ...]:
        return tuple(n for n, leaf in enumerate(self._leaves) if leaf.holds_of(a, b))


def _collect(relation: Relation, leaves: dict[Relation, None]) -> None:
    if relation.operator == "pairs":
        leaves[relation] = None
    for part in relation.parts:
        _collect(part, leaves)


class _LitmusProgram:
    """What all executions of a combination have in common. `same` relates each operation to itself."""

    def __init__(self, base: Execution, same: Rows):
        self.base, self.nothing = base, [0] * len(same)
        self.accessed = [[x if piece.accessed_by & x else 0 for x in same] for piece in base.pieces]
        self._constant: dict[Question, list[Rows]] = {}
        self._functions: dict[tuple[Question, tuple[bool, ...]], Answer] = {}
        #: what is read in the last execution that keeps all axioms without any order of fences or writes, and relations of it
        self.kept: tuple[Sequence[Rows] | None, dict[Relation, Rows]] = None, {}

    def answer(
        self, question: Question, read: Sequence[Rows], given: Sequence[Rows], orders: tuple[bool, ...]
    ) -> tuple[str | None, list[Rows]]:
        """What a question has for an answer in an execution; `orders` says which of those that are given have pairs."""
        if question not in self._constant:
            self._constant[question] = list(map(self.base.rows, question.constant))
        constant = self._constant[question]
        function = self._functions.get((question, orders))
        if function is None:
            function = self._functions[question, orders] = question.function(constant, len(self.accessed), orders)
        return function(constant, self.accessed, read, *given)


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
        #: the same claims as functions, and what is wanted of an execution that keeps them; of a part of what is read, all claims
        orders = (self._causality, self.coherence)
        wanted: tuple[tuple[Relation, ...], ...] = ((), orders[:1], orders[1:])
        self._questions = [*map(Question, self._steps, wanted), Question(claims, orders)]
        self._leaves = PredicateTable(
            [*(claim.relation for claim in claims.values()), *orders, self._strong, self._order]
        )
        self._asked = 0

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
        orders: Sequence[ObjectOrder] | None = None,
    ) -> Iterator[Candidate]:
        """The executions of a combination in whose registers may be what is wanted. If those that break an axiom are asked for,
        one that breaks an axiom is given as soon as it does, unless it is wanted `deep`, with all of its choices. `only` are the
        writes that are read from, if these are known; `orders` are those of the steps on objects, if not all."""
        base = Execution(combination.operations, combination.pieces)
        self._leaves.tell(base)
        n = len(combination.operations)
        nothing: dict[Given, Rows] = {g: [0] * n for g in ("same phase", "fenced before", "written before")}
        program = _LitmusProgram(base, [1 << i for i in range(n)])

        for order in combination.object_orders if orders is None else orders:
            yield from self._candidates(combination, program, nothing, order, (wanted, broken, deep, only))

    def _candidates(
        self,
        combination: Combination,
        program: _LitmusProgram,
        nothing: dict[Given, Rows],
        order: ObjectOrder,
        asked: tuple[Callable[[dict[str, int]], bool], bool, bool, list[Rows] | None],
    ) -> Iterator[Candidate]:
        """Those with an order of the steps on objects."""
        (wanted, broken, deep, only), base = asked, program.base
        known = {**nothing, "same phase": order.phases, "written before": order.before}

        def may_go_on(read: list[Rows]) -> bool:
            """Whether a part of what is read breaks no axiom by itself: if it does, so does all that has it as a part."""
            self.check_time()
            if only is not None and any(
                x & ~y for a, b in zip(read, only, strict=True) for x, y in zip(a, b, strict=True)
            ):
                return False
            part = Execution(combination.operations, combination.pieces, base, known, read)
            return broken or self._breaks(len(self._steps), part, program) is None

        for read, values in combination.readings(may_go_on, order):
            if values is not None and not wanted(values):
                continue
            for phases in combination.phases:
                same = [x | y for x, y in zip(phases, order.phases, strict=True)]
                first = Execution(
                    combination.operations, combination.pieces, base, {"same phase": same}, read, order.before
                )
                yield from self._chosen(0, first, program, combination, values, None, (broken, deep))

    def _breaks(self, step: int, execution: Execution, program: _LitmusProgram) -> str | None:
        """The first claim of a step that an execution breaks; behind the last step, of all claims."""
        question = self._questions[step]
        given = [execution.given.get(name, program.nothing) for name in _ORDERS]
        kept, rows_of = program.kept
        orders = tuple(map(any, given))
        if execution.read is kept and not any(orders):
            for relation in question.wanted:
                execution.know(relation, rows_of[relation])
            return None
        self._asked += 1
        if self._asked <= SLOWLY:
            return next((name for name, claim in question.claims.items() if not execution.keeps(claim)), None)
        broken, rows = program.answer(question, execution.read, given, orders)
        if broken is None:
            for relation, row in zip(question.wanted, rows, strict=True):
                execution.know(relation, row)
            if step == len(self._steps) and not any(orders):
                program.kept = execution.read, dict(zip(question.wanted, rows, strict=True))
        return broken

    def _chosen(
        self,
        step: int,
        execution: Execution,
        program: _LitmusProgram,
        combination: Combination,
        values: dict[str, int] | None,
        broken: str | None,
        wanted: tuple[bool, bool],
    ) -> Iterator[Candidate]:
        """The candidates that an execution becomes by what is chosen after a step."""
        self.check_time()
        if broken is None:
            broken = self._breaks(step, execution, program)
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
        for order in self._orders(given, execution, concerns, forced if axiom in self._claims else None):
            further = Execution(execution.operations, execution.pieces, execution, {given: order})
            yield from self._chosen(step + 1, further, program, combination, values, broken, wanted)

    def _orders(
        self,
        given: Given,
        execution: Execution,
        concerns: Callable[[Operation, Operation], bool],
        forced: Relation | None,
    ) -> Iterator[Rows]:
        """The choices of which operation of two is first, for all that are morally strong and that are concerned. Where a
        relation says which one has to be, else an axiom is broken, it is that one. Of steps on objects it is chosen already."""
        operations, strong = execution.operations, execution.rows(self._strong)
        known = [0] * len(operations) if forced is None else execution.rows(forced)
        rows, open_pairs = [0] * len(operations), []
        if given == "written before" and execution.stepped:
            rows = list(execution.stepped)
        for i, a in enumerate(operations):
            for k in range(i):
                if rows[i] >> k & 1 or rows[k] >> i & 1:
                    continue  # steps on one object
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
