"""Code that is made quickly, and made fast when it has run for long: between launches, and in the middle of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import kernel

import ptxspec
from ptxspec.machine.native import code
from ptxspec.terms import native, object_code

pytestmark = pytest.mark.sample(4)

LOOP = """
    mov.u32 %r6, 0; mov.u32 %r7, %r0;
    LOOP: mad.lo.u32 %r7, %r7, 1664525, 1013904223; st.global.u32 [%rd1], %r7; add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, 2000; @%p1 bra LOOP;
"""


def after(rounds: int, count: int) -> list[int]:
    values = np.arange(count, dtype=np.uint32)
    with np.errstate(over="ignore"):
        for _ in range(rounds):
            values = values * np.uint32(1664525) + np.uint32(1013904223)
    return values.tolist()


@pytest.fixture
def levels(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The levels at which kernels were compiled; no code is found that was made before."""
    monkeypatch.setenv(object_code.VARIABLE, "0")
    noted: list[int] = []

    class NotedLibrary(code.Library):
        def __init__(self, source: Any):
            noted.append(source.level)
            super().__init__(source)

    monkeypatch.setattr(code, "Library", NotedLibrary)
    code.driver(False, False, False, False, True)  # whose code is no kernel's
    noted.clear()
    return noted


@pytest.mark.parametrize("schedule", ["round-robin", "warps"])
def test_in_the_middle_of_a_launch(schedule: str, levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """CTAs come in batches, and between two the host is asked: the others run fast code, and compute the same."""
    monkeypatch.setattr(code, "PATIENCE", 1e-9)
    out = np.zeros(1 << 16, np.uint32)
    ptxspec.load(kernel(LOOP)).launch("k", grid=256, block=256, args=[out], schedule=schedule)
    assert levels == [0, 2]
    assert out.tolist() == after(2000, 1 << 16)


def test_between_launches(levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "PATIENCE", 1e9)
    module, out = ptxspec.load(kernel(LOOP)), np.zeros(64, np.uint32)
    for _ in range(3):
        module.launch("k", block=64, args=[out])
    assert levels == [0]
    monkeypatch.setattr(code, "PATIENCE", 1e-12)
    module = ptxspec.load(kernel(LOOP))
    for expected in ([0], [0, 2], [0, 2]):
        out[:] = 0
        module.launch("k", block=64, args=[out])
        assert levels == [0, *expected] and out.tolist() == after(2000, 64)


def test_fast_code_that_was_kept(levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another module of the same text, as in another process, has it at once."""
    monkeypatch.delenv(object_code.VARIABLE)
    monkeypatch.setattr(object_code, "WORTH", 0.0)
    monkeypatch.setattr(code, "PATIENCE", 0.0)
    body, out = LOOP.replace("2000", "20"), np.zeros(64, np.uint32)
    ptxspec.load(kernel(body)).launch("k", block=64, args=[out])
    monkeypatch.setattr(code, "PATIENCE", 1e9)
    ptxspec.load(kernel(body)).launch("k", block=64, args=[out])
    assert levels == [2, 2] and out.tolist() == after(20, 64)


def test_a_limit_of_time_holds_while_code_is_made_fast(levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at after LLVM has worked."""
    monkeypatch.setattr(code, "PATIENCE", 1e-12)
    module, out = ptxspec.load(kernel(LOOP)), np.zeros(64, np.uint32)
    module.launch("k", block=64, args=[out])
    real = code.Library.__init__

    def late(self: Any, source: Any) -> None:
        import time

        real(self, source)
        time.sleep(0.6)

    monkeypatch.setattr(code.Library, "__init__", late)
    out[:] = 7
    with pytest.raises(ptxspec.LaunchError, match="time") as caught:
        module.launch("k", block=64, args=[out], time_limit=0.5)
    assert caught.value.rule == "time limit"
    assert levels == [0, 2] and (out == 7).all()


def test_nothing_of_compiled_code_is_told_to_the_unwinder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of libgcc 13 and later looks for the frames of code that goes, and the process ended where it looked in vain."""
    objects: list[bytes] = []
    compiled = native.CodeSource.compiled
    monkeypatch.setattr(native.CodeSource, "compiled", lambda source: objects.append(compiled(source)) or objects[-1])
    monkeypatch.setenv("PTXSPEC_KEEP_CODE", "0")
    ptxspec.load(kernel("bar.sync 0; st.global.u32 [%rd1], %r1;")).launch("k", args=[np.zeros(32, np.uint32)], block=32)
    assert objects and not any(b".eh_frame" in code for code in objects)
