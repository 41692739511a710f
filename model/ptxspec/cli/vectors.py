"""`ptxspec vectors`: operands and results as text for other implementations."""

from __future__ import annotations

from pathlib import Path

import click

from ptxspec.cli import added
from ptxspec.cli.failures import FAILED, Failed, user_errors
from ptxspec.cli.shared import JSON_OPTION, put_json, say


@click.group("vectors", short_help="Operands and results, to check implementations.")
def command() -> None:
    """Operands and results of single instructions, to check other implementations against the definitions."""


_OPCODES = click.option(
    "--opcode", "-o", "opcodes", multiple=True, help="This opcode only; may be given several times."
)


@command.command(name="write", short_help="Write operands, kernels and expected results.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@_OPCODES
@click.option(
    "--profile",
    default="portable",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@click.option(
    "--ptx-version",
    metavar="X.Y",
    help="The PTX ISA version of the kernels; forms that it does not have are left out. Default: each form's first.",
)
@click.option("--target", metavar="sm_XY", help="The target of the kernels, likewise.")
@JSON_OPTION
def vectors_write(
    folder: Path,
    opcodes: tuple[str, ...],
    profile: str,
    ptx_version: str | None,
    target: str | None,
    as_json: bool,
) -> None:
    """Write operand rows, one-instruction kernels and expected results to FOLDER; its README.md describes the format."""
    with user_errors(status=FAILED):
        from ptxspec.evidence import vector_files

        facts = vector_files.write(folder, opcodes, profile, ptx_version, target)
    if as_json:
        put_json({"folder": str(folder), **facts})
        return
    say(
        f"{folder}: {facts['forms']:,} forms of {len(facts['opcodes'])} opcodes, {facts['rows']:,} rows, "
        f"profile {profile}"
    )
    if facts["left_alone"]:
        say(f"kept, not written by ptxspec: {', '.join(facts['left_alone'])}", err=True)


@command.command(name="check")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--recorded", is_flag=True, help="Check the recorded answers of an H200 instead of a folder.")
@_OPCODES
@click.option(
    "--profile",
    default="portable",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open. With --recorded it is the GPU's.",
)
@click.option(
    "--show",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="The most differing rows to print for each form.",
)
@click.option("--partial", is_flag=True, help="Accept forms without results.")
@JSON_OPTION
def vectors_check(
    folder: Path | None,
    recorded: bool,
    opcodes: tuple[str, ...],
    profile: str,
    show: int,
    partial: bool,
    as_json: bool,
) -> int:
    """Check results in FOLDER against the definitions. README.md in the folder of `vectors write` describes the format.

    Exit status 0 if all results are allowed, 1 if one is not or a form has no results, 2 if the folder cannot be read.
    """
    if recorded == (folder is not None):
        raise Failed("name a folder of results, or --recorded, and not both")
    with user_errors(status=FAILED):
        if folder is None:
            return _recorded(opcodes, show, as_json)
        from ptxspec.evidence import vector_results

        judged, missing = vector_results.check(folder, opcodes, profile, show)
    wrong = [form for form in judged if form.differing]
    status = 1 if wrong or (missing and not partial) or not judged else 0
    facts = {
        "profile": profile,
        "forms": len(judged),
        "rows": sum(form.rows for form in judged),
        "rows_not_judged": sum(form.not_judged for form in judged),
        "rows_differing": sum(form.differing for form in wrong),
    }
    if as_json:
        shown = [{**form._asdict(), "first": [row._asdict() for row in form.first]} for form in wrong]
        put_json({**facts, "differing": shown, "missing": missing})
        return status
    for form in wrong:
        say(f"{form.form}  {form.differing} of {form.rows} rows differ  — {form.page}", fg="red")
        for row in form.first:
            say(f"  ({', '.join(row.operands)}): {', '.join(row.results)}, expected {', '.join(row.expected)}")
        if form.differing > len(form.first):
            say(f"  and {form.differing - len(form.first)} more")
    if missing:
        named = "  ".join(missing[:3]) + ("  …" if len(missing) > 3 else "")
        say(f"{len(missing)} forms have no results: {named}", fg=None if partial else "red")
    say(
        f"{facts['forms']:,} forms, {facts['rows']:,} rows, of which {facts['rows_differing']:,} differ"
        + (f" and {facts['rows_not_judged']:,} cannot be judged" if facts["rows_not_judged"] else "")
    )
    return status


def _recorded(opcodes: tuple[str, ...], show: int, as_json: bool) -> int:
    """Hold the recorded answers against the definitions, under the profile of the machine."""
    facts, recorded = added.part("vectors.recorded")(opcodes)
    differing = {form: what for answers in recorded for form, what in answers.differing.items()}
    answered, unanswered = (
        sum(answers.answered for answers in recorded),
        sum(answers.unanswered for answers in recorded),
    )
    rows = sum(answers.rows for answers in recorded)
    status = 1 if differing or not answered else 0
    if as_json:
        shown = [{"form": form, "rows": count, "first": first} for form, (count, first) in differing.items()]
        counts = {"forms": answered, "forms_not_answered": unanswered, "rows": rows}
        put_json({**facts, **counts, "differing": shown})
        return status
    for form, (count, first) in differing.items():
        say(f"{form}  {count} rows differ", fg="red")
        if show:
            say(f"  {first}")
    asked = [facts, facts["later"]] if "later" in facts else [facts]
    who = " and ".join(f"{f.get('device', 'a GPU')}, {f.get('date', 'no date')}" for f in asked)
    say(
        f"{who}: {answered:,} forms, {rows:,} rows; "
        f"{len(differing)} forms differ; {unanswered:,} forms were not answered"
    )
    return status
