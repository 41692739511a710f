"""The tree of a PTX module: what was written, before names and types are looked at. Positions are offsets into the text."""

from __future__ import annotations

from typing import NamedTuple


class Name(NamedTuple):
    """A register, special register, variable, label, function, or the sink `_`; `V.x` is written with its component."""

    text: str


class Number(NamedTuple):
    """An integer constant."""

    value: int


class Real(NamedTuple):
    """A floating-point constant: the bits of a double, or of a single written as 0f…"""

    bits: int
    width: int


class Sum(NamedTuple):
    """A name and a constant byte offset."""

    base: Name
    offset: int


class Address(NamedTuple):
    """`[base+offset]`; `base` is None for an absolute address."""

    base: Name | None
    offset: int


class Braces(NamedTuple):
    """`{a, b, …}`"""

    elements: tuple[Name | Number | Real, ...]


class Pair(NamedTuple):
    """`p|q`"""

    first: Name
    second: Name


class Not(NamedTuple):
    """`!p`"""

    name: Name


Operand = Name | Number | Real | Sum | Address | Braces | Pair | Not


class Instruction(NamedTuple):
    """One instruction. `guard` is (predicate, negated)."""

    mnemonic: str
    operands: tuple[Operand, ...]
    guard: tuple[str, bool] | None
    position: int


class Label(NamedTuple):
    name: str
    position: int


class Scope(NamedTuple):
    """`{` (opens) or `}` of a block inside a function."""

    opens: bool
    position: int


class Variable(NamedTuple):
    """A declaration. `repeat` is N of `name<N>`; `dimensions` are those of an array, None for one left empty; `values` the
    initializer, nested as it was written."""

    space: str
    type: str
    vector: int
    name: str
    align: int | None
    repeat: int | None
    dimensions: tuple[int | None, ...]
    values: object
    linkage: str | None
    position: int


class Parameter(NamedTuple):
    type: str
    name: str
    align: int | None
    size: int | None
    position: int


class Function(NamedTuple):
    """An entry. `performance` maps directives such as .maxntid to their numbers."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Instruction | Label | Scope | Variable, ...]
    performance: dict[str, tuple[int, ...]]
    linkage: str | None
    position: int


class Module(NamedTuple):
    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    target_position: int
