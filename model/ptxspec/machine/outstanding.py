"""Copies that are under way: what they fill and read, and the accesses that race with them.

The arrays are written by `machine/copies.py`. There are none for a kernel that does not copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Kernel, Op
from ptxspec.language.constant_bits import constant_bits
from ptxspec.machine.errors import Other, Violation
from ptxspec.machine.flow import values_of
from ptxspec.terms.effects import Copy, Copying
from ptxspec.terms.exact import evaluate

#: the arrays, and how many bytes an element of each has
UNITS = {
    "filling": 1, "reading": 4, "copies": 8, "first_copy": 8, "last_copy": 8, "copy_thread": 8, "copy_op": 8, "copy_group": 8,
    "copy_source": 8, "copy_read": 8, "copy_size": 8, "copy_next": 8,
}  # fmt: skip


def copies(kernel: Kernel) -> bool:
    """Whether a kernel has copies that finish later."""
    return any(isinstance(op.plan.meaning.effect, Copying) for op in kernel.code)


def size_of(op: Op) -> int:
    """How many bytes an instruction fills that begins a copy."""
    effect = op.plan.meaning.effect
    assert isinstance(effect, Copy)
    known: dict[str, int] = {}
    for type, own, operand in values_of(op):
        if type is not None and isinstance(operand, tree.Number):
            known[own.attrs[0]] = constant_bits(operand, type)
    return int(evaluate(effect.size, known))


class Extent(NamedTuple):
    """How much there is to note: granules of the shared memory of all resident CTAs, bytes of global memory, and threads."""

    granules: int
    bytes: int
    threads: int

    def lengths(self) -> dict[str, int]:
        """How many elements each array has."""
        words = len(contracts.copies().Copies.fields)
        own = {"reading": self.bytes, "copies": self.threads * words}
        own |= dict.fromkeys(("first_copy", "last_copy"), self.threads)
        return {name: own.get(name, self.granules) for name in UNITS}


class Sparse(dict[int, int]):
    """An array of Python's numbers, all zero but those that were set."""

    def __missing__(self, index: int) -> int:
        return 0


class Outstanding:
    """The copies under way of a launch, in arrays that `make` gives for a name and a length."""

    def __init__(self, extent: Extent, make: Callable[[str, int], Any]):
        self.page = contracts.copies()
        self.arrays = {name: make(name, length) for name, length in extent.lengths().items()}

    def check_shared(self, at: int, size: int) -> None:
        """Raise Violation if an access reaches what a copy fills: `size` bytes of the shared memory of all resident CTAs."""
        filling, granule = self.arrays["filling"], self.page.GRANULE
        first, last = at // granule, (at + size - 1) // granule
        flags = bytes(int(filling[i]) for i in range(first, last + 1))
        if self.page.may_touch(int.from_bytes(flags, "little")):
            return
        found = [p for p in self._under_way() if p <= last and p + self._filled(p) // granule > first]
        note = "a copy to there is under way, and its thread has not waited for it"
        raise Violation("copy not waited for", note, self._began(found))

    def check_global(self, at: int, size: int) -> None:
        """Raise Violation if `size` bytes of global memory are written that a copy reads."""
        reading = self.arrays["reading"]
        counts = np.array([int(reading[i]) for i in range(at, at + size)], "<u4")
        if self.page.may_write(int.from_bytes(counts.tobytes(), "little")):
            return
        read, source = self.arrays["copy_read"], self.arrays["copy_source"]
        found = [p for p in self._under_way() if source[p] < at + size and source[p] + read[p] > at]
        note = "a copy from there is under way, and its thread has not waited for it"
        raise Violation("source of a copy", note, self._began(found))

    def _filled(self, place: int) -> int:
        return int(self.arrays["copy_size"][place])

    def _began(self, found: list[int]) -> Other | None:
        """Who began the first of these copies; None if there is none: the rule is the page's."""
        return Other(*(int(self.arrays[name][found[0]]) for name in ("copy_thread", "copy_op"))) if found else None

    def _under_way(self) -> list[int]:
        """The first granule of each copy that is under way."""
        sizes = self.arrays["copy_size"]
        if isinstance(sizes, dict):
            return sorted(place for place, size in sizes.items() if size)
        found: list[int] = np.flatnonzero(sizes).tolist()
        return found
