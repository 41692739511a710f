"""The special registers that the pages define, by name."""

from __future__ import annotations

from typing import Any

from ptxspec.language.forms import registry
from ptxspec.terms.types import Type


def special_origin(name: str) -> Any:
    """What the pages say of a special register, given with its component."""
    from ptxspec.terms.registries import SPECIAL_REGISTERS

    return SPECIAL_REGISTERS[name.split(".")[0]]


def first_name(name: str) -> str:
    """The first of the names that a component of a special register has: `%tid.x` for `%tid.r`. Other names stay."""
    from ptxspec.terms.registries import SPECIAL_REGISTERS

    register = SPECIAL_REGISTERS.get(name.split(".")[0])
    if register is None or not register.components or name not in register.names:
        return name
    return register.names[register.names.index(name) % len(register.components)]


_specials: dict[str, Type] = {}


def special_registers() -> dict[str, Type]:
    if not _specials:
        registry()
        from ptxspec.terms.registries import SPECIAL_REGISTERS

        for register in SPECIAL_REGISTERS.values():
            for name in register.names:
                _specials[name] = register.type
    return _specials
