"""How single values are written in the export."""

from __future__ import annotations

from typing import Any

from ptxspec.terms.editions import Edition
from ptxspec.terms.types import Type


def version(number: tuple[int, int]) -> str:
    """A version of PTX ISA.

    >>> version((7, 8))
    '7.8'
    """
    return f"{number[0]}.{number[1]}"


def target(number: int) -> str:
    """The first target from which something exists.

    >>> target(90)
    'sm_90'
    """
    return f"sm_{number}"


def edition(when: Edition) -> dict[str, str | None]:
    """The modules for which a sentence stands: versions from `since` to below `before`, targets likewise."""
    return {
        "since": version(when.since),
        "before": None if when.before is None else version(when.before),
        "target": target(when.target),
        "before_target": None if when.before_target is None else target(when.before_target),
    }


def plain(value: Any) -> Any:
    """A modifier's value as JSON has it: types by their names."""
    if isinstance(value, Type):
        return value.name
    if isinstance(value, dict):
        return {name: plain(element) for name, element in value.items()}
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a modifier is a word, a type, or there or not; this one is {value!r}")
