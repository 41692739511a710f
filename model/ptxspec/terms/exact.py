"""The exact interpretation: a term's value over Python integers. The reference the other two are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxspec.terms.arithmetic import OPERATIONS
from ptxspec.terms.vocabulary import FALLING_BACK, is_allowed, meaning_of

#: what resolves a freedom: (the term, its operands' values) -> the bits chosen
Choice = Callable[[Any, tuple[int, ...]], int]


class NoChoice(Exception):
    """A result was needed that PTX leaves open and the profile does not choose. `freedom` is the term of this result.

    >>> try:
    ...     ptxspec.evaluate("div.u32 d, a, b;", a=1, b=0, profile="portable")
    ... except ptxspec.NoChoice as error:
    ...     print(error)
    unspecified result of type .u32: division-by-zero
    """

    def __init__(self, freedom: Any):
        name, _, kind, type, *_ = freedom.attrs
        super().__init__(f"{kind} result of type {type}: {name}")
        self.freedom = freedom


def refuse(freedom: Any, operands: tuple[int, ...]) -> int:
    """The choice that is none: what is documented, if the machine may deviate from that, or what is usual."""
    if freedom.attrs[2] in FALLING_BACK:
        return operands[0]
    raise NoChoice(freedom)


def unchosen(freedom: Any) -> Any:
    """The same as a term."""
    if freedom.attrs[2] in FALLING_BACK:
        return freedom.args[0]
    raise NoChoice(freedom)


#: the operators' meanings, each of one argument and its attributes, or of two
_MEANINGS: dict[str, Any] = {name: operation.meaning for name, operation in OPERATIONS.items()}
#: how deep the evaluation of a term goes down Python's own stack: a term may be as deep as a fragment is long
DEPTH = 100


class TooDeep(Exception):
    """A term below the one asked about has to come first. `term` is that one."""

    def __init__(self, term: Any):
        self.term = term


def evaluate(term: Any, values: Mapping[str, Any], choose: Choice = refuse, memo: dict[int, Any] | None = None) -> Any:
    """The value of `term` where its variables have `values`. Only what the value depends on is evaluated: the branch of a
    select that is not taken is not looked at. `memo` may be shared between terms of the same `values`, which the caller keeps
    for as long."""
    memo = {} if memo is None else memo

    def value(t: Any, left: int) -> Any:
        result = memo.get(id(t))
        if result is not None:
            return result
        if not left:
            raise TooDeep(t)
        left -= 1
        op = t.op
        if op == "const":
            result = t.attrs[0]
        elif op == "var":
            result = values[t.attrs[0]]
        elif op == "select":
            result = value(t.args[1], left) if value(t.args[0], left) else value(t.args[2], left)
        elif op == "all":
            result = value(t.args[0], left) and value(t.args[1], left)
        elif op == "any":
            result = value(t.args[0], left) or value(t.args[1], left)
        elif op == "call":
            body, names = meaning_of(t)
            operands = [value(a, left) for a in t.args]
            result = evaluate(body, dict(zip(names, operands, strict=True)), choose)
        elif op == "freedom":
            result = choose(t, tuple([value(a, left) for a in t.args]))
        else:
            args = t.args
            if len(args) == 2:
                result = _MEANINGS[op](value(args[0], left), value(args[1], left))
            else:
                result = _MEANINGS[op](value(args[0], left), *t.attrs)
        memo[id(t)] = result
        return result

    return from_below(term, lambda t: value(t, DEPTH))


def from_below(term: Any, reach: Callable[[Any], Any]) -> Any:
    """reach(term), where reach remembers what it found and raises TooDeep for what should be reached before."""
    waiting = [term]
    while True:
        try:
            value = reach(waiting[-1])
        except TooDeep as deeper:
            waiting.append(deeper.term)
            continue
        waiting.pop()
        if not waiting:
            return value


def allows(
    term: Any,
    values: Mapping[str, Any],
    bits: Any,
    choose: Choice = refuse,
    settled: dict[tuple[Any, tuple[int, ...]], int] | None = None,
) -> bool:
    """Whether `bits` may be the value of `term`. A result that is left open may be whatever its condition allows, unless
    `choose` resolves it. `settled` collects what open results must be for that, by the freedom's attributes and the values of
    its operands: shared between terms, it keeps one result from being two things. Raises NoChoice where an open result is not
    the value itself but goes into a further computation."""
    memo: dict[int, Any] = {}
    whole, kept = term, None  # of the term's value only so many low bits are asked about
    while term.op in ("select", "bounded", "low"):
        if term.op == "low":
            kept = term.attrs[0] if kept is None else min(kept, term.attrs[0])
        taken = 1 if term.op == "select" and evaluate(term.args[0], values, choose, memo) else -1
        term = term.args[taken]
    if term.op != "freedom" or (kept is not None and kept < term.attrs[1]):
        return bool(evaluate(whole, values, choose, memo) == bits)
    operands = tuple(evaluate(a, values, choose, memo) for a in term.args)
    try:
        return bool(choose(term, operands) == bits)
    except NoChoice as why:
        if why.freedom is not term:
            raise
    known = {} if settled is None else settled
    return is_allowed(term, operands, bits) and known.setdefault((term.attrs, operands), bits) == bits
