"""Instructions with `.aligned`, which all threads of a warp execute together; `bar` is one of them."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, fault, kernel

pytestmark = pytest.mark.sample(4)

#: %p0 = whether the thread is in the lower half of its warp
HALF = "and.b32 %r4, %r1, 31; setp.lt.u32 %p0, %r4, 16;\n"
STORED = "st.global.u32 [%rd1], 1;"

#: an instruction of each family, and the version and target that have it
FAMILIES = {
    "bar.sync": "bar.sync 0;",
    "bar.arrive": "bar.arrive 1, 64;",
    "bar.red.popc": "bar.red.popc.u32 %r5, 0, %p1;",
    "bar.red.and": "bar.red.and.pred %p2, 0, 64, %p1;",
    "bar.cta.sync": "bar.cta.sync 3;",
    "barrier.sync.aligned": "barrier.sync.aligned 0;",
    "barrier.cta.arrive.aligned": "barrier.cta.arrive.aligned 1, 64;",
    "barrier.red.or.aligned": "barrier.red.or.aligned.pred %p2, 0, %p1;",
    "barrier.cluster.arrive.aligned": "barrier.cluster.arrive.aligned;",
    "barrier.cluster.wait.aligned": "barrier.cluster.wait.aligned;",
    "mma": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd1}, {%fd1}, {%fd1, %fd2};",
    "mma of integers": "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r6, %r7}, {%r5}, {%r5}, {%r6, %r7};",
    "mma.sp": "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r6, %r7, %r8, %r9}, {%r5, %r5}, {%r5, %r5}, "
    "{%r6, %r7, %r8, %r9}, %r5, 0;",
    "wmma.load": "wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%fd1}, [%r11];",
    "wmma.mma": "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {%fd1, %fd2}, {%fd1}, {%fd1}, {%fd1, %fd2};",
    "wmma.store": "wmma.store.d.sync.aligned.row.m8n8k4.shared.f64 [%r11], {%fd1, %fd2};",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r11];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r11], {%r5};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r5;",
    "setmaxnreg": "setmaxnreg.dec.sync.aligned.u32 40;",
}
TILE = ".shared .align 16 .b8 tile[512]; mov.u32 %r11, tile;\n"


def program(body: str) -> str:
    """A kernel for a target that has all of these instructions."""
    return kernel(f"{TILE}{HALF}mov.u32 %r5, 0x44444444; {body}{STORED}").replace(".target sm_90\n", ".target sm_90a\n")


def out(block: int) -> list[np.ndarray]:
    """Room for what the threads store."""
    return [np.zeros(block, np.uint32)]


def before(name: str) -> str:
    """What a thread has to execute before, so that the instruction breaks no other rule."""
    return "barrier.cluster.arrive;" if "cluster.wait" in name else ""


# promises that are broken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [32, 128])
def test_halves_of_a_warp_at_two_barriers(block: int) -> None:
    """The halves come to different instructions, which name two barriers."""
    error = fault(kernel(f"{HALF}@%p0 bar.sync 14, 128; @!%p0 bar.sync 15, 128; {STORED}"), out(block), block=block)
    assert error.rule == "aligned"
    assert "lanes 0x0000ffff are at bar.sync 14, 128" in error.note
    assert "lanes 0xffff0000 are at bar.sync 15, 128" in error.note
    assert error.page is not None and error.page.startswith("spec/machine/warps.md:")


@pytest.mark.parametrize("block", [32, 128])
def test_half_a_warp_at_a_barrier_and_then_all(block: int) -> None:
    error = fault(kernel(f"{HALF}@%p0 bar.sync 0;\nbar.sync 0; {STORED}"), out(block), block=block)
    assert error.rule == "aligned" and error.where is not None and error.where.thread == (16, 0, 0)
    lines = [int(part.split(")")[0]) for part in error.note.split("(line ")[1:]]
    assert lines == [error.where.line - 1, error.where.line]
    assert "lanes 0x0000ffff" in error.note and "lanes 0xffff0000" in error.note


@pytest.mark.parametrize("name", FAMILIES)
def test_halves_of_a_warp_at_two_instructions_that_are_alike(name: str) -> None:
    """Each branch has an instruction of its own; that the two are spelled alike does not help."""
    body = f"{before(name)} @!%p0 bra OTHER;\n{FAMILIES[name]}\nbra JOIN;\nOTHER:\n{FAMILIES[name]}\nJOIN:\n"
    error = fault(program(body), out(64), block=64)
    assert error.rule == "aligned"
    assert "lanes 0x0000ffff" in error.note and "lanes 0xffff0000" in error.note


@pytest.mark.parametrize("name", ["bar.sync", "barrier.cluster.wait.aligned", "mma", "setmaxnreg"])
def test_half_a_warp_while_the_other_half_waits_elsewhere(name: str) -> None:
    """The other half waits at a barrier without `.aligned`, which these never reach."""
    body = f"{before(name)} @!%p0 bra OTHER; {FAMILIES[name]}\nOTHER:\nbarrier.sync 7;"
    error = fault(program(body), out(32), block=32)
    assert error.rule == "aligned" and "are at barrier.sync 7" in error.note


def test_lanes_that_leave_a_loop_at_different_times() -> None:
    """Lanes that have left a loop wait behind it, the others in it."""
    body = """
        mov.u32 %r5, 0;
    L:
        bar.sync 1;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, %r4;
        @%p1 bra L;
        bar.sync 2;
    """
    error = fault(kernel(HALF + body), out(32), block=32)
    assert error.rule == "aligned" and "are at bar.sync 1" in error.note and "are at bar.sync 2" in error.note


def test_a_warp_is_not_stopped_by_another_one_that_spins() -> None:
    """The rule is found broken although other threads could run for ever."""
    body = f"setp.ge.u32 %p1, %r1, 32;\nSPIN: @%p1 bra SPIN; {HALF}@%p0 bar.sync 1, 32; @!%p0 bar.sync 2, 32;"
    assert fault(kernel(body), out(64), block=64, step_limit=10_000_000).rule == "aligned"


@pytest.mark.parametrize("name", [n for n, text in FAMILIES.items() if "matrix" in text or "mma" in text])
def test_matrices_need_threads_that_have_not_ended(name: str) -> None:
    error = fault(program(f"setp.eq.u32 %p3, %r1, 31; @%p3 exit; {FAMILIES[name]}"), out(32), block=32)
    assert error.rule == "stuck warp" and "lanes 0x7fffffff wait for lanes 0xffffffff" in error.note


# promises that are kept -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_threads_together(name: str) -> None:
    """All threads execute the instruction, though they came by different ways and one after the other."""
    diverged = "@%p0 bra LOW; add.u32 %r6, %r6, 1; bra JOIN; LOW: add.u32 %r6, %r6, 2; JOIN:"
    after = "bar.sync 1, 64;" if "arrive" in name and "cluster" not in name else ""
    arrives = "barrier.cluster.arrive.aligned;" if "cluster.wait" in name else ""
    body = f"{diverged} setp.ge.u32 %p3, %r1, 32; {arrives} {FAMILIES[name]}"
    if after:  # the first warp arrives, the second waits for it
        body = f"{diverged} setp.ge.u32 %p3, %r1, 32; @%p3 bra WAIT; {FAMILIES[name]} bra ON; WAIT: {after} ON:"
    assert (both(program(body), out(64), block=64)[0] != 0).all()


@pytest.mark.parametrize("name", [n for n, text in FAMILIES.items() if "mat" not in text and "mma" not in text])
def test_threads_that_have_ended_are_not_waited_for(name: str) -> None:
    """Of each warp some threads end before, as at the end of an array; of the last warp some do not exist."""
    if "arrive" in name and "cluster" not in name:
        body = f"setp.ge.u32 %p3, %r1, 32; @%p3 bra WAIT; {FAMILIES[name]} bra ON; WAIT: bar.sync 1, 64; ON:"
    else:
        body = ("barrier.cluster.arrive.aligned;" if "cluster.wait" in name else "") + FAMILIES[name]
    left = "rem.u32 %r10, %r1, 20; setp.ge.u32 %p4, %r10, 17; @%p4 exit;"
    found = both(program(left + body), out(50), block=50)[0]
    assert found.tolist() == [int(i % 20 < 17) for i in range(50)]


def test_a_thread_ends_while_others_wait() -> None:
    """The others wait at a barrier when the last thread of their warp takes another way and ends."""
    body = "setp.eq.u32 %p1, %r1, 40; @%p1 bra LATE; bar.sync 0; bra ON; LATE: exit; ON: bar.sync 0;"
    found = both(kernel(body + STORED), out(70), block=70)[0]
    assert found.tolist() == [int(i != 40) for i in range(70)]


def test_warps_may_execute_different_instructions() -> None:
    """Which a warp executes is its own matter: warps that produce and consume meet at one barrier."""
    body = "setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER; bar.sync 5; bra ON; OTHER: bar.sync 5; ON:"
    assert both(kernel(body + STORED), out(64), block=64)[0].all()


def test_a_loop_that_all_lanes_leave_together() -> None:
    body = "mov.u32 %r5, 0; L: bar.sync 1, 32; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 5; @%p1 bra L;"
    assert both(kernel(body + "st.global.u32 [%rd1], %r5;"), out(32), block=32)[0].tolist() == [5] * 32


def test_one_instruction_in_a_function() -> None:
    """A function that both branches call has the instruction once: the lanes meet there."""
    module = ".func meets() { bar.sync 0; ret; }"
    body = f"{HALF}@%p0 bra LOW; call meets; bra JOIN; LOW: call meets; JOIN: {STORED}"
    assert both(kernel(body, module=module), out(32), block=32)[0].all()


def test_threads_without_aligned_may_part() -> None:
    """Halves of a warp are a producer and a consumer where nothing asks them to come together."""
    body = f"{HALF}@!%p0 bra OTHER; barrier.sync 0; bra ON; OTHER: barrier.sync 0; ON: {STORED}"
    assert both(kernel(body), out(32), block=32)[0].all()


# before sm_70 ---------------------------------------------------------------------------------------------------------


def former(body: str) -> str:
    return kernel(body).replace(".target sm_90", ".target sm_60")


@pytest.mark.parametrize("rest", ["sync{} 0;", "arrive{} 0, 64;", "red.popc{}.u32 %r5, 0, %p1;"])
def test_barriers_of_former_targets_are_aligned(rest: str) -> None:
    """There `barrier` without `.aligned` has the requirement, too."""
    one = f"barrier.{rest.format('')}"
    error = fault(former(f"{HALF}@%p0 {one}\n@!%p0 {one}"), out(32), block=32)
    assert error.rule == "aligned"


@pytest.mark.parametrize(
    "instruction",
    ["bar.warp.sync -1;", "shfl.sync.bfly.b32 %r5, %r1, 1, 0x1f, -1;", "vote.sync.any.pred %p2, %p1, -1;"],
)
def test_lanes_of_former_targets_meet_at_one_instruction(instruction: str) -> None:
    """From sm_70 on each half may have an instruction of its own."""
    body = f"{HALF}@!%p0 bra OTHER; {instruction} bra ON; OTHER: {instruction} ON: {STORED}"
    assert both(kernel(body), out(32), block=32)[0].all()
    error = fault(former(body), out(32), block=32)
    assert error.rule == "stuck warp" and f"; lanes 0xffff0000 are at {instruction[:-1]}" in error.note
    together = f"{HALF}@!%p0 bra OTHER; add.u32 %r6, %r6, 1; OTHER: {instruction} {STORED}"
    assert both(former(together), out(32), block=32)[0].all()
