"""Both engines side by side on instructions that act: on memory, on images, on the course of a program, on other threads.

What an instruction does to values alone is compared term by term (interpretations.py). One with an effect has no symbolic
meaning; the kernels that a GPU is asked with run under the exact and the native engine here, and must leave the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ptxspec.evidence.choices import PROFILE
from ptxspec.language.forms import Form
from ptxspec.terms.effects import ImageAccess
from ptxspec_workshop.compare.image_runs import computed
from ptxspec_workshop.compare.kernel_runs import CachedMachine
from ptxspec_workshop.generate import (
    cluster_cases,
    effect_cases,
    matrix_cases,
    matrix_moves,
    object_cases,
    tile_cases,
    warp_cases,
    warpgroup_cases,
)
from ptxspec_workshop.generate.cases import Case
from ptxspec_workshop.generate.image_cases import ImageCase
from ptxspec_workshop.generate.image_kernels import mnemonic
from ptxspec_workshop.generate.image_sweeps import cases as image_cases

#: rows of a case for textures or surfaces
ROWS = 6


def agreeing(forms: Iterable[Form]) -> dict[str, bool]:
    """Whether both engines leave the same, by the forms' texts: of the forms for which there are kernels."""
    forms = list(forms)
    plain = {str(v): str(f) for f in forms for v in f.variants}  # one of them has hints
    cases: list[tuple[str, Case]] = [(plain[str(c.form)], c) for c in effect_cases.cases(forms)]
    cases += [(str(c.form), c) for c in warp_cases.cases(forms)]
    cases += [(str(c.form), c) for c in matrix_cases.small(forms)]
    cases += [(str(c.form), c) for c in matrix_moves.small(forms)]
    cases += [(str(c.form), c) for c in tile_cases.small(forms)]
    cases += [(str(c.form), c) for c in warpgroup_cases.small(forms)]
    for family in (cluster_cases, object_cases):
        cases += [(str(f), c) for f in forms if family.asks(f) for c in family.cases([f])]
    agreements = _kernels(cases)
    by_spelling = _image_cases()
    return agreements | {str(f): _images(f) for f in forms if effect_cases.asks_images(f) and f.mnemonic in by_spelling}


def _kernels(named: Sequence[tuple[str, Case]]) -> dict[str, bool]:
    """Whether all cases of a form agree."""
    cases = [case for _, case in named]
    exact, native = (CachedMachine(PROFILE, engine).answers(cases) for engine in ("exact", "native"))
    agreements: dict[str, bool] = {}
    for form, case in named:
        agreements[form] = agreements.get(form, True) and not case.differs(exact[case.name], native[case.name]).any()
    return agreements


@cache
def _image_cases() -> dict[str, ImageCase]:
    """The first case of each spelling."""
    by_mnemonic: dict[str, ImageCase] = {}
    for case in image_cases():
        by_mnemonic.setdefault(mnemonic(case), case)
    return by_mnemonic


_known: dict[Any, bool] = {}


def _images(form: Form) -> bool:
    """Run once for all forms that have one rule: cache operators are no part of it."""
    meaning = form.meaning(form.absences[-1])
    assert isinstance(meaning.effect, ImageAccess)
    rule: Any = meaning.effect.rule
    same = (rule.func, tuple(rule.keywords.items()), meaning.results)
    if same not in _known:
        case = _image_cases()[form.mnemonic]
        exact, native = (computed(case, engine, ROWS) for engine in ("exact", "native"))
        _known[same] = bool(np.array_equal(exact, native))
    return _known[same]
