"""What the recorded answers to the cases for textures and surfaces say of a form."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from ptxspec.evidence.images import ACCESSES, LOOKUPS, TextureCase, cases, kernel_text
from ptxspec.evidence.vectors import H200

FOLDER = H200.parent / "images"
_INSTRUCTION = re.compile(r"^ *(\S+) [^;]*\[%image", re.M)


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
        match = _INSTRUCTION.search(kernel_text(case))
        assert match is not None, case
        found.setdefault(match[1], []).append(case.name)
    return found


def _differing(mnemonic: str) -> int:
    """In how many rows of its cases the definitions give something else, as tests/evidence holds against the answers."""
    facts = _facts() or {}
    return sum(facts["differing"].get(name, 0) for name in _by_mnemonic()[mnemonic])


def _rows(mnemonic: str) -> int:
    names = set(_by_mnemonic()[mnemonic])
    return sum(LOOKUPS if isinstance(case, TextureCase) else ACCESSES for case in cases() if case.name in names)


def answered(mnemonic: str) -> dict[str, Any] | None:
    """The ledger's entry for a form that was asked about, and whose answers are all given; else None."""
    facts = _facts()
    if facts is None or mnemonic not in _by_mnemonic() or _differing(mnemonic):
        return None
    return {"agrees": True, "vectors": _rows(mnemonic), "date": facts["date"], "device": facts["device"]}


def gap(mnemonic: str) -> str | None:
    """Why a form for images has no such entry."""
    if _facts() is None or mnemonic not in _by_mnemonic():
        return "none of the cases for textures and surfaces has it"
    count = _differing(mnemonic)
    return f"{count} of {_rows(mnemonic)} answers differ, which its page explains" if count else None
