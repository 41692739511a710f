"""A pipeline of bulk copies with a warp that produces and a warp that consumes, as kernels for Hopper have it, right and with one
mistake each: a mistake ends in a report, or in a result that is not right; none hangs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(4)

ENGINES = ("exact", "native")
#: a mistake is told under one of these
SCHEDULES = ("auto", *(f"random:{seed}" for seed in range(8)))
#: tiles, words of a tile, and stages
TILES, WORDS, STAGES = 13, 128, 4
PIPELINE = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 full[4];
.shared .align 8 .b64 empty[4];
.shared .align 128 .b8 stages[2048];
.shared .align 128 .b8 sums[128];
.visible .entry pipeline(.param .u64 in, .param .u64 out) {
.reg .u32 %t, %n, %stage, %phase, %other, %full, %empty, %room, %at, %v, %sum, %lane; .reg .u64 %in, %out; .reg .pred %p, %q, %over;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %n, 0; mov.u32 %stage, 0; mov.u32 %phase, 0;
setp.ne.u32 %q, %t, 0;
@%q bra BEGUN;
mov.u32 %full, full; mov.u32 %empty, empty;
INIT: mbarrier.init.shared.b64 [%full], 1;
mbarrier.init.shared.b64 [%empty], 32;
add.u32 %full, %full, 8; add.u32 %empty, %empty, 8; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 4; @%p bra INIT;
mov.u32 %n, 0; fence.mbarrier_init.release.cluster;
BEGUN: bar.sync 0;
setp.ge.u32 %p, %t, 32; @%p bra CONSUME;
setp.ne.u32 %q, %t, 0; @%q bra DONE;
PRODUCE: shl.b32 %at, %stage, 3; mov.u32 %full, full; add.u32 %full, %full, %at; mov.u32 %empty, empty; add.u32 %empty, %empty, %at;
mov.u32 %room, stages; mad.lo.u32 %room, %stage, 512, %room;
xor.b32 %other, %phase, 1;
FREE: mbarrier.try_wait.parity.shared.b64 %over, [%empty], %other; @!%over bra FREE;
mbarrier.arrive.expect_tx.shared.b64 _, [%full], 512;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%room], [%in], 512, [%full];
add.u64 %in, %in, 512; add.u32 %n, %n, 1;
add.u32 %stage, %stage, 1; setp.eq.u32 %p, %stage, 4; @%p mov.u32 %stage, 0;
@%p xor.b32 %phase, %phase, 1;
setp.lt.u32 %p, %n, 13; @%p bra PRODUCE;
bra DONE;
CONSUME: sub.u32 %lane, %t, 32; mov.u32 %sum, 0;
TAKE: shl.b32 %at, %stage, 3; mov.u32 %full, full; add.u32 %full, %full, %at; mov.u32 %empty, empty; add.u32 %empty, %empty, %at;
mov.u32 %room, stages; mad.lo.u32 %room, %stage, 512, %room; mad.lo.u32 %room, %lane, 16, %room;
FILLED: mbarrier.try_wait.parity.shared.b64 %over, [%full], %phase; @!%over bra FILLED;
mul.lo.u32 %sum, %sum, 3;
ld.shared.u32 %v, [%room]; add.u32 %sum, %sum, %v; ld.shared.u32 %v, [%room + 12]; add.u32 %sum, %sum, %v;
fence.proxy.async;
mbarrier.arrive.shared.b64 _, [%empty];
add.u32 %n, %n, 1; add.u32 %stage, %stage, 1; setp.eq.u32 %q, %stage, 4; @%q mov.u32 %stage, 0;
@%q xor.b32 %phase, %phase, 1;
setp.lt.u32 %p, %n, 13; @%p bra TAKE;
mov.u32 %room, sums; mad.lo.u32 %at, %lane, 4, %room; st.shared.u32 [%at], %sum;
fence.proxy.async.shared::cta;
bar.sync 1, 32;
setp.ne.u32 %q, %lane, 0; @%q bra DONE;
cp.async.bulk.global.shared::cta.bulk_group [%out], [%room], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
DONE: ret;
}
"""
ANNOUNCE = "mbarrier.arrive.expect_tx.shared.b64 _, [%full], 512;"
COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
IN_TWO = f"""{ANNOUNCE.replace("512", "384")} {COPY} [%room], [%in], 128, [%full];
add.u32 %room, %room, 128; add.u64 %in, %in, 128; {COPY} [%room], [%in], 384, [%full]; sub.u64 %in, %in, 128;"""
MISTAKES: dict[str, tuple[str, str]] = {
    "full barriers wait for two": ("mbarrier.init.shared.b64 [%full], 1", "mbarrier.init.shared.b64 [%full], 2"),
    "empty barriers wait for one fewer": ("[%empty], 32", "[%empty], 31"),
    "empty barriers wait for one more": ("[%empty], 32", "[%empty], 33"),
    "barriers begin unseen": ("BEGUN: bar.sync 0;", "BEGUN:"),
    "the producer waits for the other parity": ("xor.b32 %other, %phase, 1;", "mov.u32 %other, %phase;"),
    "the consumers wait for the other parity": ("[%full], %phase;", "[%full], %other;"),
    "the producer's phase is not toggled": ("@%p xor.b32 %phase, %phase, 1;", ""),
    "the consumers' phase is not toggled": ("@%q xor.b32 %phase, %phase, 1;", ""),
    "too few bytes are announced": ("_, [%full], 512", "_, [%full], 496"),
    "too many bytes are announced": ("_, [%full], 512", "_, [%full], 1024"),
    "no bytes are announced": ("mbarrier.arrive.expect_tx.shared.b64 _, [%full], 512;", "mbarrier.arrive.shared.b64 _, [%full];"),
    "bytes are announced without an arrival": ("mbarrier.arrive.expect_tx.shared.b64 _, [%full], 512;", "mbarrier.expect_tx.shared.b64 [%full], 512;"),
    "half of a tile is copied": ("[%in], 512, [%full]", "[%in], 256, [%full]"),
    "the copy names another barrier": ("512, [%full];\nadd", "512, [full];\nadd"),
    "the copy names an empty barrier": ("512, [%full];\nadd", "512, [%empty];\nadd"),
    "all tiles go to one stage": ("mad.lo.u32 %room, %stage, 512, %room;\nxor", "xor"),
    "stages overlap": ("mad.lo.u32 %room, %stage, 512, %room;\nxor", "mad.lo.u32 %room, %stage, 256, %room;\nxor"),
    "the producer does not wait": ("@!%over bra FREE;", ""),
    "the consumers do not wait": ("@!%over bra FILLED;", ""),
    "the consumers do not arrive": ("mbarrier.arrive.shared.b64 _, [%empty];", ""),
    "the consumers arrive twice": ("mbarrier.arrive.shared.b64 _, [%empty];", "mbarrier.arrive.shared.b64 _, [%empty];" * 2),
    "the consumers arrive before they have read": (
        "mul.lo.u32 %sum, %sum, 3;", "mul.lo.u32 %sum, %sum, 3; mbarrier.arrive.shared.b64 _, [%empty];",
    ),
    "the consumers' arrival is relaxed": ("mbarrier.arrive.shared.b64 _, [%empty]", "mbarrier.arrive.relaxed.cta.shared.b64 _, [%empty]"),
    "the producer has one stage fewer": ("setp.eq.u32 %p, %stage, 4;", "setp.eq.u32 %p, %stage, 3;"),
    "the consumers take one tile more": ("setp.lt.u32 %p, %n, 13; @%p bra TAKE;", "setp.lt.u32 %p, %n, 14; @%p bra TAKE;"),
    "the source does not move on": ("add.u64 %in, %in, 512;", ""),
    "sums are copied without a fence": ("fence.proxy.async.shared::cta;", ""),
    "stages are given back without a fence": ("fence.proxy.async;\n", ""),
    "sums are copied before all are there": ("bar.sync 1, 32;", ""),
    "the CTA exits before sums have been read": ("cp.async.bulk.wait_group 0;", ""),
    "sums are waited for before they are a group": (
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group 0; cp.async.bulk.commit_group;",
    ),
    "128 bytes too few are announced": ("_, [%full], 512", "_, [%full], 384"),
    "a tile is copied in two parts, of which one is announced": (f"{ANNOUNCE}\n{COPY} [%room], [%in], 512, [%full];", IN_TWO),
}  # fmt: skip


def test_a_tile_may_be_copied_in_two_parts() -> None:
    right, wrong = MISTAKES["a tile is copied in two parts, of which one is announced"]
    data, sums = tiles()
    for engine in ENGINES:
        text = PIPELINE.replace(right, wrong.replace("_, [%full], 384", "_, [%full], 512"))
        given = outcome(text, data, engine, check="race")
        assert isinstance(given, np.ndarray) and (given == sums).all()


def outcome(text: str, data: np.ndarray, engine: str, **how: Any) -> np.ndarray | ptxspec.LaunchError:
    out = np.zeros(32, np.uint32)
    module = ptxspec.load(text)
    try:
        module.launch("pipeline", grid=1, block=64, args=[data.copy(), out], engine=engine, time_limit=60.0, **how)
    except ptxspec.LaunchError as error:
        return error
    return out


def tiles() -> tuple[np.ndarray, np.ndarray]:
    """What is copied, and what its consumers make of it."""
    data = np.random.default_rng(7).integers(0, 1 << 20, (TILES + 1, WORDS), np.uint32)
    sums = np.zeros(32, np.uint32)
    for tile in data[:TILES].reshape(TILES, 32, 4):
        sums = sums * np.uint32(3) + tile[:, 0] + tile[:, 3]
    return data, sums


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", ["early", "late", "each", "random:4"])
@pytest.mark.parametrize("check", [None, "all"])
def test_the_pipeline_is_right(engine: str, copies: str, check: str | None) -> None:
    data, sums = tiles()
    given = outcome(PIPELINE, data, engine, copies=copies, **({"check": check} if check else {}))
    assert isinstance(given, np.ndarray), given
    assert (given == sums).all()


@pytest.mark.sample(8)
@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_told_or_seen(what: str, copies: str) -> None:
    right, wrong = MISTAKES[what]
    assert PIPELINE.count(right) == 1, what
    data, sums = tiles()
    for schedule in SCHEDULES:
        both = [
            outcome(PIPELINE.replace(right, wrong), data, e, check="race", copies=copies, schedule=schedule)
            for e in ENGINES
        ]
        exact, native = (given if isinstance(given, ptxspec.LaunchError) else given.tolist() for given in both)
        assert str(exact) == str(native)
        if isinstance(exact, ptxspec.LaunchError):
            assert exact.rule not in ("step limit", "time limit")
            return
        if exact != sums.tolist():
            return
    raise AssertionError(f"nothing tells that {what}")
