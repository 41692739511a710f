"""What our machine answers to random programs, and who differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxspec.base.options import Engine
from ptxspec.evidence.choices import PROFILE
from ptxspec_workshop.compare.kernel_runs import launched, load
from ptxspec_workshop.generate.fuzzing.random_program import RandomProgram, module


def answers_here(programs: Sequence[RandomProgram], engine: Engine = "native") -> list[np.ndarray]:
    """For each program a row of cells a thread."""
    loaded = load(module(programs))
    return [p.kept(launched(loaded, p.name, p.launches, profile=PROFILE, engine=engine)) for p in programs]


def differing(answers: dict[str, np.ndarray]) -> str:
    """Between whom answers differ: "levels" for -O0 and -O3, "ours" for these and us; empty if nobody does."""
    if (answers["-O0"] != answers["-O3"]).any():
        return "levels"
    return "ours" if (answers["ours"] != answers["-O3"]).any() else ""
