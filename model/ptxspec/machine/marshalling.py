"""Arguments of a launch: from what the host passes to bytes of parameters, and to blocks of global memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Kernel, Place
from ptxspec.machine.arrays import address_of
from ptxspec.machine.blocks import BlockKind, GlobalBlock
from ptxspec.machine.host_arrays import article, check_elements, host_array, host_bytes
from ptxspec.machine.memory import AddressSpace
from ptxspec.machine.pointers import Pointer
from ptxspec.machine.tensor_maps import TensorMap, array_of
from ptxspec.terms.types import Type

#: scalars of NumPy, each of one size and in the order of bytes that memory has
_SCALARS = (
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64,
)  # fmt: skip
#: a kernel works on the bytes of an array that begins at a multiple of so many, as the greatest access of compiled code needs it
ALIGNED = 16


class PassedArray(NamedTuple):
    """An array that is passed to a launch, what it is called in messages, and its block of global memory."""

    what: str
    array: np.ndarray
    block: GlobalBlock
    is_copy: bool
    """whether the block has a copy of the bytes of the array"""

    def finish(self) -> None:
        """Let the array have what the kernel wrote, when the launch has ended."""
        array, data = self.array, self.block.data
        if not self.block.writable:
            return
        if array.dtype.kind == "b":  # a truth value of NumPy is 0 or 1 and nothing else
            array[...] = (data != 0).reshape(array.shape)
        elif self.is_copy:
            array[...] = data.view(array.dtype).reshape(array.shape)


class Arguments(NamedTuple):
    """The bytes of all parameters, and the arrays that they point to."""

    parameters: bytes
    arrays: list[PassedArray]


def in_order(args: Sequence[Any]) -> Sequence[Any]:
    """The arguments, if they are a sequence with a value a parameter. Raises TypeError for what has another order or none."""
    if type(args) is tuple or type(args) is list:
        return args
    ordered = hasattr(args, "__len__") and hasattr(args, "__getitem__") and not hasattr(args, "keys")
    if not ordered or isinstance(args, np.ndarray | str | bytes | bytearray | memoryview):
        raise TypeError(f"args is a list or a tuple with a value for each parameter, not {article(args)}")
    return args


class FilledParameter(NamedTuple):
    """A parameter that an argument fills: what the argument is called in messages, the bytes of the parameter among all, and what
    is declared. `scalars` are the types of NumPy's scalars that are its very bytes; an integer or an address that it can hold is
    below `limit`, which is 0 if it takes none."""

    what: str
    where: slice
    place: Place
    declared: Type
    is_array: bool
    scalars: frozenset[type[np.generic]]
    limit: int

    @classmethod
    def of(cls, number: int, place: Place, declared: tuple[Type, bool]) -> FilledParameter:
        type, is_array = declared
        scalars, limit = [], 0
        if not place.opaque and not is_array:
            scalars = [t for t in _SCALARS if t().nbytes == place.size and np.dtype(t).kind in _kinds(type)]
            limit = 0 if type.is_float else 1 << type.width
        where = slice(place.offset, place.offset + place.size)
        return cls(f"argument {number} ({place.name})", where, place, type, is_array, frozenset(scalars), limit)

    def simply(self, value: Any) -> bytes | None:
        """The bytes of the parameter that a scalar of NumPy, a pointer or an integer fills; None for all that takes more."""
        kind, limit = value.__class__, self.limit
        data: bytes | None = None
        if kind in self.scalars:
            data = b"".join((value,))  # a fourth of the time of tobytes
        elif kind is Pointer and 0 <= value.address < limit:
            data = value.address.to_bytes(self.place.size, "little")
        elif kind is int and -limit <= 2 * value and value < limit:
            data = (value & limit - 1).to_bytes(self.place.size, "little")
        return data


class Parameters:
    """The parameters of an entry, which arguments fill."""

    def __init__(self, kernel: Kernel):
        self._kernel, self._size = kernel, kernel.sizes[contracts.state_spaces.OF_PARAMETERS]
        declared = zip(kernel.parameters, kernel.parameter_types, strict=True)
        self.places = [FilledParameter.of(i, place, types) for i, (place, types) in enumerate(declared)]

    def arguments(self, args: Sequence[Any], space: AddressSpace) -> Arguments:
        """What a launch gets. Raises TypeError or ValueError, which name the argument."""
        if len(args) != len(self.places):
            names = ", ".join(p.name for p in self._kernel.parameters)
            raise TypeError(f"{self._kernel.name} takes {len(self.places)} arguments ({names}), not {len(args)}")
        block = bytearray(self._size)
        arrays: PassedArrays | None = None
        for number, value in enumerate(args):
            parameter = self.places[number]
            data = parameter.simply(value)
            if data is None and not parameter.place.opaque:
                if arrays is None:
                    arrays = PassedArrays(space)
                data = _filling(parameter, value, arrays)
            if data is not None:
                block[parameter.where] = data
        return Arguments(bytes(block), [] if arrays is None else [*arrays.passed.values()])

    def initialized(self, args: Sequence[Any]) -> bytes:
        """Which bits of the parameters the arguments of a launch initialize: all but those between parameters, and the padding of
        structures of NumPy."""
        block = bytearray(self._size)
        for (_, where, place, *_), value in zip(self.places, args, strict=True):
            mask = np.full(place.size, 0xFF, np.uint8)
            if isinstance(value, np.void) and value.dtype.fields:
                mask = _fields(value.dtype)
            block[where] = mask.tobytes()
        return bytes(block)


class PassedArrays:
    """The arrays of one launch's arguments, each once."""

    def __init__(self, space: AddressSpace):
        self.space = space
        #: by the identity of the arguments
        self.passed: dict[int, PassedArray] = {}
        self._spans: list[HostSpan] = []

    def base_of(self, what: str, value: Any, array: np.ndarray) -> int:
        """Where an array lies that is passed, itself or by a tensor map."""
        if id(value) not in self.passed:
            self.passed[id(value)] = _passed(what, array, self._spans, self.space)
        return self.passed[id(value)].block.base


def _filling(parameter: FilledParameter, value: Any, arrays: PassedArrays) -> bytes:
    """The bytes of a parameter that any kind of argument fills. Raises TypeError or ValueError, which name the argument."""
    what, _, place, type, is_array, *_ = parameter
    if isinstance(value, TensorMap):
        _check_map(what, type, place.size, is_array)
        held = array_of(value, what)
        return value.encode(None if held is None else arrays.base_of(what, value.tensor, held))
    array = host_array(what, value)
    if array is not None and array.ndim == 0:
        value, array = array[()], None
    if array is None:
        return _scalar(what, value, type, place.size, is_array)
    if is_array and array.nbytes == place.size == contracts.tensor_maps.MAP_BYTES:
        return host_bytes(array).tobytes()  # a tensor map of the driver's
    _check_pointer(what, type, is_array, type.width in (arrays.space.bits, 64))
    return arrays.base_of(what, value, array).to_bytes(place.size, "little")


def _fields(dtype: np.dtype) -> np.ndarray:
    """The bits of a structure that belong to its fields."""
    mask = np.zeros(dtype.itemsize, np.uint8)
    for type, offset, *_ in (dtype.fields or {}).values():
        element, count = type.base, int(np.prod(type.shape, dtype=int))
        part = _fields(element) if element.fields else np.full(element.itemsize, 0xFF, np.uint8)
        mask[offset : offset + type.itemsize] |= np.tile(part, count)
    return mask


def _check_pointer(what: str, type: Type, is_array: bool, fits: bool) -> None:
    """Raise TypeError for a parameter that cannot hold an address."""
    if is_array or type.is_float or not fits:
        raise TypeError(f"{what}: the parameter is {'an array of bytes' if is_array else type}, no pointer")


def _check_map(what: str, type: Type, size: int, is_array: bool) -> None:
    """Raise TypeError for a parameter that cannot hold a tensor map."""
    most = contracts.tensor_maps.MAP_BYTES
    if not is_array or size != most:
        kind = f"an array of {size} bytes" if is_array else str(type)
        raise TypeError(
            f"{what}: the parameter is {kind}, and a tensor map has {most} bytes: .align 64 .b8 map[{most}]"
        )


class HostSpan(NamedTuple):
    """The host's memory that an array spans: the first address, and the one after the last."""

    first: int
    end: int
    name: str
    array: np.ndarray


def host_span(name: str, array: np.ndarray) -> HostSpan:
    """Where an array lies in the host's memory."""
    begin = address_of(array)
    if array.flags.c_contiguous:
        return HostSpan(begin, begin + array.nbytes, name, array)
    reach = [step * (count - 1) for step, count in zip(array.strides, array.shape, strict=True)] if array.size else []
    low = begin + sum(r for r in reach if r < 0)
    return HostSpan(low, begin + sum(r for r in reach if r > 0) + array.itemsize, name, array)


def _passed(what: str, array: np.ndarray, others: list[HostSpan], space: AddressSpace) -> PassedArray:
    """An array with a block of global memory: its own bytes, or a copy where these do not lie side by side. Raises TypeError or
    ValueError for one that cannot be written back."""
    span, flags = host_span(what, array), array.flags
    for other in others:
        if other.first < span.end and span.first < other.end and _overlap(other.array, array):
            raise ValueError(f"{what} shares memory with {other.name} but is another array")
    others.append(span)
    if not flags.c_contiguous and flags.writeable and _overlaps_itself(array):
        raise ValueError(f"{what}: elements of the array share memory; pass a copy, or a read-only view")
    data, is_copy = host_bytes(array), not flags.c_contiguous
    if span.first % ALIGNED and not is_copy:
        data, is_copy = data.copy(), True
    block = GlobalBlock(space.place(what, len(data)), what, data, bool(flags.writeable), BlockKind.ARRAY)
    return PassedArray(what, array, block, is_copy)


def bytes_of(what: str, value: Any) -> bytes:
    """The bytes of bytes, of a tensor map, or of an array or a NumPy scalar in the order of its elements. Raises TypeError for
    what has no size of its own, and for elements that are not as in memory."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, TensorMap):
        return value.encode()
    if isinstance(value, np.generic):
        check_elements(what, value.dtype)
        return value.tobytes()
    array = host_array(what, value)
    if array is None:
        raise TypeError(
            f"{what}: {article(value)} has no size in memory; pass bytes, a NumPy scalar or np.array(…, dtype)"
        )
    return array.tobytes()


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share a byte; True too where that would take long to find out."""
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]  # NumPy's type names no number
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements of an array share a byte."""
    if not array.size:
        return False
    steps = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    span, nested = array.itemsize, True
    for step, count in steps:
        if step == 0:
            return True
        nested &= step >= span
        span += step * (count - 1)
    if nested:  # each step goes beyond all that the shorter ones span, as in every view by slices or transposition
        return False
    starts = np.zeros(1, np.int64)
    for step, count in steps:
        starts = np.add.outer(starts, step * np.arange(count)).ravel()
    starts.sort()
    return bool((np.diff(starts) < array.itemsize).any())


def _scalar(what: str, value: Any, type: Type, size: int, is_array: bool) -> bytes:
    """The bytes of an argument passed by value."""
    if isinstance(value, Pointer):
        _check_pointer(what, type, is_array, 0 <= value.address < 1 << type.width)
        return value.address.to_bytes(size, "little")
    if isinstance(value, (bytes, bytearray)):
        if len(value) != size:
            raise TypeError(f"{what}: {len(value)} bytes for a parameter of {size}")
        return bytes(value)
    if is_array and isinstance(value, np.void) and value.nbytes == size:
        return value.tobytes()
    if is_array:
        raise TypeError(f"{what}: the parameter is an array of {size} bytes; pass bytes")
    if isinstance(value, np.generic):
        if value.nbytes != size:
            raise TypeError(f"{what}: {value.dtype} has {value.nbytes} bytes, the parameter {type} has {size}")
        if value.dtype.kind not in _kinds(type):
            raise TypeError(f"{what}: {value.dtype} for a parameter of type {type}")
        return value.tobytes()
    if isinstance(value, bool):
        raise TypeError(f"{what}: a bool has no size; pass a NumPy scalar")
    if isinstance(value, int) and not type.is_float:
        if not -(1 << (type.width - 1)) <= value < 1 << type.width:
            raise TypeError(f"{what}: {value} does not fit into {type}")
        return (value & (1 << type.width) - 1).to_bytes(size, "little")
    if isinstance(value, (int, float)) and type.is_float:
        try:
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        except (OverflowError, struct.error):
            raise TypeError(f"{what}: {value} is beyond the range of {type}") from None
    raise TypeError(f"{what}: {value.__class__.__name__} for a parameter of type {type}{_hint(value)}")


def _kinds(type: Type) -> str:
    """Of which kinds of NumPy a scalar is that fills a parameter."""
    return "f" if type.is_float else "iu" if type.is_integer else "iuf"


def _hint(value: Any) -> str:
    """What to pass instead of something that is no argument."""
    if isinstance(value, list | tuple):
        return "; results could not come back into it: pass an array, np.array(…, dtype)"
    if value is None:
        return "; the null pointer is 0"
    try:
        memoryview(value)
    except TypeError:
        return ""
    return "; pass an array on its memory: np.frombuffer(x, dtype)"
