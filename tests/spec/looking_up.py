"""What functions over terms give: by the exact interpretation and by compiled code, which must agree."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxspec.evidence.compiled_loops import compile_loops
from ptxspec.terms import TYPES, Int, low_bits
from ptxspec.terms.core import variable
from ptxspec.terms.definitions import Input, Meaning, Result
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import Profile

U64 = TYPES["u64"]
HOPPER, PORTABLE = Profile("hopper"), Profile("portable")


def pattern(x: float) -> int:
    """The single-precision pattern nearest to x."""
    return int(np.float32(x).view(np.uint32))


def number(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def signed(bits: int, width: int = 64) -> int:
    return bits - (bits >> (width - 1) << width)


def term_of(function: Callable[..., Any], widths: tuple[int, ...]) -> tuple[tuple[str, ...], Int]:
    names = tuple(f"x{i}" for i in range(len(widths)))
    return names, function(*(variable(n, w) for n, w in zip(names, widths, strict=True)))


def exactly(function: Callable[..., Any], widths: tuple[int, ...], rows: Any, profile: Profile = HOPPER) -> list[int]:
    names, term = term_of(function, widths)
    term = low_bits(term, 64)
    return [evaluate(term, dict(zip(names, map(int, row), strict=True)), profile.value) for row in rows]


def natively(function: Callable[..., Any], widths: tuple[int, ...], rows: Any) -> list[int]:
    names, term = term_of(function, widths)
    types = [TYPES[f"b{w}"] for w in widths]
    inputs = tuple(Input(n, t, (variable(n, w),)) for n, t, w in zip(names, types, widths, strict=True))
    meaning = Meaning(inputs, (Result(U64, (low_bits(term, 64),)),), None)
    (run,) = compile_loops([meaning], HOPPER.term, level=1)
    columns = [np.array(column, f"u{w // 8}") for column, w in zip(zip(*rows, strict=True), widths, strict=True)]
    return [int(x) for x in run(columns)[0]]


def both(function: Callable[..., Any], widths: tuple[int, ...], rows: Any) -> list[int]:
    """What a function gives, by the exact interpretation and by compiled code."""
    rows = [tuple(map(int, row)) for row in rows]
    found = exactly(function, widths, rows)
    assert natively(function, widths, rows) == found
    return found


def agrees(function: Callable[..., Any], widths: tuple[int, ...], rows: np.ndarray) -> None:
    """Rows of operands, then what the GPU gave."""
    got = both(function, widths, rows[:, : len(widths)])
    wrong = [(list(map(hex, map(int, r))), hex(g)) for r, g in zip(rows, got, strict=True) if g != int(r[-1])]
    assert not wrong, (len(wrong), len(rows), wrong[:5])
