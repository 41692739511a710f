"""What an instruction for images may come to: the terms of its rule for images of every kind that it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from ptxspec.language.forms import Form
from ptxspec.terms.core import Int
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import ImageAccess
from ptxspec.terms.image_access import Image, Sampler, access_of
from ptxspec.terms.types import TYPES

_SIZES = {"1d": (8, 1, 1), "2d": (8, 8, 1), "3d": (8, 8, 8), "a1d": (8, 1, 1), "a2d": (8, 8, 1), "cube": (8, 8, 1),
          "acube": (8, 8, 1), "2dms": (8, 8, 1), "a2dms": (8, 8, 1)}  # fmt: skip
_CHANNELS = (("f32", False), ("f16", False), ("u8", True), ("s8", True), ("s16", True), ("u32", False))


def image_terms(form: Form, meaning: Meaning) -> tuple[Any, ...]:
    """All terms that the rule of a form gives for images of its geometry: of a few sizes, of every kind of channel."""
    effect = meaning.effect
    if not isinstance(effect, ImageAccess):
        return ()
    geometry = next((str(v) for v in form.modifiers.values() if str(v) in _SIZES), "2d")
    rule = effect.rule
    stated = (rule.func, rule.args, tuple(rule.keywords.items())) if isinstance(rule, partial) else (rule, (), ())
    return _terms_of(*stated, geometry, effect.operands)


@cache
def _terms_of(
    function: Callable[..., Any],
    given: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
    geometry: str,
    operands: tuple[Int, ...],
) -> tuple[Any, ...]:
    """The terms of a rule, which many forms have in common."""
    rule = partial(function, *given, **dict(named))
    terms: list[Any] = []
    for image, sampler in _images(geometry):
        access = access_of(rule, image, sampler, operands)
        terms += [*access.answers, *(w.value for w in access.writes), *(r.offset for r in access.reads)]
    return tuple(terms)


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
