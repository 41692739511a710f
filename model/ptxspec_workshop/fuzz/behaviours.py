"""What the definitions allow a program to leave: the values of several machines that choose differently where PTX leaves it open.

A cell in which all of them agree is decided, and a target must leave the same. One that depends on an open result, or on which
products and sums are contracted, is not: there anything passes, as nobody can tell from the outcome what was chosen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.evidence.choices import PROFILE
from ptxspec.query.replaying import farthest_pattern
from ptxspec.terms.profiles import Profile
from ptxspec_workshop.compare.kernel_runs import load
from ptxspec_workshop.fuzz.cases import FuzzCase
from ptxspec_workshop.fuzz.contracted_texts import contracted_texts
from ptxspec_workshop.generate.cases import FILL

#: seeds of machines that choose at random
SEEDS = (1, 2, 3)
#: thread-instructions of a launch: a program has loops of four rounds at most
STEPS = 1_000_000


class AtTheBound(Profile):
    """The machine of a seed, but that each approximate result is as far from the exact number as its bound allows, below it
    (-1) or above it (1). For the exact engine."""

    def __init__(self, seed: int, step: int) -> None:
        super().__init__("portable", seed)
        self.step = step
        self.key += f", at the bound {'below' if step < 0 else 'above'}"

    def value(self, freedom: Any, operands: tuple[int, ...]) -> int:
        if self._nearest(freedom) is None:
            return super().value(freedom, operands)
        return farthest_pattern(freedom, operands, self.step)


class JudgedAnswer(NamedTuple):
    """What is known of somebody's answer: the reference, which cells of the answer are wrong, and which could not be judged."""

    expected: np.ndarray
    wrong: np.ndarray
    open: np.ndarray


def launched(case: FuzzCase, engine: Engine = "exact", text: str | None = None, **how: Any) -> np.ndarray:
    """What our machine leaves. Raises PtxError and LaunchError."""
    out = np.full_like(case.cells, FILL)
    loaded = load(case.text if text is None else text)
    loaded.launch(case.name, 1, len(case.cells), [case.cells.copy(), out], engine=engine, step_limit=STEPS, **how)
    return out


def reference(case: FuzzCase) -> np.ndarray:
    """What the exact engine leaves with an H200's choices and nothing contracted. Raises LaunchError for a program that breaks a
    rule: of such a one nobody can ask anything."""
    return launched(case, profile=PROFILE)


def judged(case: FuzzCase, expected: np.ndarray, answers: list[np.ndarray]) -> list[JudgedAnswer]:
    """Each of some answers, held against the reference. Only where one of them differs the other machines are asked."""
    nothing = np.zeros(expected.shape, bool)
    if all((answer == expected).all() for answer in answers):
        return [JudgedAnswer(expected, nothing, nothing) for _ in answers]
    others = [launched(case, profile=PROFILE, contract="all")]
    others += [launched(case, profile="portable", seed=seed) for seed in SEEDS]
    others += [launched(case, profile=AtTheBound(SEEDS[0], step), seed=SEEDS[0]) for step in (-1, 1)]
    open_still = np.logical_or.reduce([answer != expected for answer in answers])
    undecided = np.logical_or.reduce([other != expected for other in others])
    for text in contracted_texts(case.text):
        if not (open_still & ~undecided).any():
            break
        others.append(launched(case, text=text, profile=PROFILE, contract="all"))
        undecided |= others[-1] != expected
    result = []
    for answer in answers:
        known = np.logical_or.reduce([answer == allowed for allowed in (expected, *others)])
        result.append(JudgedAnswer(expected, (answer != expected) & ~undecided, undecided & ~known))
    return result
