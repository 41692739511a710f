"""Which values an input may have, as far as its condition says so by itself: what has to be run, where every input is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxspec.terms.core import Bool
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import freedoms_in

#: inputs, as a power of two, that are run so soon that solvers need not be waited for long, and the seconds that they have then
QUICK, SOON = 24, 5.0


class Domain(NamedTuple):
    """The numbers from `low` to `high`, of an input of that width."""

    low: int
    high: int
    width: int

    @property
    def size(self) -> int:
        return max(0, self.high - self.low + 1)


def domains(given: Bool, types: Mapping[str, Type]) -> dict[str, Domain]:
    """For each input the least interval that is read off comparisons of the input alone with a constant, all of which the
    condition demands. The condition may demand more: whoever goes through the values has to ask it."""
    found = {n: Domain(0, (1 << t.width) - 1 if t.kind != "pred" else 1, t.width) for n, t in types.items()}
    for part in demanded(given):
        _narrow(found, part)
    return found


def demanded(given: Bool) -> list[Any]:
    """The conditions that a condition is the conjunction of."""
    stack, found = [given], []
    while stack:
        term = stack.pop()
        if term.op == "all":
            stack += term.args
        elif term.op == "not" and term.args[0].op == "any":
            stack += [~one for one in term.args[0].args]
        else:
            found.append(term)
    return found


def _narrow(found: dict[str, Domain], part: Any) -> None:
    negated = part.op == "not"
    term = part.args[0] if negated else part
    if term.op == "var":
        value = int(not negated)
        _meet(found, term.attrs[0], value, value)
    elif term.op in ("eq", "lt"):
        left, right = term.args
        if term.op == "eq" and right.op == "var":
            left, right = right, left
        if left.op == "var" and right.op == "const":
            bound = right.attrs[0]
            if term.op == "eq" and not negated:
                _meet(found, left.attrs[0], bound, bound)
            elif term.op == "lt":  # left < bound, or not
                _meet(found, left.attrs[0], bound if negated else 0, None if negated else bound - 1)
        elif term.op == "lt" and left.op == "const" and right.op == "var":  # bound < right, or not
            bound = left.attrs[0]
            _meet(found, right.attrs[0], 0 if negated else bound + 1, bound if negated else None)


def _meet(found: dict[str, Domain], name: str, low: int, high: int | None) -> None:
    known = found.get(name)
    if known is not None:
        found[name] = known._replace(
            low=max(known.low, low), high=known.high if high is None else min(known.high, high)
        )


def is_quick(claim: Bool, given: Bool, types: Mapping[str, Type]) -> bool:
    """Whether all inputs can be run within a second or so."""
    total = math.prod(domain.size for domain in domains(given, types).values())
    return total <= 1 << QUICK and not freedoms_in(claim, given)
