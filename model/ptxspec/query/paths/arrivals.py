"""Where execution has come to, and with what: one arrival for each way, joined where ways meet."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec.query.paths.conditions import joined
from ptxspec.terms.core import Bool
from ptxspec.terms.vocabulary import select

#: what the registers of one lane hold, by name
Registers = dict[str, Any]


class Frame(NamedTuple):
    """A call that has not returned: the instruction, what the caller's registers held, the number of the activation, and
    how often the caller's loops were begun again."""

    call: int
    saved: tuple[Registers, ...]
    activation: int
    function: str
    counts: dict[int, int]


class Arrival(NamedTuple):
    """A way to a block. `reached` says for each lane whether it takes that way; `counts` how often each loop was begun again, by
    the block at which it begins."""

    reached: tuple[Bool, ...]
    registers: tuple[Registers, ...]
    stack: tuple[Frame, ...] = ()
    counts: dict[int, int] = {}

    @property
    def possible(self) -> bool:
        return not all(is_false(r) for r in self.reached)


def is_false(condition: Bool) -> bool:
    return condition.op == "const" and not condition.attrs[0]


def is_true(condition: Bool) -> bool:
    return condition.op == "const" and bool(condition.attrs[0])


def together(arrivals: list[Arrival], read: Any) -> Arrival:
    """Several ways to one block as one. Ways that parted at one branch are joined first. `read(registers, name, lane)` is what a
    register holds that one of the ways has not written."""
    left = list(arrivals)
    while len(left) > 1:
        i, j = _nearest(left)
        one = _both(left[i], left[j], read)
        left = [one, *(a for k, a in enumerate(left) if k not in (i, j))]
    return left[0]


def _nearest(arrivals: list[Arrival]) -> tuple[int, int]:
    for j in range(1, len(arrivals)):
        for i in range(j):
            pairs = zip(arrivals[i].reached, arrivals[j].reached, strict=True)
            if all(is_false(x) or is_false(y) or joined(x, y) is not None for x, y in pairs):
                return i, j
    return 0, 1


def _both(one: Arrival, other: Arrival, read: Any) -> Arrival:
    reached, registers = [], []
    for lane, (x, y) in enumerate(zip(one.reached, other.reached, strict=True)):
        if is_false(x) or is_false(y):
            reached.append(y if is_false(x) else x)
            registers.append((other if is_false(x) else one).registers[lane])
            continue
        found = joined(x, y)
        either, first = found if found is not None else (x | y, x)
        reached.append(either)
        registers.append(_chosen(first, one.registers[lane], other.registers[lane], lane, read))
    counts = {b: max(one.counts.get(b, 0), other.counts.get(b, 0)) for b in {*one.counts, *other.counts}}
    return Arrival(tuple(reached), tuple(registers), one.stack, counts)


def _chosen(first: Bool, x: Registers, y: Registers, lane: int, read: Any) -> Registers:
    if first.op == "not":
        first, x, y = ~first, y, x
    found = {}
    for name in dict.fromkeys((*x, *y)):
        own = x[name] if name in x else read(x, name, lane)
        its = y[name] if name in y else read(y, name, lane)
        found[name] = own if own is its else select(first, own, its)
    return found
