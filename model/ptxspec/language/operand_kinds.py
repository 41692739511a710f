"""What kind of operand stands in an instruction, once its names are resolved: what forms are chosen by.

A `Kind` is one of the classes here or, of a register, its `Type`. The kinds of an instruction's operands are its *shape*, by
which a check remembers its form. They are compared as objects, which is quick: a check makes one of each (`OneOfEach`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, assert_never

from ptxspec.terms.types import Type

K = TypeVar("K")


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """A kind of which there is nothing more to say than what it is called."""

    called: str


SINK = Plain("the sink _")
INTEGER = Plain("an integer constant")
LABEL = Plain("a label")
FUNCTION = Plain("a function's name")
ENTRY = Plain("an entry's name")
LIST = Plain("operands in parentheses")
TABLE = Plain("a list of targets or a prototype")

#: what is said where a number is added to what is no address
NO_OFFSET = "only a variable's address takes an offset here"


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """A floating-point constant of 32 or 64 bits."""

    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Special:
    """A special register: its type, and the narrower ones that it may be read as."""

    type: Type
    also: tuple[Type, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """The address of a variable in a state space, perhaps with an offset; a bank's space is that of all banks."""

    space: str


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """An opaque variable: `of` says what instructions may take it for, such as "texref" (see opaque.py)."""

    of: str


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """An address in brackets: the kind of what it counts from, None for a number alone."""

    base: Kind | None


@dataclass(frozen=True, slots=True, eq=False)
class Negated:
    """`!p`"""

    of: Kind


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An operand with a selector (without the dot), a minus sign, or both."""

    of: Kind
    selector: str | None
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A register to which a constant is added."""

    of: Type
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Braces:
    """`{a, b, …}`, or the name of a vector, which stands for its elements."""

    elements: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Bracket:
    """`[a, {b, c}]`"""

    elements: tuple[Kind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """`p|q`"""

    first: Kind
    second: Kind


Kind: TypeAlias = (
    Type | Plain | Real | Special | Variable | Opaque | Memory | Negated | Part | Sum | Braces | Bracket | Pair
)


def described(kind: Kind) -> str:
    """What a complaint calls an operand of this kind."""
    match kind:
        case Type():
            return f"a register of type {kind}"
        case Plain():
            return kind.called
        case Real():
            return "a floating-point constant"
        case Special():
            return "a special register"
        case Variable():
            return "a variable's address"
        case Opaque():
            return "an opaque variable"
        case Memory():
            return "an address in brackets"
        case Negated():
            return "a negated predicate"
        case Part():
            return "a register with a selector or a minus sign"
        case Sum():
            return "a register with an offset"
        case Braces():
            return "operands in braces"
        case Bracket():
            return "an opaque variable with coordinates"
        case Pair():
            return "two destinations"
        case _:
            assert_never(kind)


class OneOfEach:
    """Makes kinds, and of each kind one object."""

    def __init__(self) -> None:
        self._made: dict[tuple[Callable[..., Any], tuple[Hashable, ...]], Any] = {}

    def __call__(self, kind: Callable[..., K], *about: Hashable) -> K:
        """The kind of this class that says this."""
        key = (kind, about)
        made: K | None = self._made.get(key)
        if made is None:
            made = self._made[key] = kind(*about)
        return made
