"""The text of a basic block's function: registers, operands and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.call_graph import BEGINS, DEPTH, ENDS, FRAME, RETURNED
from ptxspec.machine.engine import constant_of, in_frame, in_part
from ptxspec.machine.flow import Block, destinations, successors, values_of
from ptxspec.machine.native.context import NUMBERS, OWN, POINTERS, bits_of, field_text
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.machine import changing
from ptxspec.terms.native import Emitter
from ptxspec.terms.types import Type

if TYPE_CHECKING:
    from ptxspec.machine.native.engine import Compiled
    from ptxspec.machine.native.outlined import Outlined

#: what a thread keeps of its calls and of its stack: always where its function, and the host, find it
IN_ROWS = frozenset({FRAME, DEPTH, RETURNED, BEGINS, ENDS})
#: what a turn's code gives where the engine's own data are wrong
WRONG = -3
_NAME = re.compile(r"%(\w+)")


def word_of(type: Type) -> str:
    """The LLVM type of a register's value."""
    return "i1" if type.kind == "pred" else f"i{type.width}"


class Writing:
    """Lines of LLVM for one basic block, and what the registers hold at each."""

    def __init__(self, compiled: Compiled, needs: set[str]):
        #: the functions that blocks call, where the kernel is so large that they do
        self.outlined: Outlined | None = None
        self.compiled = compiled
        self.program = compiled.program
        self.kernel = self.program.kernel
        self.live = compiled.live
        self.needs = needs
        self.lines: list[str] = []
        self.emitter = Emitter(self.lines, needs, self.program.profile.term)
        self.labels = 0
        self.faults: list[str] = []
        #: how many bytes each pointer was formed for whose elements are reached one by one
        self.held: dict[str, int] = {}
        page = contracts.functions()
        self.next_frame = page.next_frame(variable("%stack_end", 64))
        self.layout = contracts.generic_addressing()
        self.number, self.block, self.index = -1, Block(0, 0, None, None), 0
        self.current: dict[str, str] = {}
        self.changed: set[str] = set()
        self.live_out: set[str] = set()

    def enter_block(self, number: int) -> None:
        """Go on with a block: what registers hold is read anew."""
        self.number, self.block = number, self.program.flow.blocks[number]
        self.index = self.block.start
        self.current, self.changed = {}, set()
        self.live_out = set().union(*[self.live[s] for s in successors(self.block)])
        self.emitter.forget()

    @property
    def op(self) -> int:
        """The index of the instruction that is being written."""
        return self.index if self.block.finishes is None else self.block.finishes

    def fields(self, always: set[str]) -> list[str]:
        """Lines that load from the context what the others read. What they do not read is left out here: LLVM would find that
        out, and take its time."""
        words = self._words = {"record"} | always | set(_NAME.findall("\n".join([*self.lines, *self.faults])))
        if any(w.startswith("special_") for w in words):
            words.add("special")
        if any(w.startswith("registers_") for w in words):
            words.add("registers")
        if words & {"slot", "rank", "part"}:
            words |= {"slot_of", "slot_of_bytes"}
        if self.program.clustered:
            words.add("cluster")
        fields = [field_text(n) for n in POINTERS if n in words] + [field_text(n, "i64") for n in NUMBERS if n in words]
        used = sorted(int(w[len("registers_") :]) for w in words if w.startswith("registers_"))
        arrays = [f"  %registers_{o} = {hosts.within('%registers', self.compiled.register_bytes, o, 1)}" for o in used]
        used = sorted(int(w[len("special_") :]) for w in words if w.startswith("special_") and w != "special_bytes")
        arrays += [f"  %special_{o} = {hosts.within('%special', self.compiled.special_bytes, o, 1)}" for o in used]
        return [*fields, *arrays]

    def places(self) -> list[str]:
        """Lines that find the place of the lane's CTA, as far as the others read it; after `fields`."""
        words = self._words
        cell = hosts.pointer(self.compiled.checked, "slot_of", "%slot_of", "%lane", 8, 8, "%slot_of_bytes")
        return [
            f"  %slot_at = {cell}" if words & {"slot", "rank", "part"} else "",
            "  %slot = load i64, ptr %slot_at, !invariant.load !9" if words & {"slot", "rank", "part"} else "",
            "  %rank = urem i64 %slot, %cluster" if words & {"rank", "part"} else "",
            f"  %part = mul i64 %rank, {self.layout.PART}" if "part" in words else "",
        ]

    def label(self, stem: str) -> str:
        self.labels += 1
        return f"{stem}{self.labels}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def register(self, name: str) -> str:
        """A register's value now: a word of its width, or an i1."""
        if name not in self.current:
            self.current[name] = self.load_register(name)
        return self.current[name]

    def at(
        self, array: str, index: str, unit: int, size: int | str | None = None, *, base: str = "", length: str = ""
    ) -> str:
        """The pointer to `size` bytes of one of the host's arrays (one unit, if that is not said), `index` units of so many bytes
        from its beginning. `base` and `length` are those of a part of the array."""
        wanted = unit if size is None else size
        text = hosts.pointer(
            self.compiled.checked, array, base or f"%{array}", index, unit, wanted, length or f"%{array}_bytes", self.op
        )
        found = self.emitter.emit(text)
        if isinstance(wanted, int):
            self.held[found] = max(wanted, self.held.get(found, 0))
        return found

    def element_of(self, pointer: str, index: int, unit: int) -> str:
        """The pointer to an element of what a pointer was formed for."""
        return hosts.within(pointer, self.held[pointer], index, unit)

    def fill(self, pointer: str, byte: int, size: str) -> None:
        """Set so many bytes, for which the pointer was formed."""
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 {byte}, i64 {self.span(size)}, i1 false)")

    def copy(self, to: str, pointer: str, size: int) -> None:
        """Copy so many bytes, for which both pointers were formed."""
        self.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {pointer}, i64 {self.span(str(size))}, i1 false)"
        )

    def span(self, size: str) -> str:
        if not self.compiled.checked:
            return size
        name = f"%span{len(self.lines)}"
        self.lines.append(f"  {name} = {hosts.span(size)}")
        return name

    def where(self, name: str) -> str:
        unit = bits_of(self.kernel.registers[name]) // 8
        base = f"%registers_{self.compiled.offsets[name]}"
        return self.at("registers", "%lane", unit, base=base, length=str(unit * self.compiled.capacity))

    def home(self, name: str) -> str:
        """Where a register lies while its thread runs; LLVM makes a register of it."""
        return f"%home{self.compiled.homes[name]}"

    def load_register(self, name: str) -> str:
        if name in IN_ROWS:
            return self.load_from_row(name)
        if self.block.finishes is not None and name not in self.live[self.number]:
            return self.load_from_row(name)  # what a function left behind
        type = self.kernel.registers[name]
        self.labels += 1
        value = f"%read{self.labels}"
        self.lines.append(f"  {value} = load {word_of(type)}, ptr {self.home(name)}")
        return value

    def load_from_row(self, name: str) -> str:
        """A register's value as it was when its thread ran last."""
        type = self.kernel.registers[name]
        self.labels += 1
        value = f"%row{self.labels}"
        self.lines.append(
            f"  {value} = load i{bits_of(type)}, ptr {self.where(name)}, align {min(bits_of(type), 64) // 8}"
        )
        return self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

    def store_in_row(self, name: str, value: str) -> None:
        type = self.kernel.registers[name]
        if type.kind == "pred":
            value = self.emitter.emit(f"zext i1 {value} to i8")
        self.lines.append(
            f"  store i{bits_of(type)} {value}, ptr {self.where(name)}, align {min(bits_of(type), 64) // 8}"
        )

    def read_special(self, name: str) -> str:
        register = changing(name)
        if register is not None:
            self.labels += 1
            turn = f"%turn{self.labels}"
            self.lines.append(f"  {turn} = load i64, ptr %turn")
            so_far = self.emitter.binary("add", "%before", turn, 64)
            elapsed = self.emitter.binary("add", so_far, str(self.index - self.block.start), 64)
            return Lowering(self.emitter, {"%elapsed": elapsed}).low(register.meaning(), register.type.width)
        type = self.compiled.special_types[name]
        base, unit = f"%special_{self.compiled.special_offsets[name]}", bits_of(type) // 8
        cell = self.at("special", "%lane", unit, base=base, length=str(unit * self.compiled.capacity))
        value = self.emitter.emit(f"load i{bits_of(type)}, ptr {cell}, !invariant.load !9")
        return self.emitter.emit(f"trunc i8 {value} to i1") if type.kind == "pred" else value

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
        offset = in_part(self.program, operand)
        if offset is not None:
            moved = self.emitter.binary("add", "%part", str(offset & (1 << 64) - 1), 64)
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
        page = contracts.variables()
        begin, which = variable("%start", 64), variable("%index", 32)
        term = page.element_address(begin, which, operand.scale, operand.offset, operand.bits)
        return Lowering(self.emitter, {"%start": start, "%index": index}).low(term, width)

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

    def put(self, name: str, value: str) -> None:
        """Store a register at once, for another function, or for what complains of a later instruction."""
        self.store_in_row(name, value)
        if name not in IN_ROWS:
            self.lines.append(f"  store {word_of(self.kernel.registers[name])} {value}, ptr {self.home(name)}")
        self.current[name] = value

    def asked_at(self, field: str, number: int) -> str:
        """Where a word lies that the thread gives or gets."""
        place = self.emitter.binary("add", "%lane", str(number * self.compiled.capacity), 64)
        return self.at(field, place, 8)

    def local_at(self, address: str, size: int | str) -> str:
        start = self.emitter.binary("mul", "%lane", "%local_stride", 64)
        return self.at("local", self.emitter.binary("add", start, address, 64), 1, size)

    def check(self, condition: str, address: str, index: int, why: int = OWN) -> None:
        """Go on if the condition holds, else report the fault: the address, or another number that it is about, and which check
        of the instruction failed."""
        good, bad = self.label("good"), self.label("bad")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.faults.append(
            f"{bad}:\n  store i64 {address}, ptr %failed_address_at\n"
            f"  store i64 {index}, ptr %failed_op_at\n  store i64 {why}, ptr %failed_why_at\n  br label %fault"
        )
        self.begin(good)

    def trust(self, what: str, value: str, condition: str) -> None:
        """Go on if what compiled code took from its own data is as it must be, else end the launch: that is a mistake of ours."""
        good, bad = self.label("good"), self.label("broken")
        self.lines.append(f"  br i1 {condition}, label %{good}, label %{bad}, !prof !0")
        self.faults.append(f"{bad}:\n{hosts.note(what, value, self.op)}\n  ret i64 {WRONG}")
        self.begin(good)

    def trust_at_most(self, what: str, value: str, most: int | str) -> None:
        self.trust(what, value, self.emitter.compare("ule", value, str(most), 64))
