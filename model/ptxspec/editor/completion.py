"""What may be written at the cursor. Opcodes, modifiers and directives come from the pages' syntax lines and grammar."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.editor import pages
from ptxspec.editor.document import OpenDocument
from ptxspec.editor.hover import plain
from ptxspec.editor.names import ENTRY, FUNCTION, LABEL, PARAMETER, REGISTER, TABLE, VARIABLE
from ptxspec.language.forms import registry
from ptxspec.language.outline import RunKind, WordRun, mnemonic_at, runs
from ptxspec.language.syntax import syntax
from ptxspec.language.words import END, Split
from ptxspec.pages import facts
from ptxspec.terms.types import TYPES

_WRITTEN = re.compile(r"(?:::|[\w.$%])*\Z")
_COMMENT = re.compile(r"(?://|\#)[^\n]*\Z|/\*(?:(?!\*/).)*\Z", re.S)


class Of(Enum):
    """What kind of thing is offered."""

    OPCODE = auto()
    MODIFIER = auto()
    TYPE = auto()
    DIRECTIVE = auto()
    REGISTER = auto()
    VARIABLE = auto()
    LABEL = auto()
    FUNCTION = auto()
    VALUE = auto()


class Item(NamedTuple):
    """A word that may stand from `start` to the cursor: what it is, and a few words about it."""

    start: int
    word: str
    of: Of
    detail: str = ""


_KINDS = {
    REGISTER: Of.REGISTER,
    VARIABLE: Of.VARIABLE,
    PARAMETER: Of.VARIABLE,
    LABEL: Of.LABEL,
    TABLE: Of.LABEL,
    FUNCTION: Of.FUNCTION,
    ENTRY: Of.FUNCTION,
}


class _Before(NamedTuple):
    """What stands before the cursor: the words of the statement that is not finished (none: one begins), the piece of a word
    right before the cursor, and how many braces are open."""

    split: Split
    run: WordRun | None
    piece: str
    depth: int
    start: int

    @property
    def words(self) -> list[str]:
        return [] if self.run is None else self.split.words[self.run.first : self.run.end]


def complete(document: OpenDocument, offset: int) -> list[Item]:
    """All that may stand at an offset and begins with what stands right before it."""
    before = _before(document, offset)
    if before is None:
        return []
    written = before.piece.lower()
    items: dict[str, Item] = {}
    for item in _offered(document, offset, before):
        typed = before.piece[item.start - before.start :].lower()
        if item.word.lower().startswith(typed) or (len(typed) > 1 and typed.lstrip(".%") in item.word.lower()):
            items.setdefault(item.word, item)
    exact = [i for i in items.values() if i.word.lower().startswith(written[i.start - before.start :])]
    return [*exact, *(i for i in items.values() if i not in set(exact))]


def _before(document: OpenDocument, offset: int) -> _Before | None:
    """What stands before the cursor; None within a comment or a string."""
    text, whole = document.text.text, document.split
    match = _WRITTEN.search(text, text.rfind("\n", 0, offset) + 1, offset)
    assert match is not None
    piece = match[0]
    label = re.match(r"(?:[\w$%]+:)(?!:)", piece)
    piece = piece[label.end() :] if label else piece
    start = offset - len(piece)
    count = bisect_left(whole.starts, start, hi=len(whole.starts) - 3)
    end = document.end_of(count - 1) if count else 0
    if end > start or (count and whole.classes[count - 1] == "endless") or _COMMENT.search(text, end, start):
        return None
    at = max(bisect_right(document.runs, count - 1, key=lambda run: run.first) - 1, 0)
    first, around = (document.runs[at].first, document.runs[at].depth) if count and document.runs else (0, 0)
    split = Split(
        [*whole.words[first:count], "", "", ""],
        [*whole.classes[first:count], END, END, END],
        [*whole.starts[first:count], start, start, start],
        [],
        {},
    )
    outline = runs(text[:start], split)  # of one statement: where it begins, what comes later has no part in
    depth = around + sum(r.kind is RunKind.OPEN for r in outline) - sum(r.kind is RunKind.CLOSE for r in outline)
    last = outline[-1] if outline else None
    if outline and outline[0].kind is RunKind.CLOSE:
        depth += 1  # the run's own depth is that outside of it
    if last is not None and (
        last.kind in (RunKind.OPEN, RunKind.CLOSE, RunKind.LABEL) or split.words[last.end - 1] == ";"
    ):
        last = None
    if last is not None and last.kind is RunKind.LINE and _is_over(split, last, text[end:start]):
        last = None
    return _Before(split, last, piece, depth, start)


def _is_over(split: Split, run: WordRun, blank: str) -> bool:
    """Whether a directive that no semicolon ends is on an earlier line, and nothing of it is awaited."""
    return "\n" in blank and split.words[run.end - 1] != "," and run.end > run.first + 1


def _offered(document: OpenDocument, offset: int, before: _Before) -> Iterator[Item]:
    run = before.run
    if run is None:
        yield from _beginnings(before, document.split.words)
    elif run.kind is RunKind.LINE:
        yield from _values(before)
    elif run.kind is RunKind.INSTRUCTION:
        yield from _within_instruction(document, offset, before, run)
    elif run.kind is RunKind.TABLE:
        yield from _names(document, offset, before, (Of.LABEL, Of.FUNCTION))
    else:
        yield from _of_declarations(before)
        if before.words and before.words[-1] in ("=", "{", ",", "("):
            yield from _names(document, offset, before, (Of.VARIABLE, Of.FUNCTION))


# what begins a statement ---------------------------------------------------------------------------------------------------


def _beginnings(before: _Before, words: list[str]) -> Iterator[Item]:
    """Opcodes with their modifiers, and directives; `words` are those of the text, which has a heading once."""
    piece, start = before.piece, before.start
    if "." in piece.lstrip("."):
        yield from _modifiers(piece[: piece.rfind(".")], start + piece.rfind("."))
        return
    heading = {".version", ".target", ".address_size"} - set(words) if before.depth <= 0 else set()
    rule = "statement" if before.depth > 0 else "member"
    for word in sorted([*heading, *syntax().begins[rule][0]]):
        if word.startswith("."):
            yield Item(start, word, Of.DIRECTIVE)
    if before.depth > 0:
        yield from (Item(start, name, Of.OPCODE) for name in sorted(registry().index))


def _modifiers(mnemonic: str, start: int) -> Iterator[Item]:
    """What may follow a mnemonic that is not whole, by the syntax lines of its opcode in their order."""
    name, *given = plain(mnemonic).split(".")
    opcode = registry().opcodes.get(name)
    for line, _ in opcode.lines if opcode is not None else ():
        for option, slot in line.following(tuple(given))[0]:
            what = f".{slot.name}" if slot.is_set and "_or_" not in slot.name else ""
            detail = " ".join(filter(None, (what, "(hint)" if slot.hint else "(optional)" if slot.optional else "")))
            yield Item(start, f".{option}", Of.TYPE if option in TYPES else Of.MODIFIER, detail)


# what goes on --------------------------------------------------------------------------------------------------------------


def _within_instruction(document: OpenDocument, offset: int, before: _Before, run: WordRun) -> Iterator[Item]:
    split = before.split
    opcode = mnemonic_at(split, run)
    if opcode >= run.end:  # a guard, perhaps not whole
        if split.words[run.end - 1] in ("@", "!"):
            yield from _names(document, offset, before, (Of.REGISTER,), ".pred")
        else:
            yield from (i for i in _beginnings(before._replace(depth=1), []) if i.of is not Of.DIRECTIVE)
        return
    words = split.words[opcode : run.end]
    if before.piece.startswith(".") and all(word.startswith(".") for word in words[1:]):
        more = before.piece[: before.piece.rfind(".")]
        yield from _modifiers("".join(words) + more, before.start + len(more))
        return
    yield from _names(document, offset, before, (Of.REGISTER, Of.VARIABLE, Of.LABEL, Of.FUNCTION))
    yield from (Item(before.start, name, Of.VALUE, detail) for name, detail in pages.special_register_names())
    yield from (Item(before.start, name, Of.VALUE) for name in contracts.literals.PREDEFINED)


def _names(document: OpenDocument, offset: int, before: _Before, kinds: Iterable[Of], type: str = "") -> Iterator[Item]:
    """The names that may be used at an offset, those of a type first if there are any."""
    at = document.word_at(offset)
    word = at if at is not None else _word_before(document, offset)
    symbols = [s for s in document.names.visible(word) if _KINDS[s.what] in kinds]
    typed = [s for s in symbols if type and type in s.qualifiers.split()]
    for symbol in typed or symbols:
        detail = " ".join(filter(None, (symbol.what, symbol.qualifiers)))
        if symbol.many is None:
            yield Item(before.start, symbol.name, _KINDS[symbol.what], detail)
            continue
        digits = before.piece.removeprefix(symbol.name)
        if before.piece.startswith(symbol.name) and digits.isdigit() and int(digits) < symbol.many:
            yield Item(before.start, before.piece, _KINDS[symbol.what], f"{detail} {symbol.written}")
        few = (str(n) for n in range(min(symbol.many, 64)))
        yield from (Item(before.start, symbol.name + n, _KINDS[symbol.what], detail) for n in few)


def _word_before(document: OpenDocument, offset: int) -> int:
    """The last word that begins before an offset; 0 if there is none."""
    return max(bisect_right(document.split.starts, offset, hi=max(len(document.split.starts) - 3, 0)) - 1, 0)


def _of_declarations(before: _Before) -> Iterator[Item]:
    """Words of declarations: types, state spaces and other directives that do not begin anything."""
    begin = {w for first, _ in syntax().begins.values() for w in first}
    spaces = {f".{name}" for name in contracts.state_spaces.SPACES}
    if before.words[-1] == "=" or (before.words[-1] == "," and "(" not in before.words):
        return
    for type in TYPES.values():
        if type.is_fundamental:
            yield Item(before.start, f".{type.name}", Of.TYPE)
    for word in syntax().literals:
        if word not in begin or word in spaces or word == ".pragma":
            yield Item(before.start, word, Of.DIRECTIVE)


def _values(before: _Before) -> Iterator[Item]:
    """The versions and the targets that there are, the newest first."""
    if before.words[0] == ".version":
        yield from (Item(before.start, version, Of.VALUE) for version in reversed(facts.versions()))
    elif before.words[0] == ".target":
        targets = reversed(facts.targets())
        yield from (Item(before.start, t["target"], Of.VALUE, f"PTX ISA {t['since']}") for t in targets)
