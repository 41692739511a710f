"""The ledger: for every form, what holds it to account. it is read here.

A row says whether ptxas accepts the form, whether the three interpretations agree on it (of a form with an effect, whether both
engines leave the same), how many identities mention its opcode, and how many vectors a GPU has answered; of an approximate form
also how many of 2^32 operands differ from a GPU's answers. What was not run is null, and shown as a gap. Rows are computed an
opcode at a time and kept in `build/ledger.json`, away from a checkout in the user's folder for caches, under a digest of
everything they depend on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ptxspec.base import storage
from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence.location import FOLDER
from ptxspec.literate.documents import read_by_programs

NAME = "ledger.json"
#: what the interpretations of an approximate form would have to agree on, and do not have yet
NEEDS_CHOICE = "needs a profile's choice"

#: what computes the rows: packages, and folders of each. The second is read here as files are, and not imported
COMPUTED_BY = {
    "ptxspec": ("base", "literate", "terms", "contracts", "language", "machine", "query", "evidence"),
    "ptxspec_workshop": ("generate", "compare", "record", "ledger"),
}


@cache
def versions() -> dict[str, str | None]:
    """Of the programs that a row's checks ask: what each calls itself, None for one that is not there."""
    from ptxspec.evidence import assembler

    installed: dict[str, str | None] = {name: _installed(name) for name in ("z3-solver", "llvmlite")}
    try:
        installed["ptxas"] = assembler.version()
    except (OSError, subprocess.CalledProcessError):
        installed["ptxas"] = None
    return installed


def _installed(name: str) -> str | None:
    """The version of a package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def covered() -> list[Path]:
    """The files that a row depends on: the pages with their definitions and proofs; what computes it; and the facts of recorded
    answers, which hold the digests of these."""
    model = Path(__file__).resolve().parents[2]
    places = [(DOCUMENTS / "spec", "**/*.md"), (DOCUMENTS / "proofs", "**/*.md")]
    for package, folders in COMPUTED_BY.items():
        places += [(model / package, "*.py"), *((model / package / folder, "**/*.py") for folder in folders)]
    places.append((FOLDER, "**/*.json"))
    return [path for folder, pattern in places for path in sorted(folder.glob(pattern))]


def digest() -> str:
    """Of all files that are covered, and of the versions of the programs asked: rows of another digest are out of date."""
    total = hashlib.sha256(json.dumps(versions(), sort_keys=True).encode())
    for path in covered():
        total.update(read_by_programs(path))
    return total.hexdigest()


def rows(store: Path | None = None) -> list[dict[str, Any]]:
    """The rows as they were last computed; [] if they never were, or if something has changed since. Opcodes that were not
    computed have none."""
    return [row for opcode_rows in known_rows(store or storage.kept(NAME)).values() for row in opcode_rows]


def known_rows(store: Path | None) -> dict[str, list[dict[str, Any]]]:
    """The rows of a store by opcode; none if something has changed since."""
    try:
        stored = json.loads(storage.own_file(store and store.absolute()))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict) or stored.get("digest") != digest():
        return {}
    by_opcode: dict[str, list[dict[str, Any]]] = stored["opcodes"]
    return by_opcode


def absent(rows: list[dict[str, Any]]) -> list[str]:
    """The opcodes of which there are no rows."""
    from ptxspec.language.forms import registry

    return sorted(set(registry().opcodes) - {row["opcode"] for row in rows})


def summary(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Counts over the rows: forms, and for each kind of evidence how many forms have it, lack it, or fail."""
    counts = {"forms": len(rows)}
    for kind in ("ptxas", "interpretations"):
        for name, value in (("yes", True), ("no", False), ("not run", None)):
            counts[f"{kind} {name}"] = sum(1 for row in rows if row[kind] is value)
    counts[f"interpretations: {NEEDS_CHOICE}"] = sum(1 for row in rows if row["interpretations"] == NEEDS_CHOICE)
    counts["with identities"] = sum(1 for row in rows if row["identities"])
    agrees = [row["gpu"] and bool(row["gpu"]["agrees"]) for row in rows]
    counts |= {"gpu yes": agrees.count(True), "gpu no": agrees.count(False), "gpu not run": agrees.count(None)}
    counts["gpu cannot be asked"] = sum(1 for row in rows if row["gpu"] is None and row.get("unasked"))
    counts["gpu gaps"] = sum(unanswered(rows).values())
    approximate = [row.get("compared") for row in rows if row.get("approximate")]
    counts["approximate forms"] = len(approximate)
    counts["0 of 2^32 differ"] = sum(1 for comparison in approximate if comparison and comparison["differing"] == 0)
    counts["some of 2^32 differ"] = sum(1 for comparison in approximate if comparison and comparison["differing"] != 0)
    counts["2^32 not compared"] = approximate.count(None)
    return counts


def unanswered(rows: list[dict[str, Any]]) -> dict[str, int]:
    """How many forms no GPU was asked about though one can be, of each opcode that has such gaps."""
    return dict(Counter(row["opcode"] for row in rows if is_gap(row)))


def is_gap(row: Mapping[str, Any]) -> bool:
    """Whether a row of the ledger is of a form that no GPU was asked about, though one can be."""
    return row["gpu"] is None and not row.get("unasked")
