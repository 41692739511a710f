"""What the pages about spelling owe the model: literals, constant expressions, mnemonics, directives, types of operands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Int
    from ptxspec.terms.static_rules import StaticRule
    from ptxspec.terms.types import Type

#: a version of PTX ISA: its two numbers
Version = tuple[int, int]


class Literals(Protocol):
    """spec/syntax/literals.md."""

    @property
    def PREDEFINED(self) -> Mapping[str, int]:
        """The values of the predefined names."""

    def integer_type(self, value: int, suffix: bool) -> str:
        """The type, "s64" or "u64", of an integer literal with or without the suffix U."""


class TypedConstant(Protocol):
    """A constant of an expression."""

    @property
    def type(self) -> str:
        """ "s64", "u64" or "f64"."""

    @property
    def value(self) -> int:
        """The number; of "f64" its bits."""


class ConstantExpressions(Protocol):
    """spec/syntax/constant-expressions.md: operators, and what they evaluate to."""

    @property
    def STRENGTHS(self) -> Mapping[str, int]:
        """How strongly each binary operator binds."""

    @property
    def UNARY(self) -> tuple[str, ...]:
        """The operators that stand before their operand."""

    @property
    def CASTS(self) -> tuple[str, ...]:
        """The casts, as they are written."""

    @property
    def is_whole(self) -> StaticRule[bool]:
        """Of whether a constant that must be an integer is one."""

    def Constant(self, type: str, value: int) -> TypedConstant:
        """A constant of a type."""

    def evaluated(self, operator: str, operands: tuple[Any, ...]) -> TypedConstant:
        """What an operator gives. Raises BrokenRule for operands that it does not take."""


class Mnemonics(Protocol):
    """spec/instructions/index.md: the order of an instruction's words."""

    @property
    def NEXT_TO(self) -> Mapping[str, tuple[str, ...]]:
        """By opcode, the words that stand right after it."""

    @property
    def APART(self) -> tuple[str, ...]:
        """Those among them that may also stand after a blank."""

    @property
    def IN_ORDER(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """By opcode, groups of words in each of which the order counts, as that of types does."""

    @property
    def REPEATED(self) -> tuple[str, ...]:
        """Words that may be repeated."""


class Family(Protocol):
    """A family of instructions that PTX has and no page describes: what it is for, the first version and the number of the first
    target that have it."""

    @property
    def what(self) -> str: ...

    @property
    def since(self) -> Version: ...

    @property
    def needs(self) -> int: ...

    @property
    def only(self) -> tuple[str, ...]:
        """The targets of whose features it needs one's, if not all targets from the first on have it."""

    @property
    def words(self) -> frozenset[str]:
        """The modifiers that it may have."""


class Gaps(Protocol):
    """spec/gaps.md: which instructions PTX has that no page describes."""

    @property
    def FAMILIES(self) -> Mapping[str, Family]:
        """By the opcode with the modifiers that the family is named by."""

    @property
    def FORMS(self) -> Mapping[str, Sequence[Family]]:
        """By the opcode, forms of it that its page does not describe."""

    def family_of(self, mnemonic: str) -> str | None:
        """The name of the family whose name an instruction begins with, if there is one."""

    def foreign(self, mnemonic: str, name: str) -> list[str]:
        """The modifiers of an instruction that its family does not have."""

    def further_form(self, mnemonic: str, known: frozenset[str]) -> Family | None:
        """What an instruction of an opcode with a page is a further form of. `known` are the modifiers on the page."""


class Directives(Protocol):
    """spec/directives/index.md: versions, targets, and which directives they have. A use of a directive is named by the directive
    or by a phrase of the page."""

    @property
    def VERSIONS(self) -> Mapping[int, int]:
        """The greatest second number of a version, by the first."""

    @property
    def SINCE(self) -> Mapping[str, Version]:
        """The version that brought a use of a directive, where it is not the first."""

    @property
    def NEEDS(self) -> Mapping[str, int]:
        """The number of the first target that has a use of a directive, where not all do."""

    @property
    def GONE(self) -> Mapping[str, Version]:
        """The version from which on a use of a directive is refused."""

    @property
    def TARGETS(self) -> Mapping[str, Version]:
        """The targets, each with the version that brought it."""

    def features(self, target: str) -> tuple[str, ...]:
        """What a target has beside its number: the names of the targets that stand for it, its own first."""

    @property
    def OPTIONS(self) -> Mapping[str, tuple[Version, int | None]]:
        """The options of .target, each with the version that brought it and the target from which on it is refused."""

    def may_be_narrow(self, said: int | None, target: int) -> bool:
        """Whether addresses may have 32 bits in a module for a target that says 32, 64 or nothing of them."""

    def address_size(self, said: int | None, needs_narrow: bool) -> int:
        """The bits of an address, where the module says this of them and something in it may need 32."""

    @property
    def limits_are_positive(self) -> StaticRule[str, int]:
        """Of a directive and its number."""

    @property
    def limits_have_32_bits(self) -> StaticRule[int]:
        """Of its number."""

    @property
    def ALTERNATIVES(self) -> Sequence[tuple[str, str]]:
        """Directives of which an entry has one."""

    @property
    def has_one_of(self) -> StaticRule[tuple[str, str], Collection[str]]:
        """Of two such directives and those that an entry has."""

    @property
    def blocks_are_clusters_of_a_size(self) -> StaticRule[Collection[str]]:
        """Of the directives that an entry has."""

    @property
    def limited_entries_are_defined(self) -> StaticRule[Collection[str], bool]:
        """Of the directives that an entry has, and whether it has a body."""

    @property
    def preserves_what_there_is(self) -> StaticRule[str, int]:
        """Of a directive about preserved registers and its number."""

    @property
    def functions_with_results_return(self) -> StaticRule[str, bool]:
        """Of a directive after a function's parameters, and whether it has results."""

    @property
    def is_an_address_size(self) -> StaticRule[int]:
        """Of a number of bits."""

    @property
    def has_addresses_of(self) -> StaticRule[int, int]:
        """Of what a module says of the bits of its addresses, and the target's number."""

    @property
    def is_a_version(self) -> StaticRule[Version]: ...

    @property
    def version_has(self) -> StaticRule[str, Version]:
        """Of a use of a directive, and the module's version."""

    @property
    def target_has(self) -> StaticRule[str, int]:
        """Of a use of a directive, and the target's number."""

    @property
    def version_still_has(self) -> StaticRule[str, Version]:
        """Of a use of a directive, and the module's version."""

    @property
    def version_has_target(self) -> StaticRule[str, Version]:
        """Of a target that there is, and the module's version."""

    @property
    def version_has_option(self) -> StaticRule[str, Version]:
        """Of an option that there is, and the module's version."""

    @property
    def target_has_option(self) -> StaticRule[str, int]:
        """Of an option that there is, and the target's number."""

    @property
    def has_one_texture_mode(self) -> StaticRule[Collection[str]]:
        """Of the options of .target."""


class Debugging(Protocol):
    """spec/directives/debugging.md."""

    @property
    def places_have_32_bits(self) -> StaticRule[int]:
        """Of the number of a file, a line or a column."""

    @property
    def files_have_their_numbers(self) -> StaticRule[int, Collection[int]]:
        """Of a file's number and those of the files before it."""

    @property
    def inlined_at_a_place(self) -> StaticRule[tuple[int, ...], Collection[tuple[int, ...]]]:
        """Of a place, and those that .loc before it has."""

    @property
    def data_fit(self) -> StaticRule[int, int]:
        """Of a number in a section and the bits of its line."""

    @property
    def addresses_fill(self) -> StaticRule[int]:
        """Of the bits of a line with an address."""

    @property
    def labels_of_sections_differ(self) -> StaticRule[str, Collection[str]]:
        """Of a label and those before it in its section."""


class TypeChecking(Protocol):
    """spec/operands/type-checking.md: which register or constant may stand for a value of a type."""

    @property
    def TUPLES(self) -> tuple[int, ...]:
        """How many values braces may hold, ascending."""

    @property
    def guards_are_predicates(self) -> StaticRule[Type]:
        """Of the type of a guard's register."""

    def agrees(self, wanted: Type, operand: Type) -> bool:
        """Whether a register of one type may stand where another is asked for."""

    def agrees_when_wider(self, wanted: Type, operand: Type) -> bool:
        """The same for instructions that also take wider registers."""

    def widened(self, value: Int, type: Type, width: int) -> Int:
        """What a register of so many bits holds that gets a result of a type, which has no more."""

    def takes_constant(self, type: Type, real_bits: int) -> bool:
        """Whether a constant may be a value of a type: an integer (0), or a floating-point number of so many bits."""

    def constant_value(self, value: int, width: int) -> int:
        """What an integer constant is as a value of so many bits."""


class Types(Protocol):
    """spec/types/index.md: which modules have a type."""

    @property
    def NEEDS(self) -> Mapping[str, tuple[Version, int]]:
        """The first version and target of a type, where not all have it."""

    @property
    def lies_in_memory(self) -> StaticRule[str]:
        """Of a type's name."""

    @property
    def version_has_type(self) -> StaticRule[str, Version]:
        """Of a type's name and the module's version."""

    @property
    def target_has_type(self) -> StaticRule[str, int]:
        """Of a type's name and the target's number."""

    @property
    def may_be_in_param(self) -> StaticRule[str, bool]:
        """Of the type's name of a variable in .param, and whether it is an array."""


literals = page("syntax.literals", Literals)
constant_expressions = page("syntax.constant_expressions", ConstantExpressions)
mnemonics = page("instructions.index", Mnemonics)
gaps = page("gaps", Gaps)
directives = page("directives.index", Directives)
debugging = page("directives.debugging", Debugging)
type_checking = page("operands.type_checking", TypeChecking)
types = page("types.index", Types)
