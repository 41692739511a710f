"""Declarations of variables and of registers."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.checked import Place, Pointer
from ptxspec.language.initializers import Initializers
from ptxspec.language.module_context import Context
from ptxspec.language.named import Range
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.scopes import Names
from ptxspec.terms.static_rules import BrokenRule
from ptxspec.terms.types import Type

#: no state space holds so many bytes
_BEYOND = 1 << 128


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
        if not self.context.require(contracts.types.lies_in_memory, variable.position, type.name):
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
        if not self.context.require(
            contracts.state_spaces.is_no_vector_in_param,
            variable.position,
            variable.space,
            variable.vector,
            bool(variable.dimensions),
            what="a variable in .param",
        ):
            return None
        dimensions = self._dimensions(variable)
        return None if dimensions is None else self._laid_out(variable, type, dimensions, names, sizes)

    def _dimensions(self, variable: tree.Variable) -> list[int] | None:
        """The sizes of an array, the first from its initializer if it is left empty; None after a complaint."""
        first, *others = variable.dimensions or (1,)
        sized_at_launch = variable.space == contracts.state_spaces.SIZED_AT_LAUNCH
        if first is None:
            page, initialized = contracts.initializers, variable.values is not None
            if not initialized and variable.linkage == "extern":
                first = 0  # as large as the launch says, or another module
                rule, is_linked = contracts.linking.sizes_are_known, self.context.part is not None
                if not self.context.require(rule, variable.position, sized_at_launch, is_linked, name=variable.name):
                    return None
            elif not self.context.require(page.open_arrays_are_initialized, variable.position, initialized):
                return None
            else:
                try:
                    first = page.first_dimension(variable.values)
                except BrokenRule as broken:
                    self.context.complaints.add_broken(variable.position, broken)
                    return None
        return [int(d or 0) for d in (first, *others)] if variable.dimensions else []

    def _laid_out(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names, sizes: dict[str, int]
    ) -> Place | Range | None:
        """What a declaration makes, after what `sizes` says that its state space holds already."""
        fits, space = contracts.state_spaces.space_holds, variable.space
        size = _bytes(type.bytes * variable.vector, dimensions)
        align = variable.align or type.bytes * variable.vector
        taken = max(align, size * (variable.repeat or 1))
        if not self.context.require(fits, variable.position, space, taken, what=_shown(size)):
            return None
        initial, pointers = self._initial(variable, type, dimensions, names)
        offset = -(-sizes[variable.space] // align) * align
        dynamic = (
            variable.linkage == "extern" and size == 0 and variable.space == contracts.state_spaces.SIZED_AT_LAUNCH
        )
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
        self.context.require(fits, variable.position, space, sizes[space], what="too many variables")
        return made

    def _initial(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names
    ) -> tuple[bytes | None, tuple[Pointer, ...]]:
        """The bytes that a variable begins with, and the addresses among them."""
        page = contracts.state_spaces
        if not page.SPACES[variable.space].initialized:
            if variable.values is not None:
                self.context.require(page.may_be_initialized, variable.position, variable.space)
            return None, ()
        if variable.values is None:
            return b"", ()
        if names is self.context.outer:  # it may name variables that come after a first declaration of this one
            self.initializers.waiting.append((variable, type, dimensions))
            return b"", ()
        return self.initializers.image(variable, type, dimensions, names)

    def beginning_of_bank(self, variable: tree.Variable, type: Type) -> Place | None:
        """A variable in a bank of constants other than the first."""
        rule, sizes = contracts.banks.begins_a_bank, variable.dimensions
        if not self.context.require(rule, variable.position, variable.linkage, sizes, space=variable.space):
            return None
        align = variable.align or type.bytes * variable.vector
        return Place(variable.name, variable.space, 0, 0, align, linkage=variable.linkage, element=type.bytes)

    def declare_register(self, variable: tree.Variable, names: Names) -> None:
        page = contracts.variables
        if not self.context.require(page.registers_are_no_arrays, variable.position, bool(variable.dimensions)):
            return
        type = self.context.type(variable.type, variable.position)
        if variable.values is not None:
            self.context.require(contracts.state_spaces.may_be_initialized, variable.position, variable.space)
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


def _bytes(element: int, dimensions: list[int]) -> int:
    """The size of an array; of one that is far beyond what there may be, no more than that it is."""
    size = element
    for d in dimensions:
        size *= d
        if size > _BEYOND:
            break
    return size


def _shown(size: int) -> str:
    return "more bytes" if size > _BEYOND else f"{size} bytes"


def _written(variable: tree.Variable) -> str:
    return variable.name if variable.repeat is None else f"{variable.name}<…>"
