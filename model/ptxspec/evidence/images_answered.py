"""What the recorded answers to the cases for textures and surfaces say of a form."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ptxspec.evidence.images import cases, mnemonic, row_count
from ptxspec.evidence.vectors import H200

FOLDER = H200.parent / "images"


@cache
def _facts() -> dict[str, Any] | None:
    try:
        return json.loads((FOLDER / "answers.json").read_text())
    except OSError:
        return None


@cache
def _by_mnemonic() -> dict[str, list[str]]:
    """The names of the cases whose kernels have an instruction of a spelling."""
    found: dict[str, list[str]] = {}
    for case in cases():
        found.setdefault(mnemonic(case), []).append(case.name)
    return found


def _differing(spelling: str) -> int:
    """In how many rows of its cases the definitions give something else, as tests/evidence holds against the answers."""
    facts = _facts() or {}
    return sum(facts["differing"].get(name, 0) for name in _by_mnemonic()[spelling])


def _rows(spelling: str) -> int:
    names = set(_by_mnemonic()[spelling])
    return sum(row_count(case) for case in cases() if case.name in names)


def answered(spelling: str) -> dict[str, Any] | None:
    """The ledger's entry for a form that was asked about, and whose answers are all given; else None."""
    facts = _facts()
    if facts is None or spelling not in _by_mnemonic() or _differing(spelling):
        return None
    return {"agrees": True, "vectors": _rows(spelling), "date": facts["date"], "device": facts["device"]}


def gap(spelling: str) -> str | None:
    """Why a form for images has no such entry."""
    if _facts() is None or spelling not in _by_mnemonic():
        return "none of the cases for textures and surfaces has it"
    count = _differing(spelling)
    return f"{count} of {_rows(spelling)} answers differ, which its page explains" if count else None
