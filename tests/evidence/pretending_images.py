"""A CUDA driver that is our machine, with images: what the recorder says of arrays, linear memory and samplers becomes a texture or a
surface of ours."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pretending

import ptxspec
from ptxspec_workshop.generate.image_cases import DTYPES
from ptxspec_workshop.record import image_driver

NAMES = {number: name for name, number in image_driver._FORMATS.items()}
MODES: dict[int, Any] = {number: mode for mode, number in image_driver._ADDRESSES.items()}


class ImageDriver(pretending.Driver):
    """`unknown` are words of kernels that are not loaded; `unlike` says what an -O0 kernel adds to each answer of its first row;
    after `faulting` launches the next one faults, and with it all that follows."""

    def __init__(self, unknown: tuple[str, ...] = (), unlike: int = 0, faulting: int | None = None):
        super().__init__()
        self.unknown, self.unlike, self.faulting = unknown, unlike, faulting
        self.levels: dict[int, list[Any]] = {}
        self.described: dict[int, Any] = {}
        self.images: dict[int, Any] = {}
        self.samplers: dict[int, ptxspec.Sampler] = {}

    def new_array(self, described: Any, levels: int = 1) -> int:
        handle = 1 + len(self.described)
        self.described[handle] = type(described).from_buffer_copy(described)
        self.levels[handle] = [None] * levels
        return handle

    def cuArray3DCreate_v2(self, array: Any, described: Any) -> int:
        array._obj.value = self.new_array(described._obj) << 8
        return 0

    def cuMipmappedArrayCreate(self, chain: Any, described: Any, levels: int) -> int:
        chain._obj.value = self.new_array(described._obj, levels) << 8
        return 0

    def cuMipmappedArrayGetLevel(self, array: Any, chain: Any, level: int) -> int:
        array._obj.value = chain.value + level
        return 0

    def cuMemcpy3D_v2(self, copy: Any) -> int:
        asked = copy._obj
        handle, level = divmod(asked.target.array, 256)
        assert asked.source.kind == 1 and asked.target.kind == 3
        described = self.described[handle]
        dtype = np.dtype(DTYPES[NAMES[described.format]])
        count = asked.width * asked.height * asked.depth // dtype.itemsize
        data = np.frombuffer(ctypes.string_at(asked.source.host, count * dtype.itemsize), dtype)
        shape = (asked.depth, asked.height, asked.width // dtype.itemsize // described.channels, described.channels)
        self.levels[handle][level] = data.reshape(shape)
        return 0

    def of_arrays(self, handle: int) -> tuple[list[np.ndarray], str]:
        """The levels, and the geometry that the flags and the sizes say."""
        described, levels = self.described[handle], self.levels[handle]
        layered, cube = described.flags & 1, described.flags & 4
        if cube:
            assert described.depth % 6 == 0 and described.width == described.height
        geometry = (
            ("acube" if layered else "cube") if cube else "123"[bool(described.height) + (described.depth > 0)] + "d"
        )
        if layered and not cube:
            geometry = "a2d" if described.height else "a1d"
        drop = {"1d": (0, 0), "2d": (0,), "a1d": (1,)}.get(geometry, ())
        shaped = []
        for level in levels:
            for axis in drop:
                assert level.shape[axis] == 1
                level = level.squeeze(axis)
            shaped.append(level)
        assert geometry in ("1d", "2d", "3d") or shaped[0].shape[0] == described.depth
        return shaped, geometry

    def texels_of(self, resource: Any) -> tuple[list[np.ndarray], str]:
        if resource.kind in (0, 1):
            assert len(self.levels[resource.place >> 8]) == 1 or resource.kind == 1
            return self.of_arrays(resource.place >> 8)
        dtype = np.dtype(DTYPES[NAMES[resource.format]])
        memory = np.frombuffer(self.memory[resource.place], np.uint8)
        if resource.kind == 2:
            return [memory[: resource.sizes[0]].view(dtype).reshape(-1, resource.channels)], "1d"
        width, height, pitch = resource.sizes
        rows = memory[: height * pitch].reshape(height, pitch)[:, : width * dtype.itemsize * resource.channels]
        return [np.ascontiguousarray(rows).view(dtype).reshape(height, width, resource.channels)], "2d"

    def cuTexObjectCreate(self, handle: Any, resource: Any, lookup: Any, view: None) -> int:
        levels, geometry = self.texels_of(resource._obj)
        asked = lookup._obj
        handle._obj.value = 1 + len(self.images)
        filters = ("nearest", "linear")
        modes: dict[str, Any] = {
            "address": [MODES[n] for n in asked.address], "filter": filters[asked.filter], "bias": asked.bias,
            "mipmap_filter": filters[asked.mipmap_filter], "levels": (asked.least, asked.greatest),
        }  # fmt: skip
        self.samplers[handle._obj.value] = ptxspec.Sampler(**modes)
        self.images[handle._obj.value] = ptxspec.Texture(
            levels, geometry, normalized_coords=bool(asked.flags & 2), **modes,  # type: ignore[arg-type]
            read="element" if asked.flags & 1 else "normalized_float", layout="array" if resource._obj.kind < 2 else "linear",
        )  # fmt: skip
        return 0

    def cuSurfObjectCreate(self, handle: Any, resource: Any) -> int:
        ((texels,), geometry) = self.texels_of(resource._obj)
        assert self.described[resource._obj.place >> 8].flags & 2
        handle._obj.value = 1 + len(self.images)
        self.images[handle._obj.value] = ptxspec.Surface(texels, geometry)  # type: ignore[arg-type]
        return 0

    def destroyed(self, images: dict[int, Any], handle: Any) -> int:
        assert images.pop(handle.value) is not None
        images[handle.value] = None  # its number is not given again
        return 0

    def cuTexObjectDestroy(self, handle: Any) -> int:
        return self.destroyed(self.images, handle)

    cuSurfObjectDestroy = cuTexObjectDestroy

    def cuArrayDestroy(self, array: Any) -> int:
        return self.destroyed(self.described, ctypes.c_uint64(array.value >> 8))

    cuMipmappedArrayDestroy = cuArrayDestroy

    def cuGetErrorString(self, status: int, text: Any) -> int:
        text._obj.value = b"it is not known"
        return 0

    def cuModuleLoadData(self, handle: Any, image: bytes) -> int:
        if any(word in image.decode() for word in self.unknown):
            return 300
        return super().cuModuleLoadData(handle, image)

    def cuCtxSynchronize(self) -> int:
        return 700 if self.launches == self.faulting else 0

    def cuLaunchKernelEx(self, asked: Any, function: Any, pointers: Any, extra: Any) -> int:
        text, loaded, name = self.functions[function.value - 1]
        image, into, out_of = (ctypes.cast(p, ctypes.POINTER(ctypes.c_uint64))[0] for p in pointers[:3])
        count = ctypes.cast(pointers[3], ctypes.POINTER(ctypes.c_uint32))[0]
        rows = np.frombuffer(self.memory[into], np.uint32).copy()
        out = np.frombuffer(self.memory[out_of], np.uint32).copy()
        shape, given = asked._obj, self.samplers if "texmode_independent" in text else self.images
        arguments = [given[image], rows, out, np.uint32(count)]
        loaded.launch(name, tuple(shape.grid), tuple(shape.block), arguments, engine="exact")
        if text.startswith("// -O0"):
            out[0] += self.unlike
        ctypes.memmove(self.memory[out_of], out.ctypes.data, out.nbytes)
        self.launches += 1
        return 0
