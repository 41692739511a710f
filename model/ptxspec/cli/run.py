"""`ptxspec run`: run an entry on arguments from the command line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from ptxspec.base.escaping import LINES, printable
from ptxspec.base.records import NamedTuple
from ptxspec.cli.failures import ANSWER_IS_NO, DONE, Failed, finding_dict, known, user_errors
from ptxspec.cli.shared import FILE, JSON_OPTION, put, put_json, read_text, say


@click.command("run", short_help="Run a kernel of a PTX file.")
@click.argument("file", type=FILE)
@click.option("--kernel", "-k", help="The entry to run; needed only if the file has several.")
@click.option("--grid", "-g", default="1", show_default=True, help="CTAs in the grid: x, x,y or x,y,z.")
@click.option("--block", "-b", default="1", show_default=True, help="Threads in a CTA: x, x,y or x,y,z.")
@click.option(
    "--arg",
    "-a",
    "arguments",
    multiple=True,
    help="The next argument: u32=7, s32=-5, f32=1.5, f32=0x3fc00000 (bits), or an array: f32[64]=zeros, f32[64]=arange, "
    "f32[64]=random, f32[3]=1,2,3 or @file.npy. Give one --arg for each parameter.",
)
@click.option(
    "--save",
    "-s",
    multiple=True,
    metavar="N=FILE.npy",
    help="After the launch, write the array of argument N (from 0) to a .npy file.",
)
@click.option(
    "--dynamic-shared",
    default=0,
    type=click.IntRange(0, 1 << 40),
    show_default=True,
    help="Bytes of dynamic shared memory.",
)
@click.option("--cluster", "-c", help="CTAs in a cluster: x, x,y or x,y,z. Default: as the entry's directives say.")
@click.option("--nonportable-cluster", is_flag=True, help="Allow a cluster size that not every machine supports.")
@click.option(
    "--profile",
    default="hopper",
    show_default=True,
    help="The profile, which chooses the results that PTX leaves open.",
)
@click.option(
    "--engine",
    type=click.Choice(["native", "exact"]),
    default="native",
    show_default=True,
    help="native compiles the kernel; exact interprets it.",
)
@click.option(
    "--workers",
    default=1,
    type=click.IntRange(1, 256),
    show_default=True,
    help="Host threads that execute the CTAs.",
)
@click.option(
    "--copies",
    default="early",
    show_default=True,
    metavar="early|late|each|random:SEED",
    help="When the pieces of asynchronous copies (cp.async) land: at the instruction, at the wait, one before each turn of a "
    "thread, or where a seed says.",
)
@click.option(
    "--schedule",
    default="auto",
    show_default=True,
    metavar="auto|round-robin|warps|random:SEED|weakest:SEED|T,T,…",
    help="Which thread runs next: in turns, in turns that the threads of a warp have together (auto: if there are many), drawn "
    "before each access to memory, with reads of any value that the memory model permits (weakest, with --engine exact), or as "
    "listed by --json of another launch.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="Count how often each instruction is executed, for how many threads its guard holds, and the bytes that it moves.",
)
@click.option(
    "--check",
    type=click.Choice(["race", "uninitialized", "leak", "all"]),
    help="Report accesses that the memory model does not order (race), values that nothing has initialized where they matter "
    "(uninitialized), memory of malloc that nobody can free any more (leak), or all of these.",
)
@click.option(
    "--findings",
    type=click.Choice(["raise", "collect"]),
    default="raise",
    show_default=True,
    help="With findings of --check, end as if the launch had broken a rule (raise), or show them with the results (collect).",
)
@click.option(
    "--contract",
    type=click.Choice(["none", "all"]),
    default="none",
    show_default=True,
    help="Which products and sums without rounding modifiers are contracted to fused multiply-adds.",
)
@click.option(
    "--step-limit",
    type=click.IntRange(0, 1 << 62),
    help="The most thread-instructions to execute. Default: as "
    "spec/machine/limits.md says; an endless loop usually ends within a minute.",
)
@click.option("--time-limit", type=float, help="The most seconds that the launch may take, compilation included.")
@click.option(
    "--memory-limit",
    type=click.IntRange(0, 1 << 62),
    help="The most bytes for the threads that are resident together. Default: as spec/machine/limits.md says.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Let a seed decide what PTX leaves open and the profile does not choose, and what registers and memory hold at first.",
)
@click.option(
    "--seeds",
    default=0,
    type=click.IntRange(0, 1000),
    metavar="K",
    help="Launch again with the seeds 0 to K-1, and say where the results depend on what is open.",
)
@JSON_OPTION
def command(
    file: str,
    kernel: str | None,
    grid: str,
    block: str,
    arguments: tuple[str, ...],
    save: tuple[str, ...],
    cluster: str | None,
    as_json: bool,
    copies: str,
    schedule: str,
    seeds: int,
    **options: Any,
) -> int:
    """Run an entry (a kernel) of a PTX file, and print the arrays that it changed.

    Exit status 0 if the launch ended well, 1 if the text is wrong, the program breaks a rule, --check finds something or the
    results depend on the seed, 2 if an argument or a file is wrong.
    """
    from ptxspec.cli import arguments as reading
    from ptxspec.cli import saving

    shape = reading.extents("--grid", grid), reading.extents("--block", block)
    options["cluster"] = None if cluster is None else reading.extents("--cluster", cluster)
    options["copies"], options["schedule"] = copies, _schedule(schedule)
    values = reading.arguments(arguments)
    files = saving.saves(save, values)
    before = [v.copy() if v.ndim else None for v in values]
    texts: list[str] = []
    with user_errors():
        import ptxspec
        from ptxspec.base.progress import shown_progress

        module = ptxspec.load(read_text(file), file)
        kernel = _entry(module.kernels, kernel)
        began = time.perf_counter()
        with shown_progress(as_json) as progress:
            options |= {"progress": progress, "printed": texts.append if as_json else _print}
            outcome = module.launch(kernel, *shape, values, **options)
        seconds = time.perf_counter() - began
        dependent = _dependent(module, kernel, shape, before, values, texts, options, seeds)
    saving.save(files, values)
    changed = [
        i
        for i, (old, new) in enumerate(zip(before, values, strict=True))
        if old is not None and old.tobytes() != new.tobytes()
    ]
    facts = {"kernel": kernel, "thread_instructions": outcome.steps, "seconds": round(seconds, 6)}
    if outcome.schedule is not None:
        facts["schedule"] = list(outcome.schedule)
    if as_json and outcome.counts is not None:
        facts["counts"] = [count._asdict() for count in outcome.counts.instructions]
    if options["check"] is not None and as_json:
        facts["findings"] = [finding_dict(finding) for finding in outcome.findings]
        facts["findings_omitted"] = outcome.findings_omitted
    if as_json:
        compared = {"seeds": {"count": seeds, "dependent": [d.as_dict() for d in dependent]}} if seeds else {}
        results = {"printed": "".join(texts), "changed": {str(i): values[i].tolist() for i in changed}}
        put_json({**facts, **results, **compared})
    else:
        _show(facts, {i: values[i] for i in changed})
        if outcome.counts is not None:
            _show_counts(outcome.counts)
        if options["check"] is not None:
            _show_findings(outcome.findings, outcome.findings_omitted)
        for dependence in dependent:
            say(str(dependence), fg="yellow")
        if seeds and not dependent:
            say(f"the results are the same under {seeds} seeds")
    return ANSWER_IS_NO if dependent or outcome.findings else DONE


class Dependent(NamedTuple):
    """A result that depends on what is open: of which argument (None: what threads print), how many elements, the place of the
    first, what it is without a seed and what under a seed."""

    argument: int | None
    elements: int
    first: tuple[int, ...]
    value: Any
    seed: int
    other: Any

    def __str__(self) -> str:
        if self.argument is None:
            return f"what threads print depends on what is open: it differs under --seed {self.seed}"
        place = ", ".join(map(str, self.first))
        return (
            f"argument {self.argument} depends on what is open, in {self.elements} element{'' if self.elements == 1 else 's'}: "
            f"[{place}] is {self.value}, and {self.other} under --seed {self.seed}"
        )

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "first": list(self.first)}


def _dependent(
    module: Any,
    kernel: str,
    shape: tuple[Any, Any],
    before: Sequence[Any],
    values: Sequence[Any],
    printed: Sequence[str],
    options: dict[str, Any],
    seeds: int,
) -> list[Dependent]:
    """What depends on the seed, by launches with each of them that begin as the first did. Raises what such a launch raises, with
    its seed in the message."""
    dependences: dict[int | None, Dependent] = {}
    for seed in range(seeds):
        again = [value if old is None else old.copy() for old, value in zip(before, values, strict=True)]
        texts: list[str] = []
        try:
            how = {**options, "printed": texts.append, "seed": seed, "check": None}
            module.launch(kernel, *shape, again, **how)
        except Exception as error:
            failed = known(error)
            if failed is None:
                raise
            raise Failed(
                f"{failed.message}\n  under --seed {seed}", failed.kind, failed.status, **failed.more
            ) from None
        for i, (old, value, other) in enumerate(zip(before, values, again, strict=True)):
            if old is None or i in dependences or value.tobytes() == other.tobytes():
                continue
            differs = (_bytes(value) != _bytes(other)).any(axis=-1)
            first = tuple(int(n) for n in next(zip(*differs.nonzero(), strict=True)))
            dependences[i] = Dependent(i, int(differs.sum()), first, value[first].item(), seed, other[first].item())
        if None not in dependences and texts and "".join(texts) != "".join(printed):
            dependences[None] = Dependent(None, 1, (), None, seed, None)
    return list(dependences.values())


def _bytes(array: Any) -> Any:
    """The bytes of each element."""
    import numpy as np

    return np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.itemsize)


def _schedule(text: str) -> str | list[int]:
    """The schedule: a word, or numbers of threads."""
    if not text[:1].isdecimal():
        return text
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise Failed(
            f"--schedule {text}: auto, round-robin, warps, random:SEED, weakest:SEED, or numbers of threads, as in 0,1,1"
        ) from None


def _entry(kernels: list[str], name: str | None) -> str:
    """The entry to run. Fails if there is a choice, or none."""
    if name is not None and name in kernels:
        return name
    if not kernels:
        raise Failed("the module has no entry")
    if name is not None:
        raise Failed(f"no entry is called {name!r}; there are {', '.join(kernels)}")
    if len(kernels) > 1:
        raise Failed(f"which entry? --kernel one of {', '.join(kernels)}")
    return kernels[0]


def _print(text: str) -> None:
    """What a thread prints. Control characters are escaped; --json gives the text itself."""
    put(printable(text, LINES), nl=False)


def _show_counts(counts: Any) -> None:
    """A table of what each instruction did, and the bytes in all."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("line", "instruction", "reached", "active", "read", "written", box=box.SIMPLE)
    for column in (0, 2, 3):
        table.columns[column].justify = "right"
    for count in counts.instructions:
        moved = [", ".join(f"{n:,} .{space}" for space, n in bytes.items()) for bytes in (count.read, count.written)]
        table.add_row(
            str(count.line), Text(printable(count.instruction)), f"{count.reached:,}", f"{count.active:,}", *moved
        )
    Console().print(table)
    for what, bytes in (("read", counts.read), ("written", counts.written)):
        say(f"bytes {what}: {', '.join(f'{n:,} of .{space}' for space, n in bytes.items()) or 'none'}")


def _show_findings(findings: Sequence[Any], omitted: int) -> None:
    """What the checks of the launch found."""
    for finding in findings:
        say(str(finding), fg="yellow")
    if omitted:
        say(f"and {omitted:,} more", fg="yellow")
    if not findings:
        say("the checks found nothing")


def _show(facts: dict[str, Any], changed: dict[int, Any]) -> None:
    import numpy as np

    say(f"{facts['kernel']}: {facts['thread_instructions']:,} thread-instructions in {facts['seconds']:.3f} s")
    for i, array in changed.items():
        with np.printoptions(threshold=64, edgeitems=8):
            say(f"argument {i}: {array}")
    if not changed:
        say("no array was changed")
