"""Operand rows for a form: special values of each operand's type crossed, then random ones. Reproducible from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ptxspec.evidence.kernels.kernel_operands import IMMEDIATE
from ptxspec.evidence.kernels.signatures import inputs_of
from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.kinds import Immediate
from ptxspec.terms.types import Type

ROWS = 512
#: operand rows of a variant, which has selectors or signs on its operands
VARIANT_ROWS = 64
SEED = "vectors"

#: the bits of a format's fraction
_FRACTION = {"f16": 10, "bf16": 7, "tf32": 23, "f32": 23, "f64": 52}


def special(type: Type) -> list[int]:
    """Bit patterns at which definitions of this type tend to break."""
    if type.kind == "pred":
        return [0, 1]
    if type.elements > 1:
        return _side_by_side(type)
    width = type.width
    if width <= 8 and not type.is_fundamental:  # all there are
        return list(range(1 << width))
    ones, top = (1 << width) - 1, 1 << (width - 1)
    if type.is_float:
        fraction = _FRACTION[type.name]
        infinity = (1 << (width - 1)) - (1 << fraction)
        unit = ((1 << (width - 2 - fraction)) - 1) << fraction
        positive = [
            0,
            1,  # least subnormal
            (1 << fraction) - 1,  # greatest subnormal
            1 << fraction,  # least normal
            unit,
            unit + 1,
            unit - 1,
            unit + (1 << fraction),  # 2
            unit - (1 << fraction),  # 1/2
            unit + (1 << (fraction - 1)),  # 3/2
            unit + (fraction << fraction) + 1,
            infinity - 1,  # greatest
            infinity,
            infinity + 1,  # signalling NaN
            infinity + (1 << (fraction - 1)) + 5,  # quiet NaN with a payload
            infinity + (0x5B6DB6DB6DB6D >> (52 - fraction)),  # signalling NaN with a long one
        ]
        return positive + [p | top for p in positive]
    small = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        255,
        256,
        0x00800000,
        0x007FFFFF,
        0x00FFFFFF,
    ]
    edges = [ones, ones - 1, top, top - 1, top + 1, ones - 255, ones // 3, ones // 3 * 2, ones >> (width // 2)]
    return list(dict.fromkeys([v & ones for v in small + edges]))


def _side_by_side(type: Type) -> list[int]:
    """Each special value in each element, beside others."""
    specials = special(type.element)
    strides = (1, 7, 11, 5)
    rows = [
        [specials[(i * strides[k] + 3 * k) % len(specials)] for k in range(type.elements)] for i in range(len(specials))
    ]
    return list(dict.fromkeys(sum(v << k * type.element_step for k, v in enumerate(row)) for row in rows))


def _drawn(type: Type, source: random.Random) -> int:
    """A value at random, or of a packed type as many."""
    if type.elements > 1:
        return sum(_drawn(type.element, source) << k * type.element_step for k in range(type.elements))
    value = source.getrandbits(type.width)
    if type.name in _FRACTION:
        if source.random() < 0.5:  # near one another, so that sums cancel and fractions matter
            fraction = _FRACTION[type.name]
            unit = ((1 << (type.width - 2 - fraction)) - 1) + source.randint(-3, fraction + 3)
            value = value & ~(((1 << (type.width - 1 - fraction)) - 1) << fraction) | unit << fraction
    elif type.is_fundamental and source.random() < 0.5:
        value >>= source.randrange(type.width)
    return value


def rows(types: Sequence[Type], count: int, seed: object = 0) -> list[tuple[int, ...]]:
    """`count` rows of bit patterns, one pattern an operand. Half are drawn from the special values (all combinations where
    there are few enough), the rest at random; of these every other one has fields of random length, so that small and
    large numbers both occur."""
    source = random.Random(f"{seed}:{[t.name for t in types]}")
    specials = [special(t) for t in types]
    drawn: list[tuple[int, ...]] = []
    total = 1
    for values in specials:
        total *= len(values)
    if total <= count // 2:
        drawn = [()]
        for values in specials:
            drawn = [(*row, v) for row in drawn for v in values]
    else:
        drawn = [tuple(source.choice(values) for values in specials) for _ in range(count // 2)]
    while len(drawn) < count:
        drawn.append(tuple(_drawn(type, source) for type in types))
    return drawn


def table_of(form: Form, meaning: Meaning) -> list[tuple[int, ...]]:
    """The operand rows of a form, reproducible from the seed. An operand that must be a constant is the kernel's."""
    inputs = inputs_of(meaning)
    count = ROWS if form.plain else VARIANT_ROWS
    table = rows([t for _, t in inputs], count, f"{SEED}:{form.mnemonic if form.plain else form}")
    for i in constants_of(form, meaning):
        table = [(*row[:i], IMMEDIATE, *row[i + 1 :]) for row in table]
    return table


def constants_of(form: Form, meaning: Meaning) -> list[int]:
    """Which values of an operand row must be constants."""
    parameters = [form.definition.sources.get(name) for name, _ in inputs_of(meaning)]
    return [i for i, p in enumerate(parameters) if p is not None and isinstance(p.annotation, Immediate)]
