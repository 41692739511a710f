"""`ptxspec eval`: execute instructions on operands."""

from __future__ import annotations

from typing import Any

import click

from ptxspec.cli.failures import Failed, asked_rightly
from ptxspec.cli.shared import JSON_OPTION, put_json, say, table


@click.command("eval", short_help="Execute instructions on operands.")
@click.argument("fragment")
@click.argument("operands", nargs=-1)
@click.option(
    "--profile",
    default="hopper",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@JSON_OPTION
def command(fragment: str, operands: tuple[str, ...], profile: str, as_json: bool) -> None:
    """Execute instructions on operands: ptxspec eval "bfe.s32 d, a, b, c;" a=0x80 b=4 c=8

    A decimal is a number: 1 means 1.0 for a floating-point operand. 0x3f800000, 0b101, 0f3f800000 and
    0d3ff0000000000000 are bit patterns. A predicate is true or false.

    Exit status 0 if the results are printed, 1 if the text is wrong, an instruction has an effect or a result that PTX
    leaves open is needed, 2 if an operand does not fit.
    """
    with asked_rightly():
        from ptxspec.query.evaluate import executed
        from ptxspec.query.fragments import read_fragment
        from ptxspec.query.texts import operands_of
        from ptxspec.terms.exact import NoChoice

        read = read_fragment(fragment)
        try:
            results = executed(read, operands_of(read, operands), profile)
        except NoChoice as error:
            raise Failed(f"{error}, which the profile {profile} leaves open", "open") from None
    if as_json:
        put_json(_as_dict(read, results))
    else:
        _show(read, results, profile)


def _readings(read: Any, name: str, bits: Any) -> dict[str, Any]:
    """An output's readings, with the type as which it was written."""
    from ptxspec.query.evaluate import readings

    return {"type": str(read.left[name]), **readings(bits, read.left[name])}


def _as_dict(read: Any, results: Any) -> dict[str, Any]:
    return {
        "results": {name: _readings(read, name, bits) for name, bits in results.items()},
        "approximate": any(c.kind == "approximate" for c in results.chosen),
        "chosen": [c._asdict() for c in results.chosen],
        "pages": [step.page for step in results.steps],
        "steps": [
            {
                "instruction": step.text,
                "page": step.page,
                "guard": step.guard,
                "executed": step.executed,
                "writes": {n: v if isinstance(v, bool) else hex(v) for n, v in step.writes.items()},
            }
            for step in results.steps
        ],
    }


def _show(read: Any, results: Any, profile: str) -> None:
    from ptxspec.query.texts import labelled, line_of

    rows, lines = [], []
    for name, bits in results.items():
        type = read.left[name]
        lines.append(line_of(name, bits, type, type.width))
        (first, own), *others = labelled(bits, type, type.width)
        rows.append([name, str(type), f"{own} ({first})", *(f"{value} ({label})" for label, value in others)])
    longest = max(map(len, rows), default=0)
    table(("", "type", "value", *[""] * (longest - 3)), [row + [""] * (longest - len(row)) for row in rows], lines)
    for choice in results.chosen:
        by = f"chosen by the profile {profile}"
        if choice.kind == "approximate":
            by = by if choice.by == "profile" else "the nearest of the numbers that are allowed"
            by += "; PTX bounds the error only"
        say(f"({choice.kind}: {choice.entry}, {by})")
    if not results:
        say("no register is written")
    for step in results.steps:
        guard = "" if step.guard is None else f"@{step.guard} "
        say(f"  {guard}{step.text}  — {step.page}{_kept_out(step)}", err=True)


def _kept_out(step: Any) -> str:
    """Why an instruction was not executed, if it was not."""
    if step.executed:
        return ""
    return f"  (not executed: {step.guard.lstrip('!')} is {'true' if step.guard.startswith('!') else 'false'})"
