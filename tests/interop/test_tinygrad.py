"""Kernels that tinygrad renders run on the specification, and give what NumPy gives."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

try:
    from ptxspec.adapters import tinygrad as adapter

    adapter.install()
    from tinygrad import Device, GlobalCounters, Tensor
    from tinygrad.helpers import CACHELEVEL
    from tinygrad_kernels import CASES, TENSOR_CORES
except ImportError as missing:
    REASON = f"NO TINYGRAD: that its kernels run was NOT tested ({missing})"
    warnings.warn(REASON, stacklevel=1)
    pytest.skip(REASON, allow_module_level=True)

import ptxspec

CACHELEVEL.value = 0  # nothing of tinygrad's is kept on disk

#: doubles a word, if the second parameter is not 0
DOUBLE = """.version 7.5
.target sm_80
.address_size 64
.visible .entry double(.param .u64 data0, .param .s32 data1) {
    .reg .b64 %a; .reg .b32 %x, %n; .reg .pred %p;
    ld.param.u64 %a, [data0]; ld.param.s32 %n, [data1]; setp.eq.s32 %p, %n, 0; @%p ret;
    mov.u32 %x, %tid.x; mad.wide.u32 %a, %x, 4, %a;
    ld.global.u32 %x, [%a]; mad.lo.s32 %x, %x, 2, %n; st.global.u32 [%a], %x; ret;
}
"""


@pytest.mark.sample(3)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*CASES, *TENSOR_CORES])
def test_an_operation(name: str) -> None:
    case = {**CASES, **TENSOR_CORES}[name]
    tensors = [Tensor(np.ascontiguousarray(a), device="CUDA").realize() for a in case.arrays]
    before = GlobalCounters.kernel_count
    found = case.ours(*tensors).numpy()
    assert GlobalCounters.kernel_count > before
    want = np.asarray(case.expected(*case.arrays))
    assert found.shape == want.shape
    if not case.tolerance:
        assert np.array_equal(found, want)
    else:
        wide = want.astype(np.float64)
        assert (np.abs(found - wide) <= case.tolerance * np.maximum(1, np.abs(wide))).all(), np.abs(found - wide).max()


@pytest.mark.slow
def test_tensor_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    load = ptxspec.load
    monkeypatch.setattr(ptxspec, "load", lambda text, path: texts.append(text) or load(text, path))
    x = np.eye(48, dtype=np.float16)
    assert np.array_equal((Tensor(x, device="CUDA").matmul(Tensor(x, device="CUDA"), dtype="float")).numpy(), x)
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in "".join(texts)


def test_there_are_many() -> None:
    assert len(CASES) >= 30


def test_a_step_of_training() -> None:
    """Gradients, and a parameter that is written where it lies."""
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(16, 4)).astype(np.float32), rng.normal(size=(4, 1)).astype(np.float32)
    weights = Tensor(w, device="CUDA")
    loss = (Tensor(x, device="CUDA") @ weights).square().mean()
    gradient = loss.gradient(weights)[0]
    want = 2 * x.T @ (x @ w) / 16
    assert np.allclose(gradient.numpy(), want, rtol=1e-5)
    weights.assign(weights - 0.1 * gradient).realize()
    assert np.allclose(weights.numpy(), w - 0.1 * want, rtol=1e-4, atol=1e-6)


def test_the_device_is_the_specification() -> None:
    device = Device["CUDA"]
    assert type(device).__module__.startswith("ptxspec") and device.arch == "sm_80"
    adapter.install()
    with pytest.raises(RuntimeError, match="in use already"):
        adapter.install("sm_89")


@pytest.mark.slow
def test_a_program_is_switched_over(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom tinygrad import Device, Tensor\nprint(Device.DEFAULT, (Tensor([1, 2]) + 1).tolist(), *sys.argv[1:])"
    )
    command = [sys.executable, "-m", "ptxspec.adapters.tinygrad", str(program), "one"]
    run = subprocess.run(command, env={**os.environ, "CACHELEVEL": "0"}, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["CUDA", "[2,", "3]", "one"]


# ptx_run --------------------------------------------------------------------------------------------------------------


def test_ptx_run_as_a_driver_calls_it() -> None:
    words = np.arange(8, dtype=np.uint32)
    p = adapter.MEMORY.register(words)
    args = (ctypes.c_void_p * 2)(words.ctypes.data, ctypes.c_void_p(-1 & (1 << 64) - 1))
    adapter.ptx_run(ctypes.c_char_p(DOUBLE.encode()), 2, args, 4, 1, 1, 1, 1, 1, 0)
    assert words.tolist() == [-1 & 0xFFFFFFFF, 1, 3, 5, 4, 5, 6, 7]
    adapter.ptx_run(DOUBLE, 2, [words.ctypes.data + 16, None], 4, 1, 1, 1, 1, 1)
    adapter.ptx_run(DOUBLE.encode() + b"\0", 2, [words.ctypes.data + 16, 3], 2, 1, 1, 1, 1, 1, 0, engine="exact")
    assert words.tolist()[4:] == [11, 13, 6, 7]
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        adapter.ptx_run(DOUBLE, 2, [words.ctypes.data, 1], 9, 1, 1, 1, 1, 1, 0)
    adapter.MEMORY.free(p)
    with pytest.raises(ptxspec.LaunchError, match="use after end"):
        adapter.ptx_run(DOUBLE, 2, [words.ctypes.data, 1], 8, 1, 1, 1, 1, 1, 0)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        adapter.ptx_run(DOUBLE, 1, [0], 1, 1, 1, 1, 1, 1, 0)
    with pytest.raises(ValueError, match="no entry"):
        adapter.ptx_run(DOUBLE.partition(".visible")[0], 0, [], 1, 1, 1, 1, 1, 1, 0)


def test_a_library_over_a_drivers_table() -> None:
    """The table that the mock driver in tinygrad's repository keeps: an address, and the bytes that are there."""
    table: dict[int, Any] = {}

    def allocate(size: int) -> int:
        data = memoryview(bytearray(size))
        address = ctypes.addressof(ctypes.c_char.from_buffer(data))
        table[address] = data
        return address

    library = adapter.TinygradLibrary(table, engine="exact")
    first, second = allocate(16), allocate(16)
    table[first][:] = np.arange(4, dtype=np.uint32).tobytes()
    library.ptx_run(DOUBLE.encode(), 2, (ctypes.c_void_p * 2)(first, 1), 4, 1, 1, 1, 1, 1, 0)
    assert np.frombuffer(table[first], np.uint32).tolist() == [1, 3, 5, 7] and not any(table[second])
    with pytest.raises(ptxspec.LaunchError, match="past the end of allocation of 16 bytes"):
        library.ptx_run(DOUBLE.encode(), 2, [first, 1], 5, 1, 1, 1, 1, 1, 0)
    kept = table.pop(first)
    with pytest.raises(ptxspec.LaunchError, match="was freed"):
        library.ptx_run(DOUBLE.encode(), 2, [first, 1], 4, 1, 1, 1, 1, 1, 0)
    table[first] = kept
    library.ptx_run(DOUBLE.encode(), 2, [first, 1], 1, 1, 1, 1, 1, 1, 0)
    table[first + 4] = memoryview(bytearray(4))
    with pytest.raises(ValueError, match="is said to be at"):
        library.ptx_run(DOUBLE.encode(), 2, [first, 1], 1, 1, 1, 1, 1, 1, 0)


@pytest.mark.parametrize(
    ("count", "args", "message"),
    [(2, [1], "n_args is 2, and args has 1"), (2, (ctypes.c_void_p * 1)(0), "n_args is 2, and args has 1"), (2, [], "args has 0"),
     (-1, [1, 2], "not -1"), (2.0, [1, 2], "not 2.0"), (2, ["x", 1], "argument 0 is an address or a number, not str"),
     (2, [0, 1.5], "argument 1 is an address or a number, not float")],
)  # fmt: skip
def test_arguments_that_are_missing_or_none_are_told(count: Any, args: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        adapter.ptx_run(DOUBLE, count, args, 1, 1, 1, 1, 1, 1, 0)
