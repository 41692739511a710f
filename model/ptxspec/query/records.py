"""What is kept of a question and its answer in files: the query as SMT-LIB, a kernel that shows a counterexample, and a
certificate from which the verdict can be checked again."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_type_hints

from ptxspec.base import strict
from ptxspec.base.files import check_writable, write_whole
from ptxspec.language.diagnostics import PtxError
from ptxspec.query import witness
from ptxspec.query.equivalence import posed, prove
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.solvers import Solver, kept
from ptxspec.query.solvers.journal import Query, journal
from ptxspec.query.verdicts import Verdict

#: raise it when the fields of a certificate change
FORMAT = 3
#: seconds that a certificate may ask for
MOST_SECONDS = 1e6
#: verdicts that settle a question
SETTLED = ("proved", "refuted", "exhausted", "vacuous")
#: what a query was answered, and what stands for no answer
ANSWERS, UNANSWERED = ("sat", "unsat"), "unanswered"
#: what is no part of a question
_NOT_ASKED = ("progress", "timeout", "solver", "smtlib", "ptx", "certificate")
_DIGEST, _VERSION = re.compile(r"[0-9a-f]{64}"), re.compile(r"\d+(\.\w+)*")


class CertificateCheck(NamedTuple):
    """Whether a certificate still stands, and in words what was checked, or what does not hold. `notes` are what changed without
    changing a query, such as a page; `statement` is the claim as it was computed from the question, in words.

    >>> from ptxspec.query import records
    >>> record = records.recorded("shl.b32 d, a, 1;", "add.u32 d, a, a;")
    >>> records.check(records.certificate(record)).holds
    True
    """

    holds: bool
    said: str
    notes: tuple[str, ...] = ()
    statement: tuple[str, ...] = ()


class ProofRecord(NamedTuple):
    """A question (the arguments of `prove`, with its defaults), what came of it, and the queries that were put to solvers."""

    question: dict[str, Any]
    timeout: float
    solver: Solver
    verdict: Verdict
    queries: list[Query]


def recorded(left: str, right: str, are_kept: bool = False, **options: Any) -> ProofRecord:
    """Ask as `prove` does, and record what solvers were asked. Answers that were kept are taken only if that is said: they may be
    others than solvers give now."""
    with journal() as queries, nullcontext() if are_kept else kept.kept_at(None):
        verdict = prove(left, right, **options)
    bound = inspect.signature(prove).bind(left, right, **options)
    bound.apply_defaults()
    given = bound.arguments
    question = {name: given[name] for name in given if name not in _NOT_ASKED}
    return ProofRecord(question, given["timeout"], given["solver"], verdict, queries)


def prove_and_write(
    left: str,
    right: str,
    *,
    smtlib: str | Path | None = None,
    ptx: str | Path | None = None,
    certificate: str | Path | None = None,
    **options: Any,
) -> Verdict:
    """Ask as `prove` does, and write files. Raises OSError before anything is asked if one cannot be written, and NotWritten
    afterwards."""
    for file in (smtlib, ptx, certificate):
        if file is not None:
            check_writable(Path(file))
    record = recorded(left, right, are_kept=certificate is None, **options)
    shown = ptx if record.verdict.counterexample is not None else None
    failed: list[str] = []
    for file, text in ((smtlib, smtlib_text), (certificate, _certificate_text), (shown, ptx_text)):
        if file is not None:
            try:
                write_whole(Path(file), text(record).encode())
            except (OSError, Unsupported) as why:
                failed.append(f"{file} is not written: {getattr(why, 'strerror', None) or why}")
    if failed:
        raise NotWritten(record.verdict, failed)
    return record.verdict


class NotWritten(OSError, Unsupported):
    """A file was not written after a question was decided: `verdict` is the answer."""

    def __init__(self, verdict: Verdict, failed: Sequence[str]):
        super().__init__("; ".join(failed))
        self.verdict = verdict


def smtlib_text(record: ProofRecord) -> str:
    """The query as standard SMT-LIB 2, with the claim in words as a comment. It asks for inputs that refute the claim."""
    comment = _words(record)
    if record.verdict.status == "unsupported" or record.verdict.witness is not None:
        raise Unsupported(f"there is no query: {record.verdict.reason}")
    if not record.queries:
        comment += ["Both sides are the same term, or the question could not be put: no solver was asked."]
        if record.verdict.status != "proved":
            raise Unsupported(f"there is no query: {record.verdict.reason}")
        body = "(set-logic QF_BV)\n(assert false)\n"
    else:
        query = record.queries[0]
        comment += [f"The script asks for {query.purpose}: unsat proves the claim.", *_legend(query.text)]
        body = query.text
    return "".join(f"; {line}\n" for line in comment) + body + "(check-sat)\n(exit)\n"


def _words(record: ProofRecord) -> list[str]:
    question = record.question
    lines = record.verdict.statement.words() if record.verdict.statement is not None else []
    for side in ("left", "right"):
        lines += [f"{side.capitalize()}:", *(f"  {line.strip()}" for line in question[side].strip().splitlines())]
    return lines + [
        f"{k.capitalize()}: {v}" for k, v in question.items() if k not in ("left", "right") and v is not None
    ]


def _legend(text: str) -> list[str]:
    lines = ["The constant in.NAME is what the register NAME holds."]
    if "\n(declare-const open." in text:
        lines += [
            "The constant open.N.ENTRY is a result that PTX leaves open, and open.N.ENTRY.K its operand K: where two"
            " of one freedom have equal operands, they are equal."
        ]
    if "\n(declare-const bits." in text:
        lines += ["The constant bits.T has the bits of the floating-point number T, and any bits of a NaN if T is one."]
    return lines


def ptx_text(record: ProofRecord) -> str:
    """A kernel that shows the counterexample. Raises Unsupported without one."""
    counterexample = record.verdict.counterexample
    if counterexample is None:
        raise Unsupported(f"there is no counterexample to show: {record.verdict.status}")
    return witness.kernel(posed(**record.question).sides, counterexample)


def _certificate_text(record: ProofRecord) -> str:
    return json.dumps(certificate(record), indent=1, allow_nan=False)


def certificate(record: ProofRecord) -> dict[str, Any]:
    """What is needed to check a verdict again, as a value for JSON. Raises Unsupported for a verdict that settles nothing.

    >>> from ptxspec.query import records
    >>> found = records.certificate(records.recorded("neg.s32 d, a;", "not.b32 d, a;"))
    >>> found["verdict"]["status"], found["question"]["left"]
    ('refuted', 'neg.s32 d, a;')
    """
    from ptxspec import __version__

    verdict = record.verdict
    if verdict.status not in SETTLED:
        why = "a certificate is of a verdict that settles the question"
        raise Unsupported(f"{why}: {verdict.status}: {verdict.reason}")
    made: dict[str, Any] = {
        "format": FORMAT,
        "ptxspec": __version__,
        "question": record.question,
        "timeout": record.timeout,
        "solver": record.solver,
        "pages": _pages(record.question),
        "queries": _queries(record),
        "verdict": _claimed(verdict),
    }
    return {name: strict.plain(part) for name, part in made.items()}


def _claimed(verdict: Verdict) -> dict[str, Any]:
    """The fields of a verdict that follow from the question: neither how long it took nor who answered."""
    return {n: strict.plain(v) for n, v in verdict.as_dict().items() if n not in ("reason", "seconds")}


def _queries(record: ProofRecord) -> list[dict[str, str]]:
    """The queries that a certificate has. A proof rests on all that were asked. A counterexample and a run of all inputs stand
    for themselves, and have the first query alone. The first script of a purpose depends on the question alone; those after it
    may depend on a model, which solvers in parallel need not give again."""
    statuses: dict[tuple[str, str], str] = {}
    for query in record.queries:
        before = statuses.get((query.purpose, query.text), UNANSWERED)
        statuses[query.purpose, query.text] = query.status if query.status in ANSWERS else before
    made = [{"purpose": p, "text": t, "status": status} for (p, t), status in statuses.items()]
    if record.verdict.status in ("refuted", "exhausted"):
        return made[:1]
    if record.solver == "portfolio":
        return list({query["purpose"]: query for query in reversed(made)}.values())[::-1]
    return made


def _pages(question: Mapping[str, Any]) -> dict[str, str]:
    """The pages of the instructions of both sides, each with its digest."""
    from ptxspec.base.places import DOCUMENTS

    pages = sorted({step.page for side in posed(**question).sides for step in side.steps})
    return {page: hashlib.sha256((DOCUMENTS / page).read_bytes()).hexdigest() for page in pages}


class Certificate(NamedTuple):
    """A certificate, of which it is known that each field has its type. Nothing in it is believed."""

    format: int
    ptxspec: str
    question: dict[str, Any]
    timeout: float
    solver: Solver
    pages: dict[str, str]
    queries: list[Any]
    verdict: dict[str, Any]


def read(made: Any) -> Certificate:
    """A certificate from a value for JSON: all of its fields, and no others. Raises ValueError that names the field."""
    if not isinstance(made, dict) or type(made.get("format")) is not int or made["format"] != FORMAT:
        raise ValueError(f"no certificate of format {FORMAT}")
    try:
        fields = strict.fields(made, get_type_hints(Certificate))
        hints = {n: kind for n, kind in get_type_hints(prove).items() if n not in (*_NOT_ASKED, "return")}
        fields["question"] = strict.fields(fields["question"], hints, "question")
        for i, query in enumerate(fields["queries"]):
            strict.fields(
                query, {"purpose": str, "text": str, "status": Literal["sat", "unsat", "unanswered"]}, f"queries[{i}]"
            )
        if not 0 < fields["timeout"] <= MOST_SECONDS:
            raise ValueError(f"timeout is no number of seconds up to {MOST_SECONDS:.0f}")
        for page, digest in fields["pages"].items():
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"pages.{page[:60]} is no digest")
        if not _VERSION.fullmatch(fields["ptxspec"]):
            raise ValueError("ptxspec is no version")
    except ValueError as why:
        raise ValueError(f"no certificate: {why}") from None
    return Certificate(**fields)


def check(made: Any, timeout: float | None = None) -> CertificateCheck:
    """Check a certificate again: all that it says is computed from its question, without any answer that was kept. The
    definitions that there are now have to make the same queries, the solver to answer them alike, and the verdict to be the same,
    of the same statement. Inputs that refute are replayed as they are. Raises ValueError for what is no certificate."""
    from ptxspec import __version__

    given = read(made)
    begun = time.monotonic()
    limit = timeout or given.timeout
    try:
        again = recorded(**given.question, timeout=limit, solver=given.solver)
        now = _claimed(again.verdict)
        pages = _pages(given.question)
    except (ValueError, Unsupported, PtxError) as why:
        return CertificateCheck(False, f"the question cannot be put: {why}")
    statement = tuple(again.verdict.statement.words()) if again.verdict.statement is not None else ()
    notes = [f"it was made by ptxspec {given.ptxspec}"] if given.ptxspec != __version__ else []

    def fails(why: str) -> CertificateCheck:
        return CertificateCheck(False, why, tuple(notes), statement)

    for was, query in zip_longest(given.queries, _queries(again)):
        if was is None or query is None or (was["purpose"], was["text"]) != (query["purpose"], query["text"]):
            return fails(f"the definitions make another query of the question: {(query or was)['purpose']}")
    status = given.verdict.get("status")
    if status not in SETTLED or now["status"] != status:
        return fails(f"the verdict was {status}, and is {now['status']} now")
    for was, query in zip(given.queries, _queries(again), strict=True):
        if was["status"] == UNANSWERED != query["status"]:
            notes.append(f"a query that no solver answered is {query['status']} now: {query['purpose']}")
        elif was["status"] != query["status"]:
            return fails(f"a query was {was['status']}, and is {query['status']} now: {query['purpose']}")
    if list(given.pages) != list(pages):
        return fails("the instructions are described by other pages")
    notes += [f"{page} is another than it was" for page in pages if pages[page] != given.pages[page]]
    wrong = strict.difference(given.verdict, now, "verdict")
    if wrong and status == "refuted":
        wrong = _unlike(given, now, limit) or ""
    if wrong:
        return fails(f"the certificate says something else: {wrong}")
    summary = f"{status} again, on the same queries, in {time.monotonic() - begun:.1f} s"
    return CertificateCheck(True, summary, tuple(notes), statement)


def _unlike(given: Certificate, now: dict[str, Any], limit: float) -> str:
    """How a refutation differs from what its own inputs give, as the solver may find others; "" if it does not."""
    try:
        parts = [f"({given.question['assume']})"] if given.question["assume"] else []
        for name, shown in given.verdict["counterexample"]["inputs"].items():
            value = shown.get("predicate")
            parts.append(f"{name} == {int(shown['unsigned'])}" if value is None else name if value else f"not {name}")
        narrowed = recorded(**{**given.question, "assume": " and ".join(parts)}, timeout=limit, solver=given.solver)
    except (ValueError, LookupError, TypeError, AttributeError, Unsupported, PtxError):
        return strict.difference(given.verdict, now, "verdict")
    if narrowed.verdict.status != "refuted":
        return f"its inputs do not refute the claim: the verdict on them is {narrowed.verdict.status}"
    shown = {**now, "counterexample": _claimed(narrowed.verdict)["counterexample"]}
    return strict.difference(given.verdict, shown, "verdict")
