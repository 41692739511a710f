"""What an instruction for images may come to: the terms of its rule for images of every kind that it fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import ImageAccess
from ptxspec.terms.image_access import Image, Sampler, access_of
from ptxspec.terms.types import TYPES

_SIZES = {"1d": (8, 1, 1), "2d": (8, 8, 1), "3d": (8, 8, 8), "a1d": (8, 1, 1), "a2d": (8, 8, 1), "cube": (8, 8, 1),
          "acube": (8, 8, 1), "2dms": (8, 8, 1), "a2dms": (8, 8, 1)}  # fmt: skip
_CHANNELS = (("f32", False), ("f16", False), ("u8", True), ("s8", True), ("s16", True), ("u32", False))


def image_terms(form: Form, meaning: Meaning) -> list[Any]:
    """All terms that the rule of a form gives for images of its geometry: of a few sizes, of every kind of channel."""
    effect = meaning.effect
    if not isinstance(effect, ImageAccess):
        return []
    geometry = next((str(v) for v in form.modifiers.values() if str(v) in _SIZES), "2d")
    found: list[Any] = []
    for image, sampler in _images(geometry):
        access = access_of(effect.rule, image, sampler, effect.operands)
        found += [*access.answers, *(w.value for w in access.writes), *(offset for offset, _ in access.reads)]
    return found


def _images(geometry: str) -> Iterator[tuple[Image, Sampler]]:
    width, height, depth = _SIZES[geometry]
    chain = ((width, height, depth), (max(width // 2, 1), max(height // 2, 1), max(depth // 2, 1)))
    layers = {"cube": 6, "acube": 12, "a1d": 2, "a2d": 2, "a2dms": 2}.get(geometry, 1)
    samples = 2 if "ms" in geometry else 1
    for channel, fractions in _CHANNELS:
        floating = fractions or TYPES[channel].is_float
        filter = "linear" if floating else "nearest"
        for levels, channels, mode in ((chain, 1, "wrap"), (chain[:1], 2, "clamp_to_border")):
            if samples == 1 or len(levels) == 1:
                image = Image(geometry, TYPES[channel], channels, levels, layers, samples, False)
                yield image, Sampler((mode,) * 3, filter, filter, True, fractions, 0, 0, 31 << 8, False)
