"""Where execution has come to, and with what: one arrival for each way, joined where ways meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxspec.terms.core import Bool
from ptxspec.terms.vocabulary import TRUE, select

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
    def possible(self) -> bool:
        return not all(is_false(r) for r in self.reached)


def is_false(condition: Bool) -> bool:
    return condition.op == "const" and not condition.attrs[0]


def is_true(condition: Bool) -> bool:
    return condition.op == "const" and bool(condition.attrs[0])


def together(arrivals: list[PathState], read: Any) -> PathState:
    """Several ways to one block as one. Ways that parted at one branch are joined first. `read(registers, name, lane)` is what a
    register holds that one of the ways has not written."""
    left = list(arrivals)
    while len(left) > 1:
        i, j = _nearest(left)
        merged = _both(left[i], left[j], read)
        left = [merged, *(a for k, a in enumerate(left) if k not in (i, j))]
    return left[0]


def _nearest(arrivals: list[PathState]) -> tuple[int, int]:
    for j in range(1, len(arrivals)):
        for i in range(j):
            pairs = zip(arrivals[i].reached, arrivals[j].reached, strict=True)
            if all(is_false(x) or is_false(y) or joined(x, y) is not None for x, y in pairs):
                return i, j
    return 0, 1


def _both(first: PathState, second: PathState, read: Any) -> PathState:
    reached, registers = [], []
    for lane, (x, y) in enumerate(zip(first.reached, second.reached, strict=True)):
        if is_false(x) or is_false(y):
            reached.append(y if is_false(x) else x)
            registers.append((second if is_false(x) else first).registers[lane])
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


def opposite(x: Bool, y: Bool) -> bool:
    """Whether one is the other's negation, as they are written."""
    return (~x) is y or x is (~y)


def joined(x: Bool, y: Bool) -> tuple[Bool, Bool] | None:
    """(where either path is taken, where it is the first given that), for paths that parted at one branch; else None."""
    shared_x, last_x = _split(x)
    shared_y, last_y = _split(y)
    if shared_x is shared_y and opposite(last_x, last_y):
        return shared_x, last_x
    return None


def _split(condition: Bool) -> tuple[Bool, Bool]:
    return (condition.args[0], condition.args[1]) if condition.op == "all" else (TRUE, condition)


def assumed(term: Any, holds: Bool) -> Any:
    """A term where a condition holds: choices that its parts decide are made."""
    known: dict[int, Bool] | None = None
    while term.op == "select":
        if known is None:
            known = {id(p): p for p in parts(holds)}
        c = term.args[0]
        wanted = parts(c)
        if all(id(p) in known for p in wanted):
            term = term.args[1]
        elif any(id(~p) in known for p in wanted):
            term = term.args[2]
        else:
            break
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
            which = parts(part.args[0])
            if all(id(p) in known for p in which):
                stack.append(part.args[1])
            elif any(id(~p) in known for p in which):
                stack.append(part.args[2])
            else:
                stack += part.args[1:]
        elif part.op == "all":  # a choice of truth values is a conjunction for each
            if not any(id(~p) in known for p in parts(part)):
                stack += part.args
        elif deep or part.op == "any":
            stack += part.args
    return names
