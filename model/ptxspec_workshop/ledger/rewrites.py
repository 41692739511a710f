"""Computes the table of rewrites and writes the file of it that travels beside the recorded answers:
`python -m ptxspec_workshop.ledger.rewrites`. That takes minutes."""

from __future__ import annotations

import datetime
import json
import lzma
import sys
from collections import Counter
from typing import Any

from ptxspec.evidence.precomputed import REWRITES, key_of_rewrites
from ptxspec.query.rewrites.contexts import Witness
from ptxspec.query.rewrites.stated import StatedWitness
from ptxspec.query.rewrites.table import TableCell, axioms, decided, tables


def computed() -> dict[str, Any]:
    """All tables, as the file holds them."""
    cells = {name: [_cell(case) for case in cases] for name, cases in tables().items()}
    return {"key": key_of_rewrites(), "date": datetime.date.today().isoformat(), "tables": cells}


def _cell(case: TableCell) -> dict[str, Any]:
    decision = decided(case)
    told = {} if decision.witness is None else _told(decision.witness)
    return {"row": case.row, "column": case.column, "status": decision.status, **told}


def _told(result: Witness | StatedWitness) -> dict[str, Any]:
    """What is shown of a program that tells. It is looked at again."""
    tests = [result.test("tells", rewritten) for rewritten in (False, True)]
    return {"tests": tests, "axioms": axioms(result)}


def write() -> str:
    """Write the file, and say what it holds."""
    whole = computed()
    REWRITES.parent.mkdir(exist_ok=True)
    REWRITES.write_bytes(lzma.compress(json.dumps(whole, separators=(",", ":")).encode(), preset=9))
    counts = Counter(cell["status"] for cells in whole["tables"].values() for cell in cells)
    return f"{REWRITES.name}: {', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}"


if __name__ == "__main__":
    print(write())
    sys.exit(0)
