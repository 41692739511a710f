"""Launching a grid: arguments in, threads run batch by batch, arrays back."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from ptxspec import contracts, options
from ptxspec.escaping import LINES, printable
from ptxspec.language.checked import Checked, Kernel, Pointer, banks, spaces
from ptxspec.machine.alone import Turn, alone
from ptxspec.machine.batch import Extents
from ptxspec.machine.call_graph import frame_size, stack_moves
from ptxspec.machine.engine import Engine, Program, function_addresses, program
from ptxspec.machine.exact import ExactEngine
from ptxspec.machine.heap import Heap, new_heap
from ptxspec.machine.host import Host, open_result
from ptxspec.machine.images import Sampler, Surface, Texture
from ptxspec.machine.imaging import Unit
from ptxspec.machine.limits import Limits, Progress
from ptxspec.machine.marshalling import arguments, bytes_of, in_order, store
from ptxspec.machine.memory import AddressSpace, Memory
from ptxspec.machine.native import NativeEngine
from ptxspec.machine.system import System
from ptxspec.machine.workers import Share, together
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.machine import SYSTEM_FUNCTIONS
from ptxspec.terms.profiles import Profile

#: what the host makes of arrays for textures, samplers and surfaces
OPAQUE_TYPES: dict[type, str] = {Texture: "texref", Sampler: "samplerref", Surface: "surfref"}
IMAGES = tuple(OPAQUE_TYPES)


class Outcome(NamedTuple):
    """What a launch did: thread-instructions executed.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
    >>> ptxspec.load(text).launch("nothing", block=32).steps
    32
    """

    steps: int


class Module:
    """A loaded PTX module. Its variables keep their values from launch to launch. `ptxspec.load` and `ptxspec.link` make one.
    Threads of the host may share it: its launches, and what reads and sets its variables, wait for one another.

    >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
    ... .global .u32 launches;
    ... .visible .entry count() { .reg .b32 n; atom.global.add.u32 n, [launches], 1; ret; }''')
    >>> for _ in range(3):
    ...     outcome = module.launch("count")
    >>> int(module.read("launches").view(np.uint32)[0])
    3
    """

    def __init__(self, checked: Checked):
        self.checked = checked
        self.turn = Turn()
        self._data = {name: self._image(name) for name, space in spaces().SPACES.items() if space.initialized}
        page = banks()
        empty = np.zeros(0, np.uint8)
        self._data |= {page.space_of(n): empty for n in range(page.BANKS) if n != page.FIRST}
        self._heap = self._make_heap()
        self._space = AddressSpace(len(self._data["global"]))
        self._engines: dict[str, Engine] = {}
        self._profiles: dict[str, Profile] = {}
        self._programs: dict[tuple[str, str, bool], Program] = {}
        self._launches = 0
        self._bound: dict[str, Any] = {}

    @property
    def kernels(self) -> list[str]:
        """The names of the entries.

        >>> text = ".version 8.0 .target sm_80 .visible .entry a() { ret; } .visible .entry b() { ret; }"
        >>> ptxspec.load(text).kernels
        ['a', 'b']
        """
        return list(self.checked.kernels)

    def _make_heap(self) -> Heap | None:
        """The heap, if a function is declared that needs one: it follows the module's variables, after a gap."""
        if not any(f.uses_heap for name, f in SYSTEM_FUNCTIONS.items() if name in self.checked.signatures):
            return None
        layout = contracts.generic_addressing()
        gap = contracts.memory_rules().BUFFER_ALIGNMENT
        own = self._data["global"]
        start = (len(own) // gap + 1) * gap
        heap = new_heap(layout.GLOBAL_BASE + start)
        self._data["global"] = self._image("global", start + heap.size)
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

    def _address(self, pointer: Pointer, addresses: Mapping[str, int]) -> int:
        """What an initializer gets that names a function, which has one of these addresses, or a variable."""
        found = addresses.get(pointer.name)
        if found is None:
            layout = contracts.generic_addressing()
            place = self.checked.places[pointer.name]
            found = place.offset + pointer.addend + (layout.GLOBAL_BASE if place.space == "global" else 0)
            if pointer.generic:
                found += layout.base(place.space)
        found %= 1 << 64
        if pointer.mask is not None:
            return contracts.initializers().masked(pointer.mask, found)
        return found % (1 << 8 * pointer.size)

    @alone
    def bind(self, name: str, thing: Texture | Sampler | Surface) -> None:
        """Say what a module's .texref, .samplerref or .surfref stands for, from now on. Raises KeyError for a name that is none,
        and TypeError for a thing of another kind. Manual: 5.3.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .texref image;")
        >>> module.bind("image", ptxspec.Texture(np.zeros((4, 4, 1), np.float32), filter="linear"))
        """
        place = self.checked.places.get(name)
        if place is None or not place.opaque:
            known = ", ".join(p.name for p in self.checked.places.values() if p.opaque) or "none"
            raise KeyError(f"the module has no opaque variable {name!r}; there are {known}")
        _check_kind(name, place.opaque, thing)
        self._bound[name] = thing

    def _images(self, kernel: Kernel, args: Sequence[Any]) -> tuple[dict[int, Any], dict[int, str]]:
        """What each handle stands for, and what it is called: variables of the module, parameters, and images passed by value."""
        page = contracts.opaque_types()
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

    @alone
    def launch(
        self,
        name: str,
        grid: int | Sequence[int] = 1,
        block: int | Sequence[int] = 1,
        args: Sequence[Any] = (),
        *,
        dynamic_shared: int = 0,
        cluster: int | Sequence[int] | None = None,
        nonportable_cluster: bool = False,
        profile: str = "hopper",
        engine: options.Engine = "native",
        workers: int = 1,
        step_limit: int | None = None,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        progress: Progress | None = None,
        printed: Callable[[str], object] | None = None,
    ) -> Outcome:
        """Run an entry over a grid.

        `grid` and `block` are extents (x, y, z); missing ones are 1. `args` has one value a parameter, in order: a NumPy array
        becomes a buffer in global memory whose address is passed, written back into the array when the launch has ended; so does
        an array of another library that NumPy sees without a copy; a NumPy scalar is passed by value and must have the
        parameter's size; a Python int or float is converted to the parameter's type; bytes fill a parameter that is an array;
        a Texture, a Sampler or a Surface fills a parameter of its
        opaque type, and its handle is passed for a 64-bit one. `cluster` is the extents of a cluster in CTAs, of which those of
        the grid are multiples; without it the entry's directives say whether there are clusters, and of which size. A cluster of
        more CTAs than every machine has room for must be allowed by `nonportable_cluster`. `profile` names the choices for
        results that PTX leaves open, `engine` is "native" or "exact".

        `workers` is how many threads of the host the CTAs are spread over. A program whose CTAs do not race gives the same as
        under one. One is used where the order of CTAs shows: with a `step_limit`, under the exact engine, and for a kernel that
        reads a clock, asks images or the system, or updates more than 64 bits at once.

        `step_limit` is the most thread-instructions to execute; without it, the work on CTAs that are resident together is
        limited as spec/machine/limits.md says. `time_limit` is in seconds of real time, preparation and compilation included.
        `memory_limit` is in bytes for the threads that are resident together, and has a default there. `progress` is called now
        and then, and at the end, with three integers: thread-instructions executed, CTAs that have ended, CTAs in all.
        `printed` is called with each text that a thread prints, as the thread printed it; without it, the texts go to the
        standard output. If that is a terminal, control characters other than line feeds and tabs appear as escapes there.

        A launch waits until those of other threads of the host have ended, so that none loses what another one stored. What
        `printed` calls runs during the launch: it gets a RuntimeError if it launches the module or uses its variables.

        Raises LaunchError if the program breaks a rule, and ValueError or TypeError for arguments that do not fit; the
        arrays are then as they were.

        >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
        ... .visible .entry fill(.param .u64 out, .param .f32 value) {
        ...     .reg .b64 a;  .reg .b32 i;  .reg .f32 x;
        ...     ld.param.u64 a, [out];  ld.param.f32 x, [value];
        ...     mov.u32 i, %tid.x;  mad.wide.u32 a, i, 4, a;
        ...     st.global.f32 [a], x;
        ...     ret;
        ... }''')
        >>> values = np.zeros(4, np.float32)
        >>> outcome = module.launch("fill", grid=1, block=3, args=[values, 1.5])
        >>> values
        array([1.5, 1.5, 1.5, 0. ], dtype=float32)
        >>> module.launch("fill", block=3, args=[values, np.float32(2)], engine="exact") == outcome
        True
        """
        kernel = self.checked.kernels.get(name)
        if kernel is None:
            raise ValueError(f"no entry is called {name!r}; there are {', '.join(self.kernels) or 'none'}")
        try:
            dynamic_shared = operator.index(dynamic_shared)
        except TypeError:
            raise TypeError(f"dynamic_shared is an integer, not {dynamic_shared!r}") from None
        page = contracts.limits()
        extents = _shape(
            kernel.name,
            kernel.performance,
            Extents(_extents("grid", grid, page.MOST_GRID), _extents("block", block, page.MOST_BLOCK)),
            None if cluster is None else _extents("cluster", cluster, page.MOST_GRID),
            bool(nonportable_cluster),
        )
        self._check_shape(kernel, extents, dynamic_shared)
        if engine not in get_args(options.Engine):
            raise ValueError(f"an engine is 'native' or 'exact', not {engine!r}")
        if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
            raise ValueError(f"workers is an integer above 0, not {workers!r}")
        limits = Limits(engine, step_limit, time_limit, memory_limit, progress)
        if profile not in self._profiles:
            self._profiles[profile] = Profile(profile)
        if engine not in self._engines:
            self._engines[engine] = NativeEngine() if engine == "native" else ExactEngine()
        runner = self._engines[engine]
        args = in_order(args)
        unit = Unit(*self._images(kernel, args), self._profiles[profile], engine == "native", limits.check)
        args = [unit.handle_of(a) if isinstance(a, IMAGES) else a for a in args]
        buffers, parameters, arrays = arguments(kernel, args, self._space)
        members = extents.cluster_size
        key = (name, profile, members > 1)
        if key not in self._programs:
            self._programs[key] = program(self.checked, name, self._profiles[profile], members > 1)
        ready = self._programs[key]
        kernel = ready.kernel
        shared = max(kernel.sizes["shared"], ready.bases["dynamic"] + dynamic_shared if dynamic_shared else 0)
        slots = limits.slots(ready, extents, shared)
        self._launches += 1
        extents = extents._replace(launch=self._launches, shared=shared, dynamic_shared=dynamic_shared)
        alive = frame_size(self.checked.kernels[name]) if stack_moves(kernel) else None
        local, lanes = kernel.sizes["local"], slots * extents.threads
        memory = Memory(self._space, self._data, buffers, parameters, shared, local, slots, lanes, alive, members)
        if self._heap is not None:
            start = self.checked.sizes["global"]
            memory.shadow[start : memory.module_size] = 0
            memory.hold(self._heap.copy())
        system = System(memory, extents.threads, printed or _to_standard_output, limits.check)
        steps = 0
        try:
            if ready.flow.blocks:
                limits.ctas = extents.ctas
                if engine == "exact" or step_limit is not None or not ready.spreads:
                    workers = 1
                workers = limits.workers(min(workers, -(-extents.ctas // slots)))
                prepared = runner.prepared(ready, workers > 1, limits.check)
                share, works = Share(extents.ctas, slots, workers), []
                for worker, own in enumerate([memory, *(memory.beside() for _ in range(workers - 1))]):
                    host = Host(self.checked, ready, prepared, extents, own, unit, system, limits)
                    empties = engine == "exact" or own.is_large
                    works.append(partial(host.run, slots, worker, share, empties))
                steps = together(works, limits.stop)
                limits.finished()
        except NoChoice as error:
            raise open_result(error, None) from None
        finally:
            self._space.forget(a for a, _ in buffers)
        for (_, array), (allocation, _) in zip(arrays, buffers, strict=True):
            if allocation.writable and array.size:
                at = memory.place(allocation)
                store(array, memory.arena[at : at + allocation.size])
        unit.finish()
        self._data["global"][:] = memory.arena[: memory.module_size]
        self._heap = memory.heap
        return Outcome(steps)

    def _check_shape(self, kernel: Kernel, extents: Extents, dynamic_shared: int) -> None:
        page = contracts.limits()
        if extents.threads > page.MOST_THREADS:
            raise ValueError(f"a CTA has at most {page.MOST_THREADS} threads, not {extents.threads}")
        required, most = page.required_block(kernel.performance), page.most_threads(kernel.performance)
        if required is not None and extents.block != required:
            raise ValueError(f"{kernel.name} requires CTAs of {required}, not {extents.block}")
        if extents.threads > most:
            raise ValueError(f"{kernel.name} allows CTAs of at most {most} threads")
        total = kernel.sizes["shared"] + dynamic_shared
        if dynamic_shared < 0 or total > page.MOST_SHARED:
            raise ValueError(f"{total} bytes of shared memory; a CTA has between 0 and {page.MOST_SHARED}")

    @alone
    def read(self, name: str) -> np.ndarray:
        """The bytes of a module's variable in .global or .const, as they are now. A variable in a bank of constants has what the
        bank holds; `.const[2]` is a bank's own name. Raises KeyError for another name.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .u16 pair[2] = { 1, 258 };")
        >>> module.read("pair"), module.read("pair").view(np.uint16)
        (array([1, 0, 2, 1], dtype=uint8), array([  1, 258], dtype=uint16))
        """
        return self._variable(name).copy()

    @alone
    def write(self, name: str, value: Any) -> None:
        """Set a module's variable in .global or .const, from its beginning on, for the launches to come: bytes, or an array or
        scalar whose bytes are taken in the order of its elements. Raises KeyError for another name, ValueError if the
        variable has fewer bytes, and TypeError for what has no size of its own, such as an int or a list. What is written to
        a variable in a bank of constants, or to `.const[2]`, is all that the bank holds from then on, for all its variables.
        Manual: 5.1.3.1.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .const .f32 scale;")
        >>> module.write("scale", np.float32(2))
        >>> module.read("scale").view(np.float32)
        array([2.], dtype=float32)
        """
        data = bytes_of(name, value)
        bank = self._bank(name)
        if bank is not None:
            if len(data) > banks().BANK_SIZE:
                raise ValueError(f"a bank of constants holds at most {banks().BANK_SIZE} bytes, not {len(data)}")
            self._data[bank] = np.frombuffer(data, np.uint8)
            return
        variable = self._variable(name)
        if len(data) > len(variable):
            raise ValueError(f"{name} has {len(variable)} bytes, not {len(data)}")
        variable[: len(data)] = np.frombuffer(data, np.uint8)

    def _bank(self, name: str) -> str | None:
        """The state space of a bank that a variable is the beginning of, or of one that is named itself; None for other names."""
        place = self.checked.places.get(name)
        if place is not None:
            return place.space if place.in_a_bank else None
        return name[1:] if name.startswith(".") and name.endswith("]") and name[1:] in self._data else None

    def _variable(self, name: str) -> np.ndarray:
        """The bytes of a variable, not a copy."""
        bank = self._bank(name)
        if bank is not None:
            return self._data[bank]
        place = self.checked.places.get(name)
        if place is None or place.space not in self._data or "@" in name:
            known = sorted(n for n, p in self.checked.places.items() if p.space in self._data and "@" not in n)
            raise KeyError(f"no variable in .global or .const is called {name}; there are {', '.join(known) or 'none'}")
        return self._data[place.space][place.offset : place.offset + place.size]


def _to_standard_output(text: str) -> None:
    """Write what a thread printed. What a terminal would act on, it sees escaped; a file or a pipe gets the text as it is."""
    sys.stdout.write(printable(text, LINES) if sys.stdout.isatty() else text)


def _check_kind(what: str, opaque: str, thing: Any) -> None:
    wanted = next(kind for kind, name in OPAQUE_TYPES.items() if name == opaque.split()[0])
    if not isinstance(thing, wanted):
        raise TypeError(
            f"{what} is a .{opaque.split()[0]}: a {wanted.__name__} is needed, not {thing.__class__.__name__}"
        )


def _shape(
    name: str,
    directives: Mapping[str, tuple[int, ...]],
    asked: Extents,
    cluster: tuple[int, int, int] | None,
    nonportable: bool,
) -> Extents:
    """The shape of a launch, clusters included, where the entry `name` has these directives. Raises ValueError if they do not
    allow what was asked for."""
    page = contracts.clusters()
    required = page.required(directives)
    if cluster is not None and required is not None and cluster != required:
        raise ValueError(f"{name} requires clusters of {required}, not {cluster}")
    if ".explicitcluster" in directives and cluster is None and required is None:
        raise ValueError(f"{name} has .explicitcluster: say with which clusters, by cluster=(x, y, z)")
    found = cluster or required or (1, 1, 1)
    grid, block = page.counted_in_ctas(directives, asked.grid, asked.block, found)
    grid = _extents("grid", grid, contracts.limits().MOST_GRID)
    size = found[0] * found[1] * found[2]
    most = directives.get(".maxclusterrank", (0,))[0]
    if most and size > most:
        raise ValueError(f"{name} allows clusters of at most {most} CTAs, not {size}")
    if size > page.MOST:
        raise ValueError(f"a cluster has at most {page.MOST} CTAs, not {size}")
    if size > page.MOST_PORTABLE and not nonportable:
        note = f"a cluster has at most {page.MOST_PORTABLE} CTAs, not {size}, unless nonportable_cluster=True allows it"
        raise ValueError(note)
    if any(extent % own for extent, own in zip(grid, found, strict=True)):
        raise ValueError(f"grid {grid}: no multiple of the cluster {found}")
    explicit = cluster is not None or required is not None
    return Extents(grid, block, cluster=found, explicit_cluster=explicit)


def _extents(what: str, value: int | Sequence[int], most: tuple[int, int, int]) -> tuple[int, int, int]:
    parts = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, int | np.integer) for p in parts):
        raise TypeError(f"{what} is one, two or three integers, not {value!r}")
    full = (*map(int, parts), 1, 1)[:3]
    if any(not 1 <= p <= m for p, m in zip(full, most, strict=True)):
        raise ValueError(f"{what} {full}: each extent is at least 1 and at most {most}")
    return full  # type: ignore[return-value]
