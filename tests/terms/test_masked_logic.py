"""Masked logic of three vectors, which LLVM gets wrong in one instruction: what becomes machine code is right all the same."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from ptxspec.terms import TYPES, masked_logic, select
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import WIDTHS, CodeSource, Emitter, Library
from ptxspec.terms.vocabulary import low_bits, sign_extend

COUNT = 64


def masked(width: int, sign_of: str, stays: str) -> str:
    """A loop: the sign of one of x and y and the rest of the other, where there is a mark; elsewhere one of them stays."""
    sign, rest_of, word = 1 << width - 1, "y" if sign_of == "x" else "x", f"i{width}"
    return f"""
define void @f(ptr noalias %x, ptr noalias %y, ptr noalias %marks, ptr noalias %out) "prefer-vector-width"="512" {{
entry:
  br label %each
each:
  %k = phi i64 [0, %entry], [%next, %each]
  %x_at = getelementptr {word}, ptr %x, i64 %k
  %y_at = getelementptr {word}, ptr %y, i64 %k
  %mark_at = getelementptr {word}, ptr %marks, i64 %k
  %out_at = getelementptr {word}, ptr %out, i64 %k
  %vx = load {word}, ptr %x_at
  %vy = load {word}, ptr %y_at
  %mark = load {word}, ptr %mark_at
  %is = icmp ne {word} %mark, 0
  %sign = and {word} %v{sign_of}, {sign}
  %rest = and {word} %v{rest_of}, {sign - 1}
  %both = or {word} %sign, %rest
  %kept = select i1 %is, {word} %both, {word} %v{stays}
  store {word} %kept, ptr %out_at
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %each, label %done
done:
  ret void
}}"""


@pytest.mark.parametrize("stays", ["x", "y"])
@pytest.mark.parametrize("sign_of", ["x", "y"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_bits_of_two_words_where_there_is_a_mark(width: int, sign_of: str, stays: str) -> None:
    library = Library(CodeSource(masked(width, sign_of, stays), set()))
    rng, kind = np.random.default_rng(width), f"u{width // 8}"
    of = {name: rng.integers(0, 1 << width, COUNT, kind) for name in "xy"}
    marks, out = rng.integers(0, 2, COUNT).astype(kind), np.zeros(COUNT, kind)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(library.address("f"))
    call(of["x"].ctypes.data, of["y"].ctypes.data, marks.ctypes.data, out.ctypes.data)
    sign = np.array(1 << width - 1, kind)
    both = (of[sign_of] & sign) | (of["y" if sign_of == "x" else "x"] & ~sign)
    assert out.tolist() == np.where(marks != 0, both, of[stays]).tolist()


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("62f3f5292506e4", True),  # vpternlogq $0xe4, (%rsi), %ymm1, %ymm0 {%k1}
        ("62f37549250fca", True),  # vpternlogd $0xca, (%rdi), %zmm1, %zmm1 {%k1}
        ("62f3f5282506e4", False),  # without a mask
        ("62f3f52925c2e4", False),  # of registers
        ("62f3f5290fc2e4", False),  # another instruction
    ],
)
def test_the_instruction_is_found_among_others(code: str, is_one: bool) -> None:
    around = bytes.fromhex("c5f877c3")
    assert masked_logic.may_have(around + bytes.fromhex(code) + around) == is_one


def test_words_have_the_widths_of_the_processor() -> None:
    """Whatever the ranges: of a number of 33 bits the text has 64."""
    a, b = variable("a", 32), variable("b", 64)
    term = select(a + 1 < b >> 13, sign_extend(a * 5 + b, 41), low_bits(b * b, 71) >> 9)
    lines: list[str] = []
    Lowering(Emitter(lines, set()), {"a": "%a", "b": "%b"}).low(term, TYPES["u64"].width)
    widths = {int(w) for w in re.findall(r"\bi(\d+)\b", "\n".join(lines))}
    assert widths <= {*WIDTHS, 128} and 128 in widths


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("  %v = select i1 %c, i128 %a, i128 0", True),
        ("  %v = select i1 %c, i128 0, i128 %b", True),
        ("  %v = select i1 %c, i128 1, i128 22", False),
        ("  %most6 = select i1 %most3, i128 0, i128 %most5", False),
        ("  %v = select i1 %c, i64 %a, i64 0", False),
        ("shl i128 %a, 1", False),
    ],
)
def test_selections_among_wide_words_are_noticed(text: str, wide: bool) -> None:
    """They are compiled without AVX-512: test_forms_by_the_text.py has products that were wrong."""
    assert masked_logic.selects_wide_words(text) is wide
