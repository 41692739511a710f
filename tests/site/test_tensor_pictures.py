"""The pictures of tensors show what the manual's tables and a walk by hand say."""

from __future__ import annotations

import re

from ptxspec_workshop.site import tensor_pictures


def cells(svg: str) -> list[tuple[int, int, str]]:
    """The texts of the cells: column, row, text."""
    side = tensor_pictures.SIDE
    texts = re.findall(r'<text x="(\d+)" y="(\d+)" fill="[^"]*">([^<]+)</text>', svg)
    return [((int(x) - side // 2) // side, (int(y) - 19 - 22) // side, text) for x, y, text in texts]


def test_the_lines_of_a_swizzle() -> None:
    lines: dict[int, list[tuple[int, str]]] = {}
    for column, row, text in cells(tensor_pictures.swizzles()):
        lines.setdefault(row, []).append((column, text))
    first = "".join(text for _, text in sorted(lines[0]))
    assert first == "01234567" * 5
    assert "".join(text for _, text in sorted(lines[1])) == "10325476" * 3 + "23016745" + "45670123"
    assert "".join(text for _, text in sorted(lines[7])) == "76543210"


def test_a_tile_of_which_a_part_is_outside() -> None:
    picture = tensor_pictures.tile()
    assert {text for *_, text in cells(picture)} == {f"{row}:{half}" for row in range(8) for half in range(2)}
    assert picture.count(f'fill="{tensor_pictures.OUTSIDE}"') == 12


def test_pixels_one_after_the_other() -> None:
    picture = tensor_pictures.pixels()
    texts = cells(picture)
    assert sorted(int(text) for *_, text in texts) == list(range(30))
    assert ("2" in {t for _, row, t in texts if row == 3}) and picture.count("<rect") == 2 * 9 * 7 + 2


def test_each_is_a_picture() -> None:
    for draw in tensor_pictures.PICTURES.values():
        assert draw().startswith("<svg") and "aria-label" in draw()
