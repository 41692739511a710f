"""Random programs with branches, loops, memory and collectives, each written in more than one way, and kernels that run them."""

from __future__ import annotations

import random
import re
from typing import Any, NamedTuple

import numpy as np

import ptxspec

#: registers of a program: two inputs, and three that begin as zeros
INPUTS, REGISTERS, PREDICATES = ("a", "b"), ("r0", "r1", "r2"), ("p0", "p1")
#: bytes of the buffer m
SIZE = 32
LANES = 32


class Compute(NamedTuple):
    op: str
    to: str
    sources: tuple[str, ...]


class Compare(NamedTuple):
    op: str
    to: str
    sources: tuple[str, str]


class Load(NamedTuple):
    to: str
    index: str
    mask: int


class Store(NamedTuple):
    source: str
    index: str
    mask: int


class If(NamedTuple):
    predicate: str
    then: tuple[Any, ...]
    other: tuple[Any, ...]


class Repeat(NamedTuple):
    times: int
    body: tuple[Any, ...]


class Exchange(NamedTuple):
    """A collective of the whole warp."""

    op: str
    to: str
    source: str
    more: str


_BINARY = ("add.u32", "sub.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32", "shl.b32", "shr.u32")
_SWAPS = frozenset({"add.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"})
_COMPARISONS = ("lt.u32", "ge.s32", "eq.u32", "ne.u32")


def program(rng: random.Random, warp: bool = False) -> tuple[Any, ...]:
    """A random program."""
    found = [_statement(rng, 2, warp) for _ in range(rng.randint(3, 6))]
    if warp:
        found.insert(rng.randrange(len(found) + 1), _exchange(rng))
        found.append(_exchange(rng))
    return tuple(found)


def _value(rng: random.Random) -> str:
    return rng.choice((*INPUTS, *REGISTERS, *REGISTERS, str(rng.choice((0, 1, 2, 3, 5, 8, 31, 255)))))


def _statement(rng: random.Random, depth: int, warp: bool) -> Any:
    kind = rng.random()
    if kind < 0.40:
        return Compute(rng.choice(_BINARY), rng.choice(REGISTERS), (rng.choice((*INPUTS, *REGISTERS)), _value(rng)))
    if kind < 0.55:
        return Compare(
            rng.choice(_COMPARISONS), rng.choice(PREDICATES), (rng.choice((*INPUTS, *REGISTERS)), _value(rng))
        )
    if kind < 0.68 and not warp:
        index = rng.choice((*INPUTS, *REGISTERS))
        return Load(rng.choice(REGISTERS), index, rng.choice((7, 7, 7, 3, 8 if rng.random() < 0.3 else 1)))
    if kind < 0.80 and not warp:
        return Store(rng.choice((*INPUTS, *REGISTERS)), rng.choice((*INPUTS, *REGISTERS)), rng.choice((7, 7, 3, 1, 0)))
    if depth and kind < 0.95:
        branches = [tuple(_statement(rng, depth - 1, warp) for _ in range(rng.randint(0, 2))) for _ in range(2)]
        return If(rng.choice(PREDICATES), branches[0] or (_statement(rng, 0, warp),), branches[1])
    if depth and not warp:
        return Repeat(rng.randint(1, 3), tuple(_statement(rng, 0, warp) for _ in range(rng.randint(1, 2))))
    return Compute(rng.choice(_BINARY), rng.choice(REGISTERS), (rng.choice((*INPUTS, *REGISTERS)), _value(rng)))


def _exchange(rng: random.Random) -> Exchange:
    op = rng.choice(("shfl.sync.bfly.b32", "shfl.sync.up.b32", "shfl.sync.idx.b32", "ballot", "any", "all"))
    return Exchange(op, rng.choice(REGISTERS), rng.choice((*INPUTS, *REGISTERS)), str(rng.randrange(32)))


def mutated(rng: random.Random, statements: tuple[Any, ...]) -> tuple[Any, ...]:
    """The program with one statement changed."""
    at = rng.randrange(len(statements))
    one = statements[at]
    if isinstance(one, If) and rng.random() < 0.7:
        one = (
            one._replace(then=mutated(rng, one.then)) if rng.random() < 0.8 else If(one.predicate, one.other, one.then)
        )
    elif isinstance(one, Repeat):
        one = one._replace(body=mutated(rng, one.body))
    elif isinstance(one, Compute | Compare):
        one = one._replace(sources=(one.sources[0], _value(rng)))
    elif isinstance(one, Load | Store):
        one = one._replace(index=rng.choice((*INPUTS, *REGISTERS)))
    elif isinstance(one, Exchange):
        one = one._replace(more=str(int(one.more) ^ (1 << rng.randrange(5))))
    return (*statements[:at], one, *statements[at + 1 :])


class Writer:
    """A program as PTX, in one of many ways."""

    def __init__(self, rng: random.Random, name: str):
        self.rng, self.name, self.count, self.lines = rng, name, 0, [""]

    def text(self, statements: tuple[Any, ...]) -> str:
        zeros = [f"mov.u32 {r}, 0;" for r in REGISTERS]
        self.lines = [*zeros, *(f"setp.ne.u32 {p}, {i}, 0;" for p, i in zip(PREDICATES, INPUTS, strict=True))]
        self.write(statements)
        return self.renamed("\n".join(self.lines))

    def renamed(self, text: str) -> str:
        """The text with scratch registers of this side's own."""
        return re.sub(r"\b(t|q|k|p[0-2])\b(?!\.)", rf"\1{self.name}", text)

    def label(self) -> str:
        self.count += 1
        return f"{self.name}{self.count}"

    def write(self, statements: tuple[Any, ...], guard: str = "") -> None:
        for one in statements:
            self.statement(one, guard)

    def statement(self, one: Any, guard: str) -> None:
        say, rng = self.lines.append, self.rng
        match one:
            case Compute(op, to, (x, y)):
                if op in _SWAPS and not y.isdigit() and rng.random() < 0.5:
                    x, y = y, x
                say(f"{guard}{op} {to}, {x}, {y};")
            case Compare(op, to, (x, y)):
                say(f"{guard}setp.{op} {to}, {x}, {y};")
            case Load(to, index, mask):
                self.address(index, mask)
                say(f"{guard}ld.global.u32 {to}, [q];")
            case Store(source, index, mask):
                self.address(index, mask)
                if rng.random() < 0.3:
                    say(f"shr.u32 t, {source}, 16;")
                    say(f"{guard}st.global.u16 [q], {source};")
                    say(f"{guard}st.global.u16 [q+2], t;")
                else:
                    say(f"{guard}st.global.u32 [q], {source};")
            case Exchange():
                self.exchange(one)
            case Repeat(times, body):
                self.repeat(times, body)
            case If():
                self.branch(one)

    def address(self, index: str, mask: int) -> None:
        self.lines.append(f"and.b32 t, {index}, {mask};")
        if self.rng.random() < 0.5:
            self.lines.append("mad.wide.u32 q, t, 4, m;")
        else:
            self.lines += ["shl.b32 t, t, 2;", "cvt.u64.u32 q, t;", "add.u64 q, m, q;"]

    def exchange(self, one: Exchange) -> None:
        if one.op.startswith("shfl"):
            bound = 0 if ".up" in one.op else 31
            self.lines.append(f"{one.op} {one.to}, {one.source}, {one.more}, {bound}, -1;")
        elif one.op == "ballot":
            self.lines += [f"setp.gt.u32 p2, {one.source}, {one.more};", f"vote.sync.ballot.b32 {one.to}, p2, -1;"]
        else:
            self.lines += [
                f"setp.gt.u32 p2, {one.source}, {one.more};",
                f"vote.sync.{one.op}.pred p2, p2, -1;",
                f"selp.u32 {one.to}, 1, {one.to}, p2;",
            ]

    def repeat(self, times: int, body: tuple[Any, ...]) -> None:
        if self.rng.random() < 0.5:
            for _ in range(times):
                self.write(body)
            return
        head = self.label()
        self.lines += ["mov.u32 k, 0;", f"{head}:"]
        self.write(body)
        self.lines += ["add.u32 k, k, 1;", f"setp.lt.u32 p2, k, {times};", f"@p2 bra {head};"]

    def branch(self, one: If) -> None:
        simple = all(isinstance(s, Compute | Load | Store) for s in (*one.then, *one.other))
        if simple and self.rng.random() < 0.5:
            self.write(one.then, f"@{one.predicate} ")
            self.write(one.other, f"@!{one.predicate} ")
            return
        other, end = self.label(), self.label()
        self.lines.append(f"@!{one.predicate} bra {other};")
        self.write(one.then)
        self.lines += [f"bra {end};", f"{other}:"]
        self.write(one.other)
        self.lines.append(f"{end}:")


def pair(seed: int, warp: bool = False) -> tuple[str, str]:
    """Two texts: one program, in two ways, or one of them changed."""
    rng = random.Random(seed)
    first = program(rng, warp)
    second = mutated(rng, first) if rng.random() < 0.55 else first
    return Writer(rng, "L").text(first), Writer(rng, "R").text(second)


HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 inputs, .param .u64 memory, .param .u64 results)
{
    .reg .b32 a, b, r<3>, kL, tL, kR, tR, %own;
    .reg .b64 m, qL, qR, %at;
    .reg .pred p0L, p1L, p2L, p0R, p1R, p2R;
    mov.u32 %own, %tid.x;
    ld.param.u64 %at, [inputs];
    mad.wide.u32 %at, %own, 8, %at;
    ld.global.u32 a, [%at];
    ld.global.u32 b, [%at+4];
    ld.param.u64 m, [memory];
"""
TAIL = """
    ld.param.u64 %at, [results];
    mad.wide.u32 %at, %own, 12, %at;
    st.global.u32 [%at], r0;
    st.global.u32 [%at+4], r1;
    st.global.u32 [%at+8], r2;
    ret;
}
"""


class Runner:
    """Kernels around texts, each loaded once."""

    def __init__(self, text: str):
        self.module = ptxspec.load(HEAD + text + TAIL)

    def run(self, inputs: np.ndarray, memory: np.ndarray, engine: Any) -> Any:
        """What the text leaves in registers and in memory for each thread's two inputs: None if it breaks a rule."""
        results, left = np.zeros((len(inputs), 3), np.uint32), memory.copy()
        profile = "portable" if engine == "exact" else "hopper"
        try:
            self.module.launch("k", block=len(inputs), args=[inputs, left, results], engine=engine, profile=profile)
        except ptxspec.LaunchError:
            return None
        return results.tolist(), left.tolist()
