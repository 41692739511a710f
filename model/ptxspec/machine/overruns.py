"""Which accesses leave the variable that their address was formed from, as far as the text of a function decides it.

Registers are followed through each function: what is known of one is a number, or a number that moves with the address of one
variable. An instruction is evaluated, by the exact interpretation of its definition, where all that it reads is known: once with
the variable where it is, and once with it elsewhere. A result that moves along is the variable's address plus a constant, and one
that stays is a constant. `spec/machine/memory.md` states the rule, and how far this goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op, Place, sum_bits
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.scopes import MODULE
from ptxspec.machine.flow import (
    Block,
    FlowGraph,
    destinations,
    ending,
    registers_written,
    result_registers,
    successors,
    values_of,
)
from ptxspec.machine.operations import extent_of
from ptxspec.terms.core import integer
from ptxspec.terms.effects import Access, Call, Initiate, Load, Store, Update
from ptxspec.terms.exact import NoChoice, evaluate
from ptxspec.terms.in_registers import Carried
from ptxspec.terms.types import Type

#: how far a variable is moved for the second look. That keeps it within all windows
MOVED = 4096
#: a frame begins somewhere in local memory: here, for what is formed from the address of a variable in it
NOMINAL_FRAME = 1 << 16


class KnownValue(NamedTuple):
    """What a register holds, and what it would hold if the variable lay MOVED bytes further on; no variable: a constant."""

    value: int
    moved: int
    variable: str = ""


class AccessedRange(NamedTuple):
    """What an instruction reaches: so many bytes at an address of a state space."""

    space: str
    address: Any
    bytes: int


class Overruns:
    """The accesses of a program that leave their variable: instruction's index -> what is said of it. `address` gives where a
    variable lies in its state space; `places` has the definitions of the module's own, whose addresses have so many bits."""

    def __init__(
        self,
        kernel: Kernel,
        flow: FlowGraph,
        address: Callable[[str], int],
        places: dict[str, Place],
        address_size: int,
    ):
        self.kernel, self.flow, self.address, self.places = kernel, flow, address, places
        self.address_size = address_size
        self.layout = contracts.generic_addressing
        self.page = contracts.memory_rules
        self.accesses: dict[int, str] = {}
        #: the same for what asynchronous operations read
        self.sources: dict[int, str] = {}
        for number, state in self._states().items():
            self._through(flow.blocks[number], dict(state), self._note)

    # registers -----------------------------------------------------------------------------------------------------------

    def _states(self) -> dict[int, dict[str, KnownValue]]:
        """What is known of registers where each block begins: the addresses that are known on all ways to it. Constants are known
        within a block only, so that what is kept stays small."""
        blocks = self.flow.blocks
        states: dict[int, dict[str, KnownValue]] = {0: {}} if blocks else {}
        todo = [0] if blocks else []
        while todo:
            number = heappop(todo)  # in the order of the blocks, so that few are looked at twice
            block = blocks[number]
            after = self._through(block, dict(states[number]), None)
            after = {name: known for name, known in after.items() if known.variable}
            entered = set() if block.finishes is not None or not self._calls(block) else {w for _, w in block.ways}
            for way in successors(block):
                coming = {} if way in entered else after
                if way not in states:
                    states[way] = coming
                    heappush(todo, way)
                    continue
                both = {n: k for n, k in states[way].items() if coming.get(n) == k}
                if len(both) != len(states[way]):
                    states[way] = both
                    heappush(todo, way)
        return states

    def _calls(self, block: Block) -> bool:
        return isinstance(ending(self.kernel.code[block.end - 1]), Call)

    def _through(
        self, block: Block, state: dict[str, KnownValue], note: Callable[[int, Op, dict[str, KnownValue]], None] | None
    ) -> dict[str, KnownValue]:
        """What is known after a block; `note` is told what is known before each access."""
        code = self.kernel.code
        if block.finishes is not None:
            op = code[block.finishes]
            changed = registers_written(op)
            if op.call is not None:
                changed = [*changed, *result_registers(op), *(n for n in state if n.endswith(MODULE))]
            for name in changed:
                state.pop(name, None)
            return state
        for index in range(block.start, block.end):
            op = code[index]
            if note is not None and isinstance(op.plan.meaning.effect, Access | Initiate):
                note(index, op, state)
            if not op.plan.meaning.lands:
                self._write(op, state)
        return state

    def _write(self, op: Op, state: dict[str, KnownValue]) -> None:
        written = list(destinations(op))
        if not written:
            return
        inputs = None
        if op.plan.meaning.effect is None and any(self._follows(name, type) for name, type, _ in written):
            inputs = self._inputs(op, state)
        values = [(n, self._result(t, v, n, inputs) if inputs else None) for n, t, v in written]
        for name, known in values:
            if known is None or (op.guard is not None and state.get(name) != known):
                state.pop(name, None)
            else:
                state[name] = known

    def _follows(self, name: str, type: Type) -> bool:
        register = self.kernel.registers[name]
        return register.width in self.page.FOLLOWED and not type.is_float and type.kind != "pred"

    def _result(self, type: Type, term: Any, name: str, inputs: Any) -> KnownValue | None:
        if not self._follows(name, type):
            return None
        width = self.kernel.registers[name].width
        if width == type.width:
            return self._value(term, inputs, int, width)
        widened = contracts.type_checking.widened
        return self._value(term, inputs, lambda value: int(widened(integer(value), type, width)), width)

    def _value(self, term: Any, inputs: Any, shaped: Callable[[int], int], bits: int) -> KnownValue | None:
        """A term's value, if it is known; and whether it moves with the variable, in so many bits."""
        here, moved, variable = inputs
        try:
            value = shaped(evaluate(term, here))
            shifted = shaped(evaluate(term, moved)) if variable else value
        except (KeyError, NoChoice):
            return None
        if value == shifted:
            return KnownValue(value, value)
        return KnownValue(value, shifted, variable) if (shifted - value) % (1 << bits) == MOVED else None

    # operands ------------------------------------------------------------------------------------------------------------

    def _inputs(
        self, op: Op, state: dict[str, KnownValue], names: set[str] | None = None
    ) -> tuple[dict[str, int], dict[str, int], str] | None:
        """The values of a meaning's variables, or of those that are wanted: as they are, and with the program's variable moved,
        which comes third. None if one is not known."""
        here: dict[str, int] = {}
        moved: dict[str, int] = {}
        variable = ""
        for type, symbol, operand in values_of(op):
            name, width = (*symbol.attrs, 1)[:2]
            if names is not None and name not in names:
                continue
            known = self._operand(type, operand, state, name in op.plan.meaning.specials)
            if known is None or (known.variable and variable and known.variable != variable):
                return None
            variable = variable or known.variable
            here[name], moved[name] = (v & (1 << width) - 1 for v in known[:2])
        return here, moved, variable

    def _operand(
        self, type: Type | None, operand: Any, state: dict[str, KnownValue], implied: bool
    ) -> KnownValue | None:
        if implied:  # what a definition asks of the CTA is its rank: as in the first of a cluster
            return KnownValue(0, 0)
        if isinstance(operand, tree.Address):
            base = KnownValue(0, 0) if operand.base is None else self._operand(None, operand.base, state, False)
            bits = sum_bits(self.kernel, operand, self.address_size)
            return None if base is None else self._plus(base, operand.offset, bits)
        if isinstance(operand, tree.Number):
            value = constant_bits(operand, type) if type is not None and not type.is_float else None
            return None if value is None else KnownValue(value, value)
        if isinstance(operand, tree.Sum):
            base = self._operand(None, operand.base, state, False)
            return None if base is None else self._plus(base, operand.offset, self.address_size)
        if not isinstance(operand, tree.Name):
            return None
        if operand.text in self.kernel.registers:
            return state.get(operand.text)
        place = self.kernel.places.get(operand.text)
        if place is None or place.opaque:
            return None
        start = self._start(operand.text)
        return KnownValue(start, start + MOVED, operand.text)

    def _start(self, name: str) -> int:
        place = self.kernel.places[name]
        return NOMINAL_FRAME + place.offset if place.framed else self.address(name)

    # accesses ------------------------------------------------------------------------------------------------------------

    def _note(self, index: int, op: Op, state: dict[str, KnownValue]) -> None:
        """Look at an access, or at both of an asynchronous operation."""
        match op.plan.meaning.effect:
            case Load() | Store() | Update() as access:
                reach = AccessedRange(op.space or access.space, access.address, access.bytes)
                self._reach(self.accesses, index, op, state, reach)
            case Initiate() as copy:
                size, _ = extent_of(op)
                if size:
                    self._reach(self.accesses, index, op, state, AccessedRange(copy.space, copy.to, size))
                if isinstance(copy.source, Carried):
                    return
                read = self._inputs(op, state, set(_variables(copy.read)))
                count = None if read is None else self._value(copy.read, read, int, 64)
                if count is not None and count.value:
                    self._reach(self.sources, index, op, state, AccessedRange(copy.of, copy.source, count.value))
            case effect:
                raise AssertionError(f"{effect} accesses nothing")

    def _reach(
        self, reports: dict[int, str], index: int, op: Op, state: dict[str, KnownValue], reach: AccessedRange
    ) -> None:
        """Note in `reports` what is to be said of bytes that an instruction reaches, if they leave a variable."""
        inputs = self._inputs(op, state, set(_variables(reach.address)))
        if inputs is None or not inputs[2]:
            return
        bits = 32 if contracts.access.is_narrow(reach.space) else 64
        at = self._value(reach.address, inputs, lambda value: value & (1 << bits) - 1, bits)
        if at is None or not at.variable:
            return
        name = at.variable
        place = self.kernel.places[name]
        variable_space = contracts.state_spaces.OF_FRAMES if place.framed else place.space
        space = reach.space.partition("::")[0]
        if space not in (variable_space, "generic"):
            return
        base = self.layout.base(variable_space) if space == "generic" else 0
        offset = (at.value - base - self._start(name)) & (1 << bits) - 1
        offset -= offset >> (bits - 1) << bits
        size = reach.bytes
        held = self._size(name, place)
        if abs(offset) < self.page.reach(variable_space, base != 0) and self.page.leaves(offset, size, held):
            holds = "" if held is None else f", which has {held} bytes"
            reports[index] = (
                f"{size} bytes at {name.partition('@')[0]}{offset:+}{holds}: they lie outside of that variable"
            )

    def _plus(self, base: KnownValue, offset: int, bits: int) -> KnownValue:
        behind = contracts.variables.behind
        value, moved = (behind(at, offset, bits) for at in (base.value, base.moved))
        return KnownValue(value, moved, base.variable)

    def _size(self, name: str, place: Place) -> int | None:
        """How many bytes a variable has; None if that is said elsewhere."""
        if place.in_a_bank:
            return None
        defined = self.places.get(place.name)  # by another module, perhaps, where a declaration leaves the size empty
        return max(place.size, defined.size if defined is not None else 0) or None


def _variables(term: Any) -> Iterator[str]:
    todo = [term]
    while todo:
        t = todo.pop()
        if t.op == "var":
            yield t.attrs[0]
        todo.extend(t.args)
