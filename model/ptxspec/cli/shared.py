"""What the commands share: files in, text and JSON out, and how they fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def fail(message: str, as_json: bool, code: int = 1, **more: Any) -> NoReturn:
    if as_json:
        click.echo(json.dumps({"error": message, **more}))
    else:
        click.secho(message, err=True, fg="red")
    sys.exit(code)


def read_text(path: str) -> str:
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    return data.decode("utf-8", errors="surrogateescape")


def load_module(path: str, as_json: bool) -> Any:
    import ptxspec

    try:
        return ptxspec.load(read_text(path), path)
    except ptxspec.PtxError as error:
        fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])


FILES = click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
