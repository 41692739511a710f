"""Arithmetic of half precision: against NumPy's float16 and against fractions rounded here."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import ptxspec
from ptxspec.evidence.compiled_loops import run_native
from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import inputs_of
from ptxspec.language.forms import Form
from ptxspec.terms.profiles import Profile

HOPPER = Profile("hopper")
NAN = 0x7FFF
#: bits of the fraction, and the bias
SHAPES = {"f16": (10, 15), "bf16": (7, 127), "e4m3": (3, 7), "e5m2": (2, 15), "f32": (23, 127)}
INFINITY = {"f16": 0x7C00, "bf16": 0x7F80}
GREATEST = {"f16": 0x7BFF, "bf16": 0x7F7F, "e4m3": 0x7E, "e5m2": 0x7B}
WIDTHS = {"f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "f32": 32}


def the(mnemonic: str) -> Form:
    return next(f for f in ptxspec.forms(mnemonic.split(".")[0]) if f.mnemonic == mnemonic)


def computed(form: Form, table: list[tuple[int, ...]]) -> list[list[int]]:
    """The form's results on rows of operands, a list a destination."""
    (columns,) = run_native([form.meaning()], [table], HOPPER.term)
    return [[int(v) for v in column] for column in columns]


def sample(form: Form, count: int = 1500) -> list[tuple[int, ...]]:
    return rows([t for _, t in inputs_of(form.meaning())], count, form.mnemonic)


def number(name: str, bits: int) -> Fraction | str:
    """What a pattern stands for: a number, or "nan", "inf", "-inf"."""
    fraction, bias = SHAPES[name]
    width = WIDTHS[name]
    size, sign = bits & (1 << width - 1) - 1, "-" if bits >> width - 1 else ""
    if name == "e4m3" and size == 0x7F:
        return "nan"
    last = (1 << width - 1 - fraction) - 1
    field, low = size >> fraction, size & (1 << fraction) - 1
    if field == last and name != "e4m3":
        return "nan" if low else sign + "inf"
    value = Fraction(low + (1 << fraction if field else 0)) * Fraction(2) ** (max(field, 1) - bias - fraction)
    return -value if sign else value


def encoded(name: str, value: Fraction, negative: bool = False, toward_zero: bool = False) -> int:
    """The pattern nearest to a number, ties to even; `negative` is the sign of a zero."""
    fraction, bias = SHAPES[name]
    sign = (value < 0 or (value == 0 and negative)) << WIDTHS[name] - 1
    size = abs(value)
    if size == 0:
        return sign
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, 1 - bias) - fraction)
    count = int(size / unit) if toward_zero else round(size / unit)  # Python rounds ties of fractions to even
    pattern = (max(exponent, 1 - bias) + bias - 1 << fraction) + count
    greatest = GREATEST[name]
    if pattern > greatest:
        pattern = greatest + (name != "e4m3" and not toward_zero)
    return sign | pattern


def flushed(name: str, bits: int) -> int:
    fraction, _ = SHAPES[name]
    return bits & 0x8000 if bits & 0x7FFF < 1 << fraction else bits


def infinite(x: Fraction | str) -> bool:
    return isinstance(x, str) and x != "nan"


def multiplied_and_added(name: str, a: int, b: int, c: int) -> int:
    """The oracle for a · b + c, rounded to nearest."""
    x, y, z = (number(name, v) for v in (a, b, c))
    infinity = INFINITY[name]
    sign = (a ^ b) & 0x8000
    if "nan" in (x, y, z) or (infinite(x) and y == 0) or (infinite(y) and x == 0):
        return NAN
    if infinite(x) or infinite(y):
        return NAN if infinite(z) and c & 0x8000 != sign else sign | infinity
    if infinite(z):
        return c
    assert isinstance(x, Fraction) and isinstance(y, Fraction) and isinstance(z, Fraction)
    return encoded(name, x * y + z, negative=bool(sign) and c >> 15 == 1)


def added(name: str, a: int, b: int) -> int:
    one = encoded(name, Fraction(1))
    return multiplied_and_added(name, a, one, b)


def multiplied(name: str, a: int, b: int) -> int:
    zero = (a ^ b) & 0x8000  # so that a product of zero keeps its sign
    return multiplied_and_added(name, a, b, zero)


@pytest.mark.parametrize("operation", ["add", "sub", "mul"])
def test_float16_as_numpy_has_it(operation: str) -> None:
    form = the(f"{operation}.f16")
    table = sample(form, 60_000)
    a, b = (np.array([row[i] for row in table], np.uint16).view(np.float16) for i in (0, 1))
    with np.errstate(all="ignore"):
        wanted = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[operation](a, b)
    bits = np.where(np.isnan(wanted), NAN, wanted.view(np.uint16))
    (got,) = computed(form, table)
    assert got == bits.tolist()


ORACLES: dict[str, Callable[..., int]] = {
    "add": added,
    "sub": lambda name, a, b: added(name, a, b ^ 0x8000),
    "mul": multiplied,
    "fma": multiplied_and_added,
}


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("operation", ORACLES)
def test_rounded_as_fractions_are(operation: str, type: str) -> None:
    form = the(f"{operation}.rn.{type}")
    table = sample(form)
    (got,) = computed(form, table)
    for row, bits in zip(table, got, strict=True):
        assert bits == ORACLES[operation](type, *row), (form.mnemonic, [hex(v) for v in row], hex(bits))


@pytest.mark.parametrize("operation", ORACLES)
def test_flushing_and_limits(operation: str) -> None:
    for modifiers in (".ftz", ".sat", ".ftz.sat"):
        form = the(f"{operation}.rn{modifiers}.f16")
        table = sample(form, 800)
        (got,) = computed(form, table)
        for row, bits in zip(table, got, strict=True):
            operands = [flushed("f16", v) for v in row] if "ftz" in modifiers else row
            wanted = ORACLES[operation]("f16", *operands)
            if "ftz" in modifiers and wanted & 0x7FFF == 0x0400:
                continue  # rounded up to the least normal number, perhaps from below: what is flushed depends on the exact number
            wanted = flushed("f16", wanted) if "ftz" in modifiers else wanted
            if "sat" in modifiers:
                wanted = 0 if wanted == NAN or wanted >= 0x8000 else min(wanted, 0x3C00)
            assert bits == wanted, (form.mnemonic, [hex(v) for v in row], hex(bits))


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_no_negative_results(type: str) -> None:
    form = the(f"fma.rn.relu.{type}")
    table = [*sample(form), (0x0001, 0x8001, 0x8000)]  # the last one is −0 without .relu
    (got,) = computed(form, table)
    for row, bits in zip(table, got, strict=True):
        wanted = multiplied_and_added(type, *row)
        assert bits == (wanted if wanted < 0x8000 else 0)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_out_of_bounds(type: str) -> None:
    one, two = encoded(type, Fraction(1)), encoded(type, Fraction(2))
    form = the(f"fma.rn.oob.{type}")
    marks = [0x7FF7, 0xFFF7]
    table = [(m, one, two) for m in marks] + [(one, m, 0xFF80) for m in marks] + [(one, two, m) for m in marks]
    assert computed(form, table) == [[0, 0, 0, 0, NAN, NAN]]
    assert computed(form, [(one, one, one), (0x7FFE, one, one)]) == [[two, NAN]]


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.slow
def test_least_greatest_and_signs(type: str) -> None:
    for opcode, first in (("min", True), ("max", False)):
        for modifiers in ("", ".NaN", ".xorsign.abs"):
            form = the(f"{opcode}{modifiers}.{type}")
            table = sample(form)
            (got,) = computed(form, table)
            for (a, b), bits in zip(table, got, strict=True):
                sign = (a ^ b) & 0x8000
                x, y = (a & 0x7FFF, b & 0x7FFF) if "abs" in modifiers else (a, b)
                nans = [number(type, v) == "nan" for v in (x, y)]
                if all(nans) or (any(nans) and modifiers == ".NaN"):
                    wanted = NAN
                else:
                    # patterns in the order of their numbers, −0 before +0
                    ordered = sorted((v for v, nan in zip((x, y), nans, strict=True) if not nan), key=_place)
                    wanted = ordered[0] if first else ordered[-1]
                    wanted = sign | wanted & 0x7FFF if "abs" in modifiers else wanted
                assert bits == wanted, (form.mnemonic, hex(a), hex(b), hex(bits))
    for opcode, change in (("neg", lambda v: v ^ 0x8000), ("abs", lambda v: v & 0x7FFF)):
        table = [(v,) for v in range(1 << 16)]
        (got,) = computed(the(f"{opcode}.{type}"), table)
        assert got == [NAN if number(type, v) == "nan" else change(v) for v in range(1 << 16)]


def _place(bits: int) -> int:
    return -(bits & 0x7FFF) - 1 if bits >> 15 else bits


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_comparisons(type: str) -> None:
    relations = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
    one = encoded(type, Fraction(1))
    for name, relation in relations.items():
        for unordered in ("", "u"):
            forms = [
                the(f"{opcode}.{name}{unordered}.{ending}")
                for opcode, ending in (("setp", type), ("set", f"{type}.{type}"), ("set", f"u16.{type}"))
            ]
            table = sample(forms[0], 600)
            results = [computed(form, table)[0] for form in forms]
            for (a, b), *bits in zip(table, *results, strict=True):
                x, y = (number(type, v) for v in (a, b))
                if "nan" in (x, y):
                    holds = unordered == "u"
                else:
                    p, q = (
                        Fraction(2) ** 200 * (-1 if v == "-inf" else 1) if isinstance(v, str) else v for v in (x, y)
                    )
                    holds = relation(p, q)
                assert bits == [holds, one * holds, 0xFFFF * holds], (name, unordered, hex(a), hex(b))


PACKED = [
    f
    for opcode in ("add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "tanh")
    for f in ptxspec.forms(opcode)
    if f.modifiers.get("type") is not None and getattr(f.modifiers["type"], "elements", 1) == 2 and "16x2" in f.mnemonic
]


@pytest.mark.slow
def test_packed_is_one_by_one() -> None:
    """Each packed form gives what the form for one value gives for the lower and the upper halves."""
    assert len(PACKED) > 70
    for form in PACKED:
        name = form.mnemonic.removesuffix("x2")
        if name in ("max.relu.s16", "min.relu.s16", "add.sat.s16", "add.sat.u16"):
            continue  # there is no such form of one value
        single = the(name)
        table = sample(form, 300)
        low = computed(single, [tuple(v & 0xFFFF for v in row) for row in table])[0]
        high = computed(single, [tuple(v >> 16 for v in row) for row in table])[0]
        assert computed(form, table)[0] == [h << 16 | x for x, h in zip(low, high, strict=True)], form


def narrowed(to: str, x: int, satfinite: bool, relu: bool, toward_zero: bool = False) -> int:
    """The oracle for a conversion of a single to a smaller format."""
    value = number("f32", x)
    if value == "nan":
        return (1 << WIDTHS[to] - 1) - 1
    greatest = GREATEST[to]
    sign = (x >> 31) << WIDTHS[to] - 1
    bits = sign | greatest + 1 if isinstance(value, str) else encoded(to, value, bool(sign), toward_zero)
    size = bits & ~sign
    bits = sign | (min(size, greatest) if satfinite else size)
    return 0 if relu and sign else bits


@pytest.mark.parametrize("to", ["f16", "bf16", "e4m3", "e5m2"])
def test_narrowing_two_numbers(to: str) -> None:
    small = to in ("e4m3", "e5m2")
    for rounding in ("rn",) if small else ("rn", "rz"):
        for satfinite in (True,) if small else (True, False):
            for relu in (True, False):
                words = f".{rounding}{'.satfinite' * satfinite}{'.relu' * relu}"
                form = the(f"cvt{words}.{to}x2.f32")
                table = sample(form, 600)
                source = random.Random(words)
                for i in range(0, 600, 3):  # near the numbers that the format has
                    near = source.randint(-12, 10) + 127 << 23 | source.getrandbits(9) << 14
                    table[i] = (near | source.getrandbits(1) << 31, table[i][1])
                (got,) = computed(form, table)
                shift = WIDTHS[to]
                for (a, b), bits in zip(table, got, strict=True):
                    upper, lower = (narrowed(to, v, satfinite, relu, rounding == "rz") for v in (a, b))
                    assert bits == upper << shift | lower, (form.mnemonic, hex(a), hex(b), hex(bits))


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_small_numbers_widened_and_back(type: str) -> None:
    """Every pattern as a number of half precision, and back."""
    table = [(i * 37 % 256 << 8 | i,) for i in range(256)]
    (wide,) = computed(the(f"cvt.rn.f16x2.{type}x2"), table)
    for (pair,), bits in zip(table, wide, strict=True):
        for pattern, half in ((pair & 255, bits & 0xFFFF), (pair >> 8, bits >> 16)):
            wanted = number(type, pattern)
            assert number("f16", half) == wanted
            assert wanted != 0 or half >> 15 == pattern >> 7
    (back,) = computed(the(f"cvt.rn.satfinite.{type}x2.f16x2"), [(v,) for v in wide])
    for (pair,), bits in zip(table, back, strict=True):
        for pattern, again in ((pair & 255, bits & 255), (pair >> 8, bits >> 8)):
            value = number(type, pattern)
            if isinstance(value, Fraction):
                assert again == pattern
            elif value == "nan":
                assert again == 0x7F
            else:
                assert again == pattern - 1  # no infinity


def test_tf32_keeps_ten_bits() -> None:
    for rounding, step in (("rna", 0x1000), ("rz", 0)):
        form = the(f"cvt.{rounding}.tf32.f32")
        table = [row for row in sample(form) if row[0] & 0x7FFFFFFF < 0x7F7FF000]
        (got,) = computed(form, table)
        assert got == [(x + step) & ~0x1FFF for (x,) in table]


def test_approximations_are_near_enough() -> None:
    """What the profile's unit gives is among the results that PTX allows."""
    for mnemonic in ("ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"):
        form = the(mnemonic)
        table = sample(form, 200)
        (got,) = computed(form, table)
        for (a,), bits in zip(table, got, strict=True):
            assert ptxspec.allowed(f"{mnemonic} d, a;", {"d": bits}, a=a), (mnemonic, hex(a), hex(bits))


def test_numbers_for_operands_of_half_precision() -> None:
    """A Python float stands for the nearest number of the operand's format; for packed values it stands for none."""
    results = ptxspec.evaluate("add.bf16 d, a, b;", a=1.5, b=2.0)
    assert results["d"] == 0x4060 and results.types["d"].name == "bf16"
    assert ptxspec.evaluate("add.f16 d, a, b;", a=1.5, b=2.0)["d"] == 0x4300
    assert ptxspec.allowed("add.bf16 d, a, b;", {"d": 3.5}, a=1.5, b=2.0)
    for value in (0.1, 1 + 2**-8, 1 + 3 * 2**-8, -3.3e38, 1e-40):
        assert ptxspec.evaluate("neg.bf16 d, a;", a=value)["d"] == encoded("bf16", Fraction(-value))
    assert ptxspec.evaluate("neg.bf16 d, a;", a=math.inf)["d"] == 0xFF80
    with pytest.raises(TypeError, match=r"a is .f16x2: pass its bits"):
        ptxspec.evaluate("neg.f16x2 d, a;", a=1.5)


def test_proofs_about_half_precision() -> None:
    assert ptxspec.prove("mul.bf16 d, a, b;", "mul.bf16 d, b, a;", profile="hopper").status == "proved"
    assert (
        ptxspec.prove("mul.bf16 d, a, b;", "mul.bf16 d, b, a;", nan="payloads").status == "refuted"
    )  # which NaN, a machine may take from either
    assert ptxspec.prove("add.u16x2 d, a, b;", "vadd2.u32.u32.u32 d, a, b, b;").status == "proved"
    verdict = ptxspec.prove("sub.f16 d, a, b;", "add.f16 d, b, a;")
    assert verdict.status == "refuted"
