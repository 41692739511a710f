"""Numba's CUDA kernels on the specification: compiled by Numba for a target, run here, without a GPU.

Numba passes an array as several parameters: two pointers that a kernel does not follow, the number of elements, the bytes of one,
the address of the data, and then extents and strides, a number for each dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ptxspec
from ptxspec.machine.launch_plan import Outcome
from ptxspec.machine.module import Module


@dataclass(frozen=True)
class ConfiguredNumbaKernel:
    """A kernel with the shape of its launches: call it with the kernel's arguments."""

    kernel: NumbaKernel
    grid: int | Sequence[int]
    block: int | Sequence[int]
    dynamic_shared: int = 0

    def __call__(self, *args: Any, **how: Any) -> Outcome:
        """Launch the kernel. `how` is what `Module.launch` takes beside its arguments, such as `engine` or `profile`. Raises what
        it does, and TypeError for an array whose elements do not follow one another."""
        flat = [part for arg in args for part in flattened(arg)]
        return self.kernel.module.launch(
            self.kernel.name, self.grid, self.block, flat, dynamic_shared=self.dynamic_shared, **how
        )


@dataclass(frozen=True)
class NumbaKernel:
    """A function that Numba compiled: `kernel[grid, block](…)` launches it, `kernel[grid, block, None, bytes]` with so many bytes
    of dynamic shared memory, as Numba has it."""

    name: str
    ptx: str
    module: Module

    def __getitem__(self, shape: tuple[Any, ...]) -> ConfiguredNumbaKernel:
        grid, block, *rest = shape
        if any(rest[:1]):
            raise TypeError("there are no streams here: a launch has ended when it returns")
        return ConfiguredNumbaKernel(self, grid, block, rest[1] if len(rest) > 1 else 0)


def compiled(
    function: Callable[..., Any], signature: Any, target: tuple[int, int] = (9, 0), **options: Any
) -> NumbaKernel:
    """A Python function compiled by Numba as a kernel for a target, and loaded. `signature` is Numba's, such as
    "void(float32[:], int64)"; `options` are those of `numba.cuda.compile_ptx`, such as `fastmath`. Raises PtxError if the
    specification does not take what Numba prints, and what Numba raises; ImportError without Numba."""
    from numba import cuda

    ptx, _ = cuda.compile_ptx(function, signature, cc=target, abi="numba", device=False, **options)
    module = ptxspec.load(ptx, f"{function.__name__}.ptx")
    (name,) = module.kernels
    return NumbaKernel(name, ptx, module)


def flattened(arg: Any) -> list[Any]:
    """What stands for an argument among a kernel's parameters: an array's seven numbers and more, a tuple's parts, a number
    itself. Raises TypeError for an array whose elements do not follow one another."""
    if isinstance(arg, np.ndarray):
        if not (arg.flags.c_contiguous or arg.flags.f_contiguous):
            raise TypeError(
                "an array that is passed has its elements one after the other: numpy.ascontiguousarray makes one"
            )
        in_order = (
            arg if arg.flags.c_contiguous else arg.T
        )  # the data as they lie in memory, the first axis fastest or last
        counts = map(np.int64, (*arg.shape, *arg.strides))
        return [np.uint64(0), np.uint64(0), np.int64(arg.size), np.int64(arg.itemsize), in_order, *counts]
    if isinstance(arg, tuple):
        return [part for element in arg for part in flattened(element)]
    return [arg]
