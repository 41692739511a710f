"""Cases for forms that are functions of their operands: each runs alone in a kernel whose operands come from memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ptxspec.evidence.kernels.instruction_kernels import (
    FormKernel,
    cell_types,
    kernel,
    words,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.evidence.kernels.operand_rows import constants_of, table_of
from ptxspec.evidence.kernels.signatures import comparable, results_of
from ptxspec.language.forms import Form
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.types import Type
from ptxspec_workshop.generate.cases import Launch, blank_rows, unlike
from ptxspec_workshop.generate.former_modules import module_for_ptxas


def cells_of(form_kernel: FormKernel, table: Sequence[tuple[int, ...]]) -> np.ndarray:
    """A kernel's operand rows as its input buffer."""
    data = blank_rows(len(table))
    width = len(cell_types(form_kernel.inputs))
    data[:, :width] = np.array([words(row, form_kernel.inputs) for row in table], np.uint64).reshape(len(table), width)
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
        constants = set(constants_of(self.form, self.meaning))  # which the kernel has, and does not load
        loaded = [tuple(value for i, value in enumerate(row) if i not in constants) for row in self.table]
        return [Launch(cells_of(kernel(self.form, "k", self.absent), loaded))]

    @property
    def alike(self) -> Any:
        return self.name

    @property
    def apart(self) -> Any:
        """A module has one version and target."""
        return module_for_ptxas(self.form)

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

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def cases(forms: Iterable[Form]) -> list[FunctionCase]:
    """The cases of some forms, in all variants. Their answers are named after the form alone."""
    return [FunctionCase(v, absent) for f in forms if comparable(f) for v in f.variants for absent in f.absences]
