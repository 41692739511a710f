"""The first CUDA device, through the driver's C interface. Nothing but the driver is needed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxspec_workshop.generate.cases import FILL, Extents, Launch


class GpuError(Exception):
    """A call of the CUDA driver failed."""


#: the attribute of a launch that says the extents of a cluster
_CLUSTER_DIMENSION = 4
#: the attributes of a device that are its compute capability
_MAJOR, _MINOR = 75, 76


class _Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute; its value is a union of 64 bytes."""

    _fields_ = [
        ("what", ctypes.c_int),
        ("before", ctypes.c_int),
        ("cluster", ctypes.c_uint * 3),
        ("rest", ctypes.c_uint * 13),
    ]

    def __init__(self, what: int, cluster: tuple[int, int, int]):
        super().__init__(what=what, cluster=cluster)


class _Launch(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class Gpu:
    """The first CUDA device, through the driver's C interface."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name, self.driver = name.value.decode(), f"{version.value // 1000}.{version.value % 1000 // 10}"
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.call("cuCtxSetCurrent", self._context)

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self.cuda, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise GpuError(f"{function}: {(text.value or b'').decode()} ({status})")

    def capability(self) -> tuple[int, int]:
        """The compute capability, such as (9, 0) for sm_90."""
        numbers, device = [ctypes.c_int(), ctypes.c_int()], ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        for value, attribute in zip(numbers, (_MAJOR, _MINOR), strict=True):
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        return numbers[0].value, numbers[1].value

    def allocate(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def load(self, cubin: bytes) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(handle), cubin)
        return handle

    def upload(self, array: np.ndarray, place: ctypes.c_uint64 | None = None) -> ctypes.c_uint64:
        """Copy an array into memory of the device, without a place into some that is allocated for it."""
        place = self.allocate(array.nbytes) if place is None else place
        self.call("cuMemcpyHtoD_v2", place, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return place

    def download(self, place: ctypes.c_uint64, array: np.ndarray) -> None:
        """Copy memory of the device into an array."""
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), place, ctypes.c_size_t(array.nbytes))

    def free(self, *places: ctypes.c_uint64) -> None:
        for place in places:
            self.call("cuMemFree_v2", place)

    def launch(
        self,
        image: ctypes.c_void_p,
        name: str,
        parameters: Sequence[Any],
        grid: Extents = (1, 1, 1),
        block: int = 1,
        cluster: Extents | None = None,
    ) -> None:
        """Run a kernel over a grid of CTAs of `block` threads, perhaps in clusters, and wait for its end."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), image, name.encode())
        pointers = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(p) for p in parameters])
        launch = _Launch(grid, (block, 1, 1))
        attribute = _Attribute(_CLUSTER_DIMENSION, cluster=cluster or (1, 1, 1))
        if cluster is not None:
            launch.attributes, launch.count = ctypes.pointer(attribute), 1
        self.call("cuLaunchKernelEx", ctypes.byref(launch), function, pointers, None)
        self.call("cuCtxSynchronize")

    def run(
        self, image: ctypes.c_void_p, name: str, launch: Launch, into: ctypes.c_uint64, out_of: ctypes.c_uint64
    ) -> np.ndarray:
        """The rows of `out` that one launch of a case leaves. `into` and `out_of` are room for its rows."""
        self.upload(launch.cells, into)
        answer = np.full_like(launch.cells, FILL)
        self.upload(answer, out_of)
        argument = launch.argument or bytes(64)
        third = (ctypes.c_uint8 * len(argument)).from_buffer_copy(argument)
        self.launch(image, name, (into, out_of, third), launch.grid, launch.threads, launch.cluster)
        self.download(out_of, answer)
        return answer
