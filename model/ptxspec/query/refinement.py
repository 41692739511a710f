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
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from ptxspec.query.abstractions import by_laws, of_all_functions
from ptxspec.query.enumerated import NotChosen, demands, enumerated, one_machine
from ptxspec.query.evaluate import cut
from ptxspec.query.questions import Goal, Means
from ptxspec.query.replaying import ModelMachine, allowed_choices, refutation
from ptxspec.query.results import unequal
from ptxspec.query.solvers import Choices, SolverAnswer, solve
from ptxspec.query.solvers.domains import BITS, Numbered
from ptxspec.query.solvers.simple_first import simple_numbers
from ptxspec.query.trials import samples
from ptxspec.query.undefined import reached
from ptxspec.query.verdicts import Verdict
from ptxspec.terms.core import Bool, Int, constant, integer, make
from ptxspec.terms.exact import NoChoice, allows, evaluate, refuse
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import (
    FALSE,
    TRUE,
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

#: strategies, and inputs of which nothing came, after which the claim is given up
MOST_ROUNDS = 24
#: bits of input up to which every input is looked at by the exact interpretation, where nothing else tells
MOST_BITS = 16
#: the most bits of a choice that is looked at in all its ways, and the most ways
FEW_BITS, FEW = 8, 8


class Inconclusive(Exception):
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
        bits: Any = self.function(*freedom.args) if self.function is not None else self.term
        return low_bits(freedom if bits is None else bits, freedom.attrs[1])


#: by the left side's freedoms, how each is chosen
Strategy = dict[Any, Way]

SAME = Way()
_WANTED = "inputs, and choices of the right side, for which no way in which the left side may choose leaves the same"
_PROVED = Verdict("proved", "each behaviour of the right side is one that the left side allows")
_VACUOUS = Verdict("vacuous", "no input meets the assumption, so that the claim says nothing")


def refined(goal: Goal, means: Means) -> Verdict:
    """Whether the right side refines the left one, whatever the assumption is worth. The ways in which this is decided follow in
    their order."""
    claim = _Refinement(goal)
    wrong = claim.wrong(dict.fromkeys(claim.freedoms, SAME))

    # 1. a proof for all functions, where correctly rounded results stand for approximate ones: a solver would meet inputs first
    if any(map(_has_rounded, claim.freedoms)) and wrong is not FALSE:
        rounded = {f: Way(function=f.attrs[4].rounded) if _has_rounded(f) else SAME for f in claim.freedoms}
        wrong = wrong & claim.wrong(rounded)
        if of_all_functions(wrong, goal, means, _WANTED):
            return _PROVED

    is_small = claim.total <= 1 << BITS
    unknown = Verdict("unknown", f"{MOST_ROUNDS} strategies of the left side, and none for all inputs")
    is_sampled = False
    for _ in range(MOST_ROUNDS):
        # 2. no inputs are left at which no strategy so far works: by laws, or by a solver
        if wrong is FALSE or by_laws(wrong, goal, _WANTED):
            return _PROVED
        answer = means.solve(wrong, goal, _WANTED, soon=not is_sampled)
        if answer.status == "unsat":
            return _PROVED
        # 3. at those that a solver finds, the left side has no behaviour that is the right one's, or else another strategy
        verdict = unknown if unknown.status == "approximated" else means.no_answer(answer)
        if answer.status == "sat":
            verdict, strategy = claim.at(answer, means.timeout)
            if strategy is not None:
                alone = claim.wrong(strategy)
                wrong = FALSE if alone is FALSE else wrong & alone
                continue
            if verdict.status != "approximated" and (verdict.status != "unknown" or not claim.is_approximate):
                return verdict
            unknown = verdict
        # 4. inputs that are drawn, once; then a solver has all the time that there is
        is_first, is_sampled = not is_sampled, True
        if is_first:
            refuted = claim.sampled(means)
            if refuted is not None:
                return refuted
            if answer.status != "sat" and not (claim.is_approximate and is_small):
                continue
        # 5. every input, if there are few enough
        if answer.status != "sat" or is_small or not claim.is_settled:
            every = claim.at_every_input(wrong, means) if is_small else None
            if every is not None or answer.status == "sat" or not is_first:
                return every or verdict
            continue
        # the one behaviour that there is at these inputs is allowed
        wrong = wrong & ~goal.inputs_are(answer.values)
    return unknown


class _Refinement:
    """The claim that the right side of a goal refines the left one."""

    def __init__(self, goal: Goal):
        self.goal = goal
        self.left, self.right = goal.finals
        first, second = goal.sides
        self.excused = reached(self.left.values()) | first.faults
        self.freedoms = freedoms_in(*self.left.values(), self.excused)
        self.undefined = reached(self.right.values()) | second.faults
        #: what is claimed only of executions that were followed
        self.followed = goal.followed
        #: whether the right side has one behaviour for each input
        self.is_settled = not freedoms_in(*self.right.values(), self.undefined)
        #: whether the left side has approximate results
        self.is_approximate = any(isinstance(freedom.attrs[4], Approximation) for freedom in self.freedoms)
        #: how many inputs would have to be run, to run them all
        self.total = Numbered(goal.given, goal.inputs.types).total

    # strategies -------------------------------------------------------------------------------------------------------

    def works(self, strategy: Strategy) -> tuple[Bool, Bool]:
        """For which inputs and choices of the right side a strategy of the left side leads to the same results, and for which to
        what a program must not do."""
        made: list[tuple[Bool, Any, Any]] = []
        ways: list[Way] = []

        def replace(t: Any, args: tuple[Any, ...]) -> Any:
            if t.op != "freedom" or t not in strategy:
                return None
            freedom = make(t.op, args, t.attrs)
            bits = strategy[t].of(freedom)
            made.append((TRUE, freedom, bits))
            ways.append(strategy[t])
            return bits

        memo: dict[int, Any] = {}
        good: Bool = TRUE
        for name, term in self.left.items():
            term = rebuilt(term, replace, memo)
            good = good & ~unequal(term, self.right[name], self.goal.compared[name])
        excused = rebuilt(self.excused, replace, memo)
        # the choices are those of a machine: allowed, and equal for equal operands
        holds: Bool = TRUE
        for (_, freedom, bits), way in zip(made, ways, strict=True):
            allowed = freedom.attrs[4]
            if not way.is_same and allowed is not None and not isinstance(allowed, Approximation):
                holds = holds & condition(allowed, bits, freedom.args)
        pairs = itertools.combinations(range(len(made)), 2)
        holds = one_machine(((made[i], made[k]) for i, k in pairs if not (ways[i].is_same and ways[k].is_same)), holds)
        return good & holds, excused & holds if freedoms_in(self.excused) else excused

    def wrong(self, strategy: Strategy) -> Bool:
        """For which inputs and choices of the right side a strategy of the left side does not show that they are refined."""
        same, excused = self.works(strategy)
        return self.goal.given & self.followed & ~excused & (self.undefined | ~same)

    def ways(self, freedom: Any) -> Iterator[Way]:
        """How a freedom of the left side may be chosen, the likelier ways first."""
        few = _few(freedom)
        if few:
            others = [f for f in freedoms_in(*self.right.values()) if f.attrs == freedom.attrs]
            yield from [SAME, *map(Way, others)] if others else []
            yield from (Way(constant(bits)) for bits in few)
            return
        yield SAME
        allowed, width, compared = freedom.attrs[4], freedom.attrs[1], self.goal.compared
        if isinstance(allowed, Approximation):
            if _has_rounded(freedom):
                yield Way(function=allowed.rounded)
            return
        outputs = [n for n, t in compared.items() if t.kind != "pred"]
        yield from (Way(low_bits(self.right[n], width)) for n in outputs)
        yield from map(Way, freedoms_in(*self.right.values()))
        yield from (Way(number(self.right[n])) for n, t in compared.items() if t.kind == "pred")
        yield from (Way(number(t) if isinstance(t, Bool) else t) for t in self.goal.inputs.terms.values())
        # as many bytes of memory as it has, as one number of the right side, wherever it bears on their first one
        count = -(-width // 8)
        for name in self.goal.sides[0].bytes if count > 1 else ():
            of, _, place = name.removesuffix("]").rpartition("[")
            names = [f"{of}[{int(place) + k}]" for k in range(count)]
            if self.right.keys() >= set(names) and freedom in freedoms_in(self.left[name]):
                yield Way(integer(sum(self.right[n] << (8 * k) for k, n in enumerate(names))))
        for name in outputs:  # what is missing, where it is added, or put in bit by bit
            without = rebuilt(self.left[name], lambda t, args: constant(0) if t is freedom else None, {})
            yield Way(self.right[name] - without)
            yield Way(self.right[name] ^ without)

    def strategy_for(self, values: Mapping[str, Any], machine: ModelMachine, choices: Choices) -> Strategy | None:
        """A strategy by which the left side makes these choices at these inputs; None if there is none."""
        memo: dict[int, Any] = {}

        def chosen(freedom: Any, operands: tuple[int, ...]) -> int:
            return choices.get((freedom.attrs, operands), 0)

        strategy: Strategy = {}
        for freedom in self.freedoms:
            operands = tuple(evaluate(a, values, chosen, memo) for a in freedom.args)
            bits = choices.get((freedom.attrs, operands))
            if bits is None:  # it does not matter here
                strategy[freedom] = [*self.ways(freedom)][1 if _has_rounded(freedom) else 0]
                continue
            here = make(freedom.op, tuple(map(constant, operands)), freedom.attrs)
            for way in self.ways(freedom):
                try:
                    if evaluate(way.of(here), values, machine.pick, {}) == bits:
                        strategy[freedom] = way
                        break
                except NoChoice:
                    continue
            else:
                if isinstance(freedom.attrs[4], Approximation):
                    return None
                strategy[freedom] = Way(constant(bits))
        return strategy

    # single inputs ----------------------------------------------------------------------------------------------------

    def at(self, answer: SolverAnswer, timeout: float) -> tuple[Verdict, Strategy | None]:
        """(a verdict, a strategy that works there, if one was found instead) at the inputs of an answer."""
        goal, values, machine = self.goal, answer.values, ModelMachine(answer.choices)
        try:
            excuse = self._choices_of(self.excused, values, timeout)
            if excuse is not None:
                strategy = self.strategy_for(values, machine, excuse)
                if strategy is None:
                    why = "which approximate results lead to what a program must not do was not found"
                    raise Inconclusive(why)
                return _PROVED, strategy
            self._right_results(values, machine)
            if evaluate(self.undefined, values, machine.pick, {}):
                self._check_followed(values, timeout)
                why = "the right side does what PTX says a program must not, where the left side does not"
                return self._refuted(values, machine, tuple(goal.compared), why), None
            for other in machine.within_bounds():
                wanted = self._right_results(values, other)
                choices = self.choices_for(values, wanted, timeout)
                if choices is None:
                    self._check_followed(values, timeout)
                    alone = tuple(n for n in goal.compared if not self._leaves_alone(n, values, wanted[n]))
                    names = ", ".join(alone or goal.compared) + ("" if alone else " together")
                    why = f"the left side does not allow what the right one leaves in {names}"
                    return self._refuted(values, other, alone or tuple(goal.compared), why), None
                strategy = self.strategy_for(values, other, choices)
                if strategy is not None and other is machine:
                    return _PROVED, strategy
        except NoChoice as missing:
            return Verdict("unknown", f"the solver's machine does not say what it chooses: {missing}"), None
        except Inconclusive as why_not:
            return Verdict("unknown", f"whether the left side allows what the right one does: {why_not}"), None
        why = "the bound allows what was looked at, and no proof was found for all inputs"
        return Verdict("approximated", why), None

    def _right_results(self, values: Mapping[str, Any], machine: ModelMachine) -> dict[str, Any]:
        """What the right side leaves in the compared registers."""
        memo: dict[int, Any] = {}
        compared = self.goal.compared.items()
        return {n: cut(evaluate(self.right[n], values, machine.pick, memo), t) for n, t in compared}

    def _leaves_alone(self, name: str, values: Mapping[str, Any], wanted: Any) -> bool:
        """Whether the left side allows one of the results, whatever the others are."""
        try:
            return allows(_bits(self.left[name], self.goal.compared[name]), values, wanted, refuse, {})
        except NoChoice:
            return False

    def _refuted(
        self, values: Mapping[str, Any], machine: ModelMachine, differing: tuple[str, ...], why: str
    ) -> Verdict:
        def left(freedom: Any, operands: tuple[int, ...]) -> int:
            """As the right side chooses; what it has no say in stays open."""
            if (freedom.attrs, operands) not in machine.choices:
                raise NoChoice(freedom)
            return machine.pick(freedom, operands)

        return refutation(self.goal, values, machine, differing, why, left)

    def _check_followed(self, values: Mapping[str, Any], timeout: float) -> None:
        """Raise Inconclusive if the left side may choose so at these inputs that it was not followed."""
        for end in self.goal.sides[0].beyond:
            if self._choices_of(end.holds, values, timeout) is not None:
                raise Inconclusive(f"it may choose to go {end.where}")

    def _choices_of(self, holds: Bool, values: Mapping[str, Any], timeout: float) -> Choices | None:
        """Choices for which a condition holds that depends on them; None if there are none. Raises Inconclusive."""
        if not freedoms_in(holds):
            return None
        claim = substitute(holds, {name: constant(value) for name, value in values.items()})
        if any(isinstance(f.attrs[4], Approximation) for f in freedoms_in(claim)):
            raise Inconclusive("an approximate result decides where it goes")
        return _some(claim, timeout)

    def choices_for(self, values: Mapping[str, Any], wanted: Mapping[str, Any], timeout: float) -> Choices | None:
        """What the left side must choose at these inputs to leave the wanted results; None if no choice does. Raises
        Inconclusive."""
        compared, settled = self.goal.compared, dict[Any, int]()
        try:
            terms = self.left.items()
            is_met = all(allows(_bits(t, compared[n]), values, wanted[n], refuse, settled) for n, t in terms)
            return settled if is_met else None
        except NoChoice:
            pass  # an open result goes into a further computation
        inputs = {name: constant(value) for name, value in values.items()}
        equal = (~unequal(substitute(t, inputs), constant(wanted[n]), compared[n]) for n, t in self.left.items())
        claim: Bool = reduce(and_, equal, TRUE)
        near = [f for f in freedoms_in(claim) if isinstance(f.attrs[4], Approximation)]
        if not near:
            return _some(claim, timeout)
        if any(a.op != "const" for f in near for a in f.args):
            raise Inconclusive("an approximate result of another open result")

        def key(freedom: Any) -> Any:
            return freedom.attrs, tuple(a.attrs[0] if a.op == "const" else None for a in freedom.args)

        for choices in allowed_choices({key(f): f for f in near}):

            def put(freedom: Any, choices: Choices = choices) -> Any:
                bits = choices.get(key(freedom))
                return freedom if bits is None else constant(bits)

            others = _some(resolve(claim, put), timeout)
            if others is not None:
                return {**others, **choices}
        raise Inconclusive("which approximate results lead there was not found")

    # many inputs ------------------------------------------------------------------------------------------------------

    def sampled(self, means: Means) -> Verdict | None:
        """A refutation by inputs that are drawn, if one is found."""
        for values in samples(self.goal, means.deadline):
            if evaluate(self.followed & ~self.excused, values, ModelMachine({}).pick, {}):
                verdict, _ = self.at(SolverAnswer("sat", values, {}), means.timeout)
                if verdict.status == "refuted":
                    return verdict
        return None

    def at_every_input(self, wrong: Bool, means: Means) -> Verdict | None:
        """The verdict by every input; None if it was not reached. `wrong` are the inputs and choices that are open still."""
        goal, right = self.goal, self.right
        given = goal.given & self.followed & ~self.excused
        if not self.is_settled:  # where the right side has a choice, the solver is asked; elsewhere any choice will do
            chosen = reached((*right.values(), self.undefined), lambda freedom: True)
            if means.at_least.solve(wrong & chosen, goal, _WANTED).status != "unsat":
                return None
            given, right = given & ~chosen, {n: resolve(t, lambda _: constant(0)) for n, t in right.items()}
        try:
            demanded = demands(self.left, right, goal.compared, Profile(goal.profiles[1]))
        except NotChosen:
            demanded = None

        def failing(values: Mapping[str, Any]) -> Verdict | None:
            """The verdict at some inputs, where the right side has one behaviour: None if the left side allows it."""
            verdict, _ = self.at(SolverAnswer("sat", dict(values), {}), means.timeout)
            return None if verdict.status in ("proved", "approximated") else verdict

        if demanded is None or freedoms_in(given):
            return self._one_by_one(means, failing) if self.total <= 1 << MOST_BITS and self.is_settled else None
        undefined = resolve(self.undefined, lambda _: constant(0))
        demanded = demanded._replace(plain=demanded.plain & ~undefined)
        verdict = enumerated(given, demanded, goal.taken, means.seconds, means.progress, failing)
        if verdict is not None and verdict.status == "vacuous" and not self.is_settled:
            return _PROVED  # by the solver: the right side has a choice at every input
        return verdict

    def _one_by_one(self, means: Means, failing: Callable[[Mapping[str, Any]], Verdict | None]) -> Verdict | None:
        """The verdict by every input, by the exact interpretation alone; None if there was no time for it."""
        numbered = Numbered(self.goal.given, self.goal.taken)
        relevant, count = self.goal.given & self.followed & ~self.excused, 0
        deadline = time.monotonic() + means.seconds
        simple = simple_numbers(numbered)
        for i in itertools.chain(simple, sorted({*range(numbered.total)} - {*simple})):
            if time.monotonic() > deadline:
                return None
            values = numbered.values(i)
            if evaluate(relevant, values, ModelMachine({}).pick, {}):
                count += 1
                verdict = failing(values)
                if verdict is not None:
                    return verdict if verdict.status == "refuted" else None
        if not count:
            return _VACUOUS
        what = f"every input was run, {numbered.total:,}: the left side allows what the right one leaves"
        return Verdict("exhausted", what)


def _bits(term: Any, type: Type) -> Any:
    """What a result of a type has of a register's term."""
    return term if type.kind == "pred" else low_bits(term, type.width)


def _few(freedom: Any) -> list[int]:
    """All bits that a freedom may have, if they are few and always the same; else none."""
    _, width, _, _, allowed, *_ = freedom.attrs
    if allowed is None or isinstance(allowed, Approximation) or width > FEW_BITS or takes_operands(allowed):
        return []
    patterns = [bits for bits in range(1 << width) if is_allowed(freedom, (), bits)]
    return patterns if len(patterns) <= FEW else []


def _has_rounded(freedom: Any) -> bool:
    """Whether there is a term for the correctly rounded result."""
    allowed = freedom.attrs[4]
    return isinstance(allowed, Approximation) and allowed.rounded is not None


def _some(claim: Bool, timeout: float) -> Choices | None:
    """Choices that make a claim without inputs true; None if there are none. Raises Inconclusive."""
    if claim.op == "const":
        return {} if claim.attrs[0] else None
    answer = solve(claim, {}, timeout)
    if answer.status not in ("sat", "unsat"):
        raise Inconclusive(f"the solver says: {answer.status}")
    return answer.choices if answer.status == "sat" else None
