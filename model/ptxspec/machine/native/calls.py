"""Calls: ways from one function into another and back, the frames of functions, and calls of the system."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Formal, Op
from ptxspec.machine.call_graph import (
    BEGINS,
    DEPTH,
    ENDS,
    FRAME,
    call_results,
    calls,
    kept_bytes,
    passed_beyond,
    slots,
    stack_moves,
    way_back_bytes,
)
from ptxspec.machine.native.arguments import ArgumentEmitter
from ptxspec.machine.native.context import ROOM
from ptxspec.machine.native.edges import Edges
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.stack import END, SIZE, Stack
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.core import Int, variable
from ptxspec.terms.effects import Call
from ptxspec.terms.lowering import Lowering

FRAME_AT = variable("%frame", 64)


class Callee(NamedTuple):
    """What a call reaches: the block at which the function begins, the bytes of its frame, its parameters; and of an indirect
    call the address, and the functions that it may have."""

    begins: str
    size: str
    formals: tuple[Formal, ...]
    address: str = ""
    among: tuple[str, ...] = ()


class OpenedFrame(NamedTuple):
    """A new frame: where it begins, what of the thread's stack is in use then, how many bytes the frame has, and how many of them
    lie behind what the function itself has."""

    frame: str
    used: str
    size: str
    beyond: int


class CallEmitter:
    """Opens a frame, and closes it."""

    def __init__(
        self, text: FunctionText, registers: Registers, stack: Stack, arguments: ArgumentEmitter, edges: Edges
    ):
        self.text, self.registers, self.stack = text, registers, stack
        self.arguments, self.edges = arguments, edges
        self.program, self.kernel, self.emitter = text.program, text.kernel, text.emitter
        self.moves = stack_moves(text.kernel)
        self.page = contracts.functions

    def stack_at(self, depth: str, size: int = 8) -> str:
        """The pointer to so many bytes of the thread's stack."""
        start = self.emitter.binary("mul", "%thread", str(self.text.layout.stack), 64)
        return self.text.at("stack", self.emitter.binary("add", start, depth, 64), 1, size)

    def trust_frame(self, frame: str, size: int) -> None:
        """Check that so many bytes of a frame lie in the thread's local memory."""
        self.text.trust_at_most("the frame", frame, self.kernel.sizes[contracts.state_spaces.OF_FRAMES] - size)

    def trust_depth(self, depth: str) -> None:
        """Check that the stack is as deep as it can be, at most."""
        self.text.trust_at_most("the depth of the stack", depth, self.text.layout.stack)

    def own_size(self, index: int) -> int:
        """The bytes of the frame of the function in which an instruction stands."""
        return self.kernel.functions[self.program.flow.function_of(index)].frame_size

    def way_back(self) -> str:
        """The block that the thread returns to."""
        depth, ended = self.registers.read(DEPTH), len(self.program.flow.blocks)
        top = self.emitter.binary("sub", depth, str(way_back_bytes()), 64)
        self.trust_depth(depth)
        self.trust_depth(top)  # no less than nothing, either
        taken = self.emitter.emit(f"load i64, ptr {self.stack_at(top)}")
        self.text.trust("the block to return to", taken, self.emitter.compare("ult", taken, str(ended), 64))
        return taken

    # into a function --------------------------------------------------------------------------------------------------

    def enter(self, op: Op, index: int, lowering: Lowering) -> None:
        """Pass a call's arguments, open a frame, and go on where the function begins."""
        assert op.call is not None
        callee = self._callee(op, index, lowering)
        if callee is None:
            self.text.check("false", "0", index)
            self.edges.follow("0")
            return
        saved = self.program.flow.saved(index)
        opened = self._open(op, index, callee, saved)
        # of an array without a size, nothing may be passed
        values = [self.arguments.passed(o, f) for o, f in zip(op.call.arguments, callee.formals, strict=False)]
        self._save(saved, opened.used)
        for k, ((value, is_pointer), formal) in enumerate(zip(values, callee.formals, strict=False)):
            if op.call.function is None and formal.place is None:
                self.arguments.receive_among(value, callee.address, k, list(callee.among))
            elif formal.is_open:  # after all else that the frame holds
                to = self.text.local_at(self.emitter.binary("add", opened.frame, callee.size, 64), opened.beyond)
                self.text.copy(to, value, opened.beyond)
            else:
                self.arguments.receive(value, is_pointer, formal, opened.frame)
        if self.moves:
            self.stack.extend(self.registers.read(ENDS), opened.frame, opened.size)
            self.registers.put(BEGINS, opened.frame)
            self.registers.put(ENDS, opened.frame)
        self.registers.put(FRAME, opened.frame)
        self.registers.put(DEPTH, opened.used)
        self.edges.follow(callee.begins, (way for _, way in self.text.block.ways if way is not None))

    def _callee(self, op: Op, index: int, lowering: Lowering) -> Callee | None:
        """What a call reaches; None if nothing defines the function that it names."""
        kernel, call, effect = self.kernel, op.call, op.plan.meaning.effect
        assert call is not None and isinstance(effect, Call)
        ways = {str(name): str(way) for name, way in self.text.block.ways}
        sizes = {name: str(kernel.functions[name].frame_size) for name in ways}
        if call.function is None:
            assert isinstance(effect.function, Int)
            address = lowering.low(effect.function, 64)
            known = [(self.program.functions[n], way, sizes[n]) for n, way in ways.items()]
            begins, size, exists = self._among(address, known)
            self.text.check(exists, address, index)
            return Callee(begins, size, call.signature.parameters, address, tuple(ways))
        if call.function not in ways:
            return None
        formals = self.arguments.signature(call.function).parameters
        return Callee(ways[call.function], sizes[call.function], formals)

    def _among(self, value: str, ways: list[tuple[int, str, str]]) -> tuple[str, str, str]:
        """What stands beside `value` in a list, and whether it is there."""
        e = self.emitter
        begins = size = "0"
        exists = "false"
        for number, way, length in ways:
            here = e.compare("eq", value, str(number), 64)
            begins, size = e.select(here, way, begins, 64), e.select(here, length, size, 64)
            exists = e.logic("or", exists, here)
        return begins, size, exists

    def _open(self, op: Op, index: int, callee: Callee, saved: list[str]) -> OpenedFrame:
        """Where the frame of a call begins, for which there must be room."""
        assert op.call is not None
        e = self.emitter
        caller_size = self.own_size(index)
        self.trust_frame(self.registers.read(FRAME), caller_size)
        self.trust_depth(self.registers.read(DEPTH))
        beyond = passed_beyond(self.kernel, op.call)
        end = self.registers.read(ENDS) if self.moves else "0"
        size = Lowering(e, {"%size": callee.size}).low(self.page.whole_frame(SIZE, beyond), 64)
        given = {"%frame": self.registers.read(FRAME), "%end": end, "%size": size}
        frame = Lowering(e, given).low(self.page.frame_of_call(FRAME_AT, caller_size, END, SIZE, self.moves), 64)
        used = e.binary("add", self.registers.read(DEPTH), str(kept_bytes(self.kernel, saved)), 64)
        self.text.check(self.stack.has_room(frame, size, end, used), "0", index, ROOM)
        return OpenedFrame(frame, used, size, beyond)

    def _save(self, saved: list[str], used: str) -> None:
        """Put registers on the stack, and over them the block that the return goes to."""
        e = self.emitter
        for name, below, bits in slots(self.kernel, saved):
            width, value = self.kernel.registers[name].width, self.registers.read(name)
            word = value if width == bits else e.extend(value, width, bits, False)
            cell = self.stack_at(e.binary("sub", used, str(below), 64), bits // 8)
            self.text.lines.append(f"  store i{bits} {word}, ptr {cell}, align 8")
        cell = self.stack_at(e.binary("sub", used, str(way_back_bytes()), 64))
        self.text.lines.append(f"  store i64 {self.text.block.taken}, ptr {cell}")

    # and back ---------------------------------------------------------------------------------------------------------

    def come_back(self, op: Op, index: int) -> None:
        """Close the frame of the function that was called, and take its results."""
        e, kernel, call, registers = self.emitter, self.kernel, op.call, self.registers
        assert call is not None
        formals = call_results(kernel, call)
        frame, used = registers.read(FRAME), registers.read(DEPTH)
        saved = self.program.flow.saved(index)
        kept = kept_bytes(kernel, saved)
        self.trust_frame(frame, max([f.place.offset + f.size for f in formals if f.place is not None], default=0))
        self.trust_depth(used)
        self.trust_depth(e.binary("sub", used, str(kept), 64))
        results = self.arguments.left(formals, frame, calls(kernel, op) if call.function is None else None)
        ended = registers.read(ENDS) if self.moves else ""
        self._restore(saved, used)
        caller_frame = self._close(frame, ended, index)
        self.trust_frame(caller_frame, self.own_size(index))
        registers.put(FRAME, caller_frame)
        registers.put(DEPTH, e.binary("sub", used, str(kept), 64))
        for operand, result, formal in zip(call.results, results, formals, strict=True):
            assert isinstance(operand, tree.Name)
            self.arguments.give(operand.text, result, formal, caller_frame)

    def _restore(self, saved: list[str], used: str) -> None:
        """Take registers from the stack."""
        e = self.emitter
        for name, below, bits in slots(self.kernel, saved):
            width = self.kernel.registers[name].width
            cell = self.stack_at(e.binary("sub", used, str(below), 64), bits // 8)
            word = e.emit(f"load i{bits}, ptr {cell}, align 8")
            self.registers.set(name, word if width == bits else e.truncate(word, bits, width))

    def _close(self, frame: str, ended: str, index: int) -> str:
        """The frame of the caller, below this one. The stack, which ended there, is cut back if it moves."""
        if not self.moves:
            # wherever the caller's lies: a claim of the page
            apart = self.page.frame_of_call(0, self.own_size(index), 0, 0, False)
            return self.emitter.binary("sub", frame, str(apart), 64)
        caller = self.registers.read(FRAME)
        self.registers.put(BEGINS, self.registers.read(BEGINS))
        self.registers.put(ENDS, self.registers.read(ENDS))
        self.text.trust_at_most("the end of the stack", self.registers.read(ENDS), self.text.frames_size)
        self.text.trust_at_most("the end of the stack", ended, self.registers.read(ENDS))
        self.stack.cut(self.registers.read(ENDS), ended)
        return caller

    # the system -------------------------------------------------------------------------------------------------------

    def ask_system(self, op: Op) -> None:
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
            text.lines.append(f"  store i64 {word}, ptr {text.request_at('request', i)}")

    def take_answer(self, op: Op) -> None:
        """Take the result of a function of the system."""
        assert op.call is not None
        text = self.text
        for operand, formal in zip(op.call.results, op.call.signature.returns, strict=True):
            assert isinstance(operand, tree.Name)
            name, bits = operand.text, 8 * formal.size
            if name == "_":
                continue
            word = text.emitter.emit(f"load i64, ptr {text.request_at('answer', 0)}")
            value = word if bits == 64 else text.emitter.truncate(word, 64, bits)
            if name in text.kernel.registers:
                self.registers.set(name, value)
            else:
                offset = text.kernel.places[name].offset
                at = self.arguments.in_frame(self.registers.read(FRAME), offset, formal.size)
                text.lines.append(f"  store i{bits} {value}, ptr {at}")
