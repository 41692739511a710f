"""Operands of `eval`: decimals are numbers, prefixes mean bits, and what does not fit is named."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from validated import asked, call

import ptxspec
from ptxspec.query.numbers import InvalidValue, bits_of_text
from ptxspec.terms.types import TYPES


@pytest.mark.parametrize(
    ("text", "operands", "shown"),
    [
        ("add.f32 d,a,b;", "a=1 b=2", "d = 3.0 (float, .f32)  0x40400000 (hex)"),
        ("add.f32 d,a,b", "a=1.5 b=0x3f800000", "d = 2.5 (float, .f32)  0x40200000 (hex)"),
        ("add.f32 d,a,b;", "a=0f3f800000 b=0b0", "d = 1.0 (float, .f32)  0x3f800000 (hex)"),
        ("add.f32 d,a,b;", "a=0x1 b=0x1", "d = 3e-45 (float, .f32)  0x00000002 (hex)"),
        ("add.f32 d,a,b;", "a=inf b=-inf", "d = nan (float, .f32)"),
        ("add.f32 d,a,b;", "a=0.1 b=-0.0", "d = 0.1 (float, .f32)  0x3dcccccd (hex)"),
        ("neg.f32 d,a;", "a=0", "d = -0.0 (float, .f32)  0x80000000 (hex)"),
        ("mul.f32 d,a,b;", "a=1e30 b=1", "d = 1e+30 (float, .f32)  0x7149f2ca (hex)"),
        ("add.f64 d,a,b;", "a=0d3ff0000000000000 b=2", "d = 3.0 (float, .f64)  0x4008000000000000 (hex)"),
        ("add.f16 d,a,b;", "a=1 b=0.1", "d = 1.1 (float, .f16)  0x3c66 (hex)"),
        ("add.bf16 d,a,b;", "a=1 b=0x3f80", "d = 2.0 (float, .bf16)  0x4000 (hex)"),
        ("add.f16x2 d,a,b;", "a=0x3c003c00 b=0x40000000", "d = 0x42003c00 (hex, .f16x2)  1.0, 3.0 (elements)"),
        ("add.s32 d,a,b;", "a=-1 b=-2", "d = -3 (signed, .s32)  4294967293 (unsigned)  0xfffffffd (hex)"),
        ("add.u32 d,a,b;", "a=4294967295 b=0", "d = 4294967295 (unsigned, .u32)  -1 (signed)  0xffffffff (hex)"),
        ("mov.b32 d,a;", "a=-1", "d = 0xffffffff (hex, .b32)  4294967295 (unsigned)  -1 (signed)  nan (float)"),
        ("mov.b32 d,a;", "a=1", "d = 0x00000001 (hex, .b32)  1 (unsigned)  1 (signed)  1e-45 (float)"),
        ("mov.b32 d,a;", "a=1.0", "d = 0x3f800000 (hex, .b32)"),
        ("and.b32 m,a,0x7fffffff; sub.f32 d,a,m;", "a=-3", "d = -6.0 (float, .f32)"),
        ("setp.lt.f32 p,a,b;", "a=1 b=2", "p = true (predicate, .pred)"),
        ("selp.f32 d,a,b,p;", "a=1 b=2 p=false", "d = 2.0 (float, .f32)"),
        ("cvt.rn.f32.u8 d,a;", "a=255", "d = 255.0 (float, .f32)"),
    ],
)
def test_a_value_is_shown_by_the_type_of_its_form(text: str, operands: str, shown: str) -> None:
    lines = call("eval", text, *operands.split()).stdout.splitlines()
    assert any(line.startswith(shown) for line in lines), lines


@pytest.mark.parametrize(
    ("text", "operands", "message"),
    [
        ("add.s32 d,a,b;", "a=1.5 b=1", "a is .s32: 1.5 is no integer"),
        ("add.s32 d,a,b;", "a=1e3 b=1", "a is .s32: 1e3 is no integer"),
        ("add.s32 d,a,b;", "a=nan b=1", "a is .s32: nan is no integer"),
        (
            "add.s32 d,a,b;",
            "a=2147483648 b=1",
            "a is .s32: 2147483648 is out of range, which is -2147483648 to 2147483647",
        ),
        ("add.u32 d,a,b;", "a=1 b=-1", "b is .u32: -1 is out of range, which is 0 to 4294967295"),
        ("cvt.u32.u8 d,a;", "a=300", "a is .u8: 300 is out of range, which is 0 to 255"),
        ("mov.b32 d,a;", "a=4294967296", "a is .b32: 4294967296 does not fit into 32 bits"),
        ("mov.b32 d,a;", "a=-2147483649", "a is .b32: -2147483649 does not fit into 32 bits"),
        ("add.u32 d,a,b;", "a=0x100000000 b=1", "a is .u32: 0x100000000 does not fit into 32 bits"),
        ("add.f32 d,a,b;", "a=1e39 b=1", "a is .f32: 1e39 is beyond the range"),
        ("add.f32 d,a,b;", "a=1e999999999999 b=1", "a is .f32: 1e999999999999 is beyond the range"),
        ("add.f16 d,a,b;", "a=65520 b=1", "a is .f16: 65520 is beyond the range"),
        ("add.f64 d,a,b;", "a=0f3f800000 b=1", "a is .f64: 0f3f800000 has 32 bits, not 64"),
        ("add.f16x2 d,a,b;", "a=1 b=0x1", "a is .f16x2: 1: it holds 2 values side by side: pass its bits"),
        ("add.u32 d,a,b;", "a=010 b=1", "a is .u32: 010 would be octal in PTX"),
        ("add.u32 d,a,b;", "a=1_000 b=1", "a is .u32: '1_000' is no number"),
        ("add.u32 d,a,b;", "a= b=1", "a is .u32: '' is no number"),
        ("add.u32 d,a,b;", "a=٣ b=1", "is no number"),
        ("add.u32 d,a,b;", "a=true b=1", "a is .u32: 'true' is no number"),
        ("selp.b32 d,a,b,p;", "a=1 b=2 p=3", "p is .pred: '3' is neither true nor false"),
        ("add.u32 d,a,b;", "a=1 b=2 a=3", "a is given twice: 1 and 3"),
        ("add.u32 d,a,b;", "a=1 b=2 c=3", "c: no operand is called that; the operands are a (.u32), b (.u32)"),
        ("add.u32 d,a,b;", "a=1 b=2 profile=3", "profile: no operand is called that"),
        ("add.f32 d,a,b;", "", "no value for a (.f32), b (.f32)"),
        ("mov.u32 d,%tid.x;", "%tid.x=1", "%tid.x: a special register, whose value a single thread has already"),
        ("add.u32 d,a,b;", "=1", "'=1' is not name=value"),
        ("add.u32 d,a,b;", "a=" + "9" * 5000 + " b=1", "a is .u32: a number of 5,000 characters is too long"),
    ],
)
def test_an_operand_that_does_not_fit_is_named_with_its_type(text: str, operands: str, message: str) -> None:
    assert message in call("eval", text, *operands.split(), status=2).stderr
    assert message in asked("eval", text, *operands.split(), status=2)["error"]


def test_operands_may_have_the_names_of_options() -> None:
    found = asked("eval", "add.u32 text, profile, as_json;", "profile=1", "as_json=2")
    assert found["results"]["text"]["unsigned"] == 3


@pytest.mark.parametrize(
    "text", ["add.u32 d, a, b", "add.u32 d, a, b // so", "mov.b32 d, a; add.u32 d, d, b /* so */ ", "mov.b32 d, {e, f}"]
)
def test_the_last_semicolon_may_be_missing(text: str) -> None:
    operands = {"e": 1, "f": 2} if "{" in text else {"a": 3, "b": 4}
    assert ptxspec.evaluate(text, **operands)["d"] == (0x20001 if "{" in text else 7)
    assert call("eval", text, *(f"{n}={v}" for n, v in operands.items()))
    assert ptxspec.allowed(text, {"d": 0x20001 if "{" in text else 7}, **operands)
    assert ptxspec.prove(text, text).status == "proved"
    assert call("prove", text, text)


def test_one_in_the_middle_may_not() -> None:
    assert "expected" in call("eval", "add.u32 d, a, b add.u32 e, a, b;", status=1).stderr


def test_the_trace_says_what_was_not_executed() -> None:
    result = call("eval", "@p mov.u32 d, 1; @!p mov.u32 d, 2; @q mov.u32 e, 3;", "p=false", "q=false", "d=0")
    lines = [line for line in result.stderr.splitlines() if line.startswith("  ")]
    assert lines[0].endswith("(not executed: p is false)") and lines[2].endswith("(not executed: q is false)")
    assert (
        lines[1].startswith("  @!p mov.u32 d, 2;")
        and "not executed" not in lines[1]
        and "d = 2 " in result.stdout
        and "e = " not in result.stdout
    )
    steps = ptxspec.evaluate("@!p mov.u32 d, 1;", p=True, d=4).steps
    assert [(s.executed, s.guard, s.writes) for s in steps] == [(False, "!p", {"d": 4})]


def test_an_int_is_bits_in_python_and_a_float_a_number() -> None:
    assert ptxspec.evaluate("add.f32 d,a,b;", a=1, b=2)["d"] == 3
    assert ptxspec.evaluate("add.f32 d,a,b;", a=1.0, b=2.0)["d"] == 0x40400000
    with pytest.raises(TypeError, match=r"a is \.s32: 1\.0 is no integer"):
        ptxspec.evaluate("add.s32 d,a,b;", a=1.0, b=2)
    with pytest.raises(TypeError, match=r"d is \.u32: 3\.0 is no integer"):
        ptxspec.allowed("add.u32 d,a,b;", {"d": 3.0}, a=1, b=2)


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_a_decimal_is_rounded_once_to_the_nearest(name: str, dtype: type) -> None:
    """Decimals near the midpoints between two numbers of a format, where rounding to another format first goes wrong."""
    source = random.Random(name)
    width = TYPES[name].width
    words = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
    tried = 0
    for _ in range(100):
        low = source.randrange(int(np.array(np.finfo(dtype).max, dtype).view(words)))
        values = [Fraction(float(np.array(low + i, words).view(dtype))) for i in (0, 1)]
        for offset, expected in ((-1, low), (1, low + 1), (0, low + low % 2)):
            exact = sum(values) / 2 + offset * (values[1] - values[0]) / 10**20
            tens = exact.denominator.bit_length()  # as many as make it whole, and more
            text = f"{int(exact * 10**tens)}e-{tens}"
            assert Fraction(text) == exact
            if len(text) <= 1000:
                tried += 1
                assert bits_of_text(text, TYPES[name]) == expected
                assert bits_of_text(f"-{text}", TYPES[name]) == expected + (1 << (width - 1))
    assert tried > 100


def test_a_python_float_is_rounded_once_to_bfloat() -> None:
    """Between two numbers of .bf16, and so little above the middle that a single does not tell."""
    just_above = 1 + 2**-8 + 2**-40
    assert ptxspec.evaluate("add.bf16 d, a, b;", a=just_above, b=0.0)["d"] == 0x3F81
    assert ptxspec.evaluate("add.bf16 d, a, b;", a=1 + 2**-8, b=0.0)["d"] == 0x3F80
    assert ptxspec.evaluate("add.bf16 d, a, b;", a=float("-inf"), b=0.0)["d"] == 0xFF80


@pytest.mark.parametrize(
    ("text", "name", "bits"),
    [
        ("448", "e4m3", 0x7E),
        ("-6", "e2m1", 0xF),
        ("57344", "e5m2", 0x7B),
        ("inf", "e5m2", 0x7C),
        ("0.1", "b64", 0x3FB999999999999A),
    ],
)
def test_formats_of_the_pages(text: str, name: str, bits: int) -> None:
    assert bits_of_text(text, TYPES[name]) == bits


@pytest.mark.parametrize(
    ("text", "name"), [("449", "e4m3"), ("inf", "e4m3"), ("nan", "e2m1"), ("1", "ue8m0"), ("1", "s2f6"), ("1.5", "b8")]
)
def test_formats_without_such_a_value(text: str, name: str) -> None:
    with pytest.raises(InvalidValue):
        bits_of_text(text, TYPES[name])


def test_no_text_gets_past_as_anything_but_bits() -> None:
    source = random.Random("operands")
    for _ in range(3000):
        type = TYPES[source.choice(sorted(TYPES))]
        text = "".join(source.choice("0123456789abcdefxXdDnNiI+-._e \x1b٣∞") for _ in range(source.randint(0, 12)))
        try:
            bits = bits_of_text(text, type)
        except InvalidValue:
            continue
        assert 0 <= int(bits) < 1 << type.width
        if type.name == "f64" and not text.lower().startswith(("0x", "0b", "0d", "-0x", "-0b")):
            assert struct.pack("<d", float(text)) == int(bits).to_bytes(8, "little") or float(text) != float(text)
