"""`ptxspec prove`: ask whether two fragments compute the same."""

from __future__ import annotations

import math
from typing import Any

import click

from ptxspec.cli.failures import FAILED, Failed, asked_rightly
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.command("prove")
@click.argument("left")
@click.argument("right")
@click.option("--assume", "-a", help="A condition on the inputs, such as 'a != 0 and b < 32'.")
@click.option("--profile", default="portable", show_default=True, help="Who chooses what PTX leaves open.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds.")
@JSON_OPTION
def command(left: str, right: str, assume: str | None, profile: str, timeout: float, as_json: bool) -> int:
    """Ask whether two fragments compute the same. Exit status 0 if proved, 1 if refuted, 3 if no input meets the assumption, 2
    otherwise."""
    if not (math.isfinite(timeout) and 0 < timeout <= 1e6):
        raise Failed(f"--timeout: between 0 and a million seconds, not {timeout}")
    with asked_rightly(status=FAILED):
        import ptxspec

        verdict = ptxspec.prove(left, right, assume=assume, profile=profile, timeout=timeout)
    if as_json:
        put_json(verdict.as_dict())
    else:
        _show(verdict)
    return int(verdict.exit_status)


def _show(verdict: Any) -> None:
    from ptxspec.cli.values import line_of

    colour = {"proved": "green", "refuted": "red"}.get(verdict.status, "yellow")
    say(f"{verdict.status}: {verdict.reason} ({verdict.seconds:.2f} s)", fg=colour)
    found = verdict.counterexample
    if found is None:
        return
    for name, value in found.inputs.items():
        say("  " + line_of(name, value, found.types[name]))
    for choice in found.choices:
        operands = ", ".join(f"{x:#x}" for x in choice.operands)
        of = f" of {choice.operation}" if choice.operation else ""
        say(f"  {choice.entry}{of}({operands}) = {choice.bits:#x} ({choice.type})")
    for title, steps in (("left", found.left), ("right", found.right)):
        say(f"  {title}:")
        for step in steps:
            writes = ", ".join(f"{n} = {_shown(v, step.types[n])}" for n, v in step.writes.items())
            say(f"    {step.instruction:<36} {writes:<32} {step.page}")


def _shown(value: Any, type: Any) -> str:
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:#0{type.width // 4 + 2}x} ({type})"
