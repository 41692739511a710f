"""Special registers beyond a thread's coordinates: lane masks, clocks, sizes, the launch, clusters; and what may read them."""

from __future__ import annotations

import numpy as np
import pytest
from launching import ENGINES, both, kernel, text

import ptxspec
from ptxspec.query.equivalence import prove
from ptxspec.query.outcomes import Unsupported

pytestmark = pytest.mark.sample(4)

# values --------------------------------------------------------------------------------------------------------------


def reads(registers: list[str], type: str = "u32") -> str:
    """A kernel that stores each register, 4 or 8 bytes, in a row a thread."""
    size = 8 if type.endswith("64") else 4
    register = "%rd9" if size == 8 else "%r9"
    body = f"mad.wide.u32 %rd2, %r0, {size * len(registers)}, %rd0;\n"
    for i, name in enumerate(registers):
        body += f"mov.{type} {register}, {name}; st.global.{type} [%rd2+{size * i}], {register};\n"
    return kernel(body)


def test_lane_masks() -> None:
    """Against the relation itself, bit by bit, in more warps than one and in one that is not full."""
    relations = {
        "eq": lambda i, lane: i == lane,
        "le": lambda i, lane: i <= lane,
        "lt": lambda i, lane: i < lane,
        "ge": lambda i, lane: i >= lane,
        "gt": lambda i, lane: i > lane,
    }
    out = both(reads([f"%lanemask_{r}" for r in relations]), [np.zeros((70, 5), np.uint32)], block=70)[0]
    for thread in range(70):
        for column, holds in enumerate(relations.values()):
            bits = [holds(i, thread % 32) for i in range(32)]
            assert out[thread, column] == np.packbits(bits, bitorder="little").view("<u4")[0]


def test_clusters_of_one() -> None:
    names = [f"%{r}.{c}" for r in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for c in "xyzw"]
    names += ["%cluster_ctarank", "%cluster_nctarank"]
    out = both(reads(names), [np.full((3, 18), 9, np.uint32)], grid=3)[0]
    assert out.tolist() == [[i, 0, 0, 0, 3, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1] for i in range(3)]


def test_a_predicate() -> None:
    source = kernel("mov.pred %p1, %is_explicit_cluster; selp.u32 %r4, 1, 2, %p1; st.global.u32 [%rd1], %r4;")
    assert both(source, [np.zeros(2, np.uint32)], block=2)[0].tolist() == [2, 2]


def test_what_is_always_the_same() -> None:
    names = [f"%pm{i}" for i in range(8)] + [f"%envreg{i}" for i in range(32)] + ["%smid", "%nsmid"]
    names += [f"%{r}.w" for r in ("tid", "ntid", "ctaid", "nctaid")]
    out = both(reads(names), [np.full((2, len(names)), 9, np.uint32)], block=2)[0]
    assert out.tolist() == [[0] * 40 + [0, 1] + [0] * 4] * 2
    wide = [f"%pm{i}_64" for i in range(8)] + ["%current_graph_exec"]
    assert both(reads(wide, "u64"), [np.full((1, 9), 9, np.uint64)])[0].tolist() == [[0] * 9]


def test_sizes_of_shared_memory() -> None:
    names = ["%total_smem_size", "%dynamic_smem_size", "%aggr_smem_size"]
    names += [f"%reserved_smem_offset_{w}" for w in ("begin", "end", "cap", "0", "1")]
    static = ".shared .align 4 .b8 s[130];"
    for variables, dynamic, total in [
        ("", 0, 0),
        ("", 1, 128),
        (static, 0, 256),
        (static, 126, 256),
        (static, 127, 384),
    ]:
        source = reads(names).replace("mad.lo", variables + " mad.lo", 1)
        out = both(source, [np.full((1, 8), 9, np.uint32)], dynamic_shared=dynamic)[0]
        assert out.tolist() == [[total, dynamic, total, 0, 0, 0, 0, 0]], (variables, dynamic)


@pytest.mark.parametrize("engine", ENGINES)
def test_launches_are_numbered(engine: str) -> None:
    module = ptxspec.load(reads(["%gridid"], "u64"))
    seen = []
    for _ in range(3):
        out = np.zeros((2, 1), np.uint64)
        module.launch("k", args=[out], grid=2, engine=engine)
        seen.append(out[:, 0].tolist())
    assert seen == [[1, 1], [2, 2], [3, 3]]


# clocks --------------------------------------------------------------------------------------------------------------


def test_a_clock_counts_instructions() -> None:
    """A thread reads how many instructions all threads have executed before. Here each runs to its end in one turn: 21, with the
    return at the end of the body."""
    source = text(
        """
        mov.u64 %rd1, %clock64;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %clock;
        mov.u64 %rd3, %globaltimer;
        bra NEXT;
    NEXT:
        mov.u32 %r4, %globaltimer_lo;
        mov.u32 %r5, %clock_hi;
        mov.u32 %r6, %globaltimer_hi;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd0, %r1, 48, %rd0;
        cvt.u64.u32 %rd5, %r2;
        cvt.u64.u32 %rd6, %r4;
        cvt.u64.u32 %rd7, %r5;
        cvt.u64.u32 %rd8, %r6;
        st.global.u64 [%rd0], %rd1;
        st.global.u64 [%rd0+8], %rd5;
        st.global.u64 [%rd0+16], %rd3;
        st.global.u64 [%rd0+24], %rd6;
        st.global.u64 [%rd0+32], %rd7;
        st.global.u64 [%rd0+40], %rd8;
    """
    )
    out = both(source, [np.full((4, 6), 99, np.uint64)], block=4)[0]
    assert out.tolist() == [[21 * t, 21 * t + 2, 21 * t + 3, 21 * t + 5, 0, 0] for t in range(4)]


def test_a_clock_goes_on_through_all_ctas() -> None:
    """CTAs that are not resident together too: the second batch begins when the first has ended."""
    source = text("""
        mov.u32 %r2, %clock;
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r3, %tid.x;
        setp.ne.u32 %p0, %r3, 0;
        ld.param.u64 %rd0, [out];
        mad.wide.u32 %rd0, %r1, 4, %rd0;
        @!%p0 st.global.u32 [%rd0], %r2;
    """)
    out = both(source, [np.zeros(5, np.uint32)], grid=5, block=1024)[0]
    # seven instructions, and the return at the end of the body
    assert out.tolist() == [8 * 1024 * cta for cta in range(5)]


@pytest.mark.parametrize("clock", ["%clock", "%globaltimer_lo"])
def test_a_program_that_waits_for_some_time_ends(clock: str) -> None:
    """Each thread waits for a time of its own; a later reading is never less, and grows from one reading to the next."""
    source = kernel(f"""
        mov.u32 %r4, {clock};
        mul.lo.u32 %r5, %r1, 100;
    WAIT:
        mov.u32 %r6, {clock};
        sub.u32 %r7, %r6, %r4;
        setp.lt.u32 %p0, %r7, %r5;
        @%p0 bra WAIT;
        mov.u32 %r8, {clock};
        setp.le.u32 %p1, %r8, %r6;
        @%p1 trap;
        st.global.u32 [%rd1], %r7;
    """)
    out = both(source, [np.zeros(9, np.uint32)], block=9)[0]
    assert all(waited >= 100 * thread for thread, waited in enumerate(out.tolist()))


def test_guards_braces_and_accesses_around_a_clock() -> None:
    """The place in the block counts whether the instruction is guarded or not, and between accesses that may fault."""
    source = kernel("""
        setp.eq.u32 %p0, %r1, 1;
        mov.u32 %r20, 0;
        mov.b64 %rd4, {%clock, %clock_hi};
        st.global.u32 [%rd1], %r20;
        @%p0 mov.u32 %r20, %clock;
        @!%p0 ld.global.u32 %r21, [%rd1];
        mov.b64 {%r22, %r23}, %clock64;
        cvt.u32.u64 %r24, %rd4;
        sub.u32 %r25, %r22, %r24;
        sub.u32 %r26, %r20, %r24;
        selp.u32 %r26, %r26, %r25, %p0;
        st.global.u32 [%rd1], %r26;
    """)
    assert both(source, [np.zeros(3, np.uint32)], block=3)[0].tolist() == [4, 2, 4]


# who may read them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    ["mov.u16 %h1, {n}; cvt.u32.u16 %r4, %h1;", "mov.b16 %h1, {n}; cvt.u32.u16 %r4, %h1;", "cvt.u32.u16 %r4, {n};",
     "cvt.u64.u32 %rd2, {n}; cvt.u32.u64 %r4, %rd2;", "mov.s32 %r4, {n};"],
)  # fmt: skip
def test_coordinates_as_older_programs_read_them(read: str) -> None:
    source = kernel(read.format(n="%tid.x") + "st.global.u32 [%rd1], %r4;")
    assert both(source, [np.zeros(3, np.uint32)], block=3)[0].tolist() == [0, 1, 2]


@pytest.mark.slow
def test_only_the_low_half_is_read_as_sixteen_bits() -> None:
    source = kernel("mov.u16 %h1, %nctaid.x; cvt.u32.u16 %r4, %h1; st.global.u32 [%rd0], %r4;")
    assert both(source, [np.zeros(1, np.uint32)], grid=65539)[0].tolist() == [3]


@pytest.mark.parametrize(
    "instruction",
    ["mov.u16 %h1, %laneid;", "mov.u32 %r1, %clock64;", "mov.u64 %rd1, %clock;", "mov.u64 %rd1, %tid.x;",
     "mov.f32 %f1, %envreg0;", "add.u32 %r1, %tid.x, %r2;", "not.pred %p1, %is_explicit_cluster;",
     "mov.u32 %r1, %envreg32;", "mov.u32 %r1, %pm8;", "mov.u32 %r1, %reserved_smem_offset_2;",
     "mov.u32 %clock, %r1;", "mov.u32 %r1, %clock.x;", "st.global.u32 [%rd0], %laneid;"],
)  # fmt: skip
def test_what_ptxas_refuses_too(instruction: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(text(instruction))


@pytest.mark.parametrize(
    ("version", "target", "read", "needs"),
    [
        ("1.4", "sm_13", "mov.u32 %r1, %lanemask_lt;", "PTX ISA 2.0"),
        ("2.0", "sm_13", "mov.u32 %r1, %lanemask_lt;", "target sm_20"),
        ("4.3", "sm_20", "mov.u32 %r1, %clock_hi;", "PTX ISA 5.0"),
        ("8.0", "sm_80", "mov.u32 %r1, %clusterid.x;", "target sm_90"),
        ("3.2", "sm_20", "mov.u64 %rd1, %globaltimer;", "target sm_30"),
    ],
)
def test_since_when(version: str, target: str, read: str, needs: str) -> None:
    source = f".version {version}\n.target {target}\n.entry k() {{ .reg .u32 %r<2>; .reg .u64 %rd<2>; {read} }}"
    with pytest.raises(ptxspec.PtxError, match=needs):
        ptxspec.load(source)


def test_a_fragment_has_no_time() -> None:
    """Two readings differ, so that no proof may take them for the same."""
    with pytest.raises(Unsupported, match="%clock changes"):
        ptxspec.evaluate("mov.u32 d, %clock;")
    verdict = prove("mov.u32 a, %clock; mov.u32 b, %clock; sub.u32 d, b, a;", "mov.u32 d, 0;")
    assert verdict.status == "unsupported"


def test_other_special_registers_in_a_fragment() -> None:
    assert ptxspec.evaluate("mov.pred p, %is_explicit_cluster; mov.u16 t, %tid.y; mov.u32 n, %nctaid.x;")["n"] == 1


def test_every_engine_reads_the_same_clock_in_a_race() -> None:
    """Threads that part and take different ways, reading as they go."""
    source = kernel("""
        mov.u32 %r10, 0;
        mov.u32 %r4, 0;
    LOOP:
        and.b32 %r5, %r1, 1;
        setp.eq.u32 %p0, %r5, 0;
        @%p0 bra EVEN;
        mov.u32 %r6, %clock;
        xor.b32 %r10, %r10, %r6;
        bra JOIN;
    EVEN:
        mad.lo.u32 %r10, %r10, 3, %r5;
        mov.u32 %r6, %clock;
        add.u32 %r10, %r10, %r6;
    JOIN:
        add.u32 %r4, %r4, 1;
        bar.sync 0;
        setp.lt.u32 %p1, %r4, 5;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r10;
    """)
    out = both(source, [np.zeros(64, np.uint32)], block=32, grid=2)[0]
    assert len(set(out.tolist())) == 64  # no two threads read at the same time
