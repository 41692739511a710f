"""What pages say about the machine: its special registers, and the rules a program must keep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ptxspec.terms.core import blame
from ptxspec.terms.types import Type


class SpecialRegister(NamedTuple):
    """A read-only register. `read(thread)` gives its value, or one value a component."""

    name: str
    type: Type
    components: str
    read: Callable[[Any], Any]
    since: tuple[int, int]
    path: str
    line: int

    @property
    def names(self) -> list[str]:
        return [f"{self.name}.{c}" for c in self.components] or [self.name]


#: every special register the pages define, by name
SPECIAL_REGISTERS: dict[str, SpecialRegister] = {}


def special_register(
    name: str, type: Any, components: str = "", since: str = "1.0"
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Mark a function of a thread as what reading the special register gives. The thread offers `index` (its number in the
    CTA, counted along x, then y, then z), `cta` (the CTA's number in the grid, likewise), `block` and `grid` (their three
    extents). The arithmetic must hold for NumPy arrays of threads too: only + - * // and %."""
    if name in SPECIAL_REGISTERS:
        raise blame(f"the special register {name} is defined twice")
    major, minor = since.split(".")

    def mark(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        code = read.__code__
        SPECIAL_REGISTERS[name] = SpecialRegister(
            name, type, components, read, (int(major), int(minor)), code.co_filename, code.co_firstlineno
        )
        return read

    return mark


class Rule(NamedTuple):
    """A rule that a running program must keep: its name, the sentence, and the line of the page that states it."""

    name: str
    sentence: str
    path: str
    line: int


#: every rule the pages state, by name
RULES: dict[str, Rule] = {}


def rule(name: str, sentence: str) -> Rule:
    """State a rule. A violation is reported with the sentence and the document's line."""
    if name in RULES:
        raise blame(f"the rule {name!r} is stated twice")
    frame = sys._getframe(1)
    RULES[name] = Rule(name, sentence, frame.f_code.co_filename, frame.f_lineno)
    return RULES[name]
