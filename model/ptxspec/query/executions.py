"""Executions of one side of a question: which choice each makes, of those that every execution makes by itself.

A result that each execution chooses is a function of its operands and of a number: how many executions before it, on the same
side, chose such a result for equal operands. So two executions may choose differently, and the n-th one for some operands chooses
the same on both sides of an equality, in whichever order the sides have other operands.
"""

from __future__ import annotations

from typing import Any

from ptxspec.terms.core import Bool, Int, constant, make, truth
from ptxspec.terms.vocabulary import EACH_EXECUTION, NUMBERED, TRUE, number, rebuilt


class Executions:
    """The executions of a side so far, in their order."""

    def __init__(self) -> None:
        #: by a freedom's attributes: the operands of those that were met, and when they are executed
        self._before: dict[Any, list[tuple[tuple[Any, ...], Bool]]] = {}

    def substitute(self, term: Any, values: dict[str, Any], memo: dict[int, Any], holds: Bool = TRUE) -> Any:
        """A term of an instruction that is executed where a condition holds, with variables replaced by other terms. `memo` is
        shared between the terms of one execution."""

        def replace(t: Any, args: tuple[Any, ...]) -> Any:
            if t.op == "var":
                return values.get(t.attrs[0], t)
            if t.op != "freedom" or t.attrs[6] != EACH_EXECUTION:
                return None
            before = self._before.setdefault(t.attrs, [])
            place = _count(args, before)
            before.append((args, holds))
            return make(t.op, (*args, place), (*t.attrs[:6], NUMBERED))

        return rebuilt(term, replace, memo)


def _count(operands: tuple[Any, ...], before: list[tuple[tuple[Any, ...], Bool]]) -> Int:
    """How many of those before were executed and have equal operands."""
    found: Int = constant(0)
    for others, holds in before:
        same: Any = truth(holds)
        for x, y in zip(operands, others, strict=True):
            same = same & (x == y)
        found = found + number(same)
    return found
