"""Pictures of fragments: for each element of a matrix the lane and the register that hold it, as the page says; of scales and of
metadata; and of matrices in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.terms.core import integer
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


def of_warpgroup(factors: str, sums: str, columns: str) -> str:
    """A picture of the first warp's rows of A in registers, and of C and D with so many columns."""
    page, of_factors, of_sums = contracts.warpgroups, TYPES[factors], TYPES[sums]
    matrices = (
        Matrix("A", page.ROWS_OF_WARP, page.depth(of_factors, False), partial(page.place_in_a, of_factors)),
        Matrix("C and D", page.ROWS_OF_WARP, int(columns), partial(page.place_in_d, of_sums)),
    )
    label = f"thread and register of each element of A of {factors}, and of C and D of {sums}"
    text = (
        f"The rows of the first warp, with elements of A of {factors} and of C and D of {sums}, and {columns} columns: the "
        "thread of each element, and behind the colon the number of its register; the colour is that of the group of four lanes."
    )
    return _drawn(matrices, label, text)


def metadata(factors: str, selector: str) -> str:
    """A picture of the metadata of the first warp's rows of a sparse A."""
    page, type = contracts.warpgroups, TYPES[factors]
    place = partial(page.place_of_metadata, type, int(selector))
    matrix = Matrix("metadata", page.ROWS_OF_WARP, page.CHUNKS[type.width], place)
    label = f"thread and bit of the metadata of each chunk of a sparse matrix A of {factors}"
    text = (
        f"The rows of the first warp, with elements of {factors} and the selector {selector}: for each chunk the thread that has "
        "its metadata, and behind the colon the lowest of their bits; the colour is that of the group of four lanes."
    )
    return _drawn((matrix,), label, text)


def in_memory(major: str, swizzle: str, bits: str) -> str:
    """A picture of a matrix of a warpgroup in shared memory: of which row, or of which k, each piece of 16 bytes is."""
    page, width = contracts.descriptors, int(bits)
    descriptor = page.packed_descriptor(swizzle)
    per_piece = (8 << page.PIECE) // width
    pieces: dict[int, tuple[int, int]] = {}
    for outer in range(16):
        for inner in range(0, max(32, page.SPANS[swizzle]) * 8 // width, per_piece):
            row, k = (outer, inner) if major == "K" else (inner, outer)
            address = page.element_address(descriptor, major == "K", integer(row), integer(k), width).__index__()
            pieces[address >> page.PIECE] = (outer, inner)
    columns, texts = 1 << page.LINE - page.PIECE, []
    for piece, (outer, inner) in sorted(pieces.items()):
        texts.append(
            _piece(*divmod(piece, columns), outer, f"{outer}: {inner}–{inner + per_piece - 1}", inner // per_piece)
        )
    names = ("row", "k") if major == "K" else ("k", "row")
    kind = "no swizzle" if swizzle == "none" else f"a swizzle of {swizzle} bytes"
    text = (
        f"{major}-major, {kind}, elements of {bits} bits. A row of the picture is 128 bytes of memory, from the left: in each "
        f"16 bytes the {names[0]}, and behind the colon the elements by their {names[1]}; the colour is that of the {names[0]}. "
        "The rows of a matrix B are its columns."
    )
    height = (max(pieces) // columns + 1) * PIECE_HEIGHT
    size = f'viewBox="0 0 {columns * PIECE_WIDTH} {height}" role="img" aria-label="where the elements of a matrix lie in memory"'
    style = f'style="max-width: {columns * PIECE_WIDTH}px; width: 100%"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(texts)}</svg>\n\n{text}\n'


#: the sides of 16 bytes of memory
PIECE_WIDTH, PIECE_HEIGHT = 84, 20


def _piece(row: int, column: int, hue: int, text: str, part: int) -> str:
    """Sixteen bytes."""
    x, y = column * PIECE_WIDTH, row * PIECE_HEIGHT
    fill = f"hsl({HUES[hue % 8]} 55% {78 if part % 2 == 0 else 66}%)"
    box = f'<rect x="{x}" y="{y}" width="{PIECE_WIDTH}" height="{PIECE_HEIGHT}" fill="{fill}" stroke="#555" stroke-width="0.4"/>'
    place = f'x="{x + PIECE_WIDTH // 2}" y="{y + 14}"'
    return f'{box}<text {place} font-size="10" text-anchor="middle" fill="#111">{text}</text>'


def _drawn(matrices: Sequence[Matrix], label: str, text: str) -> str:
    """Matrices side by side, with what is said of them."""
    parts, left = [], 0
    for matrix in matrices:
        parts.append(_matrix(matrix, left))
        left += max(matrix.columns * SIDE, TITLE) + SPACE
    height = max(matrix.rows * SIDE for matrix in matrices) + 22
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
            fill = f"hsl({HUES[lane // 4 % len(HUES)]} 55% {light}%)"
            squares.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="{fill}"/>')
            texts.append(f'<text x="{x + SIDE // 2}" y="{y + 17}">{lane}:{number}</text>')
    title = f'<text x="{left}" y="14" font-size="13" fill="currentColor">{matrix.title}</text>'
    drawn = f'<g stroke="#555" stroke-width="0.4">{"".join(squares)}</g>'
    return f'{title}{drawn}<g font-size="9" text-anchor="middle" fill="#111">{"".join(texts)}</g>'
