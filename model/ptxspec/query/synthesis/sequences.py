"""Sequences of instructions, each once: every value is used, and independent instructions are in one order only."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ptxspec.query.synthesis.templates import OperandSlot, Template


class Argument(NamedTuple):
    """What is in a place: a register by its number (the inputs first, then the results), a constant, or a hole, whose number is
    that of the constant to be found."""

    register: int | None = None
    constant: int | None = None
    hole: int | None = None


class TemplateInstance(NamedTuple):
    """A template with its operands."""

    template: Template
    operands: tuple[Argument, ...]


Sequence = tuple[TemplateInstance, ...]


class SearchSpace(NamedTuple):
    """What sequences are made of: the templates, the widths of the inputs (0 for a predicate), the width of the result, the
    constants that may be there, and how many holes there may be (0: constants instead)."""

    templates: tuple[Template, ...]
    inputs: tuple[int, ...]
    result: int
    constants: tuple[int, ...]
    holes: int


def sequences(shape: SearchSpace, length: int, begun: Sequence = ()) -> Iterator[Sequence]:
    """All sequences of a length with this beginning."""
    if len(begun) == length:
        yield begun
        return
    widths = [*shape.inputs, *(instruction.template.width for instruction in begun)]
    holes = sum(o.hole is not None for instruction in begun for o in instruction.operands)
    for number, template in enumerate(shape.templates):
        if len(begun) == length - 1 and template.width != shape.result:
            continue
        for operands in _operands(shape, template, widths, holes):
            instruction = TemplateInstance(template, operands)
            extended = (*begun, instruction)
            if _in_order(shape, begun, instruction, number) and _usable(shape, extended, length):
                yield from sequences(shape, length, extended)


def _operands(shape: SearchSpace, template: Template, widths: list[int], holes: int) -> Iterator[tuple[Argument, ...]]:
    """The operands of a further instruction, of which one at least is a register."""
    choices = [list(_choices(shape, place, widths)) for place in template.places]
    if (
        not shape.holes
    ):  # constants first, but in the first place: a person shifts by 31 rather than by a negative number
        choices[1:] = [sorted(candidates, key=lambda o: o.register is not None) for candidates in choices[1:]]
    for chosen in itertools.product(*choices):
        if all(o.register is None for o in chosen):
            continue
        if template.commutes and _rank(chosen[0]) > _rank(chosen[1]):
            continue
        numbers = itertools.count(holes)
        operands = tuple(o._replace(hole=next(numbers)) if o.hole is not None else o for o in chosen)
        if next(numbers) <= shape.holes:
            yield operands


def _rank(operand: Argument) -> tuple[int, int]:
    if operand.register is not None:
        return 0, operand.register
    return (1, operand.constant) if operand.constant is not None else (2, 0)


def _choices(shape: SearchSpace, place: OperandSlot, widths: list[int]) -> Iterator[Argument]:
    if place.takes_register:
        for number, width in enumerate(widths):
            if width == place.width:
                yield Argument(register=number)
    if place.takes_constant and shape.holes:
        yield Argument(hole=0)
    elif place.takes_constant:
        for value in shape.constants:
            if place.takes(value):
                yield Argument(constant=value)


def _in_order(shape: SearchSpace, begun: Sequence, instruction: TemplateInstance, number: int) -> bool:
    """Whether an instruction that does not need the one before it comes after it in the order of all instructions."""
    if not begun:
        return True
    before = len(shape.inputs) + len(begun) - 1
    if any(o.register == before for o in instruction.operands):
        return True
    previous = begun[-1]
    key = (shape.templates.index(previous.template), [_rank(o) for o in previous.operands])
    return key <= (number, [_rank(o) for o in instruction.operands])


def _usable(shape: SearchSpace, begun: Sequence, length: int) -> bool:
    """Whether each result so far can still be used, all but the last of a whole sequence."""
    first = len(shape.inputs)
    used = {o.register for instruction in begun for o in instruction.operands}
    unused = sum(first + i not in used for i in range(len(begun)))
    most = max(len(t.places) for t in shape.templates)
    return unused <= 1 + (length - len(begun)) * (most - 1)
