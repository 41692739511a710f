"""Windows of generic addresses, permutations of bytes, prefetches and the loads that only hint, as programs run them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from launching import LAYOUT, both, fault, kernel, text

import ptxspec
from ptxspec.query.outcomes import Unsupported

pytestmark = pytest.mark.sample(8)

# windows -------------------------------------------------------------------------------------------------------------

SPACES = ["const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry"]


def windows_of(address: int) -> list[int]:
    """What isspacep answers for each of SPACES."""
    reads = "".join(
        f"isspacep.{space} %p1, %rd2; selp.u32 %r4, 1, 0, %p1; st.global.u32 [%rd0+{4 * i}], %r4;\n"
        for i, space in enumerate(SPACES)
    )
    source = kernel(f"mov.u64 %rd2, {address};" + reads)
    return both(source, [np.full(len(SPACES), 9, np.uint32)])[0].tolist()


@pytest.mark.slow
def test_each_address_lies_in_one_window() -> None:
    """The bases and ends of all windows, and their neighbours."""
    edges = [0, 2**64 - 1, LAYOUT.GLOBAL_BASE]
    for base in LAYOUT.WINDOWS.values():
        edges += [base - 1, base, base + LAYOUT.WINDOW_SIZE - 1, base + LAYOUT.WINDOW_SIZE]
        edges += [base + LAYOUT.PART - 1, base + LAYOUT.PART]
    for address in edges:
        inside = [s for s, base in LAYOUT.WINDOWS.items() if 0 <= address - base < LAYOUT.WINDOW_SIZE]
        wanted = [int(space.split("::")[0] in (inside or ["global"])) for space in SPACES]
        if address >= LAYOUT.base("shared") + LAYOUT.PART:  # no part of a CTA without a cluster
            wanted[SPACES.index("shared")] = wanted[SPACES.index("shared::cta")] = 0
        assert windows_of(address) == wanted, hex(address)


def test_generic_addresses_of_variables() -> None:
    """A variable's generic address lies in its space, also the address of a parameter, which a generic load then reads."""
    source = kernel(
        """
        .shared .u32 s;
        .local .u32 l;
        cvta.shared::cluster.u64 %rd2, s;
        isspacep.shared::cta %p1, %rd2;
        cvta.local.u64 %rd2, l;
        isspacep.local %p2, %rd2;
        cvta.const.u64 %rd2, c;
        isspacep.const %p3, %rd2;
        cvta.global.u64 %rd2, g;
        isspacep.global %p4, %rd2;
        cvta.param::entry.u64 %rd2, block+4;
        isspacep.param %p5, %rd2;
        and.pred %p1, %p1, %p2;
        and.pred %p3, %p3, %p4;
        and.pred %p1, %p1, %p3;
        and.pred %p1, %p1, %p5;
        ld.u32 %r4, [%rd2];
        cvta.to.param.u64 %rd3, %rd2;
        ld.param.u32 %r5, [%rd3+4];
        add.u32 %r4, %r4, %r5;
        selp.u32 %r4, %r4, 0, %p1;
        st.global.u32 [%rd1], %r4;
    """,
        ".param .u64 out, .param .align 4 .b8 block[12]",
        ".const .u32 c = 3; .global .u32 g;",
    )
    block = np.array([100, 7, 50], np.uint32).tobytes()
    assert both(source, [np.zeros(3, np.uint32), block], block=3)[0].tolist() == [57] * 3


def test_parameters_are_read_only_through_their_window_too() -> None:
    source = kernel("cvta.param.u64 %rd2, out; st.u64 [%rd2], %rd2;")
    assert fault(source, [np.zeros(1, np.uint32)]).rule == "read only"


def test_addresses_of_thirty_two_bits_are_refused() -> None:
    """Where the module's have 64; isspacep takes a register of either size."""
    with pytest.raises(ptxspec.PtxError, match=r"cvta\.shared\.u64 needs \.u64"):
        ptxspec.load(text("cvta.shared.u64 %rd2, %r1;"))
    with pytest.raises(ptxspec.PtxError, match="addresses of 32 bits"):
        ptxspec.load(text("cvta.shared.u32 %r2, %r1;"))
    ptxspec.load(text("isspacep.shared %p1, %r1;"))


# permutations --------------------------------------------------------------------------------------------------------

#: the tables of the text, position 3 first, with the row of s = 0 first; that of .ecl as AMB-050 reads it
TABLES = {
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


@pytest.mark.parametrize("mode", TABLES)
def test_the_tables_of_the_modes(mode: str) -> None:
    names = bytes(range(0xA0, 0xA8))
    a, b = (int.from_bytes(part, "little") for part in (names[:4], names[4:]))
    for s in range(8):  # only two bits count
        found = ptxspec.evaluate(f"prmt.b32.{mode} d, a, b, s;", a=a, b=b, s=s | 0xFFFFFFF0)["d"]
        assert f"{found:08x}" == "".join(f"a{n}" for n in TABLES[mode][s & 3])


def test_every_selector_of_the_generic_form() -> None:
    """Each of sixteen selectors at each position, against NumPy's bytes."""
    a, b = 0x7F80FF01, 0x00E3C55A
    taken = np.array([a, b], "<u4").view(np.uint8)
    for position, selector in itertools.product(range(4), range(16)):
        found = ptxspec.evaluate("prmt.b32 d, a, b, c;", a=a, b=b, c=selector << 4 * position)["d"]
        byte = int(taken[selector & 7])
        wanted = np.array([0x01] * 4, np.uint8)
        wanted[position] = byte if selector < 8 else 0xFF if byte & 0x80 else 0
        assert found == int(wanted.view("<u4")[0]), (position, selector)


# accesses whose modifiers change no value ----------------------------------------------------------------------------

LOADS = [
    "ld.weak.global.u32 %r4, [g+4]",
    "ld.weak.global.cv.u32 %r4, [g+4]",
    "ld.global.L1::evict_last.u32 %r4, [g+4]",
    "ld.global.L2::128B.u32 %r4, [g+4]",
    "ld.global.L1::no_allocate.L2::256B.u32 %r4, [g+4]",
    "ld.L1::evict_first.u32 %r4, [%rd2]",
    "ld.volatile.global.u32 %r4, [g+4]",
    "ld.relaxed.gpu.global.u32 %r4, [g+4]",
    "ld.acquire.cta.u32 %r4, [%rd2]",
    "ld.acquire.sys.global.v2.b32 {%r9, %r4}, [g]",
    "ld.relaxed.cluster.global.L1::no_allocate.u32 %r4, [g+4]",
    "ld.mmio.relaxed.sys.global.u32 %r4, [g+4]",
    "ld.global.nc.u32 %r4, [g+4]",
    "ld.global.ca.nc.L2::64B.u32 %r4, [g+4]",
    "ld.global.nc.L1::evict_unchanged.L2::64B.v4.u32 {%r6, %r4, %r7, %r8}, [g]",
    "ldu.global.u32 %r4, [g+4]",
    "ldu.v4.u32 {%r6, %r4, %r7, %r8}, [%rd2+-4]",
    "ld.param::entry.u32 %r4, [number]",
]


@pytest.mark.parametrize("load", LOADS)
def test_a_load_with_modifiers(load: str) -> None:
    source = kernel(
        f"mov.u64 %rd2, g+4; {load}; st.global.u32 [%rd1], %r4;",
        ".param .u64 out, .param .u32 number",
        ".global .align 16 .u32 g[4] = {1, 77, 3, 4};",
    )
    assert both(source, [np.zeros(2, np.uint32), 77], block=2)[0].tolist() == [77, 77]


@pytest.mark.parametrize(
    "mnemonic",
    [
        "weak.shared", "weak.shared.cs", "weak.shared::cta", "shared::cta", "shared::cluster", "volatile.shared::cta",
        "relaxed.cta.shared", "{order}.gpu.shared::cluster", "{order}.sys.shared::cta",
    ],
)  # fmt: skip
def test_parts_of_shared_memory_are_one(mnemonic: str) -> None:
    """What is stored in one way is loaded in any other; each thread has a word of its own."""
    source = kernel(f"""
        .shared .u32 s[4];
        mul.lo.u32 %r5, %r1, 4;
        mov.u32 %r6, s;
        add.u32 %r5, %r5, %r6;
        st.{mnemonic.format(order="release")}.u32 [%r5], %r0;
        ld.{mnemonic.format(order="acquire")}.u32 %r7, [%r5];
        st.shared.u32 [%r5], 0;
        st.global.u32 [%rd1], %r7;
    """)
    assert both(source, [np.full(8, 99, np.uint32)], block=4, grid=2)[0].tolist() == list(range(8))


@pytest.mark.parametrize(
    "store",
    ["weak.global", "weak.global.wt", "global.L1::evict_last", "relaxed.sys.global", "release.gpu.global", "mmio.relaxed.sys.global",
     "release.cluster", "L1::no_allocate", "relaxed.cta.global.L1::evict_first"],
)  # fmt: skip
def test_a_store_with_modifiers(store: str) -> None:
    source = kernel(f"add.u32 %r4, %r1, 5; @%p0 st.{store}.u32 [%rd1], 1; st.{store}.u32 [%rd1], %r4;")
    assert both(source, [np.zeros(3, np.uint32)], block=3)[0].tolist() == [5, 6, 7]


@pytest.mark.parametrize("access", ["ld.relaxed.gpu.global.u64 %rd2, [%rd0+4]", "st.release.sys.u64 [%rd0+4], %rd0",
                                    "ld.global.nc.u64 %rd2, [%rd0+4]", "ldu.global.v2.u32 {%r4, %r5}, [%rd0+4]"])  # fmt: skip
def test_they_are_checked_as_any_access(access: str) -> None:
    assert fault(kernel(access + ";"), [np.zeros(4, np.uint32)]).rule == "misaligned"


@pytest.mark.parametrize("load", ["ldu.u32", "ld.u32"])
def test_a_generic_address_of_shared_memory_is_none_for_ldu(load: str) -> None:
    source = kernel(f".shared .u32 s; cvta.shared.u64 %rd2, s; {load} %r4, [%rd2]; st.global.u32 [%rd1], %r4;")
    if load == "ld.u32":
        assert both(source, [np.ones(1, np.uint32)])[0].tolist() == [0]
    else:
        assert fault(source, [np.ones(1, np.uint32)]).rule == "out of bounds"


def test_a_prefetch_changes_nothing_wherever_it_points() -> None:
    source = kernel(
        """
        .local .u32 l;
        mov.u64 %rd2, 0xfffffffffffffff1;
        prefetch.L1 [%rd2];
        prefetch.global.L2 [%rd2+3];
        prefetch.global.L2::evict_last [g+100];
        prefetch.local.L2 [l];
        prefetchu.L1 [%rd2];
        @%p0 prefetch.L2 [%rd0];
        mov.u32 %r4, 5;
        st.global.u32 [%rd1], %r4;
    """,
        module=".global .u32 g;",
    )
    assert both(source, [np.zeros(2, np.uint32)], block=2)[0].tolist() == [5, 5]


#: where the descriptions of tensors may be: a generic address, one in `.const`, and one of a parameter; an offset follows
DESCRIPTIONS = [
    "prefetch.tensormap [%rd2+{}];",
    "prefetch.const.tensormap [c+{}];",
    "prefetch.param.tensormap [map+{}];",
]


def prefetching(one: str, then: str = "st.global.u32 [%rd0], 5;") -> str:
    return kernel(
        f"mov.u64 %rd2, 0xffffffffffffff00; setp.ne.u32 %p0, %r0, %r0; {one} {then}",
        ".param .u64 out, .param .align 64 .b8 map[128]",
        ".const .align 64 .b8 c[128];",
    )


@pytest.mark.parametrize("one", DESCRIPTIONS)
def test_a_description_is_prefetched_from_multiples_of_64(one: str) -> None:
    """Also where nothing lies; of other addresses an H200 says that they are misaligned."""
    arguments = [np.zeros(1, np.uint32), bytes(128)]
    assert both(prefetching(one.format(64)), arguments)[0].tolist() == [5]
    for offset in (1, 32, 127):
        error = fault(prefetching(one.format(offset)), arguments)
        assert (error.rule, error.address % 64) == ("misaligned description", offset % 64)
        assert both(prefetching("@%p0 " + one.format(offset)), arguments)[0].tolist() == [5]


def test_a_prefetch_has_no_place_in_a_fragment() -> None:
    with pytest.raises(Unsupported, match="cannot access memory"):
        ptxspec.evaluate("prefetch.L1 [a]; add.u32 d, b, c;", b=1, c=2)
