"""Two fragments and what is asked of them: their inputs, the registers compared, and their results as terms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ptxspec.language.diagnostics import PtxError
from ptxspec.query.fragments import Fragment
from ptxspec.query.inputs import Inputs, inputs_of, taken_types
from ptxspec.query.paths.asking import assumed, completed, read_side, resolved
from ptxspec.query.paths.options import PLAIN, Options
from ptxspec.query.results import results, unequal, unequal_with_any_nan, wanted
from ptxspec.terms.core import Bool, constant, truth
from ptxspec.terms.profiles import Profile
from ptxspec.terms.types import Type
from ptxspec.terms.vocabulary import resolve


class Question(NamedTuple):
    """Both sides, their inputs, the names that are compared and the type in which each is, the condition on the inputs, and the
    results with the profiles' choices made: a term for each name and side. `assume` is the condition as it was written,
    `profiles` has each side's profile, `how` what a question about paths says beside."""

    sides: tuple[Fragment, Fragment]
    inputs: Inputs
    compared: dict[str, Type]
    given: Bool
    finals: tuple[dict[str, Any], dict[str, Any]]
    assume: str | None
    profiles: tuple[str, str]
    how: Options

    def unequal(self, name: str) -> Bool:
        """That a register's final values differ, in the bits that are compared."""
        left, right = self.finals
        differ = unequal_with_any_nan if self.how.nan == "any" else unequal
        return differ(left[name], right[name], self.compared[name])

    @property
    def taken(self) -> dict[str, Type]:
        """The inputs with the types as which instructions take them."""
        return taken_types(self.inputs, *self.sides)

    @property
    def put(self) -> tuple[str, str, str | None, tuple[str, str], Options]:
        """How it was put: what `ask` takes."""
        return self.sides[0].text, self.sides[1].text, self.assume, self.profiles, self.how

    def settled(self, term: Any, side: int = 0) -> Any:
        """A term with the choices made of a side's profile."""
        return resolve(term, partial(_chosen, Profile(self.profiles[side])))

    @property
    def differs(self) -> Bool:
        """That the sides leave something else in one of the registers compared."""
        found = truth(False)
        for name in self.compared:
            found = found | self.unequal(name)
        return found

    def inputs_are(self, values: Mapping[str, Any]) -> Bool:
        """That the inputs have these values."""
        same: Any = truth(True)
        for name, term in self.inputs.terms.items():
            same = same & (term == constant(values[name]))
        return truth(same)


def ask(
    left: str,
    right: str,
    assume: str | None = None,
    profile: str | tuple[str, str] = "portable",
    how: Options = PLAIN,
) -> Question:
    """The question that two texts put. `profile` makes the choices of both sides, or one profile those of each. Raises PtxError,
    AssumptionError or ValueError for a question that is put wrongly, Unsupported for one that cannot be asked."""
    sides, types, compared = question(left, right, how)
    read = dict.fromkeys((*sides[0].inputs, *sides[1].inputs))
    inputs = inputs_of(read, types)
    given = assumed(assume, inputs.read(read), inputs.types, how) & inputs.guaranteed & sides[0].given & sides[1].given
    profiles = (profile, profile) if isinstance(profile, str) else (profile[0], profile[1])
    finals, settled = [], []
    for side, name in zip(sides, profiles, strict=True):
        choose = partial(_chosen, Profile(name))
        memo: dict[int, Any] = {}
        finals.append({n: resolve(side.outputs[n], choose, memo) for n in compared})
        settled.append(resolved(side, choose))
    return Question((settled[0], settled[1]), inputs, compared, given, (finals[0], finals[1]), assume, profiles, how)


def _chosen(choices: Profile, freedom: Any) -> Any:
    return choices.term(freedom) if choices.chooses(freedom) else freedom


def question(
    left: str, right: str, how: Options = PLAIN
) -> tuple[tuple[Fragment, Fragment], dict[str, Type], dict[str, Type]]:
    """(both sides, the types of all registers, the names compared with the type in which they are). What is compared are the
    names that the question asks for, or else the results: the names that both sides write, but for those whose last value a later
    instruction of each side reads. Raises ValueError if no name is written by both, or not one that is asked for."""
    first = read_side(left, "<left>", None, how)
    second = read_side(right, "<right>", None, how)
    shared = {n for n in (*first.inputs, *first.outputs) if n in second.inputs or n in second.outputs}
    fixed = {n: first.registers[n] for n in shared if n in first.registers}
    if any(second.registers.get(n, t) != t for n, t in fixed.items()):
        try:
            second = read_side(right, "<right>", fixed, how)
        except PtxError:
            known = {n: second.registers[n] for n in fixed if n in second.registers}
            first = read_side(left, "<left>", known, how)
    first, second = completed(first, second)
    both = [n for n in first.outputs if n in second.outputs]
    if not both and not (first.memory or second.memory):
        raise ValueError("no register is written by both sides, so there is nothing to compare")
    names = results(both, first.scratch & second.scratch) if how.compare is None else wanted(both, how.compare)
    compared = {n: _wider(first.left[n], second.left[n]) for n in names}
    return (first, second), {**second.registers, **first.registers}, compared


def _wider(x: Type, y: Type) -> Type:
    return x if x.width >= y.width else y
