"""Accesses that break a rule: which rule, which thread, line and address; and the caller's arrays as they were."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from launching import ENGINES, LAYOUT, both, each, fault, kernel, text

import ptxspec
from ptxspec.base.places import DOCUMENTS

pytestmark = pytest.mark.sample(8)

CTAS, THREADS, CULPRIT = 3, 4, 6
WHERE = ((2, 0, 0), (1, 0, 0))
GLOBAL, SHARED, LOCAL, CONST = LAYOUT.GLOBAL_BASE, *(LAYOUT.WINDOWS[s] for s in ("shared", "local", "const"))
PAST_WINDOWS = max(LAYOUT.WINDOWS.values()) + LAYOUT.WINDOW_SIZE


def guilty(instruction: str, before: str = "", module: str = "", parameters: str = ".param .u64 out") -> str:
    """A kernel in which one thread of twelve executes the instruction, after every thread has written to `out`."""
    return kernel(
        f"""
        .shared .align 16 .b8 s[32];
        .local .align 16 .b8 l[32];
        st.global.u32 [%rd1], 99;
        setp.ne.u32 %p0, %r0, {CULPRIT};
        @%p0 bra FINE;
        {before}
        {instruction}
    FINE:
    """,
        parameters,
        module,
    )


def line_of(source: str, instruction: str) -> int:
    return source[: source.index(instruction)].count("\n") + 1


def check(source: str, instruction: str, rule: str, args: Sequence[object] | None = None) -> ptxspec.LaunchError:
    """Both engines blame the culprit's instruction."""
    error = fault(source, args or [np.arange(CTAS * THREADS, dtype=np.uint32)], grid=CTAS, block=THREADS)
    assert error.rule == rule
    assert error.where is not None
    assert (error.where.thread, error.where.cta) == WHERE
    assert error.where.line == line_of(source, instruction)
    assert error.where.instruction == " ".join(instruction.split())
    check_page(error, rule)
    return error


def check_page(error: ptxspec.LaunchError, rule: str) -> None:
    """The page's line is the one that states the rule, and the message says where."""
    assert error.page is not None
    path, _, line = error.page.partition(":")
    assert f'rule("{rule}"' in (DOCUMENTS / path).read_text().splitlines()[int(line) - 1]
    assert str(error).startswith(f"{rule}: ") and f"see {error.page}" in str(error)


def first_buffer(module: str = "", size: int = CTAS * THREADS) -> int:
    """The address that the first buffer of a module's first launch gets."""
    out = np.zeros(size, np.uint64)
    return int(both(kernel("st.global.u64 [%rd0], %rd0;", module=module), [out])[0][0])


# misaligned ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "before", "address"),
    [
        ("ld.shared.u32 %r9, [s+2];", "", 2),
        ("ld.shared.u64 %rd9, [s+4];", "", 4),
        ("ld.shared.u16 %h9, [%r8+1];", "mov.u32 %r8, s;", 1),
        ("ld.shared.v2.u32 {%r8, %r9}, [s+4];", "", 4),
        ("ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [s+8];", "", 8),
        ("ld.shared.v4.u8 {%r6, %r7, %r8, %r9}, [s+30];", "", 30),
        ("ld.shared.v2.f64 {%fd1, %fd2}, [s+24];", "", 24),
        ("st.shared.u32 [s+29], 5;", "", 29),
        ("st.shared.v4.b16 [%rd9], {1, 2, 3, 4};", "mov.u64 %rd9, s+4;", 4),
        ("ld.local.u32 %r9, [l+1];", "", 1),
        ("st.local.f64 [l+12], 1.5;", "", 12),
        ("ld.const.u32 %r9, [c+3];", "", 3),
        ("ld.param.u32 %r9, [out+2];", "", 2),
        ("ld.global.u32 %r9, [g+2];", "", GLOBAL + 2),
        ("st.global.v2.u64 [g+8], {%rd8, %rd9};", "", GLOBAL + 8),
        ("ld.volatile.global.u16 %h9, [g+7];", "", GLOBAL + 7),
        ("ld.global.u32 %r9, [%rd9];", "mov.u64 %rd9, 0xffffffffffffffff;", 2**64 - 1),
        ("ld.u32 %r9, [%rd9+2];", "cvta.global.u64 %rd9, g;", GLOBAL + 2),
    ],
)
def test_misaligned(instruction: str, before: str, address: int) -> None:
    """The whole of a vector access counts, not its elements."""
    module = ".global .align 16 .b8 g[32]; .const .align 16 .b8 c[16];"
    error = check(guilty(instruction, before, module), instruction, "misaligned")
    assert error.address == address


def test_misaligned_in_a_buffer() -> None:
    instruction = "st.global.u64 [%rd1+4], 5;"
    error = check(guilty(instruction), instruction, "misaligned")
    assert error.address == first_buffer() + 4 * CULPRIT + 4


def test_misaligned_comes_before_out_of_bounds() -> None:
    """An access that breaks both rules is called misaligned."""
    instruction = "ld.shared.u32 %r9, [s+1001];"
    check(guilty(instruction), instruction, "misaligned")


# out of bounds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "before", "address"),
    [
        ("ld.shared.u32 %r9, [s+32];", "", 32),
        ("ld.shared.u8 %r9, [s+32];", "", 32),
        ("st.shared.v4.u32 [%r9], {1, 2, 3, 4};", "mov.u32 %r9, 0xfffffff0;", 2**32 - 16),
        ("ld.shared.u32 %r9, [%rd9];", "mov.u64 %rd9, -4;", 2**64 - 4),
        ("ld.shared.u32 %r9, [s+-4];", "", 2**64 - 4),
        ("ld.local.u64 %rd9, [l+32];", "", 32),
        ("st.local.u8 [%rd9+1], 3;", "mov.u64 %rd9, l+31;", 32),
        ("ld.const.u16 %h9, [c+16];", "", 16),
        ("ld.param.u64 %rd9, [out+8];", "", 8),
        ("ld.param.u8 %r9, [%rd9];", "mov.u64 %rd9, 0x7fffffffffffffff;", 2**63 - 1),
        ("ld.global.u32 %r9, [%rd9];", "mov.u64 %rd9, 0;", 0),
        ("st.global.u32 [%rd9], %r9;", "mov.u64 %rd9, 0;", 0),
        ("ld.global.u8 %r9, [%rd9];", "mov.u64 %rd9, 1;", 1),
        ("ld.u64 %rd9, [%rd9];", "mov.u64 %rd9, 0;", 0),
        ("st.u8 [%rd9], 1;", "mov.u64 %rd9, -1;", 2**64 - 1),
        ("ld.global.u64 %rd9, [%rd9];", "mov.u64 %rd9, 0x8000000000000000;", 2**63),
        ("ld.global.u32 %r9, [s];".replace("[s]", "[%rd9]"), "mov.u64 %rd9, s;", 0),
        ("ld.global.u32 %r9, [%rd9];", "cvta.shared.u64 %rd9, s;", SHARED),
        ("ld.global.u32 %r9, [g+-4];", "", GLOBAL - 4),
    ],
)
def test_out_of_bounds(instruction: str, before: str, address: int) -> None:
    """Before, after and far from what the space holds; a shared address is none of global memory."""
    module = ".global .align 16 .b8 g[32]; .const .align 16 .b8 c[16];"
    error = check(guilty(instruction, before, module), instruction, "out of bounds")
    assert error.address == address


@pytest.mark.parametrize(
    ("offset", "words"),
    [(0, "4 bytes directly past the end"), (4, "4 bytes past the end"), (100, "100 bytes past the end"),
     (-52, "4 bytes before the beginning"), (-200, "152 bytes before the beginning")],
)  # fmt: skip
def test_out_of_a_buffer(offset: int, words: str) -> None:
    """The note says how far from which argument."""
    instruction = f"ld.global.u32 %r9, [%rd0+{CTAS * THREADS * 4 + offset}];"
    error = check(guilty(instruction), instruction, "out of bounds")
    assert error.address == first_buffer() + CTAS * THREADS * 4 + offset
    assert words in error.note and "argument 0 (out)" in error.note and "(48 bytes)" in error.note


def test_across_the_end_of_a_buffer() -> None:
    """An aligned access of which the first half would be inside."""
    instruction = "st.global.v2.u32 [%rd0+48], {1, 2};"
    args = [np.arange(13, dtype=np.uint32)]
    error = check(guilty(instruction), instruction, "out of bounds", args)
    assert "across the end of argument 0 (out) (52 bytes)" in error.note


@pytest.mark.parametrize("last", [13, 14, 15])
def test_every_byte_of_an_access_counts(last: int) -> None:
    """`out` ends within the access's second, third or fourth byte of four."""
    instruction = "ld.global.u32 %r9, [%rd0+48];"
    args = [np.arange(36 + last, dtype=np.uint8)]
    check(guilty(instruction), instruction, "out of bounds", args)


def test_between_two_buffers() -> None:
    instruction = "st.global.u8 [%rd9+-1], 1;"
    parameters = ".param .u64 out, .param .u64 second"
    source = guilty(instruction, "ld.param.u64 %rd9, [second];", parameters=parameters)
    args = [np.arange(12, dtype=np.uint32), np.arange(5, dtype=np.uint8)]
    error = check(source, instruction, "out of bounds", args)
    assert "1 byte before the beginning of argument 1 (second)" in error.note


def test_no_buffer_is_reached_from_another() -> None:
    """Whatever the distance, the bytes between two buffers are nobody's."""
    source = text(
        """
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        ld.param.u64 %rd3, [at];
        add.u64 %rd1, %rd1, %rd3;
        ld.global.u8 %r1, [%rd1];
    """,
        ".param .u64 a, .param .u64 b, .param .s64 at",
    )
    gap = int(
        both(
            text(
                """
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        sub.u64 %rd3, %rd2, %rd1;
        st.global.u64 [%rd1], %rd3;
    """,
                ".param .u64 a, .param .u64 b",
            ),
            [np.zeros(2, np.uint64), np.zeros(9, np.uint8)],
        )[0][0]
    )
    arrays = [np.zeros(2, np.uint64), np.zeros(9, np.uint8)]
    for inside in (0, 15, gap, gap + 8):
        both(source, [*arrays, inside])
    for outside in (-1, 16, 17, gap // 2, gap - 1, gap + 9):
        assert fault(source, [*arrays, outside]).rule == "out of bounds", outside


def test_a_buffer_of_no_bytes() -> None:
    source = text("ld.param.u64 %rd0, [out]; ld.global.u8 %r1, [%rd0];")
    error = fault(source, [np.zeros(0, np.uint32)])
    assert error.rule == "out of bounds" and "argument 0 (out) (0 bytes)" in error.note


@pytest.mark.parametrize("size", [0, 8, 48])
def test_dynamic_shared_memory_ends_where_the_launch_says(size: int) -> None:
    source = kernel(f"ld.shared.u32 %r4, [dynamic+{size}];", module=".extern .shared .align 4 .b8 dynamic[];")
    error = fault(source, [np.zeros(1, np.uint32)], dynamic_shared=size)
    assert error.rule == "out of bounds" and error.address == size


def test_a_kernel_without_shared_memory() -> None:
    error = fault(kernel("mov.u32 %r4, 0; st.shared.u8 [%r4], 1;"), [np.zeros(1, np.uint32)])
    assert error.rule == "out of bounds" and error.address == 0


def test_one_cta_cannot_reach_anothers_shared_memory() -> None:
    """Though many CTAs are resident at once."""
    source = guilty("ld.shared.u32 %r9, [s+32];")
    fault(source, [np.zeros(12, np.uint32)], grid=3, block=4)
    source = guilty("ld.shared.u32 %r9, [s+-32];")
    fault(source, [np.zeros(12, np.uint32)], grid=3, block=4)


@pytest.mark.parametrize("module", ["", ".global .u32 g[2] = {7, 8};"])
@pytest.mark.parametrize("past", [0, 4, 40])
def test_past_the_variables_of_the_module(module: str, past: int) -> None:
    """What lies behind them is no buffer's."""
    at = GLOBAL + (8 if module else 0) + past
    instruction = "ld.global.u32 %r9, [%rd9];"
    error = check(guilty(instruction, f"mov.u64 %rd9, {at};", module), instruction, "out of bounds")
    assert error.address == at


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_past_the_module_does_not_reach_a_buffer(engine: str) -> None:
    module = ptxspec.load(text("st.global.u32 [g+4], 5;", module=".global .u32 g;"))
    out = np.arange(200, dtype=np.uint32)
    with pytest.raises(ptxspec.LaunchError):
        module.launch("k", args=[out], engine=engine)
    assert out.tolist() == list(range(200))


# generic addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "before", "rule", "address"),
    [
        ("ld.u32 %r9, [%rd9+32];", "cvta.shared.u64 %rd9, s;", "out of bounds", SHARED + 32),
        ("st.u32 [%rd9], 1;", "cvta.local.u64 %rd9, l+32;", "out of bounds", LOCAL + 32),
        ("ld.u16 %r9, [%rd9+16];", "cvta.const.u64 %rd9, c;", "out of bounds", CONST + 16),
        ("ld.u32 %r9, [%rd9+2];", "cvta.shared.u64 %rd9, s;", "misaligned", SHARED + 2),
        ("ld.v2.u64 {%rd8, %rd9}, [%rd9+8];", "cvta.local.u64 %rd9, l;", "misaligned", LOCAL + 8),
        ("st.u32 [%rd9], 1;", "cvta.const.u64 %rd9, c;", "read only", CONST),
        ("st.v4.u8 [%rd9+4], {1, 2, 3, 4};", "cvta.const.u64 %rd9, c;", "read only", CONST + 4),
        ("ld.u8 %r9, [%rd9];", f"mov.u64 %rd9, {SHARED + LAYOUT.WINDOW_SIZE - 1};", "out of bounds",
         SHARED + LAYOUT.WINDOW_SIZE - 1),
    ],
)  # fmt: skip
def test_generic_addresses(instruction: str, before: str, rule: str, address: int) -> None:
    """The address reported is the generic one that the instruction had."""
    source = guilty(instruction, before, ".const .align 16 .b8 c[16];")
    assert check(source, instruction, rule).address == address


@pytest.mark.parametrize(
    ("instruction", "before", "address"),
    [
        ("ld.u32 %r9, [%rd9];", f"mov.u64 %rd9, {CONST - 4};", CONST - 4),
        ("ld.u32 %r9, [%rd9];", f"mov.u64 %rd9, {PAST_WINDOWS};", PAST_WINDOWS),
        ("st.u32 [%rd0+-4], 1;", "", None),
        ("ld.u32 %r9, [%rd0+48];", "", None),
    ],
)
def test_generic_addresses_outside_the_windows(instruction: str, before: str, address: int | None) -> None:
    error = check(guilty(instruction, before), instruction, "out of bounds")
    assert error.address == (first_buffer() + (48 if "48" in instruction else -4) if address is None else address)


# read only -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "instruction", ["st.global.u32 [%rd9+4], 1;", "st.u32 [%rd9], 1;", "st.volatile.u8 [%rd9+7], 1;"]
)
def test_read_only_arrays(instruction: str) -> None:
    data = np.arange(2, dtype=np.uint32)
    data.flags.writeable = False
    parameters = ".param .u64 out, .param .u64 data"
    source = guilty(instruction, "ld.param.u64 %rd9, [data];", parameters=parameters)
    error = check(source, instruction, "read only", [np.arange(12, dtype=np.uint32), data])
    assert "argument 1 (data)" in error.note


def test_a_read_only_array_is_no_shield_for_what_lies_beyond() -> None:
    data = np.arange(2, dtype=np.uint32)
    data.flags.writeable = False
    source = text("ld.param.u64 %rd0, [out]; st.global.u32 [%rd0+8], 1;")
    assert fault(source, [data]).rule == "out of bounds"


@pytest.mark.parametrize("name", ["st.const.u32 [c], 1;", "st.param.u64 [out], 1;"])
def test_spaces_that_no_store_names(name: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(text(name, module=".const .u32 c;"))


# use after end -------------------------------------------------------------------------------------------------------


KEEP = text(
    """
    ld.param.u64 %rd0, [out];
    ld.global.u64 %rd1, [kept];
    st.global.u64 [kept], %rd0;
    setp.eq.u64 %p0, %rd1, 0;
    @%p0 ret;
    {access}
""",
    module=".global .u64 kept;",
)


@pytest.mark.parametrize(
    "access", ["ld.global.u32 %r1, [%rd1];", "st.global.u32 [%rd1+12], 1;", "ld.u8 %r1, [%rd1+15];"]
)
def test_a_pointer_kept_from_an_earlier_launch(access: str) -> None:
    """Memory that lived for its launch only is known by name, whatever lives now."""
    source = KEEP.replace("{access}", access)
    errors = []
    for engine, module in each(source):
        first, second = np.arange(4, dtype=np.uint32), np.arange(4, dtype=np.uint32)
        module.launch("k", args=[first], engine=engine)
        with pytest.raises(ptxspec.LaunchError) as caught:
            module.launch("k", args=[second], engine=engine)
        assert second.tolist() == first.tolist() == [0, 1, 2, 3]
        error = caught.value
        assert error.rule == "use after end" and error.where is not None
        assert error.where.line == line_of(source, access)
        assert "argument 0 (out) of an earlier launch" in error.note
        check_page(error, "use after end")
        errors.append(str(error))
    assert errors[0] == errors[1]


def test_a_pointer_kept_from_a_launch_that_failed() -> None:
    """Its variable is as it was before, so there is none; but what was passed out by hand is known too."""
    source = KEEP.replace("{access}", "mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];")
    for engine, module in each(source):
        module.launch("k", args=[np.zeros(1, np.uint32)], engine=engine)
        kept = module.read("kept").view(np.uint64)[0]
        with pytest.raises(ptxspec.LaunchError):
            module.launch("k", args=[np.zeros(1, np.uint32)], engine=engine)
        assert module.read("kept").view(np.uint64)[0] == kept


def test_a_pointer_to_the_modules_own_memory_may_be_kept() -> None:
    source = text(
        """
        ld.global.u64 %rd1, [kept];
        mov.u64 %rd2, cell;
        st.global.u64 [kept], %rd2;
        setp.eq.u64 %p0, %rd1, 0;
        @%p0 ret;
        ld.global.u32 %r1, [%rd1];
        ld.param.u64 %rd0, [out];
        st.global.u32 [%rd0], %r1;
    """,
        module=".global .u64 kept; .global .u32 cell = 31;",
    )
    for engine, module in each(source):
        out = np.zeros(1, np.uint32)
        module.launch("k", args=[out], engine=engine)
        module.launch("k", args=[out], engine=engine)
        assert out.tolist() == [31]


# no choice -----------------------------------------------------------------------------------------------------------


DIVIDE = kernel("""
    st.global.u32 [%rd1], 99;
    sub.u32 %r4, %r0, 6;
    setp.gt.u32 %p0, %r0, 6;
    @%p0 bra OVER;
    div.u32 %r5, 100, %r4;
OVER:
    st.global.u32 [%rd1], %r5;
""")


def test_a_result_that_nothing_chooses_exact() -> None:
    """The exact engine ends where such a result is needed."""
    out = np.arange(12, dtype=np.uint32)
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(DIVIDE).launch("k", 3, 4, [out], profile="portable", engine="exact")
    error = caught.value
    assert error.rule == "no choice" and "division-by-zero" in error.note and error.address is None
    assert error.where is not None and (error.where.thread, error.where.cta) == WHERE
    assert error.where.line == line_of(DIVIDE, "div.u32")
    assert error.where.instruction == "div.u32 %r5, 100, %r4;"
    assert error.page == "spec/ambiguities.md" and (DOCUMENTS / error.page).is_file()
    assert out.tolist() == list(range(12))


def test_a_result_that_nothing_chooses_native() -> None:
    """The native engine wants every choice before it begins."""
    out = np.arange(12, dtype=np.uint32)
    with pytest.raises(ptxspec.LaunchError) as caught:
        ptxspec.load(DIVIDE).launch("k", 3, 4, [out], profile="portable", engine="native")
    error = caught.value
    assert error.rule == "no choice" and "division-by-zero" in error.note and error.where is None
    assert error.page == "spec/ambiguities.md"
    assert out.tolist() == list(range(12))


def test_a_choice_that_is_not_needed() -> None:
    """Without a division by zero the portable profile does, under the exact engine; guarded ones do not count."""
    source = kernel("""
        setp.eq.u32 %p0, %r0, 0;
        @!%p0 div.u32 %r5, 100, %r0;
        st.global.u32 [%rd1], %r5;
    """)
    out = np.zeros(4, np.uint32)
    ptxspec.load(source).launch("k", 1, 4, [out], profile="portable", engine="exact")
    assert out.tolist() == [0, 100, 50, 33]


def test_no_choice_needed_at_all() -> None:
    source = kernel("st.global.u32 [%rd1], 3;")
    assert both(source, [np.zeros(4, np.uint32)], block=4, profile="portable")[0].tolist() == [3] * 4


def test_the_chips_choice() -> None:
    """Division by zero and the least number by −1, in every width: the profile's values, and no crash of the host."""
    body = ""
    for i, (type, register) in enumerate(
        [("s16", "%h"), ("u16", "%h"), ("s32", "%r"), ("u32", "%r"), ("s64", "%rd"), ("u64", "%rd")]
    ):
        width = int(type[1:])
        least = 1 << (width - 1)
        for j, (opcode, divisor) in enumerate([("div", 0), ("rem", 0), ("div", -1), ("rem", -1)]):
            body += f"""
                mov.b{width} {register}8, {least};
                mov.b{width} {register}9, {divisor};
                {opcode}.{type} {register}9, {register}8, {register}9;
                st.global.b{width} [%rd0+{32 * i + 8 * j}], {register}9;
            """
    out = both(kernel(body), [np.zeros((6, 4), np.uint64)])[0]
    for row, (width, signed) in zip(out.tolist(), [(w, s) for w in (16, 32, 64) for s in (True, False)], strict=True):
        ones, least = 2**width - 1, 1 << (width - 1)
        assert row == [ones, ones, *((least, 0) if signed else (0, least))]


# order, and what is left behind --------------------------------------------------------------------------------------


def test_the_first_thread_in_order_is_blamed() -> None:
    """Of several culprits at one block the first; of several blocks the preferred one."""
    source = kernel("""
        setp.gt.u32 %p0, %r1, 4;
        @!%p0 bra FINE;
        mov.u64 %rd9, 0;
        ld.global.u32 %r9, [%rd9];
    FINE:
    """)
    error = fault(source, [np.zeros(33 * 4, np.uint32)], grid=4, block=33)
    assert error.where is not None and error.where.thread == (5, 0, 0) and error.where.cta == (0, 0, 0)


def test_coordinates_in_three_dimensions() -> None:
    source = text("""
        mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %tid.x;
        mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
        setp.eq.u32 %p0, %r1, 2;
        setp.eq.and.u32 %p0, %r2, 1, %p0;
        setp.eq.and.u32 %p0, %r3, 1, %p0;
        setp.eq.and.u32 %p0, %r4, 1, %p0;
        setp.eq.and.u32 %p0, %r5, 0, %p0;
        setp.eq.and.u32 %p0, %r6, 1, %p0;
        mov.u64 %rd1, 4;
        @%p0 st.global.u32
            [%rd1], /* across
            lines */ 5;
    """)
    error = fault(source, [np.zeros(1)], grid=(2, 2, 2), block=(2, 3, 2))
    assert error.where is not None
    assert (error.where.thread, error.where.cta) == ((1, 2, 1), (1, 0, 1))
    assert error.where.line == line_of(source, "st.global.u32")
    assert error.where.instruction.startswith("st.global.u32 [%rd1],")


def test_the_instruction_is_shown_whole() -> None:
    source = text("mov.u64 %rd1, 4;\nst.global.u32 [%rd1], /* ; */ 5;")
    error = fault(source, [np.zeros(1)])
    assert error.where is not None and error.where.instruction.endswith("5;")


def test_the_name_of_the_text() -> None:
    for engine in ENGINES:
        module = ptxspec.load(text("mov.u64 %rd1, 4; st.global.u32 [%rd1], 5;"), path="folder/name.ptx")
        with pytest.raises(ptxspec.LaunchError) as caught:
            module.launch("k", args=[np.zeros(1)], engine=engine)
        where = caught.value.where
        assert where is not None and where.path == "folder/name.ptx"
        assert f"folder/name.ptx:{where.line}: st.global.u32 [%rd1], 5;" in str(caught.value)


def test_a_fault_after_many_ctas() -> None:
    """What earlier batches of CTAs wrote is undone too, in arrays of every shape."""
    source = kernel("""
        mad.wide.u32 %rd1, %r2, 4, %rd0;
        st.global.u32 [%rd1], 99;
        setp.ne.u32 %p0, %r2, 250;
        @%p0 ret;
        mov.u64 %rd1, 0;
        st.global.u32 [%rd1], 99;
    """)
    base = np.arange(600, dtype=np.uint32)
    for engine, module in each(source):
        with pytest.raises(ptxspec.LaunchError) as caught:
            module.launch("k", 300, 40, [base[::-2]], engine=engine)
        assert caught.value.where is not None and caught.value.where.cta == (250, 0, 0)
        assert base.tolist() == list(range(600))


def test_a_launch_after_a_fault() -> None:
    """The same module, engine and arrays go on to work."""
    source = kernel("""
        ld.global.u32 %r4, [%rd1];
        setp.eq.u32 %p0, %r4, 0;
        @%p0 bra BAD;
        .shared .u32 cell;
        ld.shared.u32 %r5, [cell];
        st.shared.u32 [cell], 1;
        add.u32 %r4, %r4, %r5;
        st.global.u32 [%rd1], %r4;
        ret;
    BAD:
        ld.global.u32 %r4, [%rd1+2];
    """)
    for engine, module in each(source):
        out = np.array([5, 0], np.uint32)
        for _ in range(2):
            with pytest.raises(ptxspec.LaunchError):
                module.launch("k", 2, 1, [out], engine=engine)
        assert out.tolist() == [5, 0]
        out[1] = 7
        module.launch("k", 2, 1, [out], engine=engine)
        assert out.tolist() == [5, 7]


def test_an_error_may_be_copied_and_sent_to_another_process() -> None:
    error = fault(text("mov.u64 %rd1, 4; st.global.u32 [%rd1], 5;"), [np.zeros(1)])
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(again) == str(error)
        assert (again.rule, again.note, again.where, again.address, again.page) == (
            error.rule, error.note, error.where, error.address, error.page,
        )  # fmt: skip


def test_the_line_of_cuda_is_named() -> None:
    """Before the line of PTX, if the module has it; and JSON has both."""
    instruction = "ld.global.u32 %r9, [%rd0+48];"
    source = guilty(instruction, ".loc 1 42 7", '.file 1 "shifts.cu"')
    error = check(source, instruction, "out of bounds")
    assert error.where is not None and error.where.origin == ("shifts.cu", 42)
    assert f"  at shifts.cu:42 ({error.where.path}:{error.where.line}): {instruction}" in str(error)
    plain = check(guilty(instruction), instruction, "out of bounds")
    assert plain.where is not None and plain.where.origin is None


def test_the_registers_of_the_instruction_are_shown() -> None:
    """Those that it reads, of up to 64 bits, as they were before it; of a load into its own address, too."""
    instruction = "ld.global.v2.u32 {%r9, %r8}, [%rd0+48];"
    error = check(guilty(instruction), instruction, "out of bounds")
    assert error.where is not None and error.where.registers == {"%rd0": first_buffer()}
    assert f"  with %rd0 = {first_buffer():#x}\n" in str(error)
    store = "st.global.u64 [%rd0+4], %rd0;"
    error = check(guilty(store), store, "misaligned")
    assert error.where is not None and error.where.registers == {"%rd0": first_buffer()}
    own = "ld.global.u64 %rd0, [%rd0+48];"
    error = check(guilty(own), own, "out of bounds")
    assert error.where is not None and error.where.registers == {"%rd0": first_buffer()}
    atom = "atom.global.cas.b32 %r9, [%rd0+48], %r0, %r1;"
    error = check(guilty(atom, "mov.u32 %r1, -1;"), atom, "out of bounds")
    assert error.where is not None
    assert error.where.registers == {"%rd0": first_buffer(), "%r0": CULPRIT, "%r1": 0xFFFFFFFF}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_traceback_shows_no_frames_of_the_engine(engine: ptxspec.Engine) -> None:
    module = ptxspec.load(guilty("ld.global.u32 %r9, [%rd0+48];"))
    with pytest.raises(ptxspec.LaunchError) as raised:
        module.launch("k", CTAS, THREADS, [np.arange(12, dtype=np.uint32)], engine=engine)
    files = [entry.path for entry in raised.traceback]
    assert [Path(file).name for file in files] == ["test_faults.py", "locking.py"]
    assert raised.traceback[-1].ishidden(raised)  # pytest shows the test's line
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
