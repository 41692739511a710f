"""The text of a document, and the places in it as the Language Server Protocol counts them: lines from 0, and within a line the
code units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")
_BEYOND = re.compile(r"[^\x00-\x7f]")


class LinePosition(NamedTuple):
    """A line, from 0, and how many code units of it come before."""

    line: int
    character: int


class EncodedText:
    """A text that does not change. `encoding` is "utf-8", "utf-16" or "utf-32"; offsets count characters."""

    def __init__(self, text: str, encoding: str = "utf-16"):
        self.text, self.encoding = text, encoding

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def is_plain(self) -> bool:
        """Whether each character is one code unit."""
        return self.encoding == "utf-32" or self.text.isascii()

    def _units(self, piece: str) -> int:
        if self.encoding == "utf-8":
            return len(piece.encode("utf-8", "surrogatepass"))
        return len(piece) + sum(ord(c) > 0xFFFF for c in _BEYOND.findall(piece))

    def place(self, offset: int) -> LinePosition:
        """Where an offset is; one beyond the text is its end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        return LinePosition(line, offset - start if self.is_plain else self._units(self.text[start:offset]))

    def offset(self, line: int, character: int) -> int:
        """The offset of a place; one beyond its line is the line's end, one beyond the text the text's, and one within a
        character the character's beginning."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n") if line + 1 < len(self.starts) else self.text[start:end]
        if self.is_plain:
            return start + min(max(character, 0), len(content))
        units = 0
        for i, c in enumerate(content):
            units += self._units(c)
            if units > character:
                return start + i
        return start + len(content)

    def changed(self, start: int, end: int, new: str) -> EncodedText:
        """The text with something else between two offsets."""
        start, end = sorted((start, end))
        return EncodedText(self.text[:start] + new + self.text[end:], self.encoding)
