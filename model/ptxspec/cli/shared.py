"""What the commands share: files in, text and JSON out."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from ptxspec.base.escaping import LINES, printable
from ptxspec.cli.failures import Failed

#: bytes that are read of a source
LARGEST_SOURCE = 1 << 28

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)
FILES = click.argument("files", nargs=-1, required=True, type=FILE)


def read_text(path: str) -> str:
    """The text of a file, or of the standard input; bytes that are no UTF-8 become lone surrogates. Fails for one that cannot be
    read, or is too large."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise Failed("the standard input is closed", "file")
            data = sys.stdin.buffer.read(LARGEST_SOURCE + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LARGEST_SOURCE + 1)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror or error}", "file") from None
    if len(data) > LARGEST_SOURCE:
        raise Failed(f"{path}: a source has at most {LARGEST_SOURCE >> 20} MiB", "file")
    return data.decode("utf-8", errors="surrogateescape")


def once(files: Sequence[str]) -> Sequence[str]:
    """The files, among which the standard input may stand once."""
    if list(files).count("-") > 1:
        raise Failed("'-', the standard input, can be read once only")
    return files


def say(text: str, err: bool = False, fg: str | None = None) -> None:
    """Print a text, in a colour if it goes to a terminal, with what a terminal must not get escaped."""
    shown = printable(text, LINES)
    put(shown if fg is None or "NO_COLOR" in os.environ else click.style(shown, fg=fg), err=err)


def put(text: str | bytes, err: bool = False, nl: bool = True) -> None:
    """Write a text as it is. Fails if the output cannot be written, but for a pipe that nobody reads any more."""
    try:
        click.echo(text, nl=nl, err=err)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failed(f"cannot write the output: {error.strerror or error}", "file") from None


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], plain: Sequence[str]) -> None:
    """Print rows: as a table on a terminal, else the lines `plain`, which stay as they are from version to version."""
    if not (sys.stdout is not None and sys.stdout.isatty()):
        for line in plain:
            say(line)
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    made = Table(*(Column(c, overflow="fold") for c in columns), box=None, header_style="dim", pad_edge=False)
    for row in rows:
        made.add_row(*(Text(printable(cell, LINES)) for cell in row))
    Console(file=sys.stdout, soft_wrap=False).print(made)


def put_json(value: Any) -> None:
    """Print a value as one line of JSON as RFC 8259 has it."""
    put(dumped(value))


def dumped(value: Any) -> str:
    """The value as JSON: "nan", "inf" or "-inf" for what is not finite, and `\\xff` for a byte of a string that is no UTF-8."""
    return json.dumps(_strict(value), allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, dict):
        return {_strict(str(k)): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value


def _text(value: str) -> str:
    return value.encode("utf-8", "surrogateescape" if _bytes_only(value) else "backslashreplace").decode(
        "utf-8", "backslashreplace"
    )


def _bytes_only(value: str) -> bool:
    """Whether the lone surrogates of a text are bytes that could not be decoded."""
    return all(not 0xD800 <= ord(c) <= 0xDFFF or 0xDC80 <= ord(c) <= 0xDCFF for c in value)
