"""Instructions that end the launch, and those that do nothing."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, fault, kernel

import ptxspec
from ptxspec.base.places import DOCUMENTS

STOPS = [("trap", "trap"), ("brkpt", "breakpoint")]


@pytest.mark.parametrize(("instruction", "rule"), STOPS)
@pytest.mark.parametrize("negated", [False, True])
def test_one_thread_ends_the_launch(instruction: str, rule: str, negated: bool) -> None:
    """Thread 2 of CTA 1 stops all; what any thread wrote does not reach the caller, and the diagnostic names it."""
    comparison, guard = ("ne", "!%p0") if negated else ("eq", "%p0")
    source = kernel(f"""
        st.global.u32 [%rd1], 99;
        setp.{comparison}.u32 %p0, %r0, 6;
        @{guard} {instruction};
        st.global.u32 [%rd1], 98;
    """)
    error = fault(source, [np.arange(12, dtype=np.uint32)], grid=3, block=4)
    assert error.rule == rule and error.address is None
    assert error.where is not None
    assert (error.where.thread, error.where.cta) == ((2, 0, 0), (1, 0, 0))
    assert error.where.line == source[: source.index(f" {instruction};")].count("\n") + 1
    assert error.where.instruction.endswith(f"{instruction};")
    assert error.page is not None and f"spec/instructions/miscellaneous/{instruction}.md" in error.page
    path, _, line = error.page.partition(":")
    assert f'rule("{rule}"' in (DOCUMENTS / path).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(("instruction", "rule"), STOPS)
def test_no_thread_stops_while_the_guard_is_false(instruction: str, rule: str) -> None:
    """Also in a loop, in the middle of a block, and as the last instruction."""
    source = kernel(f"""
        mov.u32 %r4, 0;
        setp.gt.u32 %p0, %r1, 100;
    LOOP:
        add.u32 %r4, %r4, %r1;
        @%p0 {instruction};
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p1, %r4, 20;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r4;
        @%p0 {instruction};
    """)
    wanted = []
    for thread in range(5):
        count = 0
        while True:
            count += thread + 1
            if count >= 20:
                break
        wanted.append(count)
    assert both(source, [np.zeros(5, np.uint32)], block=5)[0].tolist() == wanted


@pytest.mark.parametrize(("instruction", "rule"), STOPS)
def test_an_unguarded_stop_is_where_the_program_ends(instruction: str, rule: str) -> None:
    """What stands behind it is never reached; a thread that branches around it goes on."""
    source = kernel(f"""
        setp.ne.u32 %p0, %r1, 1;
        @%p0 bra FINE;
        {instruction};
        st.local.u32 [0], 5;
    FINE:
        st.global.u32 [%rd1], %r1;
    """)
    assert both(source, [np.full(1, 9, np.uint32)])[0].tolist() == [0]
    error = fault(source, [np.full(2, 9, np.uint32)], block=2)
    assert error.rule == rule and error.where is not None and error.where.thread == (1, 0, 0)


def test_a_module_goes_on_after_a_trap() -> None:
    module = ptxspec.load(
        kernel("ld.global.u32 %r4, [%rd1]; setp.eq.u32 %p0, %r4, 7; @%p0 trap; st.global.u32 [%rd1], 3;")
    )
    out = np.full(1, 7, np.uint32)
    with pytest.raises(ptxspec.LaunchError, match="trap"):
        module.launch("k", args=[out])
    assert out.tolist() == [7]
    out[0] = 8
    module.launch("k", args=[out])
    assert out.tolist() == [3]


SILENT = [
    "nanosleep.u32 1000000000;", "nanosleep.u32 %r1;", "pmevent 15;", "pmevent.mask 0xffff;", "membar.cta;", "membar.gl;",
    "membar.sys;", "membar.proxy.alias;", "fence.sc.sys;", "fence.acq_rel.gpu;", "fence.cta;", "fence.acquire.cluster;",
    "fence.acquire.sync_restrict::shared::cluster.cluster;", "fence.release.sync_restrict::shared::cta.cluster;",
    "fence.mbarrier_init.release.cluster;", "fence.proxy.alias;", "fence.proxy.async;", "fence.proxy.async.shared::cta;",
]  # fmt: skip


def test_instructions_without_effects() -> None:
    """Each takes a step and changes nothing, guarded or not."""
    body = "mov.u32 %r4, 5; setp.eq.u32 %p0, %r1, 1;" + "".join(f"{s} @%p0 {s}\n" for s in SILENT)
    source = kernel(body + "st.global.u32 [%rd1], %r4;")
    assert both(source, [np.zeros(3, np.uint32)], block=3)[0].tolist() == [5, 5, 5]


@pytest.mark.parametrize(
    ("instruction", "most"), [("pmevent 16;", 15), ("pmevent -1;", 15), ("pmevent.mask 0x10000;", 65535)]
)
def test_constants_that_are_limited(instruction: str, most: int) -> None:
    with pytest.raises(ptxspec.PtxError, match=f"needs a constant from 0 to {most} here"):
        ptxspec.load(kernel(instruction))


@pytest.mark.parametrize("instruction", ["pmevent %r1;", "nanosleep.u32 %rd1;", "membar;", "fence;", "fence.sc;"])
def test_what_does_not_exist_is_refused(instruction: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(kernel(instruction))
