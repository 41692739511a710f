"""Definitions: the functions on the pages that say what an instruction does, and what they evaluate to for one form."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ptxspec.terms.core import Bool, Int, Term, blame, integer, truth, truth_variable, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import low_bits, sign_extend

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


class Immediate(NamedTuple):
    """An operand that must be a constant of a type."""

    type: Type


class Special(NamedTuple):
    """An operand that is no value of a register: an address, the name of a variable, a label."""

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
        size: TypeAlias = Int

    vector: TypeAlias = list
    address: TypeAlias = Int
    variable_address: TypeAlias = Int
    label: TypeAlias = Special
    function_name: TypeAlias = Special
    immediate_u8: TypeAlias = Int
    pred: TypeAlias = Bool
    b8: TypeAlias = Int
    b16: TypeAlias = Int
    b32: TypeAlias = Int
    b64: TypeAlias = Int
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
    immediate_u8 = Immediate(TYPES["u8"])
    pred = TYPES["pred"]
    globals().update({name: type for name, type in TYPES.items() if name != "pred"})


#: the default of an operand that may be left out
absent: Any = None

# Effects ---------------------------------------------------------------------------------------------------------------


class Effect(NamedTuple):
    """What an instruction does beyond writing registers. `fields` are terms or static values."""

    kind: str
    fields: dict[str, Any]


class _Trace:
    """The effects and results of the definition being evaluated."""

    current: list[Effect] | None = None


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


def branch(target: Special) -> None:
    """Go on at a label."""
    _effect("branch", target=target)


def leave(what: str) -> None:
    """End the function ("return") or the thread ("exit")."""
    _effect(what)


def wait_at_barrier(barrier: Int | int, threads: Int | None = None) -> None:
    """Wait until the CTA's threads (or so many of them) have come to the barrier of this number."""
    _effect("barrier", barrier=integer(barrier), threads=threads)


# Definitions -----------------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Forms whose modifiers match `where` exist from PTX ISA version `since` and on targets from `target` on."""

    where: dict[str, tuple[Any, ...]]
    since: tuple[int, int]
    target: int


class Definition:
    """An instruction's meaning: the function, where it stands, and what is known of it."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.path = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.module = function.__module__
        self.signature = inspect.signature(function)
        self.rules: list[Rule] = []
        self.wider = False
        self.special_registers = False
        self.gives_addresses = False
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

    def availability(self, modifiers: dict[str, Any]) -> tuple[tuple[int, int], int]:
        """(PTX ISA version, target) from which the form with these modifiers exists."""
        since, target = (1, 0), 10
        for rule in self.rules:
            if all(modifiers.get(k) in values for k, values in rule.where.items()):
                since, target = max(since, rule.since), max(target, rule.target)
        return since, target

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


def operand_type(annotation: Any, modifiers: dict[str, Any]) -> Type | Special | VectorOf:
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
        elif isinstance(type, Special):
            if type.name in ("address", "variable_address"):
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
    outer, _Trace.current = _Trace.current, []
    try:
        returned = definition.function(**arguments, **static)
        effects = _Trace.current
    finally:
        _Trace.current = outer
    annotations = definition.results
    values = () if returned is None else returned if len(annotations) > 1 else (returned,)
    if len(values) != len(annotations):
        raise blame(
            f"{definition.path}:{definition.line}: {definition.name} returns {len(values)} results, its "
            f"annotation says {len(annotations)}"
        )
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
    return Meaning(tuple(inputs), tuple(results), effects[0] if effects else None)


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


def available(definition: Definition, *, since: str = "1.0", target: str = "sm_10", **where: Any) -> None:
    """Forms of `definition` whose modifiers match `where` (a value, or a tuple of values) need PTX ISA version `since`
    and a target from `target` on. Several rules may apply to a form: it needs what they all need."""
    major, minor = since.split(".")
    conditions = {k: v if isinstance(v, tuple) and not isinstance(v, Type) else (v,) for k, v in where.items()}
    for name in conditions:
        if name not in definition.modifiers:
            raise blame(f"{definition.name} has no modifier {name}")
    definition.rules.append(Rule(conditions, (int(major), int(minor)), int(target.removeprefix("sm_"))))


def takes_wider_registers(definition: Definition) -> None:
    """Operands may be registers wider than the instruction's types, by the relaxed rules of type checking."""
    definition.wider = True


def gives_addresses(*definitions: Definition) -> None:
    """Results are addresses, which differ from machine to machine: other machines' answers are not compared."""
    for definition in definitions:
        definition.gives_addresses = True


def reads_special_registers(definition: Definition) -> None:
    """Source operands may be special registers."""
    definition.special_registers = True
