"""Instructions that are about asynchronous operations: one is initiated, or a thread learns what is complete."""

from __future__ import annotations

from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.asynchrony import functions
from ptxspec.machine.native.context import (
    COMPLETES,
    DEMAND,
    IN_FLIGHT,
    OBJECT,
    READ,
    SOURCE,
    SOURCE_VARIABLE,
    TARGET,
    VARIABLE,
)
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.operations import AsynchronousUse, extent_of
from ptxspec.terms.core import Int, variable
from ptxspec.terms.effects import Advance, Follow, Initiate, Life
from ptxspec.terms.in_registers import Carried
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.registries import OBJECT_BITS, ObjectCompletion


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
        """Let an operation be in flight, if it is to be initiated."""
        if effect.when is None:
            self._initiate(op, effect, env, index)
            return
        text, known = self.text, self.emitter.known()
        when = Lowering(self.emitter, env).truth(effect.when)
        begins, goes_on = text.label("begins"), text.label("on")
        text.lines.append(f"  br i1 {when}, label %{begins}, label %{goes_on}")
        text.begin(begins)
        self._initiate(op, effect, env, index)
        text.lines.append(f"  br label %{goes_on}")
        text.begin(goes_on)
        self.emitter.go_back(known)

    def _initiate(self, op: Op, effect: Initiate, env: dict[str, str], index: int) -> None:
        """Check what an operation writes and reads, and let it be in flight."""
        text, e, (_, align) = self.text, self.emitter, extent_of(op)
        lowering = Lowering(e, env)
        to = lowering.low(effect.to, 64)
        if effect.holds is not None:
            text.check(lowering.truth(effect.holds), to, index, DEMAND)
        size = lowering.low(effect.size, 64)
        read = lowering.low(effect.read, 64)
        arranged = lead, *_ = [lowering.low(term, 64) for term in (effect.lead, effect.reorder, effect.fill)]
        if effect.only_reads:
            begin = self.accesses.ranged(effect.of, to, align, read, False, index, self._with_bytes(SOURCE, read))
            place, unit = e.emit(f"ptrtoint ptr {begin} to i64"), effect.together.bit_length() - 1
            footprint = (place, "0", place, read, str(unit), *arranged, "0")
            self._begins(effect, footprint, ("0", "0", "0"), to, index)
            return
        if effect.reorder.hi == 0:
            fits = self.page.fits(variable("%lead", 64) + variable("%read", 64), variable("%size", 64))
            text.check(Lowering(e, {"%read": read, "%size": size, "%lead": lead}).truth(fits), read, index, READ)
        if index in text.program.overruns:
            text.check("false", to, index, VARIABLE)
        why = self._with_bytes(TARGET, size)
        used = text.program.asynchronous
        assert used is not None
        target = self.accesses.ranged(effect.space, to, align, size, True, index, why, spared=used.spared(op))
        places, carried = [e.emit(f"ptrtoint ptr {target} to i64"), "0"], ("0", "0", "0")
        if isinstance(effect.source, Carried):
            carried = ("1", *self._carried(effect.source, lowering))
        else:
            source = lowering.low(effect.source, 64)
            if index in text.program.sources:
                text.check("false", source, index, SOURCE_VARIABLE)
            begin = self.accesses.ranged(effect.of, source, align, read, False, index, self._with_bytes(SOURCE, read))
            places[1] = e.emit(f"ptrtoint ptr {begin} to i64")
        completes = "0"
        if effect.object is not None:
            completes = self._object(effect, effect.object, lowering, index)
        unit = effect.together.bit_length() - 1
        self._begins(effect, (places[0], size, places[1], read, str(unit), *arranged, completes), carried, to, index)

    def _with_bytes(self, why: int, count: str) -> str:
        """Which check failed, and of how many bytes."""
        e = self.emitter
        return e.binary("add", e.binary("shl", count, "8", 64), str(why), 64)

    def _carried(self, source: Carried, lowering: Lowering) -> tuple[str, str]:
        """The two words that an operation carries with it."""
        e, width, words = self.emitter, source.type.width, ["0", "0"]
        for i, value in enumerate(source.values):
            at = i * width
            word = e.extend(lowering.low(value, width), width, 64, False) if width < 64 else lowering.low(value, 64)
            placed = e.binary("shl", word, str(at % 64), 64) if at % 64 else word
            words[at // 64] = placed if words[at // 64] == "0" else e.binary("or", words[at // 64], placed, 64)
        return words[0], words[1]

    def follow(self, effect: Follow, env: dict[str, str], index: int) -> None:
        """Let an operation be in flight that follows others."""
        lowering = Lowering(self.emitter, env)
        completes = self._object(effect, effect.object, lowering, index)
        footprint = (*["0"] * 8, completes)
        self._begins(effect, footprint, ("0", "0", "0"), lowering.low(effect.object, 64), index)

    def _object(self, effect: Initiate | Follow, at: Int, lowering: Lowering, index: int) -> str:
        """Check where the object lies on which an operation completes; its location."""
        assert isinstance(effect.completion, ObjectCompletion)
        life = Life.LASTS if effect.completion.lives else None
        place, size = lowering.low(at, 64), OBJECT_BITS // 8
        pointer = self.accesses.find(effect.among, place, size, True, index, why=OBJECT, life=life)
        location: str = self.emitter.emit(f"ptrtoint ptr {pointer} to i64")
        return location

    def _begins(
        self,
        effect: Initiate | Follow,
        footprint: tuple[str, ...],
        carried: tuple[str, str, str],
        address: str,
        index: int,
    ) -> None:
        """Let an operation begin; `footprint` is its target, size, source, what it reads, its unit, how its bytes are arranged,
        and its object; `carried` is whether it carries something, and what."""
        numbers = str(self.used.change(effect)), str(self.used.follows(effect))
        words = (str(self.used.mechanism(effect)), "%thread", str(index), *footprint, *numbers, *carried)
        number = self._call("operation_begins", *words)
        self.text.check(self.emitter.compare("ne", number, "0", 64), address, index, IN_FLIGHT)
        if isinstance(effect.completion, ObjectCompletion):
            self._completes(index)

    def change_object(self, life: Life, pointer: str, index: int, address: str) -> None:
        """Note that a step on an object has changed it."""
        e, place = self.emitter, self.emitter.emit(f"ptrtoint ptr {pointer} to i64")
        match life:
            case Life.BEGINS:
                number = self._call("object_begins", "%thread", str(index), place)
                self.text.check(e.compare("ne", number, "0", 64), address, index, IN_FLIGHT)
            case Life.ENDS:
                self._call("object_ends", place)
            case Life.LASTS:
                self._call("object_changes_now")
            case _:
                assert_never(life)

    def _completes(self, index: int) -> None:
        """Check that no operation has completed on an object against a rule."""
        broken = self._call("completion_breaks")
        self.text.check(self.emitter.compare("eq", broken, "0", 64), "0", index, COMPLETES)

    def _call(self, name: str, *words: str) -> str:
        """Call one of the functions; what it gives."""
        self.emitter.needs |= functions(self.text.layout)
        result = f"%called{len(self.text.lines)}"  # a call each time, never one that was made before
        self.text.lines.append(
            f"  {result} = call i64 @{name}(ptr %context{''.join(f', i64 {word}' for word in words)})"
        )
        return result
