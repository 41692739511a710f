"""Which bits are initialized, computed beside what a kernel computes (spec/machine/initialization.md).

Each register that may hold undefined bits gets a shadow: another register, with a 1 for each bit that is undefined. Memory has a
shadow at the same addresses, with a 1 for each bit that is initialized, so that what nobody has touched is not. Beside each
instruction come those that compute the shadows of what it writes, which follow from its definition (`terms/undefined_bits.py`),
and reports where an undefined bit matters. Both engines see nothing but instructions.

Registers that are certainly initialized have no shadow, and cost nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import CallSite, Formal, Kernel, Op, Read, Written
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.scopes import MODULE
from ptxspec.machine.call_graph import ENDS, FRAME, KEPT
from ptxspec.machine.events import ObservedEvents
from ptxspec.machine.flow import FlowGraph, destinations, registers_written, values_of
from ptxspec.machine.system import system_function
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import Bool, Int, Term, integer, truth_variable, variable
from ptxspec.terms.definitions import Input, Meaning, Result
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
    terms_of,
)
from ptxspec.terms.in_registers import Carried, InRegisters
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.undefined_bits import UndefinedBits
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, number, select, substitute, variables_in

#: what the names of shadows begin with, and the register that says whether something is reported: no identifiers
_SHADOW, _REPORTED = "@shadow.", "@reported"
#: what a report is of that only says where undefined bits were read
READ_FIRST = ""


class Reported(NamedTuple):
    """What an instruction that reports is about: the registers whose undefined bits matter, or none if it is memory."""

    registers: frozenset[str]
    space: str


class ShadowedKernel(NamedTuple):
    """A kernel with shadows: what its reports are about, by their indices, and the registers that have a shadow."""

    kernel: Kernel
    reported: dict[int, Reported]
    shadowed: frozenset[str]
    generic: bool
    """whether a generic address may be one of memory of threads and CTAs, or one of global memory"""


def shadow_of(register: str) -> str:
    """The name of a register's shadow; that of a register of the thread is one of the thread, too."""
    return f"{_SHADOW}{register}{MODULE}" if register == CONDITION_CODE else f"{_SHADOW}{register}"


def with_shadows(kernel: Kernel, observed: ObservedEvents) -> ShadowedKernel:
    """The kernel with shadows. Raises ValueError for what the check does not know, by its name."""
    return _Shadowing(kernel, observed.unwritten).result()


class _Operands:
    """The operands of an instruction, and the shadows of those that have one."""

    def __init__(self, op: Op, kernel: Kernel, shadowed: set[str]):
        self.values: dict[str, tuple[Type | None, Term, Any]] = {}
        #: by the name of a variable, the variable of its undefined bits, and the register that holds them
        self.shadows: dict[str, tuple[Any, str]] = {}
        #: the registers with a shadow that stand behind a variable
        self.registers: dict[str, str] = {}
        #: for variables that stand for a constant, or for the same register as another one, the constant or that one
        self.same: dict[str, Any] = {}
        first: dict[tuple[Any, int], Any] = {}
        for type, symbol, operand in values_of(op):
            name, width = symbol.attrs
            if isinstance(operand, tree.Number | tree.Float) and type is not None and not isinstance(symbol, Bool):
                self.same[name] = integer(constant_bits(operand, type) & (1 << width) - 1)
            if isinstance(operand, tree.Name) and first.setdefault((operand.text, width), symbol) is not symbol:
                self.same[name] = first[operand.text, width]
            self.values[name] = type, symbol, operand
            register = register_of(operand)
            if register is not None and register in shadowed:
                is_truth = isinstance(symbol, Bool)
                undefined = truth_variable(f"undefined {name}") if is_truth else variable(f"undefined {name}", width)
                self.shadows[name] = undefined, register
        self.undefined = UndefinedBits({name: bits for name, (bits, _) in self.shadows.items()})
        self.kernel = kernel

    def registers_of(self, terms: Iterable[Any]) -> frozenset[str]:
        """The registers with shadows that terms depend on."""
        return frozenset(self.shadows[name][1] for name in variables_in(terms) if name in self.shadows)


def register_of(operand: Any) -> str | None:
    """The register that an operand is made of, if there is one."""
    match operand:
        case tree.Name():
            return str(operand.text)
        case tree.Not():
            return str(operand.name.text)
        case tree.Address() | tree.Sum():
            return register_of(operand.base)
        case tree.Indexed():
            return register_of(operand.register)
    return None


class _Shadowing:
    """Puts the instructions of shadows beside those of a kernel."""

    def __init__(self, kernel: Kernel, unwritten: bool):
        self.before, self.kernel, self.unwritten = copy.copy(kernel), copy.copy(kernel), unwritten
        self.places = self.before.places = self.kernel.places = dict(kernel.places)
        self.kernel.registers = dict(kernel.registers)
        self.kernel.code, self.kernel.labels, self.kernel.starts = [], {}, {}
        self.added: set[int] = set()
        self.reported: dict[int, Reported] = {}
        self.flow = FlowGraph(kernel)
        self.generic = any(kernel.sizes[space] for space in contracts.state_spaces.in_parts()) or unwritten
        for op in kernel.code:
            self._refuse(op)
        self.begin_undefined = self._begin_undefined()
        self.shadowed = self._shadowed()

    def result(self) -> ShadowedKernel:
        kernel, begins = self.before, []
        for name in sorted(self.shadowed):
            type = kernel.registers[name]
            self.kernel.registers[shadow_of(name)] = type if type.kind == "pred" else type.bits
        starts = {start: name for name, start in kernel.starts.items()} or {0: kernel.name}
        for index, op in enumerate(kernel.code):
            if index in starts:
                if kernel.starts:
                    self.kernel.starts[starts[index]] = len(self.kernel.code)
                self._begin(op, starts[index])
            begins.append(len(self.kernel.code))
            self._around(op, index)
        begins.append(len(self.kernel.code))
        self.kernel.labels = {name: begins[at] for name, at in kernel.labels.items()}
        self.kernel.added = frozenset(self.added)
        return ShadowedKernel(self.kernel, self.reported, frozenset(self.shadowed), self._has_generic_parts())

    # which registers have shadows ----------------------------------------------------------------------------------------

    def _refuse(self, op: Op) -> None:
        """Raise ValueError for an instruction that the check does not know."""
        effect = op.plan.meaning.effect
        what = ""
        if isinstance(effect, Initiate) and (
            isinstance(effect.to, InRegisters) or isinstance(effect.source, InRegisters)
        ):
            what = "registers that are in flight"
        if isinstance(effect, Access) and effect.space == contracts.state_spaces.OF_REGISTERS:
            what = "registers that are in flight"
        if what:
            raise ValueError(f"check='uninitialized' does not know {what} ({op.plan.form.mnemonic})")

    def _begin_undefined(self) -> dict[str, list[str]]:
        """By function, the registers that it may read before it writes them, parameters aside."""
        kernel, flow = self.before, self.flow
        entered = {block.start: i for i, block in enumerate(flow.blocks) if block.finishes is None}
        begin: dict[str, list[str]] = {}
        for name, start in (kernel.starts or {kernel.name: 0}).items():
            function = kernel.functions.get(name)
            signature = None if function is None else function.signature
            given = {f.register for f in signature.parameters if f.register} if signature else set()
            live = flow.live_in[entered[start]] if start in entered else set()
            of_others = {r for other, body in kernel.functions.items() if other != name for r in body.registers}
            if signature is not None:  # what functions share begins with the entry
                live &= function.registers.keys() if function is not None else set()
            begin[name] = sorted(live - given - set(KEPT) - of_others)
        return begin

    def _shadowed(self) -> set[str]:
        """The registers that may hold undefined bits somewhere."""
        shadowed = {name for names in self.begin_undefined.values() for name in names}
        while True:
            more = {name for op in self.before.code for name in self._undefined_by(op, shadowed)} - shadowed
            if not more:
                return shadowed
            shadowed |= more

    def _undefined_by(self, op: Op, shadowed: set[str]) -> Iterable[str]:
        """The registers that an instruction may write undefined bits to."""
        written = registers_written(op)
        if not written and op.call is None:
            return ()
        effect = op.plan.meaning.effect
        if op.guard is not None and op.guard[0] in shadowed and not isinstance(effect, Access):
            return written
        match effect:
            case Load() | Update():
                return written if self._is_tracked(op, effect) else ()
            case Call() if op.call is not None and system_function(self.before, op) is None:
                return self._undefined_by_call(op.call, shadowed)
            case None | Fence() | GridDependency() | Collective():
                return written if any(register_of(o) in shadowed for _, _, o in values_of(op)) else ()
            case _:
                return ()

    def _undefined_by_call(self, call: CallSite, shadowed: set[str]) -> Iterable[str]:
        """The parameters and the results that may get undefined bits of a call."""
        called = (
            self.before.functions
            if call.function is None
            else {call.function: self.before.functions.get(call.function)}
        )
        for function in called.values():
            if function is None or function.signature is None:
                continue
            signature = function.signature
            for argument, formal in zip(call.arguments, signature.parameters, strict=False):
                if formal.register is not None and (self._framed(argument) or register_of(argument) in shadowed):
                    yield formal.register
            for result, formal in zip(call.results, signature.returns, strict=False):
                if isinstance(result, tree.Name) and result.text in self.before.registers:
                    if formal.register is None or formal.register in shadowed:
                        yield result.text

    def _is_tracked(self, op: Op, effect: Access) -> bool:
        """Whether what is accessed may be undefined."""
        space = op.space or effect.space
        return self._is_space_tracked(space) or self._may_have_padding(op, contracts.access.unnumbered(space))

    def _may_have_padding(self, op: Op, space: str) -> bool:
        """Whether an instruction may load padding of a parameter."""
        if space != contracts.state_spaces.OF_PARAMETERS:
            return False
        names = {
            o.base.text for _, _, o in values_of(op) if isinstance(o, tree.Address) and isinstance(o.base, tree.Name)
        }
        every = zip(self.before.parameters, self.before.parameter_types, strict=True)
        return not names <= {place.name for place, (_, is_array) in every if not is_array}

    def _has_generic_parts(self) -> bool:
        effects = ((op.space, op.plan.meaning.effect) for op in self.before.code)
        named = (space or e.space for space, e in effects if isinstance(e, Access | Initiate))
        return self.generic and "generic" in named

    # instructions --------------------------------------------------------------------------------------------------------

    def _add(
        self,
        op: Op,
        operands: _Operands | None,
        results: Sequence[tuple[str, Any]] = (),
        effect: Effect | None = None,
        guard: tuple[str, bool] | None = None,
        registers: Sequence[tuple[Any, str]] = (),
    ) -> int:
        """Add an instruction beside one of the text: registers get the values of terms, over the operands of that one, their
        shadows, and variables that stand for `registers`. Its index."""
        terms = [value for _, value in results] + (terms_of(effect) if effect is not None else [])
        used = variables_in(terms)
        inputs: list[Input] = []
        standing: list[tuple[Read | Written, Any]] = [
            (Written(i), tree.Name(name)) for i, (name, _) in enumerate(results)
        ]
        known = list(registers)
        if operands is not None:
            known += [(bits, shadow_of(register)) for bits, register in operands.shadows.values()]
            for name, (type, symbol, operand) in operands.values.items():
                if name in used and name not in {symbol.attrs[0] for symbol, _ in registers}:
                    inputs.append(Input(name, type, (symbol,)))
                    standing.append((Read(name), operand))
        for symbol, register in known:
            name = symbol.attrs[0]
            if name in used and all(name != taken.name for taken in inputs):
                inputs.append(Input(name, self.kernel.registers[register], (symbol,)))
                standing.append((Read(name), tree.Name(register)))
        outcomes = tuple(Result(self.kernel.registers[name], (value,)) for name, value in results)
        parts, names = zip(*standing, strict=True) if standing else ((), ())
        plan = op.plan._replace(meaning=Meaning(tuple(inputs), outcomes, effect), parts=tuple(parts))
        self.added.add(len(self.kernel.code))
        self.kernel.code.append(Op(plan, tuple(names), guard, op.position, space=op.space))
        return len(self.kernel.code) - 1

    def _begin(self, op: Op, function: str) -> None:
        """Let the registers be undefined that a function may read before it writes them."""
        heading = op._replace(space="", guard=None)
        self._received(heading, function)
        for name in self.begin_undefined[function]:
            self._add(heading, None, [(shadow_of(name), _everything(self.before.registers[name]))])

    def _around(self, op: Op, index: int) -> None:
        """Add an instruction, with those of shadows before it and behind it."""
        operands, effect = _Operands(op, self.before, self.shadowed), op.plan.meaning.effect
        if effect is None or isinstance(effect, Fence | GridDependency):
            self._computed(op, operands)
            self.kernel.code.append(op)
            return
        if op.guard is not None and op.guard[0] in self.shadowed:
            shadow = truth_variable("undefined guard")
            what = contracts.initialization.BRANCH if isinstance(effect, Branch) else contracts.initialization.GUARD
            self._report_if(
                op, operands, what, shadow, [(shadow, shadow_of(op.guard[0]))], {op.guard[0]}, guarded=False
            )
        page = contracts.initialization
        match effect:
            case Load() | Store() | Update():
                self._access(op, effect, operands, index)
                return
            case Check():
                self._report(op, operands, page.DEMAND, effect.holds)
            case Collective():
                self._collective(op, effect, operands)
            case Arrive() | Wait():
                self._report(op, operands, page.BARRIER, effect.barrier, *_some(effect.threads))
                if isinstance(effect, Wait):
                    self._report(op, operands, page.GIVEN, effect.value)
            case ImageAccess():
                self._report(op, operands, page.IMAGE, effect.image, *_some(effect.sampler), *effect.operands)
            case IndexedBranch():
                self._report(op, operands, page.BRANCH, effect.index)
            case Initiate():
                self._initiate(op, effect, operands)
                return
            case Advance():
                self._report(op, operands, page.OPERATION, *effect.operands)
            case Follow():
                self._report(op, operands, page.ADDRESS, effect.object)
            case Reserve():
                self._report(op, operands, page.STACK, effect.size)
                self._reserve(op, effect, operands, index)
                return
            case Release():
                self._report(op, operands, page.STACK, effect.end)
            case Call():
                self._call(op, effect, operands, index)
                return
            case Return():
                self._left(op, index)
            case Await() | ClusterArrive() | ClusterWait() | StackEnd() | Branch() | Exit() | Stop():
                pass
            case Report() | Examine() | Initialize():
                raise AssertionError("only this adds reports")
            case _:
                assert_never(effect)
        if not isinstance(effect, Collective):
            self._defined(op)
        self.kernel.code.append(op)

    def _defined(self, op: Op) -> None:
        """Let all bits that an instruction writes be defined."""
        for name in dict.fromkeys(registers_written(op)):
            if name in self.shadowed:
                self._add(op, None, [(shadow_of(name), _nothing(self.before.registers[name]))], None, op.guard)

    def _computed(self, op: Op, operands: _Operands) -> None:
        """The shadows of what an instruction computes."""
        results: list[tuple[str, Any]] = []
        more: list[tuple[Any, str]] = []
        guard, unknown_guard = op.guard, op.guard is not None and op.guard[0] in self.shadowed
        for name, value, bits in self._results(op, operands):
            if unknown_guard:
                bits = self._merged(op, name, value, bits, more)
            results.append((shadow_of(name), bits))
        if results:
            self._add(op, operands, results, None, None if unknown_guard else guard, more)

    def _results(self, op: Op, operands: _Operands) -> list[tuple[str, Any, Any]]:
        """(register, its value, its undefined bits) of what an instruction writes to registers with shadows."""
        results = {}
        for name, type, term in destinations(op):
            if name in self.shadowed:
                width = self.before.registers[name].width
                value = contracts.type_checking.widened(term, type, width) if width > type.width else term
                value = substitute(value, operands.same) if operands.same else value
                bits = operands.undefined.of(value)
                results[name] = value, bits if isinstance(bits, Bool) else low_bits(bits, width)
        return [(name, *both) for name, both in results.items()]

    def _merged(self, op: Op, name: str, value: Any, bits: Any, more: list[tuple[Any, str]]) -> Any:
        """What is undefined in a register that an instruction writes if its guard holds, which may be undefined. `more` gets the
        registers that variables stand for."""
        assert op.guard is not None
        guard, undefined = truth_variable("guard"), truth_variable("undefined guard")
        type = self.before.registers[name]
        old, of_old = (_same(type, f"{stem} {name}") for stem in ("old", "undefined old"))
        more += [(guard, op.guard[0]), (undefined, shadow_of(op.guard[0])), (old, name), (of_old, shadow_of(name))]
        holds = ~guard if op.guard[1] else guard
        new: Any = value if isinstance(value, Bool) else low_bits(value, type.width)
        return select(undefined, bits | of_old | (new ^ old), select(holds, bits, of_old))

    # reports -------------------------------------------------------------------------------------------------------------

    def _report(
        self, op: Op, operands: _Operands, what: str, *terms: Any, address: Int | None = None, size: int = 0
    ) -> None:
        """Report if a bit of some terms is undefined, which are stored to so many bytes at an address, if there is one."""
        condition = operands.undefined.any(*terms)
        if condition is not FALSE:
            self._report_if(op, operands, what, condition, (), operands.registers_of(terms), address, size)

    def _report_if(
        self,
        op: Op,
        operands: _Operands,
        what: str,
        condition: Bool,
        registers: Sequence[tuple[Any, str]],
        about: Iterable[str],
        address: Int | None = None,
        size: int = 0,
        guarded: bool = True,
        space: str = "",
    ) -> None:
        """Report if a condition holds, over operands and `registers`: it is about the undefined bits of these registers. If the
        instruction is not executed, there is no report, unless that is what it is about."""
        self.kernel.registers[_REPORTED] = TYPES["pred"]
        known = list(registers)
        if op.guard is not None and guarded:
            guard = truth_variable("guard")
            known.append((guard, op.guard[0]))
            condition = condition & (~guard if op.guard[1] else guard)
        self._add(op, operands, [(_REPORTED, condition)], registers=known)
        effect = Report(what, None if address is None else low_bits(address, 64), size)
        at = self._add(op, operands, (), effect, (_REPORTED, False), registers)
        self.reported[at] = Reported(frozenset(about), space)

    # accesses ------------------------------------------------------------------------------------------------------------

    def _access(self, op: Op, effect: Access, operands: _Operands, index: int) -> None:
        """An access, and one to the shadow of that memory behind it, in the same block."""
        page = contracts.initialization
        self._report(op, operands, page.ADDRESS, effect.address)
        if not isinstance(effect, Update) and effect.holds is not None:
            self._report(op, operands, page.DEMAND, effect.holds)
        tracked, space = self._is_tracked(op, effect), op.space or effect.space
        if isinstance(effect, Store) and self._may_be_seen(space):
            self._report(op, operands, page.STORED, *effect.values, address=effect.address, size=effect.bytes)
        if isinstance(effect, Update):
            used = [*effect.values, *effect.conditions]
            condition = operands.undefined.any_below(*used)
            if condition is not FALSE:
                self._report_if(op, operands, page.UPDATED, condition, (), operands.registers_of(used))
        address, more = effect.address, []
        if tracked and not isinstance(effect, Store) and self._overwrites_address(op, effect):
            kept = f"@address.{index}"
            self.kernel.registers[kept] = TYPES["b64"]
            self._add(op, operands, [(kept, low_bits(address, 64))])
            address = variable("kept address", 64)
            more.append((address, kept))
        self.kernel.code.append(op)
        if not tracked:
            self._defined(op)
            return
        match effect:
            case Load():
                self._loaded(op, effect, operands, address, more)
            case Store():
                width = effect.type.width
                undefined: list[Int] = [operands.undefined.of(low_bits(v, width)) for v in effect.values]
                values = [low_bits(bits ^ -1, width) for bits in undefined]
                self._add(op, operands, (), self._shadow_store(op, effect, effect.address, values), op.guard)
            case Update():
                self._updated(op, effect, operands, address, more, index)
            case _:
                assert_never(effect)

    def _overwrites_address(self, op: Op, effect: Access) -> bool:
        written = {*registers_written(op)}
        return any(
            register_of(o) in written for _, v, o in values_of(op) if v.attrs[0] in variables_in([effect.address])
        )

    def _shadow_store(self, op: Op, effect: Access, address: Int, values: Sequence[Int]) -> Store:
        return Store(effect.space, address, effect.type.bits, tuple(values), {}, into=effect.into, shadow=True)

    def _shadow_load(self, effect: Load | Update, address: Int) -> Load:
        return Load(effect.space, address, effect.type.bits, effect.count, {}, into=effect.into, shadow=True)

    def _loaded(self, op: Op, effect: Load, operands: _Operands, address: Int, more: list[tuple[Any, str]]) -> None:
        """The shadows of what is loaded; and a report of where it was, which matters only if its bits do."""
        width = effect.type.width
        loaded = {f"%loaded{i}": variable(f"%loaded{i}", width) ^ (1 << width) - 1 for i in range(effect.count)}
        results = self._results_of(op, operands, loaded)
        self._add(op, operands, results, self._shadow_load(effect, address), op.guard, more)
        shadows = {name: _same(self.kernel.registers[name], f"is {name}") for name, _ in results}
        some = FALSE
        for _name, symbol in shadows.items():
            some = some | (symbol if isinstance(symbol, Bool) else symbol != 0)
        known = [*more, *((symbol, name) for name, symbol in shadows.items())]
        space = op.space or effect.space
        self._report_if(op, operands, READ_FIRST, some, known, (), address, effect.bytes, space=space)

    def _results_of(self, op: Op, operands: _Operands, given: dict[str, Any]) -> list[tuple[str, Any]]:
        """The shadows of what an instruction writes, where the undefined bits of what it was given are these. They may not depend
        on what that was."""
        shadows = {name: bits for name, (bits, _) in operands.shadows.items()}
        stand_ins = {name: variable(f"undefined {name}", _width_of(bits)) for name, bits in given.items()}
        undefined, results = UndefinedBits(shadows | stand_ins), []
        for name, value, _ in self._results(op, operands):
            bits = undefined.of(value)
            if variables_in([bits]) & given.keys():
                some = undefined.any(*(variable(n, _width_of(b)) for n, b in given.items()))
                bits = bits_of_all(some | operands.undefined.any(value), value)
            bits = substitute(bits, {stand_in.attrs[0]: given[name] for name, stand_in in stand_ins.items()})
            width = self.before.registers[name].width
            results.append((shadow_of(name), bits if isinstance(bits, Bool) else low_bits(bits, width)))
        return results

    def _updated(
        self, op: Op, effect: Update, operands: _Operands, address: Int, more: list[tuple[Any, str]], index: int
    ) -> None:
        """An atomic operation on memory that may be undefined: reported where it computes with that."""
        width, names = effect.type.width, [f"@updated.{index}.{i}" for i in range(effect.count)]
        for name in names:
            self.kernel.registers[name] = effect.type.bits
        read = [(name, variable(f"%loaded{i}", width) ^ (1 << width) - 1) for i, name in enumerate(names)]
        self._add(op, operands, read, self._shadow_load(effect, address), op.guard, more)
        loaded = {f"%loaded{i}": variable(f"undefined %loaded{i}", width) for i in range(effect.count)}
        known = [*more, *((loaded[f"%loaded{i}"], name) for i, name in enumerate(names))]
        used = variables_in([*effect.values, *effect.conditions])
        some = FALSE
        for name, bits in loaded.items():
            some = some | (bits != 0 if name in used else FALSE)
        if some is not FALSE:
            what, space = contracts.initialization.READ_BY_UPDATE, op.space or effect.space
            self._report_if(op, operands, what, some, known, (), address, effect.bytes, space=space)
        everything = [integer((1 << width) - 1)] * effect.count
        self._add(op, operands, (), self._shadow_store(op, effect, address, everything), op.guard, more)
        if used & loaded.keys():  # reported
            self._defined(op)
            return
        results = self._results_of(op, operands, loaded)
        if results:
            self._add(op, operands, results, None, op.guard, known)

    # other threads, functions and operations -----------------------------------------------------------------------------

    def _collective(self, op: Op, effect: Collective, operands: _Operands) -> None:
        """What the lanes get of one another: the undefined bits of values that they only pass on are passed on likewise."""
        page = contracts.initialization
        if effect.mask is not None:
            self._report(op, operands, page.MASK, effect.mask)
        given = [effect.value, *effect.more]
        undefined = [operands.undefined.of(value) for value in given]
        gives = [bits for bits in undefined if bits is not FALSE and not (bits.op == "const" and not bits.attrs[0])]
        lanes = sorted(n for n in variables_in(v for _, _, v in destinations(op)) if n.startswith("%lane"))
        stand_ins = {name: variable(f"undefined {name}", 64) for name in lanes if gives}
        back = {stand_in.attrs[0]: variable(lane, 64) for lane, stand_in in stand_ins.items()}
        passing, results, only_passed = UndefinedBits(stand_ins), [], True
        for name, value, _ in self._results(op, operands):
            bits = passing.of(value)
            only_passed &= not variables_in([bits]) & set(lanes)
            results.append((name, value, substitute(bits, back)))
        if gives and not only_passed:
            self._report(op, operands, page.GIVEN, *given)
        meets = bool(gives) and only_passed
        shadows: list[tuple[str, Any]] = []
        for name, value, bits in results:
            some, width = self._of_own(operands, given, value), self.before.registers[name].width
            if isinstance(bits, Bool):
                shadows.append((shadow_of(name), some | bits if meets else some))
            else:
                everything = integer((1 << width) - 1)
                shadows.append(
                    (shadow_of(name), select(some, everything, low_bits(bits, width) if meets else integer(0)))
                )
        words = [number(bits) if isinstance(bits, Bool) else low_bits(bits, 64) for bits in undefined]
        met = replace(effect, value=words[0], more=tuple(words[1:])) if meets else None
        if shadows or meets:
            self._add(op, operands, shadows, met, op.guard)

    def _of_own(self, operands: _Operands, given: Sequence[Any], value: Any) -> Bool:
        """Whether operands of the lane are undefined that a result depends on, those that it gives the others aside."""
        inputs = variables_in([value]) - variables_in(given)
        some = FALSE
        for name in sorted(inputs & operands.shadows.keys()):
            bits = operands.shadows[name][0]
            some = some | (bits if isinstance(bits, Bool) else bits != 0)
        return some

    def _initiate(self, op: Op, effect: Initiate, operands: _Operands) -> None:
        """An asynchronous operation: what it writes is initialized as what it reads is when it is initiated. No thread may change
        either before it is complete. What it carries with it, or changes memory with, and what it changes must be initialized;
        so must what it reads and reorders, which then is all initialized."""
        page, to, source = contracts.initialization, effect.to, effect.source
        assert isinstance(to, Int) and not isinstance(source, InRegisters)
        when = () if effect.when is None else (number(effect.when),)
        carried = source.values if isinstance(source, Carried) else ()
        addresses = (to,) if isinstance(source, Carried) else (to, source)
        self._report(op, operands, page.ADDRESS, *addresses, *_some(effect.object))
        self._report(op, operands, page.OPERATION, effect.read, effect.size, *when, *carried)
        self.kernel.code.append(op)
        if effect.only_reads:
            return
        size, read = (x if effect.when is None else select(effect.when, x, 0) for x in (effect.size, effect.read))
        into, changes = self._is_space_tracked(effect.space), effect.change is not None
        if isinstance(source, Int) and self._is_space_tracked(effect.of):
            copies = not changes and effect.reorder.hi == 0
            if self._may_be_seen(effect.space) or not copies:
                what = page.UPDATED if changes else page.STORED
                self._examine(op, operands, Examine(what, effect.of, source, read, to))
            if into and copies:
                self._add(op, operands, (), Initialize(effect.space, to, size, True), op.guard)
                copied = Initialize(effect.space, to + effect.lead, read, True, effect.of, source, read)
                self._add(op, operands, (), copied, op.guard)
                return
        if into and changes:
            self._examine(op, operands, Examine(page.READ_BY_UPDATE, effect.space, to, size, to))
        elif into:
            self._add(op, operands, (), Initialize(effect.space, to, size, True), op.guard)

    def _examine(self, op: Op, operands: _Operands, examine: Examine) -> None:
        """Report if a bit of memory is undefined."""
        at = self._add(op, operands, (), examine, op.guard)
        self.reported[at] = Reported(frozenset(), examine.space)

    def _is_space_tracked(self, space: str) -> bool:
        """Whether what lies in a state space may be undefined."""
        if space == "generic":
            return self.generic
        name = contracts.access.unnumbered(space)
        if contracts.state_spaces.SPACES[name].shared_by == contracts.state_spaces.CONTEXT:
            return self.unwritten
        return contracts.initialization.begins_undefined(name)

    def _may_be_seen(self, space: str) -> bool:
        """Whether the host may see what is stored at an address in a state space; where a generic one leads, a run tells."""
        return space == "generic" or contracts.initialization.is_seen(contracts.access.unnumbered(space))

    def _reserve(self, op: Op, effect: Reserve, operands: _Operands, index: int) -> None:
        """Bytes that the stack gets are undefined."""
        kept, begin, size = f"@size.{index}", variable("begin of bytes", 64), variable("count of bytes", 64)
        self.kernel.registers[kept] = TYPES["b64"]
        self._add(op, operands, [(kept, low_bits(effect.size, 64))])
        self._defined(op)
        self.kernel.code.append(op)
        undefined = Initialize(contracts.state_spaces.OF_FRAMES, begin, size, False)
        self._add(op, None, (), undefined, op.guard, [(begin, ENDS), (size, kept)])

    # calls ---------------------------------------------------------------------------------------------------------------

    def _call(self, op: Op, effect: Call, operands: _Operands, index: int) -> None:
        """A call passes the shadows of arguments, and of results, in registers that all functions share."""
        call, page = op.call, contracts.initialization
        assert call is not None
        if isinstance(effect.function, Int):
            self._report(op, operands, page.BRANCH, effect.function)
        if system_function(self.before, op) is not None:
            self._system_call(op, call, index)
            return
        for formal in (*call.signature.parameters, *call.signature.returns):
            self._refuse_formal(op, formal, call.function is None)
        for k, (argument, formal) in enumerate(zip(call.arguments, call.signature.parameters, strict=False)):
            self._give(op, argument, formal, f"pass.{k}")
        self.kernel.code.append(op)
        for k, (result, formal) in enumerate(zip(call.results, call.signature.returns, strict=True)):
            if result != tree.Name("_"):
                self._take(op, result, formal, f"return.{k}", op.guard)

    def _operand_of(self, formal: Formal, function: Kernel) -> tree.Name:
        """A parameter or a result as the instructions of its function name it; or would name it, if none does."""
        if formal.register is not None or formal.place is None:
            return tree.Name(str(formal.register))
        names = (name for name, place in function.places.items() if place == formal.place)
        name = next(names, f"@{function.name}.{formal.place.name}")
        self.places.setdefault(name, formal.place)
        return tree.Name(name)

    def _refuse_formal(self, op: Op, formal: Formal, indirect: bool) -> None:
        """Raise ValueError for a parameter or a result that the check does not know."""
        if formal.is_open or (formal.is_array and indirect):
            what = "arrays without a size" if formal.is_open else "arrays in indirect calls"
            raise ValueError(f"check='uninitialized' does not know {what} ({op.plan.form.mnemonic})")

    def _words(self, formal: Formal, stem: str) -> list[tuple[str, int, Type]]:
        """The registers in which the undefined bits of an argument or a result are passed: (name, offset, type)."""
        size = formal.type.bytes if not formal.is_array else min(formal.aligned, 8)
        count = formal.size // size if formal.is_array else 1
        type = formal.type if formal.type.kind == "pred" else TYPES[f"b{8 * size}"]
        words = [(f"@{stem}.{j}.{type.width}{MODULE}", j * size, type) for j in range(count)]
        self.kernel.registers.update({name: type for name, _, type in words})
        return words

    def _framed(self, operand: Any) -> bool:
        """Whether an operand is a variable in a frame."""
        place = self.before.places.get(operand.text) if isinstance(operand, tree.Name) else None
        return place is not None and operand.text not in self.before.registers

    def _give(self, op: Op, operand: Any, formal: Formal, stem: str) -> None:
        """Leave the undefined bits of an argument or a result in registers."""
        for name, offset, type in self._words(formal, stem):
            bits: Any = _nothing(type)
            if self._framed(operand):
                self._load_frame(op, operand, offset, type, name)
                continue
            register = register_of(operand)
            known: list[tuple[Any, str]] = []
            if register is not None and register in self.shadowed:
                bits = _same(self.before.registers[register], "undefined bits")
                known.append((bits, shadow_of(register)))
            self._add(
                op, None, [(name, bits if isinstance(bits, Bool) else low_bits(bits, type.width))], registers=known
            )

    def _take(self, op: Op, operand: Any, formal: Formal, stem: str, guard: tuple[str, bool] | None) -> None:
        """Let a parameter or a result have the undefined bits that registers have."""
        for name, offset, type in self._words(formal, stem):
            bits = _same(type, "passed bits")
            if self._framed(operand):
                initialized = variable("passed bits", type.width) ^ (1 << type.width) - 1
                self._store_frame(op, operand, offset, type, initialized, [(bits, name)], guard)
            elif operand.text in self.shadowed:
                self._add(op, None, [(shadow_of(operand.text), bits)], None, guard, [(bits, name)])

    def _load_frame(self, op: Op, operand: Any, offset: int, type: Type, name: str) -> None:
        """Load undefined bits of a variable in the frame."""
        address, width = variable("address of frame", 64), type.width
        load = Load(contracts.state_spaces.OF_FRAMES, address, type, 1, {}, shadow=True)
        bits = variable("%loaded0", width) ^ (1 << width) - 1
        self._in_frame(op, operand, offset, load, [(name, bits)], (), None)

    def _store_frame(
        self,
        op: Op,
        operand: Any,
        offset: int,
        type: Type,
        bits: Int,
        known: Sequence[tuple[Any, str]],
        guard: tuple[str, bool] | None,
    ) -> None:
        """Store which bits of a variable in the frame are initialized."""
        address = variable("address of frame", 64)
        store = Store(contracts.state_spaces.OF_FRAMES, address, type, (bits,), {}, shadow=True)
        self._in_frame(op, operand, offset, store, (), known, guard)

    def _in_frame(
        self,
        op: Op,
        operand: Any,
        offset: int,
        effect: Load | Store,
        results: Sequence[tuple[str, Any]],
        known: Sequence[tuple[Any, str]],
        guard: tuple[str, bool] | None,
    ) -> None:
        at = self._add(op._replace(space=""), None, results, effect, guard, known)
        added = self.kernel.code[at]
        meaning = added.plan.meaning
        place = Input("address of frame", None, (variable("address of frame", 64),))
        plan = added.plan._replace(
            meaning=meaning._replace(inputs=(*meaning.inputs, place)),
            parts=(*added.plan.parts, Read("address of frame")),
        )
        self.kernel.code[at] = added._replace(plan=plan, operands=(*added.operands, tree.Sum(operand, offset)))

    def _system_call(self, op: Op, call: CallSite, index: int) -> None:
        """What is passed to the system must be initialized; what it gives is."""
        page = contracts.initialization
        for k, (argument, formal) in enumerate(zip(call.arguments, call.signature.parameters, strict=True)):
            self._give(op, argument, formal, f"pass.{k}")
            register = register_of(argument)
            about = {register} if register is not None and register in self.shadowed else set()
            for name, _, type in self._words(formal, f"pass.{k}"):
                bits = _same(type, "passed bits")
                some = bits if isinstance(bits, Bool) else bits != 0
                if about or self._framed(argument):
                    frames = contracts.state_spaces.OF_FRAMES
                    self._report_if(
                        op, _Operands(op, self.before, set()), page.SYSTEM, some, [(bits, name)], about, space=frames
                    )
        self.kernel.code.append(op)
        for result, formal in zip(call.results, call.signature.returns, strict=True):
            if self._framed(result):
                everything = integer((1 << 8 * formal.size) - 1)
                self._store_frame(op, result, 0, TYPES[f"b{8 * formal.size}"], everything, (), op.guard)
            elif register_of(result) in self.shadowed:
                self._add(op, None, [(shadow_of(str(register_of(result))), _nothing(formal.type))], None, op.guard)

    def _received(self, op: Op, function: str) -> None:
        """A function begins: its frame is undefined, and its parameters are as the call has passed them."""
        body = self.before.functions.get(function)
        if body is None or body.signature is None:
            return
        begin, frames = variable("begin of frame", 64), contracts.state_spaces.OF_FRAMES
        if body.frame_size:
            undefined = Initialize(frames, begin, integer(body.frame_size), False)
            self._add(op, None, (), undefined, None, [(begin, FRAME)])
        for k, formal in enumerate(body.signature.parameters):
            self._take(op, self._operand_of(formal, body), formal, f"pass.{k}", None)

    def _left(self, op: Op, index: int) -> None:
        """A function ends: it leaves the undefined bits of its results."""
        body = self.before.functions.get(self.flow.function_of(index))
        signature = None if body is None else body.signature
        if body is not None and signature is not None:
            for k, formal in enumerate(signature.returns):
                self._give(op, self._operand_of(formal, body), formal, f"return.{k}")


def bits_of_all(some: Bool, value: Any) -> Any:
    """All bits of a value, or none."""
    return some if isinstance(value, Bool) else select(some, integer(-1), integer(0))


def _width_of(bits: Any) -> int:
    """The width of a variable that stands in for undefined bits."""
    return max(int(bits.hi).bit_length(), 1)


def _same(type: Type, name: str) -> Any:
    return truth_variable(name) if type.kind == "pred" else variable(name, type.width)


def _everything(type: Type) -> Any:
    return TRUE if type.kind == "pred" else integer((1 << type.width) - 1)


def _nothing(type: Type) -> Any:
    return FALSE if type.kind == "pred" else integer(0)


def _some(term: Any) -> tuple[Any, ...]:
    return () if term is None else (term,)
