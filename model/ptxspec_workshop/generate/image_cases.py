"""Cases for textures and surfaces: for each a kernel, an image and rows of coordinates, alike for a GPU and the definitions.

A case is a function of its name: the arrays are made from a seed in it, so that only answers have to be kept. A texture is looked
up by a thread a row, and an attribute is asked for likewise. A surface is written and read by one thread, row after row, so that
the order is fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: rows of a case of a texture, of one of a surface, and of one that is there for a spelling
LOOKUPS, ACCESSES, SPELLED = 1000, 200, 24
DTYPES = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32,
           "f16": np.float16, "f32": np.float32}  # fmt: skip
FLOATS, SMALL = ("f32", "f16"), ("u8", "s8", "u16", "s16")
#: the words for an image's directions, and how many numbers an instruction takes
COUNT = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4}
DIRECTIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2}
MODES = ("wrap", "mirror", "clamp", "border")


class TextureCase(NamedTuple):
    """A lookup: instruction, image and sampler. `mode` is "", "level" or "grad"; `component` is that of a gather; `spelling` is
    the instruction where it is another than the rest would make it (image_spellings.py). `offset` and `reference` say whether the
    instruction has these operands, `resident` whether it writes the predicate, which takes the place of the fourth channel.
    `size` is (width, height, depth or layers) where it is another than the geometry's, and `linear` says that the image lies in
    linear memory."""

    geometry: str
    channel: str
    channels: int
    filter: str = "nearest"
    address: tuple[str, str, str] = ("clamp",) * 3
    normalized: bool = True
    fractions: bool = False
    whole: bool = False
    mode: str = ""
    mipmap_filter: str = "nearest"
    levels: int = 1
    bounds: tuple[float, float] = (0.0, 31.0)
    bias: float = 0.0
    component: str = ""
    spelling: str = ""
    offset: bool = False
    resident: bool = False
    reference: bool = False
    size: tuple[int, int, int] | None = None
    linear: bool = False

    @property
    def name(self) -> str:
        if self.spelling:
            return self.spelling
        parts = [self.geometry, f"{self.channel}x{self.channels}", self.filter, "-".join(self.address)]
        parts += ["normalized" if self.normalized else "texels", "fractions" if self.fractions else "elements"]
        parts += ["whole"] if self.whole else []
        parts += [f"gather-{self.component}"] if self.component else []
        if self.mode:
            parts += [self.mode, f"{self.levels}levels", f"mip-{self.mipmap_filter}"]
            parts += [f"from{self.bounds[0]}to{self.bounds[1]}", f"bias{self.bias}"]
        parts += [word for word in ("offset", "resident", "reference") if getattr(self, word)]
        parts += [_by(self.size)] if self.size else []
        parts += ["linear-memory"] if self.linear else []
        return " ".join(parts)

    @property
    def gives(self) -> str:
        """The type of the result."""
        floating = self.channel in FLOATS or self.fractions
        return "f32" if floating else "s32" if self.channel[0] == "s" else "u32"


class SurfaceCase(NamedTuple):
    """An access to a surface: `access` is suld.b, sust.b, sust.p, sured.b or sured.p; `type` the instruction's; `spelling` and
    `size` as for a texture."""

    access: str
    geometry: str
    channel: str
    channels: int
    type: str
    vector: int = 1
    outside: str = "clamp"
    operation: str = ""
    spelling: str = ""
    size: tuple[int, int, int] | None = None

    @property
    def name(self) -> str:
        if self.spelling:
            return self.spelling
        instruction = f"{self.access}{'.' + self.operation if self.operation else ''}.{self.geometry}"
        sized = f" {_by(self.size)}" if self.size else ""
        return f"{instruction}.v{self.vector}.{self.type}.{self.outside} {self.channel}x{self.channels}{sized}"


class QueryCase(NamedTuple):
    """A query: the instruction's spelling, and the case whose image and sampler are asked about. Of a surface's case only
    geometry, size and texels play a part."""

    spelling: str
    image: TextureCase | SurfaceCase

    @property
    def name(self) -> str:
        image = self.image
        if isinstance(image, TextureCase):
            return f"{self.spelling} of {image.name}"
        return f"{self.spelling} of {image.geometry} {image.channel}x{image.channels} {_by(size_of(image))}"

    @property
    def names_level(self) -> bool:
        """Whether the instruction has a level of detail for an operand."""
        return ".level." in self.spelling

    @property
    def asks_sampler(self) -> bool:
        """Whether only a sampler without a texture can be asked, in independent mode."""
        return "force_unnormalized_coords" in self.spelling


ImageCase = TextureCase | SurfaceCase | QueryCase


_SIZES = {"1d": (53, 1, 1), "2d": (29, 19, 1), "3d": (13, 9, 7), "a1d": (37, 1, 1), "a2d": (21, 15, 1),
          "cube": (16, 16, 1), "acube": (12, 12, 1)}  # fmt: skip
#: those of cases that are there for a spelling
_SMALL_SIZES = {"1d": (13, 1, 1), "2d": (7, 5, 1), "3d": (5, 4, 3), "a1d": (9, 1, 1), "a2d": (5, 4, 1),
                "cube": (4, 4, 1), "acube": (4, 4, 1)}  # fmt: skip
LAYERS = {"a1d": 5, "a2d": 4, "cube": 6, "acube": 18}
#: the levels of detail that are asked about: more than an image has, and such as none has
LEVELS = (0, 1, 2, 3, 4, 5, 6, 14, 15, 31, 32, 1 << 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def _by(size: tuple[int, int, int]) -> str:
    return "x".join(map(str, size))


def image_of(case: ImageCase) -> TextureCase | SurfaceCase:
    """The case that says which image a case has."""
    return case.image if isinstance(case, QueryCase) else case


def size_of(case: TextureCase | SurfaceCase) -> tuple[int, int, int]:
    """Width, height and depth of a case's image; of an array whose size is stated, the depth counts layers."""
    return case.size or (_SMALL_SIZES if case.spelling else _SIZES)[case.geometry]


def layers_of(case: TextureCase | SurfaceCase) -> int | None:
    """How many layers a case's image has, or faces of cubes; None if it is no array."""
    if case.geometry not in LAYERS:
        return None
    return case.size[2] if case.size else LAYERS[case.geometry]


def row_count(case: ImageCase) -> int:
    if isinstance(case, QueryCase):
        return len(LEVELS) if case.names_level else 1
    if case.spelling:
        return SPELLED
    return LOOKUPS if isinstance(case, TextureCase) else ACCESSES
