"""Launching a grid: arguments in, threads run batch by batch, arrays back."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from ptxspec import contracts
from ptxspec.base import options
from ptxspec.base.escaping import LINES, printable
from ptxspec.language.checked import Checked, InitialPointer, Kernel, Op
from ptxspec.language.diagnostics import MOST_ERRORS, Diagnostic
from ptxspec.language.gaps import GapError
from ptxspec.machine.batch import Extents
from ptxspec.machine.call_graph import gaps_reached, stack_moves
from ptxspec.machine.counting import CountCollector, Counts
from ptxspec.machine.driver import codes
from ptxspec.machine.elements import floating_accesses
from ptxspec.machine.engine import Engine
from ptxspec.machine.errors import LaunchError
from ptxspec.machine.events import EventKind, ObservedEvents
from ptxspec.machine.exact_engine import BlockObserver, EndObserver, ExactEngine
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.heap import Heap, new_heap
from ptxspec.machine.host import Host, open_result
from ptxspec.machine.images import OPAQUE_TYPES, Sampler, Surface, Texture
from ptxspec.machine.imaging import ImageUnit
from ptxspec.machine.limits import LaunchLimits, Progress
from ptxspec.machine.marshalling import Arrays, Buffers, arguments, bytes_of, host_span, in_order, store
from ptxspec.machine.memory import AddressSpace, LaunchMemory
from ptxspec.machine.owned import Memory as OwnedMemory
from ptxspec.machine.owned import Owned, held
from ptxspec.machine.program import KernelProgram, describe, function_addresses, program
from ptxspec.machine.system import System
from ptxspec.machine.turn_schedule import TurnSchedule
from ptxspec.machine.workers import CtaShare, together
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.profiles import Profile
from ptxspec.terms.registries import SYSTEM_FUNCTIONS

if TYPE_CHECKING:
    from ptxspec.machine.native import NativeEngine
    from ptxspec.machine.observing import Observer

#: what the host makes of arrays for textures, samplers and surfaces
IMAGES = tuple(OPAQUE_TYPES)


class Outcome(NamedTuple):
    """The result of a launch. `steps` is the number of thread-instructions executed: an instruction that a warp of 32 threads
    executes counts 32 times. `schedule` has the choices of a launch that chose whose turn it was, to be followed by another
    one; else None. `counts` has what the instructions did, if the launch counted that.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
    >>> ptxspec.load(text).launch("nothing", block=32).steps
    32
    """

    steps: int
    schedule: tuple[int, ...] | None = None
    counts: Counts | None = None


class LaunchShape(NamedTuple):
    """The shape of a launch, as the caller gives it."""

    grid: Any
    block: Any
    cluster: Any
    dynamic_shared: Any
    nonportable_cluster: bool


class LaunchBounds(NamedTuple):
    """The limits of a launch, as the caller gives them, and the function that is told of progress."""

    step_limit: Any
    time_limit: Any
    memory_limit: Any
    progress: Progress | None


class LaunchOptions(NamedTuple):
    """The other options of a launch, as the caller gives them."""

    engine: Any
    profile: str | Profile
    workers: Any
    printed: Callable[[str], object] | None
    memories: Sequence[OwnedMemory]
    seed: int | None
    copies: Any
    contract: Any
    schedule: Any
    counts: bool
    observers: Sequence[Observer] = ()


class LaunchSettings(NamedTuple):
    """The options of a launch, checked: the engine, the profile, how many threads of the host there may be, where texts go, when
    pieces of asynchronous operations land, and whether products and sums are contracted."""

    engine: str
    profile: Profile
    workers: int
    printed: Callable[[str], object]
    owned: Owned | None
    fresh: Fresh | None
    copies: options.Copies
    contracts_all: bool
    schedule: TurnSchedule
    observers: Sequence[Observer]
    observed: ObservedEvents


class Launches:
    """What a module's launches share and leave: its variables, what is bound, and kernels made ready. One thread at a time uses
    it."""

    def __init__(self, checked: Checked):
        self.checked = checked
        self._data = {
            name: self._image(name) for name, space in contracts.state_spaces.SPACES.items() if space.initialized
        }
        page = contracts.banks
        empty = np.zeros(0, np.uint8)
        self._data |= {page.space_of(n): empty for n in range(page.BANKS) if n != page.FIRST}
        self._heap = self._make_heap()
        self._space = AddressSpace(len(self._data[contracts.state_spaces.OF_BUFFERS]), self.checked.address_size)
        self._native: NativeEngine | None = None
        self._exact: ExactEngine | None = None
        self._profiles: dict[tuple[str, int | None], Profile] = {}
        self._programs: dict[tuple[str, str, bool, bool, bool, bool, ObservedEvents, bool], KernelProgram] = {}
        self._launches = 0
        self._gaps: dict[str, list[Diagnostic]] = {}
        #: by entry, what is known of the floating-point numbers that its parameters point to
        self._floats: dict[str, dict[str, dict[int, Op]]] = {}
        self._bound: dict[str, Any] = {}

    def _refuse_gaps(self, name: str) -> None:
        """Raise GapError if an entry may come to an instruction that no page describes."""
        if name not in self._gaps:
            self._gaps[name] = gaps_reached(self.checked, name)
        gaps = self._gaps[name]
        if gaps:
            raise GapError(gaps[:MOST_ERRORS], max(0, len(gaps) - MOST_ERRORS))

    def _make_heap(self) -> Heap | None:
        """The heap, if a function is declared that needs one: it follows the module's variables, after a gap."""
        if not any(f.uses_heap for name, f in SYSTEM_FUNCTIONS.items() if name in self.checked.signatures):
            return None
        start = contracts.memory_rules.heap_begins(len(self._data[contracts.state_spaces.OF_BUFFERS]))
        heap = new_heap(contracts.generic_addressing.GLOBAL_BASE + start)
        self._data[contracts.state_spaces.OF_BUFFERS] = self._image(
            contracts.state_spaces.OF_BUFFERS, start + heap.size
        )
        return heap

    def _image(self, space: str, size: int | None = None) -> np.ndarray:
        """What a state space begins as. The host gives memory only for the parts that are not zero."""
        image = np.zeros(self.checked.sizes[space] if size is None else size, np.uint8)
        addresses = function_addresses(self.checked)
        for place in self.checked.places.values():
            if place.space == space and place.initial:
                data = bytearray(place.initial)
                for pointer in place.pointers:
                    at = pointer.offset
                    data[at : at + pointer.size] = self._address(pointer, addresses).to_bytes(pointer.size, "little")
                image[place.offset : place.offset + len(data)] = np.frombuffer(data, np.uint8)
        return image

    def _address(self, pointer: InitialPointer, addresses: Mapping[str, int]) -> int:
        """What an initializer gets that names a function, which has one of these addresses, or a variable."""
        page, address = contracts.initializers, addresses.get(pointer.name)
        if address is None:
            layout = contracts.generic_addressing
            place = self.checked.places[pointer.name]
            start = place.offset + (layout.GLOBAL_BASE if place.space == contracts.state_spaces.OF_BUFFERS else 0)
            address = page.pointer(start, pointer.addend, layout.base(place.space) if pointer.generic else 0)
        return page.placed(address, pointer.size) if pointer.mask is None else page.masked(pointer.mask, address)

    def bind(self, name: str, thing: Texture | Sampler | Surface) -> None:
        """Say what an opaque variable stands for."""
        place = self.checked.places.get(name)
        if place is None or not place.opaque:
            known = ", ".join(p.name for p in self.checked.places.values() if p.opaque) or "none"
            raise KeyError(f"the module has no opaque variable {name!r}; there are {known}")
        _check_kind(name, place.opaque, thing)
        self._bound[name] = thing

    def _images(self, kernel: Kernel, args: Sequence[Any]) -> tuple[dict[int, Any], dict[int, str]]:
        """What each handle stands for, and what it is called: variables of the module, parameters, and images passed by value."""
        page = contracts.opaque_types
        bound: dict[int, Any] = {}
        names: dict[int, str] = {}
        for name, place in self.checked.places.items():
            if place.opaque:
                names[place.offset] = name
                if name in self._bound:
                    bound[place.offset] = self._bound[name]
        for i, (place, value) in enumerate(zip(kernel.parameters, args, strict=False)):
            if place.opaque:
                _check_kind(f"argument {i} ({place.name})", place.opaque, value)
                bound[place.offset], names[place.offset] = value, place.name
            elif isinstance(value, IMAGES):
                handle = page.handle(page.HOST_HANDLES, i + 1, OPAQUE_TYPES[type(value)])
                bound[handle], names[handle] = value, f"argument {i} ({place.name})"
        return bound, names

    def launch(
        self, name: str, shape: LaunchShape, args: Sequence[Any], bounds: LaunchBounds, requested: LaunchOptions
    ) -> Outcome:
        """Run an entry over a grid."""
        kernel = self.checked.kernels.get(name)
        if kernel is None:
            raise ValueError(f"no entry is called {name!r}; there are {', '.join(self.checked.kernels) or 'none'}")
        self._refuse_gaps(kernel.name)
        extents = _shape(kernel.name, kernel.performance, shape)
        engine, workers, seed = requested.engine, requested.workers, requested.seed
        if engine not in get_args(options.Engine):
            raise ValueError(f"an engine is 'native' or 'exact', not {engine!r}")
        if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
            raise ValueError(f"workers is an integer above 0, not {workers!r}")
        limits = LaunchLimits(engine, *bounds)
        observed = ObservedEvents(
            requested.counts, frozenset(EventKind(k) for o in requested.observers for k in o.kinds)
        )
        in_order_of_ctas = engine == "exact" or bounds.step_limit is not None or bool(observed.kinds)
        spread = 1 if in_order_of_ctas else int(workers)
        landing, schedule = _landing(requested.copies), TurnSchedule(requested.schedule)
        if requested.contract not in get_args(options.Contract):
            raise ValueError(f"contract is 'none' or 'all', not {requested.contract!r}")
        with held(requested.memories, in_order(args)) as owned:
            fresh = None if seed is None else Fresh(operator.index(seed))
            profile = self._profile(requested.profile, seed)
            settings = LaunchSettings(
                engine=engine,
                profile=profile,
                workers=spread,
                printed=requested.printed or _to_standard_output,
                owned=owned,
                fresh=fresh,
                copies=landing,
                contracts_all=requested.contract == "all",
                schedule=schedule,
                observers=requested.observers,
                observed=observed,
            )
            with nullcontext() if owned is None else owned.undone():
                return self._run(kernel, extents, args, limits, settings)

    def _run(
        self, kernel: Kernel, extents: Extents, args: Sequence[Any], limits: LaunchLimits, settings: LaunchSettings
    ) -> Outcome:
        """Run an entry, and let the arrays, the images and the module have what it wrote. Raises what `launch` does."""
        ready = self._ready(kernel.name, settings, extents)
        extents = extents._replace(shared=ready.shared_size(extents.dynamic_shared))
        contracts.limits.check_shared(extents.dynamic_shared, extents.shared)
        unit = ImageUnit(*self._images(kernel, args), settings.profile, settings.engine == "native", limits.check)
        args = [unit.handle_of(a) if isinstance(a, IMAGES) else a for a in args]
        self._space.begin()
        buffers, parameters, arrays = arguments(kernel, args, self._space)
        self._warn_of_elements(kernel, arrays)
        if settings.owned is not None:
            self._check_apart(settings.owned, buffers, arrays)
        slots = limits.slots(ready, extents)
        self._launches += 1
        extents = extents._replace(launch=self._launches)
        memory = self._memory(ready, extents, buffers, parameters, slots, settings)
        system = System(memory, extents.threads, settings.printed, limits.check)
        counting = CountCollector(ready) if settings.observed.counts else None
        observing = None
        if settings.observed.kinds:
            from ptxspec.machine.observing import EventDispatcher  # which few launches need

            observing = EventDispatcher(settings.observers, self.checked, ready, extents, memory)
        host = Host(self.checked, ready, extents, memory, unit, system, limits, settings.schedule, counting, observing)
        try:
            steps = _through(self._engine(settings), host, slots, settings) if ready.flow.blocks else 0
        except NoChoice as error:
            raise open_result(error, None) from None
        except LaunchError as error:
            error.schedule = settings.schedule.reported
            raise
        finally:
            self._space.forget(a for a, _ in buffers)
        for (_, array), (allocation, _) in zip(arrays, buffers, strict=True):
            if allocation.writable and array.size:
                at = memory.place(allocation)
                store(array, memory.arena[at : at + allocation.size])
        unit.finish()
        self._data[contracts.state_spaces.OF_BUFFERS][:] = memory.arena[: memory.module_size]
        self._heap = memory.heap
        return Outcome(steps, settings.schedule.reported, None if counting is None else counting.counts(self.checked))

    def _warn_of_elements(self, kernel: Kernel, arrays: Arrays) -> None:
        """Warn of an array of floating-point numbers that the kernel accesses as others of another size alone."""
        if not any(array.dtype.kind == "f" for _, array in arrays):
            return
        if kernel.name not in self._floats:
            self._floats[kernel.name] = floating_accesses(kernel)
        for what, array in arrays:
            place = next(p for i, p in enumerate(kernel.parameters) if what == f"argument {i} ({p.name})")
            sizes = self._floats[kernel.name].get(place.name, {})
            if array.dtype.kind == "f" and sizes and 8 * array.itemsize not in sizes:
                op = next(iter(sizes.values()))
                path, line = self.checked.source.place(op.position)
                warnings.warn(
                    f"{what}: the array has {array.dtype}, and the kernel accesses floating-point numbers of "
                    f"{' or '.join(map(str, sizes))} bits there ({path}:{line}: "
                    f"{describe(op, self.checked.source.text)}); pass an array of the kernel's type, or x.view(np.uint8) "
                    f"if its bytes are meant",
                    stacklevel=6,
                )

    def _check_apart(self, owned: Owned, buffers: Buffers, arrays: Arrays) -> None:
        """Raise ValueError if what the caller owns has addresses of this launch, or bytes of an array that is passed."""
        start = self._space.module_base
        owned.check_apart(start, start + len(self._data[contracts.state_spaces.OF_BUFFERS]), "the module's variables")
        for (allocation, _), (what, array) in zip(buffers, arrays, strict=True):
            owned.check_apart(allocation.base, allocation.base + allocation.size, "arrays of the launch")
            span = host_span(what, array)
            if array.size:
                owned.check_array(what, span.first, span.end)

    def _memory(
        self,
        ready: KernelProgram,
        extents: Extents,
        buffers: Buffers,
        parameters: bytes,
        slots: int,
        settings: LaunchSettings,
    ) -> LaunchMemory:
        """The memory of a launch of which so many CTAs are resident at once."""
        kernel, threads, members = ready.kernel, slots * extents.threads, extents.cluster_size
        alive = None
        if stack_moves(kernel):  # a stack begins with the frame of the entry, the first that there is
            alive = contracts.functions.end_of_frame(0, self.checked.kernels[kernel.name].frame_size, 0)
        memory = LaunchMemory(
            self._space,
            self._data,
            buffers,
            parameters,
            ready.sizes(extents.shared),
            slots,
            threads,
            alive,
            members,
            settings.owned,
            settings.fresh,
            ready.ignores_upper_halves,
        )
        if self._heap is not None:
            start = self.checked.sizes[contracts.state_spaces.OF_BUFFERS]
            memory.shadow[start : memory.module_size] = contracts.access.NOTHING
            memory.hold(self._heap.copy())
        return memory

    def _ready(self, name: str, settings: LaunchSettings, extents: Extents) -> KernelProgram:
        """An entry, ready for an engine."""
        flags = (
            settings.owned is not None, settings.contracts_all, bool(settings.schedule.chooses), settings.observed,
            settings.schedule.alone,
        )  # fmt: skip
        key = (name, settings.profile.key, extents.cluster_size > 1, *flags)
        if key not in self._programs:
            self._programs[key] = program(self.checked, name, settings.profile, *key[2:])
        return self._programs[key]

    def _profile(self, name: str | Profile, seed: int | None) -> Profile:
        if isinstance(name, Profile):
            return name
        if (name, seed) not in self._profiles:
            self._profiles[name, seed] = Profile(name, seed)
        return self._profiles[name, seed]

    def _engine(self, settings: LaunchSettings) -> Engine:
        if settings.engine == "native":
            if self._native is None:
                from ptxspec.machine.native import NativeEngine  # LLVM, which the exact engine does without

                self._native = NativeEngine()
            self._native.copies = settings.copies
            return self._native
        if self._exact is None:
            self._exact = ExactEngine()
        self._exact.copies = settings.copies
        return self._exact

    @contextmanager
    def seen_by(self, seen: BlockObserver | None = None, left: EndObserver | None = None) -> Iterator[None]:
        """Tell of each block that a thread enters under the exact engine, and of each thread that ends."""
        self._exact = ExactEngine()
        self._exact.seen, self._exact.left = seen, left
        try:
            yield
        finally:
            self._exact = None

    def write(self, name: str, value: Any) -> None:
        """Set a variable, or what a bank holds."""
        data = bytes_of(name, value)
        bank = self._bank(name)
        if bank is not None:
            if len(data) > contracts.banks.BANK_SIZE:
                raise ValueError(
                    f"a bank of constants holds at most {contracts.banks.BANK_SIZE} bytes, not {len(data)}"
                )
            self._data[bank] = np.frombuffer(data, np.uint8)
            return
        variable = self.variable(name)
        if len(data) > len(variable):
            raise ValueError(f"{name} has {len(variable)} bytes, not {len(data)}")
        variable[: len(data)] = np.frombuffer(data, np.uint8)

    def _bank(self, name: str) -> str | None:
        """The state space of a bank that a variable is the beginning of, or of one that is named itself; None for other names."""
        place = self.checked.places.get(name)
        if place is not None:
            return place.space if place.in_a_bank else None
        return name[1:] if name.startswith(".") and name.endswith("]") and name[1:] in self._data else None

    def variable(self, name: str) -> np.ndarray:
        """The bytes of a variable, not a copy."""
        bank = self._bank(name)
        if bank is not None:
            return self._data[bank]
        place = self.checked.places.get(name)
        if place is None or place.space not in self._data or "@" in name:
            known = sorted(n for n, p in self.checked.places.items() if p.space in self._data and "@" not in n)
            raise KeyError(f"no variable in .global or .const is called {name}; there are {', '.join(known) or 'none'}")
        return self._data[place.space][place.offset : place.offset + place.size]


def _landing(copies: Any) -> options.Copies:
    """When pieces of asynchronous copies land. Raises TypeError and ValueError for what says no such thing."""
    words = "'early', 'late', 'each' or 'random:SEED'"
    if not isinstance(copies, str):
        raise TypeError(f"copies is {words}, not {copies!r}")
    kind, _, seed = copies.partition(":")
    drawn = kind == "random" and seed.isascii() and seed.isdecimal() and len(seed) < 20
    if copies not in ("early", "late", "each") and not drawn:
        raise ValueError(f"copies is {words}, not {copies!r}")
    return copies


def _to_standard_output(text: str) -> None:
    """Write what a thread printed. What a terminal would act on, it sees escaped; a file or a pipe gets the text as it is."""
    sys.stdout.write(printable(text, LINES) if sys.stdout.isatty() else text)


def _check_kind(what: str, opaque: str, thing: Any) -> None:
    expected = next(kind for kind, name in OPAQUE_TYPES.items() if name == opaque.split()[0])
    if not isinstance(thing, expected):
        raise TypeError(
            f"{what} is a .{opaque.split()[0]}: a {expected.__name__} is needed, not {thing.__class__.__name__}"
        )


def _through(engine: Engine, host: Host, slots: int, settings: LaunchSettings) -> int:
    """Run a grid of which so many CTAs are resident at once; how many steps that took."""
    extents, limits = host.extents, host.limits
    limits.ctas = extents.ctas
    most = settings.workers if host.program.spreads else 1
    workers = limits.workers(min(most, -(-extents.ctas // slots)))
    prepared = engine.prepared(host.program, extents.ctas * extents.threads, workers > 1, limits.check)
    share, works = CtaShare(extents.ctas, slots, workers), []
    for worker, memory in enumerate([host.memory, *(host.memory.beside() for _ in range(workers - 1))]):
        empties = int(settings.engine == "exact" or memory.is_large) if memory.fresh is None else codes.FILLS
        worker_host = host._replace(memory=memory)
        works.append(partial(worker_host.run, worker_host.begin(prepared, slots, worker, empties), worker, share))
    steps = together(works, limits.stop)
    limits.note_end()
    return steps


def _shape(name: str, directives: Mapping[str, tuple[int, ...]], shape: LaunchShape) -> Extents:
    """The shape of a launch of an entry with these directives. Raises TypeError for what is no shape, and ValueError
    for one that pages do not allow."""
    try:
        dynamic_shared = operator.index(shape.dynamic_shared)
    except TypeError:
        raise TypeError(f"dynamic_shared is an integer, not {shape.dynamic_shared!r}") from None
    page, clusters = contracts.limits, contracts.clusters
    grid, block = _extents("grid", shape.grid, page.MOST_GRID), _extents("block", shape.block, page.MOST_BLOCK)
    requested = None if shape.cluster is None else _extents("cluster", shape.cluster, page.MOST_GRID)
    cluster_shape = clusters.of_launch(name, directives, requested)
    cluster = cluster_shape or clusters.NO_CLUSTERS
    grid, block = clusters.counted_in_ctas(directives, grid, block, cluster)
    page.check_extents("grid", grid, page.MOST_GRID)
    clusters.check_clusters(name, directives, grid, cluster, shape.nonportable_cluster)
    page.check_cta(name, directives, block)
    return Extents(
        grid, block, dynamic_shared=dynamic_shared, cluster=cluster, explicit_cluster=cluster_shape is not None
    )


def _extents(what: str, value: Any, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """Three extents of what may be fewer integers. Raises TypeError for anything else, ValueError beyond `most`."""
    parts = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, int | np.integer) for p in parts):
        raise TypeError(f"{what} is one, two or three integers, not {value!r}")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    contracts.limits.check_extents(what, (x, y, z), most)
    return x, y, z
