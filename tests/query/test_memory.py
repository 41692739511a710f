"""Evaluations leave nothing behind: terms that nobody keeps are freed."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

import ptxspec
from ptxspec.terms import core
from ptxspec.terms.core import constant, variable

#: fragments with a number in them, and their inputs
TEXTS = [
    ("add.u32 d, a, {n};", "a"), ("div.u32 d, a, 0; xor.b32 e, d, {n};", "a"), ("add.f32 d, a, b; add.f32 e, d, a;", "ab"),
    ("setp.lt.s32 p, a, {n}; @p mul.lo.u32 d, a, {n};", "a"), ("rem.s32 d, a, b;", "ab"), ("bfe.u32 d, a, b, a;", "ab"),
    ("rcp.approx.f32 d, a;", "a"), ("mov.u32 d, %laneid; add.u32 d, d, {n};", ""),
]  # fmt: skip


def evaluations(count: int, seed: int) -> None:
    """Evaluate fragments that have not been seen, on operands that have not been seen."""
    source = random.Random(seed)
    for _ in range(count):
        text, inputs = source.choice(TEXTS)
        ptxspec.evaluate(text.format(n=source.getrandbits(31)), **{n: source.getrandbits(32) for n in inputs})


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
def test_evaluations_leave_nothing_behind() -> None:
    evaluations(1_000, 1)  # what is computed once for all is computed now
    gc.collect()
    terms, objects, before = len(core._interned), len(gc.get_objects()), resident()
    evaluations(1_500, 2)
    gc.collect()
    assert len(core._interned) - terms < 20
    assert len(gc.get_objects()) - objects < 200
    assert resident() - before < 2 << 20


def test_equal_terms_are_one_while_they_live() -> None:
    x, gone = variable("x", 32), len(core._interned)
    assert (x + 1) * 77 is (x + 1) * 77  # both are alive while they are compared
    kept = x + 123456789
    assert x + 123456789 is kept and constant(123456789) is kept.args[1]
    assert len(core._interned) - gone == 2
    del kept
    assert len(core._interned) == gone


@pytest.mark.long
def test_a_million_evaluations() -> None:
    evaluations(20_000, 4)
    gc.collect()
    before = resident()
    for batch in range(50):
        evaluations(20_000, 5 + batch)
    gc.collect()
    assert resident() - before < 32 << 20
