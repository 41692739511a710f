"""Initial values of variables: spec/variables/initializers.md."""

from __future__ import annotations

from typing import Any

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.aliases import Aliases
from ptxspec.language.checked import (
    Pointer,
)
from ptxspec.language.constant_bits import constant_bits
from ptxspec.language.module_context import Context
from ptxspec.language.scopes import Names
from ptxspec.terms.static_rules import BrokenRule
from ptxspec.terms.types import Type


class Initializers:
    """Makes the first bytes of variables."""

    def __init__(self, context: Context, aliases: Aliases):
        self.context, self.aliases = context, aliases
        #: variables of the module that wait for all to be declared, with their types and dimensions
        self.waiting: list[tuple[tree.Variable, Type, list[int]]] = []

    def image(
        self, variable: tree.Variable, type: Type, dimensions: list[int], names: Names
    ) -> tuple[bytes, tuple[Pointer, ...]]:
        """The bytes of an initializer, which zeros follow, and where addresses belong into them:
        spec/variables/initializers.md."""
        page = contracts.initializers
        data = bytearray()
        pointers: list[Pointer] = []
        try:
            page.type_is_initialized.demand(type)
            for value in page.leaves(variable.values, dimensions, variable.vector):
                number = self._initial_number(value, type)
                if number is None:
                    number = 0
                    pointers.append(self._pointer(value, type, names, variable.position, len(data)))
                data.extend(number.to_bytes(type.bytes, "little"))
        except BrokenRule as broken:
            self.context.complaints.add_broken(variable.position, broken)
            return b"", ()
        return bytes(data), tuple(pointers)

    def images(self) -> None:
        """The bytes of the module's variables, once all of them are declared."""
        for variable, type, dimensions in self.waiting:
            place = self.context.outer.places.get(variable.name)
            if place is not None:
                initial, pointers = self.image(variable, type, dimensions, self.context.outer)
                self.context.outer.places[variable.name] = place._replace(initial=initial, pointers=pointers)

    def _initial_number(self, value: Any, type: Type) -> int | None:
        """The bits of a value of an initializer that is a number, None if it is an address."""
        page, mask = contracts.initializers, None
        if isinstance(value, tree.Masked):
            mask, value = value
        if not isinstance(value, tree.Number | tree.Real):
            return None
        page.begins_as.demand(type, isinstance(value, tree.Number))
        if mask is not None:
            assert isinstance(value, tree.Number)
            return page.masked(mask, value.value % (1 << 64))
        return constant_bits(value, type)

    def _pointer(self, value: Any, type: Type, names: Names, position: int, offset: int) -> Pointer:
        """An address in an initializer."""
        page, mask = contracts.initializers, None
        if isinstance(value, tree.Masked):
            mask, value = value
        (page.takes_an_address if mask is None else page.takes_a_byte_of_an_address).demand(type.name)
        base, addend = (value, 0) if isinstance(value, tree.Name) else value
        generic = isinstance(value, tree.Generic)
        name = base.text
        found = names.place(name)
        function = self.context.functions.get(name)
        if found is None and function is not None and function.position < position:
            self.context.used.setdefault(self.aliases.function_symbol(name), position)
            if not function.is_entry:
                self.context.pointed.append(position)
            page.functions_stand_alone.demand(isinstance(value, tree.Name), name=name)
            self.context.since(
                "an entry as an initial value" if function.is_entry else "an address as an initial value", position
            )
            return Pointer(offset, type.bytes if mask is None else 1, self.aliases.function_symbol(name), mask=mask)
        is_late = found is not None and (
            self.context.outer.places.get(name) is found[1] and self.context.position_of(name) >= position
        )
        page.addresses_are_known.demand(found is not None and not is_late, name=name)
        assert found is not None
        place = found[1]
        page.points_into.demand(place.space, name=name)
        self.context.since("an address as an initial value", position)
        return Pointer(offset, type.bytes if mask is None else 1, place.name, addend, generic, mask)
