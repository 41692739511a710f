"""Workloads beside C: the native engine and gcc on one core, as seconds of the processor, so that other work counts little.

    python tests/benchmarks/suite.py [--only NAME …] [--workers 1] [--repeats 5] [--json PATH] [--docs]

A workload is a kernel or several, with what the host does between launches; its arrays stay in the device's memory. The C version is
the same algorithm in one thread, compiled by gcc -O3 for this processor, and its results are compared. `--docs` stores the figures
and the table that the documentation shows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from workloads.cases import WORKLOADS
from workloads.device import Device, Twin, Workload, compile_c, compiler, differences

import ptxspec
from ptxspec.machine.native import code

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "docs" / "reference" / "workloads.json"
PICTURE = STORED.with_suffix(".svg")
PAGE = ROOT / "docs" / "explanation" / "performance.md"
#: between these lines of the page is the table of the stored figures
BEGIN, END = "<!-- workloads: written by tests/benchmarks/suite.py -->\n", "<!-- end of workloads -->\n"
#: C versions that take microseconds are run this long, in seconds
SAMPLED = 0.02


@contextmanager
def on_cores(workers: int) -> Iterator[None]:
    """One worker on one core, if the system can say so; several on all."""
    if workers > 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def least(action: Callable[[], object], reset: Callable[[], None], repeats: int, sampled: float) -> tuple[float, float]:
    """The least seconds of the processor and of the clock, of so many runs at least, and of as many as fit into `sampled`."""
    processor = clock = math.inf
    used, runs = 0.0, 0
    while runs < repeats or used < sampled:
        reset()
        began, started = time.perf_counter(), time.process_time()
        action()
        seconds = time.process_time() - started
        clock, processor = min(clock, time.perf_counter() - began), min(processor, seconds)
        used, runs = used + seconds, runs + 1
    return processor, clock


@contextmanager
def made_fast() -> Iterator[None]:
    """Kernels that are launched first here have the code that they have when they have run for long."""
    before, code.PATIENCE = code.PATIENCE, 0.0
    try:
        yield
    finally:
        code.PATIENCE = before


def measured(workload: Workload, workers: int, repeats: int, scratch: Path) -> dict[str, Any]:
    """The figures of a workload, times in milliseconds: turns of warps, and of threads alone. Raises PtxError if its kernels are
    refused."""
    case = workload.make(workload.table)
    began = time.process_time()
    module = ptxspec.load(workload.ptx.read_text(), workload.ptx.name)
    Device(module, case, workers=workers).run()
    first = time.process_time() - began
    module = ptxspec.load(workload.ptx.read_text(), workload.ptx.name)
    with made_fast():
        device = Device(module, case, workers=workers, schedule="warps")
        alone = Device(module, case, workers=workers, schedule="round-robin")
        steps = device.run()
        alone.run()
    row: dict[str, Any] = {"workload": workload.name, "kind": workload.kind, "steps": steps, "first": first * 1e3}
    if compiler() is not None:
        twin = Twin(workload.name, case, compile_c(workload.name, scratch))
        twin.run()
        row["differences"] = differences(workload, device, twin)
        row["tolerance"] = workload.tolerance
        row["c"] = least(twin.run, twin.reset, repeats, SAMPLED)[0] * 1e3
    row["threads"] = least(alone.run, alone.reset, repeats, 0)[0] * 1e3
    processor, clock = least(device.run, device.reset, repeats, 0)
    row["engine"], row["elapsed"] = processor * 1e3, clock * 1e3
    if "c" in row:
        row["ratio"] = row["engine"] / row["c"]
    return row


def shown(figures: dict[str, Any]) -> Table:
    table = Table(
        title=f"workloads, {figures['workers']} worker(s), best of {figures['repeats']}, milliseconds of the processor"
    )
    for column in (
        "workload",
        "kind",
        "thread-instr.",
        "first launch",
        "threads",
        "warps",
        "elapsed",
        "G instr./s",
        "gcc -O3",
        "warps / C",
        "results",
    ):
        table.add_column(column, justify="left" if column in ("workload", "kind") else "right")
    for row in figures["workloads"]:
        table.add_row(
            row["workload"], row["kind"], f"{row['steps']:,}", f"{row['first']:,.0f}", f"{row['threads']:.2f}", f"{row['engine']:.2f}", f"{row['elapsed']:.2f}",
            f"{row['steps'] / row['engine'] / 1e6:.2f}", f"{row['c']:.3f}" if "c" in row else "no gcc",
            f"{row['ratio']:.1f}" if "c" in row else "", agreement(row),
        )  # fmt: skip
    return table


def agreement(row: dict[str, Any]) -> str:
    """How a workload's results agree with C."""
    if "c" not in row:
        return "not compared"
    if row["differences"]:
        return "WRONG: " + "; ".join(row["differences"])
    return "equal" if row["tolerance"] is None else f"within {row['tolerance']:g}"


def pyplot() -> Any:
    """matplotlib's, which draws the same SVG each time; None, and a line that says so, without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed (pip install 'ptxspec[bench]')")
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ptxspec"
    from matplotlib import pyplot

    return pyplot


def plot(figures: dict[str, Any], target: Path) -> list[Path]:
    """A picture of the ratios, the least first; no file without matplotlib, or without a C compiler."""
    rows = sorted((row for row in figures["workloads"] if "c" in row), key=lambda row: row["ratio"])
    drawing = pyplot() if rows else None
    if drawing is None:
        return []
    figure, axes = drawing.subplots(figsize=(7, 0.19 * len(rows) + 0.8))
    axes.barh([row["workload"] for row in rows], [row["ratio"] for row in rows], 0.7)
    axes.set_xscale("log")
    axes.set_xlabel("time of the engine with turns of warps / time of gcc -O3, one core")
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
    return [target]


def processor() -> str:
    """The model of this machine's processor."""
    try:
        model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        model = None
    return model[1] if model else platform.processor() or platform.machine()


def text_of_page(figures: dict[str, Any]) -> str:
    """The table of the documentation, as Markdown."""
    ratios = [row["ratio"] for row in figures["workloads"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines = [
        f"Measured on {figures['date']} with ptxspec {figures['ptxspec']} on one core of a machine with the processor {figures['processor']}: "
        f"the best of {figures['repeats']} runs. A ratio is that of turns of warps to gcc. Meanwhile the load of the machine was {figures['load'][0]:.1f} to {figures['load'][1]:.1f}. The geometric mean of the {len(ratios)} ratios is {mean:.1f}.",
        "",
        "| Workload | Kind | Thread-instructions, millions | Turns of threads, ms | Turns of warps, ms | gcc -O3, ms | Ratio | Results |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in figures["workloads"]:
        lines.append(
            f"| `{row['workload']}` | {row['kind']} | {row['steps'] / 1e6:.1f} "
            f"| {row['threads']:.1f} | {row['engine']:.1f} | {row['c']:.2f} | {row['ratio']:.1f} | {agreement(row)} |"
        )
    return "\n".join([*lines, ""])


def page_with(text: str, figures: dict[str, Any]) -> str:
    """The page with the table of these figures. Raises ValueError if it has no place for one."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for a table")
    return f"{before}{BEGIN}\n{text_of_page(figures)}\n{END}{after}"


def main(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(WORKLOADS), metavar="NAME", default=list(WORKLOADS))
    parser.add_argument("--workers", type=int, default=1, help="host threads of a launch")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each workload, of which the best counts")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument(
        "--docs", action="store_true", help="store the figures and the table that the documentation shows"
    )
    given = parser.parse_args(arguments)
    if given.docs and (len(given.only) < len(WORKLOADS) or compiler() is None):
        parser.error("--docs needs all workloads, and a C compiler")
    figures: dict[str, Any] = {
        "ptxspec": ptxspec.__version__, "date": date.today().isoformat(), "processor": processor(), "workers": given.workers,
        "repeats": given.repeats, "workloads": [],
    }  # fmt: skip
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.only:
            try:
                with on_cores(given.workers):
                    figures["workloads"].append(measured(WORKLOADS[name], given.workers, given.repeats, Path(scratch)))
            except ptxspec.PtxError as refused:
                raise SystemExit(f"{name} is refused: {refused}") from refused
            loads.append(os.getloadavg()[0])
    figures["load"] = [min(loads), max(loads)]
    Console(width=170).print(shown(figures))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))
    if given.docs:
        STORED.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(page_with(PAGE.read_text(), figures))
        plot(figures, PICTURE)
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
