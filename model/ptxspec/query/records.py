"""What is kept of a question and its answer in files: the query as SMT-LIB, a kernel that shows a counterexample, and a
certificate
from which the verdict can be checked again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ptxspec import storage
from ptxspec.files import write_whole
from ptxspec.query import witness
from ptxspec.query.equivalence import prove
from ptxspec.query.fragments import Unsupported
from ptxspec.query.questions import question
from ptxspec.query.solvers import Solver, bitwuzla_solver, kept, portfolio
from ptxspec.query.solvers.journal import Query, journal
from ptxspec.query.verdicts import Verdict

#: raise it when the fields of a certificate change
FORMAT = 1
#: seconds for a second solver's opinion
SECOND = 10.0
#: what is no part of a question
_NOT_ASKED = ("progress", "timeout", "solver")


class Checked(NamedTuple):
    """Whether a certificate still stands, and in words what was checked, or what does not hold. `notes` are pages that changed
    without changing the query.

    >>> from ptxspec.query import records
    >>> record = records.recorded("shl.b32 d, a, 1;", "add.u32 d, a, a;")
    >>> records.check(records.certificate(record)).holds
    True
    """

    holds: bool
    said: str
    notes: tuple[str, ...] = ()


class Record(NamedTuple):
    """A question (the arguments of `prove`), what came of it, and the queries that were put to solvers."""

    question: dict[str, Any]
    timeout: float
    verdict: Verdict
    queries: list[Query]


def recorded(left: str, right: str, **options: Any) -> Record:
    """Ask as `prove` does, and record what solvers were asked."""
    with journal() as queries:
        verdict = prove(left, right, **options)
    asked = {"left": left, "right": right, **{k: v for k, v in options.items() if k not in _NOT_ASKED}}
    return Record(asked, options.get("timeout", 60.0), verdict, queries)


def prove_and_write(
    left: str,
    right: str,
    *,
    smtlib: str | Path | None = None,
    ptx: str | Path | None = None,
    certificate: str | Path | None = None,
    **options: Any,
) -> Verdict:
    """Ask as `prove` does, and write files. Raises OSError before anything is asked if one cannot be written."""
    files = [Path(file) for file in (smtlib, ptx, certificate) if file is not None]
    for file in files:
        storage.check_writable(file)
    record = recorded(left, right, **options)
    if smtlib is not None:
        write_whole(Path(smtlib), smtlib_text(record).encode())
    if ptx is not None and record.verdict.counterexample is not None:
        write_whole(Path(ptx), ptx_text(record).encode())
    if certificate is not None:
        write_whole(Path(certificate), json.dumps(_certificate(record), indent=1).encode())
    return record.verdict


def smtlib_text(record: Record) -> str:
    """The query as standard SMT-LIB 2, with the claim in words as a comment. It asks for inputs that refute the claim."""
    said = _words(record)
    if not record.queries:
        said += ["Both sides are the same term, or the question could not be put: no solver was asked."]
        body = "(set-logic QF_BV)\n(assert false)\n" if record.verdict.status == "proved" else ""
        if not body:
            raise Unsupported(f"there is no query: {record.verdict.reason}")
    else:
        query = record.queries[0]
        said += [f"The script asks for {query.purpose}: unsat proves the claim.", *_legend(query.text)]
        body = query.text
    return "".join(f"; {line}\n" for line in said) + body + "(check-sat)\n(exit)\n"


def _words(record: Record) -> list[str]:
    asked = record.question
    said = record.verdict.statement.words() if record.verdict.statement is not None else []
    for side in ("left", "right"):
        said += [f"{side.capitalize()}:", *(f"  {line.strip()}" for line in asked[side].strip().splitlines())]
    return said + [f"{k.capitalize()}: {v}" for k, v in asked.items() if k not in ("left", "right") and v is not None]


def _legend(text: str) -> list[str]:
    found = ["The constant in.NAME is what the register NAME holds."]
    if "\n(declare-const open." in text:
        found += [
            "The constant open.N.ENTRY is a result that PTX leaves open, and open.N.ENTRY.K its operand K: where two"
            " of one freedom have equal operands, they are equal."
        ]
    if "\n(declare-const bits." in text:
        found += ["The constant bits.T has the bits of the floating-point number T, and any bits of a NaN if T is one."]
    return found


def ptx_text(record: Record) -> str:
    """A kernel that shows the counterexample. Raises Unsupported without one."""
    found = record.verdict.counterexample
    if found is None:
        raise Unsupported(f"there is no counterexample to show: {record.verdict.status}")
    sides, _, _ = question(record.question["left"], record.question["right"])
    return witness.kernel(sides, found)


def certificate(record: Record) -> dict[str, Any]:
    """What is needed to check a verdict again, as a value for JSON. Raises Unsupported for a verdict that settles nothing.

    >>> from ptxspec.query import records
    >>> found = records.certificate(records.recorded("neg.s32 d, a;", "not.b32 d, a;"))
    >>> found["verdict"]["status"], found["question"]["left"]
    ('refuted', 'neg.s32 d, a;')
    """
    return _certificate(record)


def _certificate(record: Record) -> dict[str, Any]:
    from ptxspec import __version__

    verdict = record.verdict
    if verdict.status not in ("proved", "refuted", "exhausted", "vacuous"):
        raise Unsupported(
            f"a certificate is of a verdict that settles the question: {verdict.status}: {verdict.reason}"
        )
    return {
        "format": FORMAT,
        "ptxspec": __version__,
        "question": record.question,
        "timeout": record.timeout,
        "pages": _pages(record.question),
        "queries": [{**q._asdict(), "agreed": _agreeing(q)} for q in record.queries],
        "verdict": verdict.as_dict(),
    }


def _pages(asked: Mapping[str, Any]) -> dict[str, str]:
    """The pages of the instructions of both sides, each with its digest."""
    from ptxspec.literate.finder import DOCUMENTS

    sides, _, _ = question(asked["left"], asked["right"])
    pages = sorted({step.page for side in sides for step in side.steps})
    return {page: hashlib.sha256((DOCUMENTS / page).read_bytes()).hexdigest() for page in pages}


def _constants(text: str) -> dict[str, int]:
    """The constants that a script declares, with their widths."""
    found = {}
    for line in text.splitlines():
        if line.startswith("(declare-const "):
            name, sort = line[len("(declare-const ") : -1].split(" ", 1)
            found[name] = 0 if sort == "Bool" else int(sort.rstrip(")").split()[-1])
    return found


def _agreeing(query: Query) -> list[str]:
    """The solvers, with their versions, that give a query the same answer within a short time."""
    found = []
    names: tuple[Solver, ...] = ("z3", "bitwuzla") if bitwuzla_solver.is_installed() else ("z3",)
    for name in names:
        said = portfolio.ask(query.text, _constants(query.text), SECOND, "QF_BVFP" in query.text, name)
        if said.status == query.status and said.is_settled:
            found.append(said.by)
    return found


def check(made: Mapping[str, Any], timeout: float | None = None) -> Checked:
    """Check a certificate again: the definitions that there are now have to make the same query of the question, and
    the verdict has to be reached anew, without any answer that was kept. Inputs that refute are replayed as they are.
    Raises ValueError for what is no certificate."""
    if made.get("format") != FORMAT or not isinstance(made.get("question"), dict):
        raise ValueError(f"no certificate of format {FORMAT}")
    asked, was = dict(made["question"]), made["verdict"]
    begun = time.monotonic()
    limit = timeout or made["timeout"]
    with kept.kept_at(None):
        if was["status"] == "refuted":
            again = recorded(**asked, timeout=limit)
            narrowed = recorded(
                **{**asked, "assume": _narrowed(asked.get("assume"), was["counterexample"])}, timeout=limit
            )
            status = narrowed.verdict.status
        else:
            solver: Solver = "portfolio" if bitwuzla_solver.is_installed() else "z3"
            again = recorded(**asked, timeout=limit, solver=solver)
            status = again.verdict.status
    notes = tuple(_changed_pages(made))
    changed = _changed(made["queries"], again.queries)
    if changed:
        return Checked(False, f"the definitions make another query of the question: {changed}", notes)
    if status != was["status"]:
        return Checked(False, f"the verdict was {was['status']}, and is {status} now", notes)
    return Checked(True, f"{status} again, on the same query, in {time.monotonic() - begun:.1f} s", notes)


def _narrowed(assume: str | None, counterexample: Mapping[str, Any]) -> str:
    """The assumption that the inputs are those of a counterexample."""
    parts = [f"({assume})"] if assume else []
    for name, shown in counterexample["inputs"].items():
        value = shown.get("predicate")
        parts.append(f"{name} == {shown['unsigned']}" if value is None else name if value else f"not {name}")
    return " and ".join(parts)


def _changed(before: list[Mapping[str, Any]], now: list[Query]) -> str:
    """The purpose of the first query whose script is another one, of those that are asked for each purpose first; or nothing. A
    script that is asked later may depend on a solver's model."""
    first: dict[str, str] = {q["purpose"]: q["text"] for q in reversed(before)}
    other = {q.purpose: q.text for q in reversed(now)}
    for purpose in dict.fromkeys((*first, *other)):
        if first.get(purpose) != other.get(purpose):
            return purpose
    return ""


def _changed_pages(made: Mapping[str, Any]) -> list[str]:
    now = _pages(made["question"])
    return [f"{page} is another than it was" for page, digest in made["pages"].items() if now.get(page) != digest]
