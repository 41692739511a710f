"""Registers that may be in flight: those that an instruction of a kernel names as the target or the source of an asynchronous
operation (spec/machine/asynchrony.md). Each thread has a row of memory in which they have locations, so that an operation on them
has ranges like any other.

Whoever names such a register accesses its location: an instruction that reads it comes behind a load from there, one that writes
it before a store. Between these it holds the value as other registers do. Both engines see nothing but accesses.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Read, Written, parts_of
from ptxspec.machine.call_graph import recursive
from ptxspec.machine.flow import (
    destination_operands,
    operand_registers,
    registers_in,
    registers_written,
    result_registers,
    spelled,
    values_of,
)
from ptxspec.machine.special import variables_of
from ptxspec.terms.core import Int, Term, integer, truth_variable, variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.effects import Effect, Initiate, Load, Return, Store, terms_of
from ptxspec.terms.in_registers import InRegisters
from ptxspec.terms.types import TYPES, Type


class RegisterLocation(NamedTuple):
    """Where a register lies in the row of its thread, and how many bytes it has."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class RegisterRow:
    """The registers of a thread that may be in flight, and how many bytes their row has."""

    def __init__(self, types: Mapping[str, Type]):
        """`types` are those of the kernel's registers."""
        self.types = types
        self.locations: dict[str, RegisterLocation] = {}
        self.size = 0

    def place(self, names: Iterable[str]) -> None:
        """Give registers locations, those that have none yet one behind the other."""
        for name in names:
            if name not in self.locations:
                size = self.types[name].bytes
                begin = contracts.asynchrony.register_begins(self.size, size)
                self.locations[name] = RegisterLocation(begin, size)
                self.size = begin + size

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of the registers that may be in flight, each once."""
        return [name for name in dict.fromkeys(names) if name in self.locations]

    def named(self, offset: int) -> str:
        """The register of which a byte of the row is."""
        return next(name for name, at in self.locations.items() if at.offset <= offset < at.end)

    def held(self, data: bytes) -> dict[str, int]:
        """What the registers hold, given the bytes of a row."""
        return {name: int.from_bytes(data[at.offset : at.end], "little") for name, at in self.locations.items()}

    def ranges(self, names: Sequence[str], size: int) -> list[range]:
        """Which of the registers of an operation, whose values have so many bytes, make one range of bytes each."""
        places = [self.locations[name] for name in names]
        cuts = [
            i for i, (a, b) in enumerate(pairwise(places), 1) if not (a.end == b.offset and a.size == size == b.size)
        ]
        return [range(*bounds) for bounds in pairwise([0, *cuts, len(names)])]


def locate_registers(kernel: Kernel) -> tuple[Kernel, RegisterRow]:
    """The kernel with a location for each register that may be in flight, and the row of a thread; the kernel itself, if there is
    no such register. Raises NotImplementedError for what neither engine has, by its name."""
    row = RegisterRow(kernel.registers)
    operations = {i: registers_of(op, kernel) for i, op in enumerate(kernel.code) if _in_registers(op) is not None}
    for names in operations.values():
        row.place(names)
    if not operations:
        return kernel, row
    for name in recursive(kernel) if kernel.functions else ():
        for register in row.among(kernel.functions[name].registers):
            raise NotImplementedError(f"{name} may call itself, and its register {spelled(register)} may be in flight")
    return _Located(kernel, row, operations).kernel, row


def _in_registers(op: Op) -> InRegisters | None:
    """The registers that an operation writes or reads, as its definition has them, if an instruction initiates one that does."""
    effect = op.plan.meaning.effect
    if not isinstance(effect, Initiate):
        return None
    return next((side for side in (effect.to, effect.source) if isinstance(side, InRegisters)), None)


def registers_of(op: Op, kernel: Kernel) -> list[str]:
    """The registers that an operation writes or reads which an instruction initiates, in the order of their values. Raises
    NotImplementedError for what cannot be in flight."""
    registers, effect = _in_registers(op), op.plan.meaning.effect
    assert registers is not None and isinstance(effect, Initiate)
    operands = {id(value): operand for value, operand in _results(op)}
    operands |= {id(symbol): operand for _, symbol, operand in values_of(op)}
    names = []
    for value in registers.values:
        operand, what = operands[id(value)], f"{kernel.name}: {op.plan.form.mnemonic}: "
        if not isinstance(operand, tree.Name):
            raise NotImplementedError(f"{what}only what a register holds can be in flight")
        name, type = spelled(operand.text), kernel.registers.get(operand.text)
        if type is None:
            raise NotImplementedError(f"{what}{name} is no register, and cannot be in flight")
        widened = contracts.type_checking.widened
        if effect.to is registers and type.width > registers.type.width:
            if widened(value, registers.type, type.width) is not value:  # bytes land, and zeros above them
                raise NotImplementedError(f"{what}no sign can be extended in flight, and {name} has {type.width} bits")
        elif type.width < registers.type.width:
            raise NotImplementedError(f"{what}{name} has only {type.width} bits, and cannot be in flight")
        names.append(operand.text)
    return names


def _results(op: Op) -> Iterator[tuple[Term, Any]]:
    """Each value that an instruction writes, with the operand that gets it."""
    for operand, number in destination_operands(op):
        values = op.plan.meaning.results[number].values
        elements = operand.elements if isinstance(operand, tree.Braces) else [operand] * len(values)
        yield from zip(values, elements, strict=True)


class _Located:
    """A kernel whose registers have locations where they may be in flight. `operations` has the registers of the operations, by
    the instruction that initiates one."""

    def __init__(self, kernel: Kernel, row: RegisterRow, operations: dict[int, list[str]]):
        self.before, self.row, self.operations = kernel, row, operations
        self.kernel = copy.copy(kernel)
        self.kernel.sizes = kernel.sizes | {contracts.state_spaces.OF_REGISTERS: row.size}
        self.kernel.registers = dict(kernel.registers)
        code: list[Op] = []
        self.kernel.code, self.kernel.starts, begins = code, {}, []
        functions = sorted((start, name) for name, start in kernel.starts.items())
        self._starts, self._names = [start for start, _ in functions], [name for _, name in functions]
        for index, op in enumerate(kernel.code):
            if index in self._starts:
                name = self._names[self._starts.index(index)]
                self.kernel.starts[name] = len(code)
                code += self._received(name)
            begins.append(len(code))
            code += self._around(index, op)
        begins.append(len(code))
        self.kernel.labels = {name: begins[at] for name, at in kernel.labels.items()}

    def _received(self, function: str) -> list[Op]:
        """The stores of a function's parameters that may be in flight; they stand where its heading does."""
        signature, start = self.before.functions[function].signature, self.before.starts[function]
        names = [] if signature is None else [f.register for f in signature.parameters if f.register is not None]
        end = min((at for at in self._starts if at > start), default=len(self.before.code))
        heading = self.before.code[end - 1]._replace(guard=None)  # what the end of the body stands for
        return [self._store(heading, name) for name in self.row.among(names)]

    def _left(self, index: int) -> list[str]:
        """The registers in which the function leaves its results to which an instruction belongs."""
        if not self._starts:
            return []
        function = self.before.functions[self._names[bisect_right(self._starts, index) - 1]]
        formals = () if function.signature is None else function.signature.returns
        return [f.register for f in formals if f.register is not None]

    def _around(self, index: int, op: Op) -> list[Op]:
        """An instruction between the loads and the stores of the registers that it reads and writes."""
        parts = self._initiations(op, self.operations[index]) if index in self.operations else [op]
        returns = isinstance(op.plan.meaning.effect, Return)
        read = [name for part in parts for name in self._read(part)] + (self._left(index) if returns else [])
        written = [name for part in parts for name in registers_written(part)]
        if op.call is not None:
            written += result_registers(op)
        loads, stores = self.row.among(read), self.row.among(written)
        first, last = [self._load(op, name) for name in loads], op
        if stores and op.guard is not None and op.guard[0] in written:
            kept = f"@{index}.guard"
            first.append(self._keep(op, kept))
            last = op._replace(guard=(kept, op.guard[1]))
        return [*first, *parts, *(self._store(last, name) for name in stores)]

    def _read(self, op: Op) -> list[str]:
        """The registers that an instruction reads: of a call these are the arguments, and what says which function it is."""
        if op.call is None:
            return operand_registers(op, self.before)
        operands = [*(operand for _, _, operand in values_of(op)), *op.call.arguments]
        return [name for operand in operands for name in registers_in(operand)]

    # instructions between the program's ----------------------------------------------------------------------------------

    def _load(self, op: Op, name: str) -> Op:
        type, offset = self.before.registers[name].bits, integer(self.row.locations[name].offset)
        effect = Load(contracts.state_spaces.OF_REGISTERS, offset, type, 1, {})
        meaning = Meaning((), (Result(type, (variable("%loaded0", type.width),)),), effect)
        return _beside(op, meaning, [(Written(0), tree.Name(name))])

    def _store(self, op: Op, name: str) -> Op:
        type, offset = self.before.registers[name].bits, integer(self.row.locations[name].offset)
        value = variable(name, type.width)
        effect = Store(contracts.state_spaces.OF_REGISTERS, offset, type, (value,), {})
        return _beside(op, Meaning((Input(name, type, (value,)),), (), effect), [(Read(name), tree.Name(name))])

    def _keep(self, op: Op, name: str) -> Op:
        """Keep the guard of an instruction that may write it."""
        assert op.guard is not None
        guard, type = op.guard[0], TYPES["pred"]
        self.kernel.registers[name] = type
        held = truth_variable(guard)
        meaning = Meaning((Input(guard, type, (held,)),), (Result(type, (held,)),), None)
        plain = op._replace(guard=None)
        return _beside(plain, meaning, [(Written(0), tree.Name(name)), (Read(guard), tree.Name(guard))])

    # instructions that initiate operations -------------------------------------------------------------------------------

    def _initiations(self, op: Op, names: Sequence[str]) -> list[Op]:
        """An instruction that initiates an operation on registers, as one on their locations; as several, if their locations are
        not one range. What the instruction gives beside belongs to the first."""
        effect, registers = op.plan.meaning.effect, _in_registers(op)
        assert isinstance(effect, Initiate) and registers is not None
        ops: list[Op] = []
        for part in self.row.ranges(names, registers.type.bytes):
            some = self._initiation(effect, registers, [names[k] for k in part], part.start)
            ops.append(_initiating(op, some, registers, () if ops else op.plan.meaning.results))
        return ops

    def _initiation(self, effect: Initiate, registers: InRegisters, names: Sequence[str], skipped: int) -> Initiate:
        """The operation on some of the registers, before which come so many others."""
        space, width = contracts.state_spaces.OF_REGISTERS, registers.type.bytes
        where, size = integer(self.row.locations[names[0]].offset), integer(width * len(names))
        # that all of them are aligned in memory is asked of the first
        align = effect.align if skipped == 0 else integer(width)
        if effect.to is registers:
            assert isinstance(effect.source, Int)
            whole = integer(sum(self.row.locations[name].size for name in names))
            source = effect.source + skipped * width
            return replace(effect, space=space, to=where, source=source, size=whole, read=size, align=align)
        assert isinstance(effect.to, Int)
        to = effect.to + skipped * width
        return replace(effect, to=to, of=space, source=where, size=size, read=size, align=align)


def _beside(op: Op, meaning: Meaning, operands: Sequence[tuple[Read | Written, Any]]) -> Op:
    """An instruction beside one of the program's, at its place and under its guard."""
    parts, standing = zip(*operands, strict=True)
    plan = op.plan._replace(meaning=meaning, parts=tuple(parts))
    return Op(plan, tuple(standing), op.guard, op.position)


def _initiating(op: Op, effect: Initiate, registers: InRegisters, given: Sequence[Result]) -> Op:
    """An instruction that initiates an operation between locations, and gives those results that do not arrive later."""
    arriving = {id(value) for value in registers.values}
    kept = [i for i, result in enumerate(given) if not arriving & {id(value) for value in result.values}]
    results = tuple(given[i] for i in kept)
    used = _variables(results, effect)
    inputs = tuple(
        place
        for place in op.plan.meaning.inputs
        if not arriving & {id(v) for v in place.variables} or used & {v.attrs[0] for v in place.variables}
    )
    names = {place.name for place in inputs}
    operands: list[tuple[Read | Written, Any]] = [
        (Written(kept.index(number)), operand) for operand, number in destination_operands(op) if number in kept
    ]
    operands += [(part, operand) for part, operand in parts_of(op) if isinstance(part, Read) and part.name in names]
    meaning = op.plan.meaning._replace(inputs=inputs, results=results, effect=effect)
    parts, standing = zip(*operands, strict=True) if operands else ((), ())
    return op._replace(plan=op.plan._replace(meaning=meaning, parts=tuple(parts)), operands=tuple(standing))


def _variables(results: Sequence[Result], effect: Effect) -> set[str]:
    """The variables that results and an effect depend on."""
    terms = [value for result in results for value in result.values] + terms_of(effect)
    return set().union(*map(variables_of, terms))
