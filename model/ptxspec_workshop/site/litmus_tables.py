"""What a page says of a shape's programs, with what the memory model says of each, and how often a GPU was seen to do so."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ptxspec.query.litmus.shapes import shapes, status_of, verdict_on
from ptxspec.terms.shapes import OF_LIVENESS, ShapeCase
from ptxspec_workshop.record import shape_answers
from ptxspec_workshop.site import pages
from ptxspec_workshop.site.pages import code, gap, table


def markdown(name: str, docname: str) -> str:
    """The table of a shape: a row for each choice of words. Words that are the same in all rows are left out."""
    shape = shapes()[name]
    # a kernel of a test about liveness might not end
    facts = shape_answers.stored() if not any(case.outcome in OF_LIVENESS for case in shape.cases) else None
    varying = [place for place in shape.places if len({case.words[place] for case in shape.cases}) > 1]
    head = [f"<{place}>".replace("<", "&lt;").replace(">", "&gt;") for place in varying]
    rows = [
        [*(_word(case.words[place]) for place in varying), _verdict(case, docname), *_seen(case, facts)]
        for case in shape.cases
    ]
    asked = [] if facts is None else [_short(facts["device"])]
    return table([*head, "Outcome", *asked], rows, f"{name}: what the memory model says")


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


# what a GPU was seen to do ------------------------------------------------------------------------------------------------


def _short(device: str) -> str:
    """A device's name without its maker and its memory."""
    return device.removeprefix("NVIDIA ").split()[0]


def _seen(case: ShapeCase, facts: dict[str, Any] | None) -> list[str]:
    """How often a GPU showed the outcome, with the code of both levels of the assembler."""
    if facts is None:
        return []
    if shape_answers.refusal_of(case):
        return ["–"]
    sighting = shape_answers.sighting(case, facts)
    if sighting is None:
        return [gap("not run")]
    seen, runs = sum(sighting.seen.values()), sum(sighting.runs.values())
    return [f"seen {seen:,} of {runs:,}" if seen else f"not seen in {runs:,}"]


def summary() -> str:
    """What a GPU was asked, and how many of the outcomes it showed; what is missing stands out."""
    facts = shape_answers.stored()
    if facts is None:
        return "No GPU has been asked yet.\n"
    cases = shape_answers.every_case()
    seen: Counter[tuple[str, bool]] = Counter()
    runs: list[int] = []
    for case in cases:
        sighting = shape_answers.sighting(case, facts)
        if sighting is not None:
            runs += sighting.runs.values()
            seen[case.outcome, any(sighting.seen.values())] += 1
    lines = [
        f"On {facts['date']} an {facts['device']} (driver {facts['driver']}) ran {seen.total()} programs of these pages, "
        f"assembled by ptxas {facts['ptxas']} at -O0 and at -O3: {sum(runs):,} runs, of each program and level "
        f"{min(runs, default=0):,} or more.",
        f"The stated outcome of {seen['forbidden', True] + seen['forbidden', False]} of them is forbidden: it was "
        + ("never seen." if not seen["forbidden", True] else gap(f"seen of {seen['forbidden', True]}.")),
        f"That of {seen['allowed', True] + seen['allowed', False]} is allowed: it was seen of {seen['allowed', True]}.",
        _others(cases, facts),
        _refused(cases),
    ]
    return "\n".join(lines) + "\n"


def _others(cases: list[ShapeCase], facts: dict[str, Any]) -> str:
    """What the model says of all that was seen, and what did not come to an end."""
    wrong = len(list(shape_answers.unlawful(cases, facts)))
    words = (
        "Whatever else was seen is allowed, too."
        if not wrong
        else gap(f"{wrong} outcomes that were seen are forbidden.")
    )
    failed = facts["failed"]
    return f"{words} {gap(f'{len(failed)} programs did not come to an end.')}" if failed else words


def _refused(cases: list[ShapeCase]) -> str:
    """Which programs are not put to a GPU."""
    counts = Counter(map(shape_answers.refusal_of, cases))
    reasons = [f"{words} ({counts[why]})" for why, words in shape_answers.REFUSALS.items() if counts[why]]
    return f"Not run were programs {'; '.join(reasons)}." if reasons else ""
