"""Definitions: the functions on the pages that say what an instruction does, and what they evaluate to for one form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeAlias, assert_never

from ptxspec.base.records import NamedTuple
from ptxspec.terms.actions import tracing
from ptxspec.terms.availability import AvailabilityRule, Implication, Removal
from ptxspec.terms.core import Bool, Term, blame, integer, truth, truth_variable, variable, variable_of
from ptxspec.terms.editions import NEWEST, Edition, Epoch, before, beginnings
from ptxspec.terms.effects import Effect, Initiate, lands
from ptxspec.terms.in_registers import InRegisters
from ptxspec.terms.kinds import HANDLES, MatrixFragment, Special, TupleOf, VectorOf, operand_type, vector_length
from ptxspec.terms.steps import Step
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import low_bits, sign_extend

#: the constants that may stand for an operand
Constants: TypeAlias = range | tuple[int, ...]


class ProductRole(NamedTuple):
    """What an instruction has to do with products of a warpgroup, which have registers in flight: it initiates one, which `reads`
    the registers of some operands beside its accumulators; or it takes a `step` on what the thread has done about them, which has
    constant operands."""

    reads: tuple[str, ...] = ()
    step: Step | None = None
    operands: tuple[str, ...] = ()


class Definition:
    """An instruction's meaning: the function, where it stands, and what is known of it."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.path = function.__code__.co_filename
        self.line = function.__code__.co_firstlineno
        self.module = function.__module__
        self.signature = inspect.signature(function)
        self.constant_ranges: dict[str, Constants | Callable[..., Constants]] = {}
        self.constant_bounds: dict[str, str] = {}
        self.whole_constants = False
        self.spaces: dict[str, str] = {}
        self.rules: list[AvailabilityRule] = []
        self.removals: list[Removal] = []
        #: of its forms those that modules with 32-bit addresses alone have
        self.of_narrow_addresses: list[dict[str, tuple[Any, ...]]] = []
        self.implications: list[Implication] = []
        self.wider = False
        #: operands that may be registers of a narrower type too
        self.narrower: dict[str, Type] = {}
        self.special_registers: dict[str, tuple[Any, ...]] | None = None
        #: operands that may be no constants, and the modifiers of the forms of which that is so
        self.of_registers: list[tuple[frozenset[str], dict[str, tuple[Any, ...]]]] = []
        self.returns_addresses = False
        #: why no GPU can be asked what its forms do, if that is so
        self.unasked: str | None = None
        self.discards = False
        self.tuples: dict[str, Callable[..., tuple[Type, ...]]] = {}
        self.padded: set[str] = set()
        self.exact: set[str] = set()
        #: constants for each of whose values there is a meaning, with the values
        self.settled: dict[str, Constants] = {}
        #: operands that are what a destination holds before, and the destination
        self.accumulators: dict[str, str] = {}
        #: what the instruction has to do with products of a warpgroup
        self.product: ProductRole | None = None
        parameters = self.signature.parameters.values()
        self.sources = {p.name: p for p in parameters if p.kind is not p.KEYWORD_ONLY}
        self.modifiers = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
        for parameter in self.sources.values():
            if parameter.annotation is parameter.empty:
                raise blame(f"the operand {parameter.name} of {self.name} has no type")
        #: whether what it means depends on the module's epoch in some form that was asked for
        self.dated = False
        self._instances: dict[Any, list[Instance]] = {}

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
        takes_all = any(p.kind is p.VAR_KEYWORD for p in wanted.values())
        return rule(**{k: v for k, v in modifiers.items() if takes_all or k in wanted})

    def type_of(
        self, operand: str, annotation: Any, modifiers: dict[str, Any]
    ) -> Type | Special | VectorOf | TupleOf | MatrixFragment:
        """The type that the annotation of an operand, or of a result that goes to it, names in the form with these modifiers."""
        type = operand_type(annotation, modifiers)
        return MatrixFragment(self.elements(operand, modifiers)) if isinstance(type, MatrixFragment) else type

    def constants(self, operand: str, modifiers: dict[str, Any]) -> Constants | None:
        """Which constants may stand for an operand of the form with these modifiers; None if all that have its type."""
        allowed = self.constant_ranges.get(operand)
        return allowed(**modifiers) if callable(allowed) else allowed

    def takes_only_registers(self, operand: str, modifiers: dict[str, Any]) -> bool:
        """Whether no constant may stand for an operand of the form with these modifiers."""
        return any(operand in operands and _matches(modifiers, where) for operands, where in self.of_registers)

    def may_read_special_registers(self, modifiers: dict[str, Any]) -> bool:
        """Whether the form with these modifiers takes special registers as operands."""
        return self.special_registers is not None and _matches(modifiers, self.special_registers)

    def availability(
        self, modifiers: dict[str, Any], of: int | None = None, operands: Collection[str] = ()
    ) -> tuple[tuple[int, int], int]:
        """(PTX ISA version, target) from which the form with these modifiers exists, written with these of the operands that have
        a rule of their own: in modules for the target `of`, or all."""
        since, target = (1, 0), 10
        for rule in self.rules:
            if of is not None and rule.before is not None and of >= rule.before:
                continue
            if _matches(modifiers, rule.where) and (not rule.operand or rule.operand in operands):
                since, target = max(since, rule.since), max(target, rule.target)
        return since, target

    def only(self, modifiers: dict[str, Any]) -> tuple[str, ...]:
        """The targets of whose features the form with these modifiers needs one's; none if its number alone counts."""
        targets = [r.only for r in self.rules if r.only and _matches(modifiers, r.where)]
        if len(targets) > 1:
            raise blame(f"{self.path}:{self.line}: {self.name}: two rules name targets of one form: {targets}")
        return targets[0] if targets else ()

    def removal(self, modifiers: dict[str, Any]) -> tuple[tuple[int, int], int] | None:
        """(PTX ISA version, target) from which on the form no longer exists, both together; None if it stays."""
        for rule in self.removals:
            if _matches(modifiers, rule.where):
                return rule.since, rule.target
        return None

    def needs_narrow_addresses(self, modifiers: dict[str, Any]) -> bool:
        """Whether only modules with 32-bit addresses have the form with these modifiers."""
        return any(_matches(modifiers, where) for where in self.of_narrow_addresses)

    def implied(self, modifiers: dict[str, Any], epoch: Epoch) -> dict[str, Any]:
        """What a form with these modifiers has beside them in a module of that epoch, without saying so."""
        implied: dict[str, Any] = {}
        for rule in self.implications:
            if rule.holds(modifiers, epoch):
                implied |= rule.modifiers
        return implied

    def newest(self, modifiers: dict[str, Any]) -> Epoch:
        """The newest epoch in which the form with these modifiers exists."""
        gone = self.removal(modifiers)
        return NEWEST if gone is None else before(*gone)

    def meaning(self, modifiers: dict[str, Any], absent: tuple[str, ...] = (), epoch: Epoch | None = None) -> Meaning:
        """What the definition says for one form in a module of that epoch (None: the newest that has it); `absent` names the
        optional operands that are left out. Where it does not depend on the epoch there is one meaning for all. Raises TermError
        with the document's line if the definition is at fault."""
        key = _key(modifiers, absent)
        known = self._instances.setdefault(key, [])
        if known and not known[0].editions:
            return known[0].meaning
        epoch = epoch or self.newest(modifiers)
        for instance in known:
            if all(edition.holds(epoch) is held for (_, edition), held in instance.editions.items()):
                return instance.meaning
        instance = _evaluate(self, modifiers, absent, epoch)
        self.dated |= bool(instance.editions)
        known.append(instance)
        return instance.meaning

    def evaluated(self, modifiers: dict[str, Any], absent: tuple[str, ...], epoch: Epoch | None) -> Meaning:
        """The same as `meaning`, worked out anew by calling the function, for whoever wants to see how."""
        return _evaluate(self, modifiers, absent, epoch or self.newest(modifiers)).meaning

    def changes(self, modifiers: dict[str, Any], absent: tuple[str, ...] = ()) -> list[tuple[str, Edition]]:
        """What the form with these modifiers asks of the epoch, in whichever epoch: (the register's entry, the edition)."""
        questions: list[tuple[str, Edition]] = []
        while True:
            for epoch in beginnings(e for _, e in questions):
                self.meaning(modifiers, absent, epoch)
            new = [question for instance in self._instances[_key(modifiers, absent)] for question in instance.editions]
            if set(new) == set(questions):
                return sorted(questions)
            questions = list(dict.fromkeys(new))


def _matches(modifiers: dict[str, Any], where: dict[str, tuple[Any, ...]]) -> bool:
    """Whether modifiers have one of the values that are named for each."""
    return all(modifiers.get(name) in values for name, values in where.items())


def _values(where: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Modifiers, each with a value or a tuple of values, as tuples."""
    return {k: v if isinstance(v, tuple) and not isinstance(v, Type) else (v,) for k, v in where.items()}


def _key(modifiers: dict[str, Any], absent: tuple[str, ...]) -> Any:
    return frozenset(modifiers.items()), absent


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
    more: tuple[Effect, ...] = ()
    """the effects that follow the first, one after the other"""

    @property
    def uses_carry(self) -> bool:
        """Whether the instruction reads or writes the condition code."""
        return self.carry_read or self.carry is not None

    @property
    def lands(self) -> bool:
        """Whether the results are known only after others have acted: threads that come to the instruction too, or the unit that
        holds the images."""
        return lands(self.effect)


class Instance(NamedTuple):
    """A meaning, and what the definition asked of the module's epoch on the way to it, with the answers: it is the meaning
    wherever these are the same."""

    editions: dict[tuple[str, Edition], bool]
    meaning: Meaning


def _typed(type: Type, name: str) -> Any:
    """The variable of an operand, read as its type says."""
    if type.kind == "pred":
        return truth_variable(name)
    raw = variable(name, type.width)
    return sign_extend(raw, type.width) if type.signed else raw


def _evaluate(definition: Definition, modifiers: dict[str, Any], absent: tuple[str, ...], epoch: Epoch) -> Instance:
    """What a definition means for a form that lacks the operands `absent`, in an epoch."""
    inputs: list[Input] = []
    arguments: dict[str, Any] = {}
    for name in definition.sources:
        if name not in absent:  # else the definition's default stands
            arguments[name], taken = _argument(definition, name, modifiers)
            inputs.append(taken)
    static = {k: v for k, v in modifiers.items() if k in definition.modifiers}
    with tracing(epoch) as trace:
        returned = definition.function(**arguments, **static)
    annotations = definition.results
    values = () if returned is None else returned if len(annotations) > 1 else (returned,)
    if len(values) != len(annotations):
        raise blame(
            f"{definition.path}:{definition.line}: {definition.name} returns {len(values)} results, its "
            f"annotation says {len(annotations)}"
        )
    results = [_result(definition, v, a, modifiers) for v, a in zip(values, annotations, strict=True)]
    _check_arriving(definition, results, trace.effect)
    meaning = Meaning(
        tuple(inputs),
        tuple(results),
        trace.effect,
        trace.carry_read,
        trace.carry_written,
        trace.borrows,
        trace.specials,
        tuple(trace.more),
    )
    return Instance(trace.editions, meaning)


def _check_arriving(definition: Definition, results: list[Result], effect: Effect | None) -> None:
    """Blame a definition that does not return, as it is, all that an operation will write to its destinations."""
    if not isinstance(effect, Initiate) or not isinstance(effect.to, InRegisters):
        return
    wanted = [id(value) for value in effect.to.values]
    arriving = [result for result in results if any(id(value) in wanted for value in result.values)]
    returned = [id(value) for result in arriving for value in result.values]
    if returned != wanted or any(result.type.width != effect.to.type.width for result in arriving):
        raise blame(
            f"{definition.path}:{definition.line}: {definition.name} does not return the values that arrive later, as they are "
            f"and in their order, as {effect.to.type}"
        )


def _argument(definition: Definition, name: str, modifiers: dict[str, Any]) -> tuple[Any, Input]:
    """What a definition is called with for an operand, and the variables that this is made of."""
    type = definition.type_of(name, definition.sources[name].annotation, modifiers)
    match type:
        case MatrixFragment(types):
            raw = tuple(variable(f"{name}.{i}", t.width) for i, t in enumerate(types))
            return list(raw), Input(name, None, raw, True, types)
        case VectorOf(element):
            assert isinstance(element, Type)
            count = vector_length(modifiers)
            names = [f"{name}.{i}" for i in range(count)] if count else [name]
            raw = tuple(variable(n, element.width) for n in names)
            return [_typed(element, n) for n in names], Input(name, element, raw, bool(count))
        case TupleOf():
            types = definition.elements(name, modifiers)
            raw = tuple(variable(f"{name}.{i}", t.width) for i, t in enumerate(types))
            return [_typed(t, f"{name}.{i}") for i, t in enumerate(types)], Input(name, None, raw, True, types)
        case Special():
            if type.name in HANDLES or type.name in ("address", "variable_address", "map_address", "function_address"):
                address = variable(name, 64)
                return address, Input(name, None, (address,))
            return Special(name), Input(name, None, ())
        case Type():
            if name in definition.settled:
                return integer(modifiers.get(name, definition.settled[name][0])), Input(name, type, ())
            term = variable_of(name, type)
            return _typed(type, name), Input(name, type, (term,))
        case _:
            assert_never(type)


def _result(definition: Definition, value: Any, annotation: Any, modifiers: dict[str, Any]) -> Result:
    """What a definition returned for a destination, as it is written."""
    type = definition.type_of(DESTINATION, annotation, modifiers)
    if isinstance(type, MatrixFragment):
        if len(value) != len(type.types):
            raise blame(
                f"{definition.path}:{definition.line}: {definition.name} returns {len(value)} of {len(type.types)} registers"
            )
        return Result(type.types[0], tuple(_write(v, type.types[0], definition) for v in value), True)
    if isinstance(type, VectorOf):
        element = type.element
        assert isinstance(element, Type)
        written = tuple(_write(v, element, definition) for v in value)
        return Result(element, written, bool(vector_length(modifiers)))
    assert isinstance(type, Type)
    return Result(type, (_write(value, type, definition),))


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


#: the name of the destination where registers in braces are written
DESTINATION = "d"


def has_elements(
    definition: Definition,
    operand: str,
    types: Callable[..., tuple[Type, ...]],
    *,
    padded: bool = False,
    exact: bool = False,
) -> None:
    """What a tuple of coordinates or a fragment of a matrix holds: types(…) is given the form's modifiers, those that it has
    parameters for, or all if it takes any. The registers of a destination are all of one type. A tuple after the brackets may be
    written with more elements, which do not count, if it is `padded`; it is written in braces with as many as there are, if it is
    `exact`."""
    if operand not in definition.sources and operand != DESTINATION:
        raise blame(f"{definition.name} has no operand {operand}")
    definition.tuples[operand] = types
    if padded:
        definition.padded.add(operand)
    if exact:
        definition.exact.add(operand)


def accumulates(definition: Definition, **operands: str) -> None:
    """These operands are not written: they are what the destination named beside each holds before."""
    for name in operands:
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.accumulators.update(operands)


def initiates_product(definition: Definition, *, reads: tuple[str, ...] = ()) -> None:
    """The instruction initiates a product of a warpgroup, in whose shape it is: the registers of these operands, and of those
    that it accumulates, are in flight until the thread has waited for it."""
    _has_role(definition, ProductRole(reads))


def orders_products(definition: Definition, step: Step, *operands: str) -> None:
    """The instruction changes, by a step, what the thread has done about products; `operands` are constants, and the step's."""
    _has_role(definition, ProductRole(step=step, operands=operands))


def _has_role(definition: Definition, role: ProductRole) -> None:
    for name in (*role.reads, *role.operands):
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.product = role


def limits_constants(
    definition: Definition, *, whole: bool = False, **ranges: Constants | Callable[..., Constants]
) -> None:
    """A constant that stands for one of these operands is a number of its range, or one of these numbers. A function says so of
    each form, given its modifiers. What counts is the `whole` number, or as much of it as its operand's type has bits."""
    definition.whole_constants |= whole
    for name in ranges:
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.constant_ranges.update(ranges)


def settles_constants(definition: Definition, **values: Constants) -> None:
    """The definition is evaluated for each value of these operands, which are constants and have one of these."""
    limits_constants(definition, whole=definition.whole_constants, **values)
    definition.settled.update(values)


def bounds_constants(definition: Definition, **bounds: str) -> None:
    """A constant that stands for one of these operands is at most the constant that stands for the one named beside it."""
    for name in (*bounds, *bounds.values()):
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.constant_bounds.update(bounds)


def reaches_in(definition: Definition, **spaces: str) -> None:
    """An address that stands for one of these operands is one of this state space, and not of that which `.ss` names."""
    for name in spaces:
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    definition.spaces.update(spaces)


def takes_wider_registers(definition: Definition) -> None:
    """Operands may be registers wider than the instruction's types, by the relaxed rules of type checking."""
    definition.wider = True


def takes_narrower_registers(definition: Definition, **types: Type) -> None:
    """These operands may be registers that agree with a narrower type, above whose bits zeros are added."""
    definition.narrower.update(types)


def takes_no_constants(definition: Definition, *operands: str, **where: Any) -> None:
    """These source operands are registers only; all of them, if none is named. `where` says of which forms that is so: those
    whose modifiers have this value, or one of a tuple of values."""
    for name in operands:
        if name not in definition.sources:
            raise blame(f"{definition.name} has no operand {name}")
    for name in where:
        if name not in definition.modifiers:
            raise blame(f"{definition.name} has no modifier {name}")
    definition.of_registers.append((frozenset(operands or definition.sources), _values(where)))


def returns_addresses(*definitions: Definition) -> None:
    """Results are addresses, which differ from machine to machine: other machines' answers are not compared."""
    for definition in definitions:
        definition.returns_addresses = True


def may_discard_result(*definitions: Definition) -> None:
    """In place of the destination may stand the sink `_`: the instruction is executed, and its result dropped."""
    for definition in definitions:
        definition.discards = True


def cannot_be_asked(definition: Definition, why: str) -> None:
    """No kernel of one instruction shows what a GPU does with its forms; the ledger says why."""
    definition.unasked = why


def reads_special_registers(definition: Definition, **where: Any) -> None:
    """Source operands may be special registers, in the forms whose modifiers match `where` (a value, or a tuple of values)."""
    definition.special_registers = _values(where)
