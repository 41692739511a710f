"""`ptxspec check`: parse and check files."""

from __future__ import annotations

from typing import Any

import click

from ptxspec.base import collection
from ptxspec.cli.shared import FILES, JSON_OPTION, once, put_json, read_text, say


@click.command("check")
@FILES
@JSON_OPTION
def command(files: tuple[str, ...], as_json: bool) -> int:
    """Parse and check PTX files ("-": standard input).

    Prints the first 100 errors of each file, and the number of the others. A gap is an instruction of PTX that this
    specification does not describe yet; gaps are listed separately and are not errors.

    Exit status 0 if no file has an error, 1 if one has, 2 if a file cannot be read.
    """
    reports = []
    for file in once(files):
        reports.append(_report(file))
        if not as_json:
            _show(reports[-1])
    if as_json:
        put_json(reports[0] if len(reports) == 1 else {"files": reports})
    return int(any(report["diagnostics"] for report in reports))


@collection.paused()
def _report(file: str) -> dict[str, Any]:
    """The result of checking a file: its entries and gaps, or its errors."""
    from ptxspec.language.check import check
    from ptxspec.language.diagnostics import PtxError
    from ptxspec.language.gaps import gaps_of

    report: dict[str, Any] = {"file": file, "kernels": {}, "gaps": [], "diagnostics": [], "more": 0, "whole": True}
    try:
        checked = check(read_text(file), file)
        report["gaps"] = [gap.as_dict() for gap in gaps_of(checked)]
        for name, kernel in checked.kernels.items():
            facts = {"instructions": kernel.written, "parameters": [p.name for p in kernel.parameters]}
            report["kernels"][name] = facts
    except PtxError as error:
        report |= error.as_dict()
        report["error"] = str(error)
    return report


def _show(report: dict[str, Any]) -> None:
    from ptxspec.language.diagnostics import Diagnostic

    for name, facts in report["kernels"].items():
        say(f"{name}({', '.join(facts['parameters'])}): {facts['instructions']} instructions")
    if "error" in report:
        say(report["error"], err=True, fg="red")
        count = len(report["diagnostics"]) + report["more"]
        say(f"{report['file']}: {count} error{'s' if count > 1 else ''}", err=True)
        return
    for gap in report["gaps"]:
        say(f"{Diagnostic(**gap)}\n", fg="yellow")
    count = len(report["gaps"])
    say(f"{report['file']}: no errors" + (f", {count} gap{'s' if count > 1 else ''}" if count else ""))
