"""The native engine beside C: thread-instructions a second on one core, and a gcc -O3 version of the same algorithm."""

from __future__ import annotations

import copy
import ctypes
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ptxspec

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
#: thread-instructions a second that each kernel must reach
GOAL = 50e6


def compile_c(source: Path, folder: str) -> ctypes.CDLL | None:
    """The C version as a library, or None where there is no compiler."""
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        return None
    target = Path(folder, source.stem + ".so")
    flags = ["-std=c99", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def best(action: Any, repeats: int) -> float:
    """The least time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def main(size: str = "large", repeats: int = 3) -> int:
    table = Table(title=f"five kernels, {size} cases, one core, best of {repeats}")
    for column in ("kernel", "thread-instr.", "compile", "native", "M instr./s", "gcc -O3", "native / C", "bits"):
        table.add_column(column, justify="left" if column == "kernel" else "right")
    slow = []
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(EXAMPLES.glob("*/reference.py")):
            reference = runpy.run_path(str(path))
            case = reference["case"](size)
            module = ptxspec.load(reference["PTX"].read_text())
            warm = reference["case"]("small")
            began = time.perf_counter()
            module.launch(reference["KERNEL"], warm["grid"], warm["block"], warm["args"])
            compiling = time.perf_counter() - began
            steps = []

            def native(
                case: Any = case, module: Any = module, name: str = reference["KERNEL"], steps: Any = steps
            ) -> None:
                steps.append(module.launch(name, case["grid"], case["block"], case["args"]).steps)

            fresh = copy.deepcopy(case)
            native()
            seconds = best(native, repeats)
            library = compile_c(reference["C_SOURCE"], folder)
            same, in_c = "no gcc", float("nan")
            if library is not None:
                reference["run_c"](library, fresh)
                first = reference["case"](size)
                module.launch(reference["KERNEL"], first["grid"], first["block"], first["args"])
                same = (
                    "same"
                    if all(
                        np.array_equal(fresh["args"][i].view(np.uint8), first["args"][i].view(np.uint8))
                        for i in case["outputs"]
                    )
                    else "DIFFER"
                )
                in_c = best(lambda run=reference["run_c"], lib=library, c=fresh: run(lib, c), repeats)
            rate = steps[-1] / seconds
            if rate < GOAL or same == "DIFFER":
                slow.append(path.parent.name)
            table.add_row(
                path.parent.name, f"{steps[-1]:,}", f"{compiling:.2f} s", f"{seconds:.3f} s", f"{rate / 1e6:,.0f}",
                f"{in_c:.4f} s", f"{seconds / in_c:.1f}", same,
            )  # fmt: skip
    console = Console(width=110)
    console.print(table)
    console.print(
        f"the goal is {GOAL / 1e6:.0f} M/s: " + ("reached by all" if not slow else f"MISSED by {', '.join(slow)}")
    )
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
