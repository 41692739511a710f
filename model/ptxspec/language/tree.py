"""The tree of a PTX module: what was written, before names and types are looked at. Positions are offsets into the text."""

from __future__ import annotations

from typing import Any, NamedTuple


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


class Generic(NamedTuple):
    """`generic(name)+offset` in an initializer: the variable's generic address, and a constant."""

    name: Name
    offset: int = 0


class Sum(NamedTuple):
    """A name and a constant byte offset."""

    base: Name
    offset: int


class Address(NamedTuple):
    """`[base+offset]`; `base` is None for an absolute address."""

    base: Name | None
    offset: int


class Element(NamedTuple):
    """`base[register+offset]`, counted in elements of the array; `register` is None where the index is constant."""

    base: Name
    register: Name | None
    offset: int


class Braces(NamedTuple):
    """`{a, b, …}`"""

    elements: tuple[Name | Number | Real | Part, ...]


class Pair(NamedTuple):
    """`p|q`"""

    first: Name
    second: Name


class Parens(NamedTuple):
    """`(a, b, …)`: the arguments or the results of a call."""

    elements: tuple[Any, ...]


class Not(NamedTuple):
    """`!p`"""

    name: Name


class Part(NamedTuple):
    """`a.b0`, `-a` or `-a.b0`: a register with a selector (without the dot), a minus sign, or both."""

    name: Name
    selector: str | None
    negated: bool


Operand = Name | Number | Real | Sum | Address | Element | Braces | Pair | Parens | Not | Part


def bare(operand: Operand) -> Operand:
    """An operand without its selector and sign, which the form of the instruction has taken in."""
    return operand.name if isinstance(operand, Part) else operand


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
    """A parameter or a result; `space` is "param" or "reg", the name `_` that of one in a prototype."""

    type: str
    name: str
    align: int | None
    size: int | None
    position: int
    space: str = "param"


class Targets(NamedTuple):
    """`name: .branchtargets …;` or `name: .calltargets …;`"""

    name: str
    directive: str
    targets: tuple[Name, ...]
    position: int


class Prototype(NamedTuple):
    """`name: .callprototype (…) _ (…);`"""

    name: str
    returns: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    position: int


Statement = Instruction | Label | Scope | Variable | Targets | Prototype


class Function(NamedTuple):
    """An entry or a function. `body` is None for a declaration without one; `performance` maps directives such as .maxntid to
    their numbers."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...] | None
    performance: dict[str, tuple[int, ...]]
    linkage: str | None
    position: int
    is_entry: bool = True
    returns: tuple[Parameter, ...] = ()


class Module(NamedTuple):
    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    target_position: int
    version_position: int
    option_positions: tuple[int, ...]
    address_size_position: int | None
    uses: tuple[tuple[str, int], ...] = ()
    """what only some versions of PTX have, each with where it stands"""
