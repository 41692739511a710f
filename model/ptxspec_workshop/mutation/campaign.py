"""The campaign: every mutant judged, on every core there is, and what was found kept.

A judgement is kept under a digest of all that it depends on: the mutant, the Python of the pages that its instructions are made
of, and the claims about them, which are identities and laws. When a page changes, only what depends on it is judged again; what
noticed a mutant before is then tried first. What an oracle noticed is put to the claims again when there are others, so that the
figure of what claims alone notice is true.
"""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ptxspec.base import campaigns
from ptxspec.base.campaigns import WorkerOptions
from ptxspec.language.forms import registry
from ptxspec.query.identities import load_all
from ptxspec_workshop.mutation import by_identities, by_laws, by_tests
from ptxspec_workshop.mutation.judging import (
    CLAIMS,
    EQUIVALENT,
    KILLED,
    UNDECIDED,
    Judgement,
    PriorEvidence,
    judge,
    judge_by_claims,
)
from ptxspec_workshop.mutation.mutants import Mutant, source
from ptxspec_workshop.mutation.reach import graph, origins

#: what decided where the campaign itself is at fault
FAILED = "failure of the campaign"


@cache
def _text_digest(module: str) -> str:
    """Of a page's Python, wherever on the page it is: prose has no part in a judgement."""
    lines = (line for line in source(module)[1].splitlines() if line.strip())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def _pages_of(opcode: str) -> frozenset[str]:
    """The pages that an opcode's definitions are on, and those that these import, directly or not."""
    imported: dict[str, set[str]] = {}
    for (page, _), other in origins().items():
        imported.setdefault(page, set()).add(other)
    waiting = [definition.module for _, definition in registry().opcodes[opcode].lines]
    pages: set[str] = set()
    while waiting:
        page = waiting.pop()
        if page not in pages:
            pages.add(page)
            waiting += imported.get(page, ())
    return frozenset(pages)


def pages_key(mutant: Mutant) -> str:
    """A digest of the mutant and of the definitions that its judgement depends on."""
    pages = sorted(frozenset().union(*map(_pages_of, graph().opcodes(mutant))))
    return _digest((mutant.id, [(page, _text_digest(page)) for page in pages]))


def claims_key(mutant: Mutant) -> str:
    """A digest of the identities about its opcodes, and of the laws about its function: more of them may notice it."""
    opcodes = graph().opcodes(mutant)
    keys = [_claim_key(c) for c in load_all() if by_identities.tells(c) and c.opcodes & opcodes]
    return _digest(keys + [by_laws.key(law) for law in by_laws.about(mutant)])


def _claim_key(claim: Any) -> str:
    more = (claim.buffers, claim.warp) if claim.buffers or claim.warp else ()
    other = (claim.relation, claim.expected) if claim.relation != "equal" else ()
    return _digest((*claim[:5], *more, *other))


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _deciding(mutant: Mutant, by: str, name: str) -> str:
    """A digest of the claims that a judgement rests on: of the one that noticed the mutant, else of all there are about it,
    and of the tests, too, if nothing noticed it; "" if that one is gone."""
    if by == "identity":
        return next((_claim_key(c) for c in load_all() if c.title == name), "")
    if by == "law":
        return next((_digest(by_laws.key(law)) for law in by_laws.about(mutant) if law.sentence == name), "")
    if not by:
        return _digest((claims_key(mutant), [test.text for test in by_tests.about(mutant)]))
    return claims_key(mutant)


def is_known(mutant: Mutant, row: Mapping[str, Any] | None) -> bool:
    """Whether what was found of a mutant holds still: its definitions are the same, and so is the claim that noticed it, or for
    what none noticed all there are. What means the same, or nothing at all, no claim can notice."""
    if row is None or row["pages"] != pages_key(mutant):
        return False
    if row["status"] == EQUIVALENT or row["by"] == "construction":
        return True
    return bool(row["claims"] == _deciding(mutant, row["by"], row["name"]))


def update(
    mutants: Iterable[Mutant],
    known: Mapping[str, Mapping[str, Any]],
    progress: Callable[[int, int, Mutant, dict[str, Any]], None] | None = None,
    where: WorkerOptions = WorkerOptions(),
) -> dict[str, dict[str, Any]]:
    """By the mutants' ids, what is kept of each: as `known` has it where that holds still, else judged now, by whom `where`
    says."""
    wanted = list(mutants)
    rows: dict[str, dict[str, Any]] = {m.id: dict(known[m.id]) for m in wanted if is_known(m, known.get(m.id))}
    missing = [(m, _before(m, known.get(m.id))) for m in wanted if m.id not in rows]
    missing.sort(key=lambda item: item[0].id[-8:])  # pages take turns, so that what is done first tells of the rest
    for number, (mutant, judgement, seconds) in enumerate(_judged(missing, where), 1):
        row = rows[mutant.id] = _row(mutant, judgement, seconds)
        if progress is not None:
            progress(number, len(missing), mutant, row)
    return {m.id: {**rows[m.id], "place": str(m)} for m in wanted}


def _judged(
    missing: Sequence[tuple[Mutant, Before]], where: WorkerOptions
) -> Iterator[tuple[Mutant, Judgement, float]]:
    """The judgements on mutants and the seconds they took, as they are made; a single one is made here."""
    if len(missing) <= 1 and where.scheduler is None:
        yield from map(_judge_item, missing)
        return
    by_name = {mutant.id: mutant for mutant, _ in missing}
    for name, reply, _ in campaigns.run(_judge_item, ((item[0].id, item) for item in missing), where):
        if reply.kind == "done":
            yield reply.value
        else:  # of the campaign, too: the machine has no memory left, perhaps
            yield by_name[name], Judgement(UNDECIDED, FAILED, reply.kind, reply.message[:200]), 0.0


class Before(NamedTuple):
    """What was found of a mutant the last time: what decided, and the judgement if it holds but for the claims."""

    hint: PriorEvidence = PriorEvidence()
    stands: Judgement | None = None


def _before(mutant: Mutant, row: Mapping[str, Any] | None) -> Before:
    if row is None:
        return Before()
    holds = row["pages"] == pages_key(mutant) and row["status"] == KILLED and row["by"] not in CLAIMS
    judgement = Judgement(*(row[part] for part in Judgement._fields)) if holds else None
    return Before(_hint(row), judgement)


def _hint(row: Mapping[str, Any]) -> PriorEvidence:
    return PriorEvidence(row["by"], row["name"])


def _row(mutant: Mutant, judgement: Judgement, seconds: float) -> dict[str, Any]:
    """What is kept of a judgement."""
    claims = _deciding(mutant, judgement.by, judgement.name)
    kept = {"seconds": round(seconds, 1), "pages": pages_key(mutant), "claims": claims}
    return {"place": str(mutant), **judgement._asdict(), **kept}


def _judge_item(item: tuple[Mutant, Before]) -> tuple[Mutant, Judgement, float]:
    def spent() -> float:
        return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    mutant, before = item
    begun = spent()
    try:
        if before.stands is not None:  # an oracle noticed it: only what has been claimed since is new
            judgement = judge_by_claims(mutant) or before.stands
        else:
            judgement = judge(mutant, before.hint)
    except Exception as error:  # of the campaign and not of the mutant: it is shown, and the others are judged
        judgement = Judgement(UNDECIDED, FAILED, type(error).__name__, str(error)[:200])
    return mutant, judgement, spent() - begun
