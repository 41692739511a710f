"""What an asynchronous operation writes or reads in place of a range of memory."""

from __future__ import annotations

from ptxspec.base.records import record
from ptxspec.terms.core import Int
from ptxspec.terms.types import Type


@record(frozen=True)
class Carried:
    """Values of `type` that an operation takes with it when it is initiated, as its source."""

    type: Type
    values: tuple[Int, ...]

    @property
    def bytes(self) -> int:
        """How many bytes the values have."""
        return self.type.bytes * len(self.values)


@record(frozen=True)
class InRegisters:
    """Registers, each with a value of `type`. The `values` of a source are what they hold; those of a target stand for what they
    will hold, and are results of the instruction."""

    type: Type
    values: tuple[Int, ...]

    @property
    def bytes(self) -> int:
        """How many bytes the values have."""
        return self.type.bytes * len(self.values)
