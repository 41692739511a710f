"""Calls of functions of the same module: each is followed where it stands, with registers and a frame of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxspec.language import tree
from ptxspec.language.checked import Formal, Op
from ptxspec.language.scopes import MODULE
from ptxspec.machine.flow import Block
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.arrivals import CallFrame, PathState, Registers
from ptxspec.query.paths.memory import Region, SymbolicByte
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import variable_of
from ptxspec.terms.vocabulary import TRUE, select

if TYPE_CHECKING:
    from ptxspec.query.paths.walking import Walk


class Calling:
    """Enters and leaves functions."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self._activations = 0

    # the function that the question is about ---------------------------------------------------------------------------

    def entered(self, way: PathState) -> PathState:
        """The way on which execution begins: the parameters of a function are inputs of their names."""
        walk = self.walk
        signature = walk.side.main.signature
        if walk.side.what != "function" or signature is None:
            return way
        for formal in signature.parameters:
            name = self.name(formal)
            type = formal.type.bits if formal.type.kind != "pred" else formal.type
            for lane in range(walk.lanes):
                shown = walk.public(name, lane)
                if formal.place is not None and formal.is_array:
                    continue
                value: Any = walk.places.pointer(name)
                if value is None:
                    walk.inputs[shown], walk.registers[shown] = False, type
                    walk.taken[shown] = formal.type
                    value = variable_of(shown, type)
                if formal.place is None:
                    way.registers[lane][str(formal.register)] = value
                else:
                    self._formal_region(formal, 0, lane).put(0, formal.size, value, writes=False)
        return way

    def name(self, formal: Formal) -> str:
        """What a parameter or a result is called in the text."""
        name = str(formal.register) if formal.place is None else formal.place.name
        return name.partition("@")[0]

    def results(self, end: PathState) -> dict[str, tuple[Any, Any]]:
        """What a function returns, by name: (value, type)."""
        walk, results = self.walk, {}
        signature = walk.side.main.signature
        for formal in signature.returns if signature is not None else ():
            for lane in range(walk.lanes):
                if formal.place is None:
                    value = walk.read(end, str(formal.register), lane)
                else:
                    value = self._formal_region(formal, 0, lane).join(0, formal.size)
                results[walk.public(self.name(formal), lane)] = value, formal.type
        return results

    # calls ---------------------------------------------------------------------------------------------------------------

    def enter(self, op: Op, index: int, block: Block, number: int, way: PathState) -> None:
        """Go on in the function that an instruction calls."""
        walk, call = self.walk, op.call
        assert call is not None
        if call.function is None:
            raise Unsupported(f"line {walk.line_of(op)}: an indirect call is not followed")
        callee = walk.kernel.functions.get(call.function)
        starts = dict(block.ways)
        if callee is None or call.function not in starts or callee.signature is None:
            raise Unsupported(f"line {walk.line_of(op)}: {call.function} has no body here")
        if any(f.is_open for f in callee.signature.parameters):
            raise Unsupported(f"line {walk.line_of(op)}: {call.function} takes as many bytes as it is passed")
        if sum(f.function == call.function for f in way.stack) >= walk.options.unroll:
            walk.stops_at(f"beyond {walk.options.unroll} activations of {call.function} (line {walk.line_of(op)})", way)
            return
        self._activations += 1
        activation = self._activations
        registers: list[Registers] = []
        for lane in range(walk.lanes):
            callee_registers = {n: v for n, v in way.registers[lane].items() if _is_shared(n)}
            for formal, operand in zip(callee.signature.parameters, call.arguments, strict=True):
                self._pass(formal, operand, callee_registers, activation, way, lane)
            registers.append(callee_registers)
        frame = CallFrame(index, way.registers, activation, call.function, way.counts)
        walk.expect(starts[call.function], PathState(way.reached, tuple(registers), (*way.stack, frame)), None)

    def leave(self, way: PathState, index: int, walk: Walk) -> None:
        """Go on behind the call of the function that ends."""
        if not way.stack:
            walk.expect(None, way, None)
            return
        *outer, frame = way.stack
        op = walk.kernel.code[frame.call]
        call = op.call
        assert call is not None
        callee = walk.kernel.functions[frame.function]
        assert callee.signature is not None
        registers: list[Registers] = []
        for lane in range(walk.lanes):
            caller_registers = {**frame.saved[lane], **{n: v for n, v in way.registers[lane].items() if _is_shared(n)}}
            back = PathState(way.reached, (caller_registers,) * walk.lanes, tuple(outer))
            for formal, operand in zip(callee.signature.returns, call.results, strict=True):
                self._take(formal, operand, way, back, frame.activation, lane)
            registers.append(caller_registers)
        number, landing = next((i, b) for i, b in enumerate(walk.flow.blocks) if b.finishes == frame.call)
        walk.expect(landing.next, PathState(way.reached, tuple(registers), tuple(outer), frame.counts), number)

    def _formal_region(self, formal: Formal, activation: int, lane: int) -> Region:
        assert formal.place is not None
        place = formal.place._replace(framed=True)
        return self.walk.places.of_place(place.name, place, activation, lane)

    def _pass(
        self, formal: Formal, operand: Any, registers: Registers, activation: int, way: PathState, lane: int
    ) -> None:
        """Let a parameter be what is passed for it."""
        walk = self.walk
        source = self._framed(operand, way, lane)
        target = None if formal.place is None else self._formal_region(formal, activation, lane)
        value: Any
        if source is not None and target is not None:
            for k in range(formal.size):
                target.bytes[k] = source.piece(k)
            return
        if source is not None:
            value = source.join(0, formal.size)
        else:
            value = walk.operand(formal.type, formal.type.width, operand, way, lane)
        if target is None:
            registers[str(formal.register)] = value
        else:
            target.put(0, formal.size, value, writes=False)

    def _take(self, formal: Formal, operand: Any, way: PathState, back: PathState, activation: int, lane: int) -> None:
        """Let a result be what the function left for it."""
        walk, registers = self.walk, back.registers[lane]
        if operand == tree.Name("_"):
            return
        region = None if formal.place is None else self._formal_region(formal, activation, lane)
        target = self._framed(operand, back, lane)
        value: Any = None
        if region is None:
            value = walk.read(way, str(formal.register), lane)
        elif target is None:
            value = region.join(0, formal.size)
        if target is None:
            shown = walk.public(operand.text, lane)
            registers[operand.text] = value
            walk.registers.setdefault(shown, walk.kernel.registers[operand.text])
            walk.left[shown] = formal.type
        else:
            reached = way.reached[lane]
            for k in range(formal.size):
                new = SymbolicByte(value, k, formal.size) if region is None else region.piece(k)
                if reached is not TRUE:
                    new = SymbolicByte(select(reached, new.byte, target.piece(k).byte), 0, 1)
                target.bytes[k] = new

    def _framed(self, operand: Any, way: PathState, lane: int) -> Region | None:
        """The variable in a frame that is passed, or gets a result; None for registers and constants."""
        name = operand.text if isinstance(operand, tree.Name) else ""
        place = self.walk.kernel.places.get(name)
        if place is None or name in self.walk.kernel.registers or not place.framed:
            return None
        return self.walk.places.region(name, way, lane)


def _is_shared(name: str) -> bool:
    """Whether a register belongs to the thread and no function."""
    return name == CONDITION_CODE or name.endswith(MODULE)
