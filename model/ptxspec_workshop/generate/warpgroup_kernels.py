"""Cases for products of warpgroups: kernels whose matrices come from memory, with every form, swizzle, and kind of operand.

Threads have no rows of their own in `in`: one behind the other lie the bytes of shared memory, the registers of C, those of A,
and the metadata. Each kernel has one form, once or twice. Which bytes of shared memory a product reads is said by its
descriptors: any bytes are elements, of a kind that is another every few rows. What a case asks is drawn from its name; nothing of
it is stored, and of the answers little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.instruction_kernels import module_for
from ptxspec.evidence.kernels.instruction_modules import module_around
from ptxspec.language.forms import Form
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.generate import aimed_matrix_cases, matrix_cases
from ptxspec_workshop.generate.cases import CELLS, STRIDE, Launch, entry, unlike
from ptxspec_workshop.generate.product_operands import (
    A_REGISTERS,
    ADDED,
    ADDITIONS,
    ADDS,
    BLOCK,
    COMMIT,
    FENCE,
    LAUNCHES,
    LINES,
    MANY_COLUMNS,
    ROW_BYTES,
    ROWS,
    SEED,
    THREADS,
    WAIT,
    Addition,
    CoreExtent,
    DescribedLayout,
    drawn_layout,
    drawn_metadata,
    end_of,
    extent,
    operands_of,
    packed_layout,
    parts_of_d,
    stored,
    without_columns,
)


class AskedProduct(NamedTuple):
    """One product: where A and B lie in each launch, the constants, and whether C is added."""

    layouts: tuple[tuple[DescribedLayout, DescribedLayout], ...]
    constants: Mapping[str, str]
    addition: Addition


class WarpgroupCase:
    """A product, the number of a variation of it, and whether its factors are aimed at the limits of small numbers."""

    def __init__(self, form: Form, variation: int | None = None, aimed: bool = False):
        self.form, self.variation, self.aimed = form, variation, aimed
        self.about = operands_of(self.product)
        #: by which swizzles and other choices take turns
        self.number = self.about.columns // 8 if variation is None else variation

    @property
    def product(self) -> Form:
        """The form of the products."""
        return self.form

    @cached_property
    def name(self) -> str:
        what = "aimed variation" if self.aimed else "variation"
        return str(self.form) if self.variation is None else f"{self.form} {what} {self.variation}"

    @property
    def count(self) -> int:
        """How many launches there are."""
        return 1 if self.about.columns >= MANY_COLUMNS else LAUNCHES

    @property
    def products(self) -> int:
        """How many products the kernel makes on one accumulator."""
        return 2 if self.variation is not None and self.variation % 3 == 2 else 1

    @cached_property
    def asked(self) -> tuple[AskedProduct, ...]:
        """The products."""
        source = Random(f"{SEED}:{self.name}")
        return tuple(self._drawn(source, which) for which in range(self.products))

    def _drawn(self, source: Random, which: int) -> AskedProduct:
        addition, constants = self._constants(source, which)
        launches = range(self.count)
        return AskedProduct(
            tuple(self._layouts(source, constants, which + launch) for launch in launches), constants, addition
        )

    def _constants(self, source: Random, which: int) -> tuple[Addition, dict[str, str]]:
        """Those of a form are of all forms that differ in the number of columns: so one kernel can have eight columns of each."""
        names, additions, constants = self.about.names, ADDITIONS, dict[str, str]()
        if self.variation is None:
            source, additions = Random(f"{SEED}:{without_columns(self.product)}"), ADDED
        addition = additions[0 if which else source.randrange(len(additions))]
        constants |= {name: source.choice(("1", "-1")) for name in ("scale_a", "scale_b") if name in names}
        constants |= {name: source.choice("01") for name in ("trans_a", "trans_b") if name in names}
        if "selector" in names:
            selectors = self.product.definition.constants("selector", self.product.modifiers)
            constants["selector"] = str(source.choice(list(selectors or ())))
        return addition, constants

    def _layouts(
        self, source: Random, constants: Mapping[str, str], turn: int
    ) -> tuple[DescribedLayout, DescribedLayout]:
        """Of A and of B. They are packed but for odd variations, second products and second launches."""
        result, begin, number = [], 0, self.number + turn
        for factor, swizzle in (("a", (number // 4 + number) % 4), ("b", number % 4)):
            transposed = constants.get(f"trans_{factor}") == "1"
            size = self.extent_of(factor, swizzle, transposed)
            odd = turn > 0 or (self.variation or 0) % 2 == 1
            draw = drawn_layout if odd else packed_layout
            result.append(draw(source, size, begin, swizzle, transposed))
            begin = 0 if self.about.a_in_registers else -(-size.packed // LINES) * LINES
        return result[0], result[1]

    def extent_of(self, factor: str, swizzle: int, transposed: bool) -> CoreExtent:
        """How far A or B extends."""
        about = self.about
        if factor == "a":
            return extent(ROWS, ROW_BYTES, about.a, swizzle, transposed)
        return extent(about.columns, about.bytes_of_b, about.b, swizzle, transposed)

    # the rows of `in`

    @cached_property
    def shared(self) -> int:
        """Bytes of shared memory: all that any launch reads, in whole steps of the warpgroup."""
        ends = [0]
        for factor, layout in (
            pair for asked in self.asked for both in asked.layouts for pair in zip("ab", both, strict=True)
        ):
            if factor == "b" or not self.about.a_in_registers:
                ends.append(end_of(layout, self.extent_of(factor, layout.swizzle, layout.transposed)))
        step = 16 * THREADS
        return -(-max(ends) // step) * step

    @property
    def begins(self) -> tuple[int, int, int, int]:
        """Where in `in` the registers of C begin, those of A, and the metadata; and where these end."""
        c = self.shared
        a = c + 4 * THREADS * self.about.registers
        metadata = a + 4 * THREADS * A_REGISTERS
        return c, a, metadata, metadata + 4 * THREADS

    @property
    def launches(self) -> list[Launch]:
        rng = np.random.default_rng([ord(c) for c in f"{SEED}:{self.name}"])
        return [self._launch(rng, number) for number in range(self.count)]

    def _launch(self, rng: np.random.Generator, number: int) -> Launch:
        first = 3 * number + self.number
        of_b = 0 if self.about.a_in_registers else min(self.shared, max(0, self.asked[0].layouts[number][1].start))
        c, a, metadata, end = self.begins
        data = np.zeros(-(-end // STRIDE) * STRIDE, np.uint8)
        data[:of_b], data[of_b:c] = (
            self._bytes(*what) for what in (("a", first, rng, of_b), ("b", first, rng, c - of_b))
        )
        data[c:a] = self._bytes("d", first + number, rng, a - c)
        data[a:metadata] = self._bytes("a", first, rng, metadata - a)
        data[metadata:end] = drawn_metadata(self.about.a, rng).view(np.uint8)
        words = [layout.word for asked in self.asked for layout in asked.layouts[number]]
        adds = self.asked[0].addition.predicate
        argument = np.array([*words, *[0] * (4 - len(words)), adds, 0, 0, 0], np.uint64).tobytes()
        return Launch(data.view(np.uint64).reshape(-1, CELLS), argument, block=THREADS)

    def _bytes(self, operand: str, first: int, rng: np.random.Generator, size: int) -> np.ndarray:
        """So many bytes of elements of D, A or B. Each few rows have another kind, that with this number first."""
        type = {"d": self.about.d, "a": self.about.a, "b": self.about.b}[operand]
        parts = [self._elements(operand, type, first + i, rng) for i in range(-(-size // BLOCK))]
        return np.concatenate([stored(type, part) for part in parts])[:size] if parts else np.zeros(0, np.uint8)

    def _elements(self, operand: str, type: Type, kind: int, rng: np.random.Generator) -> np.ndarray:
        count = BLOCK * 8 // max(8, type.width)
        if not self.aimed:
            drawn = TYPES["b8"] if type.width == 1 else type
            return matrix_cases.drawn_elements(drawn, kind + (kind // 8 if operand == "d" else 0), rng, count)
        if operand == "d":
            return aimed_matrix_cases.aimed_addends(kind, rng, count)
        aims = aimed_matrix_cases.AIMS[self.number % len(aimed_matrix_cases.AIMS)]
        return aimed_matrix_cases.aimed_numbers(type, aims["ab".index(operand)], rng, count)

    # the kernel

    @property
    def alike(self) -> Any:
        return self.name

    @property
    def apart(self) -> Any:
        return module_for(self.form)

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *self.apart)

    def text(self, name: str) -> str:
        about, (c, a, metadata, _) = self.about, self.begins
        size = 4 * about.registers
        lines = [
            f".shared .align 1024 .b8 room[{self.shared}];", ".reg .u64 %in, %out, %at, %base, %da, %db, %da2, %db2, %number;",
            ".reg .u32 %t, %own, %room;", f".reg .pred %adds; .reg .b32 %w<4>, %a<{A_REGISTERS}>, %d<{about.registers}>, %m;",
            "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %t, %tid.x;", "mul.wide.u32 %at, %t, 16;",
            "add.u64 %at, %in, %at;", "mov.u32 %room, room;", "mad.lo.u32 %own, %t, 16, %room;",
        ]  # fmt: skip
        for begin in range(0, self.shared, 16 * THREADS):
            lines.append(f"ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%at+{begin}];")
            lines.append(f"st.shared.v4.b32 [%own+{begin}], {{%w0, %w1, %w2, %w3}};")
        lines.append(f"ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%at+{a}];")
        lines += [f"mad.wide.u32 %at, %t, {size}, %in;"]
        lines += [
            f"ld.global.{vector} {registers}, [%at+{c + place}];" for vector, registers, place in parts_of_d(about)
        ]
        lines += ["mad.wide.u32 %at, %t, 4, %in;", f"ld.global.b32 %m, [%at+{metadata}];"]
        lines += ["cvt.u64.u32 %base, %room;", "shr.u64 %base, %base, 4;"]
        for at, register in enumerate(("%da", "%db", "%da2", "%db2")):
            lines += [f"ld.param.u64 {register}, [argument+{8 * at}];", f"add.u64 {register}, {register}, %base;"]
        lines += [f"ld.param.u64 %number, [argument+{ADDS}];", "setp.ne.u64 %adds, %number, 0;"]
        lines += ["fence.proxy.async;", "barrier.sync 0;", *self._multiplied(), f"mad.wide.u32 %at, %t, {size}, %out;"]
        lines += [f"st.global.{vector} [%at+{place}], {registers};" for vector, registers, place in parts_of_d(about)]
        return entry(name, [*lines, "ret;"])

    def _multiplied(self) -> list[str]:
        """The products; of some chains each is a group."""
        apart = [COMMIT] if self.number % 2 else []
        first, *rest = (written(self.product, asked, "2" * which) for which, asked in enumerate(self.asked))
        return [FENCE, first, *(line for other in rest for line in (*apart, other)), COMMIT, WAIT]

    # the answers

    def operands(self, row: int) -> tuple[int, ...]:
        """The descriptors of the launch."""
        return tuple(map(int, np.frombuffer(self.launches[row].argument or b"", np.uint64)))

    def registers_left(self, out: np.ndarray) -> np.ndarray:
        """The registers of D of each thread, a column each, in the rows that a launch left."""
        count = self.about.registers
        return out.reshape(-1).view(np.uint32)[: THREADS * count].reshape(THREADS, count)

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """A row a launch: a digest of all registers of D, the first two of the first thread, and the last two of the last."""
        rows = []
        for out in outs:
            left = np.ascontiguousarray(self.registers_left(out))
            digest = hashlib.blake2b(left.tobytes(), digest_size=8).digest()
            rows.append(digest + left[0, :2].tobytes() + left[-1, -2:].tobytes())
        return np.frombuffer(b"".join(rows), "<u8").reshape(len(rows), -1).astype(np.uint64)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


class OrderCase(WarpgroupCase):
    """What orders products and waits for them, in a kernel with two groups."""

    def __init__(self, form: Form, product: Form):
        self._product = product
        super().__init__(form)

    @property
    def product(self) -> Form:
        return self._product

    @property
    def products(self) -> int:
        return 2

    def _multiplied(self) -> list[str]:
        first, second = (written(self.product, asked, "2" * which) for which, asked in enumerate(self.asked))
        return [FENCE, first, COMMIT, second, COMMIT, WAIT.replace("0", "1"), WAIT]


def written(form: Form, asked: AskedProduct, which: str = "") -> str:
    """A product."""
    about = operands_of(form)
    registers = "{" + ", ".join(f"%d{i}" for i in range(about.registers)) + "}"
    texts = {"d": registers, "a": "{%a0, %a1, %a2, %a3}", "metadata": "%m", **asked.constants}
    texts |= {"a_desc": f"%da{which}", "b_desc": f"%db{which}", "scale_d": asked.addition.text}
    return form.written({name: texts[name] for name in about.names})
