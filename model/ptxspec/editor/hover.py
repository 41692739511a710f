"""What there is to say of the word under the cursor."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec.editor import pages
from ptxspec.editor.document import Document
from ptxspec.editor.names import ENTRY, FUNCTION, LABEL, TABLE, Symbol
from ptxspec.editor.pages import Links
from ptxspec.language.outline import Kind, Run, mnemonic_at
from ptxspec.terms.types import TYPES

#: characters of a declaration that are shown
LONGEST = 600


class Hover(NamedTuple):
    """Markdown about the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


def hover(document: Document, offset: int, links: Links) -> Hover | None:
    """What there is to say of what stands at an offset; None if that is nothing."""
    word = document.word_at(offset)
    if word is None:
        return None
    split, names = document.split, document.names
    at = names.run_at(word)
    run = names.runs[at] if at >= 0 else None
    start, end = split.starts[word], document.end_of(word)
    if run is not None and run.kind is Kind.INSTRUCTION:
        opcode = mnemonic_at(split, run)
        modifiers = _modifiers(document, run, opcode)
        if opcode <= word <= modifiers:
            return _instruction(document, run, opcode, modifiers, offset, links)
    if names.is_name(word):
        said = name_text(document, word, links)
    elif split.classes[word] in ("directive", "bank"):
        said = pages.directive_text(split.words[word], links)
    else:
        said = None
    return None if not said else Hover(start, end, said)


def _modifiers(document: Document, run: Run, opcode: int) -> int:
    """The last word of an opcode with its modifiers."""
    last = opcode
    while last + 1 < run.end and document.split.classes[last + 1] in ("directive", "bank"):
        last += 1
    return last


def mnemonic_of(document: Document, run: Run) -> str:
    """The opcode of an instruction with its modifiers, as the pages spell it."""
    opcode = mnemonic_at(document.split, run)
    words = document.split.words[opcode : _modifiers(document, run, opcode) + 1]
    return plain("".join(words))


def plain(mnemonic: str) -> str:
    """A mnemonic without the number of a bank of constants, and without what says that a parameter is a function's."""
    from ptxspec import contracts

    closer, space = contracts.state_spaces.IN_A_FUNCTION
    words = [word.partition("[")[0] for word in mnemonic.split(".")]
    return ".".join(space if word == closer else word for word in words)


def _instruction(document: Document, run: Run, first: int, last: int, offset: int, links: Links) -> Hover | None:
    """Of an opcode, or of one of its modifiers."""
    split = document.split
    mnemonic = mnemonic_of(document, run)
    index = -1  # of the modifier under the cursor
    for word in range(first, last + 1):
        at = split.starts[word]
        for piece in split.words[word].split("."):
            start, end = at - (index >= 0), at + len(piece)
            if piece or word == first:
                if offset < end or at + len(piece) == document.end_of(last):
                    if index < 0:
                        said = pages.opcode_text(mnemonic, links)
                    else:
                        said = pages.modifier_text(mnemonic, index, links) or pages.opcode_text(mnemonic, links)
                    return None if not said else Hover(max(start, split.starts[first]), end, said)
                index += 1
            at = end + 1
    return None


def name_text(document: Document, word: int, links: Links) -> str | None:
    """What a name stands for."""
    name = document.split.words[word]
    symbol = document.names.found(name, word)
    if symbol is None:
        return pages.special_register_text(name, links) or pages.system_function_text(name, links)
    return symbol_text(document, symbol)


def symbol_text(document: Document, symbol: Symbol) -> str:
    """What declares a name, and what it is."""
    where = f"line {document.text.place(document.split.starts[symbol.word]).line + 1}"
    function = document.names.scopes[symbol.scope].function
    inside = f" of `{document.split.words[function]}`" if function is not None else ""
    if symbol.what in (LABEL, TABLE):
        return f"```ptx\n{symbol.name}:\n```\n\na {symbol.what}{inside}, {where}"
    if symbol.what in (ENTRY, FUNCTION):
        return f"```ptx\n{_shown(document, symbol.run)}\n```\n\n{_article(symbol.what)}, {where}"
    own = [word.removeprefix(".") for word in symbol.qualifiers.split()]
    types = [pages.type_line(TYPES[word]) for word in own if word in TYPES]
    head = f"```ptx\n{symbol.qualifiers} {symbol.written}\n```\n\n{_article(symbol.what)}{inside}, {where}"
    return "\n\n".join([head, *types])


def _article(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"


def _shown(document: Document, run: Run) -> str:
    """The words of a declaration, as they are written."""
    text = document.text.text[document.split.starts[run.first] : document.end_of(run.end - 1)]
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"
