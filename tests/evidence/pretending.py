"""A CUDA driver that is our machine: it has the functions of libcuda that the recorders call, and loads PTX for machine code."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np

from ptxspec.language.check import check
from ptxspec.machine.module import Module


def assemble(text: str, level: str) -> bytes:
    """In the place of the assembler: the text itself, with the level before it."""
    return f"// {level}\n{text}".encode()


class Driver:
    """`wrong` are (level, kernel) whose launches leave a flipped bit in the first cell, `silent` says that no kernel writes."""

    def __init__(self, wrong: tuple[tuple[str, str], ...] = (), silent: bool = False):
        self.wrong, self.silent = wrong, silent
        self.memory: dict[int, Any] = {}
        self.modules: list[tuple[str, Module] | None] = []
        self.functions: list[tuple[str, Module, str]] = []
        self.launches = 0

    def __getattr__(self, name: str) -> Any:
        assert name in ("cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxSynchronize"), (
            name
        )
        return lambda *_: 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = b"none"
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 13000
        return 0

    def cuMemAlloc_v2(self, pointer: Any, size: Any) -> int:
        pointer._obj.value = 1 + 0x1000 * len(self.memory)
        self.memory[pointer._obj.value] = ctypes.create_string_buffer(size.value)
        return 0

    def cuMemFree_v2(self, place: Any) -> int:
        self.memory[place.value] = None
        return 0

    def cuMemcpyHtoD_v2(self, place: Any, source: Any, size: Any) -> int:
        assert size.value <= len(self.memory[place.value])
        ctypes.memmove(self.memory[place.value], source, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target: Any, place: Any, size: Any) -> int:
        assert size.value <= len(self.memory[place.value])
        ctypes.memmove(target, self.memory[place.value], size.value)
        return 0

    def cuModuleLoadData(self, handle: Any, image: bytes) -> int:
        text = image.decode()
        self.modules.append((text, Module(check(text))))
        handle._obj.value = len(self.modules)
        return 0

    def cuModuleUnload(self, handle: Any) -> int:
        self.modules[handle.value - 1] = None
        return 0

    def cuModuleGetFunction(self, function: Any, handle: Any, name: bytes) -> int:
        loaded = self.modules[handle.value - 1]
        assert loaded is not None
        self.functions.append((*loaded, name.decode()))
        function._obj.value = len(self.functions)
        return 0

    def cuLaunchKernelEx(self, asked: Any, function: Any, pointers: Any, extra: Any) -> int:
        """Kernels with the parameters of all cases, of which programs have two."""
        shape, (text, loaded, name) = asked._obj, self.functions[function.value - 1]
        grid, block = tuple(shape.grid), tuple(shape.block)
        cluster = tuple(shape.attributes[0].cluster) if shape.count else None
        into, out_of = (ctypes.cast(p, ctypes.POINTER(ctypes.c_uint64))[0] for p in pointers[:2])
        head = text[text.index(f".entry {name}(") :].split("{")[0]
        size = re.search(r"argument\[(\d+)\]", head)
        row = 128 if size else 256
        rows = [
            np.frombuffer(self.memory[p], np.uint64)[: int(np.prod([*grid, *block])) * row // 8] for p in (into, out_of)
        ]
        out = rows[1].copy()
        third = [ctypes.string_at(pointers[2], int(size[1]))] if size else []
        if not self.silent:
            loaded.launch(name, grid, block, [rows[0].copy(), out, *third], cluster=cluster, engine="exact")
        if (text.split()[1], name) in self.wrong:
            out[0] ^= np.uint64(1)
        ctypes.memmove(self.memory[out_of], out.ctypes.data, out.nbytes)
        self.launches += 1
        return 0
