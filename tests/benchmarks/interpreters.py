"""Numba's and Triton's kernels beside the interpreters that these bring: seconds of the processor, the same kernels and arrays.

    python tests/benchmarks/interpreters.py numba triton [--repeats 5] [--json PATH]

Numba's simulator runs a Python thread for each thread of a kernel; Triton's interpreter runs a kernel's Python on NumPy's arrays, block
by block. Each interpreter is a process of its own, since an environment variable chooses it before the library is imported. The kernels
are those of tests/interop, where their results are compared with NumPy's; here they have turns of warps, which launches of so few
threads have only if they ask for them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
#: what makes a library interpret its kernels
INTERPRETED = {"numba": "NUMBA_ENABLE_CUDASIM", "triton": "TRITON_INTERPRET"}
#: seconds of the clock after which a case is not run again, and of the processor that later launches of a case take in any case
ENOUGH, SAMPLED = 2.0, 0.02

#: the names of cases, each with what makes it ready: what that returns launches it
Runs = Iterator[tuple[str, Callable[[], Callable[[], object]]]]


def seconds(launch: Callable[[], object], repeats: int) -> dict[str, float]:
    """The first launch's seconds of the processor, and the least of later ones: of one, and of so many more as `repeats` says and
    the time allows, or of as many as take SAMPLED."""

    def taken() -> float:
        started = time.process_time()
        launch()
        return time.process_time() - started

    first, later = taken(), [taken()]
    began = time.monotonic()
    while (len(later) <= repeats and time.monotonic() - began < ENOUGH) or sum(later) < SAMPLED:
        later.append(taken())
    return {"first": first, "later": min(later)}


# here ------------------------------------------------------------------------------------------------------------------------


def numba_here() -> Runs:
    from numba_kernels import CASES

    from ptxspec.adapters.numba import compiled

    def launch_of(name: str) -> Callable[[], object]:
        case = CASES[name](np.random.default_rng(1))
        return partial(compiled(case.function, case.signature)[case.shape], *case.args, schedule="warps")

    for name in sorted(CASES):
        yield name, partial(launch_of, name)


def triton_here() -> Runs:
    from triton_cases import CASES
    from triton_compile import kernel_of

    def launch_of(name: str) -> Callable[[], object]:
        launch = CASES[name].launch(np.random.default_rng(1))
        profile = {"profile": "hopper"} if CASES[name].target == 90 else {}
        return partial(kernel_of(name)[launch.grid], *launch.args, schedule="warps", **profile)

    for name, case in sorted(CASES.items()):
        if not case.reported:
            yield name, partial(launch_of, name)


# interpreters ----------------------------------------------------------------------------------------------------------------


def numba_interpreted() -> Runs:
    from numba import cuda
    from numba_kernels import CASES

    def launch_of(name: str) -> Callable[[], object]:
        case = CASES[name](np.random.default_rng(1))
        return partial(cuda.jit(case.function)[case.shape], *case.args)

    for name in sorted(CASES):
        yield name, partial(launch_of, name)


def triton_interpreted() -> Runs:
    import triton_kernels as kernels
    from triton_cases import CASES, Case

    def launch_of(case: Case) -> Callable[[], object]:
        launch = case.launch(np.random.default_rng(1))
        grid = launch.grid if isinstance(launch.grid, tuple) else (launch.grid,)
        kinds = re.split(r",\s*(?![^\[]*\])", case.signature)  # not those of a descriptor's extents
        args = list(_tensors(kinds, launch.args))
        configured = getattr(kernels, case.function)[grid]
        return lambda: configured(*args, **case.options)

    for name, case in sorted(CASES.items()):
        if not case.reported:
            yield name, partial(launch_of, case)


class ElementType:
    """What Triton asks of a tensor's type: its name, as PyTorch has it, and the bytes of an element."""

    def __init__(self, name: str, itemsize: int):
        self.name, self.itemsize, self.is_floating_point = name, itemsize, "float" in name

    def __str__(self) -> str:
        return f"torch.{self.name}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class HostTensor:
    """An array of NumPy as Triton's interpreter takes one: what it needs of PyTorch's tensors, which lie in the host's memory too. It
    is its own storage."""

    def __init__(self, array: np.ndarray, name: str):
        self.array, self.dtype, self.shape = array, ElementType(name, array.itemsize), array.shape

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def untyped_storage(self) -> HostTensor:
        return self

    def cpu(self) -> HostTensor:
        return self

    def size(self) -> tuple[int, ...]:
        return self.shape

    def storage_offset(self) -> int:
        return 0

    def new_empty(self, *_: Any, **__: Any) -> HostTensor:
        return HostTensor(self.array, self.dtype.name)

    def set_(self, storage: HostTensor, *_: Any) -> None:
        self.array = storage.array

    def copy_(self, other: HostTensor) -> None:
        if other.array is not self.array:
            self.array[...] = other.array


#: names of PyTorch's for types of Triton's that NumPy has not got
_NAMES = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}


def _tensors(kinds: list[str], args: list[Any]) -> Iterator[Any]:
    """A kernel's arguments as Triton's interpreter takes them; the signature has the constants among them."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    given = iter(args)
    for kind in kinds:
        if not kind.startswith("*") and not kind[0].isalpha():
            yield int(kind)
            continue
        arg = next(given)
        if isinstance(arg, np.ndarray):
            element = re.split(r"[:\[]", kind.removeprefix("tensordesc<").lstrip("*"))[0]
            tensor = HostTensor(arg, _NAMES.get(element, arg.dtype.name))
            extents = [int(number) for number in re.findall(r"\d+", kind.partition("[")[2])]
            arg = TensorDescriptor.from_tensor(tensor, extents) if kind.startswith("tensordesc") else tensor
        yield arg.item() if isinstance(arg, np.generic) else arg


RUNS: dict[tuple[str, bool], Callable[[], Runs]] = {
    ("numba", False): numba_here,
    ("numba", True): numba_interpreted,
    ("triton", False): triton_here,
    ("triton", True): triton_interpreted,
}


def measured(library: str, is_interpreted: bool, repeats: int) -> dict[str, Any]:
    """For each case its seconds, or why it does not run. Here kernels have the code that they have when they have run for long."""
    if not is_interpreted:
        from ptxspec.machine.native import code

        code.PATIENCE = 0.0
    runs = RUNS[library, is_interpreted]()
    results: dict[str, Any] = {}
    for name, made_ready in runs:
        try:
            results[name] = seconds(made_ready(), repeats)
        except Exception as error:  # whatever an interpreter has not got, in its words
            results[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return results


def in_a_process(library: str, is_interpreted: bool, repeats: int) -> dict[str, Any]:
    """The same in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in INTERPRETED.values()}
    if is_interpreted:
        environment[INTERPRETED[library]] = "1"
    command = [sys.executable, __file__, library, "--repeats", str(repeats), "--measure"]
    command += ["--interpreted"] if is_interpreted else []
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


def compared(library: str, repeats: int) -> list[dict[str, Any]]:
    """A row for each case."""
    here, interpreted = (in_a_process(library, flag, repeats) for flag in (False, True))
    rows = []
    for name, ours in here.items():
        theirs = interpreted.get(name, "not among its cases")
        row = {"library": library, "case": name, "here": ours, "interpreter": theirs}
        if isinstance(ours, dict) and isinstance(theirs, dict):
            row["ratio"] = theirs["later"] / ours["later"]
            row["first"] = theirs["first"] / ours["first"]
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="seconds of the processor; × as fast as the interpreter, first launch and later ones")
    for column in ("library", "case", "interpreter", "first here", "later here", "× first", "× later"):
        table.add_column(column)
    for row in rows:
        ours, theirs = row["here"], row["interpreter"]
        cells = [f"{theirs['later']:.4g}" if isinstance(theirs, dict) else theirs]
        cells += [f"{ours['first']:.3g}", f"{ours['later']:.3g}"] if isinstance(ours, dict) else [ours, ""]
        cells += [f"{row['first']:.0f}", f"{row['ratio']:.0f}"] if "ratio" in row else ["", ""]
        table.add_row(row["library"], row["case"], *cells)
    console = Console(width=150)
    console.print(table)
    for library in dict.fromkeys(row["library"] for row in rows):
        ratios = sorted(row["ratio"] for row in rows if row["library"] == library and "ratio" in row)
        if ratios:
            console.print(
                f"{library}: {len(ratios)} kernels, {ratios[0]:.0f} to {ratios[-1]:.0f} times as fast, median"
                f" {statistics.median(ratios):.0f}, {sum(ratio >= 100 for ratio in ratios)} at least 100"
            )


def installed() -> list[str]:
    """The libraries that are here; of the others it is said that they are not."""
    here = [library for library in INTERPRETED if importlib.util.find_spec(library)]
    for library in INTERPRETED.keys() - here:
        print(f"{library} is not installed: its interpreter was not measured")
    return here


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", choices=INTERPRETED)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--interpreted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measured(options.libraries[0], options.interpreted, options.repeats)))
        return
    rows = [row for library in options.libraries for row in compared(library, options.repeats)]
    show(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
