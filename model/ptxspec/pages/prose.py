"""What pages say in words: titles, first paragraphs, and the sentence about a word."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ptxspec.base import places
from ptxspec.literate import finder

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
#: where one sentence ends and the next begins
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(*\[])")
#: longer ones of a page are cut
MOST = 600


def without_links(text: str) -> str:
    """Markdown on one line, with the text of each link in its place.

    >>> without_links("See [add](add.md),\\n   a sum.")
    'See add, a sum.'
    """
    return " ".join(_LINK.sub(r"\1", text).split())


@functools.cache
def title_and_summary(page: str) -> tuple[str, str]:
    """The title of a page, such as "spec/types/index.md", and its first paragraph without links."""
    document = finder.document_of(finder.load(_module(page)))
    return document.title, without_links(document.summary)


def cells_about(page: str, word: str) -> list[str]:
    """The cells of the first row, of a page's tables, that has a word as code before its last cell; none if none has."""
    return next((row for row in _rows(page) if any(f"`{word}`" in cell for cell in row[:-1])), [])


def row_about(page: str, word: str) -> str:
    """The last cell of the first row, of a page's tables, that has a word as code in another cell; "" if none has."""
    return next(iter(cells_about(page, word)[-1:]), "")


def sentence_about(page: str, word: str) -> str:
    """The first sentence of a page that has a word as code; the page's first paragraph if none has."""
    first = next((sentence for sentence in _sentences(page) if f"`{word}`" in sentence), None)
    return (title_and_summary(page)[1] if first is None else first)[:MOST]


def has_word(page: str, word: str) -> bool:
    """Whether a page has a word as code in its prose or its tables."""
    return any(f"`{word}`" in block for block in _blocks(page))


@functools.cache
def _rows(page: str) -> list[list[str]]:
    """The rows of a page's tables, cell by cell."""
    lines = [line for block in _blocks(page) for line in block.splitlines() if line.lstrip().startswith("|")]
    return [[without_links(cell) for cell in line.strip().strip("|").split("|")] for line in lines]


@functools.cache
def _sentences(page: str) -> list[str]:
    """The sentences of a page's paragraphs."""
    blocks = [b for b in _blocks(page) if b and not b.lstrip().startswith(("|", "#"))]
    return [sentence for block in blocks for sentence in _END.split(without_links(block))]


@functools.cache
def _blocks(page: str) -> list[str]:
    """A page's paragraphs and tables, without its fences."""
    text = (places.DOCUMENTS / page).read_text("utf-8")
    return re.split(r"\n\s*\n", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def _module(page: str) -> str:
    return ".".join(["ptxspec", *map(finder.module_name, Path(page).with_suffix("").parts)])
