"""A module, as spec/syntax/modules.md writes it."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language.building.constants import Constants
from ptxspec.language.building.declarations import Declarations
from ptxspec.language.building.statements import FunctionHint, Statements
from ptxspec.language.building.text import BuiltText
from ptxspec.language.digits import integer_of
from ptxspec.language.tree import Alias, ArchitectureTarget, Function, ModuleTree, Parameter, Pragma, Variable

#: a word of an entry's heading, with what it was given
Limit = tuple[str, tuple[int, ...]]


class FragmentHeading(NamedTuple):
    """What stands before a fragment: the version and the target that it is meant for, and where they stand; None for what is not
    there."""

    version: tuple[int, int] | None
    target: str | None
    version_position: int | None
    target_position: int | None


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return integer_of(major), integer_of(minor)


class Modules:
    """Builds modules."""

    def __init__(self, text: BuiltText, constants: Constants, declarations: Declarations, statements: Statements):
        self.text, self.constants, self.declarations, self.statements = text, constants, declarations, statements
        self.release_at: list[int] = []
        self.names_at: list[int] = []
        #: all of the text, in their order
        self.targets: list[ArchitectureTarget] = []
        self.address_size_at: int | None = None
        #: the word that is the name of the function that was read last
        self.function_at = 0

    def module(
        self, at: int, version: str, targets: list[ArchitectureTarget], size: int | None, members: list[Any]
    ) -> ModuleTree:
        variables: list[Variable] = []
        functions: list[Function] = []
        standing: list[Any] = []
        for member in members:
            if isinstance(member, list):
                variables += member
            else:
                (functions if isinstance(member, Function) else standing).append(member)
        return ModuleTree(
            _numbers(version),
            tuple(targets),
            32 if size is None else size,
            tuple(variables),
            tuple(functions),
            self.text.starts[self.release_at[0]],
            None if self.address_size_at is None else self.text.starts[self.address_size_at],
            tuple(self.text.uses),
            tuple(standing),
            tuple(self.targets[len(targets) :]),
        )

    def heading(self, at: int, version: str | None, target: str | None) -> FragmentHeading:
        return FragmentHeading(
            None if version is None else _numbers(version),
            target,
            self.text.starts[self.release_at[0]] if self.release_at else None,
            self.text.starts[self.names_at[0]] if self.names_at else None,
        )

    def release(self, at: int, version: str) -> str:
        self.release_at.append(at)
        return version

    def target(self, at: int, names: list[str]) -> ArchitectureTarget:
        starts = self.text.starts
        positions = tuple(starts[word] for word in self.names_at[-len(names) :])
        self.targets.append(ArchitectureTarget(tuple(names), positions, starts[at]))
        return self.targets[-1]

    def target_name(self, at: int, name: str) -> str:
        self.names_at.append(at)
        return name

    def address_size(self, at: int, size: int) -> int:
        self.address_size_at = at
        return size

    def address_bits(self, at: int, word: str) -> int:
        size = self.constants.integer(at)
        return size if self.text.require(contracts.directives.is_an_address_size, at, size) else 64

    def member(self, at: int, linkage: str | None, declared: Any, standing: Any) -> Any:
        self.declarations.allow_zeros(linkage == ".extern")
        if declared is None:
            return standing
        word = linkage[1:] if linkage else None
        if isinstance(declared, Function):
            self.text.require(contracts.linking.common_is_for_variables, at, word)
            what, rule = "an entry" if declared.is_entry else "a function", contracts.functions.extern_is_elsewhere
            self.text.require(rule, self.function_at, word, declared.body is not None, what=what)
            return declared._replace(linkage=word)
        space = declared[0].space
        rule = contracts.state_spaces.modules_declare
        if not self.text.require(rule, at + (linkage is not None), space, linkage is not None):
            return []
        for variable in declared if linkage is not None else ():
            self.text.require(contracts.linking.common_is_global, at, word, variable.space)
            initialized = variable.values is not None
            self.text.require(contracts.linking.extern_has_no_initializer, at, word, initialized)
        return [variable._replace(linkage=word) for variable in declared]

    def module_variables(self, at: int, variables: list[Variable]) -> list[Variable]:
        return variables

    def module_pragma(self, at: int, pragma: Pragma) -> Pragma:
        return pragma

    def alias(self, at: int, name: str, of: str) -> Alias:
        return Alias(name, of, self.text.starts[at])

    # entries and functions -----------------------------------------------------------------------------------------------

    def entry_name(self, at: int, name: str) -> str:
        self.function_at = at
        return name

    function_name = entry_name

    def limit(self, at: int, word: str, numbers: list[int]) -> tuple[int, Limit]:
        page = contracts.directives
        for number in numbers:
            self.text.require(page.limits_are_positive, at + 1, word, number)
            self.text.require(page.limits_have_32_bits, at + 1, number)
        return at, (word, tuple(numbers))

    def _limits(self, at: int, limits: list[tuple[int, Limit]]) -> dict[str, tuple[int, ...]]:
        page = contracts.directives
        numbers_of: dict[str, tuple[int, ...]] = {}
        for where, (word, numbers) in limits:
            numbers_of[word] = numbers
            for alternatives in page.ALTERNATIVES:
                if word in alternatives:
                    self.text.require(page.has_one_of, where, alternatives, numbers_of)
        self.text.require(page.blocks_are_clusters_of_a_size, at, numbers_of)
        return numbers_of

    def entry(
        self,
        at: int,
        name: str,
        parameters: list[Parameter] | None,
        limits: list[tuple[int, Limit]],
        pragmas: list[Pragma],
        body: tuple[tuple[Any, ...], int] | None,
    ) -> Function:
        performance = self._limits(at, limits)
        rule = contracts.directives.limited_entries_are_defined
        self.text.require(rule, self.function_at, performance, body is not None)
        position = self.text.starts[self.function_at]
        taken, (statements, end) = tuple(parameters or ()), body or (None, 0)
        return Function(name, taken, statements, performance, None, position, pragmas=tuple(pragmas), end=end)

    def function(
        self,
        at: int,
        attributes: tuple[int, list[Any]] | None,
        results: list[Parameter] | None,
        name: str,
        parameters: list[Parameter] | None,
        hints: list[FunctionHint],
        body: tuple[tuple[Any, ...], int] | None,
    ) -> Function:
        performance = self.statements.hints_of(hints, results)
        has = self.declarations.attributes_of("func", attributes) if attributes else ()
        given, taken = tuple(results or ()), tuple(parameters or ())
        position = self.text.starts[self.function_at]
        statements, end = body or (None, 0)
        return Function(name, taken, statements, performance, None, position, False, given, attributes=has, end=end)
