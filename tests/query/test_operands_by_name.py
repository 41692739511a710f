"""Operands whose names Python's calls do not take: as a mapping, together with those given by keywords."""

from __future__ import annotations

from collections import ChainMap
from types import MappingProxyType
from typing import Any

import pytest

import ptxspec

#: names of registers that are parameters of the functions, keywords of Python, or no identifiers
NAMES = ["text", "profile", "results", "inputs", "if", "None", "self", "%r1", "$x"]


@pytest.mark.parametrize("name", NAMES)
def test_any_register_is_an_operand(name: str) -> None:
    text = f"add.u32 d, {name}, b;"
    assert ptxspec.evaluate(text, {name: 3}, b=4) == {"d": 7}
    assert ptxspec.evaluate(text, {name: 3, "b": 4}, profile="portable") == {"d": 7}
    assert ptxspec.allowed(text, {"d": 7}, {name: 3}, b=4)
    assert not ptxspec.allowed(text, {"d": 8}, {name: 3, "b": 4})


@pytest.mark.parametrize("name", ["text", "results", "inputs", "self", "if", "None", "%r1"])
def test_as_keywords_they_work_where_python_lets_them(name: str) -> None:
    assert ptxspec.evaluate(f"add.u32 d, {name}, 4;", **{name: 3}) == {"d": 7}
    assert ptxspec.allowed(f"add.u32 d, {name}, 4;", {"d": 7}, **{name: 3})


@pytest.mark.parametrize("name", ["profile", "if", "%r1", "CC.CF"])
def test_the_hint_says_how(name: str) -> None:
    text = "addc.u32 d, 1, 2;" if name == "CC.CF" else f"add.u32 d, {name}, 4;"
    with pytest.raises(TypeError, match=r"has no value: pass it as \{") as refused:
        ptxspec.evaluate(text)
    hint = str(refused.value).partition("pass it as ")[2].partition(", after the text")[0]
    assert ptxspec.evaluate(text, eval(hint.replace("…", "True"))) if name == "CC.CF" else hint == f'{{"{name}": …}}'


@pytest.mark.parametrize("kind", [dict, MappingProxyType, ChainMap])
def test_any_mapping_is_taken(kind: Any) -> None:
    assert ptxspec.evaluate("add.u32 d, a, b;", kind({"a": 1}), b=2) == {"d": 3}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [({"a": 1, "b": 2}, "the operand b is given twice"), ({"a": 1, "x": 2}, "x: no operand of that name"), ({"a": 1, 3: 2}, "given by name"),
     ([1], "not as list"), (1, "not as int"), ("a", "not as str"), ({}, r"the operand a \(\.[bu]32\) has no value")],
)  # fmt: skip
def test_operands_that_are_refused(inputs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ptxspec.evaluate("add.u32 d, a, b;", inputs, b=2)
    with pytest.raises(TypeError, match=message):
        ptxspec.allowed("add.u32 d, a, b;", {"d": 3}, inputs, b=2)


def test_what_is_passed_is_left_alone() -> None:
    given = {"a": 1}
    ptxspec.evaluate("add.u32 d, a, b;", given, b=2)
    assert given == {"a": 1}
