"""A warpgroup's products by formulas of one's own, on arrays of NumPy: addresses, swizzles, places in registers, sparse rows, and sums
as an H100 computes them. Nothing here comes from the pages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: exponent bits, fraction bits, and whether there are infinities
FORMATS = {
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "tf32": (8, 10, True),
    "e4m3": (4, 3, False),
    "e5m2": (5, 2, True),
}
FORMATS["f32"] = (8, 23, True)
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1, "f32": 32, "s32": 32}
FLOOR = -133


class Question(NamedTuple):
    """A product: the names of the types of D, A and B; the columns; and what the instruction says."""

    types: tuple[str, str, str]
    columns: int
    sparse: bool = False
    satfinite: bool = False
    selector: int = 0
    signs: tuple[int, int] = (1, 1)
    transposed: tuple[bool, bool] = (False, False)


class Given(NamedTuple):
    """What the threads have: the bytes of shared memory from address `base` on; descriptors, or registers of A by threads; and the
    registers of C and the metadata by threads."""

    memory: np.ndarray
    base: int
    a: int | np.ndarray
    b: int
    c: np.ndarray | None
    metadata: np.ndarray


def bits_from(word: int, first: int, count: int) -> int:
    return word >> first & (1 << count) - 1


def addresses(word: int, transposed: bool, rows: int, elements: int, width: int) -> np.ndarray:
    """Of the bytes of elements, by rows and by k."""
    start, leading, stride = (bits_from(word, first, 14) * 16 for first in (0, 16, 32))
    span = (16, 128, 64, 32)[bits_from(word, 62, 2)]
    row, k = np.arange(rows)[:, None], np.arange(elements)[None, :]
    if not transposed:
        byte = k * width // 8
        at = start + row // 8 * stride + row % 8 * span + byte // span * leading + byte % span
    else:
        size = width // 8
        many = span // size
        of_row, of_k = (stride, leading) if span == 16 else (leading, stride)
        at = start + k % 8 * span + row % many * size + row // many * of_row + k // 8 * of_k
    if span == 16:
        return at
    return at ^ (at // 128 - bits_from(word, 49, 3)) % (span // 16) * 16


def from_memory(given: Given, word: int, transposed: bool, rows: int, elements: int, width: int) -> np.ndarray:
    """Elements as unsigned numbers."""
    at = addresses(word, transposed, rows, elements, width) - given.base
    assert at.min() >= 0 and at.max() + max(1, width // 8) <= len(given.memory)
    if width == 1:
        return given.memory[at] >> np.arange(elements)[None, :] % 8 & 1
    parts = [given.memory[at + i].astype(np.uint64) << np.uint64(8 * i) for i in range(width // 8)]
    return np.bitwise_or.reduce(parts)


def from_registers(registers: np.ndarray, width: int) -> np.ndarray:
    """The 64 rows of A of the threads' four registers."""
    per, result = 32 // width, np.zeros((64, 256 // width), np.uint64)
    for thread in range(128):
        for register in range(4):
            for e in range(per):
                row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register % 2)
                k = thread % 4 * per + e + 128 // width * (register // 2)
                result[row, k] = int(registers[thread, register]) >> e * width & (1 << width) - 1
    return result


def of_d(columns: int, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the elements of D by threads, in the order of their registers."""
    t, i = np.arange(128)[:, None], np.arange(columns // 2)[None, :]
    return 16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (t % 4) + i % 2


def nibbles(metadata: np.ndarray, width: int, selector: int) -> np.ndarray:
    """By rows the metadata of the chunks."""
    count = 8 if width >= 16 else 16
    result = np.zeros((64, count), int)
    for row in range(64):
        warp, g, h = row // 16, row % 8, row % 16 // 8
        for n in range(count):
            if width >= 16:
                lane, bit = 4 * g + 2 * selector + n // 4, 16 * h + 4 * (n % 4)
            else:
                lane, bit = 4 * g + h + 2 * (n // 8), 4 * (n % 8)
            result[row, n] = int(metadata[32 * warp + lane]) >> bit & 15
    return result


def chosen(b: np.ndarray, chunks: np.ndarray, width: int) -> np.ndarray:
    """By rows and columns the elements of B that meet those of a sparse row; `b` is by columns and k."""
    if width == 32:  # the halves of two elements
        which = np.where(chunks == 0b0100, 0, 1)  # valid metadata take whole elements
        k = 2 * np.arange(chunks.shape[1])[None, :] + which
    else:
        pairs = np.stack([chunks & 3, chunks >> 2], axis=2)
        k = (4 * np.arange(chunks.shape[1])[None, :, None] + pairs).reshape(len(chunks), -1)
    result: np.ndarray = b[:, k].swapaxes(0, 1)
    return result


class Numbers(NamedTuple):
    """Floating-point numbers: significands with their signs, in units of 2^(exponent − fraction)."""

    significand: np.ndarray
    exponent: np.ndarray
    fraction: int
    nan: np.ndarray
    infinite: np.ndarray
    negative: np.ndarray


def numbers(bits: np.ndarray, name: str) -> Numbers:
    exponent_bits, fraction, infinities = FORMATS[name]
    bits = bits.astype(np.int64) >> (13 if name == "tf32" else 0)
    field, rest = bits >> fraction & (1 << exponent_bits) - 1, bits & (1 << fraction) - 1
    negative = bits >> exponent_bits + fraction & 1 == 1
    top = field == (1 << exponent_bits) - 1
    nan = top & (rest != 0) if infinities else top & (rest == (1 << fraction) - 1)
    infinite = top & (rest == 0) & infinities
    size = np.where(nan | infinite, 0, rest + np.where(field > 0, 1 << fraction, 0))
    exponent = np.maximum(field, 1) - (1 << exponent_bits - 1) + 1
    return Numbers(np.where(negative, -size, size), exponent, fraction, nan, infinite, negative)


def cut(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Times 2^places, toward zero."""
    left, right = np.maximum(places, 0), np.minimum(np.maximum(-places, 0), 62)
    return np.sign(values) * (np.abs(values) << left >> right)


def float_sums(question: Question, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a` and `b` are by rows, columns and k, or can be; c by rows and columns. Gives bits."""
    of_d, of_a, of_b = question.types
    x, y, z = numbers(a, of_a), numbers(b, of_b), numbers(c, of_d)
    bytes_ = BITS[of_a] == 8
    places = 13 if bytes_ else 25
    product, exponent = x.significand * y.significand, x.exponent + y.exponent
    x_zero, y_zero = ((n.significand == 0) & ~n.nan & ~n.infinite for n in (x, y))
    least = np.where(product != 0, exponent, FLOOR).max(axis=2)
    big = np.maximum(np.maximum(least, np.where(z.significand != 0, z.exponent, FLOOR)), FLOOR)
    total = cut(product, exponent - x.fraction - y.fraction - big[:, :, None] + places).sum(axis=2)
    total = total + cut(z.significand, z.exponent - z.fraction - big + places)
    unit, size = big - places, np.abs(total)
    if of_d == "f32":
        length = np.frexp(size.astype(np.float64))[1]
        lost = np.maximum(np.maximum(length - (14 if bytes_ else 24), -149 - unit), 0)
        size = size >> np.minimum(lost, 62) << np.minimum(lost, 62)
    signed = np.where(total < 0, -size, size).astype(np.float64)
    with np.errstate(over="ignore"):
        values = np.ldexp(signed, unit).astype(np.float32 if of_d == "f32" else np.float16) + 0.0
    bits = values.view(np.uint32 if of_d == "f32" else np.uint16).astype(np.uint32)
    infinite, negative = x.infinite | y.infinite, x.negative ^ y.negative
    nan = (x.nan | y.nan | (x.infinite & y_zero) | (y.infinite & x_zero)).any(axis=2) | z.nan
    plus = (infinite & ~negative).any(axis=2) | (z.infinite & ~z.negative)
    minus = (infinite & negative).any(axis=2) | (z.infinite & z.negative)
    infinity, sign = (0x7F800000, 1 << 31) if of_d == "f32" else (0x7C00, 1 << 15)
    bits = np.where(plus, infinity, np.where(minus, infinity | sign, bits))
    return np.where(nan | (plus & minus), sign - 1, bits)


def whole_sums(question: Question, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    def value(x: np.ndarray, name: str) -> np.ndarray:
        x = x.astype(np.int64)
        return np.where(x >> 7 == 1, x - 256, x) if name == "s8" else x

    total = (value(a, question.types[1]) * value(b, question.types[2])).sum(axis=2) + c.astype(np.uint32).view(np.int32)
    if question.satfinite:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return total & 0xFFFFFFFF


def negated(bits: np.ndarray, width: int, sign: int) -> np.ndarray:
    return bits ^ np.uint64(1 << width - 1) if sign < 0 else bits


def answer(question: Question, given: Given) -> np.ndarray:
    """The registers of D by threads. C is None where it is not added."""
    dtype, atype, btype = question.types
    width = BITS[atype]
    stored = 256 // width
    if isinstance(given.a, np.ndarray):
        a = from_registers(given.a, width)
    else:
        a = from_memory(given, given.a, question.transposed[0], 64, stored, width)
    b = from_memory(given, given.b, question.transposed[1], question.columns, stored << question.sparse, BITS[btype])
    a, b = negated(a, width, question.signs[0]), negated(b, BITS[btype], question.signs[1])
    met = chosen(b, nibbles(given.metadata, width, question.selector), width) if question.sparse else b[None, :, :]
    rows, columns = of_d(question.columns, dtype == "f16")
    c = np.zeros((64, question.columns), np.uint32)
    if given.c is not None:
        c[rows, columns] = given.c.view(np.uint16) if dtype == "f16" else given.c
    sums = whole_sums if dtype == "s32" else float_sums
    left = sums(question, a[:, None, :], met, c)[rows, columns]
    if dtype == "f16":
        return np.ascontiguousarray(left.astype(np.uint16)).view(np.uint32)
    return left.astype(np.uint32)
