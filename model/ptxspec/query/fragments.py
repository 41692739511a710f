"""Straight-line fragments: instructions without declarations, whose registers take their types from the instructions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, assert_never

from ptxspec import contracts
from ptxspec.base.options import Contraction
from ptxspec.language import cited, tree
from ptxspec.language import operand_kinds as kinds
from ptxspec.language.building.modules import FragmentHeading
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
from ptxspec.query.executions import Executions
from ptxspec.query.results import consumed
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec.terms.core import Bool, constant, truth_variable, variable
from ptxspec.terms.editions import NEWEST, Epoch
from ptxspec.terms.effects import (
    Advance,
    Arrive,
    Branch,
    Call,
    Check,
    ClusterArrive,
    ClusterWait,
    Collective,
    Effect,
    Exit,
    Fence,
    Fencing,
    GridDependency,
    ImageAccess,
    IndexedBranch,
    Initiate,
    Load,
    Release,
    Reserve,
    Return,
    StackEnd,
    Stop,
    Store,
    Update,
    Wait,
    orders_memory,
)
from ptxspec.terms.kinds import Special, VectorOf, label, target_list
from ptxspec.terms.registries import changing
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, select, sign_extend

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


def told(effect: Effect) -> tuple[str, str]:
    """A word for an effect, and what it does beyond computing values of one thread."""
    match effect:
        case Load():
            return "load", "reads memory"
        case Store():
            return "store", "writes memory"
        case Update():
            return "update", "reads and writes memory"
        case Fence():
            return "fence", "orders accesses to memory"
        case GridDependency():
            return "grids", "lets dependent grids begin, or waits for others"
        case Check():
            return "check", "checks an address, and may end the launch"
        case Initiate() | Advance():
            return "copy", "starts an asynchronous copy, or waits for one"
        case Collective():
            return "collective", "depends on the other lanes of the warp"
        case Arrive() | Wait() | ClusterArrive() | ClusterWait():
            return "barrier", "waits for other threads"
        case Branch() | IndexedBranch():
            return "branch", "goes elsewhere in a kernel"
        case Call():
            return "call", "goes elsewhere in a kernel"
        case Return():
            return "return", "goes elsewhere in a kernel"
        case Exit():
            return "exit", "ends the thread"
        case Stop():
            return "stop", "ends the launch"
        case ImageAccess():
            return "image", "accesses a texture or a surface"
        case StackEnd() | Reserve() | Release():
            return "stack", "uses the stack of a thread"
        case _:
            assert_never(effect)


def _refused(mnemonic: str, effect: Effect) -> Unsupported:
    """Why an instruction with an effect cannot stand in a fragment, and what to do instead."""
    word, does = told(effect)
    return Unsupported(f"{mnemonic} has an effect ({word}): it {does}, which fragments cannot do; {_INSTEAD}")


#: what is taken for granted of one thread, and of one warp, where memory is accessed or ordered
ALONE = "One thread, alone: no other thread accesses the memory meanwhile."
WARP_ALONE = "One warp, alone: no other warp accesses the memory meanwhile."
#: instructions that a fragment may have
MOST_INSTRUCTIONS = 30_000


class Step(NamedTuple):
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


def _ordered(effect: Effect | None) -> tuple[Any, ...]:
    """What two effects of one kind have to agree in so that one may stand for the other in the order of memory, but for
    operands."""
    match effect:
        case Fence():
            return effect.order, effect.scope, effect.proxies, effect.restricted
        case GridDependency():
            return (effect.action,)
        case Load() | Store() | Update():
            return effect.count, effect.type.bytes, effect.order, effect.scope, effect.proxy
        case Wait():
            return ()
        case _:
            raise AssertionError(f"no effect that orders memory: {effect}")


class Fragment(NamedTuple):
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
    steps: tuple[Step, ...]
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
) -> Fragment:
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
    orders = [ordering_of(op, source) for op in ops if orders_memory(op.plan.meaning.effect)]
    return Fragment(
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
        self.rules = contracts.type_checking
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
        plan = _plan(item, self.registers, self.specials, self.rules, self.source, self.epoch)
        effect = plan.meaning.effect
        if not isinstance(effect, Fencing | None):
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
        found = as_contracted(self.kernel(ops), how)
        self.hidden = {n: t for n, t in found.registers.items() if n not in self.registers}
        return found.code

    def step(self, op: Op) -> Step:
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
        said, page = statement(self.source.text, op.position), page_name(definition.path)
        return Step(said, page, definition.line, written, types, shown, holds, plan=plan, sources=env)

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
            env[name] = _value(type, width, operand, {**self.registers, **self.hidden}, self.specials, self.read)
        return env

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


def _value(type: Type | None, width: int, operand: Any, registers: dict[str, Type], specials: Any, read: Any) -> Any:
    if isinstance(operand, tree.Address):
        raise Unsupported(f"an address in brackets: fragments cannot access memory; {_INSTEAD}")
    if isinstance(operand, tree.Not):
        return ~read(operand.name.text, TYPES["pred"])
    if isinstance(operand, tree.Number | tree.Float):
        assert type is not None
        bits = constant_bits(operand, type)
        return constant(bool(bits)) if type.kind == "pred" else constant(bits)
    name = operand.text if operand.text in registers else first_name(operand.text)
    if name not in registers and changing(name) is not None:
        raise Unsupported(f"{name} changes while a program runs; a fragment has no value for it")
    value = read(name, registers.get(name) or specials[name])
    return value if isinstance(value, Bool) else low_bits(value, width)


def _epoch(heading: FragmentHeading | None, source: Source) -> Epoch | None:
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


def _plan(
    item: tree.Instruction, registers: Any, specials: Any, rules: Any, source: Source, epoch: Epoch | None
) -> Plan:
    opcode = registry().opcodes.get(item.mnemonic.split(".")[0])
    if opcode is None:
        raise _without_form(without_form(None, item.mnemonic, epoch), item, source)
    try:
        shape = tuple(_kind(o, registers, specials) for o in item.operands)
    except KeyError as unknown:  # a name that no form takes where it stands has no type
        why = f"no form of {item.mnemonic} takes {unknown.args[0]} where it stands"
        raise source.error(item.position, why, page_name(opcode.forms[0].definition.path)) from None
    plan = find_form(opcode, item.mnemonic, shape, rules, epoch)
    if not isinstance(plan, Plan):
        raise _without_form(plan, item, source)
    return plan


def _without_form(found: Misfit | Missing, item: tree.Instruction, source: Source) -> PtxError:
    """The error for an instruction that fits no form, or that no page describes."""
    if isinstance(found, Missing):
        return source.error(item.position, found.message, cited.GAPS)
    return source.error(item.position, found.why, found.page)


def _kind(operand: tree.Operand, registers: dict[str, Type], specials: dict[str, Type]) -> Kind:
    """What kind an operand is of; an address is one of 64 bits. Raises KeyError for a name without a type."""
    match operand:
        case tree.Name("_"):
            return kinds.SINK
        case tree.Name(name):
            if name in registers:
                return registers[name]
            return kinds.SpecialKind(specials[name], special_origin(name).also)
        case tree.Number():
            return kinds.INTEGER
        case tree.Float():
            return kinds.RealKind(operand.width)
        case tree.Not():
            return kinds.NegatedKind(TYPES["pred"])
        case tree.Part():
            return kinds.PartKind(_kind(operand.name, registers, specials), operand.selector, operand.negated)
        case tree.Braces():
            return kinds.BracesKind(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Bracket():
            return kinds.BracketKind(tuple(_kind(e, registers, specials) for e in operand.elements))
        case tree.Pair():
            return kinds.PairKind(_kind(operand.first, registers, specials), _kind(operand.second, registers, specials))
        case tree.Parens():
            return kinds.LIST
        case tree.Sum() if operand.base.text in registers:
            return kinds.SumKind(registers[operand.base.text], int(operand.offset))
        case tree.Address() | tree.Element() | tree.Indexed() | tree.Sum():
            return kinds.MemoryKind(TYPES["b64"])
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
    found = _types(instructions, source, fixed, least, declared)
    return {name: type for name, type in found.items() if name not in declared and name != CONDITION_CODE}


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
    effects = [e for form in forms if not isinstance(e := form.meaning(form.absences[-1]).effect, Fencing | None)]
    if refuses and len(effects) == len(forms):
        raise _refused(item.mnemonic, effects[0])
    for form in forms:
        found = _match(form, item, not refuses)
        if found is not None:
            return found
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
    found: list[tuple[str, Type, bool]] = []
    results = list(definition.results)

    def note(operand: Any, type: Any) -> bool:
        if isinstance(type, VectorOf):
            type = type.element
        if isinstance(type, Special):
            return (type.name == "address" and isinstance(operand, tree.Address)) or (labels and type in _NOT_VALUES)
        if not isinstance(type, Type):  # a matrix's fragment, say, which no instruction without an effect takes
            return False
        elements = operand.elements if isinstance(operand, tree.Braces) else (operand,)
        for one in elements:
            name = one.name.text if isinstance(one, tree.Not) else one.text if isinstance(one, tree.Name) else None
            if isinstance(one, tree.Address | tree.Sum | tree.Pair | tree.Braces):
                return False
            if name is not None and name != "_":
                found.append((name, type if type.kind == "pred" else type.bits, definition.wider))
        return True

    for group, operand in zip(groups, item.operands, strict=False):
        members: list[Any] = [tree.bare(operand)]
        if group[0].group:
            if not isinstance(operand, tree.Braces) or len(operand.elements) != len(group):
                return None
            members = list(operand.elements)
        for place, one in zip(group, members, strict=True):
            parameter = definition.sources.get(place.name)
            if parameter is not None:
                if isinstance(one, tree.Braces) and not form.modifiers.get("vec"):
                    return None
                if not note(one, definition.type_of(place.name, parameter.annotation, form.modifiers)):
                    return None
                continue
            wanted = [results.pop(0)] + ([results.pop(0)] if place.second else [])
            targets = [one.first, one.second] if isinstance(one, tree.Pair) else [one]
            if isinstance(one, tree.Braces) and not form.modifiers.get("vec"):
                return None
            for target, annotation in zip(targets, wanted, strict=False):
                if not note(target, definition.type_of(place.name, annotation, form.modifiers)):
                    return None
    return found
