"""Declarations of variables and of registers."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.checked import (
    Place,
    Pointer,
    spaces,
)
from ptxspec.language.initializers import Initializers
from ptxspec.language.module_context import Context
from ptxspec.language.named import Range
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.scopes import Names
from ptxspec.terms.types import Type

_LINKING = "spec/functions/linking.md"


class Variables:
    """Lays out what a module or a function declares."""

    def __init__(self, context: Context, opaque: OpaqueVariables, initializers: Initializers):
        self.context, self.opaque, self.initializers = context, opaque, initializers

    def declare(self, variable: tree.Variable, names: Names, sizes: dict[str, int]) -> Place | Range | None:
        """Lay out the variables of one declaration in their state space; None after a complaint."""
        if variable.linkage is not None:
            self.context.since(f".{variable.linkage}", variable.position)
        if self.opaque.is_opaque(variable.type, variable.space):
            return self.opaque.opaque_variables(variable, names, inside=names.outer is not None)
        type = self.context.type(variable.type, variable.position)
        if type.kind == "pred":
            self.context.complain(variable.position, "a predicate has no place in memory", "spec/state-spaces/index.md")
            return None
        if names.taken(variable.name, variable.repeat):
            self.context.complain(
                variable.position, f"{_written(variable)} is declared twice in this scope", cited.VARIABLES
            )
            return None
        if "[" in variable.space:
            return self.beginning_of_bank(variable, type)
        if variable.repeat is not None:
            names.prefixes.add(variable.name)
        if not self.context.fits_vector(type, variable.vector, variable.position):
            return None
        if variable.space == "param" and variable.vector > 1 and not variable.dimensions:
            what = "a variable in .param is a value or an array, not a vector"
            self.context.complain(variable.position, what, cited.STATE_SPACES)
            return None
        dimensions = self._dimensions(variable)
        return None if dimensions is None else self._laid_out(variable, type, dimensions, names, sizes)

    def _dimensions(self, variable: tree.Variable) -> list[int] | None:
        """The sizes of an array, the first from its initializer if it is left empty; None after a complaint."""
        first, *others = variable.dimensions or (1,)
        sized_at_launch = variable.space == spaces().SIZED_AT_LAUNCH
        if first is None:
            if variable.values is not None:
                page = contracts.initializers()
                try:
                    first = page.first_dimension(variable.values)
                except page.Refused as refused:
                    self.context.complain(variable.position, str(refused), cited.INITIALIZERS)
                    return None
            elif variable.linkage == "extern" and (sized_at_launch or self.context.part is not None):
                first = 0  # as large as the launch says, or another module
            elif variable.linkage == "extern":
                problem = f"nothing defines {variable.name}, and its size is not known"
                self.context.complain(variable.position, problem, _LINKING)
                return None
            else:
                problem = "an array without a size needs an initializer"
                self.context.complain(variable.position, problem, cited.VARIABLES)
                return None
        return [int(d or 0) for d in (first, *others)] if variable.dimensions else []

    def _laid_out(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names, sizes: dict[str, int]
    ) -> Place | Range | None:
        """What a declaration makes, after what `sizes` says that its state space holds already."""
        most = self.context.limits[variable.space]
        size = _bytes(type.bytes * variable.vector, dimensions, most)
        align = variable.align or type.bytes * variable.vector
        if size is None or max(align, size * (variable.repeat or 1)) > most:
            given = "more bytes" if size is None else f"{size} bytes"
            problem = f"{given} in .{variable.space}, which holds at most {most}"
            self.context.complain(variable.position, problem, cited.MEMORY)
            return None
        initial, pointers = self._initial(variable, type, dimensions, names)
        offset = -(-sizes[variable.space] // align) * align
        dynamic = variable.linkage == "extern" and size == 0 and variable.space == spaces().SIZED_AT_LAUNCH
        place = Place(
            variable.name,
            variable.space,
            -1 if dynamic else offset,
            size,
            align,
            initial,
            variable.linkage,
            pointers=pointers,
            element=type.bytes if dimensions else 0,
            type=type if variable.vector == 1 and type.elements == 1 else None,
            dimensions=len(dimensions),
        )
        made: Place | Range = place
        end = offset + size
        if variable.repeat is not None:
            made = Range(variable.repeat, place, -(-size // align) * align, variable.position)
            end = offset + made.size if variable.repeat else sizes[variable.space]
        if not dynamic:
            sizes[variable.space] = end
        if sizes[variable.space] > most:
            problem = f"these are too many variables: .{variable.space} holds at most {most} bytes"
            self.context.complain(variable.position, problem, cited.MEMORY)
        return made

    def _initial(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names
    ) -> tuple[bytes | None, tuple[Pointer, ...]]:
        """The bytes that a variable begins with, and the addresses among them."""
        if not spaces().SPACES[variable.space].initialized:
            if variable.values is not None:
                problem = f"a variable in .{variable.space} cannot be initialized"
                self.context.complain(variable.position, problem, cited.STATE_SPACES)
            return None, ()
        if variable.values is None:
            return b"", ()
        if names is self.context.outer:  # it may name variables that come after a first declaration of this one
            self.initializers.waiting.append((variable, type, dimensions))
            return b"", ()
        return self.initializers.image(variable, type, dimensions, names)

    def beginning_of_bank(self, variable: tree.Variable, type: Type) -> Place | None:
        """A variable in a bank of constants other than the first."""
        if variable.linkage != "extern" or not variable.dimensions or variable.dimensions[0]:
            what = f"a variable in .{variable.space} is .extern, and an array whose first size is left empty"
            self.context.complain(variable.position, what, cited.BANKS)
            return None
        align = variable.align or type.bytes * variable.vector
        return Place(variable.name, variable.space, 0, 0, align, linkage=variable.linkage, element=type.bytes)

    def declare_register(self, variable: tree.Variable, names: Names) -> None:
        if variable.dimensions:
            self.context.complain(variable.position, "there are no arrays of registers", cited.VARIABLES)
            return
        type = self.context.type(variable.type, variable.position)
        if variable.values is not None:
            self.context.complain(variable.position, "a register cannot be initialized")
        if not self.context.fits_vector(type, variable.vector, variable.position):
            return
        if names.taken(variable.name, variable.repeat):
            self.context.complain(
                variable.position, f"{_written(variable)} is declared twice in this scope", cited.VARIABLES
            )
        if variable.vector != 1:
            if variable.repeat is None:
                names.add_vector(variable.name, variable.vector, type)
                return
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():
                names.vector_ranges[variable.name] = (variable.repeat, variable.vector, type)
            return
        if variable.repeat is None:
            names.add_register(variable.name, type)
        else:
            names.prefixes.add(variable.name)
            if not variable.name[-1].isdecimal():  # else no name reaches them
                names.ranges[variable.name] = (variable.repeat, type)


def _bytes(element: int, dimensions: list[int], most: int) -> int | None:
    """The size of an array, None for one that is far beyond what there may be."""
    size = element
    for d in dimensions:
        size *= d
        if size > most << 64:
            return None
    return size


def _written(variable: tree.Variable) -> str:
    return variable.name if variable.repeat is None else f"{variable.name}<…>"
