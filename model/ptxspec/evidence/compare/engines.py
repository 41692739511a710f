"""Both engines side by side on instructions that act: on memory, on images, on the course of a program, on other threads.

What an instruction does to values alone is compared term by term (agreement.py). One with an effect has no symbolic meaning;
the kernels that a GPU is asked with run under the exact and the native engine here, and must leave the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from ptxspec.evidence import clusters, effects, images, warps
from ptxspec.evidence.agreement import PROFILE
from ptxspec.language.forms import Form
from ptxspec.terms.effects import ImageAccess

#: rows of a case for textures or surfaces
ROWS = 6


def agreeing(own: Iterable[Form]) -> dict[str, bool]:
    """Whether both engines leave the same, by the forms' texts: of the forms for which there are kernels."""
    own = list(own)
    found = _programs(own) | _meetings(own) | _clusters(own)
    return found | {str(f): _images(f) for f in own if effects.asks_images(f) and f.mnemonic in _kernels()}


def _programs(own: list[Form]) -> dict[str, bool]:
    chosen = effects.cases(own)
    exact, native = (effects.answers_here(chosen, PROFILE, engine) for engine in ("exact", "native"))
    plain = {str(v): str(f) for f in own for v in f.variants}  # one of them has hints
    return _both((plain[str(c.form)], not c.differs(exact[c.name], native[c.name]).any()) for c in chosen)


def _clusters(own: list[Form]) -> dict[str, bool]:
    chosen = {str(f): clusters.cases([f]) for f in own if clusters.asks(f)}
    every = [case for cases in chosen.values() for case in cases]
    exact, native = (clusters.answers_here(every, PROFILE, engine) for engine in ("exact", "native"))
    return _both((f, np.array_equal(exact[c.name], native[c.name])) for f, cases in chosen.items() for c in cases)


def _meetings(own: list[Form]) -> dict[str, bool]:
    chosen = [(f, absent) for f in own if warps.meets(f) for absent in f.absences]
    if not chosen:
        return {}
    exact, native = (warps.answers_here(chosen, PROFILE, engine) for engine in ("exact", "native"))
    names = [warps.key(*one) for one in chosen]
    return _both((str(f), (exact[n] == native[n]).all()) for (f, _), n in zip(chosen, names, strict=True))


def _both(verdicts: Iterable[tuple[str, Any]]) -> dict[str, bool]:
    """Whether all cases of a form agree."""
    found: dict[str, bool] = {}
    for form, agrees in verdicts:
        found[form] = found.get(form, True) and bool(agrees)
    return found


@cache
def _kernels() -> dict[str, images.Case]:
    """The first case of each spelling."""
    found: dict[str, images.Case] = {}
    for case in images.cases():
        found.setdefault(images.mnemonic(case), case)
    return found


_known: dict[Any, bool] = {}


def _images(form: Form) -> bool:
    """Run once for all forms that have one rule: cache operators are no part of it."""
    meaning = form.meaning(form.absences[-1])
    assert isinstance(meaning.effect, ImageAccess)
    rule: Any = meaning.effect.rule
    same = (rule.func, tuple(rule.keywords.items()), meaning.results)
    if same not in _known:
        case = _kernels()[form.mnemonic]
        exact, native = (images.computed(case, engine, ROWS) for engine in ("exact", "native"))
        _known[same] = bool(np.array_equal(exact, native))
    return _known[same]
