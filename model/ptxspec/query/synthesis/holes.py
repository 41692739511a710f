"""Constants for the holes of a sequence: asked of the solver for some operands, tested on the others, and asked again."""

from __future__ import annotations

import time
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from ptxspec.query.repeated import known_profile
from ptxspec.query.solvers import solve
from ptxspec.query.synthesis.sequences import Argument, Sequence
from ptxspec.query.synthesis.targets import Target
from ptxspec.query.synthesis.templates import MACHINE, OperandSlot
from ptxspec.terms.core import Bool, constant, truth, truth_variable, variable
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, substitute

#: operands that the first question is about, and questions of one sequence
FIRST, QUESTIONS = 4, 64


class Filled(NamedTuple):
    """What came of the holes of a sequence: constants that suit every operand tried ("found"), a proof that there are none
    ("none"), or neither ("open")."""

    status: str
    constants: tuple[int, ...] = ()


class Holes:
    """The holes of one sequence."""

    def __init__(self, target: Target, sequence: Sequence):
        self.target, self.sequence = target, sequence
        self.places: list[OperandSlot] = []
        for instruction in sequence:
            operands = zip(instruction.template.places, instruction.operands, strict=True)
            self.places += [place for place, operand in operands if operand.hole is not None]
        self.types: dict[str, Type] = {f"%h{i}": place.type for i, place in enumerate(self.places)}
        self.term = term_of(target, sequence)
        #: that each constant is one that its place takes, and suits the rows asked for so far
        self.conditions: Bool = TRUE
        for name, place in zip(self.types, self.places, strict=True):
            word, values = variable(name, place.type.width), place.allowed
            if isinstance(values, range) and values.step == 1:
                self.conditions = self.conditions & ((word >= values.start) & (word < values.stop))
            elif values is not None:
                self.conditions = self.conditions & reduce(or_, (word == value for value in values), FALSE)

    def filled(self, deadline: float, each: float) -> Filled:
        """Constants with which the sequence agrees with the target on every row."""
        for number in range(min(FIRST, len(self.target.rows))):
            self.ask_for(number)
        for _ in range(QUESTIONS):
            left = min(each, deadline - time.monotonic())
            if left <= 0:
                return Filled("open")
            answer = solve(self.conditions, self.types, left, simple=False)
            if answer.status != "sat":
                return Filled("none" if answer.status == "unsat" else "open")
            constants = tuple(answer.values[name] for name in self.types)
            wrong = self.first_wrong(constants)
            if wrong is None:
                # others that suit as well and are simpler, if they are found
                answer = solve(self.conditions, self.types, max(0.01, min(each, deadline - time.monotonic())))
                simpler = tuple(answer.values[name] for name in self.types) if answer.status == "sat" else constants
                return Filled("found", simpler if self.first_wrong(simpler) is None else constants)
            self.ask_for(wrong)
        return Filled("open")

    def ask_for(self, number: int) -> None:
        """Have the constants suit a row."""
        row, wanted = self.target.rows[number], self.target.wanted[number]
        result = substitute(self.term, {n: constant(row[n]) for n in self.target.names})
        holds = result == (truth(wanted) if isinstance(wanted, bool) else wanted)
        self.conditions = self.conditions & holds

    def first_wrong(self, constants: tuple[int, ...]) -> int | None:
        """The first row on which the sequence does something else."""
        term = substitute(self.term, {n: constant(c) for n, c in zip(self.types, constants, strict=True)})
        choose = known_profile(MACHINE).value
        for number, (row, wanted) in enumerate(zip(self.target.rows, self.target.wanted, strict=True)):
            try:
                if evaluate_term(term, row, choose) != wanted:
                    return number
            except NoChoice:
                return number
        return None


def term_of(target: Target, sequence: Sequence) -> Any:
    """What a sequence leaves, over the target's inputs and its holes."""
    registers: list[Any] = []
    for name in target.names:
        type = target.types[name]
        registers.append(truth_variable(name) if type.kind == "pred" else variable(name, type.width))
    for instruction in sequence:
        template, operands = instruction.template, []
        for operand, place in zip(instruction.operands, template.places, strict=True):
            if operand.register is not None:
                operands.append(registers[operand.register])
            elif operand.hole is not None:
                operands.append(variable(f"%h{operand.hole}", place.type.width))
            else:
                assert operand.constant is not None
                operands.append(constant(operand.constant))
        value = template.applied(operands)
        registers.append(value if template.width == 0 else low_bits(value, template.width))
    return registers[-1]


def with_constants(sequence: Sequence, constants: tuple[int, ...]) -> Sequence:
    """The sequence with constants in its holes."""

    def filled(operand: Argument) -> Argument:
        return operand if operand.hole is None else Argument(constant=constants[operand.hole])

    return tuple(instruction._replace(operands=tuple(map(filled, instruction.operands))) for instruction in sequence)
