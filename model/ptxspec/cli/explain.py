"""`ptxspec explain`: how an instruction computes its result, statement by statement."""

from __future__ import annotations

from typing import Any

import click

from ptxspec.cli.failures import Failed, asked_rightly
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.command("explain", short_help="Show how instructions compute their results.")
@click.argument("fragment")
@click.argument("operands", nargs=-1)
@click.option(
    "--profile",
    default="hopper",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@click.option(
    "--depth",
    default=1,
    show_default=True,
    help="How many levels of function calls to show, 1 to 8: 1 is the definition alone.",
)
@JSON_OPTION
def command(fragment: str, operands: tuple[str, ...], profile: str, depth: int, as_json: bool) -> None:
    """Execute instructions, and show the statements of their definitions with their values:
    ptxspec explain "bfe.s32 d, a, b, c;" a=0x80 b=4 c=8

    Operands are written as for eval. With --depth 2 or more, the output includes the functions that a definition calls.
    """
    with asked_rightly():
        from ptxspec.query.explaining import explained
        from ptxspec.query.fragments import read_fragment
        from ptxspec.query.texts import operands_of
        from ptxspec.terms.exact import NoChoice

        read = read_fragment(fragment)
        try:
            found = explained(read, operands_of(read, operands), profile, depth)
        except NoChoice as error:
            raise Failed(f"{error}, which the profile {profile} leaves open", "open") from None
    if as_json:
        put_json(found.as_dict())
    else:
        for step in found.steps:
            _show(step, profile)


def _show(step: Any, profile: str) -> None:
    from ptxspec.query.texts import line_of

    guard = "" if step.guard is None else f"@{step.guard} "
    say(f"{guard}{step.instruction}  — {step.page}")
    if not step.executed:
        say(f"  {not_executed(step.guard)}", fg="yellow")
        return
    for name, value in step.reads.items():
        say("  " + line_of(name, value, step.types[name]))
    for line in step.lines:
        _show_line(line, "    " + "    " * line.depth)
    for choice in step.chosen:
        by = (
            f"chosen by the profile {profile}"
            if choice.by == "profile"
            else "the nearest of the numbers that are allowed"
        )
        say(f"  {choice.kind}: {choice.entry} is {choice.bits:#x}, {by}", fg="yellow")
    for name, value in step.writes.items():
        say("  → " + line_of(name, value, step.types[name]))


def _show_line(line: Any, margin: str) -> None:
    say(f"{margin}{line.page.rpartition('/')[2]}  {line.source}", fg="cyan")
    for condition in line.conditions:
        say(f"{margin}    {condition.name} is {condition.text}")
    for value in line.values:
        say(f"{margin}    {value.name} {'' if value.name == 'returns' else '= '}{value.text}")


def not_executed(guard: str) -> str:
    """Why an instruction was not executed: `not executed (guard p is false)`."""
    return f"not executed (guard {guard.lstrip('!')} is {'true' if guard.startswith('!') else 'false'})"
