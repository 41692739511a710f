"""Arguments of a launch: from what the host passes to bytes of parameters, and to buffers in global memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxspec.language.checked import Kernel
from ptxspec.machine.memory import AddressSpace, Allocation
from ptxspec.terms.types import Type


def arguments(
    kernel: Kernel, args: Sequence[Any], space: AddressSpace
) -> tuple[list[tuple[Allocation, np.ndarray]], bytes, list[tuple[str, np.ndarray]]]:
    """(the buffers with their bytes, the bytes of all parameters, the arrays that the buffers came from). Raises TypeError or
    ValueError, which name the argument."""
    if len(args) != len(kernel.parameters):
        names = ", ".join(p.name for p in kernel.parameters)
        raise TypeError(f"{kernel.name} takes {len(kernel.parameters)} arguments ({names}), not {len(args)}")
    block = bytearray(kernel.sizes["param"])
    buffers: list[tuple[Allocation, np.ndarray]] = []
    arrays: list[tuple[str, np.ndarray]] = []
    for i, (place, (type, is_array), value) in enumerate(
        zip(kernel.parameters, kernel.parameter_types, args, strict=True)
    ):
        what = f"argument {i} ({place.name})"
        if place.opaque:
            continue
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, np.ndarray):
            if is_array or type.width != 64 or type.is_float:
                raise TypeError(f"{what}: the parameter is {'an array of bytes' if is_array else type}, no pointer")
            known = next((a for (_, array), (a, _) in zip(arrays, buffers, strict=True) if array is value), None)
            if known is None:
                for name, other in arrays:
                    if _overlap(other, value):
                        raise ValueError(f"{what} shares memory with {name} but is another array")
                if value.dtype.hasobject:
                    raise TypeError(f"{what}: an array of Python objects has no bytes to pass")
                if value.flags.writeable and _overlaps_itself(value):
                    raise ValueError(f"{what}: elements of the array share memory; pass a copy, or a read-only view")
                known = space.allocate(what, value.nbytes, bool(value.flags.writeable))
                data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
                buffers.append((known, data))
                arrays.append((what, value))
            data_bytes = known.base.to_bytes(8, "little")
        else:
            data_bytes = _scalar(what, value, type, place.size, is_array)
        block[place.offset : place.offset + place.size] = data_bytes
    return buffers, bytes(block), arrays


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share a byte; True too where that would take long to find out."""
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
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
    if isinstance(value, bytes | bytearray):
        if len(value) != size:
            raise TypeError(f"{what}: {len(value)} bytes for a parameter of {size}")
        return bytes(value)
    if is_array:
        raise TypeError(f"{what}: the parameter is an array of {size} bytes; pass bytes")
    if isinstance(value, np.generic):
        if value.nbytes != size:
            raise TypeError(f"{what}: {value.dtype} has {value.nbytes} bytes, the parameter {type} has {size}")
        allowed = "f" if type.is_float else "iu" if type.is_integer else "iuf"
        if value.dtype.kind not in allowed:
            raise TypeError(f"{what}: {value.dtype} for a parameter of type {type}")
        return value.tobytes()
    if isinstance(value, bool):
        raise TypeError(f"{what}: a bool has no size; pass a NumPy scalar")
    if isinstance(value, int) and not type.is_float:
        if not -(1 << (type.width - 1)) <= value < 1 << type.width:
            raise TypeError(f"{what}: {value} does not fit into {type}")
        return (value & (1 << type.width) - 1).to_bytes(size, "little")
    if isinstance(value, int | float) and type.is_float:
        try:
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        except (OverflowError, struct.error):
            raise TypeError(f"{what}: {value} is beyond the range of {type}") from None
    raise TypeError(f"{what}: {value.__class__.__name__} for a parameter of type {type}")
