"""Rows of cases whose results hang on a freedom, in a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxspec.language.forms import Form
from ptxspec.terms import exact
from ptxspec.terms.effects import Collective
from ptxspec.terms.vocabulary import freedoms_in
from ptxspec_workshop.generate.warp_cases import LANES, launches, operands, taking_part


def open_rows(form: Form, absent: tuple[str, ...]) -> np.ndarray:
    """The rows whose results hang on a freedom: found by evaluating the definition with a choice that takes notes."""
    meaning = form.meaning(absent)
    terms = [value for result in meaning.results for value in result.values]
    parts = []
    for launch in launches(form, absent):
        is_open = np.zeros(len(launch.cells), bool)
        if isinstance(meaning.effect, Collective) and freedoms_in(*terms):
            names, takes_part = operands(form, absent), taking_part(launch)
            for i in np.flatnonzero(takes_part):
                first = i - i % LANES
                members = sum(1 << k for k in range(LANES) if takes_part[first + k])
                env: dict[str, Any] = {name: int(launch.cells[i, k]) for k, name in enumerate(names)}
                members &= env.get("membermask", members)
                env |= {f"%lane{k}": 0 for k in range(LANES)}
                env |= {"%members": members, "%at_once": members, "%own": int(i % LANES)}
                met: list[Any] = []

                def note(freedom: Any, _: Any, met: list[Any] = met) -> int:
                    met.append(freedom)
                    return 0

                for term in terms:
                    exact.evaluate(term, env, note)
                is_open[i] = bool(met)
        parts.append(is_open)
    return np.concatenate(parts)
