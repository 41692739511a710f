"""Cases for forms that are functions of their operands: each runs alone in a kernel whose operands come from memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ptxspec import contracts
from ptxspec.evidence.kernels.cases import Launch, blank_rows, unlike
from ptxspec.evidence.kernels.former_modules import asked_in
from ptxspec.evidence.kernels.instruction_kernels import (
    Kernel,
    cell_types,
    kernel,
    words,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.evidence.kernels.kernel_operands import IMMEDIATE
from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import inputs_of, pure, results_of, undefined
from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.effects import Access
from ptxspec.terms.kinds import Immediate
from ptxspec.terms.types import Type

ROWS = 512
#: operand rows of a variant, which has selectors or signs on its operands
VARIANT_ROWS = 64
SEED = "vectors"


def comparable(form: Form) -> bool:
    """Whether the form is a function of its operands on every machine. Of forms that update memory and differ in their order
    among other accesses alone, which a thread by itself cannot see, the one that states none stands for all."""
    meaning = form.meaning(form.absences[-1])
    said = isinstance(meaning.effect, Access) and says_how(form, meaning.effect)
    return pure(form) and not form.definition.returns_addresses and not said and not undefined(meaning)


def says_how(form: Form, access: Access) -> bool:
    """Whether a form has modifiers for the order of its access, for caches and the like."""
    return any(form.modifiers.get(name) for name in modifiers_of(access))


def modifiers_of(access: Access) -> tuple[str, ...]:
    """The modifiers that say how an access takes part in the order of memory, and those for caches and the like."""
    return *contracts.memory_order.MODIFIERS, *access.how


def table_of(form: Form, meaning: Meaning) -> list[tuple[int, ...]]:
    """The operand rows of a form, reproducible from the seed. An operand that must be a constant is the kernel's."""
    inputs = inputs_of(meaning)
    count = ROWS if form.plain else VARIANT_ROWS
    found = rows([t for _, t in inputs], count, f"{SEED}:{form.mnemonic if form.plain else form}")
    for i in _constants(form, meaning):
        found = [(*row[:i], IMMEDIATE, *row[i + 1 :]) for row in found]
    return found


def _constants(form: Form, meaning: Meaning) -> list[int]:
    """Which values of an operand row must be constants."""
    parameters = [form.definition.sources.get(name) for name, _ in inputs_of(meaning)]
    return [i for i, p in enumerate(parameters) if p is not None and isinstance(p.annotation, Immediate)]


def cells_of(own: Kernel, table: Sequence[tuple[int, ...]]) -> np.ndarray:
    """A kernel's operand rows as its input buffer."""
    data = blank_rows(len(table))
    width = len(cell_types(own.inputs))
    data[:, :width] = np.array([words(row, own.inputs) for row in table], np.uint64).reshape(len(table), width)
    return data


def columns(types: Sequence[Type], out: np.ndarray) -> np.ndarray:
    """The values of these types in the first cells of the rows that a launch left, a column each."""
    widths = [max(t.width, 16 if t.kind == "pred" else 0) for t in types]
    return np.stack([out[:, i] & np.uint64((1 << n) - 1) for i, n in enumerate(widths)], axis=1)


@dataclass(frozen=True)
class FunctionCase:
    """A form, and the operands left out."""

    form: Form
    absent: tuple[str, ...]

    @cached_property
    def table(self) -> list[tuple[int, ...]]:
        """The operand rows."""
        return table_of(self.form, self.meaning)

    @property
    def name(self) -> str:
        return str(self.form)

    @property
    def meaning(self) -> Meaning:
        return self.form.meaning(self.absent)

    @property
    def launches(self) -> list[Launch]:
        constants = set(_constants(self.form, self.meaning))  # which the kernel has, and does not load
        loaded = [tuple(value for i, value in enumerate(row) if i not in constants) for row in self.table]
        return [Launch(cells_of(kernel(self.form, "k", self.absent), loaded))]

    @property
    def alike(self) -> Any:
        return self.name

    @property
    def apart(self) -> Any:
        """A module has one version and target."""
        return asked_in(self.form)

    def text(self, name: str) -> str:
        return kernel(self.form, name, self.absent).text

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *self.apart)

    def operands(self, row: int) -> tuple[int, ...]:
        return self.table[row]

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        (out,) = outs
        types = cell_types(t for t, _ in results_of(self.meaning))
        return columns(types, out).astype(f"u{max(max(t.bytes, 1) for t in types)}")

    def differs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return unlike(one, other)


def cases(own: Iterable[Form]) -> list[FunctionCase]:
    """The cases of some forms, in all variants. Their answers are named after the form alone."""
    return [FunctionCase(v, absent) for f in own if comparable(f) for v in f.variants for absent in f.absences]
