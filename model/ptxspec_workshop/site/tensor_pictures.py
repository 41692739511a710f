"""Pictures of tensors, computed by the functions of the pages: swizzles, a tile with elements outside, and the walk of pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.terms.core import integer

#: the side of a cell, and the space between drawings
SIDE, SPACE = 30, 36
#: hues of the eight chunks of a line
HUES = tuple(range(0, 360, 45))
OUTSIDE = "#bbb"


class PictureCell(NamedTuple):
    """A square of a drawing: its column and row, its text and its colour."""

    column: int
    row: int
    text: str
    fill: str


class PictureGrid(NamedTuple):
    """Cells with a title, beside one another, and a frame around some: its first column and row, and how many of them it has."""

    title: str
    columns: int
    rows: int
    cells: list[PictureCell]
    frame: tuple[int, int, int, int] | None = None


def swizzles() -> str:
    """The lines of shared memory of each swizzle, with the number of the chunk of 16 bytes that lies in each place."""
    page, grids = contracts.swizzles, []
    for number, pattern in enumerate(page.SWIZZLES):
        if pattern.span and 8 not in pattern.changes.values():
            lines = 1 << sum(bin(mask).count("1") for mask in pattern.changes.values())
            placed = [(int(page.swizzled(integer(number), integer(16 * k))), k) for k in range(8 * lines)]
            cells = [PictureCell(at // 16 % 8, at // 128, str(k % 8), _hue(k % 8)) for at, k in placed]
            grids.append(PictureGrid(pattern.name, 8, lines, cells))
    label = "where the chunks of each line lie in shared memory, by the swizzle"
    return _drawn(
        grids,
        label,
        "Lines of 128 bytes; a cell is a chunk of 16 bytes, with its number in the line without a swizzle.",
    )


def tile() -> str:
    """A box of which a part lies outside: the tensor with the box, and its chunks in shared memory."""
    page, limits = contracts.boxes, contracts.tensor_limits
    dims, box, at = (12, 6), (8, 8), (8, 2)
    map = limits.WantedMap("u32", 0, dims, (64,), (1, 1), box, swizzle="32B").described()
    kind, place = page.BoxKind(2), page.BoxPlace(*at, 0, 0, 0, 0, 0, 0)
    elements = [
        PictureCell(x, y, "", _hue(y - at[1]) if x >= at[0] and y >= at[1] else "none")
        for x in range(dims[0])
        for y in range(dims[1])
    ]
    tensor = PictureGrid("the tensor, and the box", 16, 10, elements, (*at, *box))
    cells = []
    for index in range(int(page.box_bytes(kind, map, place)) // page.CHUNK):
        chunk = page.chunk(kind, map, place, integer(0), integer(index))
        row, half = divmod(index, 2)
        fill = _hue(row) if int(chunk.inside) else OUTSIDE
        there = int(chunk.place) // page.CHUNK
        cells.append(PictureCell(there % 8, there // 8, f"{row}:{half}", fill))
    shared = PictureGrid("shared memory", 8, 2, cells)
    text = (
        "A tensor of 12 × 6 elements of four bytes, and a box of 8 × 8 at the coordinates (8, 2). In shared memory, lines of "
        "128 bytes: the row of each chunk, and behind the colon which half of it, with a swizzle of 32 bytes. Outside is grey."
    )
    return _drawn(
        [tensor, shared], "a box that is partly outside of its tensor, and where its chunks lie in shared memory", text
    )


def pixels() -> str:
    """Two images, with the pixels of a box in their order."""
    page, limits = contracts.boxes, contracts.tensor_limits
    width, height, lower, upper = 7, 5, (-1, -1), (-1, 0)
    wanted = limits.WantedMap(
        "f16", 0, (8, width, height, 2), (16, 112, 560), (1, 2, 1, 1), (), lower, upper, 8, 30, True
    )  # fmt: skip
    kind, place = page.BoxKind(4, "im2col"), page.BoxPlace(0, 2, 1, 0, 0, 1, 0, 0)
    numbers = {}
    for number in range(wanted.pixels):
        _, w, h, n = (int(x) for x in page.first_of_row(kind, wanted.described(), place, integer(number)))
        numbers[w, h, n] = number
    grids = []
    for image in range(2):
        cells = [
            PictureCell(
                w + 1,
                h + 1,
                str(numbers.get((w, h, image), "")),
                _of_pixel(w, h, (w, h, image) in numbers, width, height),
            )
            for w in range(-1, width + 1)
            for h in range(-1, height + 1)
        ]
        frame = (0, 0, width + upper[0] - lower[0], height + upper[1] - lower[1])
        grids.append(PictureGrid(f"image {image}", width + 2, height + 2, cells, frame))
    text = (
        "Two images of 7 × 5 pixels, and around them what is outside, in grey. The frame has the pixels within the corners. A "
        "box of 30 pixels begins at (2, 1), with an element stride of 2 along W and the offset 1; the numbers are its pixels'."
    )
    return _drawn(grids, "the order of the pixels of a box in two images", text)


def _of_pixel(w: int, h: int, taken: bool, width: int, height: int) -> str:
    """The colour of a pixel, which may be outside of the image, and may be in the box."""
    inside = 0 <= w < width and 0 <= h < height
    if taken:
        return _hue(h % 8) if inside else "#999"
    return "none" if inside else "#ddd"


def _hue(number: int) -> str:
    return f"hsl({HUES[number % 8]} 55% 75%)"


def _drawn(grids: Iterable[PictureGrid], label: str, text: str) -> str:
    """Grids side by side, with what is said of them."""
    parts, left, height = [], 0, 0
    for grid in grids:
        parts.append(_grid(grid, left))
        left += max(grid.columns * SIDE, 9 * len(grid.title)) + SPACE
        height = max(height, grid.rows * SIDE + 24)
    size = f'viewBox="0 0 {left - SPACE} {height}" role="img" aria-label="{label}" style="max-width: {left}px; width: 100%"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>\n\n{text}\n'


def _grid(grid: PictureGrid, left: int) -> str:
    """A grid whose first column begins so far from the left."""
    squares, texts = [], []
    for cell in grid.cells:
        x, y = left + cell.column * SIDE, 22 + cell.row * SIDE
        squares.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" fill="{cell.fill}"/>')
        if cell.text:
            color = "currentColor" if cell.fill == "none" else "#111"
            texts.append(f'<text x="{x + SIDE // 2}" y="{y + 19}" fill="{color}">{cell.text}</text>')
    if grid.frame is not None:
        column, row, columns, rows = grid.frame
        place = f'x="{left + column * SIDE}" y="{22 + row * SIDE}" width="{columns * SIDE}" height="{rows * SIDE}"'
        texts.append(f'<rect {place} fill="none" stroke="currentColor" stroke-width="2"/>')
    title = f'<text x="{left}" y="14" font-size="13" fill="currentColor">{grid.title}</text>'
    drawn = f'<g stroke="#555" stroke-width="0.4">{"".join(squares)}</g>'
    return f'{title}{drawn}<g font-size="11" text-anchor="middle">{"".join(texts)}</g>'


PICTURES: dict[str, Callable[[], str]] = {"swizzles": swizzles, "tile": tile, "pixels": pixels}
