"""Relations of many executions at once. The executions have the same operations but for orders and scopes, which vary.

A relation has a row for each operation: bits of those to which it is related. A row is an integer, or an array of integers with
an element for each execution. An array has an axis for each operation that varies and is broadcast where a row depends on a few
of them alone; so most rows are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ptxspec.terms.operations import Operation
from ptxspec.terms.relations import Claim, Given, Predicate, Relation

#: bits of operations, the same in all executions or in each its own
Row = Any
#: whether something is so, likewise
Truth = Any
#: an operation in each of the ways in which it may vary; None where it is left out
Alternatives = tuple[Operation | None, ...]

BITS = np.uint32


class BatchNode(NamedTuple):
    """An operation of a batch: its alternatives, the number of the one that each execution has, and the number of the location
    that it accesses, -1 if none."""

    alternatives: Alternatives
    chosen: Any
    place: int


#: the rows of a predicate that are the same in all executions, and the pairs of operations of which its truth varies, with a
#: table
Leaf = tuple[list[int], list[tuple[int, int, Any]]]
#: the leaves of batches whose operations have the same alternatives
Leaves = dict[Predicate, Leaf]


def _table(predicate: Predicate, a: Alternatives, b: Alternatives, same: bool) -> Any:
    """Of which alternatives of two operations a predicate is true, a truth value if of all or none; `same` if they are one
    operation, which has one alternative at a time."""
    if same:
        rows = [x is not None and bool(predicate(x, x)) for x in a]
        return rows[0] if len(set(rows)) == 1 else np.array(rows)
    table = [[x is not None and y is not None and bool(predicate(x, y)) for y in b] for x in a]
    values = {value for row in table for value in row}
    return values.pop() if len(values) == 1 else np.array(table)


_tables: dict[tuple[Predicate, int, int], Any] = {}
_numbers: dict[Alternatives, int] = {}


def _leaf(predicate: Predicate, nodes: Sequence[BatchNode]) -> Leaf:
    rows, varying = [0] * len(nodes), []
    numbers = [_numbers.setdefault(node.alternatives, len(_numbers)) for node in nodes]
    for i, a in enumerate(nodes):
        for k, b in enumerate(nodes):
            key = predicate, numbers[i], numbers[k]
            if key not in _tables:
                _tables[key] = _table(predicate, a.alternatives, b.alternatives, i == k)
            table = _tables[key]
            if isinstance(table, bool):
                rows[i] |= table << k
            else:
                varying.append((i, k, table))
    return rows, varying


def masked(word: Row, at: int, row: Row) -> Row:
    """A row where a bit of a word is set, else nothing."""
    if isinstance(word, int):
        return row if word >> at & 1 else 0
    if isinstance(row, int) and not row:
        return 0
    return -(word >> at & BITS(1)) & (BITS(row) if isinstance(row, int) else row)


def joined(a: Row, b: Row) -> Row:
    if isinstance(a, int):
        return b if not a else a | b if isinstance(b, int) else BITS(a) | b
    return a if isinstance(b, int) and not b else a | (BITS(b) if isinstance(b, int) else b)


def common(a: Row, b: Row) -> Row:
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int):
            return 0 if not x else x & y if isinstance(y, int) else BITS(x) & y
    return a & b


class Batch:
    """Executions, as far as they are chosen. `before` is the batch before the last choice; `read` has rows for each location.
    `leaves` are known of other batches whose operations have the same alternatives."""

    def __init__(
        self,
        nodes: Sequence[BatchNode],
        before: Batch | None = None,
        given: Mapping[Given, list[Row]] = {},
        read: Sequence[list[Row]] = (),
        leaves: Leaves | None = None,
    ):
        self.nodes, self.before = nodes, before
        self._leaves: Leaves = {} if leaves is None else leaves
        self.given: dict[Given, list[Row]] = {**(before.given if before else {}), **given}
        self.read: Sequence[list[Row]] = read or (before.read if before else ())
        self.places = 1 + max(node.place for node in nodes)
        self.known: frozenset[Given] = frozenset(self.given) | (frozenset(["reads from"]) if self.read else frozenset())
        self._rows: dict[tuple[Relation, int | None], list[Row]] = {}

    def rows(self, relation: Relation, place: int | None = None) -> list[Row]:
        if self.before is not None and relation.givens <= self.before.known:
            return self.before.rows(relation, place)
        key = relation, place if relation.of_byte else None
        if key not in self._rows:
            self._rows[key] = self._computed(relation, place)
        return self._rows[key]

    def _computed(self, relation: Relation, place: int | None) -> list[Row]:
        parts, n = relation.parts, range(len(self.nodes))
        match relation.operator:
            case "given":
                given = next(iter(relation.givens))
                if given == "reads from":
                    assert place is not None
                    return list(self.read[place])
                return list(self.given[given])
            case "accesses byte":
                return [1 << i if self.nodes[i].place == place else 0 for i in n]
            case "pairs":
                assert relation.predicate is not None
                return self.pairs(relation.predicate)
            case "any byte":
                every = [self.rows(parts[0], number) for number in range(self.places)]
                return [reduce(joined, rows) for rows in zip(*every, strict=True)]
            case "closure":
                return closed(self.rows(parts[0], place))
            case "or same":
                return [joined(row, 1 << i) for i, row in enumerate(self.rows(parts[0], place))]
            case "inverse":
                return transposed(self.rows(parts[0], place))
        first, second = (self.rows(part, place) for part in parts)
        match relation.operator:
            case "union":
                return list(map(joined, first, second))
            case "intersection":
                return list(map(common, first, second))
            case "difference":
                whole = (1 << len(self.nodes)) - 1
                return [common(x, whole & ~y if isinstance(y, int) else ~y) for x, y in zip(first, second, strict=True)]
            case "then":
                return composed(first, second)
        raise AssertionError(relation.operator)

    def pairs(self, predicate: Predicate) -> list[Row]:
        """The pairs of which a predicate is true."""
        if predicate not in self._leaves:
            self._leaves[predicate] = _leaf(predicate, self.nodes)
        constant, varying = self._leaves[predicate]
        rows: list[Row] = list(constant)
        for i, k, table in varying:
            a, b = self.nodes[i], self.nodes[k]
            holds = table[a.chosen] if i == k else table[a.chosen, b.chosen]
            bit = int(holds) << k if holds.ndim == 0 else holds.astype(BITS) << BITS(k)
            rows[i] = joined(rows[i], bit)
        return rows

    def keeps(self, claim: Claim) -> Truth:
        """In which executions a claim is true."""
        rows = self.rows(claim.relation)
        match claim.says:
            case "empty":
                return no_pairs(rows)
            case "irreflexive":
                return no_pairs([common(row, 1 << i) for i, row in enumerate(rows)])
            case "acyclic":
                return no_pairs([common(row, 1 << i) for i, row in enumerate(closed(rows))])

    def keeps_all(self, claims: Sequence[Claim]) -> Truth:
        """In which executions all claims are true."""
        result: Truth = True
        for claim in claims:
            result = result & self.keeps(claim)
            if not np.any(result):
                break
        return result


def no_pairs(rows: Sequence[Row]) -> Truth:
    total: Row = reduce(joined, rows, 0)
    return total == 0


def composed(first: Sequence[Row], second: Sequence[Row]) -> list[Row]:
    through = [(k, row) for k, row in enumerate(second) if _is_any(row)]
    result: list[Row] = []
    for row in first:
        total: Row = 0
        if isinstance(row, int):
            for k, further in through if row else ():
                if row >> k & 1:
                    total = joined(total, further)
        else:
            for k, further in through:
                total = joined(total, masked(row, k, further))
        result.append(total)
    return result


def _is_any(row: Row) -> bool:
    return not isinstance(row, int) or row != 0


def closed(rows: Sequence[Row]) -> list[Row]:
    """The least transitive relations with these pairs."""
    rows = list(rows)
    for k in range(len(rows)):
        row = rows[k]
        if _is_any(row):
            for i, other in enumerate(rows):
                if i != k and _is_any(other):
                    rows[i] = joined(other, masked(other, k, row))
    return rows


def transposed(rows: Sequence[Row]) -> list[Row]:
    n = range(len(rows))
    return [reduce(joined, (masked(row, k, 1 << i) for i, row in enumerate(rows)), 0) for k in n]
