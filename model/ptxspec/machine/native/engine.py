"""Compiled kernels, and a batch of threads that runs under them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Op, banks
from ptxspec.machine import folding, hosts
from ptxspec.machine.batch import Batch, Waiting, nobody, special_values
from ptxspec.machine.call_graph import BEGINS, ENDS, stack_moves
from ptxspec.machine.engine import (
    ANSWER,
    REQUEST,
    Fault,
    Program,
    Stopped,
    asks_host,
    call_target,
    check_end,
    check_room,
    check_variable,
    resident,
    stopped,
)
from ptxspec.machine.errors import Violation
from ptxspec.machine.flow import names_read
from ptxspec.machine.memory import Memory, untouched
from ptxspec.machine.native.code import Code
from ptxspec.machine.native.context import CONTEXT, FAULT, FIELD, RAN_OUT, ROOM, VARIABLE, bits_of
from ptxspec.terms.effects import Access, Load, Stop


class NativeEngine:
    """Compiles kernels once and keeps the code."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[int, str, bool, bool], Compiled] = {}

    def start(self, program: Program, memory: Memory, batch: Batch, watch: Callable[[], None]) -> NativeRun:
        return NativeRun(self.compiled(program, watch), program, memory, batch)

    def compiled(self, program: Program, watch: Callable[[], None]) -> Compiled:
        key = (id(program.kernel), program.profile.name, program.clustered, hosts.is_checked())
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = Compiled(program, resident(program.kernel, program.clustered), watch)
        return found


class Compiled:
    """A kernel's machine code and the layout of its registers."""

    def __init__(self, program: Program, capacity: int, watch: Callable[[], None]):
        self.program, self.capacity, self.checked = program, capacity, hosts.is_checked()
        kernel = program.kernel
        self.offsets: dict[str, int] = {}
        at = 0
        #: for each size of a register's place, in bytes: where such registers begin, and how many there are
        self.rows: dict[int, list[int]] = {}
        for name, type in sorted(kernel.registers.items(), key=lambda item: -item[1].width):
            self.offsets[name] = at
            self.rows.setdefault(bits_of(type) // 8, [at, 0])[1] += 1
            at += bits_of(type) // 8 * capacity
        self.register_bytes = at
        self.stack = contracts.functions().STACK if kernel.functions else 0
        names = {
            n for op in kernel.code for n in names_read(op) if n not in kernel.registers and n not in kernel.places
        }
        from ptxspec.language.specials import special_registers

        self.special_types = {n: special_registers()[n] for n in sorted(names) if n in special_registers()}
        self.special_offsets = {n: i * 8 * capacity for i, n in enumerate(self.special_types)}
        self.special_bytes = len(self.special_types) * 8 * capacity
        self.code = Code(self, watch)
        self.run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self.code.run)


class NativeRun:
    """One batch under the compiled code."""

    def __init__(self, compiled: Compiled, program: Program, memory: Memory, batch: Batch):
        self.fold = folding.native
        self.compiled, self.program, self.memory, self.batch = compiled, program, memory, batch
        capacity, count = compiled.capacity, len(program.flow.blocks)
        self.count = count
        self.registers = np.zeros(compiled.register_bytes + 8, np.uint8)
        self.special = np.zeros(compiled.special_bytes + 8, np.uint8)
        self.lists = np.zeros((count + 2, capacity), np.int32)
        self.counts = np.zeros(count + 2, np.int64)
        self.scratch = np.zeros(capacity, np.int32)
        self.waits = {n: np.zeros(capacity, np.int64) for n in ("number", "named", "value", "waits_at", "resume")}
        # a warp's thirty-two are read together, even where the last warp of a CTA is smaller
        self.learned = {n: np.zeros(capacity + 32, np.int64) for n in ("learned_named", "learned_value")}
        self.stack = untouched(batch.lanes * compiled.stack + 8)
        rows = capacity if asks_host(program.kernel) else 0
        self.request, self.answer = np.zeros((REQUEST, rows), np.int64), np.zeros((ANSWER, rows), np.int64)
        self.context = np.zeros(len(CONTEXT), np.int64)
        self.record = hosts.new_record()
        page = banks()
        #: for each bank of constants how many bytes it holds, and where they are
        self.banks = np.array(
            [
                (memory.sizes[space], memory.buffers_of[space].ctypes.data)
                for space in map(page.space_of, range(page.BANKS))
            ],
            np.int64,
        )
        arrays: dict[str, np.ndarray] = {
            "registers": self.registers, "special": self.special, "lists": self.lists, "counts": self.counts,
            "scratch": self.scratch, "arena": memory.arena, "shadow": memory.shadow,
            **{s: memory.buffers_of[s] for s in ("const", "param")}, **self.waits,
            **self.learned, "stack": self.stack, "request": self.request, "answer": self.answer, "banks": self.banks,
            "gone": memory.gone,
        }  # fmt: skip
        for name, array in arrays.items():
            self.context[FIELD[name]] = array.ctypes.data
            self.context[FIELD[f"{name}_bytes"]] = array.nbytes
        self.context[FIELD["record"]] = self.record.ctypes.data
        numbers = {
            "buffer_base": memory.buffer_base, "buffer_size": memory.buffer_size,
            "module_base": memory.space.module_base, "module_size": memory.module_size, "buffer_start": memory.buffer_start,
            "threads": batch.extents.threads, "shared_stride": memory.strides["shared"],
            "local_stride": memory.strides["local"], "cluster": memory.cluster,
            **{f"{s}_size": memory.sizes[s] for s in ("const", "param", "shared", "local")},
        }  # fmt: skip
        for name, value in numbers.items():
            self.context[FIELD[name]] = value
        self._pointer = self.context.ctypes.data
        self.restart(batch)

    def restart(self, batch: Batch) -> None:
        """Begin another batch of the same launch."""
        fresh = batch.lanes != self.batch.lanes or not hasattr(self, "_special")
        self.batch = batch
        for name, array in {
            **{s: self.memory.buffers_of[s] for s in ("shared", "local")},
            "alive": self.memory.alive,
        }.items():
            self.context[FIELD[name]] = array.ctypes.data  # others than those of the batch before
            self.context[FIELD[f"{name}_bytes"]] = array.nbytes
        for size, (start, count) in self.compiled.rows.items():
            row = size * self.compiled.capacity
            self.registers[start : start + count * row].reshape(count, row)[:, : size * batch.lanes] = 0
        if stack_moves(self.program.kernel):
            for name in (BEGINS, ENDS):
                at = self.compiled.offsets[name]
                self.registers[at : at + 8 * self.compiled.capacity].view(np.uint64)[:] = self.memory.first or 0
        threads = batch.threads()
        if fresh:
            self._special = special_values(self.compiled.special_types, threads)
            wanted = self._special
        else:
            wanted = special_values([n for n, (_, by_cta) in self._special.items() if by_cta], threads)
        for name, (values, _) in wanted.items():
            at = self.compiled.special_offsets[name]
            self.special[at : at + values.nbytes] = values.view(np.uint8)
        self.counts[:] = 0
        self.counts[0] = batch.lanes
        self.lists[0, : batch.lanes] = np.arange(batch.lanes)

    @property
    def steps(self) -> int:
        return int(self.context[FIELD["steps"]])

    def run(self, budget: int) -> Stopped:
        outcome = self.compiled.run(self._pointer, budget)
        if self.record[hosts.WHICH]:
            hosts.complain(self.record, [op.plan.form.mnemonic for op in self.program.kernel.code])
        if outcome == FAULT:
            lane, op = int(self.context[FIELD["fault_lane"]]), int(self.context[FIELD["fault_op"]])
            at = self.program.kernel.code[op]
            effect = at.plan.meaning.effect
            if isinstance(effect, Stop):
                return Stopped(Fault(lane, op, None, stopped(effect)), False, nobody())
            address = int(self.context[FIELD["fault_address"]].astype(np.uint64))
            error = self._violation(lane, op, address, int(self.context[FIELD["fault_why"]]))
            return Stopped(Fault(lane, op, address if isinstance(effect, Access) else None, error), False, nobody())
        lanes = self.lists[self.count + 1, : self.counts[self.count + 1]].astype(np.int64)
        self.counts[self.count + 1] = 0
        columns = (column[lanes] for column in self.waits.values())
        return Stopped(None, outcome == RAN_OUT, Waiting(lanes, *columns))

    def _violation(self, lane: int, op: int, address: int, why: int) -> Violation:
        """What the instruction broke, by the rules that the exact engine uses."""
        instruction = self.program.kernel.code[op]
        effect = instruction.plan.meaning.effect
        if why == ROOM or not isinstance(effect, Access):
            return self._elsewhere(instruction, op, lane, address, why)
        try:
            if why == VARIABLE:
                check_variable(self.program, op, address, effect.bytes)
            space, write = instruction.space or effect.space, not isinstance(effect, Load)
            self.memory.access(space, address, effect.bytes, write, lane // self.batch.extents.threads, lane)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused an access that the memory allows")

    def _elsewhere(self, op: Op, index: int, lane: int, value: int, why: int) -> Violation:
        """What a branch, a call or an instruction that moves the stack broke, by the rules of the page of functions."""
        block = next(b for b in self.program.flow.blocks if b.finishes is None and b.start <= index < b.end)
        try:
            if why == ROOM:
                check_room(self.program, 1 << 64, 0)
            elif op.call is not None:
                call_target(self.program, op, block, op.call.function or value)
            elif op.targets:
                return Violation("branch index", f"index {value} of a list of {len(block.ways)}")
            else:
                begins, ends = (
                    int(self.registers[self.compiled.offsets[name] :].view(np.uint64)[lane]) for name in (BEGINS, ENDS)
                )
                check_end(value, begins, ends)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused what the rules allow")

    def resume(self, threads: Waiting) -> None:
        self.learned["learned_named"][threads.lane] = threads.named
        self.learned["learned_value"][threads.lane] = threads.value
        alike = (threads.resume == threads.resume[:1]).all()
        for block in threads.resume[:1] if alike else np.unique(threads.resume):
            lanes = threads.lane if alike else threads.lane[threads.resume == block]
            begin = self.counts[block]
            self.lists[block, begin : begin + len(lanes)] = lanes
            self.counts[block] += len(lanes)
            if block == self.count:
                np.add.at(self.memory.gone, lanes // self.memory.threads, 1)

    def ended(self) -> np.ndarray:
        return self.lists[self.count, : self.counts[self.count]].astype(np.int64)
