"""The tree of a PTX module: what was written, before names and types are looked at. Positions are offsets into the text."""

from __future__ import annotations

from typing import Any

from ptxspec.base.records import NamedTuple


class Spelled(int):
    """An integer that remembers how it was written. It is equal to the same integer written otherwise."""

    text: str

    @classmethod
    def of(cls, value: int, text: str) -> int:
        """The integer, with the text if that is not how Python writes it."""
        if str(value) == text:
            return int(value)
        spelled = cls(value)
        spelled.text = text
        return spelled


class Name(NamedTuple):
    """A register, special register, variable, label, function, or the sink `_`; `V.x` is written with its component."""

    text: str


class Number(NamedTuple):
    """An integer constant."""

    value: int


class Float(NamedTuple):
    """A floating-point constant: the bits of a double, or of a single written as 0f…"""

    bits: int
    width: int


class Generic(NamedTuple):
    """`generic(name)+offset` in an initializer: the variable's generic address, and a constant."""

    name: Name
    offset: int = 0


class Fields(NamedTuple):
    """`{ name = value, … }`: the initializer of an opaque variable."""

    fields: tuple[tuple[str, Name | Number | Float], ...]


class Sum(NamedTuple):
    """A name and a constant byte offset."""

    base: Name
    offset: int


class Masked(NamedTuple):
    """`mask(value)` in an initializer: the byte of a value that a mask selects."""

    mask: int
    value: Generic | Sum | Name | Number | Part


class Address(NamedTuple):
    """`[base+offset]`, perhaps with `.unified`; `base` is None for an absolute address."""

    base: Name | Indexed | None
    offset: int
    unified: bool = False


class Element(NamedTuple):
    """`base[register+offset]`, counted in elements of the array; `register` is None where the index is constant."""

    base: Name
    register: Name | None
    offset: int


class Indexed(NamedTuple):
    """The address of an element whose index is in a register, once it is known what the array is: that of the array and what
    spec/variables/index.md adds for the register, `scale` bytes an element, and for a constant number of bytes. `bits` are
    those of the address."""

    base: Name
    register: Name
    scale: int
    offset: int
    bits: int

    @property
    def text(self) -> str:
        """The array's name."""
        return self.base.text


class Braces(NamedTuple):
    """`{a, b, …}`"""

    elements: tuple[Name | Number | Float | Part, ...]


class Pair(NamedTuple):
    """`p|q`, or `{a, b}|q`"""

    first: Name | Braces
    second: Name


class Bracket(NamedTuple):
    """`[a, {b, c}]`: a texture or a surface, perhaps a sampler, and coordinates."""

    elements: tuple[Any, ...]


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


Operand = Name | Number | Float | Sum | Address | Element | Indexed | Braces | Bracket | Pair | Parens | Not | Part


#: operands that several others make up
Group = Braces | Bracket | Parens


def bare(operand: Operand) -> Operand:
    """An operand without its selector and sign, or the constant that is added to it, which the form of the instruction has taken
    in."""
    match operand:
        case Part():
            return operand.name
        case Sum():
            return operand.base
        case _:
            return operand


class Instruction(NamedTuple):
    """One instruction. `guard` is (predicate, negated)."""

    mnemonic: str
    operands: tuple[Operand, ...]
    guard: tuple[str, bool] | None
    position: int


class Label(NamedTuple):
    name: str
    position: int


class ScopeBrace(NamedTuple):
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
    attributes: tuple[Attribute, ...] = ()


class Attribute(NamedTuple):
    """`.managed`, or `.unified(…)` with its numbers."""

    name: str
    numbers: tuple[int, ...]


class PointerAttribute(NamedTuple):
    """`.ptr` of a parameter: the space that it points into, and how what is there is aligned."""

    space: str | None
    align: int | None


class Parameter(NamedTuple):
    """A parameter or a result; `space` is "param" or "reg", the name `_` that of one in a prototype. `size` is that of
    an array; of one that the call makes as long as it needs, it is -1. `vector` is the number of elements of a vector."""

    type: str
    name: str
    align: int | None
    size: int | None
    position: int
    space: str = "param"
    pointer: PointerAttribute | None = None
    vector: int = 1


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
    performance: dict[str, tuple[int, ...]] = {}
    """such as .noreturn, with their numbers"""


class Pragma(NamedTuple):
    """`.pragma`: its strings, as they stand between the quotes."""

    texts: tuple[str, ...]
    position: int


class Location(NamedTuple):
    """`.loc`: (file, line, column), and if the code was inlined there, (where its function's name is found, offset,
    file, line, column)."""

    place: tuple[int, ...]
    inlined: tuple[Any, ...] | None
    position: int


class File(NamedTuple):
    """`.file`: its number and name, and perhaps when it was changed and how large it is."""

    number: int
    name: str
    facts: tuple[int, ...]
    position: int


class Section(NamedTuple):
    """`.section`: lines of (width, integers or one address as it is written), or (None, a label)."""

    name: str
    lines: tuple[tuple[str | None, tuple[Any, ...]], ...]
    position: int


class Alias(NamedTuple):
    """`.alias`: another name of a function."""

    name: str
    of: str
    position: int


class ArchitectureTarget(NamedTuple):
    """`.target`: an architecture and options, and where each of these names stands."""

    names: tuple[str, ...]
    name_positions: tuple[int, ...]
    position: int


Statement = Instruction | Label | ScopeBrace | Variable | Targets | Prototype | Pragma | Location | ArchitectureTarget
Directive = File | Section | Pragma | Alias


class Function(NamedTuple):
    """An entry or a function. `body` is None for a declaration without one; `performance` maps directives such as
    .maxntid or .noreturn to their numbers."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...] | None
    performance: dict[str, tuple[int, ...]]
    linkage: str | None
    position: int
    is_entry: bool = True
    returns: tuple[Parameter, ...] = ()
    pragmas: tuple[Pragma, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    end: int = 0
    """where the brace stands that closes the body"""


class ModuleTree(NamedTuple):
    version: tuple[int, int]
    targets: tuple[ArchitectureTarget, ...]
    """those at the head, of which there is one at least"""
    address_size: int
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    version_position: int
    address_size_position: int | None
    uses: tuple[tuple[str, int], ...] = ()
    """what only some versions of PTX have, each with where it stands"""
    directives: tuple[Directive, ...] = ()
    """those of the module that declare neither a variable nor a function"""
    further_targets: tuple[ArchitectureTarget, ...] = ()
    """those in bodies, in the order of the text"""


def type_of(item: Any) -> type:
    """The class of an item. (Calling type() would let a type checker narrow to one class, where many are meant.)"""
    kind: type = item.__class__
    return kind
