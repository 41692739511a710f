"""What checking gives: places, signatures, instructions with their forms, kernels, modules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple, record
from ptxspec.language import cited, tree
from ptxspec.language.diagnostics import Diagnostic, Source
from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.types import Type


def unbanked(space: str) -> str:
    """The state space that a bank belongs to, as in the table of spaces; other spaces as they are."""
    return space.partition("[")[0]


class InitialPointer(NamedTuple):
    """Where the first bytes of a variable are an address: at which offset and in how many bytes, of which variable or function,
    what is added to it, whether it is generic, and the mask that takes one byte of it."""

    offset: int
    size: int
    name: str
    addend: int = 0
    generic: bool = False
    mask: int | None = None


class Place(NamedTuple):
    """A variable in memory: its state space, its offset there (from the start of what this module or function has in that
    space), its size in bytes, and the bytes it begins with, which zeros follow to its end (None: not initialized)."""

    name: str
    space: str
    offset: int
    size: int
    align: int
    initial: bytes | None = None
    linkage: str | None = None
    """visible, weak, common or extern"""
    framed: bool = False
    """whether it lies in the frame of a function's activation: the offset counts from there, in local memory"""
    pointers: tuple[InitialPointer, ...] = ()
    element: int = 0
    """the bytes of an element, if this is an array"""
    opaque: str = ""
    """the kind of an opaque variable, whose offset is its handle"""
    type: Type | None = None
    """the type of what it holds, or of its elements; None for vectors"""
    dimensions: int = 0
    """how many dimensions an array has"""

    @property
    def in_a_bank(self) -> bool:
        """Whether this is the beginning of a bank, whose size the host says."""
        return "[" in self.space

    @property
    def aligned(self) -> int:
        """The alignment that it has in any case: what is declared, or that of its type where that is greater."""
        return max(self.align, self.element or self.size)


class Formal(NamedTuple):
    """A parameter or a result of a function. In the space .param it has a place in the frame, else a register."""

    type: Type
    is_array: bool
    place: Place | None
    register: str | None
    vector: int = 1
    """of a vector of registers, which are parameters one by one: for the first the length, for the others 0; of an array, the
    length of the vectors that it holds"""

    @property
    def aligned(self) -> int:
        """What is passed is aligned so."""
        return self.type.bytes if self.place is None else self.place.aligned

    @property
    def size(self) -> int:
        return self.type.bytes if self.place is None else self.place.size

    @property
    def is_open(self) -> bool:
        """Whether it is an array without a size, which gets as many bytes as a call passes."""
        return self.is_array and self.size == 0

    @property
    def shape(self) -> tuple[Any, ...]:
        """What must be the same where two lists are to fit together."""
        return self.type.width, self.is_array, self.size, self.place is None, self.vector

    @property
    def declared(self) -> tuple[Any, ...]:
        """What two declarations of one function must have in common."""
        return self.type, self.is_array, self.size, None if self.place is None else self.place.aligned, self.vector


class Signature(NamedTuple):
    """What a function takes and gives, and how many bytes of its frame that fills."""

    name: str
    returns: tuple[Formal, ...]
    parameters: tuple[Formal, ...]
    size: int
    position: int

    @property
    def has_several_results(self) -> bool:
        return sum(f.vector > 0 for f in self.returns) > 1

    @property
    def declared(self) -> tuple[tuple[Any, ...], ...]:
        """What two declarations of one function must have in common: of each result, and of each parameter."""
        return tuple(tuple(f.declared for f in fs) for fs in (self.returns, self.parameters))


class Table(NamedTuple):
    """A list of labels or functions that an indirect branch or call may reach: its directive, their unique names, and the
    signatures of functions, of those that are declared alike the first. `problem` says why it is no list for a call."""

    directive: str
    known: tuple[str, ...]
    signatures: tuple[Signature, ...]
    position: int
    problem: str | None = None


class CallSite(NamedTuple):
    """What a call passes. `function` is None for an indirect call; `known` are those that it may reach, None if it is not
    said."""

    function: str | None
    signature: Signature
    arguments: tuple[tree.Operand, ...]
    results: tuple[tree.Operand, ...]
    known: tuple[str, ...] | None


@record(frozen=True)
class Read:
    """An operand that is read: the parameter of the definition that it stands for."""

    name: str


@record(frozen=True)
class Written:
    """An operand that is written: the number of its result."""

    number: int


@record(frozen=True)
class Grouped:
    """Operands in braces or brackets of which each has a part of its own."""

    members: tuple[Read | Written, ...]


class Plan(NamedTuple):
    """How the operands of an instruction of one shape fill one form: `parts` says what each operand as written is to it, and then
    what those are, by their numbers, that stand `again` behind the last, since they are read and written."""

    form: Form
    meaning: Meaning
    parts: tuple[Read | Written | Grouped, ...]
    again: tuple[int, ...] = ()


class Op(NamedTuple):
    """A checked instruction. Register names are those of the scope it stands in."""

    plan: Plan
    operands: tuple[tree.Operand, ...]
    guard: tuple[str, bool] | None
    position: int
    call: CallSite | None = None
    targets: tuple[str, ...] = ()
    """the labels that an indirect branch may go to"""
    space: str = ""
    """the state space of the access, where the form alone does not say it: that of the frame, or a bank of constants"""


def parts_of(op: Op) -> Iterator[tuple[Read | Written, Any]]:
    """What each operand is to the instruction, and the operand; braces and brackets that group operands taken apart."""
    for part, operand in zip(op.plan.parts, op.operands, strict=True):
        if isinstance(part, Grouped):
            assert isinstance(operand, tree.Group)
            yield from zip(part.members, operand.elements, strict=True)
        else:
            yield part, operand


class Missing(NamedTuple):
    """That an instruction is of a family without a page: the family's name, and what it is for."""

    family: str
    what: str

    @property
    def message(self) -> str:
        return f"{self.family} is PTX ({self.what}), but no page describes it"


class GapOccurrence(NamedTuple):
    """An instruction of a module that no page describes, and where it stands."""

    missing: Missing
    position: int

    def diagnostic(self, source: Source) -> Diagnostic:
        return source.diagnostic(self.position, self.missing.message, cited.GAPS)


class Kernel:
    """A checked entry or function. `code` holds the instructions, and last what the end of the body stands for; `labels` maps a
    name to an index into it. `gaps` are the instructions that no page describes, which `code` lacks."""

    def __init__(self, name: str, signature: Signature | None = None):
        self.name = name
        self.signature = signature
        self.functions: dict[str, Kernel] = {}
        self.starts: dict[str, int] = {}
        self.parameters: list[Place] = []
        self.parameter_types: list[tuple[Type, bool]] = []
        self.registers: dict[str, Type] = {}
        self.places: dict[str, Place] = {}
        self.code: list[Op] = []
        self.gaps: list[GapOccurrence] = []
        self.labels: dict[str, int] = {}
        #: bytes of the variables in each state space whose variables exist anew in each launch
        self.sizes = dict.fromkeys(contracts.state_spaces.begins_anew(), 0)
        self.performance: dict[str, tuple[int, ...]] = {}
        #: indices of instructions that stand in no text: the checks of a launch add them
        self.added: Collection[int] = ()

    @property
    def written(self) -> int:
        """How many instructions are written in the body."""
        return len(self.code) - 1 + len(self.gaps)

    @property
    def frame_size(self) -> int:
        """Bytes of local memory that one activation uses, a parameter without a size apart."""
        return contracts.functions.frame_size(self.sizes[contracts.state_spaces.OF_FRAMES])


class Checked(NamedTuple):
    """A checked module. `functions` are those with a body, `signatures` all that are declared; `used` says where functions and
    entries are called or named for the first time, `second_names` which function each other name stands for."""

    source: Source
    tree: tree.ModuleTree
    kernels: dict[str, Kernel]
    places: dict[str, Place]
    sizes: dict[str, int]
    functions: dict[str, Kernel]
    signatures: dict[str, Signature]
    used: dict[str, int] = {}
    second_names: dict[str, str] = {}
    address_size: int = 64
    """the bits of an address"""


def sum_bits(kernel: Kernel, address: tree.Address, module: int) -> int:
    """How many bits the sum in brackets has, where the module's addresses have so many."""
    base = address.base.text if isinstance(address.base, tree.Name) else ""
    register = kernel.registers.get(base)
    return module if register is None else contracts.variables.sum_bits(register.width, module)


def operand_of(op: Op, name: str) -> Any:
    """The operand that stands for a parameter of the definition."""
    for part, operand in zip(op.plan.parts, op.operands, strict=True):
        if part == Read(name):
            return operand
    raise AssertionError(f"{op.plan.form} has no operand {name}")
