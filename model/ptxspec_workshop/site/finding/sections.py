"""A document taken apart at its headings, each with its anchor and its prose."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ptxspec.pages.prose import without_links

#: headings of this depth and less have anchors (`myst_heading_anchors` of conf.py)
DEPTH = 3
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6}) +(.*?)\s*$")
#: the first sentence of a text, or what of it is short enough for a list of results
_SENTENCE = re.compile(r".{20,140}?[.!?](?=\s|$)|.{1,120}(?=\s|$)")


class DocumentSection(NamedTuple):
    """A part of a document: its title, its anchor ("" for the top of the page), the line of its heading, and its prose."""

    title: str
    anchor: str
    line: int
    text: str

    @property
    def about(self) -> str:
        """How it begins."""
        match = _SENTENCE.match(plain(self.text.partition("\n\n")[0]))
        return match[0] if match else ""


def sections(path: Path) -> list[DocumentSection]:
    """The parts of a document, the one below its title first."""
    from myst_parser.slugs import github_slugify, unique_slug

    slugs: set[str] = set()
    parts: list[tuple[str, str, int, list[str]]] = []
    closing = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if closing:
            closing = "" if fence and fence[1].startswith(closing) else closing
            continue
        if fence:
            closing = fence[1]
            continue
        heading = _HEADING.match(line)
        if heading and len(heading[1]) <= DEPTH:
            slug = unique_slug(github_slugify(plain(heading[2])), slugs)
            slugs.add(slug)
            parts.append((plain(heading[2]), slug if len(heading[1]) > 1 else "", number, []))
        elif parts:
            parts[-1][3].append(line)
    return [DocumentSection(title, anchor, line, "\n".join(text).strip()) for title, anchor, line, text in parts]


def plain(text: str) -> str:
    """Markdown on one line without its marks.

    >>> plain("`b` and [c](c.md) are **short**")
    'b and c are short'
    """
    return re.sub(r"`|\*\*|\\(?=\W)", "", without_links(re.sub(r"\]\{[^}]*\}", "]()", text))).strip()
