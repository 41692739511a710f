"""Values as text: a register's value in words, every reading labelled, that of its type first; and the operands of a fragment as
they are written, `a=0x80`, `b=-2.5`, `p=true`. The command line and the site write and read them here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ptxspec.query.evaluate import readings, values_of_inputs
from ptxspec.query.numbers import InvalidValue, bits_of_text
from ptxspec.query.outcomes import SymbolicFragment
from ptxspec.terms.types import TYPES, Type

#: the readings of a kind of type, in order
_ORDER = {
    "f": ("float", "hex"),
    "s": ("signed", "unsigned", "hex"),
    "u": ("unsigned", "signed", "hex"),
    "b": ("hex", "unsigned", "signed", "float"),
    "x": ("hex", "elements"),
}


def labelled(bits: Any, type: Type, width: int | None = None) -> list[tuple[str, str]]:
    """(label, reading) for each way to read a register of `width` bits that holds a value of a type, the type's own first."""
    if type.kind == "pred":
        return [("predicate", str(bool(bits)).lower())]
    wider = Type(type.name, type.kind, max(width or 0, type.width))
    named = TYPES.get(f"{type.kind}{wider.width}", wider) if type.kind in "bus" else type
    shown = readings(bits, named)
    if wider.width > type.width and type.kind in "fx":  # the format alone says what the number is
        shown = readings(bits & ((1 << type.width) - 1), type)
    shown["hex"] = f"{bits:#0{-(-wider.width // 4) + 2}x}"
    if "float" in shown:
        shown["float"] = shortest(shown["float"], bits, named)
    if type.element.name in ("f16", "bf16") and type.elements > 1:
        step, element = type.element_step, type.element  # that in the low bits first
        values = [(bits >> i * step) & ((1 << element.width) - 1) for i in range(type.elements)]
        shown["elements"] = ", ".join(shortest(readings(v, element)["float"], v, element) for v in values)
    return [(label, str(shown[label])) for label in _ORDER[type.kind] if label in shown]


def line_of(name: str, bits: Any, type: Type, width: int | None = None) -> str:
    """`d = 3.0 (float, .f32)  0x40400000 (hex)`."""
    (first, value), *others = labelled(bits, type, width)
    return f"{name} = {value} ({first}, {type})" + "".join(f"  {reading} ({label})" for label, reading in others)


def shortest(value: float, bits: int, type: Type) -> str:
    """A number with as few digits as tell it from the others of its format."""
    if not math.isfinite(value) or type.width == 64:
        return str(value)
    format = type if type.is_float else TYPES[f"f{type.width}"]
    for digits in range(1, 18):
        text = str(float(f"{value:.{digits}g}"))
        try:
            if bits_of_text(text, format) == bits:
                return text
        except InvalidValue:  # rounded up beyond the greatest number
            continue
    return str(value)


def operands_of(read: SymbolicFragment, operands: Iterable[str]) -> dict[str, Any]:
    """The bits of everything that a fragment reads, of operands written `name=value`. Raises ValueError for operands that are
    missing, unknown, or do not fit."""
    given: dict[str, str] = {}
    for item in operands:
        name, sign, value = item.partition("=")
        if not sign or not name:
            raise ValueError(f"{item!r} is not name=value")
        if name in given:
            raise ValueError(f"{name} is given twice: {given[name]} and {value}")
        given[name] = value
    return values_of_texts(read, given)


def values_of_texts(read: SymbolicFragment, given: Mapping[str, str]) -> dict[str, Any]:
    """The same, of texts by the operands' names."""
    names = operand_names(read)
    unknown = [name for name in given if name not in names]
    if unknown:
        named = ", ".join(f"{n} ({taken_as(read, n)})" for n in names) or "none"
        special = unknown[0] in read.inputs
        why = "a special register, whose value a single thread has already" if special else "no operand is called that"
        raise ValueError(f"{unknown[0]}: {why}; the operands are {named}")
    missing = [name for name in names if name not in given and name not in read.carried]
    if missing:
        listed = ", ".join(f"{n} ({taken_as(read, n)})" for n in missing)
        raise ValueError(f"no value for {listed}: give it as name=value")
    bits = {}
    for name, text in given.items():
        try:
            bits[name] = bits_of_text(text, taken_as(read, name), read.registers[name].width)
        except InvalidValue as why:
            raise ValueError(f"{name} is {taken_as(read, name)}: {why}") from None
    return values_of_inputs(read, bits)


def operand_names(read: SymbolicFragment) -> list[str]:
    """The registers that a fragment reads before it writes them."""
    return [name for name in read.inputs if name in read.registers]


def taken_as(read: SymbolicFragment, name: str) -> Type:
    """The type as which an instruction takes an operand."""
    return read.taken.get(name, read.registers[name])
