"""The native engine: every basic block becomes machine code that runs all threads standing at it.

Registers lie in memory as one array each, an element a lane. A block's function goes through a list of lanes; for each it
loads the registers that are live, computes, checks and performs its accesses, stores what later blocks read, and appends the
lane to the list of the block it goes to. Another function, `run`, takes blocks in the order of their preference until none
has threads. An access that fails a check stops the run: what it broke is then found out by the same rules in Python that the
exact engine uses.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from typing import Any

import numpy as np

from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine.batch import Batch, Waiting, nobody, special_values
from ptxspec.machine.engine import (
    Fault,
    Program,
    Stopped,
    call_target,
    check_room,
    constant_of,
    has_images,
    in_frame,
    requested,
    resident,
    stopped,
)
from ptxspec.machine.errors import Violation
from ptxspec.machine.flow import Block, destinations, ending, registers_read, sources, successors, values_of
from ptxspec.machine.imaging import ANSWER, REQUEST
from ptxspec.machine.link import DEPTH, FRAME, RETURNED, calls, frame_size, returned
from ptxspec.machine.memory import READABLE, WRITABLE, Memory
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.machine import changing
from ptxspec.terms.native import Emitter, Library
from ptxspec.terms.types import Type

#: fields of the context, eight bytes each: pointers and numbers that the code reads, then those that it writes
_CONTEXT = (
    "registers", "special", "lists", "counts", "scratch", "arena", "shadow", "buffer_base", "buffer_size",
    "module_base", "module_size", "buffer_start", "const", "const_size", "param", "param_size", "shared", "shared_size",
    "shared_stride", "local", "local_size", "local_stride", "threads", "number", "named", "value", "waits_at", "resume",
    "learned_named", "learned_value", "stack", "request", "answer",
    "fault_lane", "fault_op", "fault_address", "steps", "turns", "last",
)  # fmt: skip
_FIELD = {name: i for i, name in enumerate(_CONTEXT)}
_RAN_OUT, _FAULT = 2, 1
#: from so many blocks on, code that is made soon is worth more than code that is fast. A block takes LLVM about 8 ms with all
#: passes, 4 ms with the quick ones (the code is up to a tenth slower), and less than 1 ms at level 0 (half as fast)
SOME_BLOCKS, MANY_BLOCKS = 32, 500


class NativeEngine:
    """Compiles kernels once and keeps the code."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[int, str], Compiled] = {}

    def start(self, program: Program, memory: Memory, batch: Batch) -> NativeRun:
        return NativeRun(self.compiled(program), program, memory, batch)

    def compiled(self, program: Program) -> Compiled:
        key = (id(program.kernel), program.profile.name)
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = Compiled(program, resident(program.kernel))
        return found


def _bits(type: Type) -> int:
    """Bits of the array element that holds a register."""
    return max(8, type.width)


class Compiled:
    """A kernel's machine code and the layout of its registers."""

    def __init__(self, program: Program, capacity: int):
        self.program, self.capacity = program, capacity
        kernel = program.kernel
        self.offsets: dict[str, int] = {}
        at = 0
        for name, type in sorted(kernel.registers.items(), key=lambda item: -item[1].width):
            self.offsets[name] = at
            at += _bits(type) // 8 * capacity
        self.register_bytes = at
        self.stack = importlib.import_module("ptxspec.spec.functions.index").STACK if kernel.functions else 0
        names = {
            o.text
            for op in kernel.code
            for _, o in sources(op)
            if isinstance(o, tree.Name) and o.text not in kernel.registers and o.text not in kernel.places
        }
        from ptxspec.language.specials import special_registers

        self.special_types = {n: special_registers()[n] for n in sorted(names) if n in special_registers()}
        self.special_offsets = {n: i * 8 * capacity for i, n in enumerate(self.special_types)}
        needs: set[str] = set()
        live = program.flow.live_in()
        blocks = [
            BlockText(self, number, block, live, needs).text() for number, block in enumerate(program.flow.blocks)
        ]
        weights = '!0 = !{!"branch_weights", i32 2000, i32 1}'
        level, quick = (2 if len(blocks) < MANY_BLOCKS else 0), len(blocks) >= SOME_BLOCKS
        self.library = Library("\n".join([*blocks, self._run(), weights]), needs, level=level, quick=quick)
        self.run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self.library.address("run"))

    def _run(self) -> str:
        """LLVM text of `run(context, budget)`: 0 when nothing can run, else why it stopped."""
        page = importlib.import_module("ptxspec.spec.machine.divergence")
        count = len(self.program.flow.blocks)
        size = self.capacity
        cases = "\n    ".join(f"i64 {i}, label %do{i}" for i in range(count))
        bodies = "\n".join(
            f"do{i}:\n  %r{i} = call i64 @block{i}(ptr %context, ptr %scratch, i64 %n)\n  br label %done"
            for i in range(count)
        )
        results = ", ".join(f"[%r{i}, %do{i}]" for i in range(count))
        lengths = ", ".join(f"i64 {b.end - b.start}" for b in self.program.flow.blocks)
        return f"""
@lengths = private constant [{count} x i64] [{lengths}]
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i64 @run(ptr %context, i64 %budget) {{
entry:
{_field("lists")}
{_field("counts")}
{_field("scratch")}
  %steps_at = getelementptr i64, ptr %context, i64 {_FIELD["steps"]}
  %turns_at = getelementptr i64, ptr %context, i64 {_FIELD["turns"]}
  %last_at = getelementptr i64, ptr %context, i64 {_FIELD["last"]}
  %begun = load i64, ptr %steps_at
  %limit = add i64 %begun, %budget
  br label %turn
turn:
  %steps = load i64, ptr %steps_at
  %spent = icmp uge i64 %steps, %limit
  br i1 %spent, label %out, label %choose
choose:
  %turns = load i64, ptr %turns_at
  %phase = urem i64 %turns, {page.ROUND}
  %rotate = icmp uge i64 %phase, {page.ROUND - page.TURNS_FOR_ALL}
  %last = load i64, ptr %last_at
  %after = add i64 %last, 1
  %wrapped = urem i64 %after, {count}
  %first = select i1 %rotate, i64 %wrapped, i64 0
  br label %look
look:
  %b = phi i64 [%first, %choose], [%following, %empty]
  %looked = phi i64 [0, %choose], [%more, %empty]
  %count_at = getelementptr i64, ptr %counts, i64 %b
  %n = load i64, ptr %count_at
  %none = icmp eq i64 %n, 0
  br i1 %none, label %empty, label %take
empty:
  %more = add i64 %looked, 1
  %b1 = add i64 %b, 1
  %following = urem i64 %b1, {count}
  %all = icmp uge i64 %more, {count}
  br i1 %all, label %idle, label %look
take:
  store i64 0, ptr %count_at
  store i64 %b, ptr %last_at
  %turns1 = add i64 %turns, 1
  store i64 %turns1, ptr %turns_at
  %list_offset = mul i64 %b, {size * 4}
  %list = getelementptr i8, ptr %lists, i64 %list_offset
  %bytes = mul i64 %n, 4
  call void @llvm.memcpy.p0.p0.i64(ptr %scratch, ptr %list, i64 %bytes, i1 false)
  switch i64 %b, label %idle [
    {cases}
  ]
{bodies}
done:
  %r = phi i64 {results}
  %bad = icmp ne i64 %r, 0
  br i1 %bad, label %fault, label %count
count:
  %length_at = getelementptr [{count} x i64], ptr @lengths, i64 0, i64 %b
  %length = load i64, ptr %length_at
  %did = mul i64 %length, %n
  %steps1 = add i64 %steps, %did
  store i64 %steps1, ptr %steps_at
  br label %turn
idle:
  ret i64 0
fault:
  ret i64 {_FAULT}
out:
  ret i64 {_RAN_OUT}
}}"""


def _field(name: str, type: str = "ptr") -> str:
    """Text that loads a field of the context into %name."""
    return (
        f"  %{name}_at = getelementptr i64, ptr %context, i64 {_FIELD[name]}\n  %{name} = load {type}, ptr %{name}_at"
    )


_NAME = re.compile(r"%(\w+)")
_POINTERS = ("registers", "special", "lists", "counts", "arena", "shadow", "const", "param", "shared", "local",
             "number", "named", "value", "waits_at", "resume", "learned_named", "learned_value", "stack",
             "request", "answer")  # fmt: skip
_NUMBERS = ("buffer_base", "buffer_size", "module_base", "module_size", "buffer_start", "const_size", "param_size", "shared_size",
            "shared_stride", "local_size", "local_stride", "threads", "steps")  # fmt: skip


class BlockText:
    """Writes the function of one basic block."""

    def __init__(self, compiled: Compiled, number: int, block: Block, live: list[set[str]], needs: set[str]):
        self.compiled, self.number, self.block = compiled, number, block
        self.program = compiled.program
        self.kernel = self.program.kernel
        self.needs = needs
        self.lines: list[str] = []
        self.emitter = Emitter(self.lines, needs, self.program.profile.term)
        self.current: dict[str, str] = {}
        self.changed: set[str] = set()
        self.special: dict[str, str] = {}
        self.index = block.start
        self.labels = 0
        self.faults: list[str] = []
        self.live_out: set[str] = set().union(*[live[s] for s in successors(block)])
        self.layout = importlib.import_module("ptxspec.spec.state_spaces.generic_addressing")

    def label(self, stem: str) -> str:
        self.labels += 1
        return f"{stem}{self.labels}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    # registers -----------------------------------------------------------------------------------------------------------

    def register(self, name: str) -> str:
        """A register's value now: a word of its width, or an i1."""
        if name not in self.current:
            self.current[name] = self.load_register(name)
        return self.current[name]

    def where(self, name: str) -> str:
        type = self.kernel.registers[name]
        return self.emitter.emit(
            f"getelementptr i{_bits(type)}, ptr %registers_{self.compiled.offsets[name]}, i64 %lane"
        )

    def load_register(self, name: str) -> str:
        type = self.kernel.registers[name]
        value = self.emitter.emit(f"load i{_bits(type)}, ptr {self.where(name)}")
        return self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

    def read_special(self, name: str) -> str:
        register = changing(name)
        if register is not None:
            elapsed = self.emitter.binary("add", "%steps", str(self.index - self.block.start), 64)
            return Lowering(self.emitter, {"%elapsed": elapsed}).low(register.meaning(), register.type.width)
        if name not in self.special:
            type = self.compiled.special_types[name]
            at = self.emitter.emit(f"getelementptr i8, ptr %special, i64 {self.compiled.special_offsets[name]}")
            cell = self.emitter.emit(f"getelementptr i{_bits(type)}, ptr {at}, i64 %lane")
            value = self.emitter.emit(f"load i{_bits(type)}, ptr {cell}")
            self.special[name] = self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value
        return self.special[name]

    # instructions --------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        if self.block.finishes is not None:
            op = self.kernel.code[self.block.finishes]
            if op.call is not None:
                self.come_back(op, self.block.finishes)
            else:
                self.landing(op)
            self.finish(None)
            return self.function()
        ops = self.kernel.code[self.block.start : self.block.end]
        terminator = ops[-1] if ending(ops[-1]) else None
        # what a guarded access or a check may branch around is loaded before it, so that it dominates all uses
        for op in ops:
            for name in sorted(registers_read(op, self.kernel)):
                self.register(name)
            for _, _, operand in values_of(op):
                if isinstance(operand, tree.Name) and operand.text in self.compiled.special_types:
                    if changing(operand.text) is not None:
                        continue
                    self.read_special(operand.text)
        for index, op in enumerate(ops, self.block.start):
            self.index = index
            if op is not terminator:
                self.instruction(op, index)
        self.finish(terminator)
        return self.function()

    def landing(self, op: Op) -> None:
        """Give a thread that waited for others its results."""
        env = self.environment(op)
        assert op.plan.meaning.effect is not None

        def learned(what: str, lane: str) -> str:
            cell = self.emitter.emit(f"getelementptr i64, ptr %learned_{what}, i64 {lane}")
            return self.emitter.emit(f"load i64, ptr {cell}")

        if op.plan.meaning.effect.kind == "image":
            for i in range(ANSWER):
                env[f"%answer{i}"] = self.emitter.emit(f"load i64, ptr {self.word_of('answer', i)}")
        elif op.plan.meaning.effect.kind == "gather":
            both = learned("named", "%lane")
            env["%members"] = self.emitter.truncate(both, 64, 32)
            env["%at_once"] = self.emitter.truncate(self.emitter.binary("lshr", both, "32", 64), 64, 32)
            in_cta = self.emitter.binary("sub", "%lane", self.emitter.binary("mul", "%slot", "%threads", 64), 64)
            own = self.emitter.binary("and", in_cta, "31", 64)
            first = self.emitter.binary("sub", "%lane", own, 64)
            env["%own"] = self.emitter.truncate(own, 64, 32)
            for i in range(32):
                env[f"%lane{i}"] = learned("value", self.emitter.binary("add", first, str(i), 64))
        else:
            env["%arrived"] = self.emitter.truncate(learned("named", "%lane"), 64, 32)
            env["%holding"] = self.emitter.truncate(learned("value", "%lane"), 64, 32)
        for name, value in self.results(op, Lowering(self.emitter, env)):
            self.set(name, value)

    def environment(self, op: Op) -> dict[str, str]:
        return {v.attrs[0]: self.operand(type, v.attrs[1], element) for type, v, element in values_of(op)}

    def operand(self, type: Type | None, width: int, operand: Any) -> str:
        if isinstance(operand, tree.Address):
            base = "0" if operand.base is None else self.operand(None, 64, operand.base)
            if not operand.offset:
                return base
            return self.emitter.binary("add", base, str(operand.offset & (1 << 64) - 1), 64)
        if isinstance(operand, tree.Indexed):
            return self.element(operand, width)
        if isinstance(operand, tree.Not):
            return self.emitter.logic("xor", self.register(operand.name.text), "true")
        offset = in_frame(self.program, operand)
        if offset is not None:
            moved = self.emitter.binary("add", self.register(FRAME), str(offset & (1 << 64) - 1), 64)
            return moved if width == 64 else self.emitter.truncate(moved, 64, width)
        constant = constant_of(self.program, type, operand)
        if constant is not None:
            if type is not None and type.kind == "pred":
                return "true" if constant else "false"
            return str(constant & (1 << width) - 1)
        if operand.text in self.kernel.registers:
            own = self.kernel.registers[operand.text]
            value = self.register(operand.text)
        else:
            own = self.compiled.special_types[operand.text]
            value = self.read_special(operand.text)
        if own.kind == "pred" or own.width == width:
            return value
        if own.width > width:
            return self.emitter.truncate(value, own.width, width)
        return self.emitter.extend(value, own.width, width, False)

    def element(self, operand: tree.Indexed, width: int) -> str:
        """The address of an element, by the words of the page."""
        start = self.operand(None, 64, tree.Sum(operand.base, 0))
        index = self.operand(None, 32, operand.register)
        page = importlib.import_module("ptxspec.spec.variables.index")
        begin, which = variable("%start", 64), variable("%index", 32)
        term = page.element_address(begin, which, operand.scale, operand.offset, operand.bits)
        return Lowering(self.emitter, {"%start": start, "%index": index}).low(term, width)

    def instruction(self, op: Op, index: int) -> None:
        env = self.environment(op)
        lowering = Lowering(self.emitter, env)
        effect = op.plan.meaning.effect
        if effect is None:
            values = self.results(op, lowering)
            if op.guard is not None:  # all of them before any is set: the guard may be among them
                values = [(name, self.merged(op, name, value)) for name, value in values]
            for name, value in values:
                self.set(name, value)
            return
        skip = inside = None
        before = dict(self.current)
        if op.guard is not None:
            inside, skip, join = self.label("inside"), self.label("skip"), self.label("join")
            predicate = self.register(op.guard[0])
            first, second = (skip, inside) if op.guard[1] else (inside, skip)
            self.lines.append(f"  br i1 {predicate}, label %{first}, label %{second}")
            self.begin(inside)
            known = dict(self.emitter._seen)
            lowering = Lowering(self.emitter, dict(env))
        pointer = self.access(op, lowering, index)
        values = []
        if effect.kind == "load":
            type = effect.fields["type"]
            for i in range(effect.fields["count"]):
                self.lines.append(
                    f"  %e{index}_{i} = getelementptr i{type.width}, ptr {pointer}, i64 {i}\n"
                    f"  %l{index}_{i} = load i{type.width}, ptr %e{index}_{i}, align {type.bytes}"
                )
                env[f"%loaded{i}"] = f"%l{index}_{i}"
            values = self.results(op, Lowering(self.emitter, env))
        elif effect.kind == "update":
            word = f"i{effect.fields['type'].width}"
            env["%loaded0"] = f"%l{index}"
            self.lines.append(f"  %l{index} = load {word}, ptr {pointer}")
            lowering = Lowering(self.emitter, env)
            new = lowering.low(effect.fields["values"][0], effect.fields["type"].width)
            self.lines.append(f"  store {word} {new}, ptr {pointer}")
            values = self.results(op, lowering)
        else:
            type = effect.fields["type"]
            for i, value in enumerate(effect.fields["values"]):
                word = lowering.low(value, type.width)
                self.lines.append(
                    f"  %e{index}_{i} = getelementptr i{type.width}, ptr {pointer}, i64 {i}\n"
                    f"  store i{type.width} {word}, ptr %e{index}_{i}, align {type.bytes}"
                )
        if op.guard is None:
            for name, value in values:
                self.set(name, value)
            return
        arrived = self.label("arrived")
        self.lines.append(f"  br label %{arrived}")
        self.begin(arrived)
        self.lines.append(f"  br label %{join}")
        self.begin(str(skip))
        self.lines.append(f"  br label %{join}")
        self.begin(join)
        self.emitter._seen.clear()
        self.emitter._seen.update(known)
        for name, value in values:
            register = self.kernel.registers[name]
            word = "i1" if register.kind == "pred" else f"i{register.width}"
            merged = f"%m{index}_{len(self.lines)}"
            self.lines.append(f"  {merged} = phi {word} [{value}, %{arrived}], [{before[name]}, %{skip}]")
            self.set(name, merged)

    def results(self, op: Op, lowering: Lowering) -> list[tuple[str, str]]:
        """(register, value at the register's width) of what an instruction writes."""
        found = []
        for name, type, value in destinations(op):
            if type.kind == "pred":
                found.append((name, lowering.truth(value)))
            else:
                width = self.kernel.registers[name].width
                word = lowering.low(value, type.width)
                found.append((name, lowering.resize(word, type.width, width, type.signed)))
        return found

    def merged(self, op: Op, name: str, value: str) -> str:
        """The value where the guard holds, else what the register had."""
        assert op.guard is not None
        predicate, negated = self.register(op.guard[0]), op.guard[1]
        old = self.register(name)
        first, second = (old, value) if negated else (value, old)
        type = self.kernel.registers[name]
        return self.emitter.select(predicate, first, second, type.width)

    def set(self, name: str, value: str) -> None:
        self.current[name] = value
        self.changed.add(name)

    # memory --------------------------------------------------------------------------------------------------------------

    def access(self, op: Op, lowering: Lowering, index: int) -> str:
        """Emit the checks of an access and return the host's pointer. Everything emitted here dominates what follows."""
        effect = op.plan.meaning.effect
        assert effect is not None
        fields = effect.fields
        write = effect.kind != "load"
        count = len(fields["values"]) if write else fields["count"]
        size = fields["type"].bytes * count
        address = lowering.low(fields["address"], 64)
        space = "local" if op.framed else fields["space"].split("::")[0]
        if space == "generic":
            return self.generic(address, size, write, index)
        return self.in_space(space, address, address, size, write, index)

    def in_space(self, space: str, address: str, shown: str, size: int, write: bool, index: int) -> str:
        """The pointer for an address of a space; `shown` is the address as the instruction has it, for a fault."""
        e = self.emitter
        if write and space in ("const", "param"):
            self.check("false", shown, index)
            return "%const"
        aligned = e.compare("eq", e.binary("and", address, str(size - 1), 64), "0", 64)
        if space == "global":
            in_buffers = e.binary("sub", address, "%buffer_base", 64)
            is_buffer = e.compare("ult", in_buffers, "%buffer_size", 64)
            shifted = e.binary("add", in_buffers, "%buffer_start", 64)
            in_module = e.binary("sub", address, "%module_base", 64)
            offset = e.select(is_buffer, shifted, in_module, 64)
            inside = e.logic("or", is_buffer, e.compare("ult", in_module, "%module_size", 64))
            self.check(e.logic("and", aligned, inside), shown, index)
            shadow = e.emit(f"getelementptr i8, ptr %shadow, i64 {offset}")
            ones = int.from_bytes(bytes([READABLE | (WRITABLE if write else 0)] * size), "little")
            bits = size * 8
            word = e.emit(f"load i{bits}, ptr {shadow}, align 1")
            allowed = e.compare("eq", e.binary("and", word, str(ones), bits), str(ones), bits)
            self.check(allowed, shown, index)
            return e.emit(f"getelementptr i8, ptr %arena, i64 {offset}")
        room = e.binary("sub", f"%{space}_size", str(size), 64)  # a space smaller than the access holds no address
        large = e.emit(f"icmp sge i64 {room}, 0")
        within = e.emit(f"icmp ule i64 {address}, {room}")
        self.check(e.logic("and", aligned, e.logic("and", large, within)), shown, index)
        offset = address
        if space in ("shared", "local"):
            which = "%slot" if space == "shared" else "%lane"
            start = e.binary("mul", which, f"%{space}_stride", 64)
            offset = e.binary("add", start, address, 64)
        return e.emit(f"getelementptr i8, ptr %{space}, i64 {offset}")

    def generic(self, address: str, size: int, write: bool, index: int) -> str:
        """Most addresses lie beyond all windows; for the others ask each window in turn. Each way has its own checks."""
        e = self.emitter
        join, elsewhere, near = self.label("found"), self.label("global"), self.label("near")
        ways: list[tuple[str, str]] = []
        known = dict(e._seen)
        lowest = min(self.layout.WINDOWS.values())
        span = max(self.layout.WINDOWS.values()) + self.layout.WINDOW_SIZE - lowest
        among = e.compare("ult", e.binary("sub", address, str(lowest), 64), str(span), 64)
        self.lines.append(f"  br i1 {among}, label %{near}, label %{elsewhere}")
        before = dict(e._seen)
        self.begin(near)
        for space, base in self.layout.WINDOWS.items():
            offset = e.binary("sub", address, str(base), 64)
            hit, miss = self.label("window"), self.label("outside")
            inside = e.compare("ult", offset, str(self.layout.WINDOW_SIZE), 64)
            self.lines.append(f"  br i1 {inside}, label %{hit}, label %{miss}")
            self.begin(hit)
            outer = dict(e._seen)
            pointer = self.in_space(space, offset, address, size, write, index)
            leave = self.label("leave")
            self.lines.append(f"  br label %{leave}")
            self.begin(leave)
            self.lines.append(f"  br label %{join}")
            ways.append((pointer, leave))
            e._seen.clear()
            e._seen.update(outer)
            self.begin(miss)
        self.lines.append(f"  br label %{elsewhere}")
        self.begin(elsewhere)
        e._seen.clear()
        e._seen.update(before)
        pointer = self.in_space("global", address, address, size, write, index)
        leave = self.label("leave")
        self.lines.append(f"  br label %{leave}")
        self.begin(leave)
        self.lines.append(f"  br label %{join}")
        ways.append((pointer, leave))
        self.begin(join)
        e._seen.clear()
        e._seen.update(known)
        name = f"%g{len(self.lines)}"
        self.lines.append(f"  {name} = phi ptr " + ", ".join(f"[{p}, %{b}]" for p, b in ways))
        return name

    def check(self, condition: str, address: str, index: int) -> None:
        """Go on if the condition holds, else report the fault."""
        good, bad = self.label("good"), self.label("bad")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.faults.append(
            f"{bad}:\n  store i64 {address}, ptr %fault_address_at\n"
            f"  store i64 {index}, ptr %fault_op_at\n  br label %fault"
        )
        self.begin(good)

    # the end of the block ------------------------------------------------------------------------------------------------

    def finish(self, op: Op | None) -> None:
        """Store what later blocks read and append the lane to the list of the block it goes to."""
        e = self.emitter
        index = self.block.end - 1
        effect = None if op is None else op.plan.meaning.effect
        leaves = effect is not None and effect.kind == "return" and bool(self.kernel.functions)
        if leaves:
            self.live_out |= self.program.flow.left_behind(index)
            leaves = self.kernel.functions[self.program.flow.function_of(index)].signature is not None
        for name in sorted(self.changed & self.live_out):
            type = self.kernel.registers[name]
            value = self.current[name]
            if type.kind == "pred":
                value = e.emit(f"zext i1 {value} to i8")
            self.lines.append(f"  store i{_bits(type)} {value}, ptr {self.where(name)}")
        ended = len(self.program.flow.blocks)
        next_list = str(ended if self.block.next is None else self.block.next)
        if op is None:
            self.append(next_list)
            return
        assert effect is not None
        if effect.kind == "stop":
            goes_on = "false"
            if op.guard is not None:
                predicate = self.register(op.guard[0])
                goes_on = predicate if op.guard[1] else e.logic("xor", predicate, "true")
            self.check(goes_on, "0", self.block.end - 1)
            self.append(next_list)
            return
        if effect.kind == "call" or self.block.ways:
            self.depart(op, next_list)
            return
        if leaves:
            self.put(RETURNED, str(self.program.functions[self.program.flow.function_of(index)]))
            top = e.binary("sub", self.register(DEPTH), "8", 64)
            taken = e.emit(f"load i64, ptr {self.stack_at(top)}")
        elif effect.kind in ("barrier", "gather", "image"):
            taken = str(ended + 1)
            lowering = Lowering(e, self.environment(op))
            if effect.kind == "image":
                for i, word in enumerate(requested(effect)):
                    self.lines.append(f"  store i64 {lowering.low(word, 64)}, ptr {self.word_of('request', i)}")
            is_barrier = effect.kind == "barrier"
            number = lowering.low(effect.fields["barrier"], 64) if is_barrier else "0"
            named = effect.fields.get("threads" if is_barrier else "mask")
            count = str((1 << 64) - 1) if named is None else lowering.low(named, 64)
            resume = str(ended if self.block.taken is None else self.block.taken)
            for field, value in (
                ("number", number),
                ("named", count),
                ("value", lowering.low(effect.fields["value"], 64)),
                ("waits_at", str(self.block.end - 1)),
                ("resume", resume),
            ):
                cell = e.emit(f"getelementptr i64, ptr %{field}, i64 %lane")
                self.lines.append(f"  store i64 {value}, ptr {cell}")
        else:
            taken = str(ended if self.block.taken is None else self.block.taken)
        if op.guard is not None:
            predicate = self.register(op.guard[0])
            first, second = (next_list, taken) if op.guard[1] else (taken, next_list)
            taken = e.select(predicate, first, second, 64)
        self.append(taken)

    # calls ---------------------------------------------------------------------------------------------------------------

    def stack_at(self, depth: str) -> str:
        start = self.emitter.binary("mul", "%lane", str(self.compiled.stack), 64)
        return self.emitter.emit(f"getelementptr i8, ptr %stack, i64 {self.emitter.binary('add', start, depth, 64)}")

    def local_at(self, address: str) -> str:
        start = self.emitter.binary("mul", "%lane", "%local_stride", 64)
        return self.emitter.emit(f"getelementptr i8, ptr %local, i64 {self.emitter.binary('add', start, address, 64)}")

    def word_of(self, field: str, number: int) -> str:
        """Where a word lies that the thread gives or gets."""
        place = self.emitter.binary("add", "%lane", str(number * self.compiled.capacity), 64)
        return self.emitter.emit(f"getelementptr i64, ptr %{field}, i64 {place}")

    def put(self, name: str, value: str) -> None:
        """Store a register at once."""
        type = self.kernel.registers[name]
        if type.kind == "pred":
            value = self.emitter.emit(f"zext i1 {value} to i8")
        self.lines.append(f"  store i{_bits(type)} {value}, ptr {self.where(name)}")

    def depart(self, op: Op, next_list: str) -> None:
        """Go on at another function, or at one of several labels; where the guard is false, at the next block."""
        flow, index = self.program.flow, self.block.end - 1
        names = [*flow.saved(index), FRAME, DEPTH] if op.call else []
        for name in names:
            self.register(name)
        env = self.environment(op)
        if op.guard is not None:
            inside, skip = self.label("inside"), self.label("skip")
            first, second = (skip, inside) if op.guard[1] else (inside, skip)
            self.lines.append(f"  br i1 {self.register(op.guard[0])}, label %{first}, label %{second}")
            self.begin(inside)
            known = dict(self.emitter._seen)
        lowering = Lowering(self.emitter, env)
        self.append(self.enter(op, index, lowering) if op.call else self.choose(op, index, lowering))
        if op.guard is not None:
            self.lines.append("  br label %next")
            self.begin(skip)
            self.emitter._seen.clear()
            self.emitter._seen.update(known)
            self.append(next_list)

    def choose(self, op: Op, index: int, lowering: Lowering) -> str:
        """The block that an indirect branch goes to."""
        assert op.plan.meaning.effect is not None
        chosen = lowering.low(op.plan.meaning.effect.fields["target"], 64)
        self.check(self.emitter.compare("ult", chosen, str(len(self.block.ways)), 64), chosen, index)
        return self.among(chosen, [(k, str(self.ended(way)), "0") for k, way in self.block.ways])[0]

    def ended(self, block: int | None) -> int:
        return len(self.program.flow.blocks) if block is None else block

    def among(self, value: str, ways: list[tuple[int, str, str]]) -> tuple[str, str]:
        """What stands beside `value` in a list; all ones if it is not there."""
        e = self.emitter
        first = second = str((1 << 64) - 1)
        for number, one, two in ways:
            here = e.compare("eq", value, str(number), 64)
            first, second = e.select(here, one, first, 64), e.select(here, two, second, 64)
        return first, second

    def enter(self, op: Op, index: int, lowering: Lowering) -> str:
        """Pass a call's arguments, open a frame, and give the block at which the function begins."""
        e, kernel, flow, call = self.emitter, self.kernel, self.program.flow, op.call
        assert call is not None and op.plan.meaning.effect is not None
        none = str((1 << 64) - 1)
        ways: dict[str, int] = dict(self.block.ways)  # type: ignore[arg-type]
        sizes = {name: str(frame_size(kernel.functions[name])) for name in ways}
        if call.function is None:
            address = lowering.low(op.plan.meaning.effect.fields["function"], 64)
            known = [(self.program.functions[n], str(way), sizes[n]) for n, way in ways.items()]
            begins, size = self.among(address, known)
            self.check(e.emit(f"icmp ne i64 {begins}, {none}"), address, index)
            formals = call.signature.parameters
        elif call.function not in ways:
            self.check("false", "0", index)
            return "0"
        else:
            begins, size = str(ways[call.function]), sizes[call.function]
            formals = kernel.functions[call.function].signature.parameters  # type: ignore[union-attr]
        saved = flow.saved(index)
        frame = e.binary("add", self.register(FRAME), str(frame_size(kernel.functions[flow.function_of(index)])), 64)
        used = e.binary("add", self.register(DEPTH), str(8 * (1 + len(saved))), 64)
        fits = e.emit(f"icmp ule i64 {e.binary('add', frame, size, 64)}, %local_size")
        self.check(e.logic("and", fits, e.emit(f"icmp ule i64 {used}, {self.compiled.stack}")), none, index)
        values = [self.passed(o, f) for o, f in zip(call.arguments, formals, strict=True)]
        self.keep(saved, used)
        for k, ((value, is_pointer), formal) in enumerate(zip(values, formals, strict=True)):
            if call.function is None and formal.place is None:
                self.receive_among(value, address, k, list(ways))
            else:
                self.receive(value, is_pointer, formal, frame)
        self.put(FRAME, frame)
        self.put(DEPTH, used)
        return begins

    def keep(self, saved: list[str], used: str) -> None:
        """Put registers on the stack, and over them the block that the return goes to."""
        e = self.emitter
        for k, name in enumerate(saved):
            type, value = self.kernel.registers[name], self.register(name)
            width = 1 if type.kind == "pred" else type.width
            word = value if width == 64 else e.extend(value, width, 64, False)
            cell = self.stack_at(e.binary("sub", used, str(8 * (k + 2)), 64))
            self.lines.append(f"  store i64 {word}, ptr {cell}")
        self.lines.append(f"  store i64 {self.block.taken}, ptr {self.stack_at(e.binary('sub', used, '8', 64))}")

    def passed(self, operand: Any, formal: Any) -> tuple[str, bool]:
        """(an argument's value, False), or (the pointer to the variable that holds it, True)"""
        offset = in_frame(self.program, operand)
        if offset is not None:
            return self.local_at(self.emitter.binary("add", self.register(FRAME), str(offset), 64)), True
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
        at = self.local_at(self.emitter.binary("add", frame, str(formal.place.offset), 64))
        if is_pointer:
            self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {at}, ptr {value}, i64 {formal.size}, i1 false)")
        else:
            self.lines.append(f"  store i{formal.type.width} {value}, ptr {at}")

    def come_back(self, op: Op, index: int) -> None:
        """Close the frame of the function that was called, and take its results."""
        e, kernel, flow, call = self.emitter, self.kernel, self.program.flow, op.call
        assert call is not None
        formals = returned(kernel, call)
        frame, used = self.register(FRAME), self.register(DEPTH)
        results: list[str] = []
        for k, formal in enumerate(formals):
            if formal.place is None and call.function is None:
                results.append(self.left_among(k, calls(kernel, op)))
            elif formal.place is None:
                results.append(self.register(str(formal.register)))
            else:
                results.append(self.local_at(e.binary("add", frame, str(formal.place.offset), 64)))
        saved = flow.saved(index)
        for k, name in enumerate(saved):
            type = kernel.registers[name]
            word = e.emit(f"load i64, ptr {self.stack_at(e.binary('sub', used, str(8 * (k + 2)), 64))}")
            width = 1 if type.kind == "pred" else type.width
            self.set(name, word if width == 64 else e.truncate(word, 64, width))
        own = e.binary("sub", frame, str(frame_size(kernel.functions[flow.function_of(index)])), 64)
        self.put(FRAME, own)
        self.put(DEPTH, e.binary("sub", used, str(8 * (1 + len(saved))), 64))
        for k, (operand, value, formal) in enumerate(zip(call.results, results, formals, strict=True)):
            name = operand.text  # type: ignore[union-attr]
            word = "i1" if formal.type.kind == "pred" else f"i{formal.type.width}"
            if name in kernel.registers:
                if formal.place is not None:
                    self.lines.append(f"  %result{k} = load {word}, ptr {value}")
                    value = f"%result{k}"
                self.set(name, value)
                continue
            to = self.local_at(e.binary("add", own, str(kernel.places[name].offset), 64))
            if formal.place is None:
                self.lines.append(f"  store {word} {value}, ptr {to}")
            else:
                self.lines.append(
                    f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {value}, i64 {formal.size}, i1 false)"
                )

    def append(self, which: str) -> None:
        e = self.emitter
        cell = e.emit(f"getelementptr i64, ptr %counts, i64 {which}")
        standing = f"%standing{len(self.lines)}"
        self.lines.append(
            f"  {standing} = load i64, ptr {cell}\n  {standing}x = add i64 {standing}, 1\n"
            f"  store i64 {standing}x, ptr {cell}"
        )
        start = e.binary("mul", which, str(self.compiled.capacity), 64)
        place = e.binary("add", start, standing, 64)
        slot = e.emit(f"getelementptr i32, ptr %lists, i64 {place}")
        self.lines.append(f"  store i32 %lane32, ptr {slot}")

    def function(self) -> str:
        # what the block does not use is left out here: LLVM would find that out, and take its time
        words = {"registers", "threads", *_NAME.findall("\n".join([*self.lines, *self.faults]))}
        fields = [_field(n) for n in _POINTERS if n in words] + [_field(n, "i64") for n in _NUMBERS if n in words]
        used = sorted(int(w[len("registers_") :]) for w in words if w.startswith("registers_"))
        arrays = [f"  %registers_{o} = getelementptr i8, ptr %registers, i64 {o}" for o in used]
        return "\n".join(
            [
                f"define internal i64 @block{self.number}(ptr noalias %context, ptr noalias %scratch, i64 %n) {{",
                "entry:",
                *fields,
                *arrays,
                f"  %fault_address_at = getelementptr i64, ptr %context, i64 {_FIELD['fault_address']}",
                f"  %fault_op_at = getelementptr i64, ptr %context, i64 {_FIELD['fault_op']}",
                f"  %fault_lane_at = getelementptr i64, ptr %context, i64 {_FIELD['fault_lane']}",
                "  br label %each",
                "each:",
                "  %k = phi i64 [0, %entry], [%k1, %next]",
                "  %lane_at = getelementptr i32, ptr %scratch, i64 %k",
                "  %lane32 = load i32, ptr %lane_at",
                "  %lane = zext i32 %lane32 to i64",
                "  %slot = udiv i64 %lane, %threads" if any("%slot" in line for line in self.lines) else "",
                *self.lines,
                "  br label %next",
                "next:",
                "  %k1 = add i64 %k, 1",
                "  %again = icmp ult i64 %k1, %n",
                "  br i1 %again, label %each, label %done",
                "done:",
                "  ret i64 0",
                *self.faults,
                "fault:" if self.faults else "",
                f"  store i64 %lane, ptr %fault_lane_at\n  ret i64 {_FAULT}" if self.faults else "",
                "}",
            ]
        )


class NativeRun:
    """One batch under the compiled code."""

    def __init__(self, compiled: Compiled, program: Program, memory: Memory, batch: Batch):
        self.compiled, self.program, self.memory, self.batch = compiled, program, memory, batch
        capacity, count = compiled.capacity, len(program.flow.blocks)
        self.count = count
        self.registers = np.zeros(compiled.register_bytes + 8, np.uint8)
        self.special = np.zeros(len(compiled.special_types) * 8 * capacity + 8, np.uint8)
        self.lists = np.zeros((count + 2, capacity), np.int32)
        self.counts = np.zeros(count + 2, np.int64)
        self.scratch = np.zeros(capacity, np.int32)
        self.waits = {n: np.zeros(capacity, np.int64) for n in ("number", "named", "value", "waits_at", "resume")}
        # a warp's thirty-two are read together, even where the last warp of a CTA is smaller
        self.learned = {n: np.zeros(capacity + 32, np.int64) for n in ("learned_named", "learned_value")}
        self.stack = np.zeros(capacity * compiled.stack + 8, np.uint8)
        rows = capacity if has_images(program.kernel) else 0
        self.request, self.answer = np.zeros((REQUEST, rows), np.int64), np.zeros((ANSWER, rows), np.int64)
        self.context = np.zeros(len(_CONTEXT), np.int64)
        arrays: dict[str, np.ndarray] = {
            "registers": self.registers, "special": self.special, "lists": self.lists, "counts": self.counts,
            "scratch": self.scratch, "arena": memory.arena, "shadow": memory.shadow, "const": memory.const,
            "param": memory.param, "shared": memory.shared, "local": memory.local, **self.waits,
            **self.learned, "stack": self.stack, "request": self.request, "answer": self.answer,
        }  # fmt: skip
        for name, array in arrays.items():
            self.context[_FIELD[name]] = array.ctypes.data
        numbers = {
            "buffer_base": memory.buffer_base, "buffer_size": memory.buffer_size,
            "module_base": memory.space.module_base, "module_size": memory.module_size, "buffer_start": memory.buffer_start,
            "threads": batch.extents.threads, "shared_stride": memory.strides["shared"],
            "local_stride": memory.strides["local"],
            **{f"{s}_size": memory.sizes[s] for s in ("const", "param", "shared", "local")},
        }  # fmt: skip
        for name, value in numbers.items():
            self.context[_FIELD[name]] = value
        self._pointer = self.context.ctypes.data
        self.restart(batch)

    def restart(self, batch: Batch) -> None:
        """Begin another batch of the same launch."""
        fresh = batch.lanes != self.batch.lanes or not hasattr(self, "_special")
        self.batch = batch
        self.registers[:] = 0
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
        return int(self.context[_FIELD["steps"]])

    def run(self, budget: int) -> Stopped:
        outcome = self.compiled.run(self._pointer, budget)
        if outcome == _FAULT:
            lane, op = int(self.context[_FIELD["fault_lane"]]), int(self.context[_FIELD["fault_op"]])
            at = self.program.kernel.code[op]
            if ending(at) == "stop":
                return Stopped(Fault(lane, op, None, stopped(at)), False, nobody())
            address = int(self.context[_FIELD["fault_address"]].astype(np.uint64))
            error = self._violation(lane, op, address)
            effect = self.program.kernel.code[op].plan.meaning.effect
            is_access = effect is not None and "space" in effect.fields
            return Stopped(Fault(lane, op, address if is_access else None, error), False, nobody())
        lanes = self.lists[self.count + 1, : self.counts[self.count + 1]].astype(np.int64)
        self.counts[self.count + 1] = 0
        columns = (column[lanes] for column in self.waits.values())
        return Stopped(None, outcome == _RAN_OUT, Waiting(lanes, *columns))

    def _violation(self, lane: int, op: int, address: int) -> Violation:
        """What the access broke, by the rules of the memory."""
        instruction = self.program.kernel.code[op]
        effect = instruction.plan.meaning.effect
        assert effect is not None
        if effect.kind in ("branch", "call"):
            return self._departure(instruction, op, address)
        write = effect.kind != "load"
        count = len(effect.fields["values"]) if write else effect.fields["count"]
        size = effect.fields["type"].bytes * count
        try:
            space = "local" if instruction.framed else effect.fields["space"]
            self.memory.access(space, address, size, write, lane // self.batch.extents.threads, lane)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused an access that the memory allows")

    def _departure(self, op: Op, index: int, value: int) -> Violation:
        """What a branch or a call broke, by the rules of the page of functions."""
        block = next(b for b in self.program.flow.blocks if b.finishes is None and b.end - 1 == index)
        if op.call is None:
            return Violation("branch index", f"index {value} of a list of {len(block.ways)}")
        try:
            if value != (1 << 64) - 1:
                call_target(self.program, op, block, op.call.function or value)
            check_room(self.program, 1 << 64, 0)
        except Violation as violation:
            return violation
        raise AssertionError("the native engine refused a call that is allowed")

    def resume(self, threads: Waiting) -> None:
        self.learned["learned_named"][threads.lane] = threads.named
        self.learned["learned_value"][threads.lane] = threads.value
        alike = (threads.resume == threads.resume[:1]).all()
        for block in threads.resume[:1] if alike else np.unique(threads.resume):
            lanes = threads.lane if alike else threads.lane[threads.resume == block]
            begin = self.counts[block]
            self.lists[block, begin : begin + len(lanes)] = lanes
            self.counts[block] += len(lanes)

    def ended(self) -> np.ndarray:
        return self.lists[self.count, : self.counts[self.count]].astype(np.int64)
