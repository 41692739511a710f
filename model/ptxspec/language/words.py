"""The words of a text, by the regular expressions of the pages' fences of words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Set
from functools import cached_property
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.literate.documents import DocumentError
from ptxspec.literate.grammar import WordRule

#: of a text's end, and of what is no word
END, UNKNOWN = "end", "unknown"
#: of several instructions that are read already (see runs.py)
RUN = "a run of instructions"
#: rules with a meaning of their own: what separates words, and the lines of a preprocessor, which are read and dropped
BLANK, MARKER = "blank", "marker"
_PIECE = re.compile(r"<(?P<name>[a-z_]+)>")


class Split(NamedTuple):
    """A text's words: each with its class and its offset. Three empty ones stand at the end, so that it is safe to look ahead."""

    words: list[str]
    classes: list[str]
    starts: list[int]
    markers: list[int]
    """the offsets of the lines of a preprocessor"""
    runs: dict[int, list[Any]]
    """of words that stand for several instructions, by their numbers: the instructions"""

    def ended(self, length: int) -> Split:
        """With what stands at the end of a text of this length."""
        self.words.extend(("", "", ""))
        self.classes.extend((END, END, END))
        self.starts.extend((length, length, length))
        return self


class Lexicon:
    """Cuts texts into words."""

    def __init__(self, rules: Iterable[WordRule]):
        self.rules = {rule.name: rule for rule in rules}
        self.called = {r.name: r.called for r in self.rules.values() if r.called is not None}
        classes = [r for r in self.rules.values() if r.called is not None or r.name == MARKER]
        pieces = "|".join(f"(?P<{rule.name}>{self._expanded(rule)})" for rule in classes)
        self._pieces = "|".join(f"(?:{self._expanded(rule)})" for rule in classes)
        blank = {rule.name: self._expanded(rule) for rule in self.rules.values()}[BLANK]
        try:
            self._blank = re.compile(blank, re.X | re.S | re.A)
            #: a character that begins no word is one, so that no word is searched for beyond it: that would take quadratic time
            self._next = re.compile(rf"(?:{blank})*+(?:({pieces}|(?P<{UNKNOWN}>.))|\Z)", re.X | re.S | re.A)
            self._class = re.compile(rf"(?:{pieces}|(?P<{UNKNOWN}>.))\Z", re.X | re.S | re.A)
        except re.error as error:
            first = classes[0]
            raise DocumentError(
                first.path, first.line, f"the rules for words are no regular expression: {error}"
            ) from None
        self._known: dict[str, str] = {"": END}
        self._patterns: dict[str, re.Pattern[str]] = {}

    def _expanded(self, rule: WordRule, within: tuple[str, ...] = ()) -> str:
        """The rule's pattern, with the patterns of others where it names them."""

        def piece(match: re.Match[str]) -> str:
            name = match["name"]
            if name not in self.rules or name in (*within, rule.name):
                raise DocumentError(rule.path, rule.line, f"<{name}> is no other rule for words")
            return f"(?:{self._expanded(self.rules[name], (*within, rule.name))})"

        return _PIECE.sub(piece, rule.pattern)

    def pattern(self, rule: str) -> str:
        """The regular expression of a rule for words."""
        return self._expanded(self.rules[rule])

    def matches(self, rule: str, text: str) -> bool:
        """Whether a text is what a rule for words stands for."""
        if rule not in self._patterns:
            self._patterns[rule] = re.compile(rf"(?:{self.pattern(rule)})\Z", re.X | re.S | re.A)
        return self._patterns[rule].match(text) is not None

    def class_of(self, word: str) -> str:
        """The class of a word that was found in a text."""
        match = self._class.match(word)
        return UNKNOWN if match is None else str(match.lastgroup)

    def into(
        self, text: str, begin: int, borders: Set[str], words: list[str], starts: list[int], end: int = sys.maxsize
    ) -> int:
        """Add the words from an offset on, and their offsets, to the first that is one of the borders, or to the end, at which
        there is none of a word. Returns where the border ends, or -1 if there is none."""
        for match in self._next.finditer(text, begin, end):
            start, after = match.span(1)
            if start < 0:
                break
            word = text[start:after]
            words.append(word)
            starts.append(start)
            if word in borders:
                return after
        return -1

    @cached_property
    def _all(self) -> re.Pattern[str]:
        """What `_next` finds, without the classes."""
        return re.compile(rf"(?:{self.pattern(BLANK)})*+(?:({self._pieces}|.)|\Z)", re.X | re.S | re.A)

    def words(self, text: str) -> list[str]:
        """The words of a short text."""
        return [*filter(None, self._all.findall(text))]

    def classes(self, words: list[str]) -> list[str]:
        """The classes of words that were found in a text."""
        known = self._known
        new = set(words).difference(known)
        if len(known) + len(new) > 100_000:  # of many modules, not all words are kept
            known = self._known = {"": END}
            new = set(words)
        for word in new:
            known[word] = self.class_of(word)
        return [known[word] for word in words]

    def split(self, text: str, begin: int = 0) -> Split:
        """The words of a text, from an offset on."""
        words: list[str] = []
        starts: list[int] = []
        self.into(text, begin, frozenset(), words, starts)
        classes = self.classes(words)
        markers: list[int] = []
        if "#" in text and MARKER in classes:
            markers = [start for start, which in zip(starts, classes, strict=True) if which == MARKER]
            kept = [i for i, which in enumerate(classes) if which != MARKER]
            words, classes = [words[i] for i in kept], [classes[i] for i in kept]
            starts = [starts[i] for i in kept]
        return Split(words, classes, starts, markers, {}).ended(len(text))

    def upto(self, text: str, begin: int, last: str) -> tuple[list[str], list[int]]:
        """The words from an offset to the first `last`, and their offsets."""
        words: list[str] = []
        starts: list[int] = []
        self.into(text, begin, {last}, words, starts)
        return words, starts
