"""Profiles: named sets of choices among the results that PTX leaves open.

A profile is a page, `spec/profiles/<name>.md`, whose functions marked `@choice("slug")` resolve the freedom of that slug. A
choice is given the freedom's type and its operands as terms, and returns the bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from ptxspec.terms.core import Bool, Int, blame, integer, variable
from ptxspec.terms.exact import evaluate, refuse, unchosen
from ptxspec.terms.vocabulary import DEVIATION, Approximation, condition, low_bits, number, operands_of, select

#: profile -> slug -> the function that chooses
CHOICES: dict[str, dict[str, Callable[..., Any]]] = {}
#: the profiles under which the nearest of the allowed results is taken for an approximate one
_NEAREST: set[str] = set()


#: the profile that settles all, whose result is changed by a seed
_CHIP = "hopper"


def _mixed(word: Int) -> Int:
    """64 bits that all depend on all of a word's."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = low_bits((word ^ (word >> shift)) * factor, 64)
    return word ^ (word >> 31)


def _seeded(seed: int, slug: str, allowed: Callable[..., Bool] | None, type: Any, *operands: Int) -> Int:
    """A result by a seed, for a freedom and its operands: any bits, where any are allowed; else those of a few that are, the
    chip's changed in some bits or as they are."""
    start = int.from_bytes(hashlib.sha256(f"{seed} {slug}".encode()).digest()[:8], "little")
    word = integer(start)
    for operand in operands:
        word = _mixed(word ^ low_bits(operand, 64))
    width = type.width
    some = low_bits(_mixed(word) if width <= 64 else _mixed(word) * ((1 << width) // 0xFFFF_FFFF), width)
    if allowed is None:
        return some
    chosen = low_bits(integer(CHOICES[_CHIP][slug](type, *operands)), width)
    if number(condition(allowed, integer(0), operands)).op != "const":
        return chosen  # which are allowed depends on the operands
    selected = chosen
    for candidate in (chosen ^ (low_bits(some, 1) << (width - 1)), chosen ^ low_bits(some, width // 2), some):
        selected = select(condition(allowed, candidate, operands), candidate, selected)
    return selected


def choice(slug: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function of a profile's page as its choice for the freedom `slug`."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        choices = CHOICES.setdefault(function.__module__.rsplit(".", 1)[-1], {})
        if slug in choices:
            raise blame(f"a second choice for {slug!r} in one profile")
        choices[slug] = function
        return function

    return mark


def take_nearest(module: str) -> None:
    """State on a profile's page (with its __name__) that an approximate result, where values are computed, is the nearest one
    of those allowed, unless the page chooses. It is no choice: a proof has to hold for all of them."""
    _NEAREST.add(module.rsplit(".", 1)[-1])


def take_over(module: str, other: str, unless: Collection[str]) -> None:
    """State on a profile's page (with its __name__) that it chooses as another profile does, but for these freedoms."""
    load(other)
    choices = CHOICES.setdefault(module.rsplit(".", 1)[-1], {})
    missing = set(unless) - CHOICES[other].keys()
    if missing:
        raise blame(f"the profile {other} has no choice for {', '.join(sorted(missing))}")
    choices.update((slug, function) for slug, function in CHOICES[other].items() if slug not in unless)


def names() -> list[str]:
    """The profiles there are pages for."""
    from ptxspec.literate.finder import pages

    return sorted(n.rsplit(".", 1)[-1] for n, path in pages("ptxspec.spec", "profiles") if path.stem != "index")


def load(name: str) -> None:
    """Let a profile's page state its choices. Raises ModuleNotFoundError for a name that no page has."""
    from ptxspec.literate import finder

    finder.load(f"ptxspec.spec.profiles.{name}")


class Profile:
    """The choices of one profile. With a `seed`, whatever the page leaves open is chosen by that, but for approximate results of
    which it takes the nearest. Raises ValueError for a name no page has."""

    def __init__(self, name: str, seed: int | None = None):
        if name not in names():
            raise ValueError(f"no profile is called {name!r}; there are {', '.join(names())}")
        load(name)
        self.name = name
        self._choices = CHOICES.get(name, {})
        self._functions: dict[tuple[Any, ...], Callable[..., int] | None] = {}
        if seed is not None:
            load(_CHIP)
        open_to = {} if seed is None else CHOICES[_CHIP].keys() - self._choices.keys()
        self._seed = seed if open_to else None
        #: what tells this profile's results from those of others
        self.key = name if self._seed is None else f"{name} with the seed {seed}"

    def _choice(self, freedom: Any) -> Callable[..., Any] | None:
        """What resolves a freedom: the page, or the seed; None where nothing does."""
        slug, _, kind, _, allowed, *_ = freedom.attrs
        if slug in self._choices or self._seed is None or kind == DEVIATION:
            return self._choices.get(slug)
        return partial(_seeded, self._seed, slug, allowed)

    def term(self, freedom: Any) -> Int:
        """The chosen bits as a term over the freedom's operands; what is documented, if the profile knows of no deviation.
        Raises NoChoice if it leaves the result open."""
        _, width, _, type, *_ = freedom.attrs
        choice = self._choice(freedom)
        if choice is None:
            return integer(unchosen(freedom))
        return low_bits(integer(choice(type, *operands_of(freedom))), width)

    def settled(self, freedom: Any) -> Any:
        """The chosen bits as a term; the freedom itself, if the profile leaves the result open."""
        return self.term(freedom) if self.chooses(freedom) else freedom

    def chooses(self, freedom: Any) -> bool:
        """Whether the result is settled: by the profile's choice, or because it is documented."""
        return freedom.attrs[2] == DEVIATION or freedom.attrs[0] in self._choices

    def _nearest(self, freedom: Any) -> Approximation | None:
        """What says the nearest of the allowed results, if the profile takes it."""
        approximation = freedom.attrs[4]
        takes = self.name in _NEAREST and not self.chooses(freedom)
        return approximation if takes and isinstance(approximation, Approximation) else None

    def compiled(self, freedom: Any) -> Int | Approximation:
        """The same as `term` for code that computes values: what says the nearest result, if the profile takes that."""
        return self._nearest(freedom) or self.term(freedom)

    def value(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """The bits for the operands' values: those chosen, or the nearest ones if the profile takes these."""
        approximation = self._nearest(freedom)
        if approximation is None:
            return self.chosen(freedom, operands)
        term = approximation.term
        if term is None:
            return approximation.nearest(*operands)
        return self._evaluated(lambda type, *given: term(*given), freedom, operands)

    def chosen(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """The chosen bits for the operands' values; those documented, if the profile knows of no deviation. Raises NoChoice if
        it leaves them open."""
        choice = self._choice(freedom)
        return refuse(freedom, operands) if choice is None else self._evaluated(choice, freedom, operands)

    def _evaluated(self, choice: Callable[..., Any], freedom: Any, operands: tuple[int, ...]) -> int:
        """What a choice is for the operands' values."""
        slug, width, _, type, *_ = freedom.attrs
        operands = operands_of(freedom, operands)
        function = self._function(choice, slug, width, type, operands_of(freedom))
        if function is not None:
            return int(function(*operands))
        chosen = low_bits(integer(choice(type, *map(integer, operands))), width)
        return int(evaluate(chosen, {}))

    def _function(
        self, choice: Callable[..., Any], slug: str, width: int, type: Any, arguments: tuple[Any, ...]
    ) -> Callable[..., int] | None:
        """A choice as a Python function of the operands, written once for all operands of these ranges; None where one may be
        negative."""
        from ptxspec.terms.python_code import written

        key = (slug, width, type, *((a.lo, a.hi) for a in arguments))
        if key not in self._functions:
            names = [f"c{i}" for i in range(len(arguments))]
            self._functions[key] = None
            if all(a.lo >= 0 for a in arguments):
                operands = [
                    a if a.op == "const" else variable(name, max(1, a.hi.bit_length()))
                    for name, a in zip(names, arguments, strict=True)
                ]
                chosen = low_bits(integer(choice(type, *operands)), width)
                self._functions[key] = partial(written(chosen, "choose", *names), self.value)
        return self._functions[key]
