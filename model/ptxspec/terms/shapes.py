"""Litmus tests on pages: shapes, with places for what differs, and for each choice of words whether its outcome is allowed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple

from ptxspec.terms.core import blame

#: what a page says of a test
Outcome = Literal["allowed", "forbidden", "undefined", "live", "spins"]
#: of whether a thread may spin forever
OF_LIVENESS = ("live", "spins")
#: a place in a shape for words that differ
_PLACE = re.compile(r"<([a-z_0-9]+)>")


class ShapeCase(NamedTuple):
    """A shape with these words in its places: what the page says of its outcome, or of its liveness, by which edition's model,
    and the line that says so."""

    shape: Shape
    words: dict[str, str]
    outcome: Outcome
    model: str
    line: int

    @property
    def name(self) -> str:
        """The shape's name and the words."""
        choices = ", ".join(f"{place}={word or 'nothing'}" for place, word in self.words.items())
        return f"{self.shape.name} ({choices})" if choices else self.shape.name

    @property
    def text(self) -> str:
        """The test."""
        body = _PLACE.sub(lambda match: self.words[match[1]], self.shape.template)
        return f"PTX {self.shape.name}\n{body}\n"


class Shape:
    """A litmus test with places for words, written <so>, and its cases."""

    def __init__(self, name: str, template: str, path: str, line: int):
        self.name, self.template, self.path, self.line = name, template.strip("\n"), path, line
        self.places = tuple(dict.fromkeys(_PLACE.findall(template)))
        self.cases: list[ShapeCase] = []

    def allows(self, model: str = "9.1", **words: str | Sequence[str]) -> None:
        """The outcome is allowed with each choice of these words, one for each place."""
        self._say("allowed", model, words)

    def forbids(self, model: str = "9.1", **words: str | Sequence[str]) -> None:
        """The outcome is forbidden with each choice of these words, one for each place."""
        self._say("forbidden", model, words)

    def leaves_open(self, model: str = "9.1", **words: str | Sequence[str]) -> None:
        """With each choice of these words the program has a data race of mixed size, of which the model says nothing."""
        self._say("undefined", model, words)

    def is_live(self, model: str = "9.1", **words: str | Sequence[str]) -> None:
        """With each choice of these words no thread may spin forever."""
        self._say("live", model, words)

    def may_spin(self, model: str = "9.1", **words: str | Sequence[str]) -> None:
        """With each choice of these words a thread may spin forever."""
        self._say("spins", model, words)

    def _say(self, outcome: Outcome, model: str, words: dict[str, str | Sequence[str]]) -> None:
        if words.keys() != set(self.places):
            raise blame(f"{self.name} has the places {', '.join(self.places)}, not {', '.join(words) or 'none'}")
        choices = [[w] if isinstance(w, str) else list(w) for w in (words[place] for place in self.places)]
        line = sys._getframe(2).f_lineno
        for chosen in product(*choices):
            self.cases.append(ShapeCase(self, dict(zip(self.places, chosen, strict=True)), outcome, model, line))


#: the shapes that pages declare, by name
SHAPES: dict[str, Shape] = {}


def shape(name: str, template: str) -> Shape:
    """Declare a shape: a litmus test as `ptxspec litmus` reads it, without its first line, in which <words> stand for places."""
    if name in SHAPES:
        raise blame(f"the shape {name} is declared twice")
    frame = sys._getframe(1)
    SHAPES[name] = Shape(name, template, frame.f_code.co_filename, frame.f_lineno)
    return SHAPES[name]
