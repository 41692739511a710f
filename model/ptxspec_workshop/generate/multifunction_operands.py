"""Instructions that a GPU's multifunction unit computes, and 2^32 operands for each.

The operand of number i is i itself for single precision, and i in the upper word where only that word of a double counts.
Pairs, and whole double-precision operands, are made from i by a hash, with zeros, subnormal numbers, infinities and NaNs more
often than by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.terms.core import variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.types import TYPES

BLOCKS, BLOCK = 512, 1 << 23
WORD = (1 << 64) - 1

#: what the hash's low four bits make of a random operand: (bits that stay, bits that are set)
SINGLE = [
    (0x80000000, 0),  # a zero
    (0x807FFFFF, 0),  # a subnormal number
    (0xFFFFFFFF, 0x7E000000),  # a number above 2^125, or a NaN
    (0x80FFFFFF, 0x00800000),  # a number from 2^-126 to 2^-125
    (0x80000000, 0x7F800000),  # an infinity
    (0xFF800000, 0),  # a power of two
]
DOUBLE = [
    (1 << 63, 0),
    (0x800FFFFFFFFFFFFF, 0),
    (WORD, 0x7FF0000000000000),  # a NaN
    (0xFFF0000000000000, 0),
    (0x7FFFFFFF00000000, 0),  # a lower word of zero
    (0x000000000FFFFFFF, 0),  # a small subnormal number
    (0x7FF00000000FFFFF, 0),
    (1 << 63, 0x7FF0000000000000),
    *[(0x7FFFFFFFFFFFFFFF, 0)] * 6,  # a positive number
]


def masks(special: list[tuple[int, int]], width: int) -> tuple[list[int], list[int]]:
    whole = [*special, *[((1 << width) - 1, 0)] * (16 - len(special))]
    return [keep for keep, _ in whole], [put for _, put in whole]


def mix(z: np.ndarray) -> np.ndarray:
    """A hash of 64 bits (the finalizer of splitmix64)."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _special(value: np.ndarray, choose: np.ndarray, special: list[tuple[int, int]], width: int) -> np.ndarray:
    keep, put = (np.array(m, np.uint64) for m in masks(special, width))
    at = (choose & np.uint64(15)).astype(np.intp)
    return (value & keep[at]) | put[at]


def operands(kind: str, i: np.ndarray) -> list[np.ndarray]:
    """The operands of the numbers i, as columns of raw bits. `kind` is single, upper, double or pair."""
    if kind == "single":
        return [i.astype(np.uint32)]
    if kind == "upper":
        return [i << np.uint64(32)]
    value, choose = mix(i * np.uint64(2)), mix(i * np.uint64(2) + np.uint64(1))
    if kind == "double":
        return [_special(value, choose, DOUBLE, 64)]
    first, second = value & np.uint64(0xFFFFFFFF), value >> np.uint64(32)
    return [
        _special(first, choose, SINGLE, 32).astype(np.uint32),
        _special(second, choose >> np.uint64(8), SINGLE, 32).astype(np.uint32),
    ]


class MultifunctionInstruction(NamedTuple):
    """An instruction, the kind of its operands, and the page's function that says what it gives."""

    instruction: str
    kind: str
    page: str
    name: str
    static: tuple[bool, ...] = ()

    @property
    def width(self) -> int:
        return 32 if self.kind in ("single", "pair") else 64

    @property
    def meaning(self) -> Meaning:
        type = TYPES[f"f{self.width}"]
        names = ("x", "y") if self.kind == "pair" else ("x",)
        variables = [variable(n, self.width) for n in names]
        function = getattr(contracts.unit_function(self.page), self.name)
        inputs = tuple(Input(n, type, (v,)) for n, v in zip(names, variables, strict=True))
        return Meaning(inputs, (Result(type, (function(*variables, *self.static),)),), None)


def _functions() -> Iterator[MultifunctionInstruction]:
    pages = {"rcp": "reciprocal", "rsqrt": "reciprocal_root", "sqrt": "root", "lg2": "logarithm", "ex2": "power"}
    for ftz in (True, False):
        suffix = ".ftz.f32" if ftz else ".f32"
        for opcode, page in pages.items():
            yield MultifunctionInstruction(f"{opcode}.approx{suffix}", "single", page, f"approximate_{opcode}", (ftz,))
        for opcode in ("sin", "cos"):
            yield MultifunctionInstruction(f"{opcode}.approx{suffix}", "single", "sine", f"approximate_{opcode}")
        yield MultifunctionInstruction(f"div.approx{suffix}", "pair", "reciprocal", "approximate_div", (ftz,))
        yield MultifunctionInstruction(f"div.full{suffix}", "pair", "reciprocal", "full_range_div", (ftz,))
    yield MultifunctionInstruction("tanh.approx.f32", "single", "hyperbolic_tangent", "approximate_tanh")
    yield MultifunctionInstruction("rcp.approx.ftz.f64", "upper", "reciprocal", "approximate_rcp_double")
    yield MultifunctionInstruction("rsqrt.approx.ftz.f64", "upper", "reciprocal_root", "approximate_rsqrt_upper_word")
    yield MultifunctionInstruction("rsqrt.approx.f64", "double", "reciprocal_root", "approximate_rsqrt_double")


FUNCTIONS = tuple(_functions())


def _near(patterns: Iterable[int], width: int) -> list[int]:
    """Patterns, those beside them, and all of these with the sign."""
    sign = 1 << (width - 1)
    return sorted({(p + d & (sign - 1)) | s for p in patterns for d in (-1, 0, 1) for s in (0, sign)})


def samples() -> dict[str, list[np.ndarray]]:
    """Operands by kind: the borders of exponents and of segments, whole numbers, and 900 random ones."""
    random = np.random.default_rng(20261121)
    special = [0, 1, 0x7FFFFF, 0x800000, 0x7F800000, 0x7FC00000, 0x7FFFFFFF]
    borders = [e << 23 for e in (1, 2, 64, 102, 103, 104, 125, 126, 127, 128, 129, 133, 134, 150, 252, 253, 254)]
    segments = [0x3F800000 + (s << 17) for s in range(0, 128, 3)]
    whole = [int(np.float32(n).view(np.uint32)) for n in (3, 5, 17, 100, 126, 127, 149, 150, 151)]
    edges = _near([*special, *borders, *segments, *whole], 32)
    i = random.integers(0, 1 << 32, 900, np.uint64)
    single = np.concatenate([np.array(edges, np.uint32), i.astype(np.uint32)])
    wide = _near([e << 52 for e in (0, 1, 2, 1021, 1022, 1023, 1024, 1025, 2044, 2045, 2046, 2047)], 64)
    wide += _near([(0x3FF << 52) + (s << 46) for s in range(0, 128, 5)], 64)
    double = np.concatenate([np.array(wide, np.uint64), *(operands(kind, i)[0] for kind in ("upper", "double"))])
    some = np.array(_near([*special, 0x7E800000, 0x3F800000], 32), np.uint32)
    crossed = [a.ravel() for a in np.meshgrid(some, some)]
    pair = [np.concatenate([a, b]) for a, b in zip(crossed, operands("pair", i), strict=True)]
    return {"single": [single], "upper": [double], "double": [double], "pair": pair}
