"""What kind of operand stands in an instruction, once its names are resolved: what forms are chosen by.

A `Kind` is one of the classes here or, of a register, its `Type`. The kinds of an instruction's operands are its *shape*, by
which its form is remembered. They are compared as objects, which is quick: there is one of each (`one_of_each`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, assert_never

from ptxspec.base.records import record
from ptxspec.terms.types import Type

K = TypeVar("K")


@record(frozen=True, eq=False)
class PlainKind:
    """A kind of which there is nothing more to say than what it is called."""

    called: str


SINK = PlainKind("the sink _")
INTEGER = PlainKind("an integer constant")
LABEL = PlainKind("a label")
FUNCTION = PlainKind("a function's name")
ENTRY = PlainKind("an entry's name")
LIST = PlainKind("operands in parentheses")
TABLE = PlainKind("a list of targets or a prototype")

#: what is said where a number is added to what is no address
NO_OFFSET = "only a variable's address takes an offset here"


@record(frozen=True, eq=False)
class RealKind:
    """A floating-point constant of 32 or 64 bits."""

    width: int


@record(frozen=True, eq=False)
class SpecialKind:
    """A special register: its type, and the narrower ones that it may be read as."""

    type: Type
    also: tuple[Type, ...]


@record(frozen=True, eq=False)
class VariableKind:
    """The address of a variable in a state space, perhaps with an offset; a bank's space is that of all banks."""

    space: str


@record(frozen=True, eq=False)
class OpaqueKind:
    """An opaque variable: `of` says what instructions may take it for, such as "texref" (see opaque.py)."""

    of: str


@record(frozen=True, eq=False)
class MemoryKind:
    """An address in brackets: the kind of what it counts from, None for a number alone."""

    base: Kind | None


@record(frozen=True, eq=False)
class NegatedKind:
    """`!p`"""

    of: Kind


@record(frozen=True, eq=False)
class PartKind:
    """An operand with a selector (without the dot), a minus sign, or both."""

    of: Kind
    selector: str | None
    negated: bool


@record(frozen=True, eq=False)
class SumKind:
    """A register to which a constant is added."""

    of: Type
    offset: int


@record(frozen=True, eq=False)
class BracesKind:
    """`{a, b, …}`, or the name of a vector, which stands for its elements."""

    elements: tuple[Kind, ...]


@record(frozen=True, eq=False)
class BracketKind:
    """`[a, {b, c}]`"""

    elements: tuple[Kind, ...]


@record(frozen=True, eq=False)
class PairKind:
    """`p|q`"""

    first: Kind
    second: Kind


Kind: TypeAlias = (
    Type
    | PlainKind
    | RealKind
    | SpecialKind
    | VariableKind
    | OpaqueKind
    | MemoryKind
    | NegatedKind
    | PartKind
    | SumKind
    | BracesKind
    | BracketKind
    | PairKind
)


def described(kind: Kind) -> str:
    """What a complaint calls an operand of this kind."""
    match kind:
        case Type():
            return f"a register of type {kind}"
        case PlainKind():
            return kind.called
        case RealKind():
            return "a floating-point constant"
        case SpecialKind():
            return "a special register"
        case VariableKind():
            return "a variable's address"
        case OpaqueKind():
            return "an opaque variable"
        case MemoryKind():
            return "an address in brackets"
        case NegatedKind():
            return "a negated predicate"
        case PartKind():
            return "a register with a selector or a minus sign"
        case SumKind():
            return "a register with an offset"
        case BracesKind():
            return "operands in braces"
        case BracketKind():
            return "an opaque variable with coordinates"
        case PairKind():
            return "two destinations"
        case _:
            assert_never(kind)


@lru_cache(1 << 14)
def _made(kind: Callable[..., Any], *about: Hashable) -> Any:
    return kind(*about)


def one_of_each(kind: Callable[..., K], *about: Hashable) -> K:
    """The kind of this class that says this: of each, one object."""
    made: K = _made(kind, *about)
    return made
