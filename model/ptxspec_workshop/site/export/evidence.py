"""What holds a form to account, as data: the ledger's row where it was computed, else what the record of a GPU's answers has."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from ptxspec.evidence import ledger, precomputed
from ptxspec.language.forms import Form, registry
from ptxspec.query.identities import load_all
from ptxspec_workshop.record import gaps


def of(form: Form) -> dict[str, Any]:
    """The evidence of a form. What was not checked is null; `agrees` of a GPU's answers is null until the ledger is computed."""
    row = _rows(form.syntax.opcode).get((form.mnemonic, str(form)))
    if row is not None:
        checks = {"ptxas": row["ptxas"], "interpretations": row["interpretations"], "gpu": row["gpu"]}
        return {**checks, "not_asked": row["unasked"] if row["gpu"] is None else None}
    answered = gaps.entry(form, _records(), set())
    gpu = None if answered is None else {**answered, "agrees": None}
    unasked = gaps.unasked(form) if gpu is None else None
    return {"ptxas": None, "interpretations": None, "gpu": gpu, "not_asked": unasked}


def is_computed() -> bool:
    """Whether the ledger was computed since the definitions changed."""
    return any(map(_rows, registry().opcodes))


@functools.cache
def identities() -> Counter[str]:
    """How many identities mention each opcode."""
    return Counter(opcode for claim in load_all() for opcode in set(claim.opcodes))


@functools.cache
def _computed() -> dict[str, list[dict[str, Any]]]:
    """The rows that were computed here, by opcode."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in ledger.rows():
        rows.setdefault(row["opcode"], []).append(row)
    return rows


@functools.cache
def _rows(opcode: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Those of an opcode, else the ones that were computed before, by mnemonic and form."""
    rows = precomputed.rows(_computed().get(opcode, ()), [opcode])
    return {(row["mnemonic"], row["form"]): row for row in rows}


@functools.cache
def _records() -> gaps.Records:
    return gaps.records()
