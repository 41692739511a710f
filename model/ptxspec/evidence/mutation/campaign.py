"""The campaign: every mutant judged, on every core there is, and what was found kept.

A judgement is kept under a digest of all that it depends on: the mutant, the texts of the pages that its instructions are made
of, and the claims about them, which are identities and laws. When a page changes, only what depends on it is judged again; what
noticed a mutant before is then tried first. What an oracle noticed is put to the claims again when there are others, so that the
figure of what claims alone notice is true.
"""

from __future__ import annotations

import hashlib
import mmap
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ptxspec import campaigns
from ptxspec.campaigns import Where
from ptxspec.evidence.mutation import by_identities, by_laws, by_oracles, sameness, score
from ptxspec.evidence.mutation.isolated import Ended, call
from ptxspec.evidence.mutation.meanings import Case, Leaves, cases, leaves, some
from ptxspec.evidence.mutation.mutants import Mutant, source
from ptxspec.evidence.mutation.planting import planted
from ptxspec.evidence.mutation.reach import graph, origins
from ptxspec.language.forms import Form, registry
from ptxspec.literate.finder import DOCUMENTS
from ptxspec.query.identities import load_all

#: seconds of computing that a mutant may take
SECONDS = 40
#: forms of a mutant on which oracles are tried, and forms up to which sameness is asked for
FORMS, MOST = 160, 6000
KILLED, EQUIVALENT, SURVIVOR, UNDECIDED = "killed", "equivalent", "survivor", "undecided"
#: what decides without a chip: the claims under proofs/, and those on the pages of functions
CLAIMS = score.CLAIMS
#: what decided where the campaign itself is at fault
FAILED = "failure of the campaign"


class Judgement(NamedTuple):
    """What became of a mutant: "killed", "equivalent", "survivor", or "undecided" (not killed, and not proved to mean the same in
    the time there was). `by` is what decided: "identity", "law", "construction", "example", "recorded answer", "recorded lookup",
    "proof", "same terms"; `name` says which, `shown` gives operands or an error."""

    status: str
    by: str = ""
    name: str = ""
    shown: str = ""


class Hint(NamedTuple):
    """What decided about a mutant the last time."""

    by: str = ""
    name: str = ""


def judge(mutant: Mutant, hint: Hint | None = None, seconds: int = SECONDS) -> Judgement:
    """The judgement on a mutant. It is made in a process of its own: nothing of the mistake stays in this one."""
    _prepare_claims()
    forms = graph().forms(mutant)
    by_oracles.prepare(forms)
    built = mmap.mmap(-1, 1)  # shared with the other process: 1 as soon as all definitions have been evaluated
    try:
        return call(lambda: _judge(mutant, forms, hint or Hint(), built), seconds)
    except Ended as error:
        if built[0]:
            return Judgement(UNDECIDED, "", "", str(error))
        return Judgement(KILLED, "construction", "limits", str(error))
    finally:
        built.close()


def judge_by_claims(mutant: Mutant, seconds: int = SECONDS) -> Judgement | None:
    """The judgement of the claims alone: None if they notice nothing in the time."""
    _prepare_claims()
    try:
        found = call(lambda: _by_claims(mutant, Hint()), seconds)
    except Ended:
        return None
    return found if found is not None and found.by in CLAIMS else None


def _prepare_claims() -> None:
    """Have the claims in terms, as the definitions are without a mistake, and once for all mutants."""
    by_identities.claims()
    by_laws.laws()


def _judge(mutant: Mutant, forms: Sequence[Form], hint: Hint, built: mmap.mmap) -> Judgement:
    said = _by_claims(mutant, hint)
    if said is not None:
        return said
    chosen = cases(_few(forms, hint), False)
    was = [leaves(case.meaning) for case in chosen]
    with planted(mutant):
        try:
            now = [leaves(case.meaning) for case in chosen]
        except Exception as error:
            return _broken(error)
        built[0] = 1
        found = _without_claims(mutant, list(zip(chosen, was, now, strict=True)))
    return found or _same(mutant, forms)


def _by_claims(mutant: Mutant, hint: Hint) -> Judgement | None:
    """What an identity or a law says; or that a definition in one of them cannot be evaluated."""
    with planted(mutant):
        called = graph().shortcuts(mutant)
        try:
            first = hint.name if hint.by == "identity" else None
            noticed = by_identities.noticed(graph().opcodes(mutant), called, first)
            law = None if noticed else by_laws.noticed(mutant, called, hint.name if hint.by == "law" else None)
        except Exception as error:
            return _broken(error)
    if noticed is not None:
        by_identities.cross_check(noticed)
        return Judgement(KILLED, "identity", noticed.claim.title, _operands(noticed.inputs, noticed.by))
    if law is not None:
        by_laws.cross_check(law)
        return Judgement(KILLED, "law", law.law.sentence, _operands(law.operands, law.by))
    return None


def _operands(values: Mapping[str, Any], found_by: str) -> str:
    shown = ", ".join(f"{n} = {int(v):#x}" for n, v in values.items())
    return f"{shown[:300]} ({found_by})"


def _broken(error: Exception) -> Judgement:
    """Whatever a definition raises: it cannot be used."""
    return Judgement(KILLED, "construction", type(error).__name__, _text(error))


def _text(error: Exception) -> str:
    return str(error).replace(f"{DOCUMENTS}/", "")[:200]


def _without_claims(mutant: Mutant, triples: Sequence[tuple[Case, Leaves, Leaves]]) -> Judgement | None:
    """What an oracle says, with the mistake in place; else operands on which a form means something else."""
    touched = [case for case, was, now in triples if sameness.touched(mutant, was, now)]
    try:
        told = _told(touched)
    except Exception as error:  # a kernel that cannot be run, a definition that cannot be evaluated
        return Judgement(KILLED, "error", type(error).__name__, _text(error))
    if told is not None:
        return Judgement(KILLED, told.kind, told.name, told.shown[:300])
    found = sameness.by_operands(sameness.pairs_of(mutant, triples) or [])
    return _survivor(found) if found is not None else None


def _few(forms: Sequence[Form], hint: Hint) -> list[Form]:
    """Some of the forms, of each definition as many; the one that told the last time first."""
    by_definition: dict[Any, list[Form]] = {}
    for form in forms:
        by_definition.setdefault(form.definition, []).append(form)
    most = max(4, FORMS // max(1, len(by_definition)))
    few = [form for own in by_definition.values() for form in some(own, most)]
    return sorted(few, key=lambda form: str(form) != hint.name)


def _told(touched: Sequence[Case]) -> by_oracles.Noticed | None:
    """What an oracle says of the forms that are touched."""
    pages = dict.fromkeys(case.form.definition.module for case in touched)
    return by_oracles.examples(pages) or by_oracles.recorded(touched) or by_oracles.looked_up(touched)


def _survivor(found: sameness.Difference) -> Judgement:
    operands = ", ".join(f"{n} = {int(v):#x}" for n, v in found.operands.items())
    return Judgement(SURVIVOR, "", found.form, f"{operands}: {found.was:#x} as it is, {found.now:#x} with the mistake")


def _same(mutant: Mutant, forms: Sequence[Form]) -> Judgement:
    """Whether all forms mean the same: in all variants and editions."""
    if len(forms) > MOST:
        return Judgement(UNDECIDED, "", "", f"{len(forms)} forms may be changed")
    every = cases([edition for form in forms for edition in (form, *form.editions)], True)
    was = [leaves(case.meaning) for case in every]
    with planted(mutant):
        try:
            now = [leaves(case.meaning) for case in every]
        except Exception as error:
            return _broken(error)
        pairs = sameness.pairs_of(mutant, zip(every, was, now, strict=True))
        if pairs is None:
            return Judgement(UNDECIDED, "", "", "the machine is handed other functions, or an effect differs")
        if not pairs:
            return Judgement(EQUIVALENT, "same terms", f"{len(every)} forms and variants")
        found = sameness.by_operands(pairs) or sameness.by_solver(pairs)
    if isinstance(found, sameness.Difference):
        return _survivor(found)
    if found:
        return Judgement(EQUIVALENT, "proof", f"{len(pairs)} pairs of terms")
    return Judgement(UNDECIDED, "", "", "no proof that it means the same")


# What is kept ----------------------------------------------------------------------------------------------------------


@cache
def _text_digest(module: str) -> str:
    return hashlib.sha256(source(module)[1].encode()).hexdigest()


@cache
def _pages_of(opcode: str) -> frozenset[str]:
    """The pages that an opcode's definitions are on, and those that these import, directly or not."""
    imported: dict[str, set[str]] = {}
    for (page, _), other in origins().items():
        imported.setdefault(page, set()).add(other)
    waiting = [definition.module for _, definition in registry().opcodes[opcode].lines]
    found: set[str] = set()
    while waiting:
        page = waiting.pop()
        if page not in found:
            found.add(page)
            waiting += imported.get(page, ())
    return frozenset(found)


def pages_key(mutant: Mutant) -> str:
    """A digest of the mutant and of the definitions that its judgement depends on."""
    pages = sorted(frozenset().union(*map(_pages_of, graph().opcodes(mutant))))
    return _digest((mutant.id, [(page, _text_digest(page)) for page in pages]))


def claims_key(mutant: Mutant) -> str:
    """A digest of the identities about its opcodes, and of the laws about its function: more of them may notice it."""
    opcodes = graph().opcodes(mutant)
    own = [_claim_key(c) for c in load_all() if c.expected == "proved" and c.opcodes & opcodes]
    return _digest(own + [by_laws.key(law) for law in by_laws.about(mutant)])


def _claim_key(claim: Any) -> str:
    return _digest((*claim[:5], *((claim.buffers, claim.warp) if claim.buffers or claim.warp else ())))


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _deciding(mutant: Mutant, by: str, name: str) -> str:
    """A digest of the claims that a judgement rests on: of the one that noticed the mutant, else of all there are about it; "" if
    that one is gone."""
    if by == "identity":
        return next((_claim_key(c) for c in load_all() if c.title == name), "")
    if by == "law":
        return next((_digest(by_laws.key(law)) for law in by_laws.about(mutant) if law.sentence == name), "")
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
    where: Where = Where(),
) -> dict[str, dict[str, Any]]:
    """By the mutants' ids, what is kept of each: as `known` has it where that holds still, else judged now, by whom `where`
    says."""
    wanted = list(mutants)
    found: dict[str, dict[str, Any]] = {m.id: dict(known[m.id]) for m in wanted if is_known(m, known.get(m.id))}
    missing = [(m, _told_before(m, known.get(m.id))) for m in wanted if m.id not in found]
    missing.sort(key=lambda item: item[0].id[-8:])  # pages take turns, so that what is done first tells of the rest
    for number, (mutant, judgement, seconds) in enumerate(_judged(missing, where), 1):
        row = found[mutant.id] = _row(mutant, judgement, seconds)
        if progress is not None:
            progress(number, len(missing), mutant, row)
    return {m.id: {**found[m.id], "place": str(m)} for m in wanted}


def _judged(missing: Sequence[tuple[Mutant, Before]], where: Where) -> Iterator[tuple[Mutant, Judgement, float]]:
    """The judgements on mutants and the seconds they took, as they are made; a single one is made here."""
    if len(missing) <= 1 and where.scheduler is None:
        yield from map(_one, missing)
        return
    by_name = {mutant.id: mutant for mutant, _ in missing}
    for name, reply, _ in campaigns.run(_one, ((item[0].id, item) for item in missing), where):
        if reply.kind == "done":
            yield reply.value
        else:  # of the campaign, too: the machine has no memory left, perhaps
            yield by_name[name], Judgement(UNDECIDED, FAILED, reply.kind, reply.message[:200]), 0.0


class Before(NamedTuple):
    """What was found of a mutant the last time: what decided, and the judgement if it holds but for the claims."""

    hint: Hint = Hint()
    stands: Judgement | None = None


def _told_before(mutant: Mutant, row: Mapping[str, Any] | None) -> Before:
    if row is None:
        return Before()
    holds = row["pages"] == pages_key(mutant) and row["status"] == KILLED and row["by"] not in CLAIMS
    judgement = Judgement(*(row[part] for part in Judgement._fields)) if holds else None
    return Before(_hint(row), judgement)


def _hint(row: Mapping[str, Any]) -> Hint:
    return Hint(row["by"], row["name"])


def _row(mutant: Mutant, judgement: Judgement, seconds: float) -> dict[str, Any]:
    """What is kept of a judgement."""
    claims = _deciding(mutant, judgement.by, judgement.name)
    kept = {"seconds": round(seconds, 1), "pages": pages_key(mutant), "claims": claims}
    return {"place": str(mutant), **judgement._asdict(), **kept}


def _one(item: tuple[Mutant, Before]) -> tuple[Mutant, Judgement, float]:
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
