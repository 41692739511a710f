"""States and steps: what pages say of the machine, as records of bits and as functions from records to records.

A page declares a record as a class with a type for each field, and says what happens to it in a function marked `@step`. What
holds of all states is an `@invariant`, which a solver proves; what only seems to hold, a `@tempting` claim, which it refutes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int, Term, blame, integer, truth, variable_of
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE, low_bits, select

Own = TypeVar("Own", bound="State")


class State(tuple[Any, ...]):
    """A record. Its fields are declared as a class's annotations are, each with a type; one that is stored keeps the low bits of
    what it is given. `select` chooses between two records of one kind."""

    fields: dict[str, Type]

    def __init_subclass__(cls) -> None:
        cls.fields = dict(cls.__annotations__)
        for place, (name, type) in enumerate(cls.fields.items()):
            if not isinstance(type, Type):
                raise blame(f"{cls.__name__}.{name} has no type")
            setattr(cls, name, property(itemgetter(place)))

    def __new__(cls: type[Own], *values: Any, **named: Any) -> Own:
        given = dict(zip(cls.fields, values, strict=False)) | named
        if len(values) + len(named) != len(cls.fields) or set(given) != set(cls.fields):
            raise blame(f"{cls.__name__} has the fields {', '.join(cls.fields)}")
        return tuple.__new__(cls, (stored(given[name], type) for name, type in cls.fields.items()))

    def but(self: Own, **changes: Any) -> Own:
        """The same record, but for some fields."""
        return type(self)(**(dict(zip(self.fields, self, strict=True)) | changes))

    @classmethod
    def object_bits(cls) -> int:
        """How many bits a record has as an object in memory: those of its fields."""
        return sum(1 if type.kind == "pred" else type.width for type in cls.fields.values())

    @property
    def packed(self) -> Int:
        """The bits of the record as an object in memory, the first field in the lowest."""
        word, at = integer(0), 0
        for value, type in zip(self, self.fields.values(), strict=True):
            is_truth = type.kind == "pred"
            word = word | (select(value, integer(1), integer(0)) if is_truth else value) << at
            at += 1 if is_truth else type.width
        return word

    @classmethod
    def unpacked(cls: type[Own], word: Int) -> Own:
        """The record that has these bits as an object in memory."""
        values, at = [], 0
        for type in cls.fields.values():
            is_truth = type.kind == "pred"
            value = low_bits(word >> at, 1 if is_truth else type.width)
            values.append(value == 1 if is_truth else value)
            at += 1 if is_truth else type.width
        return cls(*values)

    @classmethod
    def numbers(cls, word: int) -> dict[str, int]:
        """What the fields of an object hold that has these bits."""
        numbers, at = {}, 0
        for name, type in cls.fields.items():
            width = 1 if type.kind == "pred" else type.width
            bits = word >> at & (1 << width) - 1
            numbers[name] = bits - (bits >> width - 1 << width) if type.signed else bits
            at += width
        return numbers

    @classmethod
    def variables(cls: type[Own], stem: str) -> Own:
        """The record whose fields are variables, named after it."""
        return cls(*(variable_of(f"{stem}.{name}", type) for name, type in cls.fields.items()))

    def same_as(self, other: State) -> Bool:
        """Whether two records agree in every field."""
        agree = TRUE
        for mine, theirs in zip(self, other, strict=True):
            agree = agree & (mine == theirs)
        return agree


def stored(value: Any, type: Type) -> Term:
    """A value as a field or an operand of this type holds it."""
    return truth(value) if type.kind == "pred" else low_bits(integer(value), type.width)


# Steps -----------------------------------------------------------------------------------------------------------------


class Requirement(NamedTuple):
    """A rule, by its name, and the condition under which a step keeps it."""

    rule: str
    condition: Bool


#: the requirements of the steps that are being evaluated, the outermost first
_requirements: list[list[Requirement]] = []


def requires(rule: str, condition: Bool | bool) -> None:
    """A step that is taken although the condition does not hold breaks the rule of this name."""
    if not _requirements:
        raise blame(f"the rule {rule!r} is required outside a step")
    _requirements[-1].append(Requirement(rule, truth(condition)))


class Port(NamedTuple):
    """What a step is given, or gives: a record, or a value of a type."""

    name: str
    type: Any

    @property
    def is_state(self) -> bool:
        return not isinstance(self.type, Type)

    @property
    def words(self) -> dict[str, Type]:
        """The types of its values, by name: one a field of a record."""
        if self.is_state:
            return {f"{self.name}.{field}": type for field, type in self.type.fields.items()}
        return {self.name: self.type}

    def variables(self) -> Any:
        return self.type.variables(self.name) if self.is_state else variable_of(self.name, self.type)


class Transition(NamedTuple):
    """What a step evaluates to: the rules it may break, in their order, and a term for each value that it gives."""

    requirements: tuple[Requirement, ...]
    values: tuple[Term, ...]


class Step:
    """A function of a page, from records and values to records and values. Those records that it gives, it gives in the order in
    which it is given them, before anything else: they take the place of those."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__wrapped__ = function
        code = function.__code__
        self.path, self.line = code.co_filename, code.co_firstlineno
        hints = inspect.get_annotations(function, eval_str=True)
        returned = hints.pop("return")
        self.inputs = tuple(Port(name, type) for name, type in hints.items())
        given = getattr(returned, "__args__", None) or (returned,)
        self.outputs = tuple(Port(f"%{i}", type) for i, type in enumerate(given))
        changed = [port.type for port in self.outputs if port.is_state]
        records = [port.type for port in self.inputs if port.is_state]
        if changed != records[: len(changed)]:
            raise blame(f"{self.__name__} gives records in another order than it is given them")

    def __call__(self, *arguments: Any) -> Any:
        """The step as a part of another, or of a claim."""
        given = zip(self.inputs, arguments, strict=True)
        return self.function(*(value if port.is_state else stored(value, port.type) for port, value in given))

    @property
    def states(self) -> tuple[Port, ...]:
        """The records that it is given; those that it changes come first."""
        return tuple(port for port in self.inputs if port.is_state)

    @property
    def changes(self) -> int:
        """How many of the records it changes."""
        return sum(port.is_state for port in self.outputs)

    @property
    def operands(self) -> tuple[Port, ...]:
        """The values that it is given beside records."""
        return tuple(port for port in self.inputs if not port.is_state)

    @property
    def results(self) -> tuple[Port, ...]:
        """The values that it gives beside records."""
        return tuple(port for port in self.outputs if not port.is_state)

    @cached_property
    def meaning(self) -> Transition:
        """The step over variables named after its parameters."""
        requirements, given = taken(self.function, *(port.variables() for port in self.inputs))
        parts = given if len(self.outputs) > 1 else (given,)
        if len(parts) != len(self.outputs):
            raise blame(f"{self.path}:{self.line}: {self.__name__} gives {len(parts)} values, not {len(self.outputs)}")
        values: list[Term] = []
        for port, value in zip(self.outputs, parts, strict=True):
            values += value if port.is_state else (stored(value, port.type),)
        return Transition(tuple(requirements), tuple(values))


def taken(function: Callable[..., Any], *arguments: Any) -> tuple[list[Requirement], Any]:
    """(the rules that the steps in a function may break, what it returns)"""
    _requirements.append([])
    try:
        returned = function(*arguments)
    finally:
        requirements = _requirements.pop()
    return requirements, returned


def step(function: Callable[..., Any]) -> Step:
    """Mark a function as a step of the machine. Its annotations say which records and values it is given, and which it gives."""
    return Step(function)


# What holds of them ----------------------------------------------------------------------------------------------------


class StepClaim(NamedTuple):
    """A sentence about all states, and the function of them that says so in terms; whether it holds, and where it stands.
    A claim is about steps that break no rule."""

    sentence: str
    function: Callable[..., Bool]
    holds: bool
    path: str
    line: int

    @property
    def inputs(self) -> tuple[Port, ...]:
        hints = inspect.get_annotations(self.function, eval_str=True)
        return tuple(Port(name, type) for name, type in hints.items() if name != "return")


#: every claim of the pages loaded so far, in order
CLAIMS: list[StepClaim] = []


def _claim(sentence: str, holds: bool) -> Callable[[Callable[..., Bool]], Callable[..., Bool]]:
    def mark(function: Callable[..., Bool]) -> Callable[..., Bool]:
        code = function.__code__
        CLAIMS.append(StepClaim(" ".join(sentence.split()), function, holds, code.co_filename, code.co_firstlineno))
        return function

    return mark


def invariant(sentence: str) -> Callable[[Callable[..., Bool]], Callable[..., Bool]]:
    """State what holds of all states and operands; its parameters' annotations say of which."""
    return _claim(sentence, True)


def tempting(sentence: str) -> Callable[[Callable[..., Bool]], Callable[..., Bool]]:
    """State what looks true and is not: the solver must find states for which it fails."""
    return _claim(sentence, False)


def implies(condition: Bool | bool, conclusion: Bool | bool) -> Bool:
    """Whether the conclusion holds where the condition does."""
    return ~truth(condition) | conclusion
