"""Events: what threads do, in the order in which a launch lets them do it. Engines note them for those who observe the launch.

What an event is, and which fields it has, is said here once. A kernel's code, the driver and the asynchronous operations note
events where they arise, and only those of kinds that somebody observes: of others nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ptxspec import contracts

if TYPE_CHECKING:
    import numpy as np


class EventKind(IntEnum):
    """What happened. The fields of an event are those that Observer.observe has.

    >>> ptxspec.EventKind.READ.name
    'READ'
    """

    EXECUTE = 0
    """a thread executes an instruction, whose guard lets it"""
    READ = 1
    """a value is read from memory, or from an image; a vector's elements one by one, those of an asynchronous operation eight
    bytes at a time, a texture's texels each as a whole"""
    WRITE = 2
    """likewise, a value is written"""
    FENCE = 3
    """a thread executes a fence, or another instruction that only orders accesses"""
    ARRIVE = 4
    """a thread arrives at a barrier, whose number is the value, or at a collective of its warp, with the mask as the value"""
    COMPLETE = 5
    """a barrier completes, by the last thread that arrives, or by one that ends (no instruction then)"""
    RELEASE = 6
    """a thread that waited goes on; the value is that of its arrival"""
    INITIATE = 7
    """a thread initiates an asynchronous operation, which is to write so many bytes at the address, or to read there if none"""
    END = 8
    """an asynchronous operation is complete, as far as its thread can know, or its thread has ended"""
    CALL = 9
    """a thread calls the function whose address is the value"""
    RETURN = 10
    """a function returns to its caller"""
    EXIT = 11
    """a thread ends (no instruction)"""
    REPORT = 13
    """a check of the launch found something at an instruction, or at what it initiated, at bytes of an address, or none"""


#: what accesses are
OF_ACCESSES = frozenset({EventKind.READ, EventKind.WRITE})
OF_ARRIVALS = frozenset({EventKind.ARRIVE, EventKind.RELEASE})
#: of these the driver tells, and of these the functions of asynchronous operations
OF_DRIVER = frozenset({EventKind.ARRIVE, EventKind.COMPLETE, EventKind.RELEASE})
#: the check for races, the one for what nothing has initialized, and the one for memory that is not freed
RACE = "race"
UNINITIALIZED = "uninitialized"
LEAK = "leak"
#: what orders accesses, and what the check for races is told of
OF_ORDERS = frozenset({EventKind.FENCE, EventKind.ARRIVE, EventKind.COMPLETE, EventKind.RELEASE})
OF_RACES = OF_ACCESSES | OF_ORDERS | {EventKind.INITIATE, EventKind.END}
OF_OPERATIONS = frozenset({EventKind.INITIATE, EventKind.END, EventKind.READ, EventKind.WRITE})
#: the words of an event as an engine notes it: its kind, the first CTA of the batch, the instruction's index, the thread among
#: the resident ones, the host's address of what is accessed and how many bytes that is, a value of 128 bits, and the number of
#: the asynchronous operation, negated where it accesses the object on which it completes
WORDS = ("kind", "first", "instruction", "thread", "location", "size", "value", "high", "operation")
#: the instruction of an event that has none
NO_INSTRUCTION = 0xFFFFFFFF
#: events that an engine notes before it tells of them
MOST_NOTED = 4096
#: bytes of a word in which the accesses of an asynchronous operation are told
UNIT = 8
#: what bytes of images are told and counted under, beside the names of state spaces
OF_IMAGES = "image"


class EventReceiver(Protocol):
    """Who is told of the events that an engine has noted."""

    def tell(self, rows: np.ndarray) -> None:
        """Events have happened: rows of WORDS, in their order."""


class ObservedEvents(NamedTuple):
    """What of a kernel is observed: whether its instructions and bytes are counted, events of which kinds are told
    to observers, and which faults are looked for. Accesses to all
    memory are noted, or, where not `everywhere`, those to memory that threads share; and of barriers of whole CTAs each
    arrival, or only when they complete."""

    counts: bool = False
    kinds: frozenset[EventKind] = frozenset()
    checks: frozenset[str] = frozenset()
    everywhere: bool = True
    each_arrival: bool = True

    unwritten: bool = False
    """whether global memory may hold what nothing has initialized"""
    weakest: bool = False
    """whether the launch follows what orders accesses, to let reads return older values than the newest"""

    @classmethod
    def of(cls, counts: bool, kinds: Collection[EventKind], checks: frozenset[str]) -> ObservedEvents:
        """What is observed where observers are told of events of these kinds, and the launch is checked so."""
        everywhere = RACE not in checks or not OF_ACCESSES.isdisjoint(kinds)
        noted = frozenset(kinds) | (OF_RACES if RACE in checks else frozenset())
        noted |= {EventKind.REPORT} if checks else frozenset()
        each_arrival = RACE not in checks or not OF_ARRIVALS.isdisjoint(kinds)
        return cls(counts, noted, checks, everywhere, each_arrival)

    def tells_of(self, space: str) -> bool:
        """Whether accesses to a state space, or to generic addresses, are noted."""
        spaces = contracts.state_spaces.of_several()
        return self.everywhere or space.partition("::")[0] in (*spaces, "generic")

    @property
    def meetings(self) -> bool:
        """Whether the driver tells of events."""
        return self.weakest or bool(self.kinds & OF_DRIVER)

    @property
    def by_threads(self) -> bool:
        """Whether threads have to be watched one by one."""
        return self.weakest or bool(self.kinds - {EventKind.REPORT})

    @property
    def accesses(self) -> bool:
        """Whether accesses are told."""
        return bool(self.kinds & OF_ACCESSES)

    @property
    def operations(self) -> bool:
        """Whether asynchronous operations tell of events."""
        return self.weakest or bool(self.kinds & OF_OPERATIONS)


#: nothing is observed
UNOBSERVED = ObservedEvents()
