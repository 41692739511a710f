"""Launches of random scripts of Hopper's instructions: the kernel of some seeds, the rows of a seed, and what it comes to.

One to twelve threads in a cluster of one, two or four CTAs, or the 128 of a warpgroup, execute scripts (hopper_steps.py). So many
seeds after one another have one kernel.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from hopper_steps import Step, steps

import ptxspec
from ptxspec_workshop.generate import object_scripts as scripts
from ptxspec_workshop.generate.cases import CELLS, FILL, STRIDE, blank_rows

#: seeds that have one kernel, of how many kernels one has a warpgroup, and bytes of shared memory and of an array
PAGE, WARPGROUPS, ROOM = 500, 12, 4096
WAYS = ("early", "late", "each", "random:1", "random:2")
ENGINES = ("exact", "native")
CHECKS = (*[None] * 17, "race", "uninitialized", "all")
MAPS = ("map1", "map2", "map3", "pixels")
DECLARED = """
.reg .u64 %in, %out, %source, %target, %live, %map1, %map2, %map3, %pixels, %from, %into, %wide, %atg, %tog, %tobarg, %da, %db;
.reg .b64 %step, %state, %given; .reg .b32 %t, %row, %cta, %peer, %n, %mine, %tobar, %room, %at, %other, %to, %op, %x, %hint, %left;
.reg .u32 %size, %alone, %high; .reg .s32 %c0, %c1, %c2, %zero, %pixel; .reg .u32 %ctas, %part; .reg .u16 %mask, %few; .reg .pred %p, %first;
.reg .b32 %r<12>, %a<4>, %m;
.shared .align 8 .b64 bars[16]; .shared .align 1024 .b8 room[4096];
"""
PARAMETERS = "".join(f".param .u64 {name}, " for name in ("in", "out", "source", "target", "live")) + ", ".join(
    f".param .align 64 .b8 {name}[128]" for name in MAPS
)
#: the thread's rows, its object, and that of the thread in the next CTA; all of shared memory is that of `source`
BEGINS = f"""
{" ".join(f"ld.param.u64 %{name}, [{name}];" for name in ("in", "out", "source", "target", "live"))}
{" ".join(f"mov.u64 %{name}, {name}; cvta.param.u64 %{name}, %{name};" for name in MAPS)}
mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %row, %ctaid.x; mad.lo.u32 %row, %row, %n, %t;
mad.wide.u32 %in, %row, {STRIDE}, %in; mad.wide.u32 %out, %row, {STRIDE}, %out;
mov.u32 %cta, %cluster_ctarank; mov.u32 %peer, %cluster_nctarank; mov.u32 %ctas, 1; shl.b32 %ctas, %ctas, %peer; sub.u32 %ctas, %ctas, 1; add.u32 %x, %cta, 1; rem.u32 %peer, %x, %peer;
mov.u32 %alone, %lanemask_eq; setp.eq.u32 %first, %t, 0; mov.s32 %zero, 0; mov.u32 %room, room; mov.u32 %hint, 1000;
div.u32 %mine, %t, SHARED; and.b32 %mine, %mine, 15; shl.b32 %mine, %mine, 3; mov.u32 %x, bars; add.u32 %mine, %mine, %x;
cvt.u64.u32 %wide, %mine; cvta.shared.u64 %wide, %wide; mapa.shared::cluster.u32 %tobar, %mine, %peer;
cvt.u64.u32 %tobarg, %tobar; cvta.shared::cluster.u64 %tobarg, %tobarg;
shl.b32 %x, %t, 4;
FILL: cvt.u64.u32 %from, %x; add.u64 %from, %from, %source; add.u32 %at, %x, %room;
ld.global.v2.u64 {{%step, %state}}, [%from]; st.shared.v2.u64 [%at], {{%step, %state}};
shl.b32 %op, %n, 4; add.u32 %x, %x, %op; setp.lt.u32 %p, %x, {ROOM}; @%p bra FILL;
{" ".join(f"mov.b32 %r{i}, 0;" for i in range(12))} {" ".join(f"mov.b32 %a{i}, 0x3c00bc00;" for i in range(4))} mov.b32 %m, 0x4e4e4e4e;
mov.u64 %state, 0; mov.u32 %left, {CELLS};
fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;
"""
#: what a step says: first what all threads of a warpgroup have to know, then what one does alone
TAKEN = """
NEXT: ld.global.u64 %step, [%in]; mov.b64 {%op, %high}, %step; shr.u32 %x, %op, 8; and.b32 %op, %op, 255; mov.u64 %given, 0;
and.b32 %other, %high, 4095; add.u32 %at, %room, %other; xor.b32 %part, %other, 2048; add.u32 %part, %part, %room;
bfe.u32 %c0, %high, 12, 4;
"""
ALONE = """
@SKIPS bra TAKEN;
cvt.u64.u32 %from, %other; shl.b32 %other, %cta, 10; cvt.u64.u32 %into, %other; add.u64 %into, %into, %target; add.u64 %into, %into, %from;
add.u64 %from, %source, %from; mapa.shared::cluster.u32 %to, %part, %peer;
cvt.u64.u32 %atg, %at; cvta.shared.u64 %atg, %atg; cvt.u64.u32 %tog, %to; cvta.shared::cluster.u64 %tog, %tog;
sub.s32 %c0, %c0, 1; shl.b32 %c0, %c0, 2; bfe.u32 %c1, %high, 16, 4; sub.s32 %c1, %c1, 1;
bfe.u32 %c2, %high, 20, 4; shr.u32 %size, %high, 24; shl.b32 %size, %size, 4; cvt.u16.u32 %mask, %ctas; cvt.u16.u32 %few, %x;
and.b16 %mask, %mask, %few; cvt.u16.u32 %few, %c2; and.b16 %few, %few, 1; cvt.s32.u16 %pixel, %few; shr.u64 %step, %step, 32;
TAKEN:
"""
#: descriptors: the matrices begin at %at and in the other half, and what lies between their parts are units of 16 bytes
DESCRIBED = """
shr.u32 %row, %at, 4; shr.u32 %size, %high, 24; and.b32 %n, %size, 15; shl.b32 %n, %n, 16; or.b32 %row, %row, %n;
shr.u32 %n, %size, 4; shl.b32 %size, %c0, 30; or.b32 %n, %n, %size; mov.b64 %da, {%row, %n};
shr.u32 %row, %part, 4; or.b32 %row, %row, 0x80000; mov.b64 %db, {%row, %n};
"""
LEAVES = """
DONE: st.global.u64 [%out], %given; add.u64 %in, %in, 8; add.u64 %out, %out, 8;
sub.u32 %left, %left, 1; setp.ne.u32 %p, %left, 0; @%p bra NEXT;
END: ret;
"""


class Page(NamedTuple):
    """A kernel, the steps that its scripts may have, how many threads share an object, and what is checked of launches."""

    module: ptxspec.Module
    steps: list[Step]
    in_warpgroup: bool
    shared: int
    check: Any


@cache
def page(number: int) -> Page:
    """The kernel of a page of seeds."""
    source = random.Random(f"page {number}")
    in_warpgroup, shared = number % WARPGROUPS == 0, source.choice([1] * 11 + [8])
    ways = steps(source, in_warpgroup)
    shared = 128 if in_warpgroup else shared
    labels = ", ".join(f"S{i}" for i in range(len(ways)))
    lines = [DECLARED, BEGINS.replace("SHARED", str(shared)), f"WAYS: .branchtargets {labels};", TAKEN]
    lines += [DESCRIBED] if in_warpgroup else []
    lines += [ALONE.replace("@SKIPS", "@!%first") if in_warpgroup else ALONE.replace("@SKIPS bra TAKEN;", "")]
    lines.append("brx.idx %op, WAYS;")
    for number, step in enumerate(ways):
        alone = in_warpgroup and not step.together
        text = step.text.replace("LW", f"L{number}")
        lines.append(
            f"S{number}: {'@!%first bra DONE; ' * alone}{text} {step.gives} bra {'END' if not text else 'DONE'};"
        )
    head = ".version 9.0\n.target sm_90a\n.address_size 64\n"
    directives = ".reqntid 128" if in_warpgroup else ""
    body = "\n".join([*lines, LEAVES])
    text = f"{head}.visible .entry k({PARAMETERS}) {directives} {{\n{body}\n}}\n"
    return Page(ptxspec.load(text), ways, in_warpgroup, shared, source.choice(CHECKS))


class Trial(NamedTuple):
    """A launch: its rows, CTAs, and how pieces land."""

    rows: np.ndarray
    grid: int
    copies: str


def packed(step: int, x: int, at: int, coordinates: int, units: int) -> int:
    """A step's 64 bits."""
    return step | (x & 0xFFFFFF) << 8 | (at & 0xFFF) << 32 | (coordinates & 0xFFF) << 44 | (units & 0xFF) << 56


class Drawing:
    """Scripts for the threads of a launch, one after another. `alike` gives the same to all of them."""

    def __init__(self, seed: int):
        self.page, self.source = page(seed // PAGE), random.Random(f"trial {seed}")
        self.steps, self.in_warpgroup = self.page.steps, self.page.in_warpgroup
        self.grid = 1 if self.in_warpgroup else self.source.choice([1, 2, 2, 2, 4])
        self.threads = 128 if self.in_warpgroup else self.source.choice([1, 1, 2, 3])
        completing = [i for i, step in enumerate(self.steps) if step.completes]
        fitting = [i for i in completing if self.grid > 1 or not self.steps[i].needs_another]
        self.completing = completing if self.source.random() < 0.05 else fitting
        self.weights = [step.weight * (0.02 if self.grid == 1 and step.needs_another else 1) for step in self.steps]
        self.alike = self.source
        self.cta = self.thread = 0

    def numbers(self, begin: str) -> list[int]:
        """The steps whose text begins so."""
        return [i for i, step in enumerate(self.steps) if step.text.startswith(begin)]

    def place(self) -> int:
        """Where in shared and in global memory: mostly at a multiple of 128, and where no other thread is."""
        if self.source.random() < 0.97:
            return 256 * (self.thread % 4) + self.source.choice([0, 128])
        return self.source.randrange(0, ROOM, self.source.choice([128, 64, 16, 4, 1]))

    def step(self, number: int, x: int | None = None, units: int | None = None) -> int:
        """A step with operands."""
        if x is None:
            x = self.source.choice([0, 1, 2, 3, 16, 64, self.source.getrandbits(24)])
        units = self.source.randrange(1, 9) if units is None else units
        return packed(
            number,
            x,
            self.place(),
            self.source.getrandbits(12) & self.source.choice([0x111, 0x111, 0x111, 0x377])
            | 0x011 * (self.source.random() < 0.9),
            units,
        )

    def copied(self) -> list[int]:
        """Bytes that an object awaits come: from this CTA, or the one before. Without such an instruction there is an arrival."""
        if not self.completing:
            return [self.step(scripts.ARRIVE, 1)]
        number, units = self.alike.choice(self.completing), self.alike.randrange(1, 9)
        amount, to = self.steps[number].amount or 16 * units, 1 << (self.cta + 1) % self.grid
        return [self.step(scripts.ARRIVE_EXPECT, amount), self.step(number, to, units)]

    def any(self) -> int:
        return self.step(self.source.choices(range(len(self.steps)), self.weights)[0])

    def some(self) -> list[int]:
        """Any step, which is waited for if it is a copy to global memory."""
        step = self.any()
        ends = self.numbers("cp.async.bulk.commit_group; ")
        return [step, *map(self.step, ends)] if "bulk_group" in self.steps[step & 255].text else [step]

    def multiplied(self) -> list[int]:
        """Products, which are waited for."""
        products = [self.source.choice(self.numbers("wgmma.mma"))]
        products += self.numbers("wgmma.mma") if self.source.random() < 0.2 else []
        result = [self.step(self.source.choice(self.numbers("wgmma.fence")))]
        result += [self.step(self.source.choice(products), None, self.source.choice([8, 24, 136])) for _ in range(2)]
        result.append(self.step(self.source.choice(self.numbers("wgmma.commit"))))
        if self.source.random() < 0.8:
            result.append(self.step(self.numbers("wgmma.wait_group.sync.aligned 0")[-1]))
        return [*result, self.step(self.source.choice(self.numbers("mov.b32")))]

    def parts(self) -> Iterator[list[int]]:
        """The parts of a script: threads meet between them."""
        meets = self.step(self.numbers("bar.sync" if self.in_warpgroup else "barrier.cluster.arrive; ")[-1])
        waits = self.numbers("LW:")
        yield [self.step(scripts.INIT, 1), self.step(self.source.choice(self.numbers("fence."))), meets]
        for phase in (0, 1):
            yield [*self.copied(), self.step(waits[phase])]
            yield [*self.multiplied(), meets] if self.in_warpgroup else [*self.some(), meets]

    def script(self, alike: random.Random) -> list[int]:
        """A script of at most sixteen steps."""
        self.alike = alike
        if self.grid == self.page.shared == 1 and alike.random() < 0.4 and not self.in_warpgroup:
            return [self.step(number, operand) for number, operand in scripts.script(self.source)]
        return [step for part in self.parts() for step in part][:CELLS]


@lru_cache(maxsize=4)
def trial(seed: int) -> Trial:
    """The scripts of a seed: right ones with some steps exchanged."""
    drawing = Drawing(seed)
    source, rows = drawing.source, blank_rows(drawing.grid * drawing.threads)
    rate, alike = source.choice([0, 0, 0, 0.03, 0.1, 0.4]), source.getrandbits(32)
    for number, row in enumerate(rows):
        drawing.cta, drawing.thread = divmod(number, drawing.threads)
        if drawing.in_warpgroup and number:
            row[:] = rows[0]
            continue
        script = drawing.script(random.Random(alike))
        script = [drawing.any() if source.random() < rate else step for step in script]
        row[:] = script + [drawing.step(scripts.NOTHING)] * (CELLS - len(script))
    if drawing.in_warpgroup and source.random() < 0.1:
        rows[source.randrange(128)][source.randrange(CELLS)] = drawing.any()
    return Trial(rows, drawing.grid, source.choice(WAYS))


@cache
def data() -> np.ndarray:
    """The numbers in memory, of which many are small when they are taken for floating-point numbers."""
    words = np.random.default_rng(5).integers(0, 1 << 32, ROOM // 2, dtype=np.uint32)
    words[::3] &= 0x3FFF3FFF
    return words


def maps(tensors: ptxspec.Pointer) -> list[bytes]:
    """The maps of tensors of words that lie behind one another: of one dimension to three, and of pixels."""
    box = ptxspec.TensorMap
    found = [
        box(tensors, (16,), type="u32", dims=(40,)),
        box(tensors + 256, (4, 4), type="u32", dims=(8, 8), swizzle="32B"),
        box(tensors + 512, (4, 2, 2), type="u32", dims=(8, 4, 3)),
        box(tensors + 1024, mode="im2col", type="u32", dims=(4, 5, 2), lower=(-1,), upper=(0,), channels=4, pixels=4),
    ]
    return [of.encode() for of in found]


def outcome(seed: int, engine: str) -> Any:
    """What a launch leaves, or what is said of it: (kind, what)."""
    of, asked = page(seed // PAGE), trial(seed)
    memory, out = ptxspec.Memory(), np.full(asked.rows.shape, FILL, np.uint64)
    source, target = memory.put(data()), memory.put(data()[: ROOM // 4])
    tensors = memory.put(data()[:512])
    described = maps(tensors)
    live = memory.put(np.frombuffer(described[1] * 2, np.uint8).copy())
    args = [asked.rows.copy(), out, source, target, live, *described]
    threads = len(asked.rows) // asked.grid
    how = {"cluster": asked.grid, "engine": engine, "copies": asked.copies, "check": of.check, "memory": memory}
    try:
        of.module.launch("k", grid=asked.grid, block=threads, args=args, **how)
    except ptxspec.LaunchError as error:
        return error.rule, str(error)
    left = [memory.read(place, size) for place, size in ((target, ROOM), (tensors, 2048), (live, 256))]
    return "left", (out.tolist(), left)
