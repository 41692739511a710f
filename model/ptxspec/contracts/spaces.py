"""What the pages about state spaces owe the model: the spaces, the banks of constants, generic addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.effects import Effect
    from ptxspec.terms.registries import StateSpace
    from ptxspec.terms.static_rules import StaticRule
    from ptxspec.terms.types import Type


class StateSpaces(Protocol):
    """spec/state-spaces/index.md: the spaces by name."""

    @property
    def SPACES(self) -> Mapping[str, StateSpace]:
        """What is so of each space, by its name without a dot."""

    def addressable(self) -> tuple[str, ...]:
        """The spaces whose variables have addresses."""

    def begins_anew(self) -> tuple[str, ...]:
        """Those of them whose variables exist anew in each launch."""

    def in_parts(self) -> tuple[str, ...]:
        """Those of them that have a part for each thread, or for each CTA."""

    def once(self) -> tuple[str, ...]:
        """Those of them in which a function's variables exist once for each thread or CTA, however often it is called."""

    @property
    def THREAD(self) -> str:
        """Who shares a space in which each thread has variables of its own."""

    @property
    def CONTEXT(self) -> str:
        """The same where there is one of each variable."""

    @property
    def GENERIC_BITS(self) -> int:
        """The width, in bits, of a register that holds a generic address."""

    def unwritten(self, type: Type, name: str) -> Int:
        """What a register of the type holds before anything is written to it, or a byte of a variable. `name` tells it from
        others."""

    @property
    def space_holds(self) -> StaticRule[str, int]:
        """Of a state space and how many bytes lie in it."""

    @property
    def may_be_initialized(self) -> StaticRule[str]:
        """Of the state space of a variable with an initializer."""

    @property
    def registers_hold_addresses(self) -> StaticRule[int, int, bool]:
        """Of the bits of an address, those of the register that holds it, and whether the module has 32-bit addresses."""

    @property
    def addresses_are_taken_whole(self) -> StaticRule[int, int, bool]:
        """The same of how many bits an instruction takes of a variable's address."""

    @property
    def forms_have_their_addresses(self) -> StaticRule[bool, bool]:
        """Of whether a form is for modules with 32-bit addresses, and whether the module has them."""

    @property
    def modules_declare(self) -> StaticRule[str, bool]:
        """Of the state space of a variable outside of functions, and whether it has a linkage."""

    @property
    def functions_declare(self) -> StaticRule[str]:
        """Of the state space of a variable in a function."""

    @property
    def is_no_vector_in_param(self) -> StaticRule[str, int, bool]:
        """Of a variable's state space, its vector's length, and whether it is an array."""

    @property
    def SIZED_AT_LAUNCH(self) -> str:
        """The space in which the launch sets the size of an array that is declared without one."""

    @property
    def OF_NUMBERS(self) -> str:
        """The space that a number alone is an address of."""

    @property
    def OF_BUFFERS(self) -> str:
        """The space of the buffers that the host passes."""

    @property
    def OF_PARAMETERS(self) -> str:
        """The space of the parameters of an entry."""

    @property
    def OF_FRAMES(self) -> str:
        """The space that holds what functions pass, take and give."""

    @property
    def IN_A_FUNCTION(self) -> tuple[str, str]:
        """How an access to the parameters of a function is spelled: with the function said, and without."""

    @property
    def loads_and_stores_say_func(self) -> StaticRule[str, Effect | None]:
        """Of how an instruction spells its state space, and its effect."""

    @property
    def func_is_of_a_function(self) -> StaticRule[bool, bool]:
        """Of whether an instruction says ::func, and whether it names an entry's parameter."""

    @property
    def entry_is_of_an_entry(self) -> StaticRule[bool, bool]:
        """The other way about."""


class Banks(Protocol):
    """spec/state-spaces/banks.md: constants in banks."""

    @property
    def BANKS(self) -> int:
        """How many banks there are; they are numbered from 0."""

    @property
    def FIRST(self) -> int:
        """The number of the bank that is meant where none is said."""

    @property
    def BANK_SIZE(self) -> int:
        """The most bytes that a bank holds."""

    def bank_of(self, space: str) -> int:
        """The number of the bank that a space's name says, such as "const[2]"."""

    def space_of(self, number: int) -> str:
        """The name of the space of a bank's variables."""

    @property
    def is_a_bank(self) -> StaticRule[int]:
        """Of a bank's number."""

    @property
    def begins_a_bank(self) -> StaticRule[str | None, Sequence[int | None]]:
        """Of the linkage and the sizes of a variable in a bank other than the first."""


class GenericAddressing(Protocol):
    """spec/state-spaces/generic-addressing.md: the windows of the state spaces. Addresses and sizes count bytes."""

    @property
    def WINDOWS(self) -> Mapping[str, int]:
        """The first address of each window, by the name of its space."""

    @property
    def GLOBAL_BASE(self) -> int:
        """Where global memory begins."""

    @property
    def CLUSTER(self) -> str:
        """The name of the shared memory of a whole cluster."""

    def reached_in(self, window: str) -> str:
        """The state space that a generic address reaches which falls into a window."""

    @overload
    def part_begins(self, rank: int) -> int: ...
    @overload
    def part_begins(self, rank: Int) -> Int: ...
    def part_begins(self, rank: Int | int) -> Int | int:
        """Where the part of that window begins that belongs to the CTA of a rank."""

    def base(self, space: str) -> int:
        """What is added to an address of a space to make it generic."""

    def is_generic(self, space: str) -> bool:
        """Whether generic addresses point into a state space."""

    @overload
    def within(self, space: str, generic: int) -> bool: ...
    @overload
    def within(self, space: str, generic: Int) -> Bool: ...
    def within(self, space: str, generic: Int | int) -> Bool | bool:
        """Whether a generic address falls into the window of a space; of global memory: into none."""


state_spaces = page("state_spaces.index", StateSpaces, declares="state_spaces")
banks = page("state_spaces.banks", Banks)
generic_addressing = page("state_spaces.generic_addressing", GenericAddressing)
