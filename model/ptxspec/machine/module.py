"""A loaded module, as its users see it. What launches need is imported and made when it is asked for: text is loaded without
NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ptxspec import options
from ptxspec.language.checked import Checked
from ptxspec.machine.alone import Turn, alone

if TYPE_CHECKING:
    import numpy as np

    from ptxspec.machine.images import Sampler, Surface, Texture
    from ptxspec.machine.launch import Launches, Outcome
    from ptxspec.machine.limits import Progress
    from ptxspec.machine.owned import Memory


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
        self.turn = Turn(
            "this module's launch has not ended: what it calls can neither launch the module nor use its variables"
        )

    @cached_property
    def _launches(self) -> Launches:
        """What launches work on. Only for who has the turn."""
        from ptxspec.machine.launch import Launches

        return Launches(self.checked)

    @property
    def kernels(self) -> list[str]:
        """The names of the entries.

        >>> text = ".version 8.0 .target sm_80 .visible .entry a() { ret; } .visible .entry b() { ret; }"
        >>> ptxspec.load(text).kernels
        ['a', 'b']
        """
        return list(self.checked.kernels)

    @alone
    def bind(self, name: str, thing: Texture | Sampler | Surface) -> None:
        """Say what a module's .texref, .samplerref or .surfref stands for, from now on. Raises KeyError for a name that is none,
        and TypeError for a thing of another kind. Manual: 5.3.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .texref image;")
        >>> module.bind("image", ptxspec.Texture(np.zeros((4, 4, 1), np.float32), filter="linear"))
        """
        self._launches.bind(name, thing)

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
        memory: Memory | Sequence[Memory] = (),
        seed: int | None = None,
        copies: options.Copies = "early",
        contract: options.Contract = "none",
    ) -> Outcome:
        """Run an entry over a grid.

        `grid` and `block` are extents (x, y, z); missing ones are 1. `args` has one value a parameter, in order: a NumPy array
        becomes a buffer in global memory whose address is passed, written back into the array when the launch has ended; so
        does an array of another library that NumPy sees without a copy; a NumPy scalar is passed by value and must have the
        parameter's size; a Python int or float is converted to the parameter's type; bytes fill a parameter that is an array; a
        Texture, a Sampler or a Surface fills a parameter of its opaque type, and its handle is passed for a 64-bit one; a
        Pointer is passed as the address that it is, and the kernel reaches all of its memory. `memory` names memories of the
        caller's beside those, for addresses that are passed as numbers or lie in structures. `cluster` is the extents of a
        cluster in CTAs, of which those of the grid are multiples; without it the entry's directives say whether there are
        clusters, and of which size. A cluster of more CTAs than every machine has room for must be allowed by
        `nonportable_cluster`. `profile` names the choices for results that PTX leaves open, `engine` is "native" or "exact".

        `workers` is how many threads of the host the CTAs are spread over. A program whose CTAs do not race gives the same as
        under one. One is used where the order of CTAs shows: with a `step_limit`, under the exact engine, and for a kernel that
        reads a clock, asks images or the system, has copies that finish later, or updates more than 64 bits at once.

        `copies` says when copies happen that finish later (cp.async): "early", where they are begun, or "late", where their
        thread waits for them; an integer is a seed that chooses a place between the two for each. The native engine copies early.
        An access that races with a copy ends the launch under all of them.

        `contract` says which products and sums without rounding modifiers become one fused multiply-add, as an assembler may have
        them (spec/arithmetic/contraction.md): "none", or "all" that follow one another.

        `seed` decides what PTX leaves open and the profile does not choose: what registers, shared memory and the first bytes of
        local memory hold before they are written, zeros without a seed, and results that nothing else settles. It decides the
        same under both engines, and the same again in another launch.

        `step_limit` is the most thread-instructions to execute; without it, the work on CTAs that are resident together is
        limited as spec/machine/limits.md says. `time_limit` is in seconds of real time, preparation and compilation included.
        `memory_limit` is in bytes for the threads that are resident together, and has a default there. `progress` is called now
        and then, and at the end, with three integers: thread-instructions executed, CTAs that have ended, CTAs in all.
        `printed` is called with each text that a thread prints, as the thread printed it; without it, the texts go to the
        standard output. If that is a terminal, control characters other than line feeds and tabs appear as escapes there.

        A launch waits until those of other threads of the host have ended, so that none loses what another one stored. What
        `printed` calls runs during the launch: it gets a RuntimeError if it launches the module or uses its variables.

        Raises LaunchError if the program breaks a rule, and ValueError or TypeError for arguments that do not fit; the
        arrays and the caller's memories are then as they were.

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
        from ptxspec.machine.launch import Asked, Bounds, Wanted

        asked = Asked(grid, block, cluster, dynamic_shared, bool(nonportable_cluster))
        bounds = Bounds(step_limit, time_limit, memory_limit, progress)
        memories = memory if isinstance(memory, list | tuple) else (memory,)
        wanted = Wanted(engine, profile, workers, printed, memories, seed, copies, contract)
        return self._launches.launch(name, asked, args, bounds, wanted)

    @alone
    def read(self, name: str) -> np.ndarray:
        """The bytes of a module's variable in .global or .const, as they are now. A variable in a bank of constants has what the
        bank holds; `.const[2]` is a bank's own name. Raises KeyError for another name.

        >>> module = ptxspec.load(".version 8.0 .target sm_80 .global .u16 pair[2] = { 1, 258 };")
        >>> module.read("pair"), module.read("pair").view(np.uint16)
        (array([1, 0, 2, 1], dtype=uint8), array([  1, 258], dtype=uint16))
        """
        return self._launches.variable(name).copy()

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
        self._launches.write(name, value)
