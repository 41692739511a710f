"""A document that is being edited: its words, the statements they make, its names, and what is wrong with it. All of it is found
when it is first asked for, and belongs to one state of the text."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from ptxspec.editor.names import DocumentNames
from ptxspec.editor.text import EncodedText
from ptxspec.language.check import check
from ptxspec.language.diagnostics import Diagnostic, PtxError
from ptxspec.language.gaps import gaps_of
from ptxspec.language.outline import WordRun, runs
from ptxspec.language.syntax import syntax
from ptxspec.language.words import Split


class Problem(NamedTuple):
    """What is wrong with the characters from `start` to before `end`, and the page that says so; of a gap, what no page
    describes."""

    start: int
    end: int
    message: str
    page: str | None
    is_gap: bool


class OpenDocument:
    """One state of a document."""

    def __init__(self, text: EncodedText, path: str):
        self.text, self.path = text, path

    @cached_property
    def split(self) -> Split:
        return syntax().lexicon.split(self.text.text)

    @cached_property
    def runs(self) -> list[WordRun]:
        return runs(self.text.text, self.split)

    @cached_property
    def names(self) -> DocumentNames:
        return DocumentNames(self.split, self.runs)

    def word_at(self, offset: int) -> int | None:
        """The number of the word that an offset is in, or just behind."""
        at = bisect_right(self.split.starts, offset, hi=len(self.split.starts) - 3) - 1
        for i in (at, at - 1):
            if i >= 0 and self.split.starts[i] <= offset <= self.end_of(i) and (i == at or offset == self.end_of(i)):
                word = self.split.words[i]
                if i == at and at > 0 and offset == self.split.starts[at] == self.end_of(at - 1) and not _names(word):
                    continue  # between a name and a sign: the name is meant
                return i
        return None

    def end_of(self, word: int) -> int:
        """Behind a word."""
        return self.split.starts[word] + len(self.split.words[word])

    @cached_property
    def problems(self) -> list[Problem]:
        """What `ptxspec check` says of the text: complaints, or the gaps of a text without any."""
        try:
            return [self._problem(gap, True) for gap in gaps_of(check(self.text.text, self.path))]
        except PtxError as error:
            return [self._problem(diagnostic, False) for diagnostic in error.diagnostics]

    @cached_property
    def _feeds(self) -> list[int]:
        """Where the lines begin that the checker counts, which end with a line feed alone."""
        feeds, at = [0], self.text.text.find("\n")
        while at >= 0:
            feeds.append(at + 1)
            at = self.text.text.find("\n", at + 1)
        return feeds

    def _problem(self, diagnostic: Diagnostic, is_gap: bool) -> Problem:
        """A complaint, about the word that it points at, or about the character where that is none."""
        text = self.text.text
        start = min(self._feeds[diagnostic.line - 1] + diagnostic.column - 1, len(text))
        word = bisect_right(self.split.starts, start) - 1
        end = self.end_of(word) if word >= 0 else start
        if end <= start:  # the end of a text, or a line of a preprocessor
            feed = text.find("\n", start)
            end = len(text) if feed < 0 else feed
            if end == start:
                start = max(start - 1, 0)
        feed = text.find("\n", start, end)
        return Problem(start, end if feed < 0 else max(feed, start + 1), diagnostic.message, diagnostic.page, is_gap)


def _names(word: str) -> bool:
    return word[:1].isalnum() or word[:1] in ("_", "$", "%", ".")
