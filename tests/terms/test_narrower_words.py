"""Numbers that are computed in fewer bits than are wanted, or than their expressions have: the same numbers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from ptxspec.terms.core import Int, integer, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Emitter, Library
from ptxspec.terms.vectors import VectorEmitter
from ptxspec.terms.vocabulary import low_bits, maximum, number, select

LANES = 8
X, Y, N = variable("x", 44), variable("y", 20), variable("n", 7)


def dropped(x: Int, n: Int) -> tuple[Int, Int]:
    """The bits that are dropped, and half a unit of those that are kept."""
    return low_bits(x, n), integer(1) << (maximum(n, 1) - 1)


#: terms whose expressions have more than 64 bits, or sums of narrow numbers that are wanted as wide ones
TERMS: dict[str, Any] = {
    "to the left and back": X << 24 >> N,
    "a negative number to the left and back": -X << 24 >> N,
    "further to the right": X << 3 >> (N + 40),
    "a power of two is less": number(integer(1) << N < X),
    "a power of two is greater": number(X < (integer(3) << N)),
    "a power of two is equal": number((integer(1) << N) == Y),
    "a power of two and a negative number": number(Y - X < (integer(1) << N)),
    "half a unit": select(dropped(X << 16, N)[0] > dropped(X << 16, N)[1], 1, 0),
    "a sum of narrow numbers": select(Y < N, Y - N, Y + N) + X,
    "narrow numbers as wide ones": (Y - N) * (X - Y) + ((Y - N) << 40),
}


def words(term: Any, lanes: int) -> tuple[str, Library]:
    """A function of arrays of operands and results, 64 bits each, of as many as there are lanes."""
    lines: list[str] = []
    needs: set[str] = set()
    emitter = Emitter(lines, needs) if lanes == 1 else VectorEmitter(lines, needs, lanes=lanes)
    word, names = ("i64" if lanes == 1 else f"<{lanes} x i64>"), ("x", "y", "n")
    if isinstance(emitter, VectorEmitter):
        emitter.narrow = True
        emitter.varying.update(f"%{n}" for n in names)
    given = {"x": 64, "y": 64, "n": 64}
    env = {name: f"%{name}" for name in given}
    for v in (X, Y, N):
        env[v.attrs[0]] = emitter.truncate(env[v.attrs[0]], 64, v.attrs[1])
    found = Lowering(emitter, env).low(term, 64)
    text = [f"define void @run({', '.join(f'ptr %p{n}' for n in names)}, ptr %out) {{"]
    text += [f"  %{n} = load {word}, ptr %p{n}, align 8" for n in names]
    text += [*lines, f"  store {word} {found}, ptr %out, align 8\n  ret void\n}}"]
    return "\n".join(text), Library(CodeSource("\n".join(text), needs))


@pytest.mark.sample(4)
@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("name", TERMS)
def test_narrower_words_hold_the_same_numbers(name: str, lanes: int) -> None:
    term, rng = TERMS[name], np.random.default_rng(3)
    text, library = words(term, lanes)
    assert lanes == 1 or "i128" not in text
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(library.address("run"))
    seen = set()
    for _ in range(2000 // lanes):
        columns = [rng.integers(0, 1 << v.attrs[1], lanes, dtype=np.uint64) for v in (X, Y, N)]
        columns[0] >>= rng.integers(0, 45, lanes, dtype=np.uint64)  # numbers of all lengths
        columns[1] = np.where(rng.random(lanes) < 0.5, np.uint64(1) << columns[2] % 20, columns[1])
        columns = [np.ascontiguousarray(c, dtype=np.uint64) for c in columns]
        results = np.zeros(lanes, np.uint64)
        run(*(c.ctypes.data for c in columns), results.ctypes.data)
        for i in range(lanes):
            values = {v.attrs[0]: int(c[i]) for v, c in zip((X, Y, N), columns, strict=True)}
            expected = evaluate(term, values) & (1 << 64) - 1
            assert int(results[i]) == expected, values
            seen.add(expected)
    assert len(seen) > 1
