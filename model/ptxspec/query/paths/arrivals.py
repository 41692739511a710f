"""Where execution has come to, and with what: one arrival for each way, joined where ways meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxspec.terms.core import Bool
from ptxspec.terms.vocabulary import FALSE, TRUE, select

#: what the registers of one lane hold, by name
Registers = dict[str, Any]


class CallFrame(NamedTuple):
    """A call that has not returned: the instruction, what the caller's registers held, the number of the activation, and
    how often the caller's loops were begun again."""

    call: int
    saved: tuple[Registers, ...]
    activation: int
    function: str
    counts: dict[int, int]


class PathState(NamedTuple):
    """A way to a block. `reached` says for each lane whether it takes that way; `counts` how often each loop was begun again, by
    the block at which it begins."""

    reached: tuple[Bool, ...]
    registers: tuple[Registers, ...]
    stack: tuple[CallFrame, ...] = ()
    counts: dict[int, int] = {}

    @property
    def activation(self) -> int:
        """The number of the activation that it is in, 0 outside of all calls."""
        return self.stack[-1].activation if self.stack else 0

    @property
    def possible(self) -> bool:
        return not all(r is FALSE for r in self.reached)


def together(arrivals: list[PathState], read: Any) -> PathState:
    """Several ways to one block as one. Ways that parted at one branch are joined first. `read(registers, name, lane)` is what a
    register holds that one of the ways has not written."""

    def are_near(i: int, j: int) -> bool:
        pairs = zip(left[i].reached, left[j].reached, strict=True)
        return all(x is FALSE or y is FALSE or joined(x, y) is not None for x, y in pairs)

    left = list(arrivals)
    while len(left) > 1:
        i, j = next(((i, j) for j in range(1, len(left)) for i in range(j) if are_near(i, j)), (0, 1))
        left = [_both(left[i], left[j], read), *(a for k, a in enumerate(left) if k not in (i, j))]
    return left[0]


def _both(first: PathState, second: PathState, read: Any) -> PathState:
    reached, registers = [], []
    for lane, (x, y) in enumerate(zip(first.reached, second.reached, strict=True)):
        if x is FALSE or y is FALSE:
            reached.append(y if x is FALSE else x)
            registers.append((second if x is FALSE else first).registers[lane])
            continue
        branch = joined(x, y)
        either, is_first = branch if branch is not None else (x | y, x)
        reached.append(either)
        registers.append(_chosen(is_first, first.registers[lane], second.registers[lane], lane, read))
    counts = {b: max(first.counts.get(b, 0), second.counts.get(b, 0)) for b in {*first.counts, *second.counts}}
    return PathState(tuple(reached), tuple(registers), first.stack, counts)


def _chosen(first: Bool, x: Registers, y: Registers, lane: int, read: Any) -> Registers:
    if first.op == "not":
        first, x, y = ~first, y, x
    registers = {}
    for name in dict.fromkeys((*x, *y)):
        left = x[name] if name in x else read(x, name, lane)
        right = y[name] if name in y else read(y, name, lane)
        registers[name] = left if left is right else select(first, left, right)
    return registers


def parts(condition: Bool) -> list[Bool]:
    """What a conjunction says, the last first."""
    conjuncts, stack = [], [condition]
    while stack:
        conjunct = stack.pop()
        if conjunct.op == "all":
            stack += conjunct.args
        else:
            conjuncts.append(conjunct)
    return conjuncts


def joined(x: Bool, y: Bool) -> tuple[Bool, Bool] | None:
    """(where either path is taken, where it is the first given that), for paths that parted at one branch; else None."""
    (shared_x, last_x), (shared_y, last_y) = (c.args if c.op == "all" else (TRUE, c) for c in (x, y))
    parted = shared_x is shared_y and ((~last_x) is last_y or last_x is (~last_y))
    return (shared_x, last_x) if parted else None


def _decided(condition: Bool, known: Mapping[int, Bool]) -> bool | None:
    """Whether a condition holds, as far as what is known says so by itself, by the ids of its parts."""
    conjuncts = parts(condition)
    if all(id(p) in known for p in conjuncts):
        return True
    return False if any(id(~p) in known for p in conjuncts) else None


def assumed(term: Any, holds: Bool) -> Any:
    """A term where a condition holds: choices that its parts decide are made."""
    if term.op != "select" or holds is TRUE:
        return term
    known = {id(p): p for p in parts(holds)}
    while term.op == "select" and (chosen := _decided(term.args[0], known)) is not None:
        term = term.args[1 if chosen else 2]
    return term


def leaves(term: Any, holds: Bool, wanted: Mapping[int, str], deep: bool = False) -> set[str]:
    """Which of the terms that are wanted, by their ids, a term may be where a condition holds: choices that its parts decide are
    made. If it is `deep`, which of them it may be computed from."""
    known = {id(p): p for p in parts(holds)}
    names: set[str] = set()
    seen: set[int] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if id(part) in wanted:
            names.add(wanted[id(part)])
        elif part.op == "select":
            chosen = _decided(part.args[0], known)
            stack += part.args[1:] if chosen is None else [part.args[1 if chosen else 2]]
        elif part.op == "all":  # a choice of truth values is a conjunction for each
            if not any(id(~p) in known for p in parts(part)):
                stack += part.args
        elif deep or part.op == "any":
            stack += part.args
    return names
