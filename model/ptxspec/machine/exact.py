"""The exact engine: every thread's instructions over Python integers. Slow, and short enough to read in one sitting."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ptxspec.language import tree
from ptxspec.machine.batch import Batch, Waiting, nobody, special_values
from ptxspec.machine.engine import Fault, Program, Stopped, constant_of
from ptxspec.machine.errors import Violation
from ptxspec.machine.flow import destinations, sources, values_of
from ptxspec.machine.memory import Memory
from ptxspec.terms.exact import NoChoice, evaluate


class ExactEngine:
    """Runs a kernel by evaluating the terms of its instructions."""

    def start(self, program: Program, memory: Memory, batch: Batch) -> ExactRun:
        return ExactRun(program, memory, batch)


class ExactRun:
    """One batch. `standing[b]` lists the lanes that stand at block b; the last list, those that have ended."""

    def __init__(self, program: Program, memory: Memory, batch: Batch):
        self.program, self.memory, self.batch = program, memory, batch
        self.blocks, self.code = program.flow.blocks, program.kernel.code
        self.steps = self.turns = self.last = 0
        self.fairness = importlib.import_module("ptxspec.spec.machine.divergence")
        self.restart(batch)

    def restart(self, batch: Batch) -> None:
        self.batch = batch
        self.registers: list[dict[str, Any]] = [
            {name: False if type.kind == "pred" else 0 for name, type in self.program.kernel.registers.items()}
            for _ in range(batch.lanes)
        ]
        names = {
            operand.text
            for op in self.code
            for _, operand in sources(op)
            if isinstance(operand, tree.Name) and operand.text not in self.program.kernel.registers
        }
        self.special = special_values(names, batch.threads())
        self.standing: list[list[int]] = [[] for _ in range(len(self.blocks) + 1)]
        self.standing[0] = list(range(batch.lanes))
        self.waiting: list[tuple[int, ...]] = []

    def run(self, budget: int) -> Stopped:
        limit = self.steps + budget
        while self.steps < limit:
            block = self.next_block()
            if block is None:
                return Stopped(None, False, self.arrived())
            lanes, self.standing[block] = self.standing[block], []
            self.last = block
            self.turns += 1
            for lane in lanes:
                fault = self.block(block, lane)
                if fault is not None:
                    return Stopped(fault, False, nobody())
            self.steps += len(lanes) * (self.blocks[block].end - self.blocks[block].start)
        return Stopped(None, True, self.arrived())

    def arrived(self) -> Waiting:
        """The threads that have come to a barrier since this was last asked."""
        columns = np.array(self.waiting, np.int64).reshape(-1, 5).T
        self.waiting = []
        return Waiting(*columns)

    def next_block(self) -> int | None:
        """The block whose turn it is."""
        count = len(self.blocks)
        rotate = self.turns % self.fairness.ROUND >= self.fairness.ROUND - self.fairness.TURNS_FOR_ALL
        first = (self.last + 1) % count if rotate and count else 0
        for i in range(count):
            if self.standing[(first + i) % count]:
                return (first + i) % count
        return None

    def block(self, number: int, lane: int) -> Fault | None:
        """Run one thread through a block and put it where it goes next."""
        block = self.blocks[number]
        goes = block.next
        for index in range(block.start, block.end):
            op = self.code[index]
            effect = op.plan.meaning.effect
            registers = self.registers[lane]
            if op.guard is not None and registers[op.guard[0]] == op.guard[1]:
                continue
            try:
                memo: dict[int, Any] = {}
                env = self.inputs(op, lane)
                if effect is None:
                    pass
                elif effect.kind == "load":
                    self.load(effect.fields, env, lane, memo)
                elif effect.kind == "store":
                    self.store(effect.fields, env, lane, memo)
                elif effect.kind == "barrier":
                    named = effect.fields["threads"]
                    barrier = self.value(effect.fields["barrier"], env, memo)
                    count = -1 if named is None else self.value(named, env, memo)
                    resume = len(self.blocks) if block.next is None else block.next
                    self.waiting.append((lane, barrier, count, index, resume))
                    return None
                else:
                    goes = block.taken
                self.write(op, env, memo, registers)
            except Violation as violation:
                return Fault(lane, index, self.address, violation)
            except NoChoice as open_result:
                return Fault(lane, index, None, open_result)
        self.standing[len(self.blocks) if goes is None else goes].append(lane)
        return None

    def value(self, term: Any, env: dict[str, Any], memo: dict[int, Any]) -> Any:
        return evaluate(term, env, self.program.profile.value, memo)

    def inputs(self, op: Any, lane: int) -> dict[str, Any]:
        """The values of a meaning's variables."""
        return {v.attrs[0]: self.operand(type, v.attrs[1], element, lane) for type, v, element in values_of(op)}

    def operand(self, type: Any, width: int, operand: Any, lane: int) -> Any:
        registers = self.registers[lane]
        mask = (1 << width) - 1
        if isinstance(operand, tree.Address):
            base = 0 if operand.base is None else self.operand(None, 64, operand.base, lane)
            return base + operand.offset & mask
        if isinstance(operand, tree.Not):
            return not registers[operand.name.text]
        constant = constant_of(self.program, type, operand)
        if constant is None:
            found = registers.get(operand.text)
            if isinstance(found, bool):
                return found
            return (int(self.special[operand.text][0][lane]) if found is None else found) & mask
        return bool(constant) if type is not None and type.kind == "pred" else constant & mask

    def write(self, op: Any, env: dict[str, Any], memo: dict[int, Any], registers: dict[str, Any]) -> None:
        values = [(n, t, self.value(v, env, memo)) for n, t, v in destinations(op)]
        for name, type, value in values:
            if type.signed and value >> (type.width - 1):  # a wider register takes the sign
                width = self.program.kernel.registers[name].width
                value += (1 << width) - (1 << type.width)
            registers[name] = value

    def load(self, fields: dict[str, Any], env: dict[str, Any], lane: int, memo: dict[int, Any]) -> None:
        size, count = fields["type"].bytes, fields["count"]
        array, at = self.place(fields, env, lane, size * count, False, memo)
        for i in range(count):
            data = array[at + i * size : at + (i + 1) * size].tobytes()
            env[f"%loaded{i}"] = int.from_bytes(data, "little")

    def store(self, fields: dict[str, Any], env: dict[str, Any], lane: int, memo: dict[int, Any]) -> None:
        size, values = fields["type"].bytes, fields["values"]
        array, at = self.place(fields, env, lane, size * len(values), True, memo)
        for i, value in enumerate(values):
            data = self.value(value, env, memo).to_bytes(size, "little")
            array[at + i * size : at + (i + 1) * size] = list(data)

    def place(self, fields: dict[str, Any], env: dict[str, Any], lane: int, size: int, write: bool, memo: Any) -> Any:
        self.address = self.value(fields["address"], env, memo)
        slot = lane // self.batch.extents.threads
        return self.memory.access(fields["space"], self.address, size, write, slot, lane)

    def resume(self, threads: Waiting) -> None:
        for lane, block in zip(threads.lane.tolist(), threads.resume.tolist(), strict=True):
            self.standing[block].append(lane)

    def ended(self) -> np.ndarray:
        slots = np.array(self.standing[-1], np.int64) // self.batch.extents.threads
        return np.bincount(slots, minlength=self.batch.ctas)
