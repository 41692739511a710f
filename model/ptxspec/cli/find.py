"""`ptxspec find`: inputs for which a condition over operands and results holds."""

from __future__ import annotations

import math
from typing import Any

import click

from ptxspec.cli.failures import FAILED, Failed, asked_rightly
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.command("find", short_help="Find inputs that meet a condition.")
@click.argument("fragment")
@click.option("--where", "-w", required=True, help="A condition on inputs and results, such as 'd == 0 and a != 0'.")
@click.option("--count", "-n", default=1, show_default=True, help="The most inputs to find.")
@click.option(
    "--assume", "-a", help="A condition on the inputs alone; a name is the register's value before the fragment."
)
@click.option(
    "--profile",
    default="hopper",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for the whole search.")
@JSON_OPTION
def command(
    fragment: str, where: str, count: int, assume: str | None, profile: str, timeout: float, as_json: bool
) -> int:
    """Find inputs for which a condition holds, the simplest first:
    ptxspec find "add.sat.s32 d, a, b;" --where "d == 0x7fffffff and a < 16" --count 3

    Exit status 0 if inputs are found, 1 if it is proved that there are none, 2 otherwise.
    """
    if not (math.isfinite(timeout) and 0 < timeout <= 1e6):
        raise Failed(f"--timeout: between 0 and a million seconds, not {timeout}")
    with asked_rightly(status=FAILED):
        import ptxspec

        found = ptxspec.find(fragment, where, count=count, assume=assume, profile=profile, timeout=timeout)
    if as_json:
        put_json(found.as_dict())
    else:
        _show(found)
    return int(found.exit_status)


def _show(found: Any) -> None:
    from ptxspec.cli.counterexamples import choice_line
    from ptxspec.query.texts import line_of

    colour = {"found": "green", "none": "yellow"}.get(found.status, "yellow")
    status = "unknown: " if found.status == "unknown" else ""
    say(f"{status}{found.reason} ({found.seconds:.2f} s)", fg=colour)
    for i, one in enumerate(found, 1):
        say(f"{i}:")
        for name, value in one.items():
            say("  " + line_of(name, value, one.types[name]))
        for name, value in one.results.items():
            say("  → " + line_of(name, value, one.types[name]))
        for choice in one.choices:
            say("  " + choice_line(choice))
