"""Registers of a warp: a vector each, between turns and while its threads run; and which of them are words, or have shapes."""

from __future__ import annotations

from functools import cache, partial
from typing import cast

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel
from ptxspec.machine.batch import Extents
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.flow import operand_registers, registers_written
from ptxspec.machine.flow import sources as flow_sources
from ptxspec.machine.native.context import bits_of, llvm_type
from ptxspec.machine.native.lane_functions import stored_type
from ptxspec.machine.native.layout import HOME, STEPS_HOLD, STEPS_NOTED, Layout
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.special import INDEX, SpecialValues, meaning, variables_of
from ptxspec.terms.effects import Load, Store
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.registries import changing
from ptxspec.terms.types import Type
from ptxspec.terms.vectors import STEPS, VectorEmitter, VectorShape, of_steps, written_steps

#: what the name of a register's memory begins with, where lanes have parted
FAR = "%far"
WORD, TRUTHS, NUMBERS = f"i{LANES}", f"<{LANES} x i1>", f"<{LANES} x i32>"

#: the emitter of a function of a warp
of_warp = partial(VectorEmitter, lanes=LANES)


def vector_of(element: str) -> str:
    """The LLVM type of a vector that has an element for each lane."""
    return f"<{LANES} x {element}>"


def shape_types(word: str) -> dict[str, str]:
    """The LLVM types of the parts of a shape of such words (vectors.py)."""
    return {"base": word, "steps": f"<{STEPS} x {word}>", "holds": "i1"}


def number_of(emitter: VectorEmitter, lanes: str) -> str:
    """How many lanes there are in a mask, as a word of 64 bits."""
    return emitter.emit(f"zext {WORD} {emitter.emit(f'call {WORD} @llvm.ctpop.{WORD}({WORD} {lanes})')} to i64")


class Attempt:
    """What text and registers are before something is written that may turn out not to be done in vectors."""

    def __init__(self, text: FunctionText, registers: Registers):
        self._text, self._registers = text, registers
        self._lines, self._faults, self._known = len(text.lines), len(text.faults), text.emitter.known()
        self._current, self._changed = dict(registers.current), set(registers.changed)

    def undo(self) -> None:
        """Let it be as if nothing had been written."""
        text = self._text
        del text.lines[self._lines :], text.faults[self._faults :]
        text.emitter.go_back(self._known)
        self.restore()

    def restore(self) -> None:
        """Let the registers hold what they did; what has been written stays."""
        self._registers.current, self._registers.changed = self._current, self._changed


class WarpRows:
    """Registers as they lie between turns, of the threads of a warp: from the row's place of lane 0 on."""

    def __init__(self, text: FunctionText, alike: frozenset[str]):
        self.text, self.uniform = text, alike
        self.emitter = cast(VectorEmitter, text.emitter)

    def _at(self, array: str, offset: int, unit: int) -> str:
        capacity = self.text.layout.capacity + LANES
        base, length = f"%{array}_{offset}", str(unit * capacity)
        return self.text.at(array, "%base", unit, unit * LANES, base=base, length=length)

    def load(self, name: str) -> str:
        """A register's values as they were when the threads ran last."""
        type, unit = self.text.kernel.registers[name], bits_of(self.text.kernel.registers[name]) // 8
        if name not in self.uniform:
            return self._loaded(self._at("registers", self.text.layout.offsets[name], unit), type)
        base, length = f"%registers_{self.text.layout.offsets[name]}", str(unit * self.text.layout.capacity)
        cell, value = self.text.at("registers", "%given_thread", unit, base=base, length=length), self.emitter.fresh()
        self.text.lines.append(f"  {value} = load {stored_type(type)}, ptr {cell}")
        return self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

    def _loaded(self, cell: str, type: Type) -> str:
        e, align = self.emitter, min(bits_of(type), 64) // 8
        value = e.fresh()
        self.text.lines.append(f"  {value} = load {vector_of(stored_type(type))}, ptr {cell}, align {align}")
        e.varying.add(value)
        if type.kind == "pred":
            return e.vector(f"trunc {vector_of('i8')} {value} to {TRUTHS}")
        return value

    def store(self, name: str, value: str, lanes: str | None) -> None:
        """Store what a register holds in these lanes; None: in all there may be."""
        e, type = self.emitter, self.text.kernel.registers[name]
        element, align = stored_type(type), min(bits_of(type), 64) // 8
        vector = vector_of(element)
        if type.kind == "pred":
            value = e.vector(f"zext {TRUTHS} {e.spread(value, 'i1')} to {vector_of('i8')}")
        value = e.spread(value, element)
        cell = self._at("registers", self.text.layout.offsets[name], bits_of(type) // 8)
        if lanes is not None:
            before, after = e.fresh(), e.fresh()
            self.text.lines.append(
                f"  {before} = load {vector}, ptr {cell}, align {align}\n"
                f"  {after} = select {TRUTHS} {e.truths(lanes)}, {vector} {value}, {vector} {before}"
            )
            value = after
        self.text.lines.append(f"  store {vector} {value}, ptr {cell}, align {align}")

    def special(self, name: str) -> str:
        """What a special register that does not change says: a word, if it is the same in all threads of a CTA."""
        layout = self.text.layout
        type, offset = layout.special_types[name], layout.special_offsets[name]
        unit = bits_of(type) // 8
        if INDEX in variables_of(meaning(name, layout.program.clustered)):
            value = self._loaded(self._at("special", offset, unit), type)
            if name in layout.steps_noted:
                self.emitter.shapes[value] = lambda: self._noted(name)
            return value
        base, length = f"%special_{offset}", str(unit * layout.capacity)
        cell = self.text.at("special", "%base", unit, base=base, length=length)
        value = self.emitter.emit(f"load i{bits_of(type)}, ptr {cell}, !invariant.load !9")
        return self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

    def _noted(self, name: str) -> VectorShape:
        """The shape of a special register. Where a launch begins, it is noted for all warps (beginning.py)."""
        layout, e = self.text.layout, self.emitter
        bits, noted = bits_of(layout.special_types[name]), layout.steps_noted[name]
        row, length = f"%special_{layout.special_offsets[name]}", str(bits // 8 * (layout.capacity + LANES))
        cell = self.text.at("special", "%base", bits // 8, base=row, length=length)
        base, hold = e.emit(f"load i{bits}, ptr {cell}, !invariant.load !9"), noted + STEPS_NOTED - STEPS_HOLD
        holds = e.compare("ne", e.emit(f"load i64, ptr %special_{hold}, !invariant.load !9"), "0", 64)
        known = steps_of(name, layout)
        if known is not None:
            return VectorShape(base, written_steps(known, bits), holds)
        steps = e.emit(f"load {of_steps(bits)}, ptr %special_{noted}, align 8, !invariant.load !9")
        return VectorShape(base, steps, holds)


class WarpHomes:
    """Registers while threads of a warp run: memory of the function, of which LLVM makes registers of the processor."""

    def __init__(self, text: FunctionText, rows: WarpRows, alike: frozenset[str]):
        self.text, self.rows, self.uniform = text, rows, alike
        #: registers whose shapes are kept: addresses are made of them
        self.shaped = of_addresses(text.kernel) - alike
        #: whether lanes have parted
        self.apart = False
        #: the word of the lanes that are at the block
        self.mask = "%given"
        self.emitter = cast(VectorEmitter, text.emitter)

    def at(self, name: str) -> str:
        """Where a register lies: apart, memory that stays memory."""
        return f"{FAR if self.apart else HOME}{self.text.layout.homes[name]}"

    def load(self, name: str) -> str:
        value = self.emitter.fresh()
        type = self.type_of(name)
        self.text.lines.append(f"  {value} = load {type}, ptr {self.at(name)}")
        if name in self.uniform:
            return value
        self.emitter.varying.add(value)
        if name in self.shaped and not self.apart:
            self.emitter.shapes[value] = lambda: self._shape(name)
        return value

    def _shape(self, name: str) -> VectorShape:
        """The shape that is kept beside a register."""
        home, word = self.at(name), llvm_type(self.text.kernel.registers[name])
        parts = {part: self.emitter.emit(f"load {type}, ptr {home}_{part}") for part, type in shape_types(word).items()}
        return VectorShape(**parts)

    def keep_shape(self, name: str, shape: VectorShape | None) -> None:
        """Keep the shape of a register that has been stored, or that none is known."""
        if name not in self.shaped or self.apart:
            return
        home, types = self.at(name), shape_types(llvm_type(self.text.kernel.registers[name]))
        for part, value in {"holds": "false"}.items() if shape is None else shape._asdict().items():
            self.text.lines.append(f"  store {types[part]} {value}, ptr {home}_{part}")

    def type_of(self, name: str) -> str:
        """The LLVM type of what a home holds: a word, if it is the same in all lanes."""
        element = llvm_type(self.text.kernel.registers[name])
        return element if name in self.uniform else vector_of(element)

    def store(self, name: str, value: str) -> None:
        e, element = self.emitter, llvm_type(self.text.kernel.registers[name])
        if name not in self.uniform:
            value = e.spread(value, element)
        elif value in e.varying:  # it was computed lane by lane
            first = e.emit(f"call i32 @llvm.cttz.i32(i32 {self.mask}, i1 true)")
            value = e.emit(f"extractelement {vector_of(element)} {value}, i32 {first}")
        self.text.lines.append(f"  store {self.type_of(name)} {value}, ptr {self.at(name)}")

    def keep(self, name: str, value: str) -> None:
        raise AssertionError("what a warp executes together keeps no registers for a function")

    def special(self, name: str) -> str:
        text, e, register = self.text, self.emitter, changing(name)
        if register is None:
            return self.rows.special(name)
        turn = e.fresh()
        text.lines.append(f"  {turn} = load i64, ptr %taken")
        elapsed = e.binary(
            "add", e.binary("add", "%before", turn, 64), str(text.flow.steps(text.block.start, text.index)), 64
        )
        now: str = Lowering(e, {"%elapsed": elapsed}).low(register.meaning(), register.type.width)
        return now


def steps_of(name: str, layout: Layout) -> tuple[int, ...] | None:
    """The steps of a special register (vectors.py), if they are taken for granted where none asks for a second dimension."""
    return _steps_in_line(name, layout.program.clustered) if layout.has_one_dimension else None


@cache
def _steps_in_line(name: str, clustered: bool) -> tuple[int, ...]:
    """The steps of a special register in CTAs of one dimension."""
    values = SpecialValues([name], clustered, Extents((1, 1, 1), (contracts.limits.MOST_THREADS, 1, 1)))
    return tuple(values.read(name, 1 << bit, 0) - values.read(name, 0, 0) for bit in range(LANES.bit_length() - 1))


def of_addresses(kernel: Kernel) -> frozenset[str]:
    """The registers of 32 and 64 bits of which addresses of loads and stores are made."""
    sources: dict[str, set[str]] = {}
    todo: list[str] = []
    for op in kernel.code:
        effect = op.plan.meaning.effect
        if effect is None:
            for name in registers_written(op):
                sources.setdefault(name, set()).update(operand_registers(op, kernel))
        elif isinstance(effect, Load | Store):
            todo += [
                o.base.text
                for _, o in flow_sources(op)
                if isinstance(o, tree.Address) and isinstance(o.base, tree.Name)
            ]
    addressing: set[str] = set()
    while todo:
        name = todo.pop()
        if name in kernel.registers and name not in addressing and kernel.registers[name].width in (32, 64):
            addressing.add(name)
            todo += sources.get(name, ())
    return frozenset(addressing)
