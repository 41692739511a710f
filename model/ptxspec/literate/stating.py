"""What a page states by a call: where the call stands, and the texts in it."""

from __future__ import annotations

import sys


def called_at() -> tuple[str, int]:
    """(the file, the line) at which the function was called that asks."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def trimmed(text: str) -> str:
    """The lines of a text without the blanks around them."""
    return "\n".join(line.strip() for line in text.strip().splitlines())
