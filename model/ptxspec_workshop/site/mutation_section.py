"""What the front page says of planted mistakes: how many are noticed, and those that are not."""

from __future__ import annotations

from collections import Counter

from ptxspec_workshop.mutation.score import Kept, counted
from ptxspec_workshop.site.pages import code, gap, table

COMMAND = "python -m ptxspec_workshop.mutation"
NOT_RUN = gap("not run")
STALE = gap("of other pages than these: run it again")


def markdown(kept: Kept | None) -> str:
    """The score, by chapter, and what is known of its age."""
    if kept is None:
        return f"Mutation score: {NOT_RUN} ({code(COMMAND)}).\n"
    total = kept.score
    text = (
        f"**{total.percent:.1f} %** of {total.of} planted mistakes are noticed, {total.percent_of_identities:.1f} % by an "
        f"identity alone. {total.equivalent} more mean the same as what is stated. {kept.facts['date']}"
    )
    lines = [f"{text}{f' {STALE}' if kept.is_stale else ''}.", "", _by_chapter(kept)]
    if kept.unjudged:
        lines.append(f"{gap(f'{kept.unjudged} mistakes are not judged yet')}: {code(COMMAND)}.")
    missed = total.survivors + total.undecided
    if missed:
        where = code("model/ptxspec_workshop/mutation/kept.json")
        lines.append(f"{gap(f'{missed} are not noticed')}, {total.undecided} of them undecided; {where} names each.")
    return "\n".join(lines) + "\n"


def _chapter(place: str) -> str:
    """The folder of a page."""
    return place.split(":")[0].rpartition("/")[0]


def _by_chapter(kept: Kept) -> str:
    chapters = sorted({_chapter(row["place"]) for row in kept.mutants.values()})
    body = []
    for chapter in chapters:
        rows = [row for row in kept.mutants.values() if _chapter(row["place"]) == chapter]
        counts, by = counted(rows), Counter(row["by"] for row in rows if row["status"] == "killed")
        missed = counts.survivors + counts.undecided
        errors = by["construction"] + by["error"]
        cells = [str(counts.of), str(counts.identities), str(counts.killed - counts.identities - errors), str(errors)]
        body.append([chapter, *cells, gap(str(missed)) if missed else "0", str(counts.equivalent)])
    head = ["Pages", "Mistakes", "An identity", "An oracle", "An error", "Nothing", "Equivalent"]
    return table(head, body, "Planted mistakes, and what noticed them first")
