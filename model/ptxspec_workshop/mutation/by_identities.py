"""Whether an identity of `proofs/` notices a mutant: with the mistake in place, its two sides differ on some operands.

Operands are tried first: what is found there is replayed on the definitions as they are, for which the sides must agree. Then the
solver is asked, as `make proofs` asks it. A refinement that is refuted, such as of a result beyond a bound, notices a mutant with
which it holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.query.identities import Identity, load_all
from ptxspec.query.questions import ask
from ptxspec.terms.exact import evaluate
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import freedoms_in, low_bits
from ptxspec_workshop.mutation.meanings import bodies_in, machine

#: operand rows of a claim that meet its condition, and those that are looked through for them
ROWS, TRIED = 64, 600
#: seconds of a question to the solver, and of all those about one mutant
EACH, TOGETHER = 2.0, 6.0
#: the name under which it is compared whether a side breaks a rule
UNDEFINED = "undefined"


class Asked(NamedTuple):
    """A claim in terms: its inputs' types, the condition on them, and for what is compared both sides' values."""

    types: dict[str, Type]
    given: Any
    finals: dict[str, tuple[Any, Any]]


class Noticed(NamedTuple):
    """A claim that fails with the mistake, and inputs on which it does."""

    claim: Identity
    inputs: dict[str, Any]
    was: Asked
    by: str
    """"operands" or "solver": what found the inputs; "allowed" where a refinement holds that is refuted"""


def asked(claim: Identity) -> Asked:
    """A claim as the definitions say now. Beside the registers it compares whether a side is undefined."""
    put = ask(claim.left, claim.right, claim.assume, claim.profile, claim.how)
    first, second = put.sides

    def final(term: Any, type: Type) -> Any:
        return term if type.kind == "pred" else low_bits(term, type.width)

    finals = {n: (final(put.finals[0][n], t), final(put.finals[1][n], t)) for n, t in put.compared.items()}
    finals[UNDEFINED] = first.faults, second.faults
    given = put.given & put.followed
    return Asked(put.inputs.types, given, finals)


def tells(claim: Identity) -> bool:
    """Whether a claim is asked: those that are proved, and the refinements that are refuted."""
    return claim.expected == "proved" or claim.relation == "refines"


@cache
def claims() -> tuple[tuple[Identity, Asked], ...]:
    """The identities that are asked, in terms. To be asked first while the definitions are as they are."""
    found = (claim for claim in load_all() if tells(claim))
    return tuple((claim, asked(claim)) for claim in found)


def noticed(
    opcodes: frozenset[str],
    called: Collection[str],
    first: str | None = None,
    changed: Callable[[Any], bool] = lambda function: False,
) -> Noticed | None:
    """The identity that fails now, of those about some opcodes; the one of the title `first` is tried before the others. `called`
    are the named functions whose meaning has changed, and `changed` tells of a function that says what an open result may be.
    Raises what the definitions raise."""
    about = [(claim, was) for claim, was in claims() if claim.opcodes & opcodes]
    about.sort(key=lambda pair: pair[0].title != first)
    waiting = []
    for claim, was in about:
        now = asked(claim)
        sides = [(x, y) for n in now.finals for x, y in zip(now.finals[n], was.finals[n], strict=True)]
        terms = [x for x, _ in sides]
        same = all(x is y for x, y in sides)
        if same and not (called and _calls(terms, called)) and not _allows_otherwise(terms, changed):
            continue
        found = _by_operands(claim, was, now)
        if found is not None:
            return Noticed(claim, found, was, "operands")
        waiting.append((claim, was))
    return _by_solver(waiting)


def _calls(terms: Iterable[Any], names: Collection[str]) -> bool:
    """Whether some terms call one of these functions."""
    return any(attrs[0] in names for attrs in bodies_in(terms))


def _allows_otherwise(terms: Iterable[Any], changed: Callable[[Any], bool]) -> bool:
    """Whether something has changed of what an open result below some terms may be."""
    return any(f.attrs[4] is not None and changed(f.attrs[4]) for f in freedoms_in(*terms))


def _by_operands(claim: Identity, was: Asked, now: Asked) -> dict[str, Any] | None:
    """Inputs that meet the condition as it was, and on which the sides differ now."""
    if claim.relation != "equal":
        return None
    names = list(was.types)
    met = 0
    for row in rows([was.types[n] for n in names], TRIED, claim.title):
        values = {n: bool(v) if was.types[n].kind == "pred" else v for n, v in zip(names, row, strict=True)}
        memo: dict[int, Any] = {}
        if evaluate(was.given, values, machine, memo):
            met += 1
            if _differ(now, values, memo):
                return values
        if met == ROWS:
            break
    return None


def _differ(sides: Asked, values: dict[str, Any], memo: dict[int, Any]) -> bool:
    """Whether the sides differ on some inputs."""
    return any(
        evaluate(x, values, machine, memo) != evaluate(y, values, machine, memo) for x, y in sides.finals.values()
    )


def cross_check(found: Noticed) -> None:
    """The definitions as they are must agree where those with the mistake do not: else the inputs show nothing. To be asked when
    the mistake is no longer in place."""
    if found.by == "operands" and _differ(found.was, found.inputs, {}):
        raise AssertionError(f"{found.claim.page}: {found.claim.title} fails without a mistake, at {found.inputs}")


def _by_solver(waiting: Sequence[tuple[Identity, Asked]]) -> Noticed | None:
    begun = time.process_time()
    for claim, was in waiting:
        if time.process_time() - begun > TOGETHER:
            break
        verdict = claim.check(timeout=EACH)
        if claim.expected == "refuted":
            if verdict.status in ("proved", "exhausted"):
                return Noticed(claim, {}, was, "allowed")
            continue
        if verdict.status == "refuted" and verdict.counterexample is not None:
            return Noticed(claim, verdict.counterexample.inputs, was, "solver")
    return None
