"""What the recorded answers to the cases for textures and surfaces say of a form."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from ptxspec.evidence.location import FOLDER
from ptxspec_workshop.generate.image_cases import row_count
from ptxspec_workshop.generate.image_kernels import mnemonic
from ptxspec_workshop.generate.image_spellings import UNREACHABLE
from ptxspec_workshop.generate.image_sweeps import cases

KEPT = FOLDER / "images"


@cache
def _facts() -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((KEPT / "answers.json").read_text())
    except OSError:
        return None
    return facts


@cache
def _recorded_names() -> frozenset[str]:
    """The names of the cases that were recorded."""
    with np.load(KEPT / "answers.npz") as kept:
        return frozenset(kept.files)


@cache
def _by_mnemonic() -> dict[str, list[str]]:
    """The names of the cases whose kernels have an instruction of a spelling."""
    names: dict[str, list[str]] = {}
    for case in cases():
        names.setdefault(mnemonic(case), []).append(case.name)
    return names


def _differing(spelling: str) -> int:
    """In how many rows of its cases the definitions give something else, as tests/evidence holds against the answers."""
    facts = _facts() or {}
    return sum(facts["differing"].get(name, 0) for name in _by_mnemonic()[spelling])


def _rows(spelling: str) -> int:
    names = set(_by_mnemonic()[spelling])
    return sum(row_count(case) for case in cases() if case.name in names)


def _is_recorded(spelling: str) -> bool:
    """Whether all cases with a spelling were recorded, and there is one."""
    names = _by_mnemonic().get(spelling, [])
    return bool(names) and _recorded_names().issuperset(names)


def answered(spelling: str) -> dict[str, Any] | None:
    """The ledger's entry for a form that was asked about, and whose answers are all given; else None."""
    facts = _facts()
    if facts is None or not _is_recorded(spelling) or _differing(spelling):
        return None
    return {"agrees": True, "vectors": _rows(spelling), "date": facts["date"], "device": facts["device"]}


def gap(spelling: str) -> str | None:
    """Why a form for images can have no such entry; None if it has one, or if it only has to be asked about."""
    if not set(UNREACHABLE).isdisjoint(spelling.split(".")):
        return "no interface of CUDA makes textures with several samples"
    if _facts() is None or not _is_recorded(spelling):
        return None
    count = _differing(spelling)
    return f"{count} of {_rows(spelling)} answers differ, which its page explains" if count else None
