"""An execution of a litmus test as a picture: a column for each thread, and arrows for what is read from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

#: in units of the picture: a column's width at least and for each character, a row's height, and the margin
LEAST, CHARACTER, ROW, MARGIN = 150, 7, 44, 16
#: arrows: to a read from the write that it reads from, from one write to a later one, and others
READS_FROM, COHERENCE = "reads from", "coherence"
_COLOURS = {READS_FROM: "#b3261e", COHERENCE: "#1a56a8"}
_OTHER = "#1b7f3b"


class ShownOperation(Protocol):
    """What is drawn of an operation."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def reads(self) -> int | None: ...
    @property
    def writes(self) -> int | None: ...


def drawn(operations: Sequence[ShownOperation], arrows: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """An SVG picture of an execution. `arrows` has pairs of operations by their names, by what the arrows are; a pair that
    others imply is left out."""
    columns: dict[str, list[ShownOperation]] = {}
    for operation in operations:
        columns.setdefault(operation.name.partition(".")[0], []).append(operation)
    initial = sorted({n for pairs in arrows.values() for pair in pairs for n in pair if n.startswith("(")})
    longest = max((len(_label(o)) for o in operations), default=0)
    width = max(LEAST, longest * CHARACTER + 2 * MARGIN)
    places: dict[str, tuple[float, float]] = {}
    parts: list[str] = []
    total = max(len(columns) * width, len(initial) * LEAST) + 2 * MARGIN
    for i, name in enumerate(initial):
        places[name] = (total * (i + 1) / (len(initial) + 1), MARGIN + ROW / 2)
        parts.append(_text(*places[name], name[1:-1], "middle"))
    top = MARGIN + ROW * (2 if initial else 1)
    for i, (thread, column) in enumerate(columns.items()):
        x = MARGIN + (i + 0.5) * width
        parts.append(_text(x, top - ROW / 3, thread, "middle", "bold"))
        for k, operation in enumerate(column):
            places[operation.name] = (x, top + ROW * (k + 0.5))
            parts.append(_text(*places[operation.name], _label(operation), "middle"))
    height = top + ROW * max(map(len, columns.values()), default=0) + MARGIN
    for kind, pairs in arrows.items():
        both = {(a, b) for a, b in pairs if (b, a) in pairs}
        parts += [_arrow(places[a], places[b], kind, (a, b) in both) for a, b in _steps(pairs)]
    heads = "".join(
        f'<marker id="{_head_of(kind)}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{_COLOURS.get(kind, _OTHER)}"/></marker>'
        for kind in arrows
    )
    words = f"An execution of {len(columns)} threads"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" viewBox="0 0 {total:.0f} {height:.0f}" '
        f'font-family="monospace" font-size="12"><defs>{heads}</defs>{"".join(parts)}</svg>\n'
    )


def _label(operation: ShownOperation) -> str:
    read = "" if operation.reads is None else f" → {operation.reads}"
    return operation.text + read


def _text(x: float, y: float, words: str, anchor: str, weight: str = "normal") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def _arrow(start: tuple[float, float], end: tuple[float, float], kind: str, without_head: bool) -> str:
    """An arrow that bends, so that those between the same two operations are apart."""
    (x, y), (u, v) = start, end
    bend = -24 if kind == READS_FROM else 24
    middle = f"{(x + u) / 2 + bend:.0f} {(y + v) / 2 + abs(bend) / 2:.0f}"
    colour = _COLOURS.get(kind, _OTHER)
    head = "" if without_head else f'marker-end="url(#{_head_of(kind)})"'
    return (
        f'<path d="M{x:.0f} {y + 5:.0f}Q{middle} {u:.0f} {v - 12:.0f}" fill="none" stroke="{colour}" '
        f"{head}><title>{escape(kind)}</title></path>"
    )


def _head_of(kind: str) -> str:
    """The name of an arrow's head: pictures of one page may share it."""
    return "head-" + "".join(c if c.isalnum() else "-" for c in kind)


def _steps(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of an order without those that others imply."""
    known = {(a, b) for a, b in pairs if a != b}
    if any((b, a) in known for a, b in known):  # of a pair both ways round one is enough
        return sorted((a, b) for a, b in known if a < b or (b, a) not in known)
    return [p for p in sorted(known) if not any((p[0], c) in known and (c, p[1]) in known for _, c in known)]
