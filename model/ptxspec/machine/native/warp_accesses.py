"""Loads and stores of a warp, in vectors where the bytes of its lanes lie near one another (`access_functions.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine.counting import counter_of, moves_always
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.flow import registers_read, registers_written
from ptxspec.machine.memory import is_of_threads
from ptxspec.machine.native.access_functions import ADDRESSES, AccessFunctions, WarpStorage
from ptxspec.machine.native.accesses import ADDRESS, Accesses
from ptxspec.machine.native.context import llvm_type
from ptxspec.machine.native.lane_words import result_type
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.registers import Registers
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.native.warp_registers import WORD, Attempt, number_of, shape_types
from ptxspec.machine.program import shown_registers
from ptxspec.terms.effects import Load, Store
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.vectors import NoVectors, VectorEmitter


class WarpAccesses:
    """Writes the accesses of a warp's function."""

    def __init__(self, text: FunctionText, operands: OperandEmitter):
        self.text, self.operands = text, operands
        self.functions = AccessFunctions(text.layout, text.emitter.needs)
        self.emitter = cast(VectorEmitter, text.emitter)

    def write(
        self,
        op: Op,
        effect: Load | Store,
        index: int,
        acting: str,
        registers: Registers,
        apart: bool,
        by_lanes: Callable[[int, str], None],
    ) -> bool:
        """Let lanes load or store, and registers have what they get; whether that could be written. `apart` says whether
        lanes are elsewhere, and `by_lanes` has the instruction done lane by lane."""
        space = op.space or effect.space
        if effect.holds is not None or not 8 <= effect.type.width <= 64 or _of_threads(space):
            return False
        if self.text.flow.observed.counts and not _is_declared(
            space
        ):  # the bytes of each lane are counted where they lie
            return False
        attempt = Attempt(self.text, registers)
        try:
            self._write(op, effect, index, space, acting, registers, apart, by_lanes)
        except NoVectors:
            attempt.undo()
            return False
        return True

    def _write(
        self,
        op: Op,
        effect: Load | Store,
        index: int,
        space: str,
        acting: str,
        registers: Registers,
        apart: bool,
        by_lanes: Callable[[int, str], None],
    ) -> None:
        text, e, lines = self.text, self.emitter, self.text.lines
        env = self.operands.environment(op)
        lowering = Lowering(e, env)
        address = lowering.low(effect.address, 64)
        words = [lowering.low(v, effect.type.width) for v in effect.values] if isinstance(effect, Store) else []
        shown = [(registers.read(n), text.kernel.registers[n].width) for n in shown_registers(op, text.kernel)]
        alike = not address.startswith("%") and not e.varies(*(value for value, _ in shown))
        if alike and op.guard is None and isinstance(effect, Load):
            text.shown = shown
            self._load_constant(op, effect, index, space, address, acting, env, registers)
            text.shown = []
            return
        results = list(dict.fromkeys(registers_written(op)))
        for name in sorted({*registers_read(op, text.kernel), *shown_registers(op, text.kernel), *results}):
            registers.read(name)
        old = {name: registers.read(name) for name in results}
        shape = None if apart else e.shape(address)  # which other accesses may have too
        n = text.label("access")
        skip, do, slow, join = f"{n}.skip", f"{n}.do", f"{n}.slow", f"{n}.join"
        if op.guard is not None:
            none = e.compare("eq", acting, "0", LANES)
            lines.append(f"  br i1 {none}, label %{skip}, label %{do}")
            text.begin(do)
        known, ends = e.known(), []

        def end(label: str, values: dict[str, str]) -> None:
            """Go to where the ways meet."""
            spread = {name: e.spread(v, llvm_type(text.kernel.registers[name])) for name, v in values.items()}
            lines.append(f"  br label %{n}.{label}\n{n}.{label}:\n  br label %{join}")
            ends.append((f"{n}.{label}", spread))
            e.go_back(known)

        element, count = f"i{effect.type.width}", effect.count if isinstance(effect, Load) else 0
        type, stored = result_type(effect), [f"{e.type(element)} {e.spread(word, element)}" for word in words]
        ways: list[tuple[str, list[str]]] = []

        def attempt(label: str, name: str, given: list[str], otherwise: str) -> None:
            """Call a function, and go on elsewhere where it did nothing."""
            made = whole = e.fresh()
            passed = ", ".join(["ptr %context", "i64 %base", f"{WORD} {acting}", f"i64 {index}", *given, *stored])
            lines.append(f"  br label %{n}.{label}\n{n}.{label}:\n  {whole} = call {type} {name}({passed})")
            vectors = [e.fresh() for _ in range(count)]
            if count:
                made = e.fresh()
                lines.extend(f"  {v} = extractvalue {type} {whole}, {i}" for i, v in enumerate((made, *vectors)))
            lines.append(f"  br i1 {made}, label %{n}.moved, label %{otherwise}, !prof !0")
            ways.append((f"{n}.{label}", vectors))

        if shape is not None:
            parts = [f"{type} {part}" for type, part in zip(shape_types("i64").values(), shape, strict=True)]
            attempt("row", self.functions.in_shape(effect, space), parts, f"{n}.others")
            lines.append(f"{n}.others:")
        if shape is not None:
            address = e.made_again(address)
        attempt("near", self.functions.of(effect, space), [f"{ADDRESSES} {e.spread(address, 'i64')}"], slow)
        lines.append(f"{n}.moved:")
        e.go_back(known)
        loaded = dict(env)
        for i in range(count):
            loaded[f"%loaded{i}"] = value = e.fresh()
            e.varying.add(value)
            values = ", ".join(f"[{vectors[i]}, %{label}]" for label, vectors in ways)
            lines.append(f"  {value} = phi {e.type(element)} {values}")
        self._count(op, effect, index, space, acting)
        end("done", self._results(op, loaded, registers))
        text.begin(slow)
        current = dict(registers.current)
        if shape is not None:
            registers.current |= {name: e.made_again(current[name]) for name in registers_read(op, text.kernel)}
        by_lanes(index, acting)
        slowly = {name: registers.current[name] for name in results}
        registers.current = current
        end("slowly", slowly)
        if op.guard is not None:
            text.begin(skip)
            end("skipped", old)
        text.begin(join)
        e.go_back(known)
        for name in results:
            type = e.type(llvm_type(text.kernel.registers[name]))
            value = e.fresh()
            lines.append(f"  {value} = phi {type} " + ", ".join(f"[{values[name]}, %{at}]" for at, values in ends))
            e.varying.add(value)
            registers.set(name, value)

    def _load_constant(
        self,
        op: Op,
        effect: Load,
        index: int,
        space: str,
        address: str,
        acting: str,
        env: dict[str, str],
        registers: Registers,
    ) -> None:
        """A load whose address is the same in all lanes and in all launches: it loads words."""
        text, e = self.text, self.emitter
        text.lines.append(f"  store {WORD} {acting}, ptr %acting")
        accesses = Accesses(text, text.check)
        storage = WarpStorage(accesses, address, effect.bytes, index, shadow=effect.shadow)
        pointer = contracts.access.access(space, ADDRESS, effect.bytes, False, effect.into, storage)
        self._count(op, effect, index, space, acting)
        for i in range(effect.count):
            env[f"%loaded{i}"] = self._word(pointer, i, effect)
        for name, value in self.operands.results(op, Lowering(e, env)):
            registers.set(name, value)

    def _count(self, op: Op, effect: Load | Store, index: int, space: str, acting: str) -> None:
        """Add the bytes that lanes move to a counter, in a launch that counts."""
        if self.text.flow.observed.counts and not moves_always(self.text.program, op):
            bytes = self.emitter.binary("mul", number_of(self.emitter, acting), str(effect.bytes), 64)
            self.text.count("count_moved", counter_of(index, contracts.access.stored(space)), bytes)

    def _word(self, pointer: str, i: int, effect: Load) -> str:
        e, width, bytes = self.emitter, effect.type.width, effect.type.bytes
        at, word = e.fresh(), e.fresh()
        self.text.lines.append(
            f"  {at} = getelementptr [{bytes} x i8], ptr {pointer}, i64 {i}\n"
            f"  {word} = load i{width}, ptr {at}, align {min(bytes, 8)}"
        )
        return word

    def _results(self, op: Op, env: dict[str, str], registers: Registers) -> dict[str, str]:
        e, types = self.emitter, self.text.kernel.registers
        results = self.operands.results(op, Lowering(e, env))
        if op.guard is not None:
            results = [(name, registers.merged(op, name, value)) for name, value in results]
        return {name: e.spread(value, llvm_type(types[name])) for name, value in results}


def _of_threads(space: str) -> bool:
    """Whether each thread has memory of its own in a space."""
    return _is_declared(space) and is_of_threads(contracts.access.unnumbered(space))


def _is_declared(space: str) -> bool:
    """Whether it is a state space, and not the generic one."""
    return contracts.access.unnumbered(space) in contracts.state_spaces.SPACES
