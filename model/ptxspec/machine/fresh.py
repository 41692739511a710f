"""What registers, shared and local memory hold before they are written, where a launch asks for other values than zeros.

A seed decides each word by what it belongs to, the register or the memory of which thread or CTA, so that both engines begin
with the same, in whatever order CTAs run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Set
from typing import NamedTuple

import numpy as np

#: words of one thing, at most
_APART = 1 << 32
#: bytes of a thread's local memory that begin with other values than zeros, at most: a stack is large, and mostly not touched
LOCAL = 4096


class Fresh(NamedTuple):
    """The values that a seed decides."""

    seed: int

    def words(self, what: str, first: int, count: int, each: int) -> np.ndarray:
        """A row of `each` words of 64 bits for each of so many threads or CTAs, from the number `first` on."""
        start = int.from_bytes(hashlib.sha256(f"{self.seed} {what}".encode()).digest()[:8], "little")
        numbers = np.arange(first, first + count, dtype=np.uint64)[:, None] * np.uint64(_APART)
        word: np.ndarray = numbers + np.arange(each, dtype=np.uint64) + np.uint64(start)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the mixing of SplitMix64
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        mixed: np.ndarray = word ^ (word >> np.uint64(31))
        return mixed

    def bytes_of(self, what: str, first: int, count: int, each: int) -> np.ndarray:
        """The same as bytes: a row of so many for each."""
        return self.words(what, first, count, -(-each // 8)).view(np.uint8)[:, :each]

    def begun(self, live: Set[str], every: Collection[str]) -> set[str]:
        """The names of the registers that begin so, where `live` may be read before they are written, of `every` one."""
        return set(live)

    def registers(self, name: str, bits: int, first: int, count: int) -> np.ndarray:
        """What a register of so many bits holds in each of so many threads, as a row of bytes; bits beyond are zero."""
        rows = self.bytes_of(name, first, count, max(1, bits // 8))
        return rows & np.uint8(1) if bits == 1 else rows
