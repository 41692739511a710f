"""mbarrier objects under both engines: scripts against plain numbers, what breaks a rule, who waits for whom, and what is never
waited for in vain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxspec
from ptxspec_workshop.generate import object_scripts as scripts
from ptxspec_workshop.generate.cases import CELLS, FILL, plain_module
from ptxspec_workshop.generate.cluster_kernels import BLOCK, CLUSTER, GRID, entry_in_clusters

pytestmark = pytest.mark.sample(8)

ENGINES = ("exact", "native")
WAYS = ("early", "late", "each", "random:3")
HEAD = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 bars[8];
.shared .align 16 .b8 room[4096];
.global .align 16 .u32 source[1024];
.visible .entry k(.param .u64 out) {
.reg .u32 %t, %a, %b, %c, %n, %r; .reg .b64 %s, %o, %g; .reg .pred %p, %q, %first, %mine;
ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; mul.wide.u32 %s, %t, 4; add.u64 %o, %o, %s;
mov.u32 %b, room; mad.lo.u32 %b, %t, 4, %b;
"""


def launch(body: str, block: int = 1, engine: str = "native", **how: Any) -> np.ndarray:
    """What the threads of a kernel leave in `out`, a word each."""
    out = np.zeros(max(64, block), np.uint32)
    how.setdefault("grid", 1)
    ptxspec.load(f"{HEAD}{body}\nret; }}").launch("k", block=block, args=[out], engine=engine, **how)
    return out


def rule_of(body: str, block: int = 1, engine: str = "native", **how: Any) -> str:
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(body, block, engine, **how)
    return caught.value.rule


# scripts ----------------------------------------------------------------------------------------------------------------


def word(state: scripts.PlainObject) -> int:
    """The bits of an object in memory, as an H100 has them."""
    counts = (-state.expected % (1 << 20)) << 1 | (-state.bytes % (1 << 21)) << 21 | (-state.pending % (1 << 20)) << 43
    return counts | (state.phase & 1) << 63


def expected(row: np.ndarray) -> list[int]:
    """What the steps of a script give."""
    given, state, told, pending, left = [], scripts.PlainObject(1), 0, 0, 0
    for cell in row.tolist():
        step, operand, result = cell & 255, cell >> 8, 0
        if step == scripts.INIT:
            state = scripts.PlainObject(operand)
        elif step == scripts.INVAL:
            left = word(state)
        elif scripts.ARRIVE <= step <= scripts.DROP_INCOMPLETE:
            told, pending, result = state.phase, state.pending, word(state) >> 32
        elif step == scripts.TEST:
            result = int(state.phase != told)
        elif step == scripts.TEST_PARITY:
            result = int(state.phase & 1 != operand)
        elif step == scripts.COUNT:
            result = pending
        elif step == scripts.LOAD:
            result = left
        given.append(result)
        state.take(step, operand)
    return given


@pytest.mark.parametrize("engine", ENGINES)
def test_scripts_give_what_plain_numbers_give(engine: str) -> None:
    module = ptxspec.load(plain_module([entry_in_clusters("k", scripts.script_lines({}))]))
    for seed in range(2 if engine == "exact" else 40):
        rows = scripts.scripts(GRID[0] * BLOCK, (), False, f"tests {seed}").copy()
        out = np.full(rows.shape, FILL, np.uint64)
        args = [rows, out, bytes(64)]
        module.launch("k", grid=GRID, block=BLOCK, cluster=CLUSTER, args=args, engine=engine)
        assert out.shape[1] == CELLS
        for row, given in zip(rows, out.tolist(), strict=True):
            assert given == expected(row)


# what breaks a rule -----------------------------------------------------------------------------------------------------

INIT = "mbarrier.init.shared.b64 [bars], 1;"
FAULTS: dict[str, tuple[str, str]] = {
    "arrive before init": ("mbarrier.arrive.shared.b64 %s, [bars];", "no object"),
    "test before init": ("mbarrier.test_wait.parity.shared.b64 %p, [bars], 0;", "no object"),
    "end before init": ("mbarrier.inval.shared.b64 [bars];", "no object"),
    "arrive beside": (f"{INIT} mbarrier.arrive.shared.b64 %s, [bars + 8];", "no object"),
    "arrive after the end": (f"{INIT} mbarrier.inval.shared.b64 [bars]; mbarrier.arrive.shared.b64 %s, [bars];", "no object"),
    "copies follow none": ("cp.async.mbarrier.arrive.noinc.shared.b64 [bars];", "no object"),
    "init twice": (f"{INIT} {INIT}", "object"),
    "load": (f"{INIT} ld.shared.u8 %a, [bars + 7];", "object"),
    "store": (f"{INIT} st.shared.u32 [bars + 4], 1;", "object"),
    "atomic": (f"{INIT} atom.shared.add.u32 %a, [bars], 1;", "object"),
    "copy over it": (f"{INIT} mov.u64 %g, source; cp.async.ca.shared.global [bars], [%g], 16; cp.async.wait_all;", "object"),
    "no count": ("mov.u32 %a, 0; mbarrier.init.shared.b64 [bars], %a;", "mbarrier count"),
    "a count too great": ("mov.u32 %a, 1048576; mbarrier.init.shared.b64 [bars], %a;", "mbarrier count"),
    "an arrival for none": (f"{INIT} mov.u32 %a, 0; mbarrier.arrive.shared.b64 %s, [bars], %a;", "mbarrier count"),
    "one arrival too many": (f"{INIT} mov.u32 %a, 2; mbarrier.arrive.shared.b64 %s, [bars], %a;", "mbarrier arrivals"),
    "nothing is left to expect": (f"{INIT} mbarrier.arrive_drop.shared.b64 %s, [bars];", "mbarrier drop"),
    "too much announced": (
        f"{INIT} mov.u32 %a, 1000000; mbarrier.expect_tx.shared.b64 [bars], %a; mbarrier.expect_tx.shared.b64 [bars], %a;",
        "mbarrier transactions",
    ),
    "too much delivered": (
        f"{INIT} mov.u32 %a, 1000000; mbarrier.complete_tx.shared.b64 [bars], %a; mbarrier.complete_tx.shared.b64 [bars], %a;",
        "mbarrier transactions",
    ),
    "it completes": (f"{INIT} mbarrier.arrive.noComplete.shared.b64 %s, [bars], 1;", "mbarrier noComplete"),
    "a state of two phases ago": (
        f"{INIT} mbarrier.arrive.shared.b64 %s, [bars]; mbarrier.arrive.shared.b64 _, [bars];"
        "mbarrier.test_wait.shared.b64 %p, [bars], %s;",
        "mbarrier state",
    ),
    "a parity of two": (f"{INIT} mov.u32 %a, 2; mbarrier.test_wait.parity.shared.b64 %p, [bars], %a;", "mbarrier parity"),
    "between objects": ("mbarrier.init.shared.b64 [bars + 4], 1;", "misaligned"),
    "in global memory": ("mbarrier.init.b64 [%o], 1;", "state space"),
    "beyond shared memory": ("mov.u32 %a, 0x70000; mbarrier.init.shared.b64 [%a], 1;", "out of bounds"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", FAULTS)
def test_what_breaks_a_rule(what: str, engine: str) -> None:
    body, rule = FAULTS[what]
    assert rule_of(body, engine=engine) == rule


@pytest.mark.parametrize("engine", ENGINES)
def test_a_report_tells_what_the_object_has_and_who_began_it(engine: str) -> None:
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(f"{INIT}\nst.shared.u32 [bars], 1;", engine=engine)
    where, other = caught.value.where, caught.value.other
    assert where is not None and other is not None and (where.line, other.line) == (12, 11)
    with pytest.raises(ptxspec.LaunchError, match="the object has pending 1, expected 1, transactions 16, phase 1"):
        launch(
            f"{INIT} mbarrier.expect_tx.shared.b64 [bars], 16; mbarrier.arrive.noComplete.shared.b64 %s, [bars], 1;"
            "mbarrier.complete_tx.shared.b64 [bars], 16; mbarrier.expect_tx.shared.b64 [bars], 16;"
            "mov.u32 %a, 2; mbarrier.arrive.shared.b64 %s, [bars], %a;",
            engine=engine,
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_serves_again_after_the_end(engine: str) -> None:
    body = f"{INIT} mbarrier.inval.shared.b64 [bars]; st.shared.u32 [bars], 7; ld.shared.u32 %a, [bars];"
    again = "mbarrier.init.shared.b64 [bars], 3; mbarrier.inval.shared.b64 [bars]; st.global.u32 [%o], %a;"
    assert launch(body + again, engine=engine)[0] == 7


# waiting ----------------------------------------------------------------------------------------------------------------

WAIT = "W{0}: mbarrier.try_wait.shared.b64 %p, [bars{1}], %s; @!%p bra W{0};"
ALL_ARRIVE = (
    "@%first mbarrier.init.shared.b64 [bars], {0}; bar.sync 0; st.shared.u32 [%b], %t; mbarrier.arrive.shared.b64 %s, [bars];"
    + WAIT.format(0, "")
    + "xor.b32 %c, %t, 33; mov.u32 %r, room; mad.lo.u32 %c, %c, 4, %r; ld.shared.u32 %r, [%c]; st.global.u32 [%o], %r;"
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("schedule", ["auto", "random:1", "random:2"])
def test_threads_wait_for_one_another(engine: str, schedule: str) -> None:
    assert (launch(ALL_ARRIVE.format(64), 64, engine, schedule=schedule) == np.arange(64) ^ 33).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_phases_follow_one_another(engine: str) -> None:
    body = """@%first mbarrier.init.shared.b64 [bars], 40; bar.sync 0; mov.u32 %n, 0; mov.u32 %r, 0;
NEXT: atom.shared.add.u32 %a, [room], 1;
mbarrier.arrive.shared.b64 _, [bars]; and.b32 %c, %n, 1;
W: mbarrier.test_wait.parity.shared.b64 %p, [bars], %c; @!%p bra W;
ld.shared.u32 %a, [room]; mul.lo.u32 %c, %n, 40; add.u32 %c, %c, 40; setp.eq.u32 %q, %a, %c;
@!%q add.u32 %r, %r, 1; bar.sync 0; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 9; @%p bra NEXT;
st.global.u32 [%o], %r;"""
    assert not launch(body, 40, engine)[:40].any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_test_in_vain_is_false_where_nothing_else_can_run(engine: str) -> None:
    body = f"{INIT} mbarrier.test_wait.parity.shared.b64 %p, [bars], 0; selp.u32 %a, 1, 2, %p; st.global.u32 [%o], %a;"
    assert launch(body, engine=engine)[0] == 2
    turns = body.replace(
        "selp", "mbarrier.arrive.shared.b64 _, [bars]; mbarrier.try_wait.parity.shared.b64 %q, [bars], 0; selp"
    )
    assert launch(turns.replace("1, 2, %p", "1, 2, %q"), engine=engine)[0] == 1


NEVER: dict[str, tuple[str, int, str]] = {
    "one arrival is missing": (ALL_ARRIVE.format(65), 64, "pending 1, expected 65"),
    "the other parity": (
        "@%first mbarrier.init.shared.b64 [bars], 32; bar.sync 0; mbarrier.arrive.shared.b64 _, [bars]; mov.u32 %a, 0;"
        "N: W: mbarrier.try_wait.parity.shared.b64 %p, [bars], %a; @!%p bra W; xor.b32 %a, %a, 1;"
        "V: mbarrier.try_wait.parity.shared.b64 %p, [bars], %a; @!%p bra V;", 32, "pending 32, expected 32",
    ),
    "bytes that never come": (
        f"{INIT} mbarrier.arrive.expect_tx.shared.b64 %s, [bars], 64;" + WAIT.format(0, ""), 1, "transactions 64",
    ),
    "more bytes than announced": (
        f"{INIT} mbarrier.complete_tx.shared.b64 [bars], 16; mbarrier.arrive.shared.b64 %s, [bars];" + WAIT.format(0, ""), 1,
        "transactions -16",
    ),
    "each for the other's": (
        "@%first mbarrier.init.shared.b64 [bars], 1; @%first mbarrier.init.shared.b64 [bars + 8], 1; bar.sync 0;"
        "@%first bra A; W: mbarrier.try_wait.parity.shared.b64 %p, [bars], 0; @!%p bra W;"
        "mbarrier.arrive.shared.b64 _, [bars + 8]; bra D; A: V: mbarrier.try_wait.parity.shared.b64 %p, [bars + 8], 0; @!%p bra V;"
        "mbarrier.arrive.shared.b64 _, [bars]; D:", 2, "2 threads wait",
    ),
    "some at a barrier": (
        "@%first mbarrier.init.shared.b64 [bars], 2; bar.sync 0; @%first bra D; mbarrier.arrive.shared.b64 %s, [bars];"
        + WAIT.format(0, "") + "D: bar.sync 0;", 2, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", NEVER)
def test_who_waits_for_ever_is_told(what: str, engine: str) -> None:
    body, block, told = NEVER[what]
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(body, block, engine, step_limit=10**7)
    assert caught.value.rule in ("stuck object", "aligned") and told in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_many_ctas_and_grids(engine: str) -> None:
    body = ALL_ARRIVE.format(64).replace("st.global.u32 [%o], %r;", "red.global.add.u32 [%o], %r;")
    assert (launch(body, 64, engine, grid=50) == 50 * (np.arange(64) ^ 33)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_turn_of_words_beyond_eight_phases(engine: str) -> None:
    """A state tells its phase modulo eight, and parities alternate for ever."""
    body = f"""{INIT} mov.u32 %n, 0; mov.u32 %r, 0;
NEXT: mbarrier.arrive.shared.b64 %s, [bars]; mbarrier.test_wait.shared.b64 %p, [bars], %s; @!%p add.u32 %r, %r, 1;
add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 100; @%q bra NEXT; st.global.u32 [%o], %r;"""
    assert launch(body, engine=engine)[0] == 0


# copies that an arrival follows -----------------------------------------------------------------------------------------

COPIED = """@%first mbarrier.init.shared.b64 [bars], {count}; bar.sync 0; mov.u64 %g, source; add.u64 %g, %g, %s;
st.global.u32 [%g], %t; bar.sync 0; cp.async.ca.shared.global [%b], [%g], 4; cp.async.mbarrier.arrive{inc}.shared.b64 [bars];
{arrive} W: mbarrier.try_wait.parity.shared.b64 %p, [bars], 0; @!%p bra W;
xor.b32 %c, %t, 33; mov.u32 %r, room; mad.lo.u32 %c, %c, 4, %r; ld.shared.u32 %r, [%c]; st.global.u32 [%o], %r;"""


@pytest.mark.parametrize("copies", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("noinc", [False, True])
def test_an_arrival_follows_copies(engine: str, copies: str, noinc: bool) -> None:
    arrive = "" if noinc else "mbarrier.arrive.shared.b64 _, [bars];"
    body = COPIED.format(count=64, inc=".noinc" if noinc else "", arrive=arrive)
    assert (launch(body, 64, engine, copies=copies) == np.arange(64) ^ 33).all()


@pytest.mark.parametrize("copies", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_copies_are_not_complete_before_a_thread_sees_it(engine: str, copies: str) -> None:
    body = COPIED.format(count=64, inc=".noinc", arrive="ld.shared.u32 %r, [%b];")
    if copies.startswith("random"):
        return  # some operations complete at once
    assert rule_of(body, 64, engine, copies=copies) == "copy not waited for"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_object_does_not_end_before_its_operations(engine: str) -> None:
    body = f"""{INIT} mov.u64 %g, source; cp.async.ca.shared.global [%b], [%g], 4;
cp.async.mbarrier.arrive.noinc.shared.b64 [bars]; mbarrier.inval.shared.b64 [bars];"""
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(body, engine=engine, copies="late")
    assert caught.value.where is not None
    assert (caught.value.rule, caught.value.where.line) == ("object in use", 12)


# checks -----------------------------------------------------------------------------------------------------------------

RACES: dict[str, tuple[str, bool]] = {
    "right": (ALL_ARRIVE.format(64), False),
    "a relaxed arrival": (ALL_ARRIVE.format(64).replace("arrive.shared", "arrive.relaxed.cta.shared"), True),
    "a relaxed wait": (ALL_ARRIVE.format(64).replace("try_wait.shared", "try_wait.relaxed.cta.shared"), True),
    "no wait": (ALL_ARRIVE.format(64).replace(WAIT.format(0, ""), ""), True),
    "copies that an arrival follows": (
        COPIED.format(count=64, inc="", arrive="mbarrier.arrive.shared.b64 _, [bars];"), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", RACES)
def test_arrivals_and_waits_order_memory(what: str, engine: str) -> None:
    body, races = RACES[what]
    if races:
        assert rule_of(body, 64, engine, check="race") == "race"
    else:
        launch(body, 64, engine, check="all")


# elsewhere --------------------------------------------------------------------------------------------------------------


def test_questions_say_that_they_do_not_follow_objects() -> None:
    text = "mbarrier.arrive.shared.b64 s, [a];"
    assert ptxspec.prove(text, text).status in ("unsupported", "proved")
    with pytest.raises(ptxspec.Unsupported, match="object"):
        ptxspec.evaluate(text, a=0)
    assert ptxspec.evaluate("mbarrier.pending_count.b64 d, s;", s=(-7 % (1 << 20)) << 43)["d"] == 7
