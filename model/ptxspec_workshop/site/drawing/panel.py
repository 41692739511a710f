"""What a drawing consists of."""

from __future__ import annotations

from typing import NamedTuple


class Panel(NamedTuple):
    """One SVG of a drawing, the PTX that it shows, and what is said beside that."""

    code: str
    svg: str
    note: str = ""
