"""Arrays of the host: what is one, and whether its bytes are what a kernel may find in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxspec.machine.pointers import Pointer

#: what has elements that registers can hold: truth values, integers, floating point, pairs of it, and bytes as they are
_KINDS = "biufcV"
#: what is no array, and is passed by value
_BY_VALUE = frozenset({int, float, bytes, Pointer})
#: the kind of a device of DLPack that is the host's memory
_HOST = 1
#: of what kind the characters of strings are
_WORDS = {"S": "uint8", "U": "uint32"}


def host_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array, in the order of its elements. Not a copy where they lie so."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def host_array(what: str, value: Any) -> np.ndarray | None:
    """`value` as an array on the very memory that it has, or None for what is passed by value.

    Arrays are NumPy's, and what has `__dlpack__`, `__array_interface__` or `__array__` and lies in the host's memory. Raises
    TypeError, with a hint, for arrays that are not taken: on a device, copied by their conversion, masked, or of elements
    that memory cannot hold as they are."""
    array: np.ndarray = value
    if not isinstance(value, np.ndarray):
        if type(value) in _BY_VALUE or isinstance(value, (np.generic, type)):
            return None
        if not any(hasattr(value, name) for name in ("__dlpack__", "__array_interface__", "__array__")):
            return None
        array = _converted(what, value)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{what}: memory has no masks; pass x.filled(…), or x.data with what lies behind the mask")
    if array.ndim == 0 and not array.dtype.hasobject:
        array = np.asarray(array[()])  # a number has no order of bytes
    check_elements(what, array.dtype)
    return array


def _converted(what: str, value: Any) -> np.ndarray:
    """An array on the memory of an object that can say where that is."""
    kind = article(value)
    if not _is_on_host(what, value):
        raise TypeError(f"{what}: {kind} on a device; copy it to the host's memory and pass a NumPy array")
    try:
        first, second = np.asarray(value), np.asarray(value)
        if _is_one(first, second):
            return first
        if hasattr(value, "__dlpack__"):
            first, second = np.from_dlpack(value), np.from_dlpack(value)
    except Exception as why:  # whatever the object's own code raises
        raise TypeError(f"{what}: {kind} that does not become a NumPy array: {why}") from why
    if not _is_one(first, second):
        raise TypeError(f"{what}: {kind}, which NumPy can only copy; pass np.asarray(x), and use that array afterwards")
    return first


def _is_on_host(what: str, value: Any) -> bool:
    """Whether an object says that it lies in the host's memory, or says nothing of that."""
    if not hasattr(value, "__dlpack_device__"):
        return True
    try:
        kind, _ = value.__dlpack_device__()
        return int(kind) == _HOST
    except Exception as why:  # whatever the object's own code raises
        raise TypeError(
            f"{what}: __dlpack_device__ of {article(value)} gives no kind and number of a device: {why}"
        ) from why


def _is_one(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two conversions of an object gave its own memory. A copy is another one every time. Numbers are passed by value."""
    if first.dtype.hasobject:
        return False
    return first.ndim == 0 or not first.size or np.may_share_memory(first, second)


def check_elements(what: str, dtype: np.dtype) -> None:
    """Raises TypeError for elements whose bytes are not what a kernel finds in memory."""
    if dtype.hasobject:
        raise TypeError(f"{what}: an array of Python objects has no bytes to pass")
    if dtype.subdtype is not None:
        return check_elements(what, dtype.subdtype[0])
    if dtype.fields is not None:
        for field in dtype.fields.values():
            check_elements(what, field[0])
        return None
    if not dtype.isnative:
        raise TypeError(f'{what}: elements of {dtype.str} have another byte order: x.astype(x.dtype.newbyteorder("="))')
    if dtype.kind in "mM":
        raise TypeError(f"{what}: elements of {dtype} are no numbers; pass x.view(np.int64)")
    if dtype.kind not in _KINDS:
        raise TypeError(
            f"{what}: elements of {dtype} are no numbers; pass x.view(np.{_WORDS.get(dtype.kind, 'uint8')})"
        )
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        raise TypeError(f"{what}: PTX has no numbers of {dtype}; pass x.astype(np.float64)")
    return None


def article(value: Any) -> str:
    name = value.__class__.__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
