"""Bit patterns as people read them, and back."""

from __future__ import annotations

import math
import struct

from ptxspec.terms.types import Type

#: how `struct` packs a format and its bits, the bits that it has beyond the type's, and the decimals that always suffice
_FLOATS = {
    "f16": ("<e", "<H", 0, 5),
    "bf16": ("<f", "<I", 16, 4),
    "f32": ("<f", "<I", 0, 9),
    "f64": ("<d", "<Q", 0, 17),
}


def written(bits: int, type: Type) -> str:
    """A pattern as it is written in a program: in hex, or as a truth value."""
    if type.kind == "pred":
        return "true" if bits else "false"
    return f"{bits:#0{2 + type.width // 4}x}" if type.is_float or type.elements > 1 else f"{bits:#x}"


def reading(bits: int, type: Type) -> str:
    """What the pattern stands for, as inline Markdown; "" where the pattern in hex says it all."""
    if type.elements > 1:  # the highest first, as in the pattern
        elements = [
            bits >> i * type.element_step & (1 << type.element.width) - 1 for i in reversed(range(type.elements))
        ]
        texts = [reading(v, type.element) or str(v) for v in elements]
        return ", ".join(texts) if type.element.name in _FLOATS or type.element.is_integer else ""
    if type.is_float:
        return float_text(bits, type) if type.name in _FLOATS else ""
    if type.signed and bits >> (type.width - 1):
        return _integer(bits - (1 << type.width))
    return _integer(bits) if type.is_integer and bits > 9 else ""


def _integer(value: int) -> str:
    """In decimal, or beside a power of two where it is a long number that lies near one."""
    sign, size = "−" if value < 0 else "", abs(value)
    if size < 1 << 20:
        return f"{sign}{size}"
    for power in (size.bit_length() - 1, size.bit_length()):
        off = size - (1 << power)
        if abs(off) < 100:
            tail = f" {'+' if (off > 0) != (value < 0) else '−'} {abs(off)}" if off else ""
            return f"{sign}2<sup>{power}</sup>{tail}"
    return f"{sign}{size}" if len(str(size)) <= 10 else ""


def float_text(bits: int, type: Type) -> str:
    """The shortest decimal that rounds to the pattern, or the name of its class."""
    form, raw, beyond, digits = _FLOATS[type.name]
    (value,) = struct.unpack(form, struct.pack(raw, bits << beyond))
    sign = "−" if bits >> (type.width - 1) else ""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return f"{sign or '+'}∞"
    for count in range(1, digits + 1):
        text = f"{abs(value):.{count}g}"
        if _same(type, float(text), abs(value)):
            break
    number, _, exponent = text.partition("e")
    return f"{sign}{number}" + (
        f"·10<sup>{'−' if exponent[0] == '-' else ''}{int(exponent[1:])}</sup>" if exponent else ""
    )


def _same(type: Type, text: float, value: float) -> bool:
    try:
        return _nearest(type, text) == _nearest(type, value)
    except OverflowError:
        return False


def _nearest(type: Type, value: float) -> int:
    """The pattern nearest to a number. Raises OverflowError."""
    form, raw, beyond, _ = _FLOATS[type.name]
    bits = int(struct.unpack(raw, struct.pack(form, value))[0])
    kept, rest, half = bits >> beyond, bits & (1 << beyond) - 1, 1 << beyond >> 1
    return kept + (beyond > 0 and (rest > half or (rest == half and kept % 2 == 1)))


def parsed(text: str, type: Type) -> int:
    """The pattern that a row of the page writes: an integer, a decimal with a point, or a truth value. Raises ValueError."""
    if type.kind == "pred":
        if text not in ("true", "false", "0", "1"):
            raise ValueError(f"{text!r} is no truth value")
        return int(text in ("true", "1"))
    try:
        if type.is_float and not text.lower().startswith("0x"):
            return _nearest(type, float(text))
        value = int(text, 0)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no number of type {type}") from None
    if not -(1 << (type.width - 1)) <= value < 1 << type.width:
        raise ValueError(f"{text} does not fit {type}")
    return value & ((1 << type.width) - 1)
