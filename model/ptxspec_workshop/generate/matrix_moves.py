"""Cases for what moves matrices between the registers of a warp and shared memory.

Each thread has sixteen bytes of shared memory, which its row says, an address, and registers. What is in its registers and in
its memory
afterwards is the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.instruction_kernels import (
    comes_later,
    module_for,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.language.forms import Form
from ptxspec.terms.types import TYPES
from ptxspec_workshop.generate.cases import Launch, blank_rows, unlike
from ptxspec_workshop.generate.function_cases import columns
from ptxspec_workshop.generate.matrix_cases import LANES, SEED, asks, moves, on_tiles

#: warps of the launch, and bytes of a row of a matrix
WARPS, ROW = 8, 16
#: words of a row of `in`: the memory, the registers, and the address
WORDS, REGISTERS, ADDRESS = 4, 4, 8


class MoveCase(NamedTuple):
    """A form that moves matrices."""

    form: Form

    @property
    def name(self) -> str:
        return str(self.form)

    @property
    def launches(self) -> list[Launch]:
        """Each lane names another row of its warp's memory."""
        rng = np.random.default_rng([ord(c) for c in f"{SEED}:{self.name}"])
        cells = blank_rows(WARPS * LANES)
        cells[:, :ADDRESS] = rng.integers(0, 1 << 32, (len(cells), ADDRESS), np.uint64)
        for warp in range(WARPS):
            lanes = slice(warp * LANES, (warp + 1) * LANES)
            cells[lanes, ADDRESS] = (rng.permutation(LANES) + warp * LANES).astype(np.uint64) * np.uint64(ROW)
        return [Launch(cells)]

    @property
    def alike(self) -> Any:
        return self.name

    @property
    def apart(self) -> tuple[str, str]:
        return module_for(self.form)

    def text(self, name: str) -> str:
        space = "ss" in self.form.modifiers and self.form.modifiers["ss"] is not None
        fragment = next(o.name for o in self.form.syntax.operands if not o.memory)
        registers = len(self.form.definition.elements(fragment, self.form.modifiers))
        operands = {"p": "[%place]" if space else "[%far]"}
        operands |= dict.fromkeys("dr", "{" + ", ".join(f"%r{i}" for i in range(registers)) + "}")
        written = self.form.written({o.name: operands[o.name] for o in self.form.syntax.operands})
        return f""".visible .entry {name}(.param .u64 in, .param .u64 out, .param .align 16 .b8 argument[64])
{{
  .reg .u64 %in, %out, %at, %far;
  .reg .u32 %t, %own, %begin, %place, %r<4>, %w<4>;
  .shared .align 16 .b8 rows[{WARPS * LANES * ROW}];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 128;
  add.u64 %in, %in, %at;
  add.u64 %out, %out, %at;
  mov.u32 %begin, rows;
  mad.lo.u32 %own, %t, {ROW}, %begin;
  ld.global.u32 %place, [%in+{8 * ADDRESS}];
  add.u32 %place, %place, %begin;
  cvt.u64.u32 %far, %place;
  cvta.shared.u64 %far, %far;
{_each("  ld.global.u32 %w{i}, [%in+{at}];", 0)}
  st.shared.v4.u32 [%own], {{%w0, %w1, %w2, %w3}};
{_each("  ld.global.u32 %r{i}, [%in+{at}];", WORDS)}
  bar.sync 0;
  {written}
  bar.sync 0;
  ld.shared.v4.u32 {{%w0, %w1, %w2, %w3}}, [%own];
{_each("  st.global.u32 [%out+{at}], %w{i};", 0)}
{_each("  st.global.u32 [%out+{at}], %r{i};", WORDS)}
  ret;
}}"""

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *self.apart)

    def operands(self, row: int) -> tuple[int, ...]:
        (launch,) = self.launches
        return tuple(map(int, launch.cells[row, : ADDRESS + 1]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        (out,) = outs
        return columns([TYPES["b32"]] * (WORDS + REGISTERS), out).astype(np.uint32)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def _each(line: str, first: int) -> str:
    """A line for each of four cells, from one on."""
    return "\n".join(line.format(i=i, at=8 * (first + i)) for i in range(4))


def cases(forms: Iterable[Form]) -> list[MoveCase]:
    """The cases of some forms."""
    return [MoveCase(f) for f in forms if asks(f) and moves(f) and not on_tiles(f)]


def small(forms: Iterable[Form]) -> list[MoveCase]:
    """The same, but of the forms of later targets only those with a generic address."""
    return [case for case in cases(forms) if not (comes_later(case.form) and case.form.modifiers.get("ss"))]
