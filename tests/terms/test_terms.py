"""The term language: ranges hold, and the three interpretations compute the same numbers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxspec.terms import (
    TYPES,
    TermError,
    absolute,
    bit,
    bit_length,
    clamp,
    concatenate,
    count_ones,
    deviates,
    join,
    lookup,
    low_bits,
    maximum,
    minimum,
    number,
    quotient,
    remainder,
    root,
    select,
    sign_extend,
)
from ptxspec.terms.arithmetic import OPERATIONS
from ptxspec.terms.core import Bool, Int, constant, truth_variable, variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Emitter, Library
from ptxspec.terms.symbolic import Script, ground
from ptxspec.terms.vocabulary import is_allowed, substitute

NAMES = {"a": 32, "b": 32, "c": 16, "d": 8, "e": 64}


TABLES = st.lists(st.one_of(st.integers(-300, 300), st.integers(-(1 << 70), 1 << 70)), min_size=1, max_size=20).map(
    tuple
)


def leaves() -> st.SearchStrategy[Int]:
    raw = st.sampled_from(sorted(NAMES)).map(lambda n: variable(n, NAMES[n]))
    signed = st.sampled_from(sorted(NAMES)).map(lambda n: sign_extend(variable(n, NAMES[n]), NAMES[n]))
    return st.one_of(raw, signed, st.integers(-(1 << 40), 1 << 40).map(constant), st.integers(-3, 70).map(constant))


def grow(inner: st.SearchStrategy[Int]) -> st.SearchStrategy[Int]:
    two = st.tuples(inner, inner)
    count = inner.map(lambda x: low_bits(x, 7))
    return st.one_of(
        two.map(lambda t: t[0] + t[1]),
        two.map(lambda t: t[0] - t[1]),
        two.map(lambda t: t[0] * t[1]),
        two.map(lambda t: t[0] & t[1]),
        two.map(lambda t: t[0] | t[1]),
        two.map(lambda t: t[0] ^ t[1]),
        inner.map(lambda x: ~x),
        inner.map(lambda x: -x),
        two.map(lambda t: quotient(*t)),
        two.map(lambda t: remainder(*t)),
        st.tuples(inner, count).map(lambda t: t[0] >> t[1]),
        st.tuples(inner, count).map(lambda t: low_bits(t[0], 70) << t[1]),
        st.tuples(inner, st.integers(0, 80)).map(lambda t: t[0] >> t[1]),
        st.tuples(inner, st.integers(1, 80)).map(lambda t: low_bits(*t)),
        st.tuples(inner, st.integers(1, 80)).map(lambda t: sign_extend(*t)),
        st.tuples(inner, count).map(lambda t: low_bits(*t)),
        st.tuples(inner, count).map(lambda t: sign_extend(*t)),
        st.tuples(inner, TABLES).map(lambda t: lookup(t[1], clamp(t[0], 0, len(t[1]) - 1))),
        two.map(lambda t: minimum(*t)),
        two.map(lambda t: maximum(*t)),
        inner.map(absolute),
        st.tuples(inner, inner, inner).map(lambda t: clamp(t[0], minimum(t[1], t[2]), maximum(t[1], t[2]))),
        st.tuples(inner, st.integers(0, 70)).map(lambda t: bit(*t)),
        inner.map(lambda x: bit_length(low_bits(x, 67))),
        inner.map(lambda x: count_ones(low_bits(x, 67))),
        inner.map(lambda x: root(low_bits(x, 71))),
        two.map(lambda t: concatenate(low_bits(t[0], 9), t[1], 33)),
        two.map(lambda t: join([bit(t[0], 3), bit(t[1], 0), bit(t[0], 31)])),
        st.tuples(two, inner, inner).map(lambda t: select(t[0][0] < t[0][1], t[1], t[2])),
        st.tuples(two, inner, inner).map(lambda t: select((t[0][0] == t[0][1]) | (t[1] >= 5), t[1], t[2])),
        st.tuples(two, inner).map(lambda t: number((t[0][0] <= t[0][1]) ^ (t[1] != 7))),
    )


TERMS = st.recursive(leaves(), grow, max_leaves=7).filter(lambda t: t.hi - t.lo < 1 << 400)
VALUES = st.fixed_dictionaries({n: st.one_of(st.integers(0, (1 << w) - 1), st.sampled_from([0, 1, (1 << w) - 1, 1 << (w - 1)]))
                                for n, w in NAMES.items()})  # fmt: skip


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(TERMS, VALUES)
def test_every_value_lies_in_the_range_of_its_term(term: Int, values: dict[str, int]) -> None:
    memo: dict[int, Any] = {}
    evaluate(term, values, memo=memo)
    stack = [term]
    while stack:
        t = stack.pop()
        if isinstance(t, Int) and id(t) in memo:
            assert t.lo <= memo[id(t)] <= t.hi, t
        stack.extend(t.args)


def native(term: Int, values: dict[str, int], width: int) -> int:
    """The low bits of a term by compiled code."""
    lines: list[str] = []
    needs: set[str] = set()
    emitter = Emitter(lines, needs)
    arguments = ", ".join(f"i{w} %{n}" for n, w in NAMES.items())
    word = Lowering(emitter, {n: f"%{n}" for n in NAMES}).low(term, width)
    text = "\n".join(
        [f"define void @f(ptr %out, {arguments}) {{", *lines, f"  store i{width} {word}, ptr %out", "  ret void", "}"]
    )
    library = Library(CodeSource(text, needs, level=1))
    kinds = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}
    out = np.zeros(4, np.uint64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[kinds[w] for w in NAMES.values()])(library.address("f"))
    call(out.ctypes.data, *[values[n] for n in NAMES])
    return int(out[0]) | int(out[1]) << 64


def symbolic(term: Int, values: dict[str, int], width: int) -> int:
    script = Script()
    env = {n: script.const(values[n], w) for n, w in NAMES.items()}
    return int(ground(script, Lowering(script, env).low(term, width), width))


@settings(max_examples=300, deadline=None)
@given(TERMS, VALUES, st.sampled_from([1, 8, 32, 33, 64, 128]))
@pytest.mark.slow
def test_native_and_symbolic_give_the_exact_low_bits(term: Int, values: dict[str, int], width: int) -> None:
    want = evaluate(term, values) & ((1 << width) - 1)
    assert native(term, values, width) == want
    assert symbolic(term, values, width) == want


@settings(max_examples=100, deadline=None)
@given(TERMS, VALUES)
def test_substituting_constants_is_evaluating(term: Int, values: dict[str, int]) -> None:
    assert substitute(term, {n: constant(v) for n, v in values.items()}).attrs == (evaluate(term, values),)


def test_terms_are_shared() -> None:
    a, b = variable("a", 32), variable("b", 32)
    assert (a + b) is (a + b)
    assert (a < b) is (a < b)
    assert a + 0 is a


def test_ranges_grow_and_never_overflow() -> None:
    a = sign_extend(variable("a", 32), 32)
    assert ((a + a).lo, (a + a).hi) == (-(1 << 32), (1 << 32) - 2)
    assert (a * a).hi == 1 << 62
    assert (low_bits(a, 8) << 10).hi == 255 << 10
    assert clamp(a + a, -5, 5).hi == 5


def test_comparisons_that_ranges_decide_are_decided() -> None:
    d = variable("d", 8)
    assert (d < 256).attrs == (True,) and (d > 255).attrs == (False,) and (d == 300).attrs == (False,)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda a, p: bool(a == 1), "cannot branch"),
        (lambda a, p: a / 2, "quotient"),
        (lambda a, p: a % 2, "quotient"),
        (lambda a, p: a + p, "an integer is needed"),
        (lambda a, p: p & a, "a truth value is needed"),
        (lambda a, p: a << sign_extend(a, 32), "can be negative"),
        (lambda a, p: a + 1.5, "an integer is needed"),
        (lambda a, p: bit_length(a - 1), "never negative"),
        (lambda a, p: lookup((1, 2, 3), low_bits(a, 2)), "an index from 0 to 2 .* from 0 to 3"),
        (lambda a, p: lookup((1, 2, 3), sign_extend(a, 1)), "an index from 0 to 2 .* from -1 to 0"),
        (lambda a, p: lookup((), low_bits(a, 2)), "an index from 0 to -1"),
        (lambda a, p: select(a, 1, 2), "a truth value is needed"),
        (lambda a, p: list(a), "cannot be iterated"),
        (lambda a, p: range(a), "where Python needs a number"),
    ],
)
def test_misuse_is_refused(wrong: Any, what: str) -> None:
    with pytest.raises(TermError, match=what):
        wrong(variable("a", 32), truth_variable("p"))


def test_division_by_zero_is_total() -> None:
    assert OPERATIONS["quotient"].meaning(7, 0) == 0  # type: ignore[misc]
    assert OPERATIONS["remainder"].meaning(-7, 0) == -7  # type: ignore[misc]
    assert OPERATIONS["quotient"].meaning(-7, 2) == -3  # type: ignore[misc]
    assert OPERATIONS["remainder"].meaning(-7, 2) == -1  # type: ignore[misc]


def test_truth_values_combine() -> None:
    p, q = truth_variable("p"), truth_variable("q")
    for x in (False, True):
        for y in (False, True):
            at = {"p": x, "q": y}
            got = [evaluate(t, at) for t in (p & q, p | q, p ^ q, ~p, p == q, p != q, select(p, q, ~q))]
            assert got == [x and y, x or y, x != y, not x, x == y, x != y, y if x else not y]
    assert isinstance(~p, Bool) and ~~p is p


def test_a_deviation_without_a_choice_is_what_is_documented() -> None:
    d = variable("d", 8)
    term = deviates("somewhere", TYPES["u8"], d + 1, d) + 1
    assert [evaluate(term, {"d": v}) for v in (0, 254, 255)] == [2, 256, 1]
    assert evaluate(term, {"d": 255}, lambda freedom, operands: operands[1]) == 256
    for v in (0, 254, 255):
        values = {n: v if n == "d" else 0 for n in NAMES}
        assert native(term, values, 16) == symbolic(term, values, 16) == evaluate(term, values)
    assert is_allowed(term.args[0], (5, 4), 5) and not is_allowed(term.args[0], (5, 4), 4)
