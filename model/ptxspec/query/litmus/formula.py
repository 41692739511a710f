"""All executions of a litmus test at once, as one formula: whether two operations are related is a truth value, and what is read
and written are terms, so that what lies between is what the pages' definitions say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any

from ptxspec import contracts
from ptxspec.query.litmus.executions import OutOfTime
from ptxspec.query.litmus.programs import Combination, ObjectOrder, Piece
from ptxspec.query.solvers.answers import SolverAnswer
from ptxspec.query.solvers.solve import solve
from ptxspec.terms.core import Bool, Int, constant, truth_variable, variable
from ptxspec.terms.operations import Operation
from ptxspec.terms.relations import Claim, Given, MemoryModel, Relation
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, variables_in

#: a relation of all executions: for each two operations when they are related
Matrix = list[list[Bool]]


class Formula:
    """The executions of a combination under a model, for one way in which arrivals belong to the phases of barriers, and one
    order of the steps on objects. `check_time` is called again and again, and may raise an exception."""

    def __init__(
        self,
        model: MemoryModel,
        combination: Combination,
        phases: list[int],
        order: ObjectOrder,
        check_time: Callable[[], None],
    ):
        self.model, self.combination, self.order, self.check_time = model, combination, order, check_time
        self.phases = [x | y for x, y in zip(phases, order.phases, strict=True)]
        self.operations = combination.operations
        self.count = len(self.operations)
        self._matrices: dict[tuple[Relation, int | None], Matrix] = {}
        self._strong = contracts.scopes.morally_strong(model)

    # what an execution chooses ---------------------------------------------------------------------------------------------

    def source(self, piece: int, writer: int, reader: int) -> Bool:
        """Whether a piece is read from a write."""
        return truth_variable(f"read {piece} {reader} {writer}")

    @cached_property
    def slots(self) -> list[tuple[int, int, list[int]]]:
        """The pieces that are read, by whom, and the writes that they may be read from."""
        return [
            (number, reader, self._writers(number, piece, reader))
            for number, piece in enumerate(self.combination.pieces)
            for reader in range(self.count)
            if piece.read_by >> reader & 1
        ]

    def _writers(self, number: int, piece: Piece, reader: int) -> list[int]:
        if (number, reader) in self.order.sources:
            return [self.order.sources[number, reader]]
        return [w for w in range(self.count) if piece.written_by >> w & 1 and w != reader]

    def _ordered(self, given: Given, concerns: Callable[[Operation, Operation], bool]) -> Matrix:
        """The first of two that are morally strong and that are concerned; of steps on objects it is known."""
        strong, rows, before = self.matrix(self._strong), self._nothing(), self.order.before
        for i in range(self.count):
            for k in range(i):
                if given == "written before" and (before[i] >> k & 1 or before[k] >> i & 1):
                    rows[i][k], rows[k][i] = constant(bool(before[i] >> k & 1)), constant(bool(before[k] >> i & 1))
                elif strong[i][k] is TRUE and concerns(self.operations[i], self.operations[k]):
                    rows[i][k] = truth_variable(f"{given} {i} {k}")
                    rows[k][i] = ~rows[i][k]
        return rows

    def _nothing(self) -> Matrix:
        return [[FALSE] * self.count for _ in range(self.count)]

    # relations -------------------------------------------------------------------------------------------------------------

    def matrix(self, relation: Relation, piece: int | None = None) -> Matrix:
        key = relation, piece if relation.of_byte else None
        if key not in self._matrices:
            self._matrices[key] = self._computed(relation, piece)
        return self._matrices[key]

    def _computed(self, relation: Relation, piece: int | None) -> Matrix:
        parts, n = relation.parts, self.count
        self.check_time()
        match relation.operator:
            case "given":
                return self._given(next(iter(relation.givens)), piece)
            case "accesses byte":
                assert piece is not None
                accessed = self.combination.pieces[piece].accessed_by
                return [[constant(i == k and bool(accessed >> i & 1)) for k in range(n)] for i in range(n)]
            case "pairs":
                assert relation.predicate is not None
                holds = relation.predicate
                return [[constant(bool(holds(a, b))) for b in self.operations] for a in self.operations]
            case "any byte":
                each = [self.matrix(parts[0], number) for number in range(len(self.combination.pieces))]
                return [[reduce(or_, (m[i][k] for m in each), FALSE) for k in range(n)] for i in range(n)]
            case "closure":
                return closed(self.matrix(parts[0], piece), self.check_time)
            case "or same":
                rows = self.matrix(parts[0], piece)
                return [[TRUE if i == k else rows[i][k] for k in range(n)] for i in range(n)]
            case "inverse":
                return [list(column) for column in zip(*self.matrix(parts[0], piece), strict=True)]
        first, second = (self.matrix(part, piece) for part in parts)
        match relation.operator:
            case "union":
                return [[x | y for x, y in zip(a, b, strict=True)] for a, b in zip(first, second, strict=True)]
            case "intersection":
                return [[x & y for x, y in zip(a, b, strict=True)] for a, b in zip(first, second, strict=True)]
            case "difference":
                return [[x & ~y for x, y in zip(a, b, strict=True)] for a, b in zip(first, second, strict=True)]
            case "then":
                return [
                    [
                        reduce(or_, (row[j] & second[j][k] for j in range(n) if row[j] is not FALSE), FALSE)
                        for k in range(n)
                    ]
                    for row in first
                ]
        raise AssertionError(relation.operator)

    def _given(self, given: Given, piece: int | None) -> Matrix:
        match given:
            case "reads from":
                rows = self._nothing()
                for number, reader, writers in self.slots:
                    for writer in writers if number == piece else ():
                        rows[writer][reader] = self.source(number, writer, reader)
                return rows
            case "same phase":
                return [[constant(bool(row >> k & 1)) for k in range(self.count)] for row in self.phases]
            case "fenced before":
                return self._ordered(given, contracts.synchronization.ordered_fences)
            case "written before":
                return self._ordered(given, contracts.coherence.ordered_writes)

    def keeps(self, claim: Claim) -> Bool:
        """When a claim is true."""
        rows = self.matrix(claim.relation)
        if claim.says == "acyclic":
            rows = closed(rows, self.check_time)
        if claim.says == "empty":
            return ~reduce(or_, (x for row in rows for x in row), FALSE)
        return ~reduce(or_, (rows[i][i] for i in range(self.count)), FALSE)

    # values ----------------------------------------------------------------------------------------------------------------

    def written(self, writer: int, piece: Piece) -> Int:
        """What a write leaves in a piece."""
        noted, location = self.combination.noted[writer], self.operations[writer].location
        if noted is None:
            value: Int = constant(self.combination.written(writer, piece, {}))
            return value
        assert noted.writes is not None and location is not None
        return low_bits(noted.writes >> 8 * (piece.bytes.offset - location.offset), 8 * piece.bytes.size)

    def _reads(self) -> Bool:
        """Each piece is read from one write, and has its value."""
        holds: Bool = TRUE
        for number, reader, writers in self.slots:
            self.check_time()
            piece, noted = self.combination.pieces[number], self.combination.noted[reader]
            location = self.operations[reader].location
            assert noted is not None and location is not None
            here = variable(noted.reads, 8 * location.size) >> 8 * (piece.bytes.offset - location.offset)
            chosen = [self.source(number, w, reader) for w in writers]
            holds = holds & reduce(or_, chosen, FALSE)
            for k, one in enumerate(chosen):
                holds = holds & reduce(and_, (~(one & other) for other in chosen[:k]), TRUE)
                holds = holds & (~one | (low_bits(here, 8 * piece.bytes.size) == self.written(writers[k], piece)))
        return holds

    def final(self, number: int) -> tuple[Int, Bool]:
        """What a piece holds in the end, and when it may hold that."""
        piece, order = self.combination.pieces[number], self.matrix(contracts.coherence.coherence(self.model))
        value = variable(f"final {number}", 8 * piece.bytes.size)
        writers = [w for w in range(self.count) if piece.written_by >> w & 1]
        may_be: Bool = FALSE
        for w in writers:
            last = reduce(and_, (~order[w][v] for v in writers if v != w), TRUE)
            may_be = may_be | (last & (value == self.written(w, piece)))
        return value, may_be

    # questions -------------------------------------------------------------------------------------------------------------

    def solve(self, outcome: Callable[[Formula], Bool], timeout: float) -> SolverAnswer:
        """An execution that keeps all axioms and has an outcome; "unsat" if there is none. Raises OutOfTime if there is less time
        left than it took to write the formula: a solver only looks at the clock when it has prepared that."""
        begun = time.monotonic()
        claim: Bool = reduce(and_, (c for path in self.combination.paths for c in path.conditions), TRUE)
        claim = claim & self._reads() & outcome(self)
        for axiom in contracts.axioms.ALL.values():
            claim = claim & self.keeps(axiom.claim(self.model))
        spent = time.monotonic() - begun
        if timeout < 2 * spent:
            raise OutOfTime
        return solve(claim, self._types(claim), timeout - spent, purpose="a litmus test", simple=False)

    def _types(self, claim: Bool) -> Mapping[str, Type]:
        types: dict[str, Type] = {}
        places = ((n.reads, n.operation.location) for n in self.combination.noted if n is not None)
        widths = {reads: 8 * location.size for reads, location in places if location is not None}
        widths |= {f"final {k}": 8 * piece.bytes.size for k, piece in enumerate(self.combination.pieces)}
        for name in variables_in([claim]):
            bits = f"b{widths.get(name)}"  # of what is read of a tensor map more than any type of PTX has
            types[name] = TYPES.get(bits, Type(bits, "b", widths[name])) if name in widths else TYPES["pred"]
        return types

    def sources(self, values: Mapping[str, Any]) -> list[list[int]]:
        """What is read from where in a model of the formula, as rows for each piece."""
        rows = [[0] * self.count for _ in self.combination.pieces]
        for number, reader, writers in self.slots:
            for writer in writers:
                if values.get(f"read {number} {reader} {writer}", False):
                    rows[number][writer] |= 1 << reader
        return rows


def closed(rows: Matrix, check_time: Callable[[], None]) -> Matrix:
    """When steps of a relation lead from one operation to another one."""
    rows = [list(row) for row in rows]
    n = len(rows)
    for k in range(n):
        check_time()
        for i in range(n):
            check_time()
            if rows[i][k] is not FALSE:
                rows[i] = [rows[i][j] | (rows[i][k] & rows[k][j]) for j in range(n)]
    return rows
