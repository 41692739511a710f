"""How long the first answer takes, and how many a second follow: seconds of the processor, so that other work counts little.

    python tests/benchmarks/startup.py [--json PATH] [--bits 26]

`--bits 32` goes through all operands of a form of one operand, in two threads; fewer are a part of them, and the whole is
reckoned from it. Byte code is kept, as Python does by default, in a folder of this run's own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import ptxspec

KERNEL = (
    ".version 9.0 .target sm_90 .address_size 64 .visible .entry k() { .reg .u32 %r<3>; add.u32 %r1, %r1, %r2; ret; }"
)
LOADING = f"import time, ptxspec; t = time.process_time(); ptxspec.load({KERNEL!r}); print(time.process_time() - t)"
#: what a new process does -> its words, and the seconds that it may take
PROCESSES: dict[str, tuple[list[str], float | None]] = {
    "python -c pass": (["-c", "pass"], None),
    "import ptxspec": (["-c", "import ptxspec"], 0.15),
    "ptxspec --help": (["-m", "ptxspec", "--help"], 0.25),
    "ptxspec eval": (["-m", "ptxspec", "eval", "add.u32 d,a,b;", "a=1", "b=2"], 0.35),
}
SCALARS: dict[str, dict[str, Any]] = {
    "add.u32 d, a, b;": {"a": 1, "b": 2},
    "bfe.s32 d, a, b, c;": {"a": 0x80, "b": 4, "c": 8},
    "fma.rn.ftz.f32 d, a, b, c;": {"a": 1.0, "b": 2.5, "c": 7.0},
    "ex2.approx.f32 d, a;": {"a": 2.5},
    "setp.lt.u32 p, a, b; @!p mov.u32 d, a;": {"a": 1, "b": 2, "d": 7},
}
ARRAYS = [
    "add.u32 d, a, b;", "bfe.s32 d, a, b, c;", "mad.lo.s32 d, a, b, c;", "popc.b32 d, a;", "div.u32 d, a, b;",
    "prmt.b32 d, a, b, c;", "add.cc.u32 d, a, b; addc.u32 e, a, c;", "fma.rn.ftz.f32 d, a, b, c;", "ex2.approx.f32 d, a;",
]  # fmt: skip
EVERY = ["popc.b32 d, a;", "sqrt.rn.f32 d, a;"]
#: operands of one chunk
CHUNK = 1 << 22


class Figure(NamedTuple):
    """A measured figure, and the goal: at most that, or at least that if the unit says how many."""

    what: str
    value: float
    unit: str
    goal: float | None

    @property
    def kept(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.unit.startswith("million") else self.value <= self.goal


def of_child(words: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of the processor that a new Python takes, and what it prints."""
    before = os.times()
    run = subprocess.run([sys.executable, *words], env=environment, check=True, capture_output=True, text=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, run.stdout


def environment() -> dict[str, str]:
    """That of a process that keeps its byte code, as Python does by default."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def processes() -> list[Figure]:
    """What new processes take, the least of five after one that fills the caches."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        cached = {**environment(), "PYTHONPYCACHEPREFIX": folder}
        for what, (words, goal) in PROCESSES.items():
            of_child(words, cached)
            best = min(of_child(words, cached)[0] for _ in range(5))
            found.append(Figure(what, best, "s, whole process", goal))
        of_child(["-c", LOADING], cached)
        inside = min(float(of_child(["-c", LOADING], cached)[1]) for _ in range(5))
        found.append(Figure("first load in a process", inside, "s", 0.15))
        with_numpy = "import numpy; " + LOADING
        inside = min(float(of_child(["-c", with_numpy], cached)[1]) for _ in range(5))
        found.append(Figure("the same, NumPy imported before", inside, "s", None))
    return found


def best(function: Callable[[], Any], times: int) -> float:
    found = []
    for _ in range(times):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def scalars() -> list[Figure]:
    found = []
    for text, operands in SCALARS.items():

        def many(text: str = text, operands: dict[str, Any] = operands) -> None:
            for _ in range(1000):
                ptxspec.evaluate(text, operands)

        many()
        found.append(Figure(text, best(many, 5) * 1000, "µs a call", 30.0))
    return found


def arrays(count: int = CHUNK) -> list[Figure]:
    source = np.random.default_rng(1)
    operands = {name: source.integers(0, 1 << 32, count, dtype=np.uint32) for name in "abc"}
    found = []
    for text in ARRAYS:
        own = {name: operands[name] for name in "abc" if f" {name}" in text.partition("d,")[2]}
        ptxspec.evaluate(text, own)
        seconds = best(lambda text=text, own=own: ptxspec.evaluate(text, own), 5)  # type: ignore[misc]
        found.append(Figure(text, count / seconds / 1e6, "million a second", 20.0 if "f32" not in text else None))
    return found


def every_operand(text: str, bits: int) -> tuple[int, list[Figure]]:
    """A checksum of the results for the first 2^bits operands, in two threads."""

    def chunk(first: int) -> int:
        results = ptxspec.evaluate(text, a=np.arange(first, first + CHUNK, dtype=np.uint32))["d"]
        return int(results.sum(dtype=np.uint64))

    chunk(0)
    began, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(2) as pool:
        checksum = sum(pool.map(chunk, range(0, 1 << bits, CHUNK)))
    wall, used = time.perf_counter() - began, time.process_time() - used
    scale = 1 << (32 - bits)
    return checksum, [
        Figure(f"{text} 2^{bits} operands, wall clock", wall, "s", None),
        Figure(f"{text} 2^32 on two cores, by the processor's time", used * scale / 2, "s", 120.0),
    ]


def show(title: str, figures: list[Figure]) -> None:
    """Print a table of figures beside their goals."""
    table = Table(title=title)
    for column in ("what", "value", "unit", "goal", ""):
        table.add_column(column, justify="right" if column in ("value", "goal") else "left")
    for one in figures:
        verdict = "" if one.goal is None else "kept" if one.kept else "MISSED"
        table.add_row(one.what, f"{one.value:,.3f}", one.unit, "" if one.goal is None else f"{one.goal:g}", verdict)
    Console(width=130).print(table)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--bits", type=int, default=26, choices=range(22, 33), metavar="22…32")
    given = parser.parse_args(arguments)
    figures = [*processes(), *scalars(), *arrays()]
    checksums = {}
    for text in EVERY:
        checksums[text], more = every_operand(text, given.bits)
        figures += more
    show("the first answer, and those that follow", figures)
    if given.json:
        kept = [{**one._asdict(), "kept": one.kept} for one in figures]
        given.json.write_text(json.dumps({"figures": kept, "bits": given.bits, "checksums": checksums}, indent=1))


if __name__ == "__main__":
    main()
