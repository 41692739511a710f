"""What a page asks to have drawn: instructions, and the values of registers that they read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ptxspec.language.diagnostics import PtxError
from ptxspec.language.forms import registry
from ptxspec.machine.errors import LaunchError
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.exact import NoChoice
from ptxspec_workshop.site.corner_cases import RowError

Drawn = TypeVar("Drawn")

#: what evaluating, loading or launching something raises that cannot be so, or that cannot be drawn
_REFUSALS = (ArithmeticError, LookupError, TypeError, ValueError, PtxError, Unsupported, NoChoice, LaunchError)

#: what may stand before a mnemonic is a label and a guard
_MNEMONIC = re.compile(r"(?:[\w$%]+:\s*)?(?:@!?[\w$%]+\s+)?([a-z][\w.:]*)")
_VALUE = re.compile(r"([A-Za-z_%$][\w$.]*)\s*=\s*(.+)")


class Request(NamedTuple):
    """The content of a directive: lines of PTX with their places in it, from 0 on, and values by the register's name."""

    lines: tuple[tuple[int, str], ...]
    values: dict[str, tuple[Any, ...]]

    def single(self, name: str) -> Any:
        """The value of a register. Raises ValueError if the page does not give one."""
        values = self.values.get(name, ())
        if len(values) != 1:
            raise ValueError(f"the drawing needs a line `{name} = …` with one value")
        return values[0]

    @property
    def scalars(self) -> dict[str, Any]:
        """The registers that have one value."""
        return {name: values[0] for name, values in self.values.items() if len(values) == 1}

    @property
    def text(self) -> str:
        """All lines of PTX."""
        return "\n".join(line for _, line in self.lines)


def _number(text: str, line: int) -> Any:
    for read in (lambda t: int(t, 0), float):
        try:
            return read(text)
        except ValueError:
            continue
    raise RowError(line, f"{text!r} is no number")


def parsed(lines: Sequence[str]) -> Request:
    """What the lines of a directive say: `name = value …`, or PTX. Raises RowError for a value that is no number."""
    instructions: list[tuple[int, str]] = []
    values: dict[str, tuple[Any, ...]] = {}
    for number, line in enumerate(lines):
        text = line.strip()
        given = _VALUE.fullmatch(text)
        if given and not text.endswith(";"):
            if given[1] in values:
                raise RowError(number, f"{given[1]} is given twice")
            values[given[1]] = tuple(_number(word, number) for word in given[2].split())
        elif text:
            instructions.append((number, text))
    return Request(tuple(instructions), values)


def opcodes(lines: Sequence[str]) -> set[str]:
    """The opcodes of the instructions in a directive's lines: the longest that a mnemonic begins with, and shorter ones."""
    known, result = registry().index, set()
    for line in lines:
        words = _MNEMONIC.match(line.strip())
        parts = words[1].split(".") if words else []
        result |= {opcode for k in range(len(parts)) if (opcode := ".".join(parts[: k + 1])) in known}
    return result


def each(wanted: Request, draw: Callable[[str], Drawn]) -> list[Drawn]:
    """What a function makes of each line of PTX. Raises RowError for one that it does not take, and ValueError if there is
    none."""
    if not wanted.lines:
        raise ValueError("nothing says what is drawn: the content is instructions")
    panels = []
    for number, text in wanted.lines:
        try:
            panels.append(draw(text))
        except _REFUSALS as error:
            raise RowError(number, f"{text} cannot be drawn: {error}") from error
    return panels
