"""The judgement on one mutant: by the claims, else by the oracles, else by whether it means the same."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ptxspec.base.places import DOCUMENTS
from ptxspec.language.forms import Form
from ptxspec_workshop.mutation import by_identities, by_laws, by_oracles, by_tests, sameness, score
from ptxspec_workshop.mutation.isolated import Ended, call
from ptxspec_workshop.mutation.meanings import FormVariant, Leaves, cases, leaves, some
from ptxspec_workshop.mutation.mutants import Mutant
from ptxspec_workshop.mutation.planting import planted
from ptxspec_workshop.mutation.reach import graph

#: seconds of computing that a mutant may take
SECONDS = 120
#: forms of a mutant on which oracles are tried, and forms up to which sameness is asked for
FORMS, MOST = 160, 10000
KILLED, EQUIVALENT, SURVIVOR, UNDECIDED = "killed", "equivalent", "survivor", "undecided"
#: what decides without a chip: the claims under proofs/, and those on the pages of functions
CLAIMS = score.CLAIMS
#: what decides where one of the project's tests does
TEST = "test"


class Judgement(NamedTuple):
    """What became of a mutant: "killed", "equivalent", "survivor", or "undecided" (not killed, and not proved to mean the same in
    the time there was). `by` is what decided: "identity", "law", "construction", "example", "recorded answer", "recorded lookup",
    "test", "proof", "same terms"; `name` says which, `shown` gives operands or an error."""

    status: str
    by: str = ""
    name: str = ""
    shown: str = ""


class PriorEvidence(NamedTuple):
    """What decided about a mutant the last time."""

    by: str = ""
    name: str = ""


def judge(mutant: Mutant, hint: PriorEvidence | None = None, seconds: int = SECONDS) -> Judgement:
    """The judgement on a mutant. It is made in processes of their own: nothing of the mistake stays in this one. The tests, which
    take longest, are asked last, about what all the others left."""
    hint = hint or PriorEvidence()
    if hint.by == TEST:
        noticed = by_tests.noticed(mutant, hint.name)
        if noticed is not None and noticed.name == hint.name:
            claimed = judge_by_claims(mutant, seconds)
            return claimed or _by_test(noticed)
    judgement = _before_tests(mutant, hint, seconds)
    if judgement.status in (SURVIVOR, UNDECIDED):
        noticed = by_tests.noticed(mutant)
        return judgement if noticed is None else _by_test(noticed)
    return judgement


def _by_test(noticed: by_tests.FailedTest) -> Judgement:
    return Judgement(KILLED, TEST, noticed.name, noticed.shown.replace(f"{DOCUMENTS}/", "")[:300])


def _before_tests(mutant: Mutant, hint: PriorEvidence, seconds: int) -> Judgement:
    _prepare_claims()
    forms = graph().forms(mutant)
    by_oracles.prepare(forms)
    built = mmap.mmap(-1, 1)  # shared with the other process: 1 as soon as all definitions have been evaluated
    try:
        return call(lambda: _judge(mutant, forms, hint, built), seconds)
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
        judgement = call(lambda: _by_claims(mutant, PriorEvidence()), seconds)
    except Ended:
        return None
    return judgement if judgement is not None and judgement.by in CLAIMS else None


def _prepare_claims() -> None:
    """Have the claims in terms, as the definitions are without a mistake, and once for all mutants."""
    by_identities.claims()
    by_laws.laws()


def _judge(mutant: Mutant, forms: Sequence[Form], hint: PriorEvidence, built: mmap.mmap) -> Judgement:
    judgement = _by_claims(mutant, hint)
    if judgement is not None:
        return judgement
    chosen = cases(_few(forms, hint), False)
    was = [leaves(case.meaning) for case in chosen]
    with planted(mutant):
        try:
            now = [leaves(case.meaning) for case in chosen]
        except Exception as error:
            return _broken(error)
        built[0] = 1
        judgement = _without_claims(mutant, list(zip(chosen, was, now, strict=True)))
    return judgement or _same(mutant, forms)


def _by_claims(mutant: Mutant, hint: PriorEvidence) -> Judgement | None:
    """What an identity or a law says; or that a definition in one of them cannot be evaluated."""
    with planted(mutant):
        called = graph().shortcuts(mutant)
        try:
            first = hint.name if hint.by == "identity" else None
            noticed = by_identities.noticed(
                graph().opcodes(mutant), called, first, lambda function: graph().reaches(function, mutant)
            )
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


def _without_claims(mutant: Mutant, triples: Sequence[tuple[FormVariant, Leaves, Leaves]]) -> Judgement | None:
    """What an oracle says, with the mistake in place; else operands on which a form means something else."""
    touched = [case for case, was, now in triples if sameness.touched(mutant, was, now)]
    try:
        noticed = _noticed(touched)
    except Exception as error:  # a kernel that cannot be run, a definition that cannot be evaluated
        return Judgement(KILLED, "error", type(error).__name__, _text(error))
    if noticed is not None:
        return Judgement(KILLED, noticed.kind, noticed.name, noticed.shown[:300])
    difference = sameness.by_operands(sameness.pairs_of(mutant, triples) or [])
    return _survivor(difference) if difference is not None else None


def _few(forms: Sequence[Form], hint: PriorEvidence) -> list[Form]:
    """Some of the forms, of each definition and opcode as many; the one that told the last time first."""
    groups: dict[Any, list[Form]] = {}
    for form in forms:
        groups.setdefault((form.definition, form.syntax.opcode), []).append(form)
    most = max(4, FORMS // max(1, len(groups)))
    few = [form for group in groups.values() for form in some(group, most)]
    return sorted(few, key=lambda form: str(form) != hint.name)


def _noticed(touched: Sequence[FormVariant]) -> by_oracles.Noticed | None:
    """What an oracle says of the forms that are touched."""
    pages = dict.fromkeys(case.form.definition.module for case in touched)
    return by_oracles.examples(pages) or by_oracles.recorded(touched) or by_oracles.looked_up(touched)


def _survivor(difference: sameness.MeaningDifference) -> Judgement:
    operands = ", ".join(f"{n} = {int(v):#x}" for n, v in difference.operands.items())
    return Judgement(
        SURVIVOR, "", difference.form, f"{operands}: {difference.was:#x} as it is, {difference.now:#x} with the mistake"
    )


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
        difference = sameness.by_operands(pairs) or sameness.by_solver(pairs)
    if isinstance(difference, sameness.MeaningDifference):
        return _survivor(difference)
    if difference:
        return Judgement(EQUIVALENT, "proof", f"{len(pairs)} pairs of terms")
    return Judgement(UNDECIDED, "", "", "no proof that it means the same")
