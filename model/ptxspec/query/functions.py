"""Claims in which floating-point operations are any functions: what holds of all functions holds of these.

Solvers take an operation of IEEE 754 apart into bits, and a quotient or a fused multiply-add of 32 bits keeps them busy for
minutes. Often a claim needs nothing of it but that equal operands have equal results. So the operation is put as a freedom
without a condition, which is a function of its operands, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxspec.terms.core import Bool, make_int
from ptxspec.terms.vocabulary import rebuilt

#: what stands in the place of an operation's entry in the register of ambiguities
OPERATION = "operation"


def with_any_functions(claim: Bool, of_others: bool) -> Bool:
    """A claim with operations of IEEE 754 as functions that are not known: all of them, or with `of_others` those alone that take
    the result of another one. If nothing makes it true, nothing makes the claim true."""

    def replace(term: Any, args: tuple[Any, ...]) -> Any:
        if term.op != "call" or (of_others and not _has(args, lambda t: t.op == "call")):
            return None
        _, width, type, *_ = term.attrs
        return make_int("freedom", args, (OPERATION, width, "unspecified", type, None, term.attrs, ""))

    found: Bool = rebuilt(claim, replace, {})
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
