"""What accesses to images leave open: which results are allowed, and which instructions leave one open."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from looking_up import pattern, term_of
from ptxspec.spec.textures import surfaces

import ptxspec
from ptxspec.terms.exact import evaluate
from ptxspec.terms.vocabulary import is_allowed

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
