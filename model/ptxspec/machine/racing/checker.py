"""The check for races of a launch: it is told of the events, and reports findings."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked, Kernel, unbanked
from ptxspec.language.forms import page_name
from ptxspec.machine.arrays import address_of, untouched
from ptxspec.machine.batch import Extents
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.errors import LaunchError, Where
from ptxspec.machine.events import OF_IMAGES, WORDS, EventKind
from ptxspec.machine.findings import FindingCollector, LaunchFinding
from ptxspec.machine.imaging import ImageUnit
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.observing import HostRange, host_ranges
from ptxspec.machine.program import KernelProgram, where_is
from ptxspec.machine.racing import shadow
from ptxspec.machine.racing.classes import NO_CLASS, OperationClasses
from ptxspec.machine.racing.completions import CompletedAccesses
from ptxspec.machine.racing.exits import FaultsAtExit, ProgramAddress
from ptxspec.machine.racing.knowledge import Knowledge
from ptxspec.machine.racing.logs import CTA, THREAD, WARP, Known
from ptxspec.machine.racing.products import FinishedProducts, ProductEvents, ProductReads
from ptxspec.machine.racing.words import RacingPair, reason

#: cells that are kept from launch to launch, at most
_MOST_KEPT = 1 << 22


class Shadow(Protocol):
    """The machine of shadow.py under an engine."""

    def get(self, name: str) -> int:
        """A number of it."""

    def set(self, name: str, value: int) -> None:
        """Change a number."""

    def lay(self, name: str, array: np.ndarray) -> None:
        """Let it have an array."""

    def array(self, name: str) -> np.ndarray:
        """An array of it."""

    def look(self, begin: int, count: int) -> int:
        """As shadow.look."""

    def look_at(self, number: int) -> int:
        """As shadow.look_at."""


class ExactShadow:
    """The machine on which the functions run as they stand."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self._machine: Any = SimpleNamespace(**dict.fromkeys(shadow.NUMBERS, 0))
        self._arrays: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            self.lay(name, array)

    def get(self, name: str) -> int:
        return int(getattr(self._machine, name))

    def set(self, name: str, value: int) -> None:
        setattr(self._machine, name, value)

    def lay(self, name: str, array: np.ndarray) -> None:
        self._arrays[name] = array
        setattr(self._machine, name, memoryview(array.data))

    def array(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def look(self, begin: int, count: int) -> int:
        return shadow.look(self._machine, begin, count)

    def look_at(self, number: int) -> int:
        return shadow.look_at(self._machine, number)


class CellPool:
    """The cells of a module's launches, one after the other, and what is known of the last one's kernel."""

    def __init__(self) -> None:
        self._kept: dict[str, np.ndarray] = {}
        self._classes: tuple[Kernel, int, OperationClasses] | None = None

    def classes(self, kernel: Kernel, threads: int) -> OperationClasses:
        """The classes of a kernel's operations."""
        if self._classes is None or self._classes[:2] != (kernel, threads):
            self._classes = kernel, threads, OperationClasses(kernel, threads)
        return self._classes[2]

    def cells(self, count: int) -> dict[str, np.ndarray]:
        """So many cells of which nothing is remembered, and what belongs to them. They may be those of the last launch, if these
        are few: memory that is touched for the first time costs more than to clear it."""
        lengths = {"cells": count * shadow.WORDS_OF_CELL, "more": count * shadow.WORDS_OF_MORE, "values": count}
        if self._kept and len(self._kept["values"]) >= count:
            arrays = {name: self._kept[name][:length] for name, length in lengths.items()}
            arrays["cells"].fill(0)
            return arrays
        arrays = {name: untouched(8 * max(1, length)).view(np.int64) for name, length in lengths.items()}
        self._kept = arrays if count <= _MOST_KEPT else {}
        return arrays


class RaceChecker:
    """The check of one launch. What it is told of, it holds against what was accessed before, and reports what races."""

    def __init__(
        self,
        engine: str,
        checked: Checked,
        program: KernelProgram,
        extents: Extents,
        memory: LaunchMemory,
        unit: ImageUnit,
        collector: FindingCollector,
        pool: CellPool,
    ):
        """Raises LaunchError if there is no room for what is remembered of memory, and ValueError for a kernel or a grid that is
        too large for that."""
        self.checked, self.program, self.extents = checked, program, extents
        self.memory, self.unit, self.collector, self._pool = memory, unit, collector, pool
        kernel = program.kernel
        self.warps = contracts.warps.warps_of(extents.threads)
        if 2 * len(kernel.code) > shadow.OPS or extents.ctas * self.warps > shadow.UNIT - 1:
            raise ValueError(
                f"a check for races is of at most {shadow.OPS:,} instructions, functions included, and {shadow.UNIT - 1:,} warps"
            )
        self.classes = pool.classes(kernel, extents.threads)
        self.knowledge = Knowledge(self.classes, extents.threads, self.warps, extents.cluster_size)
        self._ranges: list[HostRange] = []
        #: where the arrays lie that each batch of CTAs has anew, and how many of the first cells are theirs
        self._anew: list[int] = []
        self._cells_anew = 0
        self._shadow = self._made(engine)
        self._page = _page_of_races()
        #: of each barrier with a count, who has arrived: threads, when, and whether they wait
        self._arrived: dict[tuple[int, int], dict[int, tuple[int, bool]]] = defaultdict(dict)
        #: the event of the last arrival there: those that follow each other have one time
        self._arrival = -1
        #: of each CTA, which proxy fences its threads executed last, and when
        self._proxy_fences: dict[int, dict[int, int]] = defaultdict(dict)
        #: the array that the last rows were a part of
        self._rows_of: np.ndarray | None = None
        self.products = ProductReads(kernel, extents.threads)
        self._completed, self._endings = CompletedAccesses(kernel), FaultsAtExit(checked, program, extents)
        self._begin_batch(0)

    def _made(self, engine: str) -> Shadow:
        extents, classes = self.extents, self.classes
        threads, ctas, warps = extents.threads * extents.ctas, extents.ctas, self.warps * extents.ctas
        roles = {*classes.roles}
        by_lanes = threads * LANES if shadow.WARP in roles else 0
        by_clusters = threads if shadow.CLUSTER_WAIT in roles else 0
        by_pairs = warps * self.warps if roles & {shadow.COUNTED, shadow.COUNTED_ARRIVAL} else 0
        lengths = {
            **dict.fromkeys(("low_of", "size_of", "cell_of"), len(self.classes.reads)),
            "clocks": ctas, "cta_times": ctas, "warp_times": warps, "pair_times": by_pairs,
            "lane_times": by_lanes, "cluster_times": 2 * by_clusters, "passed": by_clusters, "arrived": by_clusters,
            "pairs": shadow.PAIRS, "raced": shadow.PAIRS, "suspected": shadow.MOST_SUSPECTS * shadow.WORDS_OF_SUSPECT,
            "rows": 0, "range_begin": 0, "range_end": 0, "range_cell": 0,
        }  # fmt: skip
        cells = self._count_cells()
        try:
            arrays = self._pool.cells(cells)
            arrays |= {name: untouched(8 * max(1, length)).view(np.int64) for name, length in lengths.items()}
        except (MemoryError, OSError) as error:
            raise LaunchError(
                "memory limit", f"there is no room to remember who accessed {cells * shadow.CELL:,} bytes: {error}"
            ) from None
        arrays["clocks"][:] = 1
        arrays |= classes.tables
        if engine == "native":
            from ptxspec.machine.native.shadow import NativeShadow  # LLVM, which the exact engine does without

            made: Shadow = NativeShadow(arrays)
        else:
            made = ExactShadow(arrays)
        numbers = {
            "merges": int(not classes.synchronizes),
            "threads": extents.threads, "warps_in_cta": self.warps, "cluster": extents.cluster_size,
            "classes": len(classes.all), "thread": -1, "first": -1,
        }  # fmt: skip
        for name, value in numbers.items():
            made.set(name, value)
        return made

    # memory --------------------------------------------------------------------------------------------------------------

    def _shared(self) -> list[HostRange]:
        """The memory that several threads may write, in the order of the host's addresses."""
        spaces = {*contracts.state_spaces.of_several(), OF_IMAGES}
        ranges = [r for r in host_ranges(self.memory, self.unit) if unbanked(r.space) in spaces and r.length]
        return sorted(ranges)

    def _count_cells(self) -> int:
        return sum(-(-r.length // shadow.CELL) for r in self._shared())

    def _begin_batch(self, first: int) -> None:
        """The CTAs from this one on begin: the memory of CTAs is anew."""
        made = self._shadow
        made.set("first", first)
        self.products.begin()
        anew = [array.ctypes.data for name, array in self.memory.buffers_of.items() if self.memory.strides.get(name)]
        if anew == self._anew and self._ranges:
            made.array("cells")[: self._cells_anew * shadow.WORDS_OF_CELL] = 0
            return
        ranges, self._anew = self._shared(), anew
        # what CTAs have anew lies first among the cells, where the batch before had it
        cell, cells = 0, {}
        for r in sorted(ranges, key=lambda r: not r.apart):
            cells[r] = cell
            cell += -(-r.length // shadow.CELL)
            if r.apart:
                self._cells_anew = cell
        made.array("cells")[: self._cells_anew * shadow.WORDS_OF_CELL] = 0
        self._ranges = ranges
        made.lay("range_begin", np.array([r.begin for r in ranges] or [0], np.int64))
        made.lay("range_end", np.array([r.begin + r.length for r in ranges] or [0], np.int64))
        made.lay("range_cell", np.array([cells[r] for r in ranges] or [0], np.int64))
        made.array("size_of")[:] = 0
        made.set("ranges", len(ranges))

    def _location(self, place: int) -> ProgramAddress:
        """Where an address of the host is."""
        for r in self._ranges:
            if r.begin <= place < r.begin + r.length:
                offset = place - r.begin
                return ProgramAddress(unbanked(r.space), r.base + (offset % r.apart if r.apart else offset))
        raise AssertionError("an access of none of the launch's arrays is a suspect")

    # events --------------------------------------------------------------------------------------------------------------

    def tell(self, rows: np.ndarray) -> None:
        """Events have happened: rows of `events.WORDS`."""
        reports = rows[rows[:, WORDS.index("kind")] == EventKind.REPORT]
        rows = self._completed.repeated(rows)
        if self.classes.objects:
            rows = rows.copy()
            rows[rows[:, WORDS.index("operation")] < 0, shadow.INSTRUCTION] += self.classes.objects
        if rows.base is None or rows.base is not self._rows_of:
            self._lay(np.ascontiguousarray(rows))
        at, self._arrival = 0, -1
        for stop in self.products.stops(rows):
            at = self._follow(rows, at, stop.first)
            self._see(stop)
        self._follow(rows, at, len(rows))
        for row in reports.tolist():
            self._endings.report(dict(zip(WORDS, row, strict=True)), self._location, self.collector)

    def _follow(self, rows: np.ndarray, at: int, count: int) -> int:
        """Look at events from one on, and give how many there are then."""
        while True:
            at = self._shadow.look(at, count)
            if self._judge_all():
                continue  # there is room for other suspects
            if at >= count:
                return at
            event = dict(zip(WORDS, rows[at].tolist(), strict=True))
            if event["first"] != self._shadow.get("first"):
                self._begin_batch(event["first"])
                continue
            self._take(EventKind(event["kind"]), event, at)
            at += 1

    def _see(self, stop: ProductEvents) -> None:
        """Something has happened to products of warpgroups, or to what they have read: this is looked at before the event."""
        rows, words = stop.rows, WORDS.index
        first, op = int(rows[0, words("first")]), int(rows[0, words("instruction")])
        if first != self._shadow.get("first"):
            self._begin_batch(first)
        thread = int(rows[0, words("thread")]) + first * self.extents.threads
        if rows[0, words("kind")] != EventKind.WRITE:
            clock = int(self._shadow.array("clocks")[self.knowledge.cta_of(thread)])
            self.products.see(rows[0], clock)
            return
        for place, read in self.products.overwritten(rows[:, words("location")]).items():
            if not self._is_behind(thread, read.finished):
                self._report(SuspectedRace(place, thread, op, 1, read.thread, read.op, 0, 0, 0))

    def _is_behind(self, thread: int, finished: FinishedProducts) -> bool:
        """Whether a thread knows of any wait by which products were finished."""
        knowledge, mine = self.knowledge, self._own(thread)
        knowing = knowledge.knowing(thread)
        for other, time in finished.times.items():
            units = (THREAD, other), (WARP, knowledge.warp_of(other)), (CTA, knowledge.cta_of(other))
            known = other == thread or any(mine.get(unit, 0) >= time for unit in units)
            if known or knowledge.is_before(other, time, knowing):
                return True
        return False

    def _lay(self, rows: np.ndarray) -> None:
        """Let these rows be looked at; they may be the first of an array whose first rows come again and again."""
        whole, self._rows_of = rows, None
        if isinstance(rows.base, np.ndarray) and rows.base.dtype == rows.dtype and rows.base.ndim == rows.ndim:
            if address_of(rows.base) == address_of(rows):
                whole = self._rows_of = rows.base
        self._shadow.lay("rows", whole.reshape(-1))

    def _take(self, kind: EventKind, event: dict[str, int], at: int) -> None:
        """An event at which more happens than shadow.py does."""
        op, thread = event["instruction"], event["thread"] + event["first"] * self.extents.threads
        match kind:
            case EventKind.READ:
                self.knowledge.read(thread, self._class(op), event["location"])
                self._learned()
                self._shadow.look_at(at)
            case EventKind.WRITE:
                self._shadow.look_at(at)
                number, place = self._class(op), event["location"]
                if op in self.classes.begins:
                    self.knowledge.object_begins(place)
                elif self.knowledge.write(thread, number, place, self._own(thread), event["value"]):
                    self._advance(self.knowledge.cta_of(thread))
            case EventKind.FENCE:
                self._fence(thread, op)
            case EventKind.ARRIVE:
                self._arrive(thread, op, event["value"], at)
            case EventKind.COMPLETE:
                self._complete(thread, op, event["value"])
            case EventKind.RELEASE:
                self._release(thread, op, event["value"])
            case _:
                raise AssertionError(f"an event of the kind {kind.name} is told to the check for races")
        self._judge_all()

    def _advance(self, cta: int) -> None:
        """The clock of a CTA advances."""
        self._shadow.array("clocks")[cta] += 1

    def _class(self, op: int) -> int:
        """The class of what an instruction does to memory."""
        return max(self.classes.reads[op], self.classes.writes[op])

    def _learned(self) -> None:
        self._shadow.set("knows", 1)

    def _own(self, thread: int) -> Known:
        """What a thread did, and knows by the barriers that shadow.py looks at."""
        made, warp = self._shadow, self.knowledge.warp_of(thread)
        cta = self.knowledge.cta_of(thread)
        known: Known = {(THREAD, thread): int(made.array("clocks")[cta]), (CTA, cta): int(made.array("cta_times")[cta])}
        known[WARP, warp] = int(made.array("warp_times")[warp])
        if made.get("by_lanes"):
            lanes = made.array("lane_times")[thread * LANES : (thread + 1) * LANES]
            first = thread - (thread - cta * self.extents.threads) % LANES
            known |= {(THREAD, first + int(k)): int(lanes[k]) for k in lanes.nonzero()[0]}
        if made.get("by_pairs"):
            times = made.array("pair_times")[warp * self.warps : (warp + 1) * self.warps]
            known |= {(WARP, cta * self.warps + int(k)): int(times[k]) for k in times.nonzero()[0]}
        if made.get("by_clusters") and (passed := int(made.array("passed")[thread])):
            size = self.extents.threads * self.extents.cluster_size
            begin = thread // size * size
            times = made.array("cluster_times")[2 * begin + (passed - 1) % 2 : 2 * (begin + size) : 2]
            known |= {(THREAD, begin + k): int(time) for k, time in enumerate(times.tolist()) if begin + k != thread}
        return {unit: time for unit, time in known.items() if time}

    def _fence(self, thread: int, op: int) -> None:
        number, made, cta = self.classes.fences[op], self._shadow, self.knowledge.cta_of(thread)
        if number == NO_CLASS:
            return
        if self.classes.all[number].proxies:
            self._proxy_fences[cta][number] = int(made.array("clocks")[cta])
        else:
            self.knowledge.fence(thread, number, self._own(thread))
            self._learned()
        self._advance(cta)

    def _complete(self, thread: int, op: int, number: int) -> None:
        """A barrier of a CTA is complete."""
        made, cta = self._shadow, self.knowledge.cta_of(thread)
        clock = int(made.array("clocks")[cta])
        self._advance(cta)
        if op >= len(self.classes.roles) or self.classes.roles[op] == shadow.WHOLE_CTA:
            made.array("cta_times")[cta] = clock
            self.knowledge.cta_meets(cta)
            return
        arrived = self._arrived.pop((cta, number), {})
        self._some_meet(
            cta, {t: clock for t, (clock, _) in arrived.items()}, [t for t, (_, waits) in arrived.items() if waits]
        )

    def _arrive(self, thread: int, op: int, number: int, at: int) -> None:
        """A thread arrives at a barrier of some threads: it tells of what it did up to then."""
        cta = self.knowledge.cta_of(thread)
        if at != self._arrival + 1:
            self._advance(cta)
        self._arrival = at
        clock = int(self._shadow.array("clocks")[cta]) - 1
        self._arrived[cta, number][thread] = clock, self.classes.roles[op] == shadow.COUNTED

    def _some_meet(self, cta: int, arrived: dict[int, int], waiting: list[int]) -> None:
        """Some threads of a CTA have met, which arrived at these times: whole warps know of whole warps by a table, other threads
        by what each knows."""
        made, knowledge = self._shadow, self.knowledge
        whole, rest = self._whole_warps(arrived)
        waits, single = self._whole_warps(dict.fromkeys(waiting, 0))
        extra: Known = {(THREAD, t): arrived[t] for t in rest}
        if whole:
            made.set("by_pairs", 1)
            table = made.array("pair_times").reshape(-1, self.warps)
            known = table[[cta * self.warps + w for w in whole]].max(0)
            for warp, time in whole.items():
                known[warp] = max(known[warp], time)
            for warp in waits:
                np.maximum(table[cta * self.warps + warp], known, out=table[cta * self.warps + warp])
            if single:
                extra |= {(WARP, cta * self.warps + w): int(t) for w, t in enumerate(known.tolist()) if t}
        knowledge.threads_meet([*arrived], waiting, extra)
        if extra or knowledge.knows:
            self._learned()

    def _whole_warps(self, arrived: dict[int, int]) -> tuple[dict[int, int], list[int]]:
        """The warps of a CTA whose threads have all arrived at one time, by their numbers in the CTA, with that time; and the
        other threads."""
        of_warp: dict[int, dict[int, int]] = defaultdict(dict)
        for thread, time in arrived.items():
            of_warp[thread % self.extents.threads // LANES][thread] = time
        whole: dict[int, int] = {}
        rest: list[int] = []
        for warp, times in of_warp.items():
            there = min(LANES, self.extents.threads - warp * LANES)
            if len(times) == there and len({*times.values()}) == 1:
                whole[warp] = next(iter(times.values()))
            else:
                rest += times
        return whole, rest

    def _release(self, thread: int, op: int, mask: int) -> None:
        """A lane goes on with others, or a thread has passed the barrier of its cluster: what they know is known to it."""
        role, knowledge = self.classes.roles[op], self.knowledge
        if role == shadow.WARP:
            first = thread - thread % self.extents.threads % LANES
            lanes = [first + k for k in range(LANES) if mask >> k & 1]
            knowledge.threads_meet(lanes, [thread], {})
        elif role == shadow.CLUSTER_WAIT:
            knowledge.cluster_meets(thread)

    # suspects ------------------------------------------------------------------------------------------------------------

    def _judge_all(self) -> int:
        """Report those of the suspects that race; how many suspects there were."""
        made, words = self._shadow, shadow.WORDS_OF_SUSPECT
        count = made.get("suspects")
        if count:
            made.set("suspects", 0)
            self._judge(made.array("suspected")[: count * words].reshape(-1, words).copy())
        return count

    def _judge(self, suspects: np.ndarray) -> None:
        """Judge suspects that were noted while no thread learned anything, a row each. Many differ in the location alone, or in
        the lane, and of each kind one is judged."""
        every = SuspectedRace(*suspects.T)
        threads, others = (np.where(every.ordered, -1, column) for column in (every.thread, every.other))
        ctas = (self.knowledge.cta_of(column) for column in (every.thread, every.other))
        access, earlier = (every.op, every.writes), (every.by, every.time, every.wrote, every.ordered)
        alike = np.column_stack([threads, others, *ctas, every.thread == every.other, *access, *earlier])
        _, first, which = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        before: dict[tuple[Any, ...], bool] = {}
        races = [self._is_race(SuspectedRace(*row), before) for row in suspects[first].tolist()]
        for row in suspects[np.array(races)[which.reshape(-1)]].tolist():
            self._report(SuspectedRace(*row))

    def _is_race(self, s: SuspectedRace, known: dict[tuple[Any, ...], bool]) -> bool:
        """Whether two accesses race; `known` are answers that other suspects have had."""
        if not s.ordered:
            asked = s.other, s.time, self.knowledge.knowing(s.thread)
            if asked not in known:
                known[asked] = self.knowledge.is_before(*asked)
            if not known[asked]:
                return True
        before, kind = self._kinds(s)
        level = self.knowledge.level(s.other, s.thread)
        return not (self.classes.connected(before, kind, level) or self._fenced(before, kind, s))

    def _kinds(self, s: SuspectedRace) -> tuple[int, int]:
        """The classes of the earlier access and of the later one."""
        classes = self.classes
        return (classes.writes if s.wrote else classes.reads)[s.by], (classes.writes if s.writes else classes.reads)[
            s.op
        ]

    def _report(self, s: SuspectedRace) -> None:
        """Count a race, and make a finding of it."""
        classes, knowledge = self.classes, self.knowledge
        before, kind = self._kinds(s)
        level = knowledge.level(s.other, s.thread)
        self._count(s)

        def finding() -> LaunchFinding:
            location = self._location(s.place)
            size = max(1, min(classes.all[kind].size, shadow.CELL) if kind >= 0 else shadow.CELL)
            where, other = self._where(s.thread, s.op), self._where(s.other, s.by)
            missed = knowledge.missed.get(s.thread)
            pair = RacingPair(
                (before, kind),
                (other, where),
                (bool(s.wrote), bool(s.writes)),
                level,
                s.op == s.by and s.wrote == s.writes,
                None if missed is None else (missed[0].kind, missed[1]),
            )
            return LaunchFinding(
                "race", reason(classes, pair), where, other, location.space, location.address, size, self._page
            )

        self.collector.report(("race", s.op, s.by, s.writes, s.wrote, level), finding)

    def _fenced(self, before: int, kind: int, s: SuspectedRace) -> bool:
        """Whether a proxy fence that is about the two accesses was executed between them, by a CTA of either."""
        ctas = self.knowledge.cta_of(s.other), self.knowledge.cta_of(s.thread)
        for cta, of_class in zip(ctas, (before, kind), strict=True):
            for fence, time in self._proxy_fences[cta].items():
                if (time >= s.time or cta != ctas[0]) and self.classes.links(fence, of_class):
                    return True
        return False

    def _count(self, s: SuspectedRace) -> None:
        """Count a race of two instructions: of many, shadow.py tells no longer."""
        pairs, raced = self._shadow.array("pairs"), self._shadow.array("raced")
        slot, pair = (s.op * 31 + s.by) % shadow.PAIRS, (s.op << 24) + s.by + 1
        if pairs[slot] != pair:
            pairs[slot], raced[slot] = pair, 0
        raced[slot] += 1

    def _where(self, thread: int, op: int) -> Where:
        """A thread of the grid, and its instruction."""
        code = self.program.kernel.code
        return where_is(self.checked, code[op % len(code)], self.extents.where(thread, 0))


class SuspectedRace(NamedTuple):
    """An access that is not known to be ordered behind an earlier one, or that is of another proxy than that: the words that
    shadow.py notes of it."""

    place: int
    thread: int
    op: int
    writes: int
    other: int
    by: int
    time: int
    wrote: int
    ordered: int


def _page_of_races() -> str:
    """The document and the line that say what a data race is."""
    code = contracts.races.races.__wrapped__.__code__  # type: ignore[attr-defined]
    return f"{page_name(code.co_filename)}:{code.co_firstlineno}"
