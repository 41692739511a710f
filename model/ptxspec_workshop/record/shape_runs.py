"""Litmus tests run many times on a board: a GPU, or our machine in its place."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ptxspec.language.check import check
from ptxspec.machine.module import Module
from ptxspec.machine.owned import Memory
from ptxspec_workshop.generate.shape_kernels import ShapeKernel, module
from ptxspec_workshop.generate.shape_launches import PLACEMENTS, SPAN, Placement, ShapeLaunch, launch_of
from ptxspec_workshop.generate.shape_requirements import OTHER, SETTINGS
from ptxspec_workshop.record.driver import Gpu, GpuError

#: threads of a CTA that counts, and such CTAs
_COUNTING, _COUNTERS = 256, 512


class Board(Protocol):
    """Where kernels run. Addresses are numbers."""

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""

    def allocate_twice(self, size: int) -> tuple[int, int]:
        """Two addresses of the same bytes."""

    def clear(self, address: int, size: int) -> None:
        """Make bytes zero."""

    def write(self, address: int, numbers: np.ndarray) -> None:
        """Copy an array into memory."""

    def read(self, address: int, count: int) -> np.ndarray:
        """So many words of 32 bits."""

    def launch(self, name: str, settings: int, grid: int, block: int, cluster: int) -> None:
        """Run a kernel over a grid, and wait for its end."""


class EngineBoard:
    """Our machine. Two addresses of the same bytes are one. `how` are options of a launch, such as its schedule."""

    def __init__(self, kernels: Sequence[ShapeKernel], **how: Any):
        self.memory, self.module, self.how = Memory(), Module(check(module(kernels))), how

    def allocate(self, size: int) -> int:
        return int(self.memory.allocate(size))

    def allocate_twice(self, size: int) -> tuple[int, int]:
        address = self.allocate(size)
        return address, address

    def clear(self, address: int, size: int) -> None:
        self.memory.view(address, np.uint8, size)[:] = 0

    def write(self, address: int, numbers: np.ndarray) -> None:
        self.memory.view(address, numbers.dtype, len(numbers))[:] = numbers

    def read(self, address: int, count: int) -> np.ndarray:
        return self.memory.view(address, np.uint32, count).copy()

    def launch(self, name: str, settings: int, grid: int, block: int, cluster: int) -> None:
        self.module.launch(name, grid, block, [settings], cluster=cluster, memory=self.memory, **self.how)


class _MemoryPlace(ctypes.Structure):
    """The driver's CUmemLocation."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):
    """The driver's CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("place", _MemoryPlace),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):
    """The driver's CUmemAccessDesc."""

    _fields_ = [("place", _MemoryPlace), ("flags", ctypes.c_int)]


#: CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE
_PINNED, _ON_DEVICE, _READ_AND_WRITE = 1, 1, 3
#: of what the size of memory with two addresses is a multiple
_GRANULARITY = 2 << 20
#: the attribute of a device that is the number of its multiprocessors
_MULTIPROCESSORS = 16


class GpuBoard:
    """The first CUDA device, with a module's machine code."""

    def __init__(self, gpu: Gpu, code: bytes):
        self.gpu, self.image = gpu, gpu.load(code)

    def multiprocessors(self) -> int:
        """How many multiprocessors it has."""
        count, device = ctypes.c_int(), ctypes.c_int()
        self.gpu.call("cuDeviceGet", ctypes.byref(device), 0)
        self.gpu.call("cuDeviceGetAttribute", ctypes.byref(count), _MULTIPROCESSORS, device)
        return count.value

    def allocate(self, size: int) -> int:
        return self.gpu.allocate(size).value

    def allocate_twice(self, size: int) -> tuple[int, int]:
        size = -(-size // _GRANULARITY) * _GRANULARITY
        place, handle, bytes = _MemoryPlace(_ON_DEVICE, 0), ctypes.c_uint64(), ctypes.c_size_t(size)
        properties = _Properties(type=_PINNED, place=place)
        self.gpu.call("cuMemCreate", ctypes.byref(handle), bytes, ctypes.byref(properties), ctypes.c_uint64(0))
        addresses, access = [], _Access(place, _READ_AND_WRITE)
        for _ in range(2):
            address, nothing = ctypes.c_uint64(), ctypes.c_uint64(0)
            self.gpu.call("cuMemAddressReserve", ctypes.byref(address), bytes, ctypes.c_size_t(0), nothing, nothing)
            self.gpu.call("cuMemMap", address, bytes, ctypes.c_size_t(0), handle, nothing)
            self.gpu.call("cuMemSetAccess", address, bytes, ctypes.byref(access), ctypes.c_size_t(1))
            addresses.append(address.value)
        return addresses[0], addresses[1]

    def clear(self, address: int, size: int) -> None:
        self.gpu.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size))

    def write(self, address: int, numbers: np.ndarray) -> None:
        self.gpu.upload(numbers, ctypes.c_uint64(address))

    def read(self, address: int, count: int) -> np.ndarray:
        numbers = np.zeros(count, np.uint32)
        self.gpu.download(ctypes.c_uint64(address), numbers)
        return numbers

    def launch(self, name: str, settings: int, grid: int, block: int, cluster: int) -> None:
        shape = (cluster, 1, 1) if cluster > 1 else None
        self.gpu.launch(self.image, name, (ctypes.c_uint64(settings),), (grid, 1, 1), block, shape)


class ShapeRunner:
    """Runs tests on a board, in rooms that are large enough for all of them. Raises GpuError if a launch fails."""

    def __init__(
        self,
        board: Board,
        kernels: Sequence[ShapeKernel],
        multiprocessors: int,
        rounds: int,
        placements: Sequence[Placement] = PLACEMENTS,
    ):
        self.board, self.placements = board, placements
        self.launches = {k.name: [launch_of(k, p, multiprocessors, rounds) for p in placements] for k in kernels}
        every = [launch for launches in self.launches.values() for launch in launches]
        extent = max(launch.extent for launch in every)
        results = max(4 * launch.instances * len(k.asked) for k in kernels for launch in self.launches[k.name])
        self._rooms: dict[str, int] = {
            "counters": board.allocate(max(launch.counters for launch in every)),
            "results": board.allocate(results),
            "scratch": board.allocate(SPAN + 4),
            "table": board.allocate(4 * max(k.outcomes for k in kernels)),
            "other": board.allocate(4 * max(len(k.asked) for k in kernels)),
        }
        self._settings = board.allocate(8 * (len(SETTINGS) + max(len(k.addresses) for k in kernels) + 1))
        self._extent, room = extent, board.allocate(extent)
        self._plain = room, room

    @cached_property
    def _twice(self) -> tuple[int, int]:
        return self.board.allocate_twice(self._extent)

    def run(self, kernel: ShapeKernel, placement: int, seed: int) -> Counter[str]:
        """How often each outcome came about in one launch, by the values in the order of `asked`."""
        launch, rooms, board = self.launches[kernel.name][placement], self._rooms, self.board
        locations = self._twice if kernel.aliases else self._plain
        board.clear(locations[0], launch.extent)
        board.clear(rooms["counters"], launch.counters)
        board.clear(rooms["table"], 4 * kernel.outcomes)
        board.write(self._settings, self._numbers(kernel, launch, locations, seed))
        by_instance = min(_COUNTERS, -(-launch.instances // _COUNTING)), _COUNTING, 1
        if kernel.has_values:
            board.launch(f"{kernel.name}_begin", self._settings, *by_instance)
        board.launch(kernel.name, self._settings, launch.grid, launch.block, launch.cluster)
        board.launch(f"{kernel.name}_count", self._settings, *by_instance)
        counts = self._counts(kernel)
        if counts.total() != launch.instances:
            raise GpuError(f"{kernel.name}: {counts.total()} outcomes of {launch.instances} instances")
        return counts

    def _numbers(self, kernel: ShapeKernel, launch: ShapeLaunch, locations: tuple[int, int], seed: int) -> np.ndarray:
        """What a kernel finds at the address that it is given."""
        values: Mapping[str, int] = {**self._rooms, **launch.settings, "seed": seed & 0xFFFFFFFF}
        variables = kernel.test.variables
        addresses = [
            kernel.places[name] * launch.shared_apart
            if name in kernel.shared
            else locations[bool(variables[name].location)]
            for name in kernel.addresses
        ]
        return np.array([*(values[name] for name in SETTINGS), *addresses, launch.shared_stride], np.uint64)

    def _counts(self, kernel: ShapeKernel) -> Counter[str]:
        table = self.board.read(self._rooms["table"], kernel.outcomes)
        counts: Counter[str] = Counter()
        for index in np.flatnonzero(table):
            values: Sequence[Any] | None = kernel.outcome(int(index))
            if values is None:  # an example of those whose values no counter is for
                values = [OTHER, *self.board.read(self._rooms["other"], len(kernel.asked))]
            counts[" ".join(map(str, values))] += int(table[index])
        return counts
