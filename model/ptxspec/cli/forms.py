"""`ptxspec forms`: the forms of an opcode."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ptxspec.cli.failures import Failed, gap_failure
from ptxspec.cli.shared import JSON_OPTION, put_json, say, table


@click.command("forms", short_help="List the forms of an opcode.")
@click.argument("opcode", required=False)
@JSON_OPTION
def command(opcode: str | None, as_json: bool) -> None:
    """List the forms of an opcode, such as bfe, or of a mnemonic's beginning, such as cvt.rn; or count those of every opcode."""
    from ptxspec.language.forms import no_page_defines, registry
    from ptxspec.language.gaps import coverage, families, further_forms

    known = registry().opcodes
    if opcode is None:
        counts = {name: len(known[name].forms) for name in sorted(known)}
        if as_json:
            put_json(counts)
            return
        for name, count in counts.items():
            say(f"{name:<10} {count}")
        say(f"{len(counts)} opcodes, {sum(counts.values())} forms")
        say(f"{coverage()}: spec/gaps.md", fg="yellow")
        return
    page, missing = known.get(opcode.split(".")[0]), families(opcode)
    rows = [_row(form) for form in page.forms if form.mnemonic.startswith(opcode)] if page is not None else []
    if missing and not rows:
        raise gap_failure(opcode, missing)
    if page is None:
        raise Failed(no_page_defines(opcode), "unknown", 1)
    if not rows:
        near = ", ".join(page.nearest(opcode))
        raise Failed(f"no form begins with {opcode}; the nearest forms are {near}", "unknown", 1)
    if as_json:
        put_json(rows)
        return
    _show(rows)
    for gap in (*missing, *further_forms(opcode)):
        say(f"not described: {gap}, {gap.page}", fg="yellow")


def _row(form: Any) -> dict[str, Any]:
    since, target = form.availability
    return {
        "form": str(form),
        "operands": _operand_types(form),
        "since": f"{since[0]}.{since[1]}",
        "target": " ".join(form.only) or f"sm_{target}",
        "removed": None if form.removal is None else "PTX {}.{}, sm_{}".format(*form.removal[0], form.removal[1]),
        "page": form.page,
    }


def _show(rows: list[dict[str, Any]]) -> None:
    lines, cells = [], []
    for row in rows:
        types = " ".join(f"{n}:{t}" for n, t in row["operands"].items())
        gone = f" (until {row['removed']})" if row["removed"] else ""
        lines.append(f"{row['form']:<44} {types:<44} PTX {row['since']} {row['target']:<6} {row['page']}{gone}")
        cells.append([row["form"], types, f"PTX {row['since']}", row["target"], row["page"] + gone])
    table(("form", "operands", "since", "target", "page"), cells, lines)
    say(f"{len(rows)} forms")


def _operand_types(form: Any) -> dict[str, str]:
    from ptxspec.terms.kinds import VectorOf

    results = list(form.definition.results)
    types = {}
    for place in form.syntax.operands:
        parameter = form.definition.sources.get(place.name)
        type_of = partial(form.definition.type_of, place.name, modifiers=form.modifiers)
        type = type_of(parameter.annotation if parameter else results.pop(0))
        if place.second and results:
            types[place.second] = str(type_of(results.pop(0)))
        types[place.name] = str(type.element) if isinstance(type, VectorOf) else str(type)
    return types
