"""Kernels that Numba compiles run on the specification, and give what NumPy gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

try:
    from numba_kernels import CASES
except ImportError as missing:
    REASON = f"NO NUMBA: that its kernels run was NOT tested ({missing})"
    warnings.warn(REASON, stacklevel=1)
    pytest.skip(REASON, allow_module_level=True)

import ptxspec
from ptxspec.adapters.numba import compiled, flattened


def same(got: np.ndarray, want: np.ndarray, ulps: int) -> bool:
    if not ulps:
        return np.array_equal(got, want)
    return bool((np.abs(got - want) <= ulps * np.spacing(np.abs(want))).all())


@pytest.mark.sample(3)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_kernel(name: str) -> None:
    case = CASES[name](np.random.default_rng(20261122))
    kernel = compiled(case.function, case.signature)
    assert kernel.ptx.count(".version 9.") == 1
    kernel[case.shape](*case.args)
    if callable(case.expected[0]):
        assert case.expected[0](case.args)
        return
    for arg, want in zip(case.args, case.expected, strict=True):
        assert want is None or same(arg, want, case.ulps), name


@pytest.mark.slow
def test_engines_give_the_same() -> None:
    for name in ("tree_reduction", "shuffles", "atomic_extremes", "sorted_in_local_memory"):
        case = CASES[name](np.random.default_rng(1))
        kernel = compiled(case.function, case.signature)
        kernel[case.shape](*case.args, engine="exact")
        assert same(case.args[-1], case.expected[-1], 0), name


def test_what_threads_print() -> None:
    from numba import cuda

    def kernel(x: Any) -> None:
        i = cuda.grid(1)
        if i < 2:
            print("element", i, x[i])

    lines: list[str] = []
    made = compiled(kernel, "void(float64[:])")
    made[1, 32](np.array([0.5, -2.0]), printed=lines.append)
    assert "".join(lines) == "element 0 0.500000\nelement 1 -2.000000\n"


def test_what_a_kernel_must_not_do_is_reported() -> None:
    def kernel(x: Any) -> None:
        x[5000] = 1

    with pytest.raises(ptxspec.LaunchError) as caught:
        compiled(kernel, "void(int32[:])")[1, 1](np.zeros(4, np.int32))
    assert caught.value.rule == "out of bounds"


def test_arrays_with_gaps_and_streams_are_refused() -> None:
    with pytest.raises(TypeError, match="one after the other"):
        flattened(np.zeros((4, 4))[:, ::2])
    case = CASES["axpy"](np.random.default_rng(1))
    with pytest.raises(TypeError, match="streams"):
        compiled(case.function, case.signature)[1, 1, "stream"]
