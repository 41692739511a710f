"""Loads and stores in every state space, of every size, alone and as vectors, direct and through generic addresses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from launching import ENGINES, LAYOUT, arguments, both, each, fault, kernel, text

import ptxspec

pytestmark = pytest.mark.sample(4)

WORDS = np.array([0x89ABCDEF, 0x01234567, 0x80FF7F00, 0xFFFFFFFF], np.uint32)
INTEGERS = {f"{k}{w}": np.dtype(f"{'i' if k == 's' else 'u'}{w // 8}") for k in "usb" for w in (8, 16, 32, 64)}


def bits(rng: np.random.Generator, count: int, width: int) -> np.ndarray:
    return rng.integers(0, 1 << width, count, np.uint64).astype(f"u{width // 8}")


# width and sign ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "register"),
    [(t, r) for t, r in itertools.product(INTEGERS, (16, 32, 64)) if INTEGERS[t].itemsize * 8 <= r],
)
def test_loads_extend_to_the_register(type: str, register: int) -> None:
    """A signed type extends by its sign, the others by zeros, to the whole of the register."""
    name = {16: "%h1", 32: "%r9", 64: "%rd9"}[register]
    size, whole = INTEGERS[type].itemsize, register // 8
    source = text(
        f"""
        mov.u32 %r1, %tid.x;
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mad.wide.u32 %rd1, %r1, {size}, %rd1;
        mad.wide.u32 %rd2, %r1, {whole}, %rd2;
        mov.b{register} {name}, -1;
        ld.global.{type} {name}, [%rd1];
        st.global.b{register} [%rd2], {name};
    """,
        ".param .u64 in, .param .u64 out",
    )
    data = bits(np.random.default_rng(1), 64, size * 8)
    data[:4] = [0, 1, 1 << size * 8 - 1, (1 << size * 8) - 1]
    out = both(source, [data, np.zeros(64, f"u{whole}")], block=64)[1]
    assert np.array_equal(out, data.view(INTEGERS[type]).astype(f"i{whole}").view(f"u{whole}"))


@pytest.mark.parametrize(
    ("type", "register"),
    [(t, r) for t, r in itertools.product(INTEGERS, (16, 32, 64)) if INTEGERS[t].itemsize * 8 <= r],
)
def test_stores_take_the_low_bits(type: str, register: int) -> None:
    """And leave the bytes beside them alone."""
    name = {16: "%h1", 32: "%r9", 64: "%rd9"}[register]
    size, whole = INTEGERS[type].itemsize, register // 8
    source = text(
        f"""
        mov.u32 %r1, %tid.x;
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mad.wide.u32 %rd1, %r1, {whole}, %rd1;
        mad.wide.u32 %rd2, %r1, 16, %rd2;
        ld.global.b{register} {name}, [%rd1];
        st.global.{type} [%rd2+{size}], {name};
    """,
        ".param .u64 in, .param .u64 out",
    )
    data = bits(np.random.default_rng(2), 40, register)
    before = np.full((40, 16), 0xAA, np.uint8)
    out = both(source, [data, before], block=40)[1]
    expected = before.copy()
    expected[:, size : 2 * size] = data.view(np.uint8).reshape(40, whole)[:, :size]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("load", "register", "store"),
    [
        ("f32", "%f1", "f32"), ("b32", "%f1", "b32"), ("f32", "%r9", "b32"), ("f64", "%fd1", "f64"), ("b64", "%fd1",
        "f64"),
        ("b32", "%fd1", "b64"), ("b16", "%f1", "b32"), ("b8", "%fd1", "b64"), ("f32", "%rd9", "b64"), ("f64", "%rd9",
        "f64"),
    ],
)  # fmt: skip
def test_floating_point_bits(load: str, register: str, store: str) -> None:
    """Registers hold bits: NaN payloads come through unchanged, whichever way they are moved."""
    source = text(
        f"""
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        ld.global.{load} {register}, [%rd1];
        st.global.{store} [%rd2], {register};
    """,
        ".param .u64 in, .param .u64 out",
    )
    data = np.array([0x7FF4_0001_FFA1_2345], np.uint64)
    out = both(source, [data, np.zeros(1, np.uint64)])[1]
    assert int(out[0]) == int(data[0]) & ((1 << int(load[1:])) - 1)


# vectors -------------------------------------------------------------------------------------------------------------


VECTORS = [(c, t) for c in (2, 4) for t in ["f32", "f64", *INTEGERS] if c * int(t[1:]) <= 128]


@pytest.mark.parametrize(("count", "type"), VECTORS)
def test_vectors(count: int, type: str) -> None:
    """Elements follow one another from the address on; loaded forwards, stored backwards."""
    width = int(type[1:])
    letter = {8: "%h", 16: "%h", 32: "%f" if type == "f32" else "%r", 64: "%fd" if type == "f64" else "%rd"}[width]
    registers = [f"{letter}{4 + i}" for i in range(count)]
    source = text(
        f"""
        mov.u32 %r1, %tid.x;
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mad.wide.u32 %rd1, %r1, {count * width // 8}, %rd1;
        mad.wide.u32 %rd2, %r1, {count * width // 8}, %rd2;
        ld.global.v{count}.{type} {{{", ".join(registers)}}}, [%rd1];
        st.global.v{count}.{type} [%rd2], {{{", ".join(reversed(registers))}}};
    """,
        ".param .u64 in, .param .u64 out",
    )
    data = bits(np.random.default_rng(3), 48 * count, width)
    out = both(source, [data, np.zeros_like(data)], block=48)[1]
    assert np.array_equal(out.reshape(48, count), data.reshape(48, count)[:, ::-1])


def test_a_vector_load_over_its_own_address() -> None:
    """The address is read before the destinations are written; of two equal destinations the last element counts."""
    source = text(
        """
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        ld.global.v2.u64 {%rd1, %rd3}, [%rd1];
        st.global.v2.u64 [%rd2], {%rd1, %rd3};
        ld.param.u64 %rd1, [in];
        ld.global.v4.u32 {%r1, %r1, %r1, %r2}, [%rd1];
        st.global.v2.u32 [%rd2+16], {%r1, 7};
    """,
        ".param .u64 in, .param .u64 out",
    )
    out = both(source, [np.array([11, 22], np.uint64), np.zeros(3, np.uint64)])[1]
    assert out.tolist() == [11, 22, 22 | 7 << 32]


def test_guarded_vectors_and_extended_ones() -> None:
    source = kernel(
        """
        setp.lt.u32 %p0, %r1, 2;
        ld.param.u64 %rd2, [in];
        mov.b64 %rd5, -1;
        mov.b64 %rd6, -1;
        mov.b64 %rd7, -1;
        mov.b64 %rd8, -1;
        @%p0 ld.global.v4.s8 {%rd5, %rd6, %rd7, %rd8}, [%rd2];
        add.u64 %rd5, %rd5, %rd6;
        add.u64 %rd7, %rd7, %rd8;
        add.u64 %rd5, %rd5, %rd7;
        mad.wide.u32 %rd1, %r1, 16, %rd0;
        @!%p0 st.global.v2.b64 [%rd1], {%rd5, -2};
        @%p0 st.global.v2.b64 [%rd1], {1, %rd5};
    """,
        ".param .u64 in, .param .u64 out",
    )
    data = np.array([-1, -100, 5, 127], np.int8)
    out = both(source, [data, np.zeros((3, 2), np.int64)], block=3)[1]
    assert out.tolist() == [[1, 31], [1, 31], [-4, -2]]


# the spaces ----------------------------------------------------------------------------------------------------------


def test_shared_memory_is_one_for_the_cta() -> None:
    source = kernel("""
        .shared .align 8 .b8 first[4];
        .shared .u32 buffer[64];
        mov.u32 %r4, buffer;
        mad.lo.u32 %r5, %r1, 4, %r4;
        mul.lo.u32 %r6, %r0, 3;
        st.shared.u32 [%r5], %r6;
        bar.sync 0;
        add.u32 %r7, %r1, 1;
        rem.u32 %r7, %r7, %r3;
        mad.lo.u32 %r5, %r7, 4, %r4;
        ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd1], %r6;
    """)
    out = both(source, [np.zeros(64 * 9, np.uint32)], block=64, grid=9)[0].reshape(9, 64)
    assert np.array_equal(out, np.roll(np.arange(64 * 9).reshape(9, 64) * 3, -1, axis=1))


@pytest.mark.parametrize("static", ["", ".shared .b8 odd[5];", ".shared .align 16 .b32 pair[4];"])
@pytest.mark.parametrize("align", [1, 4, 8, 16])
def test_dynamic_shared_memory(static: str, align: int) -> None:
    """It begins behind the static part, aligned as declared, and is as large as the launch says."""
    name = static.split()[-1].split("[")[0] if static else ""
    touch = f"st.shared.u8 [{name}+4], 9;" if static else ""
    source = kernel(
        f"""
        {static}
        {touch}
        mov.u32 %r4, dynamic;
        and.b32 %r5, %r4, {align - 1};
        mad.lo.u32 %r6, %r1, 1, %r4;
        cvt.u16.u32 %h1, %r1;
        st.shared.u8 [%r6], %h1;
        bar.sync 0;
        xor.b32 %r7, %r1, 1;
        add.u32 %r7, %r7, %r4;
        ld.shared.u8 %r8, [%r7];
        mad.lo.u32 %r5, %r5, 1000, %r8;
        st.global.u32 [%rd1], %r5;
    """,
        module=f".extern .shared .align {align} .b8 dynamic[];",
    )
    out = both(source, [np.zeros(80, np.uint32)], block=40, grid=2, dynamic_shared=40)[0]
    assert out.tolist() == [t ^ 1 for t in range(40)] * 2


def test_two_names_for_the_dynamic_part() -> None:
    source = kernel(
        """
        st.shared.u32 [a+4], 0x12345678;
        ld.shared.u16 %r4, [b+6];
        st.global.u32 [%rd1], %r4;
    """,
        module=".extern .shared .align 4 .b8 a[]; .extern .shared .u16 b[];",
    )
    assert both(source, [np.zeros(1, np.uint32)], dynamic_shared=8)[0].tolist() == [0x1234]


@pytest.mark.parametrize("space", ["shared", "local"])
def test_memory_begins_as_zeros_in_every_cta(space: str) -> None:
    """AMB-032 is a choice of the machine here: no CTA sees what another left, however many are resident at once."""
    source = kernel(f"""
        .{space} .u32 cell;
        ld.{space}.u32 %r4, [cell];
        bar.sync 0;
        st.{space}.u32 [cell], 123;
        st.global.u32 [%rd1], %r4;
    """)
    assert not both(source, [np.ones(500 * 6, np.uint32)], block=500, grid=6)[0].any()


def test_registers_begin_as_zeros_in_every_cta() -> None:
    source = kernel("""
        add.u32 %r4, %r4, %r1;
        selp.u32 %r5, 1000, 0, %p5;
        add.u32 %r5, %r4, %r5;
        st.global.u32 [%rd1], %r5;
        mov.u32 %r4, 77;
        mov.pred %p5, 1;
    """)
    out = both(source, [np.ones(500 * 6, np.uint32)], block=500, grid=6)[0]
    assert np.array_equal(out.reshape(6, 500), np.tile(np.arange(500, dtype=np.uint32), (6, 1)))


def test_local_memory_is_each_threads_own() -> None:
    source = kernel("""
        .local .align 4 .b8 stack[40];
        .local .u64 other;
        mov.u64 %rd2, stack;
        mov.u32 %r4, 0;
    FILL:
        mad.wide.u32 %rd3, %r4, 4, %rd2;
        mad.lo.u32 %r5, %r4, %r0, %r1;
        st.local.u32 [%rd3], %r5;
        st.local.u64 [other], %rd3;
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p0, %r4, 4;
        @%p0 bra FILL;
        rem.u32 %r6, %r1, 4;
        mad.wide.u32 %rd3, %r6, 4, %rd2;
        ld.local.u32 %r7, [%rd3];
        st.global.u32 [%rd1], %r7;
    """)
    out = both(source, [np.zeros(33 * 64, np.uint32)], block=33, grid=64)[0]
    assert out.tolist() == [(t % 4) * (c * 33 + t) + t for c in range(64) for t in range(33)]


def test_constants() -> None:
    """Initializers: scalars of every kind, arrays whose rest is zero, rows in braces, vectors."""
    module = """
        .const .u8 byte = 200;
        .const .s16 short = -2;
        .const .align 8 .u32 table[6] = {1, 0x20, 0b11, 017};
        .const .s32 rows[2][2] = {{1, -1}, {2, -2}};
        .const .f32 reals[] = {1.5, 0f40490FDB, -0.25, 1e-45};
        .const .f64 wide = 0.1;
        .const .v2 .u16 pair = {7, 8};
        .const .u64 large = 0xfedcba9876543210;
        .const .u32 none;
    """
    loads = [
        ("ld.const.u8 %rd2, [byte];", 200),
        ("ld.const.s16 %rd2, [short];", 2**64 - 2),
        *((f"ld.const.u32 %rd2, [table+{4 * i}];", v) for i, v in enumerate([1, 32, 3, 15, 0, 0])),
        *((f"ld.const.s32 %rd2, [rows+{4 * i}];", v % 2**64) for i, v in enumerate([1, -1, 2, -2])),
        *((f"ld.const.b32 %rd2, [reals+{4 * i}];", v) for i, v in enumerate([0x3FC00000, 0x40490FDB, 0xBE800000, 1])),
        ("ld.const.b64 %rd2, [wide];", 0x3FB999999999999A),
        ("ld.const.b32 %rd2, [pair];", 0x80007),
        ("ld.const.u64 %rd2, [large];", 0xFEDCBA9876543210),
        ("ld.const.u32 %rd2, [none];", 0),
    ]
    body = "".join(f"{load} st.global.u64 [%rd0+{8 * i}], %rd2;\n" for i, (load, _) in enumerate(loads))
    out = both(kernel(body, module=module), [np.full(len(loads), 99, np.uint64)])[0]
    assert out.tolist() == [value for _, value in loads]


# parameters ----------------------------------------------------------------------------------------------------------


def test_parameters_of_every_type() -> None:
    """Each at the next multiple of its size; narrow ones by loads that extend them."""
    values = {
        "u8": np.uint8(200), "s8": np.int8(-3), "b16": np.uint16(0xBEEF), "u16": np.uint16(65535),
        "s16": np.int16(-300),
        "u32": np.uint32(4000000000), "s32": np.int32(-5), "b32": np.uint32(0xCAFEBABE), "f32": np.float32(1.5),
        "b8": np.uint8(255), "u64": np.uint64(2**64 - 2), "s64": np.int64(-(2**63)), "b64": np.uint64(12345),
        "f64": np.float64(0.1),
    }  # fmt: skip
    parameters = ", ".join(f".param .{t} p_{t}" for t in values) + ", .param .u64 out"
    body = ""
    for i, type in enumerate(values):
        load = type.replace("f", "b")
        body += f"ld.param.{load} %rd2, [p_{type}]; st.global.u64 [%rd0+{8 * i}], %rd2;\n"
    out = both(kernel(body, parameters), [*values.values(), np.zeros(len(values), np.uint64)])[-1]
    for got, (type, value) in zip(out.tolist(), values.items(), strict=True):
        if type[0] == "s":
            assert got == int(value) % 2**64, type
        else:
            assert got == int.from_bytes(value.tobytes(), "little"), type


@pytest.mark.parametrize("align", [4, 8, 16])
def test_array_parameters(align: int) -> None:
    """Passed as bytes, read as vectors and at addresses that only the run knows."""
    source = kernel(
        """
        ld.param.v4.u32 {%r4, %r5, %r6, %r7}, [p];
        xor.b32 %r4, %r4, %r5;
        xor.b32 %r6, %r6, %r7;
        xor.b32 %r4, %r4, %r6;
        mov.u64 %rd2, p;
        cvt.u64.u32 %rd3, %r1;
        add.u64 %rd2, %rd2, %rd3;
        ld.param.s8 %r8, [%rd2+3];
        xor.b32 %r4, %r4, %r8;
        st.global.u32 [%rd1], %r4;
    """,
        f".param .align 16 .b8 pad[1], .param .align 16 .b8 p[20], .param .align {align} .b8 q[3], .param .u64 out",
    )
    data = np.random.default_rng(5).integers(0, 256, 20, np.uint8)
    whole = int(np.bitwise_xor.reduce(data[:16].view(np.uint32)))
    out = both(source, [b"x", data.tobytes(), b"abc", np.zeros(17, np.uint32)], block=17)[-1]
    assert out.tolist() == [whole ^ int(data[3 + t].view(np.int8)) % 2**32 for t in range(17)]


def test_python_numbers_as_arguments() -> None:
    source = kernel(
        """
        ld.param.u32 %r4, [a];
        ld.param.b32 %r5, [b];
        ld.param.b64 %rd4, [c];
        st.global.v2.u32 [%rd0], {%r4, %r5};
        st.global.u64 [%rd0+8], %rd4;
    """,
        ".param .u32 a, .param .f32 b, .param .f64 c, .param .u64 out",
    )
    out = both(source, [-1, 0.1, 1, np.zeros(2, np.uint64)])[-1]
    assert out.view(np.uint32)[0] == 0xFFFFFFFF
    assert out.view(np.float32)[1] == np.float32(0.1)
    assert out.view(np.float64)[1] == 1.0


# generic addresses ---------------------------------------------------------------------------------------------------


GENERIC = {
    "global": ".global .align 8 .u32 v[4] = {5, 6, 7, 8};",
    "const": ".const .align 8 .u32 v[4] = {5, 6, 7, 8};",
    "shared": ".shared .align 8 .u32 v[4];",
    "local": ".local .align 8 .u32 v[4];",
}


@pytest.mark.parametrize("space", GENERIC)
@pytest.mark.parametrize("way", ["cvta of the name", "cvta of the address"])
def test_generic_loads_and_stores(space: str, way: str) -> None:
    """An address made generic reaches the same bytes as the space's own; and cvta.to undoes cvta."""
    at_module = space in ("global", "const")
    make = (
        f"cvta.{space}.u64 %rd4, v+4;"
        if way == "cvta of the name"
        else (f"mov.u64 %rd3, v+4; cvta.{space}.u64 %rd4, %rd3;")
    )
    fill = "" if at_module else "".join(f"st.{space}.u32 [v+{4 * i}], {5 + i};\n" for i in range(4))
    write = "" if space == "const" else "st.v2.u32 [%rd4+4], {70, 80};\nst.u8 [%rd4+-4], 9;\n"
    body = f"""
        {"" if at_module else GENERIC[space]}
        {fill}
        {make}
        ld.u32 %r4, [%rd4];
        {write}
        ld.{space}.v4.u32 {{%r5, %r6, %r7, %r8}}, [v];
        cvta.to.{space}.u64 %rd5, %rd4;
        ld.{space}.u32 %r9, [%rd5+-4];
        ld.v2.u16 {{%r10, %r11}}, [%rd4+-4];
        mad.wide.u32 %rd1, %r0, 32, %rd0;
        st.v4.u32 [%rd1], {{%r4, %r5, %r6, %r7}};
        st.v4.u32 [%rd1+16], {{%r8, %r9, %r10, %r11}};
    """
    source = kernel(body, module=GENERIC[space] if at_module else "")
    threads = 3 if space == "local" else 1
    out = both(source, [np.zeros((threads, 8), np.uint32)], block=threads)[0]
    after = [5, 6, 7, 8] if space == "const" else [9, 6, 70, 80]
    assert out.tolist() == [[6, *after, after[0], after[0], 0]] * threads


def test_one_instruction_reaches_four_spaces() -> None:
    """Each thread of a warp may bring an address of another space."""
    source = kernel(
        """
        .shared .u32 s;
        .local .u32 l;
        st.shared.u32 [s], 30;
        st.local.u32 [l], 40;
        bar.sync 0;
        cvta.global.u64 %rd4, g;
        cvta.const.u64 %rd5, c;
        cvta.shared.u64 %rd6, s;
        cvta.local.u64 %rd7, l;
        and.b32 %r4, %r1, 1;  setp.ne.u32 %p0, %r4, 0;
        and.b32 %r4, %r1, 2;  setp.ne.u32 %p1, %r4, 0;
        selp.b64 %rd4, %rd5, %rd4, %p0;
        selp.b64 %rd6, %rd7, %rd6, %p0;
        selp.b64 %rd4, %rd6, %rd4, %p1;
        ld.u32 %r5, [%rd4];
        st.u32 [%rd1], %r5;
    """,
        module=".global .u32 g = 10; .const .u32 c = 20;",
    )
    out = both(source, [np.zeros(64, np.uint32)], block=32, grid=2)[0]
    assert out.tolist() == [10, 20, 30, 40] * 16


def test_generic_addresses_of_buffers_are_their_global_ones() -> None:
    source = kernel("""
        cvta.to.global.u64 %rd4, %rd1;
        cvta.global.u64 %rd5, %rd4;
        setp.eq.u64 %p0, %rd4, %rd1;
        setp.eq.and.u64 %p0, %rd5, %rd1, %p0;
        selp.u32 %r4, 1, 0, %p0;
        st.global.u32 [%rd5], %r4;
    """)
    assert both(source, [np.zeros(4, np.uint32)], block=4)[0].tolist() == [1] * 4


def test_the_windows_do_not_touch_global_memory() -> None:
    ends = [base + LAYOUT.WINDOW_SIZE for base in LAYOUT.WINDOWS.values()]
    starts = [*list(LAYOUT.WINDOWS.values())[1:], LAYOUT.GLOBAL_BASE]
    assert all(end <= start for end, start in zip(ends, starts, strict=True))


WINDOWED = {"const": "c", "local": "l", "shared": "s", "param": "out"}
#: what makes an address that lies nowhere of %rd4, the generic address of a variable in one space, and %rd5, in another
MISTAKES = {
    "converted again": "cvta.{q}.u64 %rd6, %rd4;",
    "converted three times": "cvta.{q}.u64 %rd6, %rd4; cvta.{p}.u64 %rd6, %rd6;",
    "a sum of addresses": "add.u64 %rd6, %rd4, %rd5;",
    "a sum of three": "add.u64 %rd6, %rd4, %rd5; add.u64 %rd6, %rd6, %rd5;",
    "a difference": "sub.u64 %rd6, %rd4, %rd5; add.u64 %rd6, %rd6, 256;",
    "less a base twice": "cvta.to.{p}.u64 %rd6, %rd4; cvta.to.{q}.u64 %rd6, %rd6;",
    "a window's length behind": "add.u64 %rd6, %rd4, 0x1000000;",
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_addresses_with_the_bases_of_two_windows_lie_nowhere(mistake: str) -> None:
    """For every pair of windows, each kind of access in turn."""
    accesses = itertools.cycle(["ld.u32 %r9, [%rd6];", "st.u32 [%rd6], 1;", "atom.add.u32 %r9, [%rd6], 1;"])
    for (p, q), access in zip(itertools.product(WINDOWED, repeat=2), accesses, strict=False):
        before = f"cvta.{p}.u64 %rd4, {WINDOWED[p]}; cvta.{q}.u64 %rd5, {WINDOWED[q]};"
        body = before + MISTAKES[mistake].format(p=p, q=q) + access
        source = kernel(
            f".shared .align 8 .u64 s; .local .align 8 .u64 l; {body}", module=".const .align 8 .u64 c = 5;"
        )
        assert fault(source, [np.zeros(64, np.uint64)]).rule == "out of bounds", (p, q)


# variables of the module ---------------------------------------------------------------------------------------------


COUNTER = text(
    """
    ld.global.u32 %r4, [count];
    add.u32 %r4, %r4, 1;
    st.global.u32 [count], %r4;
    ld.param.u64 %rd0, [out];
    st.global.u32 [%rd0], %r4;
""",
    module=".global .u32 count = 40;",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_variables_persist_between_launches(engine: str) -> None:
    module = ptxspec.load(COUNTER)
    seen = []
    for _ in range(3):
        out = np.zeros(1, np.uint32)
        module.launch("k", args=[out], engine=engine)
        seen.append(int(out[0]))
    assert seen == [41, 42, 43]
    assert module.read("count").view(np.uint32).tolist() == [43]
    assert ptxspec.load(COUNTER).read("count").view(np.uint32).tolist() == [40]


def test_the_engines_share_a_modules_variables() -> None:
    module = ptxspec.load(COUNTER)
    for i in range(4):
        module.launch("k", args=[np.zeros(1, np.uint32)], engine=ENGINES[i % len(ENGINES)])
    assert module.read("count").view(np.uint32).tolist() == [44]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_kernels_of_a_module_share_its_variables(engine: str) -> None:
    module = ptxspec.load(
        text("st.global.u32 [v+4], 9;", parameters="", module=".global .align 4 .b8 v[8];")
        + text("ld.param.u64 %rd0, [out]; ld.global.u32 %r4, [v+4]; st.global.u32 [%rd0], %r4;")
        .replace(".entry k", ".entry reader")
        .partition(".address_size 64")[2]
    )
    out = np.zeros(1, np.uint32)
    module.launch("k", engine=engine)
    module.launch("reader", args=[out], engine=engine)
    assert out.tolist() == [9]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failed_launch_leaves_the_variables(engine: str) -> None:
    module = ptxspec.load(
        text(
            """
        st.global.u32 [v], 9;
        mov.u64 %rd1, 0;
        ld.global.u32 %r1, [%rd1];
    """,
            parameters="",
            module=".global .u32 v = 4;",
        )
    )
    with pytest.raises(ptxspec.LaunchError):
        module.launch("k", engine=engine)
    assert module.read("v").view(np.uint32).tolist() == [4]


def test_reading_a_name_that_is_none() -> None:
    with pytest.raises(KeyError):
        ptxspec.load(COUNTER).read("nothing")


def test_read_gives_a_copy() -> None:
    module = ptxspec.load(COUNTER)
    module.read("count")[:] = 0
    assert module.read("count").view(np.uint32).tolist() == [40]


# arrays as buffers ---------------------------------------------------------------------------------------------------


INCREMENT = kernel("ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;")


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2], lambda a: a[::-1], lambda a: a.reshape(6, 8).T, lambda a: a.reshape(6, 8)[1:4, 2:7],
        lambda a: a.reshape(2, 3, 8)[:, ::2], lambda a: a[5:6], lambda a: np.asfortranarray(a.reshape(6, 8)),
    ],
)  # fmt: skip
def test_arrays_that_are_not_contiguous(view) -> None:  # type: ignore[no-untyped-def]
    """Their elements in the order of the index, the last one fastest; written back where they came from."""
    for engine, module in each(INCREMENT):
        base = np.arange(48, dtype=np.uint32)
        array = view(base)
        before, rest = array.copy(), base.copy()
        module.launch("k", block=array.size, args=[array], engine=engine)
        assert np.array_equal(array, before + 1)
        if np.shares_memory(array, base):
            view(rest)[...] += 1
        assert np.array_equal(base, rest)


@pytest.mark.parametrize("dtype", ["<u4", "i4", "f4", "V4", "c8"])
def test_arrays_of_other_types_are_bytes(dtype: str) -> None:
    source = kernel("mad.wide.u32 %rd1, %r1, 1, %rd0; cvt.u16.u32 %h1, %r1; st.global.u8 [%rd1], %h1;")
    size = np.dtype(dtype).itemsize
    array = np.zeros(8 // size, dtype)
    out = both(source, [array], block=8)[0]
    assert out.tobytes() == bytes(range(8))


def test_the_same_array_twice_is_one_buffer() -> None:
    source = text(
        """
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        sub.u64 %rd3, %rd1, %rd2;
        st.global.u64 [%rd1], 5;
        ld.global.u64 %rd4, [%rd2];
        add.u64 %rd4, %rd4, %rd3;
        st.global.u64 [%rd2+8], %rd4;
    """,
        ".param .u64 a, .param .u64 b",
    )
    for engine, module in each(source):
        array = np.zeros(2, np.uint64)
        module.launch("k", args=[array, array], engine=engine)
        assert array.tolist() == [5, 5]


def test_read_only_arrays_can_be_read() -> None:
    data = WORDS.copy()
    data.flags.writeable = False
    source = kernel(
        """
        ld.param.u64 %rd2, [in];
        mad.wide.u32 %rd2, %r1, 4, %rd2;
        ld.global.u32 %r4, [%rd2];
        st.global.u32 [%rd1], %r4;
    """,
        ".param .u64 in, .param .u64 out",
    )
    assert both(source, [data, np.zeros(4, np.uint32)], block=4)[1].tolist() == WORDS.tolist()


def test_arrays_without_elements() -> None:
    """They have an address, at which there is nothing."""
    source = text(
        """
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        setp.ne.u64 %p0, %rd1, 0;
        selp.u32 %r1, 1, 0, %p0;
        st.global.u32 [%rd2], %r1;
    """,
        ".param .u64 a, .param .u64 b",
    )
    out = both(source, [np.zeros(0, np.uint32), np.zeros(1, np.uint32)])
    assert out[1].tolist() == [1]
    assert both(source, [np.zeros((3, 0)), np.zeros(1, np.uint32)])[1].tolist() == [1]


def test_buffers_are_aligned_and_apart() -> None:
    source = text(
        """
        ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
        st.global.u64 [%rd3], %rd1; st.global.u64 [%rd3+8], %rd2; st.global.u64 [%rd3+16], %rd3;
    """,
        ".param .u64 a, .param .u64 b, .param .u64 c",
    )
    for engine, module in each(source):
        spans: list[tuple[int, int]] = []
        for size in (1, 255, 256, 257):
            args = [np.zeros(size, np.uint8), np.zeros(0, np.uint8), np.zeros(3, np.uint64)]
            module.launch("k", args=args, engine=engine)
            spans += [(int(base), a.nbytes) for base, a in zip(args[2], args, strict=True)]
        assert all(base % 256 == 0 for base, _ in spans)
        spans.sort()
        assert all(base + size < after for (base, size), (after, _) in itertools.pairwise(spans)), engine


def test_the_helper_compares_what_it_should() -> None:
    """A difference in a read-only array's flags or in a scalar is none; copies are fresh."""
    data = WORDS.copy()
    data.flags.writeable = False
    copy, scalar = arguments([data, np.uint32(3)])
    assert not copy.flags.writeable and copy is not data and scalar == 3


def test_generic_addresses_in_initializers() -> None:
    """What they point to is what a load without a state space finds."""
    module = (
        ".global .u32 before; .const .align 8 .u32 c[4] = {1, 2, 3, 4}; .global .u32 g[2] = {50, 60};"
        " .global .u64 p[3] = {generic(c)+8, generic(g), generic(g)+4};"
    )
    source = kernel(
        """
        ld.global.u64 %rd4, [p]; ld.global.u64 %rd5, [p+8]; ld.global.u64 %rd6, [p+16];
        ld.u32 %r4, [%rd4]; ld.u32 %r5, [%rd5]; ld.u32 %r6, [%rd6];
        st.global.u32 [%rd0], %r4; st.global.u32 [%rd0+4], %r5; st.global.u32 [%rd0+8], %r6;
    """,
        module=module,
    )
    assert both(source, [np.zeros(3, np.uint32)])[0].tolist() == [3, 50, 60]
