"""What a page claims of the machine's states, with the solver's verdicts."""

from __future__ import annotations

from ptxspec.query.invariants import Finding, check, load_all
from ptxspec.terms.steps import Claim
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import code, gap, table


def markdown(module: str) -> str:
    """The table of a page's claims: those that hold, then those that only seem to."""
    own = [claim for claim in load_all() if pages.module_of(pages.docname_of(claim.path)) == module]
    rows = [[claim.sentence, _verdict(claim, check(claim))] for claim in sorted(own, key=lambda c: not c.holds)]
    return table(["Claim", "Verdict"], rows, "Claims about all states, with the solver's verdict") if rows else ""


def _verdict(claim: Claim, found: Finding) -> str:
    place = pages.line_link(claim.path, claim.line, pages.docname_of(claim.path))
    expected = "proved" if claim.holds else "refuted"
    if found.status != expected:
        return f"{gap(found.status)}; stated as {expected} {place}"
    if claim.holds:
        return f"proved {place}"
    telling = ", ".join(f"{code(n)} = {code(_shown(v))}" for n, v in found.values.items() if v)
    return f"refuted {place} <small>at {telling or 'zeros'}; all else zero</small>"


def _shown(value: int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else hex(value) if value > 255 else str(value)
