"""Pictures of fragments: for each element of a matrix the lane and the register that hold it, as the page says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ptxspec import contracts
from ptxspec.terms.types import TYPES

#: the side of an element's square, and the space between matrices
SIDE, SPACE = 26, 40
#: hues of the eight groups of lanes
HUES = tuple(range(0, 360, 45))


def markdown(word: str, factors: str, sums: str) -> str:
    """A picture of the fragments A, B and C of a shape, with what it shows in words."""
    page = contracts.fragments()
    shape, of_factors, of_sums = page.shape_of(word), TYPES[factors], TYPES[sums]
    matrices = (
        ("A", shape.m, shape.k, lambda i, j: page.place_in_a(shape, of_factors, i, j)),
        ("B", shape.k, shape.n, lambda i, j: page.place_in_b(shape, of_factors, i, j)),
        ("C and D", shape.m, shape.n, lambda i, j: page.place_in_c(shape, of_sums, i, j)),
    )
    return _picture(matrices, f"{word}, with elements of {factors} and {sums}")


def markdown_of_tiles(word: str, factors: str, sums: str) -> str:
    """The same of tiles."""
    page = contracts.tiles()
    shape = page.shape_of(word)
    matrices = []
    for name, matrix, type in (("A", "a", factors), ("B", "b", factors), ("C and D", "c", sums)):
        place = partial(page.place_in_tile, matrix, shape, TYPES[type])
        matrices.append((name, *page.rows_and_columns(matrix, shape), place))
    return _picture(matrices, f"{word}, with elements of {factors} and {sums}")


def _picture(matrices: Sequence[tuple[str, int, int, Callable[[int, int], Any]]], what: str) -> str:
    """Matrices side by side: (name, rows, columns, where an element lies). `what` says which they are."""
    parts, left = [], 0
    for name, rows, columns, place in matrices:
        parts.append(_matrix(name, rows, columns, place, left))
        left += columns * SIDE + SPACE
    height = max(rows for _, rows, _, _ in matrices) * SIDE + 22
    label = f"lane and register of each element of A, B and C of the shape {what}"
    size = f'viewBox="0 0 {left - SPACE} {height}" role="img" aria-label="{label}" style="max-width: {left}px; width: 100%"'
    text = "The lane of each element, and behind the colon the number of its register; the colour is that of the group."
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>\n\n{text}\n'


def _matrix(name: str, rows: int, columns: int, place: Callable[[int, int], Any], left: int) -> str:
    """A matrix whose first column begins so far from the left."""
    squares, texts = [], []
    for row in range(rows):
        for column in range(columns):
            at = place(row, column)
            x, y = left + column * SIDE, 22 + row * SIDE
            light = 78 if at.register % 2 == 0 else 66
            fill = f"hsl({HUES[at.lane // 4]} 55% {light}%)"
            squares.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="{fill}"/>')
            texts.append(f'<text x="{x + SIDE // 2}" y="{y + 17}">{at.lane}:{at.register}</text>')
    title = f'<text x="{left}" y="14" font-size="13" fill="currentColor">{name}</text>'
    drawn = f'<g stroke="#555" stroke-width="0.4">{"".join(squares)}</g>'
    return f'{title}{drawn}<g font-size="9" text-anchor="middle" fill="#111">{"".join(texts)}</g>'
