"""Opaque variables: declarations of textures, samplers and surfaces, and the limits on their use.

The rules are spec/variables/opaque-types.md's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import (
    Grouped,
    Op,
    Place,
    Read,
    Written,
)
from ptxspec.language.module_context import Context
from ptxspec.language.named import Range
from ptxspec.language.scopes import Names
from ptxspec.terms.kinds import HANDLES
from ptxspec.terms.types import Type

_PAGE = "spec/variables/opaque-types.md"
#: the state space that opaque variables have here, which no access reaches
SPACE = "opaque"


class OpaqueVariables:
    """Checks what stands for textures, samplers and surfaces."""

    def __init__(self, context: Context):
        self.context = context
        #: how many variables have a handle
        self._handles = 0

    @property
    def independent(self) -> bool:
        """Whether the module keeps samplers apart from textures."""
        return bool(contracts.directives.is_independent(self.context.options))

    def is_opaque(self, type: str, space: str = "") -> bool:
        return space == "tex" or type in contracts.opaque_types.FIELDS

    def opaque_kind(self, type: str) -> str:
        """What tells variables of one type from those of another where an instruction needs one."""
        return "texref without sampler" if type == "texref" and self.independent else type

    def opaque_variables(self, variable: tree.Variable, names: Names, inside: bool = False) -> Place | Range | None:
        """The handles that one declaration makes; None after a complaint."""
        context, page, at = self.context, contracts.opaque_types, variable.position
        type = "texref" if variable.space == "tex" else variable.type
        if names.taken(variable.name, variable.repeat):
            context.complain(at, f"{variable.name} is declared twice in this scope", _PAGE)
            return None
        fits = (
            self._may_be_declared(type, at, bool(variable.dimensions))
            and context.require(page.opaque_variables_are_no_vectors, at, variable.vector, type=type)
            and context.require(page.opaque_variables_are_not_common, at, variable.linkage, type=type)
        )
        if fits and variable.space == "tex":
            fits = (
                context.require(page.is_a_type_in_tex, at, variable.type)
                and context.require(page.has_tex, at, context.version)
                and context.require(page.tex_is_not_initialized, at, variable.values is not None)
            )
        elif fits:
            fits = (
                context.require(page.opaque_variables_are_global, at, variable.space, inside, type=type)
                and context.require(page.has_opaque_types, at, context.version, type=type)
                and (variable.values is None or self._fields_fit(type, variable.values, at))
            )
        if not fits:
            return None
        count = 1 if variable.repeat is None else variable.repeat
        if not context.require(page.has_handles_for, at, self._handles + count):
            return None
        place = self._handle(variable.name, type, page.MODULE_HANDLES)
        if variable.repeat is None:
            return place
        names.prefixes.add(variable.name)
        self._handles += count - 1
        return Range(count, place, page.APART, variable.position)

    def opaque_parameter(self, parameter: tree.Parameter) -> Place | None:
        page = contracts.opaque_types
        if not self.context.require(
            page.has_opaque_types, parameter.position, self.context.version, type=parameter.type
        ) or not self._may_be_declared(parameter.type, parameter.position, parameter.size is not None):
            return None
        return self._handle(parameter.name, parameter.type, page.PARAMETER_HANDLES)

    def _may_be_declared(self, type: str, position: int, is_array: bool) -> bool:
        """Whether there are variables and parameters of a type in the module; complains if not."""
        page, require = contracts.opaque_types, self.context.require
        return require(page.opaque_variables_are_no_arrays, position, is_array, type=type) and require(
            page.samplers_are_apart_in_independent_mode, position, type, self.independent
        )

    def _handle(self, name: str, type: str, base: int) -> Place:
        page = contracts.opaque_types
        self._handles += 1
        number = (
            self.context.part or 0
        ) * page.IN_A_MODULE + self._handles  # handles of modules that are linked differ
        return Place(name, SPACE, page.handle(base, number, type), 0, 1, opaque=self.opaque_kind(type))

    def _fields_fit(self, type: str, values: Any, position: int) -> bool:
        """Whether an initializer fits an opaque variable; complains if not."""
        page, require = contracts.opaque_types, self.context.require
        if not require(page.opaque_variables_begin_with_fields, position, isinstance(values, tree.Fields)):
            return False
        for name, value in values.fields:
            if not require(page.is_a_field, position, type, name):
                return False
            if isinstance(value, tree.Name):
                word = value.text
                if not require(page.takes_a_word, position, name, word=word):
                    return False
                if not require(page.is_a_word_of, position, name, word):
                    return False
            if not require(page.fields_are_whole, position, isinstance(value, tree.Float), field=name):
                return False
        return True

    def check_handles(self, item: tree.Instruction, op: Op, registers: dict[str, Type]) -> bool:
        """Whether an instruction for images has the operands that the module's texture mode and version ask for; complains if
        not."""
        page, require = contracts.opaque_types, self.context.require
        sources = op.plan.form.definition.sources
        given = dict(_operands(op.plan.parts, op.operands))
        handles = {n for n, p in sources.items() if getattr(p.annotation, "name", "") in HANDLES}
        samplers = {n for n in handles if sources[n].annotation.name == "sampler"}
        names_one, leaves_one_out = bool(samplers & given.keys()), bool(samplers - given.keys())
        in_registers = any(_name(given[n]) in registers for n in handles & given.keys())
        at, mnemonic = item.position, item.mnemonic
        return (
            (not in_registers or self.handles_in_registers(item, self.independent and names_one))
            and require(page.unified_mode_names_no_samplers, at, self.independent, names_one, mnemonic=mnemonic)
            and require(page.independent_mode_names_samplers, at, self.independent, leaves_one_out, mnemonic=mnemonic)
        )

    def handles_in_registers(self, item: tree.Instruction, of_sampler: bool) -> bool:
        """Whether a register of the module may hold a handle, of a sampler or beside one; complains if not."""
        page, at, require = contracts.opaque_types, item.position, self.context.require
        now = self.context.epoch_at(at)
        if not require(page.has_handles_in_registers, at, now.version, now.target, mnemonic=item.mnemonic):
            return False
        rule = page.has_handles_of_samplers_in_registers
        return not of_sampler or require(rule, at, now.version, now.target, mnemonic=item.mnemonic)

    def gives_handle(self, item: tree.Instruction, kind: str) -> bool:
        """Whether an instruction that is none for images may name an opaque variable of a kind; complains if not."""
        rule = contracts.opaque_types.gives_handles_of_textures
        independent = self.independent and kind == self.opaque_kind("texref")
        return self.handles_in_registers(item, kind == "samplerref") and self.context.require(
            rule, item.position, independent, self.context.version, mnemonic=item.mnemonic
        )

    def count_handles(self, position: int, used: dict[str, Place], target: int) -> None:
        """Complain of an entry that names too many for a target."""
        page = contracts.opaque_types
        for type in page.MOST:
            count, most = (
                sum(1 for place in used.values() if place.opaque.split()[:1] == [type]),
                page.most_of(type, target),
            )
            self.context.require(page.may_name_so_many, position, type, count, target, most=most)


def _operands(parts: tuple[Read | Written | Grouped, ...], operands: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Each source operand by its name in the definition, those in brackets too."""
    for part, operand in zip(parts, operands, strict=True):
        match part:
            case Grouped(members):
                yield from _operands(members, operand.elements)
            case Read(name):
                yield name, operand
            case Written():
                pass
            case _:
                assert_never(part)


def _name(operand: Any) -> str:
    base = operand.base if isinstance(operand, tree.Address) else operand
    return base.text if isinstance(base, tree.Name) else ""
