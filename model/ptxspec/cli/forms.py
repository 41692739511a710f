"""`ptxspec forms`: the forms of an opcode."""

from __future__ import annotations

import json
from typing import Any

import click

from ptxspec.cli.shared import JSON_OPTION, fail


@click.command("forms")
@click.argument("opcode", required=False)
@JSON_OPTION
def command(opcode: str | None, as_json: bool) -> None:
    """List the forms of an opcode, or count those of every opcode."""
    from ptxspec.language.forms import registry

    table = registry().opcodes
    if opcode is None:
        counts = {name: len(table[name].forms) for name in sorted(table)}
        if as_json:
            click.echo(json.dumps(counts))
        else:
            for name, count in counts.items():
                click.echo(f"{name:<10} {count}")
            click.echo(f"{len(counts)} opcodes, {sum(counts.values())} forms")
        return
    if opcode.split(".")[0] not in table:
        fail(f"no page defines {opcode!r}; there are {', '.join(sorted(table))}", as_json)
    rows: list[dict[str, Any]] = []
    for form in table[opcode.split(".")[0]].forms:
        if not form.mnemonic.startswith(opcode):
            continue
        since, target = form.availability
        rows.append(
            {
                "form": str(form),
                "operands": _operand_types(form),
                "since": f"{since[0]}.{since[1]}",
                "target": f"sm_{target}",
                "removed": None
                if form.removal is None
                else "PTX {}.{}, sm_{}".format(*form.removal[0], form.removal[1]),
                "page": form.page,
            }
        )
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        types = " ".join(f"{n}:{t}" for n, t in row["operands"].items())
        gone = f" (until {row['removed']})" if row["removed"] else ""
        click.echo(f"{row['form']:<44} {types:<44} PTX {row['since']} {row['target']:<6} {row['page']}{gone}")
    click.echo(f"{len(rows)} forms")


def _operand_types(form: Any) -> dict[str, str]:
    from ptxspec.terms.definitions import VectorOf, operand_type

    results = list(form.definition.results)
    found = {}
    for place in form.syntax.operands:
        parameter = form.definition.sources.get(place.name)
        type = operand_type(parameter.annotation if parameter else results.pop(0), form.modifiers)
        if place.second and results:
            found[place.second] = str(operand_type(results.pop(0), form.modifiers))
        found[place.name] = str(type.element) if isinstance(type, VectorOf) else str(type)
    return found
