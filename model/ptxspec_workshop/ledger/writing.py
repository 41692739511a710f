"""Writes the file of rows and verdicts that travels beside the recorded answers: `python -m ptxspec_workshop.ledger.writing`.

They are those that `make ledger` and `make proofs` computed, and what disputes come to.
"""

from __future__ import annotations

import datetime
import json
import lzma
import sys
from typing import Any

from ptxspec import __version__
from ptxspec.evidence import ledger
from ptxspec.evidence.precomputed import COLUMNS, FILE, answers, digest, key, key_of_law
from ptxspec.language.forms import registry
from ptxspec.query import identities, laws
from ptxspec_workshop.disputes import known_before


def write() -> str:
    """Write the file of what was computed here, and say what it holds."""
    by_opcode: dict[str, dict[str, Any]] = {}
    for row in ledger.rows():
        opcode = row["opcode"]
        kept = by_opcode.setdefault(opcode, {"digest": digest(frozenset([opcode]), answers()), "forms": {}})
        kept["forms"][row["form"]] = [row[column] for column in COLUMNS]
    definitions = identities.definitions()
    verdicts: dict[str, Any] = {
        key(c): _brief(v) for c in identities.load_all() if (v := identities.kept(c)) is not None
    }
    verdicts |= {key_of_law(c): v for c in laws.load_all() if (v := laws.kept(c, definitions)) is not None}
    verdicts |= known_before.computed()
    facts = {"version": __version__, "date": datetime.date.today().isoformat(), "programs": ledger.versions()}
    # within a verdict operands stay in the order in which they are shown
    whole = {**facts, "opcodes": dict(sorted(by_opcode.items())), "verdicts": dict(sorted(verdicts.items()))}
    text = json.dumps(whole, separators=(",", ":"))
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
