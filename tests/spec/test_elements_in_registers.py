"""Where an element lies in a register of a matrix's fragment, and of which type the register is: by the manual's words."""

from __future__ import annotations

import pytest
from ptxspec.spec.matrices.fragments import in_byte
from ptxspec.spec.matrices.multiplication import declared

from ptxspec.terms import TYPES, integer
from ptxspec.terms.exact import evaluate


@pytest.mark.parametrize(
    ("name", "lowest", "bits"), [("e4m3", 0, 8), ("e5m2", 0, 8), ("e3m2", 0, 6), ("e2m3", 0, 6), ("e2m1", 2, 4)]
)
def test_an_element_in_its_byte(name: str, lowest: int, bits: int) -> None:
    """Eight bits fill it, six lie at its lower end, and four in its middle."""
    for byte in range(256):
        assert evaluate(in_byte(integer(byte), TYPES[name]), {}) == byte // 2**lowest % 2**bits


@pytest.mark.parametrize(
    ("element", "register"),
    [
        ("f16", "f16x2"),
        ("bf16", "bf16x2"),
        ("f32", "f32"),
        ("s32", "s32"),
        ("f64", "f64"),
        ("u8", "b32"),
        ("s4", "b32"),
        ("b1", "b32"),
        ("e4m3", "b32"),
    ],
)
def test_the_type_of_a_register_of_elements(element: str, register: str) -> None:
    """Elements of less than 32 bits are packed; others have registers of their own type."""
    assert declared(TYPES[element]) == TYPES[register]
