"""What forms say of the operands of products of warpgroups, and where matrices may lie in shared memory."""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

import numpy as np

from ptxspec.language.forms import Form
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.generate.cases import STRIDE

SEED, OPCODE = "warpgroups", "wgmma"
#: threads of a warpgroup, rows of A, and bytes of a row of A
THREADS, ROWS, ROW_BYTES, A_REGISTERS = 128, 64, 32, 4
#: by the number that a descriptor has for a swizzle: how many bytes of a row lie together
TOGETHER = (16, 128, 64, 32)
#: behind four descriptors, of A and B for two products, the predicate stands in the parameter `argument`
ADDS = 32
#: launches of a case; with so many columns and more, one
LAUNCHES, MANY_COLUMNS = 2, 128
#: variations of a combination of types, which have few columns; and of one whose exponents are those of single precision
VARIATIONS, AIMED, FEW_COLUMNS = 8, 4, (8, 16, 24, 32, 48, 64)


class Addition(NamedTuple):
    """Whether C is added: the operand, and the predicate that it may name."""

    text: str
    predicate: bool


ADDED: tuple[Addition, ...] = (Addition("1", False), Addition("%adds", True), Addition("!%adds", False))
ADDITIONS: tuple[Addition, ...] = (*ADDED, *ADDED, Addition("%adds", False), Addition("0", True))
FENCE, COMMIT, WAIT = (
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned 0;",
)
#: bytes of a kind of elements, and the multiples of bytes where a pattern of swizzle begins
BLOCK, LINES = 256, 1024
#: bytes of shared memory that no case needs more of
MOST_SHARED = 36 << 10


def asks(form: Form) -> bool:
    """Whether the form is asked about here: a product, or what orders products and waits for them."""
    return form.syntax.opcode == OPCODE


def is_product(form: Form) -> bool:
    return asks(form) and "shape" in form.modifiers


def without_columns(form: Form) -> str:
    """The form's text without the number of columns."""
    return re.sub(r"n\d+k", "k", str(form))


def parts_of_d(about: ProductOperands) -> list[tuple[str, str, int]]:
    """A thread's registers of D, four or two at a time: their vector, their names, and where they lie in the thread's bytes."""
    together = 4 if about.registers % 4 == 0 else 2
    firsts = range(0, about.registers, together)
    return [(f"v{together}.b32", "{" + ", ".join(f"%d{i + j}" for j in range(together)) + "}", 4 * i) for i in firsts]


def stored(type: Type, elements: np.ndarray) -> np.ndarray:
    """The bytes of elements."""
    return elements.astype(f"<u{max(8, type.width) // 8}").view(np.uint8)


def drawn_metadata(type: Type, rng: np.random.Generator) -> np.ndarray:
    """For each thread metadata that name two elements of each chunk, in any order."""
    few = [0b0100, 0b1110] if type.width == 32 else [i | j << 2 for i in range(4) for j in range(4) if i != j]
    drawn = np.array(few, np.uint32)[rng.integers(0, len(few), (THREADS, 8))]
    words: np.ndarray = (drawn << np.arange(0, 32, 4).astype(np.uint32)).sum(axis=1, dtype=np.uint32)
    return words


class ProductOperands(NamedTuple):
    """What a form says of its operands."""

    d: Type
    a: Type
    b: Type
    columns: int
    sparse: bool
    a_in_registers: bool
    names: frozenset[str]

    @property
    def registers(self) -> int:
        """Of a thread, for D."""
        return self.columns * self.d.width // 64

    @property
    def bytes_of_b(self) -> int:
        """Of a column of B."""
        return ROW_BYTES << self.sparse


def operands_of(form: Form) -> ProductOperands:
    """What a form says of its operands."""
    words = form.mnemonic.split(".")
    d, a, b = (TYPES[word] for word in words if word in TYPES)
    shape = next(word for word in words if word.startswith("m64n"))
    names = frozenset(o.name for o in form.syntax.operands)
    columns = int(shape.removeprefix("m64n").split("k")[0])
    return ProductOperands(d, a, b, columns, "sp" in words, "a" in names, names)


# Descriptors ----------------------------------------------------------------------------------------------------------------


class DescribedLayout(NamedTuple):
    """Where a matrix lies: its fields in bytes, the number of its swizzle, and whether it is transposed."""

    start: int
    leading: int
    stride: int
    base_offset: int
    swizzle: int
    transposed: bool
    other_bits: int = 0

    @property
    def word(self) -> int:
        """The descriptor."""
        fields = self.start >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32
        return fields | self.base_offset << 49 | self.swizzle << 62 | self.other_bits


#: bits of a descriptor that no field has; those behind the start are left out, since a kernel adds an address there
NO_FIELD = (1 << 30, 1 << 31, 7 << 46, 0x3FF << 52)


class CoreExtent(NamedTuple):
    """How often the leading and the stride offset are added at most, and the bytes from there to the end of what is read."""

    leading: int
    stride: int
    core: int

    @property
    def packed(self) -> int:
        """The bytes of the matrix if one core lies behind the other."""
        return self.core * (self.leading + 1) * (self.stride + 1)


def extent(rows: int, row_bytes: int, type: Type, swizzle: int, transposed: bool) -> CoreExtent:
    """Of a matrix with so many rows, each of so many bytes. Only elements of whole bytes may be transposed."""
    span, element = TOGETHER[swizzle], type.width // 8
    if not transposed:
        return CoreExtent(max(1, row_bytes // span) - 1, rows // 8 - 1, 8 * span)
    along, deep = max(1, -(-rows * element // span)) - 1, row_bytes // element // 8 - 1
    return CoreExtent(along, deep, 8 * span) if swizzle else CoreExtent(deep, along, 8 * span)


def packed_layout(source: Random, size: CoreExtent, start: int, swizzle: int, transposed: bool) -> DescribedLayout:
    """One core behind the other."""
    return DescribedLayout(start, size.core, size.core * (size.leading + 1), 0, swizzle, transposed)


def drawn_layout(source: Random, size: CoreExtent, start: int, swizzle: int, transposed: bool) -> DescribedLayout:
    """Offsets and a base offset that are any numbers, within so many bytes as the packed matrix takes and some more."""
    room = size.packed - size.core
    leading = 16 * source.randrange(room // 16 // max(1, 2 * size.leading) + 1)
    stride = 16 * source.randrange(room // 16 // max(1, 2 * size.stride) + 1)
    moved = start + 16 * source.randrange(64)
    return DescribedLayout(
        moved, leading, stride, source.randrange(8), swizzle, transposed, source.choice((0, *NO_FIELD))
    )


def end_of(layout: DescribedLayout, size: CoreExtent) -> int:
    """Behind the last byte of shared memory that may be read. A swizzle moves bytes within lines of 128 bytes."""
    end = layout.start + size.leading * layout.leading + size.stride * layout.stride + size.core
    return -(-end // STRIDE) * STRIDE
