"""One seed put to a target: whether what comes of it is allowed, and if not, the smallest case that fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ptxspec.language.check import check
from ptxspec.language.diagnostics import PtxError
from ptxspec.machine.errors import LaunchError
from ptxspec_workshop.fuzz import cases
from ptxspec_workshop.fuzz.behaviours import JudgedAnswer, judged, reference
from ptxspec_workshop.fuzz.cases import FuzzCase
from ptxspec_workshop.fuzz.targets import Target, TargetAnswer
from ptxspec_workshop.generate.fuzzing.layout import CELL_NAMES, CELLS

#: cells of an answer that are shown
SHOWN = 8
#: words are taken from texts that are no longer than this
SHORT = 4000


#: the fields of a finding as JSON has it, with their types
FINDING = {
    "seed": int,
    "kind": Literal["differs", "refused", "crashed", "hung"],
    "who": list[str],
    "message": str,
    "kernel": str,
    "text": str,
    "statements": list[str],
    "cells": list[dict[str, Any]],
    "pages": list[str],
    "expected": list[str] | None,
    "got": list[str] | None,
}


class Job(NamedTuple):
    """A seed, who is asked, in how many seconds each time, and how many there are to make a failing case small."""

    seed: int
    target: Target
    limit: float = 20.0
    patience: float = 60.0


class WrongAnswers(NamedTuple):
    """What is wrong with answers to a case. `kind` is "differs", "refused", "crashed" or "hung", `who` are the levels, `cells`
    the first cells that differ, `expected` and `got` the rows of the first who differs."""

    kind: str
    who: tuple[str, ...]
    message: str
    cells: list[dict[str, Any]]
    expected: np.ndarray | None = None
    got: np.ndarray | None = None

    @property
    def signature(self) -> tuple[Any, ...]:
        """What stays the same while the case is made smaller: numbers and names in a message need not."""
        return self.kind, self.who, re.sub(r"line \d+|'[^']*'|0x[0-9a-f]+|[%$]?\w*\d\w*|\W+", " ", self.message)[:200]


class CaseResult(NamedTuple):
    """A case that was put to a target: what is wrong, if anything, how many answers were executed, and how many cells of these
    nobody can judge."""

    difference: WrongAnswers | None
    executed: int
    undecided: int


def judge(job: Job) -> dict[str, Any]:
    """What came of a seed, as JSON has it: how many answers were executed, how many cells nobody can judge, and the
    finding, if there is one (see `finding`)."""
    case = cases.of_seed(job.seed)
    seen = look(case, job.target, job.limit)
    report: dict[str, Any] = {"executed": seen.executed, "cells_not_judged": seen.undecided, "finding": None}
    if seen.difference is not None:
        report["finding"] = finding(job, case, seen.difference)
    return report


def look(case: FuzzCase, target: Target, limit: float) -> CaseResult:
    """Put a case to a target. Raises PtxError for one that the definitions do not accept, ValueError for one without its entry of
    two parameters, and LaunchError for one that breaks a rule as it runs: a target that runs it may do anything then."""
    kernel = check(case.text).kernels.get(case.name)
    if kernel is None or len(kernel.parameters) != 2:
        raise ValueError(f"the module has no entry {case.name} of two parameters")
    expected = reference(case) if target.executes else None
    answers = target.ask(case, limit)
    failed = [a for a in answers if a.kind not in ("left", "accepted")]
    executed = [a for a in answers if a.memory is not None]
    if failed:
        same = tuple(a.who for a in failed if a.kind == failed[0].kind)
        return CaseResult(WrongAnswers(failed[0].kind, same, failed[0].message, []), len(executed), 0)
    if expected is None or not executed:
        return CaseResult(None, 0, 0)
    judgements = judged(case, expected, [a.memory for a in executed if a.memory is not None])
    undecided = sum(int(judgement.open.sum()) for judgement in judgements)
    wrong = [(a, judgement) for a, judgement in zip(executed, judgements, strict=True) if judgement.wrong.any()]
    return CaseResult(_differing(wrong) if wrong else None, len(executed), undecided)


def _differing(wrong: Sequence[tuple[TargetAnswer, JudgedAnswer]]) -> WrongAnswers:
    answer, first = wrong[0]
    assert answer.memory is not None
    cells = [
        {
            "thread": int(thread),
            "cell": (CELL_NAMES[cell] if first.wrong.shape[1] == CELLS else "") or str(cell),
            "expected": hex(int(first.expected[thread, cell])),
            "got": hex(int(answer.memory[thread, cell])),
        }
        for thread, cell in np.argwhere(first.wrong)[:SHOWN]
    ]
    count, threads = int(first.wrong.sum()), int(first.wrong.any(axis=1).sum())
    message = f"{count} cells of {threads} threads are not what the definitions allow"
    return WrongAnswers("differs", tuple(a.who for a, _ in wrong), message, cells, first.expected, answer.memory)


def finding(job: Job, case: FuzzCase, difference: WrongAnswers) -> dict[str, Any]:
    """A finding as JSON has it: its kind, the levels, the message, the smallest case that fails in the same way with the cells
    that differ, and the lines of the documents that define its instructions."""
    end = time.monotonic() + job.patience
    # one that hangs need not be waited for as long again and again
    limit = max(2.0, job.limit / 5) if difference.kind == "hung" else job.limit
    signature = _without_counts(difference)

    def fails(other: FuzzCase) -> bool:
        try:
            seen = look(other, job.target, limit)
        except (PtxError, LaunchError, ValueError):  # what was taken away was needed
            return False
        return seen.difference is not None and _without_counts(seen.difference) == signature

    small = cases.smaller(job.seed, fails, job.patience) if job.patience else case
    if (
        difference.kind != "differs" and job.patience
    ):  # what it means does not matter: any text that is accepted will do
        small = cases.with_fewer_lines(small, fails, end)
        if len(small.text) < SHORT:
            small = cases.with_fewer_words(small, fails, end)
    last = look(small, job.target, job.limit).difference or difference
    return {
        "seed": job.seed,
        "kind": last.kind,
        "who": list(last.who),
        "message": last.message,
        "kernel": small.name,
        "text": small.text,
        "statements": _statements(small.text),
        "cells": last.cells,
        "pages": pages(small),
        "expected": None if last.expected is None else _rows(last.expected),
        "got": None if last.got is None else _rows(last.got),
    }


def _without_counts(difference: WrongAnswers) -> tuple[Any, ...]:
    return difference.signature[:2] if difference.kind == "differs" else difference.signature


def _rows(cells: np.ndarray) -> list[str]:
    """A text for each thread: its cells as hexadecimal digits, the first cell first."""
    return ["".join(f"{int(cell):016x}" for cell in row) for row in cells]


def _statements(text: str) -> list[str]:
    """What is left of the program itself, without what loads and stores its registers, and without directives."""
    inner = re.search(r"// the program\n(.*?)\n?FINISH:", text, re.S)
    lines = [line.strip() for line in (inner[1] if inner else text).splitlines()]
    frame = (".reg", "//") if inner else (".", "//", "{", "}")
    return [line for line in lines if line and not line.startswith(frame)]


def pages(case: FuzzCase) -> list[str]:
    """The places in the documents that define the instructions of a case and of the functions that it calls: "spec/….md:line",
    each one once. What only loads and stores registers is not of the case."""
    checked = check(case.text)
    text = " ".join(_statements(case.text))
    forms = [op.plan.form for op in checked.kernels[case.name].code]
    addresses = {form.page for form in forms if re.search(rf"\b{form.syntax.opcode}\b", text)}
    return sorted(addresses.union(op.plan.form.page for f in checked.functions.values() for op in f.code))
