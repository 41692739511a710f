"""`ptxspec check`: parse and check files."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ptxspec.cli.shared import FILES, JSON_OPTION, read_text


@click.command("check")
@FILES
@JSON_OPTION
def command(files: tuple[str, ...], as_json: bool) -> None:
    """Parse and check PTX files ("-": standard input). All complaints are printed; exit status 1 if there are any."""
    from ptxspec.language.check import check as checked
    from ptxspec.language.errors import PtxError

    reports: list[dict[str, Any]] = []
    for file in files:
        report: dict[str, Any] = {"file": file, "kernels": {}, "diagnostics": []}
        try:
            for name, kernel in checked(read_text(file), file).kernels.items():
                facts = {"instructions": len(kernel.code), "parameters": [p.name for p in kernel.parameters]}
                report["kernels"][name] = facts
        except PtxError as error:
            report["diagnostics"] = [d.as_dict() for d in error.diagnostics]
            report["error"] = str(error)
        reports.append(report)
        if as_json:
            continue
        for name, facts in report["kernels"].items():
            click.echo(f"{name}({', '.join(facts['parameters'])}): {facts['instructions']} instructions")
        if "error" in report:
            click.secho(report["error"], err=True, fg="red")
            count = len(report["diagnostics"])
            click.echo(f"{file}: {count} complaint{'s' if count > 1 else ''}", err=True)
        else:
            click.echo(f"{file}: no complaints")
    if as_json:
        click.echo(json.dumps(reports[0] if len(reports) == 1 else {"files": reports}))
    sys.exit(int(any(report["diagnostics"] for report in reports)))
