"""`ptxspec run`: run an entry on arguments from the command line."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import click

from ptxspec.cli.shared import JSON_OPTION, fail, load_module


@click.command("run")
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
@click.option("--step-limit", default=10**11, show_default=True, help="Most thread-instructions to execute.")
@JSON_OPTION
def command(
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
    step_limit: int,
    as_json: bool,
) -> None:
    """Run an entry of a PTX file and show the arrays it leaves behind."""
    import numpy as np

    import ptxspec

    module = load_module(file, as_json)
    if kernel is None:
        if len(module.kernels) != 1:
            fail(f"which entry? --kernel one of {', '.join(module.kernels)}", as_json, 2)
        kernel = module.kernels[0]
    try:
        values = [_argument(text, i) for i, text in enumerate(arguments)]
        before = [v.copy() if isinstance(v, np.ndarray) else None for v in values]
        texts: list[str] = []
        began = time.perf_counter()
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
            printed=texts.append if as_json else None,
        )
        seconds = time.perf_counter() - began
        for item in save:
            number, _, path = item.partition("=")
            np.save(path, values[int(number)])
    except (ptxspec.LaunchError, ValueError, TypeError, IndexError, OSError) as error:
        fail(str(error), as_json)
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
