"""Kernels that Triton compiled run on the specification, and give what NumPy gives. What Triton printed is kept; a long test makes
it again, in an environment of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import venv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton_compile
from triton_cases import CASES, Case
from triton_compile import kernel_of

import ptxspec
from ptxspec.adapters import triton as adapter

ROOT = Path(__file__).resolve().parents[2]
#: also under the exact engine in each run; the long test runs all
BOTH = ("histogram", "running_sum", "fp8_of_five_exponent_bits", "layer_norm", "transposed")


def difference(found: np.ndarray, want: np.ndarray, tolerance: float) -> float:
    """The largest, relative to what is wanted, or to 1 where that is smaller."""
    if not tolerance:
        return 0.0 if np.array_equal(found, want) else np.inf
    wanted = want.astype(np.float64)
    return float(np.max(np.abs(found - wanted) / np.maximum(1, np.abs(wanted))))


def run(name: str, engine: str, **how: Any) -> None:
    case = CASES[name]
    launch = case.launch(np.random.default_rng(20261122))
    if case.target == 90:
        how["profile"] = "hopper"
    configured = kernel_of(name)[launch.grid]
    if case.reported:
        with pytest.raises(ptxspec.LaunchError) as caught:
            configured(*launch.args, engine=engine, **how)
        assert caught.value.rule == case.reported
        return
    configured(*launch.args, engine=engine, **how)
    assert any(want is not None for want in launch.expected)
    for arg, want in zip(launch.args, launch.expected, strict=True):
        if want is not None:
            assert arg.shape == want.shape
            assert difference(arg, want, launch.tolerance) <= launch.tolerance, name


def _marked(cases: dict[str, Case]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.long if case.long else ()) for name, case in cases.items()]


@pytest.mark.sample(8)
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", _marked(CASES))
def test_a_kernel(name: str) -> None:
    run(name, "native")


@pytest.mark.long
@pytest.mark.parametrize("check", ["race", "uninitialized"])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.target == 90 and not case.reported])
def test_a_kernel_is_without_findings(name: str, check: str) -> None:
    if name == "layer_norm_for_sm_90" and check == "race":
        pytest.skip("it has a race: see below")
    run(name, "native", check=check)


def test_a_race_of_tritons() -> None:
    """A sum of squares by exchanges with an fma in the first: the lanes have sums that are rounded differently, and all store theirs to
    one place."""
    with pytest.raises(ptxspec.LaunchError) as caught:
        run("layer_norm_for_sm_90", "native", check="race")
    assert caught.value.rule == "race" and "two writes by one instruction" in str(caught.value)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in BOTH else pytest.mark.long) for name in CASES])
def test_a_kernel_under_the_exact_engine(name: str) -> None:
    run(name, "exact")


def test_all_that_was_asked_for_is_kept() -> None:
    """Of these some say by their PTX that they are what their names promise."""
    found = triton_compile.kept()["kernels"]
    assert {name: facts["target"] for name, facts in found.items()} == {name: c.target for name, c in CASES.items()}
    for name, word in {
        "matmul_f16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "matmul_tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "matmul_s8": "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32",
        "attention": "mma.sync.aligned.m16n8k16",
        "fp8_of_four_exponent_bits": "e4m3x2",
        "matmul_f16_large": "cp.async.cg.shared.global",
        "sort": "shfl.sync",
        "warpgroup_f16": "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        "warpgroup_bf16": "m64n64k16.f32.bf16.bf16",
        "warpgroup_e4m3": "m64n64k32.f32.e4m3.e4m3",
        "warpgroup_e5m2": "m64n64k32.f32.e5m2.e5m2",
        "warpgroup_tf32": "m64n64k8.f32.tf32.tf32",
        "warpgroup_s8": "m64n64k32.s32.s8.s8",
        "two_warpgroups": "m64n128k16",
        "warpgroup_attention": "m64n32k16.f32.f16.f16",
        "warpgroup_of_boxes": "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes",
        "descriptors_of_a_program": "tensormap.replace.tile.swizzle_mode",
        "specialized_warps": "setmaxnreg.dec",
    }.items():
        assert word in found[name]["ptx"], name
    assert all(case.target == 90 for name, case in CASES.items() if "wgmma" in found[name]["ptx"])
    assert not any("/" in line for facts in found.values() for line in facts["ptx"].splitlines() if ".file" in line)


def test_what_a_kernel_must_not_do_is_reported() -> None:
    x = np.zeros(1000, np.float32)
    with pytest.raises(ptxspec.LaunchError) as caught:
        kernel_of("vector_add")[8](x, x.copy(), x.copy(), np.int32(2000))
    assert caught.value.rule == "out of bounds"


def test_a_kernel_is_kept_in_a_file(tmp_path: Path) -> None:
    kernel = kernel_of("histogram")
    kernel.keep(tmp_path / "histogram.json")
    assert adapter.kept(tmp_path / "histogram.json") == kernel and kernel.shared and kernel.warps == 4


def test_the_guide_has_the_kernel_that_is_kept() -> None:
    guide = (ROOT / "docs" / "how-to" / "run-a-triton-kernel.md").read_text()
    (kernel,) = re.findall(r"^@triton\.jit\ndef softmax.*?(?=\n\n\n)", guide, re.M | re.S)
    assert kernel in (ROOT / "tests" / "interop" / "triton_kernels.py").read_text()
    case = CASES["softmax"]
    assert f'compiled(softmax, "{case.signature}", target={case.target}, num_warps=4)' in guide and not case.options


def test_signatures() -> None:
    names = ["x", "y", "n", "m", "B"]
    types, constants, hints = adapter._read(names, "*fp32:16, *fp8e5, i32:16, i32:1, 2.5")
    assert types == {"x": "*fp32", "y": "*fp8e5", "n": "i32", "m": "constexpr", "B": "constexpr"}
    assert constants == {"m": 1, "B": 2.5} and set(hints) == {(0,), (2,)}
    with pytest.raises(ValueError, match="4 types or values for the 5 parameters x, y, n, m, B"):
        adapter._read(names, "i32, i32, i32, i32")
    with pytest.raises(ValueError, match="i32:8: a hint is :16 or :1"):
        adapter._read(names, "i32:8, i32, i32, i32, 1")


@pytest.mark.long
def test_triton_prints_what_is_kept(tmp_path: Path) -> None:
    """By the same version, in an environment of its own: it is large, and nothing else needs it."""
    before = triton_compile.kept()
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", f"triton=={before['triton']}", str(ROOT)]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        reason = (
            f"NO TRITON {before['triton']}: that it prints what is kept was NOT tested ({done.stderr.strip()[-300:]})"
        )
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    command = [python, ROOT / "tests" / "interop" / "triton_compile.py", "--print"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON", "PYTHONPATH"))}
    made = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    after = json.loads(made.stdout)
    assert set(after["kernels"]) == set(before["kernels"])
    assert [name for name, facts in before["kernels"].items() if after["kernels"][name] != facts] == []
