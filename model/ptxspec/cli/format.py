"""`ptxspec format`: lay files out anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from ptxspec.cli.shared import FILES, JSON_OPTION, fail, read_text


@click.command("format")
@FILES
@click.option("--in-place", "-i", is_flag=True, help="Write the files anew instead of printing them.")
@click.option("--check", "only_check", is_flag=True, help="Print the names of files that would change; exit status 1.")
@JSON_OPTION
def command(files: tuple[str, ...], in_place: bool, only_check: bool, as_json: bool) -> None:
    """Lay out PTX files anew ("-": standard input), comments kept. They need not pass the checker, only be readable."""
    from ptxspec.language.errors import PtxError
    from ptxspec.language.formatting import formatted

    reports: list[dict[str, Any]] = []
    for file in files:
        text = read_text(file)
        try:
            new = formatted(text, file)
        except PtxError as error:
            fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])
        reports.append({"file": file, "changes": new != text})
        if only_check:
            if new != text and not as_json:
                click.echo(file)
        elif in_place and file != "-":
            if new != text:
                Path(file).write_bytes(new.encode("utf-8", errors="surrogateescape"))
        elif as_json:
            reports[-1]["text"] = new
        else:
            click.echo(new.encode("utf-8", errors="surrogateescape"), nl=False)
    if as_json:
        click.echo(json.dumps(reports[0] if len(reports) == 1 else {"files": reports}))
    sys.exit(int(only_check and any(report["changes"] for report in reports)))
