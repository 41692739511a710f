"""Pictures of fragments: for each element of a matrix the lane and the register that hold it, as the page says; and of scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.terms.types import TYPES

#: the side of an element's square, and the space between matrices
SIDE, SPACE = 26, 40
#: the least width of a matrix, in which its title has room
TITLE = 72
#: hues of the eight groups of lanes
HUES = tuple(range(0, 360, 45))


class Matrix(NamedTuple):
    """What is drawn of a matrix: its title, its rows and columns, and a function that gives (lane, number of the register or
    byte, …) of an element."""

    title: str
    rows: int
    columns: int
    place: Callable[[int, int], Any]


def markdown(word: str, factors: str, sums: str) -> str:
    """A picture of the fragments A, B and C of a shape, with what it shows in words."""
    page = contracts.fragments
    shape, of_factors, of_sums = page.shape_of(word), TYPES[factors], TYPES[sums]
    matrices = (
        Matrix("A", shape.m, shape.k, lambda i, j: page.place_in_a(shape, of_factors, i, j)),
        Matrix("B", shape.k, shape.n, lambda i, j: page.place_in_b(shape, of_factors, i, j)),
        Matrix("C and D", shape.m, shape.n, lambda i, j: page.place_in_c(shape, of_sums, i, j)),
    )
    return _drawn(matrices, *_of_shape(f"{word}, with elements of {factors} and {sums}"))


def markdown_of_tiles(word: str, factors: str, sums: str) -> str:
    """The same of tiles."""
    page = contracts.tiles
    shape = page.shape_of(word)
    matrices = []
    for name, matrix, type in (("A", "a", factors), ("B", "b", factors), ("C and D", "c", sums)):
        place = partial(page.place_in_tile, matrix, shape, TYPES[type])
        rows, columns = page.rows_and_columns(matrix, shape)
        matrices.append(Matrix(name, rows, columns, place))
    return _drawn(matrices, *_of_shape(f"{word}, with elements of {factors} and {sums}"))


def _of_shape(what: str) -> tuple[str, str]:
    """The label and the text of a picture of fragments, or tiles."""
    label = f"lane and register of each element of A, B and C of the shape {what}"
    text = "The lane of each element, and behind the colon the number of its register; the colour is that of the group."
    return label, text


def scales(word: str) -> str:
    """A picture of the scales of A and of B in so many blocks, where all selectors are zero."""
    page, blocks = contracts.scales, int(word)
    matrices = (
        Matrix("scales of A", 16, blocks, lambda i, j: page.place_of_row(i, j, 0, 0)),
        Matrix("scales of B", blocks, 8, lambda i, j: page.place_of_column(j, i, 0, 0)),
    )
    label = f"lane and byte of each scale of A and B in {blocks} blocks"
    text = "The lane of each scale, and behind the colon its byte, where all selectors are zero; the colour is that of the group."
    return _drawn(matrices, label, text)


def _drawn(matrices: Sequence[Matrix], label: str, text: str) -> str:
    """Matrices side by side, with what is said of them."""
    parts, left = [], 0
    for matrix in matrices:
        parts.append(_matrix(matrix, left))
        left += max(matrix.columns * SIDE, TITLE) + SPACE
    height = max(matrix.rows for matrix in matrices) * SIDE + 22
    size = f'viewBox="0 0 {left - SPACE} {height}" role="img" aria-label="{label}" style="max-width: {left}px; width: 100%"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>\n\n{text}\n'


def _matrix(matrix: Matrix, left: int) -> str:
    """A matrix whose first column begins so far from the left."""
    squares, texts = [], []
    for row in range(matrix.rows):
        for column in range(matrix.columns):
            lane, number, *_ = matrix.place(row, column)
            x, y = left + column * SIDE, 22 + row * SIDE
            light = 78 if number % 2 == 0 else 66
            fill = f"hsl({HUES[lane // 4]} 55% {light}%)"
            squares.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="{fill}"/>')
            texts.append(f'<text x="{x + SIDE // 2}" y="{y + 17}">{lane}:{number}</text>')
    title = f'<text x="{left}" y="14" font-size="13" fill="currentColor">{matrix.title}</text>'
    drawn = f'<g stroke="#555" stroke-width="0.4">{"".join(squares)}</g>'
    return f'{title}{drawn}<g font-size="9" text-anchor="middle" fill="#111">{"".join(texts)}</g>'
