"""A kernel's basic blocks, in the order in which the machine prefers them, and which registers are live between them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from ptxspec.language import tree
from ptxspec.language.check import Kernel, Op

#: effects that end a basic block
_ENDING = ("branch", "return", "exit", "barrier")


class Block(NamedTuple):
    """Instructions `start` … `end` − 1. `taken` is the block that the last one branches to, `next` the one that follows; both
    are numbers of blocks, None for the end of the thread."""

    start: int
    end: int
    taken: int | None
    next: int | None


class Flow:
    """The blocks of a kernel, numbered by preference: of two blocks at which threads stand, the lower runs first."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        code = kernel.code
        starts = {0, *kernel.labels.values()}
        for i, op in enumerate(code):
            if ending(op):
                starts.add(i + 1)
        bounds = sorted(s for s in starts if s < len(code))
        number = {start: i for i, start in enumerate(bounds)}
        raw = []
        for i, start in enumerate(bounds):
            end = bounds[i + 1] if i + 1 < len(bounds) else len(code)
            follows = i + 1 if i + 1 < len(bounds) else None
            last = code[end - 1]
            taken = next_one = follows
            effect = ending(last)
            if effect == "branch":
                target = kernel.labels[branch_target(last)]
                taken = number.get(target)
                next_one = follows if last.guard else taken
            elif effect in ("return", "exit"):
                taken = None
                next_one = follows if last.guard else None
            raw.append(Block(start, end, taken, next_one))
        successors = {i: [s for s in (b.taken, b.next) if s is not None] for i, b in enumerate(raw)}
        page = importlib.import_module("ptxspec.spec.machine.divergence")
        order = page.order(successors, 0) if raw else []
        place = {old: new for new, old in enumerate(order)}
        self.blocks = [
            Block(
                raw[old].start,
                raw[old].end,
                None if raw[old].taken is None else place[raw[old].taken],
                None if raw[old].next is None else place[raw[old].next],
            )
            for old in order
        ]

    def live_in(self) -> list[set[str]]:
        """For each block the registers that it, or a block after it, may read before writing them."""
        reads: list[set[str]] = []
        writes: list[set[str]] = []
        for block in self.blocks:
            read: set[str] = set()
            written: set[str] = set()
            for op in self.kernel.code[block.start : block.end]:
                read |= registers_read(op, self.kernel) - written
                if op.guard is None:
                    written |= set(registers_written(op))
            reads.append(read)
            writes.append(written)
        live = [set(r) for r in reads]
        changed = True
        while changed:
            changed = False
            for i in reversed(range(len(self.blocks))):
                block = self.blocks[i]
                out = set().union(*[live[s] for s in (block.taken, block.next) if s is not None])
                now = reads[i] | (out - writes[i])
                if now != live[i]:
                    live[i], changed = now, True
        return live


def ending(op: Op) -> str | None:
    """The effect by which an instruction ends its block, or None."""
    effect = op.plan.meaning.effect
    return effect.kind if effect is not None and effect.kind in _ENDING else None


def branch_target(op: Op) -> str:
    """The label that a branch goes to."""
    wanted = op.plan.meaning.effect.fields["target"].name  # type: ignore[union-attr]
    for role, operand in zip(op.plan.roles, op.operands, strict=True):
        if role == ("in", wanted):
            return operand.text  # type: ignore[union-attr]
    raise AssertionError(f"{op.plan.form} has no operand {wanted}")


def written(op: Op) -> Iterator[tuple[Any, int]]:
    """Each destination operand with the number of its result; braces that group operands, and pairs, taken apart."""
    for role, operand in zip(op.plan.roles, op.operands, strict=True):
        members: list[tuple[Any, Any]] = [(role, operand)]
        if role[0] == "each":
            members = list(zip(role[1], operand.elements, strict=True))  # type: ignore[union-attr]
        for part, one in members:
            if part[0] != "out":
                continue
            if isinstance(one, tree.Pair):
                yield one.first, part[1]
                yield one.second, part[1] + 1
            else:
                yield one, part[1]


def destinations(op: Op) -> Iterator[tuple[str, Any, Any]]:
    """(register, type of the result, term) of everything an instruction writes, the sink left out."""
    for operand, number in written(op):
        result = op.plan.meaning.results[number]
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        for element, value in zip(elements, result.values, strict=True):
            if element.text != "_":
                yield element.text, result.type, value


def registers_written(op: Op) -> list[str]:
    return [name for name, _, _ in destinations(op)]


def sources(op: Op) -> Iterator[tuple[Any, tree.Operand]]:
    """Each source operand with the input of the meaning that it fills; braces taken apart."""
    inputs = {i.name: i for i in op.plan.meaning.inputs}
    for role, operand in zip(op.plan.roles, op.operands, strict=True):
        if role[0] == "in":
            yield inputs[role[1]], operand
        elif role[0] == "each":
            for part, one in zip(role[1], operand.elements, strict=True):  # type: ignore[union-attr]
                if part[0] == "in":
                    yield inputs[part[1]], one


def values_of(op: Op) -> Iterator[tuple[Any, Any, tree.Operand]]:
    """(type, variable, operand) for each variable of an instruction's meaning; a label has none."""
    for place, operand in sources(op):
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        if place.variables:
            for variable, element in zip(place.variables, elements, strict=True):
                yield place.type, variable, element


def registers_read(op: Op, kernel: Kernel) -> set[str]:
    """Every register whose old value an instruction needs, its guard and, if it is guarded, its destinations among them."""
    found: set[str] = set()

    def note(operand: Any) -> None:
        if isinstance(operand, tree.Name):
            if operand.text in kernel.registers:
                found.add(operand.text)
        elif isinstance(operand, tree.Not):
            note(operand.name)
        elif isinstance(operand, tree.Address):
            note(operand.base)
        elif isinstance(operand, tree.Braces):
            for element in operand.elements:
                note(element)

    for _, operand in sources(op):
        note(operand)
    if op.guard is not None:
        found.add(op.guard[0])
        found.update(registers_written(op))
    return found
