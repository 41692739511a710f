"""Text from a source, a file's name or a program, made fit for a terminal."""

from __future__ import annotations

#: characters that a text of several lines may have
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    r"""The text with every character escaped that a terminal might act on, or that turns text around: `\x1b`, `\u202e`.

    Bytes that are no UTF-8, which Python reads as lone surrogates, become `\xff`. The characters of `keep` stay. What comes out
    stays as it is when it goes in again.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that could not be decoded
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters; of a longer one the middle is left out, where `…` stands."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"
