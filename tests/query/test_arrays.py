"""Evaluation again and again, and on arrays: each gives what one evaluation gives."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxspec
from ptxspec.language.forms import registry
from ptxspec.query import arrays, repeated
from ptxspec.query.arrays import Columns, evaluated
from ptxspec.query.evaluate import Results, executed, executed_again, values_of_inputs
from ptxspec.query.fragments import read_fragment
from ptxspec.query.outcomes import SymbolicFragment
from ptxspec.query.repeated import CachedFragment
from ptxspec.terms.loops import CompiledLoop
from ptxspec.terms.types import Type

ROWS = 24
#: what a form's text needs in the place of operands that are constants or in braces
WRITTEN = {"lop3.b32 d, a, b, c, immLut;": "lop3.b32 d, a, b, c, 0x96;"}


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with nothing asked."""
    monkeypatch.setattr(repeated, "_cached", {})


def bits(source: random.Random, type: Type) -> Any:
    """Bits of a register: ends of ranges, infinities, NaNs, few bits, any."""
    width = type.width
    ones = (1 << width) - 1
    if type.kind == "pred":
        return bool(source.getrandbits(1))
    if source.random() < 0.3:
        special = [
            0,
            1,
            ones,
            1 << (width - 1),
            ones >> 1,
            0x7F800000,
            0x7FC12345,
            0xFF800001,
            0x3F800000,
            0x7C00,
            31,
            32,
            33,
        ]
        return source.choice(special) & ones
    return source.getrandbits(width) & (source.getrandbits(width) if source.random() < 0.3 else ones)


def rows(fragment: SymbolicFragment, count: int, seed: object) -> list[dict[str, Any]]:
    source = random.Random(str(seed))
    registers = {n: fragment.registers[n] for n in fragment.inputs if n in fragment.registers}
    return [{name: bits(source, type) for name, type in registers.items()} for _ in range(count)]


def all_of(results: Results) -> tuple[Any, ...]:
    kinds = [value.__class__ for value in results.values()]
    return dict(results), kinds, results.types, results.inputs, results.chosen, results.steps


def answer(ask: Any, *arguments: Any) -> Any:
    """What is answered, or that something is left open."""
    try:
        return ask(*arguments)
    except ptxspec.NoChoice:
        return "open"


def fragments(opcode: str, count: int) -> Iterator[tuple[str, SymbolicFragment]]:
    """Some forms of an opcode that are functions of registers, as fragments."""
    forms = [v for form in registry().opcodes[opcode].forms for v in form.variants]
    random.Random(opcode).shuffle(forms)
    for form in forms[: 4 * count]:
        text = WRITTEN.get(str(form), str(form))
        try:
            yield text, read_fragment(text)
        except (ptxspec.Unsupported, ptxspec.PtxError):
            continue
        count -= 1
        if not count:
            return


@pytest.mark.one_in(3)
@pytest.mark.parametrize("opcode", sorted(registry().opcodes))
@pytest.mark.parametrize("profile", ["hopper", "portable"])
def test_what_is_asked_again_gives_what_it_gave_at_first(opcode: str, profile: str) -> None:
    """The function that a fragment is written out to, against the exact interpretation itself: results and what is told of them."""
    for text, fragment in fragments(opcode, 6):
        again = CachedFragment(fragment)
        for row in rows(fragment, 12, text):
            values = values_of_inputs(fragment, row)
            first = answer(executed, fragment, values, profile)
            second = answer(executed_again, again, values, profile)
            assert second == first, (text, row)
            assert first == "open" or all_of(second) == all_of(first), (text, row)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("opcode", sorted(registry().opcodes))
def test_an_array_gives_what_its_elements_give(opcode: str) -> None:
    for text, fragment in fragments(opcode, 1):
        if all(type.width <= 64 for type in fragment.registers.values()) and set(fragment.inputs) & set(
            fragment.registers
        ):
            compare(text, rows(fragment, ROWS, text), "hopper")


@pytest.mark.parametrize(
    "text",
    [
        "div.u32 d, a, b;", "rcp.approx.ftz.f32 d, a;", "min.f32 d, a, b;", "div.s32 d, a, b; setp.eq.s32 p, d, 0; @p mov.b32 d, a;",
        "setp.ne.u32 p, b, 0; @p div.u32 d, a, b;", "cvt.rzi.s32.f32 d, a;", "setp.eq.u32 p, b, 0; @!p rem.u32 d, a, b; add.u32 e, d, 1;",
    ],
)  # fmt: skip
def test_what_a_profile_leaves_open_is_as_it_is_for_each_element(text: str) -> None:
    """Where no element needs it, nothing is left open; where one does, that is told, or the nearest number is taken."""
    fragment = read_fragment(text)
    table = rows(fragment, ROWS, text)
    compare(text, table, "portable")
    again = CachedFragment(fragment)
    settled = [
        row for row in table if answer(executed_again, again, values_of_inputs(fragment, row), "portable") != "open"
    ]
    compare(text, settled, "portable")


def compare(text: str, table: list[dict[str, Any]], profile: str) -> None:
    """An array for each operand, against one evaluation after another."""
    fragment = read_fragment(text)
    again = CachedFragment(fragment)
    columns = {}
    for name in table[0]:
        type = fragment.registers[name]
        columns[name] = np.array([row[name] for row in table], bool if type.kind == "pred" else f"u{type.width // 8}")
    one = [answer(executed, fragment, values_of_inputs(fragment, row), profile) for row in table]
    many = answer(evaluated, again, columns, profile)
    if "open" in one:
        assert many == "open", text
        return
    assert many != "open" and list(many) == list(one[0]), text
    assert many.types == one[0].types
    for name, column in many.items():
        type = many.types[name] if name not in fragment.left else fragment.left[name]
        assert column.dtype == (bool if type.kind == "pred" else np.dtype(f"u{max(type.width, 8) // 8}"))
        assert column.tolist() == [result[name] for result in one], (text, name)


REGISTERS = ("a", "b", "c", "d")
INSTRUCTIONS = [
    "add.u32 {d}, {x}, {y};", "sub.cc.u32 {d}, {x}, {y};", "addc.cc.u32 {d}, {x}, {y};", "subc.u32 {d}, {x}, {y};",
    "mad.lo.u32 {d}, {x}, {y}, {z};", "mul.hi.s32 {d}, {x}, {y};", "shf.l.wrap.b32 {d}, {x}, {y}, {z};", "div.u32 {d}, {x}, {y};",
    "setp.lt.s32 {p}, {x}, {y};", "setp.ge.and.u32 {p}|{q}, {x}, {y}, {q};", "selp.b32 {d}, {x}, {y}, {p};", "bfe.s32 {d}, {x}, {y}, {z};",
    "add.f32 {d}, {x}, {y};", "fma.rm.f32 {d}, {x}, {y}, {z};", "cvt.rni.s32.f32 {d}, {x};", "rcp.approx.ftz.f32 {d}, {x};",
    "mov.b32 {d}, %laneid;", "prmt.b32 {d}, {x}, {y}, {z};", "not.pred {p}, {q};", "min.f32 {d}, {x}, {y};", "abs.s32 {d}, {x};",
]  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Several instructions on the same few registers, some of them guarded."""
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        names = {role: draw(st.sampled_from(REGISTERS)) for role in "dxyz"}
        p = draw(st.sampled_from("pq"))
        guard = draw(st.sampled_from(["", "", "@p ", "@!q "]))
        line = draw(st.sampled_from(INSTRUCTIONS))
        lines.append(guard + line.format(**names, p=p, q="q" if p == "p" else "p"))
    return " ".join(lines)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(texts(), st.integers(0, 1 << 32))
def test_fragments_on_arrays(text: str, seed: int) -> None:
    fragment = read_fragment(text)
    table = rows(fragment, 10, seed)
    if table[0]:
        compare(text, table, "hopper")
        again = CachedFragment(fragment)
        for row in table:
            values = values_of_inputs(fragment, row)
            assert all_of(executed_again(again, values, "hopper")) == all_of(executed(fragment, values, "hopper"))


# what goes in ----------------------------------------------------------------------------------------------------------

FLOATS = [0.0, -0.0, 1.5, -2.25, 1e-40, 3e-8, 65504.0, 1 / 3, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u8", "f2", "f4", "f8", ">f4"]
)
@pytest.mark.parametrize(
    "text", ["mov.b32 d, a;", "mov.b64 d, a;", "mov.b16 d, a;", "neg.f32 d, a;", "neg.f64 d, a;", "neg.f16 d, a;"]
)
def test_each_kind_of_array_is_taken_as_its_elements_are(text: str, dtype: str) -> None:
    limit = 100 if dtype.endswith("1") else 32000
    array = np.array(FLOATS if "f" in dtype else [0, 1, 7, 100, limit], dtype)
    if "i" in dtype:
        array = np.concatenate([array, -array])
    found = ptxspec.evaluate(text, a=array)["d"]
    assert found.tolist() == [
        ptxspec.evaluate(text, a=element)["d"] for element in array.astype(array.dtype.newbyteorder("="))
    ]


def test_a_nan_of_the_registers_own_format_keeps_its_bits() -> None:
    """One number or many: of NumPy's, whose bits can be seen."""
    patterns = np.array([0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0x3F800000], np.uint32)
    assert ptxspec.evaluate("mov.b32 d, a;", a=patterns.view(np.float32))["d"].tolist() == patterns.tolist()
    for number in patterns.view(np.float32):
        assert ptxspec.evaluate("abs.f32 d, a;", a=number).inputs["a"] in patterns.tolist()


def test_shapes() -> None:
    a = np.arange(12, dtype=np.uint32).reshape(3, 4)
    found = ptxspec.evaluate("add.u32 d, a, b;", a=a, b=np.array([10, 20, 30, 40]))["d"]
    assert np.array_equal(found, a + np.array([10, 20, 30, 40]))
    assert np.array_equal(ptxspec.evaluate("add.u32 d, a, 1;", a=a.T[::2])["d"], a.T[::2] + 1)
    assert ptxspec.evaluate("add.u32 d, a, b;", a=np.zeros((0, 3), np.uint32), b=7)["d"].shape == (0, 3)
    assert ptxspec.evaluate("add.u32 d, a, b;", a=np.array([5]), b=np.array([[1], [2]]))["d"].tolist() == [[6], [7]]
    assert ptxspec.evaluate("add.u32 d, a, b;", a=np.array([5]), b=2)["d"].tolist() == [7]
    assert ptxspec.evaluate("mov.u32 d, %laneid; add.u32 d, d, a;", a=np.array([5, 6]))["d"].tolist() == [5, 6]
    assert ptxspec.evaluate("add.u32 d, a, b;", a=np.array(5), b=2) == {"d": 7}  # no dimension, so one evaluation
    inputs = ptxspec.evaluate("add.u32 d, a, b;", a=np.array([-1, 2]), b=-1).inputs
    assert inputs["a"].tolist() == [0xFFFFFFFF, 2] and inputs["b"] == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("text", "operands", "what"),
    [
        ("add.u32 d, a, b;", {"a": np.arange(3), "b": np.arange(4)}, r"do not fit one another: a \(3,\), b \(4,\)"),
        ("add.u32 d, a, b;", {"a": np.arange(3)}, "the operand b .* has no value"),
        ("add.u32 d, a, b;", {"a": np.arange(3), "b": 1, "c": 2}, "c: no operand of that name"),
        ("add.u32 d, a, 1;", {"a": np.array([1, 1 << 32])}, "a is .*: 4294967296 does not fit"),
        ("add.u32 d, a, 1;", {"a": np.array([1, -(1 << 31) - 1])}, "does not fit"),
        ("add.u32 d, a, 1;", {"a": np.array([1.0])}, "a is .u32: an array of float64 has no integers"),
        ("add.u32 d, a, 1;", {"a": np.array([True])}, "not a predicate"),
        ("add.u32 d, a, 1;", {"a": np.array(["1"])}, "an array of <U1 is no operand"),
        ("add.u32 d, a, 1;", {"a": np.array([1, 2], object)}, "an array of object is no operand"),
        ("neg.f32 d, a;", {"a": np.array([1.0, 1e39])}, r"a is .*: 1e\+39 is beyond its range"),
        ("neg.f32 d, a;", {"a": np.array([1j])}, "complex"),
        ("abs.bf16 d, a;", {"a": np.array([1.0])}, "pass its bits"),
        ("selp.b32 d, 1, 2, p;", {"p": np.array([0, 2])}, "p is a predicate: pass an array of True and False"),
        ("@p mov.u32 d, a;", {"p": np.array([True, False]), "a": 1}, "the operand d has no value: of arrays"),
        ("add.u32 d, a, 1;", {"a": [1, 2]}, "list is no operand"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, operands: dict[str, Any], what: str) -> None:
    with pytest.raises(TypeError, match=what):
        ptxspec.evaluate(text, operands)


def test_what_arrays_cannot_hold_and_do_not_tell() -> None:
    with pytest.raises(ptxspec.Unsupported, match=r"128.*64 bits at most"):
        ptxspec.evaluate("mov.b128 d, {a, b};", a=np.arange(3), b=1)
    with pytest.raises(ptxspec.Unsupported, match="reads memory"):
        ptxspec.evaluate("ld.global.u32 d, [a];", a=np.arange(3))
    with pytest.raises(ValueError, match="no profile is called"):
        ptxspec.evaluate("add.u32 d, a, 1;", a=np.arange(3), profile="volta")
    results = ptxspec.evaluate("add.u32 d, a, 1;", a=np.arange(3))
    for name in ("chosen", "steps"):
        with pytest.raises(AttributeError, match="an evaluation of arrays has no"):
            getattr(results, name)
    assert isinstance(results, Columns) and not hasattr(results, "other")


# what stays ------------------------------------------------------------------------------------------------------------


def test_little_is_remembered() -> None:
    """A text that comes but once leaves nothing made of it; of many, and of their loops, the last are kept."""
    for n in range(3 * repeated.MOST):
        ptxspec.evaluate(f"add.u32 d, a, {n};", a=1)
    assert len(repeated._cached) == repeated.MOST and not any(repeated._cached.values())
    ptxspec.evaluate(f"add.u32 d, a, {n};", a=1)
    assert sum(found is not None for found in repeated._cached.values()) == 1
    assert repeated.repeated("add.u32 d, a, 0;") is None
    long = "add.u32 d, a, 1; " * 200
    assert ptxspec.evaluate(long, a=1) == ptxspec.evaluate(long, a=1) and repeated.repeated(long) is None


def test_compiled_code_lets_other_threads_run() -> None:
    """It is called without Python's lock, and threads that ask at once get what is theirs."""
    text = "mad.lo.u32 d, a, a, b;"
    found = repeated.for_arrays(text)
    a = np.arange(100_000, dtype=np.uint32)
    evaluated(found, {"a": a, "b": 1}, "hopper")
    (compiled,) = found.loops.values()
    pythons_own = ctypes.PYFUNCTYPE(None)._flags_ & ~ctypes.CFUNCTYPE(None)._flags_  # type: ignore[attr-defined]
    assert pythons_own and not compiled._call._flags_ & pythons_own

    def one(n: int) -> bool:
        return np.array_equal(ptxspec.evaluate(text, a=a, b=n)["d"], a * a + np.uint32(n))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(40)))


def test_all_operands_of_a_form_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/how-to/check-results.md goes through them, here those of 16 bits: a checksum of chunks in two threads, which
    compile the form once between them."""
    made: list[Any] = []
    monkeypatch.setattr(arrays, "CompiledLoop", lambda *given: made.append(given) or CompiledLoop(*given))

    def chunk(first: int) -> int:
        operands = np.arange(first, first + 4096, dtype=np.uint32)
        return int(ptxspec.evaluate("popc.b32 d, a;", a=operands)["d"].sum())

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(chunk, range(0, 1 << 16, 4096))) == 16 * (1 << 15)
    assert len(made) == 1
