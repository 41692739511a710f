"""`ptxspec synthesize`: the shortest sequence of given instructions that equals a fragment."""

from __future__ import annotations

import math
from typing import Any

import click

from ptxspec.cli.failures import FAILED, Failed, user_errors
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.command("synthesize", short_help="Find the shortest sequence that equals a fragment.")
@click.argument("fragment")
@click.option(
    "--with",
    "-w",
    "opcodes",
    multiple=True,
    required=True,
    help="An instruction that the sequence may have, such as lop3.b32; may be given several times.",
)
@click.option("--most", default=3, show_default=True, help="The greatest length of the sequence, at most 6.")
@click.option("--result", "-r", help="The register to compute. Default: the one that the fragment writes last.")
@click.option(
    "--constant", "-c", "constants", multiple=True, help="A constant to try before others; may be given several times."
)
@click.option("--assume", "-a", help="A condition on the inputs, such as 'c < 32'.")
@click.option(
    "--profile",
    default="portable",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for the whole search.")
@JSON_OPTION
def command(
    fragment: str,
    opcodes: tuple[str, ...],
    most: int,
    result: str | None,
    constants: tuple[str, ...],
    assume: str | None,
    profile: str,
    timeout: float,
    as_json: bool,
) -> int:
    """Find the shortest sequence of instructions that computes the same result as a fragment, and prove that it does:
    ptxspec synthesize "div.u16 d, a, 3;" --with mul.hi.u16 --with shr.u16

    Exit status 0 if a sequence is found, 1 if there is none up to that length, 2 otherwise.
    """
    if not (math.isfinite(timeout) and 0 < timeout <= 1e6):
        raise Failed(f"--timeout: between 0 and a million seconds, not {timeout}")
    with user_errors(status=FAILED):
        import ptxspec

        synthesis = ptxspec.synthesize(
            fragment,
            opcodes,
            most=most,
            result=result,
            constants=[_integer(text) for text in constants],
            assume=assume,
            profile=profile,
            timeout=timeout,
        )
    if as_json:
        put_json(synthesis.as_dict())
    else:
        _show(synthesis)
    return int(synthesis.exit_status)


def _integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise Failed(f"--constant: {text[:80]!r} is no integer") from None


def _show(synthesis: Any) -> None:
    colour = "green" if synthesis.status == "found" else "yellow"
    say(f"{synthesis.status}: {synthesis.reason} ({synthesis.seconds:.2f} s)", fg=colour)
    if synthesis.text:
        for line in synthesis.text.split("; "):
            say(f"  {line.rstrip(';')};")
        say(f"  proved: {synthesis.verdict.reason}")
    for line in synthesis.excluded:
        say(f"  excluded: {line}")
