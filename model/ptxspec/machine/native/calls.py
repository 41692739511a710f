"""Calls: what is passed, the frames of functions, and what comes back."""

from __future__ import annotations

from typing import Any

from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import (
    BEGINS,
    DEPTH,
    ENDS,
    FRAME,
    RETURNED,
    calls,
    frame_size,
    kept_bytes,
    passed_beyond,
    returned,
    stack_moves,
)
from ptxspec.machine.engine import in_frame
from ptxspec.machine.memory import rules
from ptxspec.machine.native.context import ROOM
from ptxspec.machine.native.stack import Stack
from ptxspec.terms.core import Int
from ptxspec.terms.effects import Call, IndexedBranch
from ptxspec.terms.lowering import Lowering


class Calls(Stack):
    """Ways from one function into another and back, and into the system."""

    def stack_at(self, depth: str, size: int = 8) -> str:
        start = self.emitter.binary("mul", "%lane", str(self.compiled.stack), 64)
        return self.at("stack", self.emitter.binary("add", start, depth, 64), 1, size)

    def trust_frame(self, frame: str, size: int) -> None:
        """Check that so many bytes of a frame lie in the thread's local memory."""
        self.trust_at_most("the frame", frame, self.kernel.sizes["local"] - size)

    def way_back(self) -> str:
        """The block that the thread returns to."""
        depth, ended = self.register(DEPTH), len(self.program.flow.blocks)
        top = self.emitter.binary("sub", depth, "8", 64)
        self.trust_at_most("the depth of the stack", depth, self.compiled.stack)
        self.trust_at_most("the depth of the stack", top, self.compiled.stack)  # no less than nothing, either
        taken = self.emitter.emit(f"load i64, ptr {self.stack_at(top)}")
        self.trust("the block to return to", taken, self.emitter.compare("ult", taken, str(ended), 64))
        return taken

    def choose(self, op: Op, index: int) -> None:
        """Go on at that one of several blocks that an index says."""
        effect = op.plan.meaning.effect
        assert isinstance(effect, IndexedBranch)
        chosen = Lowering(self.emitter, self.environment(op)).low(effect.index, 64)
        self.check(self.emitter.compare("ult", chosen, str(len(self.block.ways)), 64), chosen, index)
        ways = " ".join(f"i64 {k}, label %{self.edge(way)}" for k, way in self.block.ways)
        first = self.edge(self.block.ways[0][1])
        self.lines.append(f"  switch i64 {chosen}, label %{first} [{ways}]")

    def among(self, value: str, ways: list[tuple[int, str, str]]) -> tuple[str, str, str]:
        """What stands beside `value` in a list, and whether it is there."""
        e = self.emitter
        first = second = "0"
        found = "false"
        for number, one, two in ways:
            here = e.compare("eq", value, str(number), 64)
            first, second = e.select(here, one, first, 64), e.select(here, two, second, 64)
            found = e.logic("or", found, here)
        return first, second, found

    def enter(self, op: Op, index: int, lowering: Lowering) -> None:
        """Pass a call's arguments, open a frame, and go on where the function begins."""
        e, kernel, flow, call = self.emitter, self.kernel, self.program.flow, op.call
        effect = op.plan.meaning.effect
        assert call is not None and isinstance(effect, Call)
        ways: dict[str, int] = dict(self.block.ways)  # type: ignore[arg-type]
        sizes = {name: str(frame_size(kernel.functions[name])) for name in ways}
        if call.function is None:
            assert isinstance(effect.function, Int)
            address = lowering.low(effect.function, 64)
            known = [(self.program.functions[n], str(way), sizes[n]) for n, way in ways.items()]
            begins, size, found = self.among(address, known)
            self.check(found, address, index)
            formals = call.signature.parameters
        elif call.function not in ways:
            self.check("false", "0", index)
            self.follow("0")
            return
        else:
            begins, size = str(ways[call.function]), sizes[call.function]
            formals = kernel.functions[call.function].signature.parameters  # type: ignore[union-attr]
        saved = flow.saved(index)
        own = frame_size(kernel.functions[flow.function_of(index)])
        self.trust_frame(self.register(FRAME), own)
        self.trust_at_most("the depth of the stack", self.register(DEPTH), self.compiled.stack)
        moves, beyond = stack_moves(kernel), passed_beyond(kernel, call)
        if moves:
            frame = Lowering(e, {"%stack_end": self.register(ENDS)}).low(self.next_frame, 64)
        else:
            frame = e.binary("add", self.register(FRAME), str(own), 64)
        used = e.binary("add", self.register(DEPTH), str(kept_bytes(kernel, saved)), 64)
        end = e.binary("add", e.binary("add", frame, size, 64), str(beyond), 64)
        fits = e.emit(f"icmp ule i64 {end}, %local_size")
        self.check(e.logic("and", fits, e.emit(f"icmp ule i64 {used}, {self.compiled.stack}")), "0", index, ROOM)
        # of an array without a size, nothing may be passed
        values = [self.passed(o, f) for o, f in zip(call.arguments, formals, strict=False)]
        self.keep(saved, used)
        for k, ((value, is_pointer), formal) in enumerate(zip(values, formals, strict=False)):
            if call.function is None and formal.place is None:
                self.receive_among(value, address, k, list(ways))
            elif formal.is_open:  # after all else that the frame holds
                self.copy(self.local_at(e.binary("add", frame, size, 64), beyond), value, beyond)
            else:
                self.receive(value, is_pointer, formal, frame)
        if moves:
            self.extend(self.register(ENDS), frame, e.binary("sub", end, frame, 64))
            self.put(BEGINS, end)
            self.put(ENDS, end)
        self.put(FRAME, frame)
        self.put(DEPTH, used)
        self.follow(begins)

    def ask_system(self, op: Op) -> None:
        """Give the system what it is asked with."""
        assert op.call is not None
        for i, (operand, formal) in enumerate(zip(op.call.arguments, op.call.signature.parameters, strict=True)):
            value, is_pointer = self.passed(operand, formal)
            bits = 8 * formal.size
            if is_pointer:
                loaded = f"%given{i}_{len(self.lines)}"
                self.lines.append(f"  {loaded} = load i{bits}, ptr {value}")
                value = loaded
            word = value if bits == 64 else self.emitter.extend(value, bits, 64, False)
            self.lines.append(f"  store i64 {word}, ptr {self.asked_at('request', i)}")

    def take_answer(self, op: Op) -> None:
        """Take the result of a function of the system."""
        assert op.call is not None
        for operand, formal in zip(op.call.results, op.call.signature.returns, strict=True):
            name, bits = operand.text, 8 * formal.size  # type: ignore[union-attr]
            if name == "_":
                continue
            word = self.emitter.emit(f"load i64, ptr {self.asked_at('answer', 0)}")
            value = word if bits == 64 else self.emitter.truncate(word, 64, bits)
            if name in self.kernel.registers:
                self.set(name, value)
            else:
                offset = str(self.kernel.places[name].offset)
                at = self.local_at(self.emitter.binary("add", self.register(FRAME), offset, 64), formal.size)
                self.lines.append(f"  store i{bits} {value}, ptr {at}")

    def keep(self, saved: list[str], used: str) -> None:
        """Put registers on the stack, and over them the block that the return goes to."""
        e = self.emitter
        below = 8
        for name in saved:
            type, value = self.kernel.registers[name], self.register(name)
            width = 1 if type.kind == "pred" else type.width
            room = max(64, width)
            below += room // 8
            word = value if width == room else e.extend(value, width, room, False)
            cell = self.stack_at(e.binary("sub", used, str(below), 64), room // 8)
            self.lines.append(f"  store i{room} {word}, ptr {cell}, align 8")
        self.lines.append(f"  store i64 {self.block.taken}, ptr {self.stack_at(e.binary('sub', used, '8', 64))}")

    def passed(self, operand: Any, formal: Any) -> tuple[str, bool]:
        """(an argument's value, False), or (the pointer to the variable that holds it, True)"""
        offset = in_frame(self.program, operand)
        if offset is not None:
            size = self.kernel.places[operand.text].size if formal.is_open else formal.size
            at = self.local_at(self.emitter.binary("add", self.register(FRAME), str(offset), 64), size)
            if formal.place is not None:
                return at, True
            value = f"%passed{len(self.lines)}"
            self.lines.append(f"  {value} = load i{formal.type.width}, ptr {at}")
            return value, False
        return self.operand(formal.type, formal.type.width, operand), False

    def receive_among(self, value: str, address: str, k: int, functions: list[str]) -> None:
        """Give the k-th argument to the register of that one of the functions that the call goes to."""
        for name in functions:
            formal = self.kernel.functions[name].signature.parameters[k]  # type: ignore[union-attr]
            here = self.emitter.compare("eq", address, str(self.program.functions[name]), 64)
            register = str(formal.register)
            width = 1 if formal.type.kind == "pred" else formal.type.width
            self.put(register, self.emitter.select(here, value, self.register(register), width))

    def left_among(self, k: int, functions: list[str]) -> str:
        """The k-th result, from the register of that one of the functions that the thread returned from."""
        value = ""
        for name in functions:
            formal = self.kernel.functions[name].signature.returns[k]  # type: ignore[union-attr]
            own = self.register(str(formal.register))
            here = self.emitter.compare("eq", self.register(RETURNED), str(self.program.functions[name]), 64)
            width = 1 if formal.type.kind == "pred" else formal.type.width
            value = self.emitter.select(here, own, value, width) if value else own
        return value or "0"

    def receive(self, value: str, is_pointer: bool, formal: Any, frame: str) -> None:
        if formal.place is None:
            self.put(formal.register, value)
            return
        at = self.local_at(self.emitter.binary("add", frame, str(formal.place.offset), 64), formal.size)
        if is_pointer:
            self.copy(at, value, formal.size)
        else:
            align = min(formal.type.bytes, 8)
            self.lines.append(f"  store i{formal.type.width} {value}, ptr {at}, align {align}")

    def come_back(self, op: Op, index: int) -> None:
        """Close the frame of the function that was called, and take its results."""
        e, kernel, flow, call = self.emitter, self.kernel, self.program.flow, op.call
        assert call is not None
        formals = returned(kernel, call)
        frame, used = self.register(FRAME), self.register(DEPTH)
        saved = flow.saved(index)
        kept = kept_bytes(kernel, saved)
        self.trust_frame(frame, max([f.place.offset + f.size for f in formals if f.place is not None], default=0))
        self.trust_at_most("the depth of the stack", used, self.compiled.stack)
        self.trust_at_most("the depth of the stack", e.binary("sub", used, str(kept), 64), self.compiled.stack)
        results: list[str] = []
        for k, formal in enumerate(formals):
            if formal.place is None and call.function is None:
                results.append(self.left_among(k, calls(kernel, op)))
            elif formal.place is None:
                results.append(self.register(str(formal.register)))
            else:
                results.append(self.local_at(e.binary("add", frame, str(formal.place.offset), 64), formal.size))
        moves = stack_moves(kernel)
        ended = self.register(ENDS) if moves else ""
        below = 8
        for name in saved:
            type = kernel.registers[name]
            width = 1 if type.kind == "pred" else type.width
            room = max(64, width)
            below += room // 8
            cell = self.stack_at(e.binary("sub", used, str(below), 64), room // 8)
            word = e.emit(f"load i{room}, ptr {cell}, align 8")
            self.set(name, word if width == room else e.truncate(word, room, width))
        if moves:
            own = self.register(FRAME)
            self.put(BEGINS, self.register(BEGINS))
            self.put(ENDS, self.register(ENDS))
            self.trust_at_most("the end of the stack", ended, "%local_size")
            self.trust_at_most("the end of the stack", self.register(ENDS), ended)
            self.mark(self.register(ENDS), ended, rules().GONE)
        else:
            own = e.binary("sub", frame, str(frame_size(kernel.functions[flow.function_of(index)])), 64)
        self.trust_frame(own, frame_size(kernel.functions[flow.function_of(index)]))
        self.put(FRAME, own)
        self.put(DEPTH, e.binary("sub", used, str(kept), 64))
        for operand, value, formal in zip(call.results, results, formals, strict=True):
            name = operand.text  # type: ignore[union-attr]
            if name == "_":
                continue
            word = "i1" if formal.type.kind == "pred" else f"i{formal.type.width}"
            if name in kernel.registers:
                if formal.place is not None:
                    result = f"%{self.label('result')}"
                    self.lines.append(f"  {result} = load {word}, ptr {value}, align {min(formal.type.bytes, 8)}")
                    value = result
                self.set(name, value)
                continue
            to = self.local_at(e.binary("add", own, str(kernel.places[name].offset), 64), formal.size)
            if formal.place is None:
                self.lines.append(f"  store {word} {value}, ptr {to}, align {max(1, min(formal.type.bytes, 8))}")
            else:
                self.copy(to, value, formal.size)

    def append(self, which: str) -> None:
        """Put the thread at the end of a list of those that stand at a block, have ended, or wait."""
        e = self.emitter
        cell = self.at("counts", which, 8)
        standing = f"%{self.label('standing')}"
        self.lines.append(
            f"  {standing} = load i64, ptr {cell}\n  {standing}x = add i64 {standing}, 1\n"
            f"  store i64 {standing}x, ptr {cell}"
        )
        start = e.binary("mul", which, str(self.compiled.capacity), 64)
        place = e.binary("add", start, standing, 64)
        slot = self.at("lists", place, 4)
        self.lines.append(f"  %{self.label('own')} = trunc i64 %lane to i32\n  store i32 %own{self.labels}, ptr {slot}")
        if self.program.clustered:
            self.count_ended(which)

    def count_ended(self, which: str) -> None:
        """Count the thread among those of its CTA that have ended, if that is where it goes."""
        ended = str(len(self.program.flow.blocks))
        if which.isdigit() and which != ended:
            return
        cell = self.at("gone", "%slot", 8)
        name = f"%ended{len(self.lines)}"
        self.lines.append(
            f"  {name} = load i64, ptr {cell}\n"
            f"  {name}is = icmp eq i64 {which}, {ended}\n  {name}one = zext i1 {name}is to i64\n"
            f"  {name}more = add i64 {name}, {name}one\n  store i64 {name}more, ptr {cell}"
        )
