"""Fences, and accesses that are not weak, under both engines: they take a step, and neither cut a block nor cost machine code."""

from __future__ import annotations

import re

import numpy as np
import pytest
from launching import both, each, kernel

import ptxspec
from ptxspec.machine.flow import FlowGraph
from ptxspec.machine.whole_kernels import linked

pytestmark = pytest.mark.sample(4)

FENCES = [
    "fence.sc.sys;", "fence.gpu;", "fence.acquire.cluster;", "fence.mbarrier_init.release.cluster;", "membar.gl;",
    "fence.proxy.async;", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
    "fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;",
    "griddepcontrol.wait;", "griddepcontrol.launch_dependents;",
]  # fmt: skip
#: what has no effect at all
NOTHING = "nanosleep.u32 0;"
#: a loop that only computes, another one, and accesses around what stands for X, guarded and not
BODY = """
    mov.u32 %r4, 0; setp.eq.u32 %p0, %r1, 1;
N: add.u32 %r4, %r4, 3; X setp.lt.u32 %p1, %r4, 40; @%p1 bra N;
M: LD %r5, [%rd1]; X add.u32 %r5, %r5, %r4; @%p0 X ST [%rd1], %r5; X ATOM %r6, [%rd1], 1;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 50; @%p1 bra M;
"""
WEAK = {"LD": "ld.global.u32", "ST": "st.global.u32", "ATOM": "atom.global.add.u32"}
STRONG = {
    "LD": "ld.acquire.sys.global.u32",
    "ST": "st.release.cta.global.u32",
    "ATOM": "atom.acq_rel.gpu.global.add.u32",
}


def source(between: str, accesses: dict[str, str]) -> str:
    words = {"X": between, **accesses}
    return kernel(re.sub(r"\b(X|LD|ST|ATOM)\b", lambda match: words[match[0]], BODY))


def machine_code(text: str) -> list[str]:
    """What LLVM is given for a kernel."""
    (_, _), (_, module) = each(text)
    module.launch("k", block=32, args=[np.zeros(32, np.uint32)])
    (compiled,) = module._launches._native._compiled.values()  # type: ignore[union-attr]
    return [library.text for library in compiled.code.libraries]


@pytest.mark.parametrize("fence", FENCES)
def test_a_fence_changes_no_value_and_takes_a_step(fence: str) -> None:
    values = [np.arange(40, dtype=np.uint32)]
    plain, fenced = (both(source(between, WEAK), values, block=40)[0] for between in (NOTHING, fence))
    assert np.array_equal(plain, fenced)
    steps = [
        module.launch("k", block=40, args=[np.zeros(40, np.uint32)], engine=engine).steps
        for between in (NOTHING, fence)
        for engine, module in each(source(between, WEAK))
    ]
    assert len(set(steps)) == 1, steps


@pytest.mark.parametrize("fence", [f for f in FENCES if "[" not in f])
def test_a_fence_costs_no_machine_code(fence: str) -> None:
    assert machine_code(source(fence, WEAK)) == machine_code(source(NOTHING, WEAK))


def test_an_order_costs_no_machine_code() -> None:
    assert machine_code(source(NOTHING, STRONG)) == machine_code(source(NOTHING, WEAK))


def test_a_fence_cuts_no_block_and_leaves_a_loop_narrow() -> None:
    flows = []
    for between in (NOTHING, *FENCES):
        module = ptxspec.load(source(between, WEAK))
        flows.append(FlowGraph(linked(module.checked, "k")))
    assert len({(tuple(flow.blocks), flow.narrow) for flow in flows}) == 1 and flows[0].narrow
