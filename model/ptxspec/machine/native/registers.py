"""What registers hold while a thread's instructions are written."""

from __future__ import annotations

from typing import Protocol

from ptxspec.language.checked import Op
from ptxspec.machine.call_graph import BEGINS, DEPTH, ENDS, FRAME, RETURNED
from ptxspec.machine.native.context import bits_of, llvm_type
from ptxspec.machine.native.layout import HOME
from ptxspec.machine.native.text import FunctionText
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.registries import changing

#: what a thread keeps of its calls and of its stack: always where its function, and the host, find it
IN_ROWS = frozenset({FRAME, DEPTH, RETURNED, BEGINS, ENDS})


class RegisterSource(Protocol):
    """From where a block takes what a register holds when it begins."""

    def load(self, name: str) -> str:
        """The value of a register: a word of its width, or an i1."""

    def special(self, name: str) -> str:
        """The value of a special register, likewise."""

    def keep(self, name: str, value: str) -> None:
        """Store a register at once, for another function, or for what complains of a later instruction."""


class Rows:
    """Registers as they lie between turns: an array each, an element a thread."""

    def __init__(self, text: FunctionText):
        self.text = text

    def at(self, name: str) -> str:
        """The pointer to the thread's place in a register's row."""
        layout = self.text.layout
        unit = bits_of(self.text.kernel.registers[name]) // 8
        base = f"%registers_{layout.offsets[name]}"
        return self.text.at("registers", "%thread", unit, base=base, length=str(unit * layout.capacity))

    def load(self, name: str) -> str:
        """A register's value as it was when its thread ran last."""
        text, type = self.text, self.text.kernel.registers[name]
        value = f"%{text.label('row')}"
        cell, align = self.at(name), min(bits_of(type), 64) // 8
        text.lines.append(f"  {value} = load i{bits_of(type)}, ptr {cell}, align {align}")
        return text.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

    def store(self, name: str, value: str) -> None:
        text, type = self.text, self.text.kernel.registers[name]
        if type.kind == "pred":
            value = text.emitter.emit(f"zext i1 {value} to i8")
        cell, align = self.at(name), min(bits_of(type), 64) // 8
        text.lines.append(f"  store i{bits_of(type)} {value}, ptr {cell}, align {align}")

    def special_at(self, name: str) -> str:
        """The pointer to the thread's place in the row of a special register."""
        layout = self.text.layout
        base, unit = f"%special_{layout.special_offsets[name]}", bits_of(layout.special_types[name]) // 8
        return self.text.at("special", "%thread", unit, base=base, length=str(unit * layout.capacity))


class Homes:
    """Registers while their thread runs: memory of the function, of which LLVM makes registers of the processor."""

    def __init__(self, text: FunctionText, rows: Rows):
        self.text, self.rows = text, rows

    def at(self, name: str) -> str:
        """Where a register lies."""
        return f"{HOME}{self.text.layout.homes[name]}"

    def load(self, name: str) -> str:
        text = self.text
        if name in IN_ROWS:
            return self.rows.load(name)
        if text.block.finishes is not None and name not in text.layout.live[text.number]:
            return self.rows.load(name)  # what a function left behind
        value = f"%{text.label('read')}"
        text.lines.append(f"  {value} = load {llvm_type(text.kernel.registers[name])}, ptr {self.at(name)}")
        return value

    def store(self, name: str, value: str) -> None:
        self.text.lines.append(f"  store {llvm_type(self.text.kernel.registers[name])} {value}, ptr {self.at(name)}")

    def keep(self, name: str, value: str) -> None:
        self.rows.store(name, value)
        if name not in IN_ROWS:
            self.store(name, value)

    def special(self, name: str) -> str:
        text, emitter = self.text, self.text.emitter
        register = changing(name)
        if register is not None:
            turn = f"%{text.label('turn')}"
            text.lines.append(f"  {turn} = load i64, ptr %turn")
            so_far = emitter.binary("add", "%before", turn, 64)
            elapsed = emitter.binary("add", so_far, str(text.flow.steps(text.block.start, text.index)), 64)
            now: str = Lowering(emitter, {"%elapsed": elapsed}).low(register.meaning(), register.type.width)
            return now
        type = text.layout.special_types[name]
        value = emitter.emit(f"load i{bits_of(type)}, ptr {self.rows.special_at(name)}, !invariant.load !9")
        return emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value


class Registers:
    """What the registers hold at an instruction. Each is taken from the source once a block."""

    def __init__(self, text: FunctionText, source: RegisterSource):
        self.text, self.source = text, source
        self.current: dict[str, str] = {}
        self.changed: set[str] = set()

    def forget(self) -> None:
        """Begin a block, or what is between them: what registers hold is read anew."""
        self.current, self.changed = {}, set()

    def read(self, name: str) -> str:
        """A register's value now: a word of its width, or an i1."""
        if name not in self.current:
            self.current[name] = self.source.load(name)
        return self.current[name]

    def set(self, name: str, value: str) -> None:
        """Let a register hold a value from now on."""
        self.current[name] = value
        self.changed.add(name)

    def put(self, name: str, value: str) -> None:
        """Let a register hold a value from now on, and store it at once."""
        self.source.keep(name, value)
        self.current[name] = value

    def merged(self, op: Op, name: str, value: str) -> str:
        """The value where the instruction's guard holds, else what the register had."""
        assert op.guard is not None
        predicate, negated = self.read(op.guard[0]), op.guard[1]
        old = self.read(name)
        first, second = (old, value) if negated else (value, old)
        return self.text.emitter.select(predicate, first, second, self.text.kernel.registers[name].width)
