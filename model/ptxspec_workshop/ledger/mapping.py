"""Computes what is shown of libcu++'s spelling of C++'s atomic operations, and writes the file of it that travels beside the
recorded answers: `python -m ptxspec_workshop.ledger.mapping`. That takes a quarter of an hour."""

from __future__ import annotations

import datetime
import json
import lzma
import sys
import time
from typing import Any

from ptxspec.evidence.precomputed import MAPPING, key_of_mapping
from ptxspec.query.litmus.verdicts import litmus
from ptxspec.query.mapping.skeletons import LIBRARY, Spelling
from ptxspec.query.mapping.table import MappingRow, cpp_text, litmus_text, rows


def computed() -> dict[str, Any]:
    """All rows, as the file holds them."""
    return {
        "key": key_of_mapping(),
        "date": datetime.date.today().isoformat(),
        "rows": [shown(row) for row in rows()],
    }


def shown(row: MappingRow) -> dict[str, Any]:
    """A row; of a program that tells, the texts, and what forbids the outcome if it is spelled without the mistake."""
    result = {"spelling": row.spelling, "model": row.model, "bound": row.bound.words, "programs": row.programs}
    if row.refutation is None:
        return result
    result["program"] = cpp_text(row.refutation)
    result["spelled"] = litmus_text(row.refutation, Spelling(row.spelling))
    if row.spelling != LIBRARY:
        verdict = litmus(litmus_text(row.refutation, Spelling()))
        result["axioms"] = [reason.axiom for reason in verdict.reasons]
    return result


def write() -> str:
    """Write the file, and say what it holds."""
    begun = time.monotonic()
    whole = computed()
    MAPPING.parent.mkdir(exist_ok=True)
    MAPPING.write_bytes(lzma.compress(json.dumps(whole, separators=(",", ":")).encode(), preset=9))
    refuted = sum("program" in row for row in whole["rows"])
    programs = sum(row["programs"] for row in whole["rows"])
    seconds = time.monotonic() - begun
    return f"{MAPPING.name}: {len(whole['rows'])} rows, {refuted} refuted, {programs:,} programs, {seconds:.0f} s"


if __name__ == "__main__":
    print(write())
    sys.exit(0)
