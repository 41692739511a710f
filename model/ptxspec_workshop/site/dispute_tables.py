"""The tables of the pages about disputes: each claim with what the definitions compute for it and what a GPU answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from ptxspec.evidence import precomputed
from ptxspec.pages.register import Entry
from ptxspec_workshop.disputes import known_before, readings, recorded
from ptxspec_workshop.disputes.claims import LEVELS, VERSIONS, AssemblerFault, Dispute, load_all
from ptxspec_workshop.site.evidence_section import when
from ptxspec_workshop.site.identity_tables import UNCHECKED
from ptxspec_workshop.site.pages import code, docname_of, gap, table

T = TypeVar("T")

#: what a page may ask for
KINDS = ("disputes", "faults", "open", "extent", "summary")
#: seconds that a dispute has where a build asks no solver: what tells two readings apart is found at once
MOMENT = 1.0


def sources() -> list[Path]:
    """The documents that state disputes and faults, and the programs that make tables of them."""
    claims = load_all()
    places = [dispute.place for dispute in claims.disputes]
    places += [fault.place for fault in claims.faults]
    places += [extent.place for extent in claims.extents]
    return sorted({Path(__file__), *(Path(place.path) for place in places)})


def markdown(kind: str, docname: str, register: dict[str, Entry], solver_seconds: float = 20.0) -> str:
    """The tables of one kind for a document of the site. A build that asks no solver shows what was computed before, with its
    day. Raises ValueError for another kind, or for a page that states none."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of table: {', '.join(KINDS)}")
    claims = load_all()
    entries = {entry.number: entry for entry in register.values()}
    known = _Known(stored=not solver_seconds)
    if kind == "extent":
        return _extent()
    if kind == "summary":
        text = _summary(claims.faults, entries, known)
    elif kind == "disputes":
        disputes = [claim for claim in claims.disputes if docname_of(claim.place.path) == docname]
        text = "\n".join(_of_dispute(claim, solver_seconds, known) for claim in disputes)
    else:
        faults = [claim for claim in claims.faults if docname_of(claim.place.path) == docname]
        text = _of_faults([claim for claim in faults if claim.is_open == (kind == "open")], entries, known)
    if not text:
        raise ValueError(f"the page states nothing for {{disputes}} {kind}")
    return "\n".join([text, note]) if (note := when([], known.days)) else text


class _Known:
    """What disputes and faults come to: computed now, or if `stored` as it was computed before, where that is known. `days` are
    those on which it was."""

    def __init__(self, stored: bool = False):
        self.stored = stored
        self.days: set[str] = set()

    def dispute(self, claim: Dispute, seconds: float) -> readings.JudgedReading:
        return self._noted(known_before.of_dispute(claim)) or readings.judged(claim, max(seconds, MOMENT))

    def fault(self, claim: AssemblerFault) -> recorded.JudgedFault:
        return self._noted(known_before.of_fault(claim)) or recorded.judged(claim)

    def _noted(self, answer: T | None) -> T | None:
        if not self.stored or answer is None:
            return None
        self.days.add(precomputed.date())
        return answer


def _lines(text: str) -> str:
    """PTX in a table's cell: an instruction a line."""
    return "<br>".join(code(part.strip() + ";") for part in text.split(";") if part.strip())


def _values(values: dict[str, int]) -> str:
    return ", ".join(f"{code(name)} = {code(f'{value:#x}')}" for name, value in values.items()) or "none"


def levels(ways: Iterable[tuple[str, int]]) -> str:
    """Versions and levels in words."""
    ways = set(ways)
    shown = []
    for version in VERSIONS:
        levels_failing = [level for level in LEVELS if (version, level) in ways]
        if levels_failing:
            every = (
                "all levels"
                if len(levels_failing) == len(LEVELS)
                else ", ".join(f"-O{level}" for level in levels_failing)
            )
            shown.append(f"{version} <small>{every}</small>")
    return "<br>".join(shown) or "none"


def _of_faults(faults: Sequence[AssemblerFault], entries: dict[str, Entry], known: _Known = _Known()) -> str:
    """A table of faults, with the rows that differ."""
    body = []
    for claim in faults:
        finding = known.fault(claim)
        shown = levels(finding.ways)
        if finding.ways != claim.ways:
            shown += " " + gap(f"stated as {levels(claim.ways)}")
        counts = {n for n in finding.differing.values() if n}
        rows = "/".join(map(str, sorted(counts))) + f" of {finding.compared}" if counts else f"0 of {finding.compared}"
        operands, stated, left = finding.example or ({}, {}, {})
        differing = {name: value for name, value in left.items() if value != stated[name]}
        example = ["", "", ""]
        if finding.example is not None:
            example = [_values(operands), _values(stated), _values(differing) if differing else "other bytes in memory"]
        entry = entries.get(claim.entry)
        link = entry.link.replace(entry.slug, claim.entry, 1) if entry else gap(f"no entry {claim.entry}")
        body.append([claim.title, link, _lines(claim.ptx), shown, rows, *example])
    head = [
        "Case",
        "Entry",
        "PTX",
        "ptxas that differ",
        "Threads",
        "First operands",
        "By the definitions",
        "On the H200",
    ]
    return table(head, body, "Cases, by the recorded answers") if body else ""


def _summary(faults: Sequence[AssemblerFault], entries: dict[str, Entry], known: _Known) -> str:
    """How many cases of each entry fail, by version."""
    body = []
    for number in sorted({claim.entry for claim in faults}):
        of_entry = [claim for claim in faults if claim.entry == number]
        entry = entries.get(number)
        link = f"{number} {entry.link}" if entry else gap(f"no entry {number}")
        ways = [known.fault(claim).ways for claim in of_entry]
        failing = [str(sum(any(v == version for v, _ in way) for way in ways)) for version in VERSIONS]
        kind = "open" if all(claim.is_open for claim in of_entry) else "stated"
        body.append([link, kind, str(len(of_entry)), *failing])
    head = ["Entry", "The result is", "Cases", *(f"differ after ptxas {version}" for version in VERSIONS)]
    return table(head, body, "Cases by entry of the register, counted from the recorded answers")


def _extent() -> str:
    """Which readers are wrong after how many writers, which writers these are, and whether the explanation fits."""
    facts = recorded.record("extent").facts
    ways = facts["ways"]
    left_out = set(facts["left out"])
    writers = [name for name in facts["writers"] if name not in left_out]
    readers = []
    for reader, by_way in facts["wrong"].items():
        counts = [len(set(by_way[way]) - left_out) for way in ways]
        if any(counts):
            readers.append([code(facts["readers"][reader]), *map(str, counts)])
    first = table(
        ["Reader", *ways],
        readers,
        f"Readers that are wrong after some of {len(writers)} writers; {len(facts['wrong'])} were asked",
    )
    wrong, right, fits = set[str](), set(writers), []
    for claim in load_all().extents:
        reach = recorded.reach(claim)
        for way in ways:
            wrong |= set(reach.wrong[way])
            wrong_here = reach.wrong[way]
            fits.append(
                [code(claim.reader), way, str(len(wrong_here)), str(len(wrong_here) - len(reach.unexplained[way]))]
            )
    body = [[", ".join(code(name) for name in writers if name in group)] for group in (wrong, right - wrong)]
    rows = [["make a fault", *body[0]], ["make none", *body[1]]]
    second = table(
        ["Reader", "ptxas", "Wrong after", "of these the machine's reading fits"], fits, "By the answers that are kept"
    )
    third = table(
        ["These writers", ""], rows, f"Writers before {' and '.join(code(c.reader) for c in load_all().extents)}"
    )
    return "\n".join([first, second, third])


def _of_dispute(claim: Dispute, seconds: float, known: _Known = _Known()) -> str:
    """A table of one dispute: the two sides, what they give, the verdict, and the recorded answers."""
    finding = known.dispute(claim, seconds)
    verdict = finding.status if finding.status != "exhausted" else gap(UNCHECKED)
    if finding.status != claim.expected:
        verdict += " " + gap(f"stated as {claim.expected}")
    if finding.counterexample:
        verdict += f" <small>at {_values(finding.counterexample)}</small>"
    rows = [
        ["PTX", _lines(claim.ptx), _values(finding.right)],
        ["the tempting reading", _lines(claim.reading), _values(finding.wrong)],
    ]
    where = _values(claim.at)
    caption = f"{claim.title}: {verdict}" + (f", where {code(claim.assume)}" if claim.assume else "")
    text = table(["", "Instructions", f"With {where}"], rows, caption)
    if finding.operands:
        text += (
            f"\nAn H200 was asked about {finding.operands} operands of {code(finding.form)}. For {finding.telling} of them the"
            f" reading differs from the definition: it answered {finding.agree} as the definition says, and"
            f" {finding.as_reading} as the reading says.\n"
        )
    return text
