"""Reading one document: its title, its fences and the Python text that remains when all prose is blanked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ptxspec.base.records import NamedTuple

#: what a fence may say it holds; any other word is a fence nobody reads
READ_FENCES = frozenset({"python", "syntax", "words", "grammar", "ptx", "cuda", "text", "console"})


#: a fence, in lists and quotations too; one that nothing ends goes on to the end of the page
_FENCE = re.compile(rb"^[ >]*(`{3,}|~{3,})[^`\n]*\n(?:.*\n)*?(?:[ >]*\1[`~]*[ \t]*$|.*\Z)", re.M)


class DocumentError(Exception):
    """Something is wrong with a document. `path` and `line` (1-based) say where."""

    def __init__(self, path: str | Path, line: int, message: str):
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.message = str(path), line, message

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (self.path, self.line, self.message)


class FencedBlock(NamedTuple):
    """A fenced block: what it holds, the 1-based line of its first line of text, and the text."""

    language: str
    line: int
    text: str


class Document(NamedTuple):
    """A parsed page. `summary` is the first paragraph; `fences` come in the order of the text."""

    path: str
    title: str
    summary: str
    fences: tuple[FencedBlock, ...]

    def of(self, language: str) -> list[FencedBlock]:
        return [fence for fence in self.fences if fence.language == language]


def parse(text: str, path: str | Path) -> Document:
    """Parse a document with markdown-it. Raises DocumentError for a page without a title, a fence in a language
    that nothing reads, or Python that stands inside another block (its lines would not be the document's)."""
    from markdown_it import MarkdownIt

    body = text
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    title = summary = ""
    fences = []
    for i, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h1" and not title:
            title = tokens[i + 1].content
        elif token.type == "paragraph_open" and not summary and title:
            summary = tokens[i + 1].content
        elif token.type == "fence":
            first = (token.map or [0])[0] + 1
            language = token.info.strip().split(" ")[0]
            if re.fullmatch(r"\{[\w:-]+\}", language):  # a directive: the site's to read
                continue
            if language not in READ_FENCES:
                known = ", ".join(sorted(READ_FENCES))
                raise DocumentError(path, first, f"nobody reads a fence of {language!r}; fences hold {known}")
            if language in ("python", "syntax", "words", "grammar") and token.level:
                raise DocumentError(path, first, f"a {language} fence inside another block; move it to the margin")
            fences.append(FencedBlock(language, first + 1, token.content))
    if not title:
        raise DocumentError(path, 1, "the page has no title")
    return Document(str(path), title, " ".join(summary.split()), tuple(fences))


class Heading(NamedTuple):
    """A heading of a page: its 1-based line, its level from 1 on, and its text."""

    line: int
    level: int
    text: str


def headings(text: str) -> list[Heading]:
    """The headings of a page, in order. What a fence holds is none.

    >>> headings("# add\\n\\nA sum.\\n\\n## Semantics\\n")
    [Heading(line=1, level=1, text='add'), Heading(line=5, level=2, text='Semantics')]
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [
        Heading((token.map or [0])[0] + 1, int(token.tag[1:]), tokens[i + 1].content)
        for i, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def without_prose(page: bytes) -> bytes:
    """A page without the prose behind its first fence, whose lines are left empty, and without what follows its last one: all
    that a program can read of it, and where that is. Computed answers are kept under digests of this, so that a better sentence
    does not cost a proof.

    >>> without_prose(b"# add\\n\\nA sum.\\n\\n```python\\nx\\n```\\n\\nProse.\\n")
    b'# add\\n\\nA sum.\\n\\n```python\\nx\\n```'
    """
    kept: list[bytes] = []
    at = 0
    for fence in _FENCE.finditer(page):
        prose = page[at : fence.start()]
        kept += [b"\n" * prose.count(b"\n") if kept else prose, fence[0]]
        at = fence.end()
    return b"".join(kept) if kept else page


def fences(page: bytes) -> bytes:
    """The fences of a page, wherever on the page they are.

    >>> fences(b"# add\\n\\nA sum.\\n\\n```python\\nx\\n```\\n\\nProse.\\n")
    b'```python\\nx\\n```'
    """
    return b"\n".join(fence[0] for fence in _FENCE.finditer(page))


def read_by_programs(path: Path) -> bytes:
    """What a program can read of a file: of a page what is left without prose, of others all. Raises OSError."""
    data = path.read_bytes()
    return without_prose(data) if path.suffix == ".md" else data


def blanked(text: str, document: Document) -> str:
    """The document's Python with every other line empty, so that line numbers stay the document's."""
    lines = [""] * (text.count("\n") + 1)
    for fence in document.of("python"):
        for offset, line in enumerate(fence.text.splitlines()):
            lines[fence.line - 1 + offset] = line
    return "\n".join(lines) + "\n"
