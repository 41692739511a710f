"""Where an execution meets a result that PTX calls undefined: a program that does is wrong, and anything may follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxspec.terms.core import Bool, truth
from ptxspec.terms.vocabulary import freedoms_in

#: the kind of a freedom that a program must not meet
UNDEFINED = "undefined"


def reached(terms: Iterable[Any]) -> Bool:
    """For which inputs and choices some undefined result is among what the terms are made of: of a selection only the side that
    is taken counts, and of a condition only what decides it, read from left to right."""
    roots = list(terms)
    if not any(f.attrs[2] == UNDEFINED for f in freedoms_in(*roots)):
        return truth(False)
    needed: dict[int, Any] = {id(t): truth(True) for t in roots}
    found: Any = truth(False)
    for term in reversed(_below_first(roots)):
        here = needed[id(term)]
        if term.op == "freedom" and term.attrs[2] == UNDEFINED:
            found = found | here
        for part, when in _parts(term, here):
            needed[id(part)] = needed.get(id(part), truth(False)) | when
    return truth(found)


def _parts(term: Any, here: Bool) -> list[tuple[Any, Bool]]:
    """What a term is made of, and when each part is needed, if the term is needed `here`."""
    if term.op == "select":
        condition, one, other = term.args
        return [(condition, here), (one, here & condition), (other, here & ~condition)]
    if term.op in ("all", "any"):
        first, second = term.args
        return [(first, here), (second, here & (first if term.op == "all" else ~first))]
    return [(part, here) for part in term.args]


def _below_first(roots: list[Any]) -> list[Any]:
    """All terms below some, each once, and behind all that it is made of."""
    found: list[Any] = []
    seen: set[int] = set()
    stack = [(root, False) for root in roots]
    while stack:
        term, done = stack.pop()
        if done:
            found.append(term)
        elif id(term) not in seen:
            seen.add(id(term))
            stack.append((term, True))
            stack += [(part, False) for part in term.args]
    return found
