"""Why two operations of an execution are related, and which cycle breaks an axiom, in words."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import NamedTuple

from ptxspec.query.litmus.compiled import closed
from ptxspec.query.litmus.executions import Execution
from ptxspec.query.litmus.programs import bits
from ptxspec.terms.relations import Claim, Relation


class Reason(NamedTuple):
    """That one operation is related to another one, both by their numbers: in words, and the reasons for that."""

    first: int
    second: int
    words: str
    parts: tuple[Reason, ...] = ()


def names_of(execution: Execution) -> list[str]:
    """A name for each operation: its thread and its number there, or what it initializes."""
    counts: dict[int, int] = {}
    names = []
    for operation in execution.operations:
        if operation.thread is None:
            names.append(f"({operation.text})")
        else:
            counts[operation.thread] = counts.get(operation.thread, 0) + 1
            names.append(f"P{operation.thread}.{counts[operation.thread]}")
    return names


class Reasons:
    """The reasons of one execution."""

    def __init__(self, execution: Execution):
        self.execution, self.names = execution, names_of(execution)

    def broken(self, claim: Claim) -> tuple[Reason, ...]:
        """The steps of a cycle, or the pair, by which an execution breaks a claim."""
        rows = self.execution.rows(claim.relation)
        if claim.says == "acyclic":
            start = next(i for i, row in enumerate(closed(rows)) if row >> i & 1)
            return self._path(claim.relation, start, start, None)
        for i, row in enumerate(rows):
            ends = [i] if claim.says == "irreflexive" else list(bits(row))
            if ends and row >> ends[0] & 1:
                return self.why(claim.relation, i, ends[0])
        raise AssertionError("the claim is kept")

    def why(self, relation: Relation, a: int, b: int, piece: int | None = None) -> tuple[Reason, ...]:
        """The steps by which a relation leads from one operation to another one."""
        parts = self._parts(relation, a, b, piece)
        if relation.words:
            words = relation.words.format(self.names[a], self.names[b])
            # one step that says the same in other words is enough
            inner = parts if len(parts) != 1 or (parts[0].first, parts[0].second) != (a, b) else parts[0].parts
            return (Reason(a, b, words, inner or (() if parts == () else parts[0].parts)),)
        return parts

    def _parts(self, relation: Relation, a: int, b: int, piece: int | None) -> tuple[Reason, ...]:
        parts = relation.parts
        match relation.operator:
            case "given" | "pairs" | "accesses byte":
                return ()
            case "union":
                part = next(p for p in parts if self.execution.holds(p, a, b, piece))
                return self.why(part, a, b, piece)
            case "intersection":
                # what says nothing in words only restricts the other
                spoken = [self.why(p, a, b, piece) for p in parts]
                return max(spoken, key=lambda steps: sum(len(s.parts) + 1 for s in steps))
            case "difference":
                return self.why(parts[0], a, b, piece)
            case "inverse":
                return self.why(parts[0], b, a, piece)
            case "or same":
                return () if a == b else self.why(parts[0], a, b, piece)
            case "any byte":
                found = next(k for k in range(len(self.execution.pieces)) if self.execution.holds(parts[0], a, b, k))
                return self.why(parts[0], a, b, found)
            case "then":
                middle = self.execution.rows(parts[0], piece)[a]
                between = next(k for k in bits(middle) if self.execution.holds(parts[1], k, b, piece))
                return (*self.why(parts[0], a, between, piece), *self.why(parts[1], between, b, piece))
            case "closure":
                return self._path(parts[0], a, b, piece)
        raise AssertionError(relation.operator)

    def _path(self, relation: Relation, a: int, b: int, piece: int | None) -> tuple[Reason, ...]:
        """The fewest steps of a relation from one operation to another one."""
        rows = self.execution.rows(relation, piece)
        came_from: dict[int, int] = {}
        waiting = deque([a])
        while b not in came_from:
            here = waiting.popleft()
            for further in bits(rows[here]):
                if further not in came_from:
                    came_from[further] = here
                    waiting.append(further)
        steps, at = [b], b
        while True:
            at = came_from[at]
            steps.append(at)
            if at == a:
                break
        steps.reverse()
        return tuple(r for x, y in pairwise(steps) for r in self.why(relation, x, y, piece))
