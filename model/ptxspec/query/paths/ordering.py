"""What other threads may see of a side, and when: accesses and fences that order memory, and what lies between them.

Other threads see what a thread wrote, and change what it reads, where it takes part in the order of memory: at an *event*.
There all memory that others may access holds whatever they left, the same on both sides for events of the same number. Sides
that agree on every event, on what was written before each, and on their results, whatever others leave, are the same to all
threads that have no data race with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.query.outcomes import Ordering, Unsupported, ordering_of
from ptxspec.query.paths.addresses import AddressCase
from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.effects import Load, Store, Update, Wait, orders_memory
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, number, select

if TYPE_CHECKING:
    from ptxspec.query.paths.walking import Walk

#: events of a side at most, each time that a loop is taken and each lane by itself
MOST_EVENTS = 256
#: what the names of an event's parts begin with, which no register has
MARK = "#"
#: the type in which an operand of an event is compared, which holds the widest
_OPERAND = TYPES["b128"]


class OrderEvent(NamedTuple):
    """An instruction that takes part in the order of memory: a digest of what it is, whether it is executed, how many events
    come before it, its operands, and by the names of bytes and lanes, whether that lane wrote the byte since the event before,
    and what it holds."""

    what: int
    done: Bool
    number: Int
    operands: tuple[Int, ...]
    written: dict[str, tuple[Bool, Int]]


class TracedEvent(NamedTuple):
    """An event as it was executed: the instruction, whether it is, the number of events before it, the places that it may
    access, and what it writes."""

    op: Op
    done: Bool
    number: Int
    cases: tuple[AddressCase, ...]
    values: tuple[Int, ...]


class Orders:
    """The events of a walk. If it is traced, each access to memory that others may access is one."""

    def __init__(self, walk: Walk):
        self.walk = walk
        #: those in the text that are executed on some path, in the order in which they are met
        self.met: dict[int, Ordering] = {}
        self.events: list[OrderEvent] = []
        self.traced: list[TracedEvent] = []
        self._cases: tuple[AddressCase, ...] = ()
        self.before: Int = constant(0)

    @property
    def interfered(self) -> bool:
        """Whether other threads are thought of."""
        return self.walk.options.interfered

    def at(self, op: Op, done: Bool, cases: Iterable[AddressCase] = ()) -> bool:
        """Whether an instruction is an event. If others are thought of, memory holds then what they left."""
        walk, regions, effect = self.walk, self.walk.memory.regions, op.plan.meaning.effect
        # all threads that a barrier in a warp of lanes is for are here
        takes_part = walk.lanes == 1 if isinstance(effect, Wait) else orders_memory(effect)
        takes_part = takes_part or (walk.options.traced and isinstance(effect, Load | Store | Update))
        if not takes_part or done is FALSE:
            return False
        self._cases = tuple(cases)
        reached = [regions[case.region] for case in self._cases]
        if reached and all(region.is_private for region in reached):
            return False
        if id(op) not in self.met:
            self.met[id(op)] = ordering_of(op, walk.side.source)
        if self.interfered:
            if len(self.events) >= MOST_EVENTS:
                raise Unsupported(f"more than {MOST_EVENTS} fences, strong or atomic accesses are executed")
            self._written = self._since(done)
            walk.memory.interfere(done, self.before)
        return True

    def add(self, op: Op, done: Bool, lane: int, operands: Iterable[Any]) -> None:
        """Note the event at which others were let in, with its operands."""
        if not self.interfered:
            return
        terms = tuple(low_bits(number(x) if isinstance(x, Bool) else x, _OPERAND.width) for x in operands)
        if self.walk.options.traced:
            values = terms[1:] if self._cases else ()
            self.traced.append(TracedEvent(op, done, self.before, self._cases, values))
        what = _digest(f"{ordering_of(op, self.walk.side.source).what} {lane}")
        self.events.append(OrderEvent(what, done, self.before, terms, self._written))
        self.before = self.before + number(done)

    def where(self, cases: Iterable[AddressCase]) -> Int:
        """The generic address that an access reaches."""
        memory, page = self.walk.memory, contracts.generic_addressing
        address: Int = constant(0)
        for case in reversed(list(cases)):
            region = memory.regions[case.region]
            window = page.base(region.space) if region.space in page.WINDOWS else 0
            address = select(case.holds, low_bits(region.base + case.offset + window, 64), address)
        return address

    def _since(self, done: Bool) -> dict[str, tuple[Bool, Int]]:
        """What was written since the event before, if an event is executed now."""
        written = {}
        for region in self.walk.memory.regions.values():
            for (lane, i), holds in region.since.items():
                written[f"{region.name}[{i}] {lane}"] = holds, region.piece(i).byte
            kept = {at: holds & ~done for at, holds in region.since.items()}
            region.since = {at: holds for at, holds in kept.items() if holds is not FALSE}
        return written

    def results(self) -> dict[str, tuple[Any, Type]]:
        """What is compared of the events, and the types, by names that begin with MARK and the number of an event; the last
        is the end."""
        self.events.append(OrderEvent(_digest("end"), TRUE, self.before, (), self._since(TRUE)))
        results: dict[str, tuple[Any, Type]] = {}
        for k in range(self.before.hi + 1):
            here = [(e, e.done & (e.number == k)) for e in self.events if e.number.lo <= k <= e.number.hi]
            results[f"{MARK}{k}"] = _chosen([(c, constant(e.what)) for e, c in here]), TYPES["b64"]
            for i in range(max((len(e.operands) for e, _ in here), default=0)):
                terms = [(c, e.operands[i]) for e, c in here if i < len(e.operands)]
                results[f"{MARK}{k}.{i}"] = _chosen(terms), _OPERAND
            for name in dict.fromkeys(n for e, _ in here for n in e.written):
                cases = [(c & e.written[name][0], e.written[name][1]) for e, c in here if name in e.written]
                is_written: Any = FALSE
                for holds, _ in cases:
                    is_written = is_written | holds
                results[f"{MARK}{k} {name} written"] = is_written, TYPES["pred"]
                results[f"{MARK}{k} {name}"] = _chosen(cases), TYPES["b8"]
        return results


def _chosen(cases: list[tuple[Bool, Int]]) -> Int:
    """The term whose condition holds, of which one does at most; else 0."""
    chosen: Int = constant(0)
    for holds, term in reversed(cases):
        chosen = select(holds, term, chosen)
    return chosen


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
