"""The five CUDA kernels under both engines, bit for bit against their independent references."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import ptxspec

EXAMPLES = sorted(p.parent for p in (Path(__file__).resolve().parents[2] / "docs" / "examples").glob("*/reference.py"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
@pytest.mark.parametrize(("engine", "size"), [("exact", "small"), ("native", "small"), ("native", "medium")])
def test_a_kernel_is_bit_exact(folder: Path, engine: str, size: str) -> None:
    reference = runpy.run_path(str(folder / "reference.py"))
    case = reference["case"](size)
    expected = reference["expected"](reference["case"](size))
    module = ptxspec.load(reference["PTX"].read_text(), str(reference["PTX"]))
    module.launch(reference["KERNEL"], case["grid"], case["block"], case["args"], engine=engine)
    outputs = [case["args"][i] for i in case["outputs"]]
    assert len(outputs) == len(expected) > 0
    for got, want in zip(outputs, expected, strict=True):
        assert got.any() and np.array_equal(got.view(np.uint8), want.view(np.uint8))


def test_there_are_five() -> None:
    assert [p.name for p in EXAMPLES] == ["hash", "mandelbrot", "matmul", "reduction", "saxpy"]


def test_the_engines_count_the_same_steps() -> None:
    for folder in EXAMPLES:
        reference = runpy.run_path(str(folder / "reference.py"))
        module = ptxspec.load(reference["PTX"].read_text())
        steps = set()
        for engine in ("exact", "native"):
            case = reference["case"]("small")
            steps.add(
                module.launch(reference["KERNEL"], case["grid"], case["block"], case["args"], engine=engine).steps
            )
        assert len(steps) == 1, folder.name
