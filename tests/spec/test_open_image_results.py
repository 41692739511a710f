"""What accesses to images leave open: which results are allowed, and which instructions leave one open."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from looking_up import pattern, term_of
from ptxspec.spec.textures import surfaces
from ptxspec.spec.textures.cube import on_face
from ptxspec.spec.textures.lookup import sampled

import ptxspec
from ptxspec.terms import TYPES, integer
from ptxspec.terms.core import variable
from ptxspec.terms.exact import evaluate
from ptxspec.terms.image_access import Image, Sampler, access_of
from ptxspec.terms.vocabulary import freedoms_in, is_allowed

RANDOM = random.Random(9)


def neighbours(x: float) -> set[int]:
    """The numbers of half precision next to x: that toward zero and that away from it, one if x is such a number."""
    near = np.float16(x)
    other = np.nextafter(near, np.float16(np.copysign(np.inf, float(x) - float(near))), dtype=np.float16)
    found = [near] if float(near) == float(x) else [near, other]
    return {int(one.view(np.uint16)) for one in found}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_stored_half_is_one_of_its_two_neighbours(sign: int) -> None:
    """In both directions, of both signs; no other bits are allowed."""
    (name,), term = term_of(surfaces.halved, (32,))
    several = 0
    for exponent in [*range(-24, 15)] * 3:
        bits = pattern(sign * RANDOM.uniform(1, 2) * 2.0**exponent)
        wanted = neighbours(float(np.uint32(bits).view(np.float32)))
        allowed: set[int] = set()

        def choose(freedom: Any, operands: tuple[int, ...], own: set[int] = allowed, near: int = min(wanted)) -> int:
            own |= {b for b in range(near - 2, near + 4) if is_allowed(freedom, operands, b)}
            return near

        evaluate(term, {name: bits}, choose)
        assert allowed == wanted, hex(bits)
        several += len(wanted) == 2
    assert several > 100


def needed(coordinate: str) -> str:
    """What the portable profile does not choose of a lookup by gradients."""
    text = f""".version 8.3 .target sm_90 .address_size 64
    .global .texref t;
    .visible .entry k() {{
        .reg .b32 x, y<4>;  .reg .f32 g;
        mov.b32 x, 0;  mov.f32 g, 0f00000000;
        tex.grad.1d.v4.f32.{coordinate} {{y0, y1, y2, y3}}, [t, {{x}}], {{g}}, {{g}};
        ret;
    }}"""
    module = ptxspec.load(text)
    module.bind("t", ptxspec.Texture(np.ones((4, 1), np.float32), geometry="1d"))
    try:
        module.launch("k", 1, 1, [], engine="exact", profile="portable")
    except ptxspec.LaunchError as error:
        assert error.rule == "no choice"
        return error.note
    return ""


def test_gradients_leave_integer_coordinates_open() -> None:
    assert "whole-with-gradients" in needed("s32")
    assert "whole-with-gradients" not in needed("f32")


@pytest.mark.parametrize("size", [1, 64, 1 << 12, 1 << 14])
def test_a_place_on_a_face_may_be_a_little_off(size: int) -> None:
    """By one unit, and one more for each 4,096 texels; to either side."""
    names, term = term_of(lambda part, by: on_face(part, by, integer(size)), (32, 32))
    (freedom,) = freedoms_in(term)
    values = dict(zip(names, (pattern(0.375), pattern(1.0)), strict=True))
    operands = tuple(evaluate(x, values) for x in freedom.args)
    exact, most = size * 512 * 11 // 16, 1 + size // 4096  # (0.375 + 1) / 2 of so many texels, in units of 2^-9
    assert operands[0] == exact
    assert {d for d in range(-most - 3, most + 4) if is_allowed(freedom, operands, exact + d)} == {
        *range(-most, most + 1)
    }


def test_a_sample_that_does_not_exist_reads_nothing_beyond_the_image() -> None:
    """Not even bits that play no part in the end."""
    image = Image("2dms", TYPES["f32"], 1, ((2, 2, 1),), 1, 2, False)
    sampler = Sampler(("clamp_to_edge",) * 3, "nearest", "nearest", False, False, 0, 0, 31 << 8, False)

    def rule(image: Image, sampler: Sampler, *c: Any) -> Any:
        return sampled(image, sampler, "2dms", list(c), TYPES["f32"])

    operands = tuple(variable(name, 32) for name in ("sample", "x", "y"))
    access = access_of(rule, image, sampler, operands)
    names = [name for name, _ in access.operands]
    for values in itertools.product((0, 1, 2, 3, 7, (1 << 32) - 1), (0, 1, 2, 9), (0, 1, 2, 9)):
        env: dict[str, Any] = dict(zip(names, values, strict=True))
        for read in access.reads:
            assert 0 <= evaluate(read.offset, env) <= 2 * 2 * 2 * 4 - read.bits // 8, values
