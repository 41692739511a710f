"""An execution of a litmus test as a picture: a column for each thread, and arrows for what is read from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

#: in units of the picture: a column's width at least and for each character, a row's height, and the margin
LEAST, CHARACTER, ROW, MARGIN = 150, 7, 44, 16
#: arrows: what a read reads from, and which write is later
_ARROWS = {"reads from": "#b3261e", "coherence": "#1a56a8"}


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


def drawn(
    operations: Sequence[ShownOperation], reads_from: Mapping[str, str], coherence: Sequence[tuple[str, str]]
) -> str:
    """An SVG picture of an execution. `reads_from` has the write of each read, `coherence` the writes in their order, by
    names."""
    columns: dict[str, list[ShownOperation]] = {}
    for operation in operations:
        columns.setdefault(operation.name.partition(".")[0], []).append(operation)
    initial = sorted({n for n in (*reads_from.values(), *(a for a, _ in coherence)) if n.startswith("(")})
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
    arrows = [("reads from", writer, reader) for reader, writer in reads_from.items()]
    arrows += [("coherence", a, b) for a, b in _steps(coherence)]
    parts += [_arrow(places[a], places[b], kind) for kind, a, b in arrows]
    heads = "".join(
        f'<marker id="{kind.replace(" ", "-")}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
        for kind, colour in _ARROWS.items()
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


def _arrow(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """An arrow that bends, so that those between the same two operations are apart."""
    (x, y), (u, v) = start, end
    bend = 24 if kind == "coherence" else -24
    middle = f"{(x + u) / 2 + bend:.0f} {(y + v) / 2 + abs(bend) / 2:.0f}"
    colour = _ARROWS[kind]
    return (
        f'<path d="M{x:.0f} {y + 5:.0f}Q{middle} {u:.0f} {v - 12:.0f}" fill="none" stroke="{colour}" '
        f'marker-end="url(#{kind.replace(" ", "-")})"><title>{kind}</title></path>'
    )


def _steps(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of an order without those that others imply."""
    known = set(pairs)
    return [(a, b) for a, b in pairs if not any((a, c) in known and (c, b) in known for _, c in known)]
