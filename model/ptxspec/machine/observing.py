"""Observers of a launch, and what they are told: the events that an engine has noted, with the places that they happened at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked, unbanked
from ptxspec.machine.batch import Extents
from ptxspec.machine.events import NO_INSTRUCTION, OF_IMAGES, WORDS, EventKind
from ptxspec.machine.imaging import ImageUnit
from ptxspec.machine.memory import LaunchMemory, is_of_threads
from ptxspec.machine.program import KernelProgram, describe
from ptxspec.terms.effects import Effect

#: an event, as observers are given arrays of them: see Observer.observe
EVENT = np.dtype(
    [
        ("kind", "u1"), ("space", "u1"), ("instruction", "u4"), ("thread", "u8"), ("owner", "u8"), ("address", "u8"),
        ("size", "u8"), ("value", "u8"), ("high", "u8"), ("operation", "u4"),
    ]
)  # fmt: skip


class ObservedInstruction(NamedTuple):
    """An instruction of a kernel that is observed: its line, from 1 on, and its text. Of one that accesses memory, or is a fence,
    `order`, `scope` and `proxy` are words of the manual's chapter on the memory consistency model; a weak access has no scope,
    one to a texture or a surface a proxy alone. `effect` is what the instruction does as the model has it (no stable interface).

    >>> ptxspec.ObservedInstruction(4, "st.release.gpu.global.u32 [a], 1;", "release", "gpu", "generic", None).order
    'release'
    """

    line: int
    text: str
    order: str | None
    scope: str | None
    proxy: str | None
    effect: Any


class ObservedLaunch(NamedTuple):
    """A launch as an observer is told of it before it begins: the entry, the instructions of the kernel and the names of the
    state spaces, by the numbers that events have, the extents of the grid, of a CTA and of a cluster, and for each image the
    names of the variables and arguments that stand for it. A texture and a surface that share their texels are one image. Among
    the `spaces` is "image", which is no state space.

    >>> launch = ptxspec.ObservedLaunch("k", (), ("global",), (2, 1, 1), (32, 2, 1), (1, 1, 1))
    >>> launch.name
    'k'
    """

    name: str
    instructions: tuple[ObservedInstruction, ...]
    spaces: tuple[str, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    images: tuple[tuple[str, ...], ...] = ()

    def where(self, thread: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Where a thread of the grid stands: (%tid, %ctaid).

        >>> launch = ptxspec.ObservedLaunch("k", (), ("global",), (2, 1, 1), (32, 2, 1), (1, 1, 1))
        >>> launch.where(97)
        ((1, 1, 0), (1, 0, 0))
        """
        extents = Extents(self.grid, self.block, cluster=self.cluster)
        return extents.where(thread % extents.threads, thread // extents.threads)


class Observer(Protocol):
    """Who is told of the events of a launch: any object with these members. What it raises ends the launch.

    >>> class Stores:
    ...     kinds = frozenset([ptxspec.EventKind.WRITE])
    ...     def begin(self, launch):
    ...         self.bytes = 0
    ...     def observe(self, events):
    ...         self.bytes += int(events["size"].sum())
    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k() { .shared .b64 s[2]; st.shared.v2.b64 [s], {1, 2}; ret; }'''
    >>> stores = Stores()
    >>> outcome = ptxspec.load(text).launch("k", block=4, observers=[stores])
    >>> stores.bytes
    64
    """

    @property
    def kinds(self) -> frozenset[EventKind]:
        """The kinds of events that it is told of. What no observer asks for costs nothing.

        >>> ptxspec.Trace(kinds=[ptxspec.EventKind.FENCE]).kinds
        frozenset({<EventKind.FENCE: 3>})
        """

    def begin(self, launch: ObservedLaunch) -> None:
        """A launch begins.

        >>> trace = ptxspec.Trace()
        >>> trace.begin(ptxspec.ObservedLaunch("k", (), (), (1, 1, 1), (1, 1, 1), (1, 1, 1)))
        """

    def observe(self, events: np.ndarray) -> None:
        """Events have happened, one after the other, some thousand at a time: a structured array. Its fields: `kind`, an
        EventKind; `thread`, which numbers the threads of the grid, CTA by CTA; `instruction`, its number in
        `ObservedLaunch.instructions`, or 0xffffffff. Of an access: `space`, the number of the state space in
        `ObservedLaunch.spaces`; `owner`, the thread or the CTA whose part of it that is, or 0; `address` there; `size` in bytes,
        0 where nothing is accessed. Of an access to a texture or a surface, `owner` is the number of the image in
        `ObservedLaunch.images`, and `address` the offset in its bytes: those of the arrays of its levels, one after another.
        `value` and `high` have 64 bits each of what was read or written, and other values as EventKind says. `operation` numbers
        the asynchronous operations in flight, from 1 on.

        >>> trace = ptxspec.Trace()
        >>> trace.observe(np.zeros(0, [("thread", "u8")]))
        >>> trace.events
        []
        """


class Event(NamedTuple):
    """An event as a Trace keeps it: the fields that an observer is given, with the names of the kind and of the state space, the
    line of the instruction (0 where there is none), and a value of up to 128 bits.

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k() { .shared .b32 s; st.shared.u32 [s], 7; ret; }'''
    >>> trace = ptxspec.Trace(kinds=[ptxspec.EventKind.WRITE])
    >>> outcome = ptxspec.load(text).launch("k", observers=[trace])
    >>> trace.events
    [Event(kind='WRITE', thread=0, line=2, space='shared', owner=0, address=0, size=4, value=7, operation=0)]
    """

    kind: str
    thread: int
    line: int
    space: str
    owner: int
    address: int
    size: int
    value: int
    operation: int


class Trace:
    """An observer that keeps events: of some `kinds` (all by default) and `threads` (all by default), the first `limit` of them.
    `dropped` says how many came after that.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { bar.sync 3; ret; }"
    >>> trace = ptxspec.Trace(threads=[31])
    >>> outcome = ptxspec.load(text).launch("k", block=32, observers=[trace])
    >>> [(event.kind, event.value) for event in trace.events]
    [('EXECUTE', 0), ('ARRIVE', 3), ('COMPLETE', 3), ('RELEASE', 3), ('EXECUTE', 0), ('EXIT', 0)]
    """

    def __init__(
        self,
        kinds: Collection[EventKind] = tuple(EventKind),
        threads: Collection[int] | None = None,
        limit: int = 1_000_000,
    ):
        self.kinds, self.limit, self.dropped = frozenset(kinds), limit, 0
        self.events: list[Event] = []
        self._threads = None if threads is None else np.array(sorted(threads), np.uint64)

    def begin(self, launch: ObservedLaunch) -> None:
        """Take the names of what events number.

        >>> ptxspec.Trace().begin(ptxspec.ObservedLaunch("k", (), (), (1, 1, 1), (1, 1, 1), (1, 1, 1)))
        """
        self._launch = launch

    def observe(self, events: np.ndarray) -> None:
        """Keep events.

        >>> trace = ptxspec.Trace(limit=0)
        >>> trace.observe(np.zeros(3, [("thread", "u8")]))
        >>> trace.dropped
        3
        """
        if self._threads is not None:
            events = events[np.isin(events["thread"], self._threads)]
        room = max(0, self.limit - len(self.events))
        self.dropped += max(0, len(events) - room)
        self.events += map(self._event, events[:room])

    def _event(self, row: np.void) -> Event:
        launch, index = self._launch, int(row["instruction"])
        space = launch.spaces[row["space"]] if row["size"] else ""
        line = 0 if index == NO_INSTRUCTION else launch.instructions[index].line
        number = {name: int(row[name]) for name in ("thread", "owner", "address", "size", "operation")}
        value = int(row["value"]) | int(row["high"]) << 64
        return Event(EventKind(int(row["kind"])).name, line=line, space=space, value=value, **number)


class HostRange(NamedTuple):
    """Bytes of the host: the state space that they are of, the size of each thread's or CTA's part of it or 0, the address there
    at which they begin, and whose they are, if they are no part."""

    begin: int
    length: int
    space: str
    apart: int = 0
    base: int = 0
    owner: int = 0


def host_ranges(memory: LaunchMemory, unit: ImageUnit) -> Iterator[HostRange]:
    """The host's arrays, in which the accesses of a launch lie."""
    buffers = contracts.state_spaces.OF_BUFFERS
    for name, array in memory.buffers_of.items():
        yield HostRange(array.ctypes.data, len(array), name, memory.strides.get(name, 0))
    for base, size, host in memory.blocks.rows[1:, [0, 1, 3]].tolist():
        yield HostRange(host, size, buffers, base=base)
    for number, held in enumerate(unit.held.values()):
        yield HostRange(held.data.ctypes.data, len(held.data), OF_IMAGES, owner=number)


class EventDispatcher:
    """Tells observers of the events of a launch."""

    def __init__(
        self,
        observers: Sequence[Observer],
        checked: Checked,
        program: KernelProgram,
        extents: Extents,
        memory: LaunchMemory,
        unit: ImageUnit,
    ):
        self.observers, self.extents, self.memory, self.unit = observers, extents, memory, unit
        addressable = (unbanked(name) for name in contracts.state_spaces.addressable())
        self.spaces = tuple(dict.fromkeys([*addressable, *memory.parts, OF_IMAGES]))
        source, kernel = checked.source, program.kernel
        instructions = tuple(
            ObservedInstruction(
                source.place(op.position)[1], describe(op, source.text), *_ordered(op.plan.meaning.effect)
            )
            for op in kernel.code
        )
        # of an instruction that several carry out, one after the other, and of the end of a body, which stands nowhere
        bodies = {function.position for function in checked.tree.functions}
        executes, last = [], None
        for index, op in enumerate(kernel.code):
            executes.append(op.position not in {last, *bodies} and index not in kernel.added)
            last = last if index in kernel.added else op.position
        #: by the index of an instruction whether its execution is told; the last is for events without an instruction
        self._executes = np.array([*executes, True])
        #: likewise whether a check has added it, of which nobody is told
        self._added = np.array([index in kernel.added for index in range(len(kernel.code) + 1)])
        shape = extents.grid, extents.block, extents.cluster
        launch = ObservedLaunch(kernel.name, instructions, self.spaces, *shape, unit.names_of_images())
        for observer in observers:
            observer.begin(launch)

    def tell(self, rows: np.ndarray) -> None:
        """Tell of events: rows of `events.WORDS`, in the order in which they happened."""
        words = {name: np.ascontiguousarray(rows[:, i]).view(np.uint64) for i, name in enumerate(WORDS)}
        instruction = np.minimum(words["instruction"], len(self._executes) - 1)
        kept = (words["kind"] != EventKind.EXECUTE) | self._executes[instruction]
        kept &= ~self._added[instruction]
        words = {name: word[kept] for name, word in words.items()}
        events = np.zeros(int(kept.sum()), EVENT)
        for name in ("kind", "instruction", "size", "value", "high"):
            events[name] = words[name]
        events["operation"] = np.abs(words["operation"].view(np.int64))
        events["thread"] = words["thread"] + words["first"] * np.uint64(self.extents.threads)
        self._place(events, words["location"], words["first"])
        for observer in self.observers:
            chosen = events[np.isin(events["kind"], [int(kind) for kind in observer.kinds])]
            if len(chosen):
                observer.observe(chosen)

    def _place(self, events: np.ndarray, location: np.ndarray, first: np.ndarray) -> None:
        """Say which state space, whose part, and which address there each event accessed."""
        for begin, length, space, apart, base, owner in host_ranges(self.memory, self.unit):
            offset = location - np.uint64(begin)
            here = (offset < length) & (events["size"] > 0)
            if not here.any():
                continue
            offset = offset[here]
            events["space"][here] = self.spaces.index(unbanked(space))
            events["owner"][here] = owner
            if apart:
                of_batch = np.uint64(self.extents.threads if is_of_threads(space) else 1)
                events["owner"][here] = offset // np.uint64(apart) + first[here] * of_batch
                offset = offset % np.uint64(apart)
            events["address"][here] = offset + np.uint64(base)


def _ordered(effect: Effect | None) -> tuple[str | None, str | None, str | None, Effect | None]:
    """The words for an effect's order, scope and proxy, where it has these, and the effect."""

    def word(what: str) -> str | None:
        value = getattr(effect, what, None)
        return None if value is None else str(value.value)

    return word("order"), word("scope"), word("proxy"), effect
