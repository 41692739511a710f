"""Bit patterns as people read them, and back."""

from __future__ import annotations

import math
import struct

from ptxspec.terms.types import Type

_FLOATS = {16: ("<e", "<H", 5), 32: ("<f", "<I", 9), 64: ("<d", "<Q", 17)}


def written(bits: int, type: Type) -> str:
    """A pattern as it is written in a program: in hex, or as a truth value."""
    if type.kind == "pred":
        return "true" if bits else "false"
    return f"{bits:#0{2 + type.width // 4}x}" if type.is_float else f"{bits:#x}"


def reading(bits: int, type: Type) -> str:
    """What the pattern stands for, as inline Markdown; "" where the pattern in hex says it all."""
    if type.is_float:
        return float_text(bits, type)
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
    form, raw, digits = _FLOATS[type.width]
    (value,) = struct.unpack(form, struct.pack(raw, bits))
    sign = "−" if bits >> (type.width - 1) else ""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return f"{sign or '+'}∞"
    for count in range(1, digits + 1):
        text = f"{abs(value):.{count}g}"
        if _same(form, float(text), abs(value)):
            break
    number, _, exponent = text.partition("e")
    return f"{sign}{number}" + (
        f"·10<sup>{'−' if exponent[0] == '-' else ''}{int(exponent[1:])}</sup>" if exponent else ""
    )


def _same(form: str, text: float, value: float) -> bool:
    try:
        return struct.pack(form, text) == struct.pack(form, value)
    except OverflowError:
        return False


def parsed(text: str, type: Type) -> int:
    """The pattern that a row of the page writes: an integer, a decimal with a point, or a truth value. Raises ValueError."""
    if type.kind == "pred":
        if text not in ("true", "false", "0", "1"):
            raise ValueError(f"{text!r} is no truth value")
        return int(text in ("true", "1"))
    try:
        if type.is_float and not text.lower().startswith("0x"):
            form, raw, _ = _FLOATS[type.width]
            return int(struct.unpack(raw, struct.pack(form, float(text)))[0])
        value = int(text, 0)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no number of type {type}") from None
    if not -(1 << (type.width - 1)) <= value < 1 << type.width:
        raise ValueError(f"{text} does not fit {type}")
    return value & ((1 << type.width) - 1)
