"""Compiled code does not depend on the caller's floating-point environment, and leaves it as it was."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from launching import kernel

import ptxspec
from ptxspec.evidence.compiled_loops import run_native
from ptxspec.language.forms import forms
from ptxspec.terms.native import CodeSource, Library, _in_environment

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="reads the environment as glibc keeps it",
)
#: bits of MXCSR: flushing results and operands, and the rounding modes down, up and towards zero
FLUSH, DENORMALS_ARE_ZERO, DOWN, UP, TO_ZERO = 0x8000, 0x0040, 0x2000, 0x4000, 0x6000
DEFAULT, UNDERFLOW_TRAPS = 0x1F80, 0x0800
MODES = {
    "flushing": DEFAULT | FLUSH | DENORMALS_ARE_ZERO,
    "down": DEFAULT | DOWN,
    "up": DEFAULT | UP,
    "to zero, flushing": DEFAULT | TO_ZERO | FLUSH,
    "traps": DEFAULT & ~UNDERFLOW_TRAPS,
}
MATH = ctypes.CDLL("libm.so.6") if sys.platform == "linux" else None


def environment() -> int:
    """MXCSR, which the last word of glibc's fenv_t is."""
    held = (ctypes.c_uint32 * 8)()
    assert MATH is not None and MATH.fegetenv(held) == 0
    return int(held[7])


@contextmanager
def within(mode: int) -> Iterator[None]:
    held, before = (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    assert MATH is not None
    MATH.fegetenv(before)
    MATH.fegetenv(held)
    held[7] = mode
    MATH.fesetenv(held)
    try:
        yield
    finally:
        MATH.fesetenv(before)


#: operands come from memory, so that nothing is computed while compiling
VALUES = np.array([1, 3, 0x3F800001, 0x40400000, 0x3F800000, 0x00800000, 0x3F000000], np.uint32)
SOURCE = kernel(
    "ld.param.u64 %rd2, [in];"
    + "".join(f"ld.global.f32 %f{i}, [%rd2+{4 * i}];" for i in range(len(VALUES)))
    + """
    add.rn.f32 %f8, %f0, %f1; st.global.f32 [%rd1], %f8;
    mul.rz.f32 %f8, %f2, %f2; st.global.f32 [%rd1+4], %f8;
    div.rn.f32 %f9, %f4, %f3; st.global.f32 [%rd1+8], %f9;
    fma.rp.f32 %f8, %f9, %f9, %f9; st.global.f32 [%rd1+12], %f8;
    mul.rn.f32 %f8, %f5, %f6; st.global.f32 [%rd1+16], %f8;
    div.rn.f32 %f8, %f3, %f9; add.rm.f32 %f8, %f8, %f9; st.global.f32 [%rd1+20], %f8;
""",
    parameters=".param .u64 out, .param .u64 in",
)


@pytest.mark.parametrize("mode", MODES)
def test_a_launch(mode: str) -> None:
    wanted, out = np.zeros(6, np.uint32), np.zeros(6, np.uint32)
    ptxspec.load(SOURCE).launch("k", args=[wanted, VALUES], engine="exact")
    assert wanted[0] == 4 and wanted[4] == 0x00400000
    module = ptxspec.load(SOURCE)
    module.launch("k", args=[out, VALUES])
    out[:] = 0
    with within(MODES[mode]):
        module.launch("k", args=[out, VALUES])
        after = environment()
    assert out.tolist() == wanted.tolist()
    assert after & ~0x3F == MODES[mode]


@pytest.mark.parametrize("mode", MODES)
def test_forms_on_their_own(mode: str) -> None:
    """What compares the interpretations, and writes vectors, runs compiled terms too."""
    meaning = next(form for form in forms("add") if form.mnemonic == "add.rn.f32").meaning()
    with within(MODES[mode]):
        ((found,),) = run_native([meaning], [[(1, 3), (0x3F800000, 0x33800001)]])
    assert found.tolist() == [4, 0x3F800001]


@pytest.mark.parametrize("mode", MODES)
def test_the_flags_are_the_callers(mode: str) -> None:
    """To the bit: the sum is inexact and leaves no mark."""
    text = "define float @f(float %a, float %b) {\n  %c = fadd float %a, %b\n  ret float %c\n}"
    library = Library(CodeSource(text, set()))
    call = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float, ctypes.c_float)(library.address("f"))
    one, little = ctypes.c_float(1), ctypes.c_float(2.0**-30)
    held = (ctypes.c_uint32 * 8)()
    with within(MODES[mode]):
        call(one, little)
        MATH.fegetenv(held)  # type: ignore[union-attr]
    assert held[7] & 0x20 == 0 and held[7] & ~0x3F == MODES[mode]


def test_another_processor_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="sparc"):
        _in_environment("define void @f() {\n}", "sparc")
