"""Operands that differ from one another in names and small numbers alone. What the grammar makes of one of them, it makes of all,
with their names and numbers in place of its: that is asked of the parser once, with several names and numbers of our choosing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxspec.language import tree
from ptxspec.language.tree import Operand
from ptxspec.language.words import Lexicon

#: of a template, the places of names and of numbers; all other words are there as they are
_NAME, _NUMBER = 0, 1
#: a number has fewer digits than this, and does not begin with 0: its value is written so
_MOST_DIGITS = 10
#: what stands at the places, of each how the one of a number is written, when the parser is asked: first all different from one
#: another and from what an operand has of itself, then to see that it is always so
_PROBES: tuple[tuple[Callable[[int], str], Callable[[int], str]], ...] = (
    (lambda i: f"%probe{i}", lambda i: str(700_001 + 2 * i)),
    (lambda i: f"x${i}", lambda i: str(2 + 3 * i)),
    (lambda i: "_q", lambda i: "1"),
    (lambda i: f"$L__{i}", lambda i: str(999_999_999 - i)),
)
#: so many templates are remembered
_MOST = 10_000

#: of each word of an operand what it is there: a name, a number, itself, or None where the operand is to be parsed
Template = tuple[str | int | None, ...]
Parse = Callable[[list[str]], Operand | None]
Make = Callable[[list[str]], Operand]


class NotAlike(Exception):
    """A part of an operand that templates have no way to write."""


class Kinds(dict[str, str | int | None]):
    """Of each word the part of a template that it is."""

    def __init__(self, lexicon: Lexicon, fixed: frozenset[str]):
        """`fixed` are names that the grammar gives a meaning."""
        super().__init__(dict.fromkeys(fixed))
        self._class_of = lexicon.class_of

    def __missing__(self, word: str) -> str | int | None:
        which = self._class_of(word)
        kind: str | int | None = None
        if which == "name":
            kind = _NAME
        elif which == "integer" and is_plain(word):
            kind = _NUMBER
        elif which == "punctuation":
            kind = word
        self[word] = kind
        return kind


def is_plain(number: str) -> bool:
    """Whether a number is written in few decimal digits, of which the first is not 0."""
    return number.isdecimal() and number[0] != "0" and len(number) < _MOST_DIGITS


class Templates:
    """What the grammar makes of operands, by their templates."""

    def __init__(self) -> None:
        #: None for those whose operands are to be parsed
        self._known: dict[Template, Make | None] = {}

    def made(self, words: list[str], kinds: Kinds, parse: Parse) -> Operand | None:
        """The operand of these words, None if it is to be parsed. `parse` gives what the parser makes of words, or None."""
        template = tuple(map(kinds.__getitem__, words))
        try:
            make = self._known[template]
        except KeyError:
            if len(self._known) >= _MOST:
                self._known.clear()
            make = self._known[template] = None if None in template else _maker(template, parse)
        return None if make is None else make(words)


def _maker(template: Template, parse: Parse) -> Make | None:
    """The function from the words of an operand to it, if it gives what the parser gives of all probes."""
    make: Make | None = None
    for name, number in _PROBES:
        words = [
            part if isinstance(part, str) else name(i) if part == _NAME else number(i)
            for i, part in enumerate(template)
        ]
        operand = parse(words)
        if operand is None:
            return None
        if make is None:
            places = {word: i for i, word in enumerate(words) if not isinstance(template[i], str)}
            try:
                make = eval(f"lambda words: {_source(operand, places)}", {"new": tuple.__new__, **vars(tree)})
            except NotAlike:
                return None
        assert make is not None
        if not same(make(words), operand):
            return None
    return make


def _source(value: Any, places: dict[str, int]) -> str:
    """Python for an operand, or for a part of one, with the words at their places. Raises NotAlike."""
    if isinstance(value, tuple) and value.__class__ is not tuple:
        return f"new({value.__class__.__name__}, ({''.join(f'{_source(part, places)}, ' for part in value)}))"
    if isinstance(value, tuple):
        return f"({''.join(f'{_source(part, places)}, ' for part in value)})"
    if value.__class__ is str:
        return f"words[{places[value]}]" if value in places else repr(value)
    if value.__class__ is int:
        sign = "-" if value < 0 else ""
        return f"{sign}int(words[{places[str(abs(value))]}])" if str(abs(value)) in places else repr(value)
    if value is None or value.__class__ is bool:
        return repr(value)
    raise NotAlike


def same(value: Any, other: Any) -> bool:
    """Whether two operands, or parts of them, are equal and of the same classes: tuples of two classes may be equal."""
    if value.__class__ is not other.__class__:
        return False
    if isinstance(value, tuple):
        return len(value) == len(other) and all(map(same, value, other))
    return bool(value == other)
