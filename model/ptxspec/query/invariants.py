"""What holds of the machine's states: claims on the pages of the machine and of what it works on, each put to the solver."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, NamedTuple

from ptxspec.literate import finder
from ptxspec.query.solving import solve
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate
from ptxspec.terms.steps import CLAIMS, Claim, implies, taken
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE


class Finding(NamedTuple):
    """The verdict on a claim: "proved", "refuted", "exhausted" (the time ran out) or "unknown"; and the values of records and
    operands for which it fails."""

    status: str
    values: dict[str, Any]
    seconds: float


#: the packages of pages that have claims
STATED_IN = ("functions", "machine", "state_spaces")


@cache
def load_all() -> tuple[Claim, ...]:
    """Every claim of every page about the machine."""
    for package in STATED_IN:
        for name, _ in finder.pages(f"ptxspec.spec.{package}"):
            finder.load(name)
    return tuple(CLAIMS)


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
    answer = solve(~said, types, timeout)
    status, values, seconds = answer.status, answer.values, time.monotonic() - began
    if status == "unsat":
        return Finding("proved", {}, seconds)
    if status == "sat":
        stands = not evaluate(said, values)
        return Finding("refuted" if stands else "unknown", values, seconds)
    return Finding("exhausted" if status == "timeout" else "unknown", {}, seconds)
