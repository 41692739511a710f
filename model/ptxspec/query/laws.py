"""Laws: what pages claim of the machine's states and of functions, such as those of textures, each put to the solver, with
verdicts kept.

A page states them with `@invariant(...)`, and those that look true and are not with `@tempting(...)`; so do pages under proofs/.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from functools import cache, lru_cache, reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec.base import storage
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.base.parallel import on_all_cores
from ptxspec.language.forms import page_name
from ptxspec.literate import finder
from ptxspec.query.solvers import solve
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate
from ptxspec.terms.steps import CLAIMS, StepClaim, implies, taken
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import TRUE


class ClaimVerdict(NamedTuple):
    """The verdict on a claim: "proved", "refuted" or "unknown"; and the values of records and operands for
    which it fails."""

    status: str
    values: dict[str, Any]
    seconds: float


#: the packages of pages that have claims
STATED_IN = (
    *("spec.functions", "spec.machine", "spec.matrices", "spec.state_spaces", "spec.tensors", "spec.variables"),
    "proofs",
)


@cache
def load_all() -> tuple[StepClaim, ...]:
    """Every claim of every page: about the machine, about matrices, and those under proofs/. Their order is that of the pages'
    names and lines, in whatever order pages were loaded: workers name claims by their numbers."""
    for package in STATED_IN:
        for name, _ in finder.pages(f"ptxspec.{package}"):
            finder.load(name)
    return tuple(sorted(CLAIMS, key=lambda claim: (claim.path, claim.line)))


@cache
def of_proofs() -> tuple[StepClaim, ...]:
    """The claims about functions that pages under proofs/ state, in their order."""
    return tuple(claim for claim in load_all() if Path(claim.path).parent.name == "proofs")


def formula(claim: StepClaim) -> tuple[Bool, dict[str, Type]]:
    """(the claim, for steps that break no rule; the types of its variables)"""
    requirements, claimed = taken(claim.function, *(port.variables() for port in claim.inputs))
    allowed = reduce(and_, (requirement.condition for requirement in requirements), TRUE)
    types = {name: type for port in claim.inputs for name, type in port.words.items()}
    return implies(allowed, claimed), types


def check(claim: StepClaim, timeout: float = 120.0) -> ClaimVerdict:
    """Ask the solver for states that break a claim. A refutation is replayed by the exact interpretation."""
    began = time.monotonic()
    claimed, types = formula(claim)
    answer = solve(~claimed, types, timeout, purpose="states that break the claim")
    status = {"unsat": "proved", "sat": "refuted"}.get(answer.status, "unknown")
    if status == "refuted" and evaluate(claimed, answer.values):
        status = "unknown"
    return ClaimVerdict(status, answer.values, time.monotonic() - began)


#: the file of verdicts that were reached
NAME = "laws.json"


def expected(claim: StepClaim) -> str:
    """The verdict that its page promises."""
    return "proved" if claim.holds else "refuted"


def key(claim: StepClaim, definitions: str) -> str:
    """What a verdict depends on: the page that states the claim, and a digest of all `definitions`."""
    page = Path(claim.path).read_text("utf-8")
    return hashlib.sha256(repr((claim.sentence, claim.holds, page, definitions)).encode()).hexdigest()


def kept(claim: StepClaim, definitions: str, store: Path | None = None) -> dict[str, Any] | None:
    """The verdict that was reached before on the very same law and definitions, where one is stored."""
    return stored(store or storage.kept(NAME)).get(key(claim, definitions))


def not_as_stated(claim: StepClaim, status: str) -> str | None:
    """What is said of a law that has another verdict than its page promises; None if it has this one."""
    if status == expected(claim):
        return None
    return f"{page_name(claim.path)}:{claim.line}: {claim.sentence}: stated {expected(claim)}, found {status}"


def update(
    definitions: str,
    store: str | Path | None = None,
    where: WorkerOptions = WorkerOptions(),
    chosen: Callable[[StepClaim], bool] = lambda claim: True,
) -> list[tuple[StepClaim, dict[str, Any]]]:
    """The verdicts on all laws, or on those `chosen`, with the `status` and the `values` that break the law, from `store` if they
    were reached before, else from the solver, on every core there is or where it is said. Only proofs and refutations are
    stored."""
    path = Path(store) if store is not None else storage.kept(NAME)
    claims = load_all()
    keys = [key(claim, definitions) for claim in claims]
    known = stored(path)
    wanted = [i for i, claim in enumerate(claims) if chosen(claim)]
    verdicts = {i: known[k] for i, k in enumerate(keys) if k in known}
    verdicts.update(on_all_cores(_one, [i for i in wanted if i not in verdicts], where))
    settled = {keys[i]: verdict for i, verdict in verdicts.items() if verdict["status"] in ("proved", "refuted")}
    storage.write(path, settled)
    return [(claims[i], verdicts[i]) for i in wanted]


def _one(i: int) -> tuple[int, dict[str, Any]]:
    verdict = check(load_all()[i])
    return i, {"status": verdict.status, "values": verdict.values}


def stored(path: Path | None) -> dict[str, Any]:
    """The verdicts that a file holds."""
    if path is None:
        return {}
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=4)
def _read(path: Path, *state: int) -> dict[str, Any]:
    """What a file of verdicts holds, read once as long as it is as it was: whoever asks for one verdict asks for thousands."""
    verdicts = json.loads(storage.own_file(path.absolute()))
    return verdicts if isinstance(verdicts, dict) else {}
