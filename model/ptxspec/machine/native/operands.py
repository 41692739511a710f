"""Operands of instructions as LLVM values, and what their destinations get."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Op, sum_bits
from ptxspec.machine.call_graph import FRAME
from ptxspec.machine.flow import destinations, values_of
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.program import constant_of, in_frame, in_part
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type


class OperandEmitter:
    """Values of operands at the instruction that is being written."""

    def __init__(self, text: FunctionText, registers: Registers):
        self.text, self.registers = text, registers
        self.program, self.kernel, self.emitter = text.program, text.kernel, text.emitter

    def environment(self, op: Op) -> dict[str, str]:
        """The variables of the instruction's meaning."""
        return {v.attrs[0]: self.value(type, v.attrs[1], element) for type, v, element in values_of(op)}

    def value(self, type: Type | None, width: int, operand: Any) -> str:
        """An operand as a word of so many bits, or an i1; `type` is the one that a constant is of."""
        if isinstance(operand, tree.Address):
            base = "0" if operand.base is None else self.value(None, 64, operand.base)
            size = sum_bits(self.kernel, operand, self.program.address_size)
            if not operand.offset and size == 64:
                return base
            behind = contracts.variables.behind(variable("%base", 64), operand.offset, size)
            address: str = Lowering(self.emitter, {"%base": base}).low(behind, 64)
            return address
        if isinstance(operand, tree.Indexed):
            return self.element(operand, width)
        if isinstance(operand, tree.Not):
            return self.emitter.logic("xor", self.registers.read(operand.name.text), "true")
        moved = self.moved(operand)
        if moved is not None:
            return moved if width == 64 else self.emitter.truncate(moved, 64, width)
        constant = constant_of(self.program, type, operand)
        if constant is not None:
            if type is not None and type.kind == "pred":
                return "true" if constant else "false"
            return str(constant & (1 << width) - 1)
        return self.held(operand.text, width)

    def moved(self, operand: Any) -> str | None:
        """The address of what lies in the frame, or in the CTA's part of shared memory; None for all else."""
        offset = in_frame(self.program, operand)
        if offset is not None:
            return self.emitter.binary("add", self.registers.read(FRAME), str(offset & (1 << 64) - 1), 64)
        offset = in_part(self.program, operand)
        return None if offset is None else self.emitter.binary("add", "%part", str(offset & (1 << 64) - 1), 64)

    def held(self, name: str, width: int) -> str:
        """What a register holds, or a special register says."""
        if name in self.kernel.registers:
            type, value = self.kernel.registers[name], self.registers.read(name)
        else:
            type, value = self.text.layout.special_types[name], self.registers.source.special(name)
        if type.kind == "pred" or type.width == width:
            return value
        if type.width > width:
            return self.emitter.truncate(value, type.width, width)
        return self.emitter.extend(value, type.width, width, False)

    def element(self, operand: tree.Indexed, width: int) -> str:
        """The address of an element, by the words of the page."""
        start = self.value(None, 64, tree.Sum(operand.base, 0))
        index = self.value(None, 32, operand.register)
        page = contracts.variables
        begin, which = variable("%start", 64), variable("%index", 32)
        term = page.element_address(begin, which, operand.scale, operand.offset, operand.bits)
        address: str = Lowering(self.emitter, {"%start": start, "%index": index}).low(term, width)
        return address

    def results(self, op: Op, lowering: Lowering) -> list[tuple[str, str]]:
        """(register, value at the register's width) of what an instruction writes."""
        values = []
        for name, type, value in destinations(op):
            if type.kind == "pred":
                values.append((name, lowering.truth(value)))
            else:
                width = self.kernel.registers[name].width
                whole = value if width == type.width else contracts.type_checking.widened(value, type, width)
                values.append((name, lowering.low(whole, width)))
        return values
