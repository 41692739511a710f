"""What calls pass, and what comes back: from operands of the caller to variables and registers of the function."""

from __future__ import annotations

from typing import Any

from ptxspec.language.checked import Formal, Signature
from ptxspec.machine.call_graph import FRAME, RETURNED
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.program import in_frame


class ArgumentEmitter:
    """Takes arguments at a call, and results behind it."""

    def __init__(self, text: FunctionText, registers: Registers, operands: OperandEmitter):
        self.text, self.registers, self.operands = text, registers, operands
        self.program, self.kernel = text.program, text.kernel

    def signature(self, function: str) -> Signature:
        """What a function takes and gives."""
        signature = self.kernel.functions[function].signature
        assert signature is not None  # it is no entry
        return signature

    def in_frame(self, frame: str, offset: int, size: int) -> str:
        """The pointer to so many bytes of a frame."""
        return self.text.local_at(self.text.emitter.binary("add", frame, str(offset), 64), size)

    def passed(self, operand: Any, formal: Any) -> tuple[str, bool]:
        """(an argument's value, False), or (the pointer to the variable that holds it, True)"""
        offset = in_frame(self.program, operand)
        if offset is None:
            return self.operands.value(formal.type, formal.type.width, operand), False
        size = self.kernel.places[operand.text].size if formal.is_open else formal.size
        at = self.in_frame(self.registers.read(FRAME), offset, size)
        if formal.place is not None:
            return at, True
        value = f"%passed{len(self.text.lines)}"
        self.text.lines.append(f"  {value} = load i{formal.type.width}, ptr {at}")
        return value, False

    def receive(self, value: str, is_pointer: bool, formal: Any, frame: str) -> None:
        """Give an argument to the parameter of a function, in whose frame its variables lie."""
        if formal.place is None:
            self.registers.put(formal.register, value)
            return
        at = self.in_frame(frame, formal.place.offset, formal.size)
        if is_pointer:
            self.text.copy(at, value, formal.size)
        else:
            align = min(formal.type.bytes, 8)
            self.text.lines.append(f"  store i{formal.type.width} {value}, ptr {at}, align {align}")

    def receive_among(self, value: str, address: str, k: int, functions: list[str]) -> None:
        """Give the k-th argument to the register of that one of the functions that the call goes to."""
        for name in functions:
            formal = self.signature(name).parameters[k]
            here = self.text.emitter.compare("eq", address, str(self.program.functions[name]), 64)
            register = str(formal.register)
            old = self.registers.read(register)
            self.registers.put(register, self.text.emitter.select(here, value, old, formal.type.width))

    def left_among(self, k: int, functions: list[str]) -> str:
        """The k-th result, from the register of that one of the functions that the thread returned from."""
        value = ""
        for name in functions:
            formal = self.signature(name).returns[k]
            result = self.registers.read(str(formal.register))
            here = self.text.emitter.compare("eq", self.registers.read(RETURNED), str(self.program.functions[name]), 64)
            value = self.text.emitter.select(here, result, value, formal.type.width) if value else result
        return value or "0"

    def left(self, formals: tuple[Formal, ...], frame: str, among: list[str] | None) -> list[str]:
        """Where a function has left its results: the values of registers, or pointers to variables. `among` are the functions
        that an indirect call may have reached."""
        results: list[str] = []
        for k, formal in enumerate(formals):
            if formal.place is None and among is not None:
                results.append(self.left_among(k, among))
            elif formal.place is None:
                results.append(self.registers.read(str(formal.register)))
            else:
                results.append(self.in_frame(frame, formal.place.offset, formal.size))
        return results

    def give(self, name: str, result: str, formal: Formal, frame: str) -> None:
        """Give a result to a register, or to a variable of the caller, in this frame."""
        if name == "_":
            return
        word, align, lines = f"i{formal.type.width}", min(formal.type.bytes, 8), self.text.lines
        if name in self.kernel.registers:
            if formal.place is not None:
                value = f"%{self.text.label('result')}"
                lines.append(f"  {value} = load {word}, ptr {result}, align {align}")
                result = value
            self.registers.set(name, result)
            return
        to = self.in_frame(frame, self.kernel.places[name].offset, formal.size)
        if formal.place is None:
            lines.append(f"  store {word} {result}, ptr {to}, align {max(1, align)}")
        else:
            self.text.copy(to, result, formal.size)
