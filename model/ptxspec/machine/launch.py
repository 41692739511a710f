"""Launching a grid: arguments in, threads run batch by batch, arrays back."""

from __future__ import annotations

import operator
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from ptxspec import contracts
from ptxspec.base import options
from ptxspec.base.escaping import LINES, printable
from ptxspec.language.checked import Checked, InitialPointer, Kernel, Op
from ptxspec.language.diagnostics import MOST_ERRORS, Diagnostic
from ptxspec.language.gaps import GapError
from ptxspec.machine.batch import Extents
from ptxspec.machine.blocks import BlockKind, Blocks, BlockTable, GlobalBlock, UndoLog, shadow_block
from ptxspec.machine.call_graph import gaps_reached
from ptxspec.machine.elements import floating_accesses
from ptxspec.machine.engine import Engine
from ptxspec.machine.events import EventKind, ObservedEvents
from ptxspec.machine.exact_engine import BlockObserver, EndObserver, ExactEngine
from ptxspec.machine.findings import checks_of
from ptxspec.machine.fresh import Fresh
from ptxspec.machine.heap import Heap, needs_heap, new_heap
from ptxspec.machine.images import OPAQUE_TYPES, Sampler, Surface, Texture
from ptxspec.machine.launch_plan import IMAGES, LaunchPlan, LaunchSettings, Outcome
from ptxspec.machine.limits import LaunchLimits, Progress
from ptxspec.machine.marshalling import PassedArray, bytes_of, host_span, in_order
from ptxspec.machine.memory import PADDING, AddressSpace, padded
from ptxspec.machine.owned import NO_MEMORY, ReachedMemory, locks_of, memories_of, reached_by
from ptxspec.machine.owned import Memory as OwnedMemory
from ptxspec.machine.program import KernelProgram, describe, function_addresses, program
from ptxspec.machine.turn_schedule import TurnSchedule
from ptxspec.terms.profiles import Profile

if TYPE_CHECKING:
    from ptxspec.machine.native import NativeEngine
    from ptxspec.machine.observing import Observer
    from ptxspec.machine.racing.checker import CellPool


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
    seed: int | None
    copies: Any
    contract: Any
    schedule: Any
    counts: bool
    check: Any = None
    findings: Any = "raise"
    printed: Callable[[str], object] | None = None
    observers: Sequence[Observer] = ()


class RequestedLaunch(NamedTuple):
    """What a caller wants of a launch, but for its arguments."""

    shape: LaunchShape
    bounds: LaunchBounds
    options: LaunchOptions


#: plans that are kept, at most
_PLANS = 32


class Launches:
    """What a module's launches share and leave: its variables, what is bound, and kernels made ready. One thread at a time uses
    it."""

    def __init__(self, checked: Checked):
        self.checked = checked
        self._data = {
            name: self._image(name) for name, space in contracts.state_spaces.SPACES.items() if space.initialized
        }
        self._variables = self._data[contracts.state_spaces.OF_BUFFERS]
        page = contracts.banks
        #: how often a bank of constants was filled: each time it is another array
        self.fills = 0
        #: what the spaces hold that no thread writes, with room behind it
        self.constants = {n: padded(data) for n, data in self._data.items() if data is not self._variables}
        self._data |= {name: data[:-PADDING] for name, data in self.constants.items()}
        for space in (page.space_of(n) for n in range(page.BANKS) if n != page.FIRST):
            self._fill(space, b"")
        self.heap = self._make_heap()
        end = len(self._variables)
        if self.heap is not None:
            end = contracts.memory_rules.heap_begins(end) + len(self.heap.data)
        self.space, self.log = AddressSpace(end, self.checked.address_size), UndoLog()
        #: the block of the module's variables, if there are any
        self._table = BlockTable(self._blocks_of_variables())
        self._native: NativeEngine | None = None
        self._exact: ExactEngine | None = None
        self._profiles: dict[tuple[str, int | None], Profile] = {}
        self._programs: dict[tuple[str, str, bool, bool, bool, ObservedEvents, bool], KernelProgram] = {}
        #: the number of the last launch
        self.number = 0
        self._gaps: dict[str, list[Diagnostic]] = {}
        #: by entry, what is known of the floating-point numbers that its parameters point to
        self._floats: dict[str, dict[str, dict[int, Op]]] = {}
        self._bound: dict[str, Any] = {}
        self.cells: CellPool | None = None
        self._plans: OrderedDict[tuple[Any, ...], LaunchPlan] = OrderedDict()
        #: by a kernel's name and the threads of a CTA: the least seconds that a worker has taken for a CTA
        self.paces: dict[tuple[str, int], float] = {}
        self._last_plan: LaunchPlan | None = None
        #: whether a launch may have written to the heap that did not look at what is initialized
        self._heap_written = False

    def _refuse_gaps(self, name: str) -> None:
        """Raise GapError if an entry may come to an instruction that no page describes."""
        if name not in self._gaps:
            self._gaps[name] = gaps_reached(self.checked, name)
        gaps = self._gaps[name]
        if gaps:
            raise GapError(gaps[:MOST_ERRORS], max(0, len(gaps) - MOST_ERRORS))

    def _make_heap(self) -> Heap | None:
        """The heap, if a function is declared that needs one: it follows the module's variables after a gap."""
        if not needs_heap(self.checked.signatures):
            return None
        start = contracts.memory_rules.heap_begins(len(self._variables))
        return new_heap(contracts.generic_addressing.GLOBAL_BASE + start)

    def _blocks_of_variables(self) -> Iterator[GlobalBlock]:
        if len(self._variables):
            kind = BlockKind.VARIABLES
            yield GlobalBlock(self.space.module_base, kind.value, self._variables, True, kind)

    def _image(self, space: str) -> np.ndarray:
        """What a state space begins as. The host gives memory only for the parts that are not zero."""
        image = np.zeros(self.checked.sizes[space], np.uint8)
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

    def images(self, kernel: Kernel, args: Sequence[Any]) -> tuple[dict[int, Any], dict[int, str]]:
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
        self, name: str, how: RequestedLaunch, args: Sequence[Any], memory: OwnedMemory | Sequence[OwnedMemory]
    ) -> Outcome:
        """Run an entry over a grid."""
        key = _key(name, how)
        plan = self._plans.get(key)
        if plan is not None:
            if plan is not self._last_plan:
                self._plans.move_to_end(key)
                self._last_plan = plan
            return self.execute(plan, args, memory)
        plan = self.plan(name, how)
        if key:
            self._plans[key] = self._last_plan = plan
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return self._executed(plan, args, memory)

    def execute(self, plan: LaunchPlan, args: Sequence[Any], memory: OwnedMemory | Sequence[OwnedMemory]) -> Outcome:
        """Run what was planned. Its limits begin now."""
        if plan.repetition is not None:
            outcome = plan.repetition.execute(args, memory)
            if outcome is not None:
                return outcome
        plan.limits.begin()
        return self._executed(plan, args, memory)

    def _executed(self, plan: LaunchPlan, args: Sequence[Any], memory: OwnedMemory | Sequence[OwnedMemory]) -> Outcome:
        reached = reached_by(memories_of(memory), in_order(args))
        if not reached:
            return self._suited(plan, NO_MEMORY).execute(args, NO_MEMORY)
        with reached[0].lock if len(reached) == 1 else locks_of(reached):
            reachable = ReachedMemory.of(reached)
            return self._suited(plan, reachable).execute(args, reachable)

    def _suited(self, plan: LaunchPlan, reached: ReachedMemory) -> LaunchPlan:
        """The plan, or if it is checked what is initialized, the one for launches that reach memory which is not."""
        if plan.program.shadows is None:
            reached.written()
            self._heap_written = self.heap is not None
            return plan
        if self.heap is not None and self._heap_written:
            self.heap.initialize()
            self._heap_written = False
        if self.heap is not None or reached.unwritten or plan.program.shadows.generic:
            return plan.reaching_unwritten
        return plan

    @staticmethod
    def requested(shape: tuple[Any, ...], bounds: tuple[Any, ...], others: tuple[Any, ...]) -> RequestedLaunch:
        """What a caller wants, but for the arguments: the fields of the three parts of that, in their order."""
        return RequestedLaunch(LaunchShape(*shape), LaunchBounds(*bounds), LaunchOptions(*others))

    def plan(self, name: str, how: RequestedLaunch) -> LaunchPlan:
        """A launch but for its arguments. Its limits have begun."""
        shape, bounds, requested = how
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
        checks = checks_of(requested.check)
        if requested.findings not in get_args(options.OnFindings):
            raise ValueError(f"findings is 'raise' or 'collect', not {requested.findings!r}")
        kinds = {EventKind(k) for o in requested.observers for k in o.kinds}
        observed, schedule = ObservedEvents.of(requested.counts, kinds, checks), TurnSchedule(requested.schedule)
        if schedule.weakest:
            _check_weakest(engine, checks)
            observed = observed._replace(weakest=True)
        in_order_of_ctas = engine == "exact" or bounds.step_limit is not None or bool(observed.kinds or checks)
        if requested.contract not in get_args(options.Contract):
            raise ValueError(f"contract is 'none' or 'all', not {requested.contract!r}")
        settings = LaunchSettings(
            engine=engine,
            workers=1 if in_order_of_ctas else int(workers),
            printed=requested.printed or _to_standard_output,
            copies=_landing(requested.copies),
            contracts_all=requested.contract == "all",
            schedule=schedule,
            fresh=self._fresh(seed),
            profile=self._profile(requested.profile, seed),
            observers=requested.observers,
            observed=observed,
            collects=requested.findings == "collect",
        )
        return LaunchPlan(self, kernel, extents, settings, limits)

    def _fresh(self, seed: Any) -> Fresh | None:
        """What memory begins with where a seed decides."""
        return None if seed is None else Fresh(operator.index(seed))

    def warn_of_elements(self, kernel: Kernel, arrays: Sequence[PassedArray]) -> bool:
        """Warn of an array of floating-point numbers that the kernel accesses as others of another size alone; whether there was
        such a one."""
        has_warned = False
        if kernel.name not in self._floats:
            self._floats[kernel.name] = floating_accesses(kernel)
        for what, array, *_ in [passed for passed in arrays if passed.array.dtype.kind == "f"]:
            place = next(p for i, p in enumerate(kernel.parameters) if what == f"argument {i} ({p.name})")
            sizes = self._floats[kernel.name].get(place.name, {})
            if sizes and 8 * array.itemsize not in sizes:
                has_warned = True
                op = next(iter(sizes.values()))
                path, line = self.checked.source.place(op.position)
                warnings.warn(
                    f"{what}: the array has {array.dtype}, and the kernel accesses floating-point numbers of "
                    f"{' or '.join(map(str, sizes))} bits there ({path}:{line}: "
                    f"{describe(op, self.checked.source.text)}); pass an array of the kernel's type, or x.view(np.uint8) "
                    f"if its bytes are meant",
                    stacklevel=7,
                )
        return has_warned

    def blocks(
        self, reached: ReachedMemory, arrays: Sequence[PassedArray], shadows: bool, mark: int | None = None
    ) -> Blocks:
        """Global memory, as a launch finds it, and its shadow, if the launch needs that; `mark` is that of a launch that has
        begun. Raises ValueError if what the caller owns has addresses of this launch, or bytes of an array that is passed."""
        tables = [self._table, *reached.tables]
        if self.heap is not None:
            tables.append(BlockTable([self.heap.block()]))
        if arrays:
            tables.append(BlockTable([passed.block for passed in arrays]))
            for passed in arrays if reached.tables else ():
                span = host_span(passed.what, passed.array)
                for table in reached.tables:
                    table.check_array(passed.what, span.first, span.end)
        if shadows:
            BlockTable(block for table in tables for block in table.blocks)  # complains of these, not of their shadows
            known = {id(block.data): shadow for block, shadow in reached.shadows()}
            if self.heap is not None:
                known[id(self.heap.data)] = self.heap.shadow
            every = [shadow_block(block, known.get(id(block.data))) for table in tables for block in table.blocks]
            tables.append(BlockTable(every))
        return Blocks(tables, reached.freed, self.log, mark)

    def program(self, name: str, settings: LaunchSettings, extents: Extents) -> KernelProgram:
        """An entry, ready for an engine."""
        flags = (
            settings.contracts_all, bool(settings.schedule.chooses), settings.observed,
            settings.schedule.alone(extents.ctas * extents.threads),
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

    def engine(self, settings: LaunchSettings) -> Engine:
        if settings.engine == "native":
            if self._native is None:
                from ptxspec.machine.native import NativeEngine  # LLVM, which the exact engine does without

                self._native = NativeEngine()
            self._native.copies = settings.copies
            return self._native
        if self._exact is None:
            self._exact = ExactEngine()
        self._exact.copies, self._exact.stale = settings.copies, None
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
            self._fill(bank, data)
            return
        variable = self.variable(name)
        if len(data) > len(variable):
            raise ValueError(f"{name} has {len(variable)} bytes, not {len(data)}")
        variable[: len(data)] = np.frombuffer(data, np.uint8)

    def _fill(self, bank: str, data: bytes) -> None:
        """Let a bank of constants hold these bytes."""
        self.constants[bank] = padded(np.frombuffer(data, np.uint8))
        self._data[bank] = self.constants[bank][:-PADDING]
        self.fills += 1

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


def _check_weakest(engine: Any, checks: frozenset[str]) -> None:
    """Raises ValueError where no launch lets its reads return older values than the newest."""
    if engine != "exact":
        raise ValueError(f"under schedule='weakest' the engine is 'exact', not {engine!r}")
    if checks:
        raise ValueError(
            "under schedule='weakest' nothing is checked: a check looks at launches in which each read returns the newest value"
        )


def _to_standard_output(text: str) -> None:
    """Write what a thread printed. What a terminal would act on, it sees escaped; a file or a pipe gets the text as it is."""
    sys.stdout.write(printable(text, LINES) if sys.stdout.isatty() else text)


def _check_kind(what: str, opaque: str, thing: Any) -> None:
    expected = next(kind for kind, name in OPAQUE_TYPES.items() if name == opaque.split()[0])
    if not isinstance(thing, expected):
        raise TypeError(
            f"{what} is a .{opaque.split()[0]}: a {expected.__name__} is needed, not {thing.__class__.__name__}"
        )


def _key(name: str, how: RequestedLaunch) -> tuple[Any, ...]:
    """What tells a launch but its arguments from others; () if it is not to be kept: numbers that are equal, but of different
    types, are not the same options."""
    shape, bounds, requested = how
    if requested.observers or requested.printed is not None or bounds.progress is not None:
        return ()
    words: tuple[Any, ...] = (*shape[3:], *bounds[:3], *requested[:-2])
    extents: list[Any] = []
    for part in shape[:3]:
        extents += part if type(part) is tuple else (part,)
    types = (*map(type, extents), *map(type, words))
    return (name, shape, words, types) if _PLAIN.issuperset(types) else ()


#: types of options that are compared by value
_PLAIN = frozenset({int, str, float, bool, type(None)})


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
