"""Where an execution meets a result that PTX calls undefined: a program that does is wrong, and anything may follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ptxspec.terms.core import Bool, truth
from ptxspec.terms.vocabulary import freedoms_in

#: the kind of a freedom that a program must not meet
UNDEFINED = "undefined"


def reached(terms: Iterable[Any], wanted: Callable[[Any], bool] | None = None) -> Bool:
    """For which inputs and choices some undefined result, or some open result that is `wanted`, is among what the terms are made
    of: of a selection only the side that is taken counts, and of a condition only what decides it, read from left to right."""
    roots = list(terms)
    chosen = wanted or (lambda freedom: freedom.attrs[2] == UNDEFINED)
    condition: Any = truth(False)
    freedoms = [f for f in freedoms_in(*roots) if chosen(f)]
    if freedoms:
        needs = needed(roots)
        for freedom in freedoms:
            condition = condition | needs.get(id(freedom), truth(False))
    return truth(condition)


def needed(terms: Iterable[Any]) -> dict[int, Any]:
    """Under which condition each term below some terms counts, by its id."""
    roots = list(terms)
    conditions: dict[int, Any] = {id(t): truth(True) for t in roots}
    for term in reversed(_below_first(roots)):
        here = conditions[id(term)]
        for part, when in _parts(term, here):
            conditions[id(part)] = conditions.get(id(part), truth(False)) | when
    return conditions


def _parts(term: Any, here: Bool) -> list[tuple[Any, Bool]]:
    """What a term is made of, and when each part is needed, if the term is needed `here`."""
    if term.op == "select":
        condition, then, otherwise = term.args
        return [(condition, here), (then, here & condition), (otherwise, here & ~condition)]
    if term.op in ("all", "any"):
        left, right = term.args
        return [(left, here), (right, here & (left if term.op == "all" else ~left))]
    return [(part, here) for part in term.args]


def _below_first(roots: list[Any]) -> list[Any]:
    """All terms below some, each once, and behind all that it is made of."""
    order: list[Any] = []
    seen: set[int] = set()
    stack = [(root, False) for root in roots]
    while stack:
        term, done = stack.pop()
        if done:
            order.append(term)
        elif id(term) not in seen:
            seen.add(id(term))
            stack.append((term, True))
            stack += [(part, False) for part in term.args]
    return order
