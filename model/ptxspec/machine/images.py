"""What the host gives a launch beside arrays: textures, samplers and surfaces, made from NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.machine.marshalling import host_array
from ptxspec.options import AddressMode, FilterMode, Geometry, Layout, ReadMode, SurfaceGeometry
from ptxspec.terms.core import Int, integer
from ptxspec.terms.image_access import Image
from ptxspec.terms.image_access import Sampler as SamplerState
from ptxspec.terms.types import TYPES

#: the shape of an array of texels, outermost axis first; the channels come last
AXES = {
    "1d": ("width",),
    "2d": ("height", "width"),
    "3d": ("depth", "height", "width"),
    "a1d": ("layer", "width"),
    "a2d": ("layer", "height", "width"),
    "cube": ("face", "height", "width"),
    "acube": ("face", "height", "width"),
    "2dms": ("height", "width", "sample"),
    "a2dms": ("layer", "height", "width", "sample"),
}
SURFACES = ("1d", "2d", "3d", "a1d", "a2d")
#: texels in any direction, and layers
MOST_TEXELS, MOST_LAYERS = 131072, 2048
_DTYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int8": "s8", "int16": "s16", "int32": "s32",
           "float16": "f16", "float32": "f32"}  # fmt: skip
_ADDRESSES = {"wrap": "wrap", "mirror": "mirror", "clamp": "clamp_to_edge", "clamp_ogl": "clamp_ogl",
              "border": "clamp_to_border", "clamp_to_edge": "clamp_to_edge", "clamp_to_border": "clamp_to_border"}  # fmt: skip
_FILTERS = ("nearest", "linear")


class Storage:
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


def _stored(what: str, texels: Any, geometry: str, is_linear: bool) -> Storage:
    """The storage for texels. Raises TypeError or ValueError for what no image is made of."""
    if geometry not in AXES:
        raise ValueError(f"{what}: a geometry is one of {', '.join(AXES)}, not {geometry!r}")
    given = list(texels) if isinstance(texels, list | tuple) else [texels]
    chain = [level if (array := host_array(what, level)) is None else array for level in given]
    if not chain:
        raise ValueError(f"{what}: a chain of levels has at least one")
    axes = AXES[geometry]
    for level in chain:
        if not isinstance(level, np.ndarray):
            raise TypeError(f"{what}: texels are a NumPy array or a list of them, not {level.__class__.__name__}")
        if level.dtype.name not in _DTYPES:
            raise TypeError(f"{what}: texels of type {level.dtype} are not supported: {', '.join(_DTYPES)} are")
        if level.ndim != len(axes) + 1:
            raise ValueError(
                f"{what}: a .{geometry} has the axes {', '.join(axes)}, channel; this array has {level.ndim}"
            )
        if level.shape[-1] not in (1, 2, 4):
            raise ValueError(f"{what}: a texel has 1, 2 or 4 channels, not {level.shape[-1]}")
        if level.dtype != chain[0].dtype or level.shape[-1] != chain[0].shape[-1]:
            raise ValueError(f"{what}: all levels have texels of one type")
        if not all(level.shape):
            raise ValueError(f"{what}: an image has at least one texel, and this array's shape is {level.shape}")
    sizes = []
    for number, level in enumerate(chain):
        own = dict(zip(axes, level.shape, strict=False))
        size = tuple(own.get(axis, 1) for axis in ("width", "height", "depth"))
        if number == 0:
            first, layers = size, own.get("layer", own.get("face", 1))
            samples = own.get("sample", 1)
        wanted = tuple(max(n >> number, 1) for n in first)
        if size != wanted:
            raise ValueError(f"{what}: level {number} is of size {wanted}, this array of size {size}")
        if (own.get("layer", own.get("face", 1)), own.get("sample", 1)) != (layers, samples):
            raise ValueError(f"{what}: all levels have as many layers, and as many samples")
        sizes.append(size)
    if max(first) > MOST_TEXELS or layers > MOST_LAYERS:
        raise ValueError(f"{what}: at most {MOST_TEXELS} texels in a direction and {MOST_LAYERS} layers")
    if len(chain) > max(first).bit_length():
        raise ValueError(f"{what}: {len(chain)} levels; this image has at most {max(first).bit_length()}")
    if len(chain) > 1 and "ms" in geometry:
        raise ValueError(f"{what}: an image with several samples has one level")
    if "cube" in geometry:
        if first[0] != first[1]:
            raise ValueError(f"{what}: a cube's faces are square, not {first[0]} × {first[1]}")
        faces = contracts.cubes().FACES
        if layers % faces or (geometry == "cube" and layers != faces):
            raise ValueError(f"{what}: a cube has {faces} faces, not {layers}")
    if is_linear and (geometry not in ("1d", "2d") or len(chain) > 1):
        raise ValueError(f"{what}: linear memory holds images of geometry 1d or 2d, with one level")
    channel = TYPES[_DTYPES[chain[0].dtype.name]]
    image = Image(geometry, channel, chain[0].shape[-1], tuple(sizes), layers, samples, is_linear)
    return Storage(image, chain)


class Surface:
    """An image that kernels may write.

    `texels` is an array of uint8, uint16, uint32, int8, int16, int32, float16 or float32, whose last axis is the channels
    (1, 2 or 4) and whose leading axes are, outermost first, layer, depth, height, width, as far as the `geometry` ("1d", "2d",
    "3d", "a1d", "a2d") has them. It is copied; `surface.texels` is the array after a launch. `layout` is "array" or "linear".
    Raises TypeError or ValueError for what no surface is made of. Manual: 5.3.

    >>> surface = ptxspec.Surface(np.zeros((2, 3, 4), np.uint8))
    >>> surface.texels.shape
    (2, 3, 4)
    """

    def __init__(self, texels: Any, geometry: SurfaceGeometry = "2d", *, layout: Layout = "array"):
        if geometry not in SURFACES:
            raise ValueError(f"a surface's geometry is one of {', '.join(SURFACES)}, not {geometry!r}")
        if isinstance(texels, list | tuple):
            raise TypeError("a surface has one level: texels are an array")
        self.storage = _stored("surface", texels, geometry, _is_linear(layout))

    @property
    def image(self) -> Image:
        return self.storage.image

    @property
    def texels(self) -> np.ndarray:
        """The texels now, a copy in the shape and type that they were given in.

        >>> ptxspec.Surface(np.ones((2, 2, 1), np.uint8)).texels.ravel()
        array([1, 1, 1, 1], dtype=uint8)
        """
        return self.storage.texels()


class Sampler:
    """How a texture is looked up, for modules in independent texture mode.

    `address` is one mode or one a direction: "wrap", "mirror", "clamp", "clamp_ogl", "border"; `filter` and `mipmap_filter` are
    "nearest" or "linear"; `levels` are the least and the greatest level of detail, `bias` is added to it (in levels).
    `force_unnormalized_coords` makes coordinates count texels whatever the texture says. Raises ValueError. Manual: 5.3.2.

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
        modes: tuple[str, ...] = (address,) * 3 if isinstance(address, str) else (*address, *("clamp",) * 3)[:3]
        for mode in modes:
            if mode not in _ADDRESSES:
                raise ValueError(f"an addressing mode is one of {', '.join(_ADDRESSES)}, not {mode!r}")
        for one in (filter, mipmap_filter):
            if one not in _FILTERS:
                raise ValueError(f"a filter is nearest or linear, not {one!r}")
        rules = contracts.levels()
        least, greatest = (_in_fractions("a level of detail", level, rules.bound) for level in levels)
        if least > greatest:
            raise ValueError(f"the levels of detail begin at {levels[0]} and end before, at {levels[1]}")
        first, second, third = (_ADDRESSES[mode] for mode in modes)
        added = _in_fractions("a bias", bias, rules.bias_of)
        self.state = SamplerState(
            (first, second, third), filter, mipmap_filter, True, False, added, least, greatest,
            bool(force_unnormalized_coords),
        )  # fmt: skip


class Texture:
    """An image that kernels look up, with the sampler that belongs to it.

    `texels` are as for a Surface, of any geometry ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms": the layers
    of cubes are their faces, six each; samples come after the width); a list of such arrays is a chain of levels of detail.
    Or it is a Surface, whose texels the texture then shares. `address`, `filter`, `mipmap_filter`, `levels` and `bias` are
    those of a Sampler. `normalized_coords`: coordinates go from 0 to 1, not to the number of texels. `read` is "element", or
    "normalized_float" for 8-bit and 16-bit integers as fractions. Raises TypeError or ValueError. Manual: 5.3.

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
            self.storage = _stored("texture", texels, geometry, _is_linear(layout))
        if read not in ("element", "normalized_float"):
            raise ValueError(f"a texture is read as element or normalized_float, not {read!r}")
        if read == "normalized_float" and (self.image.channel.width == 32 or self.image.channel.is_float):
            raise ValueError(f"channels of type {self.image.channel.name} are not read as fractions")
        if filter == "linear" and read == "element" and not self.image.channel.is_float:
            raise ValueError("linear filtering needs floating-point texels, or read='normalized_float'")
        own = Sampler(address, filter, mipmap_filter=mipmap_filter, levels=levels, bias=bias).state
        self.state = own._replace(normalized=bool(normalized_coords), fractions=read == "normalized_float")

    @property
    def image(self) -> Image:
        return self.storage.image

    def with_sampler(self, sampler: SamplerState) -> SamplerState:
        """How the texture is looked up with a sampler of its own, which keeps what the texture says of its texels."""
        normalized = self.state.normalized and not sampler.forced
        return sampler._replace(normalized=normalized, fractions=self.state.fractions)


def _is_linear(layout: str) -> bool:
    if layout not in ("array", "linear"):
        raise ValueError(f"a layout is array or linear, not {layout!r}")
    return layout == "linear"


def _in_fractions(what: str, level: float, rule: Callable[[Int], Int]) -> int:
    """A level of detail in units of 2^−8, as a rule on the page of levels makes it of a single-precision number."""
    bound = contracts.opaque_types().MOST_LEVEL
    if not -bound <= level <= bound:
        raise ValueError(f"{what} lies between {-bound} and {bound}, not at {level}")
    pattern = integer(int(np.float32(level).view(np.uint32)))
    return int(rule(pattern))
