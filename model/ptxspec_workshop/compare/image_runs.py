"""What the definitions answer to the cases for textures and surfaces: their kernels, run on our machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxspec.base.options import Engine
from ptxspec_workshop.generate.image_cases import ImageCase, SurfaceCase, TextureCase
from ptxspec_workshop.generate.image_kernels import kernel_text
from ptxspec_workshop.generate.image_operands import rows_of, texels


def host_image(case: ImageCase) -> Any:
    """The image for `Module.launch`."""
    from ptxspec.machine.images import Surface, Texture

    levels = texels(case)
    geometry: Any = case.geometry
    if isinstance(case, SurfaceCase):
        return Surface(levels[0], geometry)
    modes: dict[str, Any] = {"address": case.address, "filter": case.filter, "mipmap_filter": case.mipmap_filter}
    return Texture(
        levels, geometry, **modes,
        levels=case.bounds, bias=case.bias, normalized_coords=case.normalized,
        read="normalized_float" if case.fractions else "element",
    )  # fmt: skip


def computed(case: ImageCase, engine: Engine = "native", most: int | None = None) -> np.ndarray:
    """What the definitions answer: for a texture the four words of every row, for loads the bytes of every row, else the
    bytes that are left in the surface. `most` rows of the case are taken."""
    import ptxspec

    rows = rows_of(case)[:most]
    out = np.zeros((len(rows), 8 if isinstance(case, SurfaceCase) else 4), np.uint32)
    image = host_image(case)
    threads = 1 if isinstance(case, SurfaceCase) else 250
    grid = 1 if isinstance(case, SurfaceCase) else -(-len(rows) // 250)
    module = ptxspec.load(kernel_text(case))
    module.launch("k", grid, threads, [image, rows, out, np.uint32(len(rows))], engine=engine)
    if isinstance(case, TextureCase) or case.access == "suld.b":
        return out
    left: np.ndarray = image.texels.reshape(-1).view(np.uint8)
    return left
