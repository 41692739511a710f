"""Basic blocks, one after the other: what their instructions do, and what a thread gets that comes back to one."""

from __future__ import annotations

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, ENDS
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.events import UNOBSERVED, EventKind
from ptxspec.machine.flow import ending, registers_read, values_of
from ptxspec.machine.native.calls import CallEmitter
from ptxspec.machine.native.endings import Endings
from ptxspec.machine.native.instructions import ComputationEmitter, EffectEmitter
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.program import ANSWER
from ptxspec.machine.special import variables_of
from ptxspec.machine.system import system_function
from ptxspec.terms.actions import lane_words
from ptxspec.terms.effects import Collective, Fencing, ImageAccess, StackUse, Wait
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.registries import changing


class ResultEmitter:
    """What a thread gets where it goes on that has waited, or has called a function."""

    def __init__(self, text: FunctionText, registers: Registers, operands: OperandEmitter, calls: CallEmitter | None):
        self.text, self.registers, self.operands = text, registers, operands
        self.calls = calls

    def write(self, index: int) -> None:
        """Give a thread the results of an instruction."""
        op = self.text.kernel.code[index]
        if system_function(self.text.kernel, op):
            assert self.calls is not None
            self.calls.take_answer(op)
        elif op.call is not None:
            assert self.calls is not None
            self.calls.come_back(op, index)
        else:
            for name, value in self.values(index):
                self.registers.set(name, value)

    def values(self, index: int) -> list[tuple[str, str]]:
        """(register, value) of what a thread gets that has waited at an instruction."""
        op = self.text.kernel.code[index]
        env = self.operands.environment(op) | self._learned(op)
        return self.operands.results(op, Lowering(self.text.emitter, env))

    def _learned(self, op: Op) -> dict[str, str]:
        """What a thread that waited has learned, by the names that the instruction's results have for it."""
        text, e, effect = self.text, self.text.emitter, op.plan.meaning.effect
        match effect:
            case ImageAccess():
                return {f"%answer{i}": e.emit(f"load i64, ptr {text.request_at('answer', i)}") for i in range(ANSWER)}
            case Collective():
                return self._of_warp(op, effect)
            case Wait():
                return {
                    "%arrived": e.truncate(self._word("named", "%thread"), 64, 32),
                    "%holding": e.truncate(self._word("value", "%thread"), 64, 32),
                }
        raise AssertionError(f"no thread learns anything of {effect}")

    def _of_warp(self, op: Op, effect: Collective) -> dict[str, str]:
        """The lanes that go on, and what each lane of the warp gave."""
        e = self.text.emitter
        both = self._word("named", "%thread")
        env = {"%members": e.truncate(both, 64, 32)}
        env["%at_once"] = e.truncate(e.binary("lshr", both, "32", 64), 64, 32)
        in_cta = e.binary("sub", "%thread", e.binary("mul", "%slot", "%threads", 64), 64)
        lanes = LANES * effect.warps
        lane_index = e.binary("and", in_cta, str(lanes - 1), 64)
        first = e.binary("sub", "%thread", lane_index, 64)
        env["%own"] = e.truncate(lane_index, 64, 32)
        needed = set().union(*(variables_of(v) for result in op.plan.meaning.results for v in result.values))
        for i in range(lanes):
            lane = e.binary("add", first, str(i), 64)
            name, *more = lane_words(i, 1 + len(effect.more))
            if name in needed:
                env[name] = self._word("value", lane)
            for k, another in enumerate(more):
                if another in needed:
                    env[another] = e.emit(f"load i64, ptr {self.text.more_at('learned_words', lane, k)}")
        return env

    def _word(self, what: str, thread: str) -> str:
        return self.text.emitter.emit(f"load i64, ptr {self.text.at(f'learned_{what}', thread, 8)}")


class BlockEmitter:
    """Writes basic blocks."""

    def __init__(
        self,
        text: FunctionText,
        registers: Registers,
        computing: ComputationEmitter,
        acting: EffectEmitter,
        landings: ResultEmitter,
        endings: Endings,
    ):
        self.text, self.registers = text, registers
        self.computing, self.acting, self.landings, self.endings = computing, acting, landings, endings

    def write(self, number: int) -> None:
        """Write a block, and the edges that leave it."""
        text = self.text
        text.enter_block(number)
        self.registers.forget()
        text.begin(f"block.{number}")
        if text.block.finishes is not None:
            self.landings.write(text.block.finishes)
            self.endings.finish(None)
            return
        ops = text.kernel.code[text.block.start : text.block.end]
        terminator = ops[-1] if ending(ops[-1]) else None
        self._read_ahead(ops)
        text.count("count_entries", number)
        for index, op in enumerate(ops, text.block.start):
            text.index = index
            self._observe(op, index)
            if op is not terminator:
                effect = op.plan.meaning.effect
                if isinstance(effect, Fencing | None):  # accesses are complete in order: no code for a fence
                    self.computing.write(op)
                else:
                    self.acting.write(op, effect, index)
        self.endings.finish(terminator)

    def _observe(self, op: Op, index: int) -> None:
        """Count an instruction, and note its execution, if its guard holds."""
        text, e, holds = self.text, self.text.emitter, "true"
        if index in text.kernel.added:
            return
        if op.guard is not None and text.flow.observed != UNOBSERVED:
            predicate = self.registers.read(op.guard[0])
            holds = e.logic("xor", predicate, "true") if op.guard[1] else predicate
            text.count("count_active", index, e.emit(f"zext i1 {holds} to i64"))
        text.event(EventKind.EXECUTE, holds)
        if isinstance(op.plan.meaning.effect, Fencing):
            text.event(EventKind.FENCE, holds)

    def _read_ahead(self, ops: list[Op]) -> None:
        """Load what a guarded access or a check may branch around, before it, so that it dominates all uses."""
        registers, text = self.registers, self.text
        for op in ops:
            if isinstance(op.plan.meaning.effect, StackUse):
                registers.read(ENDS)
                registers.read(BEGINS)
            for name in sorted(registers_read(op, text.kernel)):
                registers.read(name)
            for _, _, operand in values_of(op):
                if isinstance(operand, tree.Name) and operand.text in text.layout.special_types:
                    if changing(operand.text) is None:
                        registers.source.special(operand.text)
