"""Kernels of products and sums without rounding modifiers, which an assembler may contract: straight lines, made from seeds.

What nothing reads in the end, a thread leaves in its row of `out`. Factors and terms are of like size, so that it shows whether
a result was rounded twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ptxspec_workshop.generate.cases import CELLS, STRIDE, Launch, blank_rows, entry, plain_module

#: kernels, and threads of each
COUNT, ROWS = 98, 64
#: values that a kernel is given, and statements that it has
GIVEN, STATEMENTS = 6, 12


class ContractionKind(NamedTuple):
    """The numbers of a kernel: the type, what each instruction has before it, the type of registers, and how many numbers of
    which NumPy type are in one."""

    type: str
    flush: str
    register: str
    numbers: int
    stored: str


KINDS = (
    ContractionKind("f32", "", "f32", 1, "f4"),
    ContractionKind("f32", ".ftz", "f32", 1, "f4"),
    ContractionKind("f64", "", "f64", 1, "f8"),
    ContractionKind("f16", "", "b16", 1, "f2"),
    ContractionKind("f16x2", ".ftz", "b32", 2, "f2"),
    ContractionKind("bf16", "", "b16", 1, ""),
    ContractionKind("bf16x2", "", "b32", 2, ""),
)


class ContractionKernel:
    """The kernel of a seed."""

    def __init__(self, seed: int):
        self.seed, self.kind = seed, KINDS[seed % len(KINDS)]
        self.name = f"c{seed}"
        self._source = random.Random(f"contraction {seed}")
        self._read: set[str] = set()
        self._made = [f"%v{i}" for i in range(GIVEN)]
        self._lines = [self._statement() for _ in range(STATEMENTS)]

    @property
    def left(self) -> list[str]:
        """The registers that are left in `out`."""
        return [v for v in self._made[GIVEN:] if v not in self._read][-CELLS:]

    @property
    def launches(self) -> list[Launch]:
        """The one launch that a kernel is made for."""
        source = np.random.default_rng(self.seed)
        shape = (ROWS, GIVEN, self.kind.numbers)
        # by operations that give the same bits on every host: libraries differ in the last bit of a power
        sizes = np.ldexp(source.uniform(1, 2, shape), source.integers(-1, 1, shape))
        numbers = sizes * source.choice([-1, 1], (ROWS, GIVEN, 1))
        if self.kind.stored:
            bits = numbers.astype(self.kind.stored).view(f"u{self.kind.stored[1:]}")
        else:  # the upper half of single precision
            bits = numbers.astype("f4").view("u4") >> 16
        width = bits.dtype.itemsize * 8 if self.kind.stored else 16
        cells = blank_rows(ROWS)
        for i in range(self.kind.numbers):
            cells[:, :GIVEN] |= bits[:, :, i].astype(np.uint64) << np.uint64(width * i)
        cells[:, GIVEN] = source.integers(0, 2, ROWS)
        return [Launch(cells)]

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The row of each thread, as far as the kernel fills it."""
        (out,) = outs
        return out[:, : len(self.left)]

    def text(self) -> str:
        """The kernel."""
        register = self.kind.register
        bits = f"b{register[1:]}"
        return entry(
            self.name,
            [
                ".reg .u64 %in, %out;",
                ".reg .u32 %t, %q;",
                ".reg .pred %p;",
                f".reg .{register} %v<{len(self._made)}>;",
                "ld.param.u64 %in, [in];",
                "ld.param.u64 %out, [out];",
                "mov.u32 %t, %tid.x;",
                f"mad.wide.u32 %in, %t, {STRIDE}, %in;",
                f"mad.wide.u32 %out, %t, {STRIDE}, %out;",
                *(f"ld.global.{bits} %v{i}, [%in+{8 * i}];" for i in range(GIVEN)),
                f"ld.global.u32 %q, [%in+{8 * GIVEN}];",
                "setp.ne.u32 %p, %q, 0;",
                *self._lines,
                *(f"st.global.{bits} [%out+{8 * i}], {v};" for i, v in enumerate(self.left)),
                "ret;",
            ],
        )

    def _statement(self) -> str:
        """A product, a sum or a difference of values that there are, mostly of those that nothing reads yet; some have a
        rounding modifier, some are clamped, and some guarded."""
        source, kind = self._source, self.kind
        opcode = source.choice(("mul", "mul", "add", "sub"))
        fresh = [v for v in self._made if v not in self._read]
        operands = [source.choice(fresh if fresh and source.random() < 0.7 else self._made) for _ in range(2)]
        into = f"%v{len(self._made)}"
        rounded = ".rn" if source.random() < 0.15 else ""
        clamped = ".sat" if source.random() < 0.1 and kind.type in ("f32", "f16", "f16x2") else ""
        guard = f"mov.{'b' + kind.register[1:]} {into}, {self._made[0]};\n  @%p " if source.random() < 0.1 else ""
        self._read |= set(operands)
        self._made.append(into)
        return f"{guard}{opcode}{rounded}{kind.flush}{clamped}.{kind.type} {into}, {', '.join(operands)};"


def kernels() -> list[ContractionKernel]:
    """All of them."""
    return [ContractionKernel(seed) for seed in range(COUNT)]


def module(members: Sequence[ContractionKernel]) -> str:
    """The module in which kernels stand."""
    return plain_module([k.text() for k in members])
