"""Whether operands are invalid, the processor's result says: held against the definitions, which `invalid_for` marks."""

from __future__ import annotations

import ctypes
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptxspec.literate.finder import install
from ptxspec.terms import Bool, Int, Type, f16, f32, f64, invalid_for
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import SUPPLIED, CodeSource, Emitter, Library

install()
PAGE: Any = importlib.import_module("ptxspec.spec.arithmetic.rounding")
NAMES = tuple(SUPPLIED)


def special(type: Type) -> list[int]:
    """Zeros, subnormal numbers, one, the greatest, infinities, NaNs that are quiet and others; of both signs."""
    fraction = 23 if type.width == 32 else 52
    infinity = (1 << type.width - 1) - (1 << fraction)
    one = (1 << type.width - 2) - (1 << fraction)
    found = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        one,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + (1 << fraction - 1),
    ]
    return [sign << type.width - 1 | bits for sign in (0, 1) for bits in [*found, (1 << type.width - 1) - 1]]


def operands(type: Type, count: int, seed: int) -> list[tuple[int, ...]]:
    """All combinations of special ones, and as many at random, some of them next to special ones."""
    some = special(type)
    rng = np.random.default_rng(seed)
    found = list(itertools.product(some, repeat=count))
    for _ in range(1500):
        bits = [int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(0, 2)) for _ in range(count)]
        near = [some[int(rng.integers(0, len(some)))] ^ 1 << int(rng.integers(0, type.width)) for _ in range(count)]
        found.append(
            tuple((b if rng.integers(0, 2) else n) & (1 << type.width) - 1 for b, n in zip(bits, near, strict=True))
        )
    return found


def compiled(condition: Bool, type: Type, count: int) -> tuple[str, Callable[..., int], Library]:
    """The native interpretation of a condition over variables a0, a1, …: its text, and the function."""
    lines: list[str] = []
    needs: set[str] = set()
    lowering = Lowering(Emitter(lines, needs), {f"a{i}": f"%a{i}" for i in range(count)})
    truth = lowering.truth(condition)
    word = f"i{type.width}"
    parameters = ", ".join(f"{word} %a{i}" for i in range(count))
    body = [f"define i32 @holds({parameters}) {{", *lines, f"  %r = zext i1 {truth} to i32", "  ret i32 %r\n}"]
    library = Library(CodeSource("\n".join(body), needs))
    c_type = ctypes.c_uint32 if type.width == 32 else ctypes.c_uint64
    return "\n".join(lines), ctypes.CFUNCTYPE(ctypes.c_int32, *[c_type] * count)(library.address("holds")), library


def disagreements(function: Callable[..., Bool], type: Type, count: int) -> tuple[str, list[tuple[int, ...]]]:
    """The text of the native interpretation, and the operands of which it says otherwise than the definition."""
    condition = function(type, *(variable(f"a{i}", type.width) for i in range(count)))
    text, holds, library = compiled(condition, type, count)
    found = []
    for given in operands(type, count, count):
        expected = evaluate(condition, {f"a{i}": value for i, value in enumerate(given)})
        if bool(holds(*given)) != bool(expected):
            found.append(given)
    assert library is not None  # which must live for as long as its code is called
    return text, found


@pytest.mark.parametrize("type", [f32, f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_processor_finds_the_same_operands_invalid(name: str, type: Type) -> None:
    text, found = disagreements(getattr(PAGE, f"{name}_is_invalid"), type, SUPPLIED[name][1])
    assert "fcmp uno" in text and "icmp" not in text, "the definition is compiled, not what the processor says"
    assert found == []


def test_each_that_is_supplied_is_marked() -> None:
    assert {n for n in NAMES if hasattr(PAGE, f"{n}_is_invalid")} == set(NAMES)


def wrong_sum(type: Type, x: Int, y: Int) -> Bool:
    """Forgets infinities of opposite signs."""
    return PAGE.is_nan(x, type) | PAGE.is_nan(y, type)


def wrong_root(type: Type, x: Int) -> Bool:
    """Takes −0 for a negative number."""
    return PAGE.is_nan(x, type) | PAGE.is_negative(x, type)


def wrong_ratio(type: Type, x: Int, y: Int) -> Bool:
    """Takes all that is divided by zero for invalid."""
    return PAGE.ratio_is_invalid.__wrapped__(type, x, y) | PAGE.is_zero(y, type)


@pytest.mark.parametrize("type", [f32, f64], ids=str)
@pytest.mark.parametrize(("name", "wrong"), [("sum", wrong_sum), ("square_root", wrong_root), ("ratio", wrong_ratio)])
def test_a_definition_that_is_wrong_is_found_out(name: str, wrong: Callable[..., Bool], type: Type) -> None:
    assert disagreements(invalid_for(name)(wrong), type, SUPPLIED[name][1])[1]


def test_another_format_keeps_the_definition() -> None:
    condition = PAGE.sum_is_invalid(f16, variable("a0", 16), variable("a1", 16))
    lines: list[str] = []
    Lowering(Emitter(lines, set()), {"a0": "%a0", "a1": "%a1"}).truth(condition)
    assert lines and not any("fcmp" in line for line in lines)


def test_results_that_go_into_another_operation() -> None:
    """The next operation is given the processor's own result, not the one NaN in its place: it must be a NaN all the same."""
    import ptxspec

    source = (
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 given) {\n"
        ".reg .u64 o, g; .reg .u32 t; .reg .f32 a, b, c, d; ld.param.u64 o, [out]; ld.param.u64 g, [given]; mov.u32 t, %tid.x;\n"
        "mad.wide.u32 o, t, 16, o; mad.wide.u32 g, t, 12, g; ld.global.f32 a, [g]; ld.global.f32 b, [g+4]; ld.global.f32 c, [g+8];\n"
        "add.f32 d, a, b; mul.f32 a, d, c; st.global.f32 [o], d; st.global.f32 [o+4], a; fma.rn.ftz.f32 d, a, d, b;\n"
        "st.global.f32 [o+8], d; sqrt.rn.f32 c, d; div.rn.f32 c, c, a; st.global.f32 [o+12], c; ret; }"
    )
    some = special(f32)[::3]
    given = np.array(list(itertools.product(some, repeat=3)), np.uint32)
    outs = []
    for engine in ("exact", "native"):
        out = np.zeros((len(given), 4), np.uint32)
        ptxspec.load(source).launch("k", block=len(given), args=[out, given], engine=engine)
        outs.append(out)
    assert np.array_equal(*outs)
