"""Terms written out as Python functions: the same values as the exact interpretation, and as lazy."""

from __future__ import annotations

from typing import Any

import pytest

import ptxspec
from ptxspec.terms import python_code
from ptxspec.terms.core import truth_variable, variable
from ptxspec.terms.exact import NoChoice, evaluate, refuse
from ptxspec.terms.python_code import PythonScript
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import lookup, low_bits, quotient, remainder, root, select, sign_extend, unspecified
from ptxspec_workshop.compare.interpretations import compare

A, B, P = variable("a", 8), variable("b", 8), truth_variable("p")


def written(term: Any) -> Any:
    script = PythonScript(lambda name: name)
    return script.function(["choose", "a", "b", "p"], script.value(term))


TERMS = {
    "sum": A + B,
    "difference": A - B,
    "shifts": (A << (B & 7)) >> (A & 3),
    "division": quotient(A - 128, B - 128) + remainder(A - 128, B - 128),
    "bits": (A & B) ^ (A | B),
    "signed": sign_extend(A, 5) * sign_extend(B, 8),
    "root": root(A * B),
    "table": lookup(range(100, 116), low_bits(A, 4)),
    "select": select((B < A) & P | (A == B), A, B),
    "truth": ((A < B) ^ P) & ~(A == 3),
}


@pytest.mark.parametrize("name", TERMS)
def test_values(name: str) -> None:
    function = written(TERMS[name])
    for a in range(0, 256, 7):
        for b in (*range(0, 256, 11), a):
            for p in (False, True):
                values = {"a": a, "b": b, "p": p}
                assert function(refuse, a, b, p) == evaluate(TERMS[name], values)


def test_open_results_are_asked_for_where_they_are_needed() -> None:
    open_result = unspecified("test", TYPES["u8"], A)
    function = written(select((A == 0) & P, open_result + 1, B))
    asked = []

    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        asked.append((freedom.attrs[0], operands))
        return 7

    assert function(choose, 1, 5, True) == function(choose, 0, 5, False) == 5
    assert not asked
    assert function(choose, 0, 5, True) == 8
    assert asked == [("test", (0,))]
    with pytest.raises(NoChoice):
        function(refuse, 0, 5, True)


def test_a_long_chain_is_no_deep_one() -> None:
    term = A
    for _ in range(20_000):
        term = low_bits(term + B, 8)
    assert written(term)(refuse, 3, 5, True) == (3 + 5 * 20_000) % 256


@pytest.mark.parametrize("operator", ["add", "low", "signed", "select", "shr"])
def test_a_wrong_expression_is_found(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"add": "{0} + {1} + 1", "low": "{0} & {mask} >> 1", "signed": "{0} & {mask}", "select": "{2} if {0} else {1}",
             "shr": "{0} >> {1} + 1"}  # fmt: skip
    monkeypatch.setitem(python_code._EXPRESSIONS, operator, wrong[operator])
    forms = [
        f
        for name in ("add.sat.s32", "mad.hi.s32", "bfe.s32", "shr.s32", "sad.u32")
        for f in ptxspec.forms(name.split(".")[0])
        if str(f).startswith(name)
    ]
    found = compare(forms, symbolic=0)
    assert {"scripts", "native"} & {one.interpretation for one in found}
