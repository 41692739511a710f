"""What a launch counts: both engines count the same, the counts add up to the steps, and they are what the text says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launching import kernel

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.machine import whole_kernels
from ptxspec.machine.events import EventKind, ObservedEvents
from ptxspec.machine.flow import FlowGraph

pytestmark = pytest.mark.sample(4)

EXAMPLES = [DOCUMENTS / "docs" / "examples" / name for name in ("saxpy", "matmul", "mandelbrot", "hash")]
#: bodies with instructions of each kind that counts in a way of its own
BODIES = {
    "a guard": "setp.lt.u32 %p1, %r1, 5; @%p1 add.u32 %r4, %r1, 1; @!%p1 st.global.u32 [%rd1], %r1;",
    "a guard that its instruction changes": "setp.lt.u32 %p1, %r1, 5; @%p1 setp.ne.u32 %p1, %r1, 2; @%p1 mov.u32 %r4, 1;",
    "a narrow loop": "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra L; st.global.u32 [%rd1], %r4;",
    "a narrow loop that is left by its branch": "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.gt.u32 %p1, %r4, %r1; @%p1 bra E;"
    "bra L; E: st.global.u32 [%rd1], %r4;",
    "a loop with a guard": "mov.u32 %r4, 0; mov.u32 %r5, 0; L: add.u32 %r4, %r4, 1; and.b32 %r6, %r4, 1; setp.eq.u32 %p2, %r6, 0;"
    "@%p2 add.u32 %r5, %r5, 3; setp.lt.u32 %p1, %r4, %r1; @%p1 bra L; st.global.u32 [%rd1], %r5;",
    "generic addresses": ".shared .b32 s[64]; cvta.shared.u64 %rd4, s; setp.lt.u32 %p1, %r1, 7; selp.b64 %rd5, %rd4, %rd1, %p1;"
    "st.u32 [%rd5], %r1; ld.u32 %r4, [%rd5]; atom.add.u32 %r5, [%rd5], 1;",
    "vectors": "ld.global.v2.u16 {%h1, %h2}, [%rd1]; .local .align 16 .b8 l[16]; st.local.v4.u32 [l], {%r1, %r1, %r1, %r1};",
    "a collective and its accesses": ".shared .align 128 .b8 s[1024]; mov.u32 %r4, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4];",
    "copies": ".shared .align 16 .b8 s[2048]; mov.u32 %r4, s; mad.lo.u32 %r4, %r1, 16, %r4; and.b64 %rd6, %rd0, -16;"
    "cp.async.ca.shared.global [%r4], [%rd6], 16, 8; cp.async.wait_all;",
    "barriers and images of lanes": "bar.sync 0; shfl.sync.idx.b32 %r4, %r1, 0, 31, -1; vote.sync.ballot.b32 %r5, %p0, -1;",
}


def counted(text: str, args: list[Any], engine: str, grid: int = 1, block: int = 32, **how: Any) -> Any:
    outcome = ptxspec.load(text).launch("k", grid, block, args, engine=engine, counts=True, **how)
    # an instruction with several effects is several steps
    assert 0 < sum(count.reached for count in outcome.counts.instructions) <= outcome.steps
    return outcome


@pytest.mark.parametrize("name", BODIES)
def test_both_engines_count_the_same(name: str) -> None:
    text = kernel(BODIES[name])
    exact, native = (counted(text, [np.zeros(64, np.uint32)], engine) for engine in ("exact", "native"))
    assert exact == native and exact.counts.instructions


@pytest.mark.parametrize("name", BODIES)
def test_turns_of_warps_count_the_same_as_turns_of_threads(name: str) -> None:
    """Warps of which the last has 8 threads, but for collectives that all lanes execute; and lanes that part."""
    block = 64 if ".aligned" in BODIES[name] else 72
    text = kernel(BODIES[name] + "setp.gt.u32 %p2, %r1, 40; @%p2 bra OUT; ld.global.u32 %r4, [%rd1]; OUT: ret;")
    found = [
        counted(text, [np.zeros(128, np.uint32)], engine, block=block, schedule=schedule).counts
        for engine in ("exact", "native")
        for schedule in ("round-robin", "warps")
    ]
    assert found[0].instructions and all(counts == found[0] for counts in found)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_counts_do_not_change_whose_turn_it_is(folder: Path) -> None:
    """A launch that counts has turns of warps where one that does not has them."""
    reference = runpy.run_path(str(folder / "reference.py"))
    code = whole_kernels.linked(ptxspec.load(reference["PTX"].read_text()).checked, reference["KERNEL"])
    plain, counting = (FlowGraph(code, observed=ObservedEvents(counts), alone=False) for counts in (False, True))
    assert plain.by_warps == counting.by_warps
    assert not FlowGraph(code, observed=ObservedEvents(False, frozenset([EventKind.READ])), alone=False).by_warps


@pytest.mark.slow
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_counts_of_an_example_add_up(folder: Path) -> None:
    reference = runpy.run_path(str(folder / "reference.py"))
    module, found = ptxspec.load(reference["PTX"].read_text()), []
    for engine in ("exact", "native"):
        case = reference["case"]("small")
        outcome = module.launch(
            reference["KERNEL"], case["grid"], case["block"], case["args"], engine=engine, counts=True
        )
        assert sum(count.reached for count in outcome.counts.instructions) == outcome.steps
        found.append(outcome)
    assert found[0] == found[1]


def test_the_counts_are_those_of_the_text() -> None:
    body = BODIES["generic addresses"]
    found = {c.instruction: c for c in counted(kernel(body), [np.zeros(64, np.uint32)], "native").counts.instructions}
    store, load, add = (
        found[f"{t};"] for t in ("st.u32 [%rd5], %r1", "ld.u32 %r4, [%rd5]", "atom.add.u32 %r5, [%rd5], 1")
    )
    split = {"shared": 28, "global": 100}
    assert (store.reached, store.active, store.read, store.written) == (32, 32, {}, split)
    assert (load.read, load.written) == (split, {}) and (add.read, add.written) == (split, split)
    guarded = {
        c.instruction: c
        for c in counted(kernel(BODIES["a guard"]), [np.zeros(64, np.uint32)], "native").counts.instructions
    }
    assert (guarded["add.u32 %r4, %r1, 1;"].reached, guarded["add.u32 %r4, %r1, 1;"].active) == (32, 5)
    assert guarded["st.global.u32 [%rd1], %r1;"].written == {"global": 108}


def test_functions_are_counted_where_they_stand() -> None:
    module = ".func (.reg .b32 y) twice(.reg .b32 x) { add.u32 y, x, x; ret; }"
    text = kernel("call (%r4), twice, (%r1); call (%r4), twice, (%r4); st.global.u32 [%rd1], %r4;", module=module)
    exact, native = (counted(text, [np.zeros(64, np.uint32)], engine) for engine in ("exact", "native"))
    assert exact == native
    assert {c.instruction: c.reached for c in native.counts.instructions}["add.u32 y, x, x;"] == 64


def test_several_workers_and_memory_of_the_caller() -> None:
    memory = ptxspec.Memory()
    pointer = memory.allocate(4 * 64 * 40)
    one = counted(kernel("st.global.u32 [%rd1], %r0;"), [pointer], "native", grid=40, block=64)
    many = counted(kernel("st.global.u32 [%rd1], %r0;"), [pointer], "native", grid=40, block=64, workers=3)
    assert one == many and one.counts.written == {"global": 4 * 64 * 40} and one.counts.read == {"param": 8 * 64 * 40}


def test_a_schedule_is_counted_too() -> None:
    text = kernel(BODIES["a loop with a guard"])
    exact, native = (
        counted(text, [np.zeros(64, np.uint32)], e, block=6, schedule="random:5") for e in ("exact", "native")
    )
    assert exact == native and exact.counts == counted(text, [np.zeros(64, np.uint32)], "native", block=6).counts


def test_nothing_is_counted_unless_it_is_asked_for() -> None:
    module = ptxspec.load(kernel("st.global.u32 [%rd1], %r1;"))
    assert module.launch("k", 1, 1, [np.zeros(1, np.uint32)]).counts is None
