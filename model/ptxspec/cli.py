"""The command `ptxspec`: run, check, format, eval, prove, forms, vectors, ledger. Each takes --json."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def _fail(message: str, as_json: bool, code: int = 1, **more: Any) -> NoReturn:
    if as_json:
        click.echo(json.dumps({"error": message, **more}))
    else:
        click.secho(message, err=True, fg="red")
    sys.exit(code)


def _read(path: str) -> str:
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    return data.decode("utf-8", errors="surrogateescape")


def _load(path: str, as_json: bool) -> Any:
    import ptxspec

    try:
        return ptxspec.load(_read(path), path)
    except ptxspec.PtxError as error:
        _fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ptxspec")
def main() -> None:
    """An executable specification of NVIDIA's PTX instruction set."""


_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True))


@main.command()
@_FILES
@_JSON
def check(files: tuple[str, ...], as_json: bool) -> None:
    """Parse and check PTX files ("-": standard input). All complaints are printed; exit status 1 if there are any."""
    from ptxspec.language.check import check as checked
    from ptxspec.language.errors import PtxError

    reports: list[dict[str, Any]] = []
    for file in files:
        report: dict[str, Any] = {"file": file, "kernels": {}, "diagnostics": []}
        try:
            for name, kernel in checked(_read(file), file).kernels.items():
                facts = {"instructions": kernel.written, "parameters": [p.name for p in kernel.parameters]}
                report["kernels"][name] = facts
        except PtxError as error:
            report["diagnostics"] = [d.as_dict() for d in error.diagnostics]
            report["error"] = str(error)
        reports.append(report)
        if as_json:
            continue
        for name, facts in report["kernels"].items():
            click.echo(f"{name}({', '.join(facts['parameters'])}): {facts['instructions']} instructions")
        if "error" in report:
            click.secho(report["error"], err=True, fg="red")
            count = len(report["diagnostics"])
            click.echo(f"{file}: {count} complaint{'s' if count > 1 else ''}", err=True)
        else:
            click.echo(f"{file}: no complaints")
    if as_json:
        click.echo(json.dumps(reports[0] if len(reports) == 1 else {"files": reports}))
    sys.exit(int(any(report["diagnostics"] for report in reports)))


@main.command("format")
@_FILES
@click.option("--in-place", "-i", is_flag=True, help="Write the files anew instead of printing them.")
@click.option("--check", "only_check", is_flag=True, help="Print the names of files that would change; exit status 1.")
@_JSON
def format_files(files: tuple[str, ...], in_place: bool, only_check: bool, as_json: bool) -> None:
    """Lay out PTX files anew ("-": standard input), comments kept. They need not pass the checker, only be readable."""
    from ptxspec.language.errors import PtxError
    from ptxspec.language.formatting import formatted

    reports: list[dict[str, Any]] = []
    for file in files:
        text = _read(file)
        try:
            new = formatted(text, file)
        except PtxError as error:
            _fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])
        reports.append({"file": file, "changes": new != text})
        if only_check:
            if new != text and not as_json:
                click.echo(file)
        elif in_place and file != "-":
            if new != text:
                Path(file).write_bytes(new.encode("utf-8", errors="surrogateescape"))
        elif as_json:
            reports[-1]["text"] = new
        else:
            click.echo(new.encode("utf-8", errors="surrogateescape"), nl=False)
    if as_json:
        click.echo(json.dumps(reports[0] if len(reports) == 1 else {"files": reports}))
    sys.exit(int(only_check and any(report["changes"] for report in reports)))


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--kernel", "-k", help="The entry to run; may be left out if there is one only.")
@click.option("--grid", "-g", default="1", show_default=True, help="CTAs: x, x,y or x,y,z.")
@click.option("--block", "-b", default="1", show_default=True, help="Threads a CTA: x, x,y or x,y,z.")
@click.option(
    "--arg",
    "-a",
    "arguments",
    multiple=True,
    help="An argument, in order: u32=7, f32=1.5, or an array: f32[64]=zeros, =arange, =random, =1,2,3, or @file.npy.",
)
@click.option(
    "--save", "-s", multiple=True, metavar="N=FILE", help="Write argument N's array to a .npy file afterwards."
)
@click.option("--dynamic-shared", default=0, show_default=True, help="Bytes of dynamic shared memory.")
@click.option("--cluster", "-c", help="CTAs a cluster: x, x,y or x,y,z. Without it the entry's directives say.")
@click.option("--nonportable-cluster", is_flag=True, help="Allow a cluster larger than every machine has room for.")
@click.option("--profile", default="hopper", show_default=True, help="Who chooses what PTX leaves open.")
@click.option("--engine", type=click.Choice(["native", "exact"]), default="native", show_default=True)
@click.option(
    "--step-limit", type=int, help="Most thread-instructions to execute; without it, what ends loops in a minute."
)
@click.option("--time-limit", type=float, help="Most seconds that the launch may take.")
@click.option("--memory-limit", type=int, help="Most bytes for the threads that are resident together.")
@_JSON
def run(
    file: str,
    kernel: str | None,
    grid: str,
    block: str,
    arguments: tuple[str, ...],
    save: tuple[str, ...],
    dynamic_shared: int,
    cluster: str | None,
    nonportable_cluster: bool,
    profile: str,
    engine: str,
    step_limit: int | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """Run an entry of a PTX file and show the arrays it leaves behind."""
    import numpy as np

    import ptxspec
    from ptxspec.progress import shown_progress

    module = _load(file, as_json)
    if kernel is None:
        if len(module.kernels) != 1:
            _fail(f"which entry? --kernel one of {', '.join(module.kernels)}", as_json, 2)
        kernel = module.kernels[0]
    try:
        values = [_argument(text, i) for i, text in enumerate(arguments)]
        before = [v.copy() if isinstance(v, np.ndarray) else None for v in values]
        texts: list[str] = []
        began = time.perf_counter()
        with shown_progress(as_json) as progress:
            outcome = module.launch(
                kernel,
                _extents(grid),
                _extents(block),
                values,
                dynamic_shared=dynamic_shared,
                cluster=None if cluster is None else _extents(cluster),
                nonportable_cluster=nonportable_cluster,
                profile=profile,
                engine=engine,
                step_limit=step_limit,
                time_limit=time_limit,
                memory_limit=memory_limit,
                progress=progress,
                printed=texts.append if as_json else None,
            )
        seconds = time.perf_counter() - began
        for item in save:
            number, _, path = item.partition("=")
            np.save(path, values[int(number)])
    except (ptxspec.LaunchError, ValueError, TypeError, IndexError, OSError) as error:
        _fail(str(error), as_json)
    changed = [
        i
        for i, (old, new) in enumerate(zip(before, values, strict=True))
        if old is not None and old.tobytes() != new.tobytes()
    ]
    if as_json:
        click.echo(
            json.dumps(
                {
                    "kernel": kernel,
                    "thread_instructions": outcome.steps,
                    "seconds": round(seconds, 6),
                    "printed": "".join(texts),
                    "changed": {str(i): values[i].tolist() for i in changed},
                }
            )
        )
        return
    click.echo(f"{kernel}: {outcome.steps:,} thread-instructions in {seconds:.3f} s")
    for i in changed:
        with np.printoptions(threshold=64, edgeitems=8):
            click.echo(f"argument {i}: {values[i]}")
    if not changed:
        click.echo("no array was changed")


def _extents(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise ValueError(f"extents are one to three numbers with commas, not {text!r}")
    return tuple(map(int, text.split(",")))


_DTYPES = {"u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "s8": "i1", "s16": "i2", "s32": "i4", "s64": "i8",
           "b8": "u1", "b16": "u2", "b32": "u4", "b64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}  # fmt: skip


def _argument(text: str, index: int) -> Any:
    import numpy as np

    if text.startswith("@"):
        return np.load(text[1:])
    match = re.fullmatch(r"(\w+)(?:\[(\d+(?:,\d+)*)\])?=(.*)", text)
    if match is None or match[1] not in _DTYPES:
        raise ValueError(f"argument {index}: {text!r} is not type=value, type[count]=values or @file.npy")
    dtype = np.dtype(_DTYPES[match[1]])
    if match[2] is None:
        number = float(match[3]) if dtype.kind == "f" else int(match[3], 0)
        return np.array(number).astype(dtype)[()] if dtype.kind == "f" else dtype.type(number)
    shape = tuple(map(int, match[2].split(",")))
    size = int(np.prod(shape))
    if match[3] == "zeros":
        return np.zeros(shape, dtype)
    if match[3] == "arange":
        return np.arange(size).astype(dtype).reshape(shape)
    if match[3] == "random":
        source = np.random.default_rng(index)
        if dtype.kind == "f":
            return source.standard_normal(shape).astype(dtype)
        return source.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype).reshape(shape)
    return np.array([float(v) if dtype.kind == "f" else int(v, 0) for v in match[3].split(",")], dtype).reshape(shape)


@main.command(name="eval")
@click.argument("fragment")
@click.argument("operands", nargs=-1)
@click.option("--profile", default="hopper", show_default=True, help="Who chooses what PTX leaves open.")
@_JSON
def eval_command(fragment: str, operands: tuple[str, ...], profile: str, as_json: bool) -> None:
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
        _fail(str(error), as_json, diagnostics=[d.as_dict() for d in error.diagnostics])
    except NoChoice as error:
        _fail(f"{error}, which the profile {profile} leaves open", as_json)
    except (ValueError, TypeError, Unsupported) as error:
        _fail(str(error), as_json)
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


@main.command()
@click.argument("left")
@click.argument("right")
@click.option("--assume", "-a", help="A condition on the inputs, such as 'a != 0 and b < 32'.")
@click.option("--profile", default="portable", show_default=True, help="Who chooses what PTX leaves open.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds.")
@_JSON
def prove(left: str, right: str, assume: str | None, profile: str, timeout: float, as_json: bool) -> None:
    """Ask whether two fragments compute the same. Exit status 0 if proved, 1 if refuted, 2 otherwise."""
    import ptxspec
    from ptxspec.query.evaluate import readings

    try:
        verdict = ptxspec.prove(left, right, assume=assume, profile=profile, timeout=timeout)
    except ptxspec.PtxError as error:
        _fail(str(error), as_json, 2, diagnostics=[d.as_dict() for d in error.diagnostics])
    except ValueError as error:
        _fail(str(error), as_json, 2)
    if as_json:
        click.echo(json.dumps(verdict.as_dict()))
    else:
        colour = {"proved": "green", "refuted": "red"}.get(verdict.status, "yellow")
        click.secho(f"{verdict.status}: {verdict.reason} ({verdict.seconds:.2f} s)", fg=colour)
        found = verdict.counterexample
        if found is not None:
            for name, value in found.inputs.items():
                click.echo(f"  {name} = " + "  ".join(str(v) for v in readings(value, found.types[name]).values()))
            for title, steps in (("left", found.left), ("right", found.right)):
                click.echo(f"  {title}:")
                for step in steps:
                    writes = ", ".join(f"{n} = {_shown(v, found.types[n])}" for n, v in step.writes.items())
                    click.echo(f"    {step.instruction:<36} {writes:<32} {step.page}")
    sys.exit({"proved": 0, "refuted": 1}.get(verdict.status, 2))


def _shown(value: Any, type: Any) -> str:
    if isinstance(value, str | bool):
        return str(value)
    return f"{value:#0{type.width // 4 + 2}x}"


@main.command()
@click.argument("opcode", required=False)
@_JSON
def forms(opcode: str | None, as_json: bool) -> None:
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
        _fail(f"no page defines {opcode!r}; there are {', '.join(sorted(table))}", as_json)
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


@main.group()
def vectors() -> None:
    """Operands and results of single instructions, for holding other implementations against the definitions."""


_OPCODES = click.option(
    "--opcode", "-o", "opcodes", multiple=True, help="This opcode only; may be given several times."
)


@vectors.command(name="write")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@_OPCODES
@click.option("--profile", default="portable", show_default=True, help="Who chooses what PTX leaves open.")
@_JSON
def vectors_write(folder: Path, opcodes: tuple[str, ...], profile: str, as_json: bool) -> None:
    """Write operand rows, one-instruction kernels and expected results; FOLDER/README.md describes the format."""
    from ptxspec.evidence import exchange

    try:
        facts = exchange.write(folder, opcodes, profile)
    except (ValueError, OSError) as error:
        _fail(str(error), as_json, 2)
    if as_json:
        click.echo(json.dumps({"folder": str(folder), **facts}))
    else:
        click.echo(
            f"{folder}: {facts['forms']:,} forms of {len(facts['opcodes'])} opcodes, {facts['rows']:,} rows, "
            f"profile {profile}"
        )


@vectors.command(name="check")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--recorded", is_flag=True, help="Hold the recorded answers of an H200 against the definitions instead.")
@_OPCODES
@click.option("--profile", default="portable", show_default=True, help="Who chooses what PTX leaves open, for FOLDER.")
@click.option("--show", default=3, show_default=True, type=click.IntRange(min=0), help="Differing rows shown a form.")
@click.option("--partial", is_flag=True, help="Forms without results are no fault.")
@_JSON
def vectors_check(
    folder: Path | None,
    recorded: bool,
    opcodes: tuple[str, ...],
    profile: str,
    show: int,
    partial: bool,
    as_json: bool,
) -> None:
    """Hold results in FOLDER, as `vectors write` describes them, against the definitions.

    Exit status 1 if a result is not allowed, or if a form has no results; 2 if the folder cannot be read.
    """
    from ptxspec.evidence import exchange

    if recorded == (folder is not None):
        _fail("name a folder of results, or --recorded, and not both", as_json, 2)
    try:
        if folder is None:
            _recorded(opcodes, show, as_json)
            return
        found, missing = exchange.check(folder, opcodes, profile, show)
    except (ValueError, OSError) as error:
        _fail(str(error), as_json, 2)
    wrong = [one for one in found if one.differing]
    status = 1 if wrong or (missing and not partial) or not found else 0
    facts = {
        "profile": profile,
        "forms": len(found),
        "rows": sum(one.rows for one in found),
        "rows_not_judged": sum(one.not_judged for one in found),
        "rows_differing": sum(one.differing for one in wrong),
    }
    if as_json:
        shown = [{**one._asdict(), "first": [row._asdict() for row in one.first]} for one in wrong]
        click.echo(json.dumps({**facts, "differing": shown, "missing": missing}))
        sys.exit(status)
    for one in wrong:
        click.secho(f"{one.form}  {one.differing} of {one.rows} rows differ  — {one.page}", fg="red")
        for row in one.first:
            click.echo(f"  ({', '.join(row.operands)}): {', '.join(row.results)}, expected {', '.join(row.expected)}")
        if one.differing > len(one.first):
            click.echo(f"  and {one.differing - len(one.first)} more")
    if missing:
        named = "  ".join(missing[:3]) + ("  …" if len(missing) > 3 else "")
        click.secho(f"{len(missing)} forms have no results: {named}", fg=None if partial else "red")
    click.echo(
        f"{facts['forms']:,} forms, {facts['rows']:,} rows, of which {facts['rows_differing']:,} differ"
        + (f" and {facts['rows_not_judged']:,} cannot be judged" if facts["rows_not_judged"] else "")
    )
    sys.exit(status)


def _recorded(opcodes: tuple[str, ...], show: int, as_json: bool) -> None:
    """Hold the recorded answers against the definitions, under the profile of the machine."""
    from ptxspec.evidence import exchange

    facts, found = exchange.check_recorded(opcodes)
    differing = {form: what for one in found for form, what in one.differing.items()}
    answered, unanswered = sum(one.answered for one in found), sum(one.unanswered for one in found)
    rows = sum(one.rows for one in found)
    status = 1 if differing or not answered else 0
    if as_json:
        shown = [{"form": form, "rows": count, "first": first} for form, (count, first) in differing.items()]
        counts = {"forms": answered, "forms_not_answered": unanswered, "rows": rows}
        click.echo(json.dumps({**facts, **counts, "differing": shown}))
        sys.exit(status)
    for form, (count, first) in differing.items():
        click.secho(f"{form}  {count} rows differ", fg="red")
        if show:
            click.echo(f"  {first}")
    click.echo(
        f"{facts.get('device', 'a GPU')}, {facts.get('date', 'no date')}: {answered:,} forms, {rows:,} rows; "
        f"{len(differing)} forms differ; {unanswered:,} forms were not answered"
    )
    sys.exit(status)


@main.command()
@click.option(
    "--update", "bring_up_to_date", is_flag=True, help="Compute what is missing or out of date first (minutes)."
)
@_JSON
def ledger(bring_up_to_date: bool, as_json: bool) -> None:
    """What evidence each form has, as last computed in build/ledger.json."""
    from ptxspec.evidence import ledger as book

    found = book.update() if bring_up_to_date else book.rows()
    if not found:
        _fail("the ledger was not computed for these documents: ptxspec ledger --update", as_json)
    if as_json:
        click.echo(json.dumps({"summary": book.summary(found), "rows": found}))
        return
    for name, count in book.summary(found).items():
        click.echo(f"{name:<42} {count:>6}")
    for row in found:
        if row["approximate"]:
            many = row["compared"]
            said = f"{many['text']} ({many['device']}, {many['date']}: {many['which']})" if many else "not compared"
            click.echo(f"{row['mnemonic']:<24} {said}")
    for row in found:
        if row["ptxas"] is False or row["interpretations"] is False:
            click.secho(
                f"{row['form']}  {row['page']}: ptxas {row['ptxas']}, interpretations {row['interpretations']}",
                fg="red",
            )


if __name__ == "__main__":
    main()
