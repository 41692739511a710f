"""What holds of the machine's states and of the pages' functions: claims on the pages that define them, and under proofs/, each
put to the solver."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.literate import finder
from ptxspec.query.solvers import solve
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate
from ptxspec.terms.steps import CLAIMS, Claim, implies, taken
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE


class Finding(NamedTuple):
    """The verdict on a claim: "proved", "refuted" or "unknown"; and the values of records and operands for
    which it fails."""

    status: str
    values: dict[str, Any]
    seconds: float


#: the packages of pages that have claims
STATED_IN = ("spec.functions", "spec.machine", "spec.matrices", "spec.state_spaces", "spec.variables", "proofs")


@cache
def load_all() -> tuple[Claim, ...]:
    """Every claim of every page: about the machine, about matrices, and those under proofs/. Their order is that of the pages'
    names and lines, in whatever order pages were loaded: workers name claims by their numbers."""
    for package in STATED_IN:
        for name, _ in finder.pages(f"ptxspec.{package}"):
            finder.load(name)
    return tuple(sorted(CLAIMS, key=lambda claim: (claim.path, claim.line)))


def of_proofs() -> tuple[Claim, ...]:
    """The claims about functions that pages under proofs/ state, in their order."""
    return tuple(claim for claim in load_all() if Path(claim.path).parent.name == "proofs")


def formula(claim: Claim) -> tuple[Bool, dict[str, Type]]:
    """(the claim, for steps that break no rule; the types of its variables)"""
    requirements, said = taken(claim.function, *(port.variables() for port in claim.inputs))
    allowed = TRUE
    for requirement in requirements:
        allowed = allowed & requirement.condition
    types = {name: type for port in claim.inputs for name, type in port.words.items()}
    return implies(allowed, said), types


def check(claim: Claim, timeout: float = 120.0) -> Finding:
    """Ask the solver for states that break a claim. A refutation is replayed by the exact interpretation."""
    began = time.monotonic()
    said, types = formula(claim)
    answer = solve(~said, types, timeout, purpose="states that break the claim")
    status, values, seconds = answer.status, answer.values, time.monotonic() - began
    if status == "unsat":
        return Finding("proved", {}, seconds)
    if status == "sat":
        stands = not evaluate(said, values)
        return Finding("refuted" if stands else "unknown", values, seconds)
    return Finding("unknown", {}, seconds)
