"""What the page of asynchronous operations owes the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, overload

from ptxspec.contracts.resolving import page

if TYPE_CHECKING:
    from ptxspec.terms.core import Bool, Int
    from ptxspec.terms.registries import CompletionMechanism
    from ptxspec.terms.steps import State, Step


class Asynchrony(Protocol):
    """spec/machine/asynchrony.md. Sizes count bytes; the functions are of numbers and of terms alike."""

    @property
    def PIECES(self) -> int:
        """The pieces that an operation has at most."""

    @property
    def LANDING(self) -> Mapping[str, int]:
        """The ways in which pieces land, by the words for them: a number each."""

    @property
    def AT_ONCE(self) -> int:
        """Under a seed, one of so many operations lands at once."""

    @property
    def BEFORE_A_TURN(self) -> int:
        """Under a seed, fewer than so many pieces land before a turn."""

    @property
    def LATEST(self) -> int:
        """The turns between two at which late operations land that complete on objects."""

    @property
    def ASYNC_GROUPS(self) -> CompletionMechanism:
        """The completion mechanism of cp.async."""

    @property
    def Operation(self) -> type[State]:
        """An operation."""

    @property
    def initiate(self) -> Step:
        """An operation is initiated: (operation, target, size, source, read, unit)."""

    @property
    def footprint(self) -> Step:
        """(operation) to its target, size, source, and how many bytes it reads."""

    @property
    def has_landed(self) -> Step:
        """Whether a piece has landed, or there is none: (operation, number)."""

    @property
    def land(self) -> Step:
        """A piece lands: (operation, number) to where it begins, the bytes that are copied, and the zeros behind them."""

    @property
    def land_all(self) -> Step:
        """All pieces land: (operation) to the bytes that are copied, and the zeros behind them."""

    @property
    def spares_target(self) -> Step:
        """Whether an access touches nothing that the operation writes: (operation, begin, size)."""

    @property
    def spares_source(self) -> Step:
        """Whether a write touches nothing that the operation reads: (operation, begin, size)."""

    @overload
    def fits(self, read: int, size: int) -> bool: ...
    @overload
    def fits(self, read: Int, size: int) -> Bool: ...
    def fits(self, read: Int | int, size: int) -> Bool | bool:
        """Whether an operation that writes so many bytes may read so many."""


asynchrony = page("machine.asynchrony", Asynchrony)
