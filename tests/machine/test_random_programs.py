"""Random structured kernels: both engines against each other over every form that is a function of its operands, and against a
few lines of Python for a handful of instructions whose meaning needs no page."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import both, text

from ptxspec_workshop.generate.fuzzing import layout, random_program

pytestmark = pytest.mark.sample(4)

MASK = 0xFFFFFFFF
R, RD, H, P = (
    [f"%r{i}" for i in range(16, 26)], [f"%rd{i}" for i in range(8, 14)], [f"%h{i}" for i in range(4)],
    [f"%p{i}" for i in range(4)],
)  # fmt: skip
ROW = 8 * (len(R) + len(RD) + len(H) + len(P))  # every register in a cell of eight bytes


Step = Callable[[dict[str, Any]], None]
#: instructions on 32 bits, and their meaning in Python
PLAIN: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "min.u32": min,
    "max.u32": max,
}
TESTS: dict[str, Callable[[int, int], bool]] = {
    "setp.eq.u32": lambda a, b: a == b,
    "setp.lt.u32": lambda a, b: a < b,
    "setp.ge.s32": lambda a, b: (a ^ 1 << 31) >= (b ^ 1 << 31),
}


def nothing(state: dict[str, Any]) -> None:
    """What a part does of which Python is not asked."""


def plain_instruction(rng: random.Random) -> tuple[str, Step]:
    """An instruction and what it does to a thread's registers."""
    a, b = rng.choice(R), rng.choice(R)
    value = rng.choice([0, 1, 2, 7, 31, 33, 0x80000000, rng.randrange(1 << 32)])
    is_constant = rng.random() < 0.3

    def second(state: dict[str, Any]) -> int:
        return value if is_constant else state[b]

    shown = str(value) if is_constant else b
    if rng.random() < 0.25:
        name, d = rng.choice(list(TESTS)), rng.choice(P)

        def test(state: dict[str, Any]) -> None:
            state[d] = int(TESTS[name](state[a], second(state)))

        return f"{name} {d}, {a}, {shown};", test
    name, d = rng.choice(list(PLAIN)), rng.choice(R)

    def compute(state: dict[str, Any]) -> None:
        state[d] = PLAIN[name](state[a], second(state)) & MASK

    return f"{name} {d}, {a}, {shown};", compute


# programs ------------------------------------------------------------------------------------------------------------


class Break(Exception):
    """A thread leaves its innermost loop."""


class Finish(Exception):
    """A thread goes to the end of the kernel."""


class Program:
    """A kernel's lines, and what each part at the outermost level does to a thread."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.labels = 0
        self.parts: list[Step | None] = []
        for _ in range(self.rng.randint(3, 6)):
            if self.rng.random() < 0.3:
                self.exchange()
            else:
                self.parts.append(self.block(0, None))
                if self.rng.random() < 0.15:
                    self.parts.append(self.leave("FINISH", Finish))

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def exchange(self) -> None:
        """Every thread that is still there publishes a register and reads its neighbour's."""
        a, d = self.rng.choice(R), self.rng.choice(R)
        self.emit(f"st.shared.b32 [%r8], {a};\nbar.sync 0;\nld.shared.b32 {d}, [%r9];\nbar.sync 0;")

        def publish(state: dict[str, Any]) -> None:
            state["cells"][state["tid"]] = state[a]

        def read(state: dict[str, Any]) -> None:
            state[d] = state["cells"][state["next"]]

        self.parts += [publish, read]

    def block(self, depth: int, loop: str | None) -> Step:
        steps = [self.statement(depth, loop) for _ in range(self.rng.randint(1, 3))]

        def run(state: dict[str, Any]) -> None:
            for step in steps:
                step(state)

        return run

    def statement(self, depth: int, loop: str | None) -> Step:
        chance = self.rng.random()
        if depth < 3 and chance < 0.15:
            return self.branch(depth, loop)
        if depth < 2 and chance < 0.25:
            return self.loop(depth)
        if loop and chance < 0.3:
            return self.leave(loop, Break)
        if chance < 0.42:
            return self.memory()
        return self.operation()

    def operation(self) -> Step:
        guard = (self.rng.choice(P), self.rng.random() < 0.5) if self.rng.random() < 0.25 else None
        line, step = plain_instruction(self.rng)
        if guard is None:
            self.emit(line)
            return step
        self.emit(f"@{'!' if guard[1] else ''}{guard[0]} {line}")

        def run(state: dict[str, Any]) -> None:
            if state[guard[0]] != guard[1]:
                step(state)

        return run

    def memory(self) -> Step:
        """A word of the thread's own in local memory, at an index that a register says."""
        a, b, d = self.rng.choice(R), self.rng.choice(R), self.rng.choice(R)
        generic = self.rng.random() < 0.5
        base, space = ("%rd17", "") if generic else ("%rd16", ".local")
        self.emit(f"and.b32 %r10, {a}, 7;\nmad.wide.u32 %rd18, %r10, 4, {base};")
        if self.rng.random() < 0.5:
            self.emit(f"st{space}.b32 [%rd18], {b};")

            def run(state: dict[str, Any]) -> None:
                state["own"][state[a] & 7] = state[b]
        else:
            self.emit(f"ld{space}.b32 {d}, [%rd18];")

            def run(state: dict[str, Any]) -> None:
                state[d] = state["own"][state[a] & 7]

        return run

    def leave(self, where: str, how: type[Exception]) -> Step:
        p, negated = self.rng.choice(P), self.rng.random() < 0.5
        self.emit(f"@{'!' if negated else ''}{p} bra {where};")

        def run(state: dict[str, Any]) -> None:
            if state[p] != negated:
                raise how

        return run

    def branch(self, depth: int, loop: str | None) -> Step:
        p, other, join = self.rng.choice(P), self.label(), self.label()
        self.emit(f"@{p} bra {other};")
        first = self.block(depth + 1, loop)
        if self.rng.random() < 0.3:
            self.emit(f"{other}:")
            second: Step = nothing
        else:
            self.emit(f"bra {join};\n{other}:")
            second = self.block(depth + 1, loop)
            self.emit(f"{join}:")

        def run(state: dict[str, Any]) -> None:
            (second if state[p] else first)(state)

        return run

    def loop(self, depth: int) -> Step:
        """At most four rounds, as many as a register says."""
        head, out, a = self.label(), self.label(), self.rng.choice(R)
        counter, limit, again = f"%r{30 + depth}", f"%r{34 + depth}", f"%p{8 + depth}"
        self.emit(f"mov.u32 {counter}, 0;\nand.b32 {limit}, {a}, 3;\n{head}:")
        body = self.block(depth + 1, out)
        self.emit(
            f"add.u32 {counter}, {counter}, 1;\nsetp.le.u32 {again}, {counter}, {limit};\n@{again} bra {head};\n{out}:"
        )

        def run(state: dict[str, Any]) -> None:
            try:
                for _ in range((state[a] & 3) + 1):
                    body(state)
            except Break:
                pass

        return run

    def source(self) -> str:
        names = [*R, *RD, *H, *P]
        loads, stores = [], []
        for i, name in enumerate(names):
            width = {"%r": 32, "%h": 16}.get(name[:2], 64) if not name.startswith("%rd") else 64
            if name in P:
                loads.append(f"ld.global.u32 %r10, [%rd2+{8 * i}]; and.b32 %r10, %r10, 1; setp.eq.u32 {name}, %r10, 1;")
                stores.append(f"selp.u64 %rd18, 1, 0, {name}; st.global.u64 [%rd1+{8 * i}], %rd18;")
            else:
                loads.append(f"ld.global.b{width} {name}, [%rd2+{8 * i}];")
                stores.append(f"st.global.b{width} [%rd1+{8 * i}], {name};")
        return text(
            f"""
            .shared .b32 cells[64];
            .local .align 16 .b32 own[8];
            mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
            mad.lo.u32 %r0, %r2, %r3, %r1;
            ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
            mad.wide.u32 %rd1, %r0, {ROW}, %rd1;
            mad.wide.u32 %rd2, %r0, {ROW}, %rd2;
            mov.u32 %r8, cells;
            add.u32 %r9, %r1, 1; rem.u32 %r9, %r9, %r3;
            mad.lo.u32 %r9, %r9, 4, %r8;
            mad.lo.u32 %r8, %r1, 4, %r8;
            mov.u64 %rd16, own; cvta.local.u64 %rd17, own;
            cvt.u64.u32 %rd20, %r8; cvta.shared.u64 %rd20, %rd20;
            """
            + "\n".join([*loads, *self.lines, "FINISH:", *stores, "ret;"]),
            ".param .u64 in, .param .u64 out",
        )


def inputs(seed: int, threads: int) -> np.ndarray:
    """Random cells, every third one of the numbers at which instructions have their edges."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 1 << 64, (threads, ROW // 8), np.uint64)
    edges = np.array([0, 1, 2, 31, 32, 63, 64, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63,
                      (1 << 63) - 1, (1 << 64) - 1, 0x8000800080008000], np.uint64)  # fmt: skip
    chosen = rng.integers(0, 3, cells.shape) == 0
    cells[chosen] = rng.choice(edges, int(chosen.sum()))
    return cells


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5005))
def test_the_engines_agree(seed: int) -> None:
    """On every word of every register of every thread, over the forms of today."""
    (program,) = random_program.made([seed])
    start = layout.inputs(seed)
    out = both(random_program.module([program]), [start, np.zeros_like(start)], program.name, block=layout.THREADS)[1]
    assert out.any()


def expected(program: Program, data: np.ndarray, threads: int, grid: int) -> list[list[int]]:
    """What Python makes of a plain program: R and P of every thread."""
    rows = []
    for cta in range(grid):
        cells = [0] * threads
        states: list[dict[str, Any]] = []
        for t in range(threads):
            row = data[cta * threads + t].tolist()
            state: dict[str, Any] = {name: row[i] & MASK for i, name in enumerate(R)}
            state |= {name: row[-len(P) + i] & 1 for i, name in enumerate(P)}
            states.append(state | {"tid": t, "next": (t + 1) % threads, "cells": cells, "own": [0] * 8, "done": False})
        for part in program.parts:
            for state in states:
                if part is not None and not state["done"]:
                    try:
                        part(state)
                    except Finish:
                        state["done"] = True
        rows += [[state[name] for name in [*R, *P]] for state in states]
    return rows


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_python_agrees(seed: int) -> None:
    """Control flow, guards, memory and barriers against an interpreter of the same program's structure."""
    threads, grid = random.Random(seed).choice([(1, 3), (13, 2), (33, 1), (40, 2)])
    data = inputs(seed, threads * grid)
    program = Program(seed)
    out = both(program.source(), [data, np.zeros_like(data)], block=threads, grid=grid)[1]
    got = np.concatenate([out[:, : len(R)], out[:, -len(P) :]], axis=1)
    assert got.tolist() == expected(program, data, threads, grid)


def test_the_generator_uses_everything() -> None:
    """The plain programs contain what they are meant to."""
    source = "".join(Program(seed).source() for seed in range(1000, 1030))
    for needed in ("bar.sync", "bra FINISH", "@!%p", "st.local", "ld.b32", *PLAIN, *TESTS):
        assert needed in source, needed
