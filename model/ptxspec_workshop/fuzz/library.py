"""A shared library with `ptx_run`, the interface that tinygrad binds, called in a process of its own: it may do anything."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

#: what stands before and behind each array, and must stay
GUARD = 256
_GUARDED = 0x5A


class LibraryLaunch(NamedTuple):
    """A launch of one CTA: the library's path, a module, the rows of 8-byte cells that a kernel is given, and those that it is
    to fill."""

    path: str
    text: str
    cells: np.ndarray
    out: np.ndarray


class WroteElsewhere(Exception):
    """The library changed bytes that no thread may write."""


def run(request: LibraryLaunch) -> np.ndarray:
    """The rows that a launch leaves. Raises OSError for a library that cannot be loaded, AttributeError for one without ptx_run,
    and WroteElsewhere."""
    places = [_guarded(request.cells), _guarded(request.out)]
    arguments = (ctypes.c_void_p * 2)(*[place.ctypes.data + GUARD for place in places])
    function(request.path)(request.text.encode(), 2, arguments, len(request.cells), 1, 1, 1, 1, 1, 0)
    given, out = (place[GUARD:-GUARD] for place in places)
    if any((place[:GUARD] != _GUARDED).any() or (place[-GUARD:] != _GUARDED).any() for place in places):
        raise WroteElsewhere("it wrote beside the arrays")
    if given.tobytes() != request.cells.tobytes():
        raise WroteElsewhere("it changed the array that the program only reads")
    return out.view(np.uint64).reshape(request.out.shape).copy()


@cache
def function(path: str) -> Any:
    """The function ptx_run of a library. Raises OSError and AttributeError."""
    ptx_run = ctypes.CDLL(path).ptx_run
    ptx_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), *[ctypes.c_int] * 7]
    return ptx_run


def check(path: str) -> None:
    """Raises what `function` raises."""
    function(path)


def _guarded(array: np.ndarray) -> np.ndarray:
    """The array's bytes between guards, at an address that is a multiple of 256."""
    size = array.nbytes + 2 * GUARD
    room = np.full(size + 256, _GUARDED, np.uint8)
    start = -room.ctypes.data % 256
    place = room[start : start + size]
    place[GUARD:-GUARD] = array.view(np.uint8).reshape(-1)
    return place
