"""Profiles: named sets of choices among the results that PTX leaves open.

A profile is a page, `spec/profiles/<name>.md`, whose functions marked `@choice("slug")` resolve the freedom of that slug. A
choice is given the freedom's type and its operands as terms, and returns the bits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ptxspec.terms.core import Int, blame, integer
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.vocabulary import low_bits

#: profile -> slug -> the function that chooses
CHOICES: dict[str, dict[str, Callable[..., Any]]] = {}


def choice(slug: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function of a profile's page as its choice for the freedom `slug`."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        own = CHOICES.setdefault(function.__module__.rsplit(".", 1)[-1], {})
        if slug in own:
            raise blame(f"a second choice for {slug!r} in one profile")
        own[slug] = function
        return function

    return mark


def names() -> list[str]:
    """The profiles there are pages for."""
    from ptxspec.literate.finder import pages

    return sorted(n.rsplit(".", 1)[-1] for n, path in pages("ptxspec.spec", "profiles") if path.stem != "index")


class Profile:
    """The choices of one profile. Raises ValueError for a name no page has."""

    def __init__(self, name: str):
        if name not in names():
            raise ValueError(f"no profile is called {name!r}; there are {', '.join(names())}")
        importlib.import_module(f"ptxspec.spec.profiles.{name}")
        self.name = name
        self._choices = CHOICES.get(name, {})

    def term(self, freedom: Any) -> Int:
        """The chosen bits as a term over the freedom's operands. Raises NoChoice if the profile leaves it open."""
        slug, width, _, type, _ = freedom.attrs
        if slug not in self._choices:
            raise NoChoice(freedom)
        return low_bits(integer(self._choices[slug](type, *freedom.args)), width)

    def value(self, freedom: Any, operands: tuple[int, ...]) -> int:
        """The chosen bits for the operands' values."""
        slug, width, _, type, _ = freedom.attrs
        if slug not in self._choices:
            raise NoChoice(freedom)
        chosen = low_bits(integer(self._choices[slug](type, *map(integer, operands))), width)
        return int(chosen.__index__())
