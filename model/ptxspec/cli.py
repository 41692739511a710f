"""The command `ptxspec`: run, check, eval, prove, forms, ledger. Each takes --json."""

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


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@_JSON
def check(file: str, as_json: bool) -> None:
    """Parse and check a PTX file ("-": standard input). Exit status 1 if it is not well-formed."""
    module = _load(file, as_json)
    found: dict[str, Any] = {
        name: {"instructions": len(k.code), "parameters": [p.name for p in k.parameters]}
        for name, k in module.checked.kernels.items()
    }
    if as_json:
        click.echo(json.dumps({"file": file, "kernels": found, "diagnostics": []}))
    else:
        for name, facts in found.items():
            click.echo(f"{name}({', '.join(facts['parameters'])}): {facts['instructions']} instructions")
        click.echo(f"{file}: no complaints")


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
@click.option("--profile", default="hopper", show_default=True, help="Who chooses what PTX leaves open.")
@click.option("--engine", type=click.Choice(["native", "exact"]), default="native", show_default=True)
@click.option("--step-limit", default=10**11, show_default=True, help="Most thread-instructions to execute.")
@_JSON
def run(
    file: str,
    kernel: str | None,
    grid: str,
    block: str,
    arguments: tuple[str, ...],
    save: tuple[str, ...],
    dynamic_shared: int,
    profile: str,
    engine: str,
    step_limit: int,
    as_json: bool,
) -> None:
    """Run an entry of a PTX file and show the arrays it leaves behind."""
    import numpy as np

    import ptxspec

    module = _load(file, as_json)
    if kernel is None:
        if len(module.kernels) != 1:
            _fail(f"which entry? --kernel one of {', '.join(module.kernels)}", as_json, 2)
        kernel = module.kernels[0]
    try:
        values = [_argument(text, i) for i, text in enumerate(arguments)]
        before = [v.copy() if isinstance(v, np.ndarray) else None for v in values]
        began = time.perf_counter()
        outcome = module.launch(
            kernel,
            _extents(grid),
            _extents(block),
            values,
            dynamic_shared=dynamic_shared,
            profile=profile,
            engine=engine,
            step_limit=step_limit,
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
    except (ValueError, TypeError, Unsupported, NoChoice) as error:
        _fail(str(error), as_json)
    if as_json:
        shown = {n: readings(v, results.types[n]) for n, v in results.items()}
        chosen = [c._asdict() for c in results.chosen]
        click.echo(json.dumps({"results": shown, "chosen": chosen, "pages": [p for _, p, _ in results.steps]}))
        return
    for name, value in results.items():
        click.echo(f"{name} = " + "  ".join(f"{v}" for v in readings(value, results.types[name]).values()))
    for choice in results.chosen:
        click.echo(f"({choice.kind}: {choice.entry}, chosen by the profile {profile})")
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
                "page": form.page,
            }
        )
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        types = " ".join(f"{n}:{t}" for n, t in row["operands"].items())
        click.echo(f"{row['form']:<44} {types:<44} PTX {row['since']} {row['target']:<6} {row['page']}")
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
        click.echo(f"{name:<24} {count:>6}")
    for row in found:
        if row["ptxas"] is False or row["interpretations"] is False:
            click.secho(
                f"{row['form']}  {row['page']}: ptxas {row['ptxas']}, interpretations {row['interpretations']}",
                fg="red",
            )


if __name__ == "__main__":
    main()
