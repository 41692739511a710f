"""The notation of the pages about syntax: fences of words, and fences of grammar.

A rule is `name "what a message calls it" = …`, and goes on in the lines after it that are indented. In a fence of words the
right side is a regular expression in which blanks mean nothing and `<name>` stands for another rule. A rule with
something that a message can call it is a class of words; one without is a piece of others. In a fence of grammar, `"…"`
is a word as it stands, a name another rule or a class of words, `[ … ]` may be left out, `{ … }` comes any number of
times, `|` separates what may stand in one place, and `label:` gives what was read there a name."""

from __future__ import annotations

import re

from ptxspec.base.records import NamedTuple
from ptxspec.literate.documents import DocumentError, FencedBlock


class WordRule(NamedTuple):
    """A rule of a fence of words: a regular expression."""

    name: str
    called: str | None
    pattern: str
    path: str
    line: int


class Literal(NamedTuple):
    """A word as it stands."""

    text: str
    label: str | None


class Reference(NamedTuple):
    """Another rule, or a class of words."""

    name: str
    label: str | None


class Sequence(NamedTuple):
    items: tuple[Node, ...]


class Choice(NamedTuple):
    alternatives: tuple[Node, ...]


class Optional(NamedTuple):
    item: Node


class Repetition(NamedTuple):
    item: Node


Node = Literal | Reference | Sequence | Choice | Optional | Repetition


class GrammarRule(NamedTuple):
    """A rule of a fence of grammar."""

    name: str
    called: str | None
    node: Node
    path: str
    line: int


_HEAD = re.compile(r'(?P<name>[a-z_]+)(?:[ \t]+"(?P<called>[^"\n]+)")?[ \t]*=(?P<body>.*)\Z', re.S)
_TOKEN = re.compile(r'\s*(?:(?P<label>[a-z_]+):)?(?:"(?P<literal>[^"\s]+)"|(?P<name>[a-z_]+)|(?P<mark>[\[\]{}()|]))')


def _rules(fence: FencedBlock, path: str) -> list[tuple[str, str | None, str, int]]:
    """(name, what it is called, right side, line) of each rule."""
    rules: list[tuple[str, str | None, str, int]] = []
    lines: list[str] = []
    first = fence.line

    def end() -> None:
        if lines:
            match = _HEAD.match("\n".join(lines))
            if match is None:
                raise DocumentError(path, first, f'a rule is written name "…" = …, not {lines[0]!r}')
            rules.append((match["name"], match["called"], match["body"], first))

    for number, line in enumerate(fence.text.splitlines(), fence.line):
        if not line.strip():
            continue
        if line[0].isspace():
            if not lines:
                raise DocumentError(path, number, "the first rule of a fence begins at the margin")
            lines.append(line)
        else:
            end()
            lines, first = [line], number
    end()
    return rules


def words_of(fence: FencedBlock, path: str) -> list[WordRule]:
    """The rules of a fence of words. Raises DocumentError at the line of what it cannot read."""
    return [WordRule(name, called, body.strip(), path, line) for name, called, body, line in _rules(fence, path)]


def rules_of(fence: FencedBlock, path: str) -> list[GrammarRule]:
    """The rules of a fence of grammar. Raises DocumentError at the line of what it cannot read."""
    return [
        GrammarRule(name, called, _RightSideReader(body, path, line).whole(), path, line)
        for name, called, body, line in _rules(fence, path)
    ]


class _RightSideReader:
    """Reads one right side."""

    def __init__(self, text: str, path: str, line: int):
        self.path, self.line = path, line
        self.tokens: list[re.Match[str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or (match["label"] and match["mark"]):
                raise DocumentError(path, line, f"cannot read the rule from {text[at:].strip()[:40]!r}")
            self.tokens.append(match)
            at = match.end()
        self.at = 0

    def mark(self) -> str | None:
        return self.tokens[self.at]["mark"] if self.at < len(self.tokens) else ""

    def whole(self) -> Node:
        node = self.choice()
        if self.at < len(self.tokens):
            raise DocumentError(self.path, self.line, f"{self.mark()!r} closes nothing")
        return node

    def choice(self) -> Node:
        alternatives = [self.sequence()]
        while self.mark() == "|":
            self.at += 1
            alternatives.append(self.sequence())
        return alternatives[0] if len(alternatives) == 1 else Choice(tuple(alternatives))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.at < len(self.tokens) and self.mark() not in ("|", ")", "]", "}"):
            items.append(self.item())
        if not items:
            raise DocumentError(self.path, self.line, "something must stand on each side of a '|' and in brackets")
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def item(self) -> Node:
        token = self.tokens[self.at]
        self.at += 1
        if token["literal"]:
            return Literal(token["literal"], token["label"])
        if token["name"]:
            return Reference(token["name"], token["label"])
        opened, inner = token["mark"], self.choice()
        closing = {"[": "]", "{": "}", "(": ")"}[opened]
        if self.mark() != closing:
            raise DocumentError(self.path, self.line, f"{opened!r} is not closed")
        self.at += 1
        if opened == "(":
            return inner
        return Optional(inner) if opened == "[" else Repetition(inner)
