"""`ptxspec ledger`: what evidence each form has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ptxspec.cli import added
from ptxspec.cli.failures import Failed, gap_failure
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.command("ledger", short_help="Show what evidence each form has.")
@click.option(
    "--update", "bring_up_to_date", is_flag=True, help="First compute what is missing or out of date (minutes)."
)
@click.argument("opcode", required=False)
@JSON_OPTION
def command(bring_up_to_date: bool, opcode: str | None, as_json: bool) -> None:
    """Show what evidence each form has, or each of one opcode, as it was last computed for these definitions: here (build/ of a
    checkout, otherwise the user's cache), else before ptxspec was released."""
    from ptxspec.evidence import ledger as book
    from ptxspec.evidence import precomputed
    from ptxspec.language.forms import no_page_defines, registry
    from ptxspec.language.gaps import coverage, families, further_forms

    gaps = [] if opcode is None else [*families(opcode), *further_forms(opcode)]
    if opcode is not None and opcode not in registry().opcodes:
        raise gap_failure(opcode, gaps) if gaps else Failed(no_page_defines(opcode), "unknown", 1)
    rows = _updated(as_json) if bring_up_to_date else precomputed.rows(book.rows())
    if not rows:
        raise Failed("the ledger was not computed for these documents: ptxspec ledger --update", "missing", 1)
    absent = book.absent(rows)
    if opcode is not None:
        rows, absent = [row for row in rows if row["opcode"] == opcode], [a for a in absent if a == opcode]
    if as_json:
        put_json({"summary": book.summary(rows), "not_computed": absent, "rows": rows})
        return
    if absent:
        say(f"not computed: {len(absent)} opcodes; ptxspec ledger --update", err=True, fg="yellow")
    for name, count in book.summary(rows).items():
        say(f"{name:<42} {count:>6}")
    for name, count in book.unanswered(rows).items():
        say(f"no GPU was asked about {name}: {count} form{'' if count == 1 else 's'}", fg="yellow")
    for gap in gaps:
        say(f"not described: {gap}, {gap.page}", fg="yellow")
    if opcode is None:
        say(f"{coverage()}: spec/gaps.md", fg="yellow")
    for row in rows:
        if row["approximate"]:
            many = row["compared"]
            comparison = (
                f"{many['text']} ({many['device']}, {many['date']}: {many['which']})" if many else "not compared"
            )
            say(f"{row['mnemonic']:<24} {comparison}")
    for row in rows:
        if row["ptxas"] is False or row["interpretations"] is False:
            say(
                f"{row['form']}  {row['page']}: ptxas {row['ptxas']}, interpretations {row['interpretations']}",
                fg="red",
            )


def _updated(as_json: bool) -> list[dict[str, Any]]:
    """The rows, computed now where they are missing."""
    update: Callable[[], list[dict[str, Any]]] = added.part("ledger.update")
    try:
        return update()
    except OSError as error:
        raise Failed(str(error), "file") from None
