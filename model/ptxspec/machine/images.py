"""What the host gives a launch beside arrays: textures, samplers and surfaces, made from NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from ptxspec import contracts
from ptxspec.base.options import AddressMode, FilterMode, Geometry, Layout, ReadMode, SurfaceGeometry
from ptxspec.machine.host_arrays import host_array
from ptxspec.terms.core import Int, integer
from ptxspec.terms.image_access import Image
from ptxspec.terms.image_access import Sampler as SamplerState
from ptxspec.terms.types import Type

#: the letters of NumPy's kinds of numbers, and those of PTX
_KINDS = {"u": "u", "i": "s", "f": "f"}


class ImageStorage:
    """The bytes of an image, which a texture and a surface may share."""

    def __init__(self, image: Image, levels: list[np.ndarray]):
        self.image = image
        self.shapes = [level.shape for level in levels]
        self.dtype = levels[0].dtype
        self.data = np.concatenate([np.ascontiguousarray(level).reshape(-1).view(np.uint8) for level in levels])

    def texels(self, level: int = 0) -> np.ndarray:
        """A copy of a level's texels, in the shape that they were given in."""
        sizes = [int(np.prod(shape)) * self.dtype.itemsize for shape in self.shapes]
        start = sum(sizes[:level])
        return self.data[start : start + sizes[level]].view(self.dtype).reshape(self.shapes[level]).copy()


def _stored(what: str, texels: Any, geometry: str, layout: str, is_surface: bool = False) -> ImageStorage:
    """The storage for texels. Raises TypeError or ValueError for what no image is made of."""
    if layout not in get_args(Layout):
        raise ValueError(f"a layout is array or linear, not {layout!r}")
    given = list(texels) if isinstance(texels, list | tuple) else [texels]
    chain = [level if (array := host_array(what, level)) is None else array for level in given]
    channels = [_channel(what, level) for level in chain]
    page = contracts.images
    try:
        if is_surface:
            page.of_surface(geometry, len(chain))
        image = page.described(geometry, channels, [level.shape for level in chain], layout == "linear")
    except page.Refused as refused:
        raise ValueError(f"{what}: {refused}") from None
    return ImageStorage(image, chain)


def _channel(what: str, level: Any) -> Type:
    """The type of a level's channels."""
    if not isinstance(level, np.ndarray):
        raise TypeError(f"{what}: texels are a NumPy array or a list of them, not {level.__class__.__name__}")
    known = contracts.formats.CHANNELS
    channel = known.get(f"{_KINDS.get(level.dtype.kind)}{8 * level.dtype.itemsize}")
    if channel is None:
        raise TypeError(f"{what}: texels of type {level.dtype} are not supported: those like {', '.join(known)} are")
    return channel


class Surface:
    """An image that kernels may read and write with surface instructions.

    `texels` is an array of uint8, uint16, uint32, int8, int16, int32, float16 or float32. Its last axis is the channels (1, 2 or
    4). The axes before it depend on the `geometry`: "1d" has (width), "2d" (height, width), "3d" (depth, height, width), "a1d"
    (layer, width) and "a2d" (layer, height, width). The surface copies the array; `surface.texels` has the texels after a launch.
    `layout` is "array" for a CUDA array, or "linear" for linear memory (1d and 2d). Raises TypeError for an element type that
    texels cannot have, and ValueError for a shape or a geometry that no surface has. Manual: 5.3.

    >>> surface = ptxspec.Surface(np.zeros((2, 3, 4), np.uint8))
    >>> surface.texels.shape
    (2, 3, 4)
    """

    def __init__(self, texels: Any, geometry: SurfaceGeometry = "2d", *, layout: Layout = "array"):
        if isinstance(texels, list | tuple):
            raise TypeError("a surface has one level: texels are an array")
        self.storage = _stored("surface", texels, geometry, layout, is_surface=True)

    @property
    def image(self) -> Image:
        return self.storage.image

    @property
    def texels(self) -> np.ndarray:
        """A copy of the current texels, in the shape and the type of the original array.

        >>> ptxspec.Surface(np.ones((2, 2, 1), np.uint8)).texels.ravel()
        array([1, 1, 1, 1], dtype=uint8)
        """
        return self.storage.texels()


class Sampler:
    """How texture instructions look up a texture, for modules in independent texture mode.

    `address` is an addressing mode, or one for each direction (x, y, z; by default "clamp_to_edge"): "wrap", "mirror", "clamp" or
    "clamp_to_edge" (the same), "clamp_ogl", "border" or "clamp_to_border" (the same). `filter` and `mipmap_filter` are "nearest"
    or "linear". `levels` are the least and the greatest level of detail; `bias` is added to the level of detail.
    `force_unnormalized_coords` makes coordinates count texels even if those of the texture are normalized. Raises ValueError for
    any other value. Manual: 5.3.2.

    >>> sampler = ptxspec.Sampler(("clamp", "wrap"), "linear", mipmap_filter="linear", levels=(0, 4))
    """

    def __init__(
        self,
        address: AddressMode | Sequence[AddressMode] = "wrap",
        filter: FilterMode = "nearest",
        *,
        mipmap_filter: FilterMode = "nearest",
        levels: tuple[float, float] = (0.0, 31.0),
        bias: float = 0.0,
        force_unnormalized_coords: bool = False,
    ):
        page = contracts.addressing
        otherwise = (page.NOT_GIVEN,) * 3
        modes: tuple[str, ...] = (address,) * 3 if isinstance(address, str) else (*address, *otherwise)[:3]
        for mode in modes:
            if mode not in page.HOST_NAMES:
                raise ValueError(f"an addressing mode is one of {', '.join(page.HOST_NAMES)}, not {mode!r}")
        for filter_mode in (filter, mipmap_filter):
            if filter_mode not in contracts.opaque_types.WORDS["filter_mode"]:
                raise ValueError(f"a filter is nearest or linear, not {filter_mode!r}")
        rules = contracts.levels
        least, greatest = (_in_fractions("a level of detail", level, rules.bound) for level in levels)
        if not rules.may_bound(least, greatest):
            raise ValueError(f"the levels of detail begin at {levels[0]} and end before, at {levels[1]}")
        first, second, third = (page.HOST_NAMES[mode] for mode in modes)
        added = _in_fractions("a bias", bias, rules.bias_of)
        self.state = SamplerState(
            (first, second, third), filter, mipmap_filter, True, False, added, least, greatest,
            bool(force_unnormalized_coords),
        )  # fmt: skip


class Texture:
    """An image that kernels read with texture instructions, and its own sampler.

    `texels` is an array as for a Surface, or a list of arrays, one for each mipmap level, each half as large as the one before.
    In addition to those of a surface, the `geometry` may be "2dms" (height, width, sample), "a2dms" (layer, height, width,
    sample), or "cube" or "acube" (face, height, width), with six faces for each cube. `texels` may also be a Surface; the texture
    then shares its texels. `address`, `filter`, `mipmap_filter`, `levels` and `bias` are those of a Sampler.
    `normalized_coords` means that the coordinates 0 to 1 span the image; otherwise coordinates count texels. `read` is "element",
    or "normalized_float", by which 8-bit and 16-bit integer texels are read as fractions. Raises TypeError or ValueError as
    Surface and Sampler do. Manual: 5.3.

    >>> texels = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
    >>> texture = ptxspec.Texture(texels, filter="linear", address="clamp", normalized_coords=True)
    >>> shared = ptxspec.Texture(ptxspec.Surface(texels))
    """

    def __init__(
        self,
        texels: Any,
        geometry: Geometry = "2d",
        *,
        address: AddressMode | Sequence[AddressMode] = "wrap",
        filter: FilterMode = "nearest",
        mipmap_filter: FilterMode = "nearest",
        levels: tuple[float, float] = (0.0, 31.0),
        bias: float = 0.0,
        normalized_coords: bool = False,
        read: ReadMode = "element",
        layout: Layout = "array",
    ):
        if isinstance(texels, Surface):
            self.storage = texels.storage
            if geometry != self.storage.image.geometry:
                raise ValueError(f"the surface is of geometry {self.storage.image.geometry}, not {geometry}")
        else:
            self.storage = _stored("texture", texels, geometry, layout)
        rules = contracts.lookups
        if read not in get_args(ReadMode):
            raise ValueError(f"a texture is read as element or normalized_float, not {read!r}")
        if read == "normalized_float" and not rules.may_be_fractions(self.image.channel):
            raise ValueError(f"channels of type {self.image.channel.name} are not read as fractions")
        state = Sampler(address, filter, mipmap_filter=mipmap_filter, levels=levels, bias=bias).state
        self.state = state._replace(normalized=bool(normalized_coords), fractions=read == "normalized_float")
        if not rules.may_filter(self.image, self.state):
            raise ValueError("linear filtering needs floating-point texels, or read='normalized_float'")

    @property
    def image(self) -> Image:
        return self.storage.image

    def with_sampler(self, sampler: SamplerState) -> SamplerState:
        """How the texture is looked up with a sampler of its own, which keeps what the texture says of its texels."""
        return contracts.lookups.combined(self.state, sampler)


#: the opaque types of variables that stand for what the host makes
OPAQUE_TYPES: dict[type, str] = {Texture: "texref", Sampler: "samplerref", Surface: "surfref"}


def _in_fractions(what: str, level: float, rule: Callable[[Int], Int]) -> int:
    """A level of detail in units of 2^−8, as a rule on the page of levels makes it of a single-precision number."""
    bound = contracts.opaque_types.MOST_LEVEL
    if not -bound <= level <= bound:
        raise ValueError(f"{what} lies between {-bound} and {bound}, not at {level}")
    pattern = integer(int(np.float32(level).view(np.uint32)))
    return int(rule(pattern))
