"""A text laid out anew: one statement a line, with its comments and single blank lines where there were some.

A comment on a line of its own stands before what it stood before. One behind something on its line goes to the end of the
statement's; of several there, all but the last stand before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxspec.language.diagnostics import Source
from ptxspec.language.parser import Reading
from ptxspec.language.printer import INDENT, Line, indented, lines_of

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\#[^\n]*", re.S)


class Comment(NamedTuple):
    """A comment, or a line of a preprocessor; `alone` says that nothing stands before it on its line."""

    position: int
    text: str
    alone: bool


def formatted(text: str, path: str = "<ptx>") -> str:
    """The text in the layout of this program. Raises PtxError if it cannot be read."""
    reading = Reading(Source(text, path))
    found = reading.module()
    if found.build.complaints or found.module is None:
        raise found.build.complaints.error()
    return _woven(text, lines_of(found.module), _comments(text, reading))


def _comments(text: str, reading: Reading) -> list[Comment]:
    """What stands between words beside blanks."""
    words, starts = reading.split.words, reading.split.starts
    found = []
    end = 0
    for word, start in zip(words, starts, strict=True):
        if start > end and not text[end:start].isspace():
            for match in _COMMENT.finditer(text, end, start):
                before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
                found.append(Comment(match.start(), match[0].rstrip(), not before.strip()))
        end = max(end, start + len(word))
    return found


def _woven(text: str, lines: list[Line], comments: list[Comment]) -> str:
    """The lines with the comments among them."""
    placed = [i for i, line in enumerate(lines) if line.position is not None]
    before: dict[int, list[Comment]] = {}
    behind: dict[int, list[Comment]] = {}
    k = 0
    for comment in comments:
        while k < len(placed) and (lines[placed[k]].position or 0) < comment.position:
            k += 1
        after = placed[k] if k < len(placed) else len(lines)
        if comment.alone or k == 0:
            before.setdefault(after, []).append(comment)
        else:
            behind.setdefault(placed[k - 1], []).append(comment)
    parts: list[str] = []
    for i, line in enumerate([*lines, Line(None, 0, "")]):
        own = before.get(i, [])
        last = behind.get(i, [])
        tail = last.pop() if last and "\n" not in last[-1].text else None
        first = min([c.position for c in own], default=line.position)
        if parts and first is not None and _apart(text, first):
            parts.append("")
        for n, comment in enumerate([*own, *last]):
            if n and n < len(own) and _apart(text, comment.position):
                parts.append("")
            marker = comment.text[0] == "#"
            parts.append(("" if marker else INDENT * (line.depth + (line.text == "}"))) + comment.text)
        if own and not last and line.position is not None and _apart(text, line.position):
            parts.append("")
        if line.text:
            parts.append(indented(line) + (f"  {tail.text}" if tail else ""))
    return "\n".join(parts) + "\n"


def _apart(text: str, position: int) -> bool:
    """Whether an empty line stands before the line of a position."""
    line = text.rfind("\n", 0, position)
    if line <= 0:
        return False
    previous = text[text.rfind("\n", 0, line) + 1 : line]
    return not previous.strip()
