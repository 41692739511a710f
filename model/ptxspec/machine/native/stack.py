"""The stack of a thread: memory that an instruction reserves or gives back."""

from __future__ import annotations

from typing import assert_never

from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, ENDS
from ptxspec.machine.memory import rules
from ptxspec.machine.native.context import ROOM
from ptxspec.machine.native.operands import Operands
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import Text
from ptxspec.terms.effects import Release, Reserve, StackEnd, StackUse
from ptxspec.terms.lowering import Lowering


class Stack:
    """Which bytes of the stack are there."""

    def __init__(self, text: Text, registers: Registers, operands: Operands):
        self.text, self.registers, self.operands = text, registers, operands

    def move(self, op: Op, effect: StackUse, env: dict[str, str], index: int) -> list[tuple[str, str]]:
        """Reserve memory on the thread's stack, or give some back; what registers get by that, the stack's end among them."""
        text, e, registers = self.text, self.text.emitter, self.registers
        end = registers.read(ENDS)
        env["%stack_end"] = end
        text.trust_at_most("the end of the stack", end, "%local_size")
        lowering = Lowering(e, env)
        values = self.operands.results(op, lowering)
        match effect:
            case Reserve():
                begin, size = lowering.low(effect.begin, 64), lowering.low(effect.size, 64)
                below = e.emit(f"icmp ule i64 {begin}, %local_size")
                fits = e.emit(f"icmp ule i64 {size}, {e.binary('sub', '%local_size', begin, 64)}")
                text.check(e.logic("and", below, fits), "0", index, ROOM)
                self.extend(end, begin, size)
                text.fill(text.local_at(begin, size), 0, size)
                values.append((ENDS, e.binary("add", begin, size, 64)))
            case Release():
                to = lowering.low(effect.end, 64)
                least = e.emit(f"icmp ule i64 {registers.read(BEGINS)}, {to}")
                text.check(e.logic("and", least, e.emit(f"icmp ule i64 {to}, {end}")), to, index)
                self.mark(to, end, rules().GONE)
                values.append((ENDS, to))
            case StackEnd():
                pass
            case _:
                assert_never(effect)
        for name, value in values:
            if name == ENDS:
                registers.put(name, value)  # at once, for what complains of a later instruction
        return values

    def extend(self, end: str, begin: str, size: str) -> None:
        """Let the thread's stack, which ended at `end`, hold so many bytes from `begin` on; nothing is in between."""
        self.mark(end, begin, rules().NEVER)
        self.mark(begin, self.text.emitter.binary("add", begin, size, 64), rules().ALIVE)

    def mark(self, begin: str, end: str, state: int) -> None:
        """Note of each byte of the thread's stack between two addresses whether it is there."""
        e = self.text.emitter
        start = e.binary("mul", "%lane", "%local_stride", 64)
        count = e.binary("sub", end, begin, 64)
        self.text.fill(self.text.at("alive", e.binary("add", start, begin, 64), 1, count), state, count)
