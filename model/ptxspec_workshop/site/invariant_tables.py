"""What a page claims of the machine's states, with the solver's verdicts.

Verdicts come from the store of `ptxspec.query.laws`, or from `ptxspec.evidence.precomputed`. Any other is asked of the solver.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ptxspec.evidence import precomputed
from ptxspec.query import identities, laws
from ptxspec.query.laws import check, load_all
from ptxspec.terms.steps import StepClaim
from ptxspec_workshop.site import evidence_section, pages
from ptxspec_workshop.site.pages import code, gap, table


def markdown(module: str, store: Path) -> str:
    """The table of a page's claims: those that hold, then those that only seem to."""
    claims = [claim for claim in load_all() if pages.module_of(pages.docname_of(claim.path)) == module]
    judged = [(claim, _verdict(claim, store)) for claim in sorted(claims, key=lambda c: not c.holds)]
    days = {verdict["computed"] for _, verdict in judged if "computed" in verdict}
    caption = "Claims about all states, with the solver's verdict"
    text = table(["Claim", "Verdict"], [[c.sentence, _shown(c, v)] for c, v in judged], caption) if judged else ""
    return "\n".join([text, note]) if (note := evidence_section.when([], days)) else text


def _verdict(claim: StepClaim, store: Path) -> dict[str, Any]:
    """The verdict as a dictionary: its status, and the values that break the claim."""
    known = laws.kept(claim, identities.definitions(), store) or precomputed.verdict_on_law(claim)
    return known or check(claim)._asdict()


def _shown(claim: StepClaim, verdict: dict[str, Any]) -> str:
    place = pages.line_link(claim.path, claim.line, pages.docname_of(claim.path))
    status, expected = verdict["status"], laws.expected(claim)
    if status != expected:
        return f"{gap(status)}; stated as {expected} {place}"
    if claim.holds:
        return f"proved {place}"
    telling = ", ".join(f"{code(n)} = {code(_value(v))}" for n, v in verdict["values"].items() if v)
    return f"refuted {place} <small>at {telling or 'zeros'}; all else zero</small>"


def _value(value: int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else hex(value) if value > 255 else str(value)
