"""Constants: their bases and signs, what a type makes of them, and what is none."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdicts import HEADER, bits_of, body, initial, refused

import ptxspec

# integers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0), ("1", 1), ("42", 42), ("42U", 42), ("0x2a", 42), ("0X2A", 42), ("0x2aU", 42), ("052", 42),
        ("052U", 42),
        ("0b101010", 42), ("0B101010", 42), ("0b101010U", 42), ("00", 0), ("000", 0), ("0U", 0), ("00U", 0), ("0x0", 0),
        ("0b0", 0), ("010", 8), ("0777", 511), ("-1", 2**64 - 1), ("- 1", 2**64 - 1), ("-0x10", 2**64 - 16),
        ("+5", 5), ("- -5", 5), ("-+5", 2**64 - 5), ("-0b11", 2**64 - 3), ("-017", 2**64 - 15), ("-5U", 2**64 - 5),
        ("18446744073709551615", 2**64 - 1), ("0xffffffffffffffff", 2**64 - 1), ("0xFFFFFFFFFFFFFFFFU", 2**64 - 1),
        ("01777777777777777777777", 2**64 - 1), ("0b" + "1" * 64, 2**64 - 1), ("-18446744073709551615", 1),
        ("-9223372036854775808", 2**63), ("0x" + "0" * 40 + "7", 7), ("WARP_SZ", 32), ("-WARP_SZ", 2**64 - 32),
    ],
)  # fmt: skip
def test_integers(written: str, value: int) -> None:
    """As an operand, and as what a variable begins with."""
    assert bits_of(f"mov.u64 %rd1, {written};") == value
    assert int.from_bytes(initial("u64", written), "little") == value


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**64 - 1), st.sampled_from("dxXobB"), st.booleans(), st.booleans())
def test_all_integers_in_all_bases(value: int, base: str, negative: bool, unsigned: bool) -> None:
    digits = {
        "d": f"{value}",
        "x": f"0x{value:x}",
        "X": f"0X{value:X}",
        "o": f"0{value:o}",
        "b": f"0b{value:b}",
        "B": f"0B{value:b}",
    }
    written = ("-" if negative else "") + digits[base] + ("U" if unsigned else "")
    assert int.from_bytes(initial("b64", written), "little") == (-value if negative else value) % 2**64


@pytest.mark.parametrize(
    ("type", "written", "value"),
    [
        ("u8", "300", 44), ("s8", "-1", 255), ("b8", "0x1ff", 255), ("u16", "70000", 4464), ("s16", "-32769", 32767),
        ("u32", "4294967296", 0), ("s32", "-1", 2**32 - 1), ("b32", "0xffffffff00000001", 1), ("s64", "-1", 2**64 - 1),
    ],
)  # fmt: skip
def test_a_type_takes_the_low_bits(type: str, written: str, value: int) -> None:
    assert int.from_bytes(initial(type, written), "little") == value


@pytest.mark.parametrize(("width", "register"), [(16, "%h1"), (32, "%r1")])
def test_an_operand_takes_the_low_bits(width: int, register: str) -> None:
    assert bits_of(f"mov.u{width} {register}, -1;", register, width) == 2**width - 1
    assert bits_of(f"add.s{width} {register}, 0x1{'0' * (width // 4)}, 7;", register, width) == 7


@pytest.mark.parametrize(("written", "value"), [("0", 0), ("1", 1), ("2", 1), ("-1", 1), ("0x100000000", 1)])
def test_predicates(written: str, value: int) -> None:
    """A predicate is true unless the constant is zero."""
    assert bits_of(f"mov.pred %p1, {written}; selp.u64 %rd1, 1, 0, %p1;") == value


@pytest.mark.parametrize(
    "written",
    ["18446744073709551616", "0x10000000000000000", "02000000000000000000000",
     "0b1" + "0" * 64, "99999999999999999999999",
     "18446744073709551616U"],
)  # fmt: skip
def test_more_than_64_bits(written: str) -> None:
    """Refused where it stands: in an operand, an initializer, a size, an offset."""
    for text in (
        body(f"mov.u64 %rd1, ¦{written};"), body(f"mov.u64 %rd1, -¦{written};"), f"{HEADER}.global .u64 x = ¦{written};",
        f"{HEADER}.global .u8 x[¦{written}];", body(f"ld.global.u8 %r1, [%rd1+¦{written}];"),
        f"{HEADER}.global .align ¦{written} .u8 x;",
    ):  # fmt: skip
        assert f"{written} does not fit into 64 bits" in refused(text).message


@pytest.mark.parametrize("written", ["08", "09", "018", "0778", "00009U"])
def test_digits_that_are_not_octal(written: str) -> None:
    assert "is no octal number" in refused(body(f"mov.u32 %r1, ¦{written};")).message


@pytest.mark.parametrize(
    "written",
    ["0¦x", "0¦xg", "0¦b", "0b1¦2", "0¦b2", "5¦u", "5¦UU", "5¦L", "1¦_000", "0¦o17", "0x1¦p3", "¦'a'", "5 ¦5", "0¦x 5"],
)
def test_what_is_no_integer(written: str) -> None:
    refused(body(f"mov.u32 %r1, {written};"))


@pytest.mark.parametrize("written", ["٣", "1٣", "０"])
def test_digits_of_other_scripts(written: str) -> None:
    """PTX is ASCII."""
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(body(f"mov.u32 %r1, {written};"))


# floating point ------------------------------------------------------------------------------------------------------


def single(value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def double(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


@pytest.mark.parametrize(
    "written",
    ["1.0", "1.", ".5", "0.1", "1e5", "1E5", "1.5e-3", "2.5E+10", "0.0", "3.4028235e38", "1e-45", "1e-46", "1e40",
     "1.17549e-38",
     "16777217.0", "0.333333333333333333333333333", "00.5", "1e0", "123456789.0"],
)  # fmt: skip
def test_decimal_fractions(written: str) -> None:
    """Rounded to nearest, ties to even; by way of a double, where a single is wanted."""
    for sign in ("", "-"):
        value = float(sign + written)
        assert bits_of(f"mov.f64 %fd1, {sign}{written};", "%fd1") == double(value)
        assert bits_of(f"mov.f32 %f1, {sign}{written};", "%f1", 32) == single(value)
        assert int.from_bytes(initial("f64", sign + written), "little") == double(value)
        assert int.from_bytes(initial("f32", sign + written), "little") == single(value)


@settings(max_examples=150, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_all_decimal_fractions(value: float) -> None:
    written = repr(value)
    if "." not in written and "e" not in written:
        written += ".0"
    assert int.from_bytes(initial("f64", written), "little") == double(value)
    assert int.from_bytes(initial("f32", written), "little") == single(value)


@pytest.mark.parametrize(
    "bits", [0x3F800000, 0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 1]
)
@pytest.mark.parametrize("prefix", ["0f", "0F"])
def test_singles_by_their_bits(prefix: str, bits: int) -> None:
    """Every pattern is kept, NaN payloads too, by .f32 and by .b32."""
    written = f"{prefix}{bits:08X}"
    assert bits_of(f"mov.f32 %f1, {written};", "%f1", 32) == bits
    assert bits_of(f"mov.b32 %r1, {written};", "%r1", 32) == bits
    assert int.from_bytes(initial("f32", written.replace("0F", "0f")), "little") == bits
    assert int.from_bytes(initial("b32", written), "little") == bits


@pytest.mark.parametrize(
    "bits", [0x3FF0000000000000, 0, 1 << 63, 0x7FF0000000000001, 0x7FF8000000000000, 0xFFFFFFFFFFFFFFFF]
)
@pytest.mark.parametrize("prefix", ["0d", "0D"])
def test_doubles_by_their_bits(prefix: str, bits: int) -> None:
    written = f"{prefix}{bits:016x}"
    assert bits_of(f"mov.f64 %fd1, {written};", "%fd1") == bits
    assert bits_of(f"mov.b64 %rd1, {written};", "%rd1") == bits
    assert int.from_bytes(initial("f64", written), "little") == bits
    assert int.from_bytes(initial("b64", written), "little") == bits


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (0x3FF8000000000000, 0x3FC00000), (0x3FF0000010000000, 0x3F800000), (0x3FF0000030000000, 0x3F800002),
        (0x3FF0000010000001, 0x3F800001), (0x7FF0000000000000, 0x7F800000), (0x47EFFFFFF0000000, 0x7F800000),
        (0x47EFFFFFEFFFFFFF, 0x7F7FFFFF), (0x36A0000000000000, 1), (0x3690000000000000, 0),
        (0x8000000000000000, 0x80000000),
    ],
)  # fmt: skip
def test_doubles_where_singles_are_wanted(bits: int, expected: int) -> None:
    assert bits_of(f"mov.f32 %f1, 0d{bits:016x};", "%f1", 32) == expected
    assert int.from_bytes(initial("f32", f"0d{bits:016x}"), "little") == expected


@pytest.mark.parametrize(
    "written", ["0d7FF8000000000000", "0dFFF8000000000001", "0d7FF0000000000001", "0d7FFFFFFFFFFFFFFF"]
)
def test_a_nan_stays_a_nan(written: str) -> None:
    """ptxas makes 7fc00000 of the first, ffc00000 of the second."""
    for value in (bits_of(f"mov.f32 %f1, {written};", "%f1", 32), int.from_bytes(initial("f32", written), "little")):
        assert value & 0x7FFFFFFF > 0x7F800000
        assert value >> 31 == int(written[2], 16) >> 3


@pytest.mark.parametrize(
    "written",
    ["0¦f3F80", "0¦f3F8000000", "0¦d3FF", "0¦f", "0¦fGGGGGGGG", "0¦d3FF000000000000000", "1.5¦f", "1.5¦e", "1¦e",
     "1¦e+",
     "1.5¦.5", "1¦f", "¦.e5", "¦.", "1.5¦U", "1e5¦.5"],
)  # fmt: skip
def test_what_is_no_fraction(written: str) -> None:
    """Eight digits after 0f, sixteen after 0d, neither more nor fewer."""
    refused(body(f"mov.f32 %f1, {written};"))


@pytest.mark.parametrize("written", ["1e999", "1e-999", "1e400"])
def test_fractions_beyond_a_double(written: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        ptxspec.load(body(f"mov.f64 %fd1, {written};"))


# initializers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "dimensions", "written", "expected"),
    [
        ("u16", "[3]", "{1, 2, 3}", "0100 0200 0300"), ("u16", "[]", "{1, 2, 3}", "0100 0200 0300"),
        ("u16", "[4]", "{1, 2}", "0100 0200 0000 0000"), ("u8", "[2][2]", "{{1, 2}, {3, 4}}", "01020304"),
        ("u8", "[2][2][2]", "{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}", "0102030405060708"),
        ("v2 .u8", "", "{1, 2}", "0102"), ("v2 .u8", "[2]", "{{1, 2}, {3, 4}}", "01020304"), ("u8", "[2]", "{}",
        "0000"),
        ("f32", "[2]", "{1.0, -1.0}", "0000803f 000080bf"), ("s8", "[3]", "{-1, -2, -128}", "fffe80"), ("u8", "[3]",
        "{0}", "000000"),
    ],
)  # fmt: skip
def test_initializers(type: str, dimensions: str, written: str, expected: str) -> None:
    assert initial(type, written, dimensions) == bytes.fromhex(expected)


def test_variables_are_laid_out_in_order_and_aligned() -> None:
    module = ptxspec.load(
        HEADER
        + """
        .global .u8 a = 1; .global .u64 b = 2; .global .u8 c = 3; .global .align 16 .u8 d = 4; .global .v4 .u32 e;
        .const .u8 f, g[2] = {5, 6}, h;
    """
    )
    places = {p.name: (p.space, p.offset, p.size) for p in module.checked.places.values()}
    assert places == {
        "a": ("global", 0, 1), "b": ("global", 8, 8), "c": ("global", 16, 1), "d": ("global", 32, 1),
        "e": ("global", 48, 16),
        "f": ("const", 0, 1), "g": ("const", 1, 2), "h": ("const", 3, 1),
    }  # fmt: skip
    assert module.read("g").tolist() == [5, 6] and module.read("e").tolist() == [0] * 16


@pytest.mark.parametrize(("type", "written"), [("u32", "1.5"), ("s64", "0f3F800000"), ("f32", "1"), ("f64", "0x10")])
def test_initializers_of_the_other_kind(type: str, written: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        initial(type, written)


@pytest.mark.parametrize("type", ["b8", "u8", "s8"])
def test_bytes_that_begin_as_fractions(type: str) -> None:
    with pytest.raises(ptxspec.PtxError):
        initial(type, "1.5")


def test_a_single_where_a_double_is_wanted() -> None:
    """Seen in the data of a cubin, and in the machine code of `st.global.f64 [p], 0f3F800000`."""
    assert int.from_bytes(initial("f64", "0f3F800000"), "little") == 0x3F800000
    assert bits_of("mov.f64 %fd1, 0f3F800000;", "%fd1") == 0x3F800000


def test_inner_lists_that_are_too_short() -> None:
    """Which of the two the manual means is open; ptxas's data is 01020300 0000."""
    assert initial("u8", "{{1, 2}, {3}}", "[2][3]") == bytes([1, 2, 3, 0, 0, 0])
