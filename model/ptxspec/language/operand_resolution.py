"""Operands: every name resolved, and what kind of operand it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from ptxspec import contracts
from ptxspec.language import operand_kinds as kinds
from ptxspec.language import tree
from ptxspec.language.aliases import Aliases
from ptxspec.language.checked import Kernel, Place, unbanked
from ptxspec.language.diagnostics import Later
from ptxspec.language.module_context import Context
from ptxspec.language.operand_kinds import NO_OFFSET, Kind, PlainKind
from ptxspec.language.scopes import MODULE, Names
from ptxspec.language.specials import special_origin
from ptxspec.language.suggestions import undeclared
from ptxspec.terms.types import Type


class Unresolved(Exception):
    """An operand that stands for nothing: a complaint."""

    def __init__(self, message: str | Later):
        super().__init__(message)
        self.message = message


class OperandResolver:
    """Resolves the operands of one instruction after another."""

    def __init__(self, context: Context, aliases: Aliases):
        self.context, self.aliases = context, aliases
        #: where the instruction begins that is looked at, and whether it names a variable or marks an address
        self.at = 0
        self.special = False
        #: what calls pass: of each unique name the type of a register, or a variable
        self.passed: dict[str, tuple[Type | None, Place | None]] = {}

    def resolve(self, operand: tree.Operand, names: Names, kernel: Kernel) -> tuple[tree.Operand, Kind]:
        """The operand with its names made unique, and its kind. Raises Unresolved."""
        match operand:
            case tree.Name():
                return self.resolve_name(operand, names, kernel)
            case tree.Number():
                return operand, kinds.INTEGER
            case tree.Float():
                return operand, kinds.one_of_each(kinds.RealKind, operand.width)
            case tree.Address():
                return self.resolve_address(operand, names, kernel)
            case tree.Sum():
                base, of = self.resolve_name(operand.base, names, kernel)
                if isinstance(of, kinds.VariableKind | kinds.OpaqueKind):
                    assert isinstance(base, tree.Name)
                    return tree.Sum(base, operand.offset), of
                if isinstance(of, Type):
                    return base, kinds.one_of_each(kinds.SumKind, of, int(operand.offset))
                raise Unresolved(NO_OFFSET)
            case tree.Element():
                return self.resolve_element(operand, names, kernel)
            case tree.Not():
                name, of = self.resolve_name(operand.name, names, kernel)
                if not isinstance(name, tree.Name):
                    raise Unresolved(f"{operand.name.text} is a vector, and ! negates one predicate")
                return tree.Not(name), kinds.one_of_each(kinds.NegatedKind, of)
            case tree.Parens():
                return self.resolve_list(operand, names, kernel)
            case tree.Part():
                base, of = self.resolve_name(operand.name, names, kernel)
                return base, kinds.one_of_each(kinds.PartKind, of, operand.selector, operand.negated)
            case tree.Bracket():
                parts, of_parts = self.resolve_all(operand.elements, names, kernel)
                return tree.Bracket(parts), kinds.one_of_each(kinds.BracketKind, of_parts)
            case tree.Braces():
                parts, of_parts = self.resolve_all(operand.elements, names, kernel)
                return tree.Braces(parts), kinds.one_of_each(kinds.BracesKind, of_parts)
            case tree.Pair():
                parts, of_parts = self.resolve_all(operand, names, kernel)
                return tree.Pair(*parts), kinds.one_of_each(kinds.PairKind, *of_parts)
            case tree.Indexed():
                raise AssertionError(f"{operand} is resolved already")
            case _:
                assert_never(operand)

    def resolve_all(
        self, operands: Iterable[Any], names: Names, kernel: Kernel
    ) -> tuple[tuple[Any, ...], tuple[Kind, ...]]:
        """Several operands, and their kinds."""
        resolved = [self.resolve(operand, names, kernel) for operand in operands]
        return tuple(r for r, _ in resolved), tuple(k for _, k in resolved)

    def resolve_address(
        self, operand: tree.Address, names: Names, kernel: Kernel
    ) -> tuple[tree.Address, kinds.MemoryKind]:
        """An address in brackets."""
        self.special |= operand.unified
        if operand.base is None:
            return operand, kinds.one_of_each(kinds.MemoryKind, None)
        assert isinstance(operand.base, tree.Name)
        base, of = self.resolve_name(operand.base, names, kernel)
        if isinstance(of, PlainKind) or not isinstance(base, tree.Name):
            raise Unresolved(f"{operand.base.text} is no address")
        if operand.offset and isinstance(of, kinds.OpaqueKind):
            raise Unresolved("a texture, a sampler or a surface has no offset")
        return tree.Address(base, operand.offset, operand.unified), kinds.one_of_each(kinds.MemoryKind, of)

    def resolve_name(self, operand: tree.Name, names: Names, kernel: Kernel) -> tuple[tree.Name | tree.Braces, Kind]:
        """What a name stands for; that of a vector for its elements in braces."""
        text = operand.text
        register = names.register(text)
        if register is not None:
            return self.resolve_register(operand, register, kernel)
        if text == "_":
            return operand, kinds.SINK
        special = self.context.specials.get(text)
        if special is not None:
            origin = special_origin(text)
            if self.context.version < origin.since:
                raise Unresolved(f"{text} needs PTX ISA {origin.since[0]}.{origin.since[1]}")
            if self.context.target_at(self.at) < origin.target:
                raise Unresolved(f"{text} needs target sm_{origin.target}")
            return operand, kinds.one_of_each(kinds.SpecialKind, special, origin.also)
        vector = names.vector(text)
        if vector is not None:
            elements, type = vector
            kernel.registers.update(dict.fromkeys(elements, type))
            of_elements = kinds.one_of_each(kinds.BracesKind, (type,) * len(elements))
            return tree.Braces(tuple(map(tree.Name, elements))), of_elements
        variable = names.place(text)
        if variable is not None:
            unique, place = variable
            self.special = True
            if self.context.outer.places.get(text) is place and self.context.position_of(text) > self.at:
                raise Unresolved(f"{text} is used before it is declared")
            kernel.places[unique] = place
            kind = (
                kinds.one_of_each(kinds.OpaqueKind, place.opaque)
                if place.opaque
                else kinds.one_of_each(kinds.VariableKind, unbanked(place.space))
            )
            return (operand if unique == text else tree.Name(unique)), kind
        if names.table(text) is not None:
            return operand, kinds.TABLE
        label = names.label(text)
        if label is not None:
            return (operand if label == text else tree.Name(label)), kinds.LABEL
        if text in self.context.functions:
            return self.resolve_function(operand, kernel)
        if text.startswith("%") and text.split(".")[0] in {s.split(".")[0] for s in self.context.specials}:
            spelled = [s for s in self.context.specials if s.split(".")[0] == text.split(".")[0]]
            what = "is a special register's name, without or with a wrong component"
            raise Unresolved(f"{text} {what}; there is {', '.join(spelled)}")
        raise Unresolved(self.undeclared(text, names))

    def resolve_register(
        self, operand: tree.Name, register: tuple[str, Type], kernel: Kernel
    ) -> tuple[tree.Name, Type]:
        """What a register's name stands for. `register` has its unique name and its type."""
        unique, type = register
        if unique.endswith(MODULE) and self.declared_later(operand.text):
            raise Unresolved(f"{operand.text} is used before it is declared")
        kernel.registers[unique] = type
        return (operand if unique == operand.text else tree.Name(unique)), type

    def undeclared(self, name: str, names: Names, what: str = "") -> Later:
        """What to say of a name that nothing declares."""

        def find() -> tuple[str, None]:
            others = (*self.context.specials, *self.context.functions)
            return f"{what}{name} is not declared{undeclared(name, names, others)}", None

        return Later(find)

    def declared_later(self, register: str) -> bool:
        """Whether a register of the module is declared after the instruction that is looked at."""
        name = register.partition(".")[0]
        return max(self.context.positions.get(n, 0) for n in (name, name.rstrip("0123456789"))) > self.at

    def resolve_function(self, operand: tree.Name, kernel: Kernel) -> tuple[tree.Name, PlainKind]:
        """The name of a function or an entry."""
        function = self.context.functions[operand.text]
        if function.position > self.at:
            raise Unresolved(f"{operand.text} is used before it is declared")
        symbol = self.aliases.function_symbol(operand.text)
        self.context.used.setdefault(symbol, self.at)
        if function.is_entry:
            return tree.Name(symbol), kinds.ENTRY
        self.context.mentions.setdefault(kernel.name, []).append((symbol, self.at, self.context.signatures[symbol]))
        return tree.Name(symbol), kinds.FUNCTION

    def resolve_element(self, operand: tree.Element, names: Names, kernel: Kernel) -> tuple[tree.Operand, Kind]:
        """The address of an element of an array."""
        base, of = self.resolve_name(operand.base, names, kernel)
        place = kernel.places.get(base.text) if isinstance(base, tree.Name) else None
        if place is None or not place.element or isinstance(of, Type):
            raise Unresolved(f"{operand.base.text} is no array, and has no elements")
        assert isinstance(base, tree.Name)
        if operand.register is None:
            return tree.Sum(base, operand.offset * place.element), of
        register = names.register(operand.register.text)
        if register is None:
            raise Unresolved(self.undeclared(operand.register.text, names))
        if register[1].is_float or register[1].kind == "pred":
            raise Unresolved(f"an index is an integer, and {operand.register.text} is of type {register[1]}")
        kernel.registers[register[0]] = register[1]
        bits = contracts.state_spaces.SPACES[unbanked(place.space)].address_bits
        offset = operand.offset * place.element
        return tree.Indexed(base, tree.Name(register[0]), place.element, offset, bits), of

    def resolve_list(self, operand: tree.Parens, names: Names, kernel: Kernel) -> tuple[tree.Parens, PlainKind]:
        """The arguments or results of a call: their names made unique, and noted with what they are."""
        elements: list[Any] = []
        for element in operand.elements:
            if isinstance(element, tree.Braces):
                raise Unresolved("a call passes a vector by its name, not as registers in braces")
            resolved, kind = self.resolve(element, names, kernel)
            if isinstance(element, tree.Name) and "." in element.text and names.register(element.text) is not None:
                raise Unresolved(f"{element.text} is a part of a vector, which is passed as a whole")
            match resolved, kind:
                case tree.Braces(parts), kinds.BracesKind(types):
                    self.passed.update(
                        (part.text, (type, None))
                        for part, type in zip(parts, types, strict=True)
                        if isinstance(part, tree.Name) and isinstance(type, Type)
                    )
                case tree.Name(name), Type():
                    self.passed[name] = (kind, None)
                case tree.Name(name), _:
                    self.passed[name] = (None, kernel.places.get(name))
            elements.append(resolved)
        return tree.Parens(tuple(elements)), kinds.LIST
