"""The kernel around a few instructions: what it loads is what a case says, and what it stores is what the instructions left."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec_workshop.disputes.kernels import CELLS, FILL, NAME, cells, kernel


def test_a_kernel_hands_operands_in_and_results_out() -> None:
    inputs, results = {"a": "b32", "p": "pred", "h": "b16"}, {"d": "b32", "q": "pred", "h": "b16"}
    rows = [{"a": 5, "p": 1, "h": -1}, {"a": -5, "p": 0, "h": 3}]
    text = kernel("add.u32 d, a, 1;\nnot.pred q, p;\nadd.u16 h, h, 2;", inputs, results)
    out = np.full((2, CELLS), FILL, np.uint64)
    ptxspec.load(text).launch(NAME, 1, 2, [cells(inputs, rows), out], engine="exact")
    assert (out[:, 0] & np.uint64(0xFFFFFFFF)).tolist() == [6, 0xFFFFFFFC]
    assert (out[:, 1] & np.uint64(0xFFFF)).tolist() == [0, 1]
    assert (out[:, 2] & np.uint64(0xFFFF)).tolist() == [1, 5]
    assert (out[:, 3:] == np.uint64(FILL)).all()


def test_a_row_names_just_the_operands() -> None:
    with pytest.raises(ValueError, match="a row of"):
        cells({"a": "b32"}, [{"b": 1}])


def test_a_kernel_has_room_for_so_many_registers() -> None:
    with pytest.raises(ValueError, match="at most 8"):
        kernel("", {f"r{i}": "b32" for i in range(CELLS + 1)}, {})
