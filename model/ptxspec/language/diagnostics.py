"""What is said about PTX text that is wrong: where, what, and the page that gives the rule."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from ptxspec.base.escaping import printable, shortened
from ptxspec.base.places import DOCUMENTS
from ptxspec.base.records import NamedTuple
from ptxspec.terms.static_rules import BrokenRule, Facts, StaticRule

#: how many complaints about one module are kept; the others are counted
MOST_ERRORS = 100
#: how much of a line a complaint quotes, and how much it says itself, in characters
WINDOW, MOST_SAID = 200, 2000
#: so many complaints are told apart from ones that were made before
_REMEMBERED = 100_000
#: lines are counted from the beginning of every so many characters
_CHUNK = 1 << 16


def see(page: str) -> str:
    """Where to read more: a page below the folder of the documents, perhaps with a line. The files of an installed package are
    not where anybody looks; a command shows them."""
    return f"see {page}" if (DOCUMENTS / "pyproject.toml").is_file() else f"see: ptxspec page {page}"


def where(rule: StaticRule[*tuple[Any, ...]]) -> str:
    """The page that states a rule, and the line."""
    from ptxspec.language.forms import page_name

    return f"{page_name(rule.path)}:{rule.line}"


class Diagnostic(NamedTuple):
    """One error in PTX text. Lines and columns count from 1. `source` is the line, or 200 characters of a longer line, which
    begin at the column `begins`. `page` is the document that states the rule, with the line where it does so as a
    static rule, or None. The fields contain the text's own
    characters; `str` escapes control characters.

    >>> print(ptxspec.Diagnostic("k.ptx", 3, 5, "nothing is called %r1", "add.u32 %r1, 1, 2;"))
    k.ptx:3:5: nothing is called %r1
    add.u32 %r1, 1, 2;
        ^
    """

    path: str
    line: int
    column: int
    message: str
    source: str
    page: str | None = None
    begins: int = 1

    def __str__(self) -> str:
        text = f"{printable(self.path)}:{self.line}:{self.column}: {printable(self.message)}"
        if self.source:
            before, line = "…" if self.begins > 1 else "", self.source.removesuffix("\r")
            head = before + printable(line[: self.column - self.begins], "\t")
            rest = printable(line[self.column - self.begins :], "\t")
            text += f"\n{head}{rest}\n" + "".join("\t" if c == "\t" else " " for c in head) + "^"
        return text + (f"\n{see(self.page)}" if self.page else "")

    def as_dict(self) -> dict[str, object]:
        """The fields by name, for JSON, with the text's own characters.

        >>> ptxspec.Diagnostic("k.ptx", 3, 5, "nothing is called %r1", "").as_dict()["line"]
        3
        """
        return self._asdict()


class PtxError(Exception):
    """PTX text with errors. `diagnostics` are the first errors in the order of the text: at least one, and at most 100 for each
    module. `more` is the number of the other errors. `whole` says whether the parser read the text to its end: it stops after
    20,000 syntax errors.

    >>> try:
    ...     ptxspec.load(".version 8.0 .target sm_80 .entry k() { bfe.u32; }", "k.ptx")
    ... except ptxspec.PtxError as error:
    ...     for one in error.diagnostics:
    ...         print(f"{one.path}:{one.line}:{one.column}: {one.message} ({one.page})")
    k.ptx:1:41: bfe.u32 takes 4 operands, not 0 (spec/instructions/integer/bfe.md)
    """

    def __init__(self, diagnostics: list[Diagnostic], more: int = 0, whole: bool = True):
        super().__init__(diagnostics, more, whole)
        self.diagnostics, self.more, self.whole = diagnostics, more, whole

    def __str__(self) -> str:
        rest = [f"and {self.more:,} more" + ("" if self.whole else "; the rest is not read")] if self.more else []
        return "\n\n".join([*map(str, self.diagnostics), *rest])

    def as_dict(self) -> dict[str, Any]:
        """`{"diagnostics": […], "more": n, "whole": true}`, for JSON.

        >>> try:
        ...     ptxspec.load(".version 8.0 .target sm_80 .entry k() { bfe.u32; }")
        ... except ptxspec.PtxError as error:
        ...     len(error.as_dict()["diagnostics"]), error.as_dict()["more"]
        (1, 0)
        """
        return {"diagnostics": [d.as_dict() for d in self.diagnostics], "more": self.more, "whole": self.whole}

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (self.diagnostics, self.more, self.whole)


class Later(NamedTuple):
    """Something to say that takes a while to find: it is found when it is shown. `find` gives what to say, and the page."""

    find: Callable[[], tuple[str, str | None]]


def _not_text(given: object) -> str:
    """What to do with something that is not the text of a module."""
    if isinstance(given, bytes | bytearray | memoryview):
        return "the text of a module is a str, not bytes: decode it, as in load(data.decode())"
    if isinstance(given, os.PathLike):
        return f"the text of a module is a str, not a path: read it, as in load(Path({os.fspath(given)!r}).read_text())"
    return f"the text of a module is a str, not {type(given).__name__}"


class Source:
    """A text and its name, able to say where an offset lies."""

    def __init__(self, text: str, path: str = "<ptx>"):
        if not isinstance(text, str):
            raise TypeError(_not_text(text))
        self.text, self.path = text, str(path)

    @property
    def is_a_path(self) -> bool:
        """Whether this is the name of a file and no text of a module."""
        text = self.text
        if not text or len(text) > 4096 or any(c in text for c in "\n;{}"):
            return False
        return text.lower().endswith(".ptx") or os.path.isfile(text)

    def diagnostic(self, offset: int, message: str | Later, page: str | None = None) -> Diagnostic:
        """A complaint about what stands at an offset, which quotes as much of the line as is needed to find it."""
        if isinstance(message, Later):
            message, page = message.find()
        offset = min(max(offset, 0), len(self.text))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        end = len(self.text) if end < 0 else end
        begins = start
        if end - start > WINDOW:
            begins = max(start, min(offset - WINDOW // 2, end - WINDOW))
        line = self.text[begins : min(end, begins + WINDOW)]
        shown = shortened(message, MOST_SAID)
        return Diagnostic(self.path, self.line(offset), offset - start + 1, shown, line, page, begins - start + 1)

    @cached_property
    def _feeds(self) -> list[int]:
        """How many lines end before each chunk."""
        counts = [0]
        for start in range(0, len(self.text), _CHUNK):
            counts.append(counts[-1] + self.text.count("\n", start, start + _CHUNK))
        return counts

    def line(self, offset: int) -> int:
        chunk = offset // _CHUNK
        return self._feeds[chunk] + self.text.count("\n", chunk * _CHUNK, offset) + 1

    def column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)

    def place(self, offset: int) -> tuple[str, int]:
        """(the text's name, a line of it)"""
        return self.path, self.line(offset)

    def part(self, offset: int) -> tuple[Source, int]:
        """(the one text in which an offset lies, the offset in it)"""
        return self, offset

    def error(self, offset: int, message: str | Later, page: str | None = None) -> PtxError:
        return PtxError([self.diagnostic(offset, message, page)])


class Sources(Source):
    """Several texts one after the other. An offset counts from the beginning of the first."""

    def __init__(self, sources: list[Source]):
        super().__init__("".join(f"{s.text}\n" for s in sources), sources[0].path)
        self.sources = sources
        self.starts = [0]
        for source in sources:
            self.starts.append(self.starts[-1] + len(source.text) + 1)

    def part(self, offset: int) -> tuple[Source, int]:
        which = bisect_right(self.starts, offset) - 1
        return self.sources[which], offset - self.starts[which]

    def place(self, offset: int) -> tuple[str, int]:
        source, offset = self.part(offset)
        return source.place(offset)

    def diagnostic(self, offset: int, message: str | Later, page: str | None = None) -> Diagnostic:
        source, offset = self.part(offset)
        return source.diagnostic(offset, message, page)


class _Complaint(NamedTuple):
    offset: int
    number: int
    message: str | Later
    page: str | None


class Complaints:
    """The complaints about one text: the first of them in the order of the text, and how many there are. One that was made
    before is not made again."""

    def __init__(self, source: Source):
        self.source = source
        self.kept: list[_Complaint] = []
        self.count, self.whole = 0, True
        self._known: set[int] = set()

    def add(self, offset: int, message: str | Later, page: str | None = None) -> None:
        key = hash((offset, page, message if isinstance(message, str) else None))
        if key in self._known:
            return
        if len(self._known) < _REMEMBERED:
            self._known.add(key)
        text = message if isinstance(message, Later) else shortened(message, MOST_SAID)
        self.kept.append(_Complaint(offset, self.count, text, page))
        self.count += 1
        if len(self.kept) >= 2 * MOST_ERRORS:
            self._cut()

    def require(self, rule: StaticRule[*Facts], offset: int, *facts: *Facts, **fields: object) -> bool:
        """Whether facts keep a rule of a page. If not, complains of what stands at the offset, and cites the rule's line. The
        `fields` are what the sentence names besides the facts."""
        kept = rule.holds(*facts)
        if not kept:
            self.add(offset, rule.message(*facts, **fields), where(rule))
        return kept

    def add_broken(self, offset: int, broken: BrokenRule) -> None:
        """A rule that a page has found to be broken."""
        self.add(offset, str(broken), where(broken.rule))

    def _cut(self) -> None:
        self.kept.sort(key=lambda c: c[:2])
        del self.kept[MOST_ERRORS:]

    def extend(self, others: Complaints) -> None:
        """The complaints that were made elsewhere about the same text."""
        for complaint in others.kept:
            self.add(complaint.offset, complaint.message, complaint.page)
        self.count += others.count - len(others.kept)
        self.whole &= others.whole

    def __bool__(self) -> bool:
        return self.count > 0

    def diagnostics(self) -> list[Diagnostic]:
        """The complaints that are kept."""
        self._cut()
        return [self.source.diagnostic(c.offset, c.message, c.page) for c in self.kept]

    def error(self) -> PtxError:
        """All of it as one error."""
        diagnostics = self.diagnostics()
        return PtxError(diagnostics, self.count - len(diagnostics), self.whole)


def together(errors: Iterable[PtxError]) -> PtxError:
    """What is wrong with several texts as one error."""
    errors = list(errors)
    return PtxError(
        [d for e in errors for d in e.diagnostics], sum(e.more for e in errors), all(e.whole for e in errors)
    )
