"""What the page of copies that finish later owes the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.steps import State, Step


class Copies(Protocol):
    """spec/machine/copies.md. Sizes count bytes; the functions are of numbers and of terms alike."""

    @property
    def INTO(self) -> str:
        """The state space that copies fill."""

    @property
    def GRANULE(self) -> int:
        """Bytes of that space that copies fill together."""

    @property
    def Copies(self) -> type[State]:
        """The groups of a thread's copies."""

    @property
    def begin(self) -> Step:
        """A thread begins a copy: (copies) to its group."""

    @property
    def commit(self) -> Step:
        """A thread commits a group: (copies)."""

    @property
    def wait(self) -> Step:
        """A thread waits for all groups but the last so many: (copies, most)."""

    @property
    def wait_for_all(self) -> Step:
        """A thread waits for all copies: (copies)."""

    @property
    def is_finished(self) -> Step:
        """Whether a thread has waited for the copies of a group: (copies, group)."""

    @overload
    def fits(self, read: int, size: int) -> bool: ...
    @overload
    def fits(self, read: Int, size: int) -> Bool: ...
    def fits(self, read: Int | int, size: int) -> Bool | bool:
        """Whether a copy that fills so many bytes may read so many."""

    @overload
    def arriving(self, data: int, read: int) -> int: ...
    @overload
    def arriving(self, data: Int, read: Int) -> Int: ...
    def arriving(self, data: Int | int, read: Int | int) -> Int | int:
        """What a copy fills its bytes with that reads so many of these."""

    @overload
    def may_touch(self, filling: int) -> bool: ...
    @overload
    def may_touch(self, filling: Int) -> Bool: ...
    def may_touch(self, filling: Int | int) -> Bool | bool:
        """Whether shared memory may be accessed; `filling` has a byte for each GRANULE, not zero where a copy fills it."""

    @overload
    def may_write(self, readers: int) -> bool: ...
    @overload
    def may_write(self, readers: Int) -> Bool: ...
    def may_write(self, readers: Int | int) -> Bool | bool:
        """Whether global memory may be written; `readers` has 32 bits for each byte, which count the copies that read it."""


copies = page("machine.copies", Copies)
