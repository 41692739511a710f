"""Approximate results: the nearest number, the bounds, and what is done with them."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approximations import OPCODES, approximate_forms

import ptxspec
from ptxspec.evidence import choices, ledger
from ptxspec.evidence.kernels import operand_rows, signatures
from ptxspec.evidence.kernels.operand_rows import special
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import Approximation, freedoms_in, is_allowed
from ptxspec_workshop.compare import interpretations
from ptxspec_workshop.generate.representatives import representatives
from ptxspec_workshop.ledger import computing
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.families import FUNCTIONS
from ptxspec_workshop.site import evidence_section as shown

SIGN, INFINITY = 1 << 31, 0x7F800000
#: of two values at once, tests/spec/test_half_precision.py says that they are those of each


def freedom_of(form: Form) -> Any:
    """The approximate freedom of a form; None if it has none."""
    found = freedoms_in(*[v for r in form.meaning().results for v in r.values])
    own = [f for f in found if isinstance(f.attrs[4], Approximation)]
    assert len(own) <= 1
    return own[0] if own else None


APPROXIMATE = [f for f in approximate_forms() if not f.mnemonic.endswith("16x2")]


def value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def pattern(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def operands(form: Form, count: int = 60) -> list[dict[str, int]]:
    """Special and random operands, many of moderate size."""
    source = random.Random(str(form))
    found = []
    names = signatures.inputs_of(form.meaning())
    for i in range(count):
        row = {}
        for name, type in names:
            fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[type.name]
            moderate = source.getrandbits(fraction) | (
                ((1 << (type.width - 2 - fraction)) + source.randint(-9, 5)) << fraction
            )
            row[name] = [source.choice(special(type)), source.getrandbits(type.width), moderate][i % 3]
        found.append(row)
    return found


@pytest.mark.slow
def test_there_are_approximate_forms() -> None:
    opcodes = {f.syntax.opcode for f in APPROXIMATE}
    assert opcodes == set(OPCODES)
    # products of matrices are of a warp or a warpgroup, and have tests of their own in tests/machine
    products = {"mma", "wmma", "wgmma"}
    assert {
        f.syntax.opcode for f in representatives(ptxspec.forms()) if signatures.approximate(f)
    } - products == opcodes
    assert all(signatures.pure(f) and freedom_of(f) is not None for f in APPROXIMATE)
    early = [f for f in APPROXIMATE if f.removal is not None]  # with modifiers implied
    assert (len(APPROXIMATE), len(early)) == (35, 9)


@pytest.mark.sample(4)
@pytest.mark.parametrize("form", APPROXIMATE, ids=str)
def test_the_nearest_number_is_allowed_and_recorded(form: Form) -> None:
    """Under portable an evaluation takes a number that is allowed, and says so where it chose."""
    chose = 0
    for row in operands(form):
        try:
            results = ptxspec.evaluate(str(form), profile="portable", **row)
        except NoChoice as why:
            assert why.freedom.attrs[0] in ("nan", "double-precision-nan")
            continue
        assert ptxspec.allowed(str(form), {"d": results["d"]}, **row), (row, hex(results["d"]))
        for one in results.chosen:
            assert one.kind == "approximate" and one.entry == freedom_of(form).attrs[0] and one.bits == results["d"]
            chose += 1
    assert chose > 5


@pytest.mark.parametrize(
    ("mnemonic", "function"),
    [
        ("rcp.approx.f32", lambda x: 1 / x),
        ("sqrt.approx.f32", math.sqrt),
        ("rsqrt.approx.f32", lambda x: 1 / math.sqrt(x)),
        ("sin.approx.f32", math.sin),
        ("cos.approx.f32", math.cos),
        ("lg2.approx.f32", math.log2),
        ("ex2.approx.f32", lambda x: 2.0**x),
        ("tanh.approx.f32", math.tanh),
    ],
)
def test_the_nearest_number_is_correctly_rounded(mnemonic: str, function: Any) -> None:
    source = random.Random(mnemonic)
    for _ in range(150):
        x = value(pattern(source.uniform(0, 1) * 10 ** source.randint(-3, 1)))
        got = ptxspec.evaluate(f"{mnemonic} d, a;", profile="portable", a=x)["d"]
        assert got == pattern(function(x)), x  # in double precision: enough unless the middle is very near


def neighbours(bits: int, width: int = 3) -> list[int]:
    return [bits + k for k in range(-width, width + 1) if 0 < bits + k < INFINITY]


def test_the_bound_of_rcp_by_fractions() -> None:
    """|d − 1/a| ≤ one ulp of 1/a, decided without dividing."""
    source = random.Random(3)
    outcomes = set()
    for _ in range(150):
        a = source.randrange(1 << 23, 0x7E800000)
        x = Fraction(value(a))
        exponent = math.floor(-math.log2(x)) if (a & 0x7FFFFF) else 127 - (a >> 23)
        ulp = Fraction(2) ** (exponent - 23)
        for d in neighbours(pattern(float(1 / x))):
            want = abs(Fraction(value(d)) * x - 1) <= ulp * x
            assert ptxspec.allowed("rcp.approx.f32 d, a;", {"d": d}, a=a) is want
            outcomes.add(want)
    assert outcomes == {True, False}


@pytest.mark.slow
def test_the_bounds_of_roots_by_decimals() -> None:
    source = random.Random(4)
    outcomes = set()
    with localcontext() as context:
        context.prec = 60
        for _ in range(150):
            a = source.randrange(1 << 23, INFINITY)
            x = Decimal(value(a))
            root = x.sqrt()
            for d in neighbours(pattern(float(root))):
                want = abs(Decimal(value(d)) - root) <= root * Decimal(2) ** -23
                assert ptxspec.allowed("sqrt.approx.f32 d, a;", {"d": d}, a=a) is want
                outcomes.add(("sqrt", want))
            bound = (Decimal("-22.9") * Decimal(2).ln()).exp() / root
            for d in neighbours(pattern(float(1 / root)), 5):
                want = abs(Decimal(value(d)) - 1 / root) <= bound
                assert ptxspec.allowed("rsqrt.approx.f32 d, a;", {"d": d}, a=a) is want
                outcomes.add(("rsqrt", want))
    assert len(outcomes) == 4


@pytest.mark.slow
def test_the_bounds_of_lg2_and_ex2_by_decimals() -> None:
    source = random.Random(5)
    outcomes = set()
    with localcontext() as context:
        context.prec = 60
        ln2 = Decimal(2).ln()
        for _ in range(120):
            x = value(pattern(source.uniform(0.01, 40)))
            log = Decimal(x).ln() / ln2
            bound = Decimal(2) ** -22 * (1 if 0.5 < x < 2 else abs(log))
            reach = int(bound / Decimal(2) ** (math.floor(math.log2(abs(log))) - 23)) + 3
            for k in {0, 1, reach - 3, reach - 2, reach - 1, reach, -1, 1 - reach, 2 - reach, -reach}:
                d = pattern(float(log)) + k
                want = abs(Decimal(value(d)) - log) <= bound
                assert ptxspec.allowed("lg2.approx.f32 d, a;", {"d": d}, a=x) is want
                outcomes.add(("lg2", want))
            y = value(pattern(source.uniform(-100, 100) if source.random() < 0.7 else source.uniform(0, 1)))
            power = (Decimal(y) * ln2).exp()
            bound = Decimal("2.5") * Decimal(2) ** (math.floor(y) - 23)
            for d in neighbours(pattern(float(power))):
                want = abs(Decimal(value(d)) - power) <= bound
                assert ptxspec.allowed("ex2.approx.f32 d, a;", {"d": d}, a=y) is want
                outcomes.add(("ex2", want))
    assert len(outcomes) == 4


@pytest.mark.parametrize(
    ("angle", "exponent"), [(1.0, -20.5), (-1.0, -20.5), (6.0, -20.5), (7.0, -14.7), (-300.0, -14.7)]
)
def test_the_bounds_of_sines(angle: float, exponent: float) -> None:
    for name, function in (("sin", math.sin), ("cos", math.cos)):
        exponent = -20.4 if name == "cos" and exponent == -20.5 else exponent
        for factor, want in ((0.999, True), (1.001, False)):
            for sign in (-1, 1):
                d = function(angle) + sign * factor * 2.0**exponent
                rounded = pattern(d)
                if abs(value(rounded) - d) < 0.0005 * 2.0**exponent:
                    assert ptxspec.allowed(f"{name}.approx.f32 d, a;", {"d": rounded}, a=angle) is want
                else:  # the format is too coarse for so close a case: move one place away
                    moved = rounded + (1 if (d > 0) == (sign > 0) else -1) * (-1 if want else 1)
                    assert ptxspec.allowed(f"{name}.approx.f32 d, a;", {"d": moved}, a=angle) is want
    assert ptxspec.allowed("sin.approx.f32 d, a;", {"d": 0xDEADBEEF}, a=400.0)


def test_the_bound_of_tanh() -> None:
    for a in (0.001, 0.7, -3.0):
        exact = math.tanh(a)
        assert ptxspec.allowed("tanh.approx.f32 d, a;", {"d": exact * (1 + 0.999 * 2**-11)}, a=a)
        assert not ptxspec.allowed("tanh.approx.f32 d, a;", {"d": exact * (1 + 1.001 * 2**-11)}, a=a)
    a = pattern(0.7)
    assert ptxspec.evaluate("tanh.approx.f32 d, a;", profile="portable", a=1)["d"] == 1
    assert not ptxspec.allowed("tanh.approx.f32 d, a;", {"d": a | SIGN}, a=a)


def test_quotients() -> None:
    a, b = pattern(1.0), pattern(3.0)
    for name in ("approx", "full"):
        text = f"div.{name}.f32 d, a, b;"
        assert [ptxspec.allowed(text, {"d": 0x3EAAAAAB + k}, a=a, b=b) for k in range(-3, 4)] == [
            False, True, True, True, True, True, False,
        ]  # fmt: skip
    huge = pattern(2.0**127)
    assert ptxspec.allowed("div.approx.f32 d, a, b;", {"d": 0}, a=a, b=huge)
    assert ptxspec.allowed("div.approx.f32 d, a, b;", {"d": 0x7FFFFFFF}, a=INFINITY, b=huge)
    early = ".version 8.8 div.approx.f32 d, a, b;"
    assert ptxspec.evaluate(early, profile="portable", a=INFINITY, b=huge)["d"] == INFINITY
    assert not ptxspec.allowed("div.full.f32 d, a, b;", {"d": pattern(2.0**-120)}, a=a, b=huge)
    # subnormal numbers are flushed if and only if .ftz is there
    for text, ftz in (("div.full.f32 d, a, b;", False), ("div.full.ftz.f32 d, a, b;", True)):
        assert ptxspec.allowed(text, {"d": 0x00400000}, a=a, b=huge) is not ftz
        assert ptxspec.allowed(text, {"d": 0}, a=a, b=huge) is ftz
        assert ptxspec.allowed(text, {"d": pattern(2.0**-23)}, a=1, b=pattern(2.0**-126)) is not ftz
        assert ptxspec.allowed(text, {"d": 0}, a=1, b=pattern(2.0**-126)) is ftz
        assert ptxspec.allowed(text, {"d": INFINITY}, a=a, b=1)
        assert not ptxspec.allowed(text, {"d": SIGN | INFINITY}, a=a, b=1)
        assert ptxspec.allowed(text, {"d": 0x7FFFFFFF}, a=1, b=1) is ftz
        assert ptxspec.allowed(text, {"d": pattern(1.0)}, a=1, b=1) is not ftz


def test_subnormal_reciprocals() -> None:
    """1/2^-127 is a number without .ftz and an infinity with it; reciprocals of the greatest numbers are flushed."""
    assert ptxspec.evaluate("rcp.approx.f32 d, a;", profile="portable", a=1 << 22)["d"] == pattern(2.0**127)
    assert ptxspec.evaluate("rcp.approx.ftz.f32 d, a;", profile="portable", a=1 << 22)["d"] == INFINITY
    assert ptxspec.evaluate("rcp.approx.f32 d, a;", profile="portable", a=pattern(2.0**127))["d"] == 1 << 22
    assert ptxspec.evaluate("rcp.approx.ftz.f32 d, a;", profile="portable", a=pattern(-(2.0**127)))["d"] == SIGN
    assert ptxspec.evaluate("rcp.approx.f32 d, a;", profile="portable", a=1)["d"] == INFINITY


def test_double_precision_approximations() -> None:
    for x in (3.0, -0.7, 1e300, 1e-300):
        bits = struct.unpack("<Q", struct.pack("<d", x))[0] >> 32 << 32
        upper = struct.unpack("<d", struct.pack("<Q", bits))[0]
        d = ptxspec.evaluate("rcp.approx.ftz.f64 d, a;", profile="portable", a=x)["d"]
        got = struct.unpack("<d", struct.pack("<Q", d))[0]
        assert d & 0xFFFFFFFF == 0 and abs(got * upper - 1) <= 2.0**-21
        assert not ptxspec.allowed("rcp.approx.ftz.f64 d, a;", {"d": d + 1}, a=x)
        assert not ptxspec.allowed("rcp.approx.ftz.f64 d, a;", {"d": d ^ 1 << 63}, a=x)
    d = ptxspec.evaluate("rsqrt.approx.f64 d, a; rsqrt.approx.ftz.f64 e, a;", profile="portable", a=2.0)
    assert d["d"] == struct.unpack("<Q", struct.pack("<d", math.sqrt(0.5)))[0]
    assert d["e"] & 0xFFFFFFFF == 0 and abs(d["e"] - d["d"]) <= 1 << 31
    # what the upper word does not show does not count
    assert ptxspec.evaluate("rcp.approx.ftz.f64 d, a;", a=0x7FF0000000000001)["d"] == 0
    assert ptxspec.evaluate("rcp.approx.ftz.f64 d, a;", a=0xFFF8000000000001)["d"] == 0x7FFFFFFF00000000


# the tables of special operands in the text: -inf, -normal (None: no row), -0, +0, +inf, with .ftz -subnormal, +subnormal
NAN, ONE = "nan", 0x3F800000
SPECIAL: dict[str, list[Any]] = {
    "rcp": [SIGN, SIGN | INFINITY, INFINITY, 0, SIGN | INFINITY, INFINITY],
    "sqrt": [NAN, SIGN, 0, INFINITY, SIGN, 0],
    "rsqrt": [NAN, SIGN | INFINITY, INFINITY, 0, SIGN | INFINITY, INFINITY],
    "sin": [NAN, SIGN, 0, NAN, SIGN, 0],
    "cos": [NAN, ONE, ONE, NAN, ONE, ONE],
    "lg2": [NAN, SIGN | INFINITY, SIGN | INFINITY, INFINITY, SIGN | INFINITY, SIGN | INFINITY],
    "ex2": [0, ONE, ONE, INFINITY, ONE, ONE],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_operands(name: str) -> None:
    rows = zip([SIGN | INFINITY, SIGN, 0, INFINITY, SIGN | 5, 5], SPECIAL[name], strict=True)
    for a, want in rows:
        got = ptxspec.evaluate(f"{name}.approx.ftz.f32 d, a;", a=a)
        assert got["d"] == (0x7FFFFFFF if want == NAN else want), hex(a)
        assert all(c.kind != "approximate" for c in got.chosen)
    for a in (0x7F800001, 0xFFC00000):
        assert ptxspec.evaluate(f"{name}.approx.f32 d, a;", a=a)["d"] == 0x7FFFFFFF
    if name in ("sqrt", "rsqrt", "lg2"):
        assert ptxspec.evaluate(f"{name}.approx.f32 d, a;", a=-1.0)["d"] == 0x7FFFFFFF


# what uses it ----------------------------------------------------------------------------------------------------------

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 q; .reg .f32 x;
  ld.param.u64 q, [p];
  ld.global.f32 x, [q];
  rcp.approx.f32 x, x;
  st.global.f32 [q], x;
  ret;
}
"""


def test_the_exact_engine_takes_the_nearest_number_and_the_native_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec.terms.profiles import CHOICES, load

    load("nearest")  # takes over what hopper has, so before that has less
    monkeypatch.delitem(CHOICES["hopper"], "approximate-rcp", raising=False)
    data = np.array([3.0], np.float32)
    shape: dict[str, Any] = {"grid": (1, 1, 1), "block": (1, 1, 1), "args": [data]}
    module = ptxspec.load(KERNEL)
    module.launch("k", **shape, profile="portable", engine="exact")
    assert data.view(np.uint32)[0] == 0x3EAAAAAB
    for profile, engine in (("portable", "native"), ("hopper", "native"), ("hopper", "exact")):
        with pytest.raises(ptxspec.LaunchError, match="no choice") as refused:
            module.launch("k", **shape, profile=profile, engine=engine)
        assert profile == "portable" or "approximate-rcp" in str(refused.value)
    assert data.view(np.uint32)[0] == 0x3EAAAAAB


def test_what_is_allowed_of_ordinary_freedoms() -> None:
    nan = float("nan")
    assert ptxspec.allowed("add.f32 d, a, b;", {"d": 0xFF812345}, a=nan, b=1.0)
    assert not ptxspec.allowed("add.f32 d, a, b;", {"d": 0x7F800000}, a=nan, b=1.0)
    assert ptxspec.allowed("add.f32 d, a, b;", {"d": 3.0}, a=2.0, b=1.0)
    assert not ptxspec.allowed("add.f32 d, a, b;", {"d": 3.5}, a=2.0, b=1.0)
    assert ptxspec.allowed("div.u32 d, a, b;", {"d": 12345}, a=1, b=0)
    assert not ptxspec.allowed("div.u32 d, a, b;", {"d": 12345}, a=1, b=0, profile="hopper")
    assert ptxspec.allowed("div.u32 d, a, b;", {"d": 0xFFFFFFFF}, a=1, b=0, profile="hopper")
    assert ptxspec.allowed("setp.lt.u32 p|q, a, b;", {"p": True, "q": False}, a=1, b=2)
    assert not ptxspec.allowed("setp.lt.u32 p|q, a, b;", {"p": True, "q": True}, a=1, b=2)


def test_one_open_result_is_one_thing() -> None:
    text = "div.u32 d, a, b; mov.u32 e, d;"
    assert ptxspec.allowed(text, {"d": 7, "e": 7}, a=1, b=0)
    assert not ptxspec.allowed(text, {"d": 7, "e": 8}, a=1, b=0)


@pytest.mark.parametrize(
    ("more", "results", "expected"),
    [
        ("not.b32 x, b; not.b32 y, x; div.u32 e, a, y;", {"d": 7, "e": 7}, True),  # the same operands by another way
        ("not.b32 x, b; not.b32 y, x; div.u32 e, a, y;", {"d": 7, "e": 8}, False),
        ("div.u32 e, b, b;", {"d": 7, "e": 8}, True),  # other operands
        ("bfe.u32 e, a, 300, 8;", {"d": 7, "e": 8}, True),  # another freedom
        ("add.u32 e, d, 1;", {"e": 8}, True),  # any number goes on into a sum, and one only
        ("add.u32 e, d, 1;", {"d": 7, "e": 9}, False),
        ("add.u32 e, d, 1; add.u32 f, d, 2;", {"e": 8, "f": 9}, True),
        ("add.u32 e, d, 1; add.u32 f, d, 2;", {"e": 8, "f": 10}, False),
        ("div.u32 e, d, b; div.u32 f, 5, b;", {"d": 5, "e": 9, "f": 9}, True),  # an open result of an open result
        ("div.u32 e, d, b; div.u32 f, 5, b;", {"d": 5, "e": 9, "f": 8}, False),
        ("div.u32 e, d, b; div.u32 f, 5, b; add.u32 g, f, 0;", {"d": 5, "e": 9, "g": 8}, False),
        ("add.u32 g, d, 1; div.u32 e, d, b; div.u32 f, 5, b;", {"g": 6, "e": 9, "f": 8}, False),
        ("add.u32 g, d, 1; div.u32 e, d, b; div.u32 f, 4, b;", {"g": 6, "e": 9, "f": 8}, True),
    ],
)
def test_what_is_allowed_together(more: str, results: dict[str, int], expected: bool) -> None:
    assert ptxspec.allowed(f"div.u32 d, a, b; {more}", results, a=1, b=0) is expected


def test_any_nan_that_goes_on_is_a_nan() -> None:
    text = "add.f32 x, a, b; and.b32 d, x, 0x7f800000;"
    assert ptxspec.allowed(text, {"d": 0x7F800000}, a=float("nan"), b=0.0)
    assert not ptxspec.allowed(text, {"d": 0}, a=float("nan"), b=0.0)


def test_questions_that_cannot_be_answered_are_refused() -> None:
    with pytest.raises(NoChoice, match="approximate-rcp"):
        ptxspec.allowed("rcp.approx.f32 x, a; add.u32 d, x, 1;", {"d": 7}, a=3.0)
    with pytest.raises(TypeError, match="writes no register"):
        ptxspec.allowed("add.u32 d, a, b;", {"x": 7}, a=1, b=0)
    with pytest.raises(TypeError, match="no results"):
        ptxspec.allowed("add.u32 d, a, b;", {}, a=1, b=0)
    with pytest.raises(TypeError, match="has no value"):
        ptxspec.allowed("add.u32 d, a, b;", {"d": 1}, a=1)
    with pytest.raises(TypeError, match="does not fit"):
        ptxspec.allowed("add.u32 d, a, b;", {"d": 1 << 32}, a=1, b=2)


def test_proofs_hold_for_every_number_or_say_that_they_do_not() -> None:
    same = ptxspec.prove(
        "rcp.approx.f32 x, a; and.b32 d, x, 0x7fffffff;",
        "rcp.approx.f32 x, a; xor.b32 y, x, 0x80000000; and.b32 d, y, 0x7fffffff;",
    )
    assert same.status == "proved"
    other = ptxspec.prove("rcp.approx.f32 d, a;", "rcp.rn.f32 d, a;", assume="a == 0x3f800001")
    assert other.status == "refuted"  # a number beside the nearest one is within the bound
    near = ptxspec.prove("sqrt.approx.f32 d, a;", "sqrt.rn.f32 d, a;", assume="a == 0x40800000")
    assert near.status in ("refuted", "approximated")
    wrong = ptxspec.prove("rcp.approx.f32 d, a;", "mov.f32 d, 2.0;", assume="zero(a)")
    assert wrong.status == "refuted"


@pytest.mark.slow
def test_the_choices_that_are_there_are_allowed() -> None:
    """Whatever the profile hopper chooses lies within the bound; what it does not choose is refused."""
    hopper = Profile("hopper")
    for form in APPROXIMATE:
        freedom = freedom_of(form)
        if not hopper.chooses(freedom):
            assert choices.awaited(form) == [freedom.attrs[0]]
            continue
        assert choices.awaited(form) == []
        for row in operands(form):
            bits = ptxspec.evaluate(str(form), **row)["d"]
            assert ptxspec.allowed(str(form), {"d": bits}, **row), (str(form), row, hex(bits))


def test_a_choice_takes_part_in_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a choice the three interpretations are compared on it; without, the form counts as needing one."""
    from ptxspec.terms.profiles import CHOICES

    form = next(f for f in APPROXIMATE if f.mnemonic == "ex2.approx.f32")
    fresh = Profile("hopper")  # which has made no function of a choice yet
    monkeypatch.setattr(choices, "_choices", lambda: fresh)
    monkeypatch.delitem(CHOICES["hopper"], "approximate-ex2", raising=False)
    assert choices.awaited(form) == ["approximate-ex2"]
    assert computing._agrees(form, {}) == ledger.NEEDS_CHOICE and computing._agrees(form, {str(form): "…"}) is False
    assert choices.settled(freedom_of(form)).attrs == (0xFFFFFFFF,)
    monkeypatch.setitem(CHOICES["hopper"], "approximate-ex2", lambda type, x, ftz: x ^ 0x1234)
    assert choices.awaited(form) == [] and computing._agrees(form, {}) is True
    assert not interpretations.compare([form], count=64, symbolic=4)
    values = {"a": pattern(1.5)}
    assert exact.evaluate(form.meaning().results[0].values[0], values, choices.settled_value) == pattern(1.5) ^ 0x1234


def test_the_ledger_counts_forms_that_need_a_choice() -> None:
    row = {
        "mnemonic": "x",
        "opcode": "x",
        "ptxas": True,
        "interpretations": ledger.NEEDS_CHOICE,
        "identities": 0,
        "gpu": None,
    }
    counts = ledger.summary([row, {**row, "interpretations": True}])
    assert counts[f"interpretations: {ledger.NEEDS_CHOICE}"] == 1 and counts["interpretations yes"] == 1
    assert shown.outcome(ledger.NEEDS_CHOICE) is None
    form = APPROXIMATE[0]
    text = shown.cell_of("interpretations", [form], {form.mnemonic: {"interpretations": ledger.NEEDS_CHOICE}})
    assert text == f"[{ledger.NEEDS_CHOICE}]{{.gap}} for 1"


def test_answers_without_a_choice_are_held_against_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec.terms.profiles import CHOICES

    monkeypatch.delitem(CHOICES["hopper"], "approximate-rcp", raising=False)
    form = next(f for f in APPROXIMATE if f.mnemonic == "rcp.approx.f32")
    table = operand_rows.table_of(form, form.meaning())
    right = [
        0x7FFFFFFF if math.isnan(value(a)) else ptxspec.evaluate(str(form), profile="portable", a=a)["d"]
        for (a,) in table
    ]
    facts = {"profile": "hopper"}
    answers = stored_answers.Answers(facts, {str(form): np.array(right, np.uint32)[:, None]})
    assert FUNCTIONS.compare([form], answers) == (len(table), [])
    k = next(i for i, (a,) in enumerate(table) if 0x3F800000 < a < 0x40000000)
    right[k] += 5
    answers = stored_answers.Answers(facts, {str(form): np.array(right, np.uint32)[:, None]})
    count, found = FUNCTIONS.compare([form], answers)
    assert count == len(table) and [d.operands for d in found] == [table[k]] and "not allowed" in str(found[0])


def test_conditions_of_freedoms() -> None:
    assert is_allowed(freedom_of(APPROXIMATE[0]), (0,) * len(freedom_of(APPROXIMATE[0]).args), 1 << 64) is False


def test_the_profile_that_takes_the_nearest_says_so() -> None:
    page = Path(ptxspec.__file__).parents[2] / "spec/profiles/portable.md"
    assert "take_nearest(__name__)" in page.read_text()
    freedom = freedom_of(next(f for f in APPROXIMATE if f.mnemonic == "rcp.approx.f32"))
    assert Profile("portable").value(freedom, (pattern(4.0), 0)) == pattern(0.25)
    with pytest.raises(NoChoice):
        Profile("portable").chosen(freedom, (pattern(4.0), 0))
    with pytest.raises(NoChoice):
        Profile("portable").term(freedom)
