"""Cases for products of matrices: each form runs alone in a kernel whose fragments come from memory.

The rows are not stored: `launches` makes them again from the seed. What a warp is given is of one kind, such as numbers of like
size, powers of two far apart, or some infinities among others.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.evidence.kernels.instruction_kernels import (
    comes_later,
    kernel,
    module_for,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Collective, Load, Store
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.generate import product_operands
from ptxspec_workshop.generate.cases import Launch, blank_rows, unlike
from ptxspec_workshop.generate.function_cases import columns

SEED = "matrices"
#: warps of a launch, launches of a case, lanes of a warp
WARPS, LAUNCHES, LANES = 32, 2, 32
#: so many warps' answers are kept whole, of the others a digest each
WHOLE = 8


def asks(form: Form) -> bool:
    """Whether a whole warp executes the form: a product of matrices, or what moves them."""
    if product_operands.asks(form):  # by four warps, with cases of their own
        return False
    effect = form.meaning(form.absences[-1]).effect
    in_registers = form.definition.results or form.definition.tuples
    return isinstance(effect, Collective) and effect.whole and bool(in_registers)


def on_tiles(form: Form) -> bool:
    """Whether the form is about tiles, which have kernels of their own."""
    return form.syntax.opcode == contracts.tiles.OPCODE


def moves(form: Form) -> bool:
    """Whether the form moves matrices between registers and memory, which has kernels of its own."""
    return any(isinstance(effect, Load | Store) for effect in form.meaning(form.absences[-1]).more)


def scales(form: Form) -> bool:
    """Whether blocks of the factors are scaled, for which a row of operands has no room."""
    return "scale_a" in form.definition.sources


def element_types(form: Form) -> dict[str, Type]:
    """The types of the elements of D, A, B and C; of what only moves a matrix, of D and A. Where formats of up to eight bits are
    mixed, factors are any bytes."""
    words = form.mnemonic.split(".")
    if "kind::f8f6f4" in words:
        sums = TYPES["f16" if "f16" in words else "f32"]
        return {"d": sums, "a": TYPES["b8"], "b": TYPES["b8"], "c": sums}
    named = [TYPES[word] for word in words if word in TYPES]
    return dict(zip("dabc", named, strict=True)) if len(named) == 4 else dict.fromkeys("da", named[0])


# Elements ----------------------------------------------------------------------------------------------------------------


def _floats(
    type: Type, rng: np.random.Generator, count: int, fields: tuple[int, int], zeros: float = 0.0
) -> np.ndarray:
    """Numbers whose exponent fields lie between two, some of them zeros."""
    page = contracts.floating_point
    fraction = page.precision(type) - 1
    least, most = (max(0, min(field, (1 << page.exponent_bits(type)) - 1)) for field in fields)
    sign = rng.integers(0, 2, count, np.uint64) << np.uint64(type.width - 1)
    field = rng.integers(least, most + 1, count, np.uint64) << np.uint64(fraction)
    patterns: np.ndarray = sign | field | rng.integers(0, 1 << fraction, count, np.uint64)
    patterns[rng.random(count) < zeros] &= np.uint64(1 << type.width - 1)
    return patterns


def _alike(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    middle = contracts.floating_point.bias(type)
    return _floats(type, rng, count, (middle - 2, middle + 2), 0.1)


def _any_size(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    return _floats(type, rng, count, (0, (1 << contracts.floating_point.exponent_bits(type)) - 2))


def _few(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers that cancel one another, and others that are next to them."""
    values = _alike(type, rng, 3)
    few = np.concatenate([values, values ^ np.uint64(1 << type.width - 1), values ^ np.uint64(1)])
    return few[rng.integers(0, len(few), count)]


def _powers(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """Powers of two, and the numbers before them, up to 40 places apart."""
    page = contracts.floating_point
    fraction = page.precision(type) - 1
    numbers = _floats(type, rng, count, (page.bias(type) - 20, page.bias(type) + 20))
    ones = rng.random(count) < 0.5
    low = np.uint64((1 << fraction) - 1)
    return np.where(ones, numbers & ~low, numbers | low)


def _tiny(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    return _floats(type, rng, count, (0, 1), 0.1)


def _huge(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    top = (1 << contracts.floating_point.exponent_bits(type)) - 2
    return _floats(type, rng, count, (top - 2, top), 0.3)


def _zeros_beside(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """Zeros, of either sign, which meet large numbers."""
    return np.where(rng.random(count) < 0.5, _tiny(type, rng, count), _floats(type, rng, count, (1, 1 << 11), 0.6))


def _specials(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """One infinity or NaN in sixteen, or none."""
    top = (1 << contracts.floating_point.exponent_bits(type)) - 1
    special = _floats(type, rng, count, (top, top))
    fraction = np.uint64((1 << contracts.floating_point.precision(type) - 1) - 1)
    special = np.where(rng.random(count) < 0.6, special & ~fraction, special)
    values: np.ndarray = np.where(rng.random(count) < 0.06, special, _alike(type, rng, count))
    return values


FLOATS: tuple[Callable[[Type, np.random.Generator, int], np.ndarray], ...] = (
    _alike, _any_size, _few, _powers, _tiny, _huge, _zeros_beside, _specials,
)  # fmt: skip


def _bits(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """Any bits."""
    return rng.integers(0, 1 << type.width, count, np.uint64)


def _extremes(type: Type, rng: np.random.Generator, count: int) -> np.ndarray:
    """Zeros, ones, and numbers at the ends of the range."""
    half, whole = 1 << type.width - 1, (1 << type.width) - 1
    few = np.array([0, 1 & whole, half - 1, half, whole, whole], np.uint64)
    return few[rng.integers(0, len(few), count)]


def drawn_elements(type: Type, kind: int, rng: np.random.Generator, count: int) -> np.ndarray:
    """So many elements of a type, of the kind with this number, as bits."""
    if type.is_float:
        return FLOATS[kind % len(FLOATS)](type, rng, count)
    if type.width == 32 and kind % 4 == 1:  # a sum begins near the end of its range
        near = rng.integers(0, 1 << 14, count, np.uint64)
        return np.where(rng.random(count) < 0.5, 0x7FFFFFFF - near, 0x80000000 + near).astype(np.uint64)
    return (_bits, _extremes)[kind & 1](type, rng, count)


def drawn_registers(type: Type, kind: int, rng: np.random.Generator, registers: int) -> np.ndarray:
    """For each lane of a warp its registers full of elements."""
    per_register = max(1, 32 // type.width)
    elements = drawn_elements(type, kind, rng, LANES * registers * per_register).reshape(LANES, registers, per_register)
    words: np.ndarray = np.zeros((LANES, registers), np.uint64)
    for i in range(per_register):
        words |= elements[:, :, i] << np.uint64(i * type.width)
    return words


def registers_of(form: Form, operand: str) -> int:
    """How many registers of a lane an operand takes."""
    given = next(i for i in form.meaning().inputs if i.name == operand)
    return len(given.variables)


def metadata(form: Form, rng: np.random.Generator) -> np.ndarray:
    """For each lane metadata that name elements in order, or where they need not be ordered, in any order."""
    if element_types(form)["a"].width == 32:
        few = [0b0100, 0b1110]
    else:
        pairs = [(i, j) for i in range(4) for j in range(4) if i < j or (i != j and form.modifiers["order"] == "sp")]
        few = [i | j << 2 for i, j in pairs]
    words: np.ndarray = np.zeros((LANES, 1), np.uint64)
    for place in range(0, 32, 4):
        words |= np.array(few, np.uint64)[rng.integers(0, len(few), (LANES, 1))] << np.uint64(place)
    return words


def abridged(types: Sequence[Type], outs: Sequence[np.ndarray], warps: int) -> np.ndarray:
    """The values of these types that launches left, a column each, of the first warps; then of each other warp a digest of up to
    64 bytes in a row."""
    width = 4 if types[0].width <= 32 else 8
    results = np.concatenate([columns(types, out) for out in outs]).astype(f"<u{width}")
    whole = warps * LANES
    size = results[:1].nbytes
    rest = b"".join(
        hashlib.blake2b(results[i : i + LANES].tobytes(), digest_size=min(size, 64)).digest().ljust(size, b"\0")
        for i in range(whole, len(results), LANES)
    )
    return np.concatenate([results[:whole], np.frombuffer(rest, results.dtype).reshape(-1, results.shape[1])])


# Cases -------------------------------------------------------------------------------------------------------------------


class MatrixCase(NamedTuple):
    """A form, of a sparse one the selector, and the launches, each with so many warps."""

    form: Form
    selector: int | None = None
    counts: tuple[int, ...] = (WARPS,) * LAUNCHES

    @property
    def name(self) -> str:
        return str(self.form) if self.selector is None else f"{self.form} with f = {self.selector}"

    @property
    def launches(self) -> list[Launch]:
        """Each warp has elements of one kind in A and B, and of another in C."""
        rng = np.random.default_rng([ord(c) for c in f"{SEED}:{self.name}"])
        return [self._launch(rng, sum(self.counts[:i]), count) for i, count in enumerate(self.counts)]

    def _launch(self, rng: np.random.Generator, first: int, count: int) -> Launch:
        cells = blank_rows(count * LANES)
        types = element_types(self.form)
        for warp in range(count):
            kind = first + warp
            parts = []
            for operand in (o for o in "abc" if o in types):
                registers = registers_of(self.form, operand)
                kind_of_operand = kind + kind // len(FLOATS) if operand == "c" else kind
                parts.append(drawn_registers(types[operand], kind_of_operand, rng, registers))
            if self.selector is not None:
                parts.append(metadata(self.form, rng))
            rows = np.concatenate(parts, axis=1)
            cells[warp * LANES : (warp + 1) * LANES, : rows.shape[1]] = rows
        return Launch(cells)

    @property
    def alike(self) -> Any:
        return self.name, self.counts

    @property
    def apart(self) -> tuple[str, str]:
        return module_for(self.form)

    def text(self, name: str) -> str:
        text = kernel(self.form, name).text
        return text if self.selector is None else re.sub(r"(  mma\..*), \d+;", rf"\g<1>, {self.selector};", text)

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *self.apart)

    def operands(self, row: int) -> tuple[int, ...]:
        """What a thread was given; for the row of a digest, the first thread of its warp."""
        cells = np.concatenate([launch.cells for launch in self.launches])
        thread = row if row < WHOLE * LANES else (WHOLE + row - WHOLE * LANES) * LANES
        return tuple(map(int, cells[thread]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The registers of D, a column each, of the first warps; then of each other warp a digest, as long as a row."""
        return abridged(kernel(self.form, "k").outputs, outs, WHOLE)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def cases(forms: Iterable[Form]) -> list[MatrixCase]:
    """The cases of some forms: of a sparse one with every selector."""
    result = []
    for form in forms:
        if asks(form) and not (moves(form) or on_tiles(form) or scales(form)):
            selectors = form.definition.constants("f", form.modifiers) or (None,)
            result += [MatrixCase(form, selector) for selector in selectors]
    return result


def small(forms: Iterable[Form]) -> list[MatrixCase]:
    """A case of one warp for each form, with its last selector. Of the forms of later targets that differ in the formats of their
    factors alone it is the last one's."""
    by_shape = {_small(case.form): case for case in cases(forms)}
    return [case._replace(counts=(1,)) for case in by_shape.values()]


def _small(form: Form) -> Any:
    """What the forms have in common that one case is for."""
    if not comes_later(form):
        return str(form)
    others = ((name, str(value)) for name, value in form.modifiers.items() if name not in ("atype", "btype"))
    return form.definition.name, tuple(sorted(others))
