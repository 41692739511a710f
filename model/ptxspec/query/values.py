"""A register's value in words: every reading labelled, that of its type first."""

from __future__ import annotations

import math
from typing import Any

from ptxspec.query.evaluate import readings
from ptxspec.query.numbers import Unfit, bits_of_text
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
    found = readings(bits, named)
    if wider.width > type.width and type.kind in "fx":  # the format alone says what the number is
        found = readings(bits & ((1 << type.width) - 1), type)
    found["hex"] = f"{bits:#0{-(-wider.width // 4) + 2}x}"
    if "float" in found:
        found["float"] = shortest(found["float"], bits, named)
    if type.element.name in ("f16", "bf16") and type.elements > 1:
        found["elements"] = _elements(bits, type)
    return [(label, str(found[label])) for label in _ORDER[type.kind] if label in found]


def line_of(name: str, bits: Any, type: Type, width: int | None = None) -> str:
    """`d = 3.0 (float, .f32)  0x40400000 (hex)`."""
    (first, own), *others = labelled(bits, type, width)
    return f"{name} = {own} ({first}, {type})" + "".join(f"  {value} ({label})" for label, value in others)


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
        except Unfit:  # rounded up beyond the greatest number
            continue
    return str(value)


def _elements(bits: int, type: Type) -> str:
    """The elements, that in the low bits first."""
    step, element = type.element_step, type.element
    values = [(bits >> i * step) & ((1 << element.width) - 1) for i in range(type.elements)]
    return ", ".join(shortest(readings(v, element)["float"], v, element) for v in values)
