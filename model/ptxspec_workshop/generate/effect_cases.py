"""Cases for the forms whose effect is on memory or on the course of a program: loads, stores, ordered updates, branches, calls,
returns, barriers, fences, asynchronous copies, and instructions that change nothing.

Each form runs alone in a kernel of one CTA (memory_kernels.py, instruction_kernels.py, copy_kernels.py, control_kernels.py). The
first cells of what its threads leave are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptxspec.evidence.kernels.instruction_kernels import (
    kernel,
    module_for,
    words,
)
from ptxspec.evidence.kernels.instruction_modules import (
    module,
)
from ptxspec.evidence.kernels.operand_rows import rows
from ptxspec.evidence.kernels.signatures import comparable, inputs_of, undefined, updates
from ptxspec.language.forms import Form
from ptxspec.terms.effects import Access, ImageAccess, Load, seen_alone
from ptxspec_workshop.generate import (
    cluster_cases,
    control_kernels,
    copy_kernels,
    matrix_cases,
    memory_kernels,
    object_cases,
    product_operands,
    warp_cases,
)
from ptxspec_workshop.generate.cases import Launch, blank_rows, key, plain_module, unlike

SEED = "effects"
ROWS = 32
#: how many cells of a row are kept
KEPT = 4


def kind(form: Form) -> str | None:
    """Which kernels there are for a form: "access", "update", "copy" or "control"; None if it is asked elsewhere, or not at
    all."""
    if (
        product_operands.asks(form)
        or comparable(form)
        or warp_cases.meets(form)
        or matrix_cases.asks(form)
        or asks_images(form)
        or cluster_cases.asks(form)
        or object_cases.asks(form)
    ):
        return None
    if memory_kernels.moves(form):
        return "access"
    if copy_kernels.shows(form):
        return "copy"
    if updates(form.meaning(form.absences[-1])):
        return None if undefined(form.meaning()) else "update"
    return "control" if control_kernels.shows(form) else None


def asks_images(form: Form) -> bool:
    """Whether the form is for textures or surfaces, which have cases of their own."""
    return isinstance(form.meaning(form.absences[-1]).effect, ImageAccess)


class EffectCase(NamedTuple):
    """A form, the operands left out, the kind of its kernel, and the rows of `in`."""

    form: Form
    absent: tuple[str, ...]
    kind: str
    cells: np.ndarray

    @property
    def name(self) -> str:
        return key(self.form, self.absent)

    @property
    def launches(self) -> list[Launch]:
        return [Launch(self.cells, memory_kernels.image() if self.kind == "access" else bytes(64))]

    @property
    def alike(self) -> Any:
        """Cache operators, hints, orders and scopes make no difference here."""
        meaning = self.form.meaning(self.absent)
        if not isinstance(meaning.effect, Access):
            return self.name
        return self.kind, seen_alone(meaning.effect), meaning.results, self.form.modifiers.get("vec")

    @property
    def apart(self) -> Any:
        """A module has one version and target."""
        return self.kind, module_for(self.form)

    def text(self, name: str) -> str:
        if self.kind == "access":
            return memory_kernels.text_of(self.form, name)
        if self.kind == "copy":
            return copy_kernels.text_of(self.form, name)
        if self.kind == "control":
            return control_kernels.text_of(self.form, name, self.absent)
        return kernel(self.form, name, self.absent).text

    def module(self, texts: Sequence[str]) -> str:
        if self.kind == "update":
            return module([]) + "\n".join([*texts, ""])
        if self.kind == "copy":
            return plain_module(texts)
        kernels = memory_kernels if self.kind == "access" else control_kernels
        return plain_module(texts, kernels.declarations(), *module_for(self.form))

    def operands(self, row: int) -> tuple[int, ...]:
        return tuple(map(int, self.cells[row, :KEPT]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        (out,) = outs
        return out[:, :KEPT]

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        bits: np.ndarray = left ^ right
        if self.kind == "access":
            bits[:, 0] &= np.uint64(memory_kernels.judged(self.form))
        return unlike(bits, np.zeros_like(bits))


def cases(forms: Iterable[Form]) -> list[EffectCase]:
    """The cases of some forms, those of one kind together."""
    result = []
    for form in forms:
        what = kind(form)
        if what is not None:
            absences = form.absences if what == "control" else [()]
            result += [EffectCase(v, absent, what, _cells(v, what)) for v in form.variants for absent in absences]
    return sorted(result, key=lambda c: c.kind)


def _cells(form: Form, what: str) -> np.ndarray:
    if what == "control":
        return control_kernels.rows(form)
    if what == "copy":
        return copy_kernels.rows(form)
    if what == "access":
        loads = isinstance(form.meaning().effect, Load)
        return memory_kernels.rows_of_load() if loads else memory_kernels.rows_of_store()
    return _cells_of_update(tuple(t for _, t in inputs_of(form.meaning())))


@cache
def _cells_of_update(types: tuple[Any, ...]) -> np.ndarray:
    data = blank_rows(ROWS)
    for i, row in enumerate(rows(types, ROWS, SEED)):
        row_words = words(row, types)
        data[i, : len(row_words)] = row_words
    return data
