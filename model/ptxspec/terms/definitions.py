"""Definitions: the functions on the pages that say what an instruction does, and what they evaluate to for one form."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ptxspec.terms.core import Bool, Int, Term, blame, integer, truth, truth_variable, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import low_bits, select, sign_extend

# What annotations say about an operand ---------------------------------------------------------------------------------


class Slot(NamedTuple):
    """The type that a modifier names: `of.dtype` is whatever the form has for `.dtype`; `of.type.doubled`, `.half` and
    `.quarter` are the types of the same kind and that width."""

    name: str
    scale: int = 0

    @property
    def doubled(self) -> Slot:
        return Slot(self.name, 1)

    @property
    def half(self) -> Slot:
        return Slot(self.name, -1)

    @property
    def quarter(self) -> Slot:
        return Slot(self.name, -2)

    def type(self, modifiers: dict[str, Any]) -> Type:
        found = modifiers.get(self.name)
        if not isinstance(found, Type):
            raise blame(f"no type is bound to the modifier .{self.name}")
        width = found.width << self.scale if self.scale > 0 else found.width >> -self.scale
        return TYPES[f"{found.kind}{width}"] if self.scale else found


class _Of:
    def __getattr__(self, name: str) -> Slot:
        return Slot(name)


class VectorOf(NamedTuple):
    """As many registers of one type as the modifier `.vec` says: one without it, else two or four in braces."""

    element: Type | Slot


class _Vector:
    def __getitem__(self, element: Type | Slot) -> VectorOf:
        return VectorOf(element)


class TupleOf(NamedTuple):
    """Several values at once, as many and of such types as `has_elements` says of the form; or their types, once they are
    known."""

    types: tuple[Type, ...] = ()


class Immediate(NamedTuple):
    """An operand that must be a constant of a type."""

    type: Type


class Special(NamedTuple):
    """An operand that is no value of a register: an address, the name of a variable, a label, a texture."""

    name: str

    def __repr__(self) -> str:
        return self.name


if TYPE_CHECKING:  # what a type checker sees: operands are integers or truth values

    class of:
        type: TypeAlias = Int
        dtype: TypeAlias = Int
        stype: TypeAlias = Int
        ctype: TypeAlias = Int
        atype: TypeAlias = Int
        btype: TypeAlias = Int
        size: TypeAlias = Int

    vector: TypeAlias = list
    address: TypeAlias = Int
    variable_address: TypeAlias = Int
    label: TypeAlias = Special
    function_name: TypeAlias = Special
    function_address: TypeAlias = Int
    list_of_operands: TypeAlias = Special
    target_list: TypeAlias = Special
    texture: TypeAlias = Int
    sampler: TypeAlias = Int
    sampler_state: TypeAlias = Int
    surface: TypeAlias = Int
    coordinates: TypeAlias = list[Int]
    cache_policy: TypeAlias = Special
    immediate_u8: TypeAlias = Int
    immediate_u16: TypeAlias = Int
    immediate_u32: TypeAlias = Int
    pred: TypeAlias = Bool
    b8: TypeAlias = Int
    b16: TypeAlias = Int
    b32: TypeAlias = Int
    b64: TypeAlias = Int
    b128: TypeAlias = Int
    u8: TypeAlias = Int
    u16: TypeAlias = Int
    u32: TypeAlias = Int
    u64: TypeAlias = Int
    s8: TypeAlias = Int
    s16: TypeAlias = Int
    s32: TypeAlias = Int
    s64: TypeAlias = Int
    f16: TypeAlias = Int
    f32: TypeAlias = Int
    f64: TypeAlias = Int
else:
    of = _Of()
    vector = _Vector()
    address = Special("address")
    variable_address = Special("variable_address")
    label = Special("label")
    function_name = Special("function_name")
    function_address = Special("function_address")
    list_of_operands = Special("list_of_operands")
    target_list = Special("target_list")
    texture = Special("texture")
    sampler = Special("sampler")
    sampler_state = Special("sampler_state")
    surface = Special("surface")
    cache_policy = Special("cache_policy")
    coordinates = TupleOf()
    immediate_u8 = Immediate(TYPES["u8"])
    immediate_u16 = Immediate(TYPES["u16"])
    immediate_u32 = Immediate(TYPES["u32"])
    pred = TYPES["pred"]
    globals().update({name: type for name, type in TYPES.items() if name != "pred"})


#: operands that are handles of opaque variables
HANDLES = ("texture", "sampler", "sampler_state", "surface")

#: the default of an operand that may be left out
absent: Any = None

# Effects ---------------------------------------------------------------------------------------------------------------


class Effect(NamedTuple):
    """What an instruction does beyond writing registers. `fields` are terms or static values."""

    kind: str
    fields: dict[str, Any]


class _Trace:
    """What the definition that is being evaluated does: its effects, and its use of the condition code."""

    current: list[Effect] | None = None
    carry_read = False
    carry_written: Bool | None = None
    borrows = False
    specials: tuple[str, ...] = ()


def _effect(kind: str, **fields: Any) -> None:
    if _Trace.current is None:
        raise blame(f"{kind} outside an instruction's definition")
    if _Trace.current:
        raise blame(f"a second effect ({kind}, after {_Trace.current[0].kind}) in one instruction")
    _Trace.current.append(Effect(kind, fields))


def load(space: str, at: Int, type: Type, count: int = 1, **how: Any) -> list[Int]:
    """Read `count` consecutive values of `type` from an address of a state space ("generic": of whichever it falls in).
    `how` names cache operators and the like, which change no value."""
    values = [variable(f"%loaded{i}", type.width) for i in range(count)]
    _effect("load", space=space, address=integer(at), type=type, count=count, how=how)
    return [sign_extend(v, type.width) if type.signed else v for v in values]


def store(space: str, at: Int, type: Type, values: list[Int], **how: Any) -> None:
    """Write consecutive values of `type` to an address."""
    _effect(
        "store",
        space=space,
        address=integer(at),
        type=type,
        values=tuple(low_bits(v, type.width) for v in values),
        how=how,
    )


def update(space: str, at: Int, type: Type, change: Callable[[Int], Int | int], **how: Any) -> Int:
    """Read a value of `type`, write change(value) in its place, with no other access between, and give what was read."""
    raw = variable("%loaded0", type.width)
    old = sign_extend(raw, type.width) if type.signed else raw
    new = low_bits(integer(change(old)), type.width)
    _effect("update", space=space, address=integer(at), type=type, count=1, values=(new,), how=how)
    return old


def update_each(
    space: str, at: Int, type: Type, values: list[Int], change: Callable[[Int, Int], Int | int], **how: Any
) -> list[Int]:
    """The same for as many consecutive values of `type` as there are in `values`: in the place of each comes
    change(what was there, the value that stands at its place in `values`). What was read is given."""
    raw = [variable(f"%loaded{i}", type.width) for i in range(len(values))]
    old = [sign_extend(v, type.width) if type.signed else v for v in raw]
    new = tuple(low_bits(integer(change(o, v)), type.width) for o, v in zip(old, values, strict=True))
    _effect("update", space=space, address=integer(at), type=type, count=len(values), values=new, how=how)
    return old


class Gathered(NamedTuple):
    """What the lanes of a warp put together: `members` has a 1 for every lane that takes part, `values` what each lane gave
    (for a lane that takes no part, no value in particular), `lane` is the thread's own. `at_once` has a 1 for every lane that
    executes the instruction at the same time, on this machine, be it for members of its own: these have given a value, too."""

    members: Int
    values: list[Int]
    lane: Int
    at_once: Int


def gather(value: Int | int, width: int, members: Int | None = None, *, patient: bool = False) -> Gathered:
    """Wait for the other threads of the warp that are named in `members` (a 1 a lane), and see the value, of `width` bits,
    that each of them gives. Without `members`, those take part that come to the instruction together; `patient` ones wait
    for those that may still come however long these take."""
    mask = None if members is None else low_bits(members, 32)
    _effect("gather", value=low_bits(value, width), mask=mask, patient=patient)
    given = [low_bits(variable(f"%lane{i}", 64), width) for i in range(32)]
    return Gathered(variable("%members", 32), given, low_bits(variable("%own", 32), 5), variable("%at_once", 32))


def access_image(
    image: Int,
    rule: Callable[..., Any],
    *operands: Int | int,
    sampler: Int | None = None,
    answers: tuple[int, ...] = (),
) -> list[Int]:
    """Ask the image that a handle stands for: what is to be done is what `rule` says of it (see `read_image`), given the
    description of the image, that of the sampler, and the operands. It gives as many numbers, of so many bits each, as `answers`
    has entries."""
    _effect("image", image=image, sampler=sampler, rule=rule, operands=tuple(map(integer, operands)), value=integer(0))
    return [low_bits(variable(f"%answer{i}", 64), width) for i, width in enumerate(answers)]


def branch(target: Special) -> None:
    """Go on at a label."""
    _effect("branch", target=target, among=None)


def branch_among(index: Int, targets: Special) -> None:
    """Go on at the label of this number in a list."""
    _effect("branch", target=integer(index), among=targets)


def enter(function: Special | Int) -> None:
    """Call a function, by its name or by its address: pass the operands p, go on there, and let r have the results."""
    _effect("call", function=function)


def leave(what: str) -> None:
    """End the function ("return") or the thread ("exit")."""
    _effect(what)


def stack_end() -> Int:
    """The address in local memory at which what the thread's stack holds ends."""
    _effect("stack", begin=None, size=None, to=None)
    return variable("%stack_end", 64)


def reserve(place: Callable[[Int], tuple[Int | int, Int | int]]) -> Int:
    """Let the thread's stack hold one more piece of memory, filled with zeros, until the function returns. place(end) says where
    it begins and how many bytes it has, where `end` is that of the stack. Gives where it begins."""
    begin, size = map(integer, place(variable("%stack_end", 64)))
    _effect("stack", begin=begin, size=size, to=None)
    return begin


def release(end: Int) -> None:
    """Give back what the thread's stack holds from this address on."""
    _effect("stack", begin=None, size=None, to=integer(end))


class Arrived(NamedTuple):
    """Of the threads that came to a barrier: how many there were, and for how many the predicate held."""

    threads: Int
    holding: Int


def stop(rule: str) -> None:
    """End the launch as the rule of this name says: it is the thread's own doing, and no fault."""
    _effect("stop", rule=rule)


def arrive_in_cluster() -> None:
    """Be counted at the barrier of the cluster without waiting there."""
    _effect("barrier", barrier=integer(0), threads=None, value=integer(0), waits=False, counts=False, cluster=True)


def wait_for_cluster() -> None:
    """Wait until the threads of the cluster have been counted at its barrier as often as this one."""
    _effect("barrier", barrier=integer(0), threads=None, value=integer(0), waits=True, counts=False, cluster=True)


def wait_at_barrier(barrier: Int | int, threads: Int | None = None) -> None:
    """Wait until the CTA's threads (or so many of them) have come to the barrier of this number."""
    _effect("barrier", barrier=integer(barrier), threads=threads, value=integer(0), waits=True, counts=False)


def count_at_barrier(barrier: Int | int, threads: Int | None, holds: Bool) -> Arrived:
    """Wait as at a barrier, and learn how many of those that came hold a predicate."""
    value = select(holds, 1, 0)
    _effect("barrier", barrier=integer(barrier), threads=threads, value=value, waits=True, counts=True)
    return Arrived(variable("%arrived", 32), variable("%holding", 32))


def arrive_at_barrier(barrier: Int | int, threads: Int) -> None:
    """Be counted at a barrier without waiting there."""
    _effect("barrier", barrier=integer(barrier), threads=threads, value=integer(0), waits=False, counts=False)


def condition_code(borrow: bool = False) -> Bool:
    """CC.CF: the carry or borrow that the last instruction with `.cc` left. `borrow` says that a borrow is expected: the bit is
    the same, but machines may store the two in different ways."""
    if _Trace.current is None:
        raise blame("the condition code outside an instruction's definition")
    _Trace.carry_read = True
    _Trace.borrows |= borrow
    return truth_variable(CONDITION_CODE)


def set_condition_code(carry: Bool | bool, borrow: bool = False) -> None:
    """Leave a carry, or if `borrow` says so a borrow, in CC.CF."""
    if _Trace.current is None or _Trace.carry_written is not None:
        raise blame("the condition code is set outside an instruction's definition, or twice in one")
    _Trace.carry_written = truth(carry)
    _Trace.borrows |= borrow


def special(name: str) -> Int:
    """What the special register of this name, one of 32 bits, holds for the thread."""
    if _Trace.current is None:
        raise blame(f"{name} outside an instruction's definition")
    if name not in _Trace.specials:
        _Trace.specials += (name,)
    return variable(name, 32)


#: the name under which the condition code is kept among a kernel's registers: no identifier has a dot
CONDITION_CODE = "CC.CF"


# Definitions -----------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Forms whose modifiers match `where` exist from PTX ISA version `since` and on targets from `target` on. With `before` the
    rule is one for targets before that."""

    where: dict[str, tuple[Any, ...]]
    since: tuple[int, int]
    target: int
    before: int | None = None


class Removal(NamedTuple):
    """Forms whose modifiers match `where` no longer exist from PTX ISA version `since` on, on targets from `target` on."""

    where: dict[str, tuple[Any, ...]]
    since: tuple[int, int]
    target: int


class Implication(NamedTuple):
    """Forms whose modifiers match `where`, and that lack `modifiers`, mean the ones that have them: in modules of PTX ISA
    versions from `since` to below `before` (None: all later ones) and targets from `target` to below `before_target`."""

    where: dict[str, tuple[Any, ...]]
    modifiers: dict[str, Any]
    since: tuple[int, int]
    before: tuple[int, int] | None
    target: int
    before_target: int | None

    def holds(self, modifiers: dict[str, Any], version: tuple[int, int], target: int) -> bool:
        """Whether it bears on a form with these modifiers in a module of that version and target."""
        return (
            version >= self.since
            and (self.before is None or version < self.before)
            and target >= self.target
            and (self.before_target is None or target < self.before_target)
            and all(modifiers.get(k) in values for k, values in self.where.items())
            and not any(modifiers.get(k) for k in self.modifiers)
        )


class Definition:
    """An instruction's meaning: the function, where it stands, and what is known of it."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.path = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.module = function.__module__
        self.signature = inspect.signature(function)
        self.constant_ranges: dict[str, range | tuple[int, ...]] = {}
        self.rules: list[Rule] = []
        self.removals: list[Removal] = []
        self.implications: list[Implication] = []
        self.wider = False
        self.special_registers: dict[str, tuple[Any, ...]] | None = None
        self.registers = False
        self.gives_addresses = False
        self.changes_nothing = False
        self.discards = False
        self.tuples: dict[str, Callable[..., tuple[Type, ...]]] = {}
        parameters = self.signature.parameters.values()
        self.sources = {p.name: p for p in parameters if p.kind is not p.KEYWORD_ONLY}
        self.modifiers = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
        for parameter in self.sources.values():
            if parameter.annotation is parameter.empty:
                raise blame(f"the operand {parameter.name} of {self.name} has no type")
        self._instances: dict[Any, Meaning] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The body, so that one definition may be said in terms of another."""
        return self.function(*args, **kwargs)

    @property
    def results(self) -> tuple[Any, ...]:
        """The annotations of what is returned, one a destination."""
        annotation = self.signature.return_annotation
        if annotation is None or annotation is self.signature.empty:
            return ()
        if getattr(annotation, "__origin__", None) is tuple:
            return tuple(annotation.__args__)
        return (annotation,)

    def elements(self, operand: str, modifiers: dict[str, Any]) -> tuple[Type, ...]:
        """The types of what a tuple holds, in the form with these modifiers."""
        rule = self.tuples.get(operand)
        if rule is None:
            raise blame(f"{self.path}:{self.line}: {self.name}: nothing says what the tuple {operand} holds")
        wanted = inspect.signature(rule).parameters
        return rule(**{k: v for k, v in modifiers.items() if k in wanted})

    def may_read_special_registers(self, modifiers: dict[str, Any]) -> bool:
        """Whether the form with these modifiers takes special registers as operands."""
        where = self.special_registers
        return where is not None and all(modifiers.get(k) in values for k, values in where.items())

    def availability(self, modifiers: dict[str, Any], of: int | None = None) -> tuple[tuple[int, int], int]:
        """(PTX ISA version, target) from which the form with these modifiers exists: in modules for the target `of`, or all."""
        since, target = (1, 0), 10
        for rule in self.rules:
            if of is not None and rule.before is not None and of >= rule.before:
                continue
            if all(modifiers.get(k) in values for k, values in rule.where.items()):
                since, target = max(since, rule.since), max(target, rule.target)
        return since, target

    def removal(self, modifiers: dict[str, Any]) -> tuple[tuple[int, int], int] | None:
        """(PTX ISA version, target) from which on the form no longer exists, both together; None if it stays."""
        for rule in self.removals:
            if all(modifiers.get(k) in values for k, values in rule.where.items()):
                return rule.since, rule.target
        return None

    def implied(self, modifiers: dict[str, Any], version: tuple[int, int], target: int) -> dict[str, Any]:
        """What a form with these modifiers has beside them in a module of that version and target, without saying so."""
        found: dict[str, Any] = {}
        for rule in self.implications:
            if rule.holds(modifiers, version, target):
                found |= rule.modifiers
        return found

    def meaning(self, modifiers: dict[str, Any], absent: tuple[str, ...] = ()) -> Meaning:
        """What the definition says for one form; `absent` names the optional operands that are left out. Raises TermError
        with the document's line if the definition is at fault."""
        key = (tuple(sorted((k, str(v)) for k, v in modifiers.items())), absent)
        if key not in self._instances:
            self._instances[key] = _evaluate(self, modifiers, absent)
        return self._instances[key]


class Input(NamedTuple):
    """A source operand of a meaning: the variables that stand for it. `type` is None for what is not a value."""

    name: str
    type: Type | None
    variables: tuple[Any, ...]
    is_vector: bool = False
    types: tuple[Type, ...] = ()
    """the types of a tuple's elements, which may differ"""


class Result(NamedTuple):
    """A destination: its type and the raw bits (Int) or truth value (Bool) of each element."""

    type: Type
    values: tuple[Any, ...]
    is_vector: bool = False


class Meaning(NamedTuple):
    """A definition evaluated for one form: results are terms over the inputs' variables."""

    inputs: tuple[Input, ...]
    results: tuple[Result, ...]
    effect: Effect | None
    carry_read: bool = False
    carry: Bool | None = None
    borrows: bool = False
    """whether the condition code, if it is used, is a borrow"""
    specials: tuple[str, ...] = ()
    """the special registers that are read without being operands"""

    @property
    def uses_carry(self) -> bool:
        """Whether the instruction reads or writes the condition code."""
        return self.carry_read or self.carry is not None

    @property
    def lands(self) -> bool:
        """Whether the results are known only after others have acted: threads that come to the instruction too, or the unit that
        holds the images."""
        if self.effect is None:
            return False
        return self.effect.kind in ("gather", "image") or self.effect.fields.get("counts", False)


def operand_type(annotation: Any, modifiers: dict[str, Any]) -> Type | Special | VectorOf | TupleOf:
    """The type that an annotation names, once the form's modifiers are known."""
    if isinstance(annotation, Slot):
        return annotation.type(modifiers)
    if isinstance(annotation, VectorOf):
        return VectorOf(operand_type(annotation.element, modifiers))  # type: ignore[arg-type]
    if isinstance(annotation, Immediate):
        return annotation.type
    return annotation


def _typed(type: Type, name: str) -> Any:
    """The variable of an operand, read as its type says."""
    if type.kind == "pred":
        return truth_variable(name)
    raw = variable(name, type.width)
    return sign_extend(raw, type.width) if type.signed else raw


def vector_length(modifiers: dict[str, Any]) -> int:
    """How many elements `.vec` asks for; 0 without it: a single register, no vector."""
    return int(modifiers["vec"].removeprefix("v")) if modifiers.get("vec") else 0


def _evaluate(definition: Definition, modifiers: dict[str, Any], absent: tuple[str, ...]) -> Meaning:
    inputs: list[Input] = []
    arguments: dict[str, Any] = {}
    for name, parameter in definition.sources.items():
        type = operand_type(parameter.annotation, modifiers)
        if name in absent:  # the definition's default stands
            continue
        if isinstance(type, VectorOf):
            assert isinstance(type.element, Type)
            count = vector_length(modifiers)
            names = [f"{name}.{i}" for i in range(count)] if count else [name]
            arguments[name] = [_typed(type.element, n) for n in names]
            raw = tuple(variable(n, type.element.width) for n in names)
            inputs.append(Input(name, type.element, raw, bool(count)))
        elif isinstance(type, TupleOf):
            types = definition.elements(name, modifiers)
            arguments[name] = [_typed(t, f"{name}.{i}") for i, t in enumerate(types)]
            raw = tuple(variable(f"{name}.{i}", t.width) for i, t in enumerate(types))
            inputs.append(Input(name, None, raw, True, types))
        elif isinstance(type, Special):
            if type.name in HANDLES or type.name in ("address", "variable_address", "function_address"):
                arguments[name] = variable(name, 64)
                inputs.append(Input(name, None, (arguments[name],)))
            else:
                arguments[name] = Special(name)
                inputs.append(Input(name, None, ()))
        else:
            arguments[name] = _typed(type, name)
            raw_one = truth_variable(name) if type.kind == "pred" else variable(name, type.width)
            inputs.append(Input(name, type, (raw_one,)))
    static = {k: v for k, v in modifiers.items() if k in definition.modifiers}
    outer = (_Trace.current, _Trace.carry_read, _Trace.carry_written, _Trace.borrows, _Trace.specials)
    _Trace.current, _Trace.carry_read, _Trace.carry_written, _Trace.borrows, _Trace.specials = (
        [],
        False,
        None,
        False,
        (),
    )
    try:
        returned = definition.function(**arguments, **static)
        effects, carry_read, carry, borrows, specials = (
            _Trace.current, _Trace.carry_read, _Trace.carry_written, _Trace.borrows, _Trace.specials,
        )  # fmt: skip
    finally:
        _Trace.current, _Trace.carry_read, _Trace.carry_written, _Trace.borrows, _Trace.specials = outer
    annotations = definition.results
    values = () if returned is None else returned if len(annotations) > 1 else (returned,)
    if len(values) != len(annotations):
        raise blame(
            f"{definition.path}:{definition.line}: {definition.name} returns {len(values)} results, its "
            f"annotation says {len(annotations)}"
        )
    if definition.changes_nothing and effects:
        raise blame(f"{definition.path}:{definition.line}: {definition.name} has an effect: {effects[0].kind}")
    results = []
    for value, annotation in zip(values, annotations, strict=True):
        type = operand_type(annotation, modifiers)
        if isinstance(type, VectorOf):
            assert isinstance(type.element, Type)
            results.append(
                Result(
                    type.element,
                    tuple(_write(v, type.element, definition) for v in value),
                    bool(vector_length(modifiers)),
                )
            )
        else:
            assert isinstance(type, Type)
            results.append(Result(type, (_write(value, type, definition),)))
    effect = effects[0] if effects else None
    return Meaning(tuple(inputs), tuple(results), effect, carry_read, carry, borrows, specials)


def _write(value: Any, type: Type, definition: Definition) -> Term:
    """Writing a register: the only place where bits are dropped."""
    try:
        if type.kind == "pred":
            return truth(value)
        return low_bits(integer(value), type.width)
    except Exception as error:
        raise blame(f"{definition.path}:{definition.line}: {definition.name}: result of type {type}: {error}") from None


#: the definitions of each module, in the order in which they stand
DEFINITIONS: dict[str, list[Definition]] = {}


def instruction(function: Callable[..., Any]) -> Definition:
    """Mark a function as the meaning of the syntax fences that stand between it and the definition before it."""
    definition = Definition(function)
    DEFINITIONS.setdefault(function.__module__, []).append(definition)
    return definition


def available(
    definition: Definition, *, since: str = "1.0", target: str = "sm_10", before: str | None = None, **where: Any
) -> None:
    """Forms of `definition` whose modifiers match `where` (a value, or a tuple of values) need PTX ISA version `since`
    and a target from `target` on. Several rules may apply to a form: it needs what they all need. One with `before` applies in
    modules whose target comes before that."""
    least, end = (None if t is None else int(t.removeprefix("sm_")) for t in (target, before))
    assert least is not None
    definition.rules.append(Rule(_conditions(definition, where), _version(since), least, end))


def removed(definition: Definition, *, since: str, target: str = "sm_10", **where: Any) -> None:
    """Forms of `definition` whose modifiers match `where` are gone where the PTX ISA version is `since` or later and the
    target is `target` or later."""
    rule = Removal(_conditions(definition, where), _version(since), int(target.removeprefix("sm_")))
    definition.removals.append(rule)


def implied(
    definition: Definition,
    *,
    since: str = "1.0",
    before: str | None = None,
    target: str = "sm_10",
    before_target: str | None = None,
    where: dict[str, Any] | None = None,
    **modifiers: Any,
) -> None:
    """In modules whose PTX ISA version is `since` or later but earlier than `before`, and whose target is `target` or later but
    earlier than `before_target`, a form that may have these modifiers and has not means the one that has. `where` limits this to
    forms with other modifiers (a value, or a tuple of values)."""
    _conditions(definition, modifiers)
    rule = Implication(
        _conditions(definition, where or {}),
        modifiers,
        _version(since),
        None if before is None else _version(before),
        int(target.removeprefix("sm_")),
        None if before_target is None else int(before_target.removeprefix("sm_")),
    )
    definition.implications.append(rule)


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def _conditions(definition: Definition, where: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values that each modifier of a rule may have."""
    conditions = {k: v if isinstance(v, tuple) and not isinstance(v, Type) else (v,) for k, v in where.items()}
    for name in conditions:
        if name not in definition.modifiers:
            raise blame(f"{definition.name} has no modifier {name}")
    return conditions


def has_elements(definition: Definition, operand: str, types: Callable[..., tuple[Type, ...]]) -> None:
    """What a tuple of coordinates holds: types(…) is given the form's modifiers, those that it has parameters for."""
    if operand not in definition.sources:
        raise blame(f"{definition.name} has no operand {operand}")
    definition.tuples[operand] = types


def limits_constants(definition: Definition, **ranges: range | tuple[int, ...]) -> None:
    """A constant that stands for one of these operands is a number of its range, or one of these numbers."""
    for name in ranges:
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.constant_ranges.update(ranges)


def takes_wider_registers(definition: Definition) -> None:
    """Operands may be registers wider than the instruction's types, by the relaxed rules of type checking."""
    definition.wider = True


def takes_no_constants(definition: Definition) -> None:
    """Source operands are registers only."""
    definition.registers = True


def gives_addresses(*definitions: Definition) -> None:
    """Results are addresses, which differ from machine to machine: other machines' answers are not compared."""
    for definition in definitions:
        definition.gives_addresses = True


def may_discard_result(*definitions: Definition) -> None:
    """In place of the destination may stand the sink `_`: the instruction is executed, and its result dropped."""
    for definition in definitions:
        definition.discards = True


def changes_nothing(*definitions: Definition) -> None:
    """These instructions have neither results nor effects: executing them takes a step and leaves all values as they are."""
    for definition in definitions:
        if definition.results:
            raise blame(f"{definition.name} has results, so that it does change something")
        definition.changes_nothing = True


def reads_special_registers(definition: Definition, **where: Any) -> None:
    """Source operands may be special registers, in the forms whose modifiers match `where` (a value, or a tuple of values)."""
    definition.special_registers = {
        k: v if isinstance(v, tuple) and not isinstance(v, Type) else (v,) for k, v in where.items()
    }
