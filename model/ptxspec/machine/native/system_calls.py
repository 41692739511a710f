"""Calls of the system, which the host answers."""

from __future__ import annotations

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import FRAME
from ptxspec.machine.native.arguments import Arguments
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText


class SystemCalls:
    """What a thread asks the system with, and what it is answered."""

    def __init__(self, text: FunctionText, registers: Registers, arguments: Arguments):
        self.text, self.registers, self.arguments = text, registers, arguments

    def ask(self, op: Op) -> None:
        """Give the system what it is asked with."""
        assert op.call is not None
        text = self.text
        for i, (operand, formal) in enumerate(zip(op.call.arguments, op.call.signature.parameters, strict=True)):
            value, is_pointer = self.arguments.passed(operand, formal)
            bits = 8 * formal.size
            if is_pointer:
                loaded = f"%given{i}_{len(text.lines)}"
                text.lines.append(f"  {loaded} = load i{bits}, ptr {value}")
                value = loaded
            word = value if bits == 64 else text.emitter.extend(value, bits, 64, False)
            text.lines.append(f"  store i64 {word}, ptr {text.asked_at('request', i)}")

    def take_answer(self, op: Op) -> None:
        """Take the result of a function of the system."""
        assert op.call is not None
        text = self.text
        for operand, formal in zip(op.call.results, op.call.signature.returns, strict=True):
            assert isinstance(operand, tree.Name)
            name, bits = operand.text, 8 * formal.size
            if name == "_":
                continue
            word = text.emitter.emit(f"load i64, ptr {text.asked_at('answer', 0)}")
            value = word if bits == 64 else text.emitter.truncate(word, 64, bits)
            if name in text.kernel.registers:
                self.registers.set(name, value)
            else:
                offset = text.kernel.places[name].offset
                at = self.arguments.in_frame(self.registers.read(FRAME), offset, formal.size)
                text.lines.append(f"  store i{bits} {value}, ptr {at}")
