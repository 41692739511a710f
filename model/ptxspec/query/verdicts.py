"""What comes of a question to the prover: a verdict, and the counterexample that shows it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec.base.options import Status
from ptxspec.query.evaluate import readings
from ptxspec.query.statement import Statement
from ptxspec.terms.types import Type


class TraceStep(NamedTuple):
    """An instruction of one side: its text, the document and line that define it, and the registers that it wrote, as bits, or as
    a sentence for a result that is open. `types` has the types of these results. `guard` is its guard predicate, with "!" if it
    is negated, or None. `executed` is False if the guard was false; `writes` then has the registers' old values.

    >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5")
    >>> step = verdict.counterexample.left[0]
    >>> step.instruction, step.page.partition(":")[0], step.writes
    ('neg.s32 d, a;', 'spec/instructions/integer/neg.md', {'d': 4294967291})
    """

    instruction: str
    page: str
    writes: dict[str, Any]
    types: dict[str, Type]
    executed: bool = True
    guard: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5")
        >>> verdict.counterexample.right[0].as_dict()["instruction"]
        'not.b32 d, a;'
        """
        return {**self._asdict(), "types": {n: str(t) for n, t in self.types.items()}}


class OpenChoice(NamedTuple):
    """A result that PTX leaves open, as the machine of a counterexample chooses it: the entry in the register of ambiguities, the
    operands' values, and the chosen bits with their type. `operation` is the operation that returns the result, or "" if the
    entry belongs to a single operation. Where each execution chooses by itself, the last operand says how many executions before
    it had the same other operands.

    >>> (choice,) = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;", assume="a == 3").counterexample.choices
    >>> choice.entry, choice.operands, choice.bits != 5
    ('division-by-zero', (3, 0), True)
    >>> found = ptxspec.prove("abs.f32 d, a;", "neg.f32 d, a;", assume="nan(a)", nan="payloads").counterexample
    >>> [c.operation for c in found.choices]
    ['abs', 'neg']
    """

    entry: str
    operands: tuple[int, ...]
    bits: int
    type: Type
    operation: str

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> found = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;").counterexample
        >>> found.choices[0].as_dict()["entry"]
        'division-by-zero'
        """
        return {**self._asdict(), "operands": list(self.operands), "type": str(self.type)}


class Cause(NamedTuple):
    """A cause for which the sides of a counterexample differ: its name, such as "signed overflow"; in `detail` where and how it
    occurs; and in `unless` the condition that excludes it, both in words.

    >>> found = ptxspec.prove("add.s32 x, a, 1; setp.gt.s32 p, x, a;", "setp.eq.s32 p, a, a;").counterexample
    >>> (cause,) = found.why().causes
    >>> cause.name, cause.detail
    ('signed overflow', 'add.s32 x, a, 1; is exactly 2147483648, which .s32 does not hold')
    """

    name: str
    detail: str
    unless: str


class Why(NamedTuple):
    """The causes of a counterexample. `holds_if` is a condition that excludes them and under which the claim is proved. If none
    was found, it is "", and the causes apply to this counterexample only. `assume` is the condition in the syntax of `prove`'s
    `assume`, or None if that syntax cannot express it.

    >>> shift = "and.b32 x, b, 31; shl.b32 d, a, x;"
    >>> why = ptxspec.prove("shl.b32 d, a, b;", shift).counterexample.why()
    >>> [cause.name for cause in why.causes], why.assume
    (['shift distance of the width or more'], 'b < 32')
    >>> ptxspec.prove("shl.b32 d, a, b;", shift, assume=why.assume).status
    'proved'
    """

    causes: tuple[Cause, ...]
    holds_if: str = ""
    assume: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5").counterexample
        >>> found.why().as_dict()
        {'causes': [], 'holds_if': '', 'assume': None}
        """
        return {**self._asdict(), "causes": [c._asdict() for c in self.causes]}


class Counterexample(NamedTuple):
    """Inputs for which the sides differ, and the `choices` of a machine with which they do, confirmed by the exact
    interpretation. `differing` names the registers, or bytes of memory, that differ. `left` and `right` are the instructions of
    each side, with what they wrote. `types` has the types of the inputs and of the registers that the sides write, and `compared`
    the types in which results are compared. `question` is the question: both sides, the assumption and the profile.

    >>> found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5").counterexample
    >>> found.inputs, found.types["a"].width, found.differing
    ({'a': 5}, 32, ('d',))
    """

    inputs: dict[str, Any]
    types: dict[str, Type]
    differing: tuple[str, ...]
    left: list[TraceStep]
    right: list[TraceStep]
    choices: tuple[OpenChoice, ...]
    compared: dict[str, Type]
    question: Any = None

    def why(self, timeout: float = 5.0) -> Why:
        """Why the sides differ: the causes by name, and the condition under which the claim holds. `timeout` is in seconds.

        >>> found = ptxspec.prove("add.s32 x, a, 1; setp.gt.s32 p, x, a;", "setp.eq.s32 p, a, a;").counterexample
        >>> [cause.name for cause in found.why().causes], found.why().holds_if
        (['signed overflow'], 'a != 0x7fffffff')
        """
        from ptxspec.query.causes import causes_of

        return causes_of(self, timeout)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON; inputs with all their readings.

        >>> found = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5").counterexample
        >>> found.as_dict()["inputs"]["a"]["hex"]
        '0x00000005'
        """
        return {
            "inputs": {n: {**readings(v, self.types[n]), "type": str(self.types[n])} for n, v in self.inputs.items()},
            "differing": list(self.differing),
            "compared": {n: str(t) for n, t in self.compared.items()},
            "choices": [c.as_dict() for c in self.choices],
            "left": [s.as_dict() for s in self.left],
            "right": [s.as_dict() for s in self.right],
        }


class ContextWitness(NamedTuple):
    """A program of several threads that tells two sides apart: as two litmus tests, one with each side, that ask for the same
    outcome. `allowed_by` is the side with which the program may have it, "left" or "right"; `axioms` are those that forbid it
    with the other side; none if that leaves it in no execution, whatever orders there are.

    >>> store, flag = "st.global.u32 [p], 1; ", "st.release.gpu.global.u32 [q], 1; "
    >>> verdict = ptxspec.prove(store + flag, flag + store, relation="refines", buffers={"p": 4, "q": 4})
    >>> verdict.status, verdict.witness.allowed_by, verdict.witness.axioms
    ('refuted', 'right', ('Causality',))
    >>> ptxspec.litmus(verdict.witness.left).status, ptxspec.litmus(verdict.witness.right).status
    ('forbidden', 'allowed')
    """

    left: str
    right: str
    allowed_by: str
    axioms: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> fence = "st.global.u32 [p], 1; fence.sc.gpu; st.global.u32 [q], 1;"
        >>> weaker = fence.replace("fence.sc.gpu; ", "")
        >>> verdict = ptxspec.prove(fence, weaker, relation="refines", buffers={"p": 4, "q": 4})
        >>> verdict.witness.as_dict()["allowed_by"]
        'right'
        """
        return {**self._asdict(), "axioms": list(self.axioms)}


class Verdict(NamedTuple):
    """The answer of `prove`. `status` is one of:

    - "proved";
    - "refuted": `counterexample` has inputs for which the claim is false, or `witness` a program of several threads;
    - "exhausted": every input was run, and the claim holds for each;
    - "vacuous": no input meets the assumption;
    - "approximated": neither proved nor refuted. The sides would differ if approximate results could be any number, and no input
      was found for which they differ within the error bounds;
    - "unknown": no solver answered, and not all inputs could be run;
    - "unsupported": `prove` cannot decide such questions.

    `reason` says why, and for "unknown" what was tried and for how long. `seconds` is the time that it took. `statement` is the
    claim, or None if the status is "unsupported".

    >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").status
    'proved'
    """

    status: Status
    reason: str = ""
    counterexample: Counterexample | None = None
    seconds: float = 0.0
    statement: Statement | None = None
    witness: ContextWitness | None = None

    @property
    def exit_status(self) -> int:
        """The exit status of `ptxspec prove` for this verdict: 0 for "proved" and "exhausted", 1 for "refuted", 3 for "vacuous",
        and 2 for the others.

        >>> ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;").exit_status
        1
        """
        return {"proved": 0, "exhausted": 0, "refuted": 1, "vacuous": 3}.get(self.status, 2)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").as_dict()["status"]
        'proved'
        """
        fields: dict[str, Any] = {"status": self.status, "reason": self.reason, "seconds": round(self.seconds, 3)}
        if self.counterexample is not None:
            fields["counterexample"] = self.counterexample.as_dict()
        if self.witness is not None:
            fields["witness"] = self.witness.as_dict()
        if self.statement is not None:
            fields["statement"] = self.statement.as_dict()
        return fields
