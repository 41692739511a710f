"""All of a launch but its arguments, made ready once: a kernel, its shape, and options."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ptxspec import contracts
from ptxspec.base import options
from ptxspec.language.checked import Kernel
from ptxspec.machine.batch import Extents
from ptxspec.machine.blocks import Blocks
from ptxspec.machine.call_graph import entry_size, stack_moves
from ptxspec.machine.counting import CountCollector, Counts
from ptxspec.machine.driver import codes
from ptxspec.machine.engine import EngineRun, PreparedProgram
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.events import LEAK, RACE, EventReceiver, ObservedEvents
from ptxspec.machine.exact_engine import ExactEngine
from ptxspec.machine.findings import FindingCollector, LaunchFinding
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.host import Host, open_result
from ptxspec.machine.images import OPAQUE_TYPES
from ptxspec.machine.imaging import ImageUnit
from ptxspec.machine.leaks import report_leaks
from ptxspec.machine.limits import LaunchLimits
from ptxspec.machine.marshalling import Parameters, PassedArray
from ptxspec.machine.memory import LaunchMemory
from ptxspec.machine.owned import NO_MEMORY, ReachedMemory
from ptxspec.machine.program import KernelProgram, updates_in_common
from ptxspec.machine.repetition import RepeatedLaunch, repeated_arrays
from ptxspec.machine.system import System
from ptxspec.machine.turn_schedule import TurnSchedule
from ptxspec.machine.workers import OUTGROWN, SharingChoice, together
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.profiles import Profile

if TYPE_CHECKING:
    from ptxspec.machine.launch import Launches
    from ptxspec.machine.native.engine import NativeRun
    from ptxspec.machine.observing import Observer
    from ptxspec.machine.racing.checker import CellPool
    from ptxspec.machine.stale_reads import StaleReads

#: what the host makes of arrays for textures, samplers and surfaces
IMAGES = tuple(OPAQUE_TYPES)
#: bytes of memory of threads and CTAs that are kept from launch to launch, at most
_KEPT = 1 << 22


class Outcome(NamedTuple):
    """The result of a launch. `steps` is the number of thread-instructions executed: an instruction that a warp of 32 threads
    executes counts 32 times. `schedule` has the choices of a launch that chose whose turn it was, to be followed by another
    one; else None. `counts` has what the instructions did, if the launch counted that. `findings` has what the checks of the
    launch found, and `findings_omitted` says how many more there were.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
    >>> ptxspec.load(text).launch("nothing", block=32).steps
    32
    """

    steps: int
    schedule: tuple[int, ...] | None = None
    counts: Counts | None = None
    findings: tuple[LaunchFinding, ...] = ()
    findings_omitted: int = 0


class LaunchSettings(NamedTuple):
    """The options of a launch, checked: the engine, the profile, how many threads of the host there may be, where texts go,
    what memory begins with, when pieces of asynchronous operations land, whether products and sums are contracted, the
    schedule, what is observed, and whether findings of checks are collected, not raised."""

    engine: str
    profile: Profile
    workers: int
    printed: Callable[[str], object]
    fresh: Fresh | None
    copies: options.Copies
    contracts_all: bool
    schedule: TurnSchedule
    observers: Sequence[Observer]
    observed: ObservedEvents
    collects: bool


class LaidOutLaunch(NamedTuple):
    """What a launch begins with: the kernel, the shape, the memory, and the arrays that are passed."""

    program: KernelProgram
    extents: Extents
    memory: LaunchMemory
    arrays: Sequence[PassedArray]


class LaunchPlan:
    """A kernel of a module, the shape of a grid, and options. Executions follow one another; the memory of threads and CTAs, and
    the engine's arrays, serve all of them, if they are small."""

    def __init__(
        self,
        launches: Launches,
        kernel: Kernel,
        extents: Extents,
        settings: LaunchSettings,
        limits: LaunchLimits,
        spread: bool | None = None,
    ):
        """`limits` are those of the first execution. `spread` says whether the code is for workers that share a grid; it is where
        there are several. Raises LaunchError if there is no room for one cluster, and ValueError for too much shared memory."""
        self.limits = limits
        self._launches, self._kernel, self._settings = launches, kernel, settings
        self.program = launches.program(kernel.name, settings, extents)
        self._extents = extents._replace(shared=self.program.shared_size(extents.dynamic_shared))
        contracts.limits.check_shared(extents.dynamic_shared, self._extents.shared)
        self._parameters = Parameters(kernel)
        self._ctas = extents.ctas
        draws = self.program.asynchronous is not None and settings.copies.startswith("random")  # one after the other
        workers = settings.workers if self.program.spreads and not draws else 1
        self._slots, self._workers = limits.shares(self.program, self._extents, workers)
        #: whether the code is that of several workers; whether they share a launch; and the seconds that the last one took
        self._spread = self._workers > 1 and updates_in_common(self.program) if spread is None else spread
        self._pace = kernel.name, extents.threads
        pace = launches.paces.get(self._pace)
        expected = None if pace is None else pace * self._ctas
        self._sharing = SharingChoice(self._workers > 1, expected, self._spread)
        self._seconds = math.inf
        self._is_alone = spread is not None
        self._alone: LaunchPlan | None = None
        places = (*launches.checked.places.values(), *kernel.parameters)
        self._names_images = any(place.opaque for place in places)
        self._no_images = ImageUnit({}, {}, settings.profile, settings.engine == "native")
        #: of each worker the memory and the engine's run, which the next execution has again
        self._memories: list[LaunchMemory] = []
        self._runs: dict[int, NativeRun] = {}
        self._fills = launches.fills
        #: whether executions have nothing of their own on the host's side; and that side, if it is kept
        self._keeps_host = not (settings.observers or settings.observed.counts or settings.observed.checks)
        self._keeps_host = self._keeps_host and not settings.schedule.chooses
        self._host: Host | None = None
        #: what the last execution has left for one that is like it, and the identities of the arrays that it had
        self._repeated: RepeatedLaunch | None = None
        self._passed: list[int] = []

    def __str__(self) -> str:
        return f"{self._kernel.name}, grid {self._extents.grid}, block {self._extents.block}"

    @cached_property
    def reaching_unwritten(self) -> LaunchPlan:
        """The same for launches that may reach global memory which is not initialized."""
        observed = self._settings.observed._replace(unwritten=True)
        return LaunchPlan(
            self._launches, self._kernel, self._extents, self._settings._replace(observed=observed), self.limits
        )

    @property
    def repetition(self) -> RepeatedLaunch | None:
        """What the last execution has left, if the next one may do with it."""
        if not self._sharing.is_settled:
            return None
        return self.alone._repeated if self._sharing.is_alone else self._repeated

    @property
    def alone(self) -> LaunchPlan:
        """The same with one worker. It runs the code that several have until it is settled that they share no launch."""
        spread = self._spread and not self._sharing.is_settled
        if self._alone is None or self._alone._spread != spread:
            settings = self._settings._replace(workers=1)
            self._alone = LaunchPlan(self._launches, self._kernel, self._extents, settings, self.limits, spread)
        return self._alone

    def execute(self, args: Sequence[Any], reached: ReachedMemory) -> Outcome:
        """Run the grid, and let the arrays, the images and the module have what it wrote. The limits have begun. Raises what
        `Module.launch` does."""
        if self._sharing.is_alone:
            outcome = self.alone.execute(args, reached)
            self._sharing.note(self.alone._seconds)
            return outcome
        launches, kernel, settings = self._launches, self._kernel, self._settings
        self._repeated = None
        schedule = settings.schedule.again()
        unit = self._no_images
        if self._names_images or _has_images(args):
            images = launches.images(kernel, args)
            unit = ImageUnit(*images, settings.profile, settings.engine == "native", self.limits.check)
            args = [unit.handle_of(a) if isinstance(a, IMAGES) else a for a in args]
        space = launches.space
        space.begin()
        parameters, arrays = self._parameters.arguments(args, space)
        has_warned = bool(arrays) and launches.warn_of_elements(kernel, arrays)
        launches.number += 1
        number = launches.number
        blocks = launches.blocks(reached, arrays, settings.observed.unwritten)
        counting = CountCollector(self.program) if settings.observed.counts else None
        collector = FindingCollector() if settings.observed.checks else None
        try:
            memory = self._memory(blocks, parameters, args)
            host = self._host
            if host is None or unit is not self._no_images:
                host = self._host_of(number, memory, unit, schedule, counting, collector)
            steps = self._run(host, number)
            if collector is not None and LEAK in settings.observed.checks:
                report_leaks(launches.checked, memory, unit, collector)
            unit.finish()
            if collector is not None and collector.some and not settings.collects:
                raise collector.error()
        except BaseException as error:
            if collector is not None and isinstance(error, LaunchError):
                error.findings, error.findings_omitted = collector.findings(), collector.omitted
            blocks.undo()
            self._forget()
            raise
        finally:
            blocks.end()
            if arrays:
                space.forget([passed.block.span for passed in arrays])
        for passed in arrays:
            passed.finish()
        launches.heap = memory.heap
        for kept in self._memories:
            kept.end()
        if memory.own_bytes * len(self._memories) > _KEPT:
            self._forget()
        if unit is self._no_images and not has_warned:
            self._repeated = self._repetition(reached, args, arrays, blocks, steps)
        counts = None if counting is None else counting.counts(launches.checked)
        results = () if collector is None else (collector.findings(), collector.omitted)
        return Outcome(steps, schedule.reported, counts, *results)

    @contextmanager
    def laid_out(self, args: Sequence[Any]) -> Iterator[LaidOutLaunch]:
        """What an execution begins with. Nothing is executed, and no memory of the caller is written. Raises what
        `Module.launch` does."""
        launches = self._launches
        launches.space.begin()
        parameters, arrays = self._parameters.arguments(args, launches.space)
        blocks = launches.blocks(NO_MEMORY, arrays, False)
        try:
            memory = self._memory(blocks, parameters, args)
            yield LaidOutLaunch(self.program, self._extents, memory, arrays)
        finally:
            blocks.end()
            launches.space.forget([passed.block.span for passed in arrays])
            self._forget()

    def _repetition(
        self, reached: ReachedMemory, args: Sequence[Any], arrays: Sequence[PassedArray], blocks: Blocks, steps: int
    ) -> RepeatedLaunch | None:
        """What an execution has left that reached this memory, had these arguments, arrays and blocks, and no images."""
        host, launches = self._host, self._launches
        runs = [running for worker in range(self._workers) if (running := self._runs.get(worker)) is not None]
        if host is None or len(runs) < self._workers or len(self._memories) < self._workers:
            return None
        if launches.heap is not None or len(reached.memories) > 1 or self.program.shadows is not None:
            return None
        if launches.space.bits < 64 or self.limits.tells or not launches.log.is_kept:
            return None
        if not all(running.repeats for running in runs) or (arrays and reached.memories):
            return None
        before, self._passed = self._passed, [id(passed.array) for passed in arrays]
        if before != self._passed:  # others each time, perhaps
            return None
        repeated = repeated_arrays(self._parameters, args, arrays, blocks)
        if repeated is None:
            return None
        hosts = [host, *(host._replace(memory=memory) for memory in self._memories[1:])]
        return RepeatedLaunch(
            launches, self._parameters, args, list(zip(hosts, runs, strict=True)), reached, repeated, blocks, Outcome,
            self._forget, OUTGROWN * steps if self._is_alone else None,
        )  # fmt: skip

    def _forget(self) -> None:
        """Let the next execution have other memory."""
        self._repeated = None
        self._memories, self._runs, self._host, self._fills = [], {}, None, self._launches.fills

    def _memory(self, blocks: Blocks, parameters: bytes, args: Sequence[Any]) -> LaunchMemory:
        """The memory of an execution."""
        launches, extents, program = self._launches, self._extents, self.program
        if self._fills != launches.fills:
            self._forget()
        if not self._memories:
            alive = None
            if stack_moves(program.kernel):  # what is there when a thread begins
                alive = entry_size(program.kernel)
            self._memories = [
                LaunchMemory(
                    launches.space,
                    launches.constants,
                    len(parameters),
                    program.sizes(extents.shared),
                    self._slots,
                    self._slots * extents.threads,
                    alive,
                    extents.cluster_size,
                    self._settings.fresh,
                    program.ignores_upper_halves,
                    program.shadows is not None,
                )
            ]
        memory = self._memories[0]
        memory.begin(blocks, parameters, None if launches.heap is None else launches.heap.copy())
        if program.shadows is not None:
            memory.shadow_parameters(self._parameters.initialized(args))
        return memory

    def _host_of(
        self,
        number: int,
        memory: LaunchMemory,
        unit: ImageUnit,
        schedule: TurnSchedule,
        counting: CountCollector | None,
        collector: FindingCollector | None,
    ) -> Host:
        """The host's side of the launch of this number."""
        settings, program, checked = self._settings, self.program, self._launches.checked
        extents = self._extents.numbered(number)
        system = System(memory, extents.threads, settings.printed, self.limits.check)
        receivers: list[EventReceiver] = []
        if settings.observers:
            from ptxspec.machine.observing import EventDispatcher  # which few launches need

            receivers.append(EventDispatcher(settings.observers, checked, program, extents, memory, unit))
        if collector is not None and RACE in settings.observed.checks:
            from ptxspec.machine.racing.checker import RaceChecker  # with pages that few launches need

            receivers.append(
                RaceChecker(settings.engine, checked, program, extents, memory, unit, collector, self._cells())
            )
        if collector is not None and program.shadows is not None:
            from ptxspec.machine.uninitialized import UninitializedChecker

            receivers.append(UninitializedChecker(checked, program, extents, memory, collector))
        host = Host(checked, program, extents, memory, unit, system, self.limits, schedule, counting, tuple(receivers))
        if self._keeps_host and unit is self._no_images:
            self._host = host
        return host

    def _run(self, host: Host, number: int) -> int:
        """Run the threads; how many steps that took."""
        try:
            return self._run_grid(host, number, self._stale(host)) if self.program.flow.blocks else 0
        except NoChoice as error:
            raise open_result(error, None) from None
        except LaunchError as error:
            error.schedule = host.schedule.reported
            raise

    def _cells(self) -> CellPool:
        """What the launches of the module keep for checks for races."""
        from ptxspec.machine.racing.checker import CellPool

        if self._launches.cells is None:
            self._launches.cells = CellPool()
        return self._launches.cells

    def _stale(self, host: Host) -> StaleReads | None:
        """What reads return that need not return the newest value."""
        schedule, extents = host.schedule, self._extents
        if not schedule.weakest:
            return None
        from ptxspec.machine.stale_reads import StaleReads  # with pages that few launches need

        classes = self._cells().classes(self.program.kernel, extents.threads)
        return StaleReads(classes, extents, host.memory, schedule.seed)

    def _run_grid(self, host: Host, number: int, stale: StaleReads | None) -> int:
        """Run the grid; how many steps that took."""
        limits, workers = self.limits, self._workers
        limits.ctas = self._ctas
        engine = self._launches.engine(self._settings)
        if stale is not None:
            assert isinstance(engine, ExactEngine)
            engine.stale = stale
        prepared = engine.prepared(self.program, self._spread, limits.check)
        works = [partial(host.run, self._running(host, number, prepared, 0), 0)]
        for worker in range(1, workers):
            beside = self._beside(host, worker)
            works.append(partial(beside.run, self._running(beside, number, prepared, worker), worker))
        began = time.perf_counter()
        steps = together(works, limits.stop)
        self._seconds = time.perf_counter() - began
        pace, paces = self._seconds * workers / self._ctas, self._launches.paces
        paces[self._pace] = min(pace, paces.get(self._pace, math.inf))
        self._sharing.note(self._seconds)
        if stale is not None:
            stale.settle()
        limits.note_end()
        return steps

    def _beside(self, host: Host, worker: int) -> Host:
        """The host's side of another worker, which has memory of its own for its CTAs."""
        if worker == len(self._memories):
            self._memories.append(host.memory.beside())
        memory = self._memories[worker]
        memory.begin_beside(host.memory)
        return host._replace(memory=memory)

    def _running(self, host: Host, number: int, prepared: PreparedProgram, worker: int) -> EngineRun:
        """A worker's run of the launch of this number: that of the last execution, if it can be had again."""
        kept = self._runs.get(worker)
        if kept is not None and kept.restart(prepared, number):
            return kept
        empties = int(self._settings.engine == "exact" or host.memory.is_large)
        if host.memory.fresh is not None:
            empties = codes.FILLS
        numbered = host._replace(extents=self._extents.numbered(number))
        running = numbered.begin(prepared, self._slots, worker, self._workers, empties)
        if self._settings.engine == "native":  # a run of the exact engine is of one execution
            self._runs[worker] = cast("NativeRun", running)
        return running


def _has_images(args: Sequence[Any]) -> bool:
    for value in args:
        if isinstance(value, IMAGES):
            return True
    return False
