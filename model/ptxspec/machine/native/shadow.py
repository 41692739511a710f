"""The functions of machine/racing/shadow.py as machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache

import numpy as np

from ptxspec.machine import hosts
from ptxspec.machine.arrays import address_of
from ptxspec.machine.native.compiling import Array, Environment, compiled
from ptxspec.machine.racing import shadow
from ptxspec.terms.native import LOOP_HINTS, CodeSource, Library

#: the fields of the context, eight bytes each: numbers, arrays, and how many bytes each of these has
_FIELDS = (*shadow.NUMBERS, *shadow.ARRAYS, *(f"{name}_bytes" for name in shadow.ARRAYS), "record")
_FIELD = {name: i for i, name in enumerate(_FIELDS)}
#: the functions that are called from outside, and how many numbers they take
_ENTERED = {"look": 2, "look_at": 1}


@cache
def _library(checked: bool) -> Library:
    arrays = {name: Array(8) for name in shadow.ARRAYS}
    needs = set(hosts.NEEDS)
    text = compiled(shadow.FUNCTIONS, Environment(_FIELD, arrays, {}, {}, checked), needs)
    for name, count in _ENTERED.items():
        given = "".join(f", i64 %a{i}" for i in range(count))
        called = f"  %r = call i64 @{name}(ptr %context{given})\n  ret i64 %r"
        text += f"\ndefine i64 @{name}_now(ptr %context{given}) {{\n{called}\n}}"
    return Library(CodeSource(f"{text}\n!9 = !{{}}\n{LOOP_HINTS}", needs, entered=[f"{name}_now" for name in _ENTERED]))


class NativeShadow:
    """The machine on which compiled code works."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        checked = hosts.is_checked()
        library = _library(checked)
        self.context = np.zeros(len(_FIELDS), np.int64)
        self._record = hosts.new_record()
        self.set("record", address_of(self._record))
        self._arrays: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            self.lay(name, array)
        self._pointer = address_of(self.context)
        kinds = {name: [ctypes.c_void_p] + [ctypes.c_int64] * count for name, count in _ENTERED.items()}
        self._functions = {
            name: ctypes.CFUNCTYPE(ctypes.c_int64, *kind)(library.address(f"{name}_now"))
            for name, kind in kinds.items()
        }

    def get(self, name: str) -> int:
        return int(self.context[_FIELD[name]])

    def set(self, name: str, value: int) -> None:
        self.context[_FIELD[name]] = value

    def lay(self, name: str, array: np.ndarray) -> None:
        """Let an array of 64-bit numbers be where the code finds it."""
        self._arrays[name] = array
        self.set(name, address_of(array))
        self.set(f"{name}_bytes", array.nbytes)

    def array(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def look(self, begin: int, count: int) -> int:
        """As shadow.look."""
        return self._called("look", begin, count)

    def look_at(self, number: int) -> int:
        """As shadow.look_at."""
        return self._called("look_at", number)

    def _called(self, name: str, *given: int) -> int:
        result = int(self._functions[name](self._pointer, *given))
        hosts.complain(self._record)
        return result
