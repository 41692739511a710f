"""What a case is expected to answer, and what differs from that in somebody's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.evidence.choices import awaited
from ptxspec.evidence.compiled_loops import run_native
from ptxspec.evidence.kernels.signatures import inputs_of, results_of
from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.definitions import Meaning
from ptxspec.terms.profiles import Profile
from ptxspec_workshop.compare import kernel_runs
from ptxspec_workshop.compare.kernel_runs import CachedMachine
from ptxspec_workshop.generate.cases import Case, unlike
from ptxspec_workshop.generate.function_cases import FunctionCase
from ptxspec_workshop.generate.warpgroup_kernels import WarpgroupCase


class Expectation(NamedTuple):
    """What the definitions give for a case, None where a bound decides; and a function that tells which rows of an answer are
    wrong."""

    ours: np.ndarray | None
    wrong: Callable[[np.ndarray], np.ndarray]


class Difference(NamedTuple):
    """One row on which the definitions, under a profile, give something else than the GPU did; `ours` is None if it was not
    among several results allowed. `row` counts through the launches."""

    form: str
    row: int
    operands: tuple[int, ...]
    ours: tuple[int, ...] | None
    gpu: tuple[int, ...]

    def __str__(self) -> str:
        operands, gpu = (", ".join(map(hex, values)) for values in (self.operands, self.gpu))
        where = f"{self.form} row {self.row}, of {operands}"
        if self.ours is None:
            return f"{where}: the GPU gives {gpu}, which is not allowed"
        return f"{where}: the definition gives {', '.join(map(hex, self.ours))}, the GPU {gpu}"


def difference(case: Case, row: int, ours: np.ndarray | None, gpu: np.ndarray) -> Difference:
    """A row of a case's answers that differs."""
    expected_row = None if ours is None else tuple(map(int, ours[row]))
    return Difference(case.name, row, case.operands(row), expected_row, tuple(map(int, gpu[row])))


def of_kernels(machine: CachedMachine, cases: Sequence[Case]) -> list[Expectation]:
    """What our machine answers to the cases' kernels."""
    answers = machine.answers(cases)
    return [Expectation(answers[c.name], partial(c.differs, answers[c.name])) for c in cases]


def of_eight_columns(
    profile: str, cases: Sequence[WarpgroupCase], others: Callable[[Sequence[WarpgroupCase]], list[Expectation]]
) -> list[Expectation]:
    """What our machine answers to products of warpgroups by eight columns at a time; `others` says it of cases that have no such
    kernel."""
    answers = kernel_runs.of_eight_columns(cases, profile)
    apart = [case for case in cases if case.name not in answers]
    expected_apart = dict(zip((case.name for case in apart), others(apart), strict=True))
    return [
        expected_apart.get(c.name) or Expectation(answers[c.name], partial(c.differs, answers[c.name])) for c in cases
    ]


def of_functions(profile: Profile, cases: Sequence[FunctionCase], engine: Engine = "native") -> list[Expectation]:
    """What the definitions give for the cases' rows; where a profile leaves open an approximate result, a bound decides."""
    meanings = [c.meaning for c in cases]
    forms = [(c.form, meaning) for c, meaning in zip(cases, meanings, strict=True)]
    wanted = expected(forms, [c.table for c in cases], profile, engine)
    return [
        Expectation(want, partial(wrong, meaning, case.table, want=want, profile=profile))
        for case, meaning, want in zip(cases, meanings, wanted, strict=True)
    ]


def expected(
    cases: Sequence[tuple[Form, Meaning]],
    tables: Sequence[list[tuple[int, ...]]],
    profile: Profile,
    engine: Engine = "native",
) -> list[np.ndarray | None]:
    """For each form, its results over its rows (a column a result) under a profile; None where that leaves open an approximate
    result, so that a bound decides (see `wrong`)."""
    chosen = [i for i, (form, _) in enumerate(cases) if not awaited(form, profile)]
    tables_expected: list[np.ndarray | None] = [None] * len(cases)
    if engine == "exact":
        for i in chosen:
            tables_expected[i] = _exact_results(cases[i][1], tables[i], profile)
        return tables_expected
    computed = run_native([cases[i][1] for i in chosen], [tables[i] for i in chosen], profile.term) if chosen else []
    for i, columns in zip(chosen, computed, strict=True):
        tables_expected[i] = np.concatenate([c.astype(np.uint64).reshape(len(c), -1) for c in columns], axis=1)
    return tables_expected


def _exact_results(meaning: Meaning, table: Sequence[tuple[int, ...]], profile: Profile) -> np.ndarray:
    """A form's results over its rows by the exact interpretation, which needs no compiler; one of 128 bits has two columns."""
    names, results = inputs_of(meaning), results_of(meaning)
    rows = []
    for row in table:
        values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}
        row_results = [int(exact.evaluate(term, values, profile.chosen)) for _, term in results]
        pairs = zip(results, row_results, strict=True)
        rows.append([v >> i & (1 << 64) - 1 for (t, _), v in pairs for i in range(0, max(t.width, 1), 64)])
    return np.array(rows, np.uint64)


def wrong(
    meaning: Meaning,
    table: Sequence[tuple[int, ...]],
    answers: np.ndarray,
    want: np.ndarray | None,
    profile: Profile,
) -> np.ndarray:
    """Which rows of a machine's answers are not what the definition expects, or not among what it allows."""
    if want is not None:
        return unlike(answers.astype(np.uint64), want)
    names = inputs_of(meaning)
    is_wrong = np.zeros(len(table), bool)
    for i, (row, bits) in enumerate(zip(table, answers.tolist(), strict=True)):
        values = {n: bool(v) if t.kind == "pred" else v for (n, t), v in zip(names, row, strict=True)}
        terms = [term for _, term in results_of(meaning)]
        settled: dict[Any, int] = {}
        is_wrong[i] = not all(
            exact.allows(t, values, b, profile.chosen, settled) for t, b in zip(terms, bits, strict=True)
        )
    return is_wrong


def differences(
    cases: Iterable[Case], expectations: Iterable[Expectation], answers: Mapping[str, np.ndarray]
) -> tuple[int, list[Difference]]:
    """(rows compared, rows that differ) between somebody's answers, by the cases' names, and what is expected."""
    count, result = 0, []
    for case, want in zip(cases, expectations, strict=True):
        answer = answers[case.name]
        count += len(answer)
        result += [difference(case, int(i), want.ours, answer) for i in np.flatnonzero(want.wrong(answer))]
    return count, result
