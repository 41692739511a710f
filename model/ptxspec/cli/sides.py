"""What `ptxspec prove` is given beside conditions: sides that stand in files, buffers, and inputs that are shown together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from ptxspec.cli.failures import FAILED, Failed
from ptxspec.cli.shared import read_text

_NUMBERED = re.compile(r"(.+)\[(\d+)\]")


def text_of(said: str) -> str:
    """A side: a text, or what is in a file, which is named with @ before it, or by a path that exists."""
    if said.startswith("@") and re.match(r"@!?[\w%$]+\s", said) is None:
        return read_text(said[1:])
    if said.endswith(".ptx") and os.path.isfile(said):
        return read_text(said)
    return said


def buffers_of(said: Iterable[str]) -> dict[str, int | str | tuple[str, int]]:
    """The buffers of `--buffer p=64`, by name."""
    found: dict[str, int | str | tuple[str, int]] = {}
    for one in said:
        name, equals, what = one.partition("=")
        if not (name and equals and what):
            raise Failed(f"--buffer: a name and so many bytes, as in p=64, not {one!r}", status=FAILED)
        if name in found:
            raise Failed(f"--buffer: {name} is given twice", status=FAILED)
        found[name] = what
    return found


def runs(values: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """(name as it is shown, value, its first name) of values: bytes and lanes that follow one another and are equal are one."""
    found: list[tuple[str, int, int, Any, str]] = []
    for name, value in values.items():
        match = _NUMBERED.fullmatch(name)
        if match is None:
            found.append((name, -1, -1, value, name))
            continue
        of, number = match[1], int(match[2])
        last = found[-1] if found else None
        if last is not None and last[0] == of and last[2] == number - 1 and last[3] == value:
            found[-1] = (of, last[1], number, value, last[4])
        else:
            found.append((of, number, number, value, name))
    return [(_shown(of, first, last), value, name) for of, first, last, value, name in found]


def _shown(of: str, first: int, last: int) -> str:
    if first < 0:
        return of
    return f"{of}[{first}]" if first == last else f"{of}[{first}..{last}]"
