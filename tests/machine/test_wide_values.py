"""Values of 128 bits, vectors in atom and red, vectors as parameters, and hints: what programs leave, under both engines. What is
expected is computed with Python's integers, and with NumPy's floats."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxspec

pytestmark = pytest.mark.sample(4)

ENGINES = ("exact", "native")
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    ".reg .b128 q<9>; .reg .u64 out, in; .reg .b64 d<9>; .reg .b32 w<9>; .reg .f32 f<9>; .reg .b16 h<9>; .reg .pred p;"
    " .reg .v4 .f32 a, b; .reg .v2 .u16 c;"
)
START = "ld.param.u64 out, [to]; ld.param.u64 in, [from];"


def module(body: str, before: str = "", parameters: str = "") -> str:
    return (
        f"{HEADER}{before}\n.visible .entry k(.param .u64 to, .param .u64 from{parameters})\n"
        f"{{\n{REGISTERS}\n{START}\n{body}\nret;\n}}\n"
    )


def left(text: str, given: bytes, size: int, *more: Any, profile: str = "hopper") -> tuple[bytes, bytes]:
    """What the kernel leaves in `to` and in `from`; both engines must leave the same."""
    found = []
    for engine in ENGINES:
        out, data = np.zeros(size, np.uint8), np.frombuffer(given, np.uint8).copy()
        ptxspec.load(text).launch("k", args=[out, data, *more], engine=engine, profile=profile)
        found.append((out.tobytes(), data.tobytes()))
    assert found[0] == found[1]
    return found[0]


def wide(data: bytes) -> list[int]:
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)]


def pack(*values: int) -> bytes:
    return b"".join((v % (1 << 128)).to_bytes(16, "little") for v in values)


MOVES = ptxspec.load(
    module(
        "ld.global.b128 q0, [in]; mov.b128 {d0, d1}, q0; mov.b128 q1, {d1, d0}; st.global.b128 [out], q1;"
        "mov.b128 {w0, w1, w2, w3}, q0; mov.b128 q2, {w3, w0, w2, w1}; st.global.b128 [out+16], q2;"
        "mov.b128 {_, d2}, q0; mov.b128 q3, {d2, -3}; st.global.b128 [out+32], q3;"
        "setp.gt.u64 p, d0, d1; @p mov.b128 q0, 7; st.global.b128 [out+48], q0;"
        ".local .b128 l[2]; st.local.b128 [l+16], q2; ld.local.b128 q4, l[1]; st.global.b128 [out+64], q4;"
        ".shared .b128 s; st.shared.v2.b64 [s], {d0, d1}; ld.volatile.shared.b128 q5, [s]; st.global.b128 [out+80], q5;"
    )
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, (1 << 128) - 1), st.sampled_from(ENGINES))
def test_packing_and_unpacking(value: int, engine: str) -> None:
    low, high = value % (1 << 64), value >> 64
    w = [value >> 32 * i & 0xFFFFFFFF for i in range(4)]
    mixed = w[3] | w[0] << 32 | w[2] << 64 | w[1] << 96
    out = np.zeros(96, np.uint8)
    MOVES.launch("k", args=[out, np.frombuffer(pack(value), np.uint8).copy()], engine=engine)
    want = [high | low << 64, mixed, high | ((1 << 64) - 3) << 64, 7 if low > high else value, mixed, value]
    assert wide(out.tobytes()) == want


def test_a_constant_has_64_bits() -> None:
    """Above them are zeros (AMB-176)."""
    out, _ = left(
        module(
            "mov.b128 q0, -1; st.global.b128 [out], q0; st.global.b128 [out+16], -2; atom.global.exch.b128 q1, [in], -3;"
        ),
        pack(1),
        32,
    )
    assert wide(out) == [(1 << 64) - 1, (1 << 64) - 2]


def test_addresses_have_zeros_above_them() -> None:
    out, _ = left(
        module("mov.b128 q0, s; mov.b128 {d0, d1}, q0; mov.u64 d2, s; sub.u64 d0, d0, d2; st.global.v2.b64 [out], {d0, d1};",
               ".shared .b32 s;"), pack(0), 16)  # fmt: skip
    assert wide(out) == [0]


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_exchanges(space: str) -> None:
    """Sixteen bytes change at once, if they are to."""
    source = random.Random(space)
    for _ in range(6):
        old, new, other = (source.getrandbits(128) for _ in range(3))
        compared = source.choice([old, old ^ 1 << source.randrange(128)])
        ss, cell = (".shared", "s") if space == "shared" else (".global" if space == "global" else "", "in")
        body = (
            f"ld.global.b128 q0, [in]; ld.global.b128 q1, [in+16]; ld.global.b128 q2, [in+32]; ld.global.b128 q3, [in+48];"
            f"{'st.shared.b128 [s], q0;' if space == 'shared' else ''}"
            f"atom{ss}.cas.b128 q4, [{cell}], q1, q2; st.global.b128 [out], q4;"
            f"atom.acq_rel.sys{ss}.exch.b128 q5, [{cell}], q3; st.global.b128 [out+16], q5;"
            f"ld{ss}.b128 q6, [{cell}]; st.global.b128 [out+32], q6; atom{ss}.exch.b128 _, [{cell}], q0;"
        )
        out, _ = left(module(body, ".shared .align 16 .b8 s[16];"), pack(old, compared, new, other), 48)
        assert wide(out) == [old, new if compared == old else old, other]


CALLED = """
.func (.param .b128 y) turned(.param .b128 x)
{ .reg .b128 q; .reg .b64 l, h; ld.param.b128 q, [x]; mov.b128 {l, h}, q; mov.b128 q, {h, l}; st.param.b128 [y], q; ret; }
.func (.reg .b128 y) counted(.reg .b128 x, .reg .b32 n)
{ .reg .b128 q; .reg .pred p; .reg .b64 l, h; .reg .b32 m; mov.b128 y, x; setp.eq.u32 p, n, 0; @p ret;
  sub.u32 m, n, 1; call (q), counted, (x, m); mov.b128 {l, h}, q; add.u64 l, l, 1; add.u64 h, h, 2; mov.b128 y, {l, h};
  mov.b128 {l, h}, x; ret; }
"""


def test_parameters_and_results() -> None:
    """In .param, in registers, and kept by a function that calls itself; and a parameter of the entry."""
    body = (
        "ld.param.b128 q0, [e]; ld.global.b128 q1, [in];"
        "call (q2), turned, (q1); st.global.b128 [out], q2;"
        "{ .param .b128 s, r; st.param.b128 [s], q0; call (r), turned, (s); ld.param.b128 q3, [r]; } st.global.b128 [out+16], q3;"
        "call (q4), counted, (q1, 3); st.global.b128 [out+32], q4; st.global.b128 [out+48], q1;"
        "mov.u64 d0, turned; P: .callprototype (.param .b128 _) _ (.param .b128 _); call (q5), d0, (q1), P; st.global.b128 [out+64], q5;"
    )
    one, two = 5 | 9 << 64, 0x1234 | 0xABCD << 100
    out, _ = left(module(body, CALLED, ", .param .b128 e"), pack(one), 80, pack(two))
    swapped = [v >> 64 | v % (1 << 64) << 64 for v in (one, two)]
    assert wide(out) == [swapped[0], swapped[1], one + 3 + (6 << 64), one, swapped[0]]


VECTORS = """
.func (.reg .v4 .f32 y) turn(.reg .v4 .f32 x, .reg .f32 f, .reg .v2 .u16 n)
{ .reg .f32 g; .reg .u32 w; cvt.u32.u16 w, n.y; cvt.rn.f32.u32 g, w; mov.v4.f32 y, {x.w, x.z, x.y, x.r}; add.f32 y.x, y.x, f;
  add.f32 y.w, y.a, g; ret; }
.func (.reg .v2 .b32 r) sum(.reg .v2 .b32 x)
{ .reg .v2 .b32 z; .reg .pred p; mov.v2.b32 r, x; setp.eq.u32 p, x.x, 0; @p ret; sub.u32 z.x, x.x, 1; mad.lo.u32 z.y, x.y, 3, 1;
  call (r), sum, (z); add.u32 r.y, r.y, x.x; ret; }
"""


def test_vectors_are_passed_in_registers() -> None:
    body = (
        "ld.param.v4.f32 a, [e+16]; ld.param.f32 f0, e[1]; mov.v2.u16 c, {3, 9};"
        "call (b), turn, (a, f0, c); st.global.v4.f32 [out], b; call (_), turn, (a, f0, c);"
        "P: .callprototype (.reg .v4 .f32 _) _ (.reg .v4 .f32 _, .reg .f32 _, .reg .v2 .u16 _);"
        "mov.u64 d0, turn; call (b), d0, (b, 1.0, c), P; st.global.v4.f32 [out+16], b;"
        ".reg .v2 .b32 z; mov.v2.b32 z, {4, 1}; call (z), sum, (z); st.global.v2.b32 [out+32], z;"
    )
    given = np.arange(8, dtype=np.float32)
    out, _ = left(module(body, VECTORS, ", .param .v4 .f32 e[2]"), bytes(16), 40, given.tobytes())
    first = [7 + 1, 6, 5, 4 + 9]
    again = [first[3] + 1, first[2], first[1], first[0] + 9]
    number = 1
    for _ in range(4):
        number = number * 3 + 1
    assert struct.unpack("<8f2I", out) == (*first, *again, 0, number + 1 + 2 + 3 + 4)


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("op", ["add", "min", "max"])
def test_vectors_in_memory_change_element_by_element(op: str, count: int) -> None:
    source = np.random.default_rng(count)
    old, new = (source.integers(-50, 50, count).astype(np.float16) for _ in range(2))
    want = {"add": old + new, "min": np.minimum(old, new), "max": np.maximum(old, new)}[op]
    names = [", ".join(f"h{i}" for i in range(count)), ", ".join(f"v{i}" for i in range(count))]
    pieces = "".join(f"ld.global.b16 h{i}, [in+{16 + 2 * i}];" for i in range(count))
    body = (
        f".reg .b16 v<8>; {pieces} atom.global.{op}.noftz.v{count}.f16 {{{names[1]}}}, [in], {{{names[0]}}};"
        + "".join(f"st.global.b16 [out+{2 * i}], v{i};" for i in range(count))
    )
    given = old.tobytes().ljust(16, b"\0") + new.tobytes().ljust(16, b"\0")
    out, data = left(module(body), given, 16)
    assert np.array_equal(np.frombuffer(out, np.float16)[:count], old)
    assert np.array_equal(np.frombuffer(data, np.float16)[:count], want) and data[2 * count : 16] == bytes(
        16 - 2 * count
    )
    silent, data = left(module(f"{pieces} red.relaxed.gpu.{op}.noftz.v{count}.f16 [in], {{{names[0]}}};"), given, 16)
    assert silent == bytes(16) and np.array_equal(np.frombuffer(data, np.float16)[:count], want)


def test_threads_add_vectors_together() -> None:
    """All threads' sums arrive, also those of a sink and of packed elements."""
    body = (
        "mov.u32 w0, %tid.x; cvt.rn.f32.u32 f0, w0; red.global.add.v4.f32 [in], {f0, 1.0, f0, 2.0};"
        "atom.global.add.v2.f32 _, [in+16], {1.0, f0}; mov.b32 w1, 0x40003c00;"
        "atom.global.add.noftz.v2.f16x2 {w2, _}, [in+32], {w1, w1};"
    )
    for engine in ENGINES:
        data = np.zeros(40, np.uint8)
        ptxspec.load(module(body)).launch("k", block=64, args=[np.zeros(1, np.uint8), data], engine=engine)
        total = sum(range(64))
        assert data[:24].view(np.float32).tolist() == [total, 64, total, 128, 64, total]
        assert data[32:].view(np.float16).tolist() == [64, 128, 64, 128]


HINTED = [
    "ld.global{}.b128 q0, [in]{};", "ld{}.v4.b32 {{w0, w1, w2, w3}}, [in]{};", "ld.global.nc{}.b64 d0, [in]{};",
    "ld.relaxed.gpu.global{}.b32 w4, [in+4]{};", "ld.weak{}.u8 w5, [in+5]{};",
]  # fmt: skip
HINTS = [
    "",
    ".L1::evict_last",
    ".L2::128B",
    ".L2::cache_hint",
    ".L1::no_allocate.L2::cache_hint",
    ".L2::256B.L2::cache_hint.L1::evict_first",
]


@pytest.mark.parametrize("hint", HINTS)
def test_hints_change_nothing(hint: str) -> None:
    policy = ", d8" if "cache_hint" in hint else ""
    loads = "".join(t.format(hint, policy) for t in HINTED)
    stored = hint.replace(".L2::128B", "").replace(".L2::256B", "")
    end = ", 77" if "cache_hint" in stored else ""
    updates = ".L2::cache_hint" if "cache_hint" in hint else ""
    body = (
        f"createpolicy.fractional.L2::evict_last.L2::evict_first.b64 d8, 0.5; {loads}"
        f"st.global{stored}.b128 [out], q0{end}; st.release.cta{stored}.v4.b32 [out+16], {{w0, w1, w2, w3}}{end};"
        f"st.weak.global{stored}.b64 [out+32], d0{end}; st{stored}.v2.b32 [out+40], {{w4, w5}}{end};"
        f"atom.global.add{updates}.u32 w6, [in+16], 5{policy}; red.global.add{updates}.v2.f32 [in+24], {{1.0, 2.0}}{policy};"
        "st.global.u32 [out+48], w6; applypriority.global.L2::evict_normal [out], 128; prefetch.global.L2::evict_last [in];"
    )
    given = bytes(range(1, 17)) + struct.pack("<2I2f", 3, 0, 0.5, 0.25)
    out, data = left(module(body), given, 64)
    row = given[:16]
    assert out[:56] == row + row + row[:8] + row[4:8] + row[5:6] + bytes(3) + struct.pack("<2I", 3, 0)
    assert data[16:] == struct.pack("<2I2f", 8, 0, 1.5, 2.25)


@pytest.mark.parametrize(
    "access",
    ["ld.global.b128 q0, [in+8];", "st.global.b128 [in+8], q0;", "atom.global.exch.b128 q0, [in+8], q1;",
     "atom.global.add.v4.f32 {f0, f1, f2, f3}, [in+8], {f4, f5, f6, f7};", "red.global.add.noftz.v4.f16 [in+4], {h0, h1, h2, h3};",
     "discard.global.L2 [in+64], 128;"],
)  # fmt: skip
@pytest.mark.parametrize("engine", ENGINES)
def test_the_whole_access_is_aligned(access: str, engine: str) -> None:
    with pytest.raises(ptxspec.LaunchError, match="misaligned"):
        ptxspec.load(module(access)).launch("k", args=[np.zeros(1, np.uint8), np.zeros(256, np.uint8)], engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_discarded_is_undefined(engine: str) -> None:
    """Under `hopper` it stays (AMB-178); without a choice the launch ends. Bytes that do not exist cannot be given up."""
    loaded = ptxspec.load(module("discard.global.L2 [in], 128; discard.L2 [in], 128;"))
    data = np.arange(256, dtype=np.uint8)
    loaded.launch("k", args=[np.zeros(1, np.uint8), data], engine=engine, profile="hopper")
    assert data.tolist() == list(range(256))
    with pytest.raises(ptxspec.LaunchError, match="discarded"):
        loaded.launch("k", args=[np.zeros(1, np.uint8), data], engine="exact", profile="portable")
    with pytest.raises(ptxspec.LaunchError, match="out of bounds"):
        loaded.launch("k", args=[np.zeros(1, np.uint8), np.zeros(64, np.uint8)], engine=engine)


@pytest.mark.slow
def test_copies_are_proved() -> None:
    """Taking apart and putting together is nothing; turning the halves round twice is, too. One of four parts is found wrong."""
    same = ptxspec.prove("mov.b128 {x, y}, a; mov.b128 d, {x, y};", "mov.b128 d, a;")
    assert same.status == "proved"
    twice = ptxspec.prove(
        "mov.b128 {x, y}, a; mov.b128 b, {y, x}; mov.b128 {z, w}, b; mov.b128 d, {w, z};", "mov.b128 d, a;"
    )
    assert twice.status == "proved"
    assert ptxspec.prove("mov.b128 {x, y, z, w}, a; mov.b128 d, {x, y, w, z};", "mov.b128 d, a;").status == "refuted"
