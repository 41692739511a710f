"""Arithmetic of narrow formats by wider arithmetic, held against the definitions.

Sums and products were compared once for all pairs of operands, 2^32 each, in half precision and in bfloat16, by loops like those of `computed` and
`defined`.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np
import pytest

from ptxspec.literate.finder import install
from ptxspec.terms import TYPES, Type, low_bits
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import SUPPLIED, CodeSource, Emitter, Library, is_wider, set_apart
from ptxspec.terms.vectors import VectorEmitter

install()
PAGE: Any = importlib.import_module("ptxspec.spec.arithmetic.rounding")
FORMATS: Any = importlib.import_module("ptxspec.spec.arithmetic.floating_point")
LANES, COUNT = 16, 1 << 18
OPERATIONS = ("sum", "product", "fused")
#: what is computed so
CASES = [
    (name, TYPES[type], rounding)
    for name in OPERATIONS
    for type, rounding in (("f16", "rn"), ("bf16", "rn"), ("f32", "rz"), ("f32", "rm"), ("f32", "rp"))
]
WORDS: dict[int, Any] = {16: np.uint16, 32: np.uint32}


def result(name: str, type: Type, rounding: str, *operands: Any) -> Any:
    return getattr(PAGE, name)(type, rounding, False, *operands)


def is_defined(name: str, type: Type, *operands: Any) -> Any:
    nan = FORMATS.is_nan(operands[0], type)
    for operand in operands[1:]:
        nan = nan | FORMATS.is_nan(operand, type)
    return ~(nan | getattr(PAGE, f"{name}_is_invalid")(type, *operands))


def compiled(name: str, type: Type, rounding: str, lanes: int) -> Library:
    """A function `run(operands, results, count)` of patterns: the operands of one computation lie side by side, each followed by
    those of the other `lanes`."""
    count = SUPPLIED[name][1]
    lines: list[str] = []
    needs: set[str] = set()
    emitter = Emitter(lines, needs) if lanes == 1 else VectorEmitter(lines, needs, lanes=lanes)
    element, align = f"i{type.width}", type.width // 8
    word = element if lanes == 1 else f"<{lanes} x {element}>"
    names = [f"%a{i}" for i in range(count)]
    if isinstance(emitter, VectorEmitter):
        emitter.varying.update(names)
    term = result(name, type, rounding, *(variable(n[1:], type.width) for n in names))
    found = Lowering(emitter, {n[1:]: n for n in names}).low(term, type.width)
    loads = [
        f"  %p{i} = getelementptr {element}, ptr %operands, i64 {i * lanes}\n  %q{i} = getelementptr {element}, ptr %p{i}, i64 %first\n"
        f"  %a{i} = load {word}, ptr %q{i}, align {align}"
        for i in range(count)
    ]
    text = [
        "define void @run(ptr %operands, ptr %results, i64 %count) {\nentry:\n  br label %each\neach:",
        "  %k = phi i64 [0, %entry], [%more, %each]",
        f"  %first = mul i64 %k, {count * lanes}\n  %at = mul i64 %k, {lanes}",
        *loads,
        *lines,
        f"  %r = getelementptr {element}, ptr %results, i64 %at\n  store {word} {found}, ptr %r, align {align}",
        "  %more = add i64 %k, 1\n  %on = icmp ult i64 %more, %count\n  br i1 %on, label %each, label %done",
        "done:\n  ret void\n}",
    ]
    assert not any("call" in line and "ptxspec" in line for line in lines), "the definition is compiled"
    return Library(CodeSource("\n".join(text), needs))


def computed(library: Library, operands: np.ndarray, lanes: int) -> np.ndarray:
    """What compiled code gives for rows of operands."""
    rows, count = operands.shape
    given = np.ascontiguousarray(operands.reshape(rows // lanes, lanes, count).swapaxes(1, 2))
    results = np.zeros(rows, operands.dtype)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library.address("run"))
    run(given.ctypes.data, results.ctypes.data, rows // lanes)
    return results


def defined(name: str, type: Type, rounding: str, operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the definition gives, compiled as it stands, and of which rows it gives something."""
    function, parts, _ = set_apart(name, type, rounding, False)
    element = f"i{type.width}"
    count, needs = operands.shape[1], set(parts)
    lines: list[str] = []
    env = {f"a{i}": f"%a{i}" for i in range(count)}
    holds = Lowering(Emitter(lines, needs), env).truth(is_defined(name, type, *(variable(n, type.width) for n in env)))
    loads = [
        f"  %p{i} = getelementptr {element}, ptr %row, i64 {i}\n  %a{i} = load {element}, ptr %p{i}"
        for i in range(count)
    ]
    text = [
        "define void @run(ptr %operands, ptr %results, i64 %count) {\nentry:\n  br label %each\neach:",
        f"  %k = phi i64 [0, %entry], [%more, %each]\n  %at = mul i64 %k, {count}",
        f"  %row = getelementptr {element}, ptr %operands, i64 %at",
        *loads,
        *lines,
        f"  %b = call {element} @{function}({', '.join(f'{element} {v}' for v in env.values())})\n  %h = zext i1 {holds} to i64",
        f"  %w = zext {element} %b to i64\n  %s = shl i64 %h, 32\n  %o = or i64 %w, %s",
        "  %r = getelementptr i64, ptr %results, i64 %k\n  store i64 %o, ptr %r",
        "  %more = add i64 %k, 1\n  %on = icmp ult i64 %more, %count\n  br i1 %on, label %each, label %done",
        "done:\n  ret void\n}",
    ]
    library = Library(CodeSource("\n".join(text), needs, vectorize=False))
    results = np.zeros(len(operands), np.uint64)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library.address("run"))
    run(operands.ctypes.data, results.ctypes.data, len(operands))
    return results.astype(operands.dtype), results >> np.uint64(32) == 1


def operands_of(name: str, type: Type, seed: int) -> np.ndarray:
    """Rows of operands: a third at random; a third of powers of two and their neighbours, whose sums are often ties, or next to
    ties; in a third, the last operand lies near the result of the others with the other sign, or a few powers of two off."""
    count, rng, width = SUPPLIED[name][1], np.random.default_rng(seed), type.width
    fraction = FORMATS.precision(type) - 1
    one, some = 1 << fraction, COUNT // 3
    near = np.array([0, 1, 2, one // 2 - 1, one // 2, one // 2 + 1, one - 2, one - 1])
    sign = rng.integers(0, 2, (COUNT, count)) << width - 1
    rows = rng.integers(0, 1 << width, (COUNT, count))
    exponents = rng.integers(0, 1 << width - 1 - fraction, (COUNT - some, count))
    rows[some:] = exponents * one + rng.choice(near, (COUNT - some, count)) | sign[some:]
    third, greatest = rows[2 * some :], (1 << width - 1) - 1
    sizes = third & greatest
    exact = sizes[:, 0] + sizes[:, 1] - FORMATS.one(type) if count == 3 else sizes[:, 0]
    shift = rng.integers(-fraction - 4, fraction + 5, len(third)) * one + rng.integers(-2, 3, len(third))
    third[:, -1] = np.clip(exact + shift, 0, greatest) | third[:, -1] & greatest + 1
    return rows.astype(WORDS[width])


@pytest.mark.parametrize(("name", "type", "rounding"), CASES, ids=str)
def test_wider_arithmetic_gives_what_is_defined(name: str, type: Type, rounding: str) -> None:
    if not is_wider(name, (type, rounding, False)):
        pytest.skip(f"this processor has no conversions of {type}")
    operands = operands_of(name, type, 1)
    expected, holds = defined(name, type, rounding, operands)
    assert holds.mean() > 0.8 and len(np.unique(expected[holds])) > 30000
    for lanes in (1, LANES):
        found = computed(compiled(name, type, rounding, lanes), operands, lanes)
        wrong = np.flatnonzero(holds & (found != expected))
        assert not len(wrong), f"{operands[wrong[0]]}: {found[wrong[0]]:#x}, not {expected[wrong[0]]:#x}"


@pytest.mark.parametrize(("name", "type", "rounding"), CASES, ids=str)
def test_what_is_compared_with_is_the_exact_interpretation(name: str, type: Type, rounding: str) -> None:
    operands = operands_of(name, type, 2)[:: COUNT // 300].copy()
    names = [f"a{i}" for i in range(operands.shape[1])]
    terms = [variable(n, type.width) for n in names]
    value = low_bits(result(name, type, rounding, *terms), type.width)
    condition = is_defined(name, type, *terms)
    for row, bits, holds in zip(operands, *defined(name, type, rounding, operands), strict=True):
        given = dict(zip(names, map(int, row), strict=True))
        assert holds == evaluate(condition, given)
        assert not holds or bits == evaluate(value, given)


@pytest.mark.parametrize(
    ("type", "rounding", "ftz"), [("f16", "rz", False), ("bf16", "rn", True), ("f64", "rz", False)]
)
def test_all_else_is_as_defined(type: str, rounding: str, ftz: bool) -> None:
    assert not any(is_wider(name, (TYPES[type], rounding, ftz)) for name in OPERATIONS)
