"""The statements of a text as runs of its words, also of a text that is half written, which no grammar reads.

The grammar of the pages says what is right. This says where something begins and ends, as those need it who lay a text out or
look for the names in it while it is being written.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import cache

from ptxspec.base.records import NamedTuple
from ptxspec.language.syntax import syntax
from ptxspec.language.words import END, Split

#: directives of a line of their own, which no semicolon ends
_VERSION, _TARGET, _ADDRESS_SIZE, _FILE, _LOCATION, _SECTION = (
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".loc",
    ".section",
)
LINES = (_VERSION, _TARGET, _ADDRESS_SIZE, _FILE, _LOCATION)
ENTRY, FUNCTION, PRAGMA = ".entry", ".func", ".pragma"
TABLES = (".branchtargets", ".calltargets", ".callprototype")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
#: the classes of words that are names, and of those that are numbers
NAMES = ("name", "dotted")
NUMBERS = ("integer", "decimal", "version", "bits", "predefined")


class RunKind(Enum):
    """What a run of words is."""

    LINE = auto()
    """a directive that no semicolon ends, such as `.version` or `.loc`"""
    SECTION = auto()
    """`.section` and its name"""
    DATA = auto()
    """a line of a section"""
    VARIABLES = auto()
    FUNCTION = auto()
    """an entry or a function up to its body, or with its semicolon"""
    INSTRUCTION = auto()
    LABEL = auto()
    TABLE = auto()
    """a label before what an indirect branch or call may reach"""
    OPEN = auto()
    CLOSE = auto()
    OTHER = auto()


class WordRun(NamedTuple):
    """The words from `first` to before `end`; `depth` is how many braces of bodies are open around it."""

    kind: RunKind
    first: int
    end: int
    depth: int


@cache
def linkages() -> frozenset[str]:
    """The words that say who sees a declaration."""
    return frozenset(word for word in syntax().literals if word in (".visible", ".extern", ".weak", ".common"))


@cache
def spaces() -> frozenset[str]:
    """The words that a declaration of variables begins with, but for numbered banks."""
    from ptxspec import contracts

    return frozenset(f".{name}" for name in contracts.state_spaces.SPACES) & frozenset(syntax().literals)


@cache
def _outer_only() -> frozenset[str]:
    """Directives that begin something in a module and nothing in a function."""
    begins = syntax().begins
    return frozenset(w for w in begins["member"][0] - begins["statement"][0] if w.startswith("."))


def runs(text: str, split: Split) -> list[WordRun]:
    """All of a text, run by run."""
    return list(_Runs(text, split))


class _Runs:
    """Goes over the words of a text."""

    def __init__(self, text: str, split: Split):
        self.text, self.words, self.classes, self.starts = text, split.words, split.classes, split.starts
        self.depth = 0
        self.in_section = False

    def __iter__(self) -> Iterator[WordRun]:
        at = 0
        while self.classes[at] != END:
            kind, end = self._unit(at)
            end = max(end, at + 1)
            if kind is RunKind.CLOSE:
                self.depth = max(self.depth - 1, 0)
                self.in_section = False
            yield WordRun(kind, at, end, self.depth)
            self.depth += kind is RunKind.OPEN
            self.in_section |= kind is RunKind.SECTION
            at = end

    def _unit(self, at: int) -> tuple[RunKind, int]:
        """What begins at a word, and the word after its end."""
        words, word = self.words, self.words[at]
        if word in ("{", "}"):
            return (RunKind.OPEN if word == "{" else RunKind.CLOSE), at + 1
        if self.classes[at] in NAMES and words[at + 1] == ":":
            if words[at + 2] in TABLES:
                return RunKind.TABLE, self._statement(at + 3)
            return RunKind.LABEL, at + 2
        if self.in_section:
            return RunKind.DATA, self._data(at + 1)
        if word in LINES:
            return RunKind.LINE, self._line(at)
        if word == _SECTION:
            return RunKind.SECTION, at + 1 + (self.classes[at + 1] == "directive")
        head = at + (word in linkages())
        if words[head] in (ENTRY, FUNCTION):
            return RunKind.FUNCTION, self._header(head + 1)
        if words[head] in spaces() or self.classes[head] == "bank":
            return RunKind.VARIABLES, self._statement(head + 1)
        if head > at or self.classes[at] == "directive":
            return RunKind.OTHER, self._statement(head + 1)
        return RunKind.INSTRUCTION, self._statement(at + 1)

    def _statement(self, at: int) -> int:
        """Behind the next semicolon, or where something else must begin before it."""
        words, depth = self.words, 0
        while self.classes[at] != END:
            word = words[at]
            if word == ";":
                return at + 1
            if word == "}" and not depth:
                return at
            if (word in _outer_only() and self.classes[at] == "directive") or self._begins(at):
                return at
            depth += (word == "{") - (word == "}")
            at += 1
        return at

    def _begins(self, at: int) -> bool:
        """Whether the first word of a line can be nothing but the beginning of a statement: the one before lacks its end."""
        if "\n" not in self.text[self.starts[at - 1] : self.starts[at]]:
            return False
        if self.words[at] == "@" or self.words[at] in LINES:
            return True
        if self.classes[at] not in NAMES:
            return False
        return self.words[at + 1] == ":" or self.classes[at + 1] in (*NAMES, *NUMBERS)

    def _header(self, at: int) -> int:
        """The body of a function, or behind the semicolon instead of one. A pragma has a semicolon of its own."""
        words, depth = self.words, 0
        while self.classes[at] != END:
            word = words[at]
            if not depth and (word in ("{", "}") or (word in _outer_only() and word != ".attribute")):
                return at
            if word == ";":
                return at + 1
            if word == PRAGMA and not depth:
                while words[at + 1] not in (";", "{", "}", ""):
                    at += 1
                at += words[at + 1] == ";"
            depth += (word in _OPENS) - (word in _CLOSES)
            at += 1
        return at

    def _line(self, at: int) -> int:
        """Behind a directive that no semicolon ends: what follows without a comma is something else, but for what it begins
        with."""
        words, classes = self.words, self.classes
        word, at = words[at], at + 1
        if word == _FILE:
            at += classes[at] in NUMBERS
            at += classes[at] == "string"
        elif word == _LOCATION:
            at = self._numbers(at)
        else:
            at += classes[at] in (*NUMBERS, *NAMES)
        while words[at] == ",":
            at += 1
            if word == _LOCATION and classes[at] in NAMES:  # function_name L+1, inlined_at 1 2 3
                at += 1
                at += classes[at] in (*NAMES, "directive")
                at += 2 * (words[at] == "+")
                at = self._numbers(at)
            elif classes[at] in (*NUMBERS, *NAMES, "string"):
                at += 1
        return at

    def _numbers(self, at: int) -> int:
        while self.classes[at] in NUMBERS:
            at += 1
        return at

    def _data(self, at: int) -> int:
        """Behind a line of a section: the next begins with a width, after what is no operator, or with a label."""
        words, classes = self.words, self.classes
        first = True
        while classes[at] != END and words[at] not in ("{", "}"):
            if classes[at] in NAMES and words[at + 1] == ":":
                return at
            if classes[at] == "directive" and not first:
                return at
            first = words[at] in (",", "+", "-")
            at += 1
        return at


def mnemonic_at(split: Split, run: WordRun) -> int:
    """The word that is an instruction's opcode with its modifiers, behind its guard; `run.end` if there is none yet."""
    at = run.first
    if split.words[at] == "@":
        at += 1 + (at + 1 < run.end and split.words[at + 1] == "!")
        at += at < run.end and split.classes[at] in NAMES
    return min(at, run.end)


def function_parts(split: Split, run: WordRun) -> tuple[int | None, tuple[int, int] | None, tuple[int, int] | None]:
    """Of an entry or a function: the word that is its name, and where the parentheses of its parameters and those of its results
    open and close; None for what is not there."""
    words, classes = split.words, split.classes
    at = run.first + (words[run.first] in linkages()) + 1
    results = None
    while at < run.end and classes[at] not in NAMES:
        if words[at] == ".attribute":
            at = closing(split, at + 1, run.end) + 1
        elif words[at] == "(":
            results = at, closing(split, at, run.end)
            at = results[1] + 1
        else:
            at += 1
    if at >= run.end:
        return None, None, results
    opens = at + 1
    parameters = (opens, closing(split, opens, run.end)) if opens < run.end and words[opens] == "(" else None
    return at, parameters, results


def closing(split: Split, at: int, end: int) -> int:
    """The word that closes what a word opens; `end - 1` at the latest."""
    depth = 0
    for i in range(at, end):
        depth += (split.words[i] in _OPENS) - (split.words[i] in _CLOSES)
        if depth <= 0:
            return i
    return end - 1
