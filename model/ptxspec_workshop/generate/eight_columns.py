"""Cases for products of warpgroups with eight columns in the place of more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from ptxspec.language.forms import Form, forms
from ptxspec_workshop.generate.cases import CELLS, Launch, entry
from ptxspec_workshop.generate.product_operands import (
    ADDS,
    COMMIT,
    FENCE,
    MOST_SHARED,
    THREADS,
    TOGETHER,
    WAIT,
    DescribedLayout,
    is_product,
    operands_of,
    parts_of_d,
    without_columns,
)
from ptxspec_workshop.generate.warpgroup_kernels import WarpgroupCase, written


class EightColumns:
    """A product of some columns as one of eight in each of several CTAs, by the form that has eight: what an element of D is does
    not depend on how many columns there are. The kernels of cases that differ in this number alone are the same.

    In `in` lie the bytes of shared memory, the registers of A, the metadata, and eight columns of C for each CTA.
    """

    #: where the registers of A begin, the metadata, and C; and of the parameter, the numbers that move the descriptor of B
    A, METADATA, C, MOVES = 1 << 16, (1 << 16) + 2048, (1 << 16) + 4096, 40

    def __init__(self, case: WarpgroupCase, form: Form):
        self.case, self.form, self.about = case, form, operands_of(form)

    @property
    def size(self) -> int:
        """Bytes of eight columns of C."""
        return 4 * THREADS * self.about.registers

    @property
    def launches(self) -> list[Launch]:
        launches = zip(self.case.launches, self.case.asked[0].layouts, strict=True)
        return [self._launch(launch, b) for launch, (_, b) in launches]

    def _launch(self, launch: Launch, b: DescribedLayout) -> Launch:
        given, groups = launch.cells.reshape(-1).view(np.uint8), self.case.about.columns // 8
        c, a, metadata, end = self.case.begins
        data = np.zeros(self.C + groups * self.size, np.uint8)
        data[:c], data[self.A : self.METADATA] = given[:c], given[a:metadata]
        data[self.METADATA : self.METADATA + end - metadata] = given[metadata:end]
        data[self.C :] = given[c:a].reshape(THREADS, groups, -1).swapaxes(0, 1).reshape(-1)
        numbers = np.frombuffer(launch.argument or b"", np.uint64).copy()
        numbers[self.MOVES // 8 :] = self.moves(b)
        return launch._replace(
            cells=data.view(np.uint64).reshape(-1, CELLS), argument=numbers.tobytes(), grid=(groups, 1, 1)
        )

    def moves(self, b: DescribedLayout) -> tuple[int, int, int]:
        """How B's descriptor moves by eight columns, in units of 16 bytes: which bits of their number are added, by how many
        places the number is moved, and times what it is then added."""
        pieces = TOGETHER[b.swizzle] // 16 if b.transposed else 1
        across = b.leading if b.transposed and b.swizzle else b.stride
        return pieces - 1, pieces.bit_length() - 1, across // 16

    def text(self, name: str) -> str:
        registers = self.about.registers
        lines = [
            f".shared .align 1024 .b8 room[{MOST_SHARED}];", ".reg .u64 %in, %out, %at, %base, %da, %db, %number, %part, %which;",
            f".reg .u32 %t, %own, %room, %cta, %places, %end; .reg .pred %adds; .reg .b32 %w<4>, %a<4>, %d<{registers}>, %m;",
            "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %t, %tid.x;", "mov.u32 %cta, %ctaid.x;",
            "mul.wide.u32 %at, %t, 16;", "add.u64 %at, %in, %at;", "mov.u32 %room, room;", "mad.lo.u32 %own, %t, 16, %room;",
            f"ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%at+{self.A}];", f"add.u32 %end, %room, {MOST_SHARED};",
            "FILL: ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%at];", "st.shared.v4.b32 [%own], {%w0, %w1, %w2, %w3};",
            f"add.u64 %at, %at, {16 * THREADS};", f"add.u32 %own, %own, {16 * THREADS};", "setp.lt.u32 %adds, %own, %end;",
            "@%adds bra FILL;", "mad.wide.u32 %at, %t, 4, %in;", f"ld.global.b32 %m, [%at+{self.METADATA}];",
            "ld.param.u64 %da, [argument];", "ld.param.u64 %db, [argument+8];", f"ld.param.u64 %number, [argument+{ADDS}];",
            "setp.ne.u64 %adds, %number, 0;", "cvt.u64.u32 %base, %room;", "shr.u64 %base, %base, 4;",
            "add.u64 %da, %da, %base;", "add.u64 %db, %db, %base;", "cvt.u64.u32 %which, %cta;",
            f"ld.param.u64 %number, [argument+{self.MOVES}];", "and.b64 %part, %which, %number;", "add.u64 %db, %db, %part;",
            f"ld.param.u32 %places, [argument+{self.MOVES + 8}];", "shr.u64 %part, %which, %places;",
            f"ld.param.u64 %number, [argument+{self.MOVES + 16}];", "mad.lo.u64 %db, %part, %number, %db;",
            f"mul.wide.u32 %at, %cta, {self.size};", f"mad.wide.u32 %at, %t, {4 * registers}, %at;", "add.u64 %in, %in, %at;",
            "add.u64 %out, %out, %at;",
        ]  # fmt: skip
        parts = parts_of_d(self.about)
        lines += [f"ld.global.{vector} {names}, [%in+{self.C + place}];" for vector, names, place in parts]
        lines += ["fence.proxy.async;", "barrier.sync 0;", FENCE, written(self.form, self.case.asked[0]), COMMIT, WAIT]
        lines += [f"st.global.{vector} [%out+{place}], {names};" for vector, names, place in parts]
        return entry(name, [*lines, "ret;"])

    def module(self) -> str:
        """A module with this kernel alone, k0."""
        return self.case.module([self.text("k0")])

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """What the case keeps of the same registers."""
        rows = []
        for out in outs:
            words = out.reshape(-1).view(np.uint32)[: THREADS * self.case.about.registers]
            rows.append(words.reshape(-1, THREADS, self.about.registers).swapaxes(0, 1).reshape(-1).copy())
        return self.case.kept(rows)


def by_eight_columns(cases: Iterable[WarpgroupCase]) -> dict[str, list[EightColumns]]:
    """Those of cases that have one product, by the texts of modules with their kernels."""
    by_text: dict[str, list[EightColumns]] = {}
    for case in cases:
        if case.products == 1:
            eight = EightColumns(case, _of_eight(case.form.syntax.opcode)[without_columns(case.form)])
            by_text.setdefault(eight.module(), []).append(eight)
    return by_text


@cache
def _of_eight(opcode: str) -> dict[str, Form]:
    """The forms with eight columns."""
    products = [form for form in forms(opcode) if is_product(form)]
    return {without_columns(form): form for form in products if operands_of(form).columns == 8}
