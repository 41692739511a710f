"""What the definitions answer to the cases for textures and surfaces: their kernels, run on our machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxspec.base.options import Engine
from ptxspec_workshop.generate.image_cases import ImageCase, QueryCase, SurfaceCase, image_of
from ptxspec_workshop.generate.image_kernels import kernel_text
from ptxspec_workshop.generate.image_operands import blank, leaves_texels, rows_of, shape_of, texels


def host_image(case: ImageCase) -> Any:
    """The image for `Module.launch`, or the sampler that is asked about."""
    from ptxspec.machine.images import Sampler, Surface, Texture

    levels, pictured = texels(case), image_of(case)
    geometry: Any = pictured.geometry
    if isinstance(pictured, SurfaceCase):
        return Surface(levels[0], geometry)
    modes: dict[str, Any] = {
        "address": pictured.address, "filter": pictured.filter, "mipmap_filter": pictured.mipmap_filter,
        "levels": pictured.bounds, "bias": pictured.bias,
    }  # fmt: skip
    if isinstance(case, QueryCase) and case.asks_sampler:
        return Sampler(**modes)
    return Texture(
        levels, geometry, **modes, normalized_coords=pictured.normalized, layout="linear" if pictured.linear else "array",
        read="normalized_float" if pictured.fractions else "element",
    )  # fmt: skip


def computed(case: ImageCase, engine: Engine = "native", most: int | None = None) -> np.ndarray:
    """What the definitions answer: for a texture the four words of every row, for loads the bytes of every row, for a query
    a word a row, else the bytes that are left in the surface. `most` rows of the case are taken."""
    import ptxspec

    rows = rows_of(case)[:most]
    out, image = blank(case, len(rows)), host_image(case)
    grid, threads = shape_of(case, len(rows))
    module = ptxspec.load(kernel_text(case))
    module.launch("k", grid, threads, [image, rows, out, np.uint32(len(rows))], engine=engine)
    if not leaves_texels(case):
        return out
    left: np.ndarray = image.texels.reshape(-1).view(np.uint8)
    return left
