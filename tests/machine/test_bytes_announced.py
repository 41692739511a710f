"""Copies that complete on one mbarrier, of which too few or too many bytes are announced: a report, or a result that is not right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(8)

COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
ENGINES = ("exact", "native")
#: the copies of a phase, in their order: where each begins, and its bytes
SHAPES = {
    "one": [(0, 640)],
    "the smaller first": [(512, 128), (0, 512)],
    "the larger first": [(0, 512), (512, 128)],
    "four": [(128 * k, 128) for k in range(4)],
}
EXPECT = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full],"
#: how bytes are announced: beside the copies, which are put in place of COPIES
ANNOUNCED = {
    "before": "mbarrier.arrive.expect_tx.shared.b64 _, [full], BYTES; COPIES",
    "after": "COPIES mbarrier.arrive.expect_tx.shared.b64 _, [full], BYTES;",
    "before, apart": f"{EXPECT} BYTES; COPIES mbarrier.arrive.shared.b64 _, [full];",
    "after, apart": f"COPIES {EXPECT} BYTES; mbarrier.arrive.shared.b64 _, [full];",
}


def pipeline(copies: list[tuple[int, int]], announced: str, excess: int, phases: int, read: list[int]) -> str:
    """A thread that copies, phase by phase, and a warp that adds the words at some places up; so many bytes more are announced."""
    total = sum(size for _, size in copies)
    issued = "\n".join(f"{COPY} [m+{at}], [in+{at}], {size}, [full];" for at, size in copies)
    body = ANNOUNCED[announced].replace("COPIES", issued).replace("BYTES", str(total + excess))
    reads = "".join(f"ld.shared.b32 v, [m+{at}]; add.u32 sum, sum, v;\n" for at in read)
    return f"""
.version 8.4 .target sm_90 .address_size 64
.visible .entry k(.param .u64 from, .param .u64 to) {{
.shared .align 128 .b8 m[{total}]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
.reg .b32 t, v, n, phase, sum, other; .reg .b64 in, q; .reg .pred p, over;
ld.param.u64 in, [from]; ld.param.u64 q, [to]; mov.u32 t, %tid.x; setp.eq.u32 p, t, 0;
mov.u32 n, 0; mov.u32 phase, 0; mov.u32 sum, 0;
@p mbarrier.init.shared.b64 [full], 1; @p mbarrier.init.shared.b64 [empty], 32; barrier.sync 0;
setp.lt.u32 p, t, 32; @p bra CONSUME;
setp.ne.u32 p, t, 32; @p bra DONE;
PRODUCE: xor.b32 other, phase, 1;
FREE: mbarrier.try_wait.parity.shared.b64 over, [empty], other; @!over bra FREE;
{body}
add.u64 in, in, {total}; xor.b32 phase, phase, 1; add.u32 n, n, 1; setp.lt.u32 p, n, {phases}; @p bra PRODUCE;
bra DONE;
CONSUME: mbarrier.try_wait.parity.shared.b64 over, [full], phase; @!over bra CONSUME;
mul.lo.u32 sum, sum, 3;
{reads}fence.proxy.async.shared::cta;
mbarrier.arrive.shared.b64 _, [empty];
xor.b32 phase, phase, 1; add.u32 n, n, 1; setp.lt.u32 p, n, {phases}; @p bra CONSUME;
mad.wide.u32 q, t, 4, q; st.global.b32 [q], sum;
DONE: ret; }}"""


def outcome(
    shape: str, announced: str, excess: int, phases: int, engine: str, read: list[int] | None = None, **how: Any
) -> str:
    """The rule that a launch breaks, or whether its results are "right" or "wrong"."""
    copies = SHAPES[shape]
    total, places = sum(size for _, size in copies), [at + size - 4 for at, size in copies] if read is None else read
    data = np.random.default_rng(1).integers(0, 1 << 20, total * phases // 4, np.uint32)
    sums, out = 0, np.zeros(32, np.uint32)
    for words in data.reshape(phases, -1):
        sums = 3 * sums + sum(int(words[at // 4]) for at in places)
    module = ptxspec.load(pipeline(copies, announced, excess, phases, places))
    try:
        module.launch("k", block=64, args=[data, out], engine=engine, time_limit=60.0, **how)
    except ptxspec.LaunchError as error:
        return error.rule
    return "right" if (out == sums & 0xFFFFFFFF).all() else "wrong"


def launches() -> Iterator[dict[str, Any]]:
    """The ways in which each mistake is told, unchecked too."""
    for copies, check in product(("early", "late"), (None, "race")):
        yield {"copies": copies} | ({"check": check} if check else {})


@pytest.mark.sample(8, lambda shape, excess, phases: [excess])
@pytest.mark.parametrize("phases", [1, 3])
@pytest.mark.parametrize("excess", [0, -128, 128])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_number_of_bytes_but_the_right_one_is_told(shape: str, excess: int, phases: int) -> None:
    for how in launches():
        told = {outcome(shape, "before", excess, phases, engine, **how) for engine in ENGINES}
        if excess == 0:
            assert told == {"right"}, how
        else:
            assert len(told) == 1 and told <= {"stuck object", "copy not waited for"}, how


@pytest.mark.slow
@pytest.mark.parametrize("announced", ["after", "before, apart", "after, apart"])
@pytest.mark.parametrize("copies", ["early", "late"])
def test_wherever_bytes_are_announced(copies: str, announced: str) -> None:
    for engine in ENGINES:
        how = {"copies": copies}
        assert outcome("the smaller first", announced, 0, 2, engine, **how) == "right"
        assert outcome("the smaller first", announced, -128, 2, engine, **how) == "copy not waited for"
        assert outcome("the smaller first", announced, 128, 2, engine, **how) == "stuck object"


@pytest.mark.sample(8, lambda engine, copies, schedule: [(engine, schedule)])
@pytest.mark.parametrize("schedule", ["random:1", "warps"])
@pytest.mark.parametrize("copies", ["early", "late", "each", "random:3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_in_each_schedule_the_check_tells(engine: str, copies: str, schedule: str) -> None:
    how = {"copies": copies, "schedule": schedule, "check": "race"}
    for shape in ("the smaller first", "four"):
        assert outcome(shape, "before", 0, 1, engine, **how) == "right"
        told = outcome(shape, "before", -128, 1, engine, **how)
        assert told in ("stuck object", "copy not waited for", "race")


@pytest.mark.parametrize("copies", ["each", "random:1"])
@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_landed_are_written_where_their_copy_is_complete(engine: str, copies: str) -> None:
    """The phase is over by the completion of another copy: who waits for that hears of what this one has written only later."""
    assert outcome("four", "before", -128, 1, engine, copies=copies) == "right"
    assert outcome("four", "before", -128, 1, engine, copies=copies, check="race") == "race"


@pytest.mark.parametrize("copies", ["early", "late"])
@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_nobody_announces_are_told_though_nobody_reads_them(engine: str, copies: str) -> None:
    shape, read = "the smaller first", [0, 508]
    assert outcome(shape, "before", 0, 1, engine, read, copies=copies, check="race") == "right"
    assert outcome(shape, "before", -128, 1, engine, read, copies=copies, check="race") == "announced bytes"


@pytest.mark.parametrize("copies", ["early", "late"])
def test_what_nobody_announced_is_told_with_its_number(copies: str) -> None:
    """Where a thread has waited for a copy, and more is delivered than the phase counted, in which nobody waits. Of an mbarrier
    that ends it is not told."""
    text = f"""
.version 8.4 .target sm_90 .address_size 64
.visible .entry k(.param .u64 from) {{
.shared .align 128 .b8 m[256]; .shared .align 8 .b64 bar, other; .reg .b64 in; .reg .pred over;
ld.param.u64 in, [from]; mbarrier.init.shared.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 112;
{COPY} [m+128], [in], 112, [bar];
W: mbarrier.try_wait.parity.shared.b64 over, [bar], 0; @!over bra W;
{COPY} [m], [in], 80, [bar];
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
mbarrier.init.shared.b64 [other], 1; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [other], 16; mbarrier.inval.shared.b64 [other];
ret; }}"""
    notes = []
    for engine in ENGINES:
        launch = ptxspec.load(text).launch
        how: dict[str, Any] = {"args": [np.zeros(64, np.uint32)], "copies": copies, "engine": engine}
        (found,) = launch("k", check="race", findings="collect", **how).findings
        assert (found.kind, found.space, found.size, found.where.instruction) == (
            "announced bytes", "shared", 8, "mbarrier.init.shared.b64 [bar], 1;",
        )  # fmt: skip
        notes.append(found.note)
        assert launch("k", **how).findings == ()
    assert notes == ["operations deliver 16 bytes more to an mbarrier than were announced to it"] * 2
