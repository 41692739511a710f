"""The condition code in kernels: each thread has its own, guards and branches leave it alone. Both engines, against integers."""

from __future__ import annotations

import numpy as np
import pytest
from launching import both, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)

rng = np.random.default_rng(86)


def number(words: np.ndarray) -> int:
    return int.from_bytes(np.ascontiguousarray(words).tobytes(), "little")


@pytest.mark.parametrize("name", ["add", "sub"])
def test_numbers_of_eight_words_in_a_loop(name: str) -> None:
    """The bit lives on across the branch of the loop: nothing in it but addc or subc touches it."""
    a, b = (rng.integers(0, 2**32, (64, 8), dtype=np.uint32) for _ in range(2))
    a[:8], b[:8] = 0xFFFFFFFF, 0
    b[:8, 0] = 1
    a[8:16], b[8:16] = 0, 0
    b[8:16, 0] = 1
    source = kernel(
        f"""
    ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
    mad.wide.u32 %rd2, %r0, 32, %rd2;
    mad.wide.u32 %rd3, %r0, 32, %rd3;
    mad.wide.u32 %rd4, %r0, 36, %rd0;
    mov.u32 %r10, 0;
    {name}.cc.u32 %r11, 0, 0;
LOOP:
    ld.global.u32 %r4, [%rd2]; ld.global.u32 %r5, [%rd3];
    {name}c.cc.u32 %r6, %r4, %r5;
    st.global.u32 [%rd4], %r6;
    add.u64 %rd2, %rd2, 4; add.u64 %rd3, %rd3, 4; add.u64 %rd4, %rd4, 4;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 8;
    @%p1 bra LOOP;
    {name}c.u32 %r7, 0, 0;
    st.global.u32 [%rd4], %r7;
    """,
        ".param .u64 out, .param .u64 a, .param .u64 b",
    )
    out, *_ = both(source, [np.zeros((64, 9), np.uint32), a, b], grid=2, block=32)
    for i in range(64):
        exact = number(a[i]) + number(b[i]) if name == "add" else number(a[i]) - number(b[i])
        assert number(out[i]) == exact % 2**288


def test_threads_that_part_keep_their_own_bit() -> None:
    """Odd threads carry, even ones go another way and do not; both read it after they have met again."""
    source = kernel("""
    and.b32 %r4, %r0, 1;
    setp.eq.u32 %p1, %r4, 1;
    @%p1 bra ODD;
    add.cc.u32 %r5, %r0, 1;
    bra.uni MEET;
ODD:
    add.cc.u32 %r5, 0xffffffff, %r0;
MEET:
    bar.sync 0;
    addc.u32 %r6, 10, 0;
    st.global.u32 [%rd1], %r6;
    """)
    assert both(source, [np.zeros(96, np.uint32)], grid=2, block=48)[0].tolist() == [10, 11] * 48


@pytest.mark.parametrize("negated", [False, True])
def test_a_guarded_instruction_leaves_the_bit_alone(negated: bool) -> None:
    not_ = "!" if negated else ""
    source = kernel(f"""
    setp.lt.u32 %p1, %r0, 20;
    sub.cc.u32 %r4, %r0, 10;
    @{not_}%p1 sub.cc.u32 %r4, 100, %r0;
    @{not_}%p1 subc.cc.u32 %r5, 0, 0;
    subc.u32 %r6, 50, 0;
    st.global.u32 [%rd1], %r6;
    """)
    out = both(source, [np.zeros(128, np.uint32)], block=128)[0]

    def borrow(i: int) -> bool:
        return i > 100 if (i < 20) != negated else i < 10

    assert out.tolist() == [50 - borrow(i) for i in range(128)]


def test_it_begins_as_zero() -> None:
    """AMB-086."""
    source = kernel("addc.u32 %r4, 5, 0; subc.u32 %r5, %r4, 0; st.global.u32 [%rd1], %r5;")
    for profile, want in (("portable", 5), ("hopper", 4)):  # where a borrow is kept as its complement, 0 is one
        out = both(source, [np.zeros(40, np.uint32)], grid=2, block=20, profile=profile)[0]
        assert out.tolist() == [want] * 40


@pytest.mark.parametrize("profile", ["portable", "hopper"])
def test_additions_and_subtractions_share_the_bit(profile: str) -> None:
    """AMB-085, across a branch: half of the threads add, the others subtract, and all read it in both ways."""
    source = kernel("""
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra LESS;
    add.cc.u32 %r5, %r0, 0xffffffe0;
    bra.uni MEET;
LESS:
    sub.cc.u32 %r5, %r0, 8;
MEET:
    addc.u32 %r6, 10, 0;
    subc.u32 %r7, 20, 0;
    mad.lo.u32 %r6, %r6, 100, %r7;
    st.global.u32 [%rd1], %r6;
    """)
    out = both(source, [np.zeros(64, np.uint32)], block=64, profile=profile)[0]
    kept = profile == "hopper"
    for i, found in enumerate(out.tolist()):
        bit = (i < 8) != kept if i < 16 else i >= 32
        assert found == (10 + bit) * 100 + 20 - (bit != kept), i


def test_products_of_64_bits() -> None:
    """All 128 bits, from words of 32 and from words of 64."""
    a, b = (rng.integers(0, 2**64, 64, dtype=np.uint64) for _ in range(2))
    a[:4], b[:4] = 2**64 - 1, [0, 1, 2**63, 2**64 - 1]
    source = kernel(
        """
    ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
    mad.wide.u32 %rd2, %r0, 8, %rd2; mad.wide.u32 %rd3, %r0, 8, %rd3;
    mad.wide.u32 %rd4, %r0, 32, %rd0;
    ld.global.v2.u32 {%r4, %r5}, [%rd2]; ld.global.v2.u32 {%r6, %r7}, [%rd3];
    ld.global.u64 %rd5, [%rd2]; ld.global.u64 %rd6, [%rd3];
    mul.lo.u32 %r10, %r4, %r6;
    mul.hi.u32 %r11, %r4, %r6;
    mad.lo.cc.u32 %r11, %r5, %r6, %r11;
    madc.hi.u32 %r12, %r5, %r6, 0;
    mad.lo.cc.u32 %r11, %r4, %r7, %r11;
    madc.hi.cc.u32 %r12, %r4, %r7, %r12;
    addc.u32 %r13, 0, 0;
    mad.lo.cc.u32 %r12, %r5, %r7, %r12;
    madc.hi.u32 %r13, %r5, %r7, %r13;
    st.global.v4.u32 [%rd4], {%r10, %r11, %r12, %r13};
    mad.lo.cc.u64 %rd7, %rd5, %rd6, 0;
    madc.hi.u64 %rd8, %rd5, %rd6, 0;
    st.global.v2.u64 [%rd4+16], {%rd7, %rd8};
    """,
        ".param .u64 out, .param .u64 a, .param .u64 b",
    )
    out, *_ = both(source, [np.zeros((64, 4), np.uint64), a, b], block=64)
    for row, x, y in zip(out, a.tolist(), b.tolist(), strict=True):
        assert number(row[:2]) == number(row[2:]) == x * y


@pytest.mark.parametrize("depth", [None, 0, 3])
@pytest.mark.parametrize(("first", "left", "want"), [("-1", "", 1), ("0", "", 0), ("-1", "0", 0), ("0", "-1", 1)])
def test_a_call_leaves_what_the_function_made_of_it(first: str, left: str, want: int, depth: int | None) -> None:
    """AMB-086: one bit a thread, whoever calls whom, functions that call themselves too. A function that does not touch the
    bit, or only reads it, leaves it."""
    again = "" if depth is None else "setp.eq.u32 %p, %n, 0; @%p bra OUT; sub.u32 %n, %n, 1; call f, (%n);\nOUT:"
    function = f"""
.func f(.reg .u32 %n)
{{
    .reg .u32 %x; .reg .pred %p;
    {again}
    {f"mov.u32 %x, {left}; add.cc.u32 %x, %x, 1;" if left else "addc.u32 %x, 0, 0;"}
    ret;
}}
"""
    body = f"""
    mov.u32 %r4, {first};
    add.cc.u32 %r5, %r4, 1;
    mov.u32 %r6, {depth or 0};
    call f, (%r6);
    addc.u32 %r7, 10, 0;
    st.global.u32 [%rd1], %r7;
    """
    source = kernel(body, module=function)
    assert both(source, [np.zeros(40, np.uint32)], grid=2, block=20)[0].tolist() == [10 + want] * 40


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (".reg .pred CC.CF; addc.u32 %r0, %r1, %r2; ret;", "CC.CF is no name that a variable can have"),
        ("addc.u32 %r0, %r1, %r2; mov.pred %p1, CC.CF; ret;", "is not declared"),
        ("addc.u32 %r0, %r1, %r2; @CC.CF ret; ret;", "CC.CF is not declared"),
    ],
)
def test_no_program_names_it(body: str, complaint: str) -> None:
    with pytest.raises(ptxspec.PtxError) as caught:
        ptxspec.load(text(body))
    assert complaint in str(caught.value)
