"""Textures and surfaces on a CUDA device: arrays, samplers, and one kernel a case."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ptxspec_workshop.generate.image_cases import LAYERS, ImageCase, SurfaceCase, TextureCase
from ptxspec_workshop.generate.image_operands import rows_of, texels
from ptxspec_workshop.record.driver import Gpu

_FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 0x10, "f32": 0x20}
_ADDRESSES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_LAYERED, _SURFACE, _CUBE, _GATHER = 1, 2, 4, 8
_AS_INTEGER, _NORMALIZED = 1, 2
_HOST, _ARRAY = 1, 3
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
    _fields_ = (
        ("kind", ctypes.c_int),
        ("array", ctypes.c_uint64),
        ("rest", ctypes.c_uint8 * 120),
        ("flags", ctypes.c_uint),
    )


class _Lookup(ctypes.Structure):
    _fields_ = (("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint),
                ("anisotropy", ctypes.c_uint), ("mipmap_filter", ctypes.c_int), ("bias", ctypes.c_float),
                ("least", ctypes.c_float), ("greatest", ctypes.c_float), ("border", ctypes.c_float * 4),
                ("reserved", ctypes.c_int * 12))  # fmt: skip


class ImageGpu(Gpu):
    """The device, with images."""

    def answer(self, case: ImageCase, cubin: bytes) -> np.ndarray:
        """What the case's kernel leaves: the rows it writes, or the surface's bytes."""
        levels, rows = texels(case), rows_of(case)
        chain, arrays = self._arrays(case, levels)
        for array, level in zip(arrays, levels, strict=True):
            self._copy(array, level, case, to_device=True)
        image = self._texture(case, chain or arrays[0]) if isinstance(case, TextureCase) else self._surface(arrays[0])
        is_surface = isinstance(case, SurfaceCase)
        out = np.zeros((len(rows), 8 if is_surface else 4), np.uint32)
        into, out_of = self.upload(rows), self.upload(out)
        module = self.load(cubin)
        grid, block = (1, 1) if is_surface else (-(-len(rows) // 250), 250)
        self.launch(module, "k", (image, into, out_of, ctypes.c_uint32(len(rows))), (grid, 1, 1), block)
        if isinstance(case, SurfaceCase) and case.access != "suld.b":
            texels_left = np.zeros_like(levels[0])
            self._copy(arrays[0], texels_left, case, to_device=False)
            answer: np.ndarray = texels_left.reshape(-1).view(np.uint8)
        else:
            self.download(out_of, out)
            answer = out
        self.call("cuSurfObjectDestroy" if is_surface else "cuTexObjectDestroy", image)
        self.call(*(("cuMipmappedArrayDestroy", chain) if chain else ("cuArrayDestroy", arrays[0])))
        self.call("cuModuleUnload", module)
        self.free(into, out_of)
        return answer

    def _arrays(self, case: ImageCase, levels: list[np.ndarray]) -> tuple[Any, list[ctypes.c_void_p]]:
        """(the chain of levels, if there are several; the array of each level)"""
        size = list(reversed(levels[0].shape[:-1]))
        flags = _SURFACE if isinstance(case, SurfaceCase) else 0
        if case.geometry in LAYERS:
            layers = size.pop()
            size = [*size, *[0] * (2 - len(size)), layers]
            flags |= {"cube": _CUBE, "acube": _CUBE | _LAYERED}.get(case.geometry, _LAYERED)
        size += [0] * (3 - len(size))
        if isinstance(case, TextureCase) and case.component and case.geometry == "2d":
            flags |= _GATHER
        described = _ArrayDescriptor(*size, _FORMATS[case.channel], case.channels, flags)
        chain = ctypes.c_void_p()
        if len(levels) == 1:
            array = ctypes.c_void_p()
            self.call("cuArray3DCreate_v2", ctypes.byref(array), ctypes.byref(described))
            return None, [array]
        self.call("cuMipmappedArrayCreate", ctypes.byref(chain), ctypes.byref(described), len(levels))
        arrays = []
        for number in range(len(levels)):
            array = ctypes.c_void_p()
            self.call("cuMipmappedArrayGetLevel", ctypes.byref(array), chain, number)
            arrays.append(array)
        return chain, arrays

    def _copy(self, array: ctypes.c_void_p, level: np.ndarray, case: ImageCase, to_device: bool) -> None:
        shape = list(level.shape[:-1])
        if case.geometry == "a1d":
            shape.insert(1, 1)
        depth, height, width = [1] * (3 - len(shape)) + shape
        row = width * level.shape[-1] * level.itemsize
        host = _Side(kind=_HOST, host=level.ctypes.data, pitch=row, height=height)
        device = _Side(kind=_ARRAY, array=array.value)
        sides = (host, device) if to_device else (device, host)
        self.call("cuMemcpy3D_v2", ctypes.byref(_Copy(*sides, row, height, depth)))

    def _texture(self, case: TextureCase, array: ctypes.c_void_p) -> ctypes.c_uint64:
        resource = _Resource(kind=1 if case.mode else 0, array=array.value)
        lookup = _Lookup(
            address=(ctypes.c_int * 3)(*[_ADDRESSES[mode] for mode in case.address]),
            filter=int(case.filter == "linear"),
            flags=(0 if case.fractions else _AS_INTEGER) | (_NORMALIZED if case.normalized else 0),
            mipmap_filter=int(case.mipmap_filter == "linear"),
            bias=case.bias,
            least=case.bounds[0],
            greatest=case.bounds[1],
        )
        handle = ctypes.c_uint64()
        self.call("cuTexObjectCreate", ctypes.byref(handle), ctypes.byref(resource), ctypes.byref(lookup), None)
        return handle

    def _surface(self, array: ctypes.c_void_p) -> ctypes.c_uint64:
        handle = ctypes.c_uint64()
        resource = _Resource(kind=0, array=array.value)
        self.call("cuSurfObjectCreate", ctypes.byref(handle), ctypes.byref(resource))
        return handle
