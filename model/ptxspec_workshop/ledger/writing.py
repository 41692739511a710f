"""Writes the file of rows and verdicts that travels beside the recorded answers: `python -m ptxspec_workshop.ledger.writing`.

They are those that `make ledger` and `make proofs` computed.
"""

from __future__ import annotations

import datetime
import json
import lzma
import sys
from typing import Any

from ptxspec import __version__
from ptxspec.evidence import ledger
from ptxspec.evidence.precomputed import COLUMNS, FILE, answers, digest, key
from ptxspec.language.forms import registry
from ptxspec.query import identities


def write() -> str:
    """Write the file of what was computed here, and say what it holds."""
    by_opcode: dict[str, dict[str, Any]] = {}
    for row in ledger.rows():
        opcode = row["opcode"]
        kept = by_opcode.setdefault(opcode, {"digest": digest(frozenset([opcode]), answers()), "forms": {}})
        kept["forms"][row["form"]] = [row[column] for column in COLUMNS]
    verdicts = {key(c): _brief(v) for c in identities.load_all() if (v := identities.kept(c)) is not None}
    facts = {"version": __version__, "date": datetime.date.today().isoformat(), "programs": ledger.versions()}
    text = json.dumps({**facts, "opcodes": by_opcode, "verdicts": verdicts}, sort_keys=True, separators=(",", ":"))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return f"{FILE.name}: {len(by_opcode)} of {len(registry().opcodes)} opcodes, {len(verdicts)} verdicts"


def _brief(verdict: dict[str, Any]) -> dict[str, Any]:
    """What the site shows of a verdict."""
    counterexample = verdict.get("counterexample") or {}
    shown = {name: counterexample[name] for name in ("inputs", "choices") if counterexample.get(name)}
    return {"status": verdict["status"], **({"counterexample": shown} if shown else {})}


if __name__ == "__main__":
    print(write())
    sys.exit(0)
