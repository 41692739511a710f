"""What `ptxspec prove` is given beside conditions: sides that stand in files, buffers, and inputs that are shown together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from ptxspec.cli.failures import FAILED, Failed
from ptxspec.cli.shared import read_text

_NUMBERED = re.compile(r"(.+)\[(\d+)\]")


def text_of(argument: str) -> str:
    """A side: a text, or what is in a file, which is named with @ before it, or by a path that exists."""
    if argument.startswith("@") and re.match(r"@!?[\w%$]+\s", argument) is None:
        return read_text(argument[1:])
    if argument.endswith(".ptx") and os.path.isfile(argument):
        return read_text(argument)
    return argument


def buffers_of(arguments: Iterable[str]) -> dict[str, int | str | tuple[str, int]]:
    """The buffers of `--buffer p=64`, by name."""
    buffers: dict[str, int | str | tuple[str, int]] = {}
    for argument in arguments:
        name, equals, what = argument.partition("=")
        if not (name and equals and what):
            raise Failed(f"--buffer: a name and so many bytes, as in p=64, not {argument!r}", status=FAILED)
        if name in buffers:
            raise Failed(f"--buffer: {name} is given twice", status=FAILED)
        buffers[name] = what
    return buffers


def runs(values: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """(name as it is shown, value, its first name) of values: bytes and lanes that follow one another and are equal are one."""
    grouped: list[tuple[str, int, int, Any, str]] = []
    for name, value in values.items():
        match = _NUMBERED.fullmatch(name)
        if match is None:
            grouped.append((name, -1, -1, value, name))
            continue
        of, number = match[1], int(match[2])
        last = grouped[-1] if grouped else None
        if last is not None and last[0] == of and last[2] == number - 1 and last[3] == value:
            grouped[-1] = (of, last[1], number, value, last[4])
        else:
            grouped.append((of, number, number, value, name))
    return [(_shown(of, first, last), value, name) for of, first, last, value, name in grouped]


def _shown(of: str, first: int, last: int) -> str:
    if first < 0:
        return of
    return f"{of}[{first}]" if first == last else f"{of}[{first}..{last}]"
