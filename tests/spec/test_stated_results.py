"""Results that PTX states and a machine is known to deviate from, where no identity can state them: against NumPy and fractions.

Whatever is compared with that machine takes its result, so that what PTX states has no other check. Each test looks at both: what is
stated, and that the machine's profile gives something else somewhere, so that the two are told apart.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
from looking_up import HOPPER, PORTABLE, exactly, pattern
from ptxspec.spec.matrices.products import finite_product
from ptxspec.spec.textures import coordinates, levels, surfaces
from ptxspec.spec.textures.lookup import Found, filtered

import ptxspec
from ptxspec.terms.core import Bool, integer, variable
from ptxspec.terms.effects import Update
from ptxspec.terms.exact import evaluate
from ptxspec.terms.image_access import Image, Sampler
from ptxspec.terms.types import TYPES
from ptxspec.terms.vocabulary import DEVIATION, number

RANDOM = random.Random(5)


def stated(freedom: Any, operands: tuple[int, ...]) -> int:
    """What PTX states, and of an approximate result the nearest."""
    return operands[0] if freedom.attrs[2] == DEVIATION else int(freedom.attrs[4].nearest(*operands))


def test_a_lookup_without_a_level_picks_level_zero() -> None:
    rows = [(RANDOM.randrange(1 << 12), RANDOM.randrange(1 << 12), RANDOM.randrange(1, 13)) for _ in range(50)]
    assert set(exactly(levels.without_level, (16, 16, 8), rows, PORTABLE)) == {0}
    assert len(set(exactly(levels.without_level, (16, 16, 8), rows, HOPPER))) > 5


def found(holds: Bool, choose: Any) -> bool:
    return evaluate(number(holds), {}, choose) == 1


def test_every_lookup_in_one_dimension_finds_texels() -> None:
    kinds = [(integers, linear) for integers in (False, True) for linear in (False, True)]
    assert all(found(coordinates.reads_line(*kind), PORTABLE.value) for kind in kinds)
    assert [found(coordinates.reads_line(*kind), HOPPER.value) for kind in kinds].count(False) == 2


def test_a_layer_is_all_of_its_index() -> None:
    rows = [(0,), (7,), (0xFFFF,), (0x10000,), (0x8000_0001,), (0xFFFF_FFFF,)]
    assert exactly(surfaces.layer, (32,), rows, PORTABLE) == [row[0] for row in rows]
    assert exactly(surfaces.layer, (32,), rows, HOPPER)[3] == 0


def test_one_dimension_has_no_second_direction() -> None:
    """The weighted sum of two texels, whatever the sampler does in a direction that there is none of."""
    image = Image("1d", TYPES["f32"], 1, ((8, 1, 1),), 1, 1, False)
    names = ("x", "y", "alpha")
    texels = [[variable("x", 32)], [variable("y", 32)]]
    seconds = {}
    for second in ("wrap", "clamp_to_border"):
        sampler = Sampler(("clamp_to_border", second, "wrap"), "linear", "linear", True, False, 0, 0, 31 << 8, False)
        (seconds[second],) = filtered(image, sampler, [Found([variable("alpha", 8)], texels)])
    differing = 0
    for _ in range(40):
        x, y, alpha = RANDOM.randrange(-64, 64), RANDOM.randrange(-64, 64), RANDOM.randrange(256)
        values = dict(zip(names, (pattern(x), pattern(y), alpha), strict=True))
        exact = Fraction(x * (256 - alpha) + y * alpha, 256)
        plain, one = (evaluate(seconds[second], values, PORTABLE.value) for second in seconds)
        assert plain == one and Fraction(float(np.uint32(one).view(np.float32))) == exact
        differing += evaluate(seconds["clamp_to_border"], values, HOPPER.value) != one
    assert differing > 20


# products of matrices ---------------------------------------------------------------------------------------------------


def e4m3(bits: int) -> Fraction:
    """The number of a pattern with four bits of exponent and three of fraction."""
    field, part = bits >> 3 & 15, bits & 7
    size = Fraction(part, 512) if field == 0 else Fraction(8 + part, 8) * Fraction(2) ** (field - 7)
    return -size if bits >> 7 else size


def limited(a: list[int], b: list[int], c: int, choose: Any = stated) -> int:
    types = TYPES["f16"], TYPES["f16"], TYPES["e4m3"], TYPES["e4m3"]
    return int(evaluate(finite_product(*types, list(map(integer, a)), list(map(integer, b)), integer(c)), {}, choose))


def test_a_limited_product_of_matrices_is_a_finite_number() -> None:
    """The largest number for an infinity, with its sign, and +0 for a NaN; else the sum."""
    largest, nan = 0x7E, 0x7F  # 448, and the only NaN but for its sign
    assert limited([largest, largest], [largest, largest], 0) == 0x7BFF
    assert limited([largest, largest], [largest | 0x80, largest | 0x80], 0) == 0xFBFF
    assert limited([nan, largest], [largest, largest], 0) == 0
    assert limited([0x38, 0x38], [0x38, 0x38], 0x7C00) == 0x7BFF
    assert limited([0x38, 0x38], [0x38, 0x38], 0xFE00) == 0
    for _ in range(30):
        a, b = ([RANDOM.randrange(0x70) | RANDOM.choice((0, 0x80)) for _ in range(2)] for _ in range(2))
        exact = sum(e4m3(x) * e4m3(y) for x, y in zip(a, b, strict=True))
        bits = limited(a, b, 0)
        if abs(exact) < 1 << 15:
            assert abs(Fraction(float(np.uint16(bits).view(np.float16))) - exact) <= abs(exact) / 1024 + Fraction(
                1, 1 << 24
            )


def test_the_machine_does_not_limit_products_so() -> None:
    def choose(freedom: Any, operands: tuple[int, ...]) -> int:
        return HOPPER.chosen(freedom, operands) if freedom.attrs[2] == DEVIATION else stated(freedom, operands)

    assert limited([0x7E, 0x7E], [0x7E, 0x7E], 0, choose) != 0x7BFF


# packed sums in the memory of another CTA -------------------------------------------------------------------------------


def test_a_packed_sum_in_another_cta_is_one_of_each_element() -> None:
    """Two sums of half precision, of which neither carries into the other."""
    (form,) = [f for f in ptxspec.forms("atom") if f.mnemonic == "atom.shared::cluster.add.noftz.f16x2"]
    meaning = form.meaning(form.absences[-1])
    assert isinstance(meaning.effect, Update)
    (term,) = meaning.effect.values
    differing = 0
    for _ in range(60):
        old, b = (np.array([RANDOM.uniform(-9, 9) for _ in range(2)], np.float16) for _ in range(2))
        wanted = int((old + b).view(np.uint32)[0])
        here = RANDOM.randrange(4)
        values = {"a": 1 << 24, "b": int(b.view(np.uint32)[0]), "%loaded0": int(old.view(np.uint32)[0])}
        values["%cluster_ctarank"] = here
        assert evaluate(term, values, stated) == wanted
        differing += evaluate(term, values, HOPPER.chosen) != wanted
    assert differing > 20
