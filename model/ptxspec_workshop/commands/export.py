"""`ptxspec export`: the whole ISA as data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ptxspec.cli.failures import Failed
from ptxspec.cli.shared import JSON_OPTION, put, put_json, say


@click.command("export", short_help="Write the ISA as JSON.")
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the JSON to this file, completely or not at all, and print a summary. Its folder is made if the folder's own is "
    "there.",
)
@click.option("--opcode", "-o", "opcodes", multiple=True, help="This opcode only; may be given several times.")
@JSON_OPTION
def command(to: Path | None, opcodes: tuple[str, ...], as_json: bool) -> None:
    """Write the ISA as JSON: opcodes, forms, operands, types, availability, defaults, unspecified results, evidence, anchors.

    The data are always JSON. With --to, --json makes the printed summary JSON too.
    """
    from ptxspec.language import forms

    for name in opcodes:
        if name not in forms.opcodes():
            raise Failed(forms.no_page_defines(name), "unknown", 1)
    if to is not None:
        _check(to)
    from ptxspec_workshop.site.export import isa

    exported = isa.exported(opcodes or None)
    text = isa.text_of(exported)
    if to is None:
        put(text, nl=False)
        return
    _write(to, text.encode("ascii"))
    facts = {"file": str(to), "bytes": len(text), "opcodes": len(exported["opcodes"]), "forms": _forms(exported)}
    if as_json:
        put_json(facts)
    else:
        say(f"{to}: {facts['opcodes']} opcodes, {facts['forms']:,} forms, {facts['bytes']:,} bytes")


def _forms(isa: dict[str, Any]) -> int:
    return sum(len(d["forms"]) for o in isa["opcodes"] for d in o["definitions"])


def _check(path: Path) -> None:
    """Fails, before the work, for a file that could not be written. Makes its folder."""
    from ptxspec.base.files import check_writable

    if path.exists() and not path.is_file():
        return  # a device or a pipe
    if not path.parent.is_dir():
        try:
            path.parent.mkdir()
        except OSError as why:
            raise Failed(f"{path}: there is no such folder, and it cannot be made: {why.strerror}", "file") from None
    try:
        check_writable(path)
    except OSError as why:
        raise Failed(str(why), "file") from None


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, in the place of a link too; a device or a pipe gets the bytes as they come."""
    from ptxspec.base.files import write_whole

    if path.exists() and not path.is_file():
        # a pipe that nobody reads is an error, and not waited for
        with open(os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)), "wb") as file:
            os.set_blocking(file.fileno(), True)
            file.write(data)
    else:
        write_whole(path, data)
