"""Functions of one lane of a warp: what an instruction does that is not done in vectors."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec.language import tree
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.flow import ending, registers_read, registers_written, values_of
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.blocks import ResultEmitter
from ptxspec.machine.native.context import field_at, llvm_type
from ptxspec.machine.native.endings import WaitEmitter
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.instructions import EffectEmitter
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.stack import Stack
from ptxspec.machine.native.text import FAILED, FunctionText
from ptxspec.machine.program import shown_registers
from ptxspec.terms.effects import Fencing, Pause
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type


class LaneFunction(NamedTuple):
    """A function `(context, base, lanes, registers…, special registers…, results…)` for some lanes of the warp whose first thread
    is `base`. It gives 0, or why the launch ends. Each of the rest is a pointer to what all lanes have, an element a lane."""

    name: str
    registers: tuple[str, ...]
    special: tuple[str, ...]
    results: tuple[str, ...]


class ParameterSource:
    """Registers as parameters of a function."""

    def __init__(self, text: FunctionText):
        self.text = text

    def load(self, name: str) -> str:
        return f"%r{self.text.layout.homes[name]}"

    def special(self, name: str) -> str:
        return f"%s{sorted(self.text.layout.special_types).index(name)}"

    def keep(self, name: str, value: str) -> None:
        raise AssertionError("a function of a lane keeps no registers")


class LaneFunctions:
    """The functions of one kernel, made when they are asked for first."""

    def __init__(self, layout: Layout, needs: set[str]):
        self.layout, self.needs = layout, needs
        self.texts: list[str] = []
        self._made: dict[tuple[int, bool], LaneFunction] = {}

    def of(self, index: int, finishes: bool = False) -> LaneFunction:
        """The function of the instruction of this index; or if it `finishes`, of what a lane gets that has waited there."""
        if (index, finishes) not in self._made:
            self._made[index, finishes] = self._function(index, finishes)
        return self._made[index, finishes]

    def _function(self, index: int, finishes: bool) -> LaneFunction:
        layout = self.layout
        text = FunctionText(layout, self.needs)
        text.index = index
        kernel, op = text.kernel, text.kernel.code[index]
        registers = Registers(text, ParameterSource(text))
        operands = OperandEmitter(text, registers)
        shown = shown_registers(op, kernel)
        read = tuple(sorted(registers_read(op, kernel) | set(shown)))
        names = {o.text for _, _, o in values_of(op) if isinstance(o, tree.Name)}
        special = tuple(sorted(names & layout.special_types.keys()))
        effect = op.plan.meaning.effect
        text.shown = [(registers.read(name), kernel.registers[name].width) for name in shown]
        if finishes:
            text.emitter.seldom = True  # lanes that come together do not wait
            results = ResultEmitter(text, registers, operands, None).values(index)
        elif isinstance(effect, Pause):
            WaitEmitter(text, operands, None).give(op, effect)
            results = []
        elif effect is None or isinstance(effect, Fencing):
            results = operands.results(op, Lowering(text.emitter, operands.environment(op)))
        else:
            assert ending(op) is None
            accesses = Accesses(text, text.check)
            acting = EffectEmitter(text, registers, operands, accesses, Stack(text, registers, operands))
            results = acting.acted(op, effect, operands.environment(op), index)
        for name, value in results:
            stored = text.emitter.emit(f"zext i1 {value} to i8") if kernel.registers[name].kind == "pred" else value
            text.lines.append(f"  store {stored_type(kernel.registers[name])} {stored}, ptr %o{layout.homes[name]}")
        written = tuple(dict.fromkeys(name for name, _ in results))  # of equal destinations the last element counts
        assert set(written) <= set(registers_written(op))
        function = LaneFunction(f"@lane{index}{'_finishes' if finishes else ''}", read, special, written)
        self._write(function, text)
        return function

    def _write(self, function: LaneFunction, text: FunctionText) -> None:
        layout, special = self.layout, sorted(self.layout.special_types)
        types = {f"r{layout.homes[n]}": text.kernel.registers[n] for n in function.registers}
        types |= {f"s{special.index(n)}": layout.special_types[n] for n in function.special}
        results = {f"o{layout.homes[n]}": text.kernel.registers[n] for n in function.results}
        given = [f"{llvm_type(type)} %{n}" for n, type in types.items()] + [f"ptr %{n}" for n in results]
        head = Head(text, set())
        stem = function.name[1:]
        self.texts += [
            f"define internal i64 @one_{stem}({', '.join(['ptr noalias %context', 'i64 %thread', *given])}) {{",
            "entry:",
            *head.fields(),
            *[field_at(f"failed_{what}") for what in ("address", "op", "why", "thread")],
            *head.places(),
            *text.lines,
            "  ret i64 0",
            *text.faults,
            *([f"fault:\n  store i64 %thread, ptr %failed_thread_at\n  ret i64 {FAILED}"] if text.faults else []),
            "}",
            f"define internal i64 {function.name}(ptr noalias %context, i64 %base, i{LANES} %lanes",
            "".join(f", ptr %{n}" for n in (*types, *results)) + ") noinline {",
            f"entry:\n  br label %look\nlook:\n  %left = phi i{LANES} [%lanes, %entry], [%fewer, %on]",
            f"  %some = icmp ne i{LANES} %left, 0\n  br i1 %some, label %do, label %done\ndo:",
            f"  %first = call i{LANES} @llvm.cttz.i{LANES}(i{LANES} %left, i1 true)\n  %lane = zext i{LANES} %first to i64",
            "  %thread = add i64 %base, %lane",
        ]
        words = ["ptr %context", "i64 %thread"]
        for n, type in types.items():
            element = stored_type(type)
            self.texts.append(
                f"  %{n}.at = getelementptr {element}, ptr %{n}, i64 %lane\n  %{n}.m = load {element}, ptr %{n}.at"
            )
            if type.kind == "pred":
                self.texts.append(f"  %{n}.w = trunc i8 %{n}.m to i1")
            words.append(f"{llvm_type(type)} %{n}.{'w' if type.kind == 'pred' else 'm'}")
        for n, type in results.items():
            self.texts.append(f"  %{n}.at = getelementptr {stored_type(type)}, ptr %{n}, i64 %lane")
            words.append(f"ptr %{n}.at")
        self.texts += [
            f"  %code = call i64 @one_{stem}({', '.join(words)})\n  %good = icmp eq i64 %code, 0",
            f"  br i1 %good, label %on, label %bad, !prof !0\non:\n  %less = sub i{LANES} %left, 1",
            f"  %fewer = and i{LANES} %left, %less\n  br label %look\nbad:\n  ret i64 %code\ndone:\n  ret i64 0\n}}",
        ]


def stored_type(type: Type) -> str:
    """The LLVM type of a register's value in memory."""
    return f"i{max(8, type.width)}"
