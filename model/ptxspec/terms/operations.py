"""Operations of an execution, as the memory model speaks of them: what threads do to memory and to its order.

What is so of one operation, or of two, does not depend on the values that reads return: spec/memory-model/ says it by predicates
over these records. What does depend on them is said by relations (`relations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, assert_never

from ptxspec.terms.effects import Access, Load, Store, Update
from ptxspec.terms.orders import Order, Proxy, Scope


class OperationKind(Enum):
    """What an operation does (sections 8.4 and 9.7.13): OperationKind.READ and the like."""

    READ = "read"
    WRITE = "write"
    #: a read-modify-write whose thread gets what was read, and one whose thread does not
    ATOMIC = "atomic"
    REDUCTION = "reduction"
    FENCE = "fence"
    PROXY_FENCE = "proxy fence"
    #: an arrival at a barrier, a wait at one, and both at once
    ARRIVAL = "arrival"
    WAIT = "wait"
    BARRIER = "barrier"
    #: an asynchronous operation has read its sources; it is complete; and a wait of its thread for either
    SOURCES_READ = "sources read"
    COMPLETION = "completion"
    GROUP_WAIT = "group wait"


def kind_of_access(effect: Access, gives_result: bool) -> OperationKind:
    """What kind of operation an access is; one that `gives_result` writes a register."""
    match effect:
        case Load():
            return OperationKind.READ
        case Store():
            return OperationKind.WRITE
        case Update():
            return OperationKind.ATOMIC if gives_result else OperationKind.REDUCTION
        case _:
            assert_never(effect)


class ThreadPlace(NamedTuple):
    """Where a thread runs: the numbers of the CTA, of the cluster and of the GPU that it belongs to, each unique in its
    system."""

    cta: int
    cluster: int
    gpu: int


class ByteRange(NamedTuple):
    """Bytes of an object: `size` ones from `offset` on."""

    object: str
    offset: int
    size: int

    def meets(self, other: ByteRange) -> bool:
        """Whether some byte belongs to both."""
        apart = self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        return self.object == other.object and not apart

    def covers(self, other: ByteRange) -> bool:
        """Whether all bytes of the other one belong to this one."""
        within = self.offset <= other.offset and other.offset + other.size <= self.offset + self.size
        return self.object == other.object and within


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation of an execution. `thread` is the number of the thread that executes it, None for the write that initializes
    memory; `position` counts the instructions of the thread before it. Operations of one instruction, such as those on the
    elements of a vector, have one position.

    `address` is the range of virtual addresses that is accessed, `location` the range of memory; two that are aliases differ in
    the first alone. Fences and barriers have neither. `depends_on` are the reads of the thread on whose values the operation
    depends: what it writes, where, or whether it is executed. `proxies` are those that a proxy fence is about: later accesses,
    and earlier ones. `barrier` names what is arrived or waited at. `on_object` says whether it is a step on an object in memory
    that has begun and not ended. `text` is the instruction, to be shown.

    What an asynchronous operation does has its number among those of its thread as `asynchronous`, from 1 on, its stages as
    positions, and the position of the instruction that `initiated` it. `awaits` are the ends of asynchronous operations of the
    thread, by number and kind, that the operation comes after. `space` is the state space that is accessed; a fence may be
    `within` one."""

    kind: OperationKind
    thread: int | None
    place: ThreadPlace
    position: int
    text: str
    order: Order | None = None
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    address: ByteRange | None = None
    location: ByteRange | None = None
    proxies: tuple[Proxy, ...] = ()
    barrier: str = ""
    depends_on: tuple[Operation, ...] = ()
    on_object: bool = False
    asynchronous: int = 0
    initiated: int = -1
    awaits: frozenset[tuple[int, OperationKind]] = frozenset()
    space: str = ""
    within: str = ""
