"""`ptxspec eval`: execute instructions on operands."""

from __future__ import annotations

import json
import re

import click

from ptxspec.cli.shared import JSON_OPTION, fail


@click.command("eval")
@click.argument("fragment")
@click.argument("operands", nargs=-1)
@click.option("--profile", default="hopper", show_default=True, help="Who chooses what PTX leaves open.")
@JSON_OPTION
def command(fragment: str, operands: tuple[str, ...], profile: str, as_json: bool) -> None:
    """Execute instructions on operands: ptxspec eval "bfe.s32 d, a, b, c;" a=0x80 b=4 c=8"""
    import ptxspec
    from ptxspec.query.evaluate import readings
    from ptxspec.query.fragments import Unsupported
    from ptxspec.terms.exact import NoChoice

    try:
        given = {}
        for item in operands:
            name, sign, value = item.partition("=")
            if not sign:
                raise ValueError(f"{item!r} is not name=value")
            given[name] = _number(value)
        results = ptxspec.evaluate(fragment if ";" in fragment else fragment + ";", profile=profile, **given)
    except ptxspec.PtxError as error:
        fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])
    except NoChoice as error:
        fail(f"{error}, which the profile {profile} leaves open", as_json)
    except (ValueError, TypeError, Unsupported) as error:
        fail(str(error), as_json)
    if as_json:
        shown = {n: readings(v, results.types[n]) for n, v in results.items()}
        chosen = [c._asdict() for c in results.chosen]
        approximate = any(c.kind == "approximate" for c in results.chosen)
        pages = [p for _, p, _ in results.steps]
        click.echo(json.dumps({"results": shown, "approximate": approximate, "chosen": chosen, "pages": pages}))
        return
    for name, value in results.items():
        click.echo(f"{name} = " + "  ".join(f"{v}" for v in readings(value, results.types[name]).values()))
    for choice in results.chosen:
        by = f"chosen by the profile {profile}"
        if choice.kind == "approximate":
            by = by if choice.by == "profile" else "the nearest of the numbers that are allowed"
            by += "; PTX bounds the error only"
        click.echo(f"({choice.kind}: {choice.entry}, {by})")
    if not results:
        click.echo("no register is written")
    for text, page, _ in results.steps:
        click.echo(f"  {text}  — {page}", err=True)


def _number(text: str) -> int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        return int(text[2:], 16)
    try:
        return int(text, 0)
    except ValueError:
        return float(text)
