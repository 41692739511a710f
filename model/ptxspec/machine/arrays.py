"""The host's arrays: where their bytes lie, and arrays of zeros that take no memory before they are touched."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np

#: an array of more bytes is replaced instead of cleared: memory that nobody touches costs nothing
LARGE = 1 << 20


def address_of(array: np.ndarray) -> int:
    """Where an array's bytes lie."""
    return int(array.__array_interface__["data"][0])


def untouched(size: int) -> np.ndarray:
    """So many bytes that are zero, and take no memory of the machine before they are touched. NumPy's own zeros may take two
    megabytes at the first touch (huge pages), which is much where each thread touches a little."""
    if size <= LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(size, np.uint8)
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(AttributeError, OSError):
        area.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(area, np.uint8)


def release(array: np.ndarray) -> None:
    """Give the memory of an array that was `untouched` back to the machine, if that is possible and worth it. Its bytes are zeros
    then, or what they were."""
    if isinstance(array.base, mmap.mmap):
        with contextlib.suppress(AttributeError, OSError):
            array.base.madvise(mmap.MADV_DONTNEED)


def emptied(array: np.ndarray) -> np.ndarray:
    """An array of zeros, as long as the one given; it may be that one."""
    if len(array) > LARGE:
        return untouched(len(array))
    array.fill(0)
    return array
