"""Straight-line fragments: instructions without declarations, whose registers take their types from the instructions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, assert_never

from ptxspec.base.options import Contraction
from ptxspec.language import cited, tree
from ptxspec.language import operand_kinds as kinds
from ptxspec.language.building.modules import Heading
from ptxspec.language.checked import Kernel, Missing, Op, Plan
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.diagnostics import Complaints, PtxError, Source
from ptxspec.language.form_selection import Misfit, find_form, without_form
from ptxspec.language.forms import Form, page_name, registry
from ptxspec.language.module_context import features, target_number
from ptxspec.language.operand_kinds import Kind
from ptxspec.language.parser import ended, parse_fragment, statement
from ptxspec.language.preamble import has_target, has_version
from ptxspec.language.specials import first_name, special_origin, special_registers
from ptxspec.machine.flow import destinations, values_of
from ptxspec.query.results import consumed
from ptxspec.terms import effects
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import Bool, Int, constant, make, truth_variable, variable
from ptxspec.terms.editions import NEWEST, Epoch
from ptxspec.terms.kinds import Special, VectorOf, label, target_list
from ptxspec.terms.registries import changing
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import (
    EACH_EXECUTION,
    FALSE,
    NUMBERED,
    TRUE,
    low_bits,
    number,
    rebuilt,
    select,
    sign_extend,
)


class Executions:
    """The executions of a side so far, in their order."""

    def __init__(self) -> None:
        #: by a freedom's attributes: the operands of those that were met, and when they are executed
        self._before: dict[Any, list[tuple[tuple[Any, ...], Bool]]] = {}

    def substitute(self, term: Any, values: dict[str, Any], memo: dict[int, Any], holds: Bool = TRUE) -> Any:
        """A term of an instruction that is executed where a condition holds, with variables replaced by other terms. `memo` is
        shared between the terms of one execution."""

        def replace(t: Any, args: tuple[Any, ...]) -> Any:
            if t.op == "var":
                return values.get(t.attrs[0], t)
            if t.op != "freedom" or t.attrs[6] != EACH_EXECUTION:
                return None
            before = self._before.setdefault(t.attrs, [])
            count: Int = constant(0)  # of those before that were executed and have equal operands
            for others, when in before:
                count = count + number(reduce(and_, (x == y for x, y in zip(args, others, strict=True)), when))
            before.append((args, holds))
            return make(t.op, (*args, count), (*t.attrs[:6], NUMBERED))

        return rebuilt(term, replace, memo)


#: operands that are no values of registers
_NOT_VALUES: tuple[Any, ...] = (label, target_list)


class Unsupported(Exception):
    """A fragment, or a request, that a function does not support. `evaluate`, `explain`, `allowed` and `find` do not support
    instructions that access memory, branch, or depend on other threads.

    >>> try:
    ...     ptxspec.evaluate("bar.sync 0;")
    ... except ptxspec.Unsupported as error:
    ...     print(str(error).partition(":")[0])
    bar.sync has an effect (barrier)
    """


_INSTEAD = (
    "to execute it, put it into a kernel and launch that: ptxspec.load(text).launch(…), or the command ptxspec run"
)


def description_of(effect: effects.Effect) -> tuple[str, str]:
    """A word for an effect, and what it does beyond computing values of one thread."""
    match effect:
        case effects.Load():
            return "load", "reads memory"
        case effects.Store():
            return "store", "writes memory"
        case effects.Update():
            return "update", "reads and writes memory"
        case effects.Fence():
            return "fence", "orders accesses to memory"
        case effects.GridDependency():
            return "grids", "lets dependent grids begin, or waits for others"
        case effects.Check():
            return "check", "checks an address, and may end the launch"
        case effects.Initiate() | effects.Advance():
            return "copy", "starts an asynchronous copy, or waits for one"
        case effects.Collective():
            return "collective", "depends on the other lanes of the warp"
        case effects.Arrive() | effects.Wait() | effects.ClusterArrive() | effects.ClusterWait():
            return "barrier", "waits for other threads"
        case effects.Branch() | effects.IndexedBranch():
            return "branch", "goes elsewhere in a kernel"
        case effects.Call():
            return "call", "goes elsewhere in a kernel"
        case effects.Return():
            return "return", "goes elsewhere in a kernel"
        case effects.Exit():
            return "exit", "ends the thread"
        case effects.Stop():
            return "stop", "ends the launch"
        case effects.ImageAccess():
            return "image", "accesses a texture or a surface"
        case effects.StackEnd() | effects.Reserve() | effects.Release():
            return "stack", "uses the stack of a thread"
        case _:
            assert_never(effect)


def _refused(mnemonic: str, effect: effects.Effect) -> Unsupported:
    """Why an instruction with an effect cannot stand in a fragment, and what to do instead."""
    word, does = description_of(effect)
    return Unsupported(f"{mnemonic} has an effect ({word}): it {does}, which fragments cannot do; {_INSTEAD}")


#: what is taken for granted of one thread, and of one warp, where memory is accessed or ordered
ALONE = "One thread, alone: no other thread accesses the memory meanwhile."
WARP_ALONE = "One warp, alone: no other warp accesses the memory meanwhile."
#: instructions that a fragment may have
MOST_INSTRUCTIONS = 30_000


class InstructionStep(NamedTuple):
    """One instruction of a fragment, and what it wrote: register -> term of its raw bits (or a Bool), and the type that the
    instruction's form gives to what it wrote. `guard` is its guard as written, and `holds` the term that says whether it lets the
    instruction through; None without one. `reached` is the term that says whether the thread comes to it at all; None if
    it always does. `plan` says how the operands fill the form, and `sources` what they hold: a term for each variable of the
    definition's meaning."""

    text: str
    page: str
    line: int
    writes: dict[str, Any]
    types: dict[str, Type]
    guard: str | None = None
    holds: Any = None
    reached: Any = None
    plan: Plan | None = None
    sources: Mapping[str, Any] = {}


class Beyond(NamedTuple):
    """Executions of which nothing is known: where they end, in words, and the condition under which there are any."""

    where: str
    holds: Any


class Ordering(NamedTuple):
    """An instruction that takes part in the order of memory: what it orders, its text, and its line."""

    what: str
    text: str
    line: int


def ordering_of(op: Op, source: Source) -> Ordering:
    """What an instruction orders, and how, in words that are the same for instructions that may stand for one another."""
    effect = op.plan.meaning.effect
    results = "to a register" if any(destinations(op)) else "without a result"
    what = f"{type(effect).__name__} {results} {_ordered(effect)}"
    return Ordering(what, statement(source.text, op.position), source.line(op.position))


def _ordered(effect: effects.Effect | None) -> tuple[Any, ...]:
    """What two effects of one kind have to agree in so that one may stand for the other in the order of memory, but for
    operands."""
    match effect:
        case effects.Fence():
            return effect.order, effect.scope, effect.proxies, effect.restricted
        case effects.GridDependency():
            return (effect.action,)
        case effects.Load() | effects.Store() | effects.Update():
            return effect.count, effect.type.bytes, effect.order, effect.scope, effect.proxy
        case effects.Wait():
            return ()
        case _:
            raise AssertionError(f"no effect that orders memory: {effect}")


class SymbolicFragment(NamedTuple):
    """A checked fragment. `registers` gives every name's type; `inputs` are those read before they are written, `carried`
    those among them that are read only because a guarded instruction may leave them as they were; `outputs` maps each name
    that is written to the term of its register's final value; `left` has the type that the last instruction to write a name
    gives it, whatever the width of its register; `steps` are the instructions. `formats` has the type of each name that holds a
    format which cannot be declared, or packed values, as it is first read or last written. `taken` gives the type as which an
    instruction first takes an input (one of numbers before one of bits).

    `faults` says on which inputs the execution is undefined, `beyond` on which it goes where it was not followed, and `given` is
    what holds of its inputs anyway; `notes` says what was taken for granted. `bytes` are those outputs that are bytes of
    memory, `memory` the buffers and variables that there are. `obligations` are what has to be shown of an invariant: in
    words, and the condition under which it fails; `stepped` is that the invariant holds where its loop was stepped over. If a
    side `steps_over` one, what the loop leaves is any state that the invariant allows, be it reached or not. `side` is the
    text as a kernel, if it is no straight line. `epoch` has the version and the target that the text says, None if it says
    neither. `unwritten` has, by name, the terms of what registers and memory of a kernel or a function hold before anything
    is written; of those that are `idle`, no path reads that. `scratch` are the registers
    whose last value a later instruction reads. `orders` has the instructions that take part in the order of
    memory. `named` has the types of registers as the text names them, whichever lane they are of; what a module declares is
    not among them."""

    text: str
    registers: dict[str, Type]
    inputs: tuple[str, ...]
    carried: frozenset[str]
    outputs: dict[str, Any]
    steps: tuple[InstructionStep, ...]
    formats: dict[str, Type]
    taken: dict[str, Type]
    left: dict[str, Type]
    faults: Bool = FALSE
    beyond: tuple[Beyond, ...] = ()
    given: Bool = TRUE
    notes: tuple[str, ...] = ()
    bytes: frozenset[str] = frozenset()
    memory: frozenset[str] = frozenset()
    obligations: tuple[Any, ...] = ()
    stepped: Bool = TRUE
    steps_over: bool = False
    side: Any = None
    epoch: Epoch | None = None
    unwritten: dict[str, Any] = {}
    scratch: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()
    orders: tuple[Ordering, ...] = ()
    named: Mapping[str, Type] = {}


def read_fragment(
    text: str,
    path: str = "<fragment>",
    types: dict[str, Type] | None = None,
    contract: Contraction = "none",
) -> SymbolicFragment:
    """Parse, type and evaluate a fragment symbolically: in a module of the version and the target that stand before it, or else
    the newest that has its instructions. `types` fixes the types of some names (the other side's, say), `contract` says which
    products and sums are contracted.
    Raises PtxError if the text has errors, and Unsupported for instructions that access memory or branch."""
    source = Source(ended(text), path)
    heading, items = parse_fragment(source)
    epoch = _epoch(heading, source)
    instructions = [item for item in items if isinstance(item, tree.Instruction)]
    if len(instructions) < len(items):
        raise Unsupported(f"a fragment is a sequence of instructions: no labels, blocks or declarations; {_INSTEAD}")
    if len(items) > MOST_INSTRUCTIONS:
        raise Unsupported(f"a fragment has at most {MOST_INSTRUCTIONS:,} instructions, not {len(items):,}; {_INSTEAD}")
    reading = _Reading(source, _types(instructions, source, types or {}), epoch)
    written = [reading.op(item) for item in instructions]
    ops = reading.contracted(written, contract)
    steps = [reading.step(op) for op in ops]
    outputs = {name: reading.values[name] for step in steps for name in step.writes}
    carried = frozenset(name for name, only in reading.inputs.items() if only)
    inputs = tuple(reading.inputs)
    orders = [ordering_of(op, source) for op in ops if effects.orders_memory(op.plan.meaning.effect)]
    return SymbolicFragment(
        text,
        reading.registers,
        inputs,
        carried,
        outputs,
        tuple(steps),
        reading.formats,
        reading.taken,
        reading.left,
        notes=(ALONE,) if orders else (),
        epoch=epoch,
        scratch=consumed(reading.kernel(written)),
        orders=tuple(orders),
        named=reading.registers,
    )


def as_contracted(kernel: Kernel, how: Contraction) -> Kernel:
    """A kernel with products and sums contracted."""
    if how == "none":
        return kernel
    from ptxspec.machine.contraction import contracted, perhaps_contracted

    return contracted(kernel) if how == "all" else perhaps_contracted(kernel)


class _Reading:
    """What a fragment's registers hold while one instruction after another is read."""

    def __init__(self, source: Source, registers: dict[str, Type], epoch: Epoch | None):
        self.source, self.registers, self.epoch = source, registers, epoch
        self.specials = special_registers()
        self.values: dict[str, Any] = {}
        #: by name, whether it is read only because a guarded instruction may leave it as it was
        self.inputs: dict[str, bool] = {}
        # as Fragment has them
        self.formats: dict[str, Type] = {}
        self.taken: dict[str, Type] = {}
        self.left: dict[str, Type] = {}
        self.executions = Executions()
        #: registers of contracted products, which no identifier names
        self.hidden: dict[str, Type] = {}

    def read(self, name: str, type: Type, carried: bool = False) -> Any:
        """What a register holds: an input, where nothing has written it."""
        if name in self.inputs and not carried and self.values[name].op == "var":
            self.inputs[name] = False
        if name not in self.values:
            self.inputs[name] = carried
            self.values[name] = truth_variable(name) if type.kind == "pred" else variable(name, type.width)
        return self.values[name]

    def op(self, item: tree.Instruction) -> Op:
        """One instruction with its form."""
        opcode = registry().opcodes.get(item.mnemonic.split(".")[0])
        if opcode is None:
            raise _without_form(without_form(None, item.mnemonic, self.epoch), item, self.source)
        try:
            shape = tuple(_kind(operand, self.registers, self.specials) for operand in item.operands)
        except KeyError as unknown:  # a name that no form takes where it stands has no type
            why = f"no form of {item.mnemonic} takes {unknown.args[0]} where it stands"
            page = page_name(opcode.forms[0].definition.path)
            raise self.source.error(item.position, why, page) from None
        plan = find_form(opcode, item.mnemonic, shape, self.epoch)
        if not isinstance(plan, Plan):
            raise _without_form(plan, item, self.source)
        effect = plan.meaning.effect
        if not isinstance(effect, effects.Fencing | None):
            raise _refused(item.mnemonic, effect)
        if plan.meaning.uses_carry:
            self.registers[CONDITION_CODE] = TYPES["pred"]
        return Op(plan, tuple(map(tree.bare, item.operands)), item.guard, item.position)

    def kernel(self, ops: list[Op]) -> Kernel:
        """The instructions as a kernel."""
        kernel = Kernel("a fragment")
        kernel.code, kernel.registers = ops, self.registers
        return kernel

    def contracted(self, ops: list[Op], how: Contraction) -> list[Op]:
        """The instructions with products and sums contracted."""
        if how == "none" or len(ops) < 2:
            return ops
        kernel = as_contracted(self.kernel(ops), how)
        self.hidden = {n: t for n, t in kernel.registers.items() if n not in self.registers}
        return kernel.code

    def step(self, op: Op) -> InstructionStep:
        """One instruction, after which the registers hold what it wrote."""
        plan = op.plan
        env = self._sources(op)
        shown = holds = None
        if op.guard is not None:
            guarded = self.read(op.guard[0], TYPES["pred"])
            shown, holds = "!" * op.guard[1] + op.guard[0], ~guarded if op.guard[1] else guarded
        written, types = self._written(op, env, holds)
        self.values.update(written)
        for name in self.hidden.keys() & written.keys():
            del written[name], types[name]
        definition = plan.form.definition
        text, page = statement(self.source.text, op.position), page_name(definition.path)
        return InstructionStep(text, page, definition.line, written, types, shown, holds, plan=plan, sources=env)

    def _sources(self, op: Op) -> dict[str, Any]:
        """By the names of the definition's variables, what the operands hold."""
        env = {}
        for type, placeholder, operand in values_of(op):
            if isinstance(operand, tree.Name) and operand.text not in self.values and _is_special(type):
                assert type is not None
                self.formats.setdefault(operand.text, type)
            if isinstance(operand, tree.Name) and type is not None and operand.text not in self.left:
                known = self.taken.get(operand.text)
                if known is None or (known.kind == "b" and type.kind != "b"):
                    self.taken[operand.text] = type
            name, width = placeholder.attrs[:2]
            env[name] = self._value(type, width, operand)
        return env

    def _value(self, type: Type | None, width: int, operand: Any) -> Any:
        if isinstance(operand, tree.Address):
            raise Unsupported(f"an address in brackets: fragments cannot access memory; {_INSTEAD}")
        if isinstance(operand, tree.Not):
            return ~self.read(operand.name.text, TYPES["pred"])
        if isinstance(operand, tree.Number | tree.Real):
            assert type is not None
            bits = constant_bits(operand, type)
            return constant(bool(bits)) if type.kind == "pred" else constant(bits)
        name, register = operand.text, self.registers.get(operand.text) or self.hidden.get(operand.text)
        if register is None:
            name = first_name(name)
            register = self.registers.get(name) or self.hidden.get(name)
        if register is None and changing(name) is not None:
            raise Unsupported(f"{name} changes while a program runs; a fragment has no value for it")
        value = self.read(name, register or self.specials[name])
        return value if isinstance(value, Bool) else low_bits(value, width)

    def _written(self, op: Op, env: dict[str, Any], holds: Any) -> tuple[dict[str, Any], dict[str, Type]]:
        """By register, what an instruction writes if its guard `holds`, and the type that its form gives to that."""
        written: dict[str, Any] = {}
        types: dict[str, Type] = {}
        memo: dict[int, Any] = {}
        for name, type, term in destinations(op):
            value = self.executions.substitute(term, env, memo, TRUE if holds is None else holds)
            register = self.registers.get(name) or self.hidden[name]
            if _is_special(type):
                self.formats[name] = type
            else:
                self.formats.pop(name, None)
            if type.signed and register.width > type.width:
                value = low_bits(sign_extend(value, type.width), register.width)
            if name in self.registers:
                self.left[name] = type
            if holds is not None:
                value = select(holds, value, self.read(name, register, carried=True))
            written[name], types[name] = value, type
        return written, types


def _is_special(type: Type | None) -> bool:
    """Whether the register's own type does not tell what is in it."""
    return type is not None and (type.elements > 1 or not type.is_fundamental)


def _epoch(heading: Heading | None, source: Source) -> Epoch | None:
    """The version and the target that a fragment says; the newest of what it leaves out; None if it says neither."""
    if heading is None:
        return None
    epoch, complaints = NEWEST, Complaints(source)
    if heading.version is not None:
        if not has_version(complaints, heading.version_position or 0, heading.version):
            raise complaints.error()
        epoch = epoch._replace(version=heading.version)
    if heading.target is not None:
        if not has_target(complaints, heading.target_position or 0, heading.target, heading.version):
            raise complaints.error()
        epoch = epoch._replace(target=target_number(heading.target), features=features(heading.target))
    return epoch


def _without_form(misfit: Misfit | Missing, item: tree.Instruction, source: Source) -> PtxError:
    """The error for an instruction that fits no form, or that no page describes."""
    if isinstance(misfit, Missing):
        return source.error(item.position, misfit.said, cited.GAPS)
    return source.error(item.position, misfit.why, misfit.page)


def _kind(operand: tree.Operand, registers: dict[str, Type], specials: dict[str, Type]) -> Kind:
    """What kind an operand is of; an address is one of 64 bits. Raises KeyError for a name without a type."""
    match operand:
        case tree.Name("_"):
            return kinds.SINK
        case tree.Name(name):
            if name in registers:
                return registers[name]
            return kinds.Special(specials[name], special_origin(name).also)
        case tree.Number():
            return kinds.INTEGER
        case tree.Real():
            return kinds.Real(operand.width)
        case tree.Not():
            return kinds.Negated(TYPES["pred"])
        case tree.Part():
            return kinds.Part(_kind(operand.name, registers, specials), operand.selector, operand.negated)
        case tree.Braces():
            return kinds.Braces(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Bracket():
            return kinds.Bracket(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Pair():
            return kinds.Pair(_kind(operand.first, registers, specials), _kind(operand.second, registers, specials))
        case tree.Parens():
            return kinds.LIST
        case tree.Sum() if operand.base.text in registers:
            return kinds.Sum(registers[operand.base.text], int(operand.offset))
        case tree.Address() | tree.Element() | tree.Indexed() | tree.Sum():
            return kinds.Memory(TYPES["b64"])
        case _:
            assert_never(operand)


def register_types(
    items: list[Any], source: Source, fixed: dict[str, Type], pointers: dict[str, Type]
) -> dict[str, Type]:
    """The types of the registers that statements with effects, branches and declarations do not declare themselves; `pointers`
    has those of registers that hold addresses, where nothing else tells."""
    declared: set[str] = set()
    for item in items:
        if isinstance(item, tree.Variable):
            declared |= {item.name} if item.repeat is None else {f"{item.name}{i}" for i in range(item.repeat)}
        elif isinstance(item, tree.Label | tree.Targets | tree.Prototype):
            declared.add(item.name)
    instructions = [item for item in items if isinstance(item, tree.Instruction)]
    least = dict(pointers)
    for item in instructions:
        for operand in item.operands:
            if isinstance(operand, tree.Address) and isinstance(operand.base, tree.Name):
                least.setdefault(operand.base.text, TYPES["b64"])
    types = _types(instructions, source, fixed, least, declared)
    return {name: type for name, type in types.items() if name not in declared and name != CONDITION_CODE}


def _types(
    items: list[Any],
    source: Source,
    fixed: dict[str, Type],
    least: dict[str, Type] | None = None,
    declared: Collection[str] = (),
) -> dict[str, Type]:
    """The type of every register: bits of the width that its instructions ask for (of the greatest such width where they take
    wider registers), or a predicate. Where effects are allowed, `least` has the types of registers that instructions say nothing
    of, and `declared` names that are none of these registers."""
    strict: dict[str, Type] = dict(fixed)
    refuses = least is None
    least = {} if least is None else least
    specials = special_registers()
    for item in items:
        if item.guard is not None and item.guard[0] not in declared:
            _agree(strict, item.guard[0], TYPES["pred"], item, source)
        for name, type, wider in _wanted(item, source, refuses):
            if (name in specials and name not in fixed) or name in declared:
                continue
            if wider and name != CONDITION_CODE:
                if name not in least or least[name].width < type.width:
                    least[name] = type
            else:
                _agree(strict, name, type, item, source)
    for name, type in least.items():
        if name not in strict:
            strict[name] = type
    return strict


def _agree(types: dict[str, Type], name: str, type: Type, item: Any, source: Source) -> None:
    if name == CONDITION_CODE:
        raise source.error(item.position, f"{name} is no operand that an instruction can name")
    known = types.setdefault(name, type)
    if known != type:
        raise source.error(item.position, f"{name} is {known} elsewhere, {item.mnemonic} needs {type}")


def _wanted(item: tree.Instruction, source: Source, refuses: bool = True) -> list[tuple[str, Type, bool]]:
    """(register, type, may be wider) for each register operand, from the first form that the operands' shapes allow. What has an
    effect is refused, or else nothing is said of an instruction that no form fits."""
    opcode = registry().opcodes.get(item.mnemonic.split(".")[0])
    forms = opcode.find(item.mnemonic) if opcode is not None else []
    if not forms:
        raise _without_form(without_form(opcode, item.mnemonic, None), item, source)
    refused = [
        e for form in forms if not isinstance(e := form.meaning(form.absences[-1]).effect, effects.Fencing | None)
    ]
    if refuses and len(refused) == len(forms):
        raise _refused(item.mnemonic, refused[0])
    for form in forms:
        types = _match(form, item, not refuses)
        if types is not None:
            return types
    if not refuses:
        return []
    known = list(dict.fromkeys(map(str, forms)))
    shown = " or ".join(known[:4]) + (" …" if len(known) > 4 else "")
    page = page_name(forms[0].definition.path)
    raise source.error(item.position, f"no form of {item.mnemonic} takes these operands; there is {shown}", page)


def _match(form: Form, item: tree.Instruction, labels: bool = False) -> list[tuple[str, Type, bool]] | None:
    definition = form.definition
    groups = form.places
    if not sum(not g[0].optional for g in groups) <= len(item.operands) <= len(groups):
        return None
    types: list[tuple[str, Type, bool]] = []
    results = list(definition.results)

    def note(operand: Any, type: Any) -> bool:
        if isinstance(type, VectorOf):
            type = type.element
        if isinstance(type, Special):
            return (type.name == "address" and isinstance(operand, tree.Address)) or (labels and type in _NOT_VALUES)
        if not isinstance(type, Type):  # a matrix's fragment, say, which no instruction without an effect takes
            return False
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        for part in elements:
            name = part.name.text if isinstance(part, tree.Not) else part.text if isinstance(part, tree.Name) else None
            if isinstance(part, tree.Address | tree.Sum | tree.Pair | tree.Braces):
                return False
            if name is not None and name != "_":
                types.append((name, type if type.kind == "pred" else type.bits, definition.wider))
        return True

    for group, operand in zip(groups, item.operands, strict=False):
        members: list[Any] = [tree.bare(operand)]
        if group[0].group:
            if not isinstance(operand, tree.Braces) or len(operand.elements) != len(group):
                return None
            members = list(operand.elements)
        for place, part in zip(group, members, strict=True):
            parameter = definition.sources.get(place.name)
            if parameter is not None:
                if isinstance(part, tree.Braces) and not form.modifiers.get("vec"):
                    return None
                if not note(part, definition.type_of(place.name, parameter.annotation, form.modifiers)):
                    return None
                continue
            wanted = [results.pop(0)] + ([results.pop(0)] if place.second else [])
            targets = [part.first, part.second] if isinstance(part, tree.Pair) else [part]
            if isinstance(part, tree.Braces) and not form.modifiers.get("vec"):
                return None
            for target, annotation in zip(targets, wanted, strict=False):
                if not note(target, definition.type_of(place.name, annotation, form.modifiers)):
                    return None
    return types
