"""Programs whose threads update memory together, under both engines, against NumPy and plain integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from launching import both, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(8)

rng = np.random.default_rng(85)

#: where a cell may lie: the state space an instruction names, and what brings its address into %rd9 (from %rd8, global)
SHARED = ".shared .align 8 .b8 cells[1024];"
PLACES = {
    "global": (".global", "mov.u64 %rd9, %rd8;"),
    "generic": ("", "mov.u64 %rd9, %rd8;"),
    "shared": (".shared", "mov.u64 %rd9, cells;"),
    "shared::cta": (".shared::cta", "mov.u64 %rd9, cells;"),
    "generic-shared": ("", "mov.u64 %rd9, cells; cvta.shared.u64 %rd9, %rd9;"),
}
IN_SHARED = [name for name in PLACES if "shared" in name]
#: type -> (register, NumPy's type)
TYPES = {
    "b16": ("%h", np.uint16), "b32": ("%r", np.uint32), "u32": ("%r", np.uint32), "s32": ("%r", np.int32),
    "b64": ("%rd", np.uint64), "u64": ("%rd", np.uint64), "s64": ("%rd", np.int64), "f16": ("%h", np.float16),
    "f32": ("%f", np.float32), "f64": ("%fd", np.float64),
}  # fmt: skip


def one_cell(name: str, type: str, place: str, red: bool = False) -> str:
    """A kernel in which each thread moves its cell of `memory` to the place, updates it with its operands, and moves it back.
    `name` may be of three operands: cas."""
    register, _ = TYPES[type]
    size = int(type[1:]) // 8
    space, address = PLACES[place]
    word = f"b{size * 8}"
    operands = f"{register}12, {register}13" if name == "cas" else f"{register}12"
    target = "" if red else f"{register}11, "
    return kernel(
        f"""
    {SHARED}
    ld.param.u64 %rd8, [memory]; mad.wide.u32 %rd8, %r0, {size}, %rd8;
    ld.param.u64 %rd4, [b]; mad.wide.u32 %rd4, %r0, {size}, %rd4;
    ld.param.u64 %rd5, [c]; mad.wide.u32 %rd5, %r0, {size}, %rd5;
    mad.wide.u32 %rd6, %r0, {size}, %rd0;
    {address}
    {"mad.wide.u32 %rd9, %r1, 8, %rd9;" if place in IN_SHARED else ""}
    ld.global.{word} {register}10, [%rd8];
    {f"st{space}.{word} [%rd9], {register}10;" if place in IN_SHARED else ""}
    ld.global.{word} {register}12, [%rd4];
    ld.global.{word} {register}13, [%rd5];
    {"red" if red else "atom"}{space.replace("::cta", "")}.{name}.{type} {target}[%rd9], {operands};
    {f"ld{space}.{word} {register}10, [%rd9]; st.global.{word} [%rd8], {register}10;" if place in IN_SHARED else ""}
    {"" if red else f"st.global.{word} [%rd6], {register}11;"}
    """.replace("ld.shared::cta", "ld.shared").replace("st.shared::cta", "st.shared"),
        ".param .u64 out, .param .u64 memory, .param .u64 b, .param .u64 c",
    )


def edges(type: type[np.number], three: bool) -> np.ndarray:
    """Values at which wrapping around, order and equality change, crossed: three columns, the last of them the same value if
    nothing reads it."""
    info = np.iinfo(type)
    some = [info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max]
    some += [-1] if info.min else [int(info.max) // 2, int(info.max) // 2 + 1]
    return np.array(list(itertools.product(some, some, some[::3] if three else some[:1])), dtype=type).T


def words(old: np.ndarray, b: np.ndarray, c: np.ndarray, name: str) -> list[int]:
    """What an integer operation leaves, by plain integers."""
    width = old.dtype.itemsize * 8

    def after(x: int, y: int, z: int) -> int:
        match name:
            case "and":
                return x & y
            case "or":
                return x | y
            case "xor":
                return x ^ y
            case "exch":
                return y
            case "add":
                return x + y
            case "min":
                return min(x, y)
            case "max":
                return max(x, y)
            case "inc":
                return 0 if x >= y else x + 1
            case "dec":
                return y if x == 0 or x > y else x - 1
            case "cas":
                return z if x == y else x
        raise AssertionError(name)

    return [after(*row) & (1 << width) - 1 for row in zip(old.tolist(), b.tolist(), c.tolist(), strict=True)]


INTEGERS = [
    *[(op, t) for op in ("and", "or", "xor", "exch", "cas") for t in ("b32", "b64")],
    *[(op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64")],
    *[("add", t) for t in ("u32", "s32", "u64")],
    ("inc", "u32"),
    ("dec", "u32"),
    ("cas", "b16"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "type"), INTEGERS, ids=lambda v: v)
def test_an_integer_operation_on_a_cell(name: str, type: str, place: str) -> None:
    dtype = TYPES[type][1]
    old, b, c = edges(dtype, three=name == "cas")
    n = len(old) // 9 * 9
    old, b, c = (v[:n].copy() for v in (old, b, c))
    out, memory, *_ = both(one_cell(name, type, place), [np.zeros(n, dtype), old, b, c], grid=n // 9, block=9)
    assert out.tolist() == old.tolist()
    assert memory.view(f"u{dtype().itemsize}").tolist() == words(old, b, c, name)
    if name not in ("cas", "exch"):
        args = [np.zeros(n, dtype), old, b, c]
        out, reduced, *_ = both(one_cell(name, type, place, red=True), args, grid=n // 9, block=9)
        assert reduced.tolist() == memory.tolist() and not out.any()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_a_floating_point_sum_in_a_cell(type: str, place: str) -> None:
    """NumPy rounds to nearest even and keeps subnormal numbers; in global memory single precision flushes them."""
    dtype = TYPES[type][1]
    info = np.finfo(dtype)
    some = [0.0, -0.0, 1.0, -1.0, 1.5, info.max, -info.max, np.inf, info.tiny, -info.tiny, info.tiny / 2]
    some += [info.smallest_subnormal, -info.smallest_subnormal, info.tiny * 1.5, 1 + info.eps, 3.0, 1 / info.eps]
    pairs = [(x, y) for x, y in itertools.product(some, some) if not (np.isinf(x) and np.isinf(y) and x != y)]
    old, b = np.array(pairs[: len(pairs) // 32 * 32], dtype=dtype).T.copy()
    n = len(old)
    flushes = type == "f32" and place in ("global", "generic")

    def flush(v: np.ndarray) -> np.ndarray:
        return np.where(np.abs(v) < info.tiny, np.copysign(dtype(0), v), v).astype(dtype) if flushes else v

    with np.errstate(over="ignore"):
        want = flush(flush(old) + flush(b))
    name = "add.noftz" if type == "f16" else "add"
    word = f"u{dtype().itemsize}"
    for red in (False, True):
        args = [np.zeros(n, dtype), old, b, b]
        out, memory, *_ = both(one_cell(name, type, place, red), args, grid=n // 32, block=32)
        assert memory.view(word).tolist() == want.view(word).tolist()
        assert red or out.view(word).tolist() == old.view(word).tolist()
    if type == "f32":
        subnormal = (np.abs(want) < info.tiny) & (want != 0)
        assert subnormal.any() != flushes


def test_sums_that_are_no_number() -> None:
    """Infinities that cancel, and a NaN: as the profile chooses, and refused where none does."""
    old = np.array([np.inf, np.nan, 1.0, -np.inf] * 8, np.float32)
    b = np.array([-np.inf, 1.0, np.nan, -np.inf] * 8, np.float32)
    _, memory, *_ = both(one_cell("add", "f32", "global"), [np.zeros(32, np.float32), old, b, b], block=32)
    assert memory.view(np.uint32)[:4].tolist() == [0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 0xFF800000]
    module = ptxspec.load(one_cell("add", "f32", "global"))
    with pytest.raises(ptxspec.LaunchError, match="atomic-nan"):
        args = [np.zeros(32, np.float32), old.copy(), b, b]
        module.launch("k", 1, 32, args, profile="portable", engine="exact")


def test_compare_and_swap_compares_bits() -> None:
    """−0 is not +0, and a NaN equals itself."""
    old = np.array([0x80000000, 0x00000000, 0x7FC00001, 5] * 8, np.uint32)
    b = np.array([0x00000000, 0x00000000, 0x7FC00001, 5] * 8, np.uint32)
    c = np.full(32, 77, np.uint32)
    out, memory, *_ = both(one_cell("cas", "b32", "global"), [np.zeros(32, np.uint32), old, b, c], block=32)
    assert memory[:4].tolist() == [0x80000000, 77, 77, 77] and out.tolist() == old.tolist()


# many threads at one cell ----------------------------------------------------------------------------------------------


def test_a_histogram_in_global_memory() -> None:
    """1,536 threads, sixteen bins: most additions meet others."""
    data = rng.integers(0, 16, 1536).astype(np.uint32)
    source = kernel(
        """
    ld.param.u64 %rd2, [data];
    mad.wide.u32 %rd3, %r0, 4, %rd2;
    ld.global.u32 %r4, [%rd3];
    mad.wide.u32 %rd4, %r4, 4, %rd0;
    red.global.add.u32 [%rd4], 1;
    atom.global.add.u32 %r5, [%rd0+64], %r4;
    """,
        ".param .u64 out, .param .u64 data",
    )
    out, _ = both(source, [np.zeros(17, np.uint32), data], grid=12, block=128)
    assert out[:16].tolist() == np.bincount(data, minlength=16).tolist() and out[16] == data.sum()


def test_a_histogram_in_shared_memory() -> None:
    """Each CTA counts by itself, then adds what it counted."""
    data = rng.integers(0, 32, 1000).astype(np.uint32)
    source = kernel(
        """
    .shared .u32 bins[32];
    ld.param.u64 %rd2, [data];
    ld.param.u32 %r9, [n];
    mov.u32 %r10, bins;
    setp.lt.u32 %p1, %r1, 32;
    mad.lo.u32 %r11, %r1, 4, %r10;
    @%p1 st.shared.u32 [%r11], 0;
    bar.sync 0;
    setp.lt.u32 %p2, %r0, %r9;
    mad.wide.u32 %rd3, %r0, 4, %rd2;
    @%p2 ld.global.u32 %r4, [%rd3];
    mad.lo.u32 %r12, %r4, 4, %r10;
    @%p2 atom.shared.add.u32 %r5, [%r12], 1;
    bar.sync 0;
    @%p1 ld.shared.u32 %r6, [%r11];
    mad.wide.u32 %rd4, %r1, 4, %rd0;
    @%p1 red.global.add.u32 [%rd4], %r6;
    """,
        ".param .u64 out, .param .u64 data, .param .u32 n",
    )
    out, *_ = both(source, [np.zeros(32, np.uint32), data, np.uint32(1000)], grid=8, block=128)
    assert out.tolist() == np.bincount(data, minlength=32).tolist()


@pytest.mark.parametrize("limit", [0xFFFFFFFF, 99])
def test_every_ticket_is_drawn_once(limit: int) -> None:
    """inc gives 0 … limit in turn and begins again; dec gives them back."""
    n = 300
    source = kernel(
        """
    ld.param.u32 %r9, [limit];
    ld.param.u64 %rd2, [counters];
    atom.global.inc.u32 %r4, [%rd2], %r9;
    st.global.u32 [%rd1], %r4;
    atom.global.dec.u32 %r5, [%rd2+4], %r9;
    st.global.u32 [%rd1+1200], %r5;
    """,
        ".param .u64 out, .param .u64 counters, .param .u32 limit",
    )
    args = [np.zeros(2 * n, np.uint32), np.zeros(2, np.uint32), np.uint32(limit)]
    out, counters, _ = both(source, args, grid=3, block=100)
    up, down = np.sort(out[:n]), np.sort(out[n:])
    period = limit + 1
    assert up.tolist() == sorted(i % period for i in range(n))
    assert down.tolist() == sorted(-i % period for i in range(n))
    assert counters.tolist() == [n % period, -n % period]


def test_the_greatest_and_the_least_of_many() -> None:
    data = rng.integers(-(2**31), 2**31, 512).astype(np.int32)
    source = kernel(
        """
    ld.param.u64 %rd2, [data];
    mad.wide.u32 %rd3, %r0, 4, %rd2;
    ld.global.s32 %r4, [%rd3];
    red.global.min.s32 [%rd0], %r4;
    red.global.max.s32 [%rd0+4], %r4;
    red.global.min.u32 [%rd0+8], %r4;
    red.global.max.u32 [%rd0+12], %r4;
    red.global.xor.b32 [%rd0+16], %r4;
    red.global.or.b32 [%rd0+20], %r4;
    red.global.and.b32 [%rd0+24], %r4;
    """,
        ".param .u64 out, .param .u64 data",
    )
    begin = np.array([2**31 - 1, 2**31, 2**32 - 1, 0, 0, 0, 2**32 - 1], np.uint32)
    out, _ = both(source, [begin, data], grid=4, block=128)
    unsigned = data.view(np.uint32)
    assert out[:2].view(np.int32).tolist() == [data.min(), data.max()]
    want = [
        unsigned.min(),
        unsigned.max(),
        *(op.reduce(unsigned) for op in (np.bitwise_xor, np.bitwise_or, np.bitwise_and)),
    ]
    assert out[2:].tolist() == want


def test_a_sum_of_whole_numbers_in_floating_point_is_exact() -> None:
    """Whatever the order in which the threads come."""
    data = rng.integers(-1000, 1000, 256).astype(np.float32)
    source = kernel(
        """
    ld.param.u64 %rd2, [data];
    mad.wide.u32 %rd3, %r0, 4, %rd2;
    ld.global.f32 %f1, [%rd3];
    cvt.f64.f32 %fd1, %f1;
    ld.param.u64 %rd4, [wide];
    atom.global.add.f32 %f2, [%rd0], %f1;
    red.add.f64 [%rd4], %fd1;
    """,
        ".param .u64 out, .param .u64 data, .param .u64 wide",
    )
    out, _, wide = both(source, [np.zeros(1, np.float32), data, np.zeros(1)], grid=2, block=128)
    assert out[0] == wide[0] == data.astype(np.float64).sum()


# locks -----------------------------------------------------------------------------------------------------------------

LOCK = """
    ld.param.u64 %rd2, [lock];
    mov.u32 %r20, 0;
AGAIN:
    atom{acquire}.global.cas.b32 %r4, [%rd2], 0, 1;
    setp.ne.u32 %p1, %r4, 0;
    {spin}
    ld.global.u32 %r5, [%rd0];
    ld.global.u32 %r6, [%rd0+4];
    add.u32 %r5, %r5, 1;
    add.u32 %r6, %r6, %r5;
    st.global.u32 [%rd0], %r5;
    st.global.u32 [%rd0+4], %r6;
    atom{release}.global.exch.b32 %r7, [%rd2], 0;
    {leave}
"""


@pytest.mark.parametrize(("grid", "block"), [(1, 1), (1, 32), (4, 32), (3, 96)])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_lock_keeps_others_out(grid: int, block: int, ordered: bool) -> None:
    """The thread that has the lock lets it go in the same round, so that no thread of its warp waits for itself."""
    body = LOCK.format(
        acquire=".acquire.gpu" if ordered else "",
        release=".release.gpu" if ordered else "",
        spin="@%p1 bra NEXT;",
        leave="mov.u32 %r20, 1;\nNEXT:\n    setp.eq.u32 %p2, %r20, 0;\n    @%p2 bra AGAIN;",
    )
    source = kernel(body, ".param .u64 out, .param .u64 lock")
    out, lock = both(source, [np.zeros(2, np.uint32), np.zeros(1, np.uint32)], grid=grid, block=block)
    n = grid * block
    assert out.tolist() == [n, n * (n + 1) // 2] and lock[0] == 0


def test_a_lock_that_is_waited_for_before_it_is_let_go() -> None:
    """The loop comes before the code that ends it: only the turns that go round all blocks let its holder out."""
    body = LOCK.format(acquire="", release="", spin="@%p1 bra AGAIN;", leave="")
    source = kernel(body, ".param .u64 out, .param .u64 lock")
    out, lock = both(source, [np.zeros(2, np.uint32), np.zeros(1, np.uint32)], grid=2, block=1)
    assert out.tolist() == [2, 3] and lock[0] == 0


# guards ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("place", ["global", "generic", "shared", "generic-shared"])
def test_a_guard_keeps_the_access_and_the_result_away(place: str, negated: bool) -> None:
    space, address = PLACES[place]
    source = kernel(
        f"""
    {SHARED}
    ld.param.u64 %rd8, [memory];
    {address}
    mov.u32 %r4, 1000;
    and.b32 %r5, %r0, 3;
    setp.{"ne" if negated else "eq"}.u32 %p1, %r5, 0;
    @{"!" if negated else ""}%p1 atom{space}.add.u32 %r4, [%rd9], 2;
    @{"!" if negated else ""}%p1 red{space}.max.u32 [%rd9+4], %r0;
    st.global.u32 [%rd1], %r4;
    bar.sync 0;
    ld{space}.u32 %r6, [%rd9];
    ld{space}.u32 %r7, [%rd9+4];
    st.global.u32 [%rd8+8], %r6;
    st.global.u32 [%rd8+12], %r7;
    """,
        ".param .u64 out, .param .u64 memory",
    )
    out, memory = both(source, [np.zeros(64, np.uint32), np.zeros(4, np.uint32)], block=64)
    took = out[::4]
    assert np.sort(took).tolist() == list(range(0, 32, 2)) and memory[2:].tolist() == [32, 60]
    assert all((out[i::4] == 1000).all() for i in (1, 2, 3))


def test_an_address_that_no_guard_lets_through_is_not_looked_at() -> None:
    source = kernel(
        "setp.ne.u32 %p1, %r0, %r0; mov.u64 %rd5, 3; @%p1 atom.add.u32 %r4, [%rd5], 2; st.global.u32 [%rd1], 9;"
    )
    assert both(source, [np.zeros(2, np.uint32)], block=2)[0].tolist() == [9, 9]


# faults ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "rule"),
    [
        ("atom.global.add.u32 %r4, [%rd0+2], 1;", "misaligned"),
        ("atom.add.u64 %rd9, [%rd0+4], 1;", "misaligned"),
        ("red.global.add.f64 [%rd0+4], %fd0;", "misaligned"),
        ("atom.global.cas.b16 %h1, [%rd0+1], %h0, %h0;", "misaligned"),
        ("atom.shared.add.u32 %r4, [cells+2], 1;", "misaligned"),
        ("atom.global.cas.b32 %r4, [%rd0+16], 1, 2;", "out of bounds"),
        ("red.shared.or.b32 [cells+1024], 1;", "out of bounds"),
        ("mov.u64 %rd7, 64; atom.add.u32 %r4, [%rd7], 1;", "out of bounds"),
        ("mov.u64 %rd9, fixed; cvta.const.u64 %rd9, %rd9; atom.exch.b32 %r4, [%rd9], 1;", "read only"),
        ("mov.u64 %rd9, fixed; cvta.const.u64 %rd9, %rd9; red.min.s32 [%rd9], 1;", "read only"),
        ("atom.global.cas.b32 %r4, [%rd2], 77, 2;", "read only"),
    ],
)
def test_an_access_that_breaks_a_rule(access: str, rule: str) -> None:
    source = kernel(
        f"{SHARED} ld.param.u64 %rd2, [fix]; {access}",
        ".param .u64 out, .param .u64 fix",
        module=".const .u32 fixed[4] = { 1, 2, 3, 4 };",
    )
    fixed = np.arange(4, dtype=np.uint32)
    fixed.flags.writeable = False
    error = fault(source, [np.zeros(4, np.uint32), fixed], block=4)
    assert error.rule == rule and "memory.md" in str(error)


def test_a_place_in_a_threads_own_memory() -> None:
    """AMB-089: what the chip's code would do."""
    source = kernel("""
    .local .u32 own;
    mov.u64 %rd5, own;
    cvta.local.u64 %rd5, %rd5;
    st.u32 [%rd5], %r0;
    atom.add.u32 %r4, [%rd5], 100;
    ld.local.u32 %r5, [own];
    sub.u32 %r5, %r5, %r4;
    st.global.u32 [%rd1], %r5;
    """)
    assert both(source, [np.zeros(64, np.uint32)], grid=2, block=32)[0].tolist() == [100] * 64


REFUSED = [
    "atom.global.add.s64 %rd9, [%rd0], 1;",
    "atom.global.sub.u32 %r4, [%rd0], 1;",
    "atom.global.inc.u64 %rd9, [%rd0], 1;",
    "atom.global.add.f16 %h1, [%rd0], %h0;",
    "atom.global.min.f32 %f1, [%rd0], %f0;",
    "atom.local.add.u32 %r4, [%rd0], 1;",
    "atom.const.add.u32 %r4, [%rd0], 1;",
    "atom.volatile.global.add.u32 %r4, [%rd0], 1;",
    "atom.global.cas.b32 %r4, [%rd0], 1;",
    "red.global.exch.b32 [%rd0], 1;",
    "red.global.cas.b32 [%rd0], 1, 2;",
    "red.acquire.gpu.global.add.u32 [%rd0], 1;",
    "atom.global.add.u32 %rd9, [%rd0], 1;",
    "atom.global.add.u32 %r4, [%rd0], %rd3;",
    "atom.global.add.u32 %f1, [%rd0], 1;",
    "atom.global.add.u32 %r4, %r5, 1;",
]


@pytest.mark.parametrize("access", REFUSED)
def test_what_ptxas_refuses_too(access: str) -> None:
    from ptxspec.evidence import assembler

    source = text(f"ld.param.u64 %rd0, [out]; {access} ret;")
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(source)
    try:
        assembler.ptxas()
    except FileNotFoundError as why:
        pytest.skip(f"NO ORACLE: {why}")
    assert assembler.assemble(source), "ptxas accepts it"


@pytest.mark.parametrize(
    ("version", "target", "access", "complaint"),
    [
        ("4.3", "sm_52", "atom.global.add.f64 %fd1, [%rd0], %fd0;", "PTX ISA 5.0"),
        ("5.0", "sm_52", "atom.global.add.f64 %fd1, [%rd0], %fd0;", "sm_60"),
        ("5.0", "sm_60", "atom.relaxed.gpu.global.add.u32 %r1, [%rd0], 1;", "PTX ISA 6.0"),
        ("6.0", "sm_60", "atom.relaxed.gpu.global.add.u32 %r1, [%rd0], 1;", "sm_70"),
        ("5.0", "sm_52", "red.sys.global.add.u32 [%rd0], 1;", "sm_60"),
        ("6.0", "sm_70", "atom.global.cas.b16 %h1, [%rd0], %h1, %h2;", "PTX ISA 6.3"),
        ("7.8", "sm_80", "atom.cluster.global.add.u32 %r1, [%rd0], 1;", "sm_90"),
        ("7.7", "sm_80", "red.shared::cta.add.u32 [%r1], 1;", "PTX ISA 7.8"),
        ("3.1", "sm_20", "red.global.min.u64 [%rd0], %rd1;", "sm_32"),
        ("3.1", "sm_20", "atom.global.and.b64 %rd1, [%rd0], %rd1;", "sm_32"),
        ("4.2", "sm_52", "addc.cc.u64 %rd1, %rd2, %rd3;", "PTX ISA 4.3"),
        ("2.3", "sm_20", "mad.lo.cc.u32 %r1, %r2, %r3, %r4;", "PTX ISA 3.0"),
    ],
)
def test_forms_have_their_versions_and_targets(version: str, target: str, access: str, complaint: str) -> None:
    """As ptxas has them."""
    from ptxspec.evidence import assembler

    def source(version: str, target: str) -> str:
        registers = ".reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f64 %fd<4>;"
        head = f".version {version}\n.target {target}\n.address_size 64\n"
        return f"{head}.visible .entry k(.param .u64 out)\n{{\n{registers}\nld.param.u64 %rd0, [out];\n{access}\nret;\n}}\n"

    with pytest.raises(ptxspec.PtxError, match=complaint):
        ptxspec.load(source(version, target))
    ptxspec.load(source("7.8", "sm_90"))
    try:
        errors = assembler.assemble(source(version, target))
    except FileNotFoundError as why:
        pytest.skip(f"NO ORACLE: {why}")
    assert errors and not assembler.assemble(source("7.8", "sm_90"))


def test_the_sink_takes_what_nobody_wants() -> None:
    """`_` stands for the destination of atom, with and without a guard, and for that of no ordinary instruction."""
    source = kernel("""
    atom.global.add.u32 _, [%rd0], 2;
    setp.lt.u32 %p1, %r0, 10;
    @%p1 atom.global.cas.b32 _, [%rd0+4], 0, %r0;
    atom.add.f32 _, [%rd0+8], 0f3f800000;
    """)
    out = both(source, [np.zeros(3, np.uint32)], grid=2, block=20)[0]
    assert out[:1].tolist() == [80] and out[1] == 1 and out[2:].view(np.float32).tolist() == [40.0]
    with pytest.raises(ptxspec.PtxError, match="the sink _"):
        ptxspec.load(text("add.u32 _, %r1, %r2; ret;"))


def test_orderings_and_scopes_change_nothing() -> None:
    """Every ordering with every scope leaves what the plain form leaves."""
    lines = [
        f"{o}{s}{c}.global.add.u32 {'%r4, ' if o == 'atom' else ''}[%rd0], 3;"
        for o, orders in (
            ("atom", ("", ".relaxed", ".acquire", ".release", ".acq_rel")),
            ("red", ("", ".relaxed", ".release")),
        )
        for s in orders
        for c in ("", ".cta", ".cluster", ".gpu", ".sys")
    ]
    assert len(lines) == 40
    out: Any = both(kernel("\n".join(lines)), [np.zeros(1, np.uint32)], grid=2, block=33)[0]
    assert out[0] == 3 * 40 * 66
