"""`ptxspec format`: format PTX files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ptxspec.base.escaping import LINES, printable
from ptxspec.cli.failures import Failed
from ptxspec.cli.shared import FILES, JSON_OPTION, once, put, put_json, read_text, say


@click.command("format")
@FILES
@click.option(
    "--in-place", "-i", is_flag=True, help="Overwrite the files instead of printing them: all of them or none."
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Only print the names of files that would change; exit status 1 if there are any.",
)
@JSON_OPTION
def command(files: tuple[str, ...], in_place: bool, only_check: bool, as_json: bool) -> int:
    """Format PTX files ("-": standard input). Only white space changes, and comments are kept. A file must parse, but need not
    pass `ptxspec check`."""
    if in_place and only_check:
        raise Failed("--in-place writes files and --check does not: which one?")
    if in_place and "-" in files:
        raise Failed("the standard input cannot be written in place")
    texts = [(file, *_formatted(file)) for file in once(files)]
    reports: list[dict[str, Any]] = [{"file": file, "changes": new != old} for file, old, new in texts]
    if in_place:
        _replace({os.path.realpath(file): new for file, old, new in texts if new != old})
    elif only_check and not as_json:
        for report in reports:
            if report["changes"]:
                say(report["file"])
    elif as_json and not only_check:
        for report, (_, _, new) in zip(reports, texts, strict=True):
            report["text"] = new
    elif not only_check:
        for _, _, new in texts:
            put(printable(new, LINES) if sys.stdout.isatty() else _bytes(new), nl=False)
    if as_json:
        put_json(reports[0] if len(reports) == 1 else {"files": reports})
    return int(only_check and any(report["changes"] for report in reports))


def _formatted(file: str) -> tuple[str, str]:
    """(the text, the text laid out). Raises PtxError."""
    from ptxspec.language.formatting import formatted

    text = read_text(file)
    return text, formatted(text, file)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _replace(texts: dict[str, str]) -> None:
    from ptxspec.base.files import replace_all

    replace_all([(Path(path), _bytes(text)) for path, text in texts.items()])
