"""One launch whose CTAs are executed by several processes, each with its part of global memory, and merged bit for bit.

    python tests/benchmarks/distribution.py [--only NAME …] [--jobs 2] [--rounds 5] [--json PATH] [--docs]

`--docs` stores the figures and writes the tables of docs/explanation/beyond-one-machine.md. Without Dask nothing is measured with it.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import logging
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import suite
from workloads.cases import WORKLOADS
from workloads.device import Case, Device

import ptxspec
from ptxspec.base import campaigns
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.language.specials import special_origin, special_registers

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "docs" / "reference" / "distribution.json"
PAGE = ROOT / "docs" / "explanation" / "beyond-one-machine.md"
#: special registers that are the same in a part of a grid, but for the axis of the split of two of them
KEPT = {
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    *(f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")),
}
#: parts for each worker
PARTS = 2
#: thread-instructions of the launch of the page, and the bytes that a link of 25 Gbit/s carries in a second
STEPS, LINK = 10**12, 25e9 / 8


class Split(NamedTuple):
    """How a launch is divided along an axis of its grid: arrays of which each CTA has as many bytes, side by side; arrays of which
    each part has all; and those among the latter to which CTAs add integers. With more instructions the bytes of arrays grow as
    this power of their number."""

    axis: str
    pieces: tuple[str, ...]
    whole: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    power: float = 1.0


SPLITS = {
    "saxpy": Split("x", ("x", "y")),
    "matmul": Split("y", ("a", "c"), ("b",), power=2 / 3),
    "tree": Split("x", ("in", "out")),
    "mandelbrot": Split("y", ("out",)),
    "hash": Split("x", ("in", "out")),
    "histogram": Split("x", (), ("in", "counts"), sums=("counts",)),
}
#: the sizes that are measured
SIZES = {
    "saxpy": 1 << 21, "matmul": 1 << 9, "tree": 1 << 22, "mandelbrot": 1 << 10, "hash": 1 << 22, "histogram": 1 << 21,
}  # fmt: skip


class Shape(NamedTuple):
    """A launch as the host of a workload asks for it; arguments are names of values, or values."""

    kernel: str
    grid: tuple[int, ...]
    block: Any
    arguments: tuple[Any, ...]


class Part(NamedTuple):
    """Some CTAs of a launch: the first along the axis and how many, the parameters, and what these CTAs have of global memory,
    by name: an address and elements. `outputs` are those that come back."""

    workload: str
    shape: Shape
    first: int
    count: int
    parameters: tuple[Any, ...]
    memory: Mapping[str, tuple[int, np.ndarray]]
    outputs: Sequence[str]


class PartResult(NamedTuple):
    """What a part left in its outputs; its thread-instructions; the process; seconds of the clock and of the processor in the
    launch; and when all of it began and ended."""

    first: int
    outputs: dict[str, np.ndarray]
    steps: int
    process: int
    seconds: float
    processor: float
    began: float
    ended: float


# The launch in parts -----------------------------------------------------------------------------------------------------


def displaced(text: str, axis: str) -> str:
    """PTX whose CTAs along an axis are numbered from the module's variable `first_cta` on, of `all_ctas`. Raises ValueError for
    text that reads what would differ in a part of a grid."""
    number = "ld.const.u32 {0}, [first_cta]; {{ .reg .u32 near; mov.u32 near, %ctaid.{1}; add.u32 {0}, {0}, near; }}"
    text, numbers = re.subn(rf"mov\.u32\s+(%\w+), %ctaid\.{axis};", lambda m: number.format(m[1], axis), text)
    text = re.sub(rf"mov\.u32\s+(%\w+), %nctaid\.{axis};", r"ld.const.u32 \1, [all_ctas];", text)
    read = {special_origin(name).name for name in special_registers() if re.search(rf"{re.escape(name)}\b", text)}
    if read - KEPT:
        raise ValueError(f"in a part of a grid {', '.join(sorted(read - KEPT))} may have another value")
    if text.count(f"%ctaid.{axis}") != numbers or f"%nctaid.{axis}" in text:
        raise ValueError(f"%ctaid.{axis} and %nctaid.{axis} are read by mov.u32 alone")
    return text.replace(".address_size 64", ".address_size 64\n.const .u32 first_cta, all_ctas;", 1)


@functools.cache
def module_of(workload: str) -> ptxspec.Module:
    return ptxspec.load(displaced(WORKLOADS[workload].ptx.read_text(), SPLITS[workload].axis), f"{workload}.ptx")


def execute(part: Part) -> PartResult:
    """Execute some CTAs with nothing but their part of memory: an access to what another part has is out of bounds. Raises
    LaunchError for that, and whatever else a launch raises."""
    began = time.monotonic()
    module, shape, along = module_of(part.workload), part.shape, "xyz".index(SPLITS[part.workload].axis)
    grid = [part.count if i == along else extent for i, extent in enumerate(shape.grid)]
    module.write("first_cta", np.uint32(part.first))
    module.write("all_ctas", np.uint32(shape.grid[along]))
    memories, views = [], {}
    for name, (address, elements) in part.memory.items():
        memory = ptxspec.Memory(base=address)
        memories.append(memory)
        views[name] = memory.view(memory.put(elements, name=name), elements.dtype)
    started, used = time.monotonic(), time.process_time()
    steps = module.launch(shape.kernel, grid, shape.block, part.parameters, memory=memories, schedule="warps").steps
    seconds, used = time.monotonic() - started, time.process_time() - used
    outputs = {name: views[name] for name in part.outputs}
    return PartResult(part.first, outputs, steps, os.getpid(), seconds, used, began, time.monotonic())


class DividedLaunch:
    """A launch of a workload, whose arrays have addresses that are the same in every process."""

    def __init__(self, workload: str, case: Case):
        self.workload, self.case, self.split = workload, case, SPLITS[workload]
        self.shape = shape_of(case)
        self.ctas = self.shape.grid["xyz".index(self.split.axis)]
        space, arrays = ptxspec.Memory(), {n: v for n, v in case.values.items() if isinstance(v, np.ndarray)}
        self.addresses = {name: int(space.allocate(array.nbytes)) for name, array in arrays.items()}
        known = {**case.values, **self.addresses}
        self.parameters = tuple(known[a] if isinstance(a, str) else a for a in self.shape.arguments)

    def elements(self, name: str) -> np.ndarray:
        """An array of the case, before the launch, as one row."""
        row: np.ndarray = self.case.values[name].reshape(-1)
        return row

    def parts(self, count: int) -> list[Part]:
        """The CTAs in so many parts of one length. Raises ValueError where there are none."""
        each, rest = divmod(self.ctas, count)
        if rest or not each:
            raise ValueError(f"{self.ctas} CTAs are not {count} parts of one length")
        return [self._part(first, each) for first in range(0, self.ctas, each)]

    def _part(self, first: int, count: int) -> Part:
        memory = {name: (self.addresses[name], self.elements(name)) for name in self.split.whole}
        for name in self.split.pieces:
            elements = self.elements(name)
            begin, end = (number * len(elements) // self.ctas for number in (first, first + count))
            memory[name] = self.addresses[name] + begin * elements.itemsize, elements[begin:end]
        return Part(self.workload, self.shape, first, count, self.parameters, memory, self.case.outputs)

    def merged(self, results: Iterable[PartResult]) -> dict[str, np.ndarray]:
        """The outputs of the whole launch: pieces go to their places, and to a sum is added what a part has added. The order of
        the results does not matter, as CTAs write to different places and sums are modulo a power of two."""
        outputs = {name: self.elements(name).copy() for name in self.case.outputs}
        for result in results:
            for name, values in result.outputs.items():
                if name in self.split.sums:
                    outputs[name] += values - self.elements(name)
                else:
                    begin = result.first * len(outputs[name]) // self.ctas
                    outputs[name][begin : begin + len(values)] = values
        return outputs


def shape_of(case: Case) -> Shape:
    """The launch of a case that has one."""
    shapes: list[Shape] = []

    class Recorder:
        def launch(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> None:
            extents = (grid,) if isinstance(grid, int) else tuple(grid)
            shapes.append(Shape(kernel, extents + (1,) * (3 - len(extents)), block, arguments))

    case.host(Recorder())  # type: ignore[arg-type]  # it is asked for launches alone
    (shape,) = shapes
    return shape


def moved(parts: Iterable[Part]) -> tuple[int, int]:
    """Bytes of arrays that go to the workers, and that come back."""
    there = back = 0
    for part in parts:
        there += sum(elements.nbytes for _, elements in part.memory.values())
        back += sum(part.memory[name][1].nbytes for name in part.outputs)
    return there, back


# Measuring ---------------------------------------------------------------------------------------------------------------


def executed(item: tuple[int, Part]) -> tuple[int, PartResult]:
    """A part of a round, with the round's number."""
    return item[0], execute(item[1])


def in_rounds(parts: Sequence[Part], rounds: int, where: WorkerOptions) -> list[list[PartResult]]:
    """The results of all parts, so many times over. Raises what a part raises, and ChildProcessError for one that ends its
    process twice."""
    items = ((f"{number}: CTAs from {part.first}", (number, part)) for number in range(rounds) for part in parts)
    results: list[list[PartResult]] = [[] for _ in range(rounds)]
    for number, result in campaigns.values(executed, items, where):
        results[number].append(result)
    return results


def wall(results: Sequence[PartResult]) -> float:
    """Seconds from the beginning of the first part to the end of the last."""
    return max(r.ended for r in results) - min(r.began for r in results)


def measured(workload: str, size: int, wheres: Mapping[str, WorkerOptions], jobs: int, rounds: int) -> dict[str, Any]:
    """The figures of a workload: times in seconds, each the least of several rounds. Raises AssertionError if a bit of a result is
    not as in one process."""
    case = WORKLOADS[workload].make(size)
    module = ptxspec.load(WORKLOADS[workload].ptx.read_text(), f"{workload}.ptx")
    one, threads = (Device(module, case, schedule="warps", workers=workers) for workers in (1, jobs))
    row: dict[str, Any] = {"workload": workload, "size": size, "steps": one.run()}
    expected = {name: one[name].tobytes() for name in case.outputs}
    threads.run()
    row["one_processor"], row["one"] = suite.least(one.run, one.reset, rounds, 0)
    row["threads_processor"], row["threads"] = suite.least(threads.run, threads.reset, rounds, 0)
    launch = DividedLaunch(workload, case)
    parts = launch.parts(PARTS * jobs)
    row["parts"], (row["there"], row["back"]) = len(parts), moved(parts)
    for name, where in wheres.items():
        began = time.monotonic()
        first, *others = in_rounds(parts, rounds + 1, where)
        for results in (first, *others):
            merged = {output: values.tobytes() for output, values in launch.merged(results).items()}
            assert merged == expected, f"{workload}: {name} compute something else"
        row[name] = min(map(wall, others))
        row[f"{name}_first"] = max(r.ended for r in first) - began
        row[f"{name}_processor"] = min(sum(r.processor for r in results) for results in others)
    return row


def nothing(number: int) -> int:
    """What the cheapest item does."""
    return number


def per_item(where: WorkerOptions, count: int = 200) -> float:
    """Seconds of the clock that an item takes which does nothing."""
    outcomes = campaigns.values(nothing, ((str(number), number) for number in range(count)), where)
    next(outcomes)  # the processes are there
    began = time.perf_counter()
    for _ in outcomes:
        pass
    return (time.perf_counter() - began) / (count - 1)


@contextmanager
def workers(jobs: int) -> Iterator[dict[str, WorkerOptions]]:
    """Who executes parts, by name: so many processes of this machine and, where Dask is installed, so many workers of a cluster on
    this machine."""
    wheres = {"processes": WorkerOptions(jobs)}
    if importlib.util.find_spec("distributed") is None:
        print("Dask is not installed: clusters are not measured")
        yield wheres
        return
    from distributed import LocalCluster

    warnings.filterwarnings("ignore", message="Sending large graph")  # data travel with their items here
    with LocalCluster(
        n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    ) as cluster:
        yield wheres | {"dask": WorkerOptions(scheduler=cluster.scheduler_address)}


# Computing ---------------------------------------------------------------------------------------------------------------


def computed(row: Mapping[str, Any]) -> dict[str, Any]:
    """What STEPS thread-instructions of a workload need, by its row among the stored figures: seconds of a core, bytes that go to
    workers and come back, bytes that each worker has to have, and the cores that a link feeds."""
    workload = row["workload"]
    split, case = SPLITS[workload], WORKLOADS[workload].make(WORKLOADS[workload].table)
    (part,) = DividedLaunch(workload, case).parts(1)
    whole = sum(part.memory[name][1].nbytes for name in split.whole)
    more = (STEPS / row["steps"]) ** split.power
    seconds = STEPS / row["steps"] * row["engine"] / 1e3
    pieces = (sum(moved([part])) - whole - sum(part.memory[name][1].nbytes for name in split.sums)) * more
    return {
        "workload": workload, "rate": STEPS / seconds, "seconds": seconds, "pieces": pieces, "whole": whole * more,
        "cores": LINK / (pieces / seconds) if pieces else None,
    }  # fmt: skip


def computed_text(stored: Mapping[str, Any]) -> str:
    """The table of what is computed, as Markdown."""
    seconds = sorted(row["engine"] / row["steps"] * STEPS / 1e3 for row in stored["workloads"])
    mean = math.exp(sum(map(math.log, seconds)) / len(seconds))
    lines = [
        f"By the rates of {stored['date']}, with turns of warps. Of all {len(seconds)} workloads, the fastest would keep one core busy for "
        f"{seconds[0]:,.0f} s, the slowest for {seconds[-1]:,.0f} s; the geometric mean is {mean:,.0f} s.",
        "",
        "| Workload | Thread-instructions a second, billions | One core, s | In pieces, GB | For each worker, GB | Cores that a link feeds |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in (computed(row) for row in stored["workloads"] if row["workload"] in SPLITS):
        cores = f"{row['cores']:,.1f}" if row["pieces"] else ""
        lines.append(
            f"| `{row['workload']}` | {row['rate'] / 1e9:.1f} | {row['seconds']:,.0f} | {row['pieces'] / 1e9:,.1f} "
            f"| {row['whole'] / 1e9:,.1f} | {cores} |"
        )
    return "\n".join(lines)


#: columns of times: the name of the figure, and the head of the column
TIMES = {
    "one": "One process",
    "threads": "{jobs} host threads",
    "processes": "{jobs} processes",
    "dask": "{jobs} Dask workers",
}


def measured_text(figures: Mapping[str, Any]) -> str:
    """The table of what was measured, as Markdown."""
    rows = figures["workloads"]
    times = {name: head.format(jobs=figures["jobs"]) for name, head in TIMES.items() if name in rows[0]}
    heads = [f"{head}, ms" for head in times.values()]
    firsts = sorted(row["processes_first"] for row in rows)
    items = " and ".join(f"{1e3 * seconds:.1f} ms with {times[name]}" for name, seconds in figures["per_item"].items())
    low, high = figures["load"]
    lines = [
        f"Measured on {figures['date']} with ptxspec {figures['ptxspec']} on {figures['cores']} cores of a machine with the processor "
        f"{figures['processor']}: the least of {figures['rounds']} rounds. Meanwhile the load of the machine was {low:.1f} to {high:.1f}: "
        f"other work took a part of both cores. In brackets are milliseconds of the processor, of launches alone. The first round, with "
        f"the start of the processes, takes {firsts[0]:.1f} to {firsts[-1]:.1f} s. An item that does nothing takes {items}.",
        "",
        f"| Workload | Thread-instructions, millions | MB there | MB back | {' | '.join(heads)} |",
        f"| --- | ---: | ---: | ---: | {' | '.join(['---:'] * len(heads))} |",
    ]
    for row in rows:
        cells = [f"{row['steps'] / 1e6:,.0f}", *(f"{row[key] / 1e6:.1f}" for key in ("there", "back"))]
        cells += [f"{row[name] * 1e3:,.0f} ({row[f'{name}_processor'] * 1e3:,.0f})" for name in times]
        lines.append(f"| `{row['workload']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def texts(figures: Mapping[str, Any]) -> dict[str, str]:
    """Both tables of the page."""
    return {"measured": measured_text(figures), "computed": computed_text(json.loads(suite.STORED.read_text()))}


def page_with(page: str, texts: Mapping[str, str]) -> str:
    """The page with these tables. Raises ValueError if it has no place for one."""
    for name, text in texts.items():
        place = re.compile(rf"(<!-- {name}:[^\n]*-->\n).*?(<!-- end of {name} -->\n)", re.S)
        page, count = place.subn(lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page)
        if count != 1:
            raise ValueError(f"{PAGE} has no place for what is {name}")
    return page


def main(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(SPLITS), metavar="NAME", default=list(SPLITS))
    parser.add_argument("--jobs", type=int, default=2, help="processes, and host threads of a launch")
    parser.add_argument("--rounds", type=int, default=5, help="how often a launch is executed; the best counts")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument(
        "--docs", action="store_true", help="store the figures and the tables that the documentation shows"
    )
    given = parser.parse_args(arguments)
    if given.docs and len(given.only) < len(SPLITS):
        parser.error("--docs needs all workloads")
    figures: dict[str, Any] = {
        "ptxspec": ptxspec.__version__, "date": date.today().isoformat(), "processor": suite.processor(),
        "cores": os.cpu_count(), "jobs": given.jobs, "rounds": given.rounds, "workloads": [],
    }  # fmt: skip
    loads, began = [os.getloadavg()[0]], time.monotonic()
    with workers(given.jobs) as wheres:
        figures["per_item"] = {name: per_item(where) for name, where in wheres.items()}
        for name in given.only:
            figures["workloads"].append(measured(name, SIZES[name], wheres, given.jobs, given.rounds))
            loads.append(os.getloadavg()[0])
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    figures["load"] = [min(loads), max(loads)]
    print(measured_text(figures))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))
    if given.docs:
        STORED.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(page_with(PAGE.read_text(), texts(figures)))
    return figures


if __name__ == "__main__":
    import distribution  # processes import what they execute from a module of this name

    distribution.main(sys.argv[1:])
