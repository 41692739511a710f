"""The ends of blocks: where a thread goes, and what it does there."""

from __future__ import annotations

from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import RETURNED
from ptxspec.machine.events import EventKind
from ptxspec.machine.flow import ending
from ptxspec.machine.native.calls import CallEmitter
from ptxspec.machine.native.edges import Edges
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import IN_ROWS, Homes, Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.program import ArrivalOperands, arrival_operands, constant_arrival, image_request
from ptxspec.machine.system import system_function
from ptxspec.terms.core import Int, variable
from ptxspec.terms.effects import (
    Arrive,
    Await,
    Branch,
    Call,
    ClusterArrive,
    ClusterWait,
    Collective,
    Ending,
    Exit,
    ImageAccess,
    IndexedBranch,
    Pause,
    Return,
    Stop,
    Wait,
)
from ptxspec.terms.lowering import Lowering


class WaitEmitter:
    """Where a thread waits: for others, for images, or for the system."""

    def __init__(self, text: FunctionText, operands: OperandEmitter, edges: Edges | None):
        self.text, self.operands, self.edges = text, operands, edges

    def pause(self, op: Op, effect: Pause) -> None:
        """Write down what the thread gives, and end its turn."""
        self.give(op, effect)
        self.wait()

    def give(self, op: Op, effect: Pause) -> None:
        """Write down what the thread gives."""
        text = self.text
        lowering = Lowering(text.emitter, self.operands.environment(op))
        if isinstance(effect, ImageAccess):
            for i, word in enumerate(image_request(effect)):
                text.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {text.request_at('request', i)}")
        if isinstance(effect, Collective):
            for k, word in enumerate(effect.more):
                place = text.more_at("words", "%thread", k)
                text.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {place}")
        if constant_arrival(text.program, op) is None:
            for field, term in zip(ArrivalOperands._fields, arrival_operands(effect), strict=True):
                text.lines.append(f"  store i64 {lowering.low(term, 64)}, ptr {text.at(field, '%thread', 8)}")

    def wait(self) -> None:
        """Put the thread among those that wait, and end its turn."""
        text = self.text
        assert self.edges is not None
        self.begin()
        ways = [text.block.taken]
        if isinstance(
            ending(text.kernel.code[text.block.end - 1]), Await
        ):  # who may go on without having what it waits for
            ways.append(text.block.next)
        self.edges.spill(set().union(*(text.layout.live[way] for way in ways if way is not None)))
        self.edges.go("over")

    def begin(self) -> None:
        """Put the thread among those that wait."""
        text = self.text
        text.lines.append(f"  store i32 {text.op}, ptr {text.at('waits_at', '%thread', 4)}")
        text.enqueue(str(len(text.flow.blocks) + 1))


class Endings:
    """Ends of blocks."""

    def __init__(
        self,
        text: FunctionText,
        registers: Registers,
        homes: Homes,
        operands: OperandEmitter,
        edges: Edges,
        calls: CallEmitter,
        waiting: WaitEmitter,
    ):
        self.text, self.registers, self.homes, self.operands = text, registers, homes, operands
        self.edges, self.calls, self.waiting = edges, calls, waiting
        self.kernel, self.program, self.flow = text.kernel, text.program, text.flow

    def finish(self, op: Op | None) -> None:
        """Keep what later blocks read, and go where the thread goes. `op` is the instruction that ends the block, if one does."""
        text, block = self.text, self.text.block
        effect = None if op is None else ending(op)
        if isinstance(effect, Return) and self.kernel.functions:
            text.live_out |= self.flow.left_behind(block.end - 1)
        self._keep_registers()
        self.edges.count_steps()
        onwards = self.edges.to(block.next)
        if op is None or effect is None:
            self.edges.go(onwards)
            return
        match effect:
            case Stop():
                self._stop(op)
                self.edges.go(onwards)
            case Branch() | Exit():
                self._part(op, self.edges.to(block.taken), onwards)
            case Return() if not self.kernel.functions or self._returns_to_host():
                self._part(op, self.edges.to(None), onwards)
            case _:
                self._act(op, effect, onwards)

    def _returns_to_host(self) -> bool:
        """Whether the block belongs to the entry, from which no way leads back."""
        return self.kernel.functions[self.flow.function_of(self.text.block.end - 1)].signature is None

    def _part(self, op: Op, taken: str, onwards: str) -> None:
        """Go one way where the guard lets the thread through, else the other."""
        if op.guard is None:
            self.edges.go(taken)
            return
        predicate = self.registers.read(op.guard[0])
        first, second = (onwards, taken) if op.guard[1] else (taken, onwards)
        self.text.lines.append(f"  br i1 {predicate}, label %{first}, label %{second}")

    def _act(self, op: Op, effect: Ending, onwards: str) -> None:
        """What a thread does whom the guard of a block's last instruction lets through, if it is more than to go on."""
        index = self.text.block.end - 1
        acts = self.text.label("acts")
        self._part(op, acts, onwards)
        self.text.begin(acts)
        match effect:
            case IndexedBranch():
                self._choose(effect, op, index)
            case Return():
                self.text.event(EventKind.RETURN)
                self.edges.spill(self.flow.left_behind(index))
                self.registers.put(RETURNED, str(self.program.functions[self.flow.function_of(index)]))
                self.edges.follow(self.calls.way_back())
            case Call() if system_function(self.kernel, op) is not None:
                self._tell_call(effect, op)
                self.calls.ask_system(op)
                self.waiting.wait()
            case Call():
                self.edges.spill(self.text.live_out)
                self._tell_call(effect, op)
                self.calls.enter(op, index, Lowering(self.text.emitter, self.operands.environment(op)))
            case Await():
                until = Lowering(self.text.emitter, self.waiting.operands.environment(op)).truth(effect.until)
                waits, cell, e = self.text.label("waits"), self.text.at("vain_at", "%thread", 8), self.text.emitter
                before = f"%vain{len(self.text.lines)}"
                self.text.lines.append(f"  {before} = load i64, ptr {cell}")
                first = e.compare("ne", before, str(index + 1), 64)
                self.text.lines.append(f"  store i64 {e.select(until, '0', str(index + 1), 64)}, ptr {cell}")
                goes_on = e.logic("or", until, first)
                self.text.lines.append(f"  br i1 {goes_on}, label %{onwards}, label %{waits}")
                self.text.begin(waits)
                self.waiting.pause(op, effect)
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess():
                self.waiting.pause(op, effect)
            case Branch() | Exit() | Stop():
                raise AssertionError("what only goes on does no more")
            case _:
                assert_never(effect)

    def _tell_call(self, effect: Call, op: Op) -> None:
        """Note a call, if that is observed."""
        text = self.text
        if EventKind.CALL in text.flow.observed.kinds:
            assert op.call is not None
            if op.call.function:
                address = str(self.program.functions[op.call.function])
            else:
                assert isinstance(effect.function, Int)
                address = Lowering(text.emitter, self.operands.environment(op)).low(effect.function, 64)
            text.event(EventKind.CALL, value=address)

    def _choose(self, effect: IndexedBranch, op: Op, index: int) -> None:
        """Go on at that one of several blocks that an index says."""
        text, emitter = self.text, self.text.emitter
        chosen = Lowering(emitter, self.operands.environment(op)).low(effect.index, 64)
        in_list = contracts.control_flow.in_list(variable("%index", 64), len(text.block.ways))
        text.check(Lowering(emitter, {"%index": chosen}).truth(in_list), chosen, index)
        ways = " ".join(f"i64 {k}, label %{self.edges.to(way)}" for k, way in text.block.ways)
        first = self.edges.to(text.block.ways[0][1])
        text.lines.append(f"  switch i64 {chosen}, label %{first} [{ways}]")

    def _keep_registers(self) -> None:
        """Store the registers that the block has changed and that later blocks read."""
        for name in sorted((self.registers.changed & self.text.live_out) - IN_ROWS):
            self.homes.store(name, self.registers.current[name])

    def _stop(self, op: Op) -> None:
        """End the launch, for a thread that the guard lets through."""
        goes_on = "false"
        if op.guard is not None:
            predicate = self.registers.read(op.guard[0])
            goes_on = predicate if op.guard[1] else self.text.emitter.logic("xor", predicate, "true")
        self.text.check(goes_on, "0", self.text.block.end - 1)
