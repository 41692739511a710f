"""What each word of a document is, for an editor that shows words in colours."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxspec.editor.document import OpenDocument
from ptxspec.editor.names import ENTRY, FUNCTION, LABEL, PARAMETER, TABLE
from ptxspec.language.formatting import COMMENT
from ptxspec.language.outline import NUMBERS, RunKind, WordRun, mnemonic_at
from ptxspec.language.specials import special_registers
from ptxspec.terms.types import TYPES

#: the kinds of words, by the names that the protocol has for them, in the order of their numbers
KINDS = (
    "keyword",
    "function",
    "property",
    "type",
    "variable",
    "parameter",
    "number",
    "string",
    "comment",
    "macro",
    "event",
)
_OF_NAMES = {ENTRY: "function", FUNCTION: "function", PARAMETER: "parameter", LABEL: "event", TABLE: "event"}


def tokens(document: OpenDocument) -> list[int]:
    """All words and comments as the protocol wants them: five numbers each. These are the lines and, on one line, the code units
    from the beginning of the one before; how many code units it has; the number of its kind; and zero."""
    data: list[int] = []
    last = (0, 0)
    for start, end, kind in _lines(document):
        first, behind = document.text.place(start), document.text.place(end)
        down = first.line - last[0]
        data += [down, first.character - (0 if down else last[1])]
        data += [behind.character - first.character, KINDS.index(kind), 0]
        last = first
    return data


def _lines(document: OpenDocument) -> Iterator[tuple[int, int, str]]:
    """The words and comments; those of several lines as one a line."""
    text = document.text.text
    for start, end, kind in _pieces(document):
        for match in re.compile(r"[^\r\n]+").finditer(text, start, end):
            yield match.start(), match.end(), kind


def _pieces(document: OpenDocument) -> Iterator[tuple[int, int, str]]:
    text, split, at = document.text.text, document.split, 0
    kinds = dict(_kinds(document))
    for i, start in enumerate(split.starts[:-2]):
        if not text[at:start].isspace():
            yield from ((m.start(), m.end(), "comment") for m in COMMENT.finditer(text, at, start))
        at = start + len(split.words[i])
        if split.classes[i] == "dotted" and kinds.get(i) == "function":
            behind = start + split.words[i].index(".")
            yield start, behind, "function"
            yield behind, at, "property"
        elif i in kinds:
            yield start, at, kinds[i]


def _kinds(document: OpenDocument) -> Iterator[tuple[int, str]]:
    """The kinds of the words that have one."""
    for run in document.runs:
        opcode = mnemonic_at(document.split, run) if run.kind is RunKind.INSTRUCTION else -1
        for word in range(run.first, run.end):
            kind = _kind(document, run, word, opcode)
            if kind:
                yield word, kind


def _kind(document: OpenDocument, run: WordRun, word: int, opcode: int) -> str | None:
    text, which = document.split.words[word], document.split.classes[word]
    if word == opcode:
        return "function"
    if which in NUMBERS:
        return "number"
    if which in ("string", "endless"):
        return "comment" if text.startswith("/*") else "string"
    if which in ("directive", "bank"):
        if run.kind is RunKind.INSTRUCTION:
            return "property"
        return "type" if text[1:] in TYPES else "keyword"
    if not document.names.is_name(word):
        return None
    symbol = document.names.resolve(text, word)
    if symbol is None:
        return "macro" if text in special_registers() else None
    return _OF_NAMES.get(symbol.what, "variable")
