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
        return "texmode_independent" in self.context.module.target

    def is_opaque(self, type: str, space: str = "") -> bool:
        return space == "tex" or type in contracts.opaque_types().FIELDS

    def opaque_kind(self, type: str) -> str:
        """What tells variables of one type from those of another where an instruction needs one."""
        return "texref without sampler" if type == "texref" and self.independent else type

    def opaque_variables(self, variable: tree.Variable, names: Names, inside: bool = False) -> Place | Range | None:
        """The handles that one declaration makes; None after a complaint."""
        page = contracts.opaque_types()
        wrong = None
        type = variable.type
        if variable.space == "tex":
            if type not in ("u32", "u64"):
                wrong = f"a variable in .tex is of type .u32 or .u64, not .{type}"
            elif self.context.version >= page.OPAQUE_SINCE:
                wrong = "there is no .tex since PTX ISA 1.5: declare a .texref in .global"
            type = "texref"
        elif variable.space != "global" or inside:
            wrong = f"a variable of type .{type} lies in .global, outside of all functions, or is an entry's parameter"
        elif self.context.version < page.OPAQUE_SINCE:
            wrong = f".{type} needs PTX ISA 1.5"
        wrong = self._mode_problem(type) or wrong
        if variable.linkage == "common":
            wrong = f"a variable of type .{type} is not .common"
        if variable.vector != 1:
            wrong = f"there are no vectors of type .{type}"
        if variable.dimensions:
            wrong = f"arrays of type .{type} are not supported"
        if names.taken(variable.name, variable.repeat):
            wrong = f"{variable.name} is declared twice in this scope"
        if wrong is None and variable.values is not None and self.context.version < page.OPAQUE_SINCE:
            wrong = "a variable in .tex has no initializer"
        if wrong is None and variable.values is not None:
            wrong = self._fields_problem(type, variable.values, page)
        if wrong is not None:
            self.context.complain(variable.position, wrong, _PAGE)
            return None
        count = 1 if variable.repeat is None else variable.repeat
        if self._handles + count >= page.IN_A_MODULE:
            what = f"a module has at most {page.IN_A_MODULE - 1} textures, samplers and surfaces"
            self.context.complain(variable.position, what, _PAGE)
            return None
        place = self._handle(variable.name, type, page.MODULE_HANDLES)
        if variable.repeat is None:
            return place
        names.prefixes.add(variable.name)
        self._handles += count - 1
        return Range(count, place, page.APART, variable.position)

    def opaque_parameter(self, parameter: tree.Parameter) -> Place | None:
        page = contracts.opaque_types()
        wrong = self._mode_problem(parameter.type)
        if parameter.size is not None:
            wrong = f"arrays of type .{parameter.type} are not supported"
        if self.context.version < page.OPAQUE_SINCE:
            wrong = f".{parameter.type} needs PTX ISA 1.5"
        if wrong is not None:
            self.context.complain(parameter.position, wrong, _PAGE)
            return None
        return self._handle(parameter.name, parameter.type, page.PARAMETER_HANDLES)

    def _mode_problem(self, type: str) -> str | None:
        if type != "samplerref" or self.independent:
            return None
        return "in unified texture mode there are no samplers apart from textures: say texmode_independent in .target"

    def _handle(self, name: str, type: str, base: int) -> Place:
        page = contracts.opaque_types()
        self._handles += 1
        number = (
            self.context.part or 0
        ) * page.IN_A_MODULE + self._handles  # handles of modules that are linked differ
        return Place(name, SPACE, page.handle(base, number, type), 0, 1, opaque=self.opaque_kind(type))

    def _fields_problem(self, type: str, values: Any, page: contracts.OpaqueTypes) -> str | None:
        """Why an initializer does not fit an opaque variable, or None."""
        if not isinstance(values, tree.Fields):
            return "an opaque variable is initialized by fields with names: { filter_mode = linear }"
        for name, value in values.fields:
            if name not in page.FIELDS[type]:
                return f".{type} has no field {name}; it has {', '.join(page.FIELDS[type])}"
            words = page.WORDS.get(name, {})
            if isinstance(value, tree.Name) and value.text not in words:
                return (
                    f"{name} is a number" + (f" or one of {', '.join(words)}" if words else "") + f", not {value.text}"
                )
            if isinstance(value, tree.Real):
                return f"{name} is an integer"
        return None

    def check_handles(self, item: tree.Instruction, op: Op, registers: dict[str, Type]) -> bool:
        """Whether an instruction for images has the operands that the module's texture mode and version ask for."""
        wrong = None
        sources = op.plan.form.definition.sources
        given = dict(_operands(op.plan.parts, op.operands))
        handles = {n for n, p in sources.items() if getattr(p.annotation, "name", "") in HANDLES}
        if self.independent and any(sources[n].annotation.name == "sampler" for n in handles - given.keys()):
            wrong = "in independent texture mode an instruction names a sampler, too"
        if not self.independent and any(sources[n].annotation.name == "sampler" for n in handles & given.keys()):
            wrong = "in unified texture mode a texture has its sampler, and no other is named"
        if any(_name(given[n]) in registers for n in handles & given.keys()):
            samples = any(sources[n].annotation.name == "sampler" for n in handles & given.keys())
            wrong = self.too_early_for_handles(self.independent and samples) or wrong
        if wrong is not None:
            self.context.complain(item.position, f"{item.mnemonic}: {wrong}", _PAGE)
        return wrong is None

    def too_early_for_handles(self, of_sampler: bool) -> str | None:
        """Why no register holds a handle, of a sampler or beside one, in this module, or None."""
        page = contracts.opaque_types()
        version, target = page.INDIRECT
        version = max(version, page.INDIRECT_SAMPLERS) if of_sampler else version
        if self.context.version >= version and self.context.target >= target:
            return None
        return f"a handle in a register needs PTX ISA {version[0]}.{version[1]} and target sm_{target}"

    def count_handles(self, position: int, used: dict[str, Place]) -> None:
        """Complain of an entry that names too many."""
        page = contracts.opaque_types()
        for type, most in page.MOST.items():
            count = sum(1 for place in used.values() if place.opaque.split()[:1] == [type])
            if count > most:
                self.context.complain(
                    position, f"{count} variables of type .{type}; an entry uses at most {most}", _PAGE
                )


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
