"""A claim as an SMT-LIB script, with the choices that machines make.

A machine makes each open choice as a function of the freedom (its entry, type, operation and what it allows) and of its operands'
values. So a freedom is a constant of the script, and two constants of one freedom are equal wherever their operands are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ptxspec.query.solvers.answers import Choices
from ptxspec.terms.core import Bool, variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.symbolic import Script
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import Approximation, condition, sign_extend

#: what a solver says of the constants of a script: a number or a truth value each
Model = Mapping[str, Any]

#: pairs of one freedom's constants that are tied to one another at once; more are tied when a model has them differ
EAGER = 256


class _Open(NamedTuple):
    """A freedom in a formula: its attributes, its constant, and its operands as (constant, width, signed)."""

    attrs: Any
    word: str
    operands: tuple[tuple[str, int, bool], ...]

    def key(self, model: Model) -> tuple[Any, tuple[int, ...]]:
        """The freedom and its operands' values in a model."""
        return self.attrs, tuple(
            model[word] - (1 << width) if signed and model[word] >> (width - 1) else model[word]
            for word, width, signed in self.operands
        )


def symbol(name: str) -> str:
    """The symbol of SMT-LIB for an input: `p[4]`, a byte or a lane, is in.p@4, and what else no symbol has is told by number."""
    short = re.sub(r"\[(\d+)\]", r"@\1", name)
    return "in." + re.sub(r"[^\w~!@$%^&*+=<>.?/-]", lambda match: f"@x{ord(match[0]):x}@", short, flags=re.ASCII)


class SolverFormula:
    """A claim as text that a solver reads. `parts` are the values that are asserted, `words` has the constant of each input."""

    def __init__(self, claim: Bool, types: Mapping[str, Type]):
        self.script = Script(self._free)
        self.words = {n: self.script.declare(symbol(n), 0 if t.kind == "pred" else t.width) for n, t in types.items()}
        self._open: dict[tuple[int, int], _Open] = {}
        self._kept: list[Any] = []  # so that their ids stay theirs
        conditions: list[str] = []
        self._conditions = conditions
        self.parts = [Lowering(self.script, self.words).truth(claim), *conditions]

    @property
    def is_float(self) -> bool:
        """Whether floating-point arithmetic is in it."""
        return self.script.has_floats

    @property
    def constants(self) -> dict[str, int]:
        """The script's constants with their widths, 0 for truth values."""
        return self.script.declared

    def text(self) -> str:
        """The script, up to and without the command that asks for an answer."""
        logic = "QF_BVFP" if self.is_float else "QF_BV"
        asserted = [f"(assert {part})" for part in self.parts]
        return "\n".join([f"(set-logic {logic})", *self.script.lines, *asserted, ""])

    def _free(self, term: Any, lowering: Lowering) -> str:
        """The constant that stands for a freedom."""
        key = id(term), id(lowering)  # the same term has other operands within another function's meaning
        entry = self._open.get(key)
        if entry is None:
            slug, width, _, _, allowed, *_ = term.attrs
            operands = [lowering.whole(a) for a in term.args]
            name = f"open.{len(self._open)}.{slug}"
            word = self.script.declare(name, width)
            entry = _Open(term.attrs, word, tuple(self._operand(name, i, *o) for i, o in enumerate(operands)))
            self._open[key] = entry
            self._kept += [term, lowering]
            if allowed is not None and not isinstance(allowed, Approximation):
                given = {name: word} | {operand[0]: operand[0] for operand in entry.operands}
                values = [
                    sign_extend(variable(n, w), w) if signed else variable(n, w) for n, w, signed in entry.operands
                ]
                holds = condition(allowed, variable(name, width), values)
                self._conditions.append(Lowering(self.script, given).truth(holds))
        return entry.word

    def _operand(self, name: str, place: int, word: str, width: int, signed: bool) -> tuple[str, int, bool]:
        """A constant that is equal to a freedom's operand, so that every model tells what that is."""
        constant = self.script.declare(f"{name}.{place}", width)
        self.script.lines.append(f"(assert (= {constant} {word}))")
        return constant, width, signed

    def tie(self, pairs: Iterator[tuple[_Open, _Open]] | list[tuple[_Open, _Open]]) -> None:
        """Assert of pairs of one freedom's constants that they are equal if their operands are."""
        for first, second in pairs:
            same = [self._equal(x, y) for x, y in zip(first.operands, second.operands, strict=True)]
            condition = "true" if not same else same[0] if len(same) == 1 else f"(and {' '.join(same)})"
            self.parts.append(f"(=> {condition} (= {first.word} {second.word}))")

    def _equal(self, x: tuple[str, int, bool], y: tuple[str, int, bool]) -> str:
        """Equality of two numbers, each with its own width and sign."""
        width = max(x[1] + (y[2] and not x[2]), y[1] + (x[2] and not y[2]))
        a, b = (self.script.extend(v, w, width, s) if width > w else v for v, w, s in (x, y))
        return f"(= {a} {b})"

    def pairs(self) -> Iterator[tuple[_Open, _Open]]:
        """Two constants of one freedom, whose operands may have the same values."""
        for group in self._groups():
            for i, second in enumerate(group):
                for first in group[:i]:
                    yield first, second

    def _groups(self) -> list[list[_Open]]:
        groups: dict[Any, list[_Open]] = {}
        for entry in self._open.values():
            groups.setdefault((entry.attrs, len(entry.operands)), []).append(entry)
        return [group for group in groups.values() if len(group) > 1]

    def pair_count(self) -> int:
        return sum(len(g) * (len(g) - 1) // 2 for g in self._groups())

    def torn(self, model: Model) -> list[tuple[_Open, _Open]]:
        """Pairs that have the same operands in a model, and differ."""
        pairs = []
        first: dict[Any, _Open] = {}
        for entry in self._open.values():
            other = first.setdefault(entry.key(model), entry)
            if model[entry.word] != model[other.word]:
                pairs.append((other, entry))
        return pairs

    def also(self, condition: Bool) -> str:
        """A script of its own that asserts a condition on the inputs, which has no freedom in it."""
        script = Script(self._free)
        for word in self.words.values():
            script.declare(word, self.constants[word])
        part = Lowering(script, self.words).truth(condition)
        return "\n".join([*script.lines, f"(assert {part})", ""])

    def choices(self, model: Model) -> Choices:
        """What the machine of a model chooses."""
        return {entry.key(model): model[entry.word] for entry in self._open.values()}

    def values(self, model: Model) -> dict[str, Any]:
        """The inputs of a model."""
        return {n: model[word] for n, word in self.words.items()}
