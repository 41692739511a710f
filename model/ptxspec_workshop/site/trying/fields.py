"""The values that go into a program, each with a field in the box: what variables begin with, and the constants that the first
instructions move into registers. A field is a place in the text, which alone says what is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ptxspec.language.checked import Checked, Place
from ptxspec.language.tree import Instruction, Name, Number, Real
from ptxspec.query.numbers import InvalidValue, bits_of_text
from ptxspec.query.texts import labelled
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.programs.alone import elements

#: an array of more elements has no field
MOST = 16
_LIST = re.compile(r"[^;={]*=\s*(?P<values>\{[^{};/]*\}|[^{};/,]+)\s*[;,]")
_MOVE = re.compile(r"mov\.\w+\s+[\w%$]+\s*,\s*(?P<values>[^;/]+?)\s*;")


class Field(NamedTuple):
    """A variable or a register, the bits of what goes in, and the place of their text."""

    name: str
    type: Type
    values: list[int]
    start: int
    end: int
    is_list: bool

    @property
    def text(self) -> str:
        """The values as a reader writes them."""
        return ", ".join(str(labelled(value, self.type, self.type.width)[0][1]) for value in self.values)


def fields(checked: Checked) -> list[Field]:
    """The fields of a program, in the order of its text."""
    return [*_of_variables(checked), *_of_moves(checked)]


def _of_variables(checked: Checked) -> Iterator[Field]:
    text = checked.source.text
    for variable in checked.tree.variables:
        place = checked.places.get(variable.name)
        match = _LIST.match(text, variable.position) if variable.values is not None else None
        if place is None or match is None or not _is_plain(place):
            continue
        assert place.type is not None and place.initial is not None
        count = len(variable.values) if isinstance(variable.values, list | tuple) and place.dimensions else 1
        values = elements(place.initial.ljust(place.size, b"\0"), place.type)[:count]
        yield Field(variable.name, place.type, values, *match.span("values"), bool(place.dimensions))


def _is_plain(place: Place) -> bool:
    """Whether a variable begins with numbers of a fundamental type, one or a few in a row."""
    few = (place.type is not None and place.size <= MOST * place.type.bytes) or place.dimensions == 1
    return few and place.type is not None and place.initial is not None and not place.pointers and place.dimensions <= 1


def _of_moves(checked: Checked) -> Iterator[Field]:
    for kernel in checked.tree.functions:
        if not kernel.is_entry or kernel.body is None:
            continue
        for one in kernel.body:
            if not isinstance(one, Instruction):
                continue
            if not one.mnemonic.startswith("mov."):
                return
            found = _moved(one, checked.source.text)
            if found is not None:
                yield found


def _moved(one: Instruction, text: str) -> Field | None:
    """The field of an instruction that moves a constant to a register."""
    match = _MOVE.match(text, one.position)
    type = TYPES.get(one.mnemonic.removeprefix("mov."))
    if match is None or type is None or len(one.operands) != 2 or one.guard is not None:
        return None
    to, constant = one.operands
    if not isinstance(to, Name) or not isinstance(constant, Number | Real) or type.kind == "pred":
        return None
    try:
        bits = int(bits_of_text(match["values"], type))
    except InvalidValue:  # an expression
        return None
    return Field(to.text, type, [bits], *match.span("values"), False)


def rewritten(text: str, found: list[Field], given: Mapping[str, str]) -> str:
    """The text with other values, as they are typed in: `0x80`, `-2.5`, `nan`, several with commas. Raises ValueError, which
    names the field."""
    for field in sorted(found, key=lambda f: -f.start):
        typed = given.get(field.name, field.text).strip()
        if typed == field.text:
            continue
        parts = [part.strip() for part in typed.strip("{}").split(",")] if field.is_list else [typed]
        try:
            literals = [_literal(part, field.type) for part in parts]
        except InvalidValue as why:
            raise ValueError(f"{field.name} is {field.type}: {why}") from None
        written = "{" + ", ".join(literals) + "}" if field.is_list else literals[0]
        text = text[: field.start] + written + text[field.end :]
    return text


def _literal(typed: str, type: Type) -> str:
    """A value as PTX writes it: integers as they were typed, other numbers by their bits."""
    bits = int(bits_of_text(typed, type))
    if type.kind == "f" and type.width in (32, 64):
        return f"0f{bits:08x}" if type.width == 32 else f"0d{bits:016x}"
    return typed if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|[1-9]\d*|0)", typed) else hex(bits)
