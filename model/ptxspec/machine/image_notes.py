"""What is noted of the accesses to images, in a launch that counts bytes or whose accesses are observed.

Either engine notes of each read and each write of a rule (see terms/image_access.py), thread by thread, whether it happens,
where, and the value. Here that becomes bytes that are counted, and rows of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxspec.machine.events import MOST_NOTED, WORDS, EventKind
from ptxspec.terms.image_access import ImageRule

if TYPE_CHECKING:
    from ptxspec.machine.imaging import ImageBuffer

#: the words that are noted of an access: whether it happens, at which byte offset of the image, and a value of 128 bits
NOTED = ("happens", "offset", "value", "high")
#: how many of them are noted where accesses are only counted
OF_COUNTS = 1


def noted_words(offset: int, value: int) -> tuple[int, int, int, int]:
    """The words of an access that happens, as signed numbers."""
    low, high = (word - (word >> 63 << 64) for word in (value & (1 << 64) - 1, value >> 64))
    return 1, offset, low, high


class ImageNotes(NamedTuple):
    """Where the accesses go that threads make by one instruction: `first` is the first CTA of the batch. `tell` takes rows of
    `events.WORDS`; without it they are only counted. `moved` has the bytes that were read, and those that were written."""

    instruction: int
    first: int
    tell: Callable[[np.ndarray], None] | None
    moved: np.ndarray | None

    def parts(self, access: ImageRule, threads: np.ndarray) -> Iterator[np.ndarray]:
        """The threads, so few at a time that no more events are noted than an engine notes."""
        many = max(1, MOST_NOTED // max(1, len(access.accesses)))
        return (threads[start : start + many] for start in range(0, len(threads), many))

    def room(self, access: ImageRule, threads: np.ndarray) -> np.ndarray:
        """An array for the words of each access, a column a thread; none happens yet."""
        return np.zeros((len(access.accesses), OF_COUNTS if self.tell is None else len(NOTED), len(threads)), np.int64)

    def take(self, access: ImageRule, held: ImageBuffer, threads: np.ndarray, noted: np.ndarray) -> None:
        """Count the bytes, and tell of the events."""
        happens = noted[:, NOTED.index("happens")]
        sizes = np.array([part.bits // 8 for part in access.accesses], np.int64)
        if self.moved is not None:
            counted, reads = happens.sum(1) * sizes, len(access.reads)
            self.moved[:] += counted[:reads].sum(), counted[reads:].sum()
        if self.tell is not None and happens.any():
            kinds = [EventKind.READ] * len(access.reads) + [EventKind.WRITE] * len(access.writes)
            words = {
                "kind": np.array(kinds, np.int64), "first": self.first, "instruction": self.instruction,
                "thread": threads[:, None], "size": sizes,
                "location": held.data.ctypes.data + noted[:, NOTED.index("offset")].T,
                **{name: noted[:, NOTED.index(name)].T for name in ("value", "high")},
            }  # fmt: skip
            rows = np.zeros((*happens.T.shape, len(WORDS)), np.int64)
            for name, values in words.items():
                rows[:, :, WORDS.index(name)] = values
            self.tell(rows[happens.T != 0])
