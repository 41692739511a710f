"""The exact interpretation: a term's value over Python integers. The reference the other two are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxspec.terms.arithmetic import OPERATIONS
from ptxspec.terms.vocabulary import meaning_of

#: what resolves a freedom: (the term, its operands' values) -> the bits chosen
Choice = Callable[[Any, tuple[int, ...]], int]


class NoChoice(Exception):
    """A result that PTX leaves open was needed, and nothing chooses it. `freedom` is the term."""

    def __init__(self, freedom: Any):
        name, _, kind, type, _ = freedom.attrs
        super().__init__(f"{kind} result of type {type}: {name}")
        self.freedom = freedom


def refuse(freedom: Any, operands: tuple[int, ...]) -> int:
    """The choice that is none."""
    raise NoChoice(freedom)


def evaluate(term: Any, values: Mapping[str, Any], choose: Choice = refuse, memo: dict[int, Any] | None = None) -> Any:
    """The value of `term` where its variables have `values`. Only what the value depends on is evaluated: the branch of a
    select that is not taken is not looked at. `memo` may be shared between terms of the same `values`."""
    memo = {} if memo is None else memo

    def value(t: Any) -> Any:
        key = id(t)
        if key in memo:
            return memo[key]
        op = t.op
        if op == "const":
            result = t.attrs[0]
        elif op == "var":
            result = values[t.attrs[0]]
        elif op == "select":
            result = value(t.args[1]) if value(t.args[0]) else value(t.args[2])
        elif op == "all":
            result = value(t.args[0]) and value(t.args[1])
        elif op == "any":
            result = value(t.args[0]) or value(t.args[1])
        elif op == "call":
            body, names = meaning_of(t)
            result = evaluate(body, dict(zip(names, map(value, t.args), strict=True)), choose)
        elif op == "freedom":
            result = choose(t, tuple(map(value, t.args)))
        else:
            result = OPERATIONS[op].meaning(*map(value, t.args), *t.attrs)  # type: ignore[misc]
        memo[key] = result
        return result

    return value(term)
