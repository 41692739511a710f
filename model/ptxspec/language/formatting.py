"""A text laid out anew: one statement a line. Words and comments stay as they are, and in their order; only what is blank between
them changes.

A comment behind something stays on its line, one on a line of its own stays on one, and of several empty lines one stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxspec.base.records import NamedTuple
from ptxspec.language.diagnostics import Source
from ptxspec.language.outline import NAMES, NUMBERS, RunKind, WordRun, function_parts, mnemonic_at, runs
from ptxspec.language.parser import Reading
from ptxspec.language.syntax import syntax
from ptxspec.language.words import Split

#: where longer lists are broken
WIDTH = 100
INDENT = "    "
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\#[^\n]*", re.S)
_OPERATORS = frozenset(("+ - * / % & | ^ ~ ! << >> < > <= >= == != && || ? :").split())


class Comment(NamedTuple):
    """A comment or a line of a preprocessor: its text, whether it begins a line, whether an empty line stands before it, and
    whether it ends its line."""

    text: str
    fresh: bool
    apart: bool
    last: bool


class Spacing(NamedTuple):
    """What stands before a word: comments, and whether an empty line is between the last of them, or the word before, and it."""

    comments: tuple[Comment, ...]
    apart: bool


class WordLayout(NamedTuple):
    """How a word is joined to the one before: on a new line, `depth` deep, or after `space`, with `depth` for a line that a
    comment makes necessary."""

    depth: int
    space: str | None


class Change(NamedTuple):
    """What to put in the place of the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


def formatted(text: str, path: str = "<ptx>") -> str:
    """The text in the layout of this program. Raises PtxError if it cannot be read."""
    pieces, at = [], 0
    for change in changes(text, path):
        pieces += [text[at : change.start], change.text]
        at = change.end
    return "".join(pieces) + text[at:]


def changes(text: str, path: str = "<ptx>") -> list[Change]:
    """What is to be changed of a text, from its beginning to its end, so that it has the layout of this program: blanks between
    words, with the comments there. Raises PtxError if the text cannot be read."""
    reading = Reading(Source(text, path))
    result = reading.module()
    if result.build.complaints or result.module is None:
        raise result.build.complaints.error()
    split = reading.split
    count = len(split.words) - 3
    newline = "\r\n" if re.search(r"\r?\n|\Z", text)[0] == "\r\n" else "\n"  # type: ignore[index]
    places = _places(text, split)
    parts = [_written(_gap(text, split, i), places[i], split.words[i], newline, i == 0) for i in range(count)]
    parts.append(_written(_gap(text, split, count), WordLayout(0, None), "", newline, count == 0))
    assert _same_words(split, parts), f"{path}: the formatted text would have another meaning"
    made = []
    for i, part in enumerate(parts):
        start, end = _end_before(split, i), split.starts[i]
        if text[start:end] != part:
            made.append(Change(start, end, part))
    return made


def _same_words(split: Split, parts: list[str]) -> bool:
    """Whether the words are read as the same ones with these texts between them."""
    words = split.words[: len(parts) - 1]
    text = "".join(part + word for part, word in zip(parts, [*words, ""], strict=True))
    return syntax().lexicon.split(text).words == split.words


def _end_before(split: Split, i: int) -> int:
    return split.starts[i - 1] + len(split.words[i - 1]) if i else 0


def _gap(text: str, split: Split, i: int) -> Spacing:
    """What stands before a word."""
    at, end = _end_before(split, i), split.starts[i]
    blank = text[at:end]
    if blank.isspace() or not blank:
        return Spacing((), blank.count("\n") > 1)
    comments: list[Comment] = []
    for match in COMMENT.finditer(text, at, end):
        feeds = text.count("\n", at, match.start())
        at = match.end()
        last = match[0][0] == "#" or match[0][:2] == "//" or re.compile(r"[^\S\n]*(\n|\Z)").match(text, at) is not None
        comments.append(Comment(match[0].rstrip(), feeds > 0, feeds > 1, last))
    return Spacing(tuple(comments), text.count("\n", at, end) > 1)


def _written(gap: Spacing, place: WordLayout, word: str, newline: str, first: bool) -> str:
    """The text before a word."""
    if place.space is None:
        return _before_line(gap, place.depth, word, newline, first)
    if not gap.comments:
        return place.space
    parts: list[str] = []
    fresh = newline + INDENT * (place.depth + 1)
    broken = False
    for comment in gap.comments:
        if comment.text[0] == "#":
            parts.append(newline)
        else:
            parts.append(fresh if comment.fresh or broken else "  " if comment.last else " ")
        parts.append(comment.text)
        broken = comment.last
    parts.append(fresh if broken else " ")
    return "".join(parts)


def _before_line(gap: Spacing, depth: int, word: str, newline: str, first: bool) -> str:
    """The text before a word that begins a line; the empty word ends the text."""
    parts: list[str] = []
    beside = not first
    inner = INDENT * (depth + (word == "}"))
    for n, comment in enumerate(gap.comments):
        if (comment.fresh or first) and not (first and n and not comment.fresh):
            beside = False
            if parts or not first:
                parts.append(newline * (1 + comment.apart))
            parts.append(("" if comment.text[0] == "#" else inner) + comment.text)
        else:
            parts.append(("  " if beside and not n else " ") + comment.text)
    if not word:
        parts.append(newline if parts or not first else "")
    else:
        if parts or not first:
            parts.append(newline * (1 + gap.apart))
        parts.append(INDENT * depth)
    return "".join(parts)


def _places(text: str, split: Split) -> list[WordLayout]:
    """How each word is joined to the one before."""
    places: list[WordLayout] = []
    for run in runs(text, split):
        depth = max(run.depth - (run.kind in (RunKind.LABEL, RunKind.TABLE)), 0)
        places.append(WordLayout(depth, None))
        spaces = list(_Spacing(split, run).spaces())
        breaks = _breaks(split, run, spaces, depth)
        for i, space in enumerate(spaces, run.first + 1):
            places.append(WordLayout(breaks[i], None) if i in breaks else WordLayout(depth, space))
    return places


def _breaks(split: Split, run: WordRun, spaces: list[str], depth: int) -> dict[int, int]:
    """Where lines begin within a run, and how deep."""
    if run.kind is RunKind.FUNCTION:
        return dict(_header(split, run, depth))
    if run.kind is RunKind.VARIABLES and "=" in split.words[run.first : run.end]:
        return _list(split, run, spaces, depth)
    return {}


def _header(split: Split, run: WordRun, depth: int) -> Iterator[tuple[int, int]]:
    """A line for each parameter, and for each directive after them."""
    name, parameters, _ = function_parts(split, run)
    if name is None:
        return
    after = name + 1
    if parameters is not None:
        opens, closes = parameters
        after = closes + 1
        if closes > opens + 1:
            yield opens + 1, depth + 1
            yield from ((i + 1, depth + 1) for i in range(opens + 1, closes) if split.words[i] == ",")
            yield closes, depth
    for i in range(after, run.end):
        if split.classes[i] == "directive" or (split.words[i] == ";" and split.words[i - 1] == ";"):
            yield i, depth


def _list(split: Split, run: WordRun, spaces: list[str], depth: int) -> dict[int, int]:
    """Of a value that is too long for one line: the lines of what is in its braces."""
    words = split.words
    widths = [len(words[i]) for i in range(run.first, run.end)]
    opens = words.index("=", run.first) + 1
    if len(INDENT) * depth + sum(widths) + sum(map(len, spaces)) <= WIDTH or words[opens] != "{":
        return {}
    closes = max(i for i in range(run.first, run.end) if words[i] == "}")
    depths = {opens + 1: depth + 1, closes: depth}
    begins, column = opens + 1, len(INDENT) * (depth + 1)
    for i in range(opens + 1, closes):
        if words[i] == "," and i + 1 < closes:
            piece = _piece(words, i + 1, closes)
            reached = column + sum(widths[k - run.first] for k in range(begins, i + 1))
            reached += sum(len(spaces[k - run.first - 1]) for k in range(begins + 1, i + 1))
            if reached + 1 + sum(widths[k - run.first] + len(spaces[k - run.first - 1]) for k in piece) > WIDTH:
                depths[i + 1] = depth + 1
                begins = i + 1
    return depths


def _piece(words: list[str], at: int, end: int) -> range:
    """The words up to the next comma."""
    return range(at, next((i for i in range(at, end) if words[i] == ","), end - 1) + 1)


class _Spacing:
    """The blanks within a run."""

    def __init__(self, split: Split, run: WordRun):
        self.words, self.classes, self.run = split.words, split.classes, run
        #: the last word of an opcode with its modifiers
        self.opcode = -1
        if run.kind is RunKind.INSTRUCTION:
            self.opcode = mnemonic_at(split, run)
            while self.opcode + 1 < run.end and self.classes[self.opcode + 1] in ("directive", "bank"):
                self.opcode += 1
        self.brackets = 0

    def spaces(self) -> Iterator[str]:
        for i in range(self.run.first + 1, self.run.end):
            before = self.words[i - 1]
            self.brackets += (before == "[") - (before == "]")
            yield self._space(i)

    def _space(self, i: int) -> str:
        a, b = self.words[i - 1], self.words[i]
        if b in (",", ";", ")", "]", "}") or a in ("(", "[", "{", "@"):
            return ""
        if a == "," or "=" in (a, b):
            return " "
        if self._counts(i):
            return ""
        if b == ":" and i == self.run.first + 1:
            return ""
        if b in _OPERATORS and self._is_binary(i):
            return "" if self._is_tight(i) else " "
        if a in _OPERATORS and not (a == ":" and i - 1 == self.run.first + 1):
            return "" if not self._is_binary(i - 1) or self._is_tight(i - 1) else " "
        if a == ")" and b in _OPERATORS:  # a cast
            return ""
        if i - 1 <= self.opcode or b == "{":
            return " "
        if b == "(":
            if self.classes[i - 1] == "directive":
                return "" if a == ".attribute" or self._in_attribute(i) else " "
            return "" if self.classes[i - 1] in (*NAMES, *NUMBERS) else " "
        if b == "[":
            return "" if self.classes[i - 1] in (*NAMES, *NUMBERS) or a == "]" else " "
        return "" if a == "]" and self.classes[i] == "directive" else " "

    def _counts(self, i: int) -> bool:
        """Whether the word is part of `<N>` behind a name."""
        if self.run.kind is not RunKind.VARIABLES:
            return False
        opens = next((k for k in (i, i - 1, i - 2) if self.words[k] == "<"), -1)
        return opens > 0 and self.classes[opens - 1] in NAMES and self.words[opens + 2] == ">"

    def _in_attribute(self, i: int) -> bool:
        """Whether the word stands in the parentheses of `.attribute`."""
        return any(
            self.words[k] == "(" and self.words[k - 1] == ".attribute"
            for k in range(max(i - 12, self.run.first + 1), i)
        )

    def _is_binary(self, i: int) -> bool:
        """Whether an operator has something before it to work on."""
        before, kind = self.words[i - 1], self.classes[i - 1]
        if i - 1 <= self.opcode or i == self.run.first:
            return False
        if before == ")":
            return not (self.words[i - 3] == "(" and self.classes[i - 2] == "directive")
        return kind in (*NAMES, *NUMBERS) or before in ("]", "_")

    def _is_tight(self, i: int) -> bool:
        """Whether no blanks stand around a binary operator: in brackets, behind a name, and in a pair. `%` before a letter or a
        digit would begin a name."""
        if self.words[i] == "%":
            return False
        at = i
        while at - 1 > max(self.run.first, self.opcode) and self.words[at - 1] not in (",", "(", "{", "=", "@"):
            at -= 1
        return self.brackets > 0 or any(self.classes[k] in NAMES or self.words[k] == "_" for k in range(at, i))
