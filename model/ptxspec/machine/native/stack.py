"""The stack of a thread: memory that an instruction reserves or gives back."""

from __future__ import annotations

from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, ENDS
from ptxspec.machine.native.context import ROOM
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import Int, variable
from ptxspec.terms.effects import Release, Reserve, StackEnd, StackUse
from ptxspec.terms.lowering import Lowering

#: what terms call the end of the stack, an earlier one, and a piece
END, TO, BEGIN, SIZE = (variable(name, 64) for name in ("%end", "%to", "%begin", "%size"))


class Stack:
    """Which bytes of the stack are there."""

    def __init__(self, text: FunctionText, registers: Registers, operands: OperandEmitter):
        self.text, self.registers, self.operands = text, registers, operands
        self.page = contracts.functions

    def move(self, op: Op, effect: StackUse, env: dict[str, str], index: int) -> list[tuple[str, str]]:
        """Reserve memory on the thread's stack, or give some back; what registers get by that, the stack's end among them."""
        text, e, registers = self.text, self.text.emitter, self.registers
        end = registers.read(ENDS)
        env["%stack_end"] = end
        text.trust_at_most("the end of the stack", end, text.frames_size)
        lowering = Lowering(e, env)
        values = self.operands.results(op, lowering)
        match effect:
            case Reserve():
                begin, size = lowering.low(effect.begin, 64), lowering.low(effect.size, 64)
                text.check(self.has_room({"%begin": begin, "%size": size}, BEGIN + SIZE), "0", index, ROOM)
                self.extend(end, begin, size)
                text.fill(text.local_at(begin, size), 0, size)
                values.append((ENDS, e.binary("add", begin, size, 64)))
            case Release():
                to = lowering.low(effect.end, 64)
                may_end = self.page.may_end(TO, variable("%least", 64), END)
                given = {"%to": to, "%least": registers.read(BEGINS), "%end": end}
                text.check(Lowering(e, given).truth(may_end), to, index)
                self.cut(to, end)
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
        self._mark(self.page.extended(END, BEGIN, SIZE), {"%end": end, "%begin": begin, "%size": size})

    def cut(self, to: str, end: str) -> None:
        """Let the thread's stack, which ended at `end`, end earlier."""
        self._mark(self.page.released(TO, END), {"%to": to, "%end": end})

    def has_room(self, given: dict[str, str], end: Int, used: str = "0") -> str:
        """Whether there is room for a stack that ends where a term over what is given says, and for so many bytes that calls have
        put by."""
        known = given | {"%used": used, "%local": self.text.frames_size}
        room = self.page.has_room(end, variable("%used", 64), variable("%local", 64))
        result: str = Lowering(self.text.emitter, known).truth(room)
        return result

    def _mark(self, spans: tuple[contracts.functions.Span[Int], ...], given: dict[str, str]) -> None:
        """Note of each byte of the thread's stack in which state it is."""
        e = self.text.emitter
        start = e.binary("mul", "%thread", self.text.frames_stride, 64)
        for span in spans:
            lowering = Lowering(e, given)
            begin, end = lowering.low(span.begin, 64), lowering.low(span.end, 64)
            count = e.binary("sub", end, begin, 64)
            self.text.fill(self.text.at("alive", e.binary("add", start, begin, 64), 1, count), span.state, count)
