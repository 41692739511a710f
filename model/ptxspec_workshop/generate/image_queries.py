"""Cases for the attributes of images: every query of a texture, of its sampler and of a surface, about images of every geometry,
of several sizes, with and without further levels, of every kind of texel, and in linear memory."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.language.forms import forms
from ptxspec_workshop.generate.image_cases import COUNT, DTYPES, MODES, SMALL, QueryCase, SurfaceCase, TextureCase

#: (width, height, depth or layers) of images, by geometry; the last is that of a chain of levels
_SIZES = {
    "1d": ((1, 1, 1), (53, 1, 1), (64, 1, 1)),
    "2d": ((1, 1, 1), (29, 19, 1), (40, 9, 1)),
    "3d": ((1, 1, 1), (13, 9, 7), (20, 11, 6)),
    "a1d": ((1, 1, 1), (37, 1, 5), (33, 1, 3)),
    "a2d": ((1, 1, 1), (21, 15, 4), (17, 40, 7)),
    "cube": ((1, 1, 6), (16, 16, 6), (24, 24, 6)),
    "acube": ((1, 1, 6), (12, 12, 18), (20, 20, 12)),
}
#: how many levels the chain has
_CHAIN = 4


def _textures() -> Iterator[TextureCase]:
    channels = tuple(DTYPES)
    turn = 0
    for geometry in COUNT:
        *alone, chain = _SIZES[geometry]
        for size in (*alone, chain):
            yield _texture(geometry, channels[turn % 8], size, turn, "cube" in geometry or turn % 3 > 0)
            turn += 1
        texture = _texture(geometry, channels[turn % 8], chain, turn)
        yield texture._replace(mode="level", levels=_CHAIN, mipmap_filter=("nearest", "linear")[turn % 2])
    for i, channel in enumerate(channels):
        yield _texture("2d", channel, (11 + i, 5, 1), i)
    for i, channel in enumerate(SMALL):
        yield _texture("2d", channel, (31 + i, 3, 1), i)._replace(fractions=True, filter="linear")
    for geometry, size in (("1d", (1, 1, 1)), ("1d", (100, 1, 1)), ("2d", (24, 7, 1)), ("2d", (5, 1, 1))):
        yield TextureCase(geometry, "f32", 1, normalized=False, size=size, linear=True)


def _texture(
    geometry: str, channel: str, size: tuple[int, int, int], turn: int, normalized: bool = True
) -> TextureCase:
    among = MODES if normalized else MODES[2:]
    modes = (among[turn % len(among)], among[turn // 2 % len(among)], among[turn // 3 % len(among)])
    return TextureCase(geometry, channel, (1, 2, 4)[turn % 3], address=modes, normalized=normalized, size=size)


def _surfaces() -> Iterator[SurfaceCase]:
    for i, geometry in enumerate(g for g in COUNT if "cube" not in g):
        for k, size in enumerate(_SIZES[geometry]):
            yield SurfaceCase("suq", geometry, tuple(DTYPES)[(3 * i + k) % 8], (1, 2, 4)[k], "b32", size=size)
    for i, channel in enumerate(DTYPES):
        yield SurfaceCase("suq", "2d", channel, (1, 2, 4)[i % 3], "b32", size=(11 + i, 5, 1))


def queries() -> list[QueryCase]:
    """Of all forms of the instructions that ask for attributes. Sizes come first: a GPU has an instruction for them, and a driver
    may not know the others."""
    every = [
        QueryCase(spelling, image)
        for opcode, images in (("txq", tuple(_textures())), ("suq", tuple(_surfaces())))
        for spelling in dict.fromkeys(form.mnemonic for form in forms(opcode))
        for image in images
    ]
    return sorted(every, key=lambda case: case.spelling.split(".")[-2] not in ("width", "height", "depth"))
