"""Kernels that run a litmus test many times at once, as tools for litmus tests on GPUs do, and kernels that count its outcomes.

An *instance* is one run of a test, with locations that nothing else accesses. In each *round* a warp plays one thread of the test
in 32 instances. The CTAs and clusters of the threads are as the test says: those of a *team* are as many as the test names. Which
team's CTAs meet in an instance changes from round to round. Warps and CTAs that play no thread make noise: they access scratch
memory.

What lies in shared memory has a place of its own in each instance of a CTA, which all threads of the CTA fill before the first
round. What a kernel does around a test adds operations on other locations, and reads of the test's locations that come first. An
execution of all of that, without what was added, is one of the test: so nothing that the model forbids becomes allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptxspec.query.litmus.programs import WARP
from ptxspec.query.litmus.writing import ThreadBody
from ptxspec_workshop.generate.shape_requirements import SETTINGS, PlayedThread, ShapeRequirements
from ptxspec_workshop.generate.shape_shared import shared_begun, shared_ended, shared_of_instance

#: the head of a module
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
#: the barrier at which the threads of a CTA begin a round together, where a test has barriers
_ROUND_BARRIER = 15


class ShapeKernel(ShapeRequirements):
    """A litmus test as a kernel. `text` is the test; raises LitmusError, and Unsupported for what no kernel can say."""

    def kernels(self) -> str:
        """PTX of the kernel that runs instances, of the one that counts outcomes, and of one that gives global memory its values
        if they are not zero; all without the head of a module."""
        beginning = self._beginning() if self.has_values else ()
        return "\n".join([*self._running(), *self._counting(), *beginning, ""])

    def _running(self) -> Iterator[str]:
        yield f".visible .entry {self.name}(.param .u64 settings)\n{{"
        yield from _REGISTERS
        yield from _loaded()
        yield from shared_begun(self)
        yield from self._placed()
        yield "ROUND:"
        yield "setp.ge.u32 %p, %round, %rounds; @%p bra DONE;"
        yield f"setp.eq.u32 %p, %thread, {len(self.roles)}; @%p bra NOISE;"
        yield from self._instance()
        yield from shared_of_instance(self)
        for role in self.roles[1:]:
            yield f"setp.eq.u32 %p, %thread, {role.thread}; @%p bra THREAD{role.thread};"
        number = 0
        for role, body in zip(self.roles, self.bodies, strict=True):
            yield f"THREAD{role.thread}:"
            text = list(self._thread(role, body, number))
            number += len(self.accessed(body))
            yield "{\n" + "\n".join(text) + "\nbra.uni NEXT;\n}"
        yield from _NOISE
        yield from shared_ended(self)
        yield from _END

    def _placed(self) -> Iterator[str]:
        """Which thread of the test is played."""
        yield "mov.u32 %x, %tid.x; and.b32 %lane, %x, 31; shr.u32 %x, %x, 5;"
        yield f"div.u32 %slot, %x, {self.warps}; rem.u32 %key, %x, {self.warps};"
        yield f"mov.u32 %x, %ctaid.x; rem.u32 %y, %x, {self.ctas}; div.u32 %x, %x, {self.ctas};"
        yield f"rem.u32 %cluster, %x, {self.clusters}; div.u32 %team, %x, {self.clusters};"
        yield f"mad.lo.u32 %x, %cluster, {self.ctas}, %y; mad.lo.u32 %key, %x, {self.warps}, %key;"
        nobody = len(self.roles)
        yield f"mov.u32 %thread, {nobody};"
        for role in self.roles:
            key = (role.cluster * self.ctas + role.rank) * self.warps + role.position
            yield f"setp.eq.u32 %p, %key, {key}; @%p mov.u32 %thread, {role.thread};"
        yield f"setp.ge.u32 %p, %team, %teams; @%p mov.u32 %thread, {nobody};"
        yield f"setp.ge.u32 %p, %slot, %slots; @%p mov.u32 %thread, {nobody};"
        yield "mov.u32 %round, 0; mov.u32 %sum, 0;"

    def _instance(self) -> Iterator[str]:
        """Which instance it is played in: teams and slots turn by numbers of the round and the cluster, lanes by those of the
        round and the thread."""
        yield "mad.lo.u32 %x, %round, 0x9e3779b1, %seed;"
        yield from _mixed("%x")
        yield "add.u32 %y, %cluster, 1; mul.lo.u32 %y, %y, 0x7feb352d; add.u32 %y, %x, %y;"
        yield from _mixed("%y")
        yield "rem.u32 %z, %y, %teams; add.u32 %z, %z, %team; rem.u32 %z, %z, %teams;"
        yield "shr.u32 %y, %y, 12; rem.u32 %y, %y, %slots; add.u32 %y, %y, %slot; rem.u32 %y, %y, %slots;"
        yield "mad.lo.u32 %group, %z, %slots, %y;"
        yield "add.u32 %y, %thread, 1; mul.lo.u32 %y, %y, 0x846ca68b; xor.b32 %x, %x, %y;"
        yield from _mixed("%x")
        yield "and.b32 %y, %x, 31; xor.b32 %y, %y, %lane;"
        yield "mad.lo.u32 %z, %round, %groups, %group; mad.lo.u32 %instance, %z, 32, %y;"
        yield "mul.wide.u32 %at, %z, 32; add.u64 %counter, %counters, %at;"
        yield "mad.lo.u32 %x, %group, 0x2c1b3c6d, %x;"
        yield from _mixed("%x")

    def _thread(self, role: PlayedThread, body: ThreadBody, number: int) -> Iterator[str]:
        accessed = self.accessed(body)
        count = len(accessed)
        for name, type in body.registers.items():
            yield f".reg .{type.name.removeprefix('.')} {name};"
        if count:
            yield f".reg .b64 %a<{count}>;"
        if any(name in self.shared for name in accessed):
            yield f".reg .b32 %s<{count}>;"
        for name, type in body.registers.items():
            if type.name.removeprefix(".") != "pred":
                initial = self.test.registers.get((role.thread, name), 0)
                yield f"mov.b{_width(type.name)} {name}, {initial};"
        yield "mul.wide.u32 %first, %instance, %stride;"
        for k in range(count):
            offset = 8 * (len(SETTINGS) + number + k)
            if accessed[k] in self.shared:
                yield f"ld.global.u64 %a{k}, [%settings+{offset}]; cvt.u32.u64 %s{k}, %a{k}; add.u32 %s{k}, %s{k}, %piece;"
                continue
            yield f"ld.global.u64 %a{k}, [%settings+{offset}]; add.u64 %a{k}, %a{k}, %first;"
            yield f"mul.wide.u32 %b, %apart, {self.places[self.accesses[number + k]]}; add.u64 %a{k}, %a{k}, %b;"
        yield "setp.eq.u32 %p, %warm, 0; @%p bra COLD;"
        for k, name in enumerate(self.names):
            if (
                self.test.types[name][1] != "b32"
            ):  # a read of another size than the test's would be a race of mixed size
                continue
            yield f"ld.global.u64 %b, [%settings+{self._of_variables + 8 * k}]; add.u64 %at, %b, %first;"
            yield f"mul.wide.u32 %b, %apart, {self.places[name]}; add.u64 %at, %at, %b;"
            yield "ld.weak.global.u32 %y, [%at]; add.u32 %sum, %sum, %y;"
        yield "COLD:"
        if self.has_barriers and self.warps > 1:
            yield f"bar.sync {_ROUND_BARRIER};"
        yield from _meeting(WARP * len(self.roles))
        lines = list(self.with_addresses(body))
        yield from (EXIT.sub("bra EXITED;", line) for line in lines)
        if any(EXIT.search(line) for line in lines):
            yield "EXITED:"
        for place, value in enumerate(self.asked):
            if value[:2] == ("register", role.thread):
                yield f"mul.lo.u32 %y, %rounds, %groups; mul.lo.u32 %y, %y, {32 * place}; add.u32 %y, %y, %instance;"
                yield "mul.wide.u32 %at, %y, 4; add.u64 %at, %results, %at;"
                held = value[2] if value[2] in body.registers else 0
                yield f"mov.b32 %y, {held}; st.global.u32 [%at], %y;"

    def _counting(self) -> Iterator[str]:
        """The kernel that counts."""
        values = len(self.asked)
        yield f".visible .entry {self.name}_count(.param .u64 settings)\n{{"
        yield from _REGISTERS
        yield f".reg .b32 %v<{values}>, %d<{values}>;"
        yield from _loaded()
        yield f"ld.global.u64 %first, [%settings+{self._of_variables}];"
        yield "mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %z, %tid.x; mad.lo.u32 %instance, %x, %y, %z;"
        yield "mul.lo.u32 %rounds, %rounds, %groups; mul.lo.u32 %rounds, %rounds, 32;"
        yield "and.b32 %lane, %z, 31;"
        yield "mov.u32 %x, %nctaid.x; mul.lo.u32 %group, %x, %y;"
        yield "AGAIN:\nsetp.ge.u32 %p, %instance, %rounds; @%p bra DONE;"
        yield "mov.u32 %key, 0; mov.u32 %thread, 0;"
        for place, value in enumerate(self.asked):
            if value[0] == "register":
                yield f"mad.lo.u32 %y, %rounds, {place}, %instance; mul.wide.u32 %at, %y, 4; add.u64 %at, %results, %at;"
            else:
                yield "mul.wide.u32 %at, %instance, %stride; add.u64 %at, %at, %first;"
                yield f"mul.wide.u32 %b, %apart, {self.places[value[1]]}; add.u64 %at, %at, %b;"
            yield f"ld.global.u32 %v{place}, [%at]; mov.u32 %d{place}, {len(self.candidates)};"
            for digit, candidate in enumerate(self.candidates):
                yield f"setp.eq.u32 %p, %v{place}, {candidate}; @%p mov.u32 %d{place}, {digit};"
            yield f"setp.eq.u32 %p, %d{place}, {len(self.candidates)}; @%p mov.u32 %thread, 1;"
            yield f"mad.lo.u32 %key, %key, {len(self.candidates) + 1}, %d{place};"
        # lanes with the same outcome are counted by the first of them
        yield "match.any.sync.b32 %x, %key, 0xffffffff; popc.b32 %y, %x; brev.b32 %x, %x; clz.b32 %x, %x;"
        yield "mul.wide.u32 %at, %key, 4; add.u64 %at, %table, %at;"
        yield "setp.eq.u32 %p, %x, %lane; @%p red.relaxed.gpu.global.add.u32 [%at], %y;"
        yield "setp.eq.u32 %p, %thread, 0; @%p bra KNOWN;"
        for place in range(values):
            yield f"st.global.u32 [%other+{4 * place}], %v{place};"
        yield "KNOWN:\nadd.u32 %instance, %instance, %group; bra.uni AGAIN;\nDONE:\nret;\n}"

    @property
    def has_values(self) -> bool:
        """Whether a variable in global memory is not zero at first."""
        return any(self.test.variables[name].initial for name in self.names)

    def _beginning(self) -> Iterator[str]:
        """The kernel that gives global memory its values."""
        yield f".visible .entry {self.name}_begin(.param .u64 settings)\n{{"
        yield from _REGISTERS
        yield from _loaded()
        yield "mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %z, %tid.x; mad.lo.u32 %instance, %x, %y, %z;"
        yield "mul.lo.u32 %rounds, %rounds, %groups; mul.lo.u32 %rounds, %rounds, 32;"
        yield "mov.u32 %x, %nctaid.x; mul.lo.u32 %group, %x, %y;"
        yield "AGAIN:\nsetp.ge.u32 %p, %instance, %rounds; @%p bra DONE;"
        yield "mul.wide.u32 %at, %instance, %stride;"
        for k, name in enumerate(self.names):
            if self.test.variables[name].initial:
                yield f"ld.global.u64 %first, [%settings+{self._of_variables + 8 * k}]; add.u64 %first, %first, %at;"
                yield f"mul.wide.u32 %b, %apart, {self.places[name]}; add.u64 %first, %first, %b;"
                yield f"mov.u32 %y, {self.test.variables[name].initial}; st.global.u32 [%first], %y;"
        yield "add.u32 %instance, %instance, %group; bra.uni AGAIN;\nDONE:\nret;\n}"


_WIDE = ("counters", "results", "scratch", "table", "other")
_REGISTERS = (
    ".reg .pred %p;",
    ".reg .b64 %settings, %at, %first, %b, %counter, " + ", ".join(f"%{name}" for name in _WIDE) + ";",
    ".reg .b32 %x, %y, %z, %lane, %slot, %key, %cluster, %team, %thread, %round, %group, %instance, %sum, "
    + ", ".join(f"%{name}" for name in SETTINGS if name not in _WIDE)
    + ";",
)
#: the end of a thread of a test
EXIT = re.compile(r"\bexit;")
#: those who play no thread, and the end of a round
_NOISE = (
    "NOISE:",
    "setp.eq.u32 %p, %noise, 0; @%p bra DONE;",
    "mad.lo.u32 %x, %seed, 0x9e3779b1, %round; mov.u32 %y, %ctaid.x; mad.lo.u32 %x, %y, 1024, %x;",
    "mov.u32 %y, %tid.x; mad.lo.u32 %x, %y, 0x7feb352d, %x; mov.u32 %z, 0;",
    "NOISES:",
    "mad.lo.u32 %x, %x, 1664525, 1013904223; shr.u32 %y, %x, 6; and.b32 %y, %y, %span;",
    "cvt.u64.u32 %at, %y; add.u64 %at, %scratch, %at; ld.volatile.global.u32 %y, [%at]; add.u32 %sum, %sum, %y;",
    "st.volatile.global.u32 [%at], %x; add.u32 %z, %z, 1; setp.lt.u32 %p, %z, %noise; @%p bra NOISES;",
    "NEXT:",
    "add.u32 %round, %round, 1; bra.uni ROUND;",
    "DONE:",
)
_END = (
    "setp.ne.u32 %p, %sum, 0x5eed1234; @%p ret;",
    "st.global.u32 [%scratch], %sum;",
    "ret;\n}",
)


def _loaded() -> Iterator[str]:
    yield "ld.param.u64 %settings, [settings];"
    for number, name in enumerate(SETTINGS):
        yield f"ld.global.u{64 if name in _WIDE else 32} %{name}, [%settings+{8 * number}];"


def _mixed(register: str) -> Iterator[str]:
    """A number whose bits all depend on those of another."""
    yield f"shr.u32 %key, {register}, 16; xor.b32 {register}, {register}, %key; mul.lo.u32 {register}, {register}, 0x7feb352d;"
    yield f"shr.u32 %key, {register}, 15; xor.b32 {register}, {register}, %key; mul.lo.u32 {register}, {register}, 0x846ca68b;"
    yield f"shr.u32 %key, {register}, 16; xor.b32 {register}, {register}, %key;"


def _meeting(arrivals: int) -> Iterator[str]:
    """Wait for the other threads of the instances of a warp, so many times at most; touch scratch memory; wait for a while."""
    yield "setp.eq.u32 %p, %tries, 0; @%p bra MET;"
    yield "red.relaxed.gpu.global.add.u32 [%counter], 1; mov.u32 %z, 0;"
    yield f"MEET:\nld.relaxed.gpu.global.u32 %y, [%counter]; setp.ge.u32 %p, %y, {arrivals}; @%p bra MET;"
    yield "add.u32 %z, %z, 1; setp.lt.u32 %p, %z, %tries; @%p bra MEET;"
    yield "MET:\nmov.u32 %z, 0; mad.lo.u32 %key, %lane, 0x2c1b3c6d, %x;"
    yield "TOUCH:\nsetp.ge.u32 %p, %z, %touches; @%p bra TOUCHED;"
    yield "mad.lo.u32 %key, %key, 1664525, 1013904223; shr.u32 %y, %key, 6; and.b32 %y, %y, %span;"
    yield "cvt.u64.u32 %at, %y; add.u64 %at, %scratch, %at; ld.volatile.global.u32 %y, [%at]; add.u32 %sum, %sum, %y;"
    yield "st.volatile.global.u32 [%at], %key; add.u32 %z, %z, 1; bra.uni TOUCH;"
    yield "TOUCHED:\nand.b32 %z, %x, %delays;"
    yield "DELAY:\nsetp.eq.u32 %p, %z, 0; @%p bra DELAYED;"
    yield "mad.lo.u32 %x, %x, 1664525, 1013904223; xor.b32 %sum, %sum, %x; sub.u32 %z, %z, 1; bra.uni DELAY;"
    yield "DELAYED:"


def _width(type: str) -> str:
    match = re.search(r"\d+$", type)
    assert match is not None, type
    return match[0]


def module(kernels: Sequence[ShapeKernel]) -> str:
    """A module with the kernels of tests."""
    return HEAD + "\n".join(kernel.kernels() for kernel in kernels)
