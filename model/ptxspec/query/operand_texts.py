"""The operands of a fragment as they are written: `a=0x80`, `b=-2.5`, `p=true`. The command line and the site read them here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ptxspec.query.evaluate import values_of_inputs
from ptxspec.query.fragments import Fragment
from ptxspec.query.numbers import Unfit, bits_of_text
from ptxspec.terms.types import Type


def operands_of(read: Fragment, operands: Iterable[str]) -> dict[str, Any]:
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


def values_of_texts(read: Fragment, given: Mapping[str, str]) -> dict[str, Any]:
    """The same, of texts by the operands' names."""
    own = operand_names(read)
    unknown = [name for name in given if name not in own]
    if unknown:
        named = ", ".join(f"{n} ({taken_as(read, n)})" for n in own) or "none"
        special = unknown[0] in read.inputs
        why = "a special register, whose value a single thread has already" if special else "no operand is called that"
        raise ValueError(f"{unknown[0]}: {why}; the operands are {named}")
    missing = [name for name in own if name not in given and name not in read.carried]
    if missing:
        told = ", ".join(f"{n} ({taken_as(read, n)})" for n in missing)
        raise ValueError(f"no value for {told}: give it as name=value")
    bits = {}
    for name, text in given.items():
        try:
            bits[name] = bits_of_text(text, taken_as(read, name), read.registers[name].width)
        except Unfit as why:
            raise ValueError(f"{name} is {taken_as(read, name)}: {why}") from None
    return values_of_inputs(read, bits)


def operand_names(read: Fragment) -> list[str]:
    """The registers that a fragment reads before it writes them."""
    return [name for name in read.inputs if name in read.registers]


def taken_as(read: Fragment, name: str) -> Type:
    """The type as which an instruction takes an operand."""
    return read.taken.get(name, read.registers[name])
