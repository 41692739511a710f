"""What the step of an access asks of the memory of a launch, as one thread accesses it (spec/machine/access.md).

The exact engine answers with integers, compiled code and proofs with terms. Addresses, sizes and offsets count bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from ptxspec.base.records import NamedTuple
from ptxspec.terms.core import Bool, Int

#: where the bytes of an access are, in an engine's own terms
Location = TypeVar("Location")


class Broken(NamedTuple):
    """A rule that an access broke, and what it did."""

    rule: str
    note: str


Broke: TypeAlias = Callable[[], Broken]
Way: TypeAlias = tuple[Bool, Callable[[], Location]]


class Storage(Protocol[Location]):
    """The memory of a launch."""

    @property
    def ignores_upper_halves(self) -> bool:
        """Whether the upper half of the register of an address with 32 bits does not count."""

    @property
    def clustered(self) -> bool:
        """Whether clusters have several CTAs."""

    @property
    def rank(self) -> Int:
        """The rank of the thread's CTA in its cluster."""

    @property
    def members(self) -> Int:
        """How many CTAs a cluster has."""

    @property
    def threads(self) -> Int:
        """How many threads a CTA has."""

    def nowhere(self) -> Location:
        """The location of no bytes."""

    def require(self, holds: Bool, broken: Broke) -> None:
        """End the launch unless a condition holds; `broken` is called with integers only."""

    def refuse(self, broken: Broke) -> Location:
        """End the launch."""

    def first(self, ways: Sequence[Way[Location]], otherwise: Callable[[], Location]) -> Location:
        """The location that the first way leads to whose condition holds."""

    def own(self, shared_by: str, address: Int) -> tuple[Int, Int]:
        """The number of the thread or the CTA, among the resident ones, whose part of a space the thread accesses, and how far an
        address of the space is behind the beginning of that part."""

    def held(self, space: str) -> Int:
        """The bytes that a space holds: of each thread, or each CTA, where it has a part for each."""

    def apart(self, space: str) -> Int:
        """The bytes from one part of a space to the next."""

    def ended(self, cta: Int) -> Int:
        """How many threads of a CTA have ended."""

    def stack_states(self, space: str, start: Int, size: int) -> Int | None:
        """The states of bytes of a stack; None where all bytes of the space are there."""

    def heap_states(self, address: Int, size: int) -> Int | None:
        """The states of bytes of global memory; those beyond the heap are there. None where there is no heap."""

    def each_state(self, space: str, start: Int, count: Int, holds: Callable[[Int], Bool]) -> Bool:
        """Whether a condition holds of the state of each of so many bytes: of a stack, where `start` is how far they are behind
        the beginning of all local memory, or of global memory, where it is their address."""

    def in_block(self, address: Int, write: bool) -> tuple[Int, Int]:
        """How far an address is behind the beginning of the last block of global memory that does not begin behind it, and how
        many bytes of that may be read, or written."""

    def broken_in_global(self, address: Int, size: Int | int, write: bool) -> Broken:
        """What an access broke that global memory does not permit."""

    def at(self, space: str, start: Int, size: Int | int, write: bool) -> Location:
        """Where bytes of a space are."""

    def at_block(self, address: Int, offset: Int, size: Int | int, write: bool) -> Location:
        """Where bytes of that block are."""
