"""The stack of a thread: memory that an instruction reserves or gives back."""

from __future__ import annotations

from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, ENDS, entry_size, stack_moves
from ptxspec.machine.native.context import ROOM
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import Int, variable
from ptxspec.terms.effects import Release, Reserve, StackEnd, StackUse
from ptxspec.terms.lowering import Lowering

#: what terms call the end of the stack, an earlier one, where it ended when the function began, and a piece
END, TO, BEGINS_AT, BEGIN, SIZE = (variable(name, 64) for name in ("%end", "%to", "%begins", "%begin", "%size"))


class Stack:
    """Which bytes of the stack are there."""

    def __init__(self, text: FunctionText, registers: Registers, operands: OperandEmitter):
        self.text, self.registers, self.operands = text, registers, operands
        self.page, self.moves = contracts.functions, stack_moves(text.kernel)

    def move(self, op: Op, effect: StackUse, env: dict[str, str], index: int) -> list[tuple[str, str]]:
        """Reserve memory on the thread's stack, give some back, or save where it ends; what registers get by that, the stack's
        end among them."""
        text, e, registers = self.text, self.text.emitter, self.registers
        end = registers.read(ENDS)
        env["%stack_end"] = end
        text.trust_at_most("the end of the stack", end, text.frames_size)
        lowering = Lowering(e, env)
        values = self.operands.results(op, lowering)
        match effect:
            case Reserve():
                begin, size = lowering.low(effect.begin, 64), lowering.low(effect.size, 64)
                text.check(self.has_room(begin, size, end), "0", index, ROOM)
                self.extend(end, begin, size)
                text.fill(text.local_at(begin, size), 0, size)
                values.append((ENDS, begin))
            case Release():
                to = lowering.low(effect.end, 64)
                given = {"%to": to, "%end": end, "%begins": registers.read(BEGINS)}
                text.check(Lowering(e, given).truth(self.page.may_end(TO, END, BEGINS_AT)), to, index)
                text.check(self._was_saved(to), to, index)
                self.cut(to, end)
                values.append((ENDS, to))
            case StackEnd():
                self._mark(self.page.saved(END), {"%end": end})
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
        """Let the thread's stack, which ended at `end`, end where it did before."""
        self._mark(self.page.released(TO, END), {"%to": to, "%end": end})

    def has_room(self, begin: str, size: str, end: str, used: str = "0") -> str:
        """Whether there is room for a piece of a stack, which ends at `end` if it moves, and for so many bytes that calls have
        put by."""
        kernel, most = self.text.kernel, END if self.moves else variable("%local", 64)
        least = self.page.least_end(entry_size(kernel)) if self.moves else 0
        known = {"%begin": begin, "%size": size, "%end": end, "%used": used, "%local": self.text.frames_size}
        room = self.page.has_room(BEGIN, BEGIN + SIZE, variable("%used", 64), least, most)
        result: str = Lowering(self.text.emitter, known).truth(room)
        return result

    def _was_saved(self, end: str) -> str:
        """Whether an end, which the stack may be cut back to, was saved."""
        e = self.text.emitter
        below = e.binary("sub", e.binary("add", self._start(), end, 64), "1", 64)
        state = e.emit(f"load i8, ptr {self.text.at('alive', below, 1)}")
        result: str = Lowering(e, {"%state": state}).truth(self.page.was_saved(variable("%state", 8)))
        return result

    def _start(self) -> str:
        """Where the states of the thread's bytes begin."""
        return self.text.emitter.binary("mul", "%thread", self.text.frames_stride, 64)

    def _mark(self, spans: tuple[contracts.functions.Span[Int], ...], given: dict[str, str]) -> None:
        """Note of each byte of the thread's stack in which state it is."""
        e, start = self.text.emitter, self._start()
        for span in spans:
            lowering = Lowering(e, given)
            begin, end = lowering.low(span.begin, 64), lowering.low(span.end, 64)
            count = e.binary("sub", end, begin, 64)
            self.text.fill(self.text.at("alive", e.binary("add", start, begin, 64), 1, count), span.state, count)
