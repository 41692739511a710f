"""Instructions in the midst of a block: what they compute, and what they do to memory."""

from __future__ import annotations

from typing import assert_never

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.events import EventKind
from ptxspec.machine.flow import destinations, values_of
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.context import DEMAND, SOURCE, llvm_type
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.operations import Operations
from ptxspec.machine.native.outlined import OutlinedFunctions, results_type
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.stack import Stack
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.program import shown_registers
from ptxspec.terms.core import variable
from ptxspec.terms.effects import (
    Access,
    Advance,
    Arrive,
    Await,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Examine,
    Exit,
    Fence,
    Follow,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initialize,
    Initiate,
    Load,
    Release,
    Report,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
)
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type

#: the function that says whether all bits of a range are initialized
INITIALIZED = """define internal i1 @ptxspec_initialized(ptr %begin, i64 %size) {
entry:
  br label %look
look:
  %at = phi i64 [0, %entry], [%following, %more]
  %inside = icmp ult i64 %at, %size
  br i1 %inside, label %more, label %whole
more:
  %cell = getelementptr i8, ptr %begin, i64 %at
  %bits = load i8, ptr %cell
  %following = add i64 %at, 1
  %all = icmp eq i8 %bits, -1
  br i1 %all, label %look, label %partly
whole:
  ret i1 true
partly:
  ret i1 false
}"""


class ComputationEmitter:
    """Instructions that only compute, or order accesses."""

    def __init__(
        self,
        text: FunctionText,
        registers: Registers,
        operands: OperandEmitter,
        outlined: OutlinedFunctions | None = None,
    ):
        self.text, self.registers, self.operands, self.outlined = text, registers, operands, outlined

    def write(self, op: Op) -> None:
        """Let the registers of an instruction have what it computes, if its guard holds."""
        env = self.operands.environment(op)
        values = self._computed(op, env, Lowering(self.text.emitter, env))
        if op.guard is not None:  # all of them before any is set: the guard may be among them
            values = [(name, self.registers.merged(op, name, value)) for name, value in values]
        for name, value in values:
            self.registers.set(name, value)

    def _computed(self, op: Op, env: dict[str, str], lowering: Lowering) -> list[tuple[str, str]]:
        """What an instruction gives its registers, here or by a function that others of its kind call too."""
        name = self.outlined.results(op) if self.outlined is not None else None
        if name is None:
            return self.operands.results(op, lowering)
        emitter = self.text.emitter
        given = [f"i{v.attrs[1]} {env[v.attrs[0]]}" for _, v, _ in values_of(op)]
        all_of_it = emitter.emit(f"call {results_type(op)} {name}({', '.join(given)})")
        values = []
        for i, (register, type, _) in enumerate(destinations(op)):
            value = emitter.emit(f"extractvalue {results_type(op)} {all_of_it}, {i}")
            width = self.text.kernel.registers[register].width
            if type.kind != "pred" and width != type.width:
                whole = contracts.type_checking.widened(variable("%result", type.width), type, width)
                value = Lowering(emitter, {"%result": value}).low(whole, width)
            values.append((register, value))
        return values


class EffectEmitter:
    """Instructions that touch memory, or the stack."""

    def __init__(
        self, text: FunctionText, registers: Registers, operands: OperandEmitter, accesses: Accesses, stack: Stack
    ):
        self.text, self.registers, self.operands = text, registers, operands
        self.accesses, self.stack = accesses, stack
        used = text.program.asynchronous
        self.operations = None if used is None else Operations(text, accesses, used)

    def write(self, op: Op, effect: Effect, index: int) -> None:
        """Do what an instruction does, if its guard holds, and let its registers have what they get by that."""
        env, kernel = self.operands.environment(op), self.text.kernel
        shown = shown_registers(op, kernel)
        self.text.shown = [(self.registers.read(name), kernel.registers[name].width) for name in shown]
        self._write(op, effect, env, index)
        self.text.shown = []

    def _write(self, op: Op, effect: Effect, env: dict[str, str], index: int) -> None:
        text, emitter = self.text, self.text.emitter
        if op.guard is None:
            for name, value in self.acted(op, effect, env, index):
                self.registers.set(name, value)
            return
        before = dict(self.registers.current)
        inside, skip, join = text.label("inside"), text.label("skip"), text.label("join")
        predicate = self.registers.read(op.guard[0])
        first, second = (skip, inside) if op.guard[1] else (inside, skip)
        text.lines.append(f"  br i1 {predicate}, label %{first}, label %{second}")
        text.begin(inside)
        known = emitter.known()
        values = self.acted(op, effect, env, index)
        arrived = text.label("arrived")
        text.lines.append(f"  br label %{arrived}")
        text.begin(arrived)
        text.lines.append(f"  br label %{join}")
        text.begin(skip)
        text.lines.append(f"  br label %{join}")
        text.begin(join)
        emitter.go_back(known)
        for name, value in values:
            merged = f"%m{index}_{len(text.lines)}"
            kind = llvm_type(text.kernel.registers[name])
            text.lines.append(f"  {merged} = phi {kind} [{value}, %{arrived}], [{before[name]}, %{skip}]")
            self.registers.set(name, merged)

    def acted(self, op: Op, effect: Effect, env: dict[str, str], index: int) -> list[tuple[str, str]]:
        """Emit what an instruction does; what registers get by that."""
        lowering = Lowering(self.text.emitter, env)
        match effect:
            case StackEnd() | Reserve() | Release():
                return self.stack.move(op, effect, env, index)
            case Check():
                address = "0" if effect.address is None else lowering.low(effect.address, 64)
                self.accesses.check(lowering.truth(effect.holds), address, index, DEMAND)
                return []
            case Report():
                address = "0" if effect.address is None else lowering.low(effect.address, 64)
                self.text.event(EventKind.REPORT, location=address, size=str(effect.size))
                return []
            case Examine():
                self._examine(effect, lowering, index)
                return []
            case Initialize():
                self._initialize(effect, lowering, index)
                return []
            case Initiate():
                assert self.operations is not None
                self.operations.initiate(op, effect, env, index)
                return []
            case Follow():
                assert self.operations is not None
                self.operations.follow(effect, env, index)
                return []
            case Advance():
                assert self.operations is not None
                self.operations.advance(effect, env)
                return []
            case Update() if self.text.layout.spread and effect.space not in contracts.state_spaces.in_parts():
                # what has a part for each CTA is touched by one thread of the host alone: a cluster's CTAs are in one batch
                self._update_alone(effect, self.accesses.access(op, lowering, index), env, index)
                return self.operands.results(op, Lowering(self.text.emitter, env))
            case Load() | Update():
                pointer = self.accesses.access(op, lowering, index)
                self._load(effect, pointer, env, index)
                lowering = Lowering(self.text.emitter, env)
                self._keeps(effect, lowering, index)
                for i, value in enumerate(effect.values if isinstance(effect, Update) else ()):
                    word = lowering.low(value, effect.type.width)
                    self.text.lines.append(_store(word, effect.type, i, index))
                    self._tell(EventKind.WRITE, effect, i, index, word)
                if isinstance(effect, Update) and effect.life is not None:
                    assert self.operations is not None
                    self.operations.change_object(effect.life, pointer, index, lowering.low(effect.address, 64))
                return self.operands.results(op, lowering)
            case Store():
                type, pointer = effect.type, self.accesses.access(op, lowering, index)
                for i, value in enumerate(effect.values):
                    word = lowering.low(value, type.width)
                    element = self.text.element_of(pointer, i, type.bytes)
                    self.text.lines.append(f"  %e{index}_{i} = {element}\n{_store(word, type, i, index)}")
                    self._tell(EventKind.WRITE, effect, i, index, word)
                return []
            case Fence() | GridDependency():
                raise AssertionError("what only orders accesses is written as what only computes")
            case Branch() | IndexedBranch() | Call() | Return() | Exit() | Stop():
                raise AssertionError("what ends a block stands in its midst")
            case Collective() | Arrive() | Wait() | ClusterArrive() | ClusterWait() | ImageAccess() | Await():
                raise AssertionError("what ends a block stands in its midst")
            case _:
                assert_never(effect)

    def _examine(self, effect: Examine, lowering: Lowering, index: int) -> None:
        """Note that a check has found something, if not all bits of a range are initialized."""
        address, size, to = (lowering.low(t, 64) for t in (effect.address, effect.size, effect.to))
        pointer = self.accesses.ranged(effect.space, address, 1, size, False, index, shadow=True)
        self.text.emitter.needs.add(INITIALIZED)
        name = f"%initialized{len(self.text.lines)}"
        self.text.lines.append(
            f"  {name} = call i1 @ptxspec_initialized(ptr {pointer}, i64 {self.text.span(size)})\n"
            f"  {name}not = xor i1 {name}, true"
        )
        self.text.event(EventKind.REPORT, f"{name}not", location=to, size=size)

    def _initialize(self, effect: Initialize, lowering: Lowering, index: int) -> None:
        """Change which bits of a range are initialized."""
        text, ranged = self.text, self.accesses.ranged
        to, size = lowering.low(effect.address, 64), lowering.low(effect.size, 64)
        pointer = ranged(effect.space, to, 1, size, True, index, shadow=True)
        text.fill(pointer, 0xFF if effect.initialized else 0, size)
        if effect.source is not None and effect.read is not None:
            source, read = lowering.low(effect.source, 64), lowering.low(effect.read, 64)
            text.copy(pointer, ranged(effect.of, source, 1, read, False, index, SOURCE, shadow=True), read)

    def _keeps(self, effect: Load | Update, lowering: Lowering, index: int) -> None:
        """Check what must hold of what an update has read."""
        for k, condition in enumerate(effect.conditions if isinstance(effect, Update) else ()):
            address = lowering.low(effect.address, 64)
            self.accesses.check(lowering.truth(condition), address, index, DEMAND + 256 * k)

    def _load(self, effect: Load | Update, pointer: str, env: dict[str, str], index: int) -> None:
        type = effect.type
        for i in range(effect.count):
            self.text.lines.append(
                f"  %e{index}_{i} = {self.text.element_of(pointer, i, type.bytes)}\n"
                f"  %l{index}_{i} = load i{type.width}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
            )
            env[f"%loaded{i}"] = f"%l{index}_{i}"
            self._tell(EventKind.READ, effect, i, index, f"%l{index}_{i}")

    def _tell(self, kind: EventKind, effect: Access, i: int, index: int, word: str) -> None:
        """Note that the i-th value of an instruction is read or written, if that is observed."""
        observed, type = self.text.flow.observed, effect.type
        if kind not in observed.kinds or not observed.tells_of(effect.space) or index in self.text.kernel.added:
            return
        e = self.text.emitter
        low, high = word, "0"
        if type.width > 64:
            low, high = e.truncate(word, type.width, 64), e.binary("lshr", word, "64", type.width)
            high = e.truncate(high, type.width, 64)
        elif type.width < 64:
            low = e.extend(word, type.width, 64, False)
        location = f"%t{index}_{i}_{len(self.text.lines)}"
        self.text.lines.append(f"  {location} = ptrtoint ptr %e{index}_{i} to i64")
        if high == "0":
            self.text.access_event(kind, location, type.bytes, low)
        else:
            self.text.event(kind, location=location, size=str(type.bytes), value=low, high=high)

    def _update_alone(self, effect: Update, pointer: str, env: dict[str, str], index: int) -> None:
        """Read, compute and write with nobody in between, while other threads of the host run threads too."""
        text, emitter = self.text, self.text.emitter
        word, align, stem = f"i{effect.type.width}", effect.type.bytes, f"u{index}"
        cell = text.element_of(pointer, 0, effect.type.bytes)
        before = text.label("before")
        text.lines.append(
            f"  %{stem}cell = {cell}\n  %{stem}first = load atomic {word}, ptr %{stem}cell monotonic, align {align}\n"
            f"  br label %{before}\n{before}:\n  br label %{stem}try\n{stem}try:\n"
            f"  %{stem}old = phi {word} [%{stem}first, %{before}], [%{stem}seen, %{stem}try]"
        )
        env["%loaded0"] = f"%{stem}old"
        known = emitter.known()
        new = Lowering(emitter, env).low(effect.values[0], effect.type.width)
        text.lines.append(
            f"  %{stem}pair = cmpxchg ptr %{stem}cell, {word} %{stem}old, {word} {new} seq_cst seq_cst, align {align}\n"
            f"  %{stem}seen = extractvalue {{{word}, i1}} %{stem}pair, 0\n"
            f"  %{stem}done = extractvalue {{{word}, i1}} %{stem}pair, 1\n"
            f"  br i1 %{stem}done, label %{stem}on, label %{stem}try\n{stem}on:"
        )
        emitter.go_back(known)


def _store(word: str, type: Type, i: int, index: int) -> str:
    """Text that stores the i-th value of an instruction."""
    return f"  store i{type.width} {word}, ptr %e{index}_{i}, align {min(type.bytes, 8)}"
