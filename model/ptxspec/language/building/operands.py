"""Operands, as spec/syntax/operands.md writes them."""

from __future__ import annotations

from typing import Any

from ptxspec.language.building.constants import EXPRESSIONS, Constants, signed
from ptxspec.language.building.text import BuiltText
from ptxspec.language.tree import (
    Address,
    Braces,
    Bracket,
    Element,
    Float,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parens,
    Part,
    Sum,
)

OPERANDS = "spec/syntax/operands.md"


class OperandBuilder:
    """Builds operands."""

    def __init__(self, text: BuiltText, constants: Constants):
        self.text, self.constants = text, constants

    def name_or_part(self, word: str) -> Name | Part:
        """A name, or the part of a register; a component (`%tid.x`) is a name."""
        if "." in word and self.text.lexicon.matches("part", word):
            name, _, selector = word.partition(".")
            return Part(Name(name), selector, False)
        return Name(word)

    def named(self, at: int, base: str, second: str | None, offset: int | None, index: Any) -> Operand:
        first = self.name_or_part(base)
        if second is None and offset is None and index is None:
            return first
        if not isinstance(first, Name):
            self.text.complain(at + 1, "expected ',' or ';': a part of a register stands alone", OPERANDS)
            return first
        if second is not None:
            return Pair(first, Name(second))
        if offset is not None:
            return Sum(first, offset)
        return Element(first, *index)

    def offset(self, at: int, sign: str, value: int) -> int:
        if sign == "-":
            self.text.complain(at, "an offset is added: a negative one is written as +-4", EXPRESSIONS)
        return signed(value)

    def byte_offset(self, at: int, value: Number | Float) -> int:
        return self.constants.integral(at, value, "a byte offset")

    def index(self, at: int, value: Any) -> tuple[Name | None, int]:
        if isinstance(value, tuple) and not isinstance(value, Number | Float):
            return value
        return None, signed(self.constants.integral(at, value, "an index"))

    def register_index(self, at: int, register: str, offset: int | None) -> tuple[Name | None, int]:
        return Name(register), offset or 0

    def negated(self, at: int, name: str) -> Not:
        return Not(Name(name))

    def minus(self, at: int, word: str) -> Part:
        name = self.name_or_part(word)
        return Part(name, None, True) if isinstance(name, Name) else name._replace(negated=True)

    def bracketed(self, at: int, base: Address, further: list[Any], mark: int | None) -> Operand:
        if not further:
            return base if mark is None else base._replace(unified=True)
        if mark is not None:
            self.text.complain(mark, "an operand with coordinates cannot be .unified", OPERANDS)
        if base.base is None:
            self.text.complain(at + 1, "an operand with coordinates needs a name before them", OPERANDS)
            return base
        assert isinstance(base.base, Name)
        if base.offset:
            self.text.complain(at + 1, "an operand with coordinates cannot have an offset", OPERANDS)
        return Bracket((base.base, *further))

    def unified(self, at: int, word: str) -> int:
        return at

    def named_address_base(self, at: int, name: str, offset: int | None) -> Address:
        return Address(Name(name), offset or 0)

    def absolute(self, at: int, value: Number | Float) -> Address:
        return Address(None, self.constants.integral(at, value, "an address"))

    def braces(self, at: int, elements: list[Any]) -> Braces:
        return Braces(tuple(elements))

    def braced(self, at: int, vector: Braces, second: str | None) -> Operand:
        return vector if second is None else Pair(vector, Name(second))

    def element_name(self, at: int, word: str) -> Name | Part:
        return self.name_or_part(word)

    def arguments(self, at: int, items: list[Any]) -> Parens:
        return Parens(tuple(items))
