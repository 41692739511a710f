"""Whether every behaviour of one fragment is one that another allows.

A *behaviour* on some inputs is what an execution leaves in the compared registers, once each open choice is made; within one
execution equal operands have equal choices. The right side *refines* the left one if, for every input, each of its behaviours is
a behaviour of the left side, or the left side does there what PTX says a program must not: then anything may follow.

The quantifiers alternate: for all inputs and choices of the right side, there are choices of the left side. They are taken apart.
A *strategy* says how the left side chooses, as terms over the inputs and what the right side chooses. The solver is asked for
inputs and choices of the right side at which no strategy so far works. If there are none, the claim is proved. At those that it
finds, the left side is asked whether it can choose at all. If it cannot, the claim is refuted; if it can, how it chooses there
becomes another strategy.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ptxspec.query.abstracted import by_laws, of_all_functions
from ptxspec.query.bounds import allowed_choices
from ptxspec.query.demands import NotChosen, demands
from ptxspec.query.enumerated import enumerated
from ptxspec.query.means import Means
from ptxspec.query.paths.asking import beyond, borne_out
from ptxspec.query.questions import Question
from ptxspec.query.replaying import Machine, counterexample, results_of
from ptxspec.query.results import unequal
from ptxspec.query.sampling import samples
from ptxspec.query.solvers import Answer, Choices, solve
from ptxspec.query.solvers.numbered import BITS, Numbered
from ptxspec.query.solvers.simple_first import simple_numbers
from ptxspec.query.undefined import reached
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, Int, constant, integer, make, truth
from ptxspec.terms.exact import NoChoice, allows, refuse
from ptxspec.terms.exact import evaluate as evaluate_term
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import (
    Approximation,
    condition,
    freedoms_in,
    is_allowed,
    low_bits,
    number,
    rebuilt,
    resolve,
    substitute,
    takes_operands,
)

#: strategies, and inputs of which nothing came, after which the question is given up
MOST_ROUNDS = 24
#: bits of input up to which every input is looked at by the exact interpretation, where nothing else tells
MOST_BITS = 16
#: the most bits of a choice that is looked at in all its ways, and the most ways
FEW_BITS, FEW = 8, 8


class Undecided(Exception):
    """Whether the left side has a behaviour at some inputs could not be told."""


class Way(NamedTuple):
    """How the left side may make one of its choices: as a term says, or as a function of the freedom's operands does; without
    either as the right side makes it, for the same operands."""

    term: Int | None = None
    function: Callable[..., Int] | None = None

    @property
    def is_same(self) -> bool:
        """Whether it is the right side's choice."""
        return self.term is None and self.function is None

    def of(self, freedom: Any) -> Int:
        """The choice, for a freedom with its operands."""
        found: Any = freedom
        if self.function is not None:
            found = self.function(*freedom.args)
        elif self.term is not None:
            found = self.term
        return low_bits(found, freedom.attrs[1])


#: by the left side's freedoms, how each is chosen
Strategy = dict[Any, Way]

SAME = Way()
_UNSAT = Answer("unsat", {}, {})
_WANTED = "inputs, and choices of the right side, for which no way in which the left side may choose leaves the same"


class _Refinement:
    """The claim that the right side of a question refines the left one."""

    def __init__(self, asked: Question):
        self.asked = asked
        self.left, self.right = asked.finals
        one, other = asked.sides
        self.excused = reached(self.left.values()) | one.faults
        self.freedoms = freedoms_in(*self.left.values(), self.excused)
        self.undefined = reached(self.right.values()) | other.faults
        #: what is claimed only of executions that were followed
        self.followed = ~beyond(asked.sides) & one.stepped & other.stepped

    @property
    def is_settled(self) -> bool:
        """Whether the right side has one behaviour for each input."""
        return not freedoms_in(*self.right.values(), self.undefined)

    @property
    def total(self) -> int:
        """How many inputs would have to be run, to run them all."""
        return Numbered(self.asked.given, self.asked.inputs.types).total

    def works(self, strategy: Strategy) -> tuple[Bool, Bool]:
        """For which inputs and choices of the right side a strategy of the left side leads to the same results, and for which to
        what a program must not do."""
        made: list[tuple[Any, Any, Way]] = []

        def replace(t: Any, args: tuple[Any, ...]) -> Any:
            if t.op != "freedom" or t not in strategy:
                return None
            freedom = make(t.op, args, t.attrs)
            value = strategy[t].of(freedom)
            made.append((freedom, value, strategy[t]))
            return value

        memo: dict[int, Any] = {}
        good: Any = truth(True)
        for name, term in self.left.items():
            mine = rebuilt(term, replace, memo)
            good = good & ~unequal(mine, self.right[name], self.asked.compared[name])
        excused = rebuilt(self.excused, replace, memo)
        holds = _is_machine(made)
        if freedoms_in(self.excused):
            excused = excused & holds
        return truth(good & holds), truth(excused)

    def wrong(self, strategy: Strategy) -> Bool:
        """For which inputs and choices of the right side a strategy of the left side does not show that they are refined."""
        same, excused = self.works(strategy)
        return self.asked.given & self.followed & ~excused & (self.undefined | ~same)

    def ways(self, freedom: Any) -> Iterator[Way]:
        """How a freedom of the left side may be chosen, the likelier ways first."""
        few = _few(freedom)
        if few:
            theirs = [f for f in freedoms_in(*self.right.values()) if f.attrs == freedom.attrs]
            yield from [SAME, *map(Way, theirs)] if theirs else []
            yield from (Way(constant(bits)) for bits in few)
            return
        yield SAME
        allowed, width = freedom.attrs[4], freedom.attrs[1]
        if isinstance(allowed, Approximation):
            if _has_rounded(freedom):
                yield Way(function=allowed.rounded)
            return
        outputs = [n for n, t in self.asked.compared.items() if t.kind != "pred"]
        yield from (Way(low_bits(self.right[n], width)) for n in outputs)
        yield from map(Way, freedoms_in(*self.right.values()))
        yield from (Way(number(self.right[n])) for n, t in self.asked.compared.items() if t.kind == "pred")
        yield from (Way(number(t) if isinstance(t, Bool) else t) for t in self.asked.inputs.terms.values())
        yield from map(Way, self._stored(freedom))
        for name in outputs:  # what is missing, where it is added, or put in bit by bit
            without = rebuilt(self.left[name], lambda t, args: constant(0) if t is freedom else None, {})
            yield Way(self.right[name] - without)
            yield Way(self.right[name] ^ without)

    def _stored(self, freedom: Any) -> Iterator[Int]:
        """As many bytes of memory as a freedom has, as one number of the right side, wherever it bears on their first one."""
        count = -(-freedom.attrs[1] // 8)
        for name in self.asked.sides[0].bytes if count > 1 else ():
            of, _, place = name.removesuffix("]").rpartition("[")
            names = [f"{of}[{int(place) + k}]" for k in range(count)]
            if self.right.keys() >= set(names) and freedom in freedoms_in(self.left[name]):
                yield integer(sum(self.right[n] << (8 * k) for k, n in enumerate(names)))

    def rounded(self) -> Strategy:
        """The strategy that takes correctly rounded results for approximate ones, and else what the right side chooses."""
        return {f: Way(function=f.attrs[4].rounded) if _has_rounded(f) else SAME for f in self.freedoms}

    def strategy_for(self, values: Mapping[str, Any], machine: Machine, choices: Choices) -> Strategy | None:
        """A strategy by which the left side makes these choices at these inputs; None if there is none."""
        memo: dict[int, Any] = {}

        def chosen(freedom: Any, operands: tuple[int, ...]) -> int:
            return choices.get((freedom.attrs, operands), 0)

        strategy: Strategy = {}
        for freedom in self.freedoms:
            operands = tuple(evaluate_term(a, values, chosen, memo) for a in freedom.args)
            bits = choices.get((freedom.attrs, operands))
            if bits is None:  # it does not matter here
                strategy[freedom] = [*self.ways(freedom)][1 if _has_rounded(freedom) else 0]
                continue
            here = make(freedom.op, tuple(map(constant, operands)), freedom.attrs)
            for way in self.ways(freedom):
                try:
                    found = evaluate_term(way.of(here), values, machine.pick, {})
                except NoChoice:
                    continue
                if found == bits:
                    strategy[freedom] = way
                    break
            else:
                if isinstance(freedom.attrs[4], Approximation):
                    return None
                strategy[freedom] = Way(constant(bits))
        return strategy

    def excuse_for(self, values: Mapping[str, Any], timeout: float) -> Choices | None:
        """What the left side must choose at these inputs to do what a program must not; None if no choice does. Raises
        Undecided."""
        return self._choices_of(self.excused, values, timeout)

    def check_followed(self, values: Mapping[str, Any], timeout: float) -> None:
        """Raise Undecided if the left side may choose so at these inputs that it was not followed."""
        for one in self.asked.sides[0].beyond:
            if self._choices_of(one.holds, values, timeout) is not None:
                raise Undecided(f"it may choose to go {one.where}")

    def _choices_of(self, holds: Bool, values: Mapping[str, Any], timeout: float) -> Choices | None:
        """Choices for which a condition holds that depends on them; None if there are none. Raises Undecided."""
        if not freedoms_in(holds):
            return None
        claim = substitute(holds, {name: constant(value) for name, value in values.items()})
        if any(isinstance(f.attrs[4], Approximation) for f in freedoms_in(claim)):
            raise Undecided("an approximate result decides where it goes")
        return _some(claim, timeout)

    def choices_for(self, values: Mapping[str, Any], wanted: Mapping[str, Any], timeout: float) -> Choices | None:
        """What the left side must choose at these inputs to leave the wanted results; None if no choice does. Raises
        Undecided."""
        settled: Choices = {}
        try:
            for name, term in self.left.items():
                type = self.asked.compared[name]
                bits = term if type.kind == "pred" else low_bits(term, type.width)
                if not allows(bits, values, wanted[name], refuse, settled):
                    return None
            return settled
        except NoChoice:
            return self._solved(values, wanted, timeout)

    def _solved(self, values: Mapping[str, Any], wanted: Mapping[str, Any], timeout: float) -> Choices | None:
        """The same, where open results go into further computations."""
        inputs = {name: constant(value) for name, value in values.items()}
        claim: Any = truth(True)
        for name, term in self.left.items():
            type, bits = self.asked.compared[name], constant(wanted[name])
            claim = claim & ~unequal(substitute(term, inputs), bits, type)
        near = [f for f in freedoms_in(claim) if isinstance(f.attrs[4], Approximation)]
        if not near:
            return _some(claim, timeout)
        if any(a.op != "const" for f in near for a in f.args):
            raise Undecided("an approximate result of another open result")
        beyond = {(f.attrs, tuple(a.attrs[0] for a in f.args)): f for f in near}
        for choices in allowed_choices(beyond):
            found = _some(resolve(claim, partial(_put, choices)), timeout)
            if found is not None:
                return {**found, **choices}
        raise Undecided("which approximate results lead there was not found")


def _few(freedom: Any) -> list[int]:
    """All bits that a freedom may have, if they are few and always the same; else none."""
    _, width, _, _, allowed, *_ = freedom.attrs
    if allowed is None or isinstance(allowed, Approximation) or width > FEW_BITS or takes_operands(allowed):
        return []
    found = [bits for bits in range(1 << width) if is_allowed(freedom, (), bits)]
    return found if len(found) <= FEW else []


def _has_rounded(freedom: Any) -> bool:
    """Whether there is a term for the correctly rounded result."""
    allowed = freedom.attrs[4]
    return isinstance(allowed, Approximation) and allowed.rounded is not None


def _put(choices: Choices, freedom: Any) -> Any:
    """What was chosen for a freedom, if anything was."""
    if any(a.op != "const" for a in freedom.args):
        return freedom
    bits = choices.get((freedom.attrs, tuple(a.attrs[0] for a in freedom.args)))
    return freedom if bits is None else constant(bits)


def _some(claim: Bool, timeout: float) -> Choices | None:
    """Choices that make a claim without inputs true; None if there are none. Raises Undecided."""
    if claim.op == "const":
        return {} if claim.attrs[0] else None
    answer = solve(claim, {}, timeout)
    if answer.status == "sat":
        return answer.choices
    if answer.status == "unsat":
        return None
    raise Undecided(f"the solver says: {answer.status}")


def _is_machine(made: list[tuple[Any, Any, Way]]) -> Bool:
    """That choices are allowed, and equal for equal operands."""
    holds: Any = truth(True)
    for freedom, value, way in made:
        allowed = freedom.attrs[4]
        if not way.is_same and allowed is not None and not isinstance(allowed, Approximation):
            holds = holds & condition(allowed, value, freedom.args)
    for (one, x, way), (other, y, its) in itertools.combinations(made, 2):
        if one.attrs == other.attrs and not (way.is_same and its.is_same):
            apart: Any = x == y
            for a, b in zip(one.args, other.args, strict=True):
                apart = apart | (a != b)
            holds = holds & apart
    return truth(holds)


def refined(asked: Question, means: Means) -> Verdict:
    """Whether the right side refines the left one, whatever the assumption is worth."""
    claim = _Refinement(asked)
    wrong = claim.wrong(dict.fromkeys(claim.freedoms, SAME))
    if any(map(_has_rounded, claim.freedoms)) and not _is_false(wrong):  # else a solver has to meet inputs first
        wrong = wrong & claim.wrong(claim.rounded())
        if of_all_functions(wrong, asked, means, _WANTED):
            return _proved()
    open_still = Verdict("unknown", f"{MOST_ROUNDS} strategies of the left side, and none for all inputs")
    sampled = False
    for _ in range(MOST_ROUNDS):
        is_proved = _is_false(wrong) or by_laws(wrong, asked, _WANTED)
        answer = _UNSAT if is_proved else means.solve(wrong, asked, _WANTED, soon=not sampled)
        if answer.status == "unsat":
            return _proved()
        found = open_still if open_still.status == "approximated" else means.no_answer(answer)
        if answer.status == "sat":
            found, strategy = _looked_at(claim, answer, means.timeout)
            if strategy is not None:
                alone = claim.wrong(strategy)
                wrong = alone if _is_false(alone) else wrong & alone
                continue
            if found.status != "approximated" and (found.status != "unknown" or not _has_near(claim)):
                return found
            open_still = found
        soon = not sampled
        if soon:
            sampled = True
            refutation = _sampled(claim, means)
            if refutation is not None:
                return refutation
            if answer.status != "sat" and not (_has_near(claim) and claim.total <= 1 << BITS):
                continue  # the solver has all the time that there is
        if answer.status != "sat" or claim.total <= 1 << BITS or not claim.is_settled:
            every = _every_input(claim, wrong, means)
            if every is not None or answer.status == "sat" or not soon:
                return every or found
            continue
        # the one behaviour that there is at these inputs is allowed
        wrong = wrong & ~asked.inputs_are(answer.values)
    return open_still


def _proved() -> Verdict:
    return Verdict("proved", "each behaviour of the right side is one that the left side allows")


def _has_near(claim: _Refinement) -> bool:
    return any(isinstance(freedom.attrs[4], Approximation) for freedom in claim.freedoms)


def _every_input(claim: _Refinement, wrong: Bool, means: Means) -> Verdict | None:
    """The verdict by every input, if there are few enough; None if it was not reached. `wrong` are the inputs and choices that
    are open still."""
    total = claim.total
    if total > 1 << BITS:
        return None
    asked, given = claim.asked, claim.asked.given & claim.followed & ~claim.excused
    right = claim.right
    if not claim.is_settled:  # where the right side has a choice, the solver is asked; elsewhere any choice will do
        chosen = reached((*right.values(), claim.undefined), lambda freedom: True)
        if means.at_least.solve(wrong & chosen, asked, _WANTED).status != "unsat":
            return None
        given, right = given & ~chosen, {n: resolve(t, _zero) for n, t in right.items()}
    undefined = resolve(claim.undefined, _zero)
    try:
        demanded = demands(claim.left, right, asked.compared, Profile(asked.profiles[1]))
    except NotChosen:
        demanded = None
    if demanded is None or freedoms_in(given):
        return _one_by_one(claim, means) if total <= 1 << MOST_BITS and claim.is_settled else None
    demanded = demanded._replace(plain=demanded.plain & ~undefined)
    found = enumerated(given, demanded, asked.taken, means.seconds, means.progress, partial(_wrong_at, claim, means))
    if found is not None and found.status == "vacuous" and not claim.is_settled:
        return _proved()  # by the solver: the right side has a choice at every input
    return found


def _zero(freedom: Any) -> Any:
    return constant(0)


def _one_by_one(claim: _Refinement, means: Means) -> Verdict | None:
    """The verdict by every input, by the exact interpretation alone; None if there was no time for it."""
    numbered = Numbered(claim.asked.given, claim.asked.taken)
    met, looked_at = claim.asked.given & claim.followed & ~claim.excused, 0
    deadline = time.monotonic() + means.seconds
    simple = simple_numbers(numbered)
    for i in itertools.chain(simple, sorted({*range(numbered.total)} - {*simple})):
        if time.monotonic() > deadline:
            return None
        values = numbered.values(i)
        if not evaluate_term(met, values, Machine({}).pick, {}):
            continue
        looked_at += 1
        found = _wrong_at(claim, means, values)
        if found is not None:
            return found if found.status == "refuted" else None
    if not looked_at:
        return Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")
    said = f"every input was run, {numbered.total:,}: the left side allows what the right one leaves"
    return Verdict("exhausted", said)


def _wrong_at(claim: _Refinement, means: Means, values: Mapping[str, Any]) -> Verdict | None:
    """The verdict at some inputs, where the right side has one behaviour: None if the left side allows it."""
    found, _ = _looked_at(claim, Answer("sat", dict(values), {}), means.timeout)
    return None if found.status in ("proved", "approximated") else found


def _sampled(claim: _Refinement, means: Means) -> Verdict | None:
    """A refutation by inputs that are drawn, if one is found."""
    for values in samples(claim.asked, means.deadline):
        if evaluate_term(claim.followed & ~claim.excused, values, Machine({}).pick, {}):
            found, _ = _looked_at(claim, Answer("sat", values, {}), means.timeout)
            if found.status == "refuted":
                return found
    return None


def _is_false(claim: Bool) -> bool:
    return claim.op == "const" and not claim.attrs[0]


def _looked_at(claim: _Refinement, answer: Answer, timeout: float) -> tuple[Verdict, Strategy | None]:
    """(a verdict, a strategy that works there, if one was found instead) at the inputs of an answer, at which the left side does
    nothing that a program must not."""
    asked, machine = claim.asked, Machine(answer.choices)
    try:
        excuse = claim.excuse_for(answer.values, timeout)
        if excuse is not None:
            strategy = claim.strategy_for(answer.values, machine, excuse)
            if strategy is None:
                raise Undecided("which approximate results lead to what a program must not do was not found")
            return _proved(), strategy
        wanted = results_of(asked, 1, answer.values, machine.pick)
        if evaluate_term(claim.undefined, answer.values, machine.pick, {}):
            why = "the right side does what PTX says a program must not, where the left side does not"
            claim.check_followed(answer.values, timeout)
            return _refuted(claim, answer.values, machine, tuple(asked.compared), why), None
        within = allowed_choices(machine.beyond)  # nothing to choose, if all results are within their bounds
        for other in [Machine({**answer.choices, **c}) for c in within] if machine.beyond else [machine]:
            wanted = results_of(asked, 1, answer.values, other.pick)
            choices = claim.choices_for(answer.values, wanted, timeout)
            if choices is None:
                claim.check_followed(answer.values, timeout)
                return _no_behaviour(claim, answer.values, other, wanted), None
            strategy = claim.strategy_for(answer.values, other, choices)
            if strategy is not None and other is machine:
                return _proved(), strategy
    except NoChoice as missing:
        return Verdict("unknown", f"the solver's machine does not say what it chooses: {missing}"), None
    except Undecided as why_not:
        return Verdict("unknown", f"whether the left side allows what the right one does: {why_not}"), None
    why = "the bound allows what was looked at, and no proof was found for all inputs"
    return Verdict("approximated", why), None


def _no_behaviour(
    claim: _Refinement, values: Mapping[str, Any], machine: Machine, wanted: Mapping[str, Any]
) -> Verdict:
    """The refutation by results that the left side does not allow."""
    differing = tuple(n for n in claim.asked.compared if not _alone(claim, n, values, wanted))
    names = ", ".join(differing or claim.asked.compared)
    together = "" if differing else " together"
    why = f"the left side does not allow what the right one leaves in {names}{together}"
    return _refuted(claim, values, machine, differing or tuple(claim.asked.compared), why)


def _alone(claim: _Refinement, name: str, values: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the left side allows one of the results, whatever the others are."""
    type, term = claim.asked.compared[name], claim.left[name]
    try:
        bits = term if type.kind == "pred" else low_bits(term, type.width)
        return allows(bits, values, wanted[name], refuse, {})
    except NoChoice:
        return False


def _refuted(
    claim: _Refinement, values: Mapping[str, Any], machine: Machine, differing: tuple[str, ...], why: str
) -> Verdict:
    def left(freedom: Any, operands: tuple[int, ...]) -> int:
        """As the right side chooses; what it has no say in stays open."""
        if (freedom.attrs, operands) not in machine.choices:
            raise NoChoice(freedom)
        return machine.pick(freedom, operands)

    asked = claim.asked
    other = borne_out(asked.sides, asked.how, values, asked.given, machine.pick, asked.profiles)
    if other is not None:
        return Verdict("unknown", other)
    return Verdict("refuted", why, counterexample(claim.asked, values, machine, differing, left))
