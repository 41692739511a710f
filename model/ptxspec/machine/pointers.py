"""Pointers into memory that the caller owns, as arguments of launches."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, overload

if TYPE_CHECKING:
    from ptxspec.machine.owned import Memory


@dataclass(frozen=True)
class Pointer:
    """An address in a Memory of the caller's. Adding or subtracting an integer moves it by bytes; the difference of two pointers
    is in bytes. `int(p)` is the address that a kernel sees, and may be stored in memory.

    >>> memory = ptxspec.Memory()
    >>> p = memory.allocate(64)
    >>> p + 16 - p, int(p + 16) - int(p)
    (16, 16)
    """

    memory: Memory
    address: int

    def __add__(self, offset: SupportsIndex) -> Pointer:
        return Pointer(self.memory, self.address + operator.index(offset))

    __radd__ = __add__

    @overload
    def __sub__(self, other: Pointer) -> int: ...
    @overload
    def __sub__(self, other: int) -> Pointer: ...
    def __sub__(self, other: Pointer | int) -> Pointer | int:
        if isinstance(other, Pointer):
            return self.address - other.address
        return Pointer(self.memory, self.address - operator.index(other))

    def __index__(self) -> int:
        return self.address

    def __int__(self) -> int:
        return self.address

    def __repr__(self) -> str:
        return f"Pointer({self.address:#x})"
