"""A loaded module, as its users see it. What launches need is imported and made when it is asked for: text is loaded without
NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ptxspec.base import options
from ptxspec.language.checked import Checked
from ptxspec.machine.locking import NonReentrantLock, locked

if TYPE_CHECKING:
    import numpy as np

    from ptxspec.machine.findings import LaunchFinding
    from ptxspec.machine.images import Sampler, Surface, Texture
    from ptxspec.machine.launch import Launches
    from ptxspec.machine.launch_plan import LaidOutLaunch, LaunchPlan, Outcome
    from ptxspec.machine.limits import Progress
    from ptxspec.machine.observing import Observer
    from ptxspec.machine.owned import Memory


class Module:
    """A loaded PTX module, as `ptxspec.load` and `ptxspec.link` return it. Its variables keep their values between launches. Host
    threads may share a module: launches, and methods that access its variables, run one at a time.

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
        self.lock = NonReentrantLock(
            "this module's launch has not ended: what it calls can neither launch the module nor use its variables"
        )

    @cached_property
    def _launches(self) -> Launches:
        """What launches work on. Only for who has the turn."""
        from ptxspec.machine.launch import Launches

        return Launches(self.checked)

    @property
    def kernels(self) -> list[str]:
        """The names of the module's entries (kernels).

        >>> text = ".version 8.0 .target sm_80 .visible .entry a() { ret; } .visible .entry b() { ret; }"
        >>> ptxspec.load(text).kernels
        ['a', 'b']
        """
        return list(self.checked.kernels)

    @locked
    def bind(self, name: str, thing: Texture | Sampler | Surface) -> None:
        """Bind a texture, sampler or surface to the module's .texref, .samplerref or .surfref variable `name`, for the launches
        that follow. Raises KeyError if the module has no such variable, and TypeError if the variable has another opaque type.
        Manual: 5.3.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .texref image;")
        >>> module.bind("image", ptxspec.Texture(np.zeros((4, 4, 1), np.float32), filter="linear"))
        """
        self._launches.bind(name, thing)

    @locked
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
        memory: Memory | Sequence[Memory] = (),
        seed: int | None = None,
        copies: options.Copies = "early",
        contract: options.Contract = "none",
        schedule: str | Sequence[int] = "auto",
        counts: bool = False,
        check: options.Check | None = None,
        findings: options.OnFindings = "raise",
        observers: Sequence[Observer] = (),
    ) -> Outcome:
        """Run an entry (a kernel) over a grid of CTAs, and return when all of them have ended.

        `grid` is the number of CTAs and `block` the number of threads in a CTA: an int, or up to three extents (x, y, z); missing
        extents are 1. `cluster` is the shape of a cluster in CTAs, and divides the grid; by default the entry's directives
        decide. `nonportable_cluster` allows a cluster size that not every machine supports. `dynamic_shared` is in bytes.

        `args` has one value for each parameter, in order:

        - A NumPy array, or an array of another library that NumPy sees without a copy, becomes a buffer in global memory, and the
          parameter receives its address. Threads access the array's own bytes; if these do not lie side by side, or do not begin
          at a multiple of 16, they access a copy, which is copied back when the launch has ended. A read-only array becomes a
          read-only buffer. There is a UserWarning if its elements are floating-point numbers, and the kernel accesses them as
          floating-point numbers of another size alone, as far as its text shows.
        - A NumPy scalar is passed by value and must have the parameter's size. A Python int or float is converted to the
          parameter's type.
        - Bytes fill a parameter that is an array.
        - A Texture, a Sampler or a Surface fills a parameter of its opaque type; a 64-bit parameter receives its handle.
        - A Pointer is passed as its address, and the kernel may access all of its Memory.

        `memory` names each Memory that the kernel may access in addition: one whose addresses are passed as numbers, or are
        stored in structures.

        `profile` names the profile, which chooses the results that PTX leaves open. `engine` is "native", which runs compiled
        code, or "exact", which interprets the kernel with Python's integers.

        `workers` is the number of host threads that execute the CTAs. A program whose CTAs do not race computes the same with any
        number. A single host thread executes all CTAs if their order is observable: with a `step_limit`, under the exact engine,
        for a kernel that reads a clock, accesses images, calls the system, copies to global memory asynchronously, or updates a
        vector or more than 64 bits there atomically, and where copies land at random.

        `copies` says when the pieces of asynchronous copies (cp.async) land: "early", at the instruction; "late", when the
        thread has waited for them; "each", one before each turn of a thread; or "random:SEED", where a seed chooses. An access
        that races with a copy ends the launch in each case (spec/machine/asynchrony.md).

        `contract` says which products and sums without rounding modifiers become one fused multiply-add, as an assembler may
        decide: "none", or "all" pairs that spec/arithmetic/contraction.md describes.

        `schedule` says which thread runs next: "round-robin", in turns; "warps", in turns that the threads of a warp have
        together where the kernel allows it, which is several times as fast for many threads; "auto", the former for few threads
        and the latter for many; "random:SEED", where a seed chooses
        a thread before each access to memory; or the choices that another launch reported as `Outcome.schedule`, numbers of
        threads among the resident ones, which are followed instruction for instruction under both engines
        (spec/machine/schedule.md). Under "weakest:SEED" a seed chooses so, too, and each read of memory that threads share
        returns one of the values that the memory model permits, not always the newest (spec/memory-model/stale-reads.md): the
        engine has to be "exact" then, without `check`.

        With `counts` the launch counts how often each instruction was executed, for how many threads its guard held, and the
        bytes that it moved in each state space, and in textures and surfaces: `Outcome.counts`.

        `check` says which faults the launch is checked for that break no rule at an access: "race", accesses that the memory
        model does not order (spec/memory-model/races.md); "uninitialized", values that nobody has written and that matter
        (spec/machine/initialization.md); "leak", memory that `malloc` gave and that nobody can free any more
        (spec/functions/system.md); or "all" of these. With findings, a launch ends in a LaunchError that has them all;
        with `findings="collect"` the outcome has them. One host thread executes all CTAs then.

        `observers` are told of the events of the launch, in the order in which they happen: accesses to memory, textures and
        surfaces with the values read and written, fences, arrivals at barriers and releases, asynchronous operations, calls, ends
        of threads, executions of instructions (`ptxspec.EventKind`). Each says which kinds it is told of; a `ptxspec.Trace` keeps
        events. One host thread executes all CTAs then. If executions or fences are observed, threads may run in another order
        than otherwise.

        `seed` decides what PTX leaves open and the profile does not choose: results, and what registers, shared memory and the
        first 4096 bytes of local memory hold before the program writes them. Without a seed, registers and memory begin as zeros.
        A seed decides the same under both engines and in every launch.

        `step_limit` is the most thread-instructions to execute; without it, spec/machine/limits.md limits the work of the CTAs
        that are resident together. `time_limit` is in seconds of wall time, preparation and compilation included. `memory_limit`
        is in bytes, for the threads that are resident together; that page has the default.

        `progress` is called from time to time, and at the end, with three integers: the thread-instructions executed, the CTAs
        that have ended, and all CTAs. `printed` is called with each text that a thread prints. By default the texts go to the
        standard output; on a terminal, control characters other than line feeds and tabs are escaped.

        If several host threads launch kernels of one module, the launches run one after the other. A function that is called
        during the launch, such as `printed`, gets a RuntimeError if it launches the module or uses its variables.

        Raises LaunchError if the program breaks a rule, GapError if the entry may reach an instruction that no page describes,
        and ValueError or TypeError for wrong arguments or options. After an error the arrays, the caller's memories, the images
        and the module's variables are unchanged.

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
        how = self._launches.requested(
            (grid, block, cluster, dynamic_shared, bool(nonportable_cluster)),
            (step_limit, time_limit, memory_limit, progress),
            (
                engine,
                profile,
                workers,
                seed,
                copies,
                contract,
                schedule,
                bool(counts),
                check,
                findings,
                printed,
                tuple(observers),
            ),
        )
        return self._launches.launch(name, how, args, memory)

    @locked
    def prepared(
        self,
        name: str,
        grid: int | Sequence[int] = 1,
        block: int | Sequence[int] = 1,
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
        seed: int | None = None,
        copies: options.Copies = "early",
        contract: options.Contract = "none",
        schedule: str | Sequence[int] = "auto",
        counts: bool = False,
        check: options.Check | None = None,
        findings: options.OnFindings = "raise",
        observers: Sequence[Observer] = (),
    ) -> PreparedLaunch:
        """A launch that can be executed many times, each time with other arguments. All is decided once that does not
        depend on these: the shape, the options, and whether the kernel can be launched so. The shape and the options are as
        for `launch`. Raises what `launch` raises for them.

        >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
        ... .visible .entry add(.param .u64 sum, .param .u32 number) { .reg .b64 a;  .reg .b32 n, old;
        ...     ld.param.u64 a, [sum];  ld.param.u32 n, [number];  atom.global.add.u32 old, [a], n;  ret; }''')
        >>> add, total = module.prepared("add", block=4), np.zeros(1, np.uint32)
        >>> for number in range(3):
        ...     outcome = add.launch([total, number])
        >>> total
        array([12], dtype=uint32)
        """
        how = self._launches.requested(
            (grid, block, cluster, dynamic_shared, bool(nonportable_cluster)),
            (step_limit, time_limit, memory_limit, progress),
            (
                engine,
                profile,
                workers,
                seed,
                copies,
                contract,
                schedule,
                bool(counts),
                check,
                findings,
                printed,
                tuple(observers),
            ),
        )
        return PreparedLaunch(self, self._launches.plan(name, how))

    @locked
    def read(self, name: str) -> np.ndarray:
        """The current bytes of a module variable in .global or .const, as an array of uint8 that is a copy. A variable in a
        constant bank has the bytes of the bank, and the name `.const[2]` stands for a whole bank. Raises KeyError if there is no
        such variable.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .u16 pair[2] = { 1, 258 };")
        >>> module.read("pair"), module.read("pair").view(np.uint16)
        (array([1, 0, 2, 1], dtype=uint8), array([  1, 258], dtype=uint16))
        """
        return self._launches.variable(name).copy()

    @locked
    def leaks(self) -> tuple[LaunchFinding, ...]:
        """What launches have obtained by `malloc` and not freed so far: a finding for each instruction that has asked for some,
        as a launch with `check="leak"` reports them. Such a launch reports only what nobody can free any more; at the end of a
        program, all that is here is leaked.

        >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
        ... .extern .func (.param .b64 r) malloc(.param .b64 n);  .global .u64 kept;
        ... .visible .entry take() { .reg .b64 p;  call (p), malloc, (24);  st.global.u64 [kept], p;  ret; }''')
        >>> module.launch("take", block=2, check="leak", findings="collect").findings[0].count
        1
        >>> [(left.kind, left.size, left.count) for left in module.leaks()]
        [('leak', 24, 2)]
        """
        from ptxspec.machine.leaks import pieces_left

        return pieces_left(self.checked, self._launches.heap)

    @locked
    def write(self, name: str, value: Any) -> None:
        """Write to a module variable in .global or .const, from its first byte on, for the launches that follow. `value` is
        bytes, a NumPy array, whose elements are written in order, or a NumPy scalar. Writing to a variable in a constant bank, or
        to the name `.const[2]`, replaces the contents of the whole bank, for all its variables (manual: 5.1.3.1). Raises KeyError
        if there is no such variable, ValueError if it has fewer bytes, and TypeError for a value whose size is not defined, such
        as an int or a list.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .const .f32 scale;")
        >>> module.write("scale", np.float32(2))
        >>> module.read("scale").view(np.float32)
        array([2.], dtype=float32)
        """
        self._launches.write(name, value)


class PreparedLaunch:
    """A launch but for its arguments, as `Module.prepared` returns it. Launches of its module run one after the other, this one
    among them.

    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
    >>> ptxspec.load(text).prepared("nothing", grid=2, block=32)
    PreparedLaunch(nothing, grid (2, 1, 1), block (32, 1, 1))
    """

    def __init__(self, module: Module, plan: LaunchPlan):
        self._module, self._plan = module, plan
        self.lock = module.lock

    def __repr__(self) -> str:
        return f"PreparedLaunch({self._plan})"

    @locked
    def launch(self, args: Sequence[Any] = (), *, memory: Memory | Sequence[Memory] = ()) -> Outcome:
        """Run the grid once, and return when all of its CTAs have ended. `args`, `memory`, the result and the errors are as for
        `Module.launch`. A `time_limit` is that of each execution, without preparation.

        >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }"
        >>> ptxspec.load(text).prepared("nothing", block=32).launch().steps
        32
        """
        return self._module._launches.execute(self._plan, args, memory)


@contextmanager
def laid_out(
    module: Module, name: str, grid: Any, block: Any, dynamic_shared: Any, args: Sequence[Any]
) -> Iterator[LaidOutLaunch]:
    """What a launch of an entry begins with, which nobody executes. Raises what `Module.launch` does for wrong arguments."""
    from ptxspec.machine.launch import LaunchBounds, LaunchOptions, LaunchShape, RequestedLaunch

    shape, bounds = LaunchShape(grid, block, None, dynamic_shared, False), LaunchBounds(None, None, None, None)
    options = LaunchOptions("exact", "hopper", 1, None, "early", "none", "round-robin", False)
    with module.lock:
        plan = module._launches.plan(name, RequestedLaunch(shape, bounds, options))
        with plan.laid_out(args) as launch:
            yield launch
