"""The words of a text, by the regular expressions of the pages' fences of words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ptxspec.literate.documents import DocumentError
from ptxspec.literate.grammar import WordRule

#: of a text's end, and of what is no word
END, UNKNOWN = "end", "unknown"
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


class Lexicon:
    """Cuts texts into words."""

    def __init__(self, rules: Iterable[WordRule]):
        self.rules = {rule.name: rule for rule in rules}
        self.called = {r.name: r.called for r in self.rules.values() if r.called is not None}
        classes = [r for r in self.rules.values() if r.called is not None or r.name == MARKER]
        pieces = "|".join(f"(?P<{rule.name}>{self._expanded(rule)})" for rule in classes)
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

    def matches(self, rule: str, text: str) -> bool:
        """Whether a text is what a rule for words stands for."""
        if rule not in self._patterns:
            self._patterns[rule] = re.compile(rf"(?:{self._expanded(self.rules[rule])})\Z", re.X | re.S | re.A)
        return self._patterns[rule].match(text) is not None

    def class_of(self, word: str) -> str:
        """The class of a word that was found in a text."""
        match = self._class.match(word)
        return UNKNOWN if match is None else str(match.lastgroup)

    def split(self, text: str, begin: int = 0) -> Split:
        """The words of a text, from an offset on."""
        words: list[str] = []
        starts: list[int] = []
        for match in self._next.finditer(text, begin):
            start, end = match.span(1)
            if start < 0:
                break
            words.append(text[start:end])
            starts.append(start)
        known = self._known
        new = set(words).difference(known)
        if len(known) + len(new) > 100_000:  # of many modules, not all words are kept
            known = self._known = {"": END}
            new = set(words)
        for word in new:
            known[word] = self.class_of(word)
        classes = [known[word] for word in words]
        markers: list[int] = []
        if "#" in text and MARKER in classes:
            markers = [start for start, which in zip(starts, classes, strict=True) if which == MARKER]
            kept = [i for i, which in enumerate(classes) if which != MARKER]
            words, classes = [words[i] for i in kept], [classes[i] for i in kept]
            starts = [starts[i] for i in kept]
        words += ["", "", ""]
        classes += [END, END, END]
        starts += [len(text)] * 3
        return Split(words, classes, starts, markers)

    def upto(self, text: str, begin: int, last: str) -> tuple[list[str], list[int]]:
        """The words from an offset to the first `last`, and their offsets."""
        words: list[str] = []
        starts: list[int] = []
        for match in self._next.finditer(text, begin):
            start, end = match.span(1)
            if start < 0:
                break
            words.append(text[start:end])
            starts.append(start)
            if words[-1] == last:
                break
        return words, starts
