"""What the memory model tells apart of the operations of instructions, and how it asks whether two of them are morally strong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.terms import effects
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace, kind_of_access
from ptxspec.terms.orders import Order, Proxy, Scope
from ptxspec.terms.relations import NEWEST_MODEL, MemoryModel

#: a thread and where it runs; and other ones in its CTA, in its cluster and in its grid, from the nearest on
HERE = (0, ThreadPlace(0, 0, 0))
OTHERS = ((1, ThreadPlace(0, 0, 0)), (1, ThreadPlace(1, 0, 0)), (1, ThreadPlace(1, 1, 0)))


class OperationClass(NamedTuple):
    """What tells operations apart; `size` is how many bytes one accesses, 0 for a fence."""

    kind: OperationKind
    order: Order | None
    scope: Scope | None
    proxy: Proxy
    size: int
    proxies: tuple[Proxy, ...] = ()
    on_object: bool = False

    @classmethod
    def of_access(cls, effect: effects.Access, gives_result: bool) -> OperationClass:
        """That of an access to memory, or of each element of one."""
        size = effect.type.bytes // (2 if effect.type.elements == 2 else 1)
        kind, lasts = kind_of_access(effect, gives_result), effect.life is effects.Life.LASTS
        return cls(kind, effect.order, effect.scope, effect.proxy, size, on_object=lasts)

    @classmethod
    def of_change(cls, effect: effects.Initiate) -> OperationClass:
        """That of each change of memory by an asynchronous operation."""
        return cls(OperationKind.REDUCTION, effect.order, effect.scope, effect.proxy, effect.element)

    def operation(self, thread: int = 0, place: ThreadPlace = HERE[1], position: int = 0) -> Operation:
        """An operation of the class."""
        accessed = ByteRange("", 0, self.size) if self.size else None
        return Operation(
            self.kind, thread, place, position, "", self.order, self.scope, self.proxy, accessed, accessed, self.proxies,
            on_object=self.on_object,
        )  # fmt: skip


def levels_of_strength(first: OperationClass, second: OperationClass) -> tuple[bool, ...]:
    """Whether operations of two classes that overlap completely are morally strong, if the threads that they are of are
    in one CTA, in one cluster, and in one grid."""
    return tuple(morally_strong()(first.operation(), second.operation(*there)) for there in OTHERS)


def morally_strong() -> Callable[[Operation, Operation], bool]:
    """Whether two operations are morally strong."""
    return contracts.scopes.morally_strong(MemoryModel(NEWEST_MODEL)).holds_of
