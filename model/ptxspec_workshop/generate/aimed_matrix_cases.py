"""Cases for products of matrices with the smallest factors: sums near the limit below which bits are lost, where C is zero or
nearly so, and subnormal factors. Numbers drawn at random rarely show either.

They are asked in kernels of their own, as the other products are (matrix_cases.py), and made again from the seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.forms import Form
from ptxspec.terms.types import Type
from ptxspec_workshop.generate import matrix_cases
from ptxspec_workshop.generate.cases import Launch, blank_rows
from ptxspec_workshop.generate.matrix_cases import LANES, MatrixCase

SEED = "aimed matrices"
#: the warps of each launch of a case
COUNTS = (32, 32, 32)
#: of 16 bits and more, the formats whose exponents are as wide as those of single precision
EXPONENT_BITS = 8


class Aim(NamedTuple):
    """Numbers of A, or of B: their exponents lie between two, those below the smallest normal one's are of subnormal numbers; and
    in how many of the upper bits of the fraction there are ones."""

    least: int
    most: int
    bits: int


#: what a warp is given for A and B: sums whose last bits lie about 2^-158, and subnormal factors against small ones
AIMS: tuple[tuple[Aim, Aim], ...] = (
    (Aim(-83, -72, 0), Aim(-83, -72, 0)),
    (Aim(-83, -70, 1), Aim(-83, -72, 0)),
    (Aim(-126, -110, 0), Aim(-42, -26, 0)),
    (Aim(-100, -88, 0), Aim(-66, -52, 1)),
    (Aim(-72, -66, 2), Aim(-76, -66, 7)),
    (Aim(-133, -124, 0), Aim(-28, -14, 0)),
    (Aim(-132, -126, 1), Aim(-30, 6, 1)),
    (Aim(-133, -124, 7), Aim(-26, 2, 7)),
)


def aimed_numbers(type: Type, aim: Aim, rng: np.random.Generator, count: int) -> np.ndarray:
    """So many numbers of a type, as bits."""
    page = contracts.floating_point
    fraction, bias = page.precision(type) - 1, page.bias(type)
    exponents = rng.integers(aim.least, aim.most + 1, count)
    kept = fraction - min(aim.bits, 7)
    significands = (1 << fraction | rng.integers(0, 1 << fraction, count)) >> kept << kept
    subnormal = exponents < 1 - bias
    significands = np.where(subnormal, significands >> np.minimum(1 - bias - exponents, fraction), significands)
    fields = np.where(subnormal, 0, exponents + bias)
    patterns = fields << fraction | significands & (1 << fraction) - 1
    signs = rng.integers(0, 2, count) << type.width - 1
    numbers: np.ndarray = (signs | patterns).astype(np.uint64)
    numbers[rng.random(count) < 0.1] &= np.uint64(1 << type.width - 1)
    return numbers


def aimed_addends(kind: int, rng: np.random.Generator, count: int) -> np.ndarray:
    """Elements of C in single precision: zeros of either sign, and in some warps subnormal numbers or the smallest normal."""
    zeros = rng.integers(0, 2, count, np.uint64) << np.uint64(31)
    if kind % 6 < 4:
        return zeros
    small = rng.integers(0, 4 if kind % 6 == 4 else 1 << 25, count, np.uint64)
    return np.where(rng.random(count) < 0.5, zeros | small, zeros)


def _registers(type: Type, elements: np.ndarray, registers: int) -> np.ndarray:
    """The registers of each lane, full of elements."""
    per_register = max(1, 32 // type.width)
    grouped = elements.reshape(LANES, registers, per_register)
    words: np.ndarray = np.zeros((LANES, registers), np.uint64)
    for i in range(per_register):
        words |= grouped[:, :, i] << np.uint64(i * type.width)
    return words


class AimedCase(MatrixCase):
    """A form with factors that are aimed at the limits."""

    @property
    def launches(self) -> list[Launch]:
        """Each warp has its own aim."""
        rng = np.random.default_rng([ord(c) for c in f"{SEED}:{self.name}"])
        return [self._aimed(rng, sum(self.counts[:i]), count) for i, count in enumerate(self.counts)]

    def _aimed(self, rng: np.random.Generator, first: int, count: int) -> Launch:
        cells = blank_rows(count * LANES)
        types = matrix_cases.element_types(self.form)
        for warp in range(count):
            kind = first + warp
            parts = []
            for operand, aim in zip("ab", AIMS[kind % len(AIMS)], strict=True):
                registers = matrix_cases.registers_of(self.form, operand)
                elements = LANES * registers * max(1, 32 // types[operand].width)
                parts.append(_registers(types[operand], aimed_numbers(types[operand], aim, rng, elements), registers))
            registers = matrix_cases.registers_of(self.form, "c")
            parts.append(_registers(types["c"], aimed_addends(kind // len(AIMS), rng, LANES * registers), registers))
            if self.selector is not None:
                parts.append(matrix_cases.metadata(self.form, rng))
            rows = np.concatenate(parts, axis=1)
            cells[warp * LANES : (warp + 1) * LANES, : rows.shape[1]] = rows
        return Launch(cells)


def aims(form: Form) -> bool:
    """Whether a form is a product of factors that have exponents as wide as single precision, and more than eight bits."""
    if (
        not matrix_cases.asks(form)
        or matrix_cases.moves(form)
        or matrix_cases.on_tiles(form)
        or matrix_cases.scales(form)
    ):
        return False
    types = matrix_cases.element_types(form)
    return is_wide(types["a"]) and types["c"].width == 32


def is_wide(factor: Type) -> bool:
    """Whether a format of factors has exponents as wide as single precision, and more than eight bits."""
    is_long = factor.is_float and 16 <= factor.width <= 32
    return is_long and bool(contracts.floating_point.exponent_bits(factor) == EXPONENT_BITS)


def cases(forms: Iterable[Form]) -> list[AimedCase]:
    """The cases of some forms: of a sparse one with its first selector."""
    result = []
    for form in filter(aims, forms):
        selectors = form.definition.constants("f", form.modifiers) or (None,)
        result.append(AimedCase(form, selectors[0], COUNTS))
    return result
