"""Turns of warps: both engines take the same ones, on every byte, step and diagnostic; and without races, results are those of turns of
threads."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import numpy as np
import pytest
from launching import ENGINES, arguments, both, fault, kernel, text_of_turns

import ptxspec
from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.terms.core import integer, truth
from ptxspec.terms.vocabulary import FALSE, TRUE

pytestmark = pytest.mark.sample(8)

SCHEDULE = importlib.import_module("ptxspec.spec.machine.schedule")
#: a word for each thread, of which some are negative, some are NaNs as floating-point numbers
WORDS = "ld.global.u32 %r4, [%rd1]; "
LANE = "and.b32 %r5, %r1, 31; "
STORE = "st.global.u32 [%rd1], %r4;"
#: of each body both engines have the same bytes; of those in RACES only with the same turns
BODIES = {
    "integers": WORDS + "mul.hi.s32 %r5, %r4, %r4; mad.lo.u32 %r4, %r4, %r5, %r0; bfe.s32 %r6, %r4, 3, 9; shf.l.wrap.b32 %r4, %r4, %r6, %r5;"
    "popc.b32 %r7, %r4; clz.b32 %r8, %r4; add.u32 %r4, %r4, %r7; xor.b32 %r4, %r4, %r8; div.u32 %r9, %r4, 7; rem.s32 %r10, %r4, -3;"
    "add.u32 %r4, %r9, %r10;" + STORE,
    "single precision": WORDS + "mov.b32 %f1, %r4; add.rn.f32 %f2, %f1, 0f3F800000; mul.rz.f32 %f3, %f2, %f1; fma.rm.f32 %f4, %f2, %f3, %f1;"
    "add.ftz.f32 %f5, %f4, 0f00000001; div.rn.f32 %f6, %f5, 0f40400000; sqrt.rn.f32 %f7, %f6; max.NaN.f32 %f8, %f7, %f1;"
    "cvt.rzi.s32.f32 %r5, %f4; mov.b32 %r4, %f8; add.u32 %r4, %r4, %r5;" + STORE,
    "double and half precision": WORDS + "cvt.rn.f64.s32 %fd1, %r4; fma.rp.f64 %fd2, %fd1, %fd1, 0d3FB999999999999A; cvt.rn.f32.f64 %f1, %fd2;"
    "cvt.u16.u32 %h1, %r4; fma.rn.f16 %h2, %h1, %h1, %h1; add.bf16 %h3, %h1, %h2; cvt.u32.u16 %r6, %h3; mov.b32 %r4, %f1;"
    "xor.b32 %r4, %r4, %r6;" + STORE,
    "64 bits": WORDS + "cvt.s64.s32 %rd4, %r4; mul.hi.u64 %rd5, %rd4, %rd4; add.cc.u32 %r5, %r4, %r4; addc.u32 %r6, %r4, 1; cvt.u32.u64 %r7, %rd5;"
    "add.u32 %r4, %r6, %r7;" + STORE,
    "predicates": WORDS + "setp.gt.s32 %p1|%p2, %r4, 0; setp.lt.and.u32 %p3, %r1, 20, %p1; @%p3 add.u32 %r4, %r4, 1; @!%p2 xor.b32 %r4, %r4, %r0;"
    "selp.u32 %r4, %r4, 5, %p1;" + STORE,
    "a branch": WORDS + "setp.gt.s32 %p1, %r4, 0; @%p1 bra A; shl.b32 %r4, %r4, 3; bra B; A: shr.u32 %r4, %r4, 1; B: add.u32 %r4, %r4, %r1;" + STORE,
    "branches in branches": WORDS + LANE + "setp.lt.u32 %p1, %r5, 20; @%p1 bra A; setp.lt.u32 %p2, %r5, 27; @%p2 bra C; add.u32 %r4, %r4, 100;"
    "bra D; C: add.u32 %r4, %r4, 200; D: mul.lo.u32 %r4, %r4, 3; bra B; A: setp.eq.u32 %p2, %r5, 4; @%p2 exit; sub.u32 %r4, %r4, 9;"
    "B: xor.b32 %r4, %r4, 77;" + STORE,
    "a loop that each lane leaves when it likes": WORDS + "mov.u32 %r6, 0; and.b32 %r7, %r4, 63; or.b32 %r7, %r7, 1; L: add.u32 %r6, %r6, %r7; mad.lo.u32 %r4, %r4, 5, 3;"
    "setp.lt.u32 %p1, %r6, 300; @%p1 bra L; add.u32 %r4, %r4, %r6;" + STORE,
    "a long loop, whose turns are over": WORDS + "mov.u32 %r6, 0; L: mad.lo.u32 %r4, %r4, 5, %r6; add.u32 %r6, %r6, 1; mad.lo.u32 %r7, %r1, 3, 90;"
    "setp.lt.u32 %p1, %r6, %r7; @%p1 bra L;" + STORE,
    "a loop with two beginnings": WORDS + "mov.u32 %r6, 0; setp.gt.s32 %p1, %r4, 0; @%p1 bra M; L: add.u32 %r4, %r4, 3; M: mul.lo.u32 %r4, %r4, 3;"
    "add.u32 %r6, %r6, 1; and.b32 %r7, %r1, 7; setp.le.u32 %p2, %r6, %r7; @%p2 bra L;" + STORE,
    "a loop in a loop": WORDS + "and.b32 %r6, %r1, 3; I: mov.u32 %r7, 0; J: mad.lo.u32 %r4, %r4, 3, %r7; add.u32 %r7, %r7, 1; setp.le.u32 %p1, %r7, %r6;"
    "@%p1 bra J; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 6; @%p2 bra I;" + STORE,
    "an indirect branch": WORDS + "and.b32 %r5, %r1, 3; T: .branchtargets A, B, C, A; setp.lt.u32 %p1, %r1, 30; @%p1 brx.idx %r5, T; A: add.u32 %r4, %r4, 1;"
    "bra E; B: add.u32 %r4, %r4, 2; C: add.u32 %r4, %r4, 4; E: xor.b32 %r4, %r4, %r1;" + STORE,
    "accesses side by side, reversed, spread and alike": "ld.global.u32 %r4, [%rd1]; shr.u32 %r5, %r0, 5; shl.b32 %r6, %r5, 5; and.b32 %r7, %r0, 31; "
    "sub.u32 %r8, 31, %r7; mul.lo.u32 %r9, %r7, 13; and.b32 %r9, %r9, 31; mad.wide.u32 %rd2, %r6, 4, %rd0; mad.wide.u32 %rd3, %r8, 4, %rd2;"
    "mad.wide.u32 %rd4, %r9, 4, %rd2; .shared .b32 s[128]; mov.u32 %r10, s; mad.lo.u32 %r11, %r1, 4, %r10; st.shared.u32 [%r11], %r4; bar.sync 0;"
    "and.b32 %r12, %r1, 96; mad.lo.u32 %r12, %r12, 4, %r10; ld.shared.u32 %r13, [%r12]; mad.lo.u32 %r14, %r7, 4, %r12; ld.shared.u32 %r15, [%r14];"
    "xor.b32 %r13, %r13, %r15; add.u32 %r4, %r4, %r13;" + STORE,
    "a vector into one register": "and.b32 %r5, %r0, 3; mad.wide.u32 %rd2, %r5, 16, %rd0; ld.global.v4.u32 {%r4, %r4, %r4, %r6}, [%rd2]; bar.sync 0;"
    "sub.u32 %r4, %r4, %r6; setp.lt.u32 %p1, %r0, 16; @%p1 exit;"
    + STORE,
    "vectors": "mul.wide.u32 %rd2, %r0, 12; mul.wide.u32 %rd4, %r0, 8; add.u64 %rd4, %rd4, %rd0; setp.lt.u32 %p1, %r0, 64; @!%p1 exit;"
    "ld.global.v2.u32 {%r4, %r5}, [%rd4]; add.u32 %r4, %r4, %r5; st.global.v2.u32 [%rd4], {%r5, %r4};",
    "small words": "cvt.u64.u32 %rd2, %r0; add.u64 %rd2, %rd2, %rd0; ld.global.s8 %r4, [%rd2]; mul.wide.u32 %rd3, %r0, 2; add.u64 %rd3, %rd3, %rd0;"
    "add.u32 %r4, %r4, 1; bar.sync 0; st.global.u8 [%rd2], %r4;",
    "a guard on an access": WORDS + "setp.gt.s32 %p1, %r4, 0; mov.u32 %r5, 7; @%p1 ld.global.u32 %r5, [%rd1]; add.u32 %r4, %r4, %r5; @!%p1 st.global.u32 [%rd1], %r4;",
    "generic addresses": ".shared .b32 s[128]; .local .b32 l[4]; cvta.shared.u64 %rd2, s; cvta.local.u64 %rd3, l; setp.lt.u32 %p1, %r1, 16;"
    "selp.b64 %rd4, %rd2, %rd3, %p1; mad.wide.u32 %rd5, %r1, 4, %rd2; st.u32 [%rd3+4], %r1; st.u32 [%rd5], %r0; bar.sync 0; ld.u32 %r4, [%rd4];"
    "ld.u32 %r5, [%rd3+4]; add.u32 %r4, %r4, %r5;" + STORE,
    "local memory": ".local .b32 l[8]; mov.u32 %r5, l; and.b32 %r6, %r1, 7; mad.lo.u32 %r6, %r6, 4, %r5; st.local.u32 [%r6], %r0; ld.local.u32 %r4, [%r6];"
    "ld.local.u32 %r7, [l]; add.u32 %r4, %r4, %r7;" + STORE,
    "barriers in a loop": ".shared .b32 s[128]; mov.u32 %r5, s; mad.lo.u32 %r6, %r1, 4, %r5; mov.u32 %r7, 0; mov.u32 %r4, %r0; L: st.shared.u32 [%r6], %r4;"
    "bar.sync 0; add.u32 %r8, %r1, 1; rem.u32 %r8, %r8, %r3; mad.lo.u32 %r8, %r8, 4, %r5; ld.shared.u32 %r9, [%r8]; bar.sync 0;"
    "mad.lo.u32 %r4, %r4, 3, %r9; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 4; @%p1 bra L;" + STORE,
    "a barrier that counts": WORDS + "setp.gt.s32 %p1, %r4, 0; bar.red.popc.u32 %r5, 0, %p1; bar.red.and.pred %p2, 1, %p1; selp.u32 %r6, 1, 2, %p2;"
    "add.u32 %r4, %r5, %r6;" + STORE,
    "some warps end before others meet": "setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.warp.sync -1; mov.u32 %r4, 3;" + STORE,
    "reductions": ".shared .b32 sum; red.shared.add.u32 [sum], %r0; bar.sync 0; ld.shared.u32 %r4, [sum]; setp.eq.u32 %p1, %r0, 0; @%p1 exit;" + STORE,
    "registers that nothing has written": "add.u32 %r4, %r20, %r0;" + STORE,
}  # fmt: skip
#: what whole warps do together
OF_WHOLE_WARPS = {
    "shuffles": WORDS + "shfl.sync.down.b32 %r5|%p1, %r4, 9, 31, -1; shfl.sync.bfly.b32 %r6, %r4, 3, 0x181f, -1; shfl.sync.idx.b32 %r7, %r4, %r1, 31, -1;"
    "selp.u32 %r8, 1, 2, %p1; add.u32 %r4, %r5, %r6; xor.b32 %r4, %r4, %r7; add.u32 %r4, %r4, %r8;" + STORE,
    "votes": WORDS + "setp.gt.s32 %p1, %r4, 0; vote.sync.ballot.b32 %r5, %p1, -1; vote.sync.all.pred %p2, %p1, -1; match.any.sync.b32 %r6, %r4, -1;"
    "redux.sync.max.s32 %r7, %r4, -1; selp.u32 %r8, 1, 2, %p2; add.u32 %r4, %r5, %r6; xor.b32 %r4, %r4, %r7; add.u32 %r4, %r4, %r8;" + STORE,
    "in a branch that all take": WORDS + "setp.ge.u32 %p1, %r2, 1; @%p1 bra A; shfl.sync.up.b32 %r4, %r4, 1, 0, -1; A: vote.sync.ballot.b32 %r5, %p1, -1;"
    "add.u32 %r4, %r4, %r5;" + STORE,
    "in halves": WORDS + LANE + "setp.lt.u32 %p1, %r5, 16; selp.b32 %r6, 0xffff, 0xffff0000, %p1; shfl.sync.bfly.b32 %r7, %r4, 2, 31, %r6; @%p1 bra A;"
    "vote.sync.ballot.b32 %r8, %p1, 0xffff0000; add.u32 %r7, %r7, %r8; A: bar.warp.sync -1; add.u32 %r4, %r4, %r7;" + STORE,
    "a matrix": WORDS + "mov.f32 %f1, 0f3F800000; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r0}, {%r1},"
    "{%f1, %f1, %f1, %f1}; mov.b32 %r5, %f3; add.u32 %r4, %r4, %r5;" + STORE,
}  # fmt: skip
#: what depends on the order of the accesses, or on who comes together
RACES = {
    "whoever is here": LANE + "setp.lt.u32 %p1, %r5, 7; @%p1 bra A; activemask.b32 %r4; bra B; A: activemask.b32 %r4; B: add.u32 %r4, %r4, %r1;" + STORE,
    "a counter": "atom.global.add.u32 %r4, [%rd0], 1; setp.eq.u32 %p1, %r0, 0; @%p1 exit;" + STORE,
    "a list": "ld.global.u32 %r4, [%rd0]; st.global.u32 [%rd0], %r0; xor.b32 %r4, %r4, %r0; ld.global.u32 %r5, [%rd0]; setp.lt.u32 %p1, %r1, 9; @%p1 bra A;"
    "st.global.u32 [%rd0], %r4; bra B; A: add.u32 %r5, %r5, 100; st.global.u32 [%rd0], %r5; B: ld.global.u32 %r6, [%rd0];"
    "setp.eq.u32 %p2, %r0, 0; @%p2 exit; st.global.u32 [%rd1], %r6;",
    "two ways back from one branch": WORDS
    + "mov.u32 %r6, 0; mad.lo.u32 %r7, %r1, 3, 40; bra X; N: shr.u32 %r8, %r4, 3; and.b32 %r8, %r8, 1; setp.eq.u32 %p2, %r8, 0; @%p2 bra W;"
    "X: add.u32 %r4, %r4, 3; W: mad.lo.u32 %r4, %r4, 5, %r6; add.u32 %r6, %r6, 1; setp.le.u32 %p1, %r6, %r7; @%p1 bra N; mov.u32 %r9, %clock;"
    "xor.b32 %r4, %r4, %r9;"
    + STORE,
    "the clock": "mov.u32 %r4, %clock; setp.lt.u32 %p1, %r1, 9; @%p1 bra A; add.u32 %r4, %r4, 1; mov.u32 %r5, %clock; bra B; A: mov.u32 %r5, %clock;"
    "B: mad.lo.u32 %r4, %r4, 1000, %r5;" + STORE,
    "a lock": "L: atom.global.cas.b32 %r5, [%rd0], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L; ld.global.u32 %r6, [%rd0+4]; add.u32 %r6, %r6, 1;"
    "st.global.u32 [%rd0+4], %r6; atom.global.exch.b32 %r7, [%rd0], 0;",
}  # fmt: skip
#: blocks of whole warps, of parts of one, of both; in rows of several dimensions
BLOCKS = (32, 1, 50, (8, 4), (16, 6), 128)


def data(threads: int) -> np.ndarray:
    words = np.random.default_rng(threads).integers(0, 1 << 32, threads + 64, dtype=np.uint32)
    words[::7] |= 0x7F800000
    words[:2] = 0  # a lock, and what it guards
    return words


def whole(block: Any) -> int:
    return int(np.prod(block))


def in_rows(body: str) -> str:
    """A kernel whose %r1 and %r0 count the threads of a block of several dimensions, too."""
    number = "mov.u32 %r16, %tid.y; mov.u32 %r17, %ntid.x; mad.lo.u32 %r1, %r16, %r17, %r1; mov.u32 %r18, %ntid.y; mul.lo.u32 %r3, %r17, %r18;"
    place = "mad.lo.u32 %r0, %r2, %r3, %r1; mad.wide.u32 %rd1, %r0, 4, %rd0; "
    return kernel(number + place + body)


def engines_agree(body: str, block: Any) -> Any:
    source = in_rows(body)
    return both(source, [data(3 * whole(block))], grid=3, block=block, schedule="warps")[0]


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns in which a lane does not spin long."""
    monkeypatch.setattr(SCHEDULE, "TURN", 100)


@pytest.mark.sample(8)
@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("name", BODIES)
def test_both_engines_take_the_same_turns_and_races_apart_any_will_do(name: str) -> None:
    for block in BLOCKS:
        after = engines_agree(BODIES[name], block)
        alone = arguments([data(3 * whole(block))])
        ptxspec.load(in_rows(BODIES[name])).launch("k", 3, block, alone, engine="exact")
        np.testing.assert_array_equal(after, alone[0])


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("name", RACES)
def test_races_end_alike_under_both_engines(name: str) -> None:
    for block in (
        BLOCKS if name != "a lock" else (9, 32)
    ):  # of which each lane spins for a whole turn before the next has it
        engines_agree(RACES[name], block)


@pytest.mark.parametrize("name", OF_WHOLE_WARPS)
def test_whole_warps_meet_within_a_turn(name: str) -> None:
    for block in (32, 96, (16, 4)):
        after = engines_agree(OF_WHOLE_WARPS[name], block)
        alone = arguments([data(3 * whole(block))])
        ptxspec.load(in_rows(OF_WHOLE_WARPS[name])).launch("k", 3, block, alone, engine="exact")
        np.testing.assert_array_equal(after, alone[0])


@pytest.mark.parametrize("name", [*BODIES, *OF_WHOLE_WARPS])
def test_counts_are_those_of_threads_alone(name: str) -> None:
    """How often a thread came to an instruction, how often its guard held, and what it moved: whoever has a turn with whom."""
    body, block = (BODIES | OF_WHOLE_WARPS)[name], (8, 4) if name in OF_WHOLE_WARPS else (16, 6)
    module = ptxspec.load(in_rows(body))
    alone, together = (
        module.launch("k", 3, block, [data(3 * whole(block))], counts=True, schedule=schedule)
        for schedule in ("round-robin", "warps")
    )
    assert alone.counts == together.counts and alone.counts.read


def test_several_host_threads_and_a_seed() -> None:
    for how in ({"seed": 5}, {"workers": 2, "engine": "native"}):
        results = []
        for engine in ENGINES:
            [out] = arguments([data(3 * 96)])
            ptxspec.load(in_rows(BODIES["integers"])).launch(
                "k", 3, 96, [out], schedule="warps", **{"engine": engine} | how
            )
            results.append(out.tobytes())
        assert len(set(results)) == 1


#: an instruction at which one lane of a warp breaks a rule, while others do what they may
FAULTS = {
    "beyond an array": ("out of bounds", "setp.eq.u32 %p1, %r1, 21; @%p1 add.u64 %rd1, %rd1, 4096; ld.global.u32 %r4, [%rd1];"),
    "beyond shared memory": (
        "out of bounds",
        ".shared .b32 s[32]; mov.u32 %r5, s; mad.lo.u32 %r5, %r1, 4, %r5; @%p0 add.u32 %r5, %r5, 4; setp.gt.u32 %p1, %r1, 8;"
        "@%p1 add.u32 %r5, %r5, 40; st.shared.u32 [%r5], %r1;",
    ),
    "misaligned": ("misaligned", "setp.eq.u32 %p1, %r1, 3; @%p1 add.u64 %rd1, %rd1, 2; st.global.u32 [%rd1], %r1;"),
    "the wrong space": ("read only", ".const .b32 c[4];" and "setp.eq.u32 %p1, %r1, 9; cvta.const.u64 %rd4, c; selp.b64 %rd1, %rd4, %rd1, %p1;"
                        "st.u32 [%rd1], %r1;"),
    "a trap": ("trap", "setp.eq.u32 %p1, %r1, 30; st.global.u32 [%rd1], %r1; @%p1 trap;"),
    "no such target": ("branch index", "T: .branchtargets A, B; shr.u32 %r5, %r1, 4; mul.lo.u32 %r5, %r5, 3; brx.idx %r5, T; A: ret; B: ret;"),
    "a lane that the mask does not name": ("own lane", "shfl.sync.idx.b32 %r4, %r1, 0, 31, 0xffff;"),
    "half a warp at a barrier": ("aligned", "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 0; A: bar.sync 1;"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_one_lane_is_told_alike(name: str) -> None:
    rule, body = FAULTS[name]
    module = ".const .b32 c[4];" if "c;" in body else ""
    error = fault(kernel(body, module=module), [data(0)], block=32, schedule="warps")
    assert error.rule == rule


def test_the_steps_of_all_lanes_count() -> None:
    source = in_rows("L: bra L;")
    for engine in ENGINES:
        with pytest.raises(ptxspec.LaunchError) as caught:
            ptxspec.load(source).launch("k", 1, 64, [data(64)], engine=engine, schedule="warps", step_limit=5_000)
        assert caught.value.rule == "step limit"


def test_what_is_executed_thread_by_thread() -> None:
    """A kernel that calls a function has turns of threads; so has any kernel by default."""
    turns = contracts.schedule.by_warps
    assert turns(10, True, False) and not turns(10, False, False) and not turns(10, True, True)
    assert not turns(contracts.schedule.LONGEST + 1, True, False)
    counter = in_rows(RACES["a list"])
    results = {}
    for schedule in ("round-robin", "warps"):
        [out] = arguments([data(96)])
        ptxspec.load(counter).launch("k", 1, 96, [out], schedule=schedule)
        results[schedule] = out.tobytes()
    assert results["warps"] != results["round-robin"]


def test_who_has_a_turn_together_and_who_need_not_wait() -> None:
    page = contracts.schedule
    assert page.joins(3, 5, 3, 6) and page.joins(3, 5, 3, 31)
    assert not any((page.joins(3, 5, 3, 5), page.joins(3, 5, 3, 4), page.joins(3, 31, 4, 32)))
    every, half = integer(0xFFFFFFFF), integer(0xFFFF)
    assert page.goes_on_at_once(every, every, False, 1) is TRUE
    assert page.goes_on_at_once(every, None, True, 1) is TRUE and page.goes_on_at_once(every, half, True, 1) is TRUE
    for lanes, mask, aligned, warps in (
        (half, half, False, 1),
        (half, None, True, 1),
        (every, half, False, 1),
        (every, None, False, 1),
    ):
        assert page.goes_on_at_once(lanes, mask, aligned, warps) is FALSE
    assert page.goes_on_at_once(every, every, True, 4) is FALSE


def test_every_access_to_the_hosts_arrays_is_checked() -> None:
    before = os.environ.get(hosts.VARIABLE)
    os.environ[hosts.VARIABLE] = "1"
    try:
        for name in ("branches in branches", "vectors", "barriers in a loop", "generic addresses"):
            engines_agree(BODIES[name], 50)
        engines_agree(OF_WHOLE_WARPS["shuffles"], 96)
    finally:
        del os.environ[hosts.VARIABLE]
        if before is not None:
            os.environ[hosts.VARIABLE] = before


def test_who_passes_a_barrier_at_once() -> None:
    page = contracts.schedule
    for lanes, alive, in_use, passes in (
        (0xFFFFFFFF, 32, False, TRUE), (0x0000FFFF, 16, False, TRUE), (0x1, 1, False, TRUE),
        (0xFFFFFFFF, 33, False, FALSE), (0x7FFFFFFF, 32, False, FALSE), (0xFFFFFFFF, 32, True, FALSE),
    ):  # fmt: skip
        assert page.passes_at_once(integer(lanes), integer(alive), truth(in_use)) is passes


#: which thread of which CTA comes to a counter when: with others of other CTAs, or after them
COMES = "atom.global.add.u32 %r4, [%rd0], 1; bar.sync 0; atom.global.add.u32 %r5, [%rd0], 1; mad.lo.u32 %r4, %r4, 1000, %r5; st.global.u32 [%rd1+4], %r4;"
#: barriers in a loop, in a branch of all, of which some threads have ended before, and after an arrival that does not wait
BARRIERS_OF_A_WARP = {
    "one after the other": COMES,
    "in a loop": "mov.u32 %r6, 0; L: atom.global.add.u32 %r4, [%rd0], 1; bar.sync 1; st.global.u32 [%rd1+4], %r4; add.u32 %r6, %r6, 1;"
    "setp.lt.u32 %p1, %r6, 5; @%p1 bra L;",
    "where some have ended": "setp.eq.u32 %p1, %r1, 3; @%p1 exit;" + COMES,
    "where some arrived before": "barrier.arrive 2, 64; " + COMES,
    "with a guard": "setp.ge.u32 %p1, %r2, 0; @%p1 bar.sync 0;" + COMES,
    "a barrier of named threads": "barrier.sync 3, 32;" + COMES,
    "a reduction": "setp.lt.u32 %p1, %r1, 5; bar.red.popc.u32 %r6, 0, %p1; add.u32 %r4, %r6, 1; st.global.u32 [%rd1+4], %r4;" + COMES,
}  # fmt: skip


@pytest.mark.parametrize("name", BARRIERS_OF_A_WARP)
@pytest.mark.parametrize("block", [1, 16, 32, 33, 64])
def test_both_engines_pass_barriers_alike(name: str, block: int) -> None:
    """The order in which CTAs come to a counter is that of their turns. What ends in an error, ends in the same one."""
    how: list[Any] = []
    for engine in ("native", "exact"):
        out = np.zeros(6 * block + 1, np.uint32)
        try:
            ptxspec.load(kernel(BARRIERS_OF_A_WARP[name])).launch("k", 6, block, [out], schedule="warps", engine=engine)
            how.append(out.tolist())
        except ptxspec.LaunchError as error:
            how.append((error.rule, error.note))
    assert how[0] == how[1]


SCATTERED = """
    and.b32 %r5, %r0, 31; mul.lo.u32 %r5, %r5, 0x9E3779B1; shr.u32 %r5, %r5, 13; and.b32 %r5, %r5, 0xFFFF8; shr.u32 %r6, %r0, 5;
    add.u32 %r5, %r5, %r6; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd2, %rd0;
    ld.global.u32 %r4, [%rd2]; add.u32 %r4, %r4, %r0; st.global.u32 [%rd2], %r4;
    mul.lo.u32 %r7, %r0, 4; st.global.v2.u32 [%rd0+0x400000], {%r7, %r7}; bar.sync 0;
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ends", ["well", "in a fault"])
@pytest.mark.parametrize("columns", [16, 1024, 5000, 70_000])
def test_two_rows_of_a_matrix(columns: int, ends: str, engine: str) -> None:
    """A warp has two rows of sixteen in a matrix: they lie near one another, or not, and are stored where they were."""
    before = np.arange(16 * columns, dtype=np.uint32)
    fault = "" if ends == "well" else "mul.wide.u32 %rd4, %r9, 64; add.u64 %rd4, %rd4, %rd0; st.global.u32 [%rd4], 7;"
    body = f"""
        mov.u32 %r4, %tid.x; mov.u32 %r5, %tid.y; mov.u32 %r9, {columns}; mad.lo.u32 %r6, %r5, %r9, %r4;
        mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %rd0; ld.global.u32 %r7, [%rd2]; mad.lo.u32 %r7, %r7, 3, %r5;
        st.global.u32 [%rd2], %r7; bar.sync 0; {fault}
    """
    module, out = ptxspec.load(kernel(body)), before.copy()
    expected = before.reshape(16, columns).copy()
    expected[:, :16] = expected[:, :16] * 3 + np.arange(16, dtype=np.uint32)[:, None]
    for _ in range(2):
        out[:] = before
        if ends == "well":
            module.launch("k", block=(16, 16, 1), args=[out], engine=engine, schedule="warps")
            assert (out == expected.reshape(-1)).all()
        else:
            with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
                module.launch("k", block=(16, 16, 1), args=[out], engine=engine, schedule="warps")
            assert (out == before).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ends", ["well", "in a fault"])
def test_lanes_far_from_one_another(ends: str, engine: str) -> None:
    """Stores of a warp all over four megabytes: each page that one of them changes is as before when the launch fails."""
    before = np.arange((1 << 20) + 64, dtype=np.uint32)
    body = SCATTERED + ("st.global.u32 [%rd0+8], 7;" if ends == "well" else "st.global.u32 [%rd0+0x7fffff0], 7;")
    module, out = ptxspec.load(kernel(body)), before.copy()
    expected = before.copy()
    threads = np.arange(128, dtype=np.uint32)
    lanes = (threads & 31) * np.uint32(0x9E3779B1) >> np.uint32(13) & np.uint32(0xFFFF8)
    expected[lanes + (threads >> 5)] += threads
    expected[1 << 20 : (1 << 20) + 2], expected[2] = 4 * 127, 7
    for _ in range(2):
        if ends == "well":
            module.launch("k", block=128, args=[out], engine=engine, schedule="warps")
            assert (out == expected).all()
            out[:] = before
        else:
            with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
                module.launch("k", block=128, args=[out], engine=engine, schedule="warps")
            assert (out == before).all()


@pytest.mark.parametrize("type", ["u8", "u32", "u64", "v2.u32", "v4.f32"])
def test_all_lanes_load_the_same(type: str) -> None:
    """From the last bytes of an array, whose rows would reach beyond it; and from there on, what none may load."""
    size = {"u8": 1, "u32": 4, "u64": 8, "v2.u32": 8, "v4.f32": 16}[type]
    into = {"u8": "%r4", "u32": "%r4", "u64": "%rd4", "v2.u32": "{%r4, %r6}", "v4.f32": "{%f1, %f2, %f3, %f4}"}[type]
    result = {"u64": "cvt.u32.u64 %r4, %rd4;", "v4.f32": "mov.b32 %r4, %f4;"}.get(type, "")
    body = f"""ld.param.u64 %rd2, [in]; and.b32 %r5, %r0, 0; add.u32 %r5, %r5, AT; cvt.u64.u32 %rd3, %r5;
        add.u64 %rd2, %rd2, %rd3; ld.global.{type} {into}, [%rd2]; {result} add.u32 %r4, %r4, %r1; st.global.u32 [%rd1], %r4;"""
    values = np.random.default_rng(1).integers(0, 256, 4096, dtype=np.uint8)
    for at in (0, 2048, 4096 - size):
        source = kernel(body.replace("AT", str(at)), ".param .u64 out, .param .u64 in")
        given = [np.zeros(256, np.uint32), values]
        out = both(source, given, block=128, grid=2, schedule="warps")[0]
        last = values[at : at + size][-min(4, size) if type in ("v4.f32",) else 0 :][: min(4, size)]
        expected = int.from_bytes(last.tobytes(), "little")
        assert out.tolist() == [(expected + thread % 128) & (1 << 32) - 1 for thread in range(256)], at
    for way in ENGINES:
        with pytest.raises(ptxspec.LaunchError, match="past the end of argument 1"):
            source = kernel(body.replace("AT", "4096"), ".param .u64 out, .param .u64 in")
            ptxspec.load(source).launch("k", 2, 128, arguments(given), engine=way, schedule="warps")


# what the code of turns is made of ------------------------------------------------------------------------------------


def test_a_register_of_a_cta_is_put_by_where_it_gets_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again at each barrier; and lanes that come there later find it."""
    body = (
        ".shared .b32 s[64]; mov.u32 %r20, %ctaid.x; mad.lo.u32 %r21, %r20, 7, 3; ld.global.u32 %r4, [%rd1]; mov.u32 %r22, s;"
        "mad.lo.u32 %r22, %r1, 4, %r22; st.shared.u32 [%r22], %r4; bar.sync 0; ld.shared.u32 %r4, [%r22]; add.u32 %r4, %r4, %r21;"
        "setp.gt.u32 %p1, %r1, 40; @%p1 bra A; add.u32 %r4, %r4, 1; A: bar.sync 0; mad.lo.u32 %r4, %r4, 3, %r21; bar.sync 0;"
        "add.u32 %r4, %r4, %r21; " + STORE
    )
    for block in (32, 33, 64):
        both(kernel(body), [data(3 * block)], block=block, grid=3, schedule="warps")
    text, layout = text_of_turns(kernel(body), monkeypatch)
    # a place in a row is formed to store there, or to load from there at one of the three beginnings behind barriers
    formed = [line for line in text.splitlines() if f"ptr %registers_{layout.offsets['%r21']}, i64 %base" in line]
    assert len(formed) == 2  # for all lanes, and for some


def test_addresses_of_lanes_are_computed_where_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a warp whose lanes store side by side, the first lane's will do."""
    text, _ = text_of_turns(kernel(WORDS + STORE), monkeypatch)
    turn = text[text.index("define internal i64 @warp(") :]
    first, _, rest = turn.partition(".others:")
    added = [line.partition(" = ")[0].strip() for line in first.splitlines() if " = add <32 x i64>" in line]
    assert added and not [name for name in added if re.search(rf"{name}\b", rest)]


def test_short_turns_are_part_of_the_loop_over_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    for body, attribute in ((WORDS + STORE, "alwaysinline"), (WORDS + "bar.sync 0; " + STORE, "noinline")):
        text, _ = text_of_turns(kernel(body), monkeypatch)
        assert f") {attribute} {{\nentry:" in text[text.index("define internal i64 @warp(") :]


@pytest.mark.parametrize("block", [(64, 1, 1), (16, 4, 1), (8, 8, 1), (48, 1, 1), (31, 2, 1)])
def test_lanes_side_by_side_or_in_several_rows(block: tuple[int, int, int]) -> None:
    """Code expects CTAs of one dimension where nothing asks for a second one, and is right for others."""
    body = (
        "ld.param.u64 %rd5, [in]; mad.wide.u32 %rd5, %r1, 4, %rd5; ld.global.u32 %r4, [%rd5]; mad.lo.u32 %r4, %r4, 5, %r0; "
        + STORE
    )
    source = kernel(body, ".param .u64 out, .param .u64 in")
    out = both(source, [data(256), data(64)], grid=4, block=block, schedule="warps")[0]
    threads = np.arange(4)[:, None] * block[0] + np.arange(block[0])
    assert (out[threads] == data(64)[threads - threads[:, :1]] * np.uint32(5) + threads.astype(np.uint32)).all()
