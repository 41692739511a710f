"""All operands, or a million of them, of forms of half precision: what the definitions give beside digests of what a GPU gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.compiled_loops import compile_loops
from ptxspec.terms.profiles import Profile
from ptxspec_workshop.record.stored_answers import H200

RECORDED: dict[str, Any] = json.loads((H200 / "half-precision.json").read_text())

COUNT = np.arange(1 << 16, dtype=np.uint32)
ONE, TWO = {"f16": 0x3C00, "bf16": 0x3F80}, 0x4000


def hashed(k: int) -> np.ndarray:
    """Words made from their number by a hash, the k-th operand's."""
    x = np.arange(1 << 20, dtype=np.uint32) * np.uint32(3) + np.uint32(k)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    return x ^ x >> np.uint32(16)


def between_constants(place: int) -> Callable[[str], list[np.ndarray]]:
    """All patterns for the operand at a place, 1 and 2 for the other two."""

    def columns(type: str) -> list[np.ndarray]:
        found = [np.full_like(COUNT, ONE[type]), np.full_like(COUNT, TWO)]
        found.insert(place, COUNT)
        return found

    return columns


#: the operands' columns, by the word after the form
OPERANDS: dict[str, Callable[[str], list[np.ndarray]]] = {
    "all": lambda type: [COUNT],
    "low": lambda type: [COUNT | 0x3C000000],
    "high": lambda type: [COUNT << 16 | 0x3C00],
    "upper": lambda type: [COUNT << 16 | 0x8000, COUNT << 16],
    "odd": lambda type: [COUNT << 16 | 0x1234],
    "hashed": lambda type: [hashed(k) for k in range(3)],
    "a": between_constants(0),
    "b": between_constants(1),
    "c": between_constants(2),
}


@pytest.fixture(scope="module")
def compiled() -> dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]]:
    mnemonics = sorted({entry.split()[0] for entry in RECORDED["digests"]})
    forms = [next(f for f in ptxspec.forms(m.split(".")[0]) if f.mnemonic == m) for m in mnemonics]
    choices = Profile("hopper")
    return dict(zip(mnemonics, compile_loops([f.meaning() for f in forms], choices.term), strict=True))


@pytest.mark.parametrize("entry", RECORDED["digests"])
def test_none_differs(entry: str, compiled: dict[str, Any]) -> None:
    mnemonic, which = entry.split()
    form = next(f for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)
    types = [i.type for i in form.meaning().inputs]
    given = OPERANDS[which](mnemonic.split(".")[-1])[: len(types)]
    columns = [np.ascontiguousarray(c.astype(f"u{t.bytes}")) for c, t in zip(given, types, strict=True)]
    (results,) = compiled[mnemonic](columns)
    assert hashlib.sha256(results.tobytes()).hexdigest() == RECORDED["digests"][entry]


def test_a_digest_tells_a_difference(compiled: dict[str, Any]) -> None:
    (results,) = compiled["ex2.approx.f16"]([COUNT.astype(np.uint16)])
    results[0x3C00] ^= 1
    assert hashlib.sha256(results.tobytes()).hexdigest() != RECORDED["digests"]["ex2.approx.f16 all"]
