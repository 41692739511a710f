"""Another name for what a name stands for, everywhere in a document."""

from __future__ import annotations

import re

from ptxspec.editor.document import OpenDocument
from ptxspec.editor.names import Symbol
from ptxspec.language.specials import special_registers
from ptxspec.language.syntax import syntax


class Refused(Exception):
    """Why something cannot have a name."""


def renamed_part(document: OpenDocument, word: int) -> tuple[Symbol, int, int] | None:
    """What a word stands for, and the characters of the word that are its name: without the element of a vector, and without the
    number of a name that `name<N>` declares. None where nothing is declared."""
    symbol = document.names.resolve(document.split.words[word], word) if document.names.is_name(word) else None
    if symbol is None:
        return None
    start = document.split.starts[word]
    return symbol, start, start + len(symbol.name)


def renamed(document: OpenDocument, symbol: Symbol, new: str) -> list[tuple[int, int, str]]:
    """What to replace, and by what. Raises Refused for a name that PTX does not allow, or that means something else already."""
    if syntax().lexicon.class_of(new) != "name" or not syntax().lexicon.matches("name", new):
        raise Refused(f"{new!r} is no name: letters, digits, _ and $, perhaps with % first")
    if symbol.many is not None and new[-1].isdigit():
        raise Refused(f"{new} ends with a digit, so that no {new}0 would be one of {new}<{symbol.many}>")
    if new in special_registers() or any(name.startswith(f"{new}.") for name in special_registers()):
        raise Refused(f"{new} is the name of a special register")
    wanted = new if symbol.many is None else f"{new}0"
    places = document.names.references(symbol)
    for other in (document.names.resolve(wanted, word) for word in places):
        if other is not None and other is not symbol:
            line = document.text.place(document.split.starts[other.word]).line + 1
            raise Refused(f"{new} is declared already, in line {line}")
    if any(s.scope == symbol.scope and _meet(s, new, symbol.many) for s in document.names.symbols if s is not symbol):
        raise Refused(f"{new} is declared already in this scope")
    starts = [document.split.starts[word] for word in places]
    return [(start, start + len(symbol.name), new) for start in starts]


def _meet(other: Symbol, new: str, many: int | None) -> bool:
    """Whether a name, or one of those of `new<many>`, is another symbol's."""
    if other.name == new or (other.many is not None and re.fullmatch(rf"{re.escape(other.name)}\d+", new)):
        return True
    return many is not None and re.fullmatch(rf"{re.escape(new)}\d+", other.name) is not None
