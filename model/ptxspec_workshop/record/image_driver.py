"""Textures and surfaces on a CUDA device: arrays and linear memory, samplers, and one kernel a case."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ptxspec_workshop.generate.image_cases import ImageCase, SurfaceCase, TextureCase, image_of, layers_of
from ptxspec_workshop.generate.image_operands import blank, leaves_texels, rows_of, shape_of, texels
from ptxspec_workshop.record.driver import Gpu, GpuError

_FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 0x10, "f32": 0x20}
_ADDRESSES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_LAYERED, _SURFACE, _CUBE, _GATHER = 1, 2, 4, 8
_AS_INTEGER, _NORMALIZED = 1, 2
_HOST, _ARRAY = 1, 3
#: the kinds of resources
_OF_ARRAY, _OF_CHAIN, _OF_BUFFER, _OF_ROWS = 0, 1, 2, 3
#: of how many bytes the distance of rows in linear memory is a multiple
_PITCH = 32
_WORD = ctypes.c_size_t


class _ArrayDescriptor(ctypes.Structure):
    _fields_ = (("width", _WORD), ("height", _WORD), ("depth", _WORD), ("format", ctypes.c_uint),
                ("channels", ctypes.c_uint), ("flags", ctypes.c_uint))  # fmt: skip


class _Side(ctypes.Structure):
    _fields_ = (("x", _WORD), ("y", _WORD), ("z", _WORD), ("lod", _WORD), ("kind", ctypes.c_uint),
                ("host", ctypes.c_void_p), ("device", ctypes.c_uint64), ("array", ctypes.c_void_p),
                ("reserved", ctypes.c_void_p), ("pitch", _WORD), ("height", _WORD))  # fmt: skip


class _Copy(ctypes.Structure):
    _fields_ = (("source", _Side), ("target", _Side), ("width", _WORD), ("height", _WORD), ("depth", _WORD))


class _Resource(ctypes.Structure):
    """The driver's CUDA_RESOURCE_DESC: after the kind a union of 128 bytes, which begins with what the image lies in. Linear
    memory has a format, and its sizes are its bytes, or the texels of a row, rows and bytes between rows."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("place", ctypes.c_uint64),
        ("format", ctypes.c_uint),
        ("channels", ctypes.c_uint),
        ("sizes", _WORD * 3),
        ("rest", ctypes.c_uint8 * 88),
        ("flags", ctypes.c_uint),
    )


class _Lookup(ctypes.Structure):
    _fields_ = (("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint),
                ("anisotropy", ctypes.c_uint), ("mipmap_filter", ctypes.c_int), ("bias", ctypes.c_float),
                ("least", ctypes.c_float), ("greatest", ctypes.c_float), ("border", ctypes.c_float * 4),
                ("reserved", ctypes.c_int * 12))  # fmt: skip


class _Held(NamedTuple):
    """What holds an image's texels: the resource, its first level as an array (None in linear memory), what gives all back."""

    resource: _Resource
    first: ctypes.c_void_p | None
    release: Callable[[], None]


class ImageGpu(Gpu):
    """The device, with images."""

    def is_lost(self) -> bool:
        """Whether a fault has ended all that this process can ask."""
        try:
            self.call("cuCtxSynchronize")
        except GpuError:
            return True
        return False

    def refusal(self, cubin: bytes) -> str | None:
        """The driver's error for a kernel that it does not load, or does not find in what it has loaded; else None."""
        module = ctypes.c_void_p()
        try:
            module = self.load(cubin)
            self.call("cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), module, b"k")
        except GpuError as error:
            return str(error)
        finally:
            if module:
                self.call("cuModuleUnload", module)
        return None

    def answer(self, case: ImageCase, cubin: bytes) -> np.ndarray:
        """What the case's kernel leaves: the rows it writes, or the surface's bytes."""
        levels, rows, pictured = texels(case), rows_of(case), image_of(case)
        held = self._buffer(pictured, levels[0]) if _is_linear(pictured) else self._arrays(pictured, levels)
        handle = ctypes.c_uint64()
        if isinstance(pictured, TextureCase):
            lookup = ctypes.byref(_lookup(pictured))
            self.call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(held.resource), lookup, None)
        else:
            self.call("cuSurfObjectCreate", ctypes.byref(handle), ctypes.byref(held.resource))
        out = blank(case, len(rows))
        into, out_of = self.upload(rows), self.upload(out)
        module = self.load(cubin)
        grid, block = shape_of(case, len(rows))
        self.launch(module, "k", (handle, into, out_of, ctypes.c_uint32(len(rows))), (grid, 1, 1), block)
        if leaves_texels(case):
            assert held.first is not None
            texels_left = np.zeros_like(levels[0])
            self._copy(held.first, texels_left, pictured, to_device=False)
            answer: np.ndarray = texels_left.reshape(-1).view(np.uint8)
        else:
            self.download(out_of, out)
            answer = out
        self.call("cuTexObjectDestroy" if isinstance(pictured, TextureCase) else "cuSurfObjectDestroy", handle)
        held.release()
        self.call("cuModuleUnload", module)
        self.free(into, out_of)
        return answer

    def _arrays(self, case: TextureCase | SurfaceCase, levels: list[np.ndarray]) -> _Held:
        """An array, or a chain of them if the case names a level."""
        size, layers = list(reversed(levels[0].shape[:-1])), layers_of(case)
        flags = _SURFACE if isinstance(case, SurfaceCase) else 0
        if layers is not None:
            size = size[:-1]
            size = [*size, *[0] * (2 - len(size)), layers]
            flags |= {"cube": _CUBE, "acube": _CUBE | _LAYERED}.get(case.geometry, _LAYERED)
        size += [0] * (3 - len(size))
        if isinstance(case, TextureCase) and case.component and case.geometry == "2d":
            flags |= _GATHER
        described = _ArrayDescriptor(*size, _FORMATS[case.channel], case.channels, flags)
        is_chain = isinstance(case, TextureCase) and bool(case.mode)
        whole, arrays = ctypes.c_void_p(), [ctypes.c_void_p() for _ in levels]
        if is_chain:
            self.call("cuMipmappedArrayCreate", ctypes.byref(whole), ctypes.byref(described), len(levels))
            for number, array in enumerate(arrays):
                self.call("cuMipmappedArrayGetLevel", ctypes.byref(array), whole, number)
        else:
            (whole,) = arrays
            self.call("cuArray3DCreate_v2", ctypes.byref(whole), ctypes.byref(described))
        for array, level in zip(arrays, levels, strict=True):
            self._copy(array, level, case, to_device=True)
        resource = _Resource(kind=_OF_CHAIN if is_chain else _OF_ARRAY, place=whole.value)
        destroy = "cuMipmappedArrayDestroy" if is_chain else "cuArrayDestroy"
        return _Held(resource, arrays[0], lambda: self.call(destroy, whole))

    def _buffer(self, case: TextureCase | SurfaceCase, level: np.ndarray) -> _Held:
        """Linear memory: a row of texels, or rows at a distance."""
        is_row = case.geometry == "1d"
        rows = level.reshape(1 if is_row else level.shape[0], -1)
        pitch = -(-rows.shape[1] * rows.itemsize // _PITCH) * _PITCH
        padded = np.zeros((len(rows), pitch), np.uint8)
        padded[:, : rows.shape[1] * rows.itemsize] = rows.view(np.uint8)
        memory = self.upload(padded)
        sizes = (rows.nbytes, 0, 0) if is_row else (level.shape[1], level.shape[0], pitch)
        resource = _Resource(
            kind=_OF_BUFFER if is_row else _OF_ROWS, place=memory.value, format=_FORMATS[case.channel], channels=case.channels,
            sizes=(_WORD * 3)(*sizes),
        )  # fmt: skip
        return _Held(resource, None, lambda: self.free(memory))

    def _copy(
        self, array: ctypes.c_void_p, level: np.ndarray, case: TextureCase | SurfaceCase, to_device: bool
    ) -> None:
        shape = list(level.shape[:-1])
        if case.geometry == "a1d":
            shape.insert(1, 1)
        depth, height, width = [1] * (3 - len(shape)) + shape
        row = width * level.shape[-1] * level.itemsize
        host = _Side(kind=_HOST, host=level.ctypes.data, pitch=row, height=height)
        device = _Side(kind=_ARRAY, array=array.value)
        sides = (host, device) if to_device else (device, host)
        self.call("cuMemcpy3D_v2", ctypes.byref(_Copy(*sides, row, height, depth)))


def _is_linear(case: TextureCase | SurfaceCase) -> bool:
    return isinstance(case, TextureCase) and case.linear


def _lookup(case: TextureCase) -> _Lookup:
    """How the driver is told to look a texture up."""
    return _Lookup(
        address=(ctypes.c_int * 3)(*[_ADDRESSES[mode] for mode in case.address]),
        filter=int(case.filter == "linear"),
        flags=(0 if case.fractions else _AS_INTEGER) | (_NORMALIZED if case.normalized else 0),
        mipmap_filter=int(case.mipmap_filter == "linear"),
        bias=case.bias,
        least=case.bounds[0],
        greatest=case.bounds[1],
    )
