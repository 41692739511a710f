"""Whether a law notices a mutant: a claim about functions, on a page under `proofs/` or on that of the functions themselves,
which some operands break with the mistake in place.

As with identities, operands are tried first and replayed on the definitions as they are; then the solver is asked.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.query.laws import formula, load_all
from ptxspec.query.solvers import solve
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import evaluate
from ptxspec.terms.steps import StepClaim
from ptxspec.terms.types import Type
from ptxspec_workshop.mutation.meanings import bodies_in, machine
from ptxspec_workshop.mutation.mutants import Mutant, roots, source
from ptxspec_workshop.mutation.reach import Name, Place, graph, keys

#: operand rows of a law; seconds of a question to the solver, and of all those about one mutant
ROWS, EACH, TOGETHER = 96, 2.0, 6.0


class FailedLaw(NamedTuple):
    """A law that fails with the mistake, operands on which it does, what it says as the definitions are, and what found them:
    "operands" or "solver"."""

    law: StepClaim
    operands: dict[str, Any]
    was: Bool
    by: str


@cache
def laws() -> tuple[tuple[StepClaim, Bool], ...]:
    """The claims that are proved, in terms. To be asked first while the definitions are as they are."""
    return tuple((law, formula(law)[0]) for law in load_all() if law.holds)


@cache
def _reached() -> dict[StepClaim, frozenset[Place | Name]]:
    """For every law, the functions and the names that it may look up."""
    return {law: graph().reached_by(law.function) for law in load_all() if law.holds}


def about(mutant: Mutant) -> list[StepClaim]:
    """The laws whose meaning a mutant may change."""
    wanted = keys(mutant)
    return [law for law, reached in _reached().items() if not wanted.isdisjoint(reached)]


@cache
def key(law: StepClaim) -> tuple[str, ...]:
    """What a law says: its sentence, and the Python of its functions on its own page, or of those that these are within."""
    texts = _functions(law.function.__module__)
    lines = [line for path, line in sorted(_places(law)) if path == law.path]
    return law.sentence, *(texts[max(first for first in texts if first <= line)] for line in lines)


def _places(law: StepClaim) -> set[Place]:
    """The functions that a law may call, its own among them."""
    return {(path, line) for path, line in _reached()[law] if isinstance(line, int)}


@cache
def _functions(module: str) -> dict[int, str]:
    """By its first line, the Python of each function of a page."""
    return {first: ast.unparse(node) for _, first, node in roots(ast.parse(source(module)[1]))}


def noticed(mutant: Mutant, called: Iterable[str], first: str | None = None) -> FailedLaw | None:
    """The law that fails now, of those that a mutant may change; the one of the sentence `first` is tried before the others.
    `called` are the named functions whose meaning has changed. Raises what the definitions raise."""
    wanted, changed = set(about(mutant)), frozenset(called)
    chosen = sorted(((law, was) for law, was in laws() if law in wanted), key=lambda pair: pair[0].sentence != first)
    waiting = []
    for law, was in chosen:
        claim, types = formula(law)
        if claim is was and not any(attrs[0] in changed for attrs in bodies_in([claim])):
            continue
        operands = _by_operands(claim, types, law.sentence)
        if operands is not None:
            return FailedLaw(law, operands, was, "operands")
        waiting.append((law, was, claim, types))
    return _by_solver(waiting)


def cross_check(failed: FailedLaw) -> None:
    """The law must hold for these operands as the definitions are: to be asked when the mistake is no longer in place."""
    if not evaluate(failed.was, failed.operands, machine):
        raise AssertionError(f"{failed.law.sentence}: fails without a mistake, at {failed.operands}")


def _by_operands(claim: Bool, types: dict[str, Type], seed: str) -> dict[str, Any] | None:
    """Operands that break a claim."""
    for row in rows(list(types.values()), ROWS, seed):
        values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(types.items(), row, strict=True)}
        if not evaluate(claim, values, machine):
            return values
    return None


def _by_solver(waiting: Sequence[tuple[StepClaim, Bool, Bool, dict[str, Type]]]) -> FailedLaw | None:
    begun = time.process_time()
    for law, was, claim, types in waiting:
        if time.process_time() - begun > TOGETHER:
            break
        answer = solve(~claim, types, EACH)
        if answer.status == "sat" and not evaluate(claim, answer.values, machine):
            return FailedLaw(law, answer.values, was, "solver")
    return None
