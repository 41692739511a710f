"""Compiled kernels, and a launch that runs under them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Op, banks
from ptxspec.machine import hosts
from ptxspec.machine.batch import Extents
from ptxspec.machine.call_graph import BEGINS, ENDS, stack_moves
from ptxspec.machine.driver import machine
from ptxspec.machine.engine import (
    ANSWER,
    REQUEST,
    Fault,
    Program,
    asks_host,
    call_target,
    check_end,
    check_room,
    check_variable,
    resident,
    stopped,
)
from ptxspec.machine.errors import Violation
from ptxspec.machine.memory import Memory, untouched
from ptxspec.machine.native.code import Code, driver
from ptxspec.machine.native.context import CONTEXT, FIELD, ROOM, VARIABLE
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.special import FACTS
from ptxspec.terms.effects import Access, Load, Stop


class NativeEngine:
    """Compiles kernels once and keeps the code."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[int, str, bool, bool, bool], Compiled] = {}

    def start(
        self, program: Program, memory: Memory, extents: Extents, slots: int, workers: int, watch: Callable[[], None]
    ) -> NativeRun:
        return NativeRun(self.compiled(program, workers > 1, watch), program, memory, extents, slots)

    def compiled(self, program: Program, spread: bool, watch: Callable[[], None]) -> Compiled:
        key = (id(program.kernel), program.profile.name, program.clustered, hosts.is_checked(), spread)
        found = self._compiled.get(key)
        if found is None:
            capacity = resident(program)
            found = self._compiled[key] = Compiled(program, capacity, spread, watch)
        return found


class Compiled:
    """A kernel's machine code, and the layout of what it works on."""

    def __init__(self, program: Program, capacity: int, spread: bool, watch: Callable[[], None]):
        self.layout = Layout(program, capacity, spread)
        self.code = Code(self.layout, watch)


class NativeRun:
    """A launch under the compiled code. Its numbers are fields of the context, by the names that the driver has for them."""

    def __init__(self, compiled: Compiled, program: Program, memory: Memory, extents: Extents, slots: int):
        self.layout, self.program, self.memory = compiled.layout, program, memory
        layout = self.layout
        self.extents = extents
        self.flow = program.flow
        capacity, warps = layout.capacity, slots * contracts.warps().warps_of(extents.threads)
        shape = machine.Shape(
            len(program.flow.blocks), len(program.kernel.code), capacity, slots, warps, slots // extents.cluster_size
        )
        self.arrays: dict[str, np.ndarray] = {
            name: np.zeros(column.length(shape), f"i{column.unit}") for name, column in machine.columns().items()
        }
        self.arrays["gone"] = memory.gone
        self.arrays["slot_of"] = np.arange(capacity, dtype=np.int64) // extents.threads
        rows = capacity if asks_host(program) else 0
        self.request, self.answer = np.zeros((REQUEST, rows), np.int64), np.zeros((ANSWER, rows), np.int64)
        page = banks()
        #: for each bank of constants how many bytes it holds, and where they are
        held = [(memory.sizes[s], memory.buffers_of[s].ctypes.data) for s in map(page.space_of, range(page.BANKS))]
        self.arrays |= {
            "registers": np.zeros(layout.register_bytes + 8, np.uint8),
            "special": np.zeros(layout.special_bytes + 8, np.uint8),
            "stack": untouched(slots * extents.threads * layout.stack + 8),
            "tile": np.zeros(layout.tile_bytes + 8, np.uint8),
            "request": self.request, "answer": self.answer, "banks": np.array(held, np.int64),
            "arena": memory.arena, "shadow": memory.shadow,
            **{s: memory.buffers_of[s] for s in ("const", "param")},
        }  # fmt: skip
        self.context = np.zeros(len(CONTEXT), np.int64)
        self.record = hosts.new_record()
        self._say("record", self.record.ctypes.data)
        self._say("threads_run_at", compiled.code.turns)
        self._say("begin_at", compiled.code.begin)
        numbers = {
            "buffer_base": memory.buffer_base, "buffer_size": memory.buffer_size,
            "module_base": memory.space.module_base, "module_size": memory.module_size, "buffer_start": memory.buffer_start,
            "shared_stride": memory.strides["shared"], "local_stride": memory.strides["local"], "capacity": capacity,
            **{f"{s}_size": memory.sizes[s] for s in ("const", "param", "shared", "local")},
            **dict(zip(FACTS, extents.facts(), strict=True)),
        }  # fmt: skip
        for name, value in numbers.items():
            self._say(name, value)
        self._pointer = self.context.ctypes.data
        drive = driver(layout.checked, program.roles.meet).address("drive")
        self._drive = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(drive)
        self.empty()

    def _say(self, name: str, value: int) -> None:
        self.context[FIELD[name]] = value

    def get(self, name: str) -> int:
        """A number of the machine."""
        return int(self.context[FIELD[name]])

    def set(self, name: str, value: int) -> None:
        self.context[FIELD[name]] = value

    def table(self, name: str, values: list[int]) -> None:
        """Fill an array of the machine."""
        self.arrays[name][: len(values)] = values

    def empty(self) -> None:
        """Take the memory of the CTAs, which the host has emptied."""
        memory = self.memory
        self.arrays |= {
            "shared": memory.buffers_of["shared"],
            "local": memory.buffers_of["local"],
            "alive": memory.alive,
        }
        for name, array in self.arrays.items():
            self._say(name, array.ctypes.data)
            self._say(f"{name}_bytes", array.nbytes)
        if stack_moves(self.program.kernel):
            for name in (BEGINS, ENDS):
                at = self.layout.offsets[name]
                self.arrays["registers"][at : at + 8 * self.layout.capacity].view(np.uint64)[:] = memory.first or 0

    def run(self) -> int:
        """Run until the host is needed; why, as the driver says it."""
        code = self._drive(self._pointer)
        if self.record[hosts.WHICH]:
            hosts.complain(self.record, [op.plan.form.mnemonic for op in self.program.kernel.code])
        return int(code)

    def fault(self) -> Fault:
        """What ended the launch, at an instruction."""
        lane, op = self.get("failed_lane"), self.get("failed_op")
        effect = self.program.kernel.code[op].plan.meaning.effect
        if isinstance(effect, Stop):
            return Fault(lane, op, None, stopped(effect))
        address = self.get("failed_address") & (1 << 64) - 1
        error = self._violation(lane, op, address, self.get("failed_why"))
        return Fault(lane, op, address if isinstance(effect, Access) else None, error)

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
            self.memory.access(space, address, effect.bytes, write, lane // self.extents.threads, lane)
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
                registers = self.arrays["registers"]
                begins, ends = (
                    int(registers[self.layout.offsets[name] :].view(np.uint64)[lane]) for name in (BEGINS, ENDS)
                )
                check_end(value, begins, ends)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused what the rules allow")

    def column(self, name: str) -> Any:
        """An array of the machine."""
        return self.arrays[name]
