"""Instructions that are about asynchronous operations: one is initiated, or a thread learns what is complete."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.asynchrony import functions
from ptxspec.machine.native.context import IN_FLIGHT, OBJECT, READ, SOURCE, SOURCE_VARIABLE, VARIABLE
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.operations import AsynchronousUse, extent_of
from ptxspec.terms.core import variable
from ptxspec.terms.effects import Advance, Initiate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.registries import OBJECT_BITS


class Operations:
    """Instructions that are about asynchronous operations."""

    def __init__(self, text: FunctionText, accesses: Accesses, used: AsynchronousUse):
        self.text, self.emitter, self.accesses, self.used = text, text.emitter, accesses, used
        self.page = contracts.asynchrony

    def advance(self, effect: Advance, env: dict[str, str]) -> None:
        """Emit what an instruction does to the thread's record of a completion mechanism."""
        lowering, e = Lowering(self.emitter, env), self.emitter
        ports = effect.step.operands
        words = []
        for operand, port in zip(effect.operands, ports, strict=True):
            width = port.type.width
            words.append(
                e.extend(lowering.low(operand, width), width, 64, False) if width < 64 else lowering.low(operand, 64)
            )
        self._call(f"thread_advances{self.used.advance(effect)}", "%thread", *words)

    def initiate(self, op: Op, effect: Initiate, env: dict[str, str], index: int) -> None:
        """Check what an operation writes and reads, and let it be in flight."""
        text, e, (size, align) = self.text, self.emitter, extent_of(op)
        lowering = Lowering(e, env)
        read = e.extend(lowering.low(effect.read, 32), 32, 64, False)
        fits = Lowering(e, {"%read": read}).truth(self.page.fits(variable("%read", 64), size))
        text.check(fits, read, index, READ)
        to = lowering.low(effect.to, 64)
        if index in text.program.overruns:
            text.check("false", to, index, VARIABLE)
        target = self.accesses.ranged(effect.space, to, align, str(size), True, index)
        source = lowering.low(effect.source, 64)
        if index in text.program.sources:
            text.check("false", source, index, SOURCE_VARIABLE)
        why = e.binary("add", e.binary("shl", read, "8", 64), str(SOURCE), 64)
        begin = self.accesses.ranged(effect.of, source, align, read, False, index, why)
        places = [e.emit(f"ptrtoint ptr {pointer} to i64") for pointer in (target, begin)]
        completes = "0"
        if effect.object is not None:
            place = lowering.low(effect.object, 64)
            pointer = self.accesses.find(effect.among, place, OBJECT_BITS // 8, True, index, why=OBJECT)
            completes = e.emit(f"ptrtoint ptr {pointer} to i64")
        mechanism, unit = self.used.mechanism(effect), effect.together.bit_length() - 1
        words = (str(mechanism), "%thread", str(index), places[0], str(size), places[1], read, str(unit), completes)
        number = self._call("operation_begins", *words)
        text.check(e.compare("ne", number, "0", 64), to, index, IN_FLIGHT)

    def _call(self, name: str, *words: str) -> str:
        """Call one of the functions; what it gives."""
        self.emitter.needs |= functions(self.text.layout)
        result = f"%called{len(self.text.lines)}"  # a call each time, never one that was made before
        self.text.lines.append(
            f"  {result} = call i64 @{name}(ptr %context{''.join(f', i64 {word}' for word in words)})"
        )
        return result
