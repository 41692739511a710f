"""Memory that threads have asked the heap for, and that nobody can give back any more: see spec/functions/system.md."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked
from ptxspec.machine.blocks import BlockKind
from ptxspec.machine.errors import in_bytes, page_of
from ptxspec.machine.events import LEAK
from ptxspec.machine.findings import FindingCollector, LaunchFinding
from ptxspec.machine.heap import Heap, HeapPiece
from ptxspec.machine.imaging import ImageUnit
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.program import where_is

#: bytes that are looked at together
_TOGETHER = 1 << 20
#: of global memory, what is no memory of the program
_OTHERS = (BlockKind.HEAP, BlockKind.SHADOW, BlockKind.INITIALIZED)


def report_leaks(checked: Checked, memory: LaunchMemory, unit: ImageUnit, collector: FindingCollector) -> None:
    """Report the pieces that a launch, which ends, has asked for and to which nothing points that outlives it."""
    heap = memory.heap
    if heap is None or not heap.fresh:
        return
    arrays = [block.data for block in memory.blocks.blocks if block.writable and block.kind not in _OTHERS]
    arrays += [held.data for held in unit.held.values()]
    lost = _unreached(heap, arrays)
    _report(checked, heap, lost, "not freed, and nothing that outlives the launch points to them", collector)


def pieces_left(checked: Checked, heap: Heap | None) -> tuple[LaunchFinding, ...]:
    """The pieces that are there, as findings."""
    collector = FindingCollector()
    if heap is not None:
        _report(checked, heap, heap.live, "not freed", collector)
    return collector.findings()


def _report(checked: Checked, heap: Heap, addresses: Collection[int], what: str, collector: FindingCollector) -> None:
    """Report pieces: for each instruction that asked for some, that of the first thread, with how many there are."""
    alike: dict[int, list[tuple[int, HeapPiece]]] = {}
    for address in addresses:
        piece = heap.live[address]
        alike.setdefault(piece.call.program.kernel.code[piece.call.instruction].position, []).append((address, piece))
    for position, pieces in sorted(alike.items()):
        pieces.sort(key=lambda each: each[1].thread_of_grid)
        collector.report((LEAK, position), partial(_finding, checked, pieces, what), len(pieces))


def _finding(checked: Checked, pieces: list[tuple[int, HeapPiece]], what: str) -> LaunchFinding:
    address, first = pieces[0]
    call, count, size = first.call, len(pieces), sum(piece.size for _, piece in pieces)
    where = where_is(checked, call.program.kernel.code[call.instruction], call.extents.where(first.thread, call.first))
    some = f"{in_bytes(size)} that malloc returned"
    if count > 1:
        some = f"{count:,} pieces that malloc returned, {in_bytes(size)} together,"
    note = f"{some} are {what}"
    return LaunchFinding(LEAK, note, where, None, contracts.state_spaces.OF_BUFFERS, address, first.size, page_of(LEAK))


class _Pieces:
    """The pieces of a heap that are there, in the order of their addresses."""

    def __init__(self, heap: Heap):
        pieces = sorted(heap.live.items())
        self.addresses = np.array([address for address, _ in pieces], np.uint64)
        self.sizes = np.array([piece.size for _, piece in pieces], np.uint64)
        self.end = int(self.addresses[-1] + self.sizes[-1])
        #: by a piece's number whether it was there when the launch began
        self.old = np.array([address not in heap.fresh for address, _ in pieces])

    def pointed_at(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(Where the bytes of an array are a pointer to a piece, the numbers of these pieces)."""
        page = contracts.system_functions
        places, targets = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for begin in range(0, len(array), _TOGETHER):
            data = array[begin : begin + _TOGETHER + page.POINTER - 1]
            for shift in range(min(page.POINTER, len(data) - page.POINTER + 1)):
                words = data[shift : shift + (len(data) - shift) // page.POINTER * page.POINTER].view(np.uint64)
                values = page.pointer_in(words)
                near = np.flatnonzero((values >= self.addresses[0]) & (values <= self.end))
                if len(near):
                    numbers, hits = self._numbers(values[near])
                    places.append(begin + shift + page.POINTER * near[hits])
                    targets.append(numbers)
        return np.concatenate(places), np.concatenate(targets)

    def _numbers(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(The numbers of the pieces that addresses point to, which of the addresses do)."""
        last = np.searchsorted(self.addresses, values, "right") - 1
        hits = contracts.system_functions.points_to(values, self.addresses[last], self.sizes[last])
        return last[hits], hits

    def pointers(self, heap: Heap) -> dict[int, list[int]]:
        """To which pieces each piece points."""
        places, targets = self.pointed_at(heap.data[: self.end - heap.base])
        at = places.astype(np.uint64) + np.uint64(heap.base)
        last = np.searchsorted(self.addresses, at, "right") - 1
        inside = (last >= 0) & (
            at + np.uint64(contracts.system_functions.POINTER) <= (self.addresses + self.sizes)[last]
        )
        pointers: dict[int, list[int]] = {}
        for source, target in zip(last[inside].tolist(), targets[inside].tolist(), strict=True):
            pointers.setdefault(source, []).append(target)
        return pointers


def _unreached(heap: Heap, arrays: Iterable[np.ndarray]) -> list[int]:
    """The addresses of the pieces that a launch has asked for and to which nothing points: none of some arrays, no older piece,
    and no piece to which something points."""
    pieces = _Pieces(heap)
    reached = pieces.old.copy()
    for array in arrays:
        reached[pieces.pointed_at(array)[1]] = True
    pointers, todo = pieces.pointers(heap), np.flatnonzero(reached).tolist()
    while todo:
        for target in pointers.get(todo.pop(), ()):
            if not reached[target]:
                reached[target] = True
                todo.append(target)
    return [int(address) for address in pieces.addresses[~reached]]
