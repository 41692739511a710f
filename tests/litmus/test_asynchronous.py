"""Litmus tests with asynchronous operations and mbarriers: what is refused by name, and what random ones may do, by enumeration
and by a solver."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

import ptxspec
from ptxspec.query.outcomes import Unsupported

MEMORY = ".b128 x = 1; .b128 w; .tensormap m = x; .shared .b128 y; .shared .b32 z; .shared mbarrier bar = 1;"


def with_rows(*rows: str, memory: str = MEMORY, place: str = "cta 0,gpu 0") -> str:
    return "\n".join(
        ["PTX t", f"{{ {memory} }}", f"P0@{place} ;", *(f"{row} ;" for row in rows), "exists (P0:r0 == 1)"]
    )


COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [y], [x], 16, [bar]"
TO_GLOBAL = "cp.async.bulk.global.shared::cta.bulk_group [x], [y], {}"
REFUSED = {
    "an object begins": (["mbarrier.init.shared.b64 [bar], 1"], "have begun, and do not end"),
    "an object ends": (["mbarrier.inval.shared.b64 [bar]"], "have begun, and do not end"),
    "a plain load of an object": (["ld.weak r0, bar"], "accesses the bytes of an object"),
    "a copy over an object": (["cp.async.ca.shared.global [bar], [x], 8"], "accesses the bytes of an object"),
    "a step on no object": (["mbarrier.arrive.shared.b64 _, [y]"], "y is no object"),
    "a copy that completes on no object": ([COPY.replace("[bar]", "[z]")], "accesses no variable|z is no object"),
    "a box without a tensor map": (
        ["cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [y], [w, {0}], [bar]"],
        r"cp\.async\.bulk\.tensor.*accesses no variable",
    ),
    "a field of a tensor map that is not its address": (
        ["tensormap.replace.tile.box_dim.global.b1024.b32 [m], 0, 2"], "replaces the address alone",
    ),
    "a store to a tensor map": (["st.weak.global.u32 [m + 8], 2"], "replaces the address alone"),
    "a box that depends on what is read": (
        ["ld.weak.global.u32 r1, [w]",
         "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [y], [m, {r1}], [bar]"],
        "depends on what is read",
    ),
    "a product of nothing": (["wgmma.fence", "wgmma.mma_async r0"], "a register and the variable"),
    "a product of global memory": (["wgmma.fence", "wgmma.mma_async r0, x"], "accesses no variable"),
    "a product as PTX has it": (
        ["wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {r0, r1}, d, d, p, 1, 1, 0, 0"],
        "the variable that it reads",
    ),
    "a reduction in the thread's own CTA": (
        ["red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [z], 1, [bar]"],
        "not that of its thread",
    ),
    "an odd size": ([TO_GLOBAL.format(24)], "a multiple of 16"),
    "a size beyond the variable": ([TO_GLOBAL.format(32)], "accesses no variable"),
    "a size that is read": (["ld.weak.global.u32 r1, [w]", TO_GLOBAL.format("r1")], "depends on what is read"),
    "a number of bytes that is read": (
        ["ld.weak.global.u32 r1, [w]", "cp.async.ca.shared.global [z], [x], 4, r1"], "depends on what is read",
    ),
    "an arrival count that is read": (
        ["ld.weak.global.u32 r1, [w]", "mbarrier.arrive.shared.b64 _, [bar], r1"], "depends on what is read",
    ),
    "a restricted fence": (["fence.mbarrier_init.release.cluster"], "restricted"),
    "a restricted proxy fence": (
        ["fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"], "restricted",
    ),
    "shared memory of another CTA": (
        ["mapa.shared::cluster.u32 a, y, 1", "st.weak.shared::cluster.u32 [a], 1"], "accesses no variable",
    ),
    "a generic address": (["mbarrier.arrive.b64 _, [bar]"], "accesses no variable|name its state space"),
    "a store without a cluster": (
        ["st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [z], 1, [bar]"], "in a cluster of several CTAs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_followed_is_said(what: str) -> None:
    rows, words = REFUSED[what]
    with pytest.raises((Unsupported, ValueError), match=words):
        ptxspec.litmus(with_rows(*rows))


def test_a_launch_with_a_copy_is_refused() -> None:
    text = """.version 8.0 .target sm_90 .address_size 64
    .global .b32 x; .shared .b32 y;
    .visible .entry k() { cp.async.ca.shared.global [y], [x], 4; cp.async.wait_all; ret; }"""
    with pytest.raises(Unsupported, match=r"cp\.async"):
        ptxspec.outcomes(ptxspec.load(text), "k")


@pytest.mark.parametrize("bytes", [4, 8, 16])
def test_a_copy_fills_with_zeros(bytes: int) -> None:
    """Of sixteen bytes some are read: the others become zeros, as in a launch."""
    text = with_rows(
        f"cp.async.ca.shared.global [y], [x], 16, {bytes}", "cp.async.wait_all", "ld.weak.shared.u64 r2, [y + 8]",
        "setp.eq.u64 p, r2, 5", "selp.u32 r0, 1, 0, p", memory=f".b128 x = {5 << 64 | 1}; .shared .b128 y = {7 << 64};",
    )  # fmt: skip
    assert ptxspec.litmus(text).status == ("allowed" if bytes == 16 else "forbidden")


@pytest.mark.parametrize(
    ("op", "type", "was", "value", "left"),
    [
        ("add", "u32", 0xFFFFFFFF, 2, 1),
        ("min", "s32", 0xFFFFFFFF, 2, 0xFFFFFFFF),
        ("max", "u64", 5, 1 << 40, 1 << 40),
        ("and", "b32", 0xF0, 0x3C, 0x30),
        ("inc", "u32", 7, 7, 0),
        ("add.noftz", "f16", 0x3C00, 0x4000, 0x4200),
    ],
)
def test_elements_are_changed_as_in_a_launch(op: str, type: str, was: int, value: int, left: int) -> None:
    """The second element of sixteen bytes, all others of which stay zero where both are."""
    bits = int(type[1:])
    rows = f"""cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{type} [x], [y], 16 ;
    cp.async.bulk.commit_group ;
    cp.async.bulk.wait_group 0 ;
    ld.global.b{bits} v, [x + {bits // 8}] ;
    mov.b{bits} w, {left} ;
    setp.eq.b{bits} p, v, w ;
    selp.u32 r0, 1, 2, p"""
    memory = f".b128 x = {was << bits}; .shared .b128 y = {value << bits};"
    for by in ("enumeration", "solver"):
        text = with_rows(rows, memory=memory)
        assert ptxspec.litmus(text, by=by).status == "allowed"  # type: ignore[arg-type]
        other = text.replace("r0 == 1", "r0 == 2")
        assert ptxspec.litmus(other, by=by).status == "forbidden"  # type: ignore[arg-type]


# random programs ----------------------------------------------------------------------------------------------------------


def random_text(seed: int) -> str:
    """Two or three threads with a few stores, copies, arrivals and waits each."""
    source = random.Random(f"asynchronous {seed}")
    threads = source.choice([2, 2, 3])
    columns = [[_instruction(source, k) for k in range(source.randrange(2, 5))] for _ in range(threads)]
    heads = " | ".join(f"P{k}@cta {source.choice([0, 0, 1])},cluster 0,gpu 0" for k in range(threads))
    rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) for i in range(max(map(len, columns)))]
    loaded = [(k, i) for k, column in enumerate(columns) for i, row in enumerate(column) if "ld.weak" in row] or [
        (0, 0)
    ]
    some = source.sample(loaded, min(2, len(loaded)))
    asked = " /\\ ".join(f"P{k}:r{i} == {source.choice([0, 1])}" for k, i in some)
    memory = f"x = 0; v = 0; .shared .b32 y; .shared mbarrier bar = {source.choice([1, 1, 2])};"
    return "\n".join(["PTX t", f"{{ {memory} }}", f"{heads} ;", *(f"{row} ;" for row in rows), f"exists ({asked})"])


def _instruction(source: random.Random, k: int) -> str:
    order = source.choice(["", "", ".release.cluster", ".relaxed.cta"])
    wait = source.choice(["", "", ".acquire.cluster", ".relaxed.cta"])
    return source.choice(
        [
            f"st.weak {source.choice('xv')}, 1",
            "st.weak y, 1",
            f"ld.weak r{k}, {source.choice('xvy')}",
            f"cp.async.ca.shared.global [y], [{source.choice('xv')}], 4",
            source.choice(["cp.async.wait_all", "cp.async.commit_group", "cp.async.wait_group 0"]),
            "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]",
            f"mbarrier.arrive{order}.shared.b64 _, [bar]",
            f"mbarrier.test_wait.parity{wait}.shared.b64 p, [bar], {source.choice([0, 0, 1])}",
            f"@p ld.weak r{k}, {source.choice('xvy')}",
            f"fence.acq_rel.{source.choice(['cta', 'cluster'])}",
        ]
    )


def text_with_reductions(seed: int) -> str:
    """Two threads whose CTAs have no memory add to that of a third one in their cluster."""
    source = random.Random(f"reductions {seed}")
    owner = [
        f"mbarrier.arrive.expect_tx.shared.b64 _, [bar], {source.choice([4, 8])}",
        *source.sample([f"red.relaxed.{source.choice(['cta', 'cluster'])}.shared.add.u32 [y], 1", "st.weak y, 2"], 1),
        f"mbarrier.test_wait.parity{source.choice(['', '.acquire.cluster'])}.shared.b64 p, [bar], 0",
        f"{source.choice(['', '@p '])}ld.weak r0, {source.choice(['y', 'y', 'x'])}",
    ]
    ending = "shared::cluster.mbarrier::complete_tx::bytes"
    kinds = [
        f"red.async.relaxed.cluster.{ending}.add.u32 [a], 1, [b]", f"st.async.{ending}.u32 [a], 2, [b]",
        "red.relaxed.cluster.shared::cluster.add.u32 [a], 1", "st.weak x, 1", "fence.acq_rel.cluster",
    ]  # fmt: skip
    others = [source.sample(kinds, source.randrange(1, 3)) for _ in range(2)]
    remote = ["mapa.shared::cluster.u32 a, y, 0", "mapa.shared::cluster.u32 b, bar, 0"]
    columns = [owner, *([*remote, *rows] for rows in others)]
    rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) for i in range(4)]
    heads = " | ".join(f"P{k}@cta {k},cluster 0,gpu 0" for k in range(3))
    memory = "x = 0; .shared .b32 y; .shared mbarrier bar = 1;"
    asked = f"exists (P0:r0 == {source.choice([0, 1, 2, 3])})"
    return "\n".join(["PTX t", f"{{ {memory} }}", f"{heads} ;", *(f"{row} ;" for row in rows), asked])


def text_with_boxes(seed: int) -> str:
    """Two threads with copies of boxes, products and a tensor map that may be changed."""
    source = random.Random(f"boxes {seed}")
    columns = [[row for _ in range(source.randrange(1, 4)) for row in _step_with_boxes(source)] for _ in range(2)]
    for column in columns:
        if any("wgmma.mma_async" in row for row in column):
            column += source.choice([["wgmma.commit_group", "wgmma.wait_group 0"]] * 4 + [["wgmma.wait_group 0"]])
    heads = " | ".join(f"P{k}@cta {source.choice([0, 0, 1])},gpu 0" for k in range(2))
    rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) for i in range(max(map(len, columns)))]
    reading = [k for k, column in enumerate(columns) if any(" r0, " in row for row in column)] or [0]
    asked = f"P{source.choice(reading)}:r0 == {source.choice([0, 0, 1, 1, 2, 3])}"
    memory = ".b128 x = 1; .b128 z = 2; .tensormap m = x; .shared .b128 y = 3; .shared mbarrier bar = 1;"
    return "\n".join(["PTX t", f"{{ {memory} }}", f"{heads} ;", *(f"{row} ;" for row in rows), f"exists ({asked})"])


def _step_with_boxes(source: random.Random) -> list[str]:
    """One or several rows of a thread."""
    delivers = "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [y], [m, {0}], [bar]"
    changes = ["mov.u64 a, z", "tensormap.replace.tile.global_address.global.b1024.b64 [m], a"]
    steps: list[list[str]] = [
        [f"st.global.u32 [{source.choice('xz')}], 0"], ["st.shared.u32 [y], 0"],
        [f"ld.global.u32 r0, [{source.choice('xz')}]"], ["ld.shared.u32 r0, [y]"],
        ["mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16", delivers],
        ["mbarrier.try_wait.parity.shared.b64 p, [bar], 0", "@p ld.shared.u32 r0, [y]"],
        ["cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [m, {0}], [y]", "cp.async.bulk.commit_group"],
        [f"cp.async.bulk.wait_group{source.choice(['', '.read'])} 0"],
        ["wgmma.fence", "wgmma.mma_async r0, y", "wgmma.commit_group", "wgmma.wait_group 0"],
        ["wgmma.fence", "wgmma.mma_async r1, y"],
        changes, ["mov.u64 b, m", "fence.proxy.tensormap::generic.acquire.gpu [b], 128"],
        [source.choice(["fence.proxy.async", "fence.acq_rel.gpu", "bar.sync 0"])],
    ]  # fmt: skip
    return source.choice(steps)


def compare(seed: int, written: Callable[[int], str] = random_text) -> str:
    text = written(seed)
    try:
        ways = ("enumeration", "solver")  # neither may run out of time on a busy machine
        enumerated, solved = (ptxspec.litmus(text, by=by, timeout=600) for by in ways)  # type: ignore[arg-type]
    except Unsupported as refusal:
        assert str(refusal).endswith("orders"), f"{seed}\n{text}"
        return "too many orders"
    assert enumerated.status == solved.status, f"{seed}\n{text}\n{enumerated}\n{solved}"
    assert (enumerated.witness is None) == (solved.witness is None), f"{seed}\n{text}"
    return enumerated.status


def worth(counts: Counter[str]) -> None:
    total = counts.total()
    assert counts["too many orders"] <= total / 20, counts
    assert counts["allowed"] > total / 10 and counts["forbidden"] > total / 10, counts


@pytest.mark.slow
def test_random_programs() -> None:
    worth(Counter(map(compare, range(60))))


@pytest.mark.slow
def test_random_programs_with_boxes() -> None:
    worth(Counter(compare(seed, text_with_boxes) for seed in range(24)))


@pytest.mark.slow
def test_more_random_programs_with_boxes() -> None:
    worth(Counter(compare(seed, text_with_boxes) for seed in range(100, 260)))


@pytest.mark.slow
def test_random_programs_with_reductions() -> None:
    worth(Counter(compare(seed, text_with_reductions) for seed in range(16)))


@pytest.mark.slow
def test_more_random_programs_with_reductions() -> None:
    worth(Counter(compare(seed, text_with_reductions) for seed in range(100, 180)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 340, 60))
def test_more_random_programs(first: int) -> None:
    worth(Counter(map(compare, range(first, first + 60))))


@pytest.mark.long
@pytest.mark.parametrize("first", range(340, 1340, 250))
def test_many_random_programs(first: int) -> None:
    worth(Counter(map(compare, range(first, first + 250))))
