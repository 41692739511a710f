"""The heap of a module: pieces of global memory that threads ask for, and give back."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.machine.arrays import untouched
from ptxspec.machine.blocks import BlockKind, GlobalBlock
from ptxspec.terms.registries import SYSTEM_FUNCTIONS

if TYPE_CHECKING:
    from ptxspec.machine.batch import Extents
    from ptxspec.machine.program import KernelProgram


class SystemCall(NamedTuple):
    """A call of a function of the system: the kernel and the shape of the launch, the instruction's index, and the first CTA of
    the batch."""

    program: KernelProgram
    extents: Extents
    instruction: int
    first: int


class HeapPiece(NamedTuple):
    """A piece that is there: its bytes, and the call and the resident thread that asked for it."""

    size: int
    call: SystemCall
    thread: int

    @property
    def thread_of_grid(self) -> int:
        """The number of the thread in the grid, CTA by CTA."""
        return self.call.first * self.call.extents.threads + self.thread


class Heap(NamedTuple):
    """Which pieces there are, their bytes, and in the `shadow` which bits of these are initialized, as far as launches look at
    that. `base` is the first address. `live` has the pieces that are there by their addresses, and `gone` the sizes of those
    that were; what comes after `end` has not been handed out yet. `fresh` are the addresses of pieces that the launch has asked
    for."""

    base: int
    data: np.ndarray
    shadow: np.ndarray
    live: dict[int, HeapPiece]
    gone: dict[int, int]
    end: list[int]
    fresh: set[int]

    def copy(self) -> Heap:
        """The same pieces, and the very bytes, for another launch."""
        return Heap(self.base, self.data, self.shadow, dict(self.live), dict(self.gone), list(self.end), set())

    def block(self) -> GlobalBlock:
        return GlobalBlock(self.base, BlockKind.HEAP.value, self.data, True, BlockKind.HEAP)

    def initialize(self) -> None:
        """Let all bits of the pieces that are there be initialized."""
        for address, piece in self.live.items():
            self.shadow[address - self.base :][: piece.size] = 0xFF

    def allocate(self, size: int, call: SystemCall, thread: int) -> int:
        """The address of so many bytes more, for which a thread calls, 0 if there is no room."""
        page = contracts.system_functions
        at = self.end[0]
        if page.has_room(at, size, self.base + len(self.data)):
            self.end[0] = page.next_piece(at, size)
        else:
            at = next((a for a, known in self.gone.items() if page.fits_into(size, known)), 0)
            if at:
                del self.gone[at]
        if at:
            self.live[at] = HeapPiece(size, call, thread)
            self.fresh.add(at)
        return at

    def release(self, address: int) -> int | None:
        """Give a piece back; its size, or None if it is not there."""
        piece = self.live.pop(address, None)
        if piece is None:
            return None
        self.gone[address] = piece.size
        self.fresh.discard(address)
        return piece.size

    def was(self, address: int) -> int | None:
        """Where the piece began that was at an address and is gone, if one was."""
        return next((a for a, size in self.gone.items() if a <= address < a + max(size, 1)), None)


def needs_heap(declared: Collection[str]) -> bool:
    """Whether a module that declares these functions has a heap."""
    return any(function.uses_heap for name, function in SYSTEM_FUNCTIONS.items() if name in declared)


def new_heap(base: int) -> Heap:
    page = contracts.system_functions
    return Heap(base, untouched(page.HEAP), untouched(page.HEAP), {}, {}, [page.next_piece(base, 0)], set())
