"""Claims in which floating-point operations are any functions: what holds of all functions holds of these.

Solvers take an operation of IEEE 754 apart into bits, and a quotient or a fused multiply-add of 32 bits keeps them busy for
minutes. Often a claim needs nothing of it but that equal operands have equal results. So the operation is put as a freedom
without a condition, which is a function of its operands, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ptxspec.query.solvers.domains import demanded
from ptxspec.terms.core import Bool, make_int, truth
from ptxspec.terms.vocabulary import FALSE, TRUE, low_bits, meaning_of, rebuilt, substitute

#: the operation that multiplies, as definitions call it
PRODUCT = "product"
#: operations of which the first two operands may be exchanged, where the result is a number
COMMUTATIVE = ("sum", PRODUCT, "fused")
#: functions of which two at a time are looked at
MOST = 64
#: what stands in the place of an operation's entry in the register of ambiguities
OPERATION = "operation"


def with_any_functions(claim: Bool, of_others: bool) -> Bool:
    """A claim with operations of IEEE 754 as functions that are not known: all of them, or with `of_others` those alone that take
    the result of another one. Operands may be exchanged, where that makes no difference. If nothing makes it true, nothing makes
    the claim true."""
    exchangeable: list[Any] = []

    def replace(term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "call" or (of_others and not _has(args, lambda t: t.op == "call")):
            return None
        what, width, type, *_ = term.attrs
        found = make_int("freedom", args, (OPERATION, width, "unspecified", type, None, term.attrs, ""))
        if what in COMMUTATIVE:
            exchangeable.append(found)
        return found

    found: Any = rebuilt(claim, replace, {})
    return truth(found & exchanged(exchangeable))


def with_meanings(claim: Bool) -> Bool:
    """A claim with operations of IEEE 754 as their definitions have them, in integers."""

    def replace(term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "call":
            return None
        body, names = meaning_of(term)
        operands = [low_bits(a, term.attrs[1]) for a in args]
        return substitute(body, dict(zip(names, operands, strict=True)))

    found: Bool = rebuilt(claim, replace, {})
    return found


def exchanged(names: list[Any]) -> Bool:
    """That functions have the same value where their first two operands are exchanged."""
    found: Any = TRUE
    for one, other in itertools.combinations(names[:MOST], 2):
        if one.attrs == other.attrs:
            (x, y, *more), (u, v, *its) = one.args, other.args
            same = (x == v) & (y == u)
            for a, b in zip(more, its, strict=True):
                same = same & (a == b)
            found = found & (~same | (one == other))
    return truth(found)


def given_that(condition: Bool, claim: Bool) -> Bool:
    """A claim that has the same truth where a condition holds, in which its parts count as true."""
    known = {}
    for part in demanded(condition):
        known[id(part)] = TRUE
        if part.op == "not":
            known[id(part.args[0])] = FALSE
    found: Bool = rebuilt(claim, lambda t, args: known.get(id(t)), {})
    return found


def _has(terms: tuple[Any, ...], wanted: Callable[[Any], bool]) -> bool:
    """Whether some term below these is wanted."""
    stack, seen = list(terms), set()
    while stack:
        term = stack.pop()
        if wanted(term):
            return True
        if id(term) not in seen:
            seen.add(id(term))
            stack.extend(term.args)
    return False
