"""Tempting readings against the definitions: the prover's verdict, what both sides compute, and what a GPU answered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.operand_rows import table_of
from ptxspec.evidence.kernels.signatures import inputs_of
from ptxspec.language.forms import Form, registry
from ptxspec.query.equivalence import prove
from ptxspec.query.evaluate import evaluate
from ptxspec.query.fragments import read_fragment
from ptxspec_workshop.disputes.claims import Dispute
from ptxspec_workshop.record.families import FUNCTIONS

#: the machine whose answers are recorded
PROFILE = "hopper"


class JudgedReading(NamedTuple):
    """`status` is the prover's verdict on the two being the same, with the operands that it found; `right` and `wrong` are what
    the fragment and the reading leave in the registers that both write, for the operands of the page. If `form` was recorded,
    `operands` counts the recorded operands, `telling` those for which the two differ, and `agree` and `as_reading` the answers
    among these that are as the definition and as the reading say."""

    status: str
    counterexample: dict[str, int]
    right: dict[str, int]
    wrong: dict[str, int]
    form: str = ""
    operands: int = 0
    telling: int = 0
    agree: int = 0
    as_reading: int = 0


def judged(claim: Dispute, seconds: float = 60.0) -> JudgedReading:
    """What is to be said of a dispute."""
    verdict = prove(claim.ptx, claim.reading, assume=claim.assume, timeout=seconds, compare=["*"], nan="payloads")
    counterexample = verdict.counterexample
    inputs = {} if counterexample is None else {name: int(value) for name, value in counterexample.inputs.items()}
    right, wrong = values(claim)
    return JudgedReading(str(verdict.status), inputs, right, wrong)._replace(**_recorded(claim))


def values(claim: Dispute) -> tuple[dict[str, int], dict[str, int]]:
    """What the fragment and the reading leave for the page's operands, in the registers that both write."""
    sides = [_results(text, dict(claim.at)) for text in (claim.ptx, claim.reading)]
    both = [name for name in sides[0] if name in sides[1]]
    right, wrong = ({name: int(side[name]) for name in both} for side in sides)
    return right, wrong


def _results(text: str, operands: dict[str, Any]) -> dict[str, Any]:
    """The registers that a fragment leaves, of those operands that it reads. A predicate's operands are truth values."""
    fragment = read_fragment(text)
    inputs = {}
    for name in fragment.inputs:
        value = operands[name]
        is_predicate = fragment.registers[name].kind == "pred"
        inputs[name] = np.asarray(value, bool) if is_predicate and np.ndim(value) else value
    return dict(evaluate(text, inputs, profile=PROFILE))


def recorded_form(text: str) -> Form | None:
    """The form of an instruction that a GPU was asked about, if the text is one."""
    kept = FUNCTIONS.read()
    if kept is None or text not in kept.values:
        return None
    opcode = registry().opcodes[text.split(".")[0]]
    return next((form for form in opcode.forms if str(form) == text), None)


def _recorded(claim: Dispute) -> dict[str, Any]:
    """What the record says of a dispute about one instruction, by the names of Judged's fields."""
    form = recorded_form(claim.ptx)
    kept = FUNCTIONS.read()
    if form is None or kept is None:
        return {}
    meaning = form.meaning()
    table = table_of(form, meaning)
    operands: dict[str, Any] = {
        name: np.array([row[i] for row in table], np.uint64) for i, (name, _) in enumerate(inputs_of(meaning))
    }
    answers = kept.values[claim.ptx][:, 0].astype(np.uint64)
    right_results, wrong_results = _results(claim.ptx, operands), _results(claim.reading, operands)
    result = next(name for name in right_results if name in wrong_results)
    right, wrong = (
        np.broadcast_to(np.asarray(side[result]).astype(np.uint64), answers.shape)
        for side in (right_results, wrong_results)
    )
    telling = right != wrong
    counts = {
        "operands": len(table),
        "telling": int(telling.sum()),
        "agree": int((telling & (answers == right)).sum()),
        "as_reading": int((telling & (answers == wrong)).sum()),
    }
    return {"form": claim.ptx, **counts}
