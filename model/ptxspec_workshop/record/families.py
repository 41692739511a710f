"""The families of forms that a GPU was asked about with kernels of one shape, and where their answers lie: functions of operands,
what meets in a warp or at a barrier, products of matrices, effects, and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.evidence.kernels import operand_rows, signatures
from ptxspec.evidence.kernels.instruction_kernels import comes_later
from ptxspec.language.forms import Form, forms
from ptxspec.terms.profiles import Profile
from ptxspec_workshop.compare.expectations import Expectation, of_eight_columns, of_functions
from ptxspec_workshop.compare.open_rows import open_rows
from ptxspec_workshop.generate import (
    aimed_matrix_cases,
    cluster_cases,
    effect_cases,
    function_cases,
    matrix_cases,
    matrix_moves,
    object_cases,
    product_operands,
    tile_cases,
    warp_cases,
    warpgroup_cases,
)
from ptxspec_workshop.generate.cases import Case, key
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.kernel_family import Expecting, KernelFamily
from ptxspec_workshop.record.stored_answers import H100, H200, Answers


class FunctionFamily(KernelFamily):
    """Forms that are functions of their operands, with 512 rows each."""

    seed = operand_rows.SEED
    engine: Engine = "native"

    def asks(self, form: Form) -> bool:
        asked_elsewhere = product_operands.asks(form) or object_cases.asks(form)
        return not asked_elsewhere and signatures.comparable(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [str(v) for v in form.variants]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return function_cases.cases(form for form in candidates if self.asks(form))

    def expectations(self, profile: str, engine: Engine | None = None) -> Expecting:
        choices, by = Profile(profile), engine or self.engine
        return lambda cases: of_functions(choices, cases, by)

    def write(
        self, folder: Path, facts: Mapping[str, Any], values: dict[str, np.ndarray], differing: list[dict[str, Any]]
    ) -> None:
        stored_answers.write(folder, dict(facts), values, differing)


class LaterFunctionFamily(FunctionFamily):
    """Functions of operands that an H200 was not asked about in all variants: an H100 is. What the two gave is kept apart, since
    answers in one file are one machine's. They are few: the exact interpretation says what is expected, without a compiler."""

    place = "functions"
    engine: Engine = "exact"

    def asks(self, form: Form) -> bool:
        return not _answered_by_h200().issuperset(self.names(form)) and super().asks(form)

    def read(self, folder: Path = H100) -> Answers | None:
        return super().read(folder)

    def write(
        self, folder: Path, facts: Mapping[str, Any], values: dict[str, np.ndarray], differing: list[dict[str, Any]]
    ) -> None:
        super().write(self.folder(folder), facts, values, differing)


@cache
def _answered_by_h200() -> frozenset[str]:
    """The names of the functions that an H200 was asked about."""
    answers = FUNCTIONS.read()
    return frozenset() if answers is None else frozenset(answers.values)


class WarpFamily(KernelFamily):
    """Forms whose results depend on other threads, of a warp or at a barrier."""

    seed = warp_cases.SEED
    engine: Engine = "native"

    def asks(self, form: Form) -> bool:
        return warp_cases.meets(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [str(form)]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return warp_cases.cases(form for form in candidates if not comes_later(form))

    def remarks(
        self, case: Any, want: Expectation, got: Mapping[str, np.ndarray], differing: np.ndarray
    ) -> dict[str, Any]:
        """How many rows hang on a freedom, and some of the others and of these with their values."""
        is_open = open_rows(case.form, case.absent)
        examples = [*np.flatnonzero(differing & ~is_open)[:6], *np.flatnonzero(differing & is_open)[:6]]
        answers = {"ours": want.ours, **{level.strip("-"): answer for level, answer in got.items()}}
        return {
            "open": int(is_open.sum()),
            "open, O3 differs": int((want.wrong(got["-O3"]) & is_open).sum()),
            "examples": [
                {"row": int(i), "open": bool(is_open[i]), "operands": list(map(hex, case.operands(i)))}
                | {who: [hex(int(v)) for v in answer[i]] for who, answer in answers.items() if answer is not None}
                for i in examples
            ],
        }

    def read(self, folder: Path = H200) -> Answers | None:
        return stored_answers.read_archive(folder, "warps")

    def write(
        self, folder: Path, facts: Mapping[str, Any], values: dict[str, np.ndarray], differing: list[dict[str, Any]]
    ) -> None:
        shared_facts = {k: v for k, v in facts.items() if k != "rows"}
        stored_answers.write_archive(folder, "warps", {**shared_facts, "seed": self.seed}, values, differing)


class MatrixFamily(KernelFamily):
    """Products of matrices, and what moves matrices."""

    seed = matrix_cases.SEED
    engine: Engine = "native"

    def asks(self, form: Form) -> bool:
        return matrix_cases.asks(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [case.name for case in self.cases([form])]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        candidates = [form for form in candidates if not comes_later(form)]
        return [*matrix_cases.cases(candidates), *matrix_moves.cases(candidates), *tile_cases.cases(candidates)]

    def read(self, folder: Path = H200) -> Answers | None:
        return stored_answers.read_archive(folder, "matrices")

    def write(
        self, folder: Path, facts: Mapping[str, Any], values: dict[str, np.ndarray], differing: list[dict[str, Any]]
    ) -> None:
        shared_facts = {k: v for k, v in facts.items() if k != "rows"}
        stored_answers.write_archive(folder, "matrices", {**shared_facts, "seed": self.seed}, values, differing)


class AimedMatrixFamily(KernelFamily):
    """Products of matrices with factors that are aimed at limits. All forms are among the products of `Matrices`, too, so that
    whether a form was asked about does not depend on these."""

    place = "aimed"
    seed = aimed_matrix_cases.SEED
    engine: Engine = "native"

    def asks(self, form: Form) -> bool:
        return not comes_later(form) and aimed_matrix_cases.aims(form)

    def names(self, form: Form) -> list[str]:
        return [case.name for case in self.cases([form])]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return aimed_matrix_cases.cases(form for form in candidates if not comes_later(form))

    def read(self, folder: Path = H100) -> Answers | None:
        return super().read(folder)


class EffectFamily(KernelFamily):
    """Forms whose effect is on memory or on the course of a program."""

    place = "effects"
    seed = effect_cases.SEED

    def asks(self, form: Form) -> bool:
        return effect_cases.kind(form) is not None and not object_cases.asks(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [key(v, absent) for v in form.variants for absent in form.absences]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return effect_cases.cases(form for form in candidates if not comes_later(form))


class ClusterFamily(KernelFamily):
    """Forms that may reach another CTA of a cluster."""

    place = "clusters"
    seed = cluster_cases.SEED

    def asks(self, form: Form) -> bool:
        return cluster_cases.asks(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [str(form)]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return cluster_cases.cases(form for form in candidates if not comes_later(form))

    def every(self) -> Sequence[Case]:
        """Those of the forms, and those of the special registers."""
        return [*super().every(), *cluster_cases.registers()]


class ObjectFamily(KernelFamily):
    """Forms about objects in memory, and about operations that complete on them, of which an H100 was asked."""

    place = "objects"
    seed = object_cases.SEED

    def asks(self, form: Form) -> bool:
        return object_cases.asks(form) and not comes_later(form)

    def names(self, form: Form) -> list[str]:
        return [str(form)]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return object_cases.cases(form for form in candidates if not comes_later(form))

    def every(self) -> Sequence[Case]:
        """Those of the forms, and more."""
        return [*super().every(), *object_cases.more(form for form in forms() if not comes_later(form))]

    def read(self, folder: Path = H100) -> Answers | None:
        return super().read(folder)


class WarpgroupFamily(KernelFamily):
    """Products of warpgroups, and what orders them, of which an H200 was asked. Our machine takes long for many columns, and
    answers by eight of them at a time unless an engine is named."""

    place = "warpgroups"
    seed = product_operands.SEED
    is_judged_later = True

    def asks(self, form: Form) -> bool:
        return product_operands.asks(form)

    def names(self, form: Form) -> list[str]:
        return [str(form)]

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        return warpgroup_cases.cases(candidates)

    def every(self) -> Sequence[Case]:
        """Those of the forms, and their variations."""
        return [*super().every(), *warpgroup_cases.variations(forms())]

    def expectations(self, profile: str, engine: Engine | None = None) -> Expecting:
        one_by_one = super().expectations(profile, engine)
        return one_by_one if engine else lambda cases: of_eight_columns(profile, cases, one_by_one)


FUNCTIONS, WARPS, MATRICES, EFFECTS, CLUSTERS = (
    FunctionFamily(),
    WarpFamily(),
    MatrixFamily(),
    EffectFamily(),
    ClusterFamily(),
)
AIMED_MATRICES = AimedMatrixFamily()
LATER_FUNCTIONS = LaterFunctionFamily()
OBJECTS = ObjectFamily()
WARPGROUPS = WarpgroupFamily()
#: by what the ledger calls them
FAMILIES: dict[str, KernelFamily] = {
    "warpgroups": WARPGROUPS,  # first, since what the others ask of a form takes long for these
    "vectors": FUNCTIONS,
    "later vectors": LATER_FUNCTIONS,
    "warps": WARPS,
    "matrices": MATRICES,
    "effects": EFFECTS,
    "clusters": CLUSTERS,
    "objects": OBJECTS,
}
