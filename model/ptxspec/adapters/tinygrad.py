"""tinygrad on the specification: its CUDA device runs the kernels that it renders as PTX here, without a GPU.

`install` puts the device in the place of tinygrad's own, as `python -m ptxspec.adapters.tinygrad program.py` does for a program.
Whoever has a driver of their own, as tinygrad's repository has for its tests, binds `ptx_run` instead: the interface of
gpuocelot, with addresses of this process among the arguments.
"""

from __future__ import annotations

import ctypes
import runpy
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

import ptxspec
from ptxspec.language.checked import Kernel
from ptxspec.machine.module import Module

#: what `ptx_run` reaches: the caller's arrays, at their own addresses, once they are registered here
MEMORY = ptxspec.Memory()
#: modules that are kept loaded
_LOADED = 1024
_DEVICE = "tinygrad.runtime.ops_cuda"


@lru_cache(_LOADED)
def _loaded(source: str) -> Module:
    return ptxspec.load(source, "ptx_run.ptx")


def ptx_run(
    source: bytes | str | ctypes.c_char_p,
    n_args: int,
    args: Sequence[Any] | ctypes.Array[Any],
    block_x: int,
    block_y: int,
    block_z: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    shared: int = 0,
    *,
    memory: ptxspec.Memory = MEMORY,
    **how: Any,
) -> None:
    """Launch the first entry of a module. Each of the arguments is the value of a parameter itself, an address or a number, of
    which as many low bytes are taken as the parameter has; None is 0, as ctypes has it. Addresses are those of arrays that
    are registered with `memory`: nothing else in this process is reached. `how` is what `Module.launch` takes beside. Raises
    what that raises, and TypeError unless there are as many arguments as parameters."""
    module = _loaded(_text(source))
    if not module.kernels:
        raise ValueError("the module has no entry")
    kernel = module.checked.kernels[module.kernels[0]]
    words = _parameters(kernel, _taken(args, n_args))
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    module.launch(kernel.name, grid, block, words, dynamic_shared=shared, memory=memory, **how)


def _text(source: bytes | str | ctypes.c_char_p) -> str:
    if isinstance(source, ctypes.c_char_p):
        source = source.value or b""
    return source if isinstance(source, str) else bytes(source).rstrip(b"\0").decode()


def _taken(args: Sequence[Any] | ctypes.Array[Any], count: int) -> list[Any]:
    """The first so many arguments. Raises TypeError if there are fewer."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise TypeError(f"n_args is a number of arguments, not {count!r}")
    arguments = []
    for i in range(count):
        try:
            arguments.append(args[i])
        except IndexError:
            raise TypeError(f"n_args is {count}, and args has {i}") from None
    return arguments


def _parameters(kernel: Kernel, args: Sequence[Any]) -> list[bytes]:
    """The bytes of each parameter."""
    if len(args) != len(kernel.parameters):
        raise TypeError(f"{kernel.name} takes {len(kernel.parameters)} arguments, not {len(args)}")
    values = [arg.value if isinstance(arg, ctypes.c_void_p) else arg for arg in args]
    for i, value in enumerate(values):
        if value is not None and not hasattr(value, "__index__"):
            raise TypeError(f"{kernel.name}: argument {i} is an address or a number, not {type(value).__name__}")
    sizes = [place.size for place in kernel.parameters]
    return [(int(v or 0) & (1 << 8 * n) - 1).to_bytes(n, "little") for v, n in zip(values, sizes, strict=True)]


class TinygradLibrary:
    """What stands for the library that a driver binds: `ptx_run`, over the buffers in the driver's own table of what it has
    allocated, an address of this process for each. So every allocation has its bounds, and one that is gone is not reached.
    `how` is what `Module.launch` takes beside a launch's shape and arguments, such as `profile`."""

    def __init__(self, table: Mapping[int, Any], **how: Any):
        self.table, self.how = table, how
        self.memory = ptxspec.Memory()
        self._known: dict[int, Any] = {}

    def ptx_run(self, source: Any, n_args: int, args: Any, *shape: int) -> None:
        """The function `ptx_run` for what is in the table now. Raises ValueError for a buffer that is not at its address."""
        self._follow()
        ptx_run(source, n_args, args, *shape, memory=self.memory, **self.how)

    def _follow(self) -> None:
        """Let the memory have what the table has."""
        for address in [a for a, buffer in self._known.items() if self.table.get(a) is not buffer]:
            del self._known[address]
            self.memory.free(address)
        for address in self.table.keys() - self._known.keys():
            array = np.frombuffer(self.table[address], np.uint8)
            if array.ctypes.data != address:
                raise ValueError(f"the buffer that is said to be at {address:#x} is at {array.ctypes.data:#x}")
            self.memory.register(array, f"allocation of {len(array)} bytes")
            self._known[address] = self.table[address]


def install(arch: str = "sm_80", **how: Any) -> None:
    """Let tinygrad's CUDA device be the specification from now on, for kernels that tinygrad renders for this architecture.
    It becomes the default, if tinygrad was told no other. `how` is what `Module.launch` takes beside a launch's shape and
    arguments, such as `profile`, `engine` or `workers`. Raises ImportError without tinygrad, and RuntimeError once its CUDA
    device is in use, unless it was installed so."""
    from tinygrad.device import Device
    from tinygrad.helpers import DEV

    if getattr(sys.modules.get(_DEVICE), "INSTALLED", None) == (arch, how):
        return
    if any(name.split(":")[0] == "CUDA" for name in Device._opened_devices):
        raise RuntimeError(
            "tinygrad's CUDA device is in use already: install before the first tensor is realized on it"
        )
    module = ModuleType(_DEVICE)
    vars(module).update(CUDADevice=_device(arch, how), INSTALLED=(arch, how))
    sys.modules[_DEVICE] = module
    if not DEV.device:
        DEV.value = "CUDA"


def _device(arch: str, how: Mapping[str, Any]) -> Callable[[str], Any]:
    """The class of a device of tinygrad's that allocates in a Memory and launches on the specification."""
    from tinygrad.device import Allocator, Compiled
    from tinygrad.renderer.ptx import PTXRenderer

    class Pieces(Allocator):  # type: ignore[misc]
        """Buffers are pointers into the device's memory. What is freed is gone at once: whoever still uses it is found."""

        def _alloc(self, size: int, options: Any) -> ptxspec.Pointer:
            pointer: ptxspec.Pointer = self.dev.memory.allocate(size)
            return pointer

        def _free(self, opaque: ptxspec.Pointer, options: Any) -> None:
            opaque.memory.free(opaque)

        def _offset(self, buf: ptxspec.Pointer, size: int, offset: int) -> ptxspec.Pointer:
            return buf + offset

        def _copyin(self, dest: ptxspec.Pointer, src: memoryview) -> None:
            dest.memory.view(dest, np.uint8, src.nbytes)[:] = np.frombuffer(src, np.uint8)

        def _copyout(self, dest: memoryview, src: ptxspec.Pointer) -> None:
            np.frombuffer(dest, np.uint8)[:] = src.memory.view(src, np.uint8, dest.nbytes)

        def _transfer(self, dest: ptxspec.Pointer, src: ptxspec.Pointer, sz: int, src_dev: Any, dest_dev: Any) -> None:
            dest.memory.view(dest, np.uint8, sz)[:] = src.memory.view(src, np.uint8, sz)

    class TinygradProgram:
        """A kernel that is loaded."""

        def __init__(self, dev: Any, obj: Any):
            self.name, text = obj.name, obj.lib.decode()
            self.module = ptxspec.load(text, f"{obj.name}.ptx")

        def __call__(
            self, *buffers: Any, global_size: Any = 1, local_size: Any = 1, vals: Any = (), **rest: Any
        ) -> float:
            began = time.perf_counter()
            self.module.launch(self.name, global_size, local_size, [*buffers, *vals], **how)
            return time.perf_counter() - began

    class CUDADevice(Compiled):  # type: ignore[misc]
        """tinygrad finds the device by the name of its class."""

        def __init__(self, device: str):
            # devices reach one another's memory, so that their addresses are apart
            number = int(device.partition(":")[2] or 0)
            self.memory = ptxspec.Memory(base=(1 + number) << 44)
            super().__init__(device, Pieces(self), [PTXRenderer], TinygradProgram, arch=arch)

    return CUDADevice


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python -m ptxspec.adapters.tinygrad program.py [its arguments]")
    install()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
