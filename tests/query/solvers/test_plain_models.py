"""Counterexamples that a person would have chosen."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.query.solvers import kept

ONE, HALF, TWO = 0x3F800000, 0x3F000000, 0x40000000
CASES = [
    ("neg.s32 d, a;", "not.b32 d, a;", None, {"a": 0}),
    ("add.u32 d, a, 1;", "add.u32 d, a, 2;", "a != 0", {"a": 1}),
    ("add.u32 d, a, 1;", "add.u32 d, a, 2;", "a > 1", {"a": 2}),
    ("add.u32 d, a, 1;", "add.u32 d, a, 2;", "1 < signed(a)", {"a": 2}),
    ("add.u32 d, a, 1;", "add.u32 d, a, 2;", "100 < signed(a)", {"a": 128}),
    ("add.u32 d, a, b;", "sub.u32 d, a, b;", "a == b + 3", {"a": 4, "b": 1}),
    ("add.f32 d, a, a;", "mov.f32 d, a;", None, {"a": ONE}),
    ("mul.f32 d, a, b;", "mov.f32 d, a;", "not zero(a) and not zero(b)", {"a": ONE, "b": 0xBF800000}),
    ("mul.f32 d, a, 0f40000000;", "mul.f32 d, a, 0f40800000;", "not negative(a) and not zero(a) and a > 0x3f800000", {"a": TWO}),
    ("add.f16 d, a, a;", "mov.b16 d, a;", None, {"a": 0x3C00}),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "assume", "inputs"), CASES)
def test_inputs_are_plain(left: str, right: str, assume: str | None, inputs: dict[str, int]) -> None:
    with kept.kept_at(None):
        found = ptxspec.prove(left, right, assume=assume).counterexample
    assert found is not None and found.inputs == inputs


def test_a_nan_is_there_only_if_it_has_to_be() -> None:
    found = ptxspec.prove("min.f32 d, a, b;", "max.f32 d, a, b;", profile="hopper").counterexample
    assert found is not None
    assert all(value & 0x7FFFFFFF <= 0x7F800000 for value in found.inputs.values())
