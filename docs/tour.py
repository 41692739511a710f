"""The tour: `make tour` runs it. An instruction, a proof, a refutation, five CUDA kernels, a picture, what holds one chapter to
account, and the site. It takes two to six minutes on two cores: of the proofs and of the evidence it computes those of a few
instructions, and the site marks the rest as not run. `make site` computes all.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import ptxspec
from ptxspec.query.evaluate import readings

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"
#: the instruction whose proofs the tour checks, and the chapter whose evidence it computes
SHOWN, CHAPTER = "bfe", "instructions/integer"
console = Console(width=None if sys.stdout.isatty() else 110)


def kernels() -> None:
    """Run every example under both engines and hold it against its independent reference."""
    table = Table(title="CUDA kernels, compiled by nvcc 13.0, run from the documents' definitions")
    for column in ("kernel", "engine", "thread-instructions", "seconds", "against the reference"):
        table.add_column(column, justify="left" if column in ("kernel", "engine") else "right")
    names = [path.parent.name for path in sorted(EXAMPLES.glob("*/reference.py"))]
    failed = []
    console.print()
    with Live(table, console=console):
        for name, engine, size in [(n, *how) for n in names for how in (("exact", "small"), ("native", "medium"))]:
            table.caption = f"{name}, {engine} engine …"
            steps, seconds, same = kernel(name, engine, size)
            verdict = "[green]every bit agrees[/]" if same else "[red]DIFFERS[/]"
            table.add_row(name, engine, f"{steps:,}", f"{seconds:.2f}", verdict)
            if not same:
                failed.append(f"{name} under the {engine} engine")
        table.caption = None
    if failed:
        raise SystemExit("the tour ends here: " + ", ".join(failed))


def kernel(name: str, engine: ptxspec.Engine, size: str) -> tuple[int, float, bool]:
    """(thread-instructions, seconds, whether every bit agrees) of an example."""
    reference = runpy.run_path(str(EXAMPLES / name / "reference.py"))
    case = reference["case"](size)
    expected = reference["expected"](reference["case"](size))
    module = ptxspec.load(reference["PTX"].read_text(), f"docs/examples/{name}/{reference['PTX'].name}")
    began = time.perf_counter()
    outcome = module.launch(reference["KERNEL"], case["grid"], case["block"], case["args"], engine=engine)
    seconds = time.perf_counter() - began
    outputs = [case["args"][i] for i in case["outputs"]]
    same = all(np.array_equal(a.view(np.uint8), e.view(np.uint8)) for a, e in zip(outputs, expected, strict=True))
    return outcome.steps, seconds, same


def image() -> None:
    """Resize a picture by the kernel for images."""
    example = runpy.run_path(str(EXAMPLES / "resize" / "resize.py"))
    target, size = ROOT / "build" / "resized.png", (480, 320)
    target.parent.mkdir(exist_ok=True)
    began = time.perf_counter()
    example["main"]([str(example["PICTURE"]), str(target), *map(str, size)])
    seconds = time.perf_counter() - began
    lookups = f"{size[0] * size[1]:,} filtered lookups"
    console.print(
        f"\n[bold]A texture and a surface.[/] {lookups} in {seconds:.2f} s, compiling included: build/resized.png"
    )


def instruction() -> None:
    """Evaluate one instruction."""
    text, operands = "bfe.s32 d, a, b, c;", {"a": 0x1234ABCD, "b": 8, "c": 8}
    results = ptxspec.evaluate(text, **operands)
    shown = ", ".join(f"{n} = {v:#x}" for n, v in operands.items())
    console.print(f"\n[bold]One instruction.[/] {text}  with {shown}")
    for name, value in results.items():
        facts = readings(value, results.types[name])
        console.print(f"  {name} = {facts['hex']} = {facts['signed']}   [dim]{results.steps[0][1]}[/]")


def questions() -> None:
    """Prove an identity, and refute one."""
    for title, left, right, assume, expected in (
        (
            "A funnel shift of equal halves rotates",
            "shf.l.wrap.b32 d, a, a, c;",
            "and.b32 n, c, 31; sub.u32 m, 32, n; shl.b32 x, a, n; shr.u32 y, a, m; or.b32 d, x, y;",
            None,
            "proved",
        ),
        (
            "sad is the absolute value of the difference, added (it is not)",
            "sad.s32 d, a, b, c;",
            "sub.s32 x, a, b; abs.s32 y, x; add.s32 d, y, c;",
            "c == 0",
            "refuted",
        ),
    ):
        with console.status(f"{title} …"):
            verdict = ptxspec.prove(left, right, assume=assume)
        colour = "green" if verdict.status == "proved" else "yellow"
        console.print(f"\n[bold]{title}.[/]\n  {left}\n  {right}")
        console.print(f"  [{colour}]{verdict.status}[/]: {verdict.reason} ({verdict.seconds:.2f} s)")
        if verdict.status != expected:
            raise SystemExit(f"expected {expected}: the tour ends here")
        if verdict.counterexample is not None:
            for name, value in verdict.counterexample.inputs.items():
                facts = readings(value, verdict.counterexample.types[name])
                console.print(f"    {name} = {facts['hex']} = {facts['signed']}")
            for side in (verdict.counterexample.left, verdict.counterexample.right):
                for step in side:
                    writes = ", ".join(f"{n} = {v:#x}" for n, v in step.writes.items())
                    console.print(f"    {step.instruction:<24} {writes:<20} [dim]{step.page}[/]")


def proofs() -> None:
    """Check those identities of the pages under proofs/ that say something of one instruction."""
    from ptxspec.query.identities import load_all, update

    with console.status(f"proofs that mention {SHOWN} …"):
        found = update(chosen=lambda claim: SHOWN in claim.opcodes)
    wrong = [claim.title for claim, verdict in found if not claim.is_as_stated(verdict["status"])]
    proved = sum(1 for _, verdict in found if verdict["status"] == "proved")
    refuted = sum(1 for _, verdict in found if verdict["status"] == "refuted")
    which = f"[bold]The proofs[/] that mention {SHOWN}, of {len(load_all())}"
    console.print(f"\n{which}: {proved} identities proved, {refuted} refuted as stated")
    if wrong:
        raise SystemExit("not as stated: " + "; ".join(wrong))


def evidence() -> None:
    """Hold the forms of one chapter against ptxas, the other interpretations and the recorded answers of a GPU."""
    from ptxspec.language.forms import registry
    from ptxspec_workshop.ledger import computing

    table = Table(title=f"What holds instructions of {CHAPTER} to account, computed now")
    for column in (
        "opcode",
        "forms",
        "accepted by ptxas",
        "exact = native = symbolic",
        "as an H200 answered",
        "its vectors",
    ):
        table.add_column(column, justify="left" if column == "opcode" else "right")
    known = registry().opcodes
    opcodes = [name for name in sorted(known) if all(f.page.startswith(f"spec/{CHAPTER}/") for f in known[name].forms)]
    with console.status(f"{len(opcodes)} opcodes against ptxas, three interpretations, and an H200's answers …"):
        rows = computing.update(opcodes=opcodes)
    for opcode in opcodes:
        own = [row for row in rows if row["opcode"] == opcode]
        gpu = [row["gpu"] for row in own]
        vectors = sum(answers["vectors"] for answers in gpu if answers)
        cells = [
            [row["ptxas"] for row in own],
            [row["interpretations"] for row in own],
            [g and g["agrees"] for g in gpu],
        ]
        table.add_row(opcode, str(len(own)), *map(_counted, cells), f"{vectors:,}")
    console.print()
    console.print(table)
    if any(
        row["ptxas"] is False or row["interpretations"] is False or (row["gpu"] or {}).get("agrees") is False
        for row in rows
    ):
        raise SystemExit("the tour ends here: not all of it agrees")


def _counted(values: Sequence[bool | None]) -> str:
    """How many checks went well, and how many were not run."""
    if all(values):
        return "[green]all[/]"
    lacking = f", {values.count(None)} not run" if None in values else ""
    return f"{sum(value is True for value in values)} of {len(values)}{lacking}"


def site() -> None:
    """Build the site."""
    console.print("\n[bold]The site[/] (corner cases, freedoms and verdicts are computed from the definitions) …")
    how = ["-W", "--keep-going", "-j", "auto", "-D", "ptxspec_solver_seconds=0", "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *how, str(ROOT), str(ROOT / "build" / "site")]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        assert run.stdout is not None
        for line in run.stdout:
            said.append(line)
            progress.update(task, description=line.strip()[:90])
    if run.wait():
        console.print("".join(said[-40:]), markup=False)
        raise SystemExit("the site was not built")
    console.print("  [green]built[/]: open build/site/index.html; what is marked as not run there, `make site` runs")


def main() -> None:
    began = time.perf_counter()
    count = len(ptxspec.forms())
    console.print(
        f"[bold]ptxspec[/]: {count:,} forms, loaded from the documents in {time.perf_counter() - began:.2f} s"
    )
    for part in (instruction, questions, kernels, image, proofs, evidence, site):
        part()
    console.print(f"\nThe tour took {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
