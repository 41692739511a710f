"""Conversions to and from formats of eight bits and fewer, which no GPU at hand has. Their oracle is a table of the numbers of each
format as fractions, in which the nearest is looked up."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_alternate_formats import LAYOUTS, decoded

import ptxspec
from ptxspec.language.forms import Form
from ptxspec.terms import TYPES

FORMS = [form for form in ptxspec.forms("cvt") if "/cvt.narrow.md" in form.page]
COUNT = 200
#: what a test accepts of a NaN
NAN = "nan"


def width(name: str) -> int:
    return TYPES[name].width


@cache
def number(name: str, pattern: int) -> Fraction | str:
    """What a pattern of a format stands for."""
    if name == "f32":
        single = np.array(pattern, np.uint32).view(np.float32).item()
        return str(single) if not np.isfinite(single) else Fraction(single)
    if name == "ue8m0":
        return NAN if pattern == 255 else Fraction(2) ** (pattern - 127)
    if name == "s2f6":
        return Fraction(pattern - 256 * (pattern >> 7), 64)
    return decoded(name, pattern)


@cache
def sizes(name: str) -> tuple[list[Fraction], list[int]]:
    """The numbers of a format without their signs, ascending, and the pattern of each."""
    one_sign = range(1 << (width(name) - (name != "ue8m0")))
    known = [(number(name, p), p) for p in one_sign]
    finite = sorted((v, p) for v, p in known if isinstance(v, Fraction))
    return [v for v, _ in finite], [p for _, p in finite]


def looked_up(name: str, rounding: str, value: Fraction) -> list[int]:
    """The patterns that a finite number may become, with limits: one, or both neighbours of a number under .rs."""
    values, patterns = sizes(name)
    size = abs(value)
    below = max(bisect_right(values, size) - 1, 0)
    above = min(below + (values[below] < size), len(values) - 1)
    if rounding == "rn":
        to_lower, to_upper = size - values[below], values[above] - size
        even = below if patterns[below] % 2 == 0 else above
        chosen = [below if to_lower < to_upper else above if to_upper < to_lower else even]
        chosen = [above] if below == len(values) - 1 else chosen
    else:
        chosen = {"rz": [below], "rp": [above], "rs": [below, above]}[rounding]
    signed = value < 0 and name != "ue8m0"
    return [patterns[i] | (signed << (width(name) - 1)) for i in chosen]


def is_too_large(name: str, rounding: str, value: Fraction) -> bool:
    """Whether a number overflows where no limit is asked for; under .rs, whether it may."""
    greatest = sizes(name)[0][-1]
    step = greatest - sizes(name)[0][-2]
    return abs(value) >= greatest + step / 2 if rounding == "rn" else rounding != "rz" and abs(value) > greatest


def fixed(rounding: str, value: Fraction) -> int:
    count = abs(value) * 64
    whole = int(count) if rounding == "rz" else round(count)
    return max(-128, min(127, -whole if value < 0 else whole)) % 256


def wanted(form: Form, name: str, of: str, pattern: int, scale: int | None) -> list[int] | None:
    """The patterns of format `name` that one number may become; None for a NaN of the format."""
    how = form.modifiers
    rounding, relu = how["frnd"], how.get("relu")
    value = number(of, pattern)
    power = Fraction(1) if scale is None else number("ue8m0", scale)
    sign = 1 << (width(name) - 1)
    if value == NAN or power == NAN:
        return {"e2m1": [7], "e2m3": [31], "e3m2": [31], "s2f6": [127]}.get(name)
    if value in ("inf", "-inf"):
        if relu and value == "-inf":
            return [0]
        if name == "s2f6":
            return [127 if value == "inf" else 128]
        infinity = LAYOUTS[name].infinity if name in LAYOUTS else 255
        limited = how.get("satfinite") or infinity is None
        size = sizes(name)[1][-1] if limited else infinity
        return [size | (sign if value == "-inf" and name != "ue8m0" else 0)]
    assert isinstance(value, Fraction) and isinstance(power, Fraction)
    if name == "s2f6":
        return [0] if relu and value < 0 else [fixed(rounding, value / power)]
    exact = abs(value) if name == "ue8m0" else value * power
    is_negative = value < 0 or (value == 0 and of not in ("ue8m0", "s2f6") and bool(pattern >> (width(of) - 1)))
    if relu and is_negative:
        return [0]
    found = [p | (sign if is_negative and name != "ue8m0" else 0) for p in looked_up(name, rounding, abs(exact))]
    if not how.get("satfinite") and name in ("bf16", "f16", "ue8m0") and is_too_large(name, rounding, exact):
        beyond = 255 if name == "ue8m0" else (LAYOUTS[name].infinity or 0) | (sign if is_negative else 0)
        sure = rounding != "rs" or abs(exact) >= 2 * Fraction(2) ** LAYOUTS[name].bias
        return [beyond] if sure else [found[0], beyond]
    return found


def operands(form: Form, rng: np.random.Generator) -> dict[str, Any]:
    """Patterns of every magnitude, with those at which something ends among them."""
    found: dict[str, Any] = {}
    for operand in form.syntax.operands:
        if operand.name == "d":
            continue
        of = form.modifiers["atype"]
        if operand.name == "scale":
            found["scale"] = rng.integers(0, 1 << 16, COUNT).astype(np.uint16)
            found["scale"][: COUNT // 2] = rng.integers(120, 132, COUNT // 2) * 257
        elif operand.name == "rbits":
            found["rbits"] = rng.integers(0, 1 << 32, COUNT).astype(np.uint32)
        elif of.name == "f32":
            bits = rng.integers(0, 1 << 32, COUNT).astype(np.uint32)
            near = (rng.normal(size=COUNT) * 2.0 ** rng.integers(-8, 10, COUNT)).astype(np.float32).view(np.uint32)
            bits[COUNT // 4 :] = near[COUNT // 4 :]
            bits[COUNT // 2 :] &= np.uint32(0xFFF00000)  # ties, and numbers that fit
            bits[:8] = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x477FE001, 0x477FFFFF, 0x7F7FFFFF]
            found[operand.name] = bits
        else:
            found[operand.name] = rng.integers(0, 1 << of.width, COUNT).astype(f"u{of.width // 8}")
    return found


def parts(values: Any, type: Any) -> list[Any]:
    """The patterns side by side in packed values, the lowest first."""
    mask = (1 << type.element.width) - 1
    return [
        values.astype(np.uint64) >> np.uint64(i * type.element_step) & np.uint64(mask) for i in range(type.elements)
    ]


def compared(form: Form, given: dict[str, Any], got: Any) -> list[tuple[int, int]]:
    """(row, place) of each number that is wrong."""
    of, to = form.modifiers["atype"], form.modifiers["dtype"]
    names = [n for n in ("f", "e", "b", "a") if n in given]
    sources = parts(given["a"], of) if of.elements > 1 else [given[n] for n in names]
    scales = parts(given["scale"], TYPES["ue8m0x2"]) if "scale" in given else [None] * len(sources)
    results = parts(got, to)
    assert len(sources) == len(results)
    wrong = []
    for place, (own, scale, answer) in enumerate(zip(sources, scales, results, strict=True)):
        for row in range(COUNT):
            power = None if scale is None else int(scale[row])
            found = wanted(form, to.element.name, of.element.name, int(own[row]), power)
            bits = int(answer[row])
            if number(to.element.name, bits) != NAN if found is None else bits not in found:
                wrong.append((row, place))
    return wrong


@pytest.mark.sample(4, lambda form: [form.definition])
@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form(form: Form) -> None:
    rng = np.random.default_rng(len(form.mnemonic))
    given = operands(form, rng)
    got = np.asarray(ptxspec.evaluate(f"{form}", **given)["d"])
    assert compared(form, given, got) == []


@pytest.mark.parametrize(
    ("mnemonic", "other"),
    [
        ("cvt.rn.satfinite.e2m1x2.f32", "cvt.rz.satfinite.e2m1x2.f32"),
        ("cvt.rn.satfinite.relu.e3m2x2.f16x2", "cvt.rn.satfinite.e3m2x2.f16x2"),
        ("cvt.rp.ue8m0x2.f32", "cvt.rp.satfinite.ue8m0x2.f32"),
        ("cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2", "cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.e4m3x2"),
        ("cvt.rn.satfinite.s2f6x2.bf16x2", "cvt.rz.satfinite.s2f6x2.bf16x2"),
        ("cvt.rs.satfinite.f16x2.f32", "cvt.rs.f16x2.f32"),
    ],
)
def test_another_meaning_is_noticed(mnemonic: str, other: str) -> None:
    """What the one form gives is wrong for the other."""
    own, strange = (next(f for f in FORMS if f.mnemonic == m) for m in (mnemonic, other))
    given = operands(own, np.random.default_rng(7))
    got = np.asarray(ptxspec.evaluate(f"{own}", **given)["d"])
    assert compared(strange, given, got)


def test_random_bits_decide() -> None:
    """A number halfway between two goes up for half of the random bits, and one that fits never."""
    bits = np.arange(1 << 12, dtype=np.uint32) * np.uint32(0x00100010)
    half, whole = np.float32(1 + 2**-11), np.float32(1.5)
    got = np.asarray(ptxspec.evaluate("cvt.rs.f16x2.f32 d, a, b, rbits;", a=half, b=whole, rbits=bits)["d"])
    assert set(map(int, got & 0xFFFF)) == {0x3E00}
    upper = got.astype(np.uint32) >> np.uint32(16)
    assert set(map(int, upper)) == {0x3C00, 0x3C01} and abs(int((upper == 0x3C01).sum()) * 2 - len(bits)) <= 2
