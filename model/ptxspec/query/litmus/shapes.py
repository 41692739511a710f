"""The shapes of the specification's pages: litmus tests with what the pages say of them."""

from __future__ import annotations

from functools import cache

from ptxspec.base.options import LitmusMethod
from ptxspec.contracts import SPECIFICATION
from ptxspec.literate import finder
from ptxspec.query.litmus.verdicts import LitmusVerdict, litmus
from ptxspec.terms.shapes import OF_LIVENESS, SHAPES, Shape, ShapeCase


@cache
def shapes() -> dict[str, Shape]:
    """All shapes, by their names."""
    for module, _ in finder.pages(SPECIFICATION, "memory_model"):
        finder.load(module)
    return SHAPES


def status_of(case: ShapeCase, verdict: LitmusVerdict) -> str:
    """What a verdict says of that of which the page speaks: the outcome, or liveness."""
    if case.outcome in OF_LIVENESS:
        return "no loop" if verdict.liveness is None else verdict.liveness.status
    return verdict.status


def verdict_on(case: ShapeCase, by: LitmusMethod = "enumeration") -> LitmusVerdict:
    """The verdict on a shape with words in its places."""
    return litmus(case.text, case.model, path=case.shape.path, by=by)
