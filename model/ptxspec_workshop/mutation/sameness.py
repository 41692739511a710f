"""Whether a mutant means the same as the definition: for every form that it may change, proved; or else operands that tell them
apart."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import inputs_of
from ptxspec.query.solvers import SolverAnswer, solve
from ptxspec.terms.core import Bool, Term, truth
from ptxspec.terms.exact import evaluate
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import TYPES, Type
from ptxspec.terms.vocabulary import DEVIATION, freedoms_in, resolve
from ptxspec_workshop.mutation.by_parts import Parts
from ptxspec_workshop.mutation.meanings import Case, Leaves, alike, machine
from ptxspec_workshop.mutation.mutants import Mutant
from ptxspec_workshop.mutation.reach import graph

#: operand rows of a pair of terms; seconds of a question to the solver, of all those about one mutant, and for proofs of parts
ROWS, EACH, TOGETHER, PARTS = 24, 8.0, 30.0, 60.0

#: machines: as PTX states it, and as an H200 does
PROFILES = ("portable", "hopper")


class Difference(NamedTuple):
    """A form, operands, and the values there of one of its terms: as it is, and with the mistake."""

    form: str
    operands: dict[str, Any]
    was: int
    now: int


class Pair(NamedTuple):
    """Two terms that stand in the same place of a form's meaning."""

    case: Case
    was: Any
    now: Any


def touched(mutant: Mutant, was: Leaves, now: Leaves) -> bool:
    """Whether two meanings of one form differ as they are written."""
    return pairs_of(mutant, [(None, was, now)]) != []


def pairs_of(mutant: Mutant, found: Iterable[tuple[Any, Leaves, Leaves]]) -> list[Pair] | None:
    """The terms that differ, each two once; None where more than terms differs, or may."""
    pairs: dict[tuple[int, int], Pair] = {}
    memo: dict[int, Any] = {}
    kept: dict[Any, Any] = {}
    for case, was, now in found:
        if was.rest != now.rest or not _comparable(mutant, was, now):
            return None
        both = list(zip(was.terms, now.terms, strict=True))
        both += [(was.bodies[attrs], body) for attrs, body in now.bodies.items() if attrs in was.bodies]
        both += [(x, y) for (_, x), (_, y) in zip(was.allowing, now.allowing, strict=True)]
        for x, y in both:
            if x is y:
                continue
            for one, other in _by_machines(alike(x, mutant, memo, kept), alike(y, mutant, memo, kept)):
                if one is not other:
                    pairs.setdefault((id(one), id(other)), Pair(case, one, other))
    return list(pairs.values())


def _comparable(mutant: Mutant, was: Leaves, now: Leaves) -> bool:
    """Whether nothing but terms can differ: no function that only the machine can call, and none that either meaning alone calls
    by its name or asks what it allows."""
    if any(graph().reaches(f, mutant) for f in now.functions):
        return False
    names = {attrs[0] for attrs in was.bodies.keys() ^ now.bodies.keys()}
    if names & graph().shortcuts(mutant) or len(was.allowing) != len(now.allowing):
        return False
    sides = zip(was.allowing, now.allowing, strict=True)
    return all(f is g or not graph().reaches(g, mutant) for (f, _), (g, _) in sides)


def _by_machines(was: Any, now: Any) -> list[tuple[Any, Any]]:
    """Both terms, once for what PTX states where machines deviate, and once for each profile that knows a machine's result: the
    operands of a deviation matter only in what becomes of them there."""
    if all(f.attrs[2] != DEVIATION for f in freedoms_in(was, now)):
        return [(was, now)]
    found = []
    for profile in map(Profile, PROFILES):

        def known(freedom: Any, profile: Profile = profile) -> Any:
            if freedom.attrs[2] != DEVIATION:
                return freedom
            return profile.term(freedom) if profile.chooses(freedom) else freedom.args[0]

        memo: dict[int, Any] = {}
        found.append((resolve(was, known, memo), resolve(now, known, memo)))
    return found


def types_of(case: Case, *terms: Term) -> dict[str, Type]:
    """The variables below some terms of a form: the types of its operands, and bits for what else there is."""
    declared = {name: type for name, type in inputs_of(case.meaning) if type.kind != "pred"}
    found: dict[str, Type] = {}
    waiting, seen = list(terms), set()
    while waiting:
        term = waiting.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        if term.op == "var":
            name, width = term.attrs
            bits = TYPES["pred"] if isinstance(term, Bool) else Type(f"b{width}", "b", width)
            own = declared.get(name, bits)
            found[name] = own if own.width == width else bits
        waiting += term.args
    return dict(sorted(found.items()))


def by_operands(pairs: Iterable[Pair]) -> Difference | None:
    """Operands on which two terms differ, where some that are tried show it."""
    for case, was, now in pairs:
        types = types_of(case, was, now)
        for row in rows(list(types.values()), ROWS, str(case.form)):
            values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(types.items(), row, strict=True)}
            x, y = (evaluate(t, values, machine) for t in (was, now))
            if x != y:
                return Difference(str(case), values, int(x), int(y))
    return None


def by_solver(pairs: Iterable[Pair]) -> Difference | bool | None:
    """True if all pairs are proved equal; operands on which one differs; None if the time does not suffice."""
    begun = time.process_time()
    parts = Parts(begun + PARTS)
    for case, was, now in [pair for pair in pairs if not parts.equal(pair.was, pair.now)]:
        if time.process_time() - begun > PARTS + TOGETHER:
            return None
        differ = truth(was) != truth(now) if isinstance(was, Bool) else was != now
        answer = solve(differ, types_of(case, was, now), EACH)
        if answer.status == "unsat":
            continue
        return _replayed(Pair(case, was, now), answer) if answer.status == "sat" else None
    return True


def _replayed(pair: Pair, answer: SolverAnswer) -> Difference | None:
    """The solver's operands, where the exact interpretation finds a difference too."""

    def pick(freedom: Any, operands: tuple[int, ...]) -> int:
        found = answer.choices.get((freedom.attrs, operands))
        return machine(freedom, operands) if found is None else found

    x, y = (evaluate(t, answer.values, pick) for t in (pair.was, pair.now))
    return Difference(str(pair.case), answer.values, int(x), int(y)) if x != y else None
