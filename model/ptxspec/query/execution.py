"""What instructions make of registers that hold terms: one meaning, for a straight line and for each path through a program."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Checked, Kernel, Op, sum_bits
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.diagnostics import Source
from ptxspec.language.forms import page_name
from ptxspec.language.parser import statement
from ptxspec.language.specials import first_name, special_registers
from ptxspec.machine.flow import destinations, values_of
from ptxspec.query.outcomes import INSTEAD, InstructionStep, Unsupported, refused
from ptxspec.query.paths.arrivals import PathState, assumed
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int, constant, make, variable_of
from ptxspec.terms.registries import changing
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import (
    EACH_EXECUTION,
    FALSE,
    NUMBERED,
    TRUE,
    low_bits,
    number,
    rebuilt,
    select,
)


class Executions:
    """The executions of a side so far, in their order."""

    def __init__(self) -> None:
        #: by a freedom's attributes: the operands of those that were met, and when they are executed
        self._before: dict[Any, list[tuple[tuple[Any, ...], Bool]]] = {}

    def substitute(self, term: Any, values: dict[str, Any], memo: dict[int, Any], holds: Bool = TRUE) -> Any:
        """A term of an instruction that is executed where a condition holds, with variables replaced by other terms. `memo` is
        shared between the terms of one execution."""

        def replace(t: Any, args: tuple[Any, ...]) -> Any:
            if t.op == "var":
                return values.get(t.attrs[0], t)
            if t.op != "freedom" or t.attrs[6] != EACH_EXECUTION:
                return None
            before = self._before.setdefault(t.attrs, [])
            count: Int = constant(0)  # of those before that were executed and have equal operands
            for others, when in before:
                count = count + number(reduce(and_, (x == y for x, y in zip(args, others, strict=True)), when))
            before.append((args, holds))
            return make(t.op, (*args, count), (*t.attrs[:6], NUMBERED))

        return rebuilt(term, replace, memo)


class SymbolicExecution:
    """The instructions of one side, executed one after another: a straight line without memory, to which a walk adds branches,
    memory and lanes."""

    def __init__(self, source: Source, kernel: Kernel):
        self.source, self.kernel = source, kernel
        #: the types of the registers that are read or written
        self.registers: dict[str, Type] = {}
        #: by name, whether an input is read only because a guard, or another path, leaves it as it was
        self.inputs: dict[str, bool] = {}
        # as SymbolicFragment has them
        self.steps: list[InstructionStep] = []
        self.formats: dict[str, Type] = {}
        self.taken: dict[str, Type] = {}
        self.left: dict[str, Type] = {}
        self.executions = Executions()

    # inputs --------------------------------------------------------------------------------------------------------------

    def public(self, name: str, lane: int, activation: int = 0) -> str:
        """How a register is called outside."""
        return name

    def first_value(self, name: str, lane: int, carried: bool = False, activation: int = 0) -> Any:
        """What a register holds that nothing has written."""
        type = self.kernel.registers.get(name)
        if type is None:
            return self.special(name, lane)
        shown = self.public(name, lane, activation)
        self.registers[shown] = type
        return self.at_first(shown, type, carried)

    def at_first(self, shown: str, type: Type, carried: bool = False) -> Any:
        """What something of this name holds that nothing has written: an input."""
        self.inputs[shown] = self.inputs.get(shown, True) and carried
        return variable_of(shown, type)

    def special(self, name: str, lane: int) -> Any:
        """A special register: an input."""
        if changing(name) is not None:
            raise Unsupported(f"{name} changes while a program runs, so that it has no value here")
        name = first_name(name)
        self.inputs[name] = False
        return variable_of(name, special_registers()[name])

    def read(self, way: PathState, name: str, lane: int, carried: bool = False) -> Any:
        """What a register holds. It is `carried` if that is only to be left as it was."""
        registers = way.registers[lane]
        if name not in registers:
            registers[name] = self.first_value(name, lane, carried, way.activation)
        elif not carried and registers[name].op == "var":
            shown = registers[name].attrs[0]
            if shown in self.inputs:
                self.inputs[shown] = False
        return registers[name]

    # instructions --------------------------------------------------------------------------------------------------------

    def execute(self, op: Op, way: PathState) -> None:
        """An instruction after which the next one follows."""
        effect = op.plan.meaning.effect
        for lane, reached in enumerate(way.reached):
            if reached is FALSE:
                continue
            holds = self.guard(op, way, lane)
            done = reached & holds
            env = self.sources(op, way._replace(reached=(done,) * len(way.reached)), lane)
            if effect is not None:
                self.act(effect, op, env, done, lane)
            self.write(op, env, way, lane, holds)

    def guard(self, op: Op, way: PathState, lane: int) -> Bool:
        """The condition under which an instruction's guard lets it through."""
        if op.guard is None:
            return TRUE
        guard: Bool = self.read(way, op.guard[0], lane)
        return ~guard if op.guard[1] else guard

    def sources(self, op: Op, way: PathState, lane: int) -> dict[str, Any]:
        """By the names of the definition's variables, what the operands hold."""
        env = {}
        for type, placeholder, operand in values_of(op):
            name, width = placeholder.attrs[:2]
            if isinstance(operand, tree.Name) and type is not None:
                shown = self.public(operand.text, lane)
                if _is_special(type) and operand.text not in way.registers[lane]:
                    self.formats.setdefault(shown, type)
                known = self.taken.get(shown)
                if shown not in self.left and (known is None or (known.kind == "b" and type.kind != "b")):
                    self.taken[shown] = type
            env[name] = self.operand(type, width, operand, way, lane)
        return env

    def operand(self, type: Type | None, width: int, operand: Any, way: PathState, lane: int) -> Any:
        """What an operand holds, as a term of so many bits, or a truth value."""
        match operand:
            case tree.Not(name):
                return ~self.read(way, name.text, lane)
            case tree.Number() | tree.Float():
                assert type is not None
                bits = constant_bits(operand, type)
                return constant(bool(bits)) if type.kind == "pred" else constant(bits)
            case tree.Name(name):
                value = self.read(way, name, lane)
                return value if isinstance(value, Bool) else low_bits(assumed(value, way.reached[lane]), width)
        raise Unsupported(f"an address in brackets: fragments cannot access memory; {INSTEAD}")

    def act(self, effect: effects.Effect, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        """What an instruction does beyond its results where a condition holds. The order of memory is nothing to a thread that
        accesses none."""
        if not isinstance(effect, effects.Fencing):
            raise refused(op.plan.form.mnemonic, effect)

    def write(self, op: Op, env: dict[str, Any], way: PathState, lane: int, holds: Bool) -> None:
        """Let an instruction's destinations have their values."""
        memo: dict[int, Any] = {}
        done = way.reached[lane] & holds
        step = self.step(op)._replace(holds=None if op.guard is None else holds, plan=op.plan, sources=env)
        written = {}
        for name, type, term in destinations(op):
            value = self.executions.substitute(term, env, memo, done)
            register = self.kernel.registers[name]
            if register.width > type.width:
                value = contracts.type_checking.widened(value, type, register.width)
            shown = self.public(name, lane)
            self.registers.setdefault(shown, register)
            self.left[shown] = type
            if _is_special(type):
                self.formats[shown] = type
            else:
                self.formats.pop(shown, None)
            if holds is not TRUE:
                value = select(holds, value, self.read(way, name, lane, carried=True))
            written[name] = value
            if not name.startswith("@"):  # no identifier, but what a contraction computes
                step.writes[shown], step.types[shown] = value, type
        way.registers[lane].update(written)
        self.note(op, step, done)

    def step(self, op: Op) -> InstructionStep:
        """An instruction that has written nothing yet."""
        definition = op.plan.form.definition
        text, page = statement(self.source.text, op.position), page_name(definition.path)
        guard = None if op.guard is None else "!" * op.guard[1] + op.guard[0]
        return InstructionStep(text, page, definition.line, {}, {}, guard)

    def note(self, op: Op, step: InstructionStep, done: Bool) -> None:
        """Keep what an instruction did where a condition holds, for those who look at it."""
        self.steps.append(step)


class KernelExecution(SymbolicExecution):
    """The instructions of a kernel of a module, whose operands may be addresses."""

    def __init__(self, source: Source, kernel: Kernel, checked: Checked):
        super().__init__(source, kernel)
        self.checked = checked

    def address_of(self, name: str, way: PathState, lane: int) -> Int:
        """The address of a variable of this name."""
        raise NotImplementedError

    def operand(self, type: Type | None, width: int, operand: Any, way: PathState, lane: int) -> Any:
        size, variables = self.checked.address_size, contracts.variables
        match operand:
            case tree.Address(base, offset):
                size = sum_bits(self.kernel, operand, size)
                start = constant(0) if base is None else self.operand(None, 64, base, way, lane)
                return low_bits(variables.behind(start, offset, size), width)
            case tree.Indexed():
                start = self.address_of(operand.base.text, way, lane)
                index = self.operand(None, 32, operand.register, way, lane)
                address = variables.element_address(start, index, operand.scale, operand.offset, operand.bits)
                return low_bits(address, width)
            case tree.Sum(base, offset):
                return low_bits(variables.behind(self.address_of(base.text, way, lane), offset, size), width)
            case tree.Name(name) if name not in self.kernel.registers and name in self.kernel.places:
                return low_bits(self.address_of(name, way, lane), width)
            case tree.Name(name) if name in self.checked.signatures:
                raise Unsupported(f"the address of the function {name} is taken: calls must name their function")
        return super().operand(type, width, operand, way, lane)


def _is_special(type: Type) -> bool:
    """Whether the register's own type does not tell what is in it."""
    return type.elements > 1 or not type.is_fundamental
