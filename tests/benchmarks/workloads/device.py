"""What a workload is: its values, what the host does with the device, and which arrays must agree with the C version."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ptxspec

HERE = Path(__file__).resolve().parent
#: -ffp-contract=off: products and sums are fused where the source says so, as in the PTX
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fwrapv", "-shared", "-fPIC"]
#: bytes of a line of a processor's cache
ALIGNMENT = 64
#: of a scalar's type, what ctypes calls it
SCALARS = {
    "u4": ctypes.c_uint32,
    "i4": ctypes.c_int32,
    "f4": ctypes.c_float,
    "u8": ctypes.c_uint64,
    "f8": ctypes.c_double,
}


class Case(NamedTuple):
    """`values` are the arguments of the C function in its order: arrays, and NumPy scalars. `host` launches kernels."""

    values: dict[str, Any]
    host: Callable[[Device], None]
    outputs: Sequence[str]


class Workload(NamedTuple):
    """A workload. `make` has a case of a size. A result may differ from that of C by `tolerance`, relative to the largest result;
    None stands for bits that are equal."""

    name: str
    kind: str
    make: Callable[[int], Case]
    table: int
    small: int
    tolerance: float | None

    @property
    def ptx(self) -> Path:
        return HERE / f"{self.name}.ptx"


WORKLOADS: dict[str, Workload] = {}


def workload(kind: str, table: int, small: int, tolerance: float | None = None) -> Callable[..., Any]:
    """Declare a workload by the function that makes its cases: `table` is the size that is timed, `small` that of tests."""

    def declare(make: Callable[[int], Case]) -> Callable[[int], Case]:
        WORKLOADS[make.__name__] = Workload(make.__name__, kind, make, table, small, tolerance)
        return make

    return declare


class Device:
    """The module of a workload, and the arrays of a case in memory that stays from launch to launch."""

    def __init__(self, module: ptxspec.Module, case: Case, **options: Any):
        self.module, self.case, self.options = module, case, options
        self.memory, self.steps = ptxspec.Memory(), 0
        #: launches that have been prepared, by the kernel and the shape
        self.prepared: dict[tuple[Any, ...], ptxspec.PreparedLaunch] = {}
        self.arguments = {
            name: self.memory.put(value, name=name) if isinstance(value, np.ndarray) else value
            for name, value in case.values.items()
        }
        self.arrays = {
            name: self.memory.view(self.arguments[name], value.dtype, value.shape)
            for name, value in case.values.items()
            if isinstance(value, np.ndarray)
        }

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def reset(self) -> None:
        """Give each array its first contents again."""
        for name, array in self.arrays.items():
            array[...] = self.case.values[name]

    def launch(self, kernel: str, grid: Any, block: Any, *arguments: Any) -> None:
        """Launch a kernel. An argument is the name of a value, or a NumPy scalar."""
        given = [self.arguments[v] if isinstance(v, str) else v for v in arguments]
        self.steps += self.repeated(kernel, grid, block)(given).steps

    def repeated(self, kernel: str, grid: Any, block: Any) -> Callable[[Sequence[Any]], ptxspec.Outcome]:
        """What launches a kernel with a list of arguments, for whoever does that many times."""
        prepared = self.prepared.get((kernel, grid, block))
        if prepared is None:
            prepared = self.module.prepared(kernel, grid, block, **self.options)
            self.prepared[kernel, grid, block] = prepared
        return prepared.launch

    def run(self) -> int:
        """What the host does for one result; the number of thread-instructions."""
        self.steps = 0
        self.case.host(self)
        return self.steps


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of an array that begins at a multiple of ALIGNMENT bytes, as the engine's do: where malloc puts it changes how long C
    takes."""
    room = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    copy = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Twin:
    """The C version of a workload, compiled for this processor, and a copy of a case's values for it."""

    def __init__(self, name: str, case: Case, library: ctypes.CDLL):
        self.case = case
        self.values = {k: aligned(v) if isinstance(v, np.ndarray) else v for k, v in case.values.items()}
        self.function = library[name]
        self.function.restype = None
        self.given = [
            ctypes.c_void_p(v.ctypes.data) if isinstance(v, np.ndarray) else SCALARS[v.dtype.str[1:]](v.item())
            for v in self.values.values()
        ]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    def reset(self) -> None:
        for name, array in self.values.items():
            if isinstance(array, np.ndarray):
                array[...] = self.case.values[name]

    def run(self) -> None:
        self.function(*self.given)


def compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "gcc"))


def compile_c(name: str, folder: Path) -> ctypes.CDLL:
    """The C version as a library. Raises FileNotFoundError without a compiler."""
    command = compiler()
    if command is None:
        raise FileNotFoundError("no gcc")
    target = folder / f"{name}.so"
    subprocess.run([command, *FLAGS, str(HERE / f"{name}.c"), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def differences(workload: Workload, device: Device, twin: Twin) -> list[str]:
    """Which outputs of the engine and of C do not agree, each with the first index and both values."""
    disagreements = []
    for name in device.case.outputs:
        first, second = device[name], twin[name]
        if workload.tolerance is None:
            wrong = (
                (first.reshape(-1).view(np.uint8) != second.reshape(-1).view(np.uint8)).reshape(first.size, -1).any(1)
            )
        else:
            wide = first.astype(np.float64).reshape(-1), second.astype(np.float64).reshape(-1)
            wrong = ~(np.abs(wide[0] - wide[1]) <= workload.tolerance * np.nanmax(np.abs(wide[1]), initial=0))
        if wrong.any():
            i = int(wrong.argmax())
            pair = first.reshape(-1)[i], second.reshape(-1)[i]
            disagreements.append(
                f"{name}[{i}] is {pair[0]!r}, and in C {pair[1]!r}; {int(wrong.sum())} of {wrong.size} differ"
            )
    return disagreements
