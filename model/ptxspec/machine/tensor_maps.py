"""Tensor maps: what a kernel is given to copy boxes of a tensor."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ptxspec import contracts
from ptxspec.base.options import TensorFill, TensorMode, TensorPromotion, TensorSwizzle
from ptxspec.machine.host_arrays import article, host_array
from ptxspec.machine.pointers import Pointer

if TYPE_CHECKING:
    from ptxspec.contracts import tensor_limits

    WantedMap = tensor_limits.WantedMap

#: the letters of NumPy's kinds of numbers, and those of PTX
_KINDS = {"u": "u", "i": "s", "f": "f"}


class TensorMap:
    """A description of a tensor in global memory and of the boxes in which kernels copy it: an argument for a parameter of 128
    bytes (`.param .align 64 .b8 map[128]`), or bytes for memory.

    `tensor` is an array, a Pointer or an address. All tuples begin with dimension 0, whose elements lie side by side, as
    coordinates in PTX do: the last axis of an array. A pointer or an address needs `dims`, the extents, and `type`: one of u8,
    u16, u32, s32, u64, s64, f16, f32, f32.ftz, f64, bf16, tf32 and tf32.ftz. An array has both; another type of as many bytes may
    be given. `strides` are those of all dimensions but the first, in bytes. By default the elements lie one after the other, as
    those of an array do when it is passed.

    In mode "tile", `box` has the extents of a box. In mode "im2col", a box has `pixels` with `channels` each, between the
    corners `lower` and `upper` of the dimensions W, H and D. `element_strides` (all 1 by default) skip elements; `interleave` is
    the bytes of a slice, 16 or 32, or 0; `swizzle` is "none", "32B", "64B" or "128B"; `fill` is "zero" or "nan"; `l2` is "none",
    "64B", "128B" or "256B". Raises ValueError, which names the limit, for what CUDA's driver refuses, and TypeError for
    arguments of other types. Manual: 5.5.

    >>> tensor = ptxspec.TensorMap(np.zeros((32, 128), np.float16), box=(64, 8), swizzle="128B")
    >>> memory = ptxspec.Memory()
    >>> pointer = memory.put(np.zeros((32, 128), np.float32))
    >>> tensor = ptxspec.TensorMap(pointer, box=(32, 8), dims=(128, 32), type="f32")
    >>> ptxspec.TensorMap.decode(memory.read(memory.put(tensor, align=64), 128))
    TensorMap(0x100000000000, dims=(128, 32), strides=(512,), type='f32', box=(32, 8))
    """

    def __init__(
        self,
        tensor: Any,
        box: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: int = 0,
        swizzle: TensorSwizzle = "none",
        fill: TensorFill = "zero",
        l2: TensorPromotion = "none",
        type: str | None = None,
        mode: TensorMode = "tile",
        *,
        dims: Sequence[int] | None = None,
        lower: Sequence[int] | None = None,
        upper: Sequence[int] | None = None,
        channels: int | None = None,
        pixels: int | None = None,
    ):
        if mode not in get_args(TensorMode):
            raise ValueError(f"a mode is tile or im2col, not {mode!r}")
        if fill not in get_args(TensorFill):
            raise ValueError(f"a fill is zero or nan, not {fill!r}")
        of_pixels = {"lower": lower, "upper": upper, "channels": channels, "pixels": pixels}
        of_tiles = {"box": box}
        for name, value in of_pixels.items() if mode == "tile" else of_tiles.items():
            if value is not None:
                raise TypeError(f"a tensor map in mode {mode} has no {name}")
        for name, value in of_tiles.items() if mode == "tile" else of_pixels.items():
            if value is None:
                raise TypeError(f"a tensor map in mode {mode} needs {name}")
        extents, named = _tensor(tensor, dims, type)
        steps = (1,) * len(extents) if element_strides is None else element_strides
        wanted = contracts.tensor_limits.WantedMap(
            named,
            _address(tensor) or 0,
            extents,
            _dense(named, extents) if strides is None else _numbers("strides", strides),
            _numbers("element_strides", steps),
            _numbers("box", box or ()),
            _numbers("lower", lower or ()),
            _numbers("upper", upper or ()),
            operator.index(channels or 0),
            operator.index(pixels or 0),
            mode == "im2col",
            operator.index(interleave),
            swizzle,
            fill == "nan",
            l2,
        )
        self._describe(wanted, tensor)

    @property
    def box_bytes(self) -> int:
        """How many bytes a copy of a box moves, those outside of the tensor among them: what an mbarrier is to expect.

        >>> ptxspec.TensorMap(np.zeros((3, 64), np.float16), box=(64, 8), swizzle="128B").box_bytes
        1024
        """
        page = contracts.boxes
        kind = page.BoxKind(len(self._wanted.dims), "im2col" if self._wanted.is_im2col else "tile")
        return int(page.box_bytes(kind, self.description, page.BoxPlace(*[0] * len(page.BoxPlace.fields))))

    def encode(self, address: int | None = None) -> bytes:
        """The 128 bytes of the map, with the address of its tensor, or another one. Raises ValueError for a map of an array,
        which has an address in a launch only, and for an address that no tensor has.

        >>> ptxspec.TensorMap(4096, box=(16,), dims=(100,), type="u8").encode().hex()[:32]
        '00100000000000000000000000000000'
        """
        if address is None and not self._has_address:
            raise ValueError("an array has an address only in a launch: put it into a Memory, and describe the pointer")
        wanted = self._wanted if address is None else self._wanted._replace(address=operator.index(address))
        words = contracts.tensor_encoding.encoded(wanted.described())
        return b"".join(int(word).to_bytes(8, "little") for word in words)

    @classmethod
    def decode(cls, data: bytes) -> TensorMap:
        """The map that 128 bytes are, such as CUDA's driver makes. Raises ValueError for other bytes.

        >>> tensor = ptxspec.TensorMap(4096, box=(16,), dims=(100,), type="u8", l2="256B")
        >>> ptxspec.TensorMap.decode(tensor.encode())
        TensorMap(0x1000, dims=(100,), strides=(), type='u8', box=(16,), l2='256B')
        """
        page = contracts.tensor_encoding
        if len(data) != contracts.tensor_maps.MAP_BYTES:
            raise ValueError(f"a tensor map has {contracts.tensor_maps.MAP_BYTES} bytes, not {len(data)}")
        words = [page.integer(int.from_bytes(data[i : i + 8], "little")) for i in range(0, len(data), 8)]
        tensor = cls.__new__(cls)
        tensor._describe(contracts.tensor_limits.wanted(page.decoded(words)))
        return tensor

    def _describe(self, wanted: WantedMap, tensor: Any = None) -> None:
        """Be the map that is wanted, of a tensor that has no address yet, or of that which lies at its address."""
        self.tensor = wanted.address if tensor is None else tensor
        self._wanted, self.description = wanted, wanted.described()

    @property
    def _has_address(self) -> bool:
        return _address(self.tensor) is not None

    def __repr__(self) -> str:
        """How it is made, but for what is so by default."""
        wanted = self._wanted
        of = hex(wanted.address) if self._has_address else article(self.tensor)
        parts = [of, f"dims={wanted.dims}", f"strides={wanted.strides}", f"type={wanted.type!r}"]
        names = ("mode", *_OF_PIXELS) if wanted.is_im2col else ("box",)
        values = {name: getattr(wanted, name, "im2col") for name in names}
        usual = {"interleave": 0, "swizzle": "none", "fill": "zero", "l2": "none"}
        more = (wanted.slice, wanted.swizzle, "nan" if wanted.nan_fill else "zero", wanted.promotion)
        if any(step != 1 for step in wanted.steps):
            values["element_strides"] = wanted.steps
        values |= {name: value for (name, plain), value in zip(usual.items(), more, strict=True) if value != plain}
        return f"TensorMap({', '.join([*parts, *(f'{name}={value!r}' for name, value in values.items())])})"


#: what a map of pixels has instead of a box
_OF_PIXELS = ("lower", "upper", "channels", "pixels")


def array_of(map: TensorMap, what: str) -> np.ndarray | None:
    """The array that is the tensor of a map, if one is; `what` it is called in messages."""
    return None if _address(map.tensor) is not None else host_array(what, map.tensor)


def _numbers(what: str, values: Sequence[int]) -> tuple[int, ...]:
    """Numbers of dimensions. Raises TypeError."""
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise TypeError(f"{what} is a tuple of integers, not {values!r}") from None


def _address(tensor: Any) -> int | None:
    """The address of a tensor; None for an array."""
    if isinstance(tensor, Pointer):
        return tensor.address
    if isinstance(tensor, int | np.integer) and not isinstance(tensor, bool):
        return int(tensor)
    return None


def _tensor(tensor: Any, dims: Sequence[int] | None, type: str | None) -> tuple[tuple[int, ...], str]:
    """The extents of a tensor, and the type of its elements."""
    if _address(tensor) is not None:
        if dims is None or type is None:
            raise TypeError("the tensor at an address needs dims and type")
        return _numbers("dims", dims), type
    array = host_array("tensor", tensor)
    if array is None:
        raise TypeError(f"a tensor is an array, a Pointer or an address, not {article(tensor)}")
    if dims is not None:
        raise TypeError("an array has its dims: reshape it, or describe a Pointer")
    sizes = contracts.tensor_maps.ELEMENTS
    name = f"{_KINDS.get(array.dtype.kind)}{8 * array.dtype.itemsize}" if type is None else type
    if type is None and name not in sizes:
        raise TypeError(f"elements of {array.dtype} need a type: one of {', '.join(sizes)}")
    if sizes.get(name, array.itemsize) != array.itemsize:
        raise TypeError(f"elements of type {name} have {sizes[name]} bytes, those of the array {array.itemsize}")
    return tuple(reversed(array.shape)), name


def _dense(type: str, dims: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements that lie one after the other."""
    size = contracts.tensor_maps.ELEMENTS.get(type, 1)
    return tuple(accumulate(dims[:-1], operator.mul, initial=size))[1:]
