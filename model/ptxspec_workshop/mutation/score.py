"""The score of a campaign, and the file in which it is kept: how many planted mistakes were noticed, and by what.

The score is what was killed, of all that is not proved equivalent. A mutant about which nothing was decided counts as a survivor.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base.files import write_whole
from ptxspec.base.places import DOCUMENTS
from ptxspec.literate.documents import fences

#: what was found, kept with the project
KEPT = Path(__file__).with_name("kept.json")


#: what notices a mutant by claims alone: an identity of fragments, or a law of functions
CLAIMS = ("identity", "law")


class Score(NamedTuple):
    """Counts of mutants. `identities` of those `killed` are noticed by an identity or a law; the others by an oracle or
    an error."""

    mutants: int
    killed: int
    identities: int
    equivalent: int
    survivors: int
    undecided: int

    @property
    def of(self) -> int:
        """The mutants that could be noticed."""
        return self.mutants - self.equivalent

    @property
    def percent(self) -> float:
        """Of these, how many in a hundred were."""
        return 100 * self.killed / self.of if self.of else 0.0

    @property
    def percent_of_identities(self) -> float:
        """How many in a hundred were noticed by an identity or a law."""
        return 100 * self.identities / self.of if self.of else 0.0


def counted(rows: Iterable[dict[str, Any]]) -> Score:
    """The score of some mutants, as campaign.py keeps them."""
    rows = list(rows)
    counts = Counter(row["status"] for row in rows)
    unknown = set(counts) - {"killed", "equivalent", "survivor", "undecided"}
    if unknown:
        raise ValueError(f"a mutant cannot be {', '.join(sorted(unknown))}")
    identities = sum(row["by"] in CLAIMS and row["status"] == "killed" for row in rows)
    return Score(len(rows), counts["killed"], identities, counts["equivalent"], counts["survivor"], counts["undecided"])


def digest() -> str:
    """Of the fences of all pages, of definitions and of proofs: a score of others is out of date."""
    total = hashlib.sha256()
    for folder in ("spec", "proofs"):
        for path in sorted((DOCUMENTS / folder).glob("**/*.md")):
            data = fences(path.read_bytes())
            total.update(f"{path.relative_to(DOCUMENTS).as_posix()} {len(data)}\n".encode() + data)
    return total.hexdigest()


class Kept(NamedTuple):
    """What a file holds: facts (how many mutants were listed, the date, the digest of the pages, versions), and the mutants by
    their ids."""

    facts: dict[str, Any]
    mutants: dict[str, dict[str, Any]]

    @property
    def score(self) -> Score:
        return counted(self.mutants.values())

    @property
    def unjudged(self) -> int:
        """How many mutants of the campaign are not judged yet."""
        return int(self.facts["listed"]) - len(self.mutants)

    @property
    def is_stale(self) -> bool:
        """Whether a page has changed since."""
        return bool(self.facts.get("digest") != digest())


def read(path: Path = KEPT) -> Kept | None:
    """What is kept in a file; None if there is none. Raises ValueError for a file of something else."""
    try:
        stored = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    mutants = stored.pop("mutants")
    return Kept(stored, mutants)


def write(kept: Kept, path: Path = KEPT) -> None:
    """Write a file, with a line a fact and a mutant."""
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in kept.facts.items()]
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(kept.mutants.items()))
    lines.append(f' "mutants": {{\n{rows}\n }}')
    write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
