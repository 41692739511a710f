"""The parameters of entries."""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.language import cited, tree
from ptxspec.language.checked import (
    Kernel,
    Place,
)
from ptxspec.language.module_context import Context
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.scopes import Names
from ptxspec.terms.types import TYPES


class EntryParameters:
    """Lays out what entries take."""

    def __init__(self, context: Context, opaque: OpaqueVariables):
        self.context, self.opaque = context, opaque

    def parameter(self, parameter: tree.Parameter, kernel: Kernel, names: Names) -> bool:
        """Lay out a parameter of an entry. False if there is no room for more."""
        if self.opaque.is_opaque(parameter.type):
            handle = self.opaque.opaque_parameter(parameter)
            if handle is not None:
                kernel.parameters.append(handle)
                kernel.parameter_types.append((TYPES["b64"], False))
                names.add_place(parameter.name, handle)
            return True
        type = self.context.type(parameter.type, parameter.position)
        if not self.context.require(contracts.types.lies_in_memory, parameter.position, type.name):
            return True
        self.context.may_be_passed(parameter.type, parameter.size is not None, parameter.position)
        if not self.context.fits_vector(type, parameter.vector, parameter.position):
            return True
        size = type.bytes * parameter.vector * (1 if parameter.size is None else parameter.size)
        align = parameter.align or type.bytes * parameter.vector
        offset = -(-kernel.sizes["param"] // align) * align
        if parameter.name in names.places:
            self.context.complain(parameter.position, f"{parameter.name} is declared twice")
        element = 0 if parameter.size is None else type.bytes
        place = Place(parameter.name, "param", offset, size, align, element=element)
        kernel.sizes["param"] = offset + size
        page = contracts.memory_rules
        most = page.most_parameters(self.context.version, self.context.target_at(parameter.position))
        if not self.context.require(page.parameters_have_room, parameter.position, kernel.sizes["param"], most):
            return False
        kernel.parameters.append(place)
        kernel.parameter_types.append((type, parameter.size is not None))
        names.add_place(parameter.name, place)
        return True

    def parameter_in_body(self, variable: tree.Variable, kernel: Kernel, names: Names) -> None:
        """A parameter of an entry that is declared among its variables."""
        sizes = variable.dimensions
        initialized, dimensions = variable.values is not None, len(sizes)
        rule = contracts.functions.is_one_parameter
        if not self.context.require(rule, variable.position, variable.vector, variable.repeat, initialized, dimensions):
            return
        if sizes and sizes[0] is None:
            self.context.require(contracts.initializers.open_arrays_are_initialized, variable.position, False)
        elif names.taken(variable.name):
            self.context.complain(
                variable.position, f"{variable.name} is declared twice in this scope", cited.VARIABLES
            )
        else:
            size = sizes[0] if sizes else None
            parameter = tree.Parameter(variable.type, variable.name, variable.align, size, variable.position)
            self.parameter(parameter, kernel, names)
