"""Text of others as a terminal may show it: no character of it moves the cursor, reorders the line or is invisible."""

from __future__ import annotations

from ptxspec.escaping import printable


def shown(text: str, keep: str = "") -> str:
    """The text with every character escaped that a terminal would act on; `keep` are the characters to leave."""
    return printable(text, keep)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters; of a longer one the middle is left out, where `…` stands."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"
