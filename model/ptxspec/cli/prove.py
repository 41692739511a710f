"""`ptxspec prove`: ask whether two fragments compute the same."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ptxspec.cli.shared import JSON_OPTION, fail


@click.command("prove")
@click.argument("left")
@click.argument("right")
@click.option("--assume", "-a", help="A condition on the inputs, such as 'a != 0 and b < 32'.")
@click.option("--profile", default="portable", show_default=True, help="Who chooses what PTX leaves open.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds.")
@JSON_OPTION
def command(left: str, right: str, assume: str | None, profile: str, timeout: float, as_json: bool) -> None:
    """Ask whether two fragments compute the same. Exit status 0 if proved, 1 if refuted, 2 otherwise."""
    import ptxspec
    from ptxspec.query.evaluate import readings

    try:
        verdict = ptxspec.prove(left, right, assume=assume, profile=profile, timeout=timeout)
    except ptxspec.PtxError as error:
        fail(str(error), as_json, 2, diagnostics=[d.as_dict() for d in error.diagnostics])
    except ValueError as error:
        fail(str(error), as_json, 2)
    if as_json:
        click.echo(json.dumps(verdict.as_dict()))
    else:
        colour = {"proved": "green", "refuted": "red"}.get(verdict.status, "yellow")
        click.secho(f"{verdict.status}: {verdict.reason} ({verdict.seconds:.2f} s)", fg=colour)
        found = verdict.counterexample
        if found is not None:
            for name, value in found.inputs.items():
                click.echo(f"  {name} = " + "  ".join(str(v) for v in readings(value, found.types[name]).values()))
            for title, steps in (("left", found.left), ("right", found.right)):
                click.echo(f"  {title}:")
                for step in steps:
                    writes = ", ".join(f"{n} = {_shown(v, found.types[n])}" for n, v in step.writes.items())
                    click.echo(f"    {step.instruction:<36} {writes:<32} {step.page}")
    sys.exit({"proved": 0, "refuted": 1}.get(verdict.status, 2))


def _shown(value: Any, type: Any) -> str:
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:#0{type.width // 4 + 2}x}"
