"""Why a claim fails: the causes of a counterexample by name, each checked.

A suspect is a cause if the claim is proved once the condition that keeps it out is assumed, and some input meets that. Where one
does not suffice, several are taken together: those of further counterexamples, until there are no more, and then without those
that the proof does not need.
"""

from __future__ import annotations

import time
from typing import Any

from ptxspec import contracts
from ptxspec.query.questions import Question, ask
from ptxspec.query.solvers import solve
from ptxspec.query.suspects import KINDS, Case, Suspect
from ptxspec.query.verdicts import Cause, Counterexample, Why
from ptxspec.terms.core import Bool
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import TRUE, is_allowed

#: seconds for each question, and rounds in which a further counterexample is looked at
EACH, ROUNDS = 1.0, 4
#: units in the last place by which results differ that were rounded differently
NEAR = 4
#: what says little of why
PLAIN = ("zero operand", "negative operand")


def causes_of(found: Counterexample, timeout: float) -> Why:
    """The causes of a counterexample, in `timeout` seconds."""
    asked = ask(*found.question)
    if asked.profiles[0] != asked.profiles[1] or any(side.side is not None for side in asked.sides):
        return Why(())  # suspects are of straight lines under one profile
    values = {**dict.fromkeys(asked.inputs.types, 0), **found.inputs}
    chosen = {(c.entry, c.operation, c.operands): c.bits for c in found.choices}
    return _Search(asked, time.monotonic() + timeout).run(values, chosen)


class _Search:
    def __init__(self, asked: Question, deadline: float):
        self.asked, self.deadline = asked, deadline
        self.differs = asked.differs
        self.profile = Profile(asked.profiles[0])
        #: suspects of which the solver did not say in time whether they are the cause
        self.open: list[Suspect] = []

    def run(self, values: dict[str, Any], chosen: dict[Any, int]) -> Why:
        suspects = self.suspects(values, chosen)
        for one in suspects:
            if self.proved([one])[0] and self.possible([one]):
                return self.told([one], suspects)
        together = self.gathered(suspects)
        if together:
            return self.told(together, suspects)
        return Why(tuple(self.facts(values, chosen)))

    def gathered(self, suspects: list[Suspect]) -> list[Suspect]:
        """Suspects without which the claim is proved, none of which could be left out; none if there are no such."""
        kept = _general(suspects)
        for _ in range(ROUNDS):
            holds, other = self.proved(kept)
            if holds:
                return self.needed(kept) if self.possible(kept) else []
            if other is None:
                return []
            known = {one.words for one in kept}
            further = [s for s in _general(self.suspects(*other)) if s.words not in known]
            if not further:
                return []
            kept += [one._replace(detail=f"in another counterexample, {one.detail}") for one in further]
        return []

    def needed(self, kept: list[Suspect]) -> list[Suspect]:
        for one in list(kept):
            rest = [s for s in kept if s is not one]
            if rest and self.proved(rest)[0]:
                kept = rest
        return kept

    def proved(self, suspects: list[Suspect]) -> tuple[bool, tuple[dict[str, Any], dict[Any, int]] | None]:
        """Whether the claim is proved without the suspects; if not, another counterexample, if there is one."""
        answer = self.solved(self.without(suspects) & self.differs)
        if len(suspects) == 1 and (answer is None or answer.status not in ("sat", "unsat")):
            self.open += [one for one in _general(suspects) if one not in self.open]
        if answer is None or answer.status != "sat":
            return answer is not None and answer.status == "unsat", None
        chosen = {(attrs[0], attrs[5], operands): bits for (attrs, operands), bits in answer.choices.items()}
        return False, (answer.values, chosen)

    def possible(self, suspects: list[Suspect]) -> bool:
        """Whether some input is left."""
        answer = self.solved(self.without(suspects))
        return answer is not None and answer.status == "sat"

    def without(self, suspects: list[Suspect]) -> Bool:
        condition: Bool = TRUE
        for one in suspects:
            condition = condition & one.without
        return condition

    def solved(self, condition: Bool) -> Any:
        left = min(EACH, self.deadline - time.monotonic())
        if left <= 0:
            return None
        return solve(self.asked.given & condition, self.asked.taken, left)

    def case(self, values: dict[str, Any], chosen: dict[Any, int]) -> Case:
        def settle(term: Any) -> Any:
            return self.asked.settled(term)

        def choose(freedom: Any, operands: tuple[int, ...]) -> int:
            if self.profile.chooses(freedom):
                return self.profile.chosen(freedom, operands)
            bits = chosen.get((freedom.attrs[0], freedom.attrs[5], operands))
            if bits is None or not is_allowed(freedom, operands, bits):
                raise NoChoice(freedom)
            return bits

        read = {n: t for n, t in self.asked.taken.items() if any(n in side.inputs for side in self.asked.sides)}
        return Case(self.asked.sides, self.asked.inputs.terms, read, values, settle, choose)

    def suspects(self, values: dict[str, Any], chosen: dict[Any, int]) -> list[Suspect]:
        case = self.case(values, chosen)
        found: dict[str, Suspect] = {}
        for kind in KINDS:
            for one in kind(case):
                found.setdefault(one.words, one)
        return list(found.values())

    def told(self, causes: list[Suspect], suspects: list[Suspect]) -> Why:
        """The causes, with the plainest condition that is proved to suffice."""
        shown = tuple(Cause(one.name, one.detail, one.words) for one in causes)
        if len(causes) > 1 or causes[0].assume is None:
            for one in suspects:
                if one.assume is not None and one not in causes and self.proved([one])[0] and self.possible([one]):
                    return Why(shown, one.assume, one.assume)
        words = " and ".join(one.words for one in causes)
        assumptions = [one.assume for one in causes if one.assume is not None]
        return Why(shown, words, " and ".join(assumptions) if len(assumptions) == len(causes) else None)

    def facts(self, values: dict[str, Any], chosen: dict[Any, int]) -> list[Cause]:
        """What is so in this counterexample, and named although no condition keeps it out."""
        case, page = self.case(values, chosen), contracts.floating_point
        found = [Cause(one.name, f"{one.detail} (whether that is all is open)", one.words) for one in self.open]
        for name, type in self.asked.compared.items():
            x, y = (case.value(final[name]) for final in self.asked.finals)
            if not type.is_float or x is None or y is None or x == y:
                continue
            apart = abs(_place(x, type) - _place(y, type))
            finite = not any(
                case.value(f(v, type)) for v in map(_constant, (x, y)) for f in (page.is_nan, page.is_infinite)
            )
            if finite and 0 < apart <= NEAR:
                units = "a unit" if apart == 1 else f"{apart} units"
                found.append(
                    Cause("rounding differs", f"{name} differs by {units} in the last place", "both sides round alike")
                )
        for entry, operation, operands in chosen:
            shown = ", ".join(f"{x:#x}" for x in operands)
            of = f" of {operation}" if operation else ""
            found.append(Cause("open result", f"{entry}{of}({shown}) is left open", "a profile chooses it"))
        return found


def _constant(value: int) -> Any:
    from ptxspec.terms.core import constant

    return constant(value)


def _place(bits: int, type: Any) -> int:
    """The number of a pattern in the order of its format."""
    return int(contracts.floating_point.order(_constant(bits), type).attrs[0])


def _general(suspects: list[Suspect]) -> list[Suspect]:
    """Suspects of a kind that says why, and not of single values; those that can be assumed, if there are such."""
    kept = [one for one in suspects if one.name not in PLAIN and not one.words.partition(" != 0x")[1]]
    return [one for one in kept if one.assume is not None] or kept
