"""Kernels that run a litmus test many times at once, as tools for litmus tests on GPUs do, and kernels that count its outcomes.

An *instance* is one run of a test, with locations that nothing else accesses. In each *round* a warp plays one thread of the test
in 32 instances. The CTAs and clusters of the threads are as the test says: those of a *team* are as many as the test names. Which
team's CTAs meet in an instance changes from round to round. Warps and CTAs that play no thread make noise: they access scratch
memory.

What a kernel does around a test adds operations on other locations, and reads of the test's locations that come first. An
execution of all of that, without what was added, is one of the test: so nothing that the model forbids becomes allowed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ptxspec.query.litmus.programs import WARP
from ptxspec.query.litmus.reading import LitmusTest, read, values_in
from ptxspec.query.litmus.threads import ORDER_MARK, PROXY_MARK
from ptxspec.query.litmus.writing import ThreadBody, bodies_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.orders import Proxy

#: the head of a module
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
#: what a kernel finds at the address that it is given, each in 8 bytes; behind that an address of the locations for each access,
#: so that an assembler does not know which of them are the same, and one for each variable
SETTINGS = (
    "counters", "results", "scratch", "table", "other", "rounds", "groups", "stride", "apart", "seed", "teams", "slots", "tries",
    "delays", "touches", "span", "warm", "noise",
)  # fmt: skip
#: what stands for an outcome with a value that no counter is for
OTHER = "other"
#: the barrier at which the threads of a CTA begin a round together, where a test has barriers
_ROUND_BARRIER = 15
_BRACKET = re.compile(r"\[\s*([A-Za-z_$%][\w$]*)\s*(\+\s*\d+)?\s*\]")
_BARRIER = re.compile(r"\b(?:bar|barrier)\.(?!cluster)\w+\S*\s+(\d+)\s*(?:,\s*(\d+))?\s*;")
_NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)\b")


def digest_of(text: str) -> str:
    """By which a test is known: the first 16 digits of the SHA-256 digest of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class PlayedThread(NamedTuple):
    """A thread of a test: its number, which of the clusters of a team it is in, which CTA of that, and which thread of that."""

    thread: int
    cluster: int
    rank: int
    position: int


class ShapeKernel:
    """A litmus test as a kernel. `text` is the test; raises LitmusError, and Unsupported for what no kernel can say."""

    def __init__(self, text: str):
        self.test: LitmusTest = read(text)
        self.text = text
        self.digest = digest_of(text)
        self.name = f"t{self.digest}"
        self.bodies = bodies_of(self.test)
        self.names = list(self.test.variables)
        #: what is counted: the registers and variables of the test's condition, in order
        self.asked: list[tuple[Any, ...]] = values_in(self.test.condition)  # type: ignore[assignment]
        for space, _ in self.test.types.values():
            if space != "global":
                raise Unsupported(f"{self.test.name}: a variable in .{space}")
        for variable in self.test.variables.values():
            if variable.initial:
                raise Unsupported(f"{self.test.name}: {variable.name} is not zero at first")
        for value in self.asked:
            bits = self._type_of(value)
            if not bits.endswith("32"):
                raise Unsupported(f"{self.test.name}: an outcome with a value of .{bits}")

    def _type_of(self, value: tuple[Any, ...]) -> str:
        if value[0] == "memory":
            return self.test.types[value[1]][1]
        types = self.bodies[value[1]].registers
        return types[value[2]].name if value[2] in types else "b32"

    # where it runs -------------------------------------------------------------------------------------------------------

    @cached_property
    def roles(self) -> list[PlayedThread]:
        """The threads with their places."""
        clusters: dict[int, dict[int, int]] = {}
        taken: dict[int, int] = {}
        roles = []
        for thread, place in enumerate(self.test.places):
            ctas = clusters.setdefault(place.cluster, {})
            rank = ctas.setdefault(place.cta, len(ctas))
            position = taken[place.cta] = taken.get(place.cta, -1) + 1
            roles.append(PlayedThread(thread, list(clusters).index(place.cluster), rank, position))
        return roles

    @property
    def clusters(self) -> int:
        """How many clusters a team has."""
        return 1 + max(role.cluster for role in self.roles)

    @property
    def ctas(self) -> int:
        """How many CTAs a cluster has."""
        return 1 + max(role.rank for role in self.roles)

    @property
    def warps(self) -> int:
        """How many warps of a CTA play threads of one instance, at most."""
        return 1 + max(role.position for role in self.roles)

    @cached_property
    def has_barriers(self) -> bool:
        """Whether threads wait for one another, so that a CTA has no warps but theirs."""
        return any(re.match(r"bar\.|barrier\.|barrier\{", line) for body in self.bodies for line, _ in body.lines)

    @cached_property
    def aliases(self) -> bool:
        """Whether the locations need a second address."""
        return any(variable.location for variable in self.test.variables.values())

    @cached_property
    def refusal(self) -> str:
        """Why it is not put to a GPU, or nothing."""
        lines = [line for body in self.bodies for line, _ in body.lines]
        if len({place.gpu for place in self.test.places}) > 1:
            return "two GPUs"
        if any(variable.proxy is not Proxy.GENERIC for variable in self.test.variables.values()):
            return "another proxy"
        if any(mark in line for mark in (PROXY_MARK, ORDER_MARK) for line in lines):
            return "not PTX"
        return "" if self._barriers_complete() else "waits for ever"

    def _barriers_complete(self) -> bool:
        """Whether as many threads of a CTA come to each barrier as it counts: without a number all of them, as often."""
        comes: dict[int, list[list[tuple[str, str | None]]]] = {}
        for place, body in zip(self.test.places, self.bodies, strict=True):
            met = [(m[1], m[2]) for line, _ in body.lines if (m := _BARRIER.search(line))]
            comes.setdefault(place.cta, []).append(met)
        return all(
            sum(other == barrier for met in threads for other in met)
            == max(met.count(barrier) for met in threads) * (int(barrier[1]) // WARP if barrier[1] else len(threads))
            for threads in comes.values()
            for barrier in {b for met in threads for b in met}
        )

    # what is counted -----------------------------------------------------------------------------------------------------

    @cached_property
    def candidates(self) -> list[int]:
        """The values that are told apart: small ones, those that the test names, and the next ones, to which it may count."""
        words = [cell.text for column in self.test.columns for cell in column]
        named = {int(n, 0) for word in words for n in _NUMBER.findall(word)}
        return sorted(n for n in {*range(4), *named, *(n + 1 for n in named)} if n < 1 << 32)

    @property
    def outcomes(self) -> int:
        """How many counters the outcomes need: for each value one more than there are candidates."""
        return int((len(self.candidates) + 1) ** len(self.asked))

    def outcome(self, index: int) -> tuple[int, ...] | None:
        """The values that a counter is for, in the order of `asked`; None if there is another one among them."""
        digits = []
        for _ in self.asked:
            index, digit = divmod(index, len(self.candidates) + 1)
            digits.append(digit)
        if any(digit == len(self.candidates) for digit in digits):
            return None
        return tuple(self.candidates[digit] for digit in reversed(digits))

    # the kernels ---------------------------------------------------------------------------------------------------------

    @cached_property
    def accesses(self) -> list[str]:
        """The variable of each access, thread by thread: the order of the addresses behind the settings."""
        return [match[1] for body in self.bodies for line, _ in body.lines for match in _BRACKET.finditer(_code(line))]

    @cached_property
    def places(self) -> dict[str, int]:
        """Which location of an instance a variable is: aliases are the same."""
        first = [name for name, variable in self.test.variables.items() if not variable.location]
        return {name: first.index(self.test.variables[name].location or name) for name in self.names}

    @property
    def locations(self) -> int:
        """How many locations an instance has."""
        return 1 + max(self.places.values())

    @property
    def addresses(self) -> list[str]:
        """The variables whose addresses lie behind the settings: one for each access, and then once each."""
        return [*self.accesses, *self.names]

    @property
    def _of_variables(self) -> int:
        """Where among the settings the addresses of the variables begin."""
        return 8 * (len(SETTINGS) + len(self.accesses))

    def kernels(self) -> str:
        """PTX of the kernel that runs instances, and of the one that counts outcomes, both without the head of a module."""
        return "\n".join([*self._running(), *self._counting(), ""])

    def _running(self) -> Iterator[str]:
        yield f".visible .entry {self.name}(.param .u64 settings)\n{{"
        yield from _REGISTERS
        yield from _loaded()
        yield from self._placed()
        yield "ROUND:"
        yield "setp.ge.u32 %p, %round, %rounds; @%p bra DONE;"
        yield f"setp.eq.u32 %p, %thread, {len(self.roles)}; @%p bra NOISE;"
        yield from self._instance()
        for role in self.roles[1:]:
            yield f"setp.eq.u32 %p, %thread, {role.thread}; @%p bra THREAD{role.thread};"
        number = 0
        for role, body in zip(self.roles, self.bodies, strict=True):
            yield f"THREAD{role.thread}:"
            text = list(self._thread(role, body, number))
            number += sum(len(_BRACKET.findall(_code(line))) for line, _ in body.lines)
            yield "{\n" + "\n".join(text) + "\nbra.uni NEXT;\n}"
        yield from _NOISE

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
        count = sum(len(_BRACKET.findall(_code(line))) for line, _ in body.lines)
        for name, type in body.registers.items():
            yield f".reg .{type.name.removeprefix('.')} {name};"
        if count:
            yield f".reg .b64 %a<{count}>;"
        for name, type in body.registers.items():
            if type.name.removeprefix(".") != "pred":
                initial = self.test.registers.get((role.thread, name), 0)
                yield f"mov.b{_width(type.name)} {name}, {initial};"
        yield "mul.wide.u32 %first, %instance, %stride;"
        for k in range(count):
            offset = 8 * (len(SETTINGS) + number + k)
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
        counter = iter(range(count))
        for line, _ in body.lines:
            yield _BRACKET.sub(lambda m: f"[%a{next(counter)}{m[2] or ''}]", _code(line))
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


_WIDE = ("counters", "results", "scratch", "table", "other")
_REGISTERS = (
    ".reg .pred %p;",
    ".reg .b64 %settings, %at, %first, %b, %counter, " + ", ".join(f"%{name}" for name in _WIDE) + ";",
    ".reg .b32 %x, %y, %z, %lane, %slot, %key, %cluster, %team, %thread, %round, %group, %instance, %sum, "
    + ", ".join(f"%{name}" for name in SETTINGS if name not in _WIDE)
    + ";",
)
#: those who play no thread, and the end of a round and of the kernel
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


def _code(line: str) -> str:
    return line.partition("//")[0].rstrip()


def _width(type: str) -> str:
    match = re.search(r"\d+$", type)
    assert match is not None, type
    return match[0]


def module(kernels: Sequence[ShapeKernel]) -> str:
    """A module with the kernels of tests."""
    return HEAD + "\n".join(kernel.kernels() for kernel in kernels)


class Placement(NamedTuple):
    """How instances are placed and disturbed: bytes from an instance to the next, at least, and from a location of an instance to
    the next one (0: those of all instances lie between); how often a warp looks whether the others have come; bits of a random
    delay; accesses to scratch memory before the test, and in noise; whether locations are read first; slots of a CTA; warps and
    CTAs (for each multiprocessor) that make noise."""

    stride: int
    apart: int
    tries: int
    delays: int
    touches: int
    noise: int
    warm: bool
    slots: int = 2
    noisy_warps: int = 0
    noisy_ctas: int = 0


#: how tests are run
PLACEMENTS = (
    Placement(256, 128, tries=400, delays=0, touches=0, noise=0, warm=False),
    Placement(16, 0, tries=400, delays=15, touches=0, noise=0, warm=True, slots=4),
    Placement(32, 8, tries=400, delays=7, touches=0, noise=0, warm=True),
    Placement(8, 0, tries=400, delays=63, touches=1, noise=8, warm=True, noisy_warps=2),
    Placement(256, 64, tries=400, delays=31, touches=3, noise=12, warm=True, noisy_warps=2, noisy_ctas=1),
    Placement(8, 0, tries=400, delays=0, touches=2, noise=12, warm=False, slots=4, noisy_ctas=1),
    Placement(128, 0, tries=0, delays=255, touches=1, noise=8, warm=True, slots=1, noisy_warps=1),
    Placement(8, 0, tries=400, delays=3, touches=0, noise=0, warm=False, slots=8),
)
#: bytes of scratch memory, without a bit for parts of a word
SPAN = (1 << 20) - 4
#: warps of a multiprocessor that test, or make noise beside that, about
_WARPS = 16


class ShapeLaunch(NamedTuple):
    """A launch: CTAs, threads of each, CTAs of a cluster, and what the kernel finds among its settings; instances; bytes of the
    locations and of the counters."""

    grid: int
    block: int
    cluster: int
    settings: dict[str, int]
    instances: int
    extent: int
    counters: int


def launch_of(kernel: ShapeKernel, placement: Placement, multiprocessors: int, rounds: int) -> ShapeLaunch:
    """How a test is launched in a placement."""
    slots = 1 if kernel.has_barriers else placement.slots
    noisy = 0 if kernel.has_barriers else placement.noisy_warps
    warps = slots * kernel.warps + noisy
    at_once = multiprocessors * max(1, _WARPS // warps)
    of_team = kernel.clusters * kernel.ctas
    teams = max(1, at_once // of_team)
    silent = -(-placement.noisy_ctas * multiprocessors // of_team) * of_team
    groups = teams * slots
    instances = rounds * groups * WARP
    stride = max(placement.stride, kernel.locations * placement.apart)
    apart = placement.apart or instances * stride + 128
    extent = instances * stride + kernel.locations * apart + 8
    settings = {
        "rounds": rounds, "groups": groups, "stride": stride, "apart": apart, "teams": teams, "slots": slots,
        "tries": placement.tries, "delays": placement.delays, "touches": placement.touches, "span": SPAN,
        "warm": int(placement.warm), "noise": placement.noise if noisy or silent else 0,
    }  # fmt: skip
    return ShapeLaunch(
        teams * of_team + silent, warps * WARP, kernel.ctas, settings, instances, extent, rounds * groups * 32
    )
