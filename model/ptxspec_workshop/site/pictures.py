"""Pictures of lookups: every pixel is what the definitions answer to a kernel that looks a small texture up there.

The kernels run under the native engine and the profile hopper. Nothing about a lookup is decided here: a picture is a texture, a
sampler and coordinates.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxspec.base.options import AddressMode, FilterMode, Geometry
from ptxspec_workshop.generate.image_cases import TextureCase
from ptxspec_workshop.generate.image_kernels import kernel_text
from ptxspec_workshop.site.corner_cases import RowError

Box = tuple[int, int, int, int]


class PicturePanel(NamedTuple):
    """One image of a picture: what stands below it, red, green, blue and opacity of shape (height, width, 4), and where frames
    are drawn (left, top, right, bottom; the last two exclusive)."""

    label: str
    pixels: np.ndarray
    frames: tuple[Box, ...] = ()


class SeenPanel(NamedTuple):
    """A panel with what the page says is seen, as a PNG file."""

    label: str
    alt: str
    png: bytes


# Textures --------------------------------------------------------------------------------------------------------------

#: colours that people tell apart who see no red or no green
ORANGE, SKY, GREEN, YELLOW, BLUE, RED = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0))  # fmt: skip
_LIGHT, _DARK = (255, 255, 255), (20, 20, 20)
_GLYPHS = {"F": "111100110100100", "0": "111101101101111", "1": "010110010010111", "2": "111001111100111",
           "3": "111001111001111", "4": "101101111001001", "5": "111100111001111"}  # fmt: skip


def _with_glyph(texels: np.ndarray, name: str, ink: tuple[int, int, int]) -> np.ndarray:
    """A glyph of 3 × 5 texels in the middle of opaque texels of shape (height, width, 4)."""
    top, left = (texels.shape[0] - 5) // 2, (texels.shape[1] - 3) // 2
    glyph = np.array(list(_GLYPHS[name])).reshape(5, 3) == "1"
    texels[top : top + 5, left : left + 3][glyph] = (*ink, 255)
    return texels


def flag() -> np.ndarray:
    """9 × 9 texels that show which way round they are: an F on four colours, every other texel darker."""
    y, x = np.mgrid[:9, :9]
    colours = np.array([BLUE, GREEN, RED, ORANGE])[(y > 4) * 2 + (x > 4)]
    colours = colours * np.where((x + y) % 2, 0.8, 1.0)[..., None]
    opaque = np.full((9, 9, 1), 255)
    return _with_glyph(np.concatenate([colours, opaque], axis=2).astype(np.uint8), "F", _LIGHT)


def patches() -> np.ndarray:
    """4 × 4 texels, no two neighbours of one colour."""
    colours = np.array([BLUE, YELLOW, RED, SKY, GREEN, ORANGE], np.uint8)
    y, x = np.mgrid[:4, :4]
    texels = np.full((4, 4, 4), 255, np.uint8)
    texels[..., :3] = colours[(x + 4 * y + y // 2) % 6]
    return texels


def chain() -> list[np.ndarray]:
    """32 × 32 texels with a disc and stripes, and its levels, each texel the mean of four."""
    y, x = np.mgrid[:32, :32]
    colours = np.where(((x // 4) % 2 == 0)[..., None], BLUE, YELLOW)
    colours = np.where(((x - 18) ** 2 + (y - 13) ** 2 < 90)[..., None], RED, colours)
    levels = [np.concatenate([colours, np.full((32, 32, 1), 255)], axis=2).astype(np.uint8)]
    while len(levels[-1]) > 1:
        size = len(levels[-1]) // 2
        levels.append(levels[-1].reshape(size, 2, size, 2, 4).mean(axis=(1, 3)).round().astype(np.uint8))
    return levels


def faces(numbered: bool) -> np.ndarray:
    """Six faces of 9 × 9 texels, each of a colour, with its number or without."""
    texels = np.full((6, 9, 9, 4), 255, np.uint8)
    for number, colour in enumerate((RED, ORANGE, GREEN, YELLOW, BLUE, SKY)):
        texels[number, ..., :3] = colour
        if numbered:
            texels[number, ::8, ::8, :3] = texels[number, ::8, ::8, :3] // 2
            _with_glyph(texels[number], str(number), _DARK if colour in (ORANGE, YELLOW, SKY) else _LIGHT)
    return texels


# Lookups ---------------------------------------------------------------------------------------------------------------


@cache
def _module(case: TextureCase) -> Any:
    """The kernel of a case, compiled once for all pictures."""
    import ptxspec

    return ptxspec.load(kernel_text(case))


def looked_up(
    texels: np.ndarray | list[np.ndarray],
    geometry: Geometry,
    coordinates: np.ndarray,
    address: AddressMode = "clamp",
    filter: FilterMode = "nearest",
    level: np.ndarray | None = None,
) -> np.ndarray:
    """What a texture of four bytes a texel gives: bytes of shape (…, 4) for coordinates of shape (…, directions).

    Coordinates are normalized. `level`, of shape (…), is the level of detail, rounded to the nearest level.
    """
    import ptxspec

    columns = [*np.moveaxis(coordinates, -1, 0), *([] if level is None else [level])]
    rows = np.stack([c.reshape(-1) for c in columns], axis=1).astype(np.float32)
    texture = ptxspec.Texture(
        texels, geometry, address=address, filter=filter, normalized_coords=True, read="normalized_float"
    )
    case = TextureCase(geometry, "u8", 4, fractions=True, mode="" if level is None else "level")
    values = np.zeros((len(rows), 4), np.float32)
    arguments = [texture, rows.view(np.uint32), values, np.uint32(len(rows))]
    _module(case).launch("k", -(-len(rows) // 256), 256, arguments)
    return np.rint(values * 255).astype(np.uint8).reshape(*coordinates.shape[:-1], 4)


def grid(first: float, last: float, size: int) -> np.ndarray:
    """The middles of size × size pixels that cover a square, of shape (size, size, 2)."""
    middles = first + (np.arange(size) + 0.5) * ((last - first) / size)
    return np.stack(np.meshgrid(middles, middles), axis=-1)


def _opaque(pixels: np.ndarray) -> np.ndarray:
    """Without what would let the page shine through: the border is black."""
    pixels[..., 3] = 255
    return pixels


def addressing_modes() -> list[PicturePanel]:
    """The flag and one repetition on every side, under each mode."""
    size, place = 27 * 6, grid(-1, 2, 27 * 6)
    frame = ((size // 3, size // 3, 2 * size // 3, 2 * size // 3),)
    modes: tuple[AddressMode, ...] = ("wrap", "mirror", "clamp_to_edge", "clamp_to_border")
    return [PicturePanel(mode, _opaque(looked_up(flag(), "2d", place, mode)), frame) for mode in modes]


def filters() -> list[PicturePanel]:
    """The patches under both filters, and the linear one past the edges."""
    place, frame = grid(-0.25, 1.25, 168), ((28, 28, 140, 140),)
    shown: tuple[tuple[FilterMode, AddressMode], ...] = (
        ("nearest", "clamp_to_edge"),
        ("linear", "clamp_to_edge"),
        ("linear", "clamp_to_border"),
    )
    return [
        PicturePanel(f"{filter}, {mode}", _opaque(looked_up(patches(), "2d", place, mode, filter)), frame)
        for filter, mode in shown
    ]


def levels() -> list[PicturePanel]:
    """The chain, each level on its own, then all of them from left to right."""
    place, texels = grid(0, 1, 96), chain()
    most = len(texels) - 1
    panels = []
    for number in range(len(texels)):
        pixels = looked_up(texels, "2d", place, level=np.full(place.shape[:2], number))
        panels.append(PicturePanel(f"level {number}", pixels))
    panels.append(PicturePanel(f"from 0 to {most}", looked_up(texels, "2d", place, level=place[..., 0] * most)))
    return panels


#: where the faces lie that are folded up to a cube: (column, row), and the directions to the middle, the right and down
_NET = (
    ((1, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1)),
    ((0, 1), (-1, 0, 0), (0, 0, 1), (0, -1, 0)),
    ((1, 1), (0, 0, 1), (1, 0, 0), (0, -1, 0)),
    ((2, 1), (1, 0, 0), (0, 0, -1), (0, -1, 0)),
    ((3, 1), (0, 0, -1), (-1, 0, 0), (0, -1, 0)),
    ((1, 2), (0, -1, 0), (1, 0, 0), (0, 0, -1)),
)


def _net(label: str, texels: np.ndarray, steps: np.ndarray, pixel: int, framed: bool) -> PicturePanel:
    """A cube's surface laid flat, looked up at `steps` from −1 to 1 across each side, every lookup pixel × pixel large."""
    count = len(steps)
    ways = [
        np.add.outer(steps, np.zeros(count))[..., None] * down + steps[:, None] * right + middle
        for _, middle, right, down in (map(np.array, step) for step in _NET)
    ]
    faces_seen = looked_up(texels, "cube", np.stack(ways))
    picture = np.zeros((3 * count, 4 * count, 4), np.uint8)
    frames = []
    for ((column, row), *_), face in zip(_NET, faces_seen, strict=True):
        picture[row * count : (row + 1) * count, column * count : (column + 1) * count] = face
        left, top, size = column * count * pixel, row * count * pixel, count * pixel
        frames.append((left, top, left + size, top + size))
    return PicturePanel(label, picture.repeat(pixel, axis=0).repeat(pixel, axis=1), tuple(frames) if framed else ())


def cube() -> list[PicturePanel]:
    """A cube's surface: the middles of the texels, then points of which the outer ones lie on the cube's edges exactly."""
    middles = (np.arange(9) + 0.5) / 4.5 - 1
    return [
        _net("faces", faces(numbered=True), middles, 9, framed=False),
        _net("ties", faces(numbered=False), np.linspace(-1, 1, 9), 9, framed=True),
    ]


#: the pictures by name
PICTURES: dict[str, Callable[[], list[PicturePanel]]] = {
    "addressing-modes": addressing_modes,
    "cube": cube,
    "filters": filters,
    "levels": levels,
}

# Files -----------------------------------------------------------------------------------------------------------------


def described(lines: list[str]) -> dict[str, tuple[int, str]]:
    """For each label the number of its line and what is seen, from lines of the form "label: what is seen".

    Raises RowError for a line of another form or a label that comes twice.
    """
    labelled: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        label, _, text = (part.strip() for part in line.partition(":"))
        if not text:
            raise RowError(number, f"{line.strip()!r} does not say what is seen; it should be `label: what is seen`")
        if label in labelled:
            raise RowError(number, f"{label!r} is described twice")
        labelled[label] = number, text
    return labelled


def png(panel: PicturePanel) -> bytes:
    """The panel as a PNG file. A frame is a dark line within a light one, drawn on the pixels inside."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(panel.pixels)
    draw = ImageDraw.Draw(image)
    for left, top, right, bottom in panel.frames:
        draw.rectangle((left, top, right - 1, bottom - 1), outline=(*_LIGHT, 255))
        draw.rectangle((left + 1, top + 1, right - 2, bottom - 2), outline=(*_DARK, 255))
    file = io.BytesIO()
    image.save(file, "png", optimize=True)
    return file.getvalue()


def drawn(name: str, lines: list[str]) -> list[SeenPanel]:
    """The panels of a picture, each with what the page says is seen.

    Raises ValueError for an unknown name and a panel without a description, RowError for a line that fits no panel.
    """
    if name not in PICTURES:
        raise ValueError(f"no picture is called {name!r}; there are {', '.join(PICTURES)}")
    texts = described(lines)
    panels = PICTURES[name]()
    labels = [panel.label for panel in panels]
    for label, (number, _) in texts.items():
        if label not in labels:
            raise RowError(number, f"the picture has no part {label!r}, but {'; '.join(labels)}")
    missing = [label for label in labels if label not in texts]
    if missing:
        raise ValueError(f"nothing says what is seen in {'; '.join(missing)}")
    return [SeenPanel(panel.label, texts[panel.label][1], png(panel)) for panel in panels]


def markdown(seen: list[SeenPanel], folder: Path, address: str) -> str:
    """Figures whose files are written into `folder`, which documents know by `address`."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    for picture in seen:
        file = f"{hashlib.sha256(picture.png).hexdigest()[:16]}.png"
        (folder / file).write_bytes(picture.png)
        figures.append(f"~~~~{{figure}} {address}/{file}\n:alt: {picture.alt}\n\n{picture.label}\n~~~~\n")
    return "\n".join(figures)
