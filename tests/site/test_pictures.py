"""The pictures of lookups: their pixels against NumPy, their files and texts in a built page, and faults at the page's line."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sphinx")
pytest.importorskip("PIL")

from building import build
from PIL import Image

from ptxspec.base.places import DOCUMENTS
from ptxspec.literate.documents import parse
from ptxspec_workshop.site import pictures
from ptxspec_workshop.site.corner_cases import RowError

PAGES = sorted((DOCUMENTS / "spec").rglob("*.md"))
LINES = [
    "wrap: The letter F, nine times.",
    "mirror: The letter F, in turn with its mirror image.",
    "clamp_to_edge: The letter F, and stripes.",
    "clamp_to_border: The letter F on black.",
]


def panels(name: str) -> dict[str, np.ndarray]:
    return {panel.label: panel.pixels for panel in pictures.PICTURES[name]()}


def texel_of_pixel(size: int, first: float, last: float, texels: int) -> np.ndarray:
    """For each pixel of a row the index of the texel that its middle lies in, which may be outside."""
    return np.floor((first + (np.arange(size) + 0.5) / size * (last - first)) * texels).astype(int)


def test_addressing_modes_are_what_numpy_says() -> None:
    found, texels = panels("addressing-modes"), pictures.flag()
    index = texel_of_pixel(162, -1, 2, 9)
    inside = (index >= 0) & (index < 9)
    outside = ~(inside[:, None] & inside)
    twice = np.concatenate([np.arange(9), np.arange(9)[::-1]])
    edge = np.clip(index, 0, 8)
    bordered = texels[np.ix_(edge, edge)].copy()
    bordered[outside] = (0, 0, 0, 255)
    expected = {
        "wrap": texels[np.ix_(index % 9, index % 9)],
        "mirror": texels[np.ix_(twice[index % 18], twice[index % 18])],
        "clamp_to_edge": texels[np.ix_(edge, edge)],
        "clamp_to_border": bordered,
    }
    assert list(found) == list(expected)
    for label, pixels in expected.items():
        assert np.array_equal(found[label], pixels), label


def bilinear(texels: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Linear filtering in double precision, of texels that may be looked up one beyond each edge."""
    size = len(texels) - 2
    x = place * size - 0.5
    low = np.floor(x).astype(int)
    rest = (x - low)[:, None, None]
    at = [np.clip(low + step, -1, size) + 1 for step in (0, 1)]
    rows = texels[at[0]] * (1 - rest) + texels[at[1]] * rest
    across = np.swapaxes(rows, 0, 1)
    return np.swapaxes(across[at[0]] * (1 - rest) + across[at[1]] * rest, 0, 1)


def test_filters_are_what_numpy_says() -> None:
    found, texels = panels("filters"), pictures.patches().astype(float)
    edge = np.clip(texel_of_pixel(168, -0.25, 1.25, 4), 0, 3)
    assert np.array_equal(found["nearest, clamp_to_edge"], texels[np.ix_(edge, edge)])
    place = -0.25 + (np.arange(168) + 0.5) / 168 * 1.5
    around = ((1, 1), (1, 1), (0, 0))
    for mode, padded in (("edge", np.pad(texels, around, "edge")), ("border", np.pad(texels, around))):
        exact = bilinear(padded, place)
        got = found[f"linear, clamp_to_{mode}"]
        assert np.abs(got[..., :3] - exact[..., :3]).max() <= 2  # a weight has 8 bits
        assert (got[..., 3] == 255).all()


def test_levels_are_what_numpy_says() -> None:
    found, chain = panels("levels"), pictures.chain()
    assert [level.shape[:2] for level in chain] == [(32 >> i, 32 >> i) for i in range(6)]
    for number, level in enumerate(chain):
        index = texel_of_pixel(96, 0, 1, len(level))
        assert np.array_equal(found[f"level {number}"], level[np.ix_(index, index)])
    nearest = np.floor((np.arange(96) + 0.5) / 96 * 5 + 0.5).astype(int)
    assert set(nearest) == set(range(6))
    bands = found["from 0 to 5"]
    for column, number in enumerate(nearest):
        assert np.array_equal(bands[:, column], found[f"level {number}"][:, column])


def test_the_cube_is_what_numpy_says() -> None:
    found = panels("cube")
    net = {2: (0, 1), 1: (1, 0), 4: (1, 1), 0: (1, 2), 5: (1, 3), 3: (2, 1)}
    cells = {
        number: (slice(row * 9, row * 9 + 9), slice(column * 9, column * 9 + 9))
        for number, (row, column) in net.items()
    }
    faces, plain = pictures.faces(numbered=True), pictures.faces(numbered=False)
    shown, ties = found["faces"][4::9, 4::9], found["ties"][4::9, 4::9]
    empty = np.ones(shown.shape[:2], bool)
    for number, cell in cells.items():
        assert np.array_equal(shown[cell], faces[number])
        empty[cell] = False
    assert not shown[empty].any() and not ties[empty].any() and empty.sum() == 6 * 81
    colour = {number: plain[number, 0, 0] for number in range(6)}
    # the neighbours above, right, below and left of each face; a corner goes to the face that comes last in this order of rank
    neighbours = {0: (2, 5, 3, 4), 1: (2, 4, 3, 5), 2: (5, 0, 4, 1), 3: (4, 0, 5, 1), 4: (2, 0, 3, 1), 5: (2, 1, 3, 0)}
    rank = [0, 0, 1, 1, 2, 2]
    for number, cell in cells.items():
        for y in range(9):
            for x in range(9):
                above, right, below, left = neighbours[number]
                meeting = [number] + [above] * (y == 0) + [right] * (x == 8) + [below] * (y == 8) + [left] * (x == 0)
                winner = max(meeting, key=lambda face: rank[face])
                assert np.array_equal(ties[cell][y, x], colour[winner]), (number, y, x)


def test_what_is_seen_must_be_said() -> None:
    for lines, line, complaint in [
        ([*LINES[:3], "", "clamp: stripes"], 4, "has no part 'clamp', but wrap; mirror"),
        ([LINES[0], "mirror"], 1, "does not say what is seen"),
        ([LINES[0], "mirror:  "], 1, "does not say what is seen"),
        ([LINES[0], LINES[0]], 1, "described twice"),
    ]:
        with pytest.raises(RowError, match=complaint) as error:
            pictures.drawn("addressing-modes", lines)
        assert error.value.line == line
    with pytest.raises(ValueError, match="nothing says what is seen in clamp_to_border"):
        pictures.drawn("addressing-modes", LINES[:3])


def test_every_picture_is_on_a_page_and_described_there() -> None:
    named = []
    for path in PAGES:
        for fence in re.finditer(r"^```\{picture\} (.*)\n((?:.*\n)*?)```$", path.read_text("utf-8"), re.M):
            named.append(fence[1])
            parts = pictures.described(fence[2].splitlines())
            assert list(parts) == list(panels(fence[1])), path
            assert all(len(text.split()) >= 4 for _, text in parts.values())
    assert sorted(named) == sorted(pictures.PICTURES)


# Built pages -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A site of one page below spec/textures, with a picture."""
    page = tmp_path / "spec/textures/addressing.md"
    page.parent.mkdir(parents=True)
    text = (DOCUMENTS / "spec/textures/addressing.md").read_text("utf-8")
    page.write_text(re.sub(r"\]\([^)]*\)", "]", text))
    (tmp_path / "spec/ambiguities.md").write_text("# Register\n\nEntries.\n")
    (tmp_path / "index.md").write_text("# Front\n\nA site.\n\n```{pages} spec\n```\n\n```{pages} spec/textures\n```\n")
    return tmp_path


def test_a_page_has_its_picture(tree: Path) -> None:
    assert build(tree) == ""
    site = tree / "build/site"
    figures = re.findall(r"<figure.*?</figure>", (site / "spec/textures/addressing.html").read_text(), re.S)
    assert len(figures) == 4
    index = texel_of_pixel(162, -1, 2, 9) % 9
    for figure, (label, alt) in zip(figures, _described(tree / "spec/textures/addressing.md"), strict=True):
        source, text = re.search(r'src="([^"]*)"', figure), re.search(r'alt="([^"]*)"', figure)
        assert source and text and html.unescape(text[1]) == alt
        assert label in re.sub(r"<[^>]*>", "", figure)
        image = np.asarray(Image.open((site / "spec/textures" / source[1]).resolve()))
        assert image.shape == (162, 162, 4)
        if label == "wrap":
            wrong = (image != pictures.flag()[np.ix_(index, index)]).any(axis=2)
            framed = np.zeros((162, 162), bool)
            framed[54:108, 54:108] = True
            framed[56:106, 56:106] = False
            assert not wrong[~framed].any() and wrong[framed].any()


def _described(path: Path) -> list[tuple[str, str]]:
    text = path.read_text("utf-8").split("```{picture} addressing-modes\n")[1].split("```")[0]
    return [(label, seen) for label, (_, seen) in pictures.described(text.splitlines()).items()]


def test_a_wrong_name_is_reported_at_its_line(tree: Path) -> None:
    page = tree / "spec/textures/addressing.md"
    page.write_text(page.read_text().replace("{picture} addressing-modes", "{picture} adressing-modes"))
    line = page.read_text().splitlines().index("```{picture} adressing-modes") + 1
    warnings = build(tree)
    assert f"addressing.md:{line}: WARNING: {{picture}}: no picture is called 'adressing-modes'" in warnings


def test_a_part_that_is_not_there_is_reported_at_its_line(tree: Path) -> None:
    page = tree / "spec/textures/addressing.md"
    page.write_text(page.read_text().replace("\nmirror: ", "\nmirrored: "))
    (line,) = (n for n, text in enumerate(page.read_text().splitlines(), 1) if text.startswith("mirrored: "))
    assert f"addressing.md:{line}: WARNING: {{picture}}: the picture has no part 'mirrored'" in build(tree)
    assert parse(page.read_text(), page).of("python")  # the page is otherwise sound
