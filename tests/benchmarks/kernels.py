"""The native engine beside C: five kernels, whole launches, on one core and on all.

    python tests/benchmarks/kernels.py [--size table] [--repeats 5] [--json PATH]

The C versions are the same algorithms, compiled by gcc -O3 for this processor.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import json
import math
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ptxspec

#: seconds for which the launches of one kernel are repeated, at least
SAMPLED = 1.0
HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "docs" / "examples"
KERNELS = [EXAMPLES / "saxpy", EXAMPLES / "matmul", HERE / "tree", EXAMPLES / "mandelbrot", EXAMPLES / "hash"]
#: seconds to reach on one core, of the sizes of the table
GOALS = {"saxpy": 0.012, "matmul": 0.006, "tree": 0.05, "mandelbrot": 0.04, "hash": 0.035}
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_c(source: Path, folder: str) -> ctypes.CDLL | None:
    """The C version as a library, or None where there is no compiler."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        return None
    target = Path(folder, source.stem + ".so")
    flags = ["-std=c99", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def best(actions: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The least time of several runs of each action, in seconds. They take turns, so that each has its share of a quiet moment, at
    least so often and for at least SAMPLED: a launch of milliseconds needs many."""
    least = [math.inf] * len(actions)
    ends, runs = time.perf_counter() + SAMPLED, 0
    while runs < repeats or time.perf_counter() < ends:
        for i, action in enumerate(actions):
            began = time.perf_counter()
            action()
            least[i] = min(least[i], time.perf_counter() - began)
        runs += 1
    return least


def measured(folder: Path, size: str, repeats: int, scratch: str) -> dict[str, Any]:
    """The figures of one kernel; times in seconds."""
    reference = runpy.run_path(str(folder / "reference.py"))
    name = reference["KERNEL"]
    began = time.perf_counter()
    module = ptxspec.load(reference["PTX"].read_text())
    warm = reference["case"]("small")
    module.launch(name, warm["grid"], warm["block"], warm["args"])
    first = time.perf_counter() - began
    case = reference["case"](size)
    fresh = copy.deepcopy(case)

    def launch(workers: int = 1) -> int:
        return module.launch(name, case["grid"], case["block"], case["args"], workers=workers).steps

    steps = launch()
    found: dict[str, Any] = {"kernel": folder.name, "steps": steps, "first": first}
    expected = reference["expected"](copy.deepcopy(fresh))
    pairs = zip(expected, case["outputs"], strict=True)
    found["right"] = all(np.array_equal(e.view(np.uint8), case["args"][i].view(np.uint8)) for e, i in pairs)
    library = compile_c(reference["C_SOURCE"], scratch)
    launch(CORES)
    found["one"], found["all"] = best([launch, lambda: launch(CORES)], repeats)
    if library is not None:
        [found["c"]] = best([lambda: reference["run_c"](library, fresh)], repeats)
    found["rate"], found["goal"] = steps / found["one"], GOALS.get(folder.name) if size == "table" else None
    return found


def shown(rows: list[dict[str, Any]], size: str) -> Table:
    table = Table(title=f"five kernels, {size}, best of several launches, seconds")
    for column in ("kernel", "thread-instr.", "first launch", "one core", "goal", f"{CORES} cores", "gain", "G instr./s",
                   "gcc -O3", "one core / C", "bits"):  # fmt: skip
        table.add_column(column, justify="left" if column == "kernel" else "right")
    for row in rows:
        in_c = row.get("c")
        table.add_row(
            row["kernel"], f"{row['steps']:,}", f"{row['first']:.3f}", f"{row['one']:.4f}",
            f"{row['goal']:.3f}" if row["goal"] else "", f"{row['all']:.4f}", f"{row['one'] / row['all']:.2f}",
            f"{row['rate'] / 1e9:.2f}", f"{in_c:.5f}" if in_c else "no gcc", f"{row['one'] / in_c:.1f}" if in_c else "",
            "right" if row["right"] else "WRONG",
        )  # fmt: skip
    return table


def main(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="table")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        rows = [measured(folder, given.size, given.repeats, scratch) for folder in KERNELS]
    Console(width=130).print(shown(rows, given.size))
    found = {"kernels": rows}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
