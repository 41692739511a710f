"""Text of others as a terminal may show it: no character of it moves the cursor, reorders the line or is invisible."""

from __future__ import annotations

import re

#: control characters (C0, DEL, C1), the marks, embeddings, overrides and isolates that reorder text (U+061C, U+200E, U+200F,
#: U+202A to U+202E, U+2066 to U+2069), the separators U+2028 and U+2029, the mark U+FEFF, and surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def shown(text: str, keep: str = "") -> str:
    r"""The text with every character that a terminal would act on, or cannot encode, as an escape such as \x1b or \u202e.
    `keep` are the characters to leave.

    >>> shown("a\x1b[31m\tb", keep="\t")
    'a\\x1b[31m\tb'
    """

    def escaped(match: re.Match[str]) -> str:
        character = match[0]
        return character if character in keep else ascii(character)[1:-1]

    return _UNSAFE.sub(escaped, text)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters; of a longer one the middle is left out, where `…` stands."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"
