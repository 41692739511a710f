"""Claims put to the solver: formulas of terms, with the choices that machines make, and models of them.

A machine makes each open choice as a function of the freedom (its entry, type, operation and what it allows) and of its operands'
values. So a freedom is a variable to the solver, and two variables of one freedom are equal wherever their operands are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ptxspec.terms.core import Bool, variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation

#: what a machine chooses: (the freedom's attributes, the values of its operands) -> bits
Choices = dict[tuple[Any, tuple[int, ...]], int]

#: seconds that a solver is given before another, seeded differently, begins afresh; each is patient for twice as long
PATIENCE = 15.0
#: pairs of one freedom's variables that are tied to one another at once; more are tied when a model has them differ
EAGER = 256


class Answer(NamedTuple):
    """`status` is "sat", "unsat", "timeout" or what else the solver says; with "sat" come the inputs' values and the choices."""

    status: str
    values: dict[str, Any]
    choices: Choices


class _Variable(NamedTuple):
    """A freedom in a formula: its attributes, its variable, and its operands as (word, width, signed)."""

    attrs: Any
    word: Any
    operands: tuple[tuple[Any, int, bool], ...]

    def key(self, model: Any) -> tuple[Any, tuple[int, ...]]:
        """The freedom and its operands' values in a model."""
        return self.attrs, tuple(_number(model, *operand) for operand in self.operands)


class Formula:
    """A claim in the solver's terms."""

    def __init__(self, claim: Bool, types: dict[str, Type]):
        import z3

        from ptxspec.terms.symbolic import Solver

        self.words = {n: z3.Bool(n) if t.kind == "pred" else z3.BitVec(n, t.width) for n, t in types.items()}
        self.conditions: list[Any] = []
        self._variables: dict[tuple[int, int], _Variable] = {}
        self._kept: list[Any] = []  # so that their ids stay theirs
        self._backend = Solver(self._free)
        self.parts = [Lowering(self._backend, self.words).truth(claim)]

    @property
    def is_float(self) -> bool:
        """Whether the solver's floating-point arithmetic is in it."""
        return self._backend.has_floats

    def _free(self, term: Any, lowering: Lowering) -> Any:
        """The variable that stands for a freedom."""
        import z3

        key = id(term), id(lowering)  # the same term has other operands within another function's meaning
        found = self._variables.get(key)
        if found is None:
            slug, width, _, _, allowed, _ = term.attrs
            name = f"{slug}#{len(self._variables)}"
            word = z3.BitVec(name, width)
            found = _Variable(term.attrs, word, tuple(lowering.whole(a) for a in term.args))
            self._variables[key] = found
            self._kept += [term, lowering]
            if allowed is not None and not isinstance(allowed, Approximation):
                holds = allowed(variable(name, width))
                self.conditions.append(Lowering(self._backend, {name: word}).truth(holds))
        return found.word

    def pairs(self) -> Iterator[tuple[_Variable, _Variable]]:
        """Two variables of one freedom, whose operands may have the same values."""
        for group in self._groups():
            for i, one in enumerate(group):
                for other in group[:i]:
                    yield other, one

    def _groups(self) -> list[list[_Variable]]:
        groups: dict[Any, list[_Variable]] = {}
        for one in self._variables.values():
            groups.setdefault((one.attrs, len(one.operands)), []).append(one)
        return [group for group in groups.values() if len(group) > 1]

    def pair_count(self) -> int:
        return sum(len(g) * (len(g) - 1) // 2 for g in self._groups())

    def torn(self, model: Any) -> list[tuple[_Variable, _Variable]]:
        """Pairs that have the same operands in a model, and differ."""
        found = []
        first: dict[Any, _Variable] = {}
        for one in self._variables.values():
            other = first.setdefault(one.key(model), one)
            if _number(model, one.word) != _number(model, other.word):
                found.append((other, one))
        return found

    def choices(self, model: Any) -> Choices:
        return {one.key(model): _number(model, one.word) for one in self._variables.values()}

    def values(self, model: Any) -> dict[str, Any]:
        return {n: _number(model, word) for n, word in self.words.items()}


def tied(one: _Variable, other: _Variable) -> Any:
    """That two variables of one freedom are equal if their operands are."""
    import z3

    same = [_equal(x, y) for x, y in zip(one.operands, other.operands, strict=True)]
    return z3.Implies(z3.And(*same), one.word == other.word)


def _equal(x: tuple[Any, int, bool], y: tuple[Any, int, bool]) -> Any:
    """Equality of two numbers, each with its own width and sign."""
    import z3

    width = max(x[1] + (y[2] and not x[2]), y[1] + (x[2] and not y[2]))
    a, b = ((z3.SignExt if s else z3.ZeroExt)(width - w, v) if width > w else v for v, w, s in (x, y))
    return a == b


def _number(model: Any, word: Any, width: int = 0, signed: bool = False) -> Any:
    import z3

    value = model.eval(word, model_completion=True)
    if z3.is_bool(word):
        return z3.is_true(value)
    return value.as_signed_long() if signed else value.as_long()


class _Model(NamedTuple):
    """A solver's model, asked in the terms of the formula's own context."""

    model: Any
    context: Any

    def eval(self, word: Any, model_completion: bool) -> Any:
        return self.model.eval(word.translate(self.context), model_completion=model_completion)


def ask(formula: list[Any], timeout: float, is_float: bool) -> tuple[Any, Any]:
    """(the answer, the solver that gave it). Each solver has a context of its own, so that what was asked before has no bearing
    on how long it takes; and search that has gone astray is given up for one that begins elsewhere."""
    import z3

    begun, patience, seed = time.monotonic(), PATIENCE, 0
    while True:
        left = timeout - (time.monotonic() - begun)
        context = z3.Context()
        solver = z3.Solver(ctx=context) if is_float else z3.SolverFor("QF_BV", ctx=context)
        solver.set("timeout", max(1, int(min(left, patience) * 1000)))
        solver.set("random_seed", seed)
        solver.add(*[f.translate(context) for f in formula])
        answer = solver.check()
        if answer == z3.unknown and "interrupted" in solver.reason_unknown():  # z3 keeps the signal to itself
            raise KeyboardInterrupt
        if answer != z3.unknown or left <= patience:
            return answer, solver
        patience, seed = patience * 2, seed + 1


def solve(claim: Bool, types: dict[str, Type], timeout: float) -> Answer:
    """Inputs of these types, and a machine, for which the claim holds, with few bits in the inputs."""
    import z3

    try:
        return _solved(claim, types, timeout)
    except (z3.Z3Exception, MemoryError) as failure:  # no answer, and no fault of the question's
        return Answer(f"{type(failure).__name__}: {failure}", {}, {})


def _solved(claim: Bool, types: dict[str, Type], timeout: float) -> Answer:
    import z3

    deadline = time.monotonic() + timeout
    formula = Formula(claim, types)
    parts = [*formula.parts, *formula.conditions]
    eager = formula.pair_count() <= EAGER
    if eager:
        parts += [tied(*pair) for pair in formula.pairs()]
    while True:
        answer, solver = ask(parts, max(0.001, deadline - time.monotonic()), formula.is_float)
        if answer == z3.unsat:
            return Answer("unsat", {}, {})
        if answer == z3.unknown:
            reason = solver.reason_unknown()
            return Answer("timeout" if reason in ("timeout", "canceled") or "resource" in reason else reason, {}, {})
        torn = [] if eager else formula.torn(_Model(solver.model(), solver.ctx))
        if not torn:
            break
        parts += [tied(*pair) for pair in torn]
    model = solver.model()
    if eager:  # else what is not tied could come apart on the way to fewer bits
        there = {n: word.translate(solver.ctx) for n, word in formula.words.items()}
        model = smaller(solver, there, model, min(deadline, time.monotonic() + 3.0))
    found = _Model(model, solver.ctx)
    return Answer("sat", formula.values(found), formula.choices(found))


def smaller(solver: Any, words: dict[str, Any], model: Any, deadline: float) -> Any:
    """A model whose inputs have fewer bits, as far as it can be found before the deadline."""
    import z3

    for word in words.values():
        if z3.is_bool(word):
            continue
        low, high = 0, model.eval(word, model_completion=True).as_long().bit_length()
        while low < high and time.monotonic() < deadline:
            middle = (low + high) // 2
            solver.push()
            solver.add(z3.ULT(word, 1 << middle) if middle < word.size() else True)
            solver.set("timeout", 500)
            if solver.check() == z3.sat:
                model = solver.model()
                high = model.eval(word, model_completion=True).as_long().bit_length()
            else:
                low = middle + 1
            solver.pop()
        solver.add(z3.ULE(word, model.eval(word, model_completion=True)))
    return model
