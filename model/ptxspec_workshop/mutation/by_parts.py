"""Whether two terms are equal because parts of them are: a proof that no solver finds where both are as large as a sum of
floating-point numbers.

Two terms with one operator are equal if their arguments are. Else what both share is taken for a variable of its range, whatever
it was, and the solver is asked about the rest: terms that are equal for all values of the variables are equal for those that
occur. The innermost places are tried first. That two terms are not found equal says nothing.
"""

from __future__ import annotations

import time
from typing import Any

from ptxspec.query.solvers import solve
from ptxspec.terms.arithmetic import bits_for
from ptxspec.terms.core import Bool, Int, Term, truth, truth_variable, variable
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import maximum, minimum, rebuilt, sign_extend

#: seconds of a question to the solver, and terms in it
EACH, SIZE = 1.0, 400

Pair = tuple[Any, Any]


class Parts:
    """Equalities found so far, until a moment of the processor's time."""

    def __init__(self, until: float) -> None:
        self.until = until
        #: by both ids; the terms are kept alive beside what was found
        self.known: dict[tuple[int, int], tuple[Pair, bool]] = {}

    def equal(self, left: Any, right: Any) -> bool:
        """Whether two terms are found equal. Without recursion, since terms are deep."""
        waiting = [(left, right)]
        while waiting:
            x, y = waiting[-1]
            if self._known_equal(x, y) is not None:
                waiting.pop()
                continue
            inner = [p for p in _arguments(x, y) if self._known_equal(*p) is None]
            if inner:
                waiting += inner
                continue
            waiting.pop()
            whole = _arguments(x, y)
            equal_parts = bool(whole) and all(self._known_equal(*p) for p in whole)
            self.known[id(x), id(y)] = (x, y), equal_parts or self._shown(x, y)
        return bool(self._known_equal(left, right))

    def _known_equal(self, x: Any, y: Any) -> bool | None:
        """What is known of a pair; None if it was not looked at."""
        if x is y:
            return True
        entry = self.known.get((id(x), id(y)))
        return None if entry is None else entry[1]

    def _shown(self, x: Any, y: Any) -> bool:
        """Whether the solver proves two terms equal for all values of what they share."""
        if type(x) is not type(y) or time.process_time() > self.until:
            return False
        parts = _shared(x, y)
        if parts is None:
            return False
        types: dict[str, Type] = {}
        standing = {id(t): ranged(f"%part{i}", t, types) for i, t in enumerate(parts)}
        a, b = (rebuilt(t, lambda *_: None, standing) for t in (x, y))
        differ = truth(a) != truth(b) if isinstance(a, Bool) else a != b
        if differ.op == "const":
            return not differ.attrs[0]
        return solve(differ, types, EACH, simple=False).status == "unsat"


def _arguments(x: Any, y: Any) -> list[Pair]:
    """The arguments of two terms with one operator, side by side; none for others."""
    same = type(x) is type(y) and x.op == y.op and x.attrs == y.attrs and len(x.args) == len(y.args)
    return list(zip(x.args, y.args, strict=True)) if same and x.op not in ("var", "const") else []


def _below(term: Term) -> dict[int, Any]:
    """A term and all below it, by their ids."""
    terms: dict[int, Any] = {}
    waiting: list[Any] = [term]
    while waiting:
        t = waiting.pop()
        if id(t) not in terms:
            terms[id(t)] = t
            waiting += t.args
    return terms


def _shared(x: Term, y: Term) -> list[Any] | None:
    """The greatest numbers that are below both, and all variables; a condition on numbers is kept, for it tells of them. None
    where the rest is too large, or has an open result of its own, of which the solver would choose each by itself."""
    below = _below(x), _below(y)
    common = below[0].keys() & below[1].keys()
    terms: dict[int, Any] = {}
    seen: set[int] = set()
    waiting: list[Any] = [x, y]
    while waiting:
        t = waiting.pop()
        if id(t) in seen or t.op == "const":
            continue
        seen.add(id(t))
        if t.op == "var" or (id(t) in common and isinstance(t, Int)):
            terms[id(t)] = t
        elif t.op in ("freedom", "call"):
            return None
        else:
            waiting += t.args
    return list(terms.values()) if len(seen) <= SIZE else None


def ranged(name: str, term: Any, types: dict[str, Type]) -> Any:
    """A variable that takes the values of a term's range; its type is put among `types`."""
    if isinstance(term, Bool):
        types[name] = TYPES["pred"]
        return truth_variable(name)
    width, signed = bits_for(term.lo, term.hi)
    types[name] = Type(f"b{width}", "b", width)
    raw = variable(name, width)
    value = sign_extend(raw, width) if signed else raw
    if value.lo < term.lo:
        value = maximum(value, term.lo)
    return minimum(value, term.hi) if value.hi > term.hi else value
