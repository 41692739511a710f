"""A family of forms that a GPU was asked about with kernels of one shape: its cases, what is expected of them, and where its
answers lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.language.forms import Form, forms
from ptxspec_workshop.compare.expectations import Difference, Expectation, differences, of_kernels
from ptxspec_workshop.compare.kernel_runs import CachedMachine
from ptxspec_workshop.generate.cases import Case
from ptxspec_workshop.record import stored_answers
from ptxspec_workshop.record.stored_answers import H200, Answers

Expecting = Callable[[Sequence[Any]], list[Expectation]]


class KernelFamily:
    """Forms that are asked about with kernels of one shape."""

    #: where the answers lie below the folder of a GPU
    place = ""
    seed: str
    #: the engine under which our machine answers
    engine: Engine = "exact"
    #: whether what a GPU gives is held against the definitions only after it was recorded, since our machine takes long
    is_judged_later = False

    def asks(self, form: Form) -> bool:
        """Whether the form is one of the family."""
        raise NotImplementedError

    def names(self, form: Form) -> list[str]:
        """The names of a form's answers: if all are there, it was asked about."""
        raise NotImplementedError

    def cases(self, candidates: Iterable[Form]) -> Sequence[Case]:
        """The cases of some forms."""
        raise NotImplementedError

    def every(self) -> Sequence[Case]:
        """All cases."""
        return self.cases(forms())

    def expectations(self, profile: str, engine: Engine | None = None) -> Expecting:
        """A function from cases to what is expected of them."""
        machine = CachedMachine(profile, engine or self.engine)
        return lambda cases: of_kernels(machine, cases)

    def remarks(
        self, case: Any, want: Expectation, got: Mapping[str, np.ndarray], differing: np.ndarray
    ) -> dict[str, Any]:
        """What else is kept of a case some of whose rows differ."""
        return {}

    def folder(self, folder: Path = H200) -> Path:
        """Where the answers lie."""
        return folder / self.place

    def read(self, folder: Path = H200) -> Answers | None:
        """The answers of a GPU's folder, or None if there are none. Raises ValueError if they are not what was recorded."""
        return stored_answers.read(self.folder(folder))

    def write(
        self, folder: Path, facts: Mapping[str, Any], values: dict[str, np.ndarray], differing: list[dict[str, Any]]
    ) -> None:
        """Keep answers in a GPU's folder."""
        shared_facts = {k: v for k, v in facts.items() if k != "rows"}
        stored_answers.write(self.folder(folder), {**shared_facts, "seed": self.seed}, values, differing)

    def compare(
        self, compared: Iterable[Form | Case], answers: Answers, engine: Engine | None = None
    ) -> tuple[int, list[Difference]]:
        """(rows compared, rows that differ) over those of the forms, or of the cases, that were answered, under the answers'
        profile. Rows that hang on a freedom are compared too."""
        compared = list(compared)
        cases = [c for c in compared if not isinstance(c, Form)] + list(
            self.cases(f for f in compared if isinstance(f, Form))
        )
        chosen = [c for c in cases if c.name in answers.values]
        expected = self.expectations(answers.facts["profile"], engine)(chosen) if chosen else []
        return differences(chosen, expected, answers.values)
