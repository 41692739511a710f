"""What a page says of a shape's programs, with what the memory model says of each."""

from __future__ import annotations

from ptxspec.query.litmus.shapes import shapes, status_of, verdict_on
from ptxspec.terms.shapes import ShapeCase
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import code, gap, table


def markdown(name: str, docname: str) -> str:
    """The table of a shape: a row for each choice of words. Words that are the same in all rows are left out."""
    shape = shapes()[name]
    varying = [place for place in shape.places if len({case.words[place] for case in shape.cases}) > 1]
    head = [f"<{place}>".replace("<", "&lt;").replace(">", "&gt;") for place in varying]
    rows = [[*(_word(case.words[place]) for place in varying), _verdict(case, docname)] for case in shape.cases]
    return table([*head, "Outcome"], rows, f"{name}: what the memory model says")


def _word(word: str) -> str:
    return code(word) if word else "nothing"


def _verdict(case: ShapeCase, docname: str) -> str:
    """The verdict, with the axioms that forbid the outcome, and the line that says so."""
    verdict = verdict_on(case)
    link = pages.line_link(case.shape.path, case.line, docname)
    status = status_of(case, verdict)
    reasons = ", ".join(reason.axiom for reason in verdict.reasons) if status == verdict.status else ""
    shown = f"{status}: {reasons}" if reasons else status
    if status != case.outcome:
        return f"{gap(shown)}; stated otherwise {link}"
    return f"{shown} {link}"
