"""Sums that cancel: −0 toward −∞ and +0 otherwise, also where the compiler could compute them itself."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, kernel

from ptxspec.machine.native import code

pytestmark = pytest.mark.sample(8)

ONE = {"f32": ("0f3F800000", "0fBF800000"), "f64": ("0d3FF0000000000000", "0dBFF0000000000000")}
#: operands of which 1 is added to −1
OPERANDS = {"add": "{one}, {minus}", "sub": "{one}, {one}", "fma": "{one}, {one}, {minus}"}


@pytest.fixture(autouse=True)
def made_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of LLVM's passes, as for code that has run for long."""
    monkeypatch.setattr(code, "PATIENCE", 0)


@pytest.mark.parametrize("place", ["loop", "line"])
@pytest.mark.parametrize("constants", ["all", "the last", "none"])
@pytest.mark.parametrize("type", ["f32", "f64", "ftz.f32"])
def test_a_sum_of_opposites(type: str, constants: str, place: str) -> None:
    """`constants` says which operands are constants to the compiler; the others come from memory."""
    real = type.removeprefix("ftz.")
    size, register = int(real[1:]), "%f" if real == "f32" else "%fd"
    one, minus = ONE[real]
    cases = [(op, rounding) for op in OPERANDS for rounding in ("rn", "rz", "rm", "rp")]
    body = ["ld.global.u32 %r5, [%rd0]; cvt.rn.f32.u32 %f1, %r5; neg.f32 %f2, %f1;"]
    body.append("cvt.f64.f32 %fd1, %f1; cvt.f64.f32 %fd2, %f2; mov.u32 %r6, 0;")
    if place == "loop":
        body.append("LOOP: add.u32 %r6, %r6, 1;")
    for k, (op, rounding) in enumerate(cases):
        names = OPERANDS[op].split(", ")
        written = [
            operand.format(one=one, minus=minus)
            if constants == "all" or (constants == "the last" and place == len(names) - 1)
            else operand.format(one=f"{register}1", minus=f"{register}2")
            for place, operand in enumerate(names)
        ]
        body.append(f"{op}.{rounding}.{type} {register}{3 + k}, {', '.join(written)};")
    if place == "loop":
        body.append("setp.lt.u32 %p0, %r6, 3; @%p0 bra LOOP;")
    for k in range(len(cases)):
        body.append(f"st.global.{real} [%rd0+{8 * k}], {register}{3 + k};")
    (out,) = both(kernel("\n".join(body)), [np.ones(2 * len(cases), np.uint32)], block=1)
    signs = out.view(f"u{size // 8}")[:: 64 // size] >> np.array(size - 1, f"u{size // 8}")
    assert signs.tolist() == [int(rounding == "rm") for _, rounding in cases]
    assert not (out.view(f"u{size // 8}")[:: 64 // size] << np.array(1, f"u{size // 8}")).any()
