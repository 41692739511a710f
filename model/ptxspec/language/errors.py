"""What is said about PTX text that is wrong: where, what, and the page that gives the rule."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import Any, NamedTuple


class Diagnostic(NamedTuple):
    """One complaint. Lines and columns count from 1; `page` is the document that states the rule, if one does.

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

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}:{self.column}: {self.message}"
        if self.source:
            caret = "".join("\t" if c == "\t" else " " for c in self.source[: self.column - 1]) + "^"
            text += f"\n{self.source}\n{caret}"
        return text + (f"\nsee {self.page}" if self.page else "")

    def as_dict(self) -> dict[str, object]:
        """The fields by name, for JSON.

        >>> ptxspec.Diagnostic("k.ptx", 3, 5, "nothing is called %r1", "").as_dict()["line"]
        3
        """
        return self._asdict()


class PtxError(Exception):
    """PTX text that cannot be accepted. `diagnostics` has at least one entry.

    >>> try:
    ...     ptxspec.load(".version 8.0 .target sm_80 .entry k() { bfe.u32; }", "k.ptx")
    ... except ptxspec.PtxError as error:
    ...     for one in error.diagnostics:
    ...         print(f"{one.path}:{one.line}:{one.column}: {one.message} ({one.page})")
    k.ptx:1:41: bfe.u32 takes 4 operands, not 0 (spec/instructions/integer/bfe.md)
    """

    def __init__(self, diagnostics: list[Diagnostic]):
        super().__init__("\n\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (self.diagnostics,)


class Source:
    """A text and its name, able to say where an offset lies."""

    def __init__(self, text: str, path: str = "<ptx>"):
        self.text, self.path = text, path

    def diagnostic(self, offset: int, message: str, page: str | None = None) -> Diagnostic:
        offset = min(max(offset, 0), len(self.text))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : len(self.text) if end < 0 else end]
        return Diagnostic(self.path, self.line(offset), offset - start + 1, message, line, page)

    @cached_property
    def _feeds(self) -> list[int]:
        """The offsets at which lines end."""
        return [match.start() for match in re.finditer("\n", self.text)]

    def line(self, offset: int) -> int:
        return bisect_left(self._feeds, offset) + 1

    def column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)

    def place(self, offset: int) -> tuple[str, int]:
        """(the text's name, a line of it)"""
        return self.path, self.line(offset)

    def error(self, offset: int, message: str, page: str | None = None) -> PtxError:
        return PtxError([self.diagnostic(offset, message, page)])


class Sources(Source):
    """Several texts one after the other. An offset counts from the beginning of the first."""

    def __init__(self, sources: list[Source]):
        super().__init__("".join(f"{s.text}\n" for s in sources), sources[0].path)
        self.sources = sources
        self.starts = [0]
        for source in sources:
            self.starts.append(self.starts[-1] + len(source.text) + 1)

    def place(self, offset: int) -> tuple[str, int]:
        which = bisect_right(self.starts, offset) - 1
        return self.sources[which].place(offset - self.starts[which])
