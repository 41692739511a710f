"""Clusters of CTAs: their shape, the registers that tell it, one another's shared memory, and the barrier they have in common."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import LAYOUT, both, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(8)

Extents = tuple[int, int, int]
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;"

# shape ---------------------------------------------------------------------------------------------------------------

REGISTERS = [f"%{r}.{c}" for r in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for c in "xyzw"]
REGISTERS += ["%cluster_ctarank", "%cluster_nctarank"]
TELL = text(
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;"
    "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; ld.param.u64 %rd0, [out];"
    f"mad.wide.u32 %rd1, %r6, {4 * len(REGISTERS) + 4}, %rd0;"
    + "".join(f"mov.u32 %r9, {r}; st.global.u32 [%rd1+{4 * i}], %r9;" for i, r in enumerate(REGISTERS))
    + "mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p1;"
    + f"st.global.u32 [%rd1+{4 * len(REGISTERS)}], %r9; ret;"
)


def told(grid: Extents, cluster: Extents | None) -> list[list[int]]:
    """What every CTA reads, in the order of the CTAs of the grid."""
    out = np.full((grid[0] * grid[1] * grid[2], len(REGISTERS) + 1), 99, np.uint32)
    return both(TELL, [out], grid=grid, cluster=cluster)[0].tolist()


def coordinates(grid: Extents, cluster: Extents, explicit: bool) -> list[list[int]]:
    """The same by going through the clusters, and through the CTAs of each."""
    found = {}
    clusters = [g // c for g, c in zip(grid, cluster, strict=True)]
    for at in itertools.product(*map(range, clusters)):
        for rank, (z, y, x) in enumerate(itertools.product(*map(range, cluster[::-1]))):
            own = [at[0] * cluster[0] + x, at[1] * cluster[1] + y, at[2] * cluster[2] + z]
            row = [*at, 0, *clusters, 0, x, y, z, 0, *cluster, 0, rank, cluster[0] * cluster[1] * cluster[2]]
            found[own[2], own[1], own[0]] = [*row, int(explicit)]
    return [found[place] for place in sorted(found)]


@pytest.mark.parametrize(
    ("grid", "cluster"),
    [
        ((4, 4, 2), (1, 1, 1)),
        ((4, 4, 2), (2, 1, 1)),
        ((4, 4, 2), (2, 2, 1)),
        ((4, 4, 2), (1, 2, 2)),
        ((4, 4, 2), (4, 2, 1)),
        ((6, 1, 1), (3, 1, 1)),
        ((1, 1, 5), (1, 1, 5)),
        ((3, 2, 7), (1, 1, 7)),
    ],
)
def test_special_registers(grid: Extents, cluster: Extents) -> None:
    assert told(grid, cluster) == coordinates(grid, cluster, True)


def test_without_clusters_each_cta_is_one() -> None:
    assert told((3, 2, 2), None) == coordinates((3, 2, 2), (1, 1, 1), False)


@pytest.mark.slow
def test_a_cta_of_a_cluster_has_one_number() -> None:
    """However many clusters there are, and wherever batches end: each CTA runs once."""
    source = kernel(f"{SYNC} atom.global.add.u32 %r4, [%rd1], 1;")
    out = both(source, [np.zeros(60 * 4 * 96, np.uint32)], grid=(60 * 4), block=96, cluster=4)[0]
    assert (out == 1).all()


def test_directives_say_the_cluster() -> None:
    entries = {
        "two": ".reqnctapercluster 2", "one": ".reqnctapercluster 1", "none": ".reqnctapercluster 0",
        "some": ".explicitcluster", "few": ".maxclusterrank 2", "any": ".maxclusterrank 0", "many": ".reqnctapercluster 16",
    }  # fmt: skip
    bodies = {
        name: text(
            "ld.param.u64 %rd0, [out]; mov.u32 %r1, %cluster_nctarank; mov.pred %p1, %is_explicit_cluster;"
            "selp.u32 %r2, 100, 0, %p1; add.u32 %r1, %r1, %r2; st.global.u32 [%rd0], %r1; ret;",
            directives=directive,
        )
        for name, directive in entries.items()
    }

    def run(name: str, **how: object) -> int:
        return int(both(bodies[name], [np.zeros(1, np.uint32)], grid=how.pop("grid", 16), **how)[0][0])

    assert run("two") == run("two", cluster=2) == run("none", cluster=2) == run("few", cluster=2) == 102
    assert run("one") == run("some", cluster=1) == 101
    assert run("none") == run("few") == run("any") == 1
    assert run("some", cluster=(4, 1)) == run("any", cluster=4) == 104
    assert run("many", nonportable_cluster=True) == 116
    for name, how, complaint in (
        ("two", {"cluster": 4}, r"requires clusters of \(2, 1, 1\), not \(4, 1, 1\)"),
        ("two", {"grid": 3}, r"no multiple of the cluster \(2, 1, 1\)"),
        ("some", {}, "explicitcluster"),
        ("few", {"cluster": 4}, "at most 2 CTAs"),
        ("many", {}, "nonportable_cluster"),
        ("any", {"cluster": 16}, "nonportable_cluster"),
        ("any", {"cluster": 17, "grid": 17, "nonportable_cluster": True}, "at most 16 CTAs, not 17"),
        ("any", {"cluster": (2, 2, 1)}, "no multiple"),
        ("any", {"cluster": 0}, "at least 1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            run(name, **how)
    for wrong in ("2", 1.5, (2, 2, 2, 2)):
        with pytest.raises(TypeError, match="cluster is one, two or three integers"):
            run("any", cluster=wrong)


def test_blocks_are_clusters() -> None:
    """The grid counts clusters, and the threads are those that the entry asks for."""
    source = kernel(
        "add.u32 %r4, %r2, 1; st.global.u32 [%rd1], %r4;",
        directives=".reqntid 32 .reqnctapercluster 2 .blocksareclusters",
    )
    for block in (1, 32):
        out = both(source, [np.zeros(6 * 32, np.uint32)], grid=3, block=block)[0]
        assert out.reshape(6, 32).tolist() == [[i + 1] * 32 for i in range(6)]


# shared memory -------------------------------------------------------------------------------------------------------

OTHER = """
    mov.u32 %r20, %cluster_ctarank;
    mov.u32 %r21, %cluster_nctarank;
    add.u32 %r22, %r20, 1;
    rem.u32 %r22, %r22, %r21;
"""
#: ways to reach the word `mine+4` of the CTA of rank %r22; %r24 is loaded
REACHES = {
    "a register": "mov.u32 %r23, mine; mapa.shared::cluster.u32 %r23, %r23, %r22; ld.shared::cluster.u32 %r24, [%r23+4];",
    "a variable": "mapa.shared::cluster.u32 %r23, mine, %r22; ld.shared::cluster.u32 %r24, [%r23+4];",
    "an offset": "mapa.shared::cluster.u32 %r23, mine+4, %r22; ld.volatile.shared::cluster.u32 %r24, [%r23];",
    "64 bits": "mapa.shared::cluster.u64 %rd9, mine+4, %r22; ld.relaxed.cluster.shared::cluster.u32 %r24, [%rd9];",
    "a wide register": "mov.u64 %rd9, mine; mapa.shared::cluster.u64 %rd9, %rd9, %r22; ld.shared::cluster.u32 %r24, [%rd9+4];",
    "generic": "cvta.shared.u64 %rd9, mine; mapa.u64 %rd9, %rd9, %r22; ld.u32 %r24, [%rd9+4];",
    "made generic": "mapa.shared::cluster.u64 %rd9, mine, %r22; cvta.shared::cluster.u64 %rd9, %rd9; ld.acquire.cluster.u32 %r24, [%rd9+4];",
    "made of a generic one": "cvta.shared.u64 %rd9, mine; mapa.u64 %rd9, %rd9, %r22; cvta.to.shared::cluster.u64 %rd9, %rd9;"
    "ld.shared::cluster.u32 %r24, [%rd9+4];",
    "a vector": "mapa.shared::cluster.u32 %r23, mine, %r22; ld.shared::cluster.v2.u32 {%r25, %r24}, [%r23];",
    "an update": "mapa.shared::cluster.u32 %r23, mine+4, %r22; atom.shared::cluster.add.u32 %r24, [%r23], 0;",
    "a generic update": "cvta.shared.u64 %rd9, mine+4; mapa.u64 %rd9, %rd9, %r22; atom.add.u32 %r24, [%rd9], 0;",
}  # fmt: skip


@pytest.mark.parametrize("way", REACHES)
@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 3, 1), (2, 2, 2)])
def test_a_neighbour_is_reached(way: str, shape: Extents) -> None:
    source = kernel(
        ".shared .b8 before[24]; .shared .align 8 .u32 mine[2];"
        "mov.u32 %r16, %ctaid.y; mov.u32 %r17, %ctaid.z; mov.u32 %r18, %nctaid.y; mov.u32 %r19, %nctaid.x;"
        "mad.lo.u32 %r0, %r17, %r18, %r16; mad.lo.u32 %r0, %r0, %r19, %r2; mad.wide.u32 %rd1, %r0, 4, %rd0;"
        f"{OTHER} st.shared.u32 [mine+4], %r0; {SYNC} {REACHES[way]} {SYNC} st.global.u32 [%rd1], %r24;"
    )
    grid = (2 * shape[0], shape[1], 2 * shape[2])
    out = both(source, [np.zeros(np.prod(grid), np.uint32)], grid=grid, cluster=shape)[0]
    number = np.arange(out.size).reshape(grid[::-1])
    wanted = np.empty_like(number)
    for z, x in itertools.product((0, shape[2]), (0, shape[0])):
        part = np.s_[z : z + shape[2], :, x : x + shape[0]]
        wanted[part] = np.roll(number[part].ravel(), -1).reshape(number[part].shape)
    assert out.tolist() == wanted.ravel().tolist()


def test_stores_reach_a_neighbour() -> None:
    """One to each word, in every way."""
    ways = [
        "mapa.shared::cluster.u32 %r23, to, %r22; st.shared::cluster.u32 [%r23], %r0;",
        "mapa.shared::cluster.u32 %r23, to+4, %r22; st.release.cluster.shared::cluster.u32 [%r23], %r0;",
        "mapa.shared::cluster.u32 %r23, to, %r22; red.shared::cluster.add.u32 [%r23+8], %r0;",
        "cvta.shared.u64 %rd9, to; mapa.u64 %rd9, %rd9, %r22; st.u32 [%rd9+12], %r0;",
        "red.add.u32 [%rd9+16], %r0;",
        "mapa.shared::cluster.u64 %rd8, to, %r22; atom.shared::cluster.exch.b32 _, [%rd8+20], %r0;",
        "st.volatile.shared::cluster.v2.u32 [%rd8+24], {%r0, %r0};",
    ]
    keep = "".join(f"ld.shared.u32 %r4, [to+{4 * i}]; st.global.u32 [%rd7+{4 * i}], %r4;" for i in range(8))
    place = "mul.wide.u32 %rd7, %r0, 32; add.u64 %rd7, %rd7, %rd0;"
    source = kernel(f".shared .align 8 .u32 to[8]; {OTHER} {SYNC} {' '.join(ways)} {SYNC} {place} {keep}")
    out = both(source, [np.zeros((6, 8), np.uint32)], grid=6, cluster=3)[0]
    assert out.tolist() == [[i] * 8 for i in (2, 0, 1, 5, 3, 4)]


def test_dynamic_shared_memory_lies_in_each_part() -> None:
    source = kernel(
        f"{OTHER} mov.u32 %r4, dynamic; mad.lo.u32 %r4, %r1, 4, %r4; st.shared.u32 [%r4], %r0; {SYNC}"
        f"mapa.shared::cluster.u32 %r5, %r4, %r22; ld.shared::cluster.u32 %r6, [%r5]; {SYNC} st.global.u32 [%rd1], %r6;",
        module=".extern .shared .align 4 .b8 dynamic[]; .shared .b8 some[3];",
    )
    out = both(source, [np.zeros((8, 64), np.uint32)], grid=8, block=64, cluster=4, dynamic_shared=256)[0]
    numbers = np.arange(8 * 64).reshape(2, 4, 64)
    assert (out.reshape(2, 4, 64) == np.roll(numbers, -1, axis=1)).all()


@pytest.mark.slow
def test_a_histogram_over_the_cluster() -> None:
    """Each CTA holds a part of the bins, and all threads of the cluster count into all of them."""
    source = kernel(
        f"""
        .shared .u32 bins[64];
        setp.lt.u32 %p1, %r1, 64;
        mov.u32 %r4, bins;
        mad.lo.u32 %r4, %r1, 4, %r4;
        @%p1 st.shared.u32 [%r4], 0;
        {SYNC}
        ld.param.u64 %rd2, [values];
        mad.wide.u32 %rd3, %r0, 4, %rd2;
        ld.global.u32 %r5, [%rd3];
        shr.u32 %r6, %r5, 6;
        and.b32 %r7, %r5, 63;
        mov.u32 %r8, bins;
        mapa.shared::cluster.u32 %r8, %r8, %r6;
        mad.lo.u32 %r8, %r7, 4, %r8;
        red.relaxed.cluster.shared::cluster.add.u32 [%r8], 1;
        {SYNC}
        mad.lo.u32 %r9, %r2, 64, %r1;
        mad.wide.u32 %rd4, %r9, 4, %rd0;
        @%p1 ld.shared.u32 %r10, [%r4];
        @%p1 st.global.u32 [%rd4], %r10;
    """,
        ".param .u64 out, .param .u64 values",
    )
    values = np.random.default_rng(1).integers(0, 512, (3, 8 * 128), np.uint32)
    out = both(source, [np.zeros((3, 512), np.uint32), values], grid=24, block=128, cluster=8)[0]
    assert out.tolist() == [np.bincount(row, minlength=512).tolist() for row in values]


def test_the_largest_cluster() -> None:
    """Sixteen CTAs of 1024 threads add up what all have."""
    source = kernel(
        f"""
        .shared .u32 sum;
        mapa.shared::cluster.u32 %r4, sum, 0;
        {SYNC}
        red.shared::cluster.add.u32 [%r4], %r0;
        {SYNC}
        ld.shared::cluster.u32 %r5, [%r4];
        {SYNC}
        st.global.u32 [%rd1], %r5;
    """
    )
    module = ptxspec.load(source)
    out = np.zeros(16 * 1024, np.uint32)
    module.launch("k", 16, 1024, [out], cluster=16, nonportable_cluster=True)
    assert (out == np.arange(out.size).sum()).all()


def test_variables_of_functions() -> None:
    """A function names what lies in the CTA of the thread that calls it."""
    source = kernel(
        f"{OTHER} {{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), put, (a); }} {SYNC}"
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r22; call (r), take, (a); ld.param.b32 %r4, [r]; }"
        f"{SYNC} st.global.u32 [%rd1], %r4;",
        module="""
        .shared .u32 cell;
        .func (.param .b32 r) put(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.shared.u32 [cell], %x; ret; }
        .func (.param .b32 r) take(.param .b32 a) {
            .reg .b32 %x; .reg .b64 %y; ld.param.b32 %x, [a]; cvta.shared.u64 %y, cell; mapa.u64 %y, %y, %x; ld.u32 %x, [%y];
            st.param.b32 [r], %x; ret;
        }""",
    )
    assert both(source, [np.zeros(4, np.uint32)], grid=4, cluster=2)[0].tolist() == [1, 0, 3, 2]


def test_addresses_tell_where_they_lie() -> None:
    """Of the own variable, and of the one in the CTA of rank 1: the rank, and the windows it lies in."""
    asks = ""
    at = 0
    for address in ("%rd8", "%rd9"):
        asks += f"getctarank.u64 %r4, {address}; cvta.to.shared::cluster.u64 %rd10, {address};"
        asks += "cvt.u32.u64 %r6, %rd10; getctarank.shared::cluster.u32 %r5, %r6; mul.lo.u32 %r5, %r5, 10;"
        asks += f"add.u32 %r4, %r4, %r5; st.global.u32 [%rd7+{at}], %r4;"
        at += 4
        for space in ("shared", "shared::cta", "shared::cluster", "global"):
            asks += f"isspacep.{space} %p1, {address}; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%rd7+{at}], %r4;"
            at += 4
    source = kernel(
        f".shared .u32 s; mul.wide.u32 %rd7, %r0, 40; add.u64 %rd7, %rd7, %rd0;"
        f"cvta.shared.u64 %rd8, s; mapa.u64 %rd9, %rd8, 1; {asks}"
    )
    out = both(source, [np.zeros((3, 10), np.uint32)], grid=3, cluster=3)[0]
    assert out[0].tolist() == [0, 1, 1, 1, 0, 11, 0, 0, 1, 0]
    assert out[1].tolist() == [11, 1, 1, 1, 0, 11, 1, 1, 1, 0]
    assert out[2].tolist() == [22, 1, 1, 1, 0, 11, 0, 0, 1, 0]


def test_addresses_are_the_same_for_the_whole_cluster() -> None:
    """What one CTA calls its own can be handed to another."""
    source = kernel(
        f"""
        .shared .u32 s; .shared .u32 given;
        {OTHER}
        st.shared.u32 [s], %r0;
        mov.u32 %r4, s;
        mapa.shared::cluster.u32 %r5, given, %r22;
        {SYNC}
        st.shared::cluster.u32 [%r5], %r4;
        {SYNC}
        ld.shared.u32 %r6, [given];
        ld.shared::cluster.u32 %r7, [%r6];
        {SYNC}
        st.global.u32 [%rd1], %r7;
    """
    )
    assert both(source, [np.zeros(4, np.uint32)], grid=4, cluster=4)[0].tolist() == [3, 0, 1, 2]


@settings(deadline=None)
@given(st.integers(0, LAYOUT.PART - 1), st.integers(0, 15), st.integers(0, 15))
def test_ranks_come_back(offset: int, first: int, second: int) -> None:
    ask = "mapa.shared::cluster.u32 b, a, r; getctarank.shared::cluster.u32 x, b; mapa.shared::cluster.u32 c, b, s; mapa.shared::cluster.u32 d, a, s;"
    found = ptxspec.evaluate(ask, a=offset, r=first, s=second)
    assert found["x"] == first
    assert found["c"] == found["d"]
    assert found["c"] % LAYOUT.PART == offset


def test_a_generic_address_of_no_shared_memory_gives_anything() -> None:
    for line in ("mapa.u64 d, a, r;", "getctarank.u64 d, a;"):
        operands = {"a": LAYOUT.GLOBAL_BASE} | ({"r": 0} if "r;" in line else {})
        assert ptxspec.evaluate(line, **operands).chosen[0].entry == "no-shared-address"


# faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "rule", "note"),
    [
        ("mapa.shared::cluster.u32 %r4, s, 2; ld.shared::cluster.u32 %r5, [%r4];", "out of bounds", "no CTA of a cluster of 2"),
        ("mapa.shared::cluster.u32 %r4, s, -1; st.shared::cluster.u32 [%r4], %r5;", "out of bounds", "no CTA of a cluster of 2"),
        ("mapa.shared::cluster.u32 %r4, s, 1; ld.shared::cluster.u32 %r5, [%r4+8];", "out of bounds", "rank 1, which holds 8"),
        ("mapa.shared::cluster.u32 %r4, s, 1; ld.shared::cluster.u32 %r5, [%r4+2];", "misaligned", "4 bytes"),
        ("mapa.shared::cluster.u32 %r4, s, 1; ld.shared::cluster.v2.u32 {%r5, %r6}, [%r4+4];", "misaligned", "8 bytes"),
        ("mapa.shared::cluster.u32 %r4, s, 1; ld.shared.u32 %r5, [%r4];", "out of bounds", "rank 1, this one has rank 0"),
        ("mapa.shared::cluster.u32 %r4, s, 1; atom.shared::cta.add.u32 %r5, [%r4], 1;", "out of bounds", "rank 1"),
        ("mov.u32 %r4, s; add.u32 %r4, %r4, 8; ld.shared::cluster.u32 %r5, [%r4];", "out of bounds", "s+8, which has 8 bytes"),
        ("mov.u32 %r4, s; sub.u32 %r4, %r4, 4; ld.shared.u32 %r5, [%r4];", "out of bounds", ""),
        ("cvta.shared.u64 %rd4, s; mapa.u64 %rd4, %rd4, 3; ld.u32 %r5, [%rd4];", "out of bounds", "no CTA of a cluster of 2"),
        ("cvta.shared.u64 %rd4, s; mapa.u64 %rd4, %rd4, 1; st.u64 [%rd4+8], %rd4;", "out of bounds", "rank 1, which holds 8"),
        ("mov.u64 %rd4, 0x10000000; ld.shared::cluster.u32 %r5, [%rd4];", "out of bounds", "no CTA"),
    ],
)  # fmt: skip
def test_accesses_that_reach_nothing(access: str, rule: str, note: str) -> None:
    found = fault(kernel(f".shared .align 8 .u32 s[2]; {access}"), [np.zeros(2, np.uint32)], grid=2, cluster=2)
    assert found.rule == rule
    assert note in found.note


def test_a_part_without_a_cta_is_out_of_bounds_without_clusters_too() -> None:
    source = kernel(".shared .u32 s; mapa.shared::cluster.u32 %r4, s, 1; ld.shared::cluster.u32 %r5, [%r4];")
    assert fault(source, [np.zeros(1, np.uint32)]).rule == "out of bounds"
    source = kernel(
        ".shared .u32 s; mapa.shared::cluster.u32 %r4, s, 0; st.shared::cluster.u32 [%r4], 7; ld.shared.u32 %r5, [s]; st.global.u32 [%rd1], %r5;"
    )
    assert both(source, [np.zeros(1, np.uint32)])[0].tolist() == [7]


@pytest.mark.parametrize("access", ["ld.shared::cluster.u32 %r5, [%r4];", "red.shared::cluster.add.u32 [%r4], 1;",
                                    "cvt.u64.u32 %rd4, %r4; cvta.shared::cluster.u64 %rd4, %rd4; st.u32 [%rd4], 1;"])  # fmt: skip
@pytest.mark.parametrize("leave", ["@%p1 exit;", "@%p1 ret;"])
def test_shared_memory_ends_with_its_cta(access: str, leave: str) -> None:
    """The CTA of rank 1 ends; when it has, the other reaches into it. With one thread of it alive there is no harm. The threads of
    rank 0 take so long that all others have had their turns."""
    late = "mov.u32 %r6, 0; LATE: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 2000; @%p2 bra LATE;"
    rest = f"{late} mapa.shared::cluster.u32 %r4, s, 1; {access}"
    source = kernel(f".shared .u32 s; {OTHER} setp.eq.u32 %p1, %r20, 1; {SYNC} {leave} {rest}")
    found = fault(source, [np.zeros(64, np.uint32)], grid=2, block=32, cluster=2)
    assert found.rule == "use after end"
    assert "rank 1" in found.note
    assert found.where is not None and found.where.cta == (0, 0, 0)
    source = kernel(
        f".shared .u32 s; {OTHER} setp.eq.u32 %p1, %r20, 1; setp.ne.and.u32 %p1, %r1, 5, %p1; {SYNC} {leave} {rest}"
    )
    both(source, [np.zeros(64, np.uint32)], grid=2, block=32, cluster=2)


@pytest.mark.slow
def test_those_who_ended_in_one_batch_are_forgotten_in_the_next() -> None:
    """More CTAs than are resident at once, in a kernel whose threads wait for nobody."""
    source = kernel(
        ".shared .u32 s; mov.u32 %r20, %cluster_ctarank; setp.eq.u32 %p1, %r20, 1; @%p1 exit;"
        "mapa.shared::cluster.u32 %r4, s, 1; ld.shared::cluster.u32 %r5, [%r4]; add.u32 %r5, %r5, 7; st.global.u32 [%rd1], %r5;"
    )
    out = both(source, [np.zeros((18, 1024), np.uint32)], grid=18, block=1024, cluster=2)[0]
    assert out[::2].min() == 7 and out[1::2].max() == 0


def test_own_shared_memory_outlives_threads_of_the_cta() -> None:
    source = kernel(
        ".shared .u32 s; setp.lt.u32 %p1, %r1, 31; @%p1 exit;"
        "mapa.shared::cluster.u32 %r4, s, 0; st.shared::cluster.u32 [s], 3; ld.shared.u32 %r5, [s]; st.global.u32 [%rd1], %r5;"
    )
    out = both(source, [np.zeros((2, 32), np.uint32)], grid=2, block=32, cluster=2)[0]
    assert out[:, 31].tolist() == [3, 3] and not out[:, :31].any()


# the barrier ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sync",
    [
        SYNC,
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
        "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;",
        "barrier.cluster.arrive.release.aligned; add.u32 %r30, %r30, 1; barrier.cluster.wait;",
    ],
)
@pytest.mark.parametrize("cluster", [None, 1, 4])
def test_values_go_round(sync: str, cluster: int | None) -> None:
    """Every round each CTA hands on what it has; without clusters it keeps it."""
    source = kernel(
        f"""
        .shared .u32 cell[64];
        {OTHER}
        mad.lo.u32 %r4, %r1, 4, 0;
        mov.u32 %r5, cell;
        add.u32 %r4, %r4, %r5;
        mapa.shared::cluster.u32 %r5, %r4, %r22;
        mov.u32 %r6, %r0;
        mov.u32 %r7, 0;
    ROUND:
        {sync}
        st.shared::cluster.u32 [%r5], %r6;
        {sync}
        ld.shared.u32 %r6, [%r4];
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, 5;
        @%p1 bra ROUND;
        {sync}
        st.global.u32 [%rd1], %r6;
    """
    )
    out = both(source, [np.zeros((8, 40), np.uint32)], grid=8, block=40, cluster=cluster)[0]
    numbers = np.arange(320).reshape(-1, cluster or 1, 40)
    assert (out.reshape(numbers.shape) == np.roll(numbers, 5, axis=1)).all()


def test_threads_that_have_ended_are_not_waited_for() -> None:
    """Whole CTAs and parts of warps end before, between the arrival and the wait, and while others wait."""
    source = kernel(
        f"""
        setp.eq.u32 %p1, %r2, 1;
        @%p1 exit;
        setp.gt.u32 %p1, %r1, 40;
        @%p1 exit;
        barrier.cluster.arrive;
        setp.eq.u32 %p1, %r1, 7;
        @%p1 exit;
        barrier.cluster.wait;
        setp.eq.u32 %p1, %r1, 8;
        @%p1 bra LATE;
        {SYNC}
        bra DONE;
    LATE:
        bar.warp.sync 256;
        exit;
    DONE:
        st.global.u32 [%rd1], 1;
    """
    )
    out = both(source, [np.zeros((4, 64), np.uint32)], grid=4, block=64, cluster=4)[0]
    wanted = np.zeros((4, 64), np.uint32)
    wanted[[0, 2, 3], :41] = 1
    wanted[:, 7:9] = 0
    assert (out == wanted).all()


@pytest.mark.slow
def test_one_may_be_an_arrival_ahead() -> None:
    """A thread arrives anew before another, which has arrived, begins to wait."""
    source = kernel(
        """
        .shared .u32 flag;
        mapa.shared::cluster.u32 %r4, flag, 0;
        setp.eq.u32 %p1, %r2, 0;
        barrier.cluster.arrive;
        @!%p1 bra SECOND;
    WATCH:
        ld.volatile.shared.u32 %r5, [flag];
        setp.eq.u32 %p2, %r5, 0;
        @%p2 bra WATCH;
        barrier.cluster.wait;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        bra DONE;
    SECOND:
        barrier.cluster.wait;
        barrier.cluster.arrive;
        st.shared::cluster.u32 [%r4], 1;
        barrier.cluster.wait;
    DONE:
        st.global.u32 [%rd1], 1;
    """
    )
    assert both(source, [np.zeros(2, np.uint32)], grid=2, cluster=2)[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("body", "rule", "note"),
    [
        ("barrier.cluster.arrive; barrier.cluster.arrive;", "second arrival", "not waited since"),
        (
            "setp.eq.u32 %p1, %r0, 3; barrier.cluster.arrive; @%p1 barrier.cluster.arrive; barrier.cluster.wait;",
            "second arrival",
            "",
        ),
        ("barrier.cluster.wait;", "wait without arrival", "has not arrived"),
        (f"{SYNC} barrier.cluster.wait;", "wait without arrival", "has not arrived"),
        ("setp.eq.u32 %p1, %r0, 3; @!%p1 barrier.cluster.arrive; barrier.cluster.wait;", "wait without arrival", ""),
        (
            "setp.eq.u32 %p1, %r0, 3; @%p1 barrier.sync 0; barrier.cluster.arrive; barrier.cluster.wait;",
            "stuck barrier",
            "barrier 0",
        ),
        (
            "setp.eq.u32 %p1, %r0, 3; @%p1 bra ON; barrier.cluster.arrive; barrier.cluster.wait; ON: bar.warp.sync -1;"
            "@!%p1 ret; barrier.cluster.arrive;",
            "stuck warp",
            "",
        ),
    ],
)
def test_misuse_of_the_barrier(body: str, rule: str, note: str) -> None:
    found = fault(kernel(body), [np.zeros(8, np.uint32)], grid=4, block=2, cluster=4)
    assert found.rule == rule
    assert note in found.note
    assert found.page is not None and found.page.startswith("spec/machine/")


def test_a_barrier_that_spinning_threads_never_reach_ends_by_the_limit() -> None:
    source = kernel("setp.eq.u32 %p1, %r0, 1; L: @%p1 bra L; barrier.cluster.arrive; barrier.cluster.wait;")
    found = fault(source, [np.zeros(2, np.uint32)], grid=2, cluster=2, step_limit=100_000)
    assert found.rule == "step limit"


def test_clusters_do_not_wait_for_one_another() -> None:
    """One cluster's barrier completes although another's threads are at theirs less often."""
    source = kernel(
        """
        mov.u32 %r4, %clusterid.x;
        add.u32 %r4, %r4, 1;
    L:
        barrier.cluster.arrive;
        barrier.cluster.wait;
        sub.u32 %r4, %r4, 1;
        setp.ne.u32 %p1, %r4, 0;
        @%p1 bra L;
        st.global.u32 [%rd1], 1;
    """
    )
    assert (both(source, [np.zeros(320, np.uint32)], grid=10, block=32, cluster=2)[0] == 1).all()


def test_it_goes_together_with_the_barriers_of_the_cta() -> None:
    source = kernel(
        f"""
        .shared .u32 sum;
        mapa.shared::cluster.u32 %r4, sum, 0;
        red.shared.add.u32 [sum], %r1;
        bar.sync 0;
        setp.ne.u32 %p1, %r1, 0;
        mov.u32 %r20, %cluster_ctarank;
        setp.eq.or.u32 %p2, %r20, 0, %p1;
        @!%p2 ld.shared.u32 %r5, [sum];
        {SYNC}
        @!%p2 red.shared::cluster.add.u32 [%r4], %r5;
        {SYNC}
        ld.shared::cluster.u32 %r6, [%r4];
        bar.sync 1;
        {SYNC}
        st.global.u32 [%rd1], %r6;
    """
    )
    out = both(source, [np.zeros(4 * 64, np.uint32)], grid=4, block=64, cluster=4)[0]
    assert (out == 4 * sum(range(64))).all()


# texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "mapa.shared.u32 %r1, %r2, 1;", "mapa.shared::cta.u32 %r1, %r2, 1;", "mapa.shared::cluster.b32 %r1, %r2, 1;",
        "mapa.u64 %rd1, %rd2, %rd3;", "mapa.shared::cluster.u32 %r1, g, 1;", "mapa.shared::cluster.u32 _, %r2, 1;",
        "mapa.shared::cluster.u64 %rd1, %r2, 1;", "mapa.shared::cluster.u32 %r1, %tid.x, 1;",
        "getctarank.shared::cta.u32 %r1, %r2;", "getctarank.shared::cluster.u64 %rd1, %rd2;", "getctarank.u64 %r1, g;",
        "barrier.cluster.arrive.acquire;", "barrier.cluster.wait.release;", "barrier.cluster.sync;", "barrier.cluster.arrive 0;",
        "barrier.cluster.aligned.arrive;", "barrier.arrive.cluster;", "bar.cluster.arrive;", "membar.cluster;",
        "barrier.aligned.arrive 0, 32;", "barrier.cta.aligned.arrive 0, 32;",
        "red.shared::cluster.exch.b32 [%r1], %r2;", "mapa.shared::cluster.u32 %r1, [s], 1;",
    ],
)  # fmt: skip
def test_what_ptxas_refuses_is_refused(line: str) -> None:
    from ptxspec.evidence import assembler

    source = kernel(f".shared .u32 s; {line}", module=".global .u32 g;")
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(source)
    try:
        assembler.ptxas()
    except FileNotFoundError as why:
        pytest.skip(f"NO ORACLE: {why}")
    assert assembler.assemble(source), "ptxas accepts it"


@pytest.mark.parametrize(
    "line",
    [
        "mapa.u32.shared::cluster %r1, %r2, 1;", "mapa.shared::cluster.u32 %r1, 16, 1;", "mapa.u64 %rd1, 16, %r1;",
        "mapa.u32 %r1, %r2, %r3;", "mapa.shared::cluster.u64 %rd1, d, 99;", "getctarank.shared::cluster.u32 %r1, d+4;",
        "barrier.cluster.arrive.aligned.release;", "@%p1 barrier.cluster.wait.aligned;", "barrier.cta.aligned.sync 0;",
        "atom.cluster.relaxed.shared::cluster.min.u32 %r1, [d], 1;", "st.shared::cluster.u32 [d+4], 1;",
    ],
)  # fmt: skip
def test_what_ptxas_takes_is_taken(line: str) -> None:
    from ptxspec.evidence import assembler

    source = kernel(line, module=".extern .shared .align 4 .b8 d[];")
    ptxspec.load(source)
    try:
        assembler.ptxas()
    except FileNotFoundError as why:
        pytest.skip(f"NO ORACLE: {why}")
    assert not assembler.assemble(source)
