"""Bulk copies and reductions, asynchronous stores and reductions of a cluster: against NumPy, in every way of landing, under both
engines; and what breaks a rule."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ptxspec

pytestmark = pytest.mark.sample(8)

ENGINES = ("exact", "native")
WAYS = ("early", "late", "each", "random:3", "random:8")
HEAD = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 bars[8];
.shared .align 128 .b8 room[16384];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 size) {
.reg .u32 %t, %a, %b, %c, %n, %r, %size, %rank, %next, %to, %tobar; .reg .b64 %s, %i, %o, %g; .reg .pred %p, %q, %first;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; ld.param.u32 %size, [size]; mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
mov.u32 %rank, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; add.u32 %next, %rank, 1; rem.u32 %next, %next, %n;
mov.u32 %b, room; mapa.shared::cluster.u32 %to, %b, %next; mov.u32 %a, bars; mapa.shared::cluster.u32 %tobar, %a, %next;
"""
INIT = "@%first mbarrier.init.shared.b64 [bars], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;"
EXPECT = "@%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], %size;"
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;"
WAIT = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bars], 0; @!%p bra W;"
BULK = "cp.async.bulk.shared::{}.global.mbarrier::complete_tx::bytes"
GROUP = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
#: `out` of a CTA begins so many bytes behind that of the one before: the thread copies so many words of `room` there
SHOW = """mov.u32 %c, %ctaid.x; mul.lo.u32 %c, %c, %size; cvt.u64.u32 %s, %c; add.u64 %o, %o, %s;
mul.wide.u32 %s, %t, 4; add.u64 %o, %o, %s; mad.lo.u32 %b, %t, 4, %b; mov.u32 %n, %ntid.x; mul.lo.u32 %n, %n, 4;
shl.b32 %c, %t, 2;
SHOW: setp.ge.u32 %p, %c, %size; @%p bra SHOWN; ld.shared.u32 %r, [%b]; st.global.u32 [%o], %r;
add.u32 %c, %c, %n; add.u32 %b, %b, %n; cvt.u64.u32 %s, %n; add.u64 %o, %o, %s; bra SHOW; SHOWN:"""


def launch(body: str, data: np.ndarray, out: np.ndarray, block: int = 32, **how: Any) -> ptxspec.Outcome:
    text = f"{HEAD}{body}\n{'' if 'cluster' not in how else SYNC}\nret; }}"
    how.setdefault("grid", 1)
    size = how.pop("size", data.nbytes)
    return ptxspec.load(text).launch("k", block=block, args=[data, out, np.uint32(size)], **how)


def words(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, count, np.uint32)


def rule_of(body: str, **how: Any) -> str:
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(body, words(64), words(64), **how)
    return caught.value.rule


# copies -----------------------------------------------------------------------------------------------------------------

TO_SHARED = f"{INIT}{EXPECT}@%first {BULK.format('cta')} [%b], [%i], %size, [bars];{WAIT}{SHOW}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("copies", "size"), itertools.product(WAYS, (0, 16, 48, 1024, 8192)))
def test_from_global_to_shared_memory(engine: str, copies: str, size: int) -> None:
    data = words(2048)
    out = np.zeros_like(data)
    launch(TO_SHARED, data, out, copies=copies, engine=engine, size=size)
    assert (out[: size // 4] == data[: size // 4]).all() and not out[size // 4 :].any()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
def test_to_the_next_cta(engine: str, copies: str) -> None:
    data = words(256)
    out = np.zeros(4 * 256, np.uint32)
    body = f"{INIT}{EXPECT}{SYNC}@%first {BULK.format('cluster')} [%to], [%i], %size, [%tobar];{WAIT}{SHOW}"
    launch(body, data, out, copies=copies, engine=engine, grid=4, cluster=4)
    assert (out.reshape(4, -1) == data).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", [0b1111, 0b0101, 0b1000, 0])
def test_to_several_ctas(engine: str, mask: int) -> None:
    data = words(256)
    out = np.zeros(4 * 256, np.uint32)
    copy = f"{BULK.format('cluster')}.multicast::cluster [%b], [%i], %size, [bars], {mask};"
    waits = f"mov.u32 %c, {mask}; shr.u32 %c, %c, %rank; and.b32 %c, %c, 1; setp.eq.u32 %q, %c, 0; @%q bra SHOWN;"
    body = f"{INIT}{EXPECT}{SYNC}setp.eq.u32 %q, %rank, 2; and.pred %q, %q, %first; @%q {copy} {waits}{WAIT}{SHOW}"
    launch(body, data, out, copies="random:2", engine=engine, grid=4, cluster=4)
    for rank, row in enumerate(out.reshape(4, -1)):
        assert (row == (data if mask >> rank & 1 else 0)).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
def test_there_and_back(engine: str, copies: str) -> None:
    """A ring of two stages: what is read must have been read before it is overwritten."""
    data = words(64 * 9)
    out = np.zeros_like(data)
    body = f"""{INIT} mov.u32 %n, 0;
NEXT: and.b32 %c, %n, 1; mad.lo.u32 %r, %c, 256, %b; cp.async.bulk.wait_group.read 1;
mbarrier.arrive.expect_tx.shared.b64 _, [bars], 256;
{BULK.format("cta")} [%r], [%i], 256, [bars];
W: mbarrier.try_wait.parity.shared.b64 %p, [bars], %c; @!%p bra W;
cp.async.bulk.global.shared::cta.bulk_group [%o], [%r], 256; cp.async.bulk.commit_group;
add.u64 %i, %i, 256; add.u64 %o, %o, 256; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 9; @%p bra NEXT;
cp.async.bulk.wait_group 0;"""
    launch(body, data, out, 1, copies=copies, engine=engine)
    assert (out == data).all()


def test_the_callers_memory_and_a_second_launch() -> None:
    memory = ptxspec.Memory()
    data = words(512)
    source, target = memory.put(data), memory.allocate(2048)
    module = ptxspec.load(f"{HEAD}{TO_SHARED}\nret; }}")
    for _ in range(2):
        module.launch("k", grid=1, block=32, args=[source, target, np.uint32(2048)])
    assert (memory.view(target, np.uint32, 512) == data).all()


# reductions -------------------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda a, b: np.where(a >= b, 0, a + 1), "dec": lambda a, b: np.where((a == 0) | (a > b), b, a - 1),
}  # fmt: skip
TYPES = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "b32": np.uint32, "b64": np.uint64}
IN_GLOBAL = [("add", "u32"), ("add", "s32"), ("add", "u64"), ("inc", "u32"), ("dec", "u32")]
IN_GLOBAL += list(itertools.product(("min", "max"), ("u32", "s32", "u64", "s64")))
IN_GLOBAL += list(itertools.product(("and", "or", "xor"), ("b32", "b64")))
FILL = """shl.b32 %c, %t, 2;
FILL: setp.ge.u32 %p, %c, %size; @%p bra FILLED; cvt.u64.u32 %s, %c; add.u64 %g, %i, %s; ld.global.u32 %r, [%g];
add.u32 %a, %b, %c; st.shared.u32 [%a], %r; add.u32 %c, %c, 128; bra FILL; FILLED: fence.proxy.async; bar.sync 0;"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("op", "type"), IN_GLOBAL)
def test_reductions_in_global_memory(engine: str, op: str, type: str) -> None:
    """Four CTAs change the same elements, in flight at the same time."""
    data, before = words(128).view(TYPES[type]), words(128, 2).view(TYPES[type])
    out = before.copy()
    reduction = f"@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{type} [%o], [%b], %size;"
    launch(f"{FILL}{reduction}{GROUP}", data, out, copies="random:5", engine=engine, grid=4)
    expected = before
    for _ in range(4):
        expected = OPERATIONS[op](expected, data).astype(before.dtype)
    assert (out == expected).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_sums_round_to_nearest_even_and_keep_subnormal_numbers(engine: str, type: str) -> None:
    kind = np.dtype(type.replace("f", "float"))
    source = np.random.default_rng(4)
    data, before = ((source.standard_normal(64) * 2.0 ** source.integers(-40, 20, 64)).astype(kind) for _ in range(2))
    data[0], before[0] = np.finfo(kind).smallest_subnormal, 3 * np.finfo(kind).smallest_subnormal
    out = before.copy()
    reduction = f"@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{type} [%o], [%b], %size;"
    launch(f"{FILL}{reduction}{GROUP}", data, out, engine=engine)
    assert (out == before + data).all() and out[0] == 4 * np.finfo(kind).smallest_subnormal


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("op", "type"), [("add", "u64"), ("min", "s32"), ("inc", "u32"), ("xor", "b32")])
def test_reductions_in_the_next_cta(engine: str, op: str, type: str) -> None:
    data = words(128).view(TYPES[type])
    out = np.zeros(4 * data.nbytes // 4, np.uint32)
    copy = "add.u32 %a, %to, 8192; "
    reduction = f"@%first cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{type}"
    body = f"{INIT}{EXPECT}{FILL}{SYNC}add.u32 %b, %b, 0;{copy}{reduction} [%a], [%b], %size, [%tobar];{WAIT}add.u32 %b, %b, 8192;{SHOW}"
    launch(body, data, out, engine=engine, grid=4, cluster=4, copies="each")
    expected = OPERATIONS[op](np.zeros_like(data), data).astype(data.dtype)
    assert (out.view(data.dtype).reshape(4, -1) == expected).all()


# carried values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
def test_registers_are_free_when_a_store_is_initiated(engine: str, copies: str) -> None:
    out = np.zeros(4 * 32, np.uint32)
    body = f"""{INIT} mov.u32 %size, 128; {EXPECT}{SYNC} mad.lo.u32 %c, %t, 4, %to; mad.lo.u32 %r, %rank, 100, %t;
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%c], %r, [%tobar]; mov.u32 %r, 7; {WAIT}{SHOW}"""
    launch(body, words(4), out, engine=engine, grid=4, cluster=4, copies=copies)
    assert (out.reshape(4, 32) == (np.arange(4)[:, None] - 1) % 4 * 100 + np.arange(32)).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
def test_a_vector_and_a_sum_of_many(engine: str, copies: str) -> None:
    out = np.zeros(2 * 4, np.uint32)
    body = f"""{INIT} mov.u32 %size, 144; {EXPECT} st.shared.v4.u32 [room + 16], {{0, 0, 0, 0}}; {SYNC} mov.u32 %size, 16;
mov.u32 %r, 5; @%first st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%to], {{%r, %rank, %r, %size}}, [%tobar];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%to + 16], %t, [%tobar]; {WAIT}
ld.shared.u32 %r, [room + 16]; @%first st.shared.u32 [room], %r; bar.sync 0; {SHOW}"""
    launch(body, words(4), out, engine=engine, grid=2, cluster=2, copies=copies)
    assert out.reshape(2, 4).tolist() == [[496, 1, 5, 16], [496, 0, 5, 16]]


SUM = f"""{INIT} mov.u32 %size, 128; {EXPECT} st.shared.u64 [room], 0; {SYNC}
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%to], 1, [%tobar];"""
#: beside asynchronous reductions of other CTAs: what is morally strong with them
BESIDE = {
    "a reduction at the scope of the cluster": "red.relaxed.cluster.shared::cluster.add.u32 [room], 1;",
    "one at the scope of the system": "red.relaxed.sys.shared::cta.add.u32 [room], 1;",
    "an atomic operation": "atom.relaxed.gpu.shared.add.u32 %r, [room], 1;",
    "a load": "ld.relaxed.cluster.shared.u32 %r, [room];",
}
#: and what is not: at too small a scope, weak, or of another size
RACING = {
    "a reduction at the scope of the CTA": "red.relaxed.cta.shared.add.u32 [room], 1;",
    "a weak store": "st.shared.u32 [room], 1;",
    "a weak load": "ld.shared.u32 %r, [room];",
    "a reduction of eight bytes": "red.relaxed.cluster.shared.add.u64 [room], 1;",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("copies", WAYS)
@pytest.mark.parametrize("what", BESIDE)
def test_strong_accesses_beside_asynchronous_reductions(what: str, copies: str, engine: str) -> None:
    out = np.zeros(2 * 4, np.uint32)
    body = f"{SUM} {BESIDE[what]} {WAIT} {SYNC} mov.u32 %size, 16; {SHOW}"
    ran = launch(body, words(4), out, engine=engine, grid=2, cluster=2, copies=copies, check="race")
    assert ran.findings == ()
    assert out.reshape(2, 4)[:, 0].tolist() == [32 if what == "a load" else 64] * 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", RACING)
def test_other_accesses_beside_asynchronous_reductions(what: str, engine: str) -> None:
    body = f"{SUM} {RACING[what]} {WAIT}"
    assert rule_of(body, engine=engine, grid=2, cluster=2, copies="late") == "copy not waited for"


@pytest.mark.parametrize("engine", ENGINES)
def test_reductions_by_two_proxies(engine: str) -> None:
    """A bulk reduction and an asynchronous one are not morally strong, and those of four and of eight bytes are not either."""
    how = "shared::cluster.{}mbarrier::complete_tx::bytes.add"
    bulk = f"@%first cp.reduce.async.bulk.{how.format('shared::cta.')}.u32 [%to], [room + 64], %size, [%tobar];"
    wide, after = (f"red.async.relaxed.cluster.{how.format('')}.{type} [%to], 1, [%tobar];" for type in ("u64", "u32"))
    for first in (bulk, wide):
        before = f"{INIT} mov.u32 %size, 16; {SYNC} {first}"
        assert rule_of(before + after, engine=engine, grid=2, cluster=2, copies="late") == "copy not waited for"


# what breaks a rule -----------------------------------------------------------------------------------------------------

ONE = f"@%first {BULK.format('cta')} [%b], [%i], %size, [bars];"
TO_GLOBAL = "@%first cp.async.bulk.global.shared::cta.bulk_group [%o], [%b], %size;"
FAULTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no object": (f"{EXPECT}{ONE}", "no object", {}),
    "an odd size": (f"{INIT}{EXPECT}{ONE}{WAIT}", "bulk size", {"size": 24}),
    "a target off sixteen": (f"{INIT}{EXPECT}add.u32 %b, %b, 8;{ONE}{WAIT}", "misaligned", {}),
    "a source off sixteen": (f"{INIT}{EXPECT}add.u64 %i, %i, 8;{ONE}{WAIT}", "misaligned", {"size": 32}),
    "a source too short": (f"{INIT}{EXPECT}{ONE}{WAIT}", "out of bounds", {"size": 1 << 12}),
    "a target too short": (f"{INIT}{EXPECT}add.u32 %b, %b, 16320;{ONE}{WAIT}", "out of bounds", {}),
    "to shared memory of nobody": (
        f"{INIT}{EXPECT}add.u32 %b, %b, 0x80000;@%first {BULK.format('cluster')} [%b], [%i], %size, [bars];{WAIT}",
        "out of bounds", {},
    ),
    "not announced": (
        f"{INIT}{ONE}@%first mbarrier.arrive.shared.b64 _, [bars];{WAIT}ld.shared.u32 %r, [%b];", "copy not waited for", {},
    ),
    "not announced, and delivered": (
        f"{INIT}{ONE}{'bar.sync 0;' * 9}@%first mbarrier.arrive.shared.b64 _, [bars];{WAIT}", "stuck object", {"copies": "each"},
    ),
    "too few announced": (f"{INIT}@%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], 128;{ONE}{WAIT}", "stuck object", {}),
    "never copied": (f"{INIT}{EXPECT}{WAIT}", "stuck object", {}),
    "read before it is complete": (f"{INIT}{EXPECT}{ONE}ld.shared.u32 %r, [%b];{WAIT}", "copy not waited for", {}),
    "written before it is complete": (f"{INIT}{EXPECT}{ONE}st.shared.u32 [%b], 1;{WAIT}", "copy not waited for", {}),
    "its source written": (f"{INIT}{EXPECT}{ONE}@%first st.global.u32 [%i], 1;{WAIT}", "source of a copy", {}),
    "copied twice": (f"{INIT}{EXPECT}{ONE}{ONE}{WAIT}", "copy not waited for", {}),
    "a group not waited for": (f"{TO_GLOBAL}cp.async.bulk.commit_group; ld.global.u32 %r, [%o];", "copy not waited for", {}),
    "a group not committed": (f"{TO_GLOBAL}cp.async.bulk.wait_group 0; ld.global.u32 %r, [%o];", "copy not waited for", {}),
    "groups of cp.async": (f"{TO_GLOBAL}cp.async.wait_all; ld.global.u32 %r, [%o];", "copy not waited for", {}),
    "a source that is not read yet": (f"{TO_GLOBAL}cp.async.bulk.commit_group; st.shared.u32 [%b], 1;", "source of a copy", {}),
    "read, and not complete": (
        f"{TO_GLOBAL}cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; st.shared.u32 [%b], 1; ld.global.u32 %r, [%o];",
        "copy not waited for", {},
    ),
    "to its own CTA": (
        f"{INIT}{EXPECT}@%first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%b], [room + 8192], %size, [bars];",
        "copy within a CTA", {},
    ),
    "a store without a cluster": (
        f"{INIT}st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%b], %t, [bars];", "asynchronous store", {},
    ),
    "a reduction and a store at once": (
        f"{FILL}@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%o], [%b], %size; st.global.u32 [%o], 1; {GROUP}",
        "copy not waited for", {},
    ),
    "more read than filled": ("mov.u32 %r, 10; cp.async.ca.shared.global [%b], [%i], 4, %r;", "copy size", {}),
    "objects end too early": (f"{INIT}{EXPECT}{ONE}bar.sync 0; @%first mbarrier.inval.shared.b64 [bars];", "object in use", {}),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", FAULTS)
def test_what_breaks_a_rule(what: str, engine: str) -> None:
    body, rule, how = FAULTS[what]
    assert rule_of(body, engine=engine, **({"copies": "late"} | how)) == rule


@pytest.mark.parametrize("what", FAULTS)
def test_both_engines_say_the_same_of_it(what: str) -> None:
    body, _, how = FAULTS[what]
    texts = []
    for engine in ENGINES:
        with pytest.raises(ptxspec.LaunchError) as caught:
            launch(body, words(64), words(64), **{"engine": engine, "copies": "late", **how})
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("to", [("%o", "%i"), ("%i", "%o")])
@pytest.mark.parametrize("engine", ENGINES)
def test_of_copies_that_begin_together_the_first_in_the_text_is_told(engine: str, to: tuple[str, str]) -> None:
    """Wherever they lead: where the host has their targets is another matter for each engine."""
    copies = [f"@%first cp.async.bulk.global.shared::cta.bulk_group [{at}], [%b], 16;\n" for at in to]
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(f"{FILL}\n{''.join(copies)}st.shared.u32 [%b], 1;", words(64), words(64), engine=engine, copies="late")
    where, other = caught.value.where, caught.value.other
    assert caught.value.rule == "source of a copy" and where is not None and other is not None
    assert where.line - other.line == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_misuse_tells_both_places(engine: str) -> None:
    with pytest.raises(ptxspec.LaunchError) as caught:
        launch(f"{INIT}{EXPECT}\n{ONE}\nld.shared.u32 %r, [%b];\n{WAIT}", words(64), words(64), engine=engine)
    where, other = caught.value.where, caught.value.other
    assert where is not None and other is not None and (where.line, other.line) == (13, 12)


# checks -----------------------------------------------------------------------------------------------------------------

STORED = f"{FILL}{TO_GLOBAL}{GROUP}"
RACES: dict[str, tuple[str, bool]] = {
    "a copy that all threads wait for": (TO_SHARED, False),
    "a copy that one thread waits for": (TO_SHARED.replace(WAIT, f"@!%first bra OVER;{WAIT}OVER: bar.warp.sync -1;"), True),
    "stores, a fence, a copy": (STORED, False),
    "stores and a copy without a fence": (STORED.replace("fence.proxy.async;", ""), True),
    "overwritten without a fence": (f"st.shared.u32 [%b], %t;{INIT.replace('fence.proxy.async;', '')}{EXPECT}{ONE}{WAIT}", True),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", RACES)
def test_races_with_operations(what: str, engine: str) -> None:
    body, races = RACES[what]
    if races:
        assert rule_of(body, engine=engine, check="race", block=64) == "race"
    else:
        launch(body, words(64), words(64), 64, engine=engine, check="all")


#: a pair of CTAs: each announces at its mbarrier while the other one's operations complete there
MULTICAST = f"@%first {BULK.format('cluster')}.multicast::cluster [%b], [%i], 64, [bars], 1;"
TOGETHER: dict[str, tuple[str, str]] = {
    "announced while another CTA's copy completes": (
        f"{INIT}{SYNC} setp.eq.u32 %q, %rank, 0; @%q bra HERE; {MULTICAST} bra DONE;"
        f"HERE: @%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], 64; {WAIT} DONE:", "",
    ),
    "announced while another CTA's stores complete": (
        f"{INIT}{SYNC} mad.lo.u32 %c, %t, 4, %to; @%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], 256;"
        f"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%c], %t, [%tobar]; {WAIT}", "",
    ),
    "a store over it": (
        f"{INIT}{SYNC} setp.eq.u32 %q, %rank, 0; @%q bra HERE; {MULTICAST} bra DONE;"
        f"HERE: @%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], 64; st.shared.u32 [bars], 1; {WAIT} DONE:", "object",
    ),
    "a store before it, in the same bytes": (
        f"@%first st.shared.u32 [bars], 1; setp.eq.u32 %first, %t, 63; {INIT}{SYNC}{WAIT.replace(' 0;', ' 1;')}", "race",
    ),
    "begun while others arrive": (
        "@%first mbarrier.init.shared.b64 [bars], 64; bar.warp.sync -1; mbarrier.arrive.shared.b64 _, [bars];"
        f"{WAIT}", "race",
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", TOGETHER)
def test_steps_on_one_object_are_in_no_race(what: str, engine: str) -> None:
    """Whatever their scopes; a plain access to its bytes is told, and so is a step that nothing orders behind its beginning."""
    body, rule = TOGETHER[what]
    how: dict[str, Any] = {"engine": engine, "check": "race", "block": 64, "grid": 2, "cluster": 2}
    if rule:
        assert rule_of(body, **how) == rule
    else:
        launch(body, words(64), words(64), copies="late", **how)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wait_hears_of_a_copy_whatever_was_done_between(engine: str) -> None:
    """Another CTA's copy is complete before the phase expects its bytes: the announcement, of the scope of the CTA, hides nothing."""
    body = (
        f"{INIT}{SYNC} setp.eq.u32 %q, %rank, 1; @%q bra HERE; {MULTICAST.replace(' 1;', ' 2;')} bra DONE;"
        f"HERE: @%first mbarrier.arrive.expect_tx.shared.b64 _, [bars], 64; {WAIT}"
        "and.b32 %c, %t, 15; mad.lo.u32 %c, %c, 4, %b; ld.shared.u32 %r, [%c]; DONE:"
    )
    launch(body, words(64), words(64), copies="early", engine=engine, check="race", block=64, grid=2, cluster=2)


def test_bytes_are_counted_and_told() -> None:
    trace = ptxspec.Trace(kinds=[ptxspec.EventKind.INITIATE, ptxspec.EventKind.WRITE])
    outcome = ptxspec.load(f"{HEAD}{TO_SHARED}\nret; }}").launch(
        "k", grid=1, block=32, args=[words(64), words(64), np.uint32(256)], counts=True, observers=[trace]
    )
    assert outcome.counts is not None and outcome.counts.written["shared"] == 8 + 8 + 256
