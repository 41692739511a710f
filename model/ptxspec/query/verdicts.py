"""What comes of a question to the prover: a verdict, and the counterexample that shows it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxspec.options import Status
from ptxspec.query.evaluate import readings
from ptxspec.query.statement import Statement
from ptxspec.terms.types import Type


class TraceStep(NamedTuple):
    """An instruction of one side, the document line that defines it, what it wrote (bits, or a sentence where the result is
    open), and the types that the instruction's form gives to that. `executed` is False where its guard kept it from being
    executed: then it wrote what was there before. `guard` is the predicate, with "!" where it is negated, or None.

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
    """A choice that the machine of a counterexample makes: the entry in the register of ambiguities, the operands' values,
    the bits, of the type, and the operation whose choice it is, or "" if the entry is of one alone.

    >>> (choice,) = ptxspec.prove("div.u32 d, a, 0;", "mov.u32 d, 5;", assume="a == 3").counterexample.choices
    >>> choice.entry, choice.operands, choice.bits != 5
    ('division-by-zero', (3, 0), True)
    >>> [c.operation for c in ptxspec.prove("abs.f32 d, a;", "neg.f32 d, a;", assume="nan(a)").counterexample.choices]
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
    """Why the sides of a counterexample differ: a name, such as "signed overflow", where that is, in words, and the condition
    under which it cannot be, also in words.

    >>> found = ptxspec.prove("add.s32 x, a, 1; setp.gt.s32 p, x, a;", "setp.eq.s32 p, a, a;").counterexample
    >>> (cause,) = found.why().causes
    >>> cause.name, cause.detail
    ('signed overflow', 'add.s32 x, a, 1; is exactly 2147483648, which .s32 does not hold')
    """

    name: str
    detail: str
    unless: str


class Why(NamedTuple):
    """The causes of a counterexample. `holds_if` is a condition that keeps them out and under which the claim is proved, or ""
    where none was found; then each cause says something of this counterexample alone. `assume` is the condition as an
    assumption, if it can be written as one.

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
    """Inputs on which the sides differ, and the choices of a machine for which they do, replayed through the exact
    interpretation. `types` has the types of the inputs, and of the other registers that the sides leave; `compared`
    those in which results are compared; `question` is what was asked: both sides, the assumption, the profile.

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


class Verdict(NamedTuple):
    """`status` is "proved", "refuted", "exhausted" (every input was run, and the sides agree on each), "vacuous" (no
    input meets the assumption, so that nothing was said), "approximated" (there is no proof for whatever number an
    approximate result may be, and no input was found at which its bound tells), "unknown" (no solver answered, and the
    inputs could not all be run) or "unsupported" (the question cannot be asked); `reason` says why, and of "unknown" what
    was tried and for how long; `seconds` is what it took; `statement` is what was claimed, None of a question that cannot
    be asked.

    >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").status
    'proved'
    """

    status: Status
    reason: str = ""
    counterexample: Counterexample | None = None
    seconds: float = 0.0
    statement: Statement | None = None

    @property
    def exit_status(self) -> int:
        """The status with which the command ends.

        >>> ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;").exit_status
        1
        """
        return {"proved": 0, "exhausted": 0, "refuted": 1, "vacuous": 3}.get(self.status, 2)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON.

        >>> ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;").as_dict()["status"]
        'proved'
        """
        found: dict[str, Any] = {"status": self.status, "reason": self.reason, "seconds": round(self.seconds, 3)}
        if self.counterexample is not None:
            found["counterexample"] = self.counterexample.as_dict()
        if self.statement is not None:
            found["statement"] = self.statement.as_dict()
        return found
