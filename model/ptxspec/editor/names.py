"""The names of a text: what declares each, in which scope, and what it stands for elsewhere. They are found in the words alone,
so that there is an answer while the text is being written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ptxspec.language.named import numbered
from ptxspec.language.outline import NAMES, Kind, Run, closing, function_parts, linkages, mnemonic_at
from ptxspec.language.words import Split

REGISTER, VARIABLE, PARAMETER, LABEL = "register", "variable", "parameter", "label"
FUNCTION, ENTRY, TABLE = "function", "entry", "list of targets"
_INTEGER_BASES = (("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2))


class Symbol(NamedTuple):
    """What a declaration gives a name. `word` is the word of the name, `run` the words of the declaration, `scope` the number of
    the scope; `many` is N of `name<N>`; `qualifiers` are the words before the name, as in `.reg .b32`."""

    name: str
    what: str
    word: int
    run: Run
    scope: int
    many: int | None = None
    qualifiers: str = ""

    @property
    def written(self) -> str:
        """The name as it is declared."""
        return self.name if self.many is None else f"{self.name}<{self.many}>"


class Scope(NamedTuple):
    """A scope: the one around it, and the function whose body it is or is in, as the word of its name."""

    outer: int | None
    function: int | None


class Names:
    """All names of a text."""

    def __init__(self, split: Split, runs: list[Run]):
        self.split, self.runs = split, runs
        self.scopes = [Scope(None, None)]
        #: the scope of each run: of a function, the one of its parameters
        self.scope_of: list[int] = []
        self.symbols: list[Symbol] = []
        self._by_name: dict[tuple[int, str], list[Symbol]] = {}
        self._ranges: dict[tuple[int, str], list[Symbol]] = {}
        self._collect()

    # declarations --------------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        stack = [0]
        waiting: int | None = None  # the scope of a function whose body has not begun
        for run in self.runs:
            if run.kind is Kind.FUNCTION:
                stack = [0]
                name = function_parts(self.split, run)[0]
                self.scopes.append(Scope(0, name))
                waiting = len(self.scopes) - 1
                self.scope_of.append(waiting)
                self._function(run, waiting)
                if self.split.words[run.end - 1] == ";":
                    waiting = None
                continue
            if run.kind is Kind.OPEN:
                if waiting is None:
                    self.scopes.append(Scope(stack[-1], self.scopes[stack[-1]].function))
                stack.append(len(self.scopes) - 1 if waiting is None else waiting)
            waiting = None
            self.scope_of.append(stack[-1])
            if run.kind is Kind.CLOSE and len(stack) > 1:
                stack.pop()
            elif run.kind is Kind.VARIABLES:
                self._variables(run, stack[-1])
            elif run.kind in (Kind.LABEL, Kind.TABLE):
                what = LABEL if run.kind is Kind.LABEL else TABLE
                self._add(Symbol(self.split.words[run.first], what, run.first, run, stack[-1]))

    def _add(self, symbol: Symbol) -> None:
        self.symbols.append(symbol)
        self._by_name.setdefault((symbol.scope, symbol.name), []).append(symbol)
        if symbol.many is not None:
            self._ranges.setdefault((symbol.scope, symbol.name), []).append(symbol)

    def _function(self, run: Run, scope: int) -> None:
        words = self.split.words
        name, parameters, results = function_parts(self.split, run)
        if name is not None:
            head = words[run.first + (words[run.first] in linkages())]
            self._add(Symbol(words[name], ENTRY if head == ".entry" else FUNCTION, name, run, 0))
        for group in (results, parameters):
            if group is None:
                continue
            begins = group[0] + 1
            for i in range(begins, group[1] + 1):
                if words[i] == "," or i == group[1]:
                    self._parameter(run, begins, i, scope)
                    begins = i + 1

    def _parameter(self, run: Run, first: int, end: int, scope: int) -> None:
        """One parameter: its name is the last word that is one."""
        classes = self.split.classes
        at = next((i for i in range(end - 1, first - 1, -1) if classes[i] in NAMES), None)
        if at is not None:
            said = " ".join(self.split.words[first:at])
            what = REGISTER if self.split.words[first] == ".reg" else PARAMETER
            self._add(Symbol(self.split.words[at], what, at, run, scope, None, said))

    def _variables(self, run: Run, scope: int) -> None:
        words, classes = self.split.words, self.split.classes
        at = run.first
        while at < run.end and classes[at] not in NAMES:
            at = closing(self.split, at, run.end) + 1 if words[at] == "(" else at + 1
        said = " ".join(words[run.first : at])
        what = REGISTER if ".reg" in words[run.first : run.first + 2] else VARIABLE
        while at < run.end and classes[at] in NAMES:
            counted = words[at + 1] == "<" and words[at + 3] == ">" and at + 3 < run.end
            count = _number(words[at + 2]) if counted else None
            self._add(Symbol(words[at], what, at, run, scope, count, said))
            while at < run.end and words[at] != ",":
                at = closing(self.split, at, run.end) + 1 if words[at] in ("{", "[", "(") else at + 1
            at += 1

    # what names stand for ------------------------------------------------------------------------------------------------

    def run_at(self, word: int) -> int:
        """The number of the run that a word is in."""
        return bisect_right(self.runs, word, key=lambda run: run.first) - 1

    def scope_at(self, word: int) -> int:
        """The number of the scope that a word is in."""
        at = self.run_at(word)
        return self.scope_of[at] if at >= 0 else 0

    def found(self, name: str, word: int) -> Symbol | None:
        """What a name stands for where the word of that number is; the name may be an element's of a vector."""
        later: Symbol | None = None
        base = name.partition(".")[0]
        scope: int | None = self.scope_at(word)
        while scope is not None:
            candidates = self._by_name.get((scope, base), [])
            prefix, number = numbered(base)
            if number is not None:
                ranges = self._ranges.get((scope, prefix), [])
                candidates = [*candidates, *(s for s in ranges if s.many is not None and number < s.many)]
            candidates = [s for s in candidates if s.many is None or s.name != base or s.word == word]
            before = [s for s in candidates if s.word <= word or s.what not in (REGISTER, VARIABLE)]
            if before:
                return before[-1] if before[-1].what in (REGISTER, VARIABLE) else before[0]
            later = later or next(iter(candidates), None)
            scope = self.scopes[scope].outer
        return later

    @cached_property
    def _references(self) -> dict[int, list[int]]:
        """The words that stand for each symbol, by the number of the word that declares it."""
        found: dict[int, list[int]] = {}
        for word in self._places():
            symbol = self.found(self.split.words[word], word)
            if symbol is not None:
                found.setdefault(symbol.word, []).append(word)
        return found

    def references(self, symbol: Symbol) -> list[int]:
        """The words that stand for a symbol, that of its declaration among them."""
        return self._references.get(symbol.word, [])

    def is_name(self, word: int) -> bool:
        """Whether a word is where names are."""
        if self.split.classes[word] not in NAMES:
            return False
        at = self.run_at(word)
        if at < 0 or word >= self.runs[at].end:
            return False
        run = self.runs[at]
        if run.kind in (Kind.LINE, Kind.SECTION, Kind.DATA):
            return False
        return run.kind is not Kind.INSTRUCTION or word != mnemonic_at(self.split, run)

    def _places(self) -> Iterator[int]:
        """The words that are where names are."""
        for run in self.runs:
            if run.kind in (Kind.LINE, Kind.SECTION, Kind.DATA):
                continue
            opcode = mnemonic_at(self.split, run) if run.kind is Kind.INSTRUCTION else -1
            yield from (i for i in range(run.first, run.end) if self.split.classes[i] in NAMES and i != opcode)

    def visible(self, word: int) -> list[Symbol]:
        """The symbols that may be named where a word is, the innermost first; each name once."""
        found: dict[str, Symbol] = {}
        scope: int | None = self.scope_at(word)
        inside: dict[int, list[Symbol]] = {}
        for symbol in self.symbols:
            inside.setdefault(symbol.scope, []).append(symbol)
        while scope is not None:
            for symbol in inside.get(scope, []):
                found.setdefault(symbol.written, symbol)
            scope = self.scopes[scope].outer
        return list(found.values())


def _number(word: str) -> int | None:
    """The number of names that `<N>` says; None for a word that is none."""
    if word == "WARP_SZ":
        from ptxspec import contracts

        return contracts.literals.PREDEFINED[word]
    word = word.removesuffix("U")
    base = next((b for prefix, b in _INTEGER_BASES if word.startswith(prefix)), 8 if word[:1] == "0" else 10)
    try:
        return int(word, base) if len(word) < 40 else None
    except ValueError:
        return None
